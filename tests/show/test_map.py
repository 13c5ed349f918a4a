"""Pictures of maps: what each artist holds is what the rows are."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from manifolia.exceptions import MissingExtraError
from manifolia.show import MapDisplay
from manifolia.show._labels import anchors, push_apart
from manifolia.show._style import shorten
from manifolia.show.map import Classes, Values
from manifolia.show.palette import (
    CONTINUOUS,
    CONTINUOUS_DARK,
    DARK,
    DIVERGING,
    LIGHT,
    MISSING_COLOR,
    OTHER_COLOR,
    class_colors,
)

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex, to_rgba  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


@pytest.fixture
def ax():
    return Figure(figsize=(7, 5), layout="constrained").subplots()


@pytest.fixture
def blobs(rng):
    y = np.repeat([0, 1, 2], [30, 20, 10])
    return rng.normal(size=(60, 2)) + 8.0 * np.eye(3, 2)[y], y


def faces(collection):
    return [to_hex(color).upper() for color in collection.get_facecolor()]


def rings(collection):
    return [to_hex(color).upper() for color in collection.get_edgecolor()]


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


# Classes


def test_every_row_is_a_point_of_its_class_colour(blobs, ax):
    Y, y = blobs
    display = MapDisplay.from_data(Y, y)
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert sorted(display.order_) == list(range(60))
    np.testing.assert_array_equal(display.points_.get_offsets(), Y[display.order_])
    assert faces(display.points_) == [class_colors(3)[label] for label in y[display.order_]]
    assert display.new_points_ is display.wrong_points_ is display.colorbar_ is None


def test_the_order_is_shuffled_the_same_way_each_time_or_not_at_all(blobs, ax):
    Y, y = blobs
    first, again = (MapDisplay.from_data(Y, y).plot(Figure().subplots()).order_ for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (np.diff(y[first]) != 0).sum() > 10  # classes that come in blocks are mixed
    np.testing.assert_array_equal(MapDisplay.from_data(Y, y).plot(ax, shuffle=False).order_, np.arange(60))


def test_the_legend_names_and_counts_the_classes(blobs, ax):
    Y, y = blobs
    display = MapDisplay.from_data(Y, pd.Series(y, name="species"), class_names=["a", "b", "c"]).plot(ax)
    assert texts(display.legend_) == ["a (30)", "b (20)", "c (10)"]
    assert [handle.get_color() for handle in display.legend_.legend_handles] == class_colors(3)
    assert display.legend_.get_title().get_text() == "species"
    named = MapDisplay.from_data(Y, y, name="kind", class_names={1: "one"}).plot(Figure().subplots())
    assert texts(named.legend_) == ["0 (30)", "one (20)", "2 (10)"]
    assert named.legend_.get_title().get_text() == "kind"
    assert MapDisplay.from_data(Y, y).plot(Figure().subplots(), legend=False).legend_ is None


def test_rows_without_a_label_are_hollow_and_beneath(blobs, ax):
    Y, y = blobs
    labels = y.astype(float)
    labels[[3, 40]] = np.nan
    display = MapDisplay.from_data(Y, labels).plot(ax)
    assert set(display.order_[:2]) == {3, 40}
    assert (display.points_.get_facecolor()[:2, 3] == 0).all()
    assert (display.points_.get_facecolor()[2:, 3] > 0).all()
    assert rings(display.points_)[:2] == [MISSING_COLOR] * 2
    assert texts(display.legend_) == ["0 (29)", "1 (19)", "2 (10)", "no label (2)"]


@pytest.mark.parametrize("n_classes", [12, 40])
def test_legends_of_many_classes_stay_inside_the_figure(rng, n_classes):
    y = np.arange(20 * n_classes) % n_classes
    names = [f"class {i}" for i in range(n_classes)]
    display = MapDisplay.from_data(rng.normal(size=(len(y), 2)), y, kind="class", class_names=names)
    for figure in (Figure(figsize=(9, 5)), Figure(figsize=(9, 5), layout="constrained")):
        display.plot(figure.subplots())
        figure.draw_without_rendering()
        box, room = display.legend_.get_window_extent(), figure.bbox
        assert texts(display.legend_) == [f"{name} (20)" for name in names]
        assert (box.x0, box.y0) > (display.ax_.get_window_extent().x1 - 1, 0)
        assert box.x1 <= room.x1
        assert box.y1 <= room.y1
        assert display.ax_.get_window_extent().width > 0.3 * room.width


def test_more_classes_than_colours_are_pooled(rng, ax):
    y = np.repeat(np.arange(45), np.arange(2, 47))
    display = MapDisplay.from_data(rng.normal(size=(len(y), 2)), y, kind="class").plot(ax)
    assert display.color.pooled == ["5", "4", "3", "2", "1", "0"]
    pooled = y <= 5
    assert {face for face, row in zip(faces(display.points_), display.order_, strict=True) if pooled[row]} == {
        OTHER_COLOR
    }
    assert pooled[display.order_[: pooled.sum()]].all()  # beneath
    assert texts(display.legend_)[-1] == f"6 other classes ({pooled.sum()})"
    assert "other" not in [label.get_text() for label in display.labels_]


# New rows and predictions


def test_new_rows_are_diamonds_of_their_class_colour(blobs, ax):
    Y, y = blobs
    display = MapDisplay.from_data(Y, y, new=Y[:4] + 1, new_color=[2, 1, 0, 3]).plot(ax)
    np.testing.assert_array_equal(display.new_points_.get_offsets(), Y[:4] + 1)
    assert faces(display.new_points_) == [class_colors(4)[i] for i in (2, 1, 0, 3)]
    (path,) = display.new_points_.get_paths()
    corners = display.new_points_.get_transforms()
    assert len(path.vertices) == 5  # a square …
    assert len(corners) == 1
    assert (display.new_points_.get_sizes() > display.points_.get_sizes()).all()
    # A class that only new rows have is named, without rows of the map.
    assert texts(display.legend_) == ["0 (30)", "1 (20)", "2 (10)", "3 (0)", "new rows (4)"]
    hollow = MapDisplay.from_data(Y, y, new=Y[:4]).plot(Figure().subplots())
    assert len(hollow.new_points_.get_facecolor()) == 0
    guessed = MapDisplay.from_data(Y, y, new=Y[:2], predicted=[1, 0]).plot(Figure().subplots())
    assert faces(guessed.new_points_) == [class_colors(2)[1], class_colors(2)[0]]
    assert guessed.color.wrong is None


def test_wrong_predictions_get_a_ring_of_the_predicted_colour(blobs, ax):
    Y, y = blobs
    predicted = y.copy()
    predicted[[5, 31, 59]] = [1, 2, 0]
    display = MapDisplay.from_data(Y, y, predicted=predicted).plot(ax)
    np.testing.assert_array_equal(np.flatnonzero(display.color.wrong), [5, 31, 59])
    np.testing.assert_array_equal(display.wrong_points_.get_offsets(), Y[[5, 31, 59]])
    assert rings(display.wrong_points_) == [class_colors(3)[i] for i in (1, 2, 0)]
    assert texts(display.legend_)[-1] == "3 of 60 wrong\n(ring: predicted)"
    right = MapDisplay.from_data(Y, y, predicted=y).plot(Figure().subplots())
    assert right.wrong_points_ is None
    assert texts(right.legend_)[-1] == "none of 60 wrong"


def test_predictions_of_new_rows_are_compared_with_their_labels(blobs, ax):
    Y, y = blobs
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    display = MapDisplay.from_data(
        Y, labels, new=Y[:3], new_color=["a", None, "c"], predicted=np.array(["b", "a", "c"])
    ).plot(ax)
    assert display.color.wrong.tolist() == [True, False, False]  # what has no label is not wrong
    np.testing.assert_array_equal(display.wrong_points_.get_offsets(), Y[:1])
    assert rings(display.wrong_points_) == class_colors(2)[1:]


def test_pooled_classes_are_compared_before_they_are_pooled(rng):
    y = np.repeat(np.arange(45), np.arange(2, 47))
    predicted = y.copy()
    predicted[0] = 1  # both in "other"
    color = MapDisplay.from_data(rng.normal(size=(len(y), 2)), y, predicted=predicted).color
    assert color.codes[0] == color.predicted[0] == 39
    assert np.flatnonzero(color.wrong).tolist() == [0]


# Values


def test_values_are_read_off_the_scale(blobs, ax):
    Y, _ = blobs
    values = np.linspace(-3, 5, 60)
    display = MapDisplay.from_data(Y, pd.Series(values, name="age")).plot(ax)
    assert isinstance(display.color, Values)
    shown = dict(zip(display.order_, faces(display.points_), strict=True))
    assert (shown[0], shown[59]) == (CONTINUOUS[0], CONTINUOUS[-1])
    np.testing.assert_array_equal(display.points_.get_offsets(), Y[display.order_])
    scale = display.colorbar_.mappable
    assert scale.get_clim() == (-3, 5)
    assert shown[17] == to_hex(scale.to_rgba(values[17])).upper()
    assert display.colorbar_.ax.get_ylabel() == "age"
    assert display.legend_ is None
    dark = MapDisplay.from_data(Y, values).plot(Figure().subplots(), theme="dark")
    assert faces(dark.points_)[list(dark.order_).index(59)] == CONTINUOUS_DARK[-1]


def test_missing_values_are_hollow_beneath_and_counted(blobs, ax):
    Y, _ = blobs
    values = np.linspace(0, 1, 60)
    values[[1, 7, 9]] = np.nan
    display = MapDisplay.from_data(Y, values, new=Y[:2], new_color=[0.5, np.nan]).plot(ax)
    assert set(display.order_[:3]) == {1, 7, 9}
    assert (display.points_.get_facecolor()[:3, 3] == 0).all()
    assert rings(display.points_)[:3] == [MISSING_COLOR] * 3
    assert texts(display.legend_) == ["missing (3)", "new rows (2)"]
    assert faces(display.new_points_)[1] == MISSING_COLOR
    nothing = MapDisplay.from_data(Y, np.full(60, np.nan), kind="continuous").plot(Figure().subplots())
    assert nothing.colorbar_ is None


def test_the_ends_of_the_scale(blobs):
    Y, _ = blobs
    values = np.append(np.linspace(0.0, 1.0, 59), 1000.5)

    def clim(**options):
        display = MapDisplay.from_data(Y, values).plot(Figure().subplots(), **options)
        return display.colorbar_.mappable.get_clim(), display.colorbar_.extend

    assert clim() == ((0.0, 1000.5), "neither")
    assert clim(limits="robust") == (tuple(np.percentile(values, [1, 99])), "both")
    assert clim(limits=(0, 0.5)) == ((0, 0.5), "max")
    assert clim(center=400) == ((-200.5, 1000.5), "neither")
    infinite = MapDisplay.from_data(Y, np.append(values[:-1], np.inf)).plot(Figure().subplots())
    assert infinite.colorbar_.mappable.get_clim() == (0.0, 1.0)
    constant = MapDisplay.from_data(Y, np.full(60, 2.5)).plot(Figure().subplots())
    assert constant.colorbar_.mappable.get_clim() == (2.0, 3.0)


def test_a_diverging_scale_has_its_middle_at_the_center(blobs, ax):
    Y, _ = blobs
    values = np.linspace(-0.5, 2, 60)
    values[7] = 0.0
    display = MapDisplay.from_data(Y, values).plot(ax, center=0)
    shown = dict(zip(display.order_, faces(display.points_), strict=True))
    assert shown[59] == DIVERGING[-1]
    middle = np.array(to_rgba(shown[7])) - to_rgba(DIVERGING[8])
    assert np.abs(middle).max() < 0.02
    named = MapDisplay.from_data(Y, values).plot(Figure().subplots(), cmap="cividis")
    assert named.colorbar_.cmap.name == "cividis"


def test_dates_are_a_scale_with_dates_on_it(blobs, ax):
    Y, _ = blobs
    days = pd.Series(pd.date_range("2020-01-01", periods=60, freq="30D"))
    days[3] = pd.NaT
    display = MapDisplay.from_data(Y, days).plot(ax)
    assert display.color.dates
    assert display.color.values[0] == (pd.Timestamp("2020-01-01") - pd.Timestamp(0)).days
    assert np.isnan(display.color.values[3])
    ax.figure.draw_without_rendering()
    assert "2021" in [text.get_text() for text in display.colorbar_.ax.get_yticklabels()]


@pytest.mark.parametrize(
    ("color", "is_class"),
    [
        ([0, 1, 2, 1], True),
        ([0.0, 1.0, np.nan, 1.0], True),
        ([0.5, 1.0, 2.0, 1.0], False),
        (["a", "b", "a", None], True),
        (["1", "2", "3", "4"], True),
        ([True, False, True, None], True),
        (np.array([1.5, None, 2, 3], dtype=object), False),
        (pd.Categorical([0.5, 1.5, 0.5, 1.5]), True),
        (pd.array([1, None, 2, 3], dtype="Int64"), True),
        (pd.array([1.5, None, 2, 3], dtype="Float64"), False),
        (pd.Series(["x", "y", "x", "y"], dtype="string"), True),
    ],
)
def test_classes_are_told_from_data(color, is_class, rng):
    Y = rng.normal(size=(4, 2))
    assert isinstance(MapDisplay.from_data(Y, color).color, Classes if is_class else Values)


def test_many_whole_numbers_are_values_unless_said_otherwise(rng):
    Y = rng.normal(size=(50, 2))
    assert isinstance(MapDisplay.from_data(Y, np.arange(50)).color, Values)
    assert isinstance(MapDisplay.from_data(Y, np.arange(50) % 20).color, Classes)
    assert isinstance(MapDisplay.from_data(Y, np.arange(50), kind="class").color, Classes)
    assert isinstance(MapDisplay.from_data(Y, np.arange(50) % 2, kind="continuous").color, Values)


# Frame, themes, sizes


def test_axes_have_no_ticks_and_one_scale(blobs, ax):
    Y, y = blobs
    MapDisplay.from_data(Y * [1, 5], y).plot(ax)
    assert len(ax.get_xticks()) == len(ax.get_yticks()) == 0
    ax.figure.draw_without_rendering()
    box = ax.get_window_extent()
    per_unit = box.width / np.ptp(ax.get_xlim()), box.height / np.ptp(ax.get_ylim())
    assert per_unit[0] == pytest.approx(per_unit[1], rel=1e-4)
    # The map fills the room that it has: limits are not those of an earlier layout.
    inside = np.ptp(Y * [1, 5], axis=0) / [np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]
    assert 0.85 < inside.max() < 1.0


def test_themes(blobs):
    Y, y = blobs
    dark = MapDisplay.from_data(Y, y).plot(Figure().subplots(), theme="dark")
    assert to_hex(dark.ax_.get_facecolor()).upper() == to_hex(dark.figure_.get_facecolor()).upper() == DARK.background
    assert faces(dark.points_) == [class_colors(3, dark=True)[label] for label in y[dark.order_]]
    assert {to_hex(text.get_color()).upper() for text in dark.legend_.get_texts()} == {DARK.text}
    light = MapDisplay.from_data(Y, y).plot(Figure().subplots(), theme="light")
    assert {to_hex(text.get_color()).upper() for text in light.legend_.get_texts()} == {LIGHT.text}
    # "auto" leaves backgrounds and follows them.
    figure = Figure(facecolor="black")
    followed = MapDisplay.from_data(Y, y).plot(figure.add_subplot(facecolor="none"))
    assert to_hex(figure.get_facecolor()) == "#000000"
    assert {to_hex(text.get_color()).upper() for text in followed.legend_.get_texts()} == {DARK.text}


def test_many_rows_are_smaller_fainter_and_an_image(rng):
    shown = {}
    for n in (100, 3_000, 6_000):
        shown[n] = MapDisplay.from_data(rng.normal(size=(n, 2))).plot(Figure().subplots()).points_
    sizes = [shown[n].get_sizes()[0] for n in shown]
    alphas = [shown[n].get_facecolor()[0, 3] for n in shown]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 4 * sizes[2]
    assert alphas[0] > alphas[1] > alphas[2]
    assert [bool(shown[n].get_rasterized()) for n in shown] == [False, False, True]
    own = MapDisplay.from_data(rng.normal(size=(50, 2))).plot(
        Figure().subplots(), size=7.0, alpha=0.25, rasterize_above=49
    )
    assert own.points_.get_sizes()[0] == 7.0
    assert own.points_.get_facecolor()[0, 3] == 0.25
    assert own.points_.get_rasterized()


def test_vector_files_of_large_maps_are_small_and_keep_their_text(rng, tmp_path):
    y = np.arange(8_000) % 3
    display = MapDisplay.from_data(rng.normal(size=(8_000, 2)), y, class_names=["alpha", "beta", "gamma"])
    sizes = {}
    for above in (5_000, 10_000):
        figure = Figure(layout="constrained")
        display.plot(figure.subplots(), rasterize_above=above)
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            figure.savefig(tmp_path / "map.svg")
        content = (tmp_path / "map.svg").read_text(encoding="utf-8")
        assert ">alpha (2,667)<" in content
        sizes[above] = len(content)
    assert sizes[5_000] < 0.3 * sizes[10_000]


def test_a_map_on_a_line_has_a_lane_for_each_class(rng, ax):
    y = np.repeat([0, 1, 2], 20)
    Y = rng.normal(size=(60, 1))
    display = MapDisplay.from_data(Y, y, new=Y[:2], new_color=[2, 2], class_names=["a", "_b", "$c"]).plot(ax)
    drawn = np.asarray(display.points_.get_offsets())
    np.testing.assert_array_equal(drawn[:, 0], Y[display.order_, 0])
    np.testing.assert_array_equal(np.round(drawn[:, 1]), y[display.order_])
    assert np.round(display.new_points_.get_offsets()[:, 1]).tolist() == [2, 2]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "_b", "$c"]
    assert len(ax.get_xticks()) == 0
    assert texts(display.legend_) == ["new rows (2)"]
    ax.figure.draw_without_rendering()
    plain = MapDisplay.from_data(Y, rng.normal(size=60)).plot(Figure().subplots())
    assert np.abs(np.asarray(plain.points_.get_offsets())[:, 1]).max() < 0.5


def test_a_map_in_space(rng):
    Y = rng.normal(size=(40, 3))
    y = np.arange(40) % 2
    flat = Figure().subplots()
    display = MapDisplay.from_data(Y, y, new=Y[:2], new_color=[0, 1], predicted=[1, 1])
    with pytest.raises(ValueError, match="3 components and ax is flat"):
        display.plot(flat)
    ax = Figure().add_subplot(projection="3d")
    display.plot(ax)
    np.testing.assert_array_equal(np.column_stack(display.points_._offsets3d), Y[display.order_])
    assert len(display.labels_) == 0
    assert texts(display.legend_) == ["0 (20)", "1 (20)", "new rows (2)", "1 of 2 wrong\n(ring: predicted)"]
    ax.figure.draw_without_rendering()
    chosen = MapDisplay.from_data(Y, y, new=Y[:2], components=(2, 0))
    np.testing.assert_array_equal(chosen.Y, Y[:, [2, 0]])
    np.testing.assert_array_equal(chosen.new, Y[:2, [2, 0]])
    part = MapDisplay.from_data(rng.normal(size=(9, 5)))
    assert part.Y.shape == (9, 2)
    assert part.plot(Figure().subplots()).ax_.get_ylabel() == "component 2 of 5"  # a part of the map says so
    assert display.ax_.get_zlabel() == ""
    three = MapDisplay.from_data(rng.normal(size=(9, 5)), components=(4, 0, 1))
    three.plot(Figure().add_subplot(projection="3d"))
    assert (three.ax_.get_xlabel(), three.ax_.get_zlabel()) == ("component 5 of 5", "component 2 of 5")


# Names


HOSTILE = [
    "$x_1$",
    "$",
    "\\frac{$",
    "_hidden",
    "<b>bold</b>",
    "",
    "  ",
    "a\nb\tc",
    "long " * 50,
    "smile 😀🤷🏽‍♀️",
    "漢字",
    "\u202egnp.exe",
    "%d {x} {0}",
    "\ud800",
    "\x07\x1b",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_hostile_names_are_shown_as_text(rng, theme, tmp_path):
    y = np.arange(len(HOSTILE) * 10) % len(HOSTILE)
    labels = np.array(HOSTILE, dtype=object)[y]
    Y = rng.normal(size=(len(HOSTILE), 2))[y] * 9
    figure = Figure(figsize=(9, 6), layout="constrained")
    display = MapDisplay.from_data(Y, labels, name="$t_0$ _title").plot(figure.subplots(), theme=theme)
    figure.savefig(tmp_path / "map.png")  # warnings are errors
    figure.savefig(tmp_path / "map.svg")
    shown = texts(display.legend_)
    for name in ("$x_1$", "$", "\\frac{$", "_hidden", "<b>bold</b>", "a b c", "%d {x} {0}", "gnp.exe"):
        assert f"{name} (10)" in shown
    assert shown.count("(empty) (10)") == 3
    assert len(shown) == len(HOSTILE)
    assert max(len(text) for text in shown) <= 32 + len(" (10)")
    assert display.legend_.get_title().get_text() == "$t_0$ _title"
    everything = [*display.legend_.get_texts(), display.legend_.get_title(), *display.labels_]
    assert not any(text.get_parse_math() or text.get_usetex() for text in everything)
    hostile_values = MapDisplay.from_data(Y, rng.normal(size=len(Y)), name="$x_1 \\frac{").plot(figure.subplots())
    assert hostile_values.colorbar_.ax.get_ylabel() == "$x_1 \\frac{"
    figure.savefig(tmp_path / "map.png")


def test_names_are_shortened():
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"
    assert shorten("abcd efgh", 6) == "abcd…"
    assert shorten("Zürich ≤ 5 µm", 30) == "Zürich ≤ 5 µm"
    assert shorten("\U0010ffff\U0001f9ff", 5).strip("□?") == ""
    assert shorten(3.5, 5) == "3.5"


def test_labels_stand_at_the_densest_part(rng):
    dense = rng.normal(size=(60, 2)) * 0.1 + [5.0, 5.0]
    thin = rng.normal(size=(40, 2)) * 0.1 - [5.0, 5.0]
    Y = np.vstack([dense, thin, [[0.0, 0.0]]])
    places = anchors(Y, np.array([0] * 100 + [1]), 3)
    np.testing.assert_allclose(places[0], np.median(dense, axis=0), atol=0.1)  # not between the two, at 1, 1
    np.testing.assert_array_equal(places[1], [0.0, 0.0])
    assert np.isnan(places[2]).all()
    np.testing.assert_array_equal(anchors(np.ones((3, 2)), np.zeros(3, dtype=int), 1), [[1.0, 1.0]])


def test_boxes_are_pushed_apart(rng):
    sizes = np.tile([30.0, 10.0], (12, 1))
    start = rng.uniform(180, 220, size=(12, 2))
    bounds = (0.0, 0.0, 400.0, 400.0)
    places, clear = push_apart(start, sizes, bounds)
    assert clear.all()
    for i in range(12):
        for j in range(i):
            assert (np.abs(places[i] - places[j]) >= [29.0, 9.0]).any()
    alone = push_apart(np.array([[50.0, 50.0], [200.0, 50.0]]), sizes[:2], bounds)[0]
    np.testing.assert_array_equal(alone, [[50.0, 50.0], [200.0, 50.0]])
    corner, _ = push_apart(np.array([[0.0, 400.0]]), sizes[:1], bounds)
    np.testing.assert_array_equal(corner, [[15.0, 395.0]])
    tight = push_apart(start, sizes, (200.0, 200.0, 235.0, 225.0))[1]
    assert tight[0]  # the most important stays
    assert 1 <= tight.sum() <= 3


def test_names_on_the_map_do_not_overlap_and_stay_inside(rng, ax):
    y = np.arange(600) % 30
    Y = rng.normal(size=(30, 2))[y] * 3 + 0.2 * rng.normal(size=(600, 2))
    display = MapDisplay.from_data(Y, y, kind="class", class_names=[f"cluster {i}" for i in range(30)]).plot(ax)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in display.labels_]
    room = ax.get_window_extent()
    assert len(boxes) >= 20
    for i, box in enumerate(boxes):
        assert room.x0 <= box.x0 < box.x1 <= room.x1
        assert room.y0 <= box.y0 < box.y1 <= room.y1
        for other in boxes[:i]:
            overlap = min(box.x1, other.x1) - max(box.x0, other.x0), min(box.y1, other.y1) - max(box.y0, other.y0)
            assert min(overlap) < 2.0
    few = MapDisplay.from_data(Y, y % 3, class_names=["a", "b", "c"])
    assert sorted(text.get_text() for text in few.plot(Figure().subplots()).labels_) == ["a", "b", "c"]
    assert few.plot(Figure().subplots(), labels=False).labels_ == []


def test_a_name_stands_over_its_class(blobs, ax):
    Y, y = blobs
    display = MapDisplay.from_data(Y, y, class_names=["a", "b", "c"]).plot(ax)
    for text in display.labels_:
        group = "abc".index(text.get_text())
        gaps = np.linalg.norm(np.array([Y[y == k].mean(axis=0) for k in range(3)]) - text.get_position(), axis=1)
        assert np.argmin(gaps) == group


# Estimators


class Fitted(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.embedding_ = np.asarray(X)[:, :2]
        self.oob_prediction_ = np.zeros(len(X), dtype=int)
        return self

    def transform(self, X):
        return -np.asarray(X)[:, :2]


def test_an_estimator_gives_its_map_and_places_new_rows(rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    display = MapDisplay.from_estimator(Fitted().fit(X), y, X_new=X[:4], y_new=y[:4], predicted=[0, 0, 0, 0])
    np.testing.assert_array_equal(display.Y, X[:, :2])
    np.testing.assert_array_equal(display.new, -X[:4, :2])
    assert display.color.wrong.tolist() == [False, True, False, True]
    bagged = MapDisplay.from_estimator(Fitted().fit(X), y, predicted="oob")
    np.testing.assert_array_equal(bagged.color.wrong, y == 1)
    pipeline = make_pipeline(FunctionTransformer(np.negative), Fitted()).fit(X)
    wired = MapDisplay.from_estimator(pipeline, X_new=X[:4])
    np.testing.assert_array_equal(wired.Y, -X[:, :2])
    np.testing.assert_array_equal(wired.new, X[:4, :2])


def test_without_axes_a_figure_is_made(blobs):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    before = dict(matplotlib.rcParams)
    display = MapDisplay.from_data(*blobs).plot()
    try:
        assert display.ax_ in display.figure_.axes
        assert plt.get_fignums() == [display.figure_.number]
    finally:
        plt.close(display.figure_)
    assert dict(matplotlib.rcParams) == before


def test_given_axes_need_no_pyplot():
    code = (
        "import sys, numpy as np; from matplotlib.figure import Figure; from manifolia.show import MapDisplay;"
        "MapDisplay.from_data(np.eye(4)[:, :2], list('abca')).plot(Figure().subplots(), theme='dark');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "MPLBACKEND": "agg"}, timeout=60)


def test_a_map_is_made_without_matplotlib_and_drawing_says_what_is_missing(blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = MapDisplay.from_data(*blobs)
    with pytest.raises(
        MissingExtraError, match=r"MapDisplay\.plot needs the package 'matplotlib'.*the extra 'plot' of manifolia"
    ):
        display.plot()


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_maps_can_be_drawn(n):
    display = MapDisplay.from_data(np.zeros((n, 2)), ["a", "b"][:n]).plot(Figure().subplots())
    display.figure_.draw_without_rendering()
    assert len(display.points_.get_offsets()) == n


def test_refusals(blobs):
    Y, y = blobs
    make = MapDisplay.from_data
    with pytest.raises(ValueError, match=r"color must be of shape \(60,\), one entry per row, got shape \(59,\)"):
        make(Y, y[1:])
    with pytest.raises(ValueError, match=r"new_color must be of shape \(2,\), one entry per row"):
        make(Y, y, new=Y[:2], new_color=y)
    with pytest.raises(ValueError, match=r"predicted must be of shape \(60,\), one entry per row"):
        make(Y, y, predicted=y[:3])
    with pytest.raises(ValueError, match=r"new_color .* without new rows"):
        make(Y, y, new_color=y)
    with pytest.raises(ValueError, match="need the colours of the rows"):
        make(Y, predicted=y)
    with pytest.raises(ValueError, match="new has 1 components and the map has 2"):
        make(Y, y, new=Y[:, :1])
    with pytest.raises(ValueError, match="the colours are values"):
        make(Y, y, predicted=y, kind="continuous")
    with pytest.raises(ValueError, match="color must be numbers"):
        make(Y, y.astype(str).astype(object) + "x", kind="continuous")
    with pytest.raises(ValueError, match="class_names has 2 names and there are 3 classes"):
        make(Y, y, class_names=["a", "b"])
    with pytest.raises(ValueError, match="kind must be one of"):
        make(Y, y, kind="discrete")
    with pytest.raises(ValueError, match="components must"):
        make(Y, y, components=(0, 2))
    with pytest.raises(ValueError, match="components must name 1, 2 or 3"):
        make(Y, y, components=())
    with pytest.raises(ValueError, match="theme must be one of"):
        make(Y, y).plot(theme="sepia")
    with pytest.raises(ValueError, match="limits must be two numbers, the smaller first"):
        make(Y, Y[:, 0]).plot(Figure().subplots(), limits=(1, 0))
    with pytest.raises(ValueError, match="alpha must"):
        make(Y, y).plot(Figure().subplots(), alpha=2.0)
    with pytest.raises(NotFittedError):
        MapDisplay.from_estimator(Fitted(), y)
    with pytest.raises(ValueError, match="predicted='oob' is for the rows of the map"):
        MapDisplay.from_estimator(Fitted().fit(Y), y, X_new=Y, predicted="oob")
