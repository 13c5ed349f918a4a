"""Pipelines taken apart in one place: the last step makes the map, the steps before it prepare the rows."""

from __future__ import annotations

from typing import Any


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline; any other model is its own last step."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def before_last(model: Any) -> Any | None:
    """Return the pipeline of all steps but the last; None if there is none."""
    return model[:-1] if hasattr(model, "steps") and len(model.steps) > 1 else None
