"""What the page of a run shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from manifolia import registry
from manifolia._core.types import FloatArray
from manifolia._core.validate import is_sparse
from manifolia.explorer import Payload, build_payload
from manifolia.explorer.parts.gather import Gathered
from manifolia.runs.report import Measured, column_names
from manifolia.runs.request import Request
from manifolia.runs.target import Labels
from manifolia.tables import Table

__all__ = ["payload_of"]

_PAGE_COLUMNS = 200  # columns of a wide table that the page shows: those that matter most
_PAGE_PIXELS = 160  # of pictures fewer: a pixel is rarely asked for by its name


def payload_of(
    table: Table, Y: FloatArray, coordinates: pd.DataFrame, labels: Labels, found: Measured,
    method: registry.Card, request: Request, gathered: Gathered,
) -> Payload:  # fmt: skip
    """Gather what the page shows."""
    known = coordinates.drop(columns=["row", *column_names(Y.shape[1])])
    beside = [name for name in table.meta.columns if name not in labels.frame.columns]
    shown = {*known.columns, *labels.frame.columns, *beside}
    most = _PAGE_COLUMNS if request.images is None else _PAGE_PIXELS
    wide, left_out = _page_features(table, found.importances, shown, most, gathered.preferred())
    gathered.rename({*shown, *wide.columns})
    judged = pd.DataFrame(gathered.columns, index=wide.index)
    columns = pd.concat([known, table.meta[beside].reset_index(drop=True), wide, judged], axis=1)
    is_classes = found.task in ("classification", "multilabel")
    told = [str(name) for name in known.columns[len(labels.frame.columns) :]]
    roles = {name: "novelty" if name == "novelty" else "model" for name in told} | dict.fromkeys(judged, "quality")
    class_names = [name for name in known.columns if name != "novelty"] if is_classes else []
    stem = Path(table.source).stem if os.sep in table.source or "." in table.source else table.source
    payload = build_payload(
        Y,
        columns,
        title=request.title or (f"{stem} by {labels.name}" if labels.name else stem),
        subtitle=method.name,
        color_by=str(known.columns[0]) if len(labels.frame.columns) else None,
        kinds=dict.fromkeys(class_names, "class"),
        row_names=list(table.row_names),
        findings=[finding.text for finding in found.findings],
        notes=found.notes,
        importances=found.importances or None,
        roles=roles,
        parts=gathered.parts,
        max_mb=request.max_mb,
    )
    payload.meta["left_out"][:0] = [*left_out, *gathered.left_out]
    return payload


def _page_features(
    table: Table,
    importances: Mapping[str, tuple[float, float]],
    shown: set[str],
    most: int,
    preferred: Sequence[str],
) -> tuple[pd.DataFrame, list[str]]:
    """The raw columns that the page can colour by: all, or of a wide table those that matter most, and that is said."""
    names = [name for name in table.feature_names if name not in shown]
    said = []
    if len(names) > most:
        which = "that matter most" if importances or preferred else "that come first"
        said = [f"Of {len(names):,} columns the {most} {which} are on the page."]
        by_importance = sorted(importances, key=lambda name: -importances[name][0])
        rank = {name: i for i, name in reversed(list(enumerate([*preferred[: most // 2], *by_importance])))}
        names = sorted(names, key=lambda name: rank.get(name, len(rank)))[:most]
    if isinstance(table.features, pd.DataFrame):
        wide = table.features.loc[:, names].reset_index(drop=True)
    else:
        place = {name: i for i, name in enumerate(table.feature_names)}
        cells = table.features[:, [place[name] for name in names]]
        wide = pd.DataFrame(cells.toarray() if is_sparse(cells) else cells, columns=names)
    return wide, said
