"""One run of one setting."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from sklearn.manifold import TSNE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia import RFPHATE, FeatureMAP
from manifolia.metrics.registry import get
from manifolia.tune.runner import Bench, Job

needs_open_tsne = pytest.mark.skipif(importlib.util.find_spec("openTSNE") is None, reason="openTSNE is not installed")


@needs_open_tsne
def test_the_loss_of_open_tsne_is_known() -> None:
    from openTSNE.sklearn import TSNE as OpenTSNE

    X = np.random.default_rng(0).normal(size=(40, 3))
    estimator = OpenTSNE(perplexity=5, n_iter=20, early_exaggeration_iter=5, neighbors="exact")
    bench = Bench(estimator, X, metrics=[get("normalized_stress")])
    model, _ = bench.fitted(Job({}, 0))
    run = bench.run(Job({}, 0))
    assert run.own_loss == pytest.approx(model.embedding_.kl_divergence)


def test_only_supervised_methods_get_the_target() -> None:
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    assert Bench(RFPHATE(), X, y).passes_target
    assert Bench(make_pipeline(StandardScaler(), RFPHATE()), X, y).passes_target
    assert not Bench(RFPHATE(), X).passes_target
    assert not Bench(RFPHATE(), X, y, pass_target=False).passes_target
    assert not Bench(FeatureMAP(), X, y).passes_target
    assert not Bench(TSNE(), X, y).passes_target
