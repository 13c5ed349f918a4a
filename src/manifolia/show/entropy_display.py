"""How long the walk was, and why: the von Neumann entropy after 1, 2, … steps, with the chosen number of steps.

The entropy falls fast while steps take noise away and slowly once they take structure; the knee lies between. Where the
map places rows through the leaves of a forest, placing is itself a step: the walk takes one step less than the knee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_is_fitted, check_number
from manifolia.show._style import apply_theme, new_axes, resolve_theme
from manifolia.show.palette import DARK, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EntropyDisplay"]

_SHOWN = 4  # times the knee: beyond, the curve only goes on
_SHOWN_LEAST = 20


class EntropyDisplay:
    """Curve of the von Neumann entropy with the steps of the walk; make one with `from_estimator` or `from_values`.

    Parameters
    ----------
    entropy : ndarray of shape (t_max,)
        Entropy after 1, 2, … steps, in nats.
    t : int
        Steps that the walk took.
    knee : int or None, default=None
        Where the entropy stops falling fast, if `t` was read off the curve; None if `t` was given by hand.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    line_ : matplotlib Line2D
        After `plot`: the curve.
    chosen_ : matplotlib Line2D
        After `plot`: the mark at `t`.
    knee_ : matplotlib Line2D or None
        After `plot`: the mark at the knee, where it is not `t`.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.operators.entropy import von_neumann_entropy
    >>> from manifolia.show import EntropyDisplay
    >>> entropy = von_neumann_entropy(np.array([1.0, 0.9, 0.5, 0.2, 0.1]))
    >>> EntropyDisplay.from_values(entropy).t
    4
    """

    def __init__(self, entropy: FloatArray, t: int, *, knee: int | None = None) -> None:
        self.entropy = entropy
        self.t = t
        self.knee = knee

    @classmethod
    def from_estimator(cls, estimator: Any) -> EntropyDisplay:
        """Take the curve and the steps of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with ``entropy_`` and ``t_``; of a pipeline, its last step.

        Returns
        -------
        EntropyDisplay
            Ready to `plot`.
        """
        from manifolia.operators.entropy import choose_t

        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        check_is_fitted(last, ("entropy_", "t_"))
        chosen_by_curve = getattr(last, "t", "auto") == "auto"
        return cls(last.entropy_, int(last.t_), knee=choose_t(last.entropy_) if chosen_by_curve else None)

    @classmethod
    def from_values(cls, entropy: ArrayLike, t: int | None = None) -> EntropyDisplay:
        """Take a curve.

        Parameters
        ----------
        entropy : array-like of shape (t_max,)
            Entropy after 1, 2, … steps, as `manifolia.operators.entropy.von_neumann_entropy` gives it.
        t : int, default=None
            Steps; None reads them off the curve.

        Returns
        -------
        EntropyDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If the curve is not one row of finite numbers, or has fewer steps than `t`.
        """
        from manifolia.operators.entropy import choose_t

        curve = np.asarray(entropy, dtype=np.float64)
        if curve.ndim != 1 or not curve.size or not np.isfinite(curve).all():
            message = f"entropy must be one row of finite numbers, H(1), H(2), …, got shape {curve.shape}."
            raise ValueError(message)
        if t is None:
            knee = min(choose_t(curve), curve.size)
            return cls(curve, knee, knee=knee)
        return cls(curve, check_number(t, "t", low=1, high=curve.size, integer=True))

    def plot(self, ax: Axes | None = None, *, theme: str = "auto", t_max: int | None = None) -> EntropyDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        t_max : int, default=None
            Last step on the axis; None shows four times as many as to the knee.

        Returns
        -------
        EntropyDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        import_extra("matplotlib", extra="plot", purpose="EntropyDisplay.plot")
        if t_max is not None:
            check_number(t_max, "t_max", low=2, integer=True)
        if ax is None:
            ax = new_axes("EntropyDisplay.plot", (6.0, 3.8))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        blue, orange = class_colors(2, dark=chosen is DARK)
        n = self.entropy.shape[0]
        knee = self.t if self.knee is None else self.knee
        last = min(n, t_max or max(_SHOWN * max(knee, self.t), _SHOWN_LEAST))
        shown = self.entropy[:last]
        steps = np.arange(1, last + 1)
        self.line_: Any = ax.plot(steps, shown, color=blue, linewidth=1.8, marker=".", markersize=5)[0]
        self.chosen_ = _mark(ax, self.t, self.entropy, color=orange, marker="o", label=self._words())
        self.knee_ = None
        if self.knee is not None and self.knee != self.t:
            label = f"knee of the curve: {self.knee} steps"
            self.knee_ = _mark(ax, self.knee, self.entropy, color=chosen.text, marker="D", label=label)
        ax.set(xlim=(0.5, last + 0.5), xlabel="steps of the walk t", ylabel="von Neumann entropy (nats)")
        ax.spines[["top", "right"]].set_visible(False)
        ticker = import_extra("matplotlib.ticker", extra="plot", purpose="EntropyDisplay.plot")
        ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _words(self) -> str:
        steps = f"{self.t} step{'s' * (self.t != 1)}"
        if self.knee is None:
            return f"t = {steps}, given"
        if self.knee == self.t + 1:
            return f"t = {steps} walked; one more places the rows"
        return f"t = {steps}"


def _mark(ax: Any, t: int, entropy: FloatArray, *, color: str, marker: str, label: str) -> Any:
    """Mark a step with a line down to the axis; the last point stands for one beyond the curve."""
    height = float(entropy[min(t, entropy.shape[0]) - 1])
    ax.axvline(t, color=color, linewidth=0.9, linestyle=":", zorder=1)
    return ax.plot(
        [t], [height], linestyle="", marker=marker, markersize=8, color=color, markeredgecolor="none", label=label
    )[0]
