"""What the page of a run tells beyond places and columns, of the rows of the map and of new ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from manifolia.explorer import Payload
from manifolia.explorer.describing import Describer, subject_of
from manifolia.explorer.parts.gather import Gathered, Known, gather_parts
from manifolia.explorer.parts.images import pixels_of_table
from manifolia.explorer.parts.quality import score_line
from manifolia.explorer.placing import describer_of
from manifolia.runs.report import Measured
from manifolia.runs.request import Request
from manifolia.runs.target import Labels
from manifolia.tables import Table, TablePreparer

__all__ = ["describe_map", "describer_of_run"]


def describe_map(
    estimator: Any, preparer: TablePreparer, X: Any, labels: Labels, found: Measured, features: Table,
    request: Request, targets: list[str], predicted: list[str],
) -> tuple[Gathered, Describer]:  # fmt: skip
    """Compute the parts of the page."""
    y = labels.y
    classes = found.task == "classification" and y is not None and y.ndim == 1 and not np.any(pd.isna(y))
    known = Known(
        y=y if classes else None,
        importances={name: mean for name, (mean, _) in found.importances.items()},
        # The area under the curve is told beside the curve.
        lines=[score_line(score._asdict()) for score in found.scores if score.metric != "auc_r_nx"],
        pixels=None if request.images is None else pixels_of_table(features, list(preparer.roles_)),
        pixel_names=[] if request.images is None else list(preparer.roles_),
        images=request.images,
        predicted=_told(targets, predicted),
        study=request.study,
    )
    described = None
    if hasattr(estimator, "embedding_"):
        described = subject_of(
            estimator, X, sources=preparer.sources_, labels=preparer.names_out_, seed=request.random_state
        )
    subject, completer = described if described is not None else (None, None)
    gathered = gather_parts(subject, request.parts, known)
    return gathered, Describer(subject, gathered.effects, gathered.parts, completer)


def _told(targets: list[str], predicted: list[str]) -> dict[str, str]:
    """Columns of targets and predictions, by what they are."""
    found = {}
    for i, (target, guess) in enumerate(zip(targets, predicted, strict=False)):
        found["target" if i == 0 else f"target {i}"] = target
        found["predicted" if i == 0 else f"predicted {i}"] = guess
    return found


def describer_of_run(model: Any, rows: Any, payload: Payload, report: dict[str, Any]) -> Describer:
    """Describe new rows on the map of a run that was made before."""
    importances = {item["column"]: item["importance"] for item in report["importances"]}
    return describer_of(model, rows, payload, importances, seed=int(report.get("random_state") or 0))
