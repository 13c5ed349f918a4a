"""Layout of a graph: what the forces promise, the same bits on any number of threads, and errors at the door."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from manifolia.layout.edge_sgd import (
    adam_rates,
    check_graph,
    curve_parameters,
    edge_layout,
    force_table,
    push_per_draw,
)
from manifolia.layout.initialize import pca_start
from manifolia.metrics import knn_accuracy, trustworthiness


def _neighbour_graph(X, k=8):
    A = kneighbors_graph(X, k, include_self=False)
    return sp.csr_array((A + A.T).minimum(1.0))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], _neighbour_graph(X[:600])


def test_the_curve_has_the_values_of_umap():
    # The published defaults of UMAP for min_dist=0.1, spread=1.
    a, b = curve_parameters(0.1, 1.0)
    assert a == pytest.approx(1.577, abs=1e-3)
    assert b == pytest.approx(0.8951, abs=1e-3)


def test_two_points_settle_where_no_force_is_left():
    # Two points, one edge, no repulsion: they meet. With repulsion they stay apart.
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    start = [[0.0, 0.0], [3.0, 4.0]]
    together = edge_layout(pair, start, n_negatives=0, random_state=0).Y
    apart = edge_layout(pair, start, n_negatives=5, random_state=0).Y
    assert np.linalg.norm(together[0] - together[1]) < 0.05
    assert np.linalg.norm(apart[0] - apart[1]) > 0.3


def test_repulsion_does_not_depend_on_how_many_points_stand_for_it():
    # UMAP: five points per edge, each with weight 1.
    assert push_per_draw(1.0, 5) == 1.0
    assert push_per_draw(2.0, 3) * 3 == pytest.approx(10.0)
    assert np.isfinite(push_per_draw(2.0, 0))
    plain, strong = force_table(1.6, 0.9), force_table(1.6, 0.9, 2.0)
    np.testing.assert_allclose(strong, plain * np.array([[1.0], [2.0], [1.0]]), rtol=1e-6)


def test_a_stronger_repulsion_keeps_a_pair_farther_apart():
    pair, start = sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), [[0.0, 0.0], [3.0, 4.0]]
    gap = [
        np.linalg.norm(np.subtract(*edge_layout(pair, start, n_negatives=20, repulsion=push, random_state=0).Y))
        for push in (0.0, 1.0, 4.0)
    ]
    assert gap[0] < 0.05
    assert gap[2] > 1.2 * gap[1] > gap[0]
    few = edge_layout(pair, start, n_negatives=40, repulsion=1.0, random_state=0).Y
    assert np.linalg.norm(few[0] - few[1]) == pytest.approx(gap[1], rel=0.15)


def test_attraction_follows_the_derivative_of_the_cross_entropy():
    # Eq. (33): d log Q / dz = −2ab s^{b−1} z / (1 + a s^b); the printed d log(1 − Q) / dz lacks the a in 1 + a s^b.
    a, b = curve_parameters()
    table = force_table(a, b)
    words = (np.arange(table.shape[1], dtype=np.int32) + np.int32((127 - 40) << 7)) << np.int32(16)
    s = words.view(np.float32).astype(float)
    use = (s > 1e-2) & (s < 1e3)
    x, h = np.sqrt(s[use]), 1e-6
    log_q = lambda x: -np.log1p(a * x ** (2 * b))  # noqa: E731
    log_rest = lambda x: np.log(a) + 2 * b * np.log(x) - np.log1p(a * x ** (2 * b))  # noqa: E731
    np.testing.assert_allclose(-table[0][use] * x, (log_q(x + h) - log_q(x - h)) / (2 * h), rtol=1e-4)
    guarded = table[1][use] * x * (0.001 + s[use]) / s[use]
    np.testing.assert_allclose(guarded, (log_rest(x + h) - log_rest(x - h)) / (2 * h), rtol=1e-4)


def test_the_bits_do_not_depend_on_the_threads(digits):
    X, _, graph = digits
    start = pca_start(np.tile(X, (4, 1)), random_state=0)  # 2,400 points: several blocks
    graph = sp.csr_array(sp.block_diag([graph] * 4))
    one = edge_layout(graph, start, n_epochs=30, random_state=3, n_jobs=1)
    two = edge_layout(graph, start, n_epochs=30, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one.Y, two.Y)
    other = edge_layout(graph, start, n_epochs=30, random_state=4, n_jobs=2)
    assert np.abs(one.Y - other.Y).max() > 0.1


@pytest.mark.parametrize("n_components", [1, 2, 3, 10])
def test_any_number_of_dimensions(digits, n_components):
    X, y, graph = digits
    start = pca_start(X, n_components, random_state=0)
    found = edge_layout(graph, start, n_epochs=100, random_state=0)
    assert found.Y.shape == (600, n_components)
    assert found.n_epochs == 100
    assert np.isfinite(found.Y).all()
    floor = {1: 0.6, 2: 0.85, 3: 0.88, 10: 0.9}[n_components]
    assert knn_accuracy(found.Y, y, 5) > floor
    if n_components < 3:
        assert knn_accuracy(start, y, 5) < floor


def test_the_map_is_trustworthy(digits):
    X, _, graph = digits
    start = pca_start(X, random_state=0)
    found = edge_layout(graph, start, random_state=0)
    assert found.n_epochs == 500
    assert trustworthiness(X, found.Y, 10) > 0.95 > trustworthiness(X, start, 10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_that_of_the_start(dtype):
    ring = sp.csr_array(np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0))
    assert edge_layout(ring, np.eye(5, 2, dtype=dtype), n_epochs=2, random_state=0).Y.dtype == dtype


def test_an_isolated_point_and_a_diagonal_do_no_harm():
    graph = np.zeros((4, 4))
    graph[0, 1] = graph[1, 0] = 0.5
    plain = edge_layout(sp.csr_array(graph), np.eye(4, 2), n_epochs=20, random_state=0).Y
    np.fill_diagonal(graph, 9.0)
    np.testing.assert_array_equal(edge_layout(sp.csr_array(graph), np.eye(4, 2), n_epochs=20, random_state=0).Y, plain)
    np.testing.assert_array_equal(plain[2:], np.eye(4, 2)[2:])  # no edge: nothing draws it, nothing pushes it


def test_no_epoch_returns_the_start():
    start = np.random.default_rng(0).random((5, 2)).astype(np.float32)
    graph = sp.csr_array(np.ones((5, 5)))
    np.testing.assert_array_equal(edge_layout(graph, start, n_epochs=0).Y, start)


def test_a_callback_is_told_of_every_epoch_and_may_stop():
    graph, start = sp.csr_array(np.ones((5, 5))), np.eye(5, 2)
    seen = []

    def watch(event):
        seen.append((event.stage, event.done, event.total))
        return event.done == 3

    found = edge_layout(graph, start, n_epochs=10, random_state=0, callback=watch)
    assert seen == [("layout", 1, 10), ("layout", 2, 10), ("layout", 3, 10)]
    assert found.n_epochs == 3
    assert not np.array_equal(found.Y, start)


def test_an_error_of_the_callback_ends_the_threads(digits):
    X, _, graph = digits

    def fail(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        edge_layout(graph, pca_start(X), n_epochs=5, callback=fail)


def test_adam_corrects_its_first_means():
    rates = adam_rates(4, 0.8)
    np.testing.assert_allclose(rates[0], [0.8 / 0.5, 1 / 0.1], rtol=1e-6)
    np.testing.assert_allclose(rates[-1], [0.2 / (1 - 0.5**4), 1 / (1 - 0.9**4)], rtol=1e-6)
    assert adam_rates(0).shape == (0, 2)


def test_check_graph_scales_by_the_largest_weight():
    graph = check_graph(sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), 3, n_negatives=4)
    np.testing.assert_array_equal(graph.indptr, [0, 1, 3, 4])
    np.testing.assert_array_equal(graph.indices, [1, 0, 2, 1])
    np.testing.assert_array_equal(graph.weights, [1.0, 1.0, 0.5, 0.5])
    np.testing.assert_array_equal(graph.draws, [4.0, 6.0, 2.0])


@pytest.mark.parametrize(
    ("graph", "kind", "message"),
    [
        (np.eye(3), TypeError, "sparse"),
        (sp.csr_array((2, 2)), ValueError, "one row and one column per point"),
        (sp.csr_array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]), ValueError, "symmetric"),
        (sp.csr_array([[0, 1.0, 0], [2.0, 0, 0], [0, 0, 0]]), ValueError, "symmetric"),
        (sp.csr_array([[0, -1.0, 0], [-1.0, 0, 0], [0, 0, 0]]), ValueError, "negative"),
        (sp.csr_array([[0, np.nan, 0], [np.nan, 0, 0], [0, 0, 0]]), ValueError, "finite"),
    ],
)
def test_graphs_that_are_refused(graph, kind, message):
    with pytest.raises(kind, match=message):
        edge_layout(graph, np.eye(3, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_dist": 2.0}, "min_dist must be"),
        ({"spread": 0.0}, "spread must be"),
        ({"n_epochs": -1}, "n_epochs must be"),
        ({"n_negatives": -1}, "n_negatives must be"),
        ({"repulsion": -1.0}, "repulsion must be"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        edge_layout(sp.csr_array(np.ones((3, 3))), np.eye(3, 2), **options)
    with pytest.raises(TypeError, match="n_epochs"):
        edge_layout(sp.csr_array(np.ones((3, 3))), np.eye(3, 2), n_epochs="many")
