"""The supervised baselines, on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags

from manifolia import Tuner
from manifolia.baselines import (
    MVU,
    PLSDA,
    EnhancedSupervisedIsomap,
    EnhancedSupervisedLLE,
    KernelSupervisedPCA,
    SupervisedNMF,
    SupervisedPCA,
)
from manifolia.baselines._classwise import classwise_distances
from manifolia.baselines._target import target_factor
from manifolia.baselines.supervised_isomap import along_graph
from manifolia.baselines.supervised_lle import reconstruction
from manifolia.datasets import make_swiss_roll
from manifolia.exceptions import ManifoliaWarning, ParameterError

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)


def same_up_to_signs(A, B, **tolerance):
    np.testing.assert_allclose(np.abs(A), np.abs(B), **tolerance)


# --- supervised principal components


def test_directions_are_the_eigenvectors_of_the_criterion():
    """XᵀHLHX with L formed in full, as the paper writes it."""
    n = len(X)
    H = np.eye(n) - 1 / n
    L = (Y[:, None] == Y[None]).astype(float)
    vectors = np.linalg.eigh(X.T @ H @ L @ H @ X)[1][:, ::-1][:, :2]
    same_up_to_signs(SupervisedPCA().fit(X, Y).components_.T, vectors, atol=1e-8)


def test_numbers_are_compared_by_product_or_by_a_gaussian():
    y = X[:, 3]
    linear = SupervisedPCA(1, target_kernel="linear").fit(X, y).components_[0]
    expected = (X - X.mean(0)).T @ (y - y.mean())
    same_up_to_signs(linear, expected / np.linalg.norm(expected), atol=1e-10)
    F = target_factor(y, len(X), kernel="rbf").F
    z = (y - y.mean()) / y.std()
    gaps = np.abs(z[:, None] - z[None])
    L = np.exp(-(gaps**2) / (2 * np.median(gaps[gaps > 0]) ** 2))
    H = np.eye(len(X)) - 1 / len(X)
    np.testing.assert_allclose(F @ F.T, H @ L @ H, atol=2e-3)


def test_beyond_the_targets_directions_come_principal_components_of_the_rest():
    y = Y > 0  # two classes: one direction
    model = SupervisedPCA(3).fit(X, y)
    assert model.n_supervised_ == 1
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)
    first = model.components_[:1]
    left = (X - X.mean(0)) @ (np.eye(4) - first.T @ first)
    same_up_to_signs(model.components_[1:], PCA(2).fit(left).components_, atol=1e-8)


def test_all_directions_of_a_constant_column_too():
    wide = np.column_stack([X, np.ones(len(X))])
    model = SupervisedPCA(5).fit(wide, Y)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-8)


@pytest.mark.parametrize("n_components", [2, 3])
def test_with_a_linear_kernel_both_are_the_same(n_components):
    plain = SupervisedPCA(n_components).fit(X, Y).transform(X)
    kernel = KernelSupervisedPCA(n_components, kernel="linear").fit(X, Y).transform(X)
    same_up_to_signs(plain, kernel, atol=1e-7)


def test_coefficients_are_orthonormal_in_the_feature_space():
    model = KernelSupervisedPCA(3).fit(X, Y)
    K = model._kernel(model._X)
    np.testing.assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(3), atol=1e-6)


# --- partial least squares


def test_scores_are_scikit_learns():
    theirs = PLSRegression(2).fit(X, np.eye(3)[Y])
    np.testing.assert_allclose(PLSDA().fit(X, Y).transform(X), theirs.transform(X), atol=1e-10)
    numbers = PLSRegression(2).fit(X[:, :3], X[:, 3])
    np.testing.assert_allclose(PLSDA().fit(X[:, :3], X[:, 3]).transform(X[:, :3]), numbers.transform(X[:, :3]))
    raw = PLSRegression(2, scale=False).fit(X, np.eye(3)[Y])
    np.testing.assert_allclose(PLSDA(scale=False).fit(X, Y).transform(X), raw.transform(X), atol=1e-10)


# --- distances that know the classes


def test_distances_by_hand():
    D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    found = classwise_distances(D, np.array([0, 0, 1]), alpha=0.5, beta=2.0)
    assert found[0, 1] == pytest.approx(np.sqrt(1 - np.exp(-0.5)))
    assert found[0, 2] == pytest.approx(np.sqrt(np.exp(2.0)) - 0.5)
    assert np.all(np.diag(found) == 0)
    far = classwise_distances(D * 1e3, np.array([0, 0, 1]), alpha=0.5, beta=2.0)
    assert np.isfinite(far).all()


def test_separated_classes_are_apart_in_the_map():
    model = EnhancedSupervisedIsomap().fit(X, Y)
    D = cdist(model.embedding_, model.embedding_)
    same = Y[:, None] == Y[None]
    assert D[same].mean() < 0.3 * D[~same].mean()
    # and new rows, whose class it does not see, go where their class is
    half = EnhancedSupervisedIsomap().fit(X[::2], Y[::2])
    near = KNeighborsClassifier(5).fit(half.embedding_, Y[::2])
    assert near.score(half.transform(X[1::2]), Y[1::2]) > 0.9


def test_paths_lead_along_the_graph_and_pieces_are_joined():
    line = np.arange(6.0)[:, None] ** 1.1
    D = cdist(line, line)
    np.testing.assert_allclose(along_graph(D, 1), D, atol=1e-12)
    pieces = np.array([[0.0], [1.0], [10.0], [11.5]])
    np.testing.assert_allclose(along_graph(cdist(pieces, pieces), 1), cdist(pieces, pieces))


def test_weights_sum_to_1_and_reproduce_a_row_between_others():
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    weights = reconstruction(np.array([[0.5, 0.5]]), corners, np.array([[0, 1, 2]]), 1e-9)
    np.testing.assert_allclose(weights, [[0.5, 0.25, 0.25]], atol=1e-6)


def test_with_one_class_it_is_lle():
    """Shrinking within a class keeps the order of neighbours: one class gives plain LLE."""
    rows = make_swiss_roll(120, random_state=0).data
    ours = EnhancedSupervisedLLE(n_neighbors=8).fit(rows, np.full(120, "a")).embedding_
    theirs = LocallyLinearEmbedding(n_neighbors=8, n_components=2, eigen_solver="dense").fit(rows)
    assert np.abs(np.corrcoef(ours[:, 0], theirs.embedding_[:, 0])[0, 1]) > 0.99


def test_new_rows_of_lle_go_between_their_neighbours():
    model = EnhancedSupervisedLLE(n_neighbors=12).fit(X[::2], Y[::2])
    near = KNeighborsClassifier(5).fit(model.embedding_, Y[::2])
    assert near.score(model.transform(X[1::2]), Y[1::2]) > 0.85


# --- non-negative factors


def test_the_objective_never_rises_and_is_the_sum_it_says():
    model = SupervisedNMF(3, random_state=0).fit(X, Y)
    assert np.all(np.diff(model.objective_) <= 1e-9 * model.objective_[0])
    A = (X - X.min(0)) / np.sqrt(np.mean((X - X.min(0)) ** 2))
    V, U = model.embedding_, model.components_ / np.sqrt(np.mean((X - X.min(0)) ** 2))
    S = (Y[:, None] == Y[None]).astype(float)
    L, D, n = np.diag(S.sum(1)) - S, 1 - S, len(X)
    by_hand = np.sum((A - V @ U) ** 2) + (np.trace(V.T @ L @ V) + np.trace(V.T @ D @ V)) / n
    by_hand += 0.001 * n * np.sum(U**2)
    assert model.objective_[-1] == pytest.approx(by_hand)
    assert (model.embedding_ >= 0).all()
    assert (model.components_ >= 0).all()


def test_classes_share_fewer_parts_the_more_that_counts():
    def shared(weight):
        V = SupervisedNMF(3, dissimilarity=weight, similarity=0.0, random_state=0).fit(X, Y).embedding_
        means = np.stack([V[c == Y].mean(0) for c in range(3)])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return (means @ means.T)[np.triu_indices(3, 1)].mean()

    assert shared(0.0) > 0.5
    assert shared(100.0) < 0.01


def test_the_parts_of_a_mixture_are_found():
    model = SupervisedNMF(2, random_state=0).fit(X, Y)
    mixed = model.shift_ + np.array([[2.0, 3.0]]) @ model.components_
    np.testing.assert_allclose(model.transform(mixed), [[2.0, 3.0]], atol=1e-8)


# --- unfolding


def test_mvu_unrolls_a_bent_sheet_and_keeps_the_distances_of_neighbours():
    t, h = (values.ravel() for values in np.meshgrid(np.linspace(0, np.pi, 16), np.linspace(0, 1.5, 8)))
    bent = np.column_stack([np.cos(t), np.sin(t), h])
    model = MVU(n_neighbors=8, random_state=0).fit(bent)
    assert model.distance_error_ < 0.01
    assert model.variances_[:2].sum() > 0.99 * model.variances_.sum()
    flat = np.column_stack([t, h])
    ratio = (
        cdist(model.embedding_, model.embedding_)[~np.eye(128, dtype=bool)]
        / cdist(flat, flat)[~np.eye(128, dtype=bool)]
    )
    assert ratio.std() / ratio.mean() < 0.05


# --- what they refuse


@pytest.mark.parametrize(
    ("kind", "one_column"),
    [
        (SupervisedPCA, False),
        (KernelSupervisedPCA, False),
        (PLSDA, False),
        (EnhancedSupervisedIsomap, True),
        (EnhancedSupervisedLLE, True),
        (SupervisedNMF, True),
    ],
)
def test_a_target_is_needed_and_scikit_learn_is_told_so(kind, one_column):
    tags = get_tags(kind())
    assert tags.target_tags.required
    assert tags.target_tags.one_d_labels is one_column
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
    with pytest.raises(ValueError, match="y"):
        kind().fit_transform(X, None)


@pytest.mark.parametrize("kind", [EnhancedSupervisedIsomap, EnhancedSupervisedLLE, SupervisedNMF])
def test_numbers_are_refused_where_classes_are_compared(kind):
    with pytest.raises(ValueError, match="compares classes, and y was taken for regression"):
        kind().fit(X, X[:, 0] * 1.234)


@pytest.mark.parametrize("kind", [SupervisedPCA, KernelSupervisedPCA, PLSDA, SupervisedNMF])
def test_gaps_in_the_target_are_refused(kind):
    y = Y.astype(object)
    y[3] = None
    with pytest.raises(ValueError, match="y has 1 missing values"):
        kind().fit(X, y)


def test_a_delta_kernel_needs_classes():
    with pytest.raises(ValueError, match="kernel='delta' compares classes"):
        SupervisedPCA(target_kernel="delta").fit(X, X[:, 0] * 1.234)


# --- by name


@pytest.mark.parametrize(
    "name", ["mvu", "parametric-tsne", "supervised-isomap", "supervised-lle", "supervised-nmf", "kernel-supervised-pca"]
)
def test_the_tuner_knows_what_to_tune(name):
    tuner = Tuner.for_(name)
    assert tuner.space
    assert set(tuner.space) <= set(tuner.estimator.get_params())


# --- what has no answer


def test_what_does_not_vary_is_said_and_a_common_scale_does_not_matter():
    with pytest.raises(ParameterError, match="every column of X is constant"):
        PLSDA().fit(np.full((30, 3), 3e20), Y[:30] + np.arange(30) % 2)
    with pytest.raises(ParameterError, match="y has the same value, or one class, in every row"):
        PLSDA().fit(X[:50], Y[:50])
    with pytest.warns(ManifoliaWarning, match="only 1 of 2 components tell about the target"):
        PLSDA(2).fit(X[:, [0, 0]], 2.5 * X[:, 0])
    expected = PLSDA(2, scale=False).fit(X, Y).rotations_
    np.testing.assert_allclose(PLSDA(2, scale=False).fit(X * 1e-30, Y).rotations_, expected, rtol=1e-9)


def test_columns_of_words_are_refused_and_large_distances_stay_finite():
    words = np.array([["a", "b"], ["b", "b"]] * 75)
    with pytest.raises(ParameterError, match="y has 2 columns of classes that are not numbers"):
        SupervisedPCA().fit(X, words)
    for scale in (1e6, 1e30):
        map_of = EnhancedSupervisedIsomap().fit(X.astype(np.float32) * np.float32(scale), Y)
        assert np.isfinite(map_of.embedding_).all()
