"""The features that say most about a map, in three bars each: contribution, importance and value.

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
from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_map, check_matrix, check_number, check_option
from manifolia.explain.gradients import correlation_arrows
from manifolia.operators.tangent import row_numbers
from manifolia.show._features import explained_model, feature_means, name_features, sample_rows
from manifolia.show._style import apply_theme, new_axes, plain, resolve_theme, shorten
from manifolia.show.palette import DARK, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FeatureTableDisplay"]

_NAME = 24
_COLUMNS = ("contribution", "importance", "value")
_STEP = 1.3  # from column to column; the longest bar of each has length 1


class FeatureTableDisplay:
    """Bars of contribution, importance and value; make one with `from_estimator` or `from_map`.

    Parameters
    ----------
    names : list of str
        Features, the first by rank first.
    contribution, importance, value : ndarray of shape (k,)
        The bars.
    features : ndarray of int of shape (k,) or None, default=None
        Places of the features among all.
    title : str or None, default=None
        What stands over them.

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
    >>> FeatureTableDisplay.from_map(X, Y, top=2, feature_names=["a", "b", "c"]).names
    ['c', 'a']
    """

    def __init__(
        self,
        names: list[str],
        contribution: FloatArray,
        importance: FloatArray,
        value: FloatArray,
        *,
        features: IntArray | None = None,
        title: str | None = None,
    ) -> None:
        self.names = names
        self.contribution = contribution
        self.importance = importance
        self.value = value
        self.features = features
        self.title = title

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
            Fitted; of a pipeline, its last step.
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
            Of more rows a sample is averaged.
        feature_names : sequence of str, default=None
            Names of all features; None takes those that the estimator was fitted with.
        title : str, default=None
            What stands over the table.

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
    def from_map(
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
            What stands over the table.

        Returns
        -------
        FeatureTableDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If shapes do not fit.
        """
        given = getattr(X, "columns", None) if feature_names is None else feature_names
        places = check_map(Y)
        correlations = correlation_arrows(X, places)
        found = correlations if arrows is None else np.asarray(arrows, dtype=np.float64)
        if found.shape != correlations.shape:
            message = f"arrows must be of shape {correlations.shape}, one a feature, got shape {found.shape}."
            raise ValueError(message)
        data = check_matrix(X, accept_sparse=True)
        columns = np.linalg.norm(found, axis=1), _explained(correlations, places), _mean(data)
        return cls._ranked(name_features(None, given, data.shape[1]), columns, top, by, title)

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
        import_extra("matplotlib", extra="plot", purpose="FeatureTableDisplay.plot")
        n = len(self.names)
        if ax is None:
            ax = new_axes("FeatureTableDisplay.plot", (6.8, float(np.clip(0.9 + 0.27 * n, 1.8, 14.0))))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
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
                bar.set_alpha(0.45)  # the numbers stand on the bars
            ax.text(start, -0.75, column, ha="left", va="bottom", fontsize=9, fontweight="bold", color=chosen.text)
            ax.axvline(start, color=chosen.muted, linewidth=0.8)
        ax.set_yticks(places, [shorten(name, _NAME) for name in self.names], fontsize=9)
        for text in ax.get_yticklabels():
            plain(text)
        ax.set(ylim=(n - 0.4, -1.6), xlim=(-0.03, 2 * _STEP + 1.05), xticks=[])
        ax.tick_params(axis="y", length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        if self.title is not None:
            plain(ax.set_title(shorten(self.title, 48), color=chosen.text, fontsize=10))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _explained(correlations: FloatArray, Y: FloatArray) -> FloatArray:
    """Share of each feature's variance that a plane over the axes explains: r' R⁺ r, with R between the axes."""
    centred = Y.astype(np.float64) - Y.mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(centred, axis=0)
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0.0)
    between = np.linalg.pinv(unit.T @ unit, hermitian=True)
    return np.clip(np.einsum("fa,ab,fb->f", correlations, between, correlations), 0.0, 1.0)


def _mean(data: Any) -> FloatArray:
    return np.asarray(data.mean(axis=0), dtype=np.float64).ravel()
