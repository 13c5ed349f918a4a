"""How a map is drawn: points, frame, legend or colour bar, names."""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.types import BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.show._colors import Classes, Values
from manifolia.show._labels import anchors, keep_clear, text_sizes, tie, write_name
from manifolia.show._style import (
    LEGEND_NAME,
    axes_points,
    color_map,
    drawing_order,
    legible,
    matplotlib_part,
    name_ticks,
    plain,
    plain_legend,
    point_alpha,
    point_size,
    shorten,
    steal_room,
)
from manifolia.show.palette import DARK, MISSING_COLOR, OTHER_COLOR, Theme, class_colors

_EDGES_BELOW = 2_000  # rows: with fewer, a thin edge in the background colour separates points
_MAP_NAME = 22
_ROBUST = (1.0, 99.0)
_TIE_FROM = 1.2  # heights of a name: moved farther, a line ties it to its place
_HOLLOW = 0.8  # pt, the outline of points about which nothing is known
_LANE = 0.32  # half the height of the strip in which a class of a map on a line is spread


class MapPainter:
    """Draws a `MapDisplay` on axes, step by step."""

    def __init__(
        self, display: Any, ax: Any, *, theme: Theme, size: float | None, alpha: float | None, rasterize_above: int
    ) -> None:
        self.mcolors: Any = matplotlib_part("colors")
        self.ax = ax
        self.display = display
        self.Y: FloatArray = display.Y
        self.n = self.Y.shape[0]
        self.classes: Any = display.color if isinstance(display.color, Classes) else None
        self.values: Any = display.color if isinstance(display.color, Values) else None
        self.theme = theme
        usual = point_size(self.n, ax, line=self.Y.shape[1] == 1)
        self.size = usual if size is None else check_number(size, "size", low=0.0, open_low=True)
        self.alpha = point_alpha(self.n) if alpha is None else check_number(alpha, "alpha", low=0.0, high=1.0)
        self.rasterized = self.n > rasterize_above
        pooled = self.classes is not None and bool(self.classes.pooled)
        self.n_own = 0 if self.classes is None else len(self.classes.names) - pooled
        self.colors = class_colors(self.n_own, dark=theme is DARK) + [OTHER_COLOR] * pooled
        self.new: Any = None
        self.wrong: Any = None
        self.legend: Any = None
        self.colorbar: Any = None
        self.texts: list[Any] = []

    # --- points -----------------------------------------------------------------------------------------------------

    def points(self, *, shuffle: bool, cmap: Any, limits: Any, center: float | None) -> None:
        """Draw the rows, the new rows and the rings around wrong predictions."""
        self._scale(cmap, limits, center)
        unknown = self._unknown()
        beneath = unknown
        if self.classes is not None and self.classes.pooled:
            beneath = unknown | (self.classes.codes == len(self.classes.names) - 1)
        self.order: IntArray = drawing_order(beneath, shuffle=shuffle)
        faces = self._faces(None if self.classes is None else self.classes.codes, self.values and self.values.values)
        faces[:, 3] = self.alpha
        edges: Any = self.theme.background
        widths: Any = 0.35 if self.n < _EDGES_BELOW else 0.0
        if unknown.any():  # hollow: a grey disc could be read as a class or as the middle of a scale
            faces[unknown, 3] = 0.0
            hollow = self.mcolors.to_rgba(MISSING_COLOR, self.alpha)
            edges = np.where(unknown[:, np.newaxis], hollow, self.mcolors.to_rgba(edges))[self.order]
            widths = np.where(unknown, _HOLLOW, widths)[self.order]
        self.drawn = self.ax.scatter(
            *self._places(self.Y, self.classes and self.classes.codes)[self.order].T,
            s=self.size,
            c=faces[self.order],
            edgecolors=edges,
            linewidths=widths,
            rasterized=self.rasterized,
            **self._depth(2),
        )
        if self.display.new is not None:
            self._new_points()
        if self.classes is not None and self.classes.wrong is not None and self.classes.wrong.any():
            self._rings()

    def _depth(self, zorder: int) -> dict[str, Any]:
        # On 3-D axes the distance decides what covers what, and shading would change the colours.
        return {"depthshade": False} if self.Y.shape[1] == 3 else {"zorder": zorder}

    def _unknown(self) -> BoolArray:
        """Rows whose label or value is missing."""
        if self.classes is not None:
            unknown: BoolArray = self.classes.codes < 0
            return unknown
        return np.isnan(self.values.values) if self.values is not None else np.zeros(self.n, dtype=bool)

    def _faces(self, codes: IntArray | None, values: FloatArray | None) -> FloatArray:
        """Colour of each row, opaque."""
        if codes is not None:
            table = self.mcolors.to_rgba_array([*self.colors, MISSING_COLOR])
            return table[codes]  # −1 is the last
        if values is not None:
            known = ~np.isnan(values)
            faces = np.tile(self.mcolors.to_rgba(MISSING_COLOR), (len(values), 1))
            faces[known] = self.scale(self.norm(values[known]))
            return faces
        return np.tile(self.mcolors.to_rgba(class_colors(1, dark=self.theme is DARK)[0]), (self.n, 1))

    def _scale(self, cmap: Any, limits: Any, center: float | None) -> None:
        """Set the colour map and its ends."""
        if isinstance(limits, str):
            check_option(limits, "limits", ("full", "robust"))
        if self.values is None:
            return
        parts = [self.values.values] + ([] if self.values.new_values is None else [self.values.new_values])
        known = np.concatenate(parts)
        known = known[np.isfinite(known)]
        if not isinstance(limits, str):
            low, high = (check_number(one, "limits") for one in limits)
            if not low < high:
                raise ParameterError(
                    f"limits must be two numbers, the smaller first, got {limits!r}.", parameter="limits"
                )
        elif not known.size:
            low, high = 0.0, 1.0
        else:
            low, high = np.percentile(known, _ROBUST) if limits == "robust" else (known.min(), known.max())
        if center is not None:
            check_number(center, "center")
            reach = max(high - center, center - low) or 1.0
            low, high = center - reach, center + reach
        if not low < high:
            low, high = low - 0.5, high + 0.5
        self.norm = self.mcolors.Normalize(low, high)
        own = color_map(self.theme, diverging=center is not None)
        self.scale = own if cmap is None else cmap
        if isinstance(cmap, str):
            self.scale = matplotlib_part().colormaps[cmap]
        below, above = bool((known < low).any()), bool((known > high).any())
        self.extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[(below, above)]
        self.any_known = bool(known.size)

    def _places(self, Y: FloatArray, codes: IntArray | None) -> FloatArray:
        """Coordinates to draw; a map on a line is spread across it, each class in its own lane."""
        if Y.shape[1] > 1:
            return Y
        lane = np.zeros(len(Y)) if codes is None else np.where(codes < 0, len(self.colors), codes).astype(np.float64)
        spread = np.random.default_rng(0).uniform(-_LANE, _LANE, len(Y))
        return np.column_stack([Y[:, 0], lane + spread])

    def _new_points(self) -> None:
        """Diamonds, larger than the points, with an edge that stands out; hollow if nothing is known about them."""
        new = self.display.new
        codes = self.classes.new_codes if self.classes is not None else None
        values = self.values.new_values if self.values is not None else None
        known = codes is not None or values is not None
        lanes = np.full(len(new), -1) if codes is None and self.classes is not None else codes
        self.new = self.ax.scatter(
            *self._places(new, lanes).T,
            s=max(2.2 * self.size, 16.0),
            c=self._faces(codes, values) if known else None,
            facecolors=None if known else "none",
            marker="D",
            edgecolors=self.theme.text,
            linewidths=0.8,
            **self._depth(4),
        )

    def _rings(self) -> None:
        """Rings in the colour of the prediction around wrongly predicted rows, on a rim of background."""
        rows = np.flatnonzero(self.classes.wrong)
        of_new = self.display.new is not None
        Y, codes = (self.display.new, self.classes.new_codes) if of_new else (self.Y, self.classes.codes)
        places = self._places(Y, codes)[rows]
        area = (max(2.2 * self.size, 16.0) if of_new else self.size) * 3.2
        colors = self._faces(self.classes.predicted, None)[rows]
        for_rim = {"s": max(area, 22.0), "facecolors": "none", "marker": "D" if of_new else "o"}
        self.ax.scatter(*places.T, **for_rim, edgecolors=self.theme.background, linewidths=2.6, **self._depth(4))
        self.wrong = self.ax.scatter(*places.T, **for_rim, edgecolors=colors, linewidths=1.5, **self._depth(5))

    # --- frame ------------------------------------------------------------------------------------------------------

    def frame(self) -> None:
        """Remove the ticks and give both axes the same scale."""
        ax, n_components = self.ax, self.Y.shape[1]
        for axis, name in zip("xyz", self.display.axis_names or (), strict=False):
            getattr(ax, f"set_{axis}label")(name, color=self.theme.muted, fontsize=9)
        if n_components == 3:
            ax.set(xticks=[], yticks=[], zticks=[])
            for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
                axis.set_pane_color(self.mcolors.to_rgba(self.theme.faint, 0.25))
                axis.line.set_color(self.theme.faint)
            ax.set_aspect("equal")
            return
        ax.set_xticks([])
        if n_components == 1:
            self._lanes()
            return
        ax.set_yticks([])
        shared = ax.get_shared_x_axes().get_siblings(ax) + ax.get_shared_y_axes().get_siblings(ax)
        # Wider limits let the axes keep their space; axes that share limits can only change their box.
        ax.set_aspect("equal", adjustable="box" if len(shared) > 2 else "datalim")
        ax.margins(0.04)

    def _lanes(self) -> None:
        ax = self.ax
        ax.spines[["left", "right", "top"]].set_visible(False)
        if self.classes is None:
            ax.set_yticks([])
            ax.set_ylim(-1.2, 1.2)
            return
        nameless = bool((self.classes.codes < 0).any()) or (self.new is not None and self.classes.new_codes is None)
        names = [*self.classes.names, *["no label"] * nameless]
        name_ticks(ax.yaxis, np.arange(len(names)), names, LEGEND_NAME)
        ax.set_ylim(len(names) - 0.4, -0.6)  # the first class on top, as in a legend

    # --- legend and colour bar --------------------------------------------------------------------------------------

    def key(self, *, legend: bool) -> None:
        """Say what the colours and marks mean."""
        if not legend:
            return
        entries = self._class_entries() + self._mark_entries()
        if self.values is not None and self.any_known:
            self._colorbar()
        if entries and self.classes is not None:
            self._legend_beside(entries)
        elif entries:
            below: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0)}
            self._make_legend(entries, fontsize=9.0, ncols=len(entries), **below)

    def _class_entries(self) -> list[tuple[Any, str]]:
        if self.classes is None or self.Y.shape[1] == 1:  # the lanes show the names
            return []
        counts = np.bincount(self.classes.codes[self.classes.codes >= 0], minlength=len(self.colors))
        names = [shorten(name, LEGEND_NAME) for name in self.classes.names]
        if self.classes.pooled:
            names[-1] = f"{len(self.classes.pooled)} other classes"
        return [
            (self._handle("o", color), f"{name} ({count:,})")
            for name, color, count in zip(names, self.colors, counts, strict=True)
        ]

    def _mark_entries(self) -> list[tuple[Any, str]]:
        entries = []
        n_missing = int(self._unknown().sum())
        if n_missing and (self.values is not None or self.Y.shape[1] > 1):
            word = "missing" if self.classes is None else "no label"
            entries.append((self._handle("o", "none", edge=MISSING_COLOR), f"{word} ({n_missing:,})"))
        if self.new is not None:
            handle = self._handle("D", "none", edge=self.theme.text)
            entries.append((handle, f"new rows ({len(self.display.new):,})"))
        if self.classes is not None and self.classes.wrong is not None:
            wrong, n = int(self.classes.wrong.sum()), len(self.classes.wrong)
            handle = self._handle("D" if self.new is not None else "o", "none", edge=self.theme.text, width=1.5)
            text = f"{wrong:,} of {n:,} wrong\n(ring: predicted)" if wrong else f"none of {n:,} wrong"
            entries.append((handle, text))
        return entries

    def _handle(self, marker: str, face: str, *, edge: str = "none", width: float = 0.9) -> Any:
        return matplotlib_part("lines").Line2D(
            [],
            [],
            linestyle="",
            marker=marker,
            markersize=5.5,
            color=face,
            markerfacecolor=face,
            markeredgecolor=edge,
            markeredgewidth=width if edge != "none" else 0.0,
        )

    def _legend_beside(self, entries: list[tuple[Any, str]]) -> None:
        """To the right of the map, in as many columns as its height asks for."""
        font = 9.0 if len(entries) <= 14 else 8.0 if len(entries) <= 24 else 7.0
        height = axes_points(self.ax)[1] - 2.0 * font * bool(self.display.name)
        rows = max(int(height / (1.45 * font)), 6)
        self._make_legend(
            entries,
            fontsize=font,
            ncols=-(-len(entries) // rows),
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            title=None if self.display.name is None else shorten(self.display.name, LEGEND_NAME),
        )
        self.legend.set_in_layout(True)
        steal_room(self.ax, [self.legend])

    def _make_legend(self, entries: list[tuple[Any, str]], *, title: str | None = None, **options: Any) -> None:
        handles, names = zip(*entries, strict=True)
        tight = {"borderaxespad": 0.3, "handletextpad": 0.3, "columnspacing": 1.0, "labelspacing": 0.35}
        heading = "name" if title else None
        self.legend = plain_legend(
            self.ax, handles, names, self.theme, alignment="left", title=heading, **tight, **options
        )
        if title:
            text = self.legend.get_title()
            plain(text)
            text.set(text=title, color=self.theme.text, fontsize=options["fontsize"] + 0.5, fontweight="bold")

    def _colorbar(self) -> None:
        bar = self.ax.figure.colorbar(
            matplotlib_part("cm").ScalarMappable(self.norm, self.scale),
            ax=self.ax,
            extend=self.extend,
            shrink=0.75,
            aspect=26,
            pad=0.03 if self.Y.shape[1] < 3 else 0.08,
        )
        bar.outline.set_visible(False)
        if self.values.dates:
            locator = matplotlib_part("dates").AutoDateLocator()
            bar.ax.yaxis.set_major_locator(locator)
            bar.ax.yaxis.set_major_formatter(matplotlib_part("dates").ConciseDateFormatter(locator, show_offset=False))
        bar.ax.tick_params(colors=self.theme.muted, labelcolor=self.theme.text, length=2.5, labelsize=9)
        if self.display.name is not None:
            bar.set_label(shorten(self.display.name, LEGEND_NAME + 16), color=self.theme.text)
            plain(bar.ax.yaxis.label)
        self.colorbar = bar

    def settle(self) -> None:
        """Lay the figure out, then fit the limits to the space that the map got.

        Limits of axes with the same scale only ever grow: if fitted to the box before the layout, they would be too
        wide.
        """
        self.drawn.set_visible(False)  # they need no extra space, and drawing a million takes seconds
        self.ax.figure.canvas.figure.draw_without_rendering()
        self.drawn.set_visible(True)
        if self.Y.shape[1] == 2:
            self.ax.autoscale_view()
            self.ax.apply_aspect()

    # --- names on the map -------------------------------------------------------------------------------------------

    def names(self, *, wanted: bool) -> None:
        """Write the classes on the map, the largest first; those without space are left to the legend."""
        n_own = self.n_own
        if not wanted or n_own < 2 or self.Y.shape[1] != 2:
            return
        codes = self.classes.codes
        places = anchors(self.Y, codes, n_own)
        counts = np.bincount(codes[codes >= 0], minlength=n_own)[:n_own]
        groups = [int(group) for group in np.argsort(-counts, kind="stable") if counts[group]]
        font = 10.0 if n_own <= 12 else 8.5 if n_own <= 24 else 7.5
        texts = []
        for group in groups:
            color = legible(self.colors[group], self.theme)
            look: dict[str, Any] = {"fontsize": font, "fontweight": "bold", "color": color, "zorder": 6}
            name = self.classes.names[group]
            texts.append(write_name(self.ax, places[group], name, _MAP_NAME, self.theme, rim=3.0, **look))
        sizes = text_sizes(texts)
        # Above their place, so that a small group is not hidden under its own name.
        above = np.column_stack([np.zeros(len(texts)), 0.8 * sizes[:, 1]])
        centres = self.ax.transData.transform(places[groups]) + above
        for i, place in keep_clear(self.ax, texts, centres, sizes, margin=3.0):
            self.texts.append(texts[i])
            if np.hypot(*(place - centres[i])) > _TIE_FROM * sizes[i, 1]:
                tie(self.ax, centres[i], place, color=texts[i].get_color(), linewidth=0.8, zorder=5)
