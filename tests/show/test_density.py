"""Densities integrate to 1 and share one scale; ellipses have the frames and extents of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from manifolia import FeatureMAP, ForestFeatures
from manifolia.show import DensityDisplay, GaugeDisplay
from manifolia.show._features import nearest_gap
from show.sheets import sheet

RNG = np.random.default_rng(0)
LABELS = np.repeat(["left", "right"], [4000, 2000])
PLANE = RNG.normal(size=(6000, 2)) * [1.0, 0.5] + np.where(LABELS == "left", -3.0, 3.0)[:, np.newaxis] * [1, 0]


def cell_area(data):
    return np.diff(data.x_edges)[0] * np.diff(data.y_edges)[0]


def test_densities_are_sums_of_gaussians():
    rows = np.concatenate([np.arange(300), np.arange(4000, 4200)])
    data = DensityDisplay.from_data(PLANE[rows], LABELS[rows])
    assert (data.names, data.counts) == (["left", "right"], [300, 200])
    np.testing.assert_allclose(data.values.sum(axis=(1, 2)) * cell_area(data), 1.0)
    x, y = ((edges[1:] + edges[:-1]) / 2 for edges in (data.x_edges, data.y_edges))
    for c, name in enumerate(data.names):
        points = PLANE[rows][LABELS[rows] == name]
        width = points.std(axis=0) * len(points) ** (-1 / 6)  # Scott's rule
        bumps = [np.exp(-0.5 * ((grid[:, None] - points[:, j]) / width[j]) ** 2) for j, grid in enumerate((x, y))]
        truth = bumps[0] @ bumps[1].T / (2 * np.pi * width.prod() * len(points))
        assert np.abs(data.values[c] - truth).max() < 0.03 * truth.max()
    flipped = DensityDisplay.from_data(PLANE[rows][:, ::-1], LABELS[rows])
    np.testing.assert_allclose(flipped.values, data.values.transpose(0, 2, 1), atol=1e-12)


def test_overlap():
    assert DensityDisplay.from_data(PLANE, LABELS).overlap < 0.01
    assert DensityDisplay.from_data(PLANE[:4000], np.arange(4000) % 2).overlap > 0.9
    assert DensityDisplay.from_data(PLANE).overlap == 1.0


def test_panels_share_range_and_scale():
    display = DensityDisplay.from_data(PLANE, LABELS, class_names=["a", "b"])
    axes = Figure().subplots(1, 2)
    assert display.plot(axes) is display
    assert display.axes_ == list(axes)
    assert display.figure_ is axes[0].figure
    for image, values in zip(display.images_, display.values, strict=True):
        np.testing.assert_array_equal(image.get_array(), values.T)
        assert image.get_clim() == (0.0, display.values.max())
        assert image.get_extent() == [*display.x_edges[[0, -1]], *display.y_edges[[0, -1]]]
    assert [ax.get_title() for ax in axes] == ["a (4000 rows)", "b (2000 rows)"]
    one = DensityDisplay.from_data(PLANE).plot(Figure().subplots(), theme="dark", vmax=2.0)
    assert one.images_[0].get_clim() == (0.0, 2.0)
    assert one.axes_[0].get_title() == "all rows (6000 rows)"


def test_a_new_figure():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    display = DensityDisplay.from_data(PLANE, LABELS).plot()
    assert all(isinstance(ax, Axes) for ax in display.axes_)
    pyplot.close(display.figure_)


def test_a_pipeline_that_ends_in_a_projection():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(ForestFeatures(10, random_state=0), TruncatedSVD(3, random_state=0)).fit(X, y)
    shown = DensityDisplay.from_estimator(pipe, X, y, components=(1, 2), n_cells=20)
    expected = DensityDisplay.from_data(pipe.transform(X)[:, 1:], y, n_cells=20)
    np.testing.assert_array_equal(shown.values, expected.values)
    assert shown.counts == [50, 50, 50]


def test_rows_without_a_label_and_classes_of_one_row():
    labels = np.array(["a", "b", None, "a"], dtype=object)
    data = DensityDisplay.from_data([[0.0, 0.0], [9.0, 9.0], [99.0, 99.0], [1.0, 2.0]], labels, n_cells=50)
    assert data.counts == [2, 1]
    assert data.x_edges[-1] < 20
    np.testing.assert_allclose(data.values.sum(axis=(1, 2)) * cell_area(data), 1.0)


def test_bad_input():
    with pytest.raises(ValueError, match="the data has 3"):
        DensityDisplay.from_data(PLANE, [0, 1, 2])
    with pytest.raises(ValueError, match="components must name 2 of 2"):
        DensityDisplay.from_data(PLANE, components=[0])
    with pytest.raises(ValueError, match="n_cells"):
        DensityDisplay.from_data(PLANE, n_cells=1)
    with pytest.raises(ValueError, match="one axes for each of the 2"):
        DensityDisplay.from_data(PLANE, LABELS).plot(Figure().subplots())


# Gauges


def test_ellipses_have_the_frames_and_extents_of_the_rows(model, ax):
    display = GaugeDisplay.from_estimator(model, rows=[3, 9, 40])
    np.testing.assert_array_equal(display.rows, [3, 9, 40])
    half, angles = display.ellipses()
    # Frames are orthonormal: half axes are the singular values, the longer along the first column.
    np.testing.assert_allclose(half, model.singular_values_[[3, 9, 40], :2], rtol=1e-5)
    first = model.gauges_[[3, 9, 40]][:, :, 0]
    ways = np.column_stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])
    np.testing.assert_allclose(np.abs((ways * first).sum(axis=1)), 1.0, atol=1e-5)
    display.plot(ax, kind="both", scale=2.0)
    np.testing.assert_allclose(axes_of(display.ellipses_)[0], 4.0 * half[:, 0])
    np.testing.assert_allclose(axes_of(display.ellipses_)[1], 4.0 * half[:, 1])
    np.testing.assert_allclose(display.ellipses_.get_offsets(), model.embedding_[[3, 9, 40]])
    arms = np.array(display.frames_.get_segments())
    np.testing.assert_allclose(arms[:3, 1] - arms[:3, 0], 2.0 * half[:, :1] * first, atol=1e-4)
    assert len(arms) == 6


def axes_of(ellipses):
    """Return the widths and heights of a collection of ellipses; the oldest matplotlib keeps half of them to itself."""
    if hasattr(ellipses, "get_widths"):
        return ellipses.get_widths(), ellipses.get_heights()
    return 2.0 * ellipses._widths, 2.0 * ellipses._heights


def test_frames_or_ellipses_alone_and_rows_that_cover_the_map(model):
    y = np.arange(400) % 3
    display = GaugeDisplay.from_estimator(model, y, n_shown=40)
    assert 20 <= len(display.rows) <= 40
    spread = np.ptp(display.Y[display.rows], axis=0) / np.ptp(display.Y, axis=0)
    assert (spread > 0.75).all()
    alone = display.plot(Figure().subplots(), kind="frame")
    assert alone.ellipses_ is None
    assert alone.map_.legend_ is not None
    assert display.plot(Figure().subplots()).frames_ is None
    # Most ellipses leave room for the next.
    widths = axes_of(display.ellipses_)[0]
    assert np.median(widths) < 1.5 * nearest_gap(display.Y[display.rows])


def test_the_shadow_of_an_ellipsoid(rng):
    X = np.column_stack([sheet(150), rng.normal(size=150)])
    space = FeatureMAP(3, n_epochs=20, random_state=0).fit(X)
    display = GaugeDisplay.from_estimator(space, rows=[5], components=(1, 2)).plot(Figure().subplots())
    G, sigma = space.gauges_[5].astype(float), space.singular_values_[5, :3].astype(float)
    covariance = (G * sigma**2) @ G.T
    expected = np.sqrt(np.linalg.eigvalsh(covariance[1:, 1:])[::-1])
    np.testing.assert_allclose(display.ellipses()[0][0], expected, rtol=1e-5)
    assert display.ax_.get_xlabel() == "component 2 of 3"
    line = FeatureMAP(1, n_epochs=5, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"the map has 1 component\. Fit with n_components=2 or more"):
        GaugeDisplay.from_estimator(line)
