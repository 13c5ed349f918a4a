"""Requests to a served page: what is asked for, who is answered, and in which words."""

from __future__ import annotations

import base64
import html
import json
import logging
import queue
from concurrent.futures import TimeoutError as LateError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from manifolia.explorer.guard import Guard, Refusal
from manifolia.explorer.payload import Payload
from manifolia.explorer.uploads import MOST_BYTES

__all__ = ["LATE", "Handler", "Server"]

LATE = 600.0  #: Seconds after which a placement is given up.
_MOST_LISTENERS = 16
_HEARTBEAT = 15.0  # seconds between signs of life to a listener
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


class Server(ThreadingHTTPServer):
    """Listens, and hands requests to threads of their own."""

    daemon_threads = True
    page: Any
    guard: Guard

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note an error of one request; the others go on."""
        _log.debug("a request from %s failed", client_address, exc_info=True)


class _Request(NamedTuple):
    path: str
    query: dict[str, list[str]]


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "manifolia"
    sys_version = ""
    timeout = 60
    disable_nagle_algorithm = True
    wbufsize = 65536
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        """Log quietly."""
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
            answer = page._worker.submit(page._transform, content, kind).result(LATE)
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
    return resources.files("manifolia.explorer").joinpath("static", name).read_text(encoding="utf-8")
