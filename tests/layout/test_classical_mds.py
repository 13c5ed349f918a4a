"""Classical MDS: closed forms, and LAPACK as the reference on both sides of the size where the iteration begins."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifolia.exceptions import ManifoliaWarning
from manifolia.layout import classical_mds as module
from manifolia.layout.classical_mds import check_distances, classical_mds
from reference.procrustes import align

SIZES = [30, 520]  # LAPACK, and the iteration


def _points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.geomspace(4.0, 1.0, d)


def _distances(n, d, seed=0):
    X = _points(n, d, seed)
    return cdist(X, X)


def _not_euclidean(n, seed=0):
    """Distances with negative eigenvalues of B, some as large as the positive ones."""
    D = np.random.default_rng(seed).random((n, n))
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    return D


def _eigenvalues(D):
    J = np.eye(len(D)) - 1.0 / len(D)
    return np.linalg.eigvalsh(-0.5 * J @ D**2 @ J)[::-1]


def test_the_triangle_of_pythagoras():
    # Corners (0, 0), (3, 0), (0, 4): their scatter matrix [[6, −4], [−4, 32/3]] has trace 50/3 and determinant 48.
    result = classical_mds([[0, 3, 4], [3, 0, 5], [4, 5, 0]])
    root = np.sqrt((25 / 3) ** 2 - 48)
    np.testing.assert_allclose(result.eigenvalues, [25 / 3 + root, 25 / 3 - root])
    np.testing.assert_allclose(cdist(result.Y, result.Y), [[0, 3, 4], [3, 0, 5], [4, 5, 0]], atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_components", [1, 2, 3, 4, 5])
def test_recovers_points_up_to_rotation(n, n_components):
    X = _points(n, n_components)
    result = classical_mds(cdist(X, X), n_components)
    assert np.abs(align(result.Y, X) - X).max() < 1e-8
    assert np.abs(result.Y.mean(axis=0)).max() < 1e-9


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("make", [lambda n: _distances(n, 12), _not_euclidean])
def test_eigenvalues_are_the_largest_ones_of_lapack(n, make):
    D = make(n)
    expected = _eigenvalues(D)
    np.testing.assert_allclose(classical_mds(D, 3).eigenvalues, expected[:3], rtol=1e-10)
    if make is _not_euclidean:
        assert -expected[-1] > 0.5 * expected[0]  # else the case would not tell largest from largest in size


def test_the_iteration_finds_the_eigenvectors_of_lapack(monkeypatch):
    D = _not_euclidean(520)
    iterated = classical_mds(D).Y
    monkeypatch.setattr(module, "_DENSE_ROWS", 1000)
    dense = classical_mds(D).Y
    assert not np.array_equal(iterated, dense)  # two routes
    np.testing.assert_allclose(iterated, dense, atol=1e-6 * np.abs(dense).max())


def test_a_negative_eigenvalue_of_the_largest_size_is_not_taken():
    D = _distances(520, 2)
    D[0, 1] = D[1, 0] = 400.0  # far beyond what the triangle inequality allows
    values = _eigenvalues(D)
    assert abs(values[-1]) > values[1]
    np.testing.assert_allclose(classical_mds(D).eigenvalues, values[:2], rtol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_axes_are_principal_and_the_largest_entry_is_positive(n):
    Y = classical_mds(_distances(n, 4), 3).Y
    scatter = Y.T @ Y
    assert np.abs(scatter - np.diag(np.diag(scatter))).max() < 1e-8 * scatter.max()
    assert (np.diff(np.diag(scatter)) < 0).all()
    assert (Y[np.abs(Y).argmax(axis=0), range(3)] > 0).all()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("scale", [1e-12, 1e6])
def test_scaled_distances_scale_the_map(n, scale):
    D = _distances(n, 5)
    np.testing.assert_allclose(classical_mds(D * scale).Y / scale, classical_mds(D).Y, atol=1e-8)


@pytest.mark.parametrize("n", SIZES)
def test_permuted_rows_permute_the_map(n):
    D = _distances(n, 5)
    order = np.random.default_rng(3).permutation(n)
    np.testing.assert_allclose(classical_mds(D[np.ix_(order, order)]).Y, classical_mds(D).Y[order], atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [30, 520, 1000])
def test_same_bits_for_any_number_of_threads_and_again(n, dtype):
    D = _distances(n, 5).astype(dtype)
    first = classical_mds(D, n_jobs=1)
    for result in (classical_mds(D, n_jobs=2), classical_mds(D, n_jobs=1)):
        np.testing.assert_array_equal(result.Y, first.Y)
        np.testing.assert_array_equal(result.eigenvalues, first.eigenvalues)


def test_another_start_changes_only_rounding():
    D = _distances(520, 5)
    first, second = classical_mds(D, random_state=1).Y, classical_mds(D, random_state=2).Y
    assert not np.array_equal(first, second)
    np.testing.assert_allclose(first, second, atol=1e-8)
    np.testing.assert_array_equal(first, classical_mds(D, random_state=1).Y)


@pytest.mark.parametrize("n", SIZES)
def test_single_precision_is_kept_and_near(n):
    D = _distances(n, 5)
    result = classical_mds(D.astype(np.float32))
    assert result.Y.dtype == np.float32
    assert result.eigenvalues.dtype == np.float64
    np.testing.assert_allclose(result.Y, classical_mds(D).Y, atol=1e-5 * np.abs(D).max())
    assert classical_mds(np.rint(D).astype(int)).Y.dtype == np.float64


def test_the_distances_are_not_changed():
    for n in SIZES:
        D = _distances(n, 3)
        before = D.copy()
        classical_mds(D)
        np.testing.assert_array_equal(D, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_too_few_positive_eigenvalues_warn_and_give_zeros(n, dtype):
    with pytest.warns(ManifoliaWarning, match=r"only 2 of the n_components=4 .* fewer components"):
        result = classical_mds(_distances(n, 2).astype(dtype), 4)
    assert (result.Y[:, 2:] == 0).all()
    assert (np.abs(result.Y[:, :2]).max(axis=0) > 0).all()


@pytest.mark.parametrize(("n", "n_positive"), [(1, 0), (2, 1), (3, 2)])
@pytest.mark.parametrize("n_components", [3, 5])
def test_a_few_points(n, n_positive, n_components):
    X = _points(n, 2)
    with pytest.warns(ManifoliaWarning, match=f"only {n_positive} of"):
        result = classical_mds(cdist(X, X), n_components)
    assert result.Y.shape == (n, n_components)
    assert result.eigenvalues.shape == (n_components,)
    np.testing.assert_allclose(cdist(result.Y, result.Y), cdist(X, X), atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_all_distances_zero_or_equal(n):
    with pytest.warns(ManifoliaWarning, match="only 0 of"):
        assert (classical_mds(np.zeros((n, n))).Y == 0).all()
    # All distances 1: B = J/2, every direction has eigenvalue 1/2.
    result = classical_mds(1.0 - np.eye(n))
    np.testing.assert_allclose(result.eigenvalues, 0.5, rtol=1e-10)
    np.testing.assert_allclose(result.Y.T @ result.Y, 0.5 * np.eye(2), atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_duplicates_share_their_place(n):
    X = _points(n, 2)
    X[n // 2 :] = X[: n - n // 2]
    Y = classical_mds(cdist(X, X)).Y
    assert np.abs(Y[n // 2 :] - Y[: n - n // 2]).max() < 1e-8


def test_eigenvectors_that_do_not_settle_are_reported(monkeypatch):
    monkeypatch.setattr(module, "_MAX_PASSES", 2)
    with pytest.warns(ManifoliaWarning, match=r"520 × 520 .* hardly apart"):
        classical_mds(_not_euclidean(520))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: D[:3], r"D must be square, .* got shape \(3, 6\)"),
        (lambda D: D - 1.0, "D must not be negative, got -1 .*not similarities"),
        (lambda D: D + np.eye(6), "D must be 0 on its diagonal, got 1 .*fill_diagonal"),
        (lambda D: D + np.triu(D, 1), r"D must be symmetric, .*\(D \+ D.T\) / 2"),
        (lambda D: D * 1e160, r"D must be at most 1e\+150"),
        (lambda D: np.where(D.max() == D, np.nan, D), "D .*NaN"),
        (lambda D: np.where(D.max() == D, np.inf, D), "D .*infinity"),
        (lambda D: D[:0, :0], "D .*0"),
    ],
)
def test_what_is_no_distance_matrix_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        classical_mds(change(_distances(6, 2)))


@pytest.mark.parametrize("place", [(20, 1090), (700, 1090), (1090, 700), (1098, 1099)])
def test_asymmetry_is_seen_in_every_tile(place):
    D = _distances(1100, 2)
    D[place] += 0.1
    with pytest.raises(ValueError, match=r"D must be symmetric, .* differ by up to 0\.1 where"):
        check_distances(D)


def test_rounding_of_single_precision_distances_is_no_asymmetry():
    X = _points(60, 20).astype(np.float32)
    X[30:] = X[:30] + np.float32(1e-4)
    square = (X**2).sum(axis=1)
    D = np.sqrt(np.maximum(square[:, None] + square - 2 * X @ X.T, 0))
    D[np.triu_indices(60, 1)] *= 1 + 1e-6
    np.fill_diagonal(D, 0)
    assert check_distances(D) is D


@pytest.mark.parametrize("n", SIZES)
def test_rounding_that_breaks_symmetry_is_averaged_out(n):
    D = _distances(n, 6)
    D = (D * (1 + 5e-7 * np.random.default_rng(1).normal(size=D.shape))).astype(np.float32)
    result = classical_mds(D)  # no warning: the iteration converges
    mean = (D.astype(float) + D.T) / 2
    np.testing.assert_allclose(result.eigenvalues, _eigenvalues(mean)[:2], rtol=1e-12)
    np.testing.assert_allclose(classical_mds(D.T).Y, result.Y, atol=1e-6)


@pytest.mark.parametrize(("n_components", "error"), [(0, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_n_components_is_checked(n_components, error):
    with pytest.raises(error, match="n_components must be"):
        classical_mds(_distances(6, 2), n_components)


def test_needs_no_numba():
    code = (
        "import sys, numpy as np\n"
        "from manifolia import layout\n"
        "layout.classical_mds.classical_mds(1.0 - np.eye(4))\n"
        "assert 'numba' not in sys.modules\n"
        "assert {'classical_mds', 'metric_mds'} <= set(dir(layout))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_eigenvalues_that_lapack_loses_are_found(monkeypatch):
    """Of many equal eigenvalues LAPACK may return none of those asked for, and no error."""
    import scipy.linalg

    D = _distances(30, 3)
    expected = classical_mds(D, 2)
    monkeypatch.setattr(scipy.linalg, "eigh", lambda B, **_: (np.empty(0), np.empty((len(B), 0))))
    found = classical_mds(D, 2)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues)
    np.testing.assert_allclose(found.Y, expected.Y, atol=1e-9)
