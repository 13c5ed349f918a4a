"""One run of one setting."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from sklearn.manifold import TSNE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia import RFPHATE, FeatureMAP, Tuner
from manifolia.metrics.registry import get
from manifolia.tune.runner import Bench, Job, Runner, fitted_map, run_once

needs_open_tsne = pytest.mark.skipif(importlib.util.find_spec("openTSNE") is None, reason="openTSNE is not installed")


@needs_open_tsne
def test_the_loss_of_open_tsne_is_known() -> None:
    from openTSNE.sklearn import TSNE as OpenTSNE

    X = np.random.default_rng(0).normal(size=(40, 3))
    estimator = OpenTSNE(perplexity=5, n_iter=20, early_exaggeration_iter=5, neighbors="exact")
    model, _ = fitted_map(estimator, Job({}, 0), X, None, pass_target=False)
    run = run_once(Bench(estimator, X, None, None, [get("normalized_stress")], pass_target=False), Job({}, 0))
    assert run.own_loss == pytest.approx(model.embedding_.kl_divergence)


def test_only_supervised_methods_get_the_target() -> None:
    def gets_target(estimator: object, y: object = (0, 1) * 6) -> bool:
        X = np.zeros((12, 2))
        return Runner(Tuner(estimator, {}), estimator, X, y, None, [], 0).bench.pass_target

    assert gets_target(RFPHATE())
    assert gets_target(make_pipeline(StandardScaler(), RFPHATE()))
    assert not gets_target(RFPHATE(), None)
    assert not gets_target(FeatureMAP())
    assert not gets_target(TSNE())
