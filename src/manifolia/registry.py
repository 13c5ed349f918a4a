"""Cards of methods: what is known about each, by name or by model; nothing is imported before it is needed.

``registry.get("rf-phate")`` returns a class, ``registry.card_of(model)`` says what a model can do. It is the one place
that probes models of other libraries; all other modules read the card. The command line, the tuner's presets and the
reference list what is here.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from dataclasses import replace
from typing import Any

from manifolia._core.cards import LIMITS, Card, Limit, Range
from manifolia._core.pipelines import last_step
from manifolia.exceptions import ParameterError

__all__ = ["Card", "Limit", "Range", "card_of", "cards", "default_method", "find", "get", "names", "register"]


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
    """Find what is known about a model.

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
        for card in cards():
            # A class may live in a private module of its package (sklearn.manifold._t_sne).
            if base.__name__ == card.path.partition(":")[2] and base.__module__.partition(".")[0] == card.root:
                if not card.is_ours:
                    return replace(card, **_basics(last, card))
                return card if card.of_model is None or last is kind else card.of_model(card, last)
    return _probed(last, kind)


def _basics(model: Any, card: Card | None = None) -> dict[str, Any]:
    """Abilities that may differ between versions of a library, or depend on parameters."""
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
    elif has["feature_effects"]:
        about["explains"] = "shapley"
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
_GUIDE_SCORE = "The guide's {measure} on rows it did not train on is {value:.3f}."
_LOSSES = ("kl_divergence_", "stress_", "loss_", "reconstruction_error_", "reconstruction_err_")
_ASKED = (
    *_FIGURES, *_LOSSES, "perplexity_", "forest_", "oob_prediction_", "feature_importances_", "feature_gradients",
    "feature_effects", "arrow_reliability", "jacobian", "novelty", "novelty_threshold_",
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
    if fitted and card.name == "guided-map" and model.guide_name_ != "forest":
        figures, means = (*card.figures, "guide_score_"), _GUIDE_SCORE
        card = replace(card, knower=str(model.guide_name_), prediction="guide_prediction_")
        return replace(card, figures=figures, score="guide_score_", score_means=means)
    if card.name != "forest-map":
        return card
    limits = dict(LIMITS)
    if model.layout != "tsne":
        del limits["perplexity"]  # other layouts do not use it
    return replace(card, space=_FOREST_LAYOUTS.get(model.layout, {}), limits=limits)


def _of_kernel_map(card: Card, model: Any) -> Card:
    """What a kernel map's parameters decide: only Euclidean distances have derivatives."""
    formula = getattr(model, "map", model)  # of kernel t-SNE: a KernelMap, or None for the usual one
    far_row = "A row far from all has no place." if getattr(formula, "far", "") == "nan" else card.far_row
    metric = getattr(model, "metric", "euclidean")
    smooth = metric == "euclidean"
    limits = card.limits
    if getattr(model, "embedder", "tsne") != "tsne":
        limits = {name: limit for name, limit in limits.items() if name != "perplexity"}
    return replace(
        card,
        metric=metric,
        explains="jacobian" if smooth else "",
        importance=card.importance if smooth else "",
        far_row=far_row,
        limits=limits,
    )


def _of_metric(card: Card, model: Any) -> Card:
    return replace(card, metric=str(model.metric))


def _of_featuremap(card: Card, model: Any) -> Card:
    """Only one of the layouts has a minimum distance."""
    space = {**card.space, "min_dist": _real(0.0, 1.0)} if model.layout == "edges" else card.space
    return replace(card, metric=str(model.metric), space=space)


def _whole(low: int, high: int) -> Range:
    return Range("integer", low, high, log=True)


def _real(low: float, high: float, *, log: bool = False) -> Range:
    return Range("real", low, high, log)


def _share(low: float, high: float) -> Range:
    return Range("share", low, high)


def _one_of(*choices: Any) -> Range:
    return Range("choice", choices=choices)


_PERMUTED = "growth of the error when a column is shuffled"
_FOREST_LAYOUTS = {
    "mds": {"mds": _one_of("metric", "classic", "nonmetric")},
    "isomap": {"n_neighbors": _whole(3, 100)},
    "lle": {"n_neighbors": _whole(4, 100)},
    "umap": {"n_neighbors": _whole(5, 100)},
    "tsne": {"perplexity": _share(0.01, 0.9)},
}
_FOREST: dict[str, Any] = {
    "supervised": True,
    "takes_missing": True,
    "needs_scale": False,
    "forest": True,
    "explains": "shapley",
    "predicts": True,
    "importance": _PERMUTED,
    "novelty": "The share of training rows that lie less far outside the rows that went the same way down the trees.",
    "far_row": "The forest sends every row to a leaf: one far from all lies among the rows that share its leaves.",
    "score": "oob_score_",
    "score_means": _SCORES["oob_score_"],
    # Share of the features that a split may choose from.
    "forest_space": {"forest__max_features": _real(0.1, 1.0)},
    "of_model": _of_forest,
}
_KERNEL_MAP: dict[str, Any] = {
    "explains": "jacobian",
    "importance": "how far a row moves when a column changes, as a share of the column that moves it most",
    "importance_for": "where a row lies in the map",
    "novelty": "The share of ordinary rows that are nearer to the rows whose places make the map.",
    "far_row": "A row far from all is put at the place of its nearest rows.",
    "of_model": _of_kernel_map,
}
_ON_TRAINING_ROWS = {**LIMITS, "perplexity": Limit(1, "it is capped at the training rows but one", "n_train")}
_NEIGHBORS = _whole(3, 100)
_LLE_NEIGHBORS = _whole(4, 100)
_PERPLEXITY = _real(5.0, 300.0, log=True)
_EXAGGERATION = _real(2.0, 48.0, log=True)
_GUIDED: dict[str, Any] = {"supervised": True, "baseline": True}

for _card in (
    Card(
        "rf-phate", "manifolia.methods.rf_phate:RFPHATE", "forest proximities, diffusion and MDS; places new rows",
        label="RF-PHATE", **_FOREST, sharper="guided-map",
        figures=("t_", "stress_", "oob_score_", "over_separation_"), loss="stress_",
        space={"t": _whole(1, 60), "damping": _real(0.5, 1.0)},
    ),
    Card(
        "forest-map", "manifolia.methods.forest_map:ForestMap",
        "forest proximities under MDS, Isomap, LLE, t-SNE or UMAP; places new rows",
        label="Forest map", **_FOREST, sharper="guided-map",
        figures=("oob_score_", "over_separation_"), space=_FOREST_LAYOUTS["mds"],
    ),
    Card(
        "guided-map", "manifolia.methods.guided_map:GuidedMap",
        "forest proximities laid out by neighbour forces, rows placed by votes; places new rows",
        label="Guided map", **_FOREST,
        figures=("oob_score_", "over_separation_"), loss="kl_divergence_", space={"sharpness": _real(1.0, 5.0)},
    ),
    Card(
        "phate", "manifolia.methods.phate:PHATE", "diffusion along nearest neighbours and MDS; places new rows",
        label="PHATE", figures=("t_", "stress_"), loss="stress_", of_model=_of_metric,
        space={"n_neighbors": _whole(3, 50), "decay": _real(2.0, 100.0, log=True), "t": _whole(1, 100)},
    ),
    Card(
        "featuremap", "manifolia.methods.featuremap:FeatureMAP",
        "UMAP's graph laid out by t-SNE's forces, with local densities and arrows of features; places new rows",
        label="FeatureMAP", explains="gradients", arrows=True, of_model=_of_featuremap,
        importance="how much a column varies along the data, from 0 to 1",
        importance_for="the directions in which the rows differ",
        novelty="The share of the rows of the map that are nearer to their neighbours.",
        far_row="A row far from all is put among its nearest rows.",
        space={"n_neighbors": _whole(5, 100), "density_weight": _one_of(0.0, 0.01, 0.03, 0.1, 0.3)},
    ),
    Card(
        "kernel-tsne", "manifolia.methods.kernel_tsne:KernelTSNE",
        "t-SNE of some rows and a formula for all; places new rows",
        label="Kernel t-SNE", **_KERNEL_MAP, limits=_ON_TRAINING_ROWS, space={"perplexity": _PERPLEXITY},
    ),
    Card(
        "fisher-kernel-tsne", "manifolia.methods.kernel_tsne:FisherKernelTSNE",
        "t-SNE of what tells classes apart, and a formula for all rows; places new rows",
        label="Fisher kernel t-SNE", **_KERNEL_MAP, supervised=True, limits=_ON_TRAINING_ROWS,
        figures=("left_out_score_", "over_separation_"), score="left_out_score_",
        score_means=_SCORES["left_out_score_"],
        space={"perplexity": _PERPLEXITY, "euclidean_mix": _real(0.0, 2.0)},
    ),
    Card(
        "kernel-map", "manifolia.extension.kernel_map:KernelMap",
        "a formula that carries a finished map to new rows", label="Kernel map", makes_map=False, keeps_map=False,
        **_KERNEL_MAP,
    ),
    Card(
        "forest-features", "manifolia.methods.forest_features:ForestFeatures",
        "leaves of a forest as sparse features", label="Forest features", makes_map=False, keeps_map=False,
        explains="", supervised=True, takes_missing=True, needs_scale=False,
    ),
    Card(
        "ml-knn", "manifolia.baselines.ml_knn:MLkNN", "several labels by the vote of nearest neighbours",
        label="ML-kNN", makes_map=False, places=False, keeps_map=False, explains="", **_GUIDED,
    ),
    Card(
        "table-preparer", "manifolia.tables.preparer:TablePreparer", "a table as numbers", label="Table preparer",
        makes_map=False, keeps_map=False, explains="", takes_missing=True, needs_scale=False,
    ),
    Card(
        "supervised-pca", "manifolia.baselines.supervised_pca:SupervisedPCA",
        "directions on which the target depends most; places new rows", label="Supervised PCA", keeps_map=False,
        **_GUIDED,
    ),
    Card(
        "kernel-supervised-pca", "manifolia.baselines.supervised_pca:KernelSupervisedPCA",
        "the same in the space of a kernel; places new rows", label="Kernel supervised PCA", keeps_map=False,
        space={"gamma": _real(1e-4, 10.0, log=True)}, **_GUIDED,
    ),
    Card(
        "supervised-isomap", "manifolia.baselines.supervised_isomap:EnhancedSupervisedIsomap",
        "Isomap on distances that know the classes; places new rows", label="Enhanced supervised Isomap",
        space={"n_neighbors": _NEIGHBORS, "alpha": _real(0.0, 1.0)}, **_GUIDED,
    ),
    Card(
        "supervised-lle", "manifolia.baselines.supervised_lle:EnhancedSupervisedLLE",
        "LLE among neighbours that the classes choose; places new rows", label="Enhanced supervised LLE",
        space={"n_neighbors": _LLE_NEIGHBORS, "alpha": _real(0.0, 1.0)}, **_GUIDED,
    ),
    Card(
        "supervised-nmf", "manifolia.baselines.supervised_nmf:SupervisedNMF",
        "non-negative parts that classes share or not; places new rows", label="Supervised NMF",
        space={"similarity": _real(0.01, 100.0, log=True), "dissimilarity": _real(0.01, 100.0, log=True)}, **_GUIDED,
    ),
    Card(
        "pls-da", "manifolia.baselines.pls_da:PLSDA", "partial least squares; places new rows", label="PLS-DA",
        keeps_map=False, **_GUIDED,
    ),
    Card(
        "mvu", "manifolia.baselines.mvu:MVU", "maximum variance unfolding; cannot place new rows", label="MVU",
        places=False, explains="", space={"n_neighbors": _whole(3, 20)}, baseline=True,
    ),
    Card(
        "parametric-tsne", "manifolia.baselines.parametric_tsne:ParametricTSNE",
        "a deep network tuned on t-SNE's cost; places new rows", label="Parametric t-SNE", capped=("perplexity",),
        space={"perplexity": _real(5.0, 100.0, log=True)}, baseline=True,
    ),
    Card(
        "pca", "sklearn.decomposition:PCA", "the plane of largest variance", "scikit-learn", label="PCA",
        keeps_map=False,
    ),
    Card(
        # The best perplexity for some metrics lies near all of n (the tuning paper finds 0.75 and 0.9).
        "tsne", "manifolia.baselines.tsne:TSNE", "t-SNE; cannot place new rows", label="t-SNE", places=False,
        explains="", loss="kl_divergence_", capped=("perplexity",), of_model=_of_metric,
        space={"perplexity": _share(0.01, 0.9), "early_exaggeration": _EXAGGERATION}, baseline=True,
    ),
    Card(
        "sklearn-tsne", "sklearn.manifold:TSNE", "t-SNE of scikit-learn; cannot place new rows", "scikit-learn",
        label="t-SNE (scikit-learn)", places=False, explains="", loss="kl_divergence_",
        space={"perplexity": _share(0.01, 0.9), "early_exaggeration": _EXAGGERATION},
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
        label="NMF", keeps_map=False, needs_scale=False, loss="reconstruction_err_",
    ),
    Card(
        "opentsne", "openTSNE.sklearn:TSNE", "t-SNE of openTSNE; places new rows", "openTSNE",
        label="t-SNE (openTSNE)", loss="embedding_.kl_divergence",
        space={"perplexity": _share(0.01, 0.33), "early_exaggeration": _EXAGGERATION},
        limits={**LIMITS, "perplexity": Limit(3, "openTSNE caps it at (n − 1)/3")},
    ),
    Card(
        "umap", "umap:UMAP", "UMAP", "umap-learn", label="UMAP",
        space={"n_neighbors": _whole(2, 100), "min_dist": _real(0.0, 1.0)},
    ),
    Card(
        "densmap", "manifolia.registry:DensMAP",
        "UMAP that keeps local densities; cannot place new rows", "umap-learn", label="densMAP", package="umap",
        places=False, explains="",
        space={"n_neighbors": _whole(2, 100), "min_dist": _real(0.0, 1.0)},
    ),
    Card(
        # Its transform needs the rows of the fit again.
        "pacmap", "pacmap:PaCMAP", "PaCMAP; cannot place new rows", "pacmap", label="PaCMAP", places=False, explains="",
        space={"n_neighbors": _whole(5, 100), "MN_ratio": _real(0.1, 5.0, log=True)},
    ),
    Card(
        "trimap", "trimap:TRIMAP", "TriMap; cannot place new rows", "trimap", label="TriMap", places=False,
        explains="",
        space={"n_inliers": _whole(4, 60), "n_outliers": _whole(2, 20)},
    ),
    Card("h-nne", "hnne:HNNE", "h-NNE: a tree of nearest neighbours", "hnne", label="h-NNE", keeps_map=False),
    Card(
        "phate-package", "phate:PHATE", "PHATE of Moon et al., in their own package", "phate",
        label="PHATE (phate package)", keeps_map=False,
        space={"knn": _whole(3, 50), "t": _whole(1, 100)},
    ),
):  # fmt: skip
    register(_card)


def cards() -> list[Card]:
    """List the cards of all methods, installed or not, and of the estimators that make no map."""
    return [*_METHODS.values(), *_OTHERS.values()]


def names(*, installed: bool = True) -> list[str]:
    """List the methods.

    Parameters
    ----------
    installed : bool, default=True
        Only those whose package is installed.

    Returns
    -------
    list of str
        Manifolia's methods first, then the others by name; its own baselines last.
    """
    listed = [method for method in _METHODS.values() if method.is_installed or not installed]
    return [method.name for method in sorted(listed, key=lambda m: (m.baseline, not m.is_ours, m.name))]


def find(name: str) -> Card:
    """Find what is known about a method.

    Parameters
    ----------
    name : str
        Its name; case and underscores do not matter.

    Returns
    -------
    Card
        What is known about it without importing it.

    Raises
    ------
    ParameterError
        If there is no method of that name; it is a ValueError.
    """
    plain = str(name).lower().replace("_", "-")
    if plain not in _METHODS:
        near = difflib.get_close_matches(plain, _METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ParameterError(f"there is no method {name!r}.{hint} Installed: {', '.join(names())}.", parameter="method")
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
    """Name the method to use if the user names none.

    Parameters
    ----------
    supervised : bool
        Whether there is a target.

    Returns
    -------
    str
        Its name: forests learn the target; without a target, the neighbours of the rows are all there is.
    """
    return _SUPERVISED if supervised else _UNSUPERVISED


_SUPERVISED = "guided-map"
_UNSUPERVISED = "featuremap"


def _dens_map() -> Any:
    """Make a class of what is a setting in umap-learn, so that it has a name like every method."""
    UMAP: Any = importlib.import_module("umap").UMAP
    plain = inspect.signature(UMAP.__init__)
    own = [p.replace(default=True) if p.name == "densmap" else p for p in plain.parameters.values()]
    signature = plain.replace(parameters=own)

    class DensMAP(UMAP):  # type: ignore[misc]
        """UMAP that keeps local densities (Narayan et al. 2021): umap-learn's, with ``densmap=True`` as the default."""

        def __init__(self, *args: Any, **settings: Any) -> None:
            given = signature.bind(self, *args, **settings)
            given.apply_defaults()
            super().__init__(*given.args[1:], **given.kwargs)

    # scikit-learn reads the parameters from the signature, and pickle finds the class by its names.
    DensMAP.__init__.__signature__ = signature  # type: ignore[attr-defined]
    DensMAP.__module__, DensMAP.__qualname__ = __name__, "DensMAP"
    return DensMAP


def __getattr__(name: str) -> Any:
    if name != "DensMAP":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _dens_map()
    return globals()[name]
