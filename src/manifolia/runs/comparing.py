"""Two runs compared: which rows are the same, what is known of them, and both maps on one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray
from manifolia._core.validate import is_sparse
from manifolia.exceptions import ParameterError
from manifolia.explorer.two_maps import MOST_LEVELS, NO_LEVEL, write_two_maps
from manifolia.runs.folder import Run
from manifolia.tables.columns import as_keys
from manifolia.tables.plain_rows import PlainRows
from manifolia.trust.comparison import Comparison, compare

_DENSE_CELLS = 50_000_000


def compare_runs(first: Run, second: Run) -> Comparison:
    """Compare the maps of two runs, whose rows are the same if they have the same name."""
    keys = [run.report["data"].get("key") for run in (first, second)]
    names = [run.coordinates["row"].to_numpy(dtype=str) for run in (first, second)]
    numbered = all(key is None and all(name.isdecimal() for name in own) for key, own in zip(keys, names, strict=True))
    if numbered and len(names[0]) != len(names[1]):
        raise ParameterError(
            f"the runs have {len(names[0])} and {len(names[1])} rows that are called by their numbers, so that nothing "
            f"says which are the same. Map both tables with the column that names their rows as key.",
            parameter="key",
        )
    return compare(_places(first), _places(second), _data(first), _target(first), key=(names[0], names[1]))


def _places(run: Run) -> FloatArray:
    return run.coordinates[run.report["axes"]].to_numpy(np.float64)


def _data(run: Run) -> Any:
    """The rows of a run as they are compared with its map; None where they are not at hand, or too many."""
    rows = run.rows
    if rows is None or rows.shape[0] * rows.shape[1] > _DENSE_CELLS:
        return None
    plain = PlainRows(run.model[0]).fit_transform(rows)
    return plain.toarray() if is_sparse(plain) else plain


def _target(run: Run) -> Array | None:
    columns = list(run.report["target"]["columns"])
    if len(columns) != 1 or run.report["target"]["task"] != "classification":
        return None
    frame = run.coordinates  # where a column may have another name, if it is called like an axis
    column = frame[columns[0]] if columns[0] in frame else frame.iloc[:, 1 + len(run.report["axes"])]
    known = column.dropna().index
    keys = np.full(len(column), None, dtype=object)
    keys[known] = as_keys(column.loc[known].to_numpy())
    return keys


def write_comparison(found: Comparison, first: Run, second: Run, path: str | os.PathLike[str]) -> Path:
    """Write both maps on one page."""
    runs, places = (first, second), (found.Y_a, found.Y_b)
    if places[0].shape[1] < 2:
        raise ParameterError("both maps have one dimension, and a page shows two. Leave out the page.", parameter="out")
    targets = [_target(run) for run in runs]
    counted = pd.Series([one for keys in targets if keys is not None for one in keys if one is not None], dtype=object)
    levels = [str(one) for one in counted.value_counts().index[:MOST_LEVELS]]
    code = {name: i for i, name in enumerate(levels)}
    arrays: dict[str, Array] = {"moved": found.rows["moved"].to_numpy()}
    for side, Y, keys in zip("ab", places, targets, strict=True):
        shared = np.full(len(Y), -1)
        shared[found.rows[side].to_numpy()] = np.arange(len(found.rows))
        arrays |= {f"x-{side}": Y[:, 0], f"y-{side}": Y[:, 1], f"shared-{side}": shared}
        known = [None] * len(Y) if keys is None else keys
        arrays[f"level-{side}"] = np.array([code.get(str(one), NO_LEVEL) for one in known])
    meta = {
        "titles": [_title(run, other) for run, other in (runs, runs[::-1])],
        "counts": [len(Y) for Y in places],
        "n_shared": len(found.rows),
        "names": [str(name) for name in found.rows.index],
        "findings": [one.text for one in found.findings],
        "scores": side_by_side(found, first, second),
        "clusters": [_line(found, line) for _, line in found.clusters.iterrows()],
        "levels": levels,
    }
    return write_two_maps(meta, arrays, path)


def _line(found: Comparison, line: pd.Series) -> dict[str, Any]:
    """One line of the table of clusters, with the shared rows that it is about."""
    rows = np.zeros(len(found.rows), dtype=bool)
    for side, codes in (("cluster_a", line["codes_a"]), ("cluster_b", line["codes_b"])):
        if codes and not rows.any():
            rows = found.rows[side].isin(codes).to_numpy()
    title = line["clusters_a"] if line["clusters_a"] else line["clusters_b"]
    if line["change"] in ("split", "merged"):
        title = f"{line['clusters_a']} → {line['clusters_b']}"
    return {"change": line["change"], "title": title, "reason": line["reason"], "rows": np.flatnonzero(rows).tolist()}


def _title(run: Run, other: Run) -> str:
    """Call a run by its folder, or else by its method."""
    if run.path is not None and (other.path is None or run.path.name != other.path.name):
        return run.path.name
    return f"{run.report['method']} of {run.report['data']['source']}"


def side_by_side(found: Comparison, first: Run, second: Run) -> list[dict[str, Any]]:
    """Scores of both: on the rows that both have, and those that each run has of its own rows."""
    lines = [{**line, "score": f"{line['score']}, shared rows"} for line in found.map["scores"]]
    values = [{one["metric"]: one["value"] for one in run.report["scores"]} for run in (first, second)]
    for name, value in values[0].items():
        if value is None or values[1].get(name) is None:
            continue
        lines.append({"score": f"{name}, own rows", "a": value, "b": values[1][name], "better": ""})
    return lines
