"""Spaces for the methods that are known, and what engines would change without saying so."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.manifold import TSNE, Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia import PHATE, RFPHATE, FisherKernelTSNE, ForestMap, KernelTSNE
from manifolia.exceptions import ManifoliaWarning
from manifolia.tune import Choice, Integer, Normalized, Real, When
from manifolia.tune.presets import (
    check_limits,
    check_used,
    cut_to_limits,
    forest_space,
    limit_of,
    preset,
    with_forest,
)
from manifolia.tune.runner import Bench, Job
from manifolia.tune.space import SearchSpace

needs_open_tsne = pytest.mark.skipif(importlib.util.find_spec("openTSNE") is None, reason="openTSNE is not installed")


def test_our_tsne_is_capped_at_all_other_rows_that_it_lays_out() -> None:
    assert limit_of(KernelTSNE(), "perplexity", 61)[0] == 60  # type: ignore[index]
    assert limit_of(FisherKernelTSNE(n_train=31), "perplexity", 61)[0] == 30  # type: ignore[index]
    assert limit_of(KernelTSNE(n_train=None), "perplexity", 61)[0] == 60  # type: ignore[index]
    assert limit_of(ForestMap(layout="tsne"), "perplexity", 61)[0] == 60  # type: ignore[index]
    assert limit_of(KernelTSNE(embedder="isomap"), "perplexity", 61) is None  # has no use for it
    assert limit_of(ForestMap(layout="umap"), "perplexity", 61) is None
    with pytest.raises(ValueError, match="capped at the training rows but one"):
        check_limits(KernelTSNE(perplexity=61.0), 61)


@needs_open_tsne
def test_a_cap_is_found_inside_a_pipeline() -> None:
    from openTSNE.sklearn import TSNE as OpenTSNE

    model = make_pipeline(StandardScaler(), OpenTSNE(perplexity=25))
    with pytest.raises(ValueError, match="openTSNE caps it"):
        check_limits(model, 60)
    check_limits(make_pipeline(StandardScaler(), TSNE(perplexity=50)), 60)  # scikit-learn's takes all pairs


@needs_open_tsne
def test_what_open_tsne_caps_it_says_in_its_affinities() -> None:
    """The limit in the table is the engine's own."""
    from openTSNE.sklearn import TSNE as OpenTSNE

    X = np.random.default_rng(0).normal(size=(60, 3))
    for perplexity, used in ((19.6, 19.6), (25.0, 59 / 3)):
        model = OpenTSNE(perplexity=perplexity, n_iter=1, early_exaggeration_iter=1, neighbors="exact").fit(X)
        affinities = model.embedding_.affinities
        told = getattr(affinities, "effective_perplexities_", None) or [affinities.effective_perplexity_]
        assert told[0] == pytest.approx(used)


def test_engines_limits_are_never_silent() -> None:
    check_limits(TSNE(perplexity=58.0), 60)
    with pytest.raises(ValueError, match="it must be below n"):
        check_limits(TSNE(perplexity=60.0), 60)
    with pytest.raises(ValueError, match="no more than n − 1"):
        check_limits(Isomap(n_neighbors=60), 60)
    open_tsne = pytest.importorskip("openTSNE.sklearn", reason="openTSNE is not installed")
    with pytest.raises(ValueError, match="openTSNE caps it"):
        check_limits(open_tsne.TSNE(perplexity=30), 60)


def test_a_map_that_tells_it_was_capped_does_not_count() -> None:
    class Told:
        perplexity, perplexity_ = 30.0, 12.0

    with pytest.raises(ValueError, match=r"perplexity 30 was capped at 12"):
        check_used(Told())
    Told.perplexity_ = 30.0
    check_used(Told())


def test_ranges_are_cut_with_a_warning() -> None:
    space = SearchSpace({"n_neighbors": Integer(2, 100, log=True), "p": (0.0, 1.0)})
    with pytest.warns(ManifoliaWarning, match=r"space\['n_neighbors'\] reaches 100, and on 60 rows .* up to 59"):
        cut = cut_to_limits(space, Isomap(), (60, 3))
    assert cut.parameters == {"n_neighbors": Integer(2, 59, log=True), "p": Real(0.0, 1.0)}
    assert cut_to_limits(space, Isomap(), (200, 3)).parameters == space.parameters
    space = SearchSpace({"perplexity": Normalized(0.01, 1.0)})
    with pytest.warns(ManifoliaWarning, match=r"reaches 1 of n"):
        cut = cut_to_limits(space, TSNE(), (60, 3))
    assert cut.parameters["perplexity"].high == pytest.approx(59 / 60)
    with pytest.raises(ValueError, match=r"begins at 70, but on 60 rows it can be 59 at most"):
        cut_to_limits(SearchSpace({"n_neighbors": (70, 90)}), Isomap(), (60, 3))


def test_conditions_outlive_a_cut() -> None:
    space = SearchSpace(
        {"metric": ["euclidean", "cosine"], "n_neighbors": When((5, 90), on="metric", among=["cosine"])}
    )
    with pytest.warns(ManifoliaWarning, match="reaches 90"):
        cut = cut_to_limits(space, Isomap(), (60, 3))
    assert cut.conditions["n_neighbors"].parameter == Integer(5, 59)
    assert cut.at(np.array([0.1, 0.5])) == {"metric": "euclidean"}


def test_every_method_of_ours_has_a_preset() -> None:
    assert set(preset(PHATE())[1]) == {"n_neighbors", "decay", "t"}
    assert set(preset(ForestMap(layout="tsne"))[1]) == {"perplexity"}
    assert isinstance(preset(ForestMap(layout="mds"))[1]["mds"], Choice)
    with pytest.raises(ValueError, match=r"there is no preset for ForestMap\(layout='circle'\)"):
        preset(ForestMap(layout="circle"))
    piped = make_pipeline(StandardScaler(), TSNE())
    assert set(preset(piped)[1]) == {"tsne__perplexity", "tsne__early_exaggeration"}


@pytest.mark.parametrize("layout", ["mds", "isomap", "lle", "umap"])
def test_presets_of_forests_can_be_run(layout: str) -> None:
    """Both ends of every range are taken by the method."""
    iris = load_iris()
    X, y = iris.data[::3], iris.target[::3]
    estimator, space = preset(ForestMap(layout=layout, n_trees=10))
    with pytest.warns(ManifoliaWarning) if layout in ("isomap", "lle", "umap") else _nothing():
        wanted = SearchSpace({**space, **forest_space(estimator)})
        whole = cut_to_limits(wanted, with_forest(estimator, ["forest__a"], y, 50), (50, 4))
    model = with_forest(estimator, whole.names, y, 50)
    for u in (0.0, 1.0):
        setting = whole.at(np.full(len(whole.names), u))
        _, Y = Bench(model, X, y).fitted(Job(setting, 0))
        assert np.isfinite(Y).all()


def _nothing():  # type: ignore[no-untyped-def]
    import contextlib

    return contextlib.nullcontext()


def test_a_forest_is_made_where_its_parameters_are_tuned() -> None:
    y = np.repeat([0, 1], 20)
    model = RFPHATE(n_trees=7)
    made = with_forest(model, ["t", "forest__max_features"], y, 40)
    assert isinstance(made.forest, RandomForestClassifier)
    assert made.forest.n_estimators == 7
    assert model.forest is None
    assert isinstance(with_forest(model, ["forest__a"], np.linspace(0, 1, 40), 40).forest, RandomForestRegressor)
    assert with_forest(model, ["t"], y, 40) is model
    assert forest_space(RFPHATE()) == {"forest__max_features": Real(0.1, 1.0)}
    assert forest_space(RFPHATE(forest=RandomForestClassifier(5).fit(np.eye(4), [0, 0, 1, 1]))) == {}
    assert forest_space(TSNE()) == {}
