"""The page of a map served on this machine: arrays come when they are needed, new rows are placed by the model.

========================  ===========================================================================================
``GET /?token=…``         swaps the token for a cookie
``GET /``                 the page with its description
``GET /col/<name>``       an array, deflated
``GET /point/<i>``        what is known of a point: row, place, reasons, also where the page has none
``GET /events``           work that goes on, as server-sent events
``POST /transform``       new rows, CSV or JSON: placed, flagged, explained, and from then on part of the page
``POST /selection``       points that are selected, for Python to read
========================  ===========================================================================================

One worker thread calls the model; the others only read. `manifolia.explorer.handler` says who is answered.
"""

from __future__ import annotations

import json
import math
import queue
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import IntArray
from manifolia._core.validate import check_number
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError
from manifolia.explorer.context import Context
from manifolia.explorer.decode import with_new_rows
from manifolia.explorer.handler import LATE, MOST_NEW, Guard, Handler, Server, UploadError, read_upload
from manifolia.explorer.parts.reasons import in_words
from manifolia.explorer.payload import NewRows, Payload
from manifolia.explorer.place import new_rows, place_rows, warm_up
from manifolia.tables import Table, read

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MOST_WARNINGS = 5  # that a page is told
_POLL = 0.1  # seconds until a page that is closed stops listening
_REASON = ("feature", "weight", "sign")  # arrays that tell the reasons of a row
_PAGE_MB = 1e6  # a served page has no size to keep to


class PlacedRows(NamedTuple):
    """New rows on a map."""

    new: NewRows  # For the page
    notes: list[str]  # What was said on the way


class LivePage:
    """A page that is served until it is closed; make one with ``manifolia.explore(..., live=True)``.

    Parameters
    ----------
    payload : Payload
        What it shows.
    context : Context, default=None
        The model and what else the page was made of: with it, the page takes new rows.
    host : str, default="127.0.0.1"
        Address to listen on. Another than this machine's own lets others on the network in who know the token, over
        a line that is not encrypted; it warns.
    port : int, default=0
        Port; 0 takes a free one.

    Attributes
    ----------
    url : str
        Address with the token: open it in a browser on this machine.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.explorer import build_payload
    >>> from manifolia.explorer.serve import LivePage
    >>> with LivePage(build_payload(np.eye(3))) as page:
    ...     page.url.startswith("http://127.0.0.1:"), page.selection is None
    (True, True)
    """

    def __init__(
        self, payload: Payload, context: Context | None = None, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        check_number(port, "port", low=0, high=65535, integer=True)
        if host not in ("127.0.0.1", "localhost", "::1"):
            warn(
                f"host is {host!r}: the page can be reached from other machines by who knows its token, and what it "
                f"sends is not encrypted. Use '127.0.0.1' and a tunnel instead."
            )
        self._base = self._payload = payload
        self._context = context
        self._lock = threading.Lock()
        self._selection: IntArray | None = None
        self._new: list[Table] = []
        self._listeners: list[queue.Queue[str | None]] = []
        try:
            self._server = Server((host, port), Handler)
        except OSError as error:
            raise ParameterError(
                f"port {port} of {host} cannot be used: {error.strerror or error}. Choose another, or 0 for a free "
                f"one.",
                parameter="port",
            ) from error
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="manifolia-live")
        self._server.page = self
        number = int(self._server.server_address[1])
        shown = "127.0.0.1" if host in ("127.0.0.1", "localhost", "::1", "0.0.0.0") else host
        self._server.guard = Guard((*_LOOPBACK, shown.lower()), number)
        self.url = f"http://{shown}:{number}/?token={self._server.guard.token}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL,), daemon=True, name="manifolia-live-server"
        )
        self._thread.start()
        if context is not None:
            self._worker.submit(warm_up, context)

    @property
    def selection(self) -> IntArray | None:
        """Rows that are selected on the page.

        Returns
        -------
        ndarray of int or None
            Row numbers, ascending; new rows count on from those of the map. None if nothing is selected.
        """
        with self._lock:
            return None if self._selection is None else self._selection.copy()

    @property
    def payload(self) -> Payload:
        """What the page shows now, new rows included.

        Returns
        -------
        Payload
            For `manifolia.explorer.write_page`.
        """
        with self._lock:
            return self._payload

    def add(self, rows: Any) -> PlacedRows:
        """Place new rows on the map, as if they were pasted into the page.

        Parameters
        ----------
        rows : Table, DataFrame, array-like, str or path
            Rows with the columns that the model needs, or a file of them.

        Returns
        -------
        PlacedRows
            Their places, novelty and reasons. A page that is open shows them when it is loaded again.

        Raises
        ------
        TableError
            If they cannot be placed.
        """
        table = rows if isinstance(rows, Table) else read(rows)
        return self._worker.submit(self._place, table).result()

    def close(self) -> None:
        """Stop serving. Calling it again does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        with self._lock:
            for listener in self._listeners:
                listener.put(None)
        self._server.server_close()
        self._worker.shutdown(wait=True, cancel_futures=True)

    def wait(self) -> None:
        """Serve until the program is interrupted."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        finally:
            self.close()

    def __enter__(self) -> LivePage:
        """Return the page itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving."""
        self.close()

    def __repr__(self) -> str:
        """Say where the page is."""
        state = "serving" if self._thread.is_alive() else "closed"
        return f"<LivePage {state}: {self.url}>"

    def _tell(self, stage: str, done: int, total: int | None) -> None:
        """Send an event to all who listen."""
        text = json.dumps({"stage": stage, "done": done, "total": total})
        with self._lock:
            for listener in self._listeners:
                listener.put(text)

    def _select(self, points: list[int] | None) -> None:
        rows = None if points is None else np.unique(self.payload.order[np.array(points, dtype=np.int64)])
        with self._lock:
            self._selection = rows

    def _transform(self, content: bytes, kind: str) -> dict[str, Any]:
        """Place what was sent. The worker thread alone comes here."""
        placed = self._place(read_upload(content, kind))
        return _answer(placed, int(self.payload.meta["n_new"]))

    def _place(self, table: Table) -> PlacedRows:
        """Place rows, and put them on the page. The worker thread alone comes here."""
        if self._context is None:
            raise UploadError("This page has no model at hand that could place new rows.")
        known = sum(one.n_rows for one in self._new)
        if known + table.n_rows > MOST_NEW:
            raise UploadError(f"The page takes {MOST_NEW:,} new rows at most, and would have {known + table.n_rows:,}.")
        self._tell("placing", 0, table.n_rows)
        placed = _placed(self._context, table)
        self._tell("placing", table.n_rows, table.n_rows)
        self._new.append(table)
        everyone = placed.new if len(self._new) == 1 else _placed(self._context, _stacked(self._new)).new
        payload = with_new_rows(self._base, everyone, max_mb=_PAGE_MB)
        with self._lock:
            self._payload = payload
        self._tell("page", 1, 1)
        return placed

    def _point(self, i: int) -> dict[str, Any]:
        """What is known of a point; reasons that the page has not are computed by the worker."""
        payload = self.payload
        n = int(payload.meta["n_rows"])
        place = [
            float(payload.arrays[axis][i]) * spec["scale"] + spec["offset"]
            for axis, spec in payload.meta["coordinates"].items()
        ]
        row = int(payload.order[i]) - (n if i >= n else 0)
        found: dict[str, Any] = {"point": i, "row": row, "new": i >= n, "x": place[0], "y": place[1], "reasons": None}
        part = payload.meta["parts"].get("reasons")
        if part is None:
            return found
        lines = {key: payload.arrays[f"reasons.{key}"].reshape(n + payload.meta["n_new"], -1)[i] for key in _REASON}
        found["reasons"] = in_words(part, **lines)
        effects = None if self._context is None or self._context.X is None else self._context.effects
        if not found["reasons"] and effects is not None and i < n:
            weight = self._worker.submit(effects.of_rows, np.array([row])).result(LATE).weight[0]
            order = np.argsort(-weight, kind="stable")[: part["k"]]
            found["reasons"] = [
                {"feature": effects.names[f], "weight": float(weight[f]), "sign": 0} for f in order if weight[f] > 0
            ]
        return found


def _placed(context: Context, table: Table) -> PlacedRows:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        new = new_rows(context, place_rows(context, table))
    notes = list(dict.fromkeys(str(warning.message) for warning in caught))[:_MOST_WARNINGS]
    return PlacedRows(new, [*table.notes, *notes])


def _stacked(tables: list[Table]) -> Table:
    both = pd.concat([table.features for table in tables], ignore_index=True)
    names = np.concatenate([table.row_names for table in tables])
    return Table(both, [str(name) for name in both.columns], pd.DataFrame(index=both.index), names, tables[0].source)


def _answer(placed: PlacedRows, n_new: int) -> dict[str, Any]:
    """What the page is told of rows that were placed now; `frontend/src/live.ts` has the same as a type."""
    new = placed.new
    Y = np.asarray(new.Y, dtype=np.float64)
    columns = dict(new.columns) if new.columns is not None else {}
    parts = {part.name: part for part in new.parts}
    reasons, flagged = parts.get("reasons"), parts.get("novelty")
    novelty = None if flagged is None or flagged.columns is None else columns.pop(flagged.columns["novelty"])
    lines = None if reasons is None else zip(*(reasons.rows[key] for key in _REASON), strict=True)
    return {
        "n": len(Y),
        "n_new": n_new,
        "names": [str(name) for name in new.row_names or range(len(Y))],
        "x": [_plain(value) for value in Y[:, 0]],
        "y": [_plain(value) for value in (Y[:, 1] if Y.shape[1] > 1 else np.zeros(len(Y)))],
        "novelty": None if novelty is None else [_plain(value) for value in novelty],
        "flagged": None if flagged is None else [bool(flag) for flag in flagged.fixed["flag"]],
        "columns": {name: [_plain(value) for value in values] for name, values in columns.items()},
        "reasons": None if reasons is None or lines is None else [in_words(reasons.meta, *line) for line in lines],
        "notes": placed.notes,
    }


def _plain(value: Any) -> Any:
    """A cell as JSON can hold it."""
    if value is None or value is pd.NaT or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    return float(value) if isinstance(value, float | np.floating) else str(value)
