"""What the map of a run, or one from elsewhere, may be trusted for: verdicts, and where they are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.files import draft
from manifolia._core.groups import read_groups
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.types import Array, FloatArray
from manifolia._core.validate import check_map, check_option, is_sparse
from manifolia.exceptions import ModelFileError, ParameterError, TableError
from manifolia.explorer import write_page
from manifolia.explorer.decode import decode, with_part
from manifolia.explorer.parts.trust import newly_trusted, part_of
from manifolia.runs.folder import Run
from manifolia.runs.request import TO_KEEP_ROWS
from manifolia.runs.scores import groups_of
from manifolia.runs.target import read_group_column, read_labels
from manifolia.tables import Table, TablePreparer, write
from manifolia.tables.naming import unknown_name
from manifolia.tables.plain_rows import PlainRows
from manifolia.trust.cases import Case, formula_of, guide_of, read_classes
from manifolia.trust.clusters import Clusters, read_clusters
from manifolia.trust.diagnosis import Diagnosis
from manifolia.trust.examination import LEVELS, SAMPLE, check_level, examine
from manifolia.trust.refits import Remake

_AXES = (("map_x", "map_y", "map_z"), ("x", "y", "z"))  # names by which coordinates are found among other columns
_MOST_AXES = 3


def diagnose_run(
    folder: Run,
    *,
    clusters: str = "auto",
    groups: str | None = None,
    level: str = "quick",
    sample: int | None = SAMPLE,
    reporter: Reporter | None = None,
    n_jobs: int | None = None,
) -> Diagnosis:
    """Diagnose the map of a run, from the rows that it kept."""
    check_option(level, "level", LEVELS)
    report, rows, coordinates = folder.report, folder.rows, folder.coordinates
    if rows is None:
        raise TableError(f"{folder.path} did not keep its rows, which its map is compared with. {TO_KEEP_ROWS}")
    page = decode(folder.payload)
    shown = page.columns
    Y = coordinates[report["axes"]].to_numpy(dtype=np.float64)
    targets = report["target"]["columns"]
    try:
        model = folder.model
    except ModelFileError:  # of a method that cannot be saved: its map is judged as one from elsewhere
        model = None
    card = None if model is None else registry.card_of(model)
    guided = registry.find(report["method"]).supervised and len(targets) == 1
    y, is_classes = None, None
    if guided:
        y, is_classes = read_classes(coordinates.iloc[:, 1 + len(report["axes"])], len(Y), report["target"]["task"])
    own = groups_of(coordinates, report)
    if groups is not None:
        own = read_groups(_column(shown, groups, "groups"), len(Y))
    held = model[-1]._fitted_forest if model is not None and card is not None and card.forest and card.is_ours else None
    case = Case(
        Y,
        rows if model is None else PlainRows(model[0]).fit_transform(rows),
        rows,
        card.metric if card is not None and card.metric in ("cosine", "manhattan") else "euclidean",
        y,
        is_classes,
        targets[0] if guided else "the target",
        own,
        held,
        None if clusters == "auto" else read_clusters(_column(shown, clusters, "clusters"), len(Y)),
        [
            (str(name), shown[name].to_numpy())
            for name in shown
            if page.roles[str(name)] == "value" and name not in {*targets, *report["excluded"]}
        ],
        len(targets) if registry.find(report["method"]).supervised else 1,
        guide=None if model is None else guide_of(model[-1]),
        place=None if model is None else formula_of(model[-1]),
    )
    if model is not None:
        case.refit = Remake(model[-1])
        case.fit_y = y if y is None or is_classes else y.astype(np.float64)
    check_level(level, case)
    # Each map is kept as soon as it is made, so that a command that was stopped goes on there.
    keep = None if folder.path is None or level == "quick" else folder.path / "refits"
    seed = int(report.get("random_state") or 0)
    with threads(n_jobs):
        return examine(case, level=level, keep=keep, sample=sample, random_state=seed, reporter=reporter)


def diagnose_tables(
    places: Table,
    table: Table,
    *,
    target: Sequence[str] = (),
    clusters: str = "auto",
    groups: str | None = None,
    level: str = "quick",
    sample: int | None = SAMPLE,
    random_state: int = 0,
    reporter: Reporter | None = None,
    n_jobs: int | None = None,
) -> Diagnosis:
    """Diagnose a map from elsewhere: coordinates in one table, the rows in another, in the same order."""
    check_option(level, "level", LEVELS)
    Y = coordinates_in(places)
    if len(Y) != table.n_rows:
        raise TableError(
            f"{places.source} has {len(Y):,} rows and {table.source} has {table.n_rows:,}. Give the coordinates of the "
            f"same rows, in the same order."
        )
    if len(target) > 1:
        raise ParameterError("target names several columns, and one can be judged at a time.", parameter="target")
    labels = read_labels(table, target)
    own = read_group_column(table, groups)
    hidden = {*target, *([] if groups is None else [groups]), *([] if clusters == "auto" else [clusters])}
    features = table.without(hidden & set(table.feature_names))
    plain = TablePreparer(missing="impute", scale=True).fit_transform(features)
    y, is_classes = (None, None) if labels.y is None else read_classes(labels.frame.iloc[:, 0], len(Y))
    found: Clusters | None = None
    if clusters != "auto":
        if clusters not in table.names:
            raise ParameterError(f"clusters is {clusters!r}, and the table has no such column.", parameter="clusters")
        found = read_clusters(table.column(clusters), len(Y))
    cells = features.features
    columns: list[tuple[str, Array]] = []
    if isinstance(cells, pd.DataFrame):
        columns = [(str(name), cells[name].to_numpy()) for name in cells.columns]
    case = Case(
        Y, plain, y=y, is_classes=is_classes, target_name=labels.name or "the target",
        groups=None if own is None else own.codes, clusters=found, columns=columns,
    )  # fmt: skip
    check_level(level, case)
    with threads(n_jobs):
        return examine(case, sample=sample, random_state=random_state, reporter=reporter)


def coordinates_in(places: Table) -> FloatArray:
    """Find the coordinates in a table: by their names, or as its only columns of numbers."""
    cells = places.features
    if not isinstance(cells, pd.DataFrame):
        bare = cells.toarray() if is_sparse(cells) else np.asarray(cells)
        cells = pd.DataFrame(bare, columns=[str(name) for name in places.feature_names])
    numeric = [str(name) for name in cells.columns if pd.api.types.is_numeric_dtype(cells[name])]
    for names in _AXES:
        named = [name for name in names if name in numeric]
        if len(named) > 1:
            return check_map(cells[named].to_numpy(dtype=np.float64, na_value=np.nan), name="map")
    if not 1 <= len(numeric) <= _MOST_AXES:
        raise TableError(
            f"{places.source} has {len(numeric)} columns of numbers, and a map has 1 to {_MOST_AXES}. Give a file with "
            f"the coordinates alone, or name their columns x and y.",
            parameter="map",
        )
    return check_map(cells[numeric].to_numpy(dtype=np.float64, na_value=np.nan), name="map")


def _column(shown: pd.DataFrame, name: str, parameter: str) -> Array:
    if name not in shown:
        raise unknown_name(name, list(shown), "column on the page of the run", parameter=parameter)
    return shown[name].to_numpy()


def verdict_table(diagnosis: Diagnosis, names: Sequence[Any] | None = None) -> pd.DataFrame:
    """One line per row: its name and what `Diagnosis.rows` says of it."""
    rows = diagnosis.rows.rename(columns={"novelty": "remoteness"})  # coordinates have a novelty, which is the model's
    return pd.concat([pd.Series(range(len(rows)) if names is None else list(names), name="row"), rows], axis=1)


def write_verdicts(folder: Run, diagnosis: Diagnosis) -> Path:
    """Add a diagnosis to a run: a table of rows, the part of its page, and the verdicts in its report."""
    assert folder.path is not None  # verdicts are added to what is written
    suffix = "parquet" if (folder.path / "coordinates.parquet").is_file() else "csv"
    path = write(verdict_table(diagnosis, folder.coordinates["row"].tolist()), folder.path / f"trust.{suffix}")
    payload = with_part(folder.payload, part_of(diagnosis))
    payload.meta["findings"] = newly_trusted(payload.meta["findings"], diagnosis)
    payload.save(folder.path / "payload.npz")
    write_page(payload, folder.path / "map.html")
    findings = newly_trusted(folder.report["findings"], diagnosis)
    report = {**folder.report, "trust": diagnosis.to_report(), "findings": findings}
    text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)
    with draft(folder.path / "report.json") as file:
        file.write_text(text + "\n", encoding="utf-8")
    return path
