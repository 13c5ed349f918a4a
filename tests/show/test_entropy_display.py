"""The entropy curve: which steps are marked, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from manifolia.operators.entropy import choose_t, von_neumann_entropy
from manifolia.show import EntropyDisplay
from manifolia.show.palette import DARK, class_colors

CURVE = von_neumann_entropy(np.linspace(0.05, 1.0, 40) ** 2, 100)


def texts(ax):
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
    assert texts(ax) == [
        f"t = {knee - 1} steps walked; one more places the rows",
        f"knee of the curve: {knee} steps",
    ]


def test_a_curve_alone_is_read_and_a_given_t_is_kept():
    read = EntropyDisplay.from_values(CURVE).plot(Figure().subplots())
    assert read.t == read.knee == choose_t(CURVE)
    assert read.knee_ is None
    assert texts(read.ax_) == [f"t = {read.t} steps"]
    given = EntropyDisplay.from_values(CURVE, 1).plot(Figure().subplots(), t_max=9)
    assert (given.t, given.knee) == (1, None)
    assert texts(given.ax_) == ["t = 1 step, given"]
    assert len(given.line_.get_xdata()) == 9


def test_an_estimator_shows_its_steps():
    X, y = load_iris(return_X_y=True)
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(X, y)
    display = EntropyDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.entropy, model.entropy_)
    assert display.t == model.t_
    assert display.knee == choose_t(model.entropy_) == model.t_ + 1


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


def test_refusals():
    with pytest.raises(NotFittedError):
        EntropyDisplay.from_estimator(mf.RFPHATE())
    with pytest.raises(ValueError, match="entropy must be one row of finite numbers"):
        EntropyDisplay.from_values([1.0, np.nan])
    with pytest.raises(ValueError, match="t must be"):
        EntropyDisplay.from_values(CURVE, 101)
    with pytest.raises(ValueError, match="t_max must be"):
        EntropyDisplay.from_values(CURVE).plot(Figure().subplots(), t_max=1)
