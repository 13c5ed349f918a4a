"""What a study found: the front of two metrics, and which parameters matter."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from manifolia._core.validate import check_is_fitted, check_option
from manifolia.show._study_axes import metric_name, study_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ParetoDisplay", "SensitivityDisplay"]

_LINE = 58  # characters a line of a refusal, which then fits half a picture


class ParetoDisplay:
    """Trials by two metrics, with the expected front and its knee; make one with `from_tuner`.

    Parameters
    ----------
    trials : DataFrame
        Trials that worked, with a column per metric.
    front : DataFrame
        Those on the expected front.
    metrics : tuple of str
        Two.
    knee : dict
        Setting at the knee.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    front_ : matplotlib PathCollection
        After `plot`: the points of the front.
    """

    def __init__(
        self, trials: pd.DataFrame, front: pd.DataFrame, metrics: tuple[str, str], knee: dict[str, Any]
    ) -> None:
        self.trials = trials
        self.front = front
        self.metrics = metrics
        self.knee = knee

    @classmethod
    def from_tuner(cls, tuner: Any, metrics: tuple[str, str] | None = None) -> ParetoDisplay:
        """Take the trials of a tuner with several metrics.

        Parameters
        ----------
        tuner : Tuner
            Fitted.
        metrics : tuple of str or None, default=None
            Two of its metrics; None takes the first two.

        Returns
        -------
        ParetoDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If the tuner has one metric.
        """
        check_is_fitted(tuner, "best_params_")
        names = [one.name for one in tuner._metrics]
        if len(names) < 2:
            message = f"a front needs two metrics, and the tuner has {names[0]!r} alone. Pass a list of metrics to it."
            raise ValueError(message)
        chosen = tuple(check_option(one, "metrics", names) for one in (metrics or names[:2]))
        worked = tuner.trials_[tuner.trials_["error"] == ""]
        return cls(worked, tuner.pareto_, (chosen[0], chosen[1]), tuner.knee_)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> ParetoDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set backgrounds.

        Returns
        -------
        ParetoDisplay
            Itself.
        """
        ax, chosen, (blue, orange, _) = study_axes(ax, "ParetoDisplay.plot", theme)
        x, y = self.metrics
        ax.scatter(self.trials[x], self.trials[y], s=24, color=chosen.muted, label="tried")
        ordered = self.front.sort_values(x)
        ax.plot(ordered[x], ordered[y], color=blue, linewidth=1.0, zorder=1)
        sizes = 30 + 60 * ordered["chance"]
        self.front_: Any = ax.scatter(ordered[x], ordered[y], s=sizes, color=blue, label="front; larger: surer")
        at = self.front[np.all([self.front[k] == v for k, v in self.knee.items()], axis=0)]
        ax.scatter(at[x], at[y], s=160, facecolors="none", edgecolors=orange, linewidths=2, label="knee")
        ax.set(xlabel=x, ylabel=y)
        ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SensitivityDisplay:
    """Which parameters matter, as bars with intervals, or why that cannot be told; make one with `from_tuner`.

    Parameters
    ----------
    table : DataFrame or None
        A row per parameter with S1, ST, Shapley and the ends of their intervals.
    r2 : float
        Leave-one-out R² of the surrogate; NaN without a table.
    refusal : str, default=""
        Why there is no table.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    bars_ : list
        After `plot`: one container of bars per index.
    """

    def __init__(self, table: pd.DataFrame | None, r2: float, *, refusal: str = "") -> None:
        self.table = table
        self.r2 = r2
        self.refusal = refusal

    @classmethod
    def from_tuner(cls, tuner: Any, *, metric: str | None = None) -> SensitivityDisplay:
        """Take the sensitivities of a fitted tuner, or its refusal.

        Parameters
        ----------
        tuner : Tuner
            Fitted.
        metric : str or None, default=None
            One of its metrics; None is the first.

        Returns
        -------
        SensitivityDisplay
            Ready to `plot`.
        """
        name = metric_name(tuner, metric)
        try:
            found = tuner.sensitivity(name)
        except ValueError as refusal:
            return cls(None, math.nan, refusal=str(refusal))
        return cls(found.table, found.r2)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> SensitivityDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set backgrounds.

        Returns
        -------
        SensitivityDisplay
            Itself.
        """
        ax, chosen, colors = study_axes(ax, "SensitivityDisplay.plot", theme)
        self.bars_: list[Any] = []
        self.ax_, self.figure_ = ax, ax.figure
        if self.table is None:
            middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": ax.transAxes}
            said = textwrap.fill(self.refusal[:1].upper() + self.refusal[1:], _LINE)
            ax.text(0.5, 0.5, said, color=chosen.text, fontsize=9, **middle)
            ax.set_title("Which parameters matter cannot be told", color=chosen.text)
            ax.set_axis_off()
            return self
        places = np.arange(len(self.table))
        shown = [name for name in ("S1", "ST", "Shapley") if self.table[name].notna().all()]
        labels = {"S1": "alone (S1)", "ST": "with interactions (ST)", "Shapley": "Shapley effect"}
        for i, (name, color) in enumerate(zip(shown, colors, strict=False)):
            values = self.table[name].to_numpy()
            low = np.maximum(values - self.table[f"{name} low"].to_numpy(), 0)
            high = np.maximum(self.table[f"{name} high"].to_numpy() - values, 0)
            height = 0.8 / len(shown)
            at = places + (i - (len(shown) - 1) / 2) * height
            style = {"ecolor": chosen.text, "elinewidth": 1.0, "capsize": 2}
            self.bars_.append(
                ax.barh(at, values, height * 0.92, xerr=[low, high], color=color, label=labels[name], error_kw=style)
            )
        ax.set_yticks(places, self.table.index)
        ax.invert_yaxis()
        ax.set(xlabel="share of the loss's variance, with 90 % intervals", title=f"surrogate's R² {self.r2:.2f}")
        ax.title.set_color(chosen.text)
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": len(shown)}
        ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9, **below)
        return self
