"""The coarse force: a slope of its stress, an arrangement that it keeps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.layout import coarse
from manifolia.layout.coarse import CoarseForce
from manifolia.layout.forces import Schedule, neighbor_forces


def _stress_by_hand(force, Y):
    """½ Σ p_a p_b (α D − d)² with α held, the function whose slope the force is."""
    p, D = force._p, force._D
    c = np.array([Y[force._cell == a].mean(axis=0) for a in range(len(p))])
    d = np.linalg.norm(c[:, None] - c[None], axis=-1)
    return p, D, c, d


def test_the_force_is_the_slope_of_the_stress(rng, monkeypatch):
    monkeypatch.setattr(coarse, "_CELLS", 5)
    X, Y = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    made = CoarseForce(X, early=1.0, late=1.0, exaggeration=1.0)
    p, D, c, d = _stress_by_hand(made, Y)
    alpha = (p[:, None] * p * D * d).sum() / (p[:, None] * p * D**2).sum()
    force = made(0, 1.0, Y)

    def half_stress(centres):
        gaps = np.linalg.norm(centres[:, None] - centres[None], axis=-1)
        return 0.25 * (p[:, None] * p * (alpha * D - gaps) ** 2).sum()

    for a in range(len(p)):
        for m in range(2):
            moved, back = c.copy(), c.copy()
            moved[a, m] += 1e-6
            back[a, m] -= 1e-6
            slope = (half_stress(moved) - half_stress(back)) / 2e-6
            assert force[made._cell == a][0, m] * p[a] == pytest.approx(-slope, abs=1e-6)
    assert made.stress(Y) > 0.0
    np.testing.assert_allclose(p @ np.array([force[made._cell == a][0] for a in range(len(p))]), 0.0, atol=1e-7)


def test_a_map_that_is_the_data_feels_nothing(rng):
    X = rng.normal(size=(200, 2))
    made = CoarseForce(X)
    np.testing.assert_allclose(made(0, 12.0, 3.0 * X), 0.0, atol=1e-6)
    assert made.stress(3.0 * X) < 1e-20


def test_its_strength_falls_with_the_exaggeration(rng):
    X, Y = rng.normal(size=(100, 5)), rng.normal(size=(100, 2))
    made = CoarseForce(X, early=0.1, late=0.001)
    whole = np.abs(made(0, 12.0, Y)).max() / 12.0
    assert whole / np.abs(made(0, 1.0, Y)).max() == pytest.approx(100.0, rel=1e-4)


def test_cells_are_cut_from_the_map_later_and_duplicates_are_no_harm(rng):
    X = np.repeat(rng.normal(size=(10, 3)), 20, axis=0)
    made = CoarseForce(X)
    assert len(made._p) == 10
    Y = np.repeat(rng.normal(size=(4, 2)), 50, axis=0)
    force = made(coarse._OWN_CELLS, 12.0, Y)
    assert len(made._p) == 4
    assert np.isfinite(force).all()
    assert np.isfinite(CoarseForce(np.ones((5, 2)))(0, 12.0, np.zeros((5, 2)))).all()


def test_it_keeps_the_arrangement_of_groups(rng):
    """Eight groups on a line, which the graph does not connect: only the coarse force knows their order."""
    labels = np.repeat(np.arange(8), 25)
    X = np.c_[10.0 * labels, np.zeros(200)] + 0.5 * rng.normal(size=(200, 2))
    W = sp.csr_array((labels[:, None] == labels[None]) & ~np.eye(200, dtype=bool), dtype=float)
    start = 1e-2 * rng.normal(size=(200, 2))
    schedule = Schedule(early=100, release=50, late=100)
    stress = {}
    for name, extra in (("with", CoarseForce(X)), ("without", None)):
        Y = neighbor_forces(W, start, schedule=schedule, extra=extra).Y
        stress[name] = CoarseForce(X).stress(Y)
    assert stress["with"] < 0.3 * stress["without"]
    again = neighbor_forces(W, start, schedule=schedule, extra=CoarseForce(X), n_jobs=2).Y
    alone = neighbor_forces(W, start, schedule=schedule, extra=CoarseForce(X), n_jobs=1).Y
    assert again.tobytes() == alone.tobytes()
