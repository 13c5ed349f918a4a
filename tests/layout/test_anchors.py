"""Rows are drawn to places of an earlier map: forces, stress, starts, and who is let go."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist, squareform

from manifolia.layout import anchors as module
from manifolia.layout.anchors import AnchorForce, Anchors, anchored_by, anchored_forces, arranged_edges, begin
from manifolia.layout.forces import Schedule
from manifolia.layout.metric_mds import mds_layout, metric_mds


def _graph(X, k=8):
    D = cdist(X, X)
    near = np.sort(D, axis=1)[:, [k]] >= D
    W = sp.csr_array(np.where(near | near.T, np.exp(-D / D[near].mean()), 0.0))
    W.setdiag(0.0)
    W.eliminate_zeros()
    return W


def test_stress_with_anchors_reaches_the_minimum_of_a_plain_optimiser(rng):
    n = 12
    D = squareform(pdist(rng.normal(size=(n, 4))))
    places = rng.normal(size=(n, 2))
    places[8:] = np.nan
    weights = np.where(np.isnan(places[:, 0]), 0.0, rng.uniform(0.2, 1.0, n))
    strength = 0.02
    a = module.STRESS * strength * n * weights

    def cost(flat):
        Y = flat.reshape(n, 2)
        return ((squareform(D) - pdist(Y)) ** 2).sum() + (a[:, None] * (Y - np.nan_to_num(places)) ** 2).sum()

    start = rng.normal(size=(n, 2))
    ours = metric_mds(D, start, anchors=Anchors(places, weights), anchor_strength=strength, max_iter=3000, tol=1e-12)
    theirs = minimize(cost, ours.Y.ravel(), method="BFGS")
    assert cost(ours.Y.ravel()) <= theirs.fun * (1.0 + 1e-6)
    assert cost(ours.Y.ravel()) < 0.9 * cost(start.ravel())
    assert np.sqrt(((squareform(D) - pdist(ours.Y)) ** 2).sum() * 2 / (D**2).sum()) == pytest.approx(ours.stress)
    assert (np.diff(ours.history) <= 1e-9).all()


def test_firm_anchors_hold_rows_and_loose_ones_do_not(rng):
    X = rng.normal(size=(60, 5))
    D = squareform(pdist(X))
    free = mds_layout(D).Y
    target = free[:, ::-1] * 3.0 + 5.0
    target[40:] = np.nan
    near = mds_layout(D, near=target, near_strength=100.0).Y
    assert np.linalg.norm(near[:40] - target[:40], axis=1).max() < 0.05 * np.ptp(target[:40])
    # Rows without a place lie where the distances want them, in the size of the earlier map.
    assert np.corrcoef(cdist(near[40:], near[:40]).ravel(), D[40:, :40].ravel())[0, 1] > 0.7
    assert mds_layout(D, near=target, near_strength=0.0).stress == pytest.approx(mds_layout(D).stress, rel=0.05)


def test_the_force_is_the_slope_of_its_term_and_sparse_of_size(rng):
    Y, T = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    T[15:] = np.nan
    weights = np.where(np.isnan(T[:, 0]), 0.0, rng.uniform(0.1, 1.0, 20))
    force = AnchorForce(Anchors(T, weights))(0, 1.0, Y.astype(np.float32))
    assert not force[15:].any()
    # Nothing pulls a map that is the earlier one in another size and at another place.
    same = np.where(np.isnan(T), 1.0, 4.0 * T + 7.0).astype(np.float32)
    assert np.abs(AnchorForce(Anchors(T, weights))(0, 1.0, same)).max() < 1e-5
    share = weights[:15] / weights.sum()
    y, t = Y[:15] - share @ Y[:15], T[:15] - share @ T[:15]
    size = (share @ (y * t).sum(axis=1)) / (share @ (t * t).sum(axis=1))
    np.testing.assert_allclose(force[:15], module.FORCE * weights[:15, None] * (size * t - y), atol=1e-6)


def test_rows_whose_neighbours_have_changed_are_let_go(rng):
    X = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 20.0])
    places = X.copy()
    places[:3] += 20.0  # on the earlier map they were among the others
    places[97:] = np.nan
    weights = anchored_by(_graph(X), places).weights
    assert weights[:3].max() < 0.2
    assert np.median(weights[3:97]) == 1.0
    assert not weights[97:].any()


def test_free_rows_begin_with_the_rows_that_they_are_like(rng):
    X = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 20.0])
    places = X[:, ::-1] * 2.0
    places[:5] = np.nan
    Y = begin(rng.normal(size=(100, 2)), _graph(X), Anchors(places, np.isfinite(places[:, 0]).astype(float)))
    assert np.array_equal(Y[5:], places[5:])
    assert np.linalg.norm(Y[:5] - places[5:50].mean(axis=0), axis=1).max() < 10.0


@pytest.mark.parametrize("size", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("lay_out", ["forces", "edges"])
def test_layouts_stay_near_a_map_of_any_size(rng, size, lay_out):
    X = np.vstack([rng.normal(size=(60, 3)) + 12.0 * rng.normal(size=3) for _ in range(4)])
    W = _graph(X)
    places = X[:, :2] * size
    places[::10] = np.nan
    start = rng.normal(size=(240, 2))
    if lay_out == "forces":
        strong, free = (anchored_forces(W, start, places, s, Schedule(0, 0, 150)).Y for s in (4.0, 0.0))
    else:
        strong, free = (
            arranged_edges(W, start, near=places, near_strength=s, random_state=0, n_epochs=100).Y for s in (4.0, 0.0)
        )
    held = np.isfinite(places[:, 0])
    gap, other = (np.median(np.linalg.norm(Y[held] - places[held], axis=1)) / size for Y in (strong, free))
    assert gap < 0.7 * other
    assert gap < 3.0
