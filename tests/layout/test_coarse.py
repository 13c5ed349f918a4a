"""The coarse force: a slope of its stress, an arrangement that it keeps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.layout import coarse
from manifolia.layout.coarse import CoarseForce
from manifolia.layout.forces import Schedule, neighbor_forces


def _stress(X, Y, cell):
    """Σ p_a p_b (α D − d)² of the means of cells, at the best α, as a share of Σ p_a p_b (α D)²."""
    p = np.bincount(cell) / len(cell)
    D, d = (
        np.linalg.norm(means[:, None] - means[None], axis=-1)
        for means in (np.array([Z[cell == a].mean(axis=0) for a in range(len(p))]) for Z in (X, Y))
    )
    pairs = p[:, None] * p
    alpha = (pairs * D * d).sum() / (pairs * D**2).sum()
    return (pairs * (alpha * D - d) ** 2).sum() / (pairs * (alpha * D) ** 2).sum()


def _cells_by_hand(force, Y):
    """Shares of the cells, distances in the data, means and distances in the map."""
    p, D = force._p, force._D
    c = np.array([Y[force._cell == a].mean(axis=0) for a in range(len(p))])
    d = np.linalg.norm(c[:, None] - c[None], axis=-1)
    return p, D, c, d


def test_the_force_is_the_slope_of_the_stress(rng, monkeypatch):
    monkeypatch.setattr(coarse, "_CELLS", 5)
    X, Y = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    made = CoarseForce(X, early=1.0, late=1.0, exaggeration=1.0)
    force = made(0, 1.0, Y)
    p, D, c, d = _cells_by_hand(made, Y)
    alpha = (p[:, None] * p * D * d).sum() / (p[:, None] * p * D**2).sum()

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
    np.testing.assert_allclose(p @ np.array([force[made._cell == a][0] for a in range(len(p))]), 0.0, atol=1e-7)


def test_a_map_that_is_the_data_feels_nothing(rng):
    X = rng.normal(size=(200, 2))
    made = CoarseForce(X)
    np.testing.assert_allclose(made(0, 12.0, 3.0 * X), 0.0, atol=1e-6)


def test_its_strength_falls_with_the_exaggeration(rng):
    X, Y = rng.normal(size=(100, 5)), rng.normal(size=(100, 2))
    made = CoarseForce(X, early=0.1, late=0.001)
    whole = np.abs(made(0, 12.0, Y)).max() / 12.0
    assert whole / np.abs(made(0, 1.0, Y)).max() == pytest.approx(100.0, rel=1e-4)


def test_it_is_weaker_at_the_end_in_the_wide_maps_of_many_rows(rng):
    """From 11,000 rows on, by the root of their number: ten times as many feel a root of ten less."""
    places = rng.normal(size=(50, 2))
    pulls = []
    for times in (100, 220, 2200):
        X = np.repeat(np.c_[places, places[:, :1]], times, axis=0)
        pulls.append(np.abs(CoarseForce(X)(0, 1.0, np.repeat(places, times, axis=0))).max())
    assert pulls[1] == pytest.approx(pulls[0], rel=1e-3)
    assert pulls[1] / pulls[2] == pytest.approx(np.sqrt(10.0), rel=1e-3)


def test_cells_are_cut_from_the_start_and_once_more_and_duplicates_are_no_harm(rng):
    X = np.repeat(rng.normal(size=(10, 3)), 20, axis=0)
    made = CoarseForce(X, again=7)
    made(0, 12.0, X[:, :2])
    assert len(made._p) == 10
    Y = np.repeat(rng.normal(size=(4, 2)), 50, axis=0)
    made(6, 12.0, Y)
    assert len(made._p) == 10
    force = made(7, 12.0, Y)
    assert len(made._p) == 4
    np.testing.assert_allclose(made._p, 0.25)
    assert np.isfinite(force).all()
    assert np.isfinite(CoarseForce(np.ones((5, 2)))(0, 12.0, np.zeros((5, 2)))).all()


def test_cells_have_their_means_in_the_data_dense_or_sparse(rng):
    X, Y = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.5), rng.normal(size=(300, 2))
    dense, sparse = CoarseForce(X), CoarseForce(sp.csr_array(X))
    np.testing.assert_allclose(dense(0, 12.0, Y), sparse(0, 12.0, Y), atol=1e-7)
    means = np.array([X[dense._cell == a].mean(axis=0) for a in range(len(dense._p))])
    np.testing.assert_allclose(dense._D, np.linalg.norm(means[:, None] - means[None], axis=-1), atol=1e-7)


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
        stress[name] = _stress(X, Y, labels)
    assert stress["with"] < 0.3 * stress["without"]
    again = neighbor_forces(W, start, schedule=schedule, extra=CoarseForce(X), n_jobs=2).Y
    alone = neighbor_forces(W, start, schedule=schedule, extra=CoarseForce(X), n_jobs=1).Y
    assert again.tobytes() == alone.tobytes()
