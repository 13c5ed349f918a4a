"""Which features matter: bars of importance, and a table of contribution, importance and value.

`ImportanceDisplay` has one bar per feature, the largest on top, with its spread over the trees. `FeatureTableDisplay`
has three:

=============  ==================================================  ==================================================
bar            of a FeatureMAP                                     of any map
=============  ==================================================  ==================================================
contribution   length of the mean arrow over the rows              length of its arrow: correlation with both axes
importance     mean importance over the rows (Eq. 4)               share of its variance that the axes explain
value          mean of the feature over the rows                   the same
=============  ==================================================  ==================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from manifolia._core.pipelines import last_step
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_map, check_matrix, check_number, check_option, row_numbers
from manifolia.exceptions import ParameterError
from manifolia.explain.gradients import correlation_arrows
from manifolia.registry import card_of
from manifolia.show._features import explained_model, feature_means, name_features, sample_rows
from manifolia.show._style import UNDERLINED, Axes, Display, check_shape, name_ticks, plain, shorten
from manifolia.show.palette import DARK, class_colors

_NAME = 36  # characters of a feature's name
_TABLE_NAME = 24
_COLUMNS = ("contribution", "importance", "value")
_STEP = 1.3  # between columns; the longest bar of each has length 1


@dataclass(eq=False, repr=False)
class ImportanceDisplay(Display):
    """Bars of importance; make one with `from_estimator` or `from_data`.

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
        Total number of features, including those not shown; None is the number shown.
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
    >>> display = ImportanceDisplay.from_data([0.1, 0.5, 0.3], names=["age", "sex", "fare"], top=2)
    >>> display.names
    ['sex', 'fare']
    """

    names: list[str]
    values: FloatArray
    _: KW_ONLY
    spread: FloatArray | None = None
    rows: IntArray | None = None
    n_features: int | None = None
    label: str = "importance"

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
        last = last_step(estimator)
        check_is_fitted(last)
        values = np.asarray(last.feature_importances_, dtype=np.float64)
        card = card_of(last)
        std = last.importances_std_ if card.forest else None
        names = name_features(estimator, feature_names, len(values))
        label = card.importance if card.forest else "importance"
        return cls.from_data(values, std, names=names, top=top, label=label)

    @classmethod
    def from_data(
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
            raise ParameterError(
                f"values must be one row of finite numbers, one for each feature, got shape {checked.shape}.",
                parameter="values",
            )
        d = checked.shape[0]
        spread = None if std is None else np.asarray(std, dtype=np.float64)
        if spread is not None and (spread.shape != (d,) or not (spread >= 0).all()):
            raise ParameterError(
                f"std must have one number, not below 0, for each of {d} features, got shape {spread.shape}.",
                parameter="std",
            )
        texts = name_features(None, names, d)
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
        n = len(self.names)
        ax, chosen = self._open(ax, theme, (6.4, float(np.clip(1.1 + 0.26 * n, 2.0, 14.0))), hide=UNDERLINED)
        places = np.arange(n)
        self.bars_ = ax.barh(places, self.values, height=0.72, color=class_colors(1, dark=chosen is DARK)[0])
        if self.spread is not None:
            look: dict[str, Any] = {"fmt": "none", "ecolor": chosen.muted, "elinewidth": 1.1, "capthick": 1.1}
            ax.errorbar(self.values, places, xerr=self.spread, capsize=2.0, **look)
        ax.axvline(0.0, color=chosen.muted, linewidth=0.8)
        name_ticks(ax.yaxis, places, self.names, _NAME, fontsize=9 if n <= 30 else 7)
        ax.set(ylim=(n - 0.4, -0.6), xlabel=self._words())
        ax.margins(x=0.02)
        return self

    def _words(self) -> str:
        text = self.label
        if self.spread is not None:
            text += "\n(line: ± standard deviation over trees)"
        hidden = (self.n_features or len(self.names)) - len(self.names)
        return text + (f"\n{hidden:,} more features not shown" if hidden else "")


@dataclass(eq=False, repr=False)
class FeatureTableDisplay(Display):
    """Bars of contribution, importance and value; make one with `from_estimator` or `from_data`.

    Parameters
    ----------
    names : list of str
        Features, in order of rank.
    contribution, importance, value : ndarray of shape (k,)
        The bars.
    features : ndarray of int of shape (k,) or None, default=None
        Places of the features among all.
    title : str or None, default=None
        Title above them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    bars_ : dict of str to matplotlib BarContainer
        After `plot`: the bars of each column; the longest of a column has length 1.
    numbers_ : dict of str to list of matplotlib Text
        After `plot`: the numbers at the bars.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.show import FeatureTableDisplay
    >>> X = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 0.0, 1.0]])
    >>> Y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    >>> FeatureTableDisplay.from_data(X, Y, top=2, feature_names=["a", "b", "c"]).names
    ['c', 'a']
    """

    names: list[str]
    contribution: FloatArray
    importance: FloatArray
    value: FloatArray
    _: KW_ONLY
    features: IntArray | None = None
    title: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        rows: Any = None,
        *,
        top: int = 10,
        by: str = "contribution",
        kind: str = "gradient",
        min_reliability: float = 0.2,
        max_rows: int = 500,
        feature_names: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> FeatureTableDisplay:
        """Take arrows, importances and values of a fitted FeatureMAP, averaged over rows.

        Parameters
        ----------
        estimator : FeatureMAP or Pipeline
            Fitted; for a pipeline, its last step.
        rows : int, slice, array-like of int or bool, default=None
            One row, a class or any selection; None: all.
        top : int, default=10
            How many features.
        by : {"contribution", "importance"}, default="contribution"
            What ranks them.
        kind : {"gradient", "variance"}, default="gradient"
            Kind of importance: each direction counts alike (Eq. 4), or by its variance.
        min_reliability : float, default=0.2
            Arrows with less count as zero.
        max_rows : int, default=500
            If there are more rows, a sample is averaged.
        feature_names : sequence of str, default=None
            Names of all features; None takes those that the estimator was fitted with.
        title : str, default=None
            Title above the table.

        Returns
        -------
        FeatureTableDisplay
            Ready to `plot`.
        """
        model = explained_model(estimator, "FeatureTableDisplay")
        check_option(kind, "kind", ("gradient", "variance"))
        names = name_features(estimator, feature_names, model.n_features_in_)
        points = sample_rows(row_numbers(rows, model.embedding_.shape[0]), max_rows)
        means = feature_means(model, points, smooth=False, min_reliability=min_reliability, kind=kind)
        columns = np.linalg.norm(means.arrows, axis=1), means.importance, means.values
        return cls._ranked(names, columns, top, by, title)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        arrows: ArrayLike | None = None,
        top: int = 10,
        by: str = "contribution",
        feature_names: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> FeatureTableDisplay:
        """Take any map with its data.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Data.
        Y : array-like of shape (n, n_components)
            Map.
        arrows : array-like of shape (d, n_components), default=None
            Arrows of the features, such as loadings of principal components; None are correlations with the axes.
        top : int, default=10
            How many features.
        by : {"contribution", "importance"}, default="contribution"
            What ranks them.
        feature_names : sequence of str, default=None
            Names of all features; None takes the columns of a DataFrame.
        title : str, default=None
            Title above the table.

        Returns
        -------
        FeatureTableDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If shapes do not fit.
        """
        places = check_map(Y)
        correlations = correlation_arrows(X, places)
        found = correlations if arrows is None else np.asarray(arrows, dtype=np.float64)
        check_shape(found, correlations.shape, "arrows", "one arrow per feature")
        data = check_matrix(X, accept_sparse=True)
        columns = np.linalg.norm(found, axis=1), _explained(correlations, places), np.asarray(data.mean(axis=0)).ravel()
        return cls._ranked(name_features(X, feature_names, data.shape[1]), columns, top, by, title)

    @classmethod
    def _ranked(
        cls,
        names: list[str],
        columns: tuple[FloatArray, FloatArray, FloatArray],
        top: int,
        by: str,
        title: str | None,
    ) -> FeatureTableDisplay:
        check_number(top, "top", low=1, integer=True)
        check_option(by, "by", _COLUMNS[:2])
        order = np.argsort(-columns[_COLUMNS.index(by)], kind="stable")[:top]
        return cls(
            [names[i] for i in order],
            *(column[order] for column in columns),  # type: ignore[misc]  # three of them
            features=order,
            title=title,
        )

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> FeatureTableDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.

        Returns
        -------
        FeatureTableDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        n = len(self.names)
        ax, chosen = self._open(ax, theme, (6.8, float(np.clip(0.9 + 0.27 * n, 1.8, 14.0))))
        places = np.arange(n)
        self.bars_: dict[str, Any] = {}
        self.numbers_: dict[str, list[Any]] = {}
        colors = class_colors(3, dark=chosen is DARK)
        for at, (column, color) in enumerate(zip(_COLUMNS, colors, strict=True)):
            numbers = np.asarray(getattr(self, column), dtype=np.float64)
            longest = float(np.abs(numbers).max()) or 1.0
            start = _STEP * at
            self.bars_[column] = ax.barh(places, np.abs(numbers) / longest, left=start, height=0.7, color=color)
            self.numbers_[column] = [
                ax.text(start + 0.02, float(place), f"{number:.3g}", va="center", fontsize=7.5, color=chosen.text)
                for place, number in zip(places, numbers, strict=True)
            ]
            for bar in self.bars_[column]:
                bar.set_alpha(0.45)  # the numbers are on the bars
            ax.text(start, -0.75, column, ha="left", va="bottom", fontsize=9, fontweight="bold", color=chosen.text)
            ax.axvline(start, color=chosen.muted, linewidth=0.8)
        name_ticks(ax.yaxis, places, self.names, _TABLE_NAME, fontsize=9)
        ax.set(ylim=(n - 0.4, -1.6), xlim=(-0.03, 2 * _STEP + 1.05), xticks=[])
        ax.spines[:].set_visible(False)
        if self.title is not None:
            plain(ax.set_title(shorten(self.title, 48), color=chosen.text, fontsize=10))
        return self


def _explained(correlations: FloatArray, Y: FloatArray) -> FloatArray:
    """Share of each feature's variance that a plane over the axes explains: r' R⁺ r, with R between the axes."""
    centred = Y.astype(np.float64) - Y.mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(centred, axis=0)
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0.0)
    between = np.linalg.pinv(unit.T @ unit, hermitian=True)
    return np.clip(np.einsum("fa,ab,fb->f", correlations, between, correlations), 0.0, 1.0)
