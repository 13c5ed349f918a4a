"""Why a row is where it is: which of its values put it there, and which rows it is like."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia.explain.substitution import substitution_effects

__all__ = ["Reason", "like_rows", "row_reasons"]

_COLUMNS = 60  # columns that are tried: those of the greatest importance


class Reason(NamedTuple):
    """One column's part in the place of a row."""

    column: str  # The raw column
    # How far the row moves, on average, if it had another row's value there; in standard deviations of the map
    shift: float


def row_reasons(
    model: Any, rows: Any, row: int, *, importances: list[dict[str, Any]], random_state: int = 0
) -> list[Reason]:
    """Rank the columns by how far the row would move without its own value there."""
    sources = np.array(model[0].sources_, dtype=object)
    names = list(dict.fromkeys(sources))
    if len(names) > _COLUMNS:
        ranked = [entry["column"] for entry in importances]
        names = [name for name in ranked if name in set(names)][:_COLUMNS] or names[:_COLUMNS]
    groups = [np.flatnonzero(sources == name) for name in names]
    shifts = substitution_effects(model[-1].transform, rows, row, groups, random_state=random_state)
    spread = float(np.sqrt(model[-1].embedding_.var(axis=0).sum()))
    found = [Reason(str(name), float(shift) / spread) for name, shift in zip(names, shifts, strict=True)]
    return sorted(found, key=lambda reason: -reason.shift)


def like_rows(method: Any, row: int, n: int = 5) -> list[tuple[int, float]]:
    """List the training rows that speak most for a row in the forest."""
    line = method.proximity_matrix()[[row], :].toarray().ravel()
    line[row] = 0.0
    order = np.argsort(-line, kind="stable")[:n]
    return [(int(i), float(line[i])) for i in order if line[i] > 0]
