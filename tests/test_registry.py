"""Methods by name."""

from __future__ import annotations

import importlib
import inspect
import math
import pickle
import pkgutil
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.manifold import TSNE, Isomap
from sklearn.pipeline import make_pipeline

import manifolia as mf
from manifolia import registry
from manifolia.cli import main
from manifolia.tune import Choice, Integer, Normalized, Real
from manifolia.tune.presets import preset
from test_architecture import public_estimators

TINY = tuple(part[::3] for part in load_iris(return_X_y=True))


def test_names_lead_to_classes():
    assert registry.get("rf-phate") is mf.RFPHATE
    assert registry.get("RF_PHATE") is mf.RFPHATE
    assert registry.get("FeatureMAP") is mf.FeatureMAP
    assert registry.get("kernel_tsne") is mf.KernelTSNE
    assert registry.get("fisher_kernel_tsne") is mf.FisherKernelTSNE
    assert registry.get("isomap") is Isomap


@pytest.mark.filterwarnings("ignore")  # of peers, as they are imported
def test_every_installed_method_loads_and_is_an_estimator():
    for name in registry.names():
        assert hasattr(registry.get(name), "fit_transform"), name


def test_the_package_of_methods_names_every_method():
    """Each method's card, each name of the package, and each class of its modules lead to one another."""
    from manifolia import methods

    listed = {name: getattr(methods, name) for name in methods.__all__}
    by_card = {
        card.load() for name in registry.names() if (card := registry.find(name)).path.startswith("manifolia.methods.")
    }
    assert by_card <= set(listed.values())
    written = {
        item
        for info in pkgutil.iter_modules(methods.__path__, "manifolia.methods.")
        for item in vars(importlib.import_module(info.name)).values()
        if inspect.isclass(item) and item.__module__ == info.name and not item.__name__.startswith("_")
        and issubclass(item, BaseEstimator) and not inspect.isabstract(item)
    }  # fmt: skip
    assert written == set(listed.values())
    assert all(name == item.__name__ and getattr(mf, name) is item for name, item in listed.items())


def test_manifolias_own_come_first_and_its_baselines_last():
    methods = [registry.find(name) for name in registry.names()]
    kinds = [2 if method.baseline else int(method.distribution != "manifolia") for method in methods]
    assert kinds == sorted(kinds)
    assert set(kinds) == {0, 1, 2}
    assert set(registry.names()) <= set(registry.names(installed=False))


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(ValueError, match=r"no method .rfphate.\..*Did you mean .rf-phate."):
        registry.get("rfphate")
    with pytest.raises(ValueError, match=f"Installed: {', '.join(registry.names())}"):
        registry.get("zzz")


def test_what_is_not_installed_is_named_and_not_listed(monkeypatch):
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    registry.register(registry.Card("nowhere", "no_such_package:Thing", "nothing", "no-such-package"))
    assert "nowhere" not in registry.names()
    assert "nowhere" in registry.names(installed=False)
    with pytest.raises(ImportError, match="'nowhere' needs the package no-such-package"):
        registry.get("nowhere")


@pytest.mark.parametrize("name", ["umap", "densmap", "pacmap", "trimap", "h-nne", "phate-package"])
def test_a_peer_is_a_class_or_told_how_to_get(name):
    method = registry.find(name)
    if method.is_installed:
        pytest.skip(f"{method.distribution} is installed; it is loaded with the others")
    with pytest.raises(ImportError, match=rf"{name}. needs the package {method.distribution}: pip install"):
        registry.get(name)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package called umap, which is forgotten after the test."""

    def write(text):
        (tmp_path / "umap.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        return registry

    monkeypatch.syspath_prepend(str(tmp_path))
    before = sys.modules.pop("umap", None)
    vars(registry).pop("DensMAP", None)
    yield write
    sys.modules.pop("umap", None)
    if before is not None:
        sys.modules["umap"] = before
    vars(registry).pop("DensMAP", None)
    importlib.invalidate_caches()


UMAP = """
from sklearn.base import BaseEstimator
class UMAP(BaseEstimator):
    def __init__(self, n_neighbors=15, densmap=False, dens_lambda=2.0):
        self.n_neighbors, self.densmap, self.dens_lambda = n_neighbors, densmap, dens_lambda
"""


def test_densmap_is_umap_with_another_default(package):
    found = package(UMAP)
    kind = found.get("densmap")
    assert issubclass(kind, found.get("umap"))
    assert kind().get_params() == {"n_neighbors": 15, "densmap": True, "dens_lambda": 2.0}
    assert kind(7).n_neighbors == 7
    assert kind(densmap=False).densmap is False
    copied = pickle.loads(pickle.dumps(clone(kind(dens_lambda=0.5))))
    assert (type(copied) is kind, copied.dens_lambda, copied.densmap) == (True, 0.5, True)
    with pytest.raises(TypeError, match="nonsense"):
        kind(nonsense=1)


def test_a_package_that_cannot_be_imported_is_told_so(package):
    found = package("import no_such_package_at_all")
    with pytest.raises(ImportError, match=r"umap-learn, which is here but lacks something: .*no_such_package_at_all"):
        found.get("umap")
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        _ = registry.Other


def test_the_default_is_ours_and_fits_the_task():
    guided, free = (registry.find(registry.default_method(supervised=supervised)) for supervised in (True, False))
    assert guided.supervised
    assert guided.takes_missing
    assert (free.name, free.supervised) == ("featuremap", False)
    assert free.needs_scale  # and missing values are filled in before: it compares distances
    assert guided.is_installed
    assert free.is_installed


def test_a_card_is_found_by_model_class_pipeline_and_subclass():
    class Mine(mf.RFPHATE):
        pass

    assert registry.card_of(mf.RFPHATE) is registry.find("rf-phate")
    assert registry.card_of(Mine()).name == registry.card_of(make_pipeline(PCA(), Mine())).name == "rf-phate"
    assert registry.card_of(mf.KernelMap()).label == "Kernel map"
    assert "kernel-map" not in registry.names(installed=False)
    assert registry.card_of(TSNE()).loss == "kl_divergence_"
    assert registry.card_of(mf.PHATE(metric="cosine")).metric == "cosine"


def test_a_model_without_a_card_is_asked():
    class Stranger(BaseEstimator):
        novelty_threshold_ = 0.99
        metric = "cosine"

        def fit(self, X, y=None):
            self.embedding_, self.stress_ = X[:, :2], 0.5
            return self

        def novelty(self, X=None):
            return X

    card = registry.card_of(Stranger())
    assert (card.label, card.metric, card.places, card.keeps_map) == ("Stranger", "cosine", False, False)
    assert (card.explains, card.forest, bool(card.novelty), card.supervised) == ("", False, True, False)
    fitted = Stranger().fit(np.eye(3))
    assert registry.card_of(fitted).keeps_map
    assert registry.card_of(fitted).figures_of(fitted) == {"stress": 0.5}
    assert registry.card_of(fitted).loss_of(fitted) == 0.5
    pca = registry.card_of(PCA())
    assert (pca.places, pca.explains, pca.supervised) == (True, "displacement", False)
    assert registry.card_of(IncrementalPCA()).label == "IncrementalPCA"


def test_parameters_decide_what_a_model_can_do():
    assert registry.card_of(mf.KernelTSNE(metric="cosine")).explains == ""
    assert registry.card_of(mf.KernelTSNE()).explains == "jacobian"  # of its smooth form
    assert registry.card_of(mf.KernelMap(mapping="mode")).explains == "jacobian"
    assert "no place" in registry.card_of(mf.KernelTSNE(map=mf.KernelMap(far="nan"))).far_row
    assert set(registry.card_of(mf.ForestMap(layout="isomap")).space) == {"n_neighbors"}
    limit = registry.card_of(mf.KernelTSNE(n_train=31)).limits["perplexity"]
    assert limit.most(mf.KernelTSNE(n_train=31), 61) == 30
    assert limit.most(mf.KernelTSNE(n_train=None), 61) == 60
    assert "perplexity" not in registry.card_of(mf.KernelTSNE(embedder="isomap")).limits
    assert registry.card_of(mf.RFPHATE()).forest_space
    assert not registry.card_of(mf.RFPHATE(forest=RandomForestClassifier().fit(*TINY))).forest_space


@pytest.mark.filterwarnings("default")
def test_every_public_estimator_has_a_complete_card():
    for kind in public_estimators().values():
        card = registry.card_of(kind)
        assert (card.is_ours, card.load()) == (True, kind)
        assert card.label
        assert card.summary


@pytest.mark.parametrize("name", registry.names(installed=False))
def test_a_card_says_all_that_is_asked_of_it(name):
    card = registry.find(name)
    assert card.label
    assert card.summary
    assert card.explains in ("gradients", "jacobian", "shapley", "displacement", "")
    assert bool(card.explains) == card.places
    assert ("cannot place new rows" in card.summary) == (not card.places)
    assert bool(card.score) == bool(card.score_means)
    assert not card.score or card.score in card.figures
    assert bool(card.novelty) <= bool(card.far_row)
    assert {one.kind for one in card.space.values()} <= {"integer", "real", "share", "choice"}
    for one in card.space.values():
        assert one.low < one.high or len(one.choices) > 1
    assert set(card.limits) <= {"n_neighbors", "knn", "perplexity"}


#: Settings that make a fit of a few rows quick.
QUICK = {
    "rf-phate": {"n_trees": 20},
    "forest-map": {"n_trees": 20},
    "featuremap": {"n_epochs": 20},
    "parametric-tsne": {"hidden_layer_sizes": (8,), "n_pretrain": 2, "max_iter": 5},
    "opentsne": {"n_iter": 5, "early_exaggeration_iter": 5, "neighbors": "exact"},
}


#: Whose methods are fitted to see that their cards are true; peers that may be installed beside them differ by version.
TRIED = ("manifolia", "scikit-learn")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in registry.names() if registry.find(name).distribution in TRIED])
def test_what_a_card_promises_a_fitted_model_keeps(name):
    X, y = TINY
    kind = registry.get(name)
    model = kind(**QUICK.get(name, {}))
    if "perplexity" in model.get_params():
        model.set_params(perplexity=5.0)
    model.fit(X, y)
    card = registry.card_of(model)
    assert card.name == name
    assert card.places == hasattr(model, "transform")
    assert card.keeps_map == hasattr(model, "embedding_")
    assert bool(card.novelty) == hasattr(model, "novelty")
    if card.novelty:
        novelty = model.novelty(X)
        assert novelty.min() >= 0
        assert novelty.max() <= 1
    for answer in ("forest_", "proximity_matrix", "feature_importances_", "importances_std_"):
        assert card.forest == hasattr(model, answer), answer
    assert card.predicts == hasattr(model, "oob_prediction_")
    assert card.task == str(getattr(model, "task_", ""))
    assert card.arrows == hasattr(model, "arrow_reliability") == hasattr(model, "reliability_")
    assert (card.explains == "gradients") == card.arrows
    assert (card.explains == "jacobian") == hasattr(model, "jacobian")
    assert (card.explains == "shapley") == hasattr(model, "feature_effects")
    assert bool(card.importance) == (card.forest or hasattr(model, "feature_importance"))
    assert set(card.figures_of(model)) == {figure.rstrip("_") for figure in card.figures}
    assert math.isfinite(card.loss_of(model)) == bool(card.loss)
    assert set(card.space) <= set(model.get_params())
    for capped in card.capped:
        assert getattr(model, f"{capped}_") <= getattr(model, capped)
    probed = registry._probed(model, kind)
    fields = ("places", "keeps_map", "forest", "predicts", "task", "metric", "explains", "arrows", "figures", "score")
    for one in fields:  # what is asked of strangers finds the same
        assert getattr(probed, one) == getattr(card, one), one


@pytest.mark.filterwarnings("ignore")  # of peers, as they are imported
def test_each_card_appears_where_it_should():
    import manifolia.baselines

    kinds = {"integer": Integer, "real": Real, "share": Normalized, "choice": Choice}
    for name in registry.names():
        kind = registry.get(name)
        card = registry.card_of(kind())
        if card.is_ours:
            assert getattr(manifolia.baselines if card.baseline else mf, kind.__name__) is kind
        if card.space:
            tuned = preset(kind())[1]
            assert {k: type(one) for k, one in tuned.items()} == {k: kinds[one.kind] for k, one in card.space.items()}
            for key, one in card.space.items():
                ends = tuple(tuned[key].options) if one.choices else (tuned[key].low, tuned[key].high)
                assert ends == (one.choices or (one.low, one.high))
    told = CliRunner().invoke(main, ["info"]).output
    assert all(name in told for name in registry.names())
