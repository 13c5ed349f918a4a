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
from manifolia.metrics import continuity, trustworthiness
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
_LINES = ("trustworthiness", "continuity", "neighbor_recall")
_LABELLED = ("knn_accuracy",)
_PAIRED = ("shepard_goodness",)  # ranks all pairs: of a few hundred rows it is known well enough
_PAIRED_ROWS = 200
_LABELS = {
    "auc_r_nx": "Area under R_NX",
    "trustworthiness": "Trustworthiness",
    "continuity": "Continuity",
    "neighbor_recall": "Neighbours kept",
    "shepard_goodness": "Order of distances",
    "normalized_stress": "Stress",
    "radius_correlation": "Density kept",
    "knn_accuracy": "Class told by neighbours",
    "classification_error": "Class not told by neighbours",
    "nmi": "Agreement of clusters with classes",
    "silhouette": "Separation of classes",
    "centroid_triplet_accuracy": "Order of classes kept",
}
#: What the figures tell, for readers who have not met them.
_MEANS = {
    "auc_r_nx": "The curve above as one number: neighbourhoods kept, small ones counted most. 0 is a random map.",
    "q_local": "Share of small neighbourhoods kept.",
    "q_global": "Share of large neighbourhoods kept.",
    "trustworthiness": (
        "Can what lies close in the map be believed? Falls when rows lie together that are far apart in the data."
    ),
    "continuity": "Is what is close in the data still together? Falls when the map tears neighbours apart.",
    "neighbor_recall": "Share of each row's nearest rows in the data that are also nearest in the map.",
    "shepard_goodness": (
        "Do pairs that are farther apart in the data lie farther apart in the map? Rank correlation over pairs."
    ),
    "normalized_stress": "How far distances in the map are off, after the best common scale.",
    "distance_correlation": "Correlation of distances in the data and in the map.",
    "distance_ratio": "Mean ratio of distances in the map to those in the data.",
    "radius_correlation": "Do dense places stay dense and sparse ones sparse?",
    "anisotropy_correlation": "Do places that are stretched in the data stay stretched?",
    "centroid_triplet_accuracy": "Of three classes: is the same one the nearer in the data and in the map?",
    "knn_accuracy": "Share of rows whose nearest rows in the map vote for their own class.",
    "classification_error": "Share of rows whose neighbours in the map vote for another class.",
    "nmi": "Do clusters found in the map agree with the classes? 1 is complete agreement.",
    "silhouette": "Are classes apart in the map? From −1 to 1; around 0 they overlap.",
    "importance_alignment": "Do the features that matter for the target shape the map?",
    "arrow_fidelity": "Do the arrows point to where the feature grows in the map?",
}


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
    names = [*_LINES, *(_LABELLED if y is not None else ())]
    labels = None if y is None else np.asarray(y).astype(str)
    seed, jobs = subject.random_state, subject.n_jobs
    few = min(_PAIRED_ROWS, len(Y))
    lines = [
        line
        for metrics, rows in ((names, sample), (_PAIRED, few))
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

    k = line.get("k")
    sample = str(line.get("sample") or "")
    said = ["" if sample == "all" else f"Judged on {sample}.", str(line.get("note") or "")]
    return {
        "name": str(line["metric"]),
        "label": _LABELS.get(str(line["metric"]), str(line["metric"]).replace("_", " ")),
        "value": number("value"),
        "low": number("low"),
        "high": number("high"),
        "k": int(k) if isinstance(k, int | np.integer) else None,
        "direction": str(line.get("direction") or ""),
        "means": _MEANS.get(str(line["metric"]), ""),
        "note": " ".join(text for text in said if text),
    }
