"""Pictures of a study: its progress, the effect of a parameter, the front of two metrics, which parameters matter."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia._core.validate import check_is_fitted, check_option
from manifolia.exceptions import ParameterError
from manifolia.show._style import Axes, Display, color_map, matplotlib_part
from manifolia.show.palette import DARK, Theme, class_colors

_GRID = 40  # points per side of a heat map
_LINE = 58  # characters per line of a refusal, which then fits half a picture


class _StudyDisplay(Display):
    """A picture of a study, on axes without a box, in up to three colours."""

    def _open_study(self, ax: Any, theme: str) -> tuple[Any, Theme, list[str]]:
        ax, chosen = self._open(ax, theme, (6.0, 4.0), hide=("top", "right"))
        return ax, chosen, class_colors(3, dark=chosen is DARK)


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(_StudyDisplay):
    """The smallest loss so far, trial by trial, in one study or several; make one with `from_estimator`.

    Parameters
    ----------
    best : ndarray of shape (n_studies, n_trials)
        Smallest loss up to each trial; NaN before the first that worked.
    metric : str
        Name of the metric.
    reference : float or None, default=None
        A loss to compare with, such as a grid's.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    line_ : matplotlib Line2D
        After `plot`: the curve, or the mean of several.
    """

    best: FloatArray
    metric: str
    _: KW_ONLY
    reference: float | None = None

    @classmethod
    def from_estimator(
        cls, tuner: Any, *, metric: str | None = None, reference: float | None = None
    ) -> ConvergenceDisplay:
        """Take the trials of a fitted tuner, or of several of the same plan.

        Parameters
        ----------
        tuner : Tuner or list of Tuner
            Fitted.
        metric : str or None, default=None
            One of their metrics; None is the first.
        reference : float or None, default=None
            A loss to compare with.

        Returns
        -------
        ConvergenceDisplay
            Ready to `plot`. The curve shows losses as seen; the smallest of noisy losses is too optimistic.
        """
        tuners = tuner if isinstance(tuner, (list, tuple)) else [tuner]
        name = _metric_name(tuners[0], metric)
        curves = [np.fmin.accumulate(one.trials_[f"{name}_loss"].to_numpy(dtype=float)) for one in tuners]
        longest = max(len(curve) for curve in curves)
        padded = [np.concatenate((curve, np.full(longest - len(curve), curve[-1]))) for curve in curves]
        return cls(np.array(padded), name, reference=reference)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> ConvergenceDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set backgrounds.

        Returns
        -------
        ConvergenceDisplay
            Itself.
        """
        ax, chosen, (blue, orange, _) = self._open_study(ax, theme)
        trials = np.arange(1, self.best.shape[1] + 1)
        mean = self.best.mean(axis=0)
        several = len(self.best) > 1
        if several:
            low, high = np.nanquantile(self.best, [0.1, 0.9], axis=0)
            ax.fill_between(trials, low, high, color=blue, alpha=0.2, linewidth=0, label="8 of 10 studies")
        label = f"mean of {len(self.best)} studies" if several else "least so far"
        self.line_: Any = ax.plot(trials, mean, color=blue, linewidth=1.8, marker=".", label=label)[0]
        if self.reference is not None:
            ax.axhline(self.reference, color=orange, linestyle="--", linewidth=1.2, label=f"grid: {self.reference:.3g}")
        ax.set(xlabel="trial", ylabel=f"loss by {self.metric}, least so far")
        ax.xaxis.set_major_locator(matplotlib_part("ticker").MaxNLocator(integer=True))
        ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9)
        return self


@dataclass(eq=False, repr=False)
class SettingDisplay(_StudyDisplay):
    """A metric over one parameter, as boxes of runs, or the expected loss over two, as a heat map.

    Parameters
    ----------
    table : DataFrame
        A row per run (one parameter) or per trial (two), with a column per parameter.
    parameters : list of str
        One or two.
    metric : str
        Name of the metric.
    expected : DataFrame or None, default=None
        What the surrogate expects over a curve, or a regular grid: the loss as ``mean`` and ``sd``, and the metric as
        ``value`` and ``value_sd``, which are NaN if its loss is not a linear function of it.
    others : bool, default=False
        Whether the study has other parameters, which have their recommended values in `expected`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    artist_ : object
        After `plot`: boxes, or the heat map.
    """

    table: pd.DataFrame
    parameters: list[str]
    metric: str
    _: KW_ONLY
    expected: pd.DataFrame | None = None
    others: bool = False

    @classmethod
    def from_estimator(
        cls, tuner: Any, parameters: str | Sequence[str] | None = None, *, metric: str | None = None
    ) -> SettingDisplay:
        """Take the runs of a fitted tuner.

        Parameters
        ----------
        tuner : Tuner
            Fitted.
        parameters : str, sequence of str or None, default=None
            One or two numeric parameters; None takes all if they are at most two.
        metric : str or None, default=None
            One of its metrics; None is the first.

        Returns
        -------
        SettingDisplay
            Ready to `plot`. Other parameters have their recommended values in what is expected.

        Raises
        ------
        ValueError
            If more than two parameters are left to choose from, or one is not a number.
        """
        name = _metric_name(tuner, metric)
        space = tuner._space
        given = [parameters] if isinstance(parameters, str) else list(parameters or space.names)
        for one in given:
            check_option(one, "parameters", space.names)
        if len(given) > 2:
            raise ParameterError(
                f"parameters must be one or two, got {given}. Name those to draw.", parameter="parameters"
            )
        wrong = [one for one in given if not hasattr(space.parameters[one], "low")]
        if wrong:
            raise ValueError(
                f"{wrong[0]!r} is a choice without an order and cannot be an axis. Name a numeric parameter."
            )
        points = np.linspace(0, 1, 200 if len(given) == 1 else _GRID)
        axes = [[space.parameters[one].at(u) for u in points] for one in given]
        mesh = [values.ravel() for values in np.meshgrid(*axes, indexing="ij")]
        settings = [{**tuner.best_setting_, **dict(zip(given, row, strict=True))} for row in zip(*mesh, strict=True)]
        settings = [{k: v.item() if isinstance(v, np.generic) else v for k, v in one.items()} for one in settings]
        mean, sd = tuner.expect(settings, name)
        expected = pd.DataFrame({**dict(zip(given, mesh, strict=True)), "mean": mean, "sd": sd})
        # Penalised and other quantiles lie beside the middle of the boxes, and do not belong in the same picture.
        plain = tuner.aggregate_ in ("mean", "median")
        metric_of_loss = _value_of_loss(next(one for one in tuner._metrics if one.name == name))
        shift, slope = metric_of_loss if plain else (math.nan, math.nan)
        expected["value"], expected["value_sd"] = shift + slope * mean, abs(slope) * sd
        trials = tuner.trials_[tuner.trials_["error"] == ""]
        table = trials
        if len(given) == 1:
            table = tuner.runs_[tuner.runs_["error"] == ""].merge(trials[["slot", *given]], on="slot")
        return cls(table, given, name, expected=expected, others=len(given) < len(space.names))

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> SettingDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set backgrounds.

        Returns
        -------
        SettingDisplay
            Itself.
        """
        ax, chosen, (blue, orange, _) = self._open_study(ax, theme)
        if len(self.parameters) == 1:
            self._boxes(ax, chosen, blue, orange)
        else:
            self._heat(ax, chosen, orange)
        return self

    def _boxes(self, ax: Any, chosen: Any, blue: str, orange: str) -> None:
        (name,) = self.parameters
        groups = [(at, runs[self.metric].to_numpy()) for at, runs in self.table.groupby(name, sort=True)]
        places = np.array([at for at, _ in groups], dtype=float)
        log = _is_wide(places)
        position = np.log10(places) if log else places
        width = 0.02 * (np.ptp(position) or 1.0)
        widths = np.full(len(places), width) if not log else places * (10 ** (width / 2) - 10 ** (-width / 2))
        if log:
            _logarithmic(ax.set_xscale, ax.xaxis)
        line = {"color": chosen.text, "linewidth": 0.8}
        self.artist_: Any = ax.boxplot(
            [values for _, values in groups],
            positions=places,
            widths=widths,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": blue, "alpha": 0.5, "linewidth": 0.8},
            medianprops=line,
            whiskerprops=line,
            capprops=line,
            flierprops={"markersize": 3, "markeredgecolor": chosen.text},
        )
        expected = self.expected
        if expected is not None and expected["value"].notna().all():
            x, value, sd = (expected[column].to_numpy(dtype=float) for column in (name, "value", "value_sd"))
            label = "expected, other settings as recommended" if self.others else "expected"
            ax.plot(x, value, color=orange, linewidth=1.4, zorder=1, label=label)
            band = {"color": orange, "alpha": 0.15, "linewidth": 0, "zorder": 0}
            ax.fill_between(x, value - 2 * sd, value + 2 * sd, label="± 2 standard deviations", **band)
            ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9)
        ax.set(xlabel=name, ylabel=self.metric)

    def _heat(self, ax: Any, chosen: Any, orange: str) -> None:
        x, y = self.parameters
        expected = self.expected
        assert expected is not None  # made together with two parameters
        side = int(np.sqrt(len(expected)))
        grid = [expected[name].to_numpy(dtype=float).reshape(side, side) for name in (x, y)]
        mean = expected["mean"].to_numpy().reshape(side, side)
        self.artist_ = ax.pcolormesh(*grid, mean, cmap=color_map(chosen), shading="gouraud")
        for values, set_scale, axis in ((grid[0], ax.set_xscale, ax.xaxis), (grid[1], ax.set_yscale, ax.yaxis)):
            if _is_wide(values):
                _logarithmic(set_scale, axis)
        ax.scatter(self.table[x], self.table[y], s=22, color=orange, edgecolors="white", linewidths=0.6, label="tried",
                   clip_on=False, zorder=3)  # fmt: skip
        bar = ax.figure.colorbar(self.artist_, ax=ax)
        bar.set_label(f"expected loss by {self.metric}", color=chosen.text)
        bar.ax.tick_params(colors=chosen.text)
        ax.set(xlabel=x, ylabel=y)
        # Above the map: on it, the legend's marker would look like a setting.
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9, **above)


@dataclass(eq=False, repr=False)
class ParetoDisplay(_StudyDisplay):
    """Trials by two metrics, with the expected front and its knee; make one with `from_estimator`.

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

    trials: pd.DataFrame
    front: pd.DataFrame
    metrics: tuple[str, str]
    knee: dict[str, Any]

    @classmethod
    def from_estimator(cls, tuner: Any, metrics: tuple[str, str] | None = None) -> ParetoDisplay:
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
            raise ValueError(
                f"a front needs two metrics, and the tuner has {names[0]!r} alone. Pass a list of metrics to it."
            )
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
        ax, chosen, (blue, orange, _) = self._open_study(ax, theme)
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
        return self


@dataclass(eq=False, repr=False)
class SensitivityDisplay(_StudyDisplay):
    """Which parameters matter, as bars with intervals, or why they are unknown; make one with `from_estimator`.

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

    table: pd.DataFrame | None
    r2: float
    _: KW_ONLY
    refusal: str = ""

    @classmethod
    def from_estimator(cls, tuner: Any, *, metric: str | None = None) -> SensitivityDisplay:
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
        name = _metric_name(tuner, metric)
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
        ax, chosen, colors = self._open_study(ax, theme)
        self.bars_: list[Any] = []
        if self.table is None:
            middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": ax.transAxes}
            said = textwrap.fill(self.refusal[:1].upper() + self.refusal[1:], _LINE)
            ax.text(0.5, 0.5, said, color=chosen.text, fontsize=9, **middle)
            ax.set_title("It is not known which parameters matter", color=chosen.text)
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
        ax.set(xlabel="share of the loss's variance, with 90% intervals", title=f"surrogate's R² {self.r2:.2f}")
        ax.title.set_color(chosen.text)
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": len(shown)}
        ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9, **below)
        return self


def _metric_name(tuner: Any, metric: str | None) -> str:
    """Choose a metric of a fitted tuner."""
    check_is_fitted(tuner, "best_params_")
    names = [one.name for one in tuner._metrics]
    return names[0] if metric is None else str(check_option(metric, "metric", names))


def write_study_picture(tuner: Any, path: str | os.PathLike[str]) -> None:
    """Write a picture of a study: its progress, and its front or which parameters matter."""
    figure = matplotlib_part("figure", "a picture of a study").Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ConvergenceDisplay.from_estimator(tuner).plot(left, theme="light")
    second: Any = ParetoDisplay if hasattr(tuner, "pareto_") else SensitivityDisplay
    second.from_estimator(tuner).plot(right, theme="light")
    figure.savefig(path, dpi=120)


def _value_of_loss(metric: Any) -> tuple[float, float]:
    """Shift and slope of a metric as a linear function of its loss; NaN where it is not one."""
    low, high = metric.range
    if metric.normalizer is None and math.isfinite(low) and math.isfinite(high):
        return (low, high - low) if metric.direction == "lower" else (high, low - high)
    if metric.normalizer is not None and math.isinf(low):  # a user's function, whose loss is its negative
        return 0.0, -1.0
    return math.nan, math.nan


def _logarithmic(set_scale: Any, axis: Any) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5: its own labels overlap over one or two decades."""
    ticker = matplotlib_part("ticker")
    set_scale("log")
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _is_wide(values: FloatArray) -> bool:
    """Whether an axis reads better with equal ratios as equal steps."""
    return bool(values.min() > 0 and values.max() / values.min() > 20)
