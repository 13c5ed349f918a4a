"""Cards of methods: what is known of each, by name or by model; nothing is imported before it is needed.

``registry.get("rf-phate")`` returns a class, ``registry.card_of(model)`` says what a model can do. It is the one place
that asks a model of another library; all other modules read the card. The command line, the tuner's presets and the
reference list what stands here.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

from manifolia._core.pipelines import last_step

__all__ = ["Card", "Limit", "Range", "card_of", "default_method", "find", "get", "names", "register"]


class Range(NamedTuple):
    """What the tuner searches of one parameter."""

    kind: str  # "integer", "real", "share" (of the rows) or "choice"
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Any, ...] = ()


class Limit(NamedTuple):
    """The most that a parameter may be: (rows − 1) / divisor."""

    divisor: int
    why: str  # The reason, for a message
    rows: str = ""  # Parameter that limits the rows, such as "n_train"; empty is all rows

    def most(self, model: Any, n_rows: int) -> float:
        """Compute the limit for a model that is given this many rows."""
        own = getattr(model, self.rows) if self.rows else None
        return ((n_rows if own is None else min(n_rows, int(own))) - 1) / self.divisor


#: Limits of parameters that every library names alike.
_LIMITS = {
    "n_neighbors": Limit(1, "there are no more than n − 1"),
    "knn": Limit(1, "there are no more than n − 1"),
    "perplexity": Limit(1, "it must be below n"),
}


@dataclass(frozen=True)
class Card:
    """What is known of a method.

    Fields that depend on a model's parameters or fit (marked *) hold the usual case on the card of a name, and the case
    of this model on ``card_of(model)``.

    Attributes
    ----------
    name : str
        As in ``--method``.
    path : str
        Where the class is, as ``"module:Class"``.
    summary : str
        One line.
    distribution : str
        What to install when it is missing, as ``pip`` names it.
    label : str, default=""
        Name as people write it, such as "RF-PHATE".
    supervised : bool, default=False
        Whether the target shapes the map, so that it has to be passed.
    takes_missing : bool, default=False
        Whether missing values may stay missing.
    needs_scale : bool, default=True
        Whether it compares distances, so that columns have to be on one scale.
    baseline : bool, default=False
        Whether it is here to be compared with.
    package : str, default=""
        What has to be importable, where that is not the package of `path`.
    makes_map : bool, default=True
        Whether it makes a map of a table, and so is listed by name. Others extend a map, or prepare for one.
    places : bool, default=True
        Whether it places new rows (``transform``).
    keeps_map : bool, default=True
        Whether the fitted model holds the map of its rows (``embedding_``).
    forest : bool, default=False
        Whether a forest stands behind the map: ``forest_``, ``proximity_matrix``, ``feature_importances_`` and
        ``importances_std_``.
    predicts : bool, default=False
        Whether the forest predicted the target of its rows out of bag (``oob_prediction_``). *
    task : str, default=""
        What the target asked for (``task_``): "classification", "regression", "multilabel", "multioutput" or
        "unsupervised"; empty before the fit, and for methods that do not say. *
    metric : str, default="euclidean"
        How it compares rows. *
    explains : str, default="displacement"
        How it says what acts on the place of a row. "gradients": ``feature_gradients`` and ``feature_importance`` along
        the data; "jacobian": derivative of the formula that places rows (``jacobian``, of ``smooth()`` where
        ``mapping`` is not "kernel"); "displacement": rows are placed with other values; "": it cannot. *
    arrows : bool, default=False
        Whether features have arrows with a reliability (``arrow_reliability``, ``reliability_``).
    importance : str, default=""
        What the importance of a column measures; empty if it has none of its own. With a forest it is
        ``feature_importances_``, without one ``feature_importance``. *
    importance_for : str, default=""
        What columns are important for; empty is the target.
    novelty : str, default=""
        What its novelty means, in one sentence; empty if it has none. With one, ``novelty(X=None)`` lies in [0, 1] and
        ``novelty_threshold_`` says above which a row is called novel.
    far_row : str, default=""
        Where a row goes that is far from all, in one sentence. *
    figures : tuple of str, default=()
        Fitted numbers that say how the fit went, such as ``oob_score_``; see `figures_of`.
    score : str, default=""
        The one of them that the map is reported with.
    score_means : str, default=""
        What it is, as a sentence to format with `measure` ("accuracy" or "R²") and `value`.
    loss : str, default=""
        Attribute that holds the loss it minimised; see `loss_of`.
    capped : tuple of str, default=()
        Parameters that the fit may lower; the value used is the attribute of that name with an underscore.
    space : dict of str to Range, default={}
        What the tuner searches if it is given no space. *
    forest_space : dict of str to Range, default={}
        What it may search of the forest behind the map. *
    limits : dict of str to Limit, default={}
        The most that its parameters may be on a number of rows. *
    """

    name: str
    path: str
    summary: str
    distribution: str
    label: str = ""
    supervised: bool = False
    takes_missing: bool = False
    needs_scale: bool = True
    baseline: bool = False
    package: str = ""
    makes_map: bool = True
    places: bool = True
    keeps_map: bool = True
    forest: bool = False
    predicts: bool = False
    task: str = ""
    metric: str = "euclidean"
    explains: str = "displacement"
    arrows: bool = False
    importance: str = ""
    importance_for: str = ""
    novelty: str = ""
    far_row: str = ""
    figures: tuple[str, ...] = ()
    score: str = ""
    score_means: str = ""
    loss: str = ""
    capped: tuple[str, ...] = ()
    space: Mapping[str, Range] = field(default_factory=dict)
    forest_space: Mapping[str, Range] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=lambda: _LIMITS)
    _of_model: Callable[[Card, Any], Card] | None = field(default=None, repr=False, compare=False)

    @property
    def is_installed(self) -> bool:
        """Whether the package that holds it can be found."""
        return importlib.util.find_spec(self.package or self._root) is not None

    @property
    def is_ours(self) -> bool:
        """Whether manifolia defines it."""
        return self.distribution == "manifolia"

    @property
    def _root(self) -> str:
        return self.path.partition(":")[0].partition(".")[0]

    def load(self) -> Any:
        """Import the class.

        Returns
        -------
        type
            An estimator with ``fit_transform``.

        Raises
        ------
        ImportError
            If its package is not installed, or cannot be imported.
        """
        module, _, name = self.path.partition(":")
        command = f"pip install {self.distribution}"
        if not self.is_installed:
            message = f"method {self.name!r} needs the package {self.distribution}: {command}"
            raise ImportError(message)
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            message = (
                f"method {self.name!r} is in the package {self.distribution}, which is here but lacks something: "
                f"{error}. Try: {command} --upgrade"
            )
            raise ImportError(message) from error

    def figures_of(self, model: Any) -> dict[str, float]:
        """Read the figures of a fitted model.

        Parameters
        ----------
        model : estimator
            Fitted; of a pipeline its last step counts.

        Returns
        -------
        dict of str to float
            Name without the underscore to value; those that are not finite numbers are left out.
        """
        found = {name.rstrip("_"): getattr(last_step(model), name, None) for name in self.figures}
        return {name: float(value) for name, value in found.items() if value is not None and math.isfinite(value)}

    def loss_of(self, model: Any) -> float:
        """Read the loss that a fitted model minimised.

        Parameters
        ----------
        model : estimator
            Fitted; of a pipeline its last step counts.

        Returns
        -------
        float
            The loss; NaN where the model does not say.
        """
        try:
            value = float(attrgetter(self.loss)(last_step(model))) if self.loss else math.nan
        except (AttributeError, TypeError):
            return math.nan
        return value if math.isfinite(value) else math.nan


_METHODS: dict[str, Card] = {}
_OTHERS: dict[str, Card] = {}  # estimators that make no map of a table


def register(card: Card) -> Card:
    """Add a card, or replace the one of the same name.

    Parameters
    ----------
    card : Card
        What to add.

    Returns
    -------
    Card
        The same.
    """
    (_METHODS if card.makes_map else _OTHERS)[card.name] = card
    return card


def card_of(model: Any) -> Card:
    """Find what is known of a model.

    Parameters
    ----------
    model : estimator or type
        An estimator of manifolia or any other library, fitted or not; a pipeline, whose last step counts; or a class.

    Returns
    -------
    Card
        Its card, with what its parameters and its fit decide. A class without a card has its abilities looked up.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from manifolia import registry
    >>> registry.card_of(PCA()).places
    True
    """
    last = last_step(model)
    kind = last if isinstance(last, type) else type(last)
    for base in kind.__mro__:
        for card in (*_METHODS.values(), *_OTHERS.values()):
            # A class may live in a private module of its package (sklearn.manifold._t_sne).
            if base.__name__ == card.path.partition(":")[2] and base.__module__.partition(".")[0] == card._root:
                if not card.is_ours:
                    return replace(card, **_basics(last, card))
                return card if card._of_model is None or last is kind else card._of_model(card, last)
    return _probed(last, kind)


def _basics(model: Any, card: Card | None = None) -> dict[str, Any]:
    """What may differ between versions of a library, or depends on parameters."""
    metric = getattr(model, "metric", "euclidean")
    if not isinstance(metric, str) or (metric == "minkowski" and getattr(model, "p", 2) == 2):
        metric = "euclidean"
    places = hasattr(model, "transform") and (card is None or card.places)
    return {
        "places": places,
        "keeps_map": hasattr(model, "embedding_") or (card is not None and card.keeps_map),
        "metric": metric,
        "explains": "displacement" if places else "",
    }


def _probed(model: Any, kind: type) -> Card:
    """Ask a model without a card what it can do."""
    has = {name: hasattr(model, name) for name in _ASKED}
    about = _basics(model)
    if has["feature_gradients"] and has["arrow_reliability"]:
        about["explains"] = "gradients"
    elif has["jacobian"]:
        about["explains"] = "jacobian" if about["metric"] == "euclidean" else ""
    tags = getattr(model, "__sklearn_tags__", None)
    required = bool(tags().target_tags.required) if tags is not None and model is not kind else False
    return Card(
        kind.__name__,
        f"{kind.__module__}:{kind.__name__}",
        "",
        kind.__module__.partition(".")[0],
        label=kind.__name__,
        supervised=required,
        makes_map=hasattr(model, "fit_transform"),
        forest=has["forest_"],
        predicts=has["forest_"] and has["oob_prediction_"],
        task=str(getattr(model, "task_", "") or ""),
        arrows=has["arrow_reliability"],
        importance=_PERMUTED if has["feature_importances_"] and has["forest_"] else "",
        novelty="How unlike the rows of the map a row is." if has["novelty"] and has["novelty_threshold_"] else "",
        figures=tuple(name for name in _FIGURES if has[name]),
        score=next((name for name in _SCORES if has[name]), ""),
        score_means=next((_SCORES[name] for name in _SCORES if has[name]), ""),
        loss=next((name for name in _LOSSES if has[name]), ""),
        capped=("perplexity",) if has["perplexity_"] else (),
        **about,
    )


_FIGURES = ("t_", "stress_", "oob_score_", "left_out_score_", "over_separation_")
_SCORES = {
    "oob_score_": "The forest's {measure} on rows it did not train on is {value:.3f}.",
    "left_out_score_": "The share of training rows whose class the rows near them tell is {value:.3f}.",
}
_LOSSES = ("kl_divergence_", "stress_", "loss_", "reconstruction_error_", "reconstruction_err_")
_ASKED = (
    *_FIGURES, *_LOSSES, "perplexity_", "forest_", "oob_prediction_", "feature_importances_", "feature_gradients",
    "arrow_reliability", "jacobian", "novelty", "novelty_threshold_",
)  # fmt: skip


def _of_forest(card: Card, model: Any) -> Card:
    """What a forest map's parameters and fit decide."""
    given = model.forest
    fitted = hasattr(model, "forest_")
    tunable = given is None or (hasattr(given, "max_features") and not hasattr(given, "estimators_"))
    card = replace(
        card,
        predicts=hasattr(model, "oob_prediction_") if fitted else card.predicts,
        task=str(model.task_) if fitted else "",
        forest_space=card.forest_space if tunable else {},
    )
    if card.name != "forest-map":
        return card
    limits = dict(_LIMITS)
    if model.layout == "tsne":
        limits["perplexity"] = Limit(3, "it is capped at (n − 1)/3")
    else:
        del limits["perplexity"]  # other layouts have no use for it
    return replace(card, space=_FOREST_LAYOUTS.get(model.layout, {}), limits=limits)


def _of_kernel_map(card: Card, model: Any) -> Card:
    """What a kernel map's parameters decide: there are derivatives of Euclidean distances alone."""
    far_row = "A row far from all has no place." if model.far == "nan" else card.far_row
    smooth = model.metric == "euclidean" and (model.mapping == "kernel" or hasattr(model, "smooth"))
    limits = card.limits
    if getattr(model, "embedder", "tsne") != "tsne":
        limits = {name: limit for name, limit in limits.items() if name != "perplexity"}
    return replace(
        card,
        metric=model.metric,
        explains="jacobian" if smooth else "",
        importance=card.importance if smooth else "",
        far_row=far_row,
        limits=limits,
    )


def _of_metric(card: Card, model: Any) -> Card:
    return replace(card, metric=str(model.metric))


_PERMUTED = "growth of the error when a column is shuffled"
_FOREST_LAYOUTS = {
    "phate": {"t": Range("integer", 1, 60, log=True)},
    "mds": {"mds": Range("choice", choices=("metric", "classic", "nonmetric"))},
    "isomap": {"n_neighbors": Range("integer", 3, 100, log=True)},
    "lle": {"n_neighbors": Range("integer", 4, 100, log=True)},
    "umap": {"n_neighbors": Range("integer", 5, 100, log=True)},
    "tsne": {"perplexity": Range("share", 0.01, 0.33)},
}
_FOREST: dict[str, Any] = {
    "supervised": True,
    "takes_missing": True,
    "needs_scale": False,
    "forest": True,
    "predicts": True,
    "importance": _PERMUTED,
    "novelty": "How far a row's values lie outside those of the training rows that went the same way down the trees.",
    "far_row": "The forest sends every row to a leaf: one far from all lies among the rows that share its leaves.",
    "score": "oob_score_",
    "score_means": _SCORES["oob_score_"],
    # Share of the features that a split may choose from.
    "forest_space": {"forest__max_features": Range("real", 0.1, 1.0)},
    "_of_model": _of_forest,
}
_KERNEL_MAP: dict[str, Any] = {
    "explains": "jacobian",
    "importance": "how far a row moves when a column changes, as a share of the column that moves it most",
    "importance_for": "where a row lies in the map",
    "novelty": "The share of ordinary rows that are nearer to the rows whose places make the map.",
    "far_row": "A row far from all is put at the place of its nearest rows.",
    "_of_model": _of_kernel_map,
}
_ON_TRAINING_ROWS = {**_LIMITS, "perplexity": Limit(3, "it is capped at a third of the training rows", "n_train")}
_NEIGHBORS = Range("integer", 3, 100, log=True)
_LLE_NEIGHBORS = Range("integer", 4, 100, log=True)
_PERPLEXITY = Range("real", 5.0, 300.0, log=True)
_EXAGGERATION = Range("real", 2.0, 48.0, log=True)
_OURS: dict[str, Any] = {"distribution": "manifolia"}
_BASELINE: dict[str, Any] = {"distribution": "manifolia", "baseline": True}
_GUIDED: dict[str, Any] = {**_BASELINE, "supervised": True}

for _card in (
    Card(
        "rf-phate", "manifolia.methods.rf_phate:RFPHATE", "forest proximities, diffusion and MDS; places new rows",
        label="RF-PHATE", **_OURS, **_FOREST,
        figures=("t_", "stress_", "oob_score_", "over_separation_"), loss="stress_",
        space={"t": Range("integer", 1, 60, log=True), "damping": Range("real", 0.5, 1.0)},
    ),
    Card(
        "forest-map", "manifolia.methods.forest_map:ForestMap",
        "forest proximities under MDS, Isomap, LLE, t-SNE, UMAP or PHATE; places new rows",
        label="Forest map", **_OURS, **_FOREST,
        figures=("oob_score_", "over_separation_"), space=_FOREST_LAYOUTS["mds"],
    ),
    Card(
        "phate", "manifolia.methods.phate:PHATE", "diffusion along nearest neighbours and MDS; places new rows",
        label="PHATE", **_OURS, figures=("t_", "stress_"), loss="stress_", _of_model=_of_metric,
        space={
            "n_neighbors": Range("integer", 3, 50, log=True),
            "decay": Range("real", 2.0, 100.0, log=True),
            "t": Range("integer", 1, 100, log=True),
        },
    ),
    Card(
        "featuremap", "manifolia.methods.featuremap:FeatureMAP",
        "UMAP's graph with local densities and arrows of features; places new rows",
        label="FeatureMAP", **_OURS, explains="gradients", arrows=True, _of_model=_of_metric,
        importance="how much a column varies along the data, from 0 to 1",
        importance_for="the directions in which the rows differ",
        novelty="The share of the rows of the map that are nearer to their neighbours.",
        far_row="A row far from all is put among its nearest rows.",
        space={
            "n_neighbors": Range("integer", 5, 100, log=True),
            "min_dist": Range("real", 0.0, 1.0),
            "density_weight": Range("choice", choices=(0.0, 0.01, 0.03, 0.1, 0.3)),
        },
    ),
    Card(
        "kernel-tsne", "manifolia.methods.kernel_tsne:KernelTSNE",
        "t-SNE of some rows and a formula for all; places new rows",
        label="Kernel t-SNE", **_OURS, **_KERNEL_MAP, limits=_ON_TRAINING_ROWS, space={"perplexity": _PERPLEXITY},
    ),
    Card(
        "fisher-kernel-tsne", "manifolia.methods.fisher_kernel_tsne:FisherKernelTSNE",
        "t-SNE of what tells classes apart, and a formula for all rows; places new rows",
        label="Fisher kernel t-SNE", **_OURS, **_KERNEL_MAP, supervised=True, limits=_ON_TRAINING_ROWS,
        figures=("left_out_score_", "over_separation_"), score="left_out_score_",
        score_means=_SCORES["left_out_score_"],
        space={"perplexity": _PERPLEXITY, "euclidean_mix": Range("real", 0.0, 2.0)},
    ),
    Card(
        "kernel-map", "manifolia.extension.kernel_map:KernelMap",
        "a formula that carries a finished map to new rows", label="Kernel map", makes_map=False, keeps_map=False,
        **_OURS, **_KERNEL_MAP,
    ),
    Card(
        "forest-features", "manifolia.methods.forest_features:ForestFeatures",
        "leaves of a forest as sparse features", label="Forest features", makes_map=False, keeps_map=False,
        explains="", supervised=True, takes_missing=True, needs_scale=False, **_OURS,
    ),
    Card(
        "ml-knn", "manifolia.baselines.ml_knn:MLkNN", "several labels by the vote of nearest neighbours",
        label="ML-kNN", makes_map=False, places=False, keeps_map=False, explains="", **_GUIDED,
    ),
    Card(
        "table-preparer", "manifolia.tables.preparer:TablePreparer", "a table as numbers", label="Table preparer",
        makes_map=False, keeps_map=False, explains="", takes_missing=True, needs_scale=False, **_OURS,
    ),
    Card(
        "supervised-pca", "manifolia.baselines.supervised_pca:SupervisedPCA",
        "directions on which the target depends most; places new rows", label="Supervised PCA", keeps_map=False,
        **_GUIDED,
    ),
    Card(
        "kernel-supervised-pca", "manifolia.baselines.supervised_pca:KernelSupervisedPCA",
        "the same in the space of a kernel; places new rows", label="Kernel supervised PCA", keeps_map=False,
        space={"gamma": Range("real", 1e-4, 10.0, log=True)}, **_GUIDED,
    ),
    Card(
        "supervised-isomap", "manifolia.baselines.supervised_isomap:EnhancedSupervisedIsomap",
        "Isomap on distances that know the classes; places new rows", label="Enhanced supervised Isomap",
        space={"n_neighbors": _NEIGHBORS, "alpha": Range("real", 0.0, 1.0)}, **_GUIDED,
    ),
    Card(
        "supervised-lle", "manifolia.baselines.supervised_lle:EnhancedSupervisedLLE",
        "LLE among neighbours that the classes choose; places new rows", label="Enhanced supervised LLE",
        space={"n_neighbors": _LLE_NEIGHBORS, "alpha": Range("real", 0.0, 1.0)}, **_GUIDED,
    ),
    Card(
        "supervised-nmf", "manifolia.baselines.supervised_nmf:SupervisedNMF",
        "non-negative parts that classes share or not; places new rows", label="Supervised NMF",
        space={
            "similarity": Range("real", 0.01, 100.0, log=True), "dissimilarity": Range("real", 0.01, 100.0, log=True),
        }, **_GUIDED,
    ),
    Card(
        "pls-da", "manifolia.baselines.pls_da:PLSDA", "partial least squares; places new rows", label="PLS-DA",
        keeps_map=False, **_GUIDED,
    ),
    Card(
        "mvu", "manifolia.baselines.mvu:MVU", "maximum variance unfolding; cannot place new rows", label="MVU",
        places=False, explains="", space={"n_neighbors": Range("integer", 3, 20, log=True)}, **_BASELINE,
    ),
    Card(
        "parametric-tsne", "manifolia.baselines.parametric_tsne:ParametricTSNE",
        "a deep network tuned on t-SNE's cost; places new rows", label="Parametric t-SNE", capped=("perplexity",),
        space={"perplexity": Range("real", 5.0, 100.0, log=True)}, **_BASELINE,
    ),
    Card(
        "pca", "sklearn.decomposition:PCA", "the plane of largest variance", "scikit-learn", label="PCA",
        keeps_map=False,
    ),
    Card(
        # The best perplexity for some metrics lies near all of n (the paper finds 0.75 and 0.9), which scikit-learn's
        # t-SNE takes; openTSNE takes no more than a third.
        "tsne", "sklearn.manifold:TSNE", "t-SNE; cannot place new rows", "scikit-learn", label="t-SNE", places=False,
        explains="", loss="kl_divergence_",
        space={"perplexity": Range("share", 0.01, 0.9), "early_exaggeration": _EXAGGERATION},
    ),
    Card(
        "isomap", "sklearn.manifold:Isomap", "geodesic distances", "scikit-learn", label="Isomap",
        space={"n_neighbors": _NEIGHBORS},
    ),
    Card(
        "lle", "sklearn.manifold:LocallyLinearEmbedding", "locally linear embedding", "scikit-learn", label="LLE",
        loss="reconstruction_error_", space={"n_neighbors": _LLE_NEIGHBORS},
    ),
    Card(
        "mds", "sklearn.manifold:MDS", "multidimensional scaling; cannot place new rows", "scikit-learn", label="MDS",
        places=False, explains="", figures=("stress_",), loss="stress_",
    ),
    Card(
        "nmf", "sklearn.decomposition:NMF", "non-negative parts; takes no negative values", "scikit-learn",
        label="NMF", keeps_map=False, loss="reconstruction_err_",
    ),
    Card(
        "opentsne", "openTSNE.sklearn:TSNE", "t-SNE of openTSNE; places new rows", "openTSNE",
        label="t-SNE (openTSNE)", loss="embedding_.kl_divergence",
        space={"perplexity": Range("share", 0.01, 0.33), "early_exaggeration": _EXAGGERATION},
        limits={**_LIMITS, "perplexity": Limit(3, "openTSNE caps it at (n − 1)/3")},
    ),
    Card(
        "umap", "umap:UMAP", "UMAP", "umap-learn", label="UMAP",
        space={"n_neighbors": Range("integer", 2, 100, log=True), "min_dist": Range("real", 0.0, 1.0)},
    ),
    Card(
        "densmap", "manifolia.baselines._peers:DensMAP",
        "UMAP that keeps local densities; cannot place new rows", "umap-learn", label="densMAP", package="umap",
        places=False, explains="",
        space={"n_neighbors": Range("integer", 2, 100, log=True), "min_dist": Range("real", 0.0, 1.0)},
    ),
    Card(
        "pacmap", "pacmap:PaCMAP", "PaCMAP", "pacmap", label="PaCMAP",
        space={"n_neighbors": Range("integer", 5, 100, log=True), "MN_ratio": Range("real", 0.1, 5.0, log=True)},
    ),
    Card(
        "trimap", "trimap:TRIMAP", "TriMap; cannot place new rows", "trimap", label="TriMap", places=False,
        explains="",
        space={"n_inliers": Range("integer", 4, 60, log=True), "n_outliers": Range("integer", 2, 20, log=True)},
    ),
    Card("h-nne", "hnne:HNNE", "h-NNE: a tree of nearest neighbours", "hnne", label="h-NNE", keeps_map=False),
    Card(
        "phate-package", "phate:PHATE", "PHATE of Moon et al., in their own package", "phate",
        label="PHATE (phate package)", keeps_map=False,
        space={"knn": Range("integer", 3, 50, log=True), "t": Range("integer", 1, 100, log=True)},
    ),
):  # fmt: skip
    register(_card)


def names(*, installed: bool = True) -> list[str]:
    """List the methods.

    Parameters
    ----------
    installed : bool, default=True
        Only those whose package is there.

    Returns
    -------
    list of str
        Manifolia's first, then by name; baselines of its own last.
    """
    listed = [method for method in _METHODS.values() if method.is_installed or not installed]
    return [method.name for method in sorted(listed, key=lambda m: (m.baseline, not m.is_ours, m.name))]


def find(name: str) -> Card:
    """Find what is known of a method.

    Parameters
    ----------
    name : str
        Its name; case and underscores do not matter.

    Returns
    -------
    Card
        What is known without importing it.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    plain = str(name).lower().replace("_", "-")
    if plain not in _METHODS:
        near = difflib.get_close_matches(plain, _METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        message = f"there is no method {name!r}.{hint} Installed: {', '.join(names())}."
        raise ValueError(message)
    return _METHODS[plain]


def get(name: str) -> Any:
    """Import a method by name.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    type
        An estimator with ``fit_transform``.

    Examples
    --------
    >>> from manifolia import registry
    >>> registry.get("rf-phate").__name__
    'RFPHATE'
    """
    return find(name).load()


def default_method(*, supervised: bool) -> str:
    """Name the method to take where the user names none.

    Parameters
    ----------
    supervised : bool
        Whether there is a target.

    Returns
    -------
    str
        Its name: forests learn the target; without one the neighbours of the rows are all there is.
    """
    return "rf-phate" if supervised else _UNSUPERVISED


_UNSUPERVISED = "featuremap"
