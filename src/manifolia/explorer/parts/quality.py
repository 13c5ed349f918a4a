"""How good the map is, as a whole and at each row.

``quality`` has scores and the curve R_NX in its description, and columns of role "quality".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.neighbors import uses_forest
from manifolia.explorer.parts.part import Part
from manifolia.metrics import continuity, registry, trustworthiness
from manifolia.metrics import report as metrics_report
from manifolia.metrics._report import judged_rows
from manifolia.metrics.coranking import coranking_scores

if TYPE_CHECKING:
    from manifolia.explorer.context import Context


_POINTS = 120  # of the curve
_K = 10
_CELLS = 50_000_000  # numbers of a sparse table that may be filled in for the comparison


def make(context: Context) -> Part | None:
    """Judge a map."""
    n, space = context.n, context.space
    X = None if space is None else _complete(space.rows)
    if space is None or X is None or n < 5:
        return None
    sample = judged_rows(*X.shape)
    Y, jobs = context.Y, context.n_jobs
    # The rows that `report` judges: the area under the curve is the score that the run and the command line tell.
    scores = coranking_scores(
        X,
        Y,
        names=("r_nx", "auc_r_nx", "q_local"),
        metric=space.metric,
        sample=sample,
        random_state=0,
        n_jobs=jobs,
    )
    curve = np.asarray(scores["r_nx"].value)
    ks = np.unique(np.rint(np.geomspace(1, len(curve), _POINTS)).astype(int))
    k = min(_K, n - 2)
    columns: dict[str, str] = {}
    if sample is None:
        for score in (trustworthiness, continuity):
            values = score(X, Y, k, metric=space.metric, pointwise=True, n_jobs=jobs)
            columns[score.__name__] = context.add(f"{score.__name__} ({k} neighbours)", values, "quality")
    if context.kept is not None:
        label = "forest neighbours kept" if uses_forest(context) else "neighbours kept"
        columns[label] = context.add(label, context.kept, "quality")
    meta = {
        "k": ks.tolist(),
        "r_nx": [float(value) for value in curve[ks - 1]],
        "auc": float(scores["auc_r_nx"].value),
        "q_local": float(scores["q_local"].value),
        "sample": n if sample is None else sample,
        "lines": [score_line(line) for line in _scores(context, X, space.metric)],
        "note": f"The map is compared with the {space.words}.",
    }
    return Part("quality", meta, columns=columns)


def _complete(plain: Any) -> FloatArray | None:
    if is_sparse(plain):
        return np.asarray(plain.toarray()) if plain.shape[0] * plain.shape[1] <= _CELLS else None
    return np.asarray(plain)


def _scores(context: Context, X: FloatArray, metric: str) -> list[dict[str, Any]]:
    """Take the scores that are known, without the area that is told beside the curve, or compute the most telling."""
    if context.scores is not None:
        return [line for line in context.scores if line["metric"] != "auc_r_nx"]
    labels = None if context.classes is None else np.asarray(context.classes).astype(str)
    names = registry.shown("page", ["X", "Y", "y"], n_classes=0 if labels is None else len(set(labels)))
    table = metrics_report(
        X, context.Y, labels, metrics=names, metric=metric, task="classification", groups=context.row_groups,
        n_jobs=context.n_jobs,
    )  # fmt: skip
    return table.to_dict("records")


def score_line(line: dict[str, Any]) -> dict[str, Any]:
    """Write a score as the page takes it."""

    def number(key: str) -> float | None:
        value = line.get(key)
        return None if value is None or pd.isna(value) or not np.isfinite(float(value)) else float(value)

    name = str(line["metric"])
    card = registry.get(name) if name in registry.names() else None
    k = line.get("k")
    sample = str(line.get("sample") or "")
    said = ["" if sample == "all" else f"Judged on {sample}.", str(line.get("note") or "")]
    return {
        "name": name,
        "label": name.replace("_", " ") if card is None else card.label,
        "value": number("value"),
        "low": number("low"),
        "high": number("high"),
        "k": int(k) if isinstance(k, int | np.integer) else None,
        "direction": str(line.get("direction") or ""),
        "means": "" if card is None else card.meaning,
        "note": " ".join(text for text in said if text),
    }
