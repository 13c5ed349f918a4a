"""How far a small change moves a row: closed forms, a naive twin, tears, and bad input."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

import manifolia as mf
from manifolia.exceptions import ParameterError
from manifolia.trust import sensitivity
from manifolia.trust.words import JUMPS


def naive(place, X):
    """The definition, row by row."""
    found = np.full(len(X), np.nan)
    for i, x in enumerate(X):
        d = cdist([x], X)[0]
        near = np.argsort(np.where(np.arange(len(X)) == i, np.inf, d), kind="stable")[:10]
        around = np.vstack([[x], X[near]])
        axes = np.linalg.svd(around - around.mean(axis=0), full_matrices=False)[2][: min(3, X.shape[1])]
        here = place(x[np.newaxis])[0]
        far = [
            np.linalg.norm(place((x + sign * 0.5 * np.sort(d[near])[4] * axis)[np.newaxis])[0] - here)
            for axis in axes
            for sign in (-1, 1)
        ]
        found[i] = max(far) / np.sort(np.linalg.norm(place(X[near]) - here, axis=1))[2]
    return found


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_a_naive_twin_agrees(rng, d):
    X = rng.normal(size=(80, d))
    turn = rng.normal(size=(d, 2))

    def place(rows):
        return np.tanh(rows @ turn) + 3.0 * (rows[:, :1] > 0.4)

    np.testing.assert_allclose(sensitivity(place, X), naive(place, X), rtol=1e-9)


def test_a_map_that_keeps_distances_moves_rows_as_far_as_they_step(rng):
    """The step is half the distance to the fifth neighbour, the radius that to the third."""
    X = rng.random((200, 2))
    near = np.sort(cdist(X, X), axis=1)
    c, s = np.cos(0.7), np.sin(0.7)
    for place in (lambda rows: rows, lambda rows: 9.0 * rows @ np.array([[c, s], [-s, c]]) + 4.0):
        np.testing.assert_allclose(sensitivity(place, X), 0.5 * near[:, 5] / near[:, 3])


@pytest.mark.parametrize("d", [3, 10, 40])
def test_projections_move_no_row_far(rng, d):
    X = rng.normal(size=(500, d))
    assert (sensitivity(PCA(2).fit(X), X) > JUMPS).mean() <= 0.01


def test_rows_beside_a_tear_move_far(rng):
    X = rng.random((400, 3)) * [1.0, 1.0, 0.1]
    found = sensitivity(lambda rows: rows[:, :2] + [4.0, 0.0] * (rows[:, :1] > 0.5), X)
    # A row of which most neighbours lie beyond the tear has a radius as wide as the tear.
    assert (found[np.abs(X[:, 0] - 0.5) < 0.01] > JUMPS).mean() >= 0.7
    assert (found[np.abs(X[:, 0] - 0.5) > 0.15] < JUMPS).all()


def test_copies_few_rows_and_one_place(rng):
    X = rng.normal(size=(60, 3))
    copied = np.vstack([X, np.repeat(X[:1], 8, axis=0)])
    found = sensitivity(lambda rows: rows[:, :2], copied)
    assert np.isnan(found[[0, *range(60, 68)]]).all()
    assert np.isfinite(found[1:60]).all()
    assert np.isnan(sensitivity(lambda rows: rows[:, :2], X[:10])).all()
    assert (sensitivity(lambda rows: np.zeros((len(rows), 2)), X) == 0.0).all()


def test_what_cannot_be_asked_is_refused(rng):
    X = rng.normal(size=(40, 3))
    with pytest.raises(ParameterError, match="places no rows"):
        sensitivity(X[:, :2], X)
    with pytest.raises(ParameterError):
        sensitivity(lambda rows: rows[:5, :2], X)
    X[3, 1] = np.nan
    with pytest.raises(ParameterError):
        sensitivity(lambda rows: rows[:, :2], X)


def test_diagnose_has_it_for_maps_with_a_formula(rng, tmp_path):
    X = rng.normal(size=(150, 4))
    model = mf.KernelTSNE(perplexity=20, random_state=0).fit(X)
    quick = mf.diagnose(model, X, random_state=0)
    assert quick.rows["sensitivity"].isna().all()
    found = mf.diagnose(model, X, level="usual", random_state=0)
    np.testing.assert_allclose(found.rows["sensitivity"], sensitivity(model, X))
    far = found.rows["sensitivity"] > JUMPS
    assert far.any()
    assert found.rows.loc[far, "reason"].str.contains("A small change moves it").all()
    assert not found.rows.loc[~far, "reason"].str.contains("A small change").any()
    assert any("the map's formula tears there" in one.text for one in found.findings)
    back = mf.Diagnosis.load(found.save(tmp_path / "trust.npz"))
    assert np.array_equal(back.rows["sensitivity"], found.rows["sensitivity"])
    plain = mf.diagnose(PCA(2).fit_transform(X), X, level="usual", refit=lambda rows, y, seed: PCA(2).fit(rows))
    assert plain.rows["sensitivity"].isna().all()


@pytest.mark.slow
def test_five_thousand_rows_take_two_seconds(rng):
    X = rng.normal(size=(5000, 20))
    model = mf.KernelMap().fit(X, X[:, :2])  # every row is a centre
    sensitivity(model, X[:300])
    begin = time.process_time()
    sensitivity(model, X)
    assert time.process_time() - begin < 4.0  # two cores
