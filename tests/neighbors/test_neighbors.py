"""Neighbours against a plain sort of all distances; batches, threads, metrics, sparse data and odd input."""

from __future__ import annotations

import os
import pickle

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from manifolia import datasets
from manifolia.neighbors import NeighborIndex, Neighbors, kneighbors
from manifolia.neighbors import exact as exact_module
from manifolia.neighbors.lists import _visits
from manifolia.neighbors.rows import measured

METRICS = ["euclidean", "cosine", "manhattan"]


def brute(D, k, *, leave_out=True):
    """Sort every row of distances by (distance, index), the row itself left out."""
    indices, distances = [], []
    for i, row in enumerate(D):
        order = sorted((d, j) for j, d in enumerate(row) if not leave_out or j != i)[:k]
        indices.append([j for _, j in order])
        distances.append([d for d, _ in order])
    return np.array(indices), np.array(distances)


def clusters(rng, n, d, *, rank=6, n_clusters=20, noise=0.05):
    """Clusters around random centres, each along a few directions: neighbours mean something here."""
    centres = 3.0 * rng.normal(size=(n_clusters, d)) / np.sqrt(d)
    frames = rng.normal(size=(n_clusters, rank, d)) / np.sqrt(d)
    label = rng.integers(0, n_clusters, n)
    inner = rng.normal(size=(n, rank))
    return centres[label] + np.einsum("ir,ird->id", inner, frames[label]) + noise * rng.normal(size=(n, d)) / np.sqrt(d)


def recall(found, truth):
    return np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, truth, strict=True)])


def same(a, b):
    np.testing.assert_array_equal(a.indices, b.indices)
    np.testing.assert_array_equal(a.distances, b.distances)


# ---------------------------------------------------------------------------------------------------- exact


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(300, 3), (211, 70), (90, 800)])
def test_exact_equals_a_sort(rng, metric, shape):
    X = rng.normal(size=shape) + 5.0
    found = kneighbors(X, 7, metric=metric, exact=True)
    indices, distances = brute(cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric)), 7)
    np.testing.assert_array_equal(found.indices, indices)
    # A cosine distance is 1 minus a cosine: what rounding leaves of it is absolute.
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-15 if metric == "cosine" else 0.0)
    assert found.indices.dtype == np.intp


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_ties_and_duplicates(rng, metric):
    """Small integers: distances are exact, most are tied, and every row has duplicates."""
    X = rng.integers(0, 3, size=(400, 3)).astype(float)
    indices, distances = brute(cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric)), 30)
    found = kneighbors(X, 30, metric=metric)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-15)
    assert (found.distances[:, 0] == 0.0).all()


def test_all_rows_equal():
    found = kneighbors(np.full((9, 4), 0.1), 3)
    assert found.indices.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], *[[0, 1, 2]] * 6]
    assert not found.distances.any()


def test_tight_clusters_far_apart(rng):
    """Products in single precision know nothing of distances of 1e-6 at 1e3; the neighbours are right all the same."""
    X = rng.normal(size=(8, 20))[rng.integers(0, 8, 500)] * 1e3 + rng.normal(size=(500, 20)) * 1e-6
    found = kneighbors(X, 5, exact=True)
    np.testing.assert_array_equal(found.indices, brute(cdist(X, X), 5)[0])


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140])
@pytest.mark.parametrize("exact", [True, False])
def test_scale_does_not_matter(rng, scale, exact):
    X = rng.normal(size=(300, 12))
    power = float(np.ldexp(1.0, int(np.log2(scale))))
    found = kneighbors(X, 4, exact=exact, random_state=0)
    scaled = kneighbors(X * power, 4, exact=exact, random_state=0)
    np.testing.assert_array_equal(scaled.indices, found.indices)
    np.testing.assert_allclose(scaled.distances, found.distances * power, rtol=1e-12)


@pytest.mark.parametrize("scale", [2.0**-140, 2.0**120])
def test_extreme_single_precision(rng, scale):
    X = rng.integers(-4, 5, size=(200, 6)).astype(np.float32)
    found, expected = kneighbors((X * np.float32(scale)).astype(np.float32), 4), kneighbors(X, 4)
    np.testing.assert_array_equal(found.indices, expected.indices)
    # Below 2^-126 single precision has few digits left.
    np.testing.assert_allclose(found.distances.astype(float) / scale, expected.distances, rtol=1e-3)


def test_outlier_does_not_hide_the_rest(rng):
    X = rng.normal(size=(200, 5))
    X[17] = 1e12
    found = kneighbors(X, 4, exact=True)
    np.testing.assert_array_equal(found.indices, brute(cdist(X, X), 4)[0])


def test_chunks_of_rows_give_the_same(rng, monkeypatch):
    X = rng.normal(size=(700, 40)).astype(np.float32)
    whole = kneighbors(X, 6, exact=True)
    monkeypatch.setattr(exact_module, "_COPY_BYTES", 0)
    monkeypatch.setattr(exact_module, "_CHUNK", 64)
    monkeypatch.setattr(exact_module, "_MOST_HEIGHT", 48)
    same(kneighbors(X, 6, exact=True), whole)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_precision_of_products_does_not_show(rng, monkeypatch, precision):
    X = rng.normal(size=(300, 30))
    expected = kneighbors(X, 6, exact=True)
    monkeypatch.setattr(exact_module, "_crowded", lambda *_: precision is np.float64)
    same(kneighbors(X, 6, exact=True), expected)


# ---------------------------------------------------------------------------------------------------- lists


@pytest.mark.parametrize(("n", "d"), [(4000, 20), (4000, 150)])
def test_approximate_finds_nearly_all(rng, n, d):
    X = clusters(rng, n, d)
    truth = kneighbors(X, 10, exact=True)
    index = NeighborIndex(X, exact=False, random_state=0)
    found = index.neighbors(10)
    assert recall(found.indices, truth.indices) >= 0.98
    assert abs(index.recall(10) - recall(found.indices, truth.indices)) < 0.01
    effort = index._efforts[10]
    assert effort.n_probes < index._lists.n_lists  # it did not simply look everywhere
    # Where it is right it is right to the bit: both measure by the same kernel.
    agree = (found.indices == truth.indices).all(axis=1)
    assert agree.mean() > 0.7
    np.testing.assert_array_equal(found.distances[agree], truth.distances[agree])
    rows = np.arange(n)[:, None]
    np.testing.assert_allclose(found.distances, np.linalg.norm(X[rows] - X[found.indices], axis=2), rtol=1e-12)
    assert not (found.indices == rows).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_one_probe_is_not_enough(rng, monkeypatch):
    """The quality above is the work of the chosen effort: with the nearest list alone it is not reached."""
    from manifolia.neighbors import lists

    X = clusters(rng, 4000, 20)
    truth = kneighbors(X, 10, exact=True)
    monkeypatch.setattr(lists, "_IN_LISTS", 0.01)
    found = kneighbors(X, 10, exact=False, random_state=0)
    assert recall(found.indices, truth.indices) < 0.9


@pytest.mark.parametrize("metric", METRICS)
def test_approximate_metrics(rng, metric):
    X = clusters(rng, 2500, 30) + 0.5
    truth = kneighbors(X, 10, metric=metric, exact=True)
    found = kneighbors(X, 10, metric=metric, exact=False, random_state=0)
    assert recall(found.indices, truth.indices) >= 0.97


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(rng, metric, exact, dtype):
    X = clusters(rng, 1500, 110).astype(dtype)
    runs = [kneighbors(X, 8, metric=metric, exact=exact, random_state=3, n_jobs=n_jobs) for n_jobs in (1, 2, 1)]
    same(runs[0], runs[1])
    same(runs[0], runs[2])
    assert runs[0].distances.dtype == dtype


def test_another_seed_gives_other_lists(rng):
    X = rng.normal(size=(3000, 16))  # no clusters: hard enough that seeds differ
    a, b = (kneighbors(X, 10, exact=False, random_state=seed) for seed in (0, 1))
    assert (a.indices != b.indices).any()


def test_many_duplicates_in_lists(rng):
    X = clusters(rng, 2000, 20)
    X[500:1500] = X[0]
    found = kneighbors(X, 10, exact=False, random_state=0)
    assert (found.indices != np.arange(2000)[:, None]).all()
    assert not found.distances[500:1500].any()


@pytest.mark.parametrize("n", [2, 3, 17])
def test_lists_of_few_rows(rng, n):
    X = rng.normal(size=(n, 3))
    same(kneighbors(X, n - 1, exact=False, random_state=0), kneighbors(X, n - 1, exact=True))


def test_auto_searches_exactly_where_lists_do_not_help(rng, monkeypatch):
    """White noise in many dimensions has no lists worth the name."""
    from manifolia.neighbors import index as module

    monkeypatch.setitem(module._EXACT_WORK, "euclidean", 0.0)
    X = rng.normal(size=(1500, 60))
    index = NeighborIndex(X, random_state=0)
    same(index.neighbors(10), kneighbors(X, 10, exact=True))
    assert index.recall(10) == 1.0


def test_auto_searches_exactly_where_nearly_all_rows_would_be_measured(rng, monkeypatch):
    """Of many neighbours among columns of noise, lists find enough only if they measure nearly everyone."""
    from manifolia.neighbors import index as module

    monkeypatch.setitem(module._EXACT_WORK, "euclidean", 0.0)
    X = rng.normal(size=(1500, 300))
    index = NeighborIndex(X, random_state=0)
    same(index.neighbors(400), kneighbors(X, 400, exact=True))
    assert index.recall(400) == 1.0
    monkeypatch.setattr(module, "_MEASURE_COST", 0)
    unaware = NeighborIndex(X, random_state=0)
    assert 0.98 < unaware.recall(400) < 1.0
    assert unaware._efforts[400].n_candidates > 1000


# ---------------------------------------------------------------------------------------------------- new rows


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_row_equals_the_batch(rng, metric, exact, dtype):
    X = clusters(rng, 1500, 110).astype(dtype)
    index = NeighborIndex(X[:1200], metric=metric, exact=exact, random_state=0)
    batch = index.query(X[1200:], 8)
    for i in (0, 1, 150, 299):
        alone = index.query(X[1200 + i : 1201 + i], 8)
        same(alone, Neighbors(batch.indices[i : i + 1], batch.distances[i : i + 1]))
    shuffled = rng.permutation(300)
    again = index.query(X[1200:][shuffled], 8, n_jobs=1)
    same(again, Neighbors(batch.indices[shuffled], batch.distances[shuffled]))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_projection_of_one_row_has_the_bits_of_the_batch(rng, form):
    from manifolia.neighbors import lists

    X = form(rng.normal(size=(500, 300)).astype(np.float32))
    built, Z = lists.build_lists(X, np.random.default_rng(0))
    for i in (0, 191, 192, 499):
        np.testing.assert_array_equal(lists.project(X[i : i + 1], built), Z[i : i + 1])


@pytest.mark.parametrize("exact", [True, False])
def test_query_finds_nearly_all(rng, exact):
    X = clusters(rng, 4000, 30)
    index = NeighborIndex(X[:3500], exact=exact, random_state=0)
    truth = brute(cdist(X[3500:], X[:3500]), 10, leave_out=False)[0]
    assert recall(index.query(X[3500:], 10).indices, truth) >= (1.0 if exact else 0.98)


def test_a_training_row_as_a_new_row_finds_itself(rng):
    X = rng.normal(size=(50, 4))
    found = NeighborIndex(X).query(X, 50)
    assert (found.indices[:, 0] == np.arange(50)).all()
    assert not found.distances[:, 0].any()
    assert (np.sort(found.indices, axis=1) == np.arange(50)).all()


def test_query_takes_the_dtype_of_the_index(rng):
    X = rng.normal(size=(50, 4))
    found = NeighborIndex(X.astype(np.float32)).query(X, 3)
    assert found.distances.dtype == np.float32
    same(found, NeighborIndex(X.astype(np.float32)).query(X.astype(np.float32), 3))


# ---------------------------------------------------------------------------------------------------- metrics


def test_cosine_with_rows_of_zeros(rng):
    X = np.abs(rng.normal(size=(30, 5)))
    X[[4, 9]] = 0.0
    found = kneighbors(X, 29, metric="cosine")
    by_row = np.take_along_axis(found.distances, np.argsort(found.indices, axis=1), axis=1)
    assert found.indices[4, 0] == 9
    assert found.distances[4, 0] == 0.0
    np.testing.assert_allclose(np.delete(by_row[4], 8), 1.0, rtol=1e-12)
    np.testing.assert_allclose(by_row[0, [3, 8]], 1.0, rtol=1e-12)
    found = NeighborIndex(X[10:], metric="cosine").query(X[[4]], 3)
    np.testing.assert_allclose(found.distances, 1.0, rtol=1e-12)


def test_cosine_ignores_length(rng):
    X = rng.normal(size=(100, 6))
    scaled = X * 2.0 ** rng.integers(-300, 300, size=100)[:, None]
    same(kneighbors(X, 5, metric="cosine"), kneighbors(scaled, 5, metric="cosine"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed(rng, dtype):
    D = rng.integers(0, 20, size=(80, 80)).astype(dtype)
    indices, distances = brute(D, 9)
    found = kneighbors(D, 9, metric="precomputed")
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.distances, distances)
    assert found.distances.dtype == dtype
    new = NeighborIndex(D, metric="precomputed").query(D[:7], 9)
    np.testing.assert_array_equal(new.indices, brute(D[:7], 9, leave_out=False)[0])


def test_precomputed_sparse(rng):
    """Stored entries are neighbours, zeros among them; what is not stored is none."""
    D = rng.integers(0, 20, size=(60, 60)).astype(float)
    stored = rng.random((60, 60)) < 0.5
    stored[:, :12] = True
    rows, columns = np.nonzero(stored)
    matrix = sp.csr_array((D[rows, columns], (rows, columns)), shape=(60, 60))
    found = kneighbors(matrix, 9, metric="precomputed")
    np.testing.assert_array_equal(found.indices, brute(np.where(stored, D, np.inf), 9)[0])
    assert (found.distances == 0).any()
    with pytest.raises(ValueError, match=r"X stores \d+ distances from one of its rows to others and k=59"):
        kneighbors(matrix, 59, metric="precomputed")


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_equals_dense(rng, metric, form):
    X = np.where(rng.random((300, 50)) < 0.15, rng.random((300, 50)), 0.0)
    X[5] = 0.0
    dense = kneighbors(X, 6, metric=metric, exact=True)
    found = kneighbors(form(X), 6, metric=metric, exact=True)
    clear = X.any(axis=1) | (metric == "euclidean")  # by their cosine, all rows are equally far from a row of zeros
    np.testing.assert_array_equal(found.indices[clear], dense.indices[clear])
    np.testing.assert_allclose(found.distances, dense.distances, rtol=1e-12, atol=1e-15)
    index = NeighborIndex(form(X), metric=metric)
    np.testing.assert_array_equal(index.query(X[6:15], 6).indices, index.query(form(X[6:15]), 6).indices)
    np.testing.assert_array_equal(
        NeighborIndex(X, metric=metric).query(form(X[6:15]), 6).indices[:, 1:], dense.indices[6:15, :5]
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_through_lists(rng, metric, dtype):
    parts = np.where(rng.random((12, 400)) < 0.1, rng.random((12, 400)), 0.0)
    mix = rng.dirichlet(np.full(12, 0.3), size=2000)
    X = mix @ parts
    X[X < 0.05] = 0.0
    S = sp.csr_array(X.astype(dtype))
    truth = kneighbors(S, 10, metric=metric, exact=True)
    index = NeighborIndex(S, metric=metric, exact=False, random_state=0, n_jobs=2)
    found = index.neighbors(10)
    assert recall(found.indices, truth.indices) >= 0.97
    same(found, kneighbors(S, 10, metric=metric, exact=False, random_state=0, n_jobs=1))
    batch = index.query(S[:40], 5)
    same(index.query(S[7:8], 5), Neighbors(batch.indices[7:8], batch.distances[7:8]))


def test_wide_sparse_data_is_not_made_dense(rng):
    """A million features: the dense matrix would take 3.2 GB."""
    rows = np.repeat(np.arange(400), 20)
    S = sp.csr_array((rng.random(8000), (rows, rng.integers(0, 1_000_000, 8000))), shape=(400, 1_000_000))
    S = sp.csr_array(sp.vstack([S, S[:1]]))
    found = kneighbors(S, 3)
    assert found.indices[0, 0] == 400
    assert found.distances[0, 0] == 0.0
    reference = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(S).kneighbors()[0]
    np.testing.assert_allclose(found.distances, reference, atol=1e-6)


# ---------------------------------------------------------------------------------------------------- odd input


@given(
    X=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=24),
        elements=st.one_of(
            st.floats(-1e6, 1e6, width=32, allow_subnormal=False),
            st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0**100, -(2.0**-100)]),
        ),
    ),
    exact=st.booleans(),
    metric=st.sampled_from(METRICS),
)
def test_any_numbers(X, exact, metric):
    n = len(X)
    k = min(5, n - 1)
    found = kneighbors(X, k, metric=metric, exact=exact, random_state=0)
    assert found.indices.shape == found.distances.shape == (n, k)
    assert found.distances.dtype == X.dtype
    assert np.isfinite(found.distances).all()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    for i in range(n):
        assert i not in found.indices[i]
        assert len(set(found.indices[i])) == k
    if exact and metric == "manhattan":
        expected = brute(cdist(X.astype(float), X.astype(float), "cityblock"), k)[1]
        np.testing.assert_allclose(found.distances, expected, rtol=1e-6)
    if exact and metric == "euclidean":
        difference = X.astype(float)[:, None] - X.astype(float)
        expected = brute(np.sqrt((difference**2).sum(axis=2)), k)[1]
        np.testing.assert_allclose(found.distances, expected, rtol=1e-6)


def test_lists_and_tables(rng):
    import pandas as pd

    X = rng.normal(size=(20, 3))
    same(kneighbors(X.tolist(), 2), kneighbors(pd.DataFrame(X), 2))
    assert kneighbors(rng.integers(0, 9, size=(20, 3)), 2).distances.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"k": 5}, ValueError, r"k must be at most n - 1 = 4.*got k=5 with n=5 rows"),
        ({"k": 0}, ValueError, r"k must be at least 1, got 0"),
        ({"k": 2.0}, TypeError, r"k must be an int, got 2\.0"),
        ({"metric": "euclid"}, ValueError, r"metric must be one of .*Did you mean 'euclidean'"),
        ({"exact": "yes"}, ValueError, r"exact must be one of"),
        ({"n_jobs": 0}, ValueError, r"n_jobs must not be 0"),
        ({"X": np.ones((5, 2, 2))}, ValueError, r"X"),
        ({"X": np.array([[1.0], [np.nan], [2.0]])}, ValueError, r"X contains NaN"),
        ({"X": np.array([[1.0], [np.inf], [2.0]])}, ValueError, r"X contains infinity"),
        ({"X": np.array([[1.0], [1e200], [2.0]])}, ValueError, r"X holds values up to 1e\+200.*Rescale"),
        ({"X": np.ones((5, 4)), "metric": "precomputed"}, ValueError, r"X must be square.*\(5, 4\)"),
        ({"X": -np.ones((5, 5)), "metric": "precomputed"}, ValueError, r"negative value -1"),
        ({"X": sp.eye_array(5, format="csr"), "metric": "manhattan"}, TypeError, r"X is a sparse matrix.*manhattan"),
        ({"exact": False, "random_state": "a"}, TypeError, r"random_state must be"),
    ],
)
def test_errors(arguments, error, match):
    arguments = {"X": np.arange(10.0).reshape(5, 2), "k": 2} | arguments
    with pytest.raises(error, match=match):
        kneighbors(arguments.pop("X"), arguments.pop("k"), **arguments)


def test_errors_of_queries(rng):
    index = NeighborIndex(rng.normal(size=(20, 3)))
    with pytest.raises(ValueError, match=r"k must be at most the 20 rows of the index, got k=21"):
        index.query(np.ones((1, 3)), 21)
    with pytest.raises(ValueError, match=r"X has 4 columns and the index was built with 3"):
        index.query(np.ones((1, 4)), 2)
    with pytest.raises(ValueError, match=r"X contains NaN"):
        index.query([[1.0, 2.0, np.nan]], 2)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("exact", [True, False])
def test_a_copied_index_answers_the_same(rng, metric, form, exact):
    X = form(np.abs(rng.normal(size=(200, 120))))
    index = NeighborIndex(X, metric=metric, exact=exact, random_state=0)
    same(pickle.loads(pickle.dumps(index)).query(X[:9], 4), index.query(X[:9], 4))


# ---------------------------------------------------------------------------------------------------- real data


@pytest.mark.slow
def test_recall_on_mnist():
    if not os.environ.get("MANIFOLIA_DATA"):
        pytest.skip("MANIFOLIA_DATA is not set: MNIST is not at hand")
    try:
        X = np.asarray(datasets.load("mnist").data, dtype=np.float32)
    except FileNotFoundError:
        pytest.skip("MNIST is not in the data home")
    rows = np.arange(0, 70_000, 350)
    index = NeighborIndex(X, random_state=0)
    found = index.neighbors(15)
    truth = exact_module.exact_neighbors(X[rows], X, 15, metric="euclidean", own=rows)[0]
    assert recall(found.indices[rows], truth) >= 0.98
    assert index.recall(15) >= 0.98


@pytest.mark.parametrize("n_probes", [1, 2, 5])
def test_every_list_is_visited_once_the_nearest_before_the_others(n_probes, rng):
    probes = np.array([rng.permutation(7)[:n_probes] for _ in range(12)], dtype=np.int32)
    visits = _visits(probes)
    expected = {(int(number), row) for row, numbers in enumerate(probes) for number in numbers}
    assert len(visits) == len(expected)
    assert {(int(number), int(row)) for number, row in visits} == expected
    first, rest = visits[:12], visits[12:]
    np.testing.assert_array_equal(probes[first[:, 1], 0], first[:, 0])
    for part in (first, rest):
        assert (np.diff(part[:, 0]) >= 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_products_of_half_the_pairs_are_enough(metric, rng, monkeypatch):
    X = rng.standard_normal((900, 30)).astype(np.float32)
    X[5] = X[700]
    half = kneighbors(X, 7, metric=metric, exact=True)
    seen = []
    monkeypatch.setattr(exact_module, "_mirrored", lambda G, part: seen.append(part))
    monkeypatch.setattr(exact_module, "_WHOLE_BYTES", 0)
    whole = kneighbors(X, 7, metric=metric, exact=True)
    assert not seen
    np.testing.assert_array_equal(half.indices, whole.indices)
    np.testing.assert_array_equal(half.distances, whole.distances)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("unit", [1, 1000, 2.0**20])
def test_rows_below_the_least_normal_number(unit, dtype, metric, exact, rng):
    """The power of two that would bring them to 1 is infinite; their squares are 0."""
    X = (rng.integers(-5, 6, size=(60, 4)) * unit * np.finfo(dtype).smallest_subnormal).astype(dtype)
    near = kneighbors(X, 5, metric=metric, exact=exact, random_state=0)
    assert near.indices.min() >= 0
    assert near.indices.max() < 60
    assert (near.indices != np.arange(60)[:, None]).all()
    assert all(len(set(row)) == 5 for row in near.indices.tolist())
    assert np.isfinite(near.distances).all()
    if metric == "manhattan" and exact:
        truth = np.sort(cdist(X.astype(np.float64), X.astype(np.float64), "cityblock") + np.diag(np.full(60, np.inf)))
        np.testing.assert_array_equal(near.distances, truth[:, :5].astype(dtype))


@pytest.mark.parametrize("exact", [True, False])
def test_new_rows_so_far_away_that_products_overflow(exact, rng):
    """Whoever is left without candidates is measured against everyone."""
    X = rng.normal(size=(300, 4)).astype(np.float32)
    far = np.array([[1e38, 0, 0, 0], [0, -3e38, 0, 0], [1e30, 1e30, 0, 0]], dtype=np.float32)
    near = NeighborIndex(X, exact=exact, random_state=0).query(far, 3)
    truth = cdist(far.astype(np.float64), X.astype(np.float64))
    np.testing.assert_array_equal(np.sort(near.indices), np.sort(np.argsort(truth, axis=1, kind="stable")[:, :3]))


def test_candidates_that_are_too_few_are_not_filled_up_from_memory(rng):
    X = rng.normal(size=(20, 3))
    own, candidates = np.arange(20), np.full((20, 4), 7, dtype=np.int32)
    indices, _ = measured(X, X, 4, metric="euclidean", own=own, candidates=candidates, counts=np.full(20, 1))
    np.testing.assert_array_equal(indices, kneighbors(X, 4, exact=True).indices)
