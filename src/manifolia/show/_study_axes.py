"""What pictures of a study have in common."""

from __future__ import annotations

from typing import Any

from manifolia._core.validate import check_is_fitted, check_option
from manifolia.show._style import apply_theme, new_axes, resolve_theme
from manifolia.show.palette import DARK, class_colors

__all__ = ["metric_name", "study_axes"]


def study_axes(ax: Any, purpose: str, theme: str, size: tuple[float, float] = (6.0, 4.0)) -> tuple[Any, Any, list[str]]:
    """Prepare axes."""
    ax = new_axes(purpose, size) if ax is None else ax
    chosen = resolve_theme(theme, ax)
    apply_theme(ax, chosen, backgrounds=theme != "auto")
    ax.spines[["top", "right"]].set_visible(False)
    return ax, chosen, list(class_colors(3, dark=chosen is DARK))


def metric_name(tuner: Any, metric: str | None) -> str:
    """Choose a metric of a fitted tuner."""
    check_is_fitted(tuner, "best_params_")
    names = [one.name for one in tuner._metrics]
    return names[0] if metric is None else str(check_option(metric, "metric", names))
