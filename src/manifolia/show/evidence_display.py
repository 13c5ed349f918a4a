"""What speaks for a row, on the map, and how gaps were filled: pictures of `manifolia.forest.tools`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray
from manifolia._core.validate import check_map, check_matrix, check_number
from manifolia.forest.tools import Evidence, Imputed, evidence
from manifolia.show._style import apply_theme, new_axes, point_size, resolve_theme, shorten
from manifolia.show.palette import DARK, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EvidenceDisplay", "ImputationDisplay"]

_NAME = 24
_WIDEST = 5.0  # points: a line of weight 1


class EvidenceDisplay:
    """A row, and the labelled rows that speak for it, on the map; make one with `from_matrix`.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        Places of the training rows.
    spot : ndarray of shape (2,)
        Place of the row.
    found : Evidence
        Of this row alone.
    title : str
        What the row is called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    """

    def __init__(self, Y: FloatArray, spot: FloatArray, found: Evidence, title: str) -> None:
        self.Y = Y
        self.spot = spot
        self.found = found
        self.title = title

    @classmethod
    def from_matrix(
        cls,
        K: ArrayLike,
        Y: ArrayLike,
        y: ArrayLike,
        row: int,
        *,
        places: ArrayLike | None = None,
        n_neighbors: int = 5,
    ) -> EvidenceDisplay:
        """Look up the evidence of one row.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (m, n)
            Proximities of rows to the n training rows.
        Y : array-like of shape (n, 2)
            The map of the training rows.
        y : array-like of shape (n,)
            Their classes, some may be missing.
        row : int
            Which row of `K`.
        places : array-like of shape (m, 2), default=None
            Places of the rows of `K`; None: they are the training rows.
        n_neighbors : int, default=5
            How many speak.

        Returns
        -------
        EvidenceDisplay
            Ready to `plot`.
        """
        matrix = check_matrix(K, name="K", accept_sparse=True)
        row = check_number(row, "row", low=0, high=matrix.shape[0] - 1, integer=True)
        Y = check_map(Y, n_rows=matrix.shape[1])
        own = Y if places is None else check_map(places, n_rows=matrix.shape[0], name="places")
        whole = evidence(matrix, y, n_neighbors=n_neighbors)
        one = whole._replace(rows=whole.rows[[row]], weights=whole.weights[[row]], labels=whole.labels[[row]],
                             votes=whole.votes[[row]])  # fmt: skip
        return cls(Y, own[row], one, f"row {row}")

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> EvidenceDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        EvidenceDisplay
            Itself, with `ax_`. A line is as wide as the row's share of the proximity.
        """
        if ax is None:
            ax = new_axes("EvidenceDisplay.plot", (6.4, 4.6))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        classes = list(self.found.classes)
        colors = dict(zip(classes, class_colors(len(classes), dark=chosen is DARK), strict=True))
        ax.scatter(
            self.Y[:, 0], self.Y[:, 1], s=point_size(len(self.Y), ax), color=chosen.faint, linewidths=0, zorder=1
        )
        seen = set()
        for other, weight, label in zip(self.found.rows[0], self.found.weights[0], self.found.labels[0], strict=True):
            if other < 0:
                continue
            vote = self.found.votes[0][classes.index(label)]
            name = None if label in seen else f"{shorten(label, _NAME)}: {vote:.0%} of the proximity"
            seen.add(label)
            line = np.array([self.spot[:2], self.Y[other, :2]])
            ax.plot(*line.T, color=colors[label], linewidth=max(0.8, _WIDEST * weight), alpha=0.7, zorder=2)
            ax.scatter(
                self.Y[other, 0], self.Y[other, 1], s=36, color=colors[label], label=name, zorder=3, linewidths=0
            )
        ax.scatter(
            self.spot[0], self.spot[1], s=110, marker="*", color=chosen.text, zorder=4, label=self.title, linewidths=0
        )
        ax.set(xticks=[], yticks=[])
        legend = ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for text in legend.get_texts():
            text.set_color(chosen.text)
        self.ax_ = ax
        return self


class ImputationDisplay:
    """Known and filled values of the columns with most gaps; make one with `from_imputed`.

    Parameters
    ----------
    values : ndarray of shape (n, c)
        Columns that are drawn, standardised by their known values.
    missing : ndarray of bool of shape (n, c)
        Which were filled in.
    names : list of str
        Of the columns.
    change : ndarray of shape (rounds,)
        Change in each round.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    """

    def __init__(self, values: FloatArray, missing: BoolArray, names: list[str], change: FloatArray) -> None:
        self.values = values
        self.missing = missing
        self.names = names
        self.change = change

    @classmethod
    def from_imputed(cls, found: Imputed, *, feature_names: Array | None = None, top: int = 8) -> ImputationDisplay:
        """Take what `manifolia.forest.impute` gave.

        Parameters
        ----------
        found : Imputed
            Filled data.
        feature_names : sequence of str, default=None
            Names of the columns.
        top : int, default=8
            Columns to draw, those with most gaps.

        Returns
        -------
        ImputationDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If there was no gap.
        """
        counts = found.missing.sum(axis=0)
        if not counts.any():
            message = "nothing was missing, so there is nothing to show."
            raise ValueError(message)
        top = check_number(top, "top", low=1, integer=True)
        columns = [f for f in np.argsort(-counts, kind="stable")[:top] if counts[f]]
        known = np.where(found.missing, np.nan, found.X)[:, columns]
        spread = np.nanstd(known, axis=0)
        values = (found.X[:, columns] - np.nanmean(known, axis=0)) / np.where(spread > 0, spread, 1.0)
        names = [f"feature {f}" if feature_names is None else str(feature_names[f]) for f in columns]
        return cls(values, found.missing[:, columns], names, found.change)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> ImputationDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        ImputationDisplay
            Itself, with `ax_`: known values in grey above the line of a column, filled ones below.
        """
        n = len(self.names)
        if ax is None:
            ax = new_axes("ImputationDisplay.plot", (6.6, float(np.clip(1.4 + 0.5 * n, 2.4, 14.0))))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        color = class_colors(1, dark=chosen is DARK)[0]
        for place in range(n):
            filled = self.missing[:, place]
            for here, shift, paint, label in (
                (~filled, -0.16, chosen.muted, "known"),
                (filled, 0.16, color, "filled in"),
            ):
                values = self.values[here, place]
                # Spread over a narrow band in the order of the data, so that equal values can be told apart.
                across = place + shift + 0.22 * ((np.arange(len(values)) + 0.5) / max(len(values), 1) - 0.5)
                ax.scatter(
                    values, across, s=9, color=paint, alpha=0.6, linewidths=0, label=label if place == 0 else None
                )
        ax.set_yticks(range(n), [shorten(name, _NAME) for name in self.names])
        last = f"; last change {self.change[-1]:.2g}" if len(self.change) else ""
        ax.set(ylim=(n - 0.5, -0.5), xlabel=f"standard deviations from the known mean\n{len(self.change)} rounds{last}")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        legend = ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for text in legend.get_texts():
            text.set_color(chosen.text)
        self.ax_ = ax
        return self
