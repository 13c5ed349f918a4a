"""The script on repeated measurements: what it plants, and who is told."""

from __future__ import annotations

import numpy as np
import pytest
from reproduce.repeated_measurements import run


def test_patients_are_alike_and_their_labels_are_not(monkeypatch):
    X, y = run.planted(0)
    assert X.shape == (1000, 8)
    assert all(len(set(y[patient == run.GROUPS])) == 1 for patient in range(200))
    within = X[run.GROUPS == 3].std(axis=0).mean()
    assert within < 0.5 * X.std(axis=0).mean()
    with_signal, _ = run.planted(0, 3.0)
    np.testing.assert_allclose(with_signal[:, 0] - X[:, 0], 3.0 * y)


@pytest.mark.parametrize(("signal", "low", "high"), [(0.0, 0.35, 0.65), (3.0, 0.75, 1.0)])
def test_figures_by_patients(monkeypatch, signal, low, high):
    monkeypatch.setattr(run, "N_TREES", 60)
    score, shown, _ = run.figures(run.RFPHATE, *run.planted(0, signal), run.GROUPS, 0)
    assert low < score < high
    assert low < shown < high


def test_planted_patients_are_suspected_and_others_not(rng):
    X, y = run.planted(0)
    assert run.is_warned(X, y)
    assert not run.is_warned(rng.normal(size=X.shape), y)
