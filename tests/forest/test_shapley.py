"""Shapley values of forests: against every coalition, against a peer, and what they must add up to."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from manifolia._core.parallel import threads
from manifolia.exceptions import ParameterError
from manifolia.forest import shapley
from manifolia.forest.leaf_tables import leaf_ids
from manifolia.forest.trees import read_trees
from reference import shapley as naive


def grown(kind: str, n_trees: int = 5, n: int = 120, d: int = 6, **limits):
    """Return a forest and rows in single precision."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 1] = rng.integers(0, 3, size=n)  # ties
    if kind == "missing":
        X[rng.random((n, d)) < 0.25] = np.nan
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.nan_to_num(X[:, 2])
    if kind == "numbers":
        return RandomForestRegressor(n_trees, random_state=0, **limits).fit(X, score), X
    if kind == "several numbers":
        return RandomForestRegressor(n_trees, random_state=0, **limits).fit(X, np.column_stack([score, X[:, 3]])), X
    if kind == "several classes":
        y = np.column_stack([score > 0, rng.integers(0, 3, size=n)])
        return ExtraTreesClassifier(n_trees, random_state=0, **limits).fit(X, y), X
    return RandomForestClassifier(n_trees, random_state=0, **limits).fit(X, np.digitize(score, [-1.0, 0.5])), X


KINDS = ["classes", "missing", "numbers", "several numbers", "several classes"]


def said(forest, rows):
    """What a forest predicts: shares of the classes of all outputs, or numbers."""
    if not hasattr(forest, "n_classes_"):
        return forest.predict(rows).reshape(len(rows), -1)
    shares = forest.predict_proba(rows)
    return np.concatenate(shares, axis=1) if isinstance(shares, list) else shares


def effects(forest, X, background, sources=None, weights=None):
    """Ask for the Shapley values of what a forest predicts."""
    trees = read_trees(forest)
    leaf = leaf_ids(trees, X)
    weights = shapley.even_weights(np.ones_like(leaf)) if weights is None else weights
    game = shapley.exchange(trees, X, background, sources)
    return shapley.weighted_effects(game, leaf, weights, shapley.prediction_entries(forest, trees))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sources", [None, ["a", "b", "a", "c", "b", "d"]], ids=["columns", "groups"])
def test_every_coalition_is_in_it(kind, sources):
    forest, X = grown(kind)
    found = effects(forest, X[:4], X[60:67], sources)
    player = list(range(6)) if sources is None else shapley.players_of(sources).tolist()
    for i in range(4):
        expected = naive.add_effects(lambda rows: said(forest, rows), X[i], X[60:67], player)
        np.testing.assert_allclose(found[i], expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [{}, {"max_depth": 1}, {"max_leaf_nodes": 2}, {"min_samples_leaf": 60}])
def test_they_add_up_to_the_difference(kind, limits):
    forest, X = grown(kind, n=150, **limits)
    background = X[70:]
    found = effects(forest, X[:70], background)
    np.testing.assert_allclose(found.sum(1), said(forest, X[:70]) - said(forest, background).mean(0), atol=1e-9)


def test_threads_batches_and_layout_change_no_bit():
    forest, X = grown("missing", n_trees=7)
    with threads(1):
        whole = effects(forest, X[:80], X[80:])
    with threads(2):
        np.testing.assert_array_equal(whole, effects(forest, X[:80], X[80:]))
    for i in (0, 17, 79):
        np.testing.assert_array_equal(whole[[i]], effects(forest, X[[i]], X[80:]))
    plain, Z = grown("classes")
    Z = np.where(np.abs(Z) < 0.7, 0.0, Z).astype(np.float32)
    dense = effects(plain, Z[:30], Z[80:])
    np.testing.assert_array_equal(dense, effects(plain, sp.csr_array(Z[:30]), sp.csr_array(Z[80:])))


def test_blocks_are_cut_anywhere(monkeypatch):
    forest, X = grown("missing")
    whole = effects(forest, X[:50], X[80:])
    monkeypatch.setattr(shapley, "_ROWS", 3)
    np.testing.assert_array_equal(whole, effects(forest, X[:50], X[80:]))


def test_a_path_of_more_than_64_players():
    # A chain: row k leaves it at column k, so that its deepest leaf has 90 players on the way.
    d = 90
    X = np.tril(np.ones((d + 1, d), dtype=np.float32), -1)
    forest = RandomForestRegressor(1, bootstrap=False, max_features=1, random_state=3).fit(X, np.arange(d + 1.0) ** 2)
    trees = read_trees(forest)
    found = effects(forest, X[::9], X[4::11])
    np.testing.assert_allclose(
        found[:, :, 0].sum(1), forest.predict(X[::9]) - forest.predict(X[4::11]).mean(), atol=1e-9
    )
    assert int(trees.depth.max()) > 10
    chain = _chain(d)
    row, background = np.ones((1, d), dtype=np.float32), np.zeros((1, d), dtype=np.float32)
    game = shapley.exchange(chain, row, background)
    unanimity = np.eye(d + 1)[:, -1:]  # 1 in the last leaf
    entries = shapley.LeafEntries.of_table(unanimity, np.ones(d + 1, dtype=bool))
    values = shapley.weighted_effects(game, leaf_ids(chain, row), np.ones((1, 1)), entries)
    np.testing.assert_allclose(values[0, :, 0], 1.0 / d, rtol=1e-12)


def _chain(d):
    """A tree that asks one column after the other, and goes on where it is 1."""
    from manifolia.forest.trees import _assemble

    tests = np.zeros((2 * d + 1, 4), dtype=np.int32)
    for k in range(d):
        node = 2 * k
        tests[node] = k, np.float32(0.5).view(np.int32), node + 1, node + 2
        tests[node + 1] = -1, 0, node + 1, node + 1
    tests[2 * d] = -1, 0, 2 * d, 2 * d
    return _assemble(np.array([0, 2 * d + 1]), tests, np.zeros(2 * d + 1, dtype=bool))


def test_what_no_tree_asks_has_no_effect_and_equals_share():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    X[:, 3] = 1.0
    forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0)
    found = effects(forest, X[:40], X[100:])
    assert (found[:, 3] == 0.0).all()
    assert (np.abs(found[:, 0, 1]) > np.abs(found[:, 1:, 1]).max(1)).all()
    np.testing.assert_allclose(found[:, :, 0], -found[:, :, 1], atol=1e-12)  # of two classes, what one gains


def test_trees_that_count_nothing_are_not_asked():
    forest, X = grown("classes", n_trees=4)
    weights = np.zeros((10, 4))
    weights[:, 2] = 1.0
    found = effects(forest, X[:10], X[60:], weights=weights)
    one = RandomForestClassifier(1)
    one.__dict__.update(forest.__dict__, estimators_=[forest.estimators_[2]])
    np.testing.assert_allclose(found, effects(one, X[:10], X[60:]), atol=1e-14)
    assert not effects(forest, X[:10], X[60:], weights=0 * weights).any()


def test_a_leaf_that_says_nothing_does_not_move_a_row():
    forest, X = grown("numbers", n_trees=1)
    trees = read_trees(forest)
    values = np.arange(trees.n_leaves, dtype=float)[:, np.newaxis] + 1.0
    filled = np.arange(trees.n_leaves) % 3 > 0
    entries = shapley.LeafEntries.of_table(values, filled)
    leaf = leaf_ids(trees, X)
    rows = np.flatnonzero(filled[leaf[0]])[:3]
    found = shapley.weighted_effects(
        shapley.exchange(trees, X[rows], X[60:66]), leaf[:, rows], np.ones((3, 1)), entries
    )
    for i, row in enumerate(rows):

        def asked(mixed, home=leaf[0, row]):
            at = leaf_ids(trees, mixed.astype(np.float32))[0]
            return values[np.where(filled[at], at, home)]

        np.testing.assert_allclose(found[i], naive.add_effects(asked, X[row], X[60:66], list(range(6))), atol=1e-10)


def test_an_empty_background_is_refused():
    forest, X = grown("classes")
    with pytest.raises(ParameterError, match="background must have at least one row"):
        effects(forest, X[:2], X[:0])


@pytest.mark.parametrize("kind", ["classes", "missing", "numbers"])
@pytest.mark.parametrize("n_trees", [5, 100])
def test_the_peer_agrees(kind, n_trees):
    peer = pytest.importorskip("shap")
    forest, X = grown(kind, n_trees)
    if kind == "numbers":  # the peer keeps the weights of coalitions in single precision, so that its error has a scale
        forest.fit(X, 0.1 * forest.predict(X))
    background = X[60:]
    masker = peer.maskers.Independent(background, max_samples=len(background))
    explainer = peer.TreeExplainer(forest, masker, feature_perturbation="interventional")
    theirs = np.asarray(explainer.shap_values(X[:20], check_additivity=False))
    np.testing.assert_allclose(effects(forest, X[:20], background).reshape(theirs.shape), theirs, atol=1e-8)
