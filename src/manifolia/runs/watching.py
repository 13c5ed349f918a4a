"""A batch of new rows, watched: does it come from where the rows of a run came from? With the answer as a page."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.files import draft
from manifolia._core.types import FloatArray
from manifolia.exceptions import TableError
from manifolia.runs.folder import Run
from manifolia.runs.request import TO_KEEP_ROWS
from manifolia.tables import Table
from manifolia.trust.drift import Drift, drift

_MOST_LINES = 40  # columns that the page lists
_MOST_POINTS = 3_000  # of each side that it draws
_SIZE, _EDGE = 560, 16

_STYLE = """
:root{color-scheme:light dark;--b:#fff;--t:#1a1d21;--m:#5b636b;--f:#d5dade;--n:#d55e00}
@media(prefers-color-scheme:dark){:root{--b:#15181d;--t:#e9ecef;--m:#a3abb3;--f:#3a4048;--n:#e69f00}}
body{background:var(--b);color:var(--t);font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid var(--f);padding:.25rem .6rem;text-align:right}td:first-child,th:first-child,
td:last-child,th:last-child{text-align:left}svg{max-width:100%;height:auto;border:1px solid var(--f)}
.old{fill:var(--m);opacity:.35}
.new{fill:var(--n)}p.how{color:var(--m)}
"""


def watch(run: Run, table: Table) -> Drift:
    """Ask of raw rows whether they come from where the rows of a run came from."""
    if run.rows is None:
        raise TableError(f"{run.path} did not keep its rows, with which new ones are compared. {TO_KEEP_ROWS}")
    targets, y = list(run.report["target"]["columns"]), None
    if len(targets) == 1 and targets[0] in table.names:
        column = table.column(targets[0])
        numbers = run.report["target"]["task"] == "regression"
        y = pd.to_numeric(column, errors="coerce").to_numpy(np.float64) if numbers else column.to_numpy(dtype=object)
    return drift(run, table.features, y, random_state=int(run.report["random_state"]))


def write_drift_page(found: Drift, run: Run, name: str, path: Path) -> Path:
    """Write the verdict, its evidence and where the rows lie as a page without scripts."""
    own = run.coordinates[run.report["axes"]].to_numpy(np.float64)
    title = f"{Path(name).name} on the map of {run.path.name if run.path is not None else 'a run'}"
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    rows = [
        (_cell(line["column"]), _chance(line["p_value"]), "" if pd.isna(line["shift"]) else f"{line['shift']:+.2f}",
         f"{line['missing_before']:.1%}", f"{line['missing_now']:.1%}", _cell(line["reason"]))
        for _, line in found.columns.head(_MOST_LINES).iterrows()
    ]  # fmt: skip
    classes = [
        (_cell(line["label"]), f"{line['share_before']:.1%}", f"{line['share_now']:.1%}", f"{line['n_now']:,}",
         "" if line["known"] else "not known to the map")
        for _, line in found.classes.head(_MOST_LINES).iterrows()
    ]  # fmt: skip
    kinds = {"columns": "Columns, one by one", "joint": "What goes with what", "target": "Targets and errors"}
    tests = [(kinds[kind], "not asked" if p is None else _chance(p)) for kind, p in found.tests.items()]
    parts = [
        f"<h1>{_cell(title)}</h1>",
        *(f"<p>{'<b>' if i == 0 else ''}{_cell(one.text)}{'</b>' if i == 0 else ''}</p>"
          for i, one in enumerate(found.findings)),
        _picture(own, found.rows),
        "<p class=how>Grey: rows of the map. Coloured: the new rows.</p>" if len(found.rows.columns) else "",
        "<h2>Evidence</h2>", _table(("kind", "p"), tests),
        "<h2>Columns</h2>", _table(("column", "p, corrected", "shift (sd)", "missing before", "missing now", ""), rows),
        *(("<h2>Classes</h2>", _table(("class", "before", "now", "rows now", ""), classes)) if classes else ()),
        "<p class=how>The p-value of the verdict is corrected for all tests: where nothing has changed, one batch in "
        "twenty at most raises an alarm. Rows that belong together count as many and raise more.</p>",
    ]  # fmt: skip
    page = "\n".join([
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'sha256-{style}\'">',
        f"<title>{_cell(title)}</title>", f"<style>{_STYLE}</style>", "</head>", "<body>", *parts, "</body>", "</html>",
        "",
    ])  # fmt: skip
    with draft(path) as file:
        file.write_bytes(page.encode("utf-8", errors="replace"))
    return path


def _cell(value: Any) -> str:
    return html.escape(str(value))


def _chance(p: float) -> str:
    return "&lt; 0.0001" if p < 1e-4 else f"{p:.2g}"


def _table(head: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> str:
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
    return "<table><tr>" + "".join(f"<th>{name}</th>" for name in head) + f"</tr>{cells}</table>"


def _picture(own: FloatArray, rows: pd.DataFrame) -> str:
    """Both sides on the map, the first two axes."""
    if own.shape[1] < 2 or "map_x" not in rows:
        return ""
    new = rows[["map_x", "map_y"]].to_numpy(np.float64)
    every = np.vstack([own[:, :2], new])
    low, high = every.min(axis=0), every.max(axis=0)
    scale = (_SIZE - 2 * _EDGE) / max(float((high - low).max()), 1e-300)
    width, height = (high - low) * scale + 2 * _EDGE
    dots = []
    for side, word, radius in ((own[:, :2], "old", 1.8), (new, "new", 2.2)):
        step = -(-len(side) // _MOST_POINTS)
        dots += [
            f'<circle class="{word}" cx="{_EDGE + (x - low[0]) * scale:.1f}" cy="{_EDGE + (high[1] - y) * scale:.1f}" '
            f'r="{radius}"/>'
            for x, y in side[::step].tolist()
        ]
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Map">{"".join(dots)}</svg>'
