"""Which columns shape a map, and why one row is where it is: columns that hold it there, votes on it, and rows that
speak for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.messages import Argument, Message, Word
from manifolia._core.validate import check_number
from manifolia.exceptions import TableError
from manifolia.explorer.context import bare_rows
from manifolia.explorer.decode import decode
from manifolia.explorer.parts.effects import effects_on_one_row
from manifolia.explorer.parts.predictions import FOREST, vote_classes
from manifolia.runs.request import TO_KEEP_ROWS
from manifolia.tables.naming import clipped, labels, listing, nearest, number, percent

if TYPE_CHECKING:
    from manifolia.runs.folder import Run

_CLASSES = 3  # with most votes, that are named
_LIKE = 5  # rows that are listed as most alike
_MOST_HAVING = 20  # rows with a value that is no row's name, which are listed
_NAMED = 3  # names of rows, or positions of rows with one name, that are listed


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a row is where it is."""

    row: dict[str, Any]  # Its line of the coordinates
    reasons: pd.DataFrame  # column, value, weight: how much the column says about the row's place
    votes: dict[str, dict[str, float]]  # Target to class to share, most first
    like: pd.DataFrame  # row, proximity, and the targets of the rows most like it
    knower: str  # Who voted
    meaning: str  # What a weight is

    def lines(self) -> list[str]:
        """The explanation as a text; the first line is its heading."""
        heading = f"Row {self.row['row']}: " + ", ".join(f"{k} {_short(v)}" for k, v in self.row.items() if k != "row")
        said = [heading, self.meaning]
        said += [
            f"  {clipped(name, 28):28s} {clipped(_short(value), 14):>14s}  {_short(weight):>8s}"
            for name, value, weight in _tuples(self.reasons)
        ]
        if self.votes:
            trees = "How the trees vote that did not train on it:"
            said.append(trees if self.knower == FOREST else f"How it is voted on by {self.knower}, fitted without it:")
        for target, shares in self.votes.items():
            named = _CLASSES + (len(shares) == _CLASSES + 1)  # "others" would be one
            told = ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:named])
            rest = sum(list(shares.values())[named:])
            said.append(f"  {clipped(target, 28):28s} {told}" + (f", others {rest:.0%}" if rest >= 0.005 else ""))
        if len(self.like):
            whose = "" if self.knower == FOREST else f"; the votes above are those of {self.knower}"
            said.append(f"The rows most like it, by forest proximity{whose}:")
            targets = list(self.like.columns[2:])
            for name, share, *values in _tuples(self.like):
                told = ", ".join(f"{t} {_short(value)}" for t, value in zip(targets, values, strict=True))
                said.append(f"  {clipped(name, 28):28s} {share:8.4f}  {told}".rstrip())
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        return {
            "row": self.row,
            "meaning": self.meaning,
            "reasons": self.reasons.to_dict("records"),
            "votes": self.votes,
            "like": self.like[["row", "proximity"]].to_dict("records"),
        }

    def __repr__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True, eq=False, repr=False)
class MapExplanation:
    """Which columns shape a map."""

    entries: list[dict[str, Any]]  # Of the report: importances, with one for each feature of a text
    meaning: str  # What an importance is, or why there is none
    top: int  # Columns that the text lists

    @property
    def importances(self) -> pd.DataFrame:
        """Column, importance and standard error, most first."""
        return _by_column(self.entries)

    def lines(self) -> list[str]:
        """The explanation as a text; the first line is its heading."""
        importances = self.importances[: self.top]
        total, said = self.importances["importance"].clip(lower=0.0).sum(), [self.meaning]
        for name, mean, error in _tuples(importances):
            share = max(mean, 0.0) / total if total > 0 else 0.0
            bar = "█" * round(24 * share)
            said.append(
                f"  {clipped(name, 28):28s} {percent(share):>12s}  {number(mean):>10s} ± {number(error):9s} {bar}"
            )
        if (importances["importance"] < 0.0).any():
            said.append("Below 0, the forest guesses better with the column shuffled: what it learned of it is noise.")
        return [line.rstrip() for line in said]

    def to_dict(self) -> dict[str, Any]:
        """Return every importance as plain data, for JSON."""
        return {"importances": self.entries}

    def __repr__(self) -> str:
        return "\n".join(self.lines())


def explain_map(run: Run, *, top: int) -> MapExplanation:
    """Say which columns shape the map of a run."""
    check_number(top, "top", low=1, integer=True)
    report, method = run.report, run.report["method"]
    meaning = f"What matters for {report['importance']['purpose']}: {report['importance']['measure']}"
    if report["importances"] and not shown_to_matter(report):
        meaning += ". No column is shown to matter, though, as the findings say: these numbers may be chance."
    if not registry.find(method).importance:
        meaning = f"{method} has no measure of how much each column matters. guided-map, for example, has one."
    elif not report["importances"]:
        meaning = (
            "How much each column matters was not measured in this run. Map again with --importance (importance=True)."
        )
    return MapExplanation(report["importances"], meaning, top)


def shown_to_matter(report: Mapping[str, Any]) -> bool:
    """Tell whether the findings of a run name columns that matter."""
    return any(finding.get("columns") for finding in report["findings"])


def _by_column(entries: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Columns with their importance and its standard error, the largest first; features of a text are added up."""
    sums: dict[str, tuple[float, float]] = {}
    for entry in entries:
        mean, error = sums.get(entry["of"], (0.0, 0.0))
        sums[entry["of"]] = mean + entry["importance"], math.hypot(error, entry["standard_error"])
    ordered = sorted(((name, *pair) for name, pair in sums.items()), key=lambda one: -one[1])
    return pd.DataFrame(ordered, columns=["column", "importance", "standard_error"])


def explain_row(run: Run, name: Any, *, top: int) -> Explanation:
    """Explain the place of a row of a run, by its name."""
    check_number(top, "top", low=1, integer=True)
    coordinates, rows, report = run.coordinates, run.rows, run.report
    row = _find_row(run, name)
    if not registry.find(report["method"]).places:
        raise TableError(
            f"{report['method']} cannot say where a row with other values would lie, so which columns hold row {name} "
            f"in its place cannot be tried. Map again with a method that places new rows, such as guided-map."
        )
    if rows is None:
        where = "The run" if run.path is None else str(run.path)
        raise TableError(f"{where} did not keep its rows, so that one cannot be explained. {TO_KEEP_ROWS}")
    method, card, targets = run.model[-1], registry.card_of(run.model), report["target"]["columns"]
    # As the page was made; what is kept for new rows may lack the rows of the map.
    known_by = {"Y": coordinates[report["axes"]].to_numpy(np.float64), "sources": list(run.model[0].sources_)}
    effects = effects_on_one_row(replace(run.page_context(), X=bare_rows(rows), **known_by))
    weights = effects.of_rows(np.array([row])).weight[0]
    order = np.argsort(-np.nan_to_num(weights), kind="stable")[:top]
    page = decode(run.payload)  # raw values, as far as the page has them, and as they were written
    values = {str(column): _plain(value) for column, value in page.columns.iloc[row].items()}
    values |= {name: texts[row] for name, texts in page.written.items() if texts[row] is not None}
    names = effects.names
    reasons = [(names[f], values.get(names[f], ""), float(weights[f])) for f in order]
    known = [target for target in targets if target in coordinates]
    like = [
        (str(coordinates["row"].iloc[i]), share, *(coordinates[target].iloc[i] for target in known))
        for i, share in (_like_rows(method, row) if card.forest else [])
    ]
    return Explanation(
        {str(column): _plain(value) for column, value in coordinates.iloc[row].items()},
        pd.DataFrame(reasons, columns=["column", "value", "weight"]).astype({"value": object}),
        _votes(method, row, targets),
        pd.DataFrame(like, columns=["row", "proximity", *known]),
        card.knower,
        f"{effects.title}. {effects.note}",
    )


def _find_row(run: Run, row: Any) -> int:
    """Find a row by its name, or by its position if no row is called so and the names are no numbers."""
    coordinates = run.coordinates
    names, name = coordinates["row"].astype(str).tolist(), labels([row])[0]
    places = [place for place, known in enumerate(names) if known == name]
    if len(places) == 1:
        return places[0]
    numbered = all(map(_is_number, names))
    if places:
        way = Message("Map again with ", Argument("key", Word("COLUMN")), ", a column that differs in every row.")
        if not numbered:
            way = Message(f"Pass the position of one, counting from 0: {listing(places, limit=_NAMED)}.")
        raise TableError(Message(f"{len(places):,} rows are called {name!r}. ", way), parameter="row")
    position = not numbered and isinstance(row, int | np.integer) and not isinstance(row, bool)
    if position and 0 <= row < len(names):
        return int(row)
    columns = decode(run.payload).columns.select_dtypes(object)
    for column in columns:
        having = [names[place] for place in np.flatnonzero((columns[column] == name).to_numpy())]
        if 0 < len(having) <= _MOST_HAVING:
            have = "Row {} has" if len(having) == 1 else "Rows {} have"
            told = f"there is no row {name!r}. {have.format(listing(map(Word, having)))} it in {column!r}: pass "
            raise TableError(f"{told}{'that' if len(having) == 1 else 'one of these'}.", parameter="row")
    if position or names == [str(i) for i in range(len(names))]:
        told = ", by name or by position: positions" if position else ". Rows"
        raise TableError(f"there is no row {name!r}{told} are 0 to {len(names) - 1}.", parameter="row")
    near = nearest(name, names)
    hint = f"Did you mean {near[0]!r}?" if near else f"Rows are called {listing(names, limit=_NAMED)}."
    raise TableError(f"there is no row {name!r}. {hint}", parameter="row")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _like_rows(method: Any, row: int) -> list[tuple[int, float]]:
    """List the training rows that speak most for a row in the forest."""
    line = method.proximity_matrix()[[row], :].toarray().ravel()
    line[row] = 0.0
    order = np.argsort(-line, kind="stable")[:_LIKE]
    return [(int(i), float(line[i])) for i in order if line[i] > 0]


def _votes(method: Any, row: int, targets: list[str]) -> dict[str, dict[str, float]]:
    """Count the votes on the classes of a training row, most first; none if the target is numbers, or there is none."""
    classes = vote_classes(method) if registry.card_of(method).predicts else []
    counted = method._class_shares(part=slice(row, row + 1)) if classes else []
    found = {}
    for target, names, shares in zip(targets, classes, counted, strict=False):
        order = np.argsort(-shares[0], kind="stable")
        found[target] = {names[k]: float(shares[0, k]) for k in order if shares[0, k] > 0}
    return {target: shares for target, shares in found.items() if shares}


def _tuples(frame: pd.DataFrame) -> Any:
    return frame.itertuples(index=False, name=None)


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def _short(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "missing"
    return number(value) if isinstance(value, float) else str(value).removesuffix("T00:00:00")
