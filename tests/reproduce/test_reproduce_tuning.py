"""The tools behind the page on tuning, on figures that can be told by hand."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("optuna", reason="optuna is not installed")

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    return importlib.import_module


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


def test_joint_probabilities_have_the_perplexity_and_sum_to_one(module, X, monkeypatch):
    tsne = module("reproduce.tuning.exact_tsne")
    whole = tsne.joint(X, 7)
    monkeypatch.setattr(tsne, "BLOCK", 9)  # blocks that do not divide the rows
    np.testing.assert_array_equal(tsne.joint(X, 7), whole)
    np.testing.assert_allclose(whole.sum(), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(whole, whole.T)
    assert np.all(np.diag(whole) == 0.0)
    # By hand: Gaussian weights of one row, at the bandwidth that gives this perplexity, by bisection.
    conditional = []
    for i, row in enumerate(cdist(X, X, "sqeuclidean")):
        others = np.delete(row, i)
        low, high = 1e-6, 1e6
        for _ in range(200):
            beta = np.sqrt(low * high)
            p = np.exp(-beta * (others - others.min()))
            p /= p.sum()
            entropy = -np.sum(p * np.log(np.maximum(p, 1e-300)))
            low, high = (beta, high) if entropy > np.log(7) else (low, beta)
        conditional.append(np.insert(p, i, 0.0))
    expected = (np.array(conditional) + np.array(conditional).T) / (2 * len(X))
    np.testing.assert_allclose(whole, expected, atol=1e-5)


def test_divergence_by_blocks(module, X, monkeypatch):
    tsne = module("reproduce.tuning.exact_tsne")
    P, Y = tsne.joint(X, 7).astype(np.float64), X[:, :2]
    W = 1.0 / (1.0 + cdist(Y, Y, "sqeuclidean"))
    np.fill_diagonal(W, 0.0)
    some = P > 0
    expected = np.sum(P[some] * np.log(P[some] / (W / W.sum())[some]))
    monkeypatch.setattr(tsne, "BLOCK", 11)
    np.testing.assert_allclose(tsne.divergence(P, Y), expected, rtol=1e-5)


def test_forces_are_the_gradient(module, X):
    tsne = module("reproduce.tuning.exact_tsne")
    P, Y = tsne.joint(X, 7), X[:, :2].astype(np.float32)
    fx, fy = np.zeros(40, np.float32), np.zeros(40, np.float32)
    tsne._forces(P, np.ascontiguousarray(Y[:, 0]), np.ascontiguousarray(Y[:, 1]), np.float32(1.0), fx, fy)
    W = 1.0 / (1.0 + cdist(Y, Y, "sqeuclidean"))
    np.fill_diagonal(W, 0.0)
    weights = 4.0 * (P - W / W.sum()) * W
    expected = weights.sum(axis=1)[:, None] * Y - weights @ Y
    np.testing.assert_allclose(np.stack((fx, fy), axis=1), expected, atol=1e-5)


def test_levels_are_a_fixed_factor_apart_and_near(module):
    level = module("reproduce.tuning.data").nearest_level
    assert [level(value, 1.05) for value in (1, 2, 3, 30, 100, 800)] == [1, 2, 3, 30, 98, 800]
    assert all(abs(np.log(level(value, 1.1) / value)) < 0.09 for value in range(5, 100))
    assert all(level(level(value, 1.05), 1.05) == level(value, 1.05) for value in range(1, 900))


def test_steps_end_with_the_last_trial(module):
    steps = module("reproduce.tuning.studies").steps
    assert steps(9, 2) == [3, 5, 7, 9]
    assert steps(10, 4) == [6, 10]
    assert steps(5, 1) == [3, 4, 5]


def test_quick_and_full_results_are_kept_apart(module, tmp_path):
    studies = module("reproduce.tuning.studies")
    full = studies.Store(tmp_path)
    quick = studies.Store(tmp_path / "quick", studies.QUICK)
    full.get("one", lambda: 1)
    assert quick.get("one", lambda: 2) == 2
    assert full.get("one", lambda: 3) == 1
    one, other = full.pool("clusters"), quick.pool("clusters")
    assert one.folder != other.folder
    assert studies.searched(one) == 25
    assert list(studies.true_numbers(other)) == list(range(8, 18))


def table(low, high):
    names = ("S1", "ST", "Shapley")
    row = {"parameter": "n_neighbors", **dict.fromkeys(names, 0.5)}
    return {**row, **{f"{n} low": low for n in names}, **{f"{n} high": high for n in names}}


def test_tables_that_tell_nothing_are_called_so(module):
    page = module("reproduce.tuning.page")
    one = {"settings": 8, "r2": 0.7}
    tables = {
        "clusters search": {**one, "table": [table(0.0, 1.0)]},
        "coil design": {**one, "table": [table(0.3, 0.7)]},
        "coil:third search": {**one, "refused": "too few trials."},
    }
    text = "\n".join(page.sobol_lines(tables))
    assert "Every interval of two clusters, search, goes from 0 to 1: these indices tell nothing." in text
    assert "interval of COIL" not in text
    assert "- COIL, a third, search: too few trials." in text
    assert "tell nothing" not in "\n".join(page.sobol_lines({"coil design": tables["coil design"]}))


@pytest.mark.parametrize(
    ("own", "other", "said"),
    [((0.5, 0.8), (0.0, 0.1), "won"), ((0.2, 0.8), (0.1, 0.3), "tied"), ((0, 0.1), (0.4, 1), "lost")],
)
def test_the_order_of_two_indices(module, own, other, said):
    rows = [
        {**table(*ends), "parameter": name, "S1": np.mean(ends), "ST": np.mean(ends)}
        for ends, name in ((own, "n_neighbors"), (other, "min_dist"))
    ]
    tables = {"coil design": {"table": rows}, "coil:third design": {"refused": "too few trials."}}
    *_, first, total, refused, _ = (one[-1] for one in module("reproduce.tuning.page").sobol_verdicts(tables))
    outcome = module("reproduce._shared.counts").outcome
    assert outcome(first) == said
    assert outcome(total) == ("won" if said == "lost" else "lost")  # no claim holds by overlapping intervals
    assert (outcome(refused), refused.ours) == ("lost", None)


def test_what_is_delivered_is_chosen_by_the_other_runs(module):
    page = module("reproduce.tuning.large_page")

    def runs(*values):
        return {"runs": [{"figures": [value, 0.0, 0.0]} for value in values]}

    maps = {"same fraction": runs(0.7, 0.1, 0.1), "between": runs(0.5, 0.5, 0.5), "same number": runs(0.0, 0.0, 0.0)}
    # The lucky run of the first way is not chosen by itself: without it that way has 0.1, and with it 0.4.
    np.testing.assert_allclose(page.delivered(maps, 0), [0.5, 0.5, 0.5])


def test_carried_over_in_three_ways(module):
    ways = module("reproduce.tuning.large").ways_of({"n_neighbors": 10.0, "min_dist": 0.4}, 100, 900)
    assert {way: one["n_neighbors"] for way, one in ways.items()} == {
        "same fraction": 90,
        "between": 30,
        "same number": 10,
    }
    assert all(one["min_dist"] == 0.4 for one in ways.values())
