"""What the pictures share: themes, plain text, a new figure, sizes of points and legends that fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import IntArray
from manifolia._core.validate import check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.show.palette import (
    CONTINUOUS,
    CONTINUOUS_DARK,
    DARK,
    DIVERGING,
    DIVERGING_DARK,
    LIGHT,
    Theme,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any  # matplotlib is imported when something is drawn

THEMES = ("auto", "light", "dark")
UNDERLINED = ("top", "right", "left")  # sides to hide where rows have names instead of ticks
LEGEND_NAME = 32  # characters of a name in a legend
_DARK_BELOW = 0.35  # luminance of a background on which light text reads better
_READABLE = 9.0  # contrast of small names over points of the same colour; WCAG requires 4.5 on a plain background
_MISSING_GLYPH = ("\u25a1", "?")  # what replaces a character that no font has, and the fallback for that
_SIZE_ROWS, _SIZE, _SIZE_POWER = 150, 30.0, -0.4  # 30 pt² for 150 rows; half of it for four times as many
_SIZE_SIDE = 320.0  # on axes that measure this many points per side


def matplotlib_part(name: str = "", purpose: str = "a picture") -> Any:
    """Import a part of matplotlib, or say which extra brings it."""
    return import_extra(f"matplotlib.{name}".rstrip("."), extra="plot", purpose=purpose)


class Display:
    """A picture: ``from_*`` computes what it shows, ``plot`` draws it and keeps the axes."""

    def _need_matplotlib(self) -> None:
        matplotlib_part(purpose=f"{type(self).__name__}.plot")

    def _new_figure(self, size: tuple[float, float] | None) -> Any:
        """Make a figure that pyplot knows, so that ``plt.show()`` shows it; by default with pyplot's size."""
        self._need_matplotlib()
        return matplotlib_part("pyplot").figure(figsize=size, layout="constrained" if size else None)

    def _open(
        self,
        ax: Any,
        theme: str,
        size: tuple[float, float] | None = None,
        *,
        hide: Sequence[str] = (),
        projection: str | None = None,
    ) -> tuple[Any, Theme]:
        """Take the axes, or make new ones, apply a theme and hide some of their sides."""
        ax = self._new_figure(size).add_subplot(projection=projection) if ax is None else ax
        chosen = resolve_theme(theme, ax)
        if theme != "auto":
            ax.set_facecolor(chosen.background)
            ax.figure.set_facecolor(chosen.background)  # legends and titles stand on it
        for spine in ax.spines.values():
            spine.set_color(chosen.faint)
        ax.tick_params(which="both", colors=chosen.muted, labelcolor=chosen.text)
        for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
            text.set_color(chosen.text)
        for side in hide:
            ax.spines[side].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax, chosen


def resolve_theme(theme: str, ax: Any) -> Theme:
    """Find the theme by name."""
    check_option(theme, "theme", THEMES)
    if theme != "auto":
        return LIGHT if theme == "light" else DARK
    to_rgba = matplotlib_part("colors").to_rgba
    *rgb, alpha = to_rgba(ax.get_facecolor())
    back = to_rgba(ax.figure.get_facecolor())
    seen = alpha * np.array(rgb) + (1 - alpha) * (back[3] * np.array(back[:3]) + (1 - back[3]))
    return DARK if float(seen @ [0.2126, 0.7152, 0.0722]) < _DARK_BELOW else LIGHT


def color_map(theme: Theme, *, diverging: bool = False) -> Any:
    """Make our scale for that background a matplotlib Colormap."""
    name = "manifolia-diverging" if diverging else "manifolia-continuous"
    light, dark = (DIVERGING, DIVERGING_DARK) if diverging else (CONTINUOUS, CONTINUOUS_DARK)
    return matplotlib_part("colors").LinearSegmentedColormap.from_list(name, dark if theme is DARK else light)


def luminance(color: str) -> float:
    """Compute the relative luminance of WCAG."""
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """Compute the contrast ratio of WCAG."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def legible(color: str, theme: Theme) -> str:
    """Mix a colour with that of the text until it is legible on the background."""
    ends = [np.array([int(one[i : i + 2], 16) for i in (1, 3, 5)]) for one in (color, theme.text)]
    for share in np.linspace(0.25, 1.0, 16):
        r, g, b = np.round((1 - share) * ends[0] + share * ends[1]).astype(int)
        mixed = f"#{r:02X}{g:02X}{b:02X}"
        if contrast(mixed, theme.background) >= _READABLE:
            return mixed
    return theme.text


# --- text -----------------------------------------------------------------------------------------------------------


def plain(text: Any) -> None:
    """Let a matplotlib Text show its string literally: no mathematics between dollars, no TeX."""
    text.set_usetex(False)
    text.set_parse_math(False)


def shorten(name: Any, longest: int) -> str:
    """Write a name on one line, with characters that the font has, cut to a length."""
    characters = []
    for character in str(name):
        kind = unicodedata.category(character)
        if kind == "Cf":  # joiners and changes of direction, which would act on the text around them
            continue
        characters.append(" " if kind in ("Cc", "Zl", "Zp") else character)
    text = " ".join("".join(characters).split())
    if not text:
        return "(empty)"
    if len(text) > longest:
        text = text[: longest - 1].rstrip() + "…"
    return "".join(character if character < "\x7f" else _drawable(character) for character in text)


def _drawable(character: str) -> str:
    """Return the character, or its replacement if no font in the current settings has it."""
    manager = matplotlib_part("font_manager")
    families = tuple(manager.FontProperties().get_family())
    generic = {
        name: tuple(matplotlib_part().rcParams[f"font.{name}"])
        for name in families
        if name in ("serif", "sans-serif", "cursive", "fantasy", "monospace")
    }
    resolved = tuple(inner for name in families for inner in generic.get(name, (name,)))
    fonts = _font_files(resolved)
    for candidate in (character, *_MISSING_GLYPH):
        if any(manager.get_font(path).get_char_index(ord(candidate)) for path in fonts):
            return candidate
    return "?"


@lru_cache(maxsize=16)
def _font_files(families: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that draw these families: the first one found for each, as in matplotlib."""
    manager = matplotlib_part("font_manager")
    found = []
    for family in families:
        try:
            found.append(manager.findfont(manager.FontProperties(family=[family]), fallback_to_default=False))
        except ValueError:
            continue
    return tuple(dict.fromkeys(found)) or (manager.findfont(manager.FontProperties()),)


def name_ticks(
    axis: Any, places: Any, names: Iterable[Any], longest: int, *, ticks: bool = False, **options: Any
) -> None:
    """Write names as plain text at an axis, with or without ticks."""
    if not ticks:
        axis.set_tick_params(length=0)
    axis.set_ticks(places, [shorten(name, longest) for name in names], **options)
    for text in axis.get_ticklabels():
        plain(text)


def legend_beside(ax: Any, named: Mapping[str, Any], theme: Theme) -> None:
    """Write the legend to the right of the axes."""
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    plain_legend(ax, list(named.values()), list(named), theme, fontsize=8, **beside)


def plain_legend(ax: Any, handles: Sequence[Any], names: Sequence[str], theme: Theme, **options: Any) -> Any:
    """Write a legend whose names are shown as they are."""
    # Names that begin with "_" would be left out, and "$" read as mathematics: write them afterwards.
    stand_ins = [f"name {i}" for i in range(len(names))]
    legend = ax.legend(handles, stand_ins, frameon=False, labelcolor=theme.text, **options)
    for text, name in zip(legend.get_texts(), names, strict=True):
        plain(text)
        text.set_text(name)
    return legend


def color_bar(ax: Any, image: Any, label: str, theme: Theme, **options: Any) -> Any:
    """Add a colour bar in the colours of the theme."""
    bar = ax.figure.colorbar(image, ax=ax, **options)
    bar.set_label(label, color=theme.text)
    bar.ax.tick_params(which="both", colors=theme.muted, labelcolor=theme.text)
    return bar


# --- points ---------------------------------------------------------------------------------------------------------


def axes_points(ax: Any) -> tuple[float, float]:
    """Measure the axes."""
    box = ax.get_window_extent()
    return 72.0 * box.width / ax.figure.dpi, 72.0 * box.height / ax.figure.dpi


def point_size(n: int, ax: Any, *, line: bool = False) -> float:
    """Choose the area of a point: smaller if there are more, larger on larger axes."""
    side = (0.5 * axes_points(ax)[0] if line else min(axes_points(ax))) / _SIZE_SIDE
    return float(np.clip(_SIZE * (n / _SIZE_ROWS) ** _SIZE_POWER * side**2, 0.4, 45.0))


def point_alpha(n: int) -> float:
    """Choose the opacity: below 1 if points of a large map overlap."""
    return float(np.clip(0.95 * (n / 1000) ** -0.15, 0.35, 0.95))


def drawing_order(beneath: Any, *, shuffle: bool) -> IntArray:
    """Choose the order in which rows are drawn."""
    n = beneath.shape[0]
    order = np.random.default_rng(0).permutation(n) if shuffle else np.arange(n)
    return order[np.argsort(~beneath[order], kind="stable")]


# --- components -----------------------------------------------------------------------------------------------------


class Components(NamedTuple):
    """Components of a map that are drawn."""

    chosen: list[int]
    axis_names: list[str] | None  # What the axes are called if the map has more


def choose_components(components: Sequence[int] | None, available: int, *, plane: str = "") -> Components:
    """Choose which components of a map are drawn: two for a named picture that draws in the plane."""
    if plane and available < 2:
        raise ValueError(f"{plane} draws in the plane, and the map has 1 component. Fit with n_components=2 or more.")
    if components is None:
        components = range(2 if plane or available > 3 else available)
    chosen = [check_number(one, "components", low=0, high=available - 1, integer=True) for one in components]
    if plane and len(chosen) != 2:
        raise ValueError(f"{plane} draws in the plane: components must name 2 of {available}, got {chosen}.")
    if not 1 <= len(chosen) <= 3:
        raise ParameterError(
            f"components must name 1, 2 or 3 of the map's {available} components, got {chosen}.", parameter="components"
        )
    is_part = len(chosen) < available
    return Components(chosen, [f"component {one + 1} of {available}" for one in chosen] if is_part else None)


def check_shape(values: Any, shape: tuple[int, ...], name: str, what: str) -> None:
    """Check that there is one value for each thing drawn."""
    if np.shape(values) != shape:
        raise ParameterError(f"{name} must be of shape {shape}, {what}, got shape {np.shape(values)}.", parameter=name)


# --- room -----------------------------------------------------------------------------------------------------------


def steal_room(ax: Any, artists: Sequence[Any]) -> None:
    """Make space inside the figure for what is to the right of the axes, unless a layout engine will."""
    if ax.figure.get_layout_engine() is not None or ax.get_subplotspec() is None:
        return
    box = ax.get_position()
    across = ax.figure.bbox.width
    widest = max((artist.get_window_extent().width for artist in artists), default=0.0) / across
    taken = min(widest + 0.02, 0.6 * box.width)
    ax.set_position([box.x0, box.y0, box.width - taken, box.height])
