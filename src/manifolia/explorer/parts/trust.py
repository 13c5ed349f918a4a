"""What the map may be trusted for: a word for every row, and one line for the map.

``trust`` has verdict (u1: place in its ``verdicts``, 0 is not judged), and in per cent (u1) kept, the neighbours that
map and data have in common, and far, the neighbours that lie far away. If other maps were made also region (u1: 1 +
place in its ``regions``, 0 is none) and ghosts (u1: x and y of a row in each of these maps, 1 + steps of a 254th of the
map's extent and a margin; 0 is none).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from manifolia._core.messages import Finding
from manifolia._core.types import Array
from manifolia.explorer.findings import own_target
from manifolia.explorer.parts.part import Part
from manifolia.tables.table import Table
from manifolia.trust.cases import Case, guide_of
from manifolia.trust.diagnosis import Diagnosis
from manifolia.trust.examination import examine
from manifolia.trust.words import BY_MAP, CANNOT_TELL, ROW_VERDICTS

if TYPE_CHECKING:
    from manifolia.explorer.context import Context

_MOST_REGIONS, _MOST_GAPS = 254, 200
_MOST_HAUNTED = 20_000  # rows of a page that has their places in other maps
_STEPS = 254
_FEWEST = 13  # rows that have neighbours to compare
_TRUSTED, _NO_ROWS = "What may be trusted: ", "Which rows can be trusted cannot be told."
#: What a verdict means, with places for the figures of a row.
_MEANINGS = {
    "not judged": "This row was not judged.",
    "solid": "At least {kept}% of its nearest rows in the map are near it {where} too, and at least {kept}% of its "
    "nearest rows {where} are near it in the map (near: among three times as many); a random place would keep "
    "{chance}%.",
    "torn": "{far}% of its nearest rows {where}, the nearest counting most, lie far away from it in the map.",
    "chance": "Its place is one that chance could have given: it has {kept}% of its nearest rows in common with those "
    "{where}, and a random place would keep {chance}%.",
    "restless": "In maps of other halves of the rows it lies farther from its nearest rows {where} than other rows do.",
    "foreign": "It is much farther from its nearest rows in the data than other rows are from theirs.",
    "cannot tell": "It has {kept}% of its nearest rows in common with those {where}, and {far}% of these, the "
    "nearest counting most, lie far away: too little to call it solid, and no proof that it is not.",
}


def make(context: Context) -> Part | None:
    """Diagnose a map, without a refit."""
    case = case_of(context)
    if case is None:
        return None
    context.diagnosis = examine(case, random_state=context.random_state)
    return part_of(context.diagnosis)


def add_trust(context: Context) -> None:
    """Diagnose a map whose page tells nothing else."""
    part = make(context)
    if part is not None:
        context.parts["trust"] = part
        alarms, trusted = trust_findings(context)
        context.findings = [*alarms, *context.findings, *trusted]


def case_of(context: Context) -> Case | None:
    """Take what is known of a map; None if its rows are not at hand, or are too few."""
    space, card = context.space, context.card
    if space is None or context.n < _FEWEST:
        return None
    held = context.method._fitted_forest if card.forest and card.is_ours else None
    target = context.y
    if held is not None:
        target = own_target(target, context.method.oob_prediction_, held.forest) if card.predicts else None
    y, is_classes = None, None
    if card.supervised and target is not None and target.ndim == 1:
        y = np.array([None if pd.isna(value) else value for value in target.tolist()], dtype=object)
        is_classes = context.is_classes
    return Case(
        context.Y,
        space.rows,
        context.X,
        space.metric,
        y,
        is_classes,
        context.target_name or "the target",
        context.row_groups,
        held,
        columns=_columns(context.table, set(context.hidden)),
        n_targets=1 if target is None or target.ndim == 1 else target.shape[1],
        guide=guide_of(context.method),
    )


def _columns(table: Table | None, hidden: set[str]) -> list[tuple[str, Array]]:
    """The user's columns that take part."""
    if table is None or not isinstance(table.features, pd.DataFrame):
        return []
    return [(str(name), values.to_numpy()) for name, values in table.features.items() if name not in hidden]


def part_of(diagnosis: Diagnosis) -> Part:
    """Write a diagnosis as the page takes it."""
    code = {verdict: i for i, verdict in enumerate(ROW_VERDICTS)}
    rows: dict[str, Array] = {"verdict": diagnosis.rows["verdict"].map(code).to_numpy(dtype=np.uint8)}
    for name, column in (("kept", "evidence"), ("far", "torn_share")):
        rows[name] = np.rint(100.0 * diagnosis.rows[column].fillna(0.0).to_numpy()).astype(np.uint8)
    about = diagnosis.map
    chance = f"{about['chance']:.0%}".rstrip("%")
    texts = {name: text.replace("{where}", about["compared_with"]) for name, text in _MEANINGS.items()}
    told = bool((diagnosis.rows["verdict"].isin(["solid", "torn", "chance", "restless", "foreign"])).any())
    meta = {
        "summary": diagnosis.summary,
        "verdicts": list(ROW_VERDICTS),
        "meanings": [texts[name].replace("{chance}", chance) for name in ROW_VERDICTS],
        "earned": about["earned"],
        "reasons": [text for text in (about["earned_reason"], about["arrangement_reason"]) if text],
        "fades": told,
        "n_judged": about["n_judged"],
        "gaps": _gaps(diagnosis),
        "regions": [],
        "ghosts": None,
    }
    if len(diagnosis.regions):
        meta["regions"] = diagnosis.regions.head(_MOST_REGIONS)[["name", "n_rows", "level", "parent"]].to_dict(
            "records"
        )
        inner = np.minimum(diagnosis.region_labels, _MOST_REGIONS - 1)
        rows["region"] = (inner + 1).astype(np.uint8)
    places = diagnosis.other_places[:, :, :2]
    if len(places) and diagnosis.Y.shape[1] > 1 and len(diagnosis.Y) <= _MOST_HAUNTED:
        low, step = _frame(diagnosis.Y[:, :2])
        steps = np.clip(np.rint((places - low) / step), 0, _STEPS)
        known = np.isfinite(places).all(axis=2, keepdims=True)
        codes = np.where(known, 1.0 + np.nan_to_num(steps), 0.0).astype(np.uint8)
        rows["ghosts"] = codes.transpose(1, 0, 2).reshape(len(diagnosis.Y), -1)
        meta["ghosts"] = {"low": low.tolist(), "step": step.tolist()}
    return Part("trust", meta, rows=rows)


def _frame(Y: Array) -> tuple[Array, Array]:
    """Where ghosts are counted from, and their steps: a quarter of the map's extent is left around it."""
    low, high = Y.min(axis=0), Y.max(axis=0)
    margin = 0.25 * np.maximum(high - low, 1e-12)
    return (low - margin).astype(np.float64), ((high - low + 2.0 * margin) / _STEPS).astype(np.float64)


def _gaps(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Gaps that were judged, in two dimensions."""
    if diagnosis.Y.shape[1] < 2:
        return []
    lines = []
    for line, density in zip(diagnosis.gaps.to_dict("records"), diagnosis.densities, strict=True):
        if line["verdict"] == CANNOT_TELL:
            continue
        ends = [[float(value) for value in diagnosis.Y[int(line[end]), :2]] for end in ("row_a", "row_b")]
        about = {name: str(line[name]) for name in ("a", "b", "verdict", "reason")}
        lines.append({**about, "made": line["verdict"] == BY_MAP, "from": ends[0], "to": ends[1],
                      "density": [int(count) for count in density]})  # fmt: skip
    return lines[:_MOST_GAPS]


def trust_findings(context: Context) -> tuple[list[Finding], list[Finding]]:
    """Say what is wrong with a map, and in one line what may be trusted."""
    found = context.diagnosis
    if found is None:
        return [], []
    alarms = [one for one in found.findings if one.columns]  # a column that tells the target alone
    if found.map["earned"] in ("not earned", "partly"):
        alarms += [one for one in found.findings if found.map["earned_reason"] in one.text]
    return alarms, [Finding(trusted(found))]


def trusted(found: Diagnosis) -> str:
    """Say in one line what may be trusted."""
    if set(found.counts()) == {CANNOT_TELL}:
        return f"{_NO_ROWS} {found.rows['reason'].iloc[0]}"
    why = f" {found.map['earned_reason']}" if found.map["earned"] == "cannot tell" else ""
    return f"{_TRUSTED}{found.summary}.{why}"


def newly_trusted(findings: list[dict[str, Any]], found: Diagnosis) -> list[dict[str, Any]]:
    """Put what a later diagnosis says in the place of that line, in the findings of a page or a report."""
    return [
        {**one, "text": trusted(found)} if one["text"].startswith((_TRUSTED, _NO_ROWS)) else one for one in findings
    ]
