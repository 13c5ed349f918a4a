"""PHATE: a naive twin, the tree, landmarks, new rows, and every kind of input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_iris

import manifolia as mf
from manifolia.exceptions import ManifoliaWarning, StoppedByCallbackError
from manifolia.operators.entropy import choose_t


@pytest.fixture(scope="module")
def tree():
    return mf.datasets.make_tree(300, random_state=0)


@pytest.fixture(scope="module")
def fitted(tree):
    return mf.PHATE(random_state=0).fit(tree.data)


def naive_distances(X, k, decay, t, gamma):
    """Potential distances from the published formulas, with nothing of ours."""
    D = cdist(X, X)
    width = np.sort(D, axis=1)[:, [k]]
    half = np.exp(-np.minimum((D / width) ** decay, 700.0))
    half[half < 1e-4] = 0.0
    K = 0.5 * (half + half.T)
    P = K / K.sum(axis=1, keepdims=True)
    walked = np.linalg.matrix_power(P, t)
    if gamma == 1.0:
        U = -np.log(walked + 1e-7 / len(X))
    else:
        U = 2.0 / (1.0 - gamma) * walked ** ((1.0 - gamma) / 2.0)
    sizes = np.abs(np.linalg.eigvalsh(K / np.sqrt(np.outer(K.sum(axis=1), K.sum(axis=1)))))
    eta = sizes[:, None] ** np.arange(1, 201)
    eta /= eta.sum(axis=0)
    entropy = -np.sum(np.where(eta > 0, eta * np.log(np.where(eta > 0, eta, 1.0)), 0.0), axis=0)
    return pdist(U), entropy


def stress(D, Y):
    d = pdist(Y)
    return np.sqrt(((D - d) ** 2).sum() / (D**2).sum())


@pytest.mark.parametrize("gamma", [1.0, 0.0, -0.5])
def test_equals_its_naive_twin(tree, gamma):
    model = mf.PHATE(n_neighbors=6, decay=10.0, gamma=gamma, random_state=0).fit(tree.data)
    D, entropy = naive_distances(tree.data, 6, 10.0, model.t_, gamma)
    np.testing.assert_allclose(model.entropy_, entropy, rtol=1e-6, atol=1e-8)
    assert model.t_ == choose_t(entropy, rule="chord")
    # The layout is judged by the twin's distances: its stress is what the model says, and it is a minimum.
    own = stress(D, model.embedding_)
    assert own == pytest.approx(model.stress_, rel=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        nudged = model.embedding_ + 0.05 * model.embedding_.std() * rng.standard_normal(model.embedding_.shape)
        assert stress(D, nudged) > own


@pytest.mark.parametrize("n_landmarks", [None, 100])
def test_positions_along_branches_are_in_order_and_branches_apart(tree, n_landmarks):
    Y = mf.PHATE(n_landmarks=n_landmarks, random_state=0).fit_transform(tree.data)
    for branch in np.unique(tree.branch):
        here = tree.branch == branch
        axis = np.linalg.svd(Y[here] - Y[here].mean(axis=0), full_matrices=False)[2][0]
        assert abs(spearmanr(Y[here] @ axis, tree.position[here]).statistic) > 0.95
    ways = pdist(tree.coordinates, "cityblock")
    assert spearmanr(pdist(Y), ways).statistic > 0.65
    assert mf.metrics.knn_accuracy(Y, tree.branch, 5) > 0.9
    start = mf.layout.initialize.pca_start(np.random.default_rng(0).normal(size=tree.data.shape), 2, random_state=0)
    assert mf.metrics.knn_accuracy(start, tree.branch, 5) < 0.4


def test_the_walk_is_that_of_the_same_kernel_as_affinity(fitted):
    given = mf.PHATE(metric="affinity", random_state=0).fit(fitted.kernel_)
    dense = mf.PHATE(metric="affinity", random_state=0).fit(fitted.kernel_.toarray())
    assert given.t_ == fitted.t_
    np.testing.assert_array_equal(given.entropy_, fitted.entropy_)
    np.testing.assert_array_equal(given.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(dense.embedding_, fitted.embedding_)
    new = given.transform(fitted.kernel_[:4])
    P = fitted.kernel_.toarray()[:4]
    np.testing.assert_allclose(new, P @ fitted.embedding_ / P.sum(axis=1, keepdims=True), rtol=1e-10)


def test_a_forests_proximities_as_affinity_give_rf_phate():
    X, y = load_iris(return_X_y=True)
    expected = mf.RFPHATE(n_trees=40, proximity="oob", damping=1.0, t=6, random_state=0).fit(X, y)
    found = mf.PHATE(metric="affinity", t=6, random_state=0).fit(expected.proximity_matrix())
    np.testing.assert_allclose(found.entropy_[:100], expected.entropy_, atol=1e-9)
    np.testing.assert_allclose(found.stress_, expected.stress_, rtol=1e-5)
    scale = np.abs(expected.landmark_embedding_).max()
    np.testing.assert_allclose(found.embedding_, expected.landmark_embedding_, atol=1e-3 * scale)


@pytest.mark.parametrize("kind", ["sparse", "precomputed", "stored"])
def test_other_forms_of_the_same_rows(tree, fitted, kind):
    D = cdist(tree.data, tree.data)
    new, D_new = tree.data[:5] + 0.01, cdist(tree.data[:5] + 0.01, tree.data)
    given, asked, metric = sp.csr_array(tree.data), sp.csr_array(new), "euclidean"
    if kind != "sparse":
        given, asked, metric = D, D_new, "precomputed"
    if kind == "stored":
        given, asked = sp.csr_array(D), sp.csr_array(D_new)
    model = mf.PHATE(metric=metric, random_state=0).fit(given)
    np.testing.assert_allclose(model.kernel_.toarray(), fitted.kernel_.toarray(), rtol=1e-7, atol=1e-12)
    assert model.t_ == fitted.t_
    assert spearmanr(pdist(model.embedding_), pdist(fitted.embedding_)).statistic > 0.999
    expected = pdist(np.vstack([fitted.transform(new), fitted.embedding_]))
    found = pdist(np.vstack([model.transform(asked), model.embedding_]))
    assert np.abs(found - expected).max() < 0.02 * expected.max()


def test_landmarks_are_groups_and_rows_take_four_steps_to_them(tree):
    model = mf.PHATE(n_landmarks=100, random_state=0).fit(tree.data)
    assert model.landmark_embedding_.shape == (100, 2)
    assert np.bincount(model.landmark_labels_).min() >= 1
    P = model.kernel_.toarray() / model.kernel_.toarray().sum(axis=1, keepdims=True)
    steps = np.linalg.matrix_power(P, 4) @ model.landmark_embedding_[model.landmark_labels_]
    np.testing.assert_allclose(model.embedding_, steps, rtol=1e-9, atol=1e-9)


def test_new_rows_go_where_their_like_are(tree):
    train, test = np.arange(300) % 5 > 0, np.arange(300) % 5 == 0
    for n_landmarks in (None, 100):
        model = mf.PHATE(n_landmarks=n_landmarks, random_state=0).fit(tree.data[train])
        placed = model.transform(tree.data[test])
        nearest = cdist(placed, model.embedding_).argmin(axis=1)
        assert np.mean(tree.branch[train][nearest] == tree.branch[test]) > 0.85
        np.testing.assert_array_equal(model.transform(tree.data[train][:7]), model.embedding_[:7])


def test_a_part_without_a_landmark_is_a_group_of_its_own():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(200, 2)), 1000 + 0.1 * rng.normal(size=(8, 2))])
    model = mf.PHATE(n_neighbors=3, n_landmarks=5, random_state=3).fit(X)
    assert len(set(model.landmark_labels_[:200]) & set(model.landmark_labels_[200:])) == 0
    assert np.isfinite(model.embedding_).all()


def test_bad_input_is_refused(tree, fitted):
    with pytest.raises(ValueError, match="decay must be above 0"):
        mf.PHATE(decay=0.0).fit(tree.data)
    with pytest.raises(ValueError, match="gamma must be at least -1"):
        mf.PHATE(gamma=-2.0).fit(tree.data)
    with pytest.raises(ValueError, match="square with metric='affinity'"):
        mf.PHATE(metric="affinity").fit(tree.data)
    with pytest.raises(ValueError, match="none below 0"):
        mf.PHATE(metric="affinity").fit(-np.eye(5))
    given = mf.PHATE(metric="affinity", random_state=0).fit(fitted.kernel_)
    with pytest.raises(ValueError, match="without any affinity"):
        given.transform(np.zeros((1, 300)))
    with pytest.warns(ManifoliaWarning, match="every row has 3 neighbours"):
        mf.PHATE(1).fit(tree.data[:4])
    with pytest.raises(StoppedByCallbackError):
        mf.PHATE(callback=lambda event: event.stage == "walk").fit(tree.data)


def test_memory_is_estimated(rng):
    X = rng.normal(size=(10_000, 3))
    assert mf.estimate_memory(mf.PHATE(n_landmarks=None), X) > 6 * 8 * 10_000**2
    assert mf.estimate_memory(mf.PHATE(), X) < 10**9


def test_a_failed_fit_leaves_the_old_model(rng):
    X = rng.normal(size=(60, 4))
    model = mf.PHATE(random_state=0).fit(X)
    before = model.transform(X[:5] + 0.1)
    with pytest.raises(ValueError, match="must be square"):
        model.set_params(metric="affinity").fit(X[:, :3])
    model.set_params(metric="euclidean")
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.transform(X[:5] + 0.1), before)
    fresh = mf.PHATE(metric="affinity")
    with pytest.raises(ValueError, match="negative value"):
        fresh.fit(-np.ones((5, 5)))
    assert not [name for name in vars(fresh) if name.endswith("_")]
