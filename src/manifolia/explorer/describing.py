"""From a fitted model and raw rows to what the parts of a page are computed from, for the map and for new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.effects import Effects
from manifolia.explorer.parts.gather import gather_new, novelty_part
from manifolia.explorer.parts.part import Part
from manifolia.explorer.parts.subject import Subject
from manifolia.explorer.parts.told import far_rows, novelty_level
from manifolia.tables import TablePreparer

__all__ = ["Describer", "prepared_rows", "subject_of"]

_METRICS = {"euclidean": "distance", "cosine": "cosine distance", "manhattan": "Manhattan distance"}


@dataclass(eq=False)
class Describer:
    """Tells of new rows what is known of those of the map."""

    subject: Subject | None  # The map and its rows; None if these are not at hand
    effects: Effects | None  # How columns act on rows
    parts: Sequence[Part]  # Parts of the map
    completer: Any = None  # Fills gaps and scales, where the map is compared with that

    def new_parts(
        self, model: Any, X: Any, Y: FloatArray, *, novelty: FloatArray | None = None, pixels: Any = None
    ) -> list[Part]:
        """Describe new rows."""
        rows = _bare(X)
        plain = rows if self.completer is None else self.completer.transform(rows)
        found = gather_new(self.subject, self.effects, self.parts, rows, Y, plain=plain, pixels=pixels)
        if novelty is not None:
            level, share = novelty_level(model)
            found.append(novelty_part(novelty, level, share=share, far=far_rows(model)))
        return found


def subject_of(
    model: Any, X: Any, *, sources: Sequence[str] | None = None, labels: Sequence[str] | None = None, seed: int = 0
) -> tuple[Subject, Any] | None:
    """Describe a map whose rows are at hand."""
    metric = str(getattr(model, "metric", "euclidean"))
    if metric not in _METRICS:
        return None
    rows = _bare(X)
    own = getattr(model, "feature_names_in_", None)
    names = list(sources or ([str(name) for name in own] if own is not None else _numbered(rows.shape[1])))
    completer = None
    plain = rows
    words = f"{_METRICS[metric]} of the columns"
    gaps = not is_sparse(rows) and bool(np.isnan(rows).any())
    if hasattr(model, "forest_") or gaps:
        # Trees do not mind scales and gaps; distances do.
        completer = TablePreparer(missing="impute", scale=True)
        plain = completer.fit_transform(rows)
        words = f"{_METRICS[metric]} of the columns, each on one scale"
    subject = Subject(
        model,
        rows,
        np.asarray(model.embedding_, dtype=np.float64),
        names,
        list(labels or names),
        plain,
        metric,
        words,
        random_state=seed,
        n_jobs=getattr(model, "n_jobs", None),
    )
    return subject, completer


def prepared_rows(model: Any, X: Any) -> tuple[Any, list[str] | None, list[str] | None]:
    """Take raw rows through the steps before the map."""
    if not hasattr(model, "steps"):
        return X, None, None
    before = model[:-1]
    rows = before.transform(X) if len(model.steps) > 1 else X
    first = model[0]
    if len(model.steps) == 2 and hasattr(first, "sources_"):
        return rows, list(first.sources_), list(first.names_out_)
    raw = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else None
    same = raw is not None and np.shape(rows)[1] == len(raw)
    return rows, raw if same else None, None


def _numbered(d: int) -> list[str]:
    return [f"feature {i}" for i in range(d)]


def _bare(X: Any) -> Any:
    """Rows as numbers, without names."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if is_sparse(X):
        return X.tocsr()
    if isinstance(X, pd.DataFrame):
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    rows = np.asarray(X)
    return rows if rows.dtype.kind == "f" else rows.astype(np.float64)
