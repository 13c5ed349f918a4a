"""Pictures of quality: what each display computes, and that what it draws is that."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia import metrics
from manifolia.exceptions import MissingExtraError
from manifolia.show import CorankingDisplay, MetricsDisplay, ShepardDisplay
from manifolia.show.palette import DARK, class_colors
from manifolia.show.quality import _rank_edges


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture
def pair(rng):
    X = rng.normal(size=(60, 4))
    return X, X[:, :2] + 0.3 * rng.normal(size=(60, 2))


# Curves


def test_curves_are_those_of_the_metrics(pair):
    X, Y = pair
    data = MetricsDisplay.from_data(X, {"noisy": Y, "same": X})
    assert list(data.values) == ["noisy", "same"]
    np.testing.assert_array_equal(data.values["noisy"], metrics.r_nx(X, Y))
    np.testing.assert_array_equal(data.values["same"], 1.0)
    np.testing.assert_array_equal(data.low["noisy"], data.values["noisy"])
    assert data.areas["noisy"] == metrics.auc_r_nx(X, Y)
    np.testing.assert_array_equal(data.baseline, np.zeros(58))
    shares = MetricsDisplay.from_data(X, Y, curve="q_nx")
    assert list(shares.values) == ["map"]
    np.testing.assert_array_equal(shares.values["map"], metrics.q_nx(X, Y))
    np.testing.assert_array_equal(shares.baseline, metrics.random_baseline(60))


def test_lines_show_the_curves_with_their_names_and_areas(pair, ax):
    X, Y = pair
    display = MetricsDisplay.from_data(X, {"noisy": Y, "same": X})
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    noisy, same, random = display.artists_
    np.testing.assert_array_equal(noisy.get_xdata(), np.arange(1, 59))
    np.testing.assert_array_equal(noisy.get_ydata(), display.values["noisy"])
    np.testing.assert_array_equal(random.get_ydata(), 0.0)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [f"noisy ({display.areas['noisy']:.3f})", "same (1.000)", "random map"]
    assert [noisy.get_color(), same.get_color()] == class_colors(2)
    assert noisy.get_linestyle() != same.get_linestyle()
    assert ax.get_xscale() == "log"
    assert ax.get_ylim()[1] >= 1.0
    assert not ax.collections  # exact: no band


def test_samples_have_a_band(pair, ax):
    X, Y = pair
    display = MetricsDisplay.from_data(X, {"noisy": Y}, sample=40).plot(ax, legend=False)
    assert (display.low["noisy"] < display.high["noisy"]).any()
    assert len(ax.collections) == 1
    assert ax.get_legend() is None


def test_many_maps_have_lines_of_their_own(pair, ax):
    X, Y = pair
    display = MetricsDisplay.from_data(X, {f"map {i}": Y for i in range(12)}).plot(ax)
    looks = {(line.get_color(), line.get_linestyle()) for line in display.artists_[:-1]}
    assert len(looks) == 12


# Shepard diagram


def test_pairs_are_counted_by_their_distances(pair):
    X, Y = pair
    data = ShepardDisplay.from_data(X, Y)
    assert data.n_pairs == data.counts.sum() == 60 * 59 // 2
    counts, _, _ = np.histogram2d(pdist(X), pdist(Y), bins=[data.x_edges, data.y_edges])
    assert np.abs(data.counts - counts).sum() <= 4  # at the border of a cell a rounding decides
    assert data.goodness == pytest.approx(spearmanr(pdist(X), pdist(Y)).statistic)
    assert (np.diff(data.medians[:, 0]) >= 0).all()
    assert data.medians[0, 1] < data.medians[-1, 1]


def test_a_perfect_map_lies_on_the_diagonal():
    X = np.arange(12.0)[:, None] ** 1.5
    data = ShepardDisplay.from_data(X, 2 * X)
    np.testing.assert_allclose(data.medians[:, 1], 2 * data.medians[:, 0])
    assert data.goodness == pytest.approx(1.0)
    assert np.count_nonzero(data.counts - np.diag(np.diag(data.counts))) == 0


def test_many_pairs_are_drawn_at_random(pair):
    X, Y = pair
    data = ShepardDisplay.from_data(X, Y, max_pairs=500)
    assert data.n_pairs == data.counts.sum() == 500
    again = ShepardDisplay.from_data(X, Y, max_pairs=500)
    np.testing.assert_array_equal(data.counts, again.counts)
    other = ShepardDisplay.from_data(X, Y, max_pairs=500, random_state=1)
    assert not np.array_equal(data.counts, other.counts)


def test_a_constant_map_can_be_drawn(pair, ax):
    display = ShepardDisplay.from_data(pair[0], np.zeros((60, 2))).plot(ax, colorbar=False)
    assert display.goodness == 0.0
    assert len(ax.figure.axes) == 1


def test_the_numbers_are_those_of_the_metrics(pair):
    X, Y = pair
    data = ShepardDisplay.from_data(X, Y)
    assert data.goodness == pytest.approx(metrics.shepard_goodness(X, Y), abs=1e-12)
    assert data.stress == pytest.approx(metrics.normalized_stress(X, Y), abs=1e-9)


def test_stress_at_its_ends(pair):
    X, _ = pair
    assert ShepardDisplay.from_data(X, 7 * X).stress == pytest.approx(0.0, abs=1e-7)
    assert ShepardDisplay.from_data(X, np.zeros((60, 2))).stress == 1.0
    assert ShepardDisplay.from_data(np.ones((5, 2)), np.zeros((5, 2))).stress == 0.0
    assert ShepardDisplay.from_data(np.ones((5, 2)), np.arange(10.0).reshape(5, 2)).stress == 1.0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_shows_the_counts_and_the_numbers(pair, theme):
    display = ShepardDisplay.from_data(*pair)
    ax = Figure().subplots()
    assert display.plot(ax, theme=theme) is display
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    image, under, over = display.artists_
    np.testing.assert_array_equal(image.get_array().filled(0), display.counts.T)
    np.testing.assert_array_equal(over.get_xydata(), display.medians)
    np.testing.assert_array_equal(under.get_xydata(), display.medians)
    assert f"rank correlation {display.goodness:.3f}, stress {display.stress:.3f}" in ax.get_title()
    assert "1,770 pairs" in ax.get_title()
    assert len(ax.figure.axes) == 2
    dark = to_hex(ax.figure.get_facecolor()).upper() == DARK.background
    assert dark == (theme == "dark") == (ax.title.get_color() == DARK.text)


# Co-ranking matrix


def test_cells_add_up_to_the_matrix(pair):
    X, Y = pair
    data = CorankingDisplay.from_data(X, Y, max_cells=8)
    Q = metrics.coranking_matrix(X, Y)
    for a in range(len(data.edges) - 1):
        for b in range(len(data.edges) - 1):
            block = Q[data.edges[a] - 1 : data.edges[a + 1] - 1, data.edges[b] - 1 : data.edges[b + 1] - 1]
            assert data.ratios[a, b] == pytest.approx(block.mean() * 59 / 60)
    assert data.edges[0] == 1
    assert data.edges[-1] == data.n == 60


def test_a_perfect_map_has_only_a_diagonal_and_a_random_one_is_flat(rng):
    X = rng.normal(size=(400, 3))
    perfect = CorankingDisplay.from_data(X, X, max_cells=10).ratios
    assert np.count_nonzero(perfect - np.diag(np.diag(perfect))) == 0
    random = CorankingDisplay.from_data(X, rng.normal(size=(400, 2)), max_cells=4).ratios
    # The cell of the nearest ranks has few pairs, and a seed may put half as many again into it.
    assert np.abs(random - 1).max() < 1.0 < perfect.max() - 5.0


@pytest.mark.parametrize("n", [3, 4, 10, 1000])
def test_cells_cover_every_rank_once(n):
    edges = _rank_edges(n, 20)
    assert edges[0] == 1
    assert edges[-1] == n
    assert (np.diff(edges) > 0).all()
    assert len(edges) <= 21


def test_many_points_are_thinned_also_as_distances(rng):
    X = rng.normal(size=(50, 3))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    data = CorankingDisplay.from_data(X, X[:, :2], max_points=30)
    assert data.n == 30
    same = CorankingDisplay.from_data(D, X[:, :2], max_points=30, metric="precomputed")
    np.testing.assert_array_equal(data.ratios, same.ratios)


def test_the_coranking_image_shows_the_ratios(pair, ax):
    display = CorankingDisplay.from_data(*pair).plot(ax)
    shown = display.artists_[0].get_array()
    np.testing.assert_array_equal(shown.filled(0), display.ratios)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # rank 1 at the top
    assert "60 points" in ax.get_title()
    low, high = display.artists_[0].norm.vmin, display.artists_[0].norm.vmax
    assert low * high == pytest.approx(1.0)  # chance in the middle of the colours


# Estimators, new figures, errors


class Fitted(BaseEstimator):
    def __init__(self, embedding):
        self.embedding_ = embedding

    def fit(self, X):
        return self


@pytest.mark.parametrize("display", [MetricsDisplay, ShepardDisplay, CorankingDisplay])
def test_an_estimator_is_judged_by_its_embedding(pair, display):
    X, Y = pair
    direct = display.from_data(X, {"Fitted": Y} if display is MetricsDisplay else Y)
    for estimator in (Fitted(Y), make_pipeline(StandardScaler(), Fitted(Y))):
        found = display.from_estimator(estimator, X)
        assert type(found) is display
        np.testing.assert_equal(vars(found), vars(direct))
    few = ShepardDisplay.from_estimator(Fitted(Y), X, max_pairs=100, random_state=3)
    assert few.n_pairs == 100


def test_without_axes_a_figure_is_made(pair):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    display = MetricsDisplay.from_data(*pair).plot()
    try:
        assert display.figure_.axes == [display.ax_]
    finally:
        plt.close(display.figure_)


def test_refusals(pair):
    X, Y = pair
    with pytest.raises(ValueError, match="curve must be one of 'r_nx', 'q_nx', got 'auc'"):
        MetricsDisplay.from_data(X, Y, curve="auc")
    with pytest.raises(ValueError, match="maps is empty"):
        MetricsDisplay.from_data(X, {})
    with pytest.raises(ValueError, match="max_pairs must be at least 2"):
        ShepardDisplay.from_data(X, Y, max_pairs=1)
    with pytest.raises(ValueError, match="max_points must be at least 3"):
        CorankingDisplay.from_data(X, Y, max_points=2)
    with pytest.raises(ValueError, match="NaN"):
        CorankingDisplay.from_data(np.where(X > 1, np.nan, X), Y)
    with pytest.raises(ValueError, match="Y has 59 rows and the data has 60"):
        ShepardDisplay.from_data(X, Y[1:])
    unfitted = Fitted(Y)
    del unfitted.embedding_
    for display in (MetricsDisplay, ShepardDisplay, CorankingDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(unfitted, X)


def test_a_missing_matplotlib_names_the_extra(pair, monkeypatch):
    display = MetricsDisplay.from_data(*pair)  # computing needs no matplotlib

    class NotInstalled:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "matplotlib":
                raise ModuleNotFoundError("No module named 'matplotlib'", name=name)

    for module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [NotInstalled, *sys.meta_path])
    with pytest.raises(
        MissingExtraError, match=r"MetricsDisplay\.plot needs the package 'matplotlib'.*the extra 'plot' of manifolia"
    ):
        display.plot()
