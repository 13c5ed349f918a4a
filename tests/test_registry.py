"""Methods by name."""

from __future__ import annotations

import importlib
import pickle
import sys

import pytest
from sklearn.base import clone
from sklearn.manifold import Isomap

import manifolia as mf
from manifolia import registry


def test_names_lead_to_classes():
    assert registry.get("rf-phate") is mf.RFPHATE
    assert registry.get("RF_PHATE") is mf.RFPHATE
    assert registry.get("FeatureMAP") is mf.FeatureMAP
    assert registry.get("kernel_tsne") is mf.KernelTSNE
    assert registry.get("fisher_kernel_tsne") is mf.FisherKernelTSNE
    assert registry.get("isomap") is Isomap


def test_every_installed_method_loads_and_is_an_estimator():
    for name in registry.names():
        assert hasattr(registry.get(name), "fit_transform"), name


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


def test_what_is_not_installed_is_named_and_not_listed():
    registry.register(registry.Method("nowhere", "no_such_package:Thing", "nothing", "no-such-package"))
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

    peers = importlib.import_module("manifolia.baselines._peers")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = sys.modules.pop("umap", None)
    vars(peers).pop("DensMAP", None)
    yield write
    sys.modules.pop("umap", None)
    if before is not None:
        sys.modules["umap"] = before
    vars(peers).pop("DensMAP", None)
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
        _ = importlib.import_module("manifolia.baselines._peers").Other


def test_the_default_is_ours_and_fits_the_task():
    guided, free = (registry.find(registry.default_method(supervised=supervised)) for supervised in (True, False))
    assert guided.supervised
    assert guided.takes_missing
    assert (free.name, free.supervised) == ("featuremap", False)
    assert free.needs_scale  # and missing values are filled in before: it compares distances
    assert guided.is_installed
    assert free.is_installed
