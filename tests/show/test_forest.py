"""Pictures of what a forest says: what is averaged and in which order, and what is drawn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from manifolia import forest as F
from manifolia.forest.tools import Imputed, outlier_scores
from manifolia.operators.entropy import choose_t, von_neumann_entropy
from manifolia.show import (
    EntropyDisplay,
    EvidenceDisplay,
    ImputationDisplay,
    OutlierDisplay,
    PrototypeDisplay,
    ProximityDisplay,
)
from manifolia.show.palette import DARK, class_colors

LABELS = np.repeat(["a", "b"], 20)
CURVE = von_neumann_entropy(np.linspace(0.05, 1.0, 40) ** 2, 100)


# Proximities


@pytest.fixture
def figure():
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
    display = ProximityDisplay.from_data(K, ["a", "b", "a"])
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
    display = ProximityDisplay.from_data(sp.csr_array(K), y, max_cells=max_cells)
    assert sorted(display.order) == list(range(n))
    assert set(display.class_edges) <= set(display.edges)
    assert (np.diff(display.edges) > 0).all()
    assert len(display.edges) - 1 <= max(min(max_cells, n) + 3, 3)
    np.testing.assert_allclose(display.cells, naive_cells(K, display.order, display.edges))
    np.testing.assert_array_equal(display.order, np.argsort(y, kind="stable"))


def test_dense_and_sparse_agree_and_renaming_classes_moves_blocks_only(rng):
    K = rng.random((30, 30))
    y = rng.integers(0, 3, 30)
    one = ProximityDisplay.from_data(K, y)
    two = ProximityDisplay.from_data(sp.csr_array(K), np.array(["z", "y", "x"])[y])
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
    expected = ProximityDisplay.from_data(F.proximity(model, X, kind="original"), y, max_cells=20)
    np.testing.assert_array_equal(display.cells, expected.cells)
    assert display.title == "original proximity"


def test_plot_draws_cells_borders_and_names(rng, figure):
    K = rng.random((30, 30))
    y = np.repeat(["left", "middle", "right"], [5, 10, 15])
    display = ProximityDisplay.from_data(K, y, title="likeness")
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
    display = ProximityDisplay.from_data(sp.csr_array((4, 4)), [0, 0, 1, 1]).plot(figure.subplots(), colorbar=False)
    assert len(figure.axes) == 1
    assert not display.cells.any()
    assert not display.class_shares.any()
    figure.canvas.draw()


def test_a_few_large_cells_do_not_set_the_scale(rng, figure):
    K = rng.random((100, 100))
    K[3, 4] = 1e6
    display = ProximityDisplay.from_data(K, np.zeros(100)).plot(figure.subplots())
    assert display.image_.norm.vmax < 2.0


def test_without_axes_it_makes_a_figure():
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")  # a test opens no window
    display = ProximityDisplay.from_data(np.eye(3), [0, 1, 2]).plot()
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
def test_refusals_of_proximities(K, y, options, message):
    with pytest.raises(ValueError, match=message):
        ProximityDisplay.from_data(K, y, **options)


# Outliers, prototypes, evidence, imputed values


@pytest.fixture
def K():
    near = np.full((40, 40), 0.02)
    near[:20, :20] = near[20:, 20:] = 0.6
    near[3, :] = near[:, 3] = 0.001  # unlike its class
    return near


def test_outliers_are_named_and_the_limit_is_drawn(K):
    display = OutlierDisplay.from_data(K, LABELS)
    np.testing.assert_array_equal(display.scores, outlier_scores(K, LABELS))
    ax = Figure().subplots()
    assert display.plot(ax) is display
    assert display.named_ == [3]
    assert [text.get_text() for text in ax.texts] == ["3"]
    assert ax.lines[0].get_ydata()[0] == 10.0
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b"]
    drawn = np.concatenate([c.get_offsets()[:, 1] for c in ax.collections if len(c.get_offsets())])
    assert len(drawn) == 40


def test_prototypes_show_the_features_that_differ(K):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X[20:, 2] += 5
    display = PrototypeDisplay.from_data(K, X, LABELS, feature_names=list("pqrst"), top=2)
    assert 2 in display.features
    ax = Figure().subplots()
    display.plot(ax, theme="dark")
    assert [text.get_text() for text in ax.get_yticklabels()] == [list("pqrst")[f] for f in display.features]
    assert "3 more features" in ax.get_xlabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_evidence_draws_a_line_to_each_row_that_speaks(K):
    Y = np.random.default_rng(0).normal(size=(40, 2))
    labels = LABELS.astype(object)
    labels[0] = None
    display = EvidenceDisplay.from_data(K, Y, labels, 5, n_neighbors=3)
    assert display.found.rows[5].tolist() == [1, 2, 4]
    ax = Figure().subplots()
    display.plot(ax)
    assert len(ax.lines) == 3
    for line, other in zip(ax.lines, (1, 2, 4), strict=True):
        np.testing.assert_allclose(line.get_xydata(), Y[[5, other]])
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[0].startswith("a: 9")
    assert words[-1] == "row 5"
    new = EvidenceDisplay.from_data(K[:2], Y, labels, 1, places=[[9.0, 9.0], [8.0, 8.0]])
    assert new.spot.tolist() == [8.0, 8.0]


def test_every_class_is_in_the_legend_by_its_own_name(K):
    labels = np.repeat(["_a", "$b$"], 20)  # matplotlib would leave out the first, and read the second as a formula
    X = np.random.default_rng(0).normal(size=(40, 2))
    prototypes = PrototypeDisplay.from_data(K, X, labels).plot(Figure().subplots())
    assert [text.get_text() for text in prototypes.ax_.get_legend().get_texts()] == ["$b$", "_a"]
    evidence = EvidenceDisplay.from_data(K, X, labels, 5).plot(Figure().subplots())
    texts = evidence.ax_.get_legend().get_texts()
    assert texts[0].get_text().startswith("_a: ")
    assert not any(text.get_parse_math() for text in texts)


def test_filled_values_stand_beside_known_ones():
    X = np.arange(24.0).reshape(8, 3)
    missing = np.zeros((8, 3), dtype=bool)
    missing[:2, 1] = missing[0, 2] = True
    display = ImputationDisplay.from_data(Imputed(X, missing, np.array([0.5, 0.02])), feature_names=list("uvw"))
    assert display.names == ["v", "w"]
    ax = Figure().subplots()
    display.plot(ax)
    assert [len(c.get_offsets()) for c in ax.collections] == [6, 2, 7, 1]
    assert "2 rounds; last change 0.02" in ax.get_xlabel()
    with pytest.raises(ValueError, match="nothing was missing"):
        ImputationDisplay.from_data(Imputed(X, np.zeros((8, 3), dtype=bool), np.zeros(0)))


# Entropy of the walk


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_curve_and_marks_are_the_values():
    knee = choose_t(CURVE)
    display = EntropyDisplay(CURVE, knee - 1, knee=knee)
    ax = Figure().subplots()
    assert display.plot(ax) is display
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    last = max(4 * knee, 20)
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([np.arange(1, last + 1), CURVE[:last]]))
    np.testing.assert_array_equal(display.chosen_.get_xydata(), [[knee - 1, CURVE[knee - 2]]])
    np.testing.assert_array_equal(display.knee_.get_xydata(), [[knee, CURVE[knee - 1]]])
    assert legend_texts(ax) == [
        f"t = {knee - 1} steps walked; one more places the rows",
        f"knee of the curve: {knee} steps",
    ]


def test_a_curve_alone_is_read_and_a_given_t_is_kept():
    read = EntropyDisplay.from_data(CURVE).plot(Figure().subplots())
    assert read.t == read.knee == choose_t(CURVE)
    assert read.knee_ is None
    assert legend_texts(read.ax_) == [f"t = {read.t} steps"]
    given = EntropyDisplay.from_data(CURVE, 1).plot(Figure().subplots(), t_max=9)
    assert (given.t, given.knee) == (1, None)
    assert legend_texts(given.ax_) == ["t = 1 step, given"]
    assert len(given.line_.get_xdata()) == 9


def test_an_estimator_shows_its_steps():
    X, y = load_iris(return_X_y=True)
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(X, y)
    display = EntropyDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.entropy, model.entropy_)
    assert display.t == model.t_
    assert display.knee == choose_t(model.entropy_) == model.t_ + 1


def test_the_knee_is_that_of_the_rule_by_which_t_was_read():
    X, y = load_iris(return_X_y=True)
    model = mf.RFPHATE(n_trees=30, t_rule="chord", random_state=0).fit(X, y)
    assert EntropyDisplay.from_estimator(model).knee == choose_t(model.entropy_, rule="chord") == model.t_ + 1
    assert choose_t(model.entropy_) != choose_t(model.entropy_, rule="chord")


class Walked(BaseEstimator):
    def __init__(self, t="auto"):
        self.t = t

    def fit(self, X, y=None):
        self.entropy_, self.t_ = CURVE, self.t
        return self


def test_steps_given_by_hand_have_no_knee_and_may_lie_beyond_the_curve():
    by_hand = make_pipeline(StandardScaler(), Walked(t=200)).fit([[1.0], [2.0]])
    display = EntropyDisplay.from_estimator(by_hand)
    assert (display.t, display.knee) == (200, None)
    display.plot(Figure().subplots(), theme="dark")  # beyond the curve, at its end
    assert display.chosen_.get_ydata()[0] == CURVE[-1]
    assert display.chosen_.get_color() == class_colors(2, dark=True)[1]
    assert display.ax_.xaxis.label.get_color() == DARK.text


def test_refusals_of_the_entropy():
    with pytest.raises(NotFittedError):
        EntropyDisplay.from_estimator(mf.RFPHATE())
    with pytest.raises(ValueError, match="entropy must be one row of finite numbers"):
        EntropyDisplay.from_data([1.0, np.nan])
    with pytest.raises(ValueError, match="t must be"):
        EntropyDisplay.from_data(CURVE, 101)
    with pytest.raises(ValueError, match="t_max must be"):
        EntropyDisplay.from_data(CURVE).plot(Figure().subplots(), t_max=1)
