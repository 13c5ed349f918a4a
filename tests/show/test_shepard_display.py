"""The Shepard diagram: its numbers are those of the metrics, and what is drawn is what was counted."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from manifolia import metrics
from manifolia.show import MetricsDisplay, ShepardDisplay
from manifolia.show.palette import DARK


@pytest.fixture
def pair(rng):
    X = rng.normal(size=(50, 4))
    return X, 3 * X[:, :2] + rng.normal(size=(50, 2))


def test_the_numbers_are_those_of_the_metrics(pair):
    X, Y = pair
    data = ShepardDisplay.from_data(X, Y).data
    assert data.goodness == pytest.approx(metrics.shepard_goodness(X, Y), abs=1e-12)
    assert data.stress == pytest.approx(metrics.normalized_stress(X, Y), abs=1e-9)
    assert data.n_pairs == data.counts.sum() == 50 * 49 // 2
    counts, _, _ = np.histogram2d(pdist(X), pdist(Y), bins=[data.x_edges, data.y_edges])
    np.testing.assert_array_equal(data.counts, counts)
    for one, other in zip(data, MetricsDisplay.from_shepard(X, Y).data, strict=True):
        np.testing.assert_array_equal(one, other)


def test_stress_at_its_ends(pair):
    X, _ = pair
    assert ShepardDisplay.from_data(X, 7 * X).data.stress == pytest.approx(0.0, abs=1e-7)
    assert ShepardDisplay.from_data(X, np.zeros((50, 2))).data.stress == 1.0
    assert ShepardDisplay.from_data(np.ones((5, 2)), np.zeros((5, 2))).data.stress == 0.0
    assert ShepardDisplay.from_data(np.ones((5, 2)), np.arange(10.0).reshape(5, 2)).data.stress == 1.0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_shows_the_counts_and_the_numbers(pair, theme):
    display = ShepardDisplay.from_data(*pair)
    ax = Figure().subplots()
    assert display.plot(ax, theme=theme) is display
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    image, under, over = display.artists_
    np.testing.assert_array_equal(image.get_array().filled(0), display.data.counts.T)
    np.testing.assert_array_equal(over.get_xydata(), display.data.medians)
    np.testing.assert_array_equal(under.get_xydata(), display.data.medians)
    assert f"rank correlation {display.data.goodness:.3f}, stress {display.data.stress:.3f}" in ax.get_title()
    assert "1,225 pairs" in ax.get_title()
    assert len(ax.figure.axes) == 2
    dark = to_hex(ax.figure.get_facecolor()).upper() == DARK.background
    assert dark == (theme == "dark") == (ax.title.get_color() == DARK.text)


def test_an_estimator_is_compared_by_its_embedding(pair):
    class Fitted(BaseEstimator):
        def fit(self, X):
            self.embedding_ = pair[1]
            return self

    with pytest.raises(NotFittedError):
        ShepardDisplay.from_estimator(Fitted(), pair[0])
    found = ShepardDisplay.from_estimator(Fitted().fit(None), pair[0], max_pairs=100, random_state=3).data
    direct = ShepardDisplay.from_data(*pair, max_pairs=100, random_state=3).data
    assert found.n_pairs == 100
    np.testing.assert_array_equal(found.counts, direct.counts)
    ax = Figure().subplots()
    ShepardDisplay(found).plot(ax, colorbar=False)
    assert ax.figure.axes == [ax]
