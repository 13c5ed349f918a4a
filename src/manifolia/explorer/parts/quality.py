"""How good the map is, as a whole and at each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.part import Part
from manifolia.explorer.parts.subject import Subject
from manifolia.metrics import continuity, registry, trustworthiness
from manifolia.metrics import report as metrics_report
from manifolia.metrics.coranking import coranking_scores

__all__ = ["Quality", "quality_part", "score_line"]

_ALL_ROWS = 4000  # up to here every row is judged against every other
_SAMPLE = 1000  # rows that are judged beyond
_WORK = 2e10  # judged rows × rows × columns up to which a comparison takes seconds
_LEAST_ROWS = 200  # that are judged however wide the table is
_POINTS = 120  # of the curve
_K = 10
_CELLS = 50_000_000  # numbers of a sparse table that may be filled in for the comparison
_PAIRED_ROWS = 200  # measures of pairs are known well enough from the pairs of a few hundred rows


class Quality(NamedTuple):
    """How good a map is."""

    part: Part  # For the page
    columns: dict[str, FloatArray]  # Columns of role "quality"


def quality_part(
    subject: Subject,
    y: Array | None = None,
    *,
    kept: FloatArray | None = None,
    forest: bool = False,
    lines: Sequence[dict[str, Any]] | None = None,
) -> Quality | None:
    """Judge a map."""
    n = subject.n
    X = _complete(subject.plain)
    if X is None or n < 5:
        return None
    affordable = max(_LEAST_ROWS, int(_WORK / (n * X.shape[1])))
    judged = min(n if n <= _ALL_ROWS else _SAMPLE, affordable)
    sample = None if judged >= n else judged
    Y = np.asarray(subject.Y, dtype=np.float64)
    seed, jobs = subject.random_state, subject.n_jobs
    found = coranking_scores(
        X,
        Y,
        names=("r_nx", "auc_r_nx", "q_local"),
        metric=subject.metric,
        sample=sample,
        random_state=seed,
        n_jobs=jobs,
    )
    curve = np.asarray(found["r_nx"].value)
    ks = np.unique(np.rint(np.geomspace(1, len(curve), _POINTS)).astype(int))
    k = min(_K, n - 2)
    columns: dict[str, FloatArray] = {}
    named: dict[str, str] = {}
    if sample is None:
        named["trustworthiness"] = f"trustworthiness ({k} neighbours)"
        columns[named["trustworthiness"]] = trustworthiness(X, Y, k, metric=subject.metric, pointwise=True, n_jobs=jobs)
        named["continuity"] = f"continuity ({k} neighbours)"
        columns[named["continuity"]] = continuity(X, Y, k, metric=subject.metric, pointwise=True, n_jobs=jobs)
    if kept is not None:
        label = "forest neighbours kept" if forest else "neighbours kept"
        named[label] = label
        columns[label] = kept
    meta = {
        "k": ks.tolist(),
        "r_nx": [float(value) for value in curve[ks - 1]],
        "auc": float(found["auc_r_nx"].value),
        "q_local": float(found["q_local"].value),
        "sample": judged,
        "lines": list(lines) if lines is not None else _scores(subject, X, Y, y, sample),
        "note": f"The map is compared with the {subject.space}.",
    }
    return Quality(Part("quality", meta, columns=named), columns)


def _complete(plain: Any) -> FloatArray | None:
    if plain is None:
        return None
    if is_sparse(plain):
        return np.asarray(plain.toarray()) if plain.shape[0] * plain.shape[1] <= _CELLS else None
    return np.asarray(plain)


def _scores(
    subject: Subject, X: FloatArray, Y: FloatArray, y: Array | None, sample: int | None
) -> list[dict[str, Any]]:
    if subject.metric != "euclidean":
        return []  # the table of metrics compares by Euclidean distances
    labels = None if y is None else np.asarray(y).astype(str)
    names = registry.shown("page", ["X", "Y", "y"], n_classes=0 if labels is None else len(set(labels)))
    paired = [name for name in names if registry.get(name).shared_pass == "distance"]
    others = [name for name in names if name not in paired]
    seed, jobs = subject.random_state, subject.n_jobs
    few = min(_PAIRED_ROWS, len(Y))
    lines = [
        line
        for metrics, rows in ((others, sample), (paired, few))
        for line in metrics_report(
            X, Y, labels, metrics=metrics, task="classification", sample=rows, random_state=seed, n_jobs=jobs
        ).to_dict("records")
    ]
    return [score_line(line) for line in lines]


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
