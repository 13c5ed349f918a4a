"""Colours: how far apart they are for any colour vision, how they stand out, and which class gets which."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manifolia.show import palette
from manifolia.show._style import contrast, legible, luminance
from manifolia.show.palette import DARK, LIGHT, MAX_CLASSES, OTHER_COLOR, class_colors, class_palette

THEMES = {False: LIGHT, True: DARK}

# Viénot, Brettel and Mollon 1999: dichromats see what is left of the cone responses L, M, S when one is replaced by the
# value it has for them on neutral greys. Another simulation than the one that the colours were made with.
RGB_TO_LMS = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
DICHROMATS = {
    "protan": np.array([[0.0, 2.02344, -2.52581], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    "deutan": np.array([[1.0, 0.0, 0.0], [0.494207, 0.0, 1.24827], [0.0, 0.0, 1.0]]),
}


def linear(colors):
    rgb = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def cielab(colors, vision="normal"):
    """CIE 1976 L*a*b* with the white of sRGB; another space than the one that the colours were made in."""
    seen = linear(colors)
    if vision != "normal":
        seen = np.clip(seen @ (np.linalg.inv(RGB_TO_LMS) @ DICHROMATS[vision] @ RGB_TO_LMS).T, 0, 1)
    M = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    t = seen @ M.T / M.sum(axis=1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.column_stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])


def smallest_distance(colors, vision):
    points = cielab(colors, vision)
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    return gaps[np.triu_indices(len(colors), 1)].min()


def test_the_measure_of_colours_is_right():
    np.testing.assert_allclose(cielab(["#FFFFFF", "#000000"]), [[100, 0, 0], [0, 0, 0]], atol=0.01)
    np.testing.assert_allclose(cielab(["#FF0000"])[0], [53.24, 80.09, 67.20], atol=0.05)  # Lindbloom's calculator
    for vision in DICHROMATS:  # greys stay grey, and red and green that most people tell apart come together
        np.testing.assert_allclose(cielab(["#808080"], vision), cielab(["#808080"]), atol=1.0)
        assert smallest_distance(["#B00000", "#4F4F00"], vision) < 0.4 * smallest_distance(
            ["#B00000", "#4F4F00"], "normal"
        )


# Just noticeable side by side is about 2.3 in CIELAB; for small points far apart much more is needed, and 40 colours
# cannot have it. The bounds are what the lists reach, rounded down: a change for the worse fails.
BOUNDS = {8: (26, 17), 12: (26, 11), 20: (23, 7.5), 40: (11, 5.5)}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("n", BOUNDS)
def test_class_colours_are_told_apart_with_any_colour_vision(n, dark):
    colors = class_colors(n, dark=dark)
    normal, deficient = BOUNDS[n]
    assert smallest_distance(colors, "normal") >= normal
    for vision in DICHROMATS:
        assert smallest_distance(colors, vision) >= deficient, vision


@pytest.mark.parametrize("dark", [False, True])
def test_everything_stands_out_from_its_background(dark):
    theme = THEMES[dark]
    least = 3.0 if dark else 2.0
    assert min(contrast(color, theme.background) for color in class_colors(40, dark=dark)) >= least
    assert contrast(OTHER_COLOR, theme.background) >= 3.0
    assert contrast(theme.text, theme.background) >= 12.0
    assert contrast(theme.muted, theme.background) >= 4.5
    scale = palette.CONTINUOUS_DARK if dark else palette.CONTINUOUS
    both = palette.DIVERGING_DARK if dark else palette.DIVERGING
    assert min(contrast(color, theme.background) for color in scale) >= (2.0 if dark else 1.6)
    assert min(contrast(color, theme.background) for color in both) >= 1.9


@pytest.mark.parametrize("vision", ["normal", *DICHROMATS])
@pytest.mark.parametrize("scale", [palette.CONTINUOUS, palette.CONTINUOUS_DARK])
def test_scales_rise_in_lightness_for_any_colour_vision(scale, vision):
    assert (np.diff(cielab(scale, vision)[:, 0]) > 1.0).all()


@pytest.mark.parametrize(("scale", "sign"), [(palette.DIVERGING, 1), (palette.DIVERGING_DARK, -1)])
def test_diverging_scales_have_a_grey_middle_and_ends_that_differ_for_any_colour_vision(scale, sign):
    lightness = cielab(scale)[:, 0]
    middle = len(scale) // 2
    assert (sign * np.diff(lightness[: middle + 1]) > 0).all()
    assert (sign * np.diff(lightness[middle:]) < 0).all()
    assert np.linalg.norm(cielab(scale)[middle, 1:]) < 1.0
    for vision in ("normal", *DICHROMATS):
        assert smallest_distance([scale[0], scale[-1]], vision) > 40


def test_colours_are_valid_distinct_and_keep_their_place():
    for dark in (False, True):
        colors = class_colors(MAX_CLASSES, dark=dark)
        assert len(set(colors)) == 40
        assert OTHER_COLOR not in colors
        assert all(len(color) == 7 and color[0] == "#" and int(color[1:], 16) >= 0 for color in colors)
        assert [class_colors(n, dark=dark) for n in range(41)] == [colors[:n] for n in range(41)]
    assert class_colors(8)[:6] == class_colors(8, dark=True)[:6]
    assert "#000000" in class_colors(8)
    assert "#000000" not in class_colors(40, dark=True)


def test_luminance_and_contrast_are_those_of_wcag():
    assert (luminance("#000000"), luminance("#FFFFFF")) == (0.0, pytest.approx(1.0))
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21.0)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.478, abs=1e-3)


@pytest.mark.parametrize("dark", [False, True])
def test_names_on_the_map_are_legible_and_keep_a_tint(dark):
    theme = THEMES[dark]
    mixed = [legible(color, theme) for color in class_colors(40, dark=dark)]
    assert min(contrast(color, theme.background) for color in mixed) >= 9.0
    assert len(set(mixed)) > 30


# Classes


def test_classes_are_ordered_as_people_count():
    assert class_palette(["day 10", "day 2", "Day 1", "b"]).names == ["b", "Day 1", "day 2", "day 10"]
    assert class_palette([10, 9, -1]).names == ["-1", "9", "10"]
    assert class_palette([1.0, np.nan, 0.0]).names == ["0", "1"]
    assert class_palette([0.5, 2.0]).names == ["0.5", "2"]
    assert class_palette([True, False]).names == ["False", "True"]
    assert class_palette(["b", 2, "a", 10]).names == ["2", "10", "a", "b"]
    ordered = pd.Categorical(["low", "high", "low"], categories=["low", "middle", "high"], ordered=True)
    assert class_palette(ordered).names == ["low", "high"]
    assert class_palette(["9" * 5000, "x"]).names[1] == "x"  # more digits than Python reads as a number


def test_codes_say_the_class_of_each_row():
    y = np.array(["b", None, "a", "b", np.nan, pd.NA], dtype=object)
    found = class_palette(y)
    assert found.codes.tolist() == [1, -1, 0, 1, -1, -1]
    assert class_palette([]).names == []
    frame = pd.Series(["b", "a"], index=[7, 7])
    assert class_palette(frame).codes.tolist() == [1, 0]


def test_the_tail_is_pooled(rng):
    sizes = rng.permutation(np.arange(1, 61))
    y = rng.permutation(np.repeat(np.arange(60), sizes))
    found = class_palette(y)
    assert (len(found.names), found.names[-1]) == (40, "other")
    largest = np.sort(np.argsort(-sizes)[:39])
    assert found.names[:-1] == [str(one) for one in largest]
    assert found.values == largest.tolist()
    assert found.pooled == [str(one) for one in np.argsort(-sizes)[39:]]
    np.testing.assert_array_equal(np.bincount(found.codes), [*sizes[largest], 21 * 22 // 2])
    for code, one in zip(found.codes, y, strict=True):
        assert (found.names[code] == str(one)) or (code == 39 and str(one) in found.pooled)
    exact = class_palette(np.arange(40))
    assert (len(exact.names), exact.pooled) == (40, [])


def test_refusals():
    with pytest.raises(ValueError, match=r"n must be .* 40.*got 41.*class_palette pools"):
        class_colors(41)


def test_the_script_makes_these_colours():
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    path = Path(__file__).parents[2] / "docs" / "make_palette.py"
    if not path.exists():
        pytest.skip("docs/make_palette.py is not part of this installation")
    spec = spec_from_file_location("make_palette", path)
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    for theme, dark in (("light", False), ("dark", True)):
        assert tuple(script.sequential(theme)) == (palette.CONTINUOUS_DARK if dark else palette.CONTINUOUS)
        assert tuple(script.diverging(theme)) == (palette.DIVERGING_DARK if dark else palette.DIVERGING)
        assert script.classes(*script.THEMES[theme]) == class_colors(40, dark=dark)
        assert script.THEMES[theme][0] == THEMES[dark].background
