"""What a model file may hold. A class that is not named here, or by the caller, is neither saved nor loaded.

A class of this library is added by one line in `OWN`: the id used in files, and where the class lives today. Ids never
change, so that modules may move. An estimator's id is the name by which users import it; what its fitted state holds is
``manifolia.state.*``: named tuples, or objects with attributes.

``__getstate__`` of such a class leaves out what is not saved, and computes nothing. If compiled code uses arrays of the
state as indices, the class has a method ``_check_restored(self)`` (an object that an estimator holds:
``check_restored``), which raises ``ValueError`` if they do not fit together; `load` calls it.

From scikit-learn, only estimators whose fitted state is read by NumPy, which checks bounds, are listed, and trees,
which `manifolia.persist.trees` checks. Support vector machines, gradient boosting and nearest neighbours pass their
arrays to compiled code that does not check them.
"""

from __future__ import annotations

import importlib
from typing import Any

from manifolia.exceptions import ModelFileError

#: Key of the class's id in the dictionary that stands for an object of this library. No attribute has such a name.
TYPE = "manifolia:type"

#: Classes of this library: the id in files, and the class. Only the right side changes when a module moves.
OWN = {
    # Estimators.
    "manifolia.baselines.MLkNN": "manifolia.baselines.ml_knn.MLkNN",
    "manifolia.baselines.MVU": "manifolia.baselines.mvu.MVU",
    "manifolia.baselines.TSNE": "manifolia.baselines.tsne.TSNE",
    "manifolia.baselines.ParametricTSNE": "manifolia.baselines.parametric_tsne.ParametricTSNE",
    "manifolia.baselines.PLSDA": "manifolia.baselines.pls_da.PLSDA",
    "manifolia.baselines.EnhancedSupervisedIsomap": "manifolia.baselines.supervised_isomap.EnhancedSupervisedIsomap",
    "manifolia.baselines.EnhancedSupervisedLLE": "manifolia.baselines.supervised_lle.EnhancedSupervisedLLE",
    "manifolia.baselines.SupervisedNMF": "manifolia.baselines.supervised_nmf.SupervisedNMF",
    "manifolia.baselines.KernelSupervisedPCA": "manifolia.baselines.supervised_pca.KernelSupervisedPCA",
    "manifolia.baselines.SupervisedPCA": "manifolia.baselines.supervised_pca.SupervisedPCA",
    "manifolia.KernelMap": "manifolia.extension.kernel_map.KernelMap",
    "manifolia.FeatureMAP": "manifolia.methods.featuremap.FeatureMAP",
    "manifolia.FisherKernelTSNE": "manifolia.methods.kernel_tsne.FisherKernelTSNE",
    "manifolia.ForestFeatures": "manifolia.methods.forest_features.ForestFeatures",
    "manifolia.ForestMap": "manifolia.methods.forest_map.ForestMap",
    "manifolia.GuidedMap": "manifolia.methods.guided_map.GuidedMap",
    "manifolia.KernelTSNE": "manifolia.methods.kernel_tsne.KernelTSNE",
    "manifolia.PHATE": "manifolia.methods.phate.PHATE",
    "manifolia.RFPHATE": "manifolia.methods.rf_phate.RFPHATE",
    "manifolia.tables.TablePreparer": "manifolia.tables.preparer.TablePreparer",
    # What their fitted state holds.
    "manifolia.state.FittedForest": "manifolia.methods._fitted_forest.FittedForest",
    "manifolia.state.KnownRows": "manifolia.methods._near.KnownRows",
    "manifolia.state.Nearness": "manifolia.methods._near.Nearness",
    "manifolia.state.EmbeddedGauges": "manifolia.explain.embedded.EmbeddedGauges",
    "manifolia.state.Projection": "manifolia.operators.projection.Projection",
    "manifolia.state.FittedGuide": "manifolia.extension.guide.FittedGuide",
    "manifolia.state.BorrowedGuide": "manifolia.extension.guide.Borrowed",
    "manifolia.state.GuideScale": "manifolia.extension.guide_models.Scale",
    "manifolia.state.LinearGuide": "manifolia.extension.guide_models.Linear",
    "manifolia.state.MachineGuide": "manifolia.extension.guide_models.Machine",
    "manifolia.state.MachinesGuide": "manifolia.extension.guide_models.Machines",
    "manifolia.state.NearestGuide": "manifolia.extension.guide_models.Nearest",
    "manifolia.state.MixtureGuide": "manifolia.extension.guide_models.Mixture",
    "manifolia.state.Importance": "manifolia.forest.importances.Importance",
    "manifolia.state.Pullback": "manifolia.explain.pullback.Pullback",
    "manifolia.state.Frame": "manifolia.extension.kernel_formula.Frame",
    "manifolia.state.LeafValues": "manifolia.extension.leaf_map.LeafValues",
    "manifolia.state.ValuedLeaves": "manifolia.extension.vote_map.ValuedLeaves",
    "manifolia.state.VotedLeaves": "manifolia.extension.vote_map.VotedLeaves",
    "manifolia.state.NodeRanges": "manifolia.forest.node_ranges.NodeRanges",
    "manifolia.state.SubsetMap": "manifolia.extension.subset_map.SubsetMap",
    "manifolia.state.Neighbors": "manifolia.neighbors.index.Neighbors",
    "manifolia.state.TextFeatures": "manifolia.tables.text_features.TextFeatures",
    "manifolia.state.TangentSpaces": "manifolia.operators.tangent.TangentSpaces",
    # What stands in for objects that skops does not write, or not safely.
    "manifolia.part.ObjectArray": "manifolia.persist.graph.ObjectArray",
    "manifolia.part.Pairs": "manifolia.persist.graph.Pairs",
    "manifolia.part.RandomStream": "manifolia.persist.graph.RandomStream",
    "manifolia.part.Scalar": "manifolia.persist.graph.Scalar",
    "manifolia.part.SparseMatrix": "manifolia.persist.graph.SparseMatrix",
    "manifolia.part.TreeAt": "manifolia.persist.graph.TreeAt",
    "manifolia.part.TreeList": "manifolia.persist.graph.TreeList",
}

FORESTS = frozenset(
    f"sklearn.ensemble._forest.{name}"
    for name in ("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor")
)

TREES = frozenset(
    f"sklearn.tree._classes.{name}"
    for name in ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
)

#: Its sparse output is built from remembered sizes, which are checked.
ONE_HOT = "sklearn.preprocessing._encoders.OneHotEncoder"

#: These consist of steps, which are checked one by one.
PIPELINE = "sklearn.pipeline.Pipeline"

_TRANSFORMERS = frozenset(
    {
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.decomposition._pca.PCA",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.feature_selection._variance_threshold.VarianceThreshold",
        "sklearn.frozen._frozen.FrozenEstimator",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.pipeline.FeatureUnion",
        PIPELINE,
        "sklearn.preprocessing._data.Binarizer",
        "sklearn.preprocessing._data.MaxAbsScaler",
        "sklearn.preprocessing._data.MinMaxScaler",
        "sklearn.preprocessing._data.Normalizer",
        "sklearn.preprocessing._data.PowerTransformer",
        "sklearn.preprocessing._data.QuantileTransformer",
        "sklearn.preprocessing._data.RobustScaler",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._discretization.KBinsDiscretizer",
        ONE_HOT,
        "sklearn.preprocessing._encoders.OrdinalEncoder",
        # Without a function: what ColumnTransformer makes of "passthrough". Functions are not saved.
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
        "sklearn.preprocessing._label.LabelBinarizer",
        "sklearn.preprocessing._label.LabelEncoder",
    }
)

#: Models whose predictions are products of arrays, which may guide a map.
_LINEAR = frozenset(
    {
        "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
        "sklearn.linear_model._base.LinearRegression",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.linear_model._ridge.Ridge",
    }
)

#: Every class of another library that a file may hold as an instance with attributes.
OBJECTS = FORESTS | TREES | _TRANSFORMERS | _LINEAR

#: Classes that may stand for themselves, such as ``OneHotEncoder(dtype=numpy.float64)``.
SCALAR_TYPES = frozenset(
    {f"builtins.{name}" for name in ("bool", "float", "int", "str")}
    | {f"numpy.{name}" for name in ("bool", "bool_", "float32", "float64", "object_", "str_")}
    | {f"numpy.{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


_IDS = {location: name for name, location in OWN.items()}


def full_name(kind: type) -> str:
    """Return where a class lives: its module and its name."""
    return f"{kind.__module__}.{kind.__qualname__}"


def id_of(kind: type) -> str:
    """Return the name of a class in files: its id, or the full name of another library's class."""
    return _IDS.get(full_name(kind), full_name(kind))


def check_id(name: Any) -> None:
    """Refuse what is not an id."""
    if type(name) is not str or name not in OWN:
        raise ModelFileError(f"it holds an object of a type that is not allowed: {str(name)[:160]}.")


def resolve(name: Any) -> type:
    """Return the class of this library that an id stands for."""
    check_id(name)
    module, _, kind = OWN[name].rpartition(".")
    resolved: type = getattr(importlib.import_module(module), kind)
    return resolved
