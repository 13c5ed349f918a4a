"""Densities of classes in a plane: they integrate to 1, peak where the rows are, and share one range and scale."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from manifolia import ForestFeatures
from manifolia.show import DensityDisplay

RNG = np.random.default_rng(0)
LABELS = np.repeat(["left", "right"], [4000, 2000])
PLANE = RNG.normal(size=(6000, 2)) * [1.0, 0.5] + np.where(LABELS == "left", -3.0, 3.0)[:, np.newaxis] * [1, 0]


def cell_area(data):
    return np.diff(data.x_edges)[0] * np.diff(data.y_edges)[0]


def test_densities_are_sums_of_gaussians():
    rows = np.concatenate([np.arange(300), np.arange(4000, 4200)])
    data = DensityDisplay.from_map(PLANE[rows], LABELS[rows]).data
    assert (data.names, data.counts) == (["left", "right"], [300, 200])
    np.testing.assert_allclose(data.values.sum(axis=(1, 2)) * cell_area(data), 1.0)
    x, y = ((edges[1:] + edges[:-1]) / 2 for edges in (data.x_edges, data.y_edges))
    for c, name in enumerate(data.names):
        points = PLANE[rows][LABELS[rows] == name]
        width = points.std(axis=0) * len(points) ** (-1 / 6)  # Scott's rule
        bumps = [np.exp(-0.5 * ((grid[:, None] - points[:, j]) / width[j]) ** 2) for j, grid in enumerate((x, y))]
        truth = bumps[0] @ bumps[1].T / (2 * np.pi * width.prod() * len(points))
        assert np.abs(data.values[c] - truth).max() < 0.03 * truth.max()
    flipped = DensityDisplay.from_map(PLANE[rows][:, ::-1], LABELS[rows]).data
    np.testing.assert_allclose(flipped.values, data.values.transpose(0, 2, 1), atol=1e-12)


def test_overlap():
    assert DensityDisplay.from_map(PLANE, LABELS).data.overlap < 0.01
    assert DensityDisplay.from_map(PLANE[:4000], np.arange(4000) % 2).data.overlap > 0.9
    assert DensityDisplay.from_map(PLANE).data.overlap == 1.0


def test_panels_share_range_and_scale():
    display = DensityDisplay.from_map(PLANE, LABELS, class_names=["a", "b"])
    axes = Figure().subplots(1, 2)
    assert display.plot(axes) is display
    assert display.axes_ == list(axes)
    assert display.figure_ is axes[0].figure
    for image, values in zip(display.images_, display.data.values, strict=True):
        np.testing.assert_array_equal(image.get_array(), values.T)
        assert image.get_clim() == (0.0, display.data.values.max())
        assert image.get_extent() == [*display.data.x_edges[[0, -1]], *display.data.y_edges[[0, -1]]]
    assert [ax.get_title() for ax in axes] == ["a (4000 rows)", "b (2000 rows)"]
    one = DensityDisplay.from_map(PLANE).plot(Figure().subplots(), theme="dark", vmax=2.0)
    assert one.images_[0].get_clim() == (0.0, 2.0)
    assert one.axes_[0].get_title() == "all rows (6000 rows)"


def test_a_new_figure():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    display = DensityDisplay.from_map(PLANE, LABELS).plot()
    assert all(isinstance(ax, Axes) for ax in display.axes_)
    pyplot.close(display.figure_)


def test_a_pipeline_that_ends_in_a_projection():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(ForestFeatures(10, random_state=0), TruncatedSVD(3, random_state=0)).fit(X, y)
    shown = DensityDisplay.from_estimator(pipe, X, y, components=(1, 2), n_cells=20).data
    expected = DensityDisplay.from_map(pipe.transform(X)[:, 1:], y, n_cells=20).data
    np.testing.assert_array_equal(shown.values, expected.values)
    assert shown.counts == [50, 50, 50]


def test_rows_without_a_label_and_classes_of_one_row():
    labels = np.array(["a", "b", None, "a"], dtype=object)
    data = DensityDisplay.from_map([[0.0, 0.0], [9.0, 9.0], [99.0, 99.0], [1.0, 2.0]], labels, n_cells=50).data
    assert data.counts == [2, 1]
    assert data.x_edges[-1] < 20
    np.testing.assert_allclose(data.values.sum(axis=(1, 2)) * cell_area(data), 1.0)


def test_bad_input():
    with pytest.raises(ValueError, match="the data has 3"):
        DensityDisplay.from_map(PLANE, [0, 1, 2])
    with pytest.raises(ValueError, match="components must be two"):
        DensityDisplay.from_map(PLANE, components=[0])
    with pytest.raises(ValueError, match="n_cells"):
        DensityDisplay.from_map(PLANE, n_cells=1)
    with pytest.raises(ValueError, match="one axes for each of the 2"):
        DensityDisplay.from_map(PLANE, LABELS).plot(Figure().subplots())
