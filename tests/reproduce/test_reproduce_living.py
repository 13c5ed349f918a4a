"""The script on maps that live: its plants are what they say, and its figures are right on cases done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from reproduce.living_maps import run


@pytest.mark.parametrize("word", run.PLANTS)
def test_a_plant_is_said(word):
    assert run.planted(word, 0)["right"]


def test_clusters_are_apart(rng):
    Y, labels = run.clusters(rng)
    middles = np.array([Y[labels == k].mean(axis=0) for k in range(6)])
    gaps = np.linalg.norm(middles[:, None] - middles[None], axis=2)[np.triu_indices(6, 1)]
    assert gaps.min() > 20


def test_figures_by_hand():
    assert run.auroc([0.01, 0.02], [0.5, 0.6]) == 1.0
    assert run.auroc([0.5], [0.5, 0.1]) == 0.25
    Y = np.random.default_rng(0).normal(size=(50, 2))
    assert run.way(Y, Y) == 0.0
    assert run.way(Y + 0.1, Y) > 0.0


def test_a_map_near_another_moves_less(monkeypatch):
    X, y = run.read("digits")
    monkeypatch.setattr(run, "N_TREES", 40)
    monkeypatch.setattr(run, "read", lambda name: (X[:250], y[:250]))
    found = run.near("digits", "GuidedMap", 0)
    assert found["near"]["moved"] < 0.5 * found["free"]["moved"]
    assert 0.0 <= found["near"]["accuracy"] <= 1.0
