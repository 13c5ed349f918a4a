"""What pictures of arrows and frames draw alike: the map beneath, and the arrows."""

from __future__ import annotations

from typing import Any

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray
from manifolia.show._style import resolve_theme
from manifolia.show.map_display import MapDisplay
from manifolia.show.palette import Theme

__all__ = ["draw_arrows", "draw_map_beneath"]


def draw_map_beneath(
    Y: FloatArray,
    color: ArrayLike | None,
    ax: Any,
    *,
    axis_names: list[str] | None,
    theme: str,
    options: dict[str, Any],
    name: str | None = None,
    kind: str = "auto",
) -> tuple[MapDisplay, Theme]:
    """Draw the rows of a map for something to stand on; without a colour they are grey."""
    display = MapDisplay.from_map(Y, color, name=name, kind=kind)
    display.axis_names = axis_names
    display.plot(ax, theme=theme, **options)
    chosen = resolve_theme(theme, display.ax_)
    if color is None:
        display.points_.set_facecolor(chosen.muted)
    return display, chosen


def draw_arrows(
    ax: Any, starts: FloatArray, vectors: FloatArray, *, color: Any, theme: Theme, width: float, zorder: float
) -> Any:
    """Draw arrows as long as they are in units of the map, with a rim in the colour of the background."""
    effects = import_extra("matplotlib.patheffects", extra="plot", purpose="arrows")
    return ax.quiver(
        *starts.T,
        *vectors.T,
        angles="xy",
        scale_units="xy",
        scale=1.0,
        color=theme.text if color is None else color,
        width=width,
        headwidth=4.0,
        headlength=4.5,
        headaxislength=4.0,
        zorder=zorder,
        path_effects=[effects.withStroke(linewidth=1.8, foreground=theme.background), effects.Normal()],
    )
