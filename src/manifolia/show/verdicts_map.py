"""Picture of how far a map can be trusted: solid rows are filled, all others hollow, with a shape for each verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from manifolia._core.types import Array, FloatArray
from manifolia.exceptions import ParameterError
from manifolia.show._style import Axes, Display, plain_legend, point_size
from manifolia.show.palette import DARK, class_colors
from manifolia.trust.diagnosis import Diagnosis
from manifolia.trust.words import ROW_VERDICTS

#: Verdict to the shape of its rows, whether that is filled, and which colour it has.
_MARKERS = {
    "not judged": (".", True, None),
    "solid": ("o", True, 0),
    "cannot tell": ("s", False, None),
    "torn": ("^", False, 1),
    "chance": ("o", False, 1),
    "restless": ("v", False, 1),
    "foreign": ("D", False, 2),
}


@dataclass(eq=False, repr=False)
class TrustDisplay(Display):
    """Map with a shape for every verdict; make one with `from_diagnosis`.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        The first two dimensions of the map.
    verdicts : ndarray of shape (n,)
        Verdict on each row.
    title : str
        How far to trust the map, in one line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    points_ : dict of str to matplotlib collection
        After `plot`: the rows of each verdict.

    Examples
    --------
    >>> import numpy as np
    >>> import manifolia as mf
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> display = mf.show.TrustDisplay.from_diagnosis(mf.diagnose(X, X, random_state=0))
    >>> display.verdicts.shape
    (200,)
    """

    Y: FloatArray
    verdicts: Array
    title: str

    @classmethod
    def from_diagnosis(cls, diagnosis: Diagnosis) -> TrustDisplay:
        """Take the verdicts of a diagnosis.

        Parameters
        ----------
        diagnosis : Diagnosis
            What `manifolia.diagnose` returned.

        Returns
        -------
        TrustDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If the map has one dimension.
        """
        if diagnosis.Y.shape[1] < 2:
            raise ParameterError("diagnosis is of a map with one dimension, and two are drawn.", parameter="diagnosis")
        return cls(np.asarray(diagnosis.Y)[:, :2], diagnosis.rows["verdict"].to_numpy(), diagnosis.summary)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto", legend: bool = True) -> TrustDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        legend : bool, default=True
            Whether the verdicts are named, with the number of their rows.

        Returns
        -------
        TrustDisplay
            Itself, with `ax_` and `points_`.
        """
        axes, chosen = self._open(ax, theme, (6.4, 4.8))
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(self.title, color=chosen.text, fontsize="medium")
        colors = class_colors(3, dark=chosen is DARK)
        size = point_size(len(self.Y), axes)
        self.points_: dict[str, Any] = {}
        for verdict in sorted(ROW_VERDICTS, key=list(_MARKERS).index):  # the alarms on top
            rows = np.flatnonzero(self.verdicts == verdict)
            if not len(rows):
                continue
            marker, filled, color = _MARKERS[verdict]
            shade = chosen.muted if color is None else colors[color]
            look = {"c": shade, "linewidths": 0} if filled else {"facecolors": "none", "edgecolors": shade}
            self.points_[verdict] = axes.scatter(*self.Y[rows].T, s=size, marker=marker, **look)
        if legend and self.points_:
            names = [f"{verdict} ({(self.verdicts == verdict).sum():,})" for verdict in self.points_]
            plain_legend(axes, list(self.points_.values()), names, chosen, loc="best", fontsize="small")
        return self
