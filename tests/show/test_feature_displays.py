"""Pictures of features: what the artists hold is what the model says."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia import FeatureMAP
from manifolia.exceptions import MissingExtraError
from manifolia.explain.gradients import correlation_arrows
from manifolia.show import (
    FeatureFieldDisplay,
    FeatureTableDisplay,
    GaugeDisplay,
    SaliencyDisplay,
    TopArrowsDisplay,
)
from manifolia.show._features import feature_means, group_rows, nearest_gap, spread_rows

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

NAMES = ["u", "v", "noise", "flat"]


def sheet(n=400):
    """A plane in four features: u and v span it, the third is little noise, the fourth constant."""
    rng = np.random.default_rng(0)
    plane = rng.uniform(size=(n, 2)) * [3.0, 1.0]
    return np.column_stack([plane, 0.01 * rng.normal(size=n), np.ones(n)])


@pytest.fixture(scope="module")
def model():
    X = pd.DataFrame(sheet(), columns=NAMES)
    return FeatureMAP(n_epochs=100, density_weight=0.0, random_state=0).fit(X)


@pytest.fixture
def ax():
    return Figure(figsize=(5, 5), layout="constrained").subplots()


def directions(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# The field of one feature


def test_rows_have_their_own_arrows_and_weak_ones_are_hidden(model, ax):
    display = FeatureFieldDisplay.from_estimator(
        model, "u", at="rows", smooth=False, min_reliability=0.6, max_arrows=400
    )
    trust = model.arrow_reliability(features="u")[:, 0]
    rows = np.flatnonzero(trust >= 0.6)
    assert 0 < rows.size < 400
    np.testing.assert_allclose(display.positions, model.embedding_[rows])
    np.testing.assert_allclose(display.arrows, model.feature_gradients(rows, "u")[:, 0])
    assert display.n_hidden == 400 - rows.size
    assert display.name == "u"
    assert display.plot(ax) is display
    assert display.ax_ is ax
    drawn = np.column_stack([display.arrows_.U, display.arrows_.V])
    np.testing.assert_allclose(directions(drawn), directions(display.arrows))
    np.testing.assert_array_equal(display.arrows_.XY, display.positions)
    # Longer is steeper, up to a longest.
    slope, long = np.linalg.norm(display.arrows, axis=1), np.linalg.norm(drawn, axis=1)
    short = slope <= np.percentile(slope, 95)
    np.testing.assert_allclose((long / slope)[short], (long / slope)[short][0])
    assert long.max() <= 1.4 * display.reach + 1e-9
    np.testing.assert_allclose(display.map_.color.values, sheet()[:, 0])
    assert display.map_.colorbar_.ax.get_ylabel() == "u"


def test_equal_lengths(model, ax):
    display = FeatureFieldDisplay.from_estimator(model, 0).plot(ax, lengths="equal", color="#FF0000")
    drawn = np.hypot(display.arrows_.U, display.arrows_.V)
    np.testing.assert_allclose(drawn, drawn[0])
    assert to_hex(display.arrows_.get_facecolor()[0]) == "#ff0000"


def test_at_most_so_many_rows_and_they_cover_the_map(model):
    few = FeatureFieldDisplay.from_estimator(model, "u", at="rows", min_reliability=0.0, max_arrows=30)
    assert 15 <= len(few.positions) <= 30
    spread = np.ptp(few.positions, axis=0) / np.ptp(model.embedding_, axis=0)
    assert (spread > 0.7).all()


def test_the_field_on_the_grid_points_where_the_feature_grows(model):
    display = FeatureFieldDisplay.from_estimator(model, "u", n_nodes=12)
    assert len(display.positions) > 20
    # Follow each arrow: the nearest row there has more of u than the nearest row where it starts.
    heads = display.positions + 1.5 * display.reach * directions(display.arrows)
    u = sheet()[:, 0]

    def nearest(places):
        return u[((places[:, None] - model.embedding_[None]) ** 2).sum(axis=2).argmin(axis=1)]

    assert np.mean(nearest(heads) > nearest(display.positions)) > 0.8


def test_nodes_where_arrows_disagree_or_are_unreliable_are_hidden(rng):
    Y = rng.uniform(size=(600, 2))
    left = Y[:, 0] < 0.5
    arrows = np.where(left[:, None], rng.choice([-1.0, 1.0], size=(600, 1)) * [1.0, 0.0], [0.0, 1.0])
    display = FeatureFieldDisplay.from_arrows(Y, arrows, n_nodes=8, min_agreement=0.8)
    assert (display.positions[:, 0] > 0.45).all()
    assert display.values is None
    trust = np.where(left, 0.9, 0.1)
    same = np.tile([0.0, 1.0], (600, 1))
    shown = FeatureFieldDisplay.from_arrows(Y, same, reliability=trust, n_nodes=8, min_reliability=0.5)
    assert (shown.positions[:, 0] < 0.55).all()
    assert shown.n_hidden > 0
    np.testing.assert_allclose(shown.arrows, np.tile([0.0, 1.0], (len(shown.arrows), 1)), atol=1e-12)
    shown.plot(Figure().subplots(), theme="dark")
    assert shown.map_.colorbar_ is None


def test_refusals_of_the_field(model, rng):
    Y = rng.normal(size=(20, 2))
    make = FeatureFieldDisplay.from_arrows
    with pytest.raises(ValueError, match="no arrow of flat is reliable enough to draw"):
        FeatureFieldDisplay.from_estimator(model, "flat")
    with pytest.raises(ValueError, match=r"there is no feature 'w' among the 4 \(u, v, noise, …\)"):
        FeatureFieldDisplay.from_estimator(model, "w")
    with pytest.raises(ValueError, match="feature must"):
        FeatureFieldDisplay.from_estimator(model, 4)
    with pytest.raises(ValueError, match=r"arrows must be of the shape of the map, \(20, 2\)"):
        make(Y, Y[:5])
    with pytest.raises(ValueError, match="reliability must have one number for each of 20 rows"):
        make(Y, Y, reliability=[1.0])
    with pytest.raises(ValueError, match="draws in the plane, and the map has 1 component"):
        make(Y[:, :1], Y[:, :1])
    with pytest.raises(ValueError, match="components must name 2 of 3"):
        make(rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), components=(0, 1, 2))
    with pytest.raises(ValueError, match="at must be one of"):
        make(Y, Y, at="nodes")
    with pytest.raises(TypeError, match="PCA does not have"):
        FeatureFieldDisplay.from_estimator(PCA().fit(Y), 0)
    with pytest.raises(ValueError, match="lengths must be one of"):
        make(Y, np.ones((20, 2)), at="rows").plot(lengths="long")


def test_maps_of_more_components_are_drawn_in_two_of_them(rng):
    Y, arrows = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    display = FeatureFieldDisplay.from_arrows(Y, arrows, at="rows", components=(2, 0)).plot(Figure().subplots())
    np.testing.assert_array_equal(display.Y, Y[:, [2, 0]])
    np.testing.assert_array_equal(display.arrows, arrows[:, [2, 0]])
    assert display.ax_.get_xlabel() == "component 3 of 3"
    assert display.ax_.get_ylabel() == "component 1 of 3"


# The largest arrows


def test_the_longest_arrows_of_a_row(model, ax):
    display = TopArrowsDisplay.from_estimator(model, 7, top=2, min_reliability=0.1)
    (group,) = display.groups
    arrows = model.feature_gradients(7)[0] * (model.arrow_reliability(7)[0] >= 0.1)[:, None]
    lengths = np.linalg.norm(arrows, axis=1)
    np.testing.assert_array_equal(group.features, np.argsort(-lengths)[:2])
    assert group.names == [NAMES[i] for i in group.features]
    np.testing.assert_allclose(group.arrows, arrows[group.features])
    np.testing.assert_allclose(group.importance, model.feature_importance(7)[0, group.features])
    np.testing.assert_allclose(group.reliability, model.arrow_reliability(7)[0, group.features])
    np.testing.assert_allclose(group.origin, model.embedding_[7])
    display.plot(ax, reach=0.5)
    drawn = np.column_stack([display.arrows_[0].U, display.arrows_[0].V])
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1).max(), 0.5 * np.ptp(model.embedding_, axis=0).max())
    np.testing.assert_allclose(directions(drawn), directions(group.arrows))
    assert sorted(text.get_text() for text in display.labels_) == sorted(group.names)
    np.testing.assert_allclose(display.origins_.get_offsets(), [group.origin])
    # Arrows are inside the axes.
    tips = group.origin + drawn
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    assert (tips > low).all()
    assert (tips < high).all()


def test_by_importance(model):
    display = TopArrowsDisplay.from_estimator(model, 7, top=1, by="importance", min_reliability=0.0)
    importance = model.feature_importance(7)[0]
    assert display.groups[0].features[0] == np.argmax(importance)


def test_arrows_of_classes_are_means_over_their_rows(model, ax):
    y = np.where(sheet()[:, 0] > 1.5, "right", "left")
    display = TopArrowsDisplay.from_estimator(model, groups=y, top=2, max_rows=50)
    assert [group.name for group in display.groups] == ["left", "right"]
    rows = dict(group_rows(y, 400, 50))["right"]
    assert rows.size == 50
    assert (y[rows] == "right").all()
    means = feature_means(model, rows, smooth=False, min_reliability=0.2, kind="gradient")
    trusted = model.arrow_reliability(rows) >= 0.2
    np.testing.assert_allclose(means.arrows, (model.feature_gradients(rows) * trusted[:, :, None]).mean(axis=0))
    np.testing.assert_allclose(means.values, sheet()[rows].mean(axis=0))
    np.testing.assert_allclose(means.importance, model.feature_importance(rows).mean(axis=0))
    group = display.groups[1]
    np.testing.assert_allclose(group.arrows, means.arrows[group.features])
    display.plot(ax)
    assert [text.get_text() for text in display.map_.legend_.get_texts()] == [
        f"{name} ({int((y == name).sum())})" for name in ("left", "right")
    ]


def test_any_map_has_its_correlations(rng, ax):
    X = pd.DataFrame(sheet(), columns=NAMES)
    Y = X[["u", "v"]].to_numpy()
    display = TopArrowsDisplay.from_map(X, Y, top=3)
    (group,) = display.groups
    np.testing.assert_allclose(group.arrows, correlation_arrows(X, Y)[group.features])
    assert set(group.names[:2]) == {"u", "v"}
    assert "flat" not in group.names
    low, high = Y.min(axis=0), Y.max(axis=0)
    assert (low < group.origin).all()
    assert (group.origin < high).all()
    display.plot(ax, label=False, theme="dark")
    assert display.labels_ == []
    loadings = rng.normal(size=(4, 2))
    own = TopArrowsDisplay.from_map(X, Y, arrows=loadings, top=4).groups[0]
    np.testing.assert_allclose(own.arrows, loadings[own.features])
    assert np.linalg.norm(own.arrows, axis=1).tolist() == sorted(np.linalg.norm(loadings, axis=1), reverse=True)


def test_names_at_arrows_do_not_overlap(ax):
    n = 24
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    Y = np.random.default_rng(0).normal(size=(300, 2))
    arrows = np.column_stack([np.cos(angles), np.sin(angles)])
    display = TopArrowsDisplay.from_map(np.zeros((300, n)), Y, arrows=arrows, top=n).plot(ax)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in display.labels_]
    assert len(boxes) >= 16
    for i, box in enumerate(boxes):
        for other in boxes[:i]:
            overlap = min(box.x1, other.x1) - max(box.x0, other.x0), min(box.y1, other.y1) - max(box.y0, other.y0)
            assert min(overlap) < 2.0


def test_refusals_of_the_largest_arrows(model, rng):
    with pytest.raises(ValueError, match=r"pass rows .* or groups"):
        TopArrowsDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="one of the two"):
        TopArrowsDisplay.from_estimator(model, 3, groups=np.zeros(400))
    with pytest.raises(ValueError, match="no arrow there has a reliability of min_reliability=1"):
        TopArrowsDisplay.from_estimator(model, 3, min_reliability=1.0)
    with pytest.raises(ValueError, match="groups must have one label for each of 400 rows"):
        TopArrowsDisplay.from_estimator(model, groups=[1, 2])
    with pytest.raises(ValueError, match="feature_names has 1 entries and there are 4 features"):
        TopArrowsDisplay.from_estimator(model, 3, feature_names=["a"])
    with pytest.raises(ValueError, match="rows must name at least one row"):
        TopArrowsDisplay.from_estimator(model, np.zeros(400, dtype=bool))
    with pytest.raises(ValueError, match=r"arrows must be of shape \(4, 2\)"):
        TopArrowsDisplay.from_map(sheet(), rng.normal(size=(400, 2)), arrows=np.ones((3, 2)))
    with pytest.raises(ValueError, match="all arrows are zero"):
        TopArrowsDisplay.from_map(np.ones((30, 4)), rng.normal(size=(30, 2)))


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
    np.testing.assert_allclose(display.ellipses_.get_widths(), 4.0 * half[:, 0])
    np.testing.assert_allclose(display.ellipses_.get_heights(), 4.0 * half[:, 1])
    np.testing.assert_allclose(display.ellipses_.get_offsets(), model.embedding_[[3, 9, 40]])
    arms = np.array(display.frames_.get_segments())
    np.testing.assert_allclose(arms[:3, 1] - arms[:3, 0], 2.0 * half[:, :1] * first, atol=1e-4)
    assert len(arms) == 6


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
    widths = display.ellipses_.get_widths()
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


def test_spread_rows_takes_one_row_a_cell(rng):
    Y = rng.uniform(size=(500, 2))
    rows = spread_rows(Y, 25)
    assert 16 <= rows.size <= 25
    assert np.unique(rows).size == rows.size
    np.testing.assert_array_equal(spread_rows(Y[:10], 25), np.arange(10))
    assert spread_rows(np.zeros((50, 2)), 3).size == 1
    assert nearest_gap(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])) == 1.0
    assert nearest_gap(np.zeros((1, 2))) == 1.0


# Saliency


def test_tiles_are_the_images_and_their_importances(model, ax):
    display = SaliencyDisplay.from_estimator(model, [4, 0], shape=(2, 2))
    np.testing.assert_allclose(display.images.reshape(2, 4), sheet()[[4, 0]])
    np.testing.assert_allclose(
        display.saliency.reshape(2, 4), model.feature_importance([4, 0], kind="variance"), rtol=1e-6
    )
    assert display.plot(ax) is display
    np.testing.assert_array_equal(display.image_tiles_[0].get_array(), display.images[0])
    np.testing.assert_array_equal(display.saliency_tiles_[1].get_array(), display.saliency[1])
    assert [text.get_text() for text in display.titles_] == ["row 4", "row 0"]
    own = [tile.get_clim() for tile in display.saliency_tiles_]
    assert own == [(0.0, display.saliency[i].max()) for i in range(2)]
    common = display.plot(Figure().subplots(), common_scale=True, theme="dark")
    assert {tile.get_clim() for tile in common.saliency_tiles_} == {(0.0, display.saliency.max())}


def test_tiles_do_not_overlap_and_stay_inside(rng, ax):
    values = rng.uniform(size=(7, 12))
    display = SaliencyDisplay.from_values(values, values, shape=(3, 4), titles=list("abcdefg")).plot(ax, n_columns=3)
    boxes = [tile.get_extent() for tile in [*display.image_tiles_, *display.saliency_tiles_]]
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    for i, (x0, x1, y1, y0) in enumerate(boxes):
        assert left <= x0 < x1 <= right
        assert top <= y0 < y1 <= bottom
        for u0, u1, v1, v0 in boxes[:i]:
            assert x0 >= u1 or u0 >= x1 or y0 >= v1 or v0 >= y1
    assert len({box[0] for box in boxes}) == 3
    alone = SaliencyDisplay.from_values(None, values, shape=(3, 4)).plot(Figure().subplots())
    assert alone.image_tiles_ == []
    assert alone.titles_ == []


def test_means_of_groups_new_rows_and_colours(model):
    y = (sheet()[:, 0] > 1.5).astype(int)
    display = SaliencyDisplay.from_estimator(model, groups=y)
    assert display.titles == ["0", "1"]
    np.testing.assert_allclose(display.images[1].ravel(), sheet()[y == 1].mean(axis=0))
    np.testing.assert_allclose(
        display.saliency[1].ravel(), model.feature_importance(y == 1, kind="variance").mean(axis=0), rtol=1e-6
    )
    new = pd.DataFrame(sheet()[:3] + 0.01, columns=NAMES)
    fresh = SaliencyDisplay.from_estimator(model, [2], X=new, kind="gradient", titles=np.array(["new"]))
    assert fresh.titles == ["new"]
    np.testing.assert_allclose(fresh.images.reshape(1, 4), new.to_numpy()[[2]])
    np.testing.assert_allclose(fresh.saliency.reshape(1, 4), model.feature_importance([2], X=new), rtol=1e-6)
    assert len(SaliencyDisplay.from_estimator(model).saliency) == 10
    colours = np.arange(12.0).reshape(1, 12)
    rgb = SaliencyDisplay.from_values(colours, colours, shape=(2, 2, 3))
    np.testing.assert_allclose(rgb.saliency[0, 0, 0], np.sqrt(0 + 1 + 4))
    shown = rgb.plot(Figure().subplots()).image_tiles_[0].get_array()
    assert shown.min() == 0.0
    assert shown.max() == 1.0


def test_refusals_of_saliency(model):
    with pytest.raises(ValueError, match=r"5 features are no square image. Pass shape=\(height, width\)"):
        SaliencyDisplay.from_values(None, np.ones((1, 5)))
    with pytest.raises(ValueError, match=r"with 4 pixels, got \(2, 3\)"):
        SaliencyDisplay.from_estimator(model, 0, shape=(2, 3))
    with pytest.raises(ValueError, match="titles has 1 entries and there are 2 images"):
        SaliencyDisplay.from_estimator(model, [0, 1], titles=["a"])
    with pytest.raises(ValueError, match="groups are averages"):
        SaliencyDisplay.from_estimator(model, [0], groups=np.zeros(400))
    with pytest.raises(ValueError, match="images must be of the shape of saliency"):
        SaliencyDisplay.from_values(np.ones((1, 9)), np.ones((2, 9)))
    with pytest.raises(ValueError, match=r"saliency must be of shape \(images, pixels\)"):
        SaliencyDisplay.from_values(None, np.ones(9))


# The table of features


def test_three_bars_a_feature(model, ax):
    display = FeatureTableDisplay.from_estimator(model, top=2, title="sheet")
    means = feature_means(model, None, smooth=False, min_reliability=0.2, kind="gradient")
    assert set(display.names) <= set(NAMES)
    lengths = np.linalg.norm(means.arrows, axis=1)
    np.testing.assert_array_equal(display.features, np.argsort(-lengths)[:2])
    np.testing.assert_allclose(display.contribution, lengths[display.features])
    np.testing.assert_allclose(display.importance, means.importance[display.features])
    np.testing.assert_allclose(display.value, sheet()[:, display.features].mean(axis=0))
    display.plot(ax)
    for column in ("contribution", "importance", "value"):
        widths = np.array([bar.get_width() for bar in display.bars_[column]])
        numbers = getattr(display, column)
        np.testing.assert_allclose(widths, np.abs(numbers) / np.abs(numbers).max())
        assert [text.get_text() for text in display.numbers_[column]] == [f"{number:.3g}" for number in numbers]
    assert [text.get_text() for text in ax.get_yticklabels()] == display.names
    assert ax.get_title() == "sheet"


def test_importance_of_any_map_is_the_share_of_variance(rng):
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=300)
    Y = X[:, :2] @ np.array([[1.0, 0.3], [0.2, 2.0]])
    display = FeatureTableDisplay.from_map(X, Y, by="importance", top=3)
    A = np.column_stack([Y, np.ones(300)])
    for feature, share in zip(display.features, display.importance, strict=True):
        residual = X[:, feature] - A @ np.linalg.lstsq(A, X[:, feature], rcond=None)[0]
        assert share == pytest.approx(1.0 - residual.var() / X[:, feature].var())
    np.testing.assert_allclose(display.contribution, np.linalg.norm(correlation_arrows(X, Y)[display.features], axis=1))
    sparse = FeatureTableDisplay.from_map(sp.csr_array(X), Y, by="importance", top=3)
    np.testing.assert_allclose(sparse.importance, display.importance)
    np.testing.assert_allclose(sparse.value, display.value)
    with pytest.raises(ValueError, match="by must be one of"):
        FeatureTableDisplay.from_map(X, Y, by="value")
    with pytest.raises(ValueError, match=r"arrows must be of shape \(3, 2\)"):
        FeatureTableDisplay.from_map(X, Y, arrows=np.ones((2, 2)))


# Models of other kinds


def test_pipelines_reduced_and_sparse_models(rng):
    X = pd.DataFrame(sheet(), columns=NAMES)
    pipeline = make_pipeline(StandardScaler(), FeatureMAP(n_epochs=30, random_state=0)).fit(X)
    assert FeatureFieldDisplay.from_estimator(pipeline, "v").name == "v"
    assert set(TopArrowsDisplay.from_estimator(pipeline, 3).groups[0].names) <= set(NAMES)
    wide = np.column_stack([sheet(), rng.normal(size=400)])
    reduced = FeatureMAP(n_epochs=10, pca=3, random_state=0).fit(wide)
    kept = PCA(3).fit(wide)
    expected = kept.inverse_transform(kept.transform(wide))
    np.testing.assert_allclose(reduced.feature_values(), expected, atol=1e-6)
    np.testing.assert_allclose(reduced.feature_values([3], [1]), expected[[3]][:, [1]], atol=1e-6)
    sparse = FeatureMAP(n_epochs=10, random_state=0).fit(sp.csr_array(wide))
    np.testing.assert_array_equal(sparse.feature_values([1, 5], [4, 0]), wide[[1, 5]][:, [4, 0]])
    FeatureTableDisplay.from_estimator(sparse).plot(Figure().subplots())


@pytest.mark.parametrize("name", ["field", "arrows", "gauges", "saliency", "table"])
def test_drawing_says_what_is_missing(model, monkeypatch, name):
    display = {
        "field": lambda: FeatureFieldDisplay.from_estimator(model, 0),
        "arrows": lambda: TopArrowsDisplay.from_estimator(model, 0),
        "gauges": lambda: GaugeDisplay.from_estimator(model),
        "saliency": lambda: SaliencyDisplay.from_estimator(model),
        "table": lambda: FeatureTableDisplay.from_estimator(model),
    }[name]()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=rf"{type(display).__name__}\.plot needs the package"):
        display.plot()
