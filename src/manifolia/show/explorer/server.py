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

One worker thread calls the model; the others only read. `manifolia.show.explorer.guard` says who is answered.
"""

from __future__ import annotations

import base64
import html
import json
import logging
import math
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pandas as pd

from manifolia._core.types import IntArray
from manifolia._core.warnings import warn
from manifolia.show.explorer.decode import with_new_rows
from manifolia.show.explorer.guard import Guard, Refusal
from manifolia.show.explorer.parts.part import NO_FEATURE
from manifolia.show.explorer.payload import Payload
from manifolia.show.explorer.placing import PlacedRows, Placer, reasons_of
from manifolia.show.explorer.uploads import MOST_BYTES, UploadError, read_upload
from manifolia.tables import Table, read

__all__ = ["LivePage"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MOST_NEW = 10_000  # new rows that a page takes in all
_MOST_LISTENERS = 16
_HEARTBEAT = 15.0  # seconds between signs of life to a listener
_LATE = 600.0  # seconds after which a placement is given up
_POLL = 0.1  # seconds until a page that is closed stops listening
_PAGE_MB = 1e6  # a served page has no size to keep to
_STATIC = {"/explorer.css": "text/css", "/live.js": "text/javascript"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_log = logging.getLogger(__name__)


class LivePage:
    """A page that is served until it is closed; make one with ``manifolia.explore(..., live=True)``.

    Parameters
    ----------
    payload : Payload
        What it shows.
    placer : Placer, default=None
        Places new rows; None: the page takes none.
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
    >>> from manifolia.show.explorer import build_payload
    >>> from manifolia.show.explorer.server import LivePage
    >>> with LivePage(build_payload(np.eye(3))) as page:
    ...     page.url.startswith("http://127.0.0.1:"), page.selection is None
    (True, True)
    """

    def __init__(
        self, payload: Payload, placer: Placer | None = None, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        if host not in ("127.0.0.1", "localhost", "::1"):
            warn(
                f"host is {host!r}: the page can be reached from other machines by who knows its token, and what it "
                f"sends is not encrypted. Use '127.0.0.1' and a tunnel instead."
            )
        self._base = self._payload = payload
        self._placer = placer
        self._lock = threading.Lock()
        self._selection: IntArray | None = None
        self._new: list[Table] = []
        self._listeners: list[queue.Queue[str | None]] = []
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="manifolia-live")
        self._server = _Server((host, port), _Handler)
        self._server.page = self
        number = int(self._server.server_address[1])
        shown = "127.0.0.1" if host in ("127.0.0.1", "localhost", "::1", "0.0.0.0") else host
        self._server.guard = Guard((*_LOOPBACK, shown.lower()), number)
        self.url = f"http://{shown}:{number}/?token={self._server.guard.token}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL,), daemon=True, name="manifolia-live-server"
        )
        self._thread.start()

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
            For `manifolia.show.explorer.write_page`.
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
        payload = self.payload
        n = int(payload.meta["n_rows"])
        rows = None
        if points is not None:
            order = np.concatenate([payload.arrays["row"].astype(np.int64), np.arange(n, n + payload.meta["n_new"])])
            rows = np.unique(order[np.array(points, dtype=np.int64)])
        with self._lock:
            self._selection = rows

    def _transform(self, content: bytes, kind: str) -> dict[str, Any]:
        """Place what was sent. The worker thread alone comes here."""
        placed = self._place(read_upload(content, kind))
        return _answer(placed, int(self.payload.meta["n_new"]))

    def _place(self, table: Table) -> PlacedRows:
        """Place rows, and put them on the page. The worker thread alone comes here."""
        if self._placer is None:
            message = "This page has no model at hand that could place new rows."
            raise UploadError(message)
        known = sum(one.n_rows for one in self._new)
        if known + table.n_rows > _MOST_NEW:
            message = f"The page takes {_MOST_NEW:,} new rows at most, and would have {known + table.n_rows:,}."
            raise UploadError(message)
        self._tell("placing", 0, table.n_rows)
        placed = self._placer(table)
        self._tell("placing", table.n_rows, table.n_rows)
        self._new.append(table)
        everyone = placed.new if len(self._new) == 1 else self._placer(_stacked(self._new)).new
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
        row = int(payload.arrays["row"][i]) if i < n else i - n
        found: dict[str, Any] = {"point": i, "row": row, "new": i >= n, "x": place[0], "y": place[1], "reasons": None}
        part = payload.meta["parts"].get("reasons")
        if part is None:
            return found
        lines = {
            key: payload.arrays[f"reasons.{key}"].reshape(n + payload.meta["n_new"], -1)[i]
            for key in ("feature", "weight", "sign")
        }
        found["reasons"] = [
            {"feature": part["features"][f], "weight": float(w) / 255 * part["scale"], "sign": int(s)}
            for f, w, s in zip(*lines.values(), strict=True)
            if f != NO_FEATURE
        ]
        effects = None if self._placer is None else self._placer.describer.effects
        if not found["reasons"] and effects is not None and i < n:
            weight = self._worker.submit(effects.of_rows, np.array([row])).result(_LATE).weight[0]
            order = np.argsort(-weight, kind="stable")[: part["k"]]
            found["reasons"] = [
                {"feature": effects.names[f], "weight": float(weight[f]), "sign": 0} for f in order if weight[f] > 0
            ]
        return found


def _stacked(tables: list[Table]) -> Table:
    frames = [table.features for table in tables]
    both = pd.concat(frames, ignore_index=True)
    names = np.concatenate([table.row_names for table in tables])
    first = tables[0]
    return Table(both, [str(name) for name in both.columns], pd.DataFrame(index=both.index), names, first.source)


def _answer(placed: PlacedRows, n_new: int) -> dict[str, Any]:
    """What the page is told of rows that were placed now; `frontend/src/live.ts` has the same as a type."""
    new = placed.new
    Y = np.asarray(new.Y, dtype=np.float64)
    columns = dict(new.columns) if new.columns is not None else {}
    novelty = columns.get("novelty")
    flags = next((part.fixed["flag"] for part in new.parts if part.name == "novelty"), None)
    names = [str(name) for name in new.row_names or range(len(Y))]
    return {
        "n": len(Y),
        "n_new": n_new,
        "names": names,
        "x": [_plain(value) for value in Y[:, 0]],
        "y": [_plain(value) for value in (Y[:, 1] if Y.shape[1] > 1 else np.zeros(len(Y)))],
        "novelty": None if novelty is None else [_plain(value) for value in novelty],
        "flagged": None if flags is None else [bool(flag) for flag in flags],
        "columns": {name: [_plain(value) for value in values] for name, values in columns.items() if name != "novelty"},
        "reasons": reasons_of(placed),
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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    page: LivePage
    guard: Guard

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("a request from %s failed", client_address, exc_info=True)


class _Request(NamedTuple):
    path: str
    query: dict[str, list[str]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "manifolia"
    sys_version = ""
    timeout = 60
    disable_nagle_algorithm = True
    wbufsize = 65536
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug(format, *args)

    def do_GET(self) -> None:
        """Answer what is asked for."""
        asked = self._asked()
        guard = self.server.guard
        refusal = guard.host(self.headers)
        if refusal is None and asked.path == "/" and "token" in asked.query:
            if guard.is_token(asked.query["token"][0]):
                self._send(303, "", "text/plain", {"Location": "/", "Set-Cookie": guard.cookie()})
            else:
                self._refuse(Refusal(403, "The token is not that of this page."))
            return
        refusal = refusal or guard.session(self.headers)
        if refusal is not None:
            self._refuse(refusal)
            return
        page = self.server.page
        if asked.path == "/":
            self._send(200, _frame(page.payload), "text/html")
        elif asked.path in _STATIC:
            self._send(200, _static(asked.path[1:]), _STATIC[asked.path])
        elif asked.path == "/events":
            self._stream()
        elif asked.path.startswith("/col/"):
            self._column(unquote(asked.path[len("/col/") :]))
        elif asked.path.startswith("/point/"):
            self._point(asked.path[len("/point/") :])
        else:
            self._refuse(Refusal(404, "There is no such thing here."))

    def do_POST(self) -> None:
        """Take what is sent."""
        asked = self._asked()
        guard = self.server.guard
        refusal = guard.host(self.headers) or guard.session(self.headers) or guard.origin(self.headers)
        kind = self.headers.get_content_type() if "Content-Type" in self.headers else ""
        allowed = {"/transform": ("application/json", "text/csv"), "/selection": ("application/json",)}
        if refusal is None and asked.path not in allowed:
            refusal = Refusal(404, "There is no such thing here.")
        if refusal is None and kind not in allowed[asked.path]:
            refusal = Refusal(415, f"Send {' or '.join(allowed[asked.path])}.")
        length = self.headers.get("Content-Length", "")
        if refusal is None and (not length.isdigit() or "Transfer-Encoding" in self.headers):
            refusal = Refusal(411, "Say how long it is.")
        if refusal is None and int(length) > MOST_BYTES:
            refusal = Refusal(413, f"That is more than the {MOST_BYTES // 10**6} MB that are taken at once.")
        if refusal is not None:
            self._refuse(refusal)
            return
        content = self.rfile.read(int(length))
        if asked.path == "/selection":
            self._selected(content)
        else:
            self._placed(content, kind)

    def _asked(self) -> _Request:
        parts = urlsplit(self.path)
        return _Request(parts.path, parse_qs(parts.query))

    def _selected(self, content: bytes) -> None:
        payload = self.server.page.payload
        total = payload.meta["n_rows"] + payload.meta["n_new"]
        try:
            points = json.loads(content)["points"]
            fits = points is None or (
                isinstance(points, list) and all(type(i) is int and 0 <= i < total for i in points)
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            fits = False
        if not fits:
            self._refuse(Refusal(400, "The selection is not a list of points."))
            return
        self.server.page._select(points)
        self._send(204, "", "text/plain")

    def _placed(self, content: bytes, kind: str) -> None:
        page = self.server.page
        try:
            answer = page._worker.submit(page._transform, content, kind).result(_LATE)
        except (ValueError, TypeError) as error:  # what is wrong with the rows; TableError is one of them
            self._refuse(Refusal(422, str(error)))
        except LateError:
            self._refuse(Refusal(503, "It takes too long. Send fewer rows."))
        except Exception:
            _log.exception("placing new rows failed")
            self._refuse(
                Refusal(500, "The model could not place these rows; the program that serves the page says why.")
            )
        else:
            self._send(200, json.dumps(answer, allow_nan=False), "application/json")

    def _column(self, name: str) -> None:
        payload = self.server.page.payload
        if name not in payload.arrays:
            self._refuse(Refusal(404, "There is no such array."))
            return
        self._send(200, base64.b64decode(payload.packed(name)), "application/octet-stream")

    def _point(self, text: str) -> None:
        page = self.server.page
        total = page.payload.meta["n_rows"] + page.payload.meta["n_new"]
        if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) < total):
            self._refuse(Refusal(404, "There is no such point."))
            return
        self._send(200, json.dumps(page._point(int(text)), allow_nan=False), "application/json")

    def _stream(self) -> None:
        page = self.server.page
        heard: queue.Queue[str | None] = queue.Queue()
        with page._lock:
            full = len(page._listeners) >= _MOST_LISTENERS
            if not full:
                page._listeners.append(heard)
        if full:
            self._refuse(Refusal(503, "Too many pages listen already."))
            return
        try:
            self.close_connection = True
            self._head(200, "text/event-stream", None)
            self.wfile.write(b": listening\n\n")
            self.wfile.flush()
            while True:
                try:
                    text = heard.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    text = ""
                if text is None:
                    return
                self.wfile.write(f"data: {text}\n\n".encode() if text else b": here\n\n")
                self.wfile.flush()
        except OSError:
            return  # the page was closed
        finally:
            with page._lock:
                page._listeners.remove(heard)

    def _refuse(self, refusal: Refusal) -> None:
        self.close_connection = True  # what was sent is not read
        self._send(refusal.status, refusal.reason, "text/plain")

    def _send(self, status: int, content: str | bytes, kind: str, more: dict[str, str] | None = None) -> None:
        body = content.encode("utf-8", "replace") if isinstance(content, str) else content
        self._head(status, kind, len(body), more)
        self.wfile.write(body)
        self.wfile.flush()

    def _head(self, status: int, kind: str, length: int | None, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        text = kind.startswith("text/") or kind == "application/json"
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if text else kind)
        if length is not None and status != 204:
            self.send_header("Content-Length", str(length))
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in {**_HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()


def _frame(payload: Payload) -> str:
    meta = json.dumps(payload.meta, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{html.escape(payload.meta['title'])}</title>",
            '<link rel="stylesheet" href="/explorer.css">',
            '<link rel="icon" href="data:,">',
            "</head>",
            "<body>",
            '<div id="app"><p class="loading">Reading the map…</p></div>',
            f'<script type="application/json" id="meta" data-live>{meta}</script>',
            '<script src="/live.js"></script>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _static(name: str) -> str:
    return resources.files("manifolia.show.explorer").joinpath("static", name).read_text(encoding="utf-8")
