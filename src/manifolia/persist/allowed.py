"""What a model file may hold. A class that is not named here, or by the caller, is neither saved nor loaded.

An estimator joins by its full name in `OWN`; the named tuples that it keeps join in `TUPLES`. If compiled code uses
arrays of its fitted state as indices, its class has a method ``_check_restored(self)``, which raises ``ValueError`` if
they do not fit together; `load` calls it.

Of scikit-learn, only estimators whose fitted state is read by NumPy, which checks bounds, are named, and trees, which
`manifolia.persist.trees` checks. Support vector machines, gradient boosting and nearest neighbours hand their arrays to
compiled code that does not look.
"""

from __future__ import annotations

__all__ = ["FORESTS", "OBJECTS", "ONE_HOT", "OWN", "PARTS", "SCALAR_TYPES", "TREES", "TUPLES", "full_name"]

#: Estimators of this library.
OWN = frozenset(
    {
        "manifolia.baselines.mvu.MVU",
        "manifolia.baselines.parametric_tsne.ParametricTSNE",
        "manifolia.baselines.pls_da.PLSDA",
        "manifolia.baselines.supervised_isomap.EnhancedSupervisedIsomap",
        "manifolia.baselines.supervised_lle.EnhancedSupervisedLLE",
        "manifolia.baselines.supervised_nmf.SupervisedNMF",
        "manifolia.baselines.supervised_pca.KernelSupervisedPCA",
        "manifolia.baselines.supervised_pca.SupervisedPCA",
        "manifolia.extension.kernel_map.KernelMap",
        "manifolia.methods.featuremap.FeatureMAP",
        "manifolia.methods.fisher_kernel_tsne.FisherKernelTSNE",
        "manifolia.methods.forest_features.ForestFeatures",
        "manifolia.methods.forest_map.ForestMap",
        "manifolia.methods.kernel_tsne.KernelTSNE",
        "manifolia.methods.phate.PHATE",
        "manifolia.methods.rf_phate.RFPHATE",
        "manifolia.tables.preparer.TablePreparer",
    }
)

#: Named tuples that their fitted state holds.
TUPLES = frozenset(
    {
        "manifolia.forest.leaf_tables.LeafTable",
        "manifolia.forest.leaf_tables.Trees",
        "manifolia.forest.node_table.NodeTable",
        "manifolia.explain.embedded.EmbeddedGauges",
        "manifolia.explain.feature_answers.Projection",
        "manifolia.forest.importances.Importance",
        "manifolia.explain.pullback.Pullback",
        "manifolia.extension.kernel_formula.Frame",
        "manifolia.extension.leaf_map.LeafValues",
        "manifolia.forest.node_ranges.NodeRanges",
        "manifolia.neighbors.index.Neighbors",
        "manifolia.operators.tangent.TangentSpaces",
    }
)

#: What stands in for objects that skops does not write, or not safely.
PARTS = frozenset(
    f"manifolia.persist.parts.{name}"
    for name in ("ObjectArray", "Pairs", "RandomStream", "Scalar", "SparseMatrix", "TreeAt", "TreeList")
)

FORESTS = frozenset(
    f"sklearn.ensemble._forest.{name}"
    for name in ("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor")
)

TREES = frozenset(
    f"sklearn.tree._classes.{name}"
    for name in ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
)

#: Its sparse output is built from sizes that it remembers, and that are checked.
ONE_HOT = "sklearn.preprocessing._encoders.OneHotEncoder"

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
        "sklearn.pipeline.Pipeline",
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

#: Every class of which a file may hold an instance with attributes.
OBJECTS = OWN | FORESTS | TREES | _TRANSFORMERS

#: Classes that may stand for themselves, such as ``OneHotEncoder(dtype=numpy.float64)``.
SCALAR_TYPES = frozenset(
    {f"builtins.{name}" for name in ("bool", "float", "int", "str")}
    | {f"numpy.{name}" for name in ("bool", "bool_", "float32", "float64", "object_", "str_")}
    | {f"numpy.{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


def full_name(kind: type) -> str:
    """Return the name under which a class is looked up here."""
    return f"{kind.__module__}.{kind.__qualname__}"
