"""The heat map of proximities: what it averages, in which order, and what it draws."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from manifolia import forest as F
from manifolia.show import ProximityDisplay


@pytest.fixture
def figure():
    from matplotlib.figure import Figure

    return Figure()


@pytest.fixture
def fitted(seed):
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(60, oob_score=True, random_state=seed).fit(X, y)
    return model, X, y


def naive_cells(K, order, edges):
    """Mean over the pairs of different rows of each cell, pair by pair."""
    m = len(edges) - 1
    out = np.zeros((m, m))
    for a in range(m):
        for b in range(m):
            values = [K[i, j] for i in order[edges[a] : edges[a + 1]] for j in order[edges[b] : edges[b + 1]] if i != j]
            out[a, b] = np.mean(values) if values else 0.0
    return out


def test_a_small_matrix_by_hand():
    # Rows 0 and 2 are "a" and keep 3 of 4 and 4 of 4 in their class; row 1 is the only "b". The diagonal is ignored.
    K = np.array([[9.0, 1.0, 3.0], [2.0, 9.0, 2.0], [4.0, 0.0, 9.0]])
    display = ProximityDisplay.from_matrix(K, ["a", "b", "a"])
    assert display.class_names.tolist() == ["a", "b"]
    assert display.order.tolist() == [0, 2, 1]  # by class, and in a class as they came
    assert display.class_edges.tolist() == [0, 2, 3]
    assert display.edges.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(display.cells, [[0, 3, 1], [4, 0, 0], [2, 2, 0]])
    np.testing.assert_allclose(display.class_shares, [[7 / 8, 1 / 8], [1, 0]])


@pytest.mark.parametrize("max_cells", [1, 7, 1000])
def test_cells_are_means_and_keep_to_their_class(rng, max_cells):
    n = 40
    K = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    y = rng.integers(0, 3, n)
    display = ProximityDisplay.from_matrix(sp.csr_array(K), y, max_cells=max_cells)
    assert sorted(display.order) == list(range(n))
    assert set(display.class_edges) <= set(display.edges)
    assert (np.diff(display.edges) > 0).all()
    assert len(display.edges) - 1 <= max(min(max_cells, n) + 3, 3)
    np.testing.assert_allclose(display.cells, naive_cells(K, display.order, display.edges))
    np.testing.assert_array_equal(display.order, np.argsort(y, kind="stable"))


def test_dense_and_sparse_agree_and_renaming_classes_moves_blocks_only(rng):
    K = rng.random((30, 30))
    y = rng.integers(0, 3, 30)
    one = ProximityDisplay.from_matrix(K, y)
    two = ProximityDisplay.from_matrix(sp.csr_array(K), np.array(["z", "y", "x"])[y])
    np.testing.assert_array_equal(two.class_names, ["x", "y", "z"])
    np.testing.assert_allclose(two.class_shares, one.class_shares[::-1, ::-1])


def test_gap_shares_are_the_forests_mean_out_of_bag_votes(fitted):
    model, X, y = fitted
    display = ProximityDisplay.from_estimator(model, X, y)
    votes = np.stack([model.oob_decision_function_[y == code].mean(axis=0) for code in range(3)])
    np.testing.assert_allclose(display.class_shares, votes, atol=1e-12)


def test_from_estimator_draws_the_kind_that_it_was_asked_for(fitted):
    model, X, y = fitted
    display = ProximityDisplay.from_estimator(model, X, y, kind="original", max_cells=20)
    expected = ProximityDisplay.from_matrix(F.proximity(model, X, kind="original"), y, max_cells=20)
    np.testing.assert_array_equal(display.cells, expected.cells)
    assert display.title == "original proximity"


def test_plot_draws_cells_borders_and_names(rng, figure):
    K = rng.random((30, 30))
    y = np.repeat(["left", "middle", "right"], [5, 10, 15])
    display = ProximityDisplay.from_matrix(K, y, title="likeness")
    ax = figure.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.image_.get_array(), display.cells)
    borders = sorted({float(line.get_xdata()[0]) for line in ax.lines if line.get_xdata()[0] == line.get_xdata()[1]})
    assert borders == [5.0, 15.0]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["left", "middle", "right"]
    np.testing.assert_array_equal(ax.get_xticks(), [2.5, 10.0, 22.5])
    top, bottom = ax.get_ylim()[::-1]
    assert (top, bottom) == (0.0, 30.0)  # the first row is at the top, as in a matrix
    assert figure.axes[1].get_ylabel() == "mean likeness"


def test_colorbar_can_be_left_out_and_an_empty_matrix_drawn(figure):
    display = ProximityDisplay.from_matrix(sp.csr_array((4, 4)), [0, 0, 1, 1]).plot(figure.subplots(), colorbar=False)
    assert len(figure.axes) == 1
    assert not display.cells.any()
    assert not display.class_shares.any()
    figure.canvas.draw()


def test_a_few_large_cells_do_not_set_the_scale(rng, figure):
    K = rng.random((100, 100))
    K[3, 4] = 1e6
    display = ProximityDisplay.from_matrix(K, np.zeros(100)).plot(figure.subplots())
    assert display.image_.norm.vmax < 2.0


def test_without_axes_it_makes_a_figure():
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")  # a test opens no window
    display = ProximityDisplay.from_matrix(np.eye(3), [0, 1, 2]).plot()
    assert display.ax_.figure.number in plt.get_fignums()
    plt.close(display.ax_.figure)


@pytest.mark.parametrize(
    ("K", "y", "options", "message"),
    [
        (np.ones((3, 2)), [0, 1, 1], {}, "K must be square"),
        (-np.ones((2, 2)), [0, 1], {}, "K must not be negative, got -1"),
        (np.ones((3, 3)), [0, 1], {}, "y has 2 labels and the data has 3 rows"),
        (np.ones((2, 2)), [0, None], {}, "missing labels"),
        (np.ones((2, 2)), [0, 1], {"max_cells": 0}, "max_cells"),
    ],
)
def test_wrong_input_gets_a_sentence(K, y, options, message):
    with pytest.raises(ValueError, match=message):
        ProximityDisplay.from_matrix(K, y, **options)
