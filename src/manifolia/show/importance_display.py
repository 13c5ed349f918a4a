"""Which features matter: bars of importance, the largest on top, with their spread over the trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_number
from manifolia.show._style import apply_theme, new_axes, plain, resolve_theme, shorten
from manifolia.show.palette import DARK, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ImportanceDisplay"]

_NAME = 36  # characters of a feature's name
_BY_PERMUTATION = "growth of the error when the feature is permuted"


class ImportanceDisplay:
    """Bars of importance; make one with `from_estimator` or `from_values`.

    Parameters
    ----------
    names : list of str
        Features, the most important first.
    values : ndarray of shape (n_shown,)
        Their importance.
    spread : ndarray of shape (n_shown,) or None, default=None
        Half the length of the line on each bar.
    rows : ndarray of int of shape (n_shown,) or None, default=None
        Their places among all features.
    n_features : int or None, default=None
        How many features there are, with those not shown; None is as many as are shown.
    label : str, default="importance"
        What the bars measure.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    bars_ : matplotlib BarContainer
        After `plot`: the bars, the most important first.

    Examples
    --------
    >>> from manifolia.show import ImportanceDisplay
    >>> display = ImportanceDisplay.from_values([0.1, 0.5, 0.3], names=["age", "sex", "fare"], top=2)
    >>> display.names
    ['sex', 'fare']
    """

    def __init__(
        self,
        names: list[str],
        values: FloatArray,
        *,
        spread: FloatArray | None = None,
        rows: IntArray | None = None,
        n_features: int | None = None,
        label: str = "importance",
    ) -> None:
        self.names = names
        self.values = values
        self.spread = spread
        self.rows = rows
        self.n_features = len(names) if n_features is None else n_features
        self.label = label

    @classmethod
    def from_estimator(
        cls, estimator: Any, feature_names: Sequence[Any] | None = None, *, top: int = 20
    ) -> ImportanceDisplay:
        """Take the importances of a fitted estimator, with their standard deviations over trees.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with ``feature_importances_`` and, if it has them, ``importances_std_``; of a pipeline, its last
            step.
        feature_names : sequence of str, default=None
            Names of the features; None takes those that the estimator was fitted with.
        top : int, default=20
            How many to show.

        Returns
        -------
        ImportanceDisplay
            Ready to `plot`.

        Raises
        ------
        AttributeError
            If the estimator has no importances.
        """
        steps = hasattr(estimator, "steps")
        last = estimator[-1] if steps else estimator
        check_is_fitted(last)
        values = np.asarray(last.feature_importances_, dtype=np.float64)
        std = getattr(last, "importances_std_", None)
        if feature_names is None and steps and len(estimator.steps) > 1:
            feature_names = estimator[:-1].get_feature_names_out()
        if feature_names is None:
            feature_names = getattr(last, "feature_names_in_", None)
        label = "importance" if std is None else _BY_PERMUTATION
        return cls.from_values(values, std, names=feature_names, top=top, label=label)

    @classmethod
    def from_values(
        cls,
        values: ArrayLike,
        std: ArrayLike | None = None,
        *,
        names: Sequence[Any] | None = None,
        top: int = 20,
        label: str = "importance",
    ) -> ImportanceDisplay:
        """Take importances.

        Parameters
        ----------
        values : array-like of shape (d,)
            Importance of each feature.
        std : array-like of shape (d,), default=None
            Spread of each.
        names : sequence of str, default=None
            Names; None counts the features from 0.
        top : int, default=20
            How many to show.
        label : str, default="importance"
            What the bars measure.

        Returns
        -------
        ImportanceDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If lengths differ, or a number is not finite.
        """
        check_number(top, "top", low=1, integer=True)
        checked = np.asarray(values, dtype=np.float64)
        if checked.ndim != 1 or not checked.size or not np.isfinite(checked).all():
            message = f"values must be one row of finite numbers, one for each feature, got shape {checked.shape}."
            raise ValueError(message)
        d = checked.shape[0]
        spread = None if std is None else np.asarray(std, dtype=np.float64)
        if spread is not None and (spread.shape != (d,) or not (spread >= 0).all()):
            message = f"std must have one number, not below 0, for each of {d} features, got shape {spread.shape}."
            raise ValueError(message)
        texts = [f"feature {i}" for i in range(d)] if names is None else [str(name) for name in names]
        if len(texts) != d:
            message = f"feature_names (names) has {len(texts)} entries and there are {d} features. Pass one for each."
            raise ValueError(message)
        order = np.argsort(-checked, kind="stable")[:top]
        return cls(
            [texts[i] for i in order],
            checked[order],
            spread=None if spread is None else spread[order],
            rows=order,
            n_features=d,
            label=label,
        )

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> ImportanceDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.

        Returns
        -------
        ImportanceDisplay
            Itself, with `ax_`, `figure_` and `bars_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        import_extra("matplotlib", extra="plot", purpose="ImportanceDisplay.plot")
        n = len(self.names)
        if ax is None:
            ax = new_axes("ImportanceDisplay.plot", (6.4, float(np.clip(1.1 + 0.26 * n, 2.0, 14.0))))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        places = np.arange(n)
        self.bars_ = ax.barh(places, self.values, height=0.72, color=class_colors(1, dark=chosen is DARK)[0])
        if self.spread is not None:
            lines: dict[str, Any] = {
                "fmt": "none",
                "ecolor": chosen.muted,
                "elinewidth": 1.1,
                "capsize": 2.0,
                "capthick": 1.1,
            }
            ax.errorbar(self.values, places, xerr=self.spread, **lines)
        ax.axvline(0.0, color=chosen.muted, linewidth=0.8)
        ax.set_yticks(places, [shorten(name, _NAME) for name in self.names], fontsize=9 if n <= 30 else 7)
        for text in ax.get_yticklabels():
            plain(text)
        ax.set(ylim=(n - 0.4, -0.6), xlabel=self._words())
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.margins(x=0.02)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _words(self) -> str:
        text = self.label
        if self.spread is not None:
            text += "\n(line: ± standard deviation over trees)"
        hidden = self.n_features - len(self.names)
        return text + (f"\n{hidden:,} more features not shown" if hidden else "")
