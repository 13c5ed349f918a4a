"""Methods by name."""

from __future__ import annotations

import pytest
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


def test_manifolias_own_come_first():
    assert registry.names()[:3] == ["featuremap", "fisher-kernel-tsne", "kernel-tsne"]
    assert set(registry.names()) <= set(registry.names(installed=False))


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(ValueError, match=r"no method .rfphate.\..*Did you mean .rf-phate."):
        registry.get("rfphate")
    with pytest.raises(ValueError, match="Installed: featuremap, fisher-kernel-tsne, kernel-tsne, rf-phate"):
        registry.get("zzz")


def test_what_is_not_installed_is_named_and_not_listed():
    registry.register(registry.Method("nowhere", "no_such_package:Thing", "nothing", "no-such-package"))
    assert "nowhere" not in registry.names()
    assert "nowhere" in registry.names(installed=False)
    with pytest.raises(ImportError, match="'nowhere' needs the package no-such-package"):
        registry.get("nowhere")


def test_the_default_is_ours_and_fits_the_task():
    guided, free = (registry.find(registry.default_method(supervised=supervised)) for supervised in (True, False))
    assert guided.supervised
    assert guided.takes_missing
    assert (free.name, free.supervised) == ("featuremap", False)
    assert free.needs_scale  # and missing values are filled in before: it compares distances
    assert guided.is_installed
    assert free.is_installed
