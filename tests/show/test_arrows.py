"""Arrows of features: what the artists hold is what the model says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.decomposition import PCA

from manifolia.explain.gradients import correlation_arrows
from manifolia.show import FeatureFieldDisplay, TopArrowsDisplay
from manifolia.show._features import feature_means, group_rows
from show.sheets import NAMES, directions, sheet


def test_rows_have_their_own_arrows_and_weak_ones_are_hidden(model, ax):
    display = FeatureFieldDisplay.from_estimator(
        model, "u", at="rows", smooth=False, min_reliability=0.6, max_arrows=400
    )
    trust = model.arrow_reliability(features="u")[:, 0]
    rows = np.flatnonzero(trust >= 0.6)
    assert 0 < rows.size < 400
    np.testing.assert_allclose(display.positions, model.embedding_[rows])
    np.testing.assert_allclose(display.arrows, model.feature_gradients(rows=rows, features="u")[:, 0])
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
    Y = rng.uniform(size=(6000, 2))
    left = Y[:, 0] < 0.5
    arrows = np.where(left[:, None], rng.choice([-1.0, 1.0], size=(6000, 1)) * [1.0, 0.0], [0.0, 1.0])
    display = FeatureFieldDisplay.from_data(Y, arrows, n_nodes=8, min_agreement=0.8)
    assert (display.positions[:, 0] > 0.45).all()
    assert display.values is None
    trust = np.where(left, 0.9, 0.1)
    same = np.tile([0.0, 1.0], (6000, 1))
    shown = FeatureFieldDisplay.from_data(Y, same, reliability=trust, n_nodes=8, min_reliability=0.5)
    assert (shown.positions[:, 0] < 0.55).all()
    assert shown.n_hidden > 0
    np.testing.assert_allclose(shown.arrows, np.tile([0.0, 1.0], (len(shown.arrows), 1)), atol=1e-12)
    shown.plot(Figure().subplots(), theme="dark")
    assert shown.map_.colorbar_ is None


def test_refusals_of_the_field(model, rng):
    Y = rng.normal(size=(20, 2))
    make = FeatureFieldDisplay.from_data
    with pytest.raises(ValueError, match="no arrow of flat is reliable enough to draw"):
        FeatureFieldDisplay.from_estimator(model, "flat")
    with pytest.raises(ValueError, match=r"there is no feature 'w' among the 4 \(u, v, noise, …\)"):
        FeatureFieldDisplay.from_estimator(model, "w")
    with pytest.raises(ValueError, match="feature must"):
        FeatureFieldDisplay.from_estimator(model, 4)
    with pytest.raises(ValueError, match=r"arrows must be of shape \(20, 2\), one arrow per row"):
        make(Y, Y[:5])
    with pytest.raises(ValueError, match=r"reliability must be of shape \(20,\), one number per row"):
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
    display = FeatureFieldDisplay.from_data(Y, arrows, at="rows", components=(2, 0)).plot(Figure().subplots())
    np.testing.assert_array_equal(display.Y, Y[:, [2, 0]])
    np.testing.assert_array_equal(display.arrows, arrows[:, [2, 0]])
    assert display.ax_.get_xlabel() == "component 3 of 3"
    assert display.ax_.get_ylabel() == "component 1 of 3"


def test_the_longest_arrows_of_a_row(model, ax):
    display = TopArrowsDisplay.from_estimator(model, 7, top=2, min_reliability=0.1)
    (group,) = display.groups
    arrows = model.feature_gradients(rows=7)[0] * (model.arrow_reliability(rows=7)[0] >= 0.1)[:, None]
    lengths = np.linalg.norm(arrows, axis=1)
    np.testing.assert_array_equal(group.features, np.argsort(-lengths)[:2])
    assert group.names == [NAMES[i] for i in group.features]
    np.testing.assert_allclose(group.arrows, arrows[group.features])
    np.testing.assert_allclose(group.importance, model.feature_importance(rows=7)[0, group.features])
    np.testing.assert_allclose(group.reliability, model.arrow_reliability(rows=7)[0, group.features])
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
    importance = model.feature_importance(rows=7)[0]
    assert display.groups[0].features[0] == np.argmax(importance)


def test_arrows_of_classes_are_means_over_their_rows(model, ax):
    y = np.where(sheet()[:, 0] > 1.5, "right", "left")
    display = TopArrowsDisplay.from_estimator(model, groups=y, top=2, max_rows=50)
    assert [group.name for group in display.groups] == ["left", "right"]
    rows = dict(group_rows(y, 400, 50))["right"]
    assert rows.size == 50
    assert (y[rows] == "right").all()
    means = feature_means(model, rows, smooth=False, min_reliability=0.2, kind="gradient")
    trusted = model.arrow_reliability(rows=rows) >= 0.2
    np.testing.assert_allclose(means.arrows, (model.feature_gradients(rows=rows) * trusted[:, :, None]).mean(axis=0))
    np.testing.assert_allclose(means.values, sheet()[rows].mean(axis=0))
    np.testing.assert_allclose(means.importance, model.feature_importance(rows=rows).mean(axis=0))
    group = display.groups[1]
    np.testing.assert_allclose(group.arrows, means.arrows[group.features])
    display.plot(ax)
    assert [text.get_text() for text in display.map_.legend_.get_texts()] == [
        f"{name} ({int((y == name).sum())})" for name in ("left", "right")
    ]


def test_any_map_has_its_correlations(rng, ax):
    X = pd.DataFrame(sheet(), columns=NAMES)
    Y = X[["u", "v"]].to_numpy()
    display = TopArrowsDisplay.from_data(X, Y, top=3)
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
    own = TopArrowsDisplay.from_data(X, Y, arrows=loadings, top=4).groups[0]
    np.testing.assert_allclose(own.arrows, loadings[own.features])
    assert np.linalg.norm(own.arrows, axis=1).tolist() == sorted(np.linalg.norm(loadings, axis=1), reverse=True)


def test_names_at_arrows_do_not_overlap(ax):
    n = 24
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    Y = np.random.default_rng(0).normal(size=(300, 2))
    arrows = np.column_stack([np.cos(angles), np.sin(angles)])
    display = TopArrowsDisplay.from_data(np.zeros((300, n)), Y, arrows=arrows, top=n).plot(ax)
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
    with pytest.raises(ValueError, match=r"groups must be of shape \(400,\), one label per row"):
        TopArrowsDisplay.from_estimator(model, groups=[1, 2])
    with pytest.raises(ValueError, match="feature_names has 1 entries and there are 4 features"):
        TopArrowsDisplay.from_estimator(model, 3, feature_names=["a"])
    with pytest.raises(ValueError, match="rows must name at least one row"):
        TopArrowsDisplay.from_estimator(model, np.zeros(400, dtype=bool))
    with pytest.raises(ValueError, match=r"arrows must be of shape \(4, 2\)"):
        TopArrowsDisplay.from_data(sheet(), rng.normal(size=(400, 2)), arrows=np.ones((3, 2)))
    with pytest.raises(ValueError, match="all arrows are zero"):
        TopArrowsDisplay.from_data(np.ones((30, 4)), rng.normal(size=(30, 2)))
