"""Rows that are unlike their class, and rows that are typical of it: pictures of `manifolia.forest.tools`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_labels, check_matrix, check_number
from manifolia.forest.tools import Prototype, outlier_scores, prototypes
from manifolia.show._style import apply_theme, new_axes, plain, resolve_theme, shorten
from manifolia.show.palette import DARK, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OutlierDisplay", "PrototypeDisplay"]

_LIMIT = 10.0  # above it Breiman and Cutler call a row an outlier
_NAMES = 3  # rows of a class that are named
_NAME = 24


class OutlierDisplay:
    """Outlier scores, one column of points for each class; make one with `from_matrix`.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        From `manifolia.forest.outlier_scores`.
    labels : ndarray of shape (n,)
        Classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    named_ : list of int
        After `plot`: rows whose number stands beside their point.
    """

    def __init__(self, scores: FloatArray, labels: Array) -> None:
        self.scores = scores
        self.labels = labels

    @classmethod
    def from_matrix(cls, K: ArrayLike, y: ArrayLike) -> OutlierDisplay:
        """Score the rows of a matrix of proximities.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (n, n)
            Proximities, such as `manifolia.forest.proximity` gives.
        y : array-like of shape (n,)
            Classes.

        Returns
        -------
        OutlierDisplay
            Ready to `plot`.

        Examples
        --------
        >>> import numpy as np
        >>> from manifolia.show import OutlierDisplay
        >>> display = OutlierDisplay.from_matrix(np.ones((6, 6)), ["a"] * 3 + ["b"] * 3)
        >>> display.scores.shape
        (6,)
        """
        return cls(outlier_scores(K, y), check_labels(y))

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> OutlierDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        OutlierDisplay
            Itself, with `ax_` and `named_`. An infinite score is drawn as a triangle on top.
        """
        classes = np.unique(self.labels)
        if ax is None:
            ax = new_axes("OutlierDisplay.plot", (float(np.clip(2.0 + 0.8 * len(classes), 4.0, 14.0)), 4.2))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        finite = self.scores[np.isfinite(self.scores)]
        top = 1.08 * max(float(finite.max(initial=0.0)), 1.2 * _LIMIT)
        colors = class_colors(len(classes), dark=chosen is DARK)
        self.named_ = []
        for place, (label, color) in enumerate(zip(classes, colors, strict=True)):
            rows = np.flatnonzero(self.labels == label)
            order = rows[np.argsort(-self.scores[rows], kind="stable")]
            height = np.minimum(self.scores[rows], top)
            # Points of a class side by side in the order of the data, so that they do not hide each other.
            across = place + 0.6 * ((np.arange(len(rows)) + 0.5) / max(len(rows), 1) - 0.5)
            lost = np.isinf(self.scores[rows])
            ax.scatter(across[~lost], height[~lost], s=10, color=color, alpha=0.7, linewidths=0)
            ax.scatter(across[lost], height[lost], s=22, color=color, marker="^", linewidths=0)
            for row in order[:_NAMES]:
                if self.scores[row] > _LIMIT:
                    at = np.flatnonzero(rows == row)[0]
                    spot = (across[at], min(self.scores[row], top))
                    ax.annotate(str(row), spot, xytext=(4, 0), textcoords="offset points", fontsize=7, va="center",
                                color=chosen.text)  # fmt: skip
                    self.named_.append(int(row))
        ax.axhline(_LIMIT, color=chosen.muted, linewidth=0.8, linestyle="--")
        ax.set_xticks(range(len(classes)), [shorten(label, _NAME) for label in classes])
        for text in ax.get_xticklabels():
            plain(text)
        ax.set(ylabel="outlier score in its class", xlim=(-0.6, len(classes) - 0.4), ylim=(None, 1.05 * top))
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        return self


class PrototypeDisplay:
    """Typical rows of each class, feature by feature, with their quartiles; make one with `from_matrix`.

    Parameters
    ----------
    found : list of Prototype
        From `manifolia.forest.prototypes`.
    names : list of str
        Features.
    centre : ndarray of shape (d,)
        Median of each feature over all rows: the zero of the drawing.
    spread : ndarray of shape (d,)
        Interquartile range over all rows: its unit.
    features : ndarray of int
        Features that are drawn: those in which the prototypes differ most.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    """

    def __init__(
        self, found: list[Prototype], names: list[str], centre: FloatArray, spread: FloatArray, features: IntArray
    ) -> None:
        self.found = found
        self.names = names
        self.centre = centre
        self.spread = spread
        self.features = features

    @classmethod
    def from_matrix(
        cls,
        K: ArrayLike,
        X: ArrayLike,
        y: ArrayLike,
        *,
        feature_names: Sequence[Any] | None = None,
        n_prototypes: int = 1,
        top: int = 12,
    ) -> PrototypeDisplay:
        """Find the prototypes.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (n, n)
            Proximities.
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Classes.
        feature_names : sequence of str, default=None
            Names of the features.
        n_prototypes : int, default=1
            How many for each class.
        top : int, default=12
            Features to draw.

        Returns
        -------
        PrototypeDisplay
            Ready to `plot`.
        """
        data = check_matrix(X, allow_nan=True).astype(np.float64)
        top = check_number(top, "top", low=1, integer=True)
        found = prototypes(K, data, y, n_prototypes=n_prototypes)
        low, centre, high = np.nanquantile(data, (0.25, 0.5, 0.75), axis=0)
        spread = np.where(high > low, high - low, np.maximum(np.nanstd(data, axis=0), 1e-300))
        given = getattr(X, "columns", None) if feature_names is None else feature_names
        names = [f"feature {f}" for f in range(data.shape[1])] if given is None else [str(name) for name in given]
        apart = np.ptp(np.array([one.values for one in found]) / spread, axis=0)
        features = np.sort(np.argsort(-apart, kind="stable")[:top])
        return cls(found, names, centre, spread, features)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> PrototypeDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        PrototypeDisplay
            Itself, with `ax_`.
        """
        if ax is None:
            ax = new_axes("PrototypeDisplay.plot", (6.8, float(np.clip(1.4 + 0.42 * len(self.features), 2.6, 14.0))))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        labels = list(dict.fromkeys(one.label for one in self.found))
        colors = dict(zip(labels, class_colors(len(labels), dark=chosen is DARK), strict=True))
        seen: set[Any] = set()
        for k, one in enumerate(self.found):
            shift = 0.5 * ((k + 0.5) / len(self.found) - 0.5)
            places = np.arange(len(self.features)) + shift
            low, middle, high = (
                (part[self.features] - self.centre[self.features]) / self.spread[self.features]
                for part in (one.low, one.values, one.high)
            )
            ax.hlines(places, low, high, color=colors[one.label], linewidth=1.6, alpha=0.6)
            name = None if one.label in seen else shorten(one.label, _NAME)
            ax.scatter(middle, places, s=22, color=colors[one.label], label=name, zorder=3, linewidths=0)
            seen.add(one.label)
        ax.set_yticks(range(len(self.features)), [shorten(self.names[f], _NAME) for f in self.features])
        for text in ax.get_yticklabels():
            plain(text)
        hidden = len(self.names) - len(self.features)
        words = "from the median of all rows, in interquartile ranges"
        ax.set(ylim=(len(self.features) - 0.5, -0.5), xlabel=words + (f"\n{hidden:,} more features" if hidden else ""))
        ax.axvline(0.0, color=chosen.muted, linewidth=0.8)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        legend = ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for text in legend.get_texts():
            text.set_color(chosen.text)
        self.ax_ = ax
        return self
