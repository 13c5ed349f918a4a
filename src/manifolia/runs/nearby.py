"""The run that the next map of the same table is to lie near to: which rows both have, and where these lay."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from manifolia import registry
from manifolia._core.pipelines import before_last, last_step
from manifolia._core.types import Array, IntArray
from manifolia._core.warnings import collected_warnings
from manifolia.exceptions import ManifoliaError, ParameterError
from manifolia.methods._near import Nearness, at, find_shared, known_of, row_prints
from manifolia.runs.folder import Run, open_run
from manifolia.runs.request import Request
from manifolia.tables import Table


def find_near(
    request: Request, card: registry.Card, estimator: Any, table: Table, features: Any
) -> tuple[dict[str, Any], list[str]]:
    """Find the rows of a table on the map of an earlier run: what ``fit`` is told, and what is said of it."""
    if request.near is None:
        return {}, []
    if not card.takes_near:
        able = [name for name in registry.names() if registry.find(name).takes_near]
        raise ParameterError(
            f"near is for maps by {', '.join(able)}, not by {card.name}. Leave it out, or use one of these.",
            parameter="near",
        )
    run = open_run(request.near) if isinstance(request.near, str | os.PathLike) else request.near
    if not isinstance(run, Run):
        raise ParameterError(
            f"near must be a run or its folder, got {type(run).__name__}. mf.map makes one.", parameter="near"
        )
    known, embedding = known_of(run.model, estimator.n_components)
    shared, found_by = _shared(run, known, request, table, features)
    n = int((shared >= 0).sum())
    if n == 0:
        raise ParameterError(
            "near shares no row with the table: no row has the same key, or holds the same in the columns that it "
            "used. Pass a run of some of these rows, and key, the column that names them.",
            parameter="near",
        )
    near = Nearness(found_by, at(known.layout, shared), at(embedding, shared), float(request.near_strength))
    rows = "row is" if n == 1 else "rows are"
    told = f"{n:,} {rows} held near where an earlier map has them, found by {found_by}; {len(shared) - n:,} are free."
    return {"near": near, "near_strength": request.near_strength}, [told]


def _shared(run: Run, known: Any, request: Request, table: Table, features: Any) -> tuple[IntArray, str]:
    """Find which row of the run each row of the table is, by key, by names that are no numbers, or by what it holds."""
    names, old = table.row_names.astype(str), run.coordinates["row"].to_numpy(dtype=str)
    key = run.report["data"].get("key")
    if request.key is not None and key == request.key:
        return _by_name(old, names), "key"
    if key is None and request.key is None and not (_are_numbers(old) or _are_numbers(names)):
        named = _by_name(old, names)
        if (named >= 0).any():
            return named, "index"
    before = before_last(run.model)
    try:
        with collected_warnings():
            rows = features if before is None else before.transform(features)
    except (ManifoliaError, ValueError, TypeError):  # other columns: nothing is the same
        return np.full(table.n_rows, -1, dtype=np.intp), "equality"
    width = last_step(run.model).n_features_in_
    if rows.shape[1] != width:
        return np.full(table.n_rows, -1, dtype=np.intp), "equality"
    return find_shared(known, row_prints(rows), None)


def _by_name(old: Array, new: Array) -> IntArray:
    place = {name: i for i, name in enumerate(old.tolist())}
    return np.array([place.get(name, -1) for name in new.tolist()], dtype=np.intp)


def _are_numbers(names: Array) -> bool:
    return all(name.isdecimal() for name in names.tolist()) or len(set(names.tolist())) < len(names)
