"""Requests to a served page: what is asked for, who is answered, and in which words.

Any web site that the user visits can send requests to this machine, and any program on it can read addresses of other
users' programs. So a request is answered only if it

- names this server as its host: a site that has its own name point here (DNS rebinding) does not,
- carries the cookie that the token in the printed address was swapped for,
- if it sends something, comes from a page of this server (``Origin``), in a type that forms of other sites cannot send.
"""

from __future__ import annotations

import base64
import json
import logging
import queue
import secrets
import tempfile
from concurrent.futures import TimeoutError as LateError
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import pandas as pd

from manifolia.exceptions import TableError
from manifolia.explorer.page import served_html, static
from manifolia.tables import Table, read
from manifolia.tables.files import PACKED

LATE = 600.0  #: Seconds after which a placement is given up.
_MOST_LISTENERS = 16
_SELF = ("same-origin", "none")  # "none" is an address that the user typed
MOST_BYTES = 16_000_000
MOST_NEW = 10_000  #: New rows that a page takes in all.
_LINES = 20 * MOST_NEW  # of what is sent: texts may have several
_MOST_CELLS = 10_000_000
_DIGITS = 19  # of a whole number beyond which it is a float
_FORMS = "Send a list of objects with the names of columns, or an object of lists, one for each column."
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


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int  # Of HTTP
    reason: str  # A sentence


class Guard:
    """Decides about requests."""

    def __init__(self, names: tuple[str, ...], port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._cookie = f"manifolia_{port}"  # cookies do not tell ports apart
        self._hosts = {f"{name}:{port}" for name in names}

    def host(self, headers: Any) -> Refusal | None:
        """Check that a request is meant for this server."""
        given = headers.get_all("Host", [])
        if len(given) != 1 or given[0].lower() not in self._hosts:
            return Refusal(421, "This server answers to its own address only.")
        return None

    def is_token(self, text: str) -> bool:
        """Check a token."""
        return secrets.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def cookie(self) -> str:
        """Write the cookie that a token is swapped for."""
        return f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"

    def session(self, headers: Any) -> Refusal | None:
        """Check that a request comes from the browser that was given the address."""
        try:
            jar = SimpleCookie(headers.get("Cookie", ""))
        except CookieError:
            jar = SimpleCookie()
        found = jar[self._cookie].value if self._cookie in jar else ""
        if not secrets.compare_digest(found.encode("utf-8", "replace"), self._session.encode()):
            return Refusal(403, "Open the whole address that was printed, with its token.")
        if headers.get("Sec-Fetch-Site", "none") not in _SELF:
            return Refusal(403, "This page answers to itself only.")
        return None

    def origin(self, headers: Any) -> Refusal | None:
        """Check that what is sent comes from a page of this server."""
        scheme, _, host = headers.get("Origin", "").partition("://")
        if scheme != "http" or host.lower() not in self._hosts:
            return Refusal(403, "This page takes what its own page sends, and nothing else.")
        return None


class Server(ThreadingHTTPServer):
    """Listens, and hands requests to threads of their own."""

    daemon_threads = True
    page: Any
    guard: Guard

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note an error of one request; the others go on."""
        _log.debug("a request from %s failed", client_address, exc_info=True)


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
        asked = urlsplit(self.path)
        guard, token = self.server.guard, parse_qs(asked.query).get("token")
        refusal = guard.host(self.headers)
        if refusal is None and asked.path == "/" and token is not None:
            if guard.is_token(token[0]):
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
            self._send(200, served_html(page.payload), "text/html")
        elif asked.path in _STATIC:
            self._send(200, static(asked.path[1:]), _STATIC[asked.path])
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
        asked = urlsplit(self.path)
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


class UploadError(TableError):
    """What was sent cannot be read as rows."""


def read_upload(content: bytes, kind: str) -> Table:
    """Read rows."""
    if not content.strip():
        raise UploadError("There are no rows. Paste them with the names of their columns in the first line.")
    if kind == "application/json":
        return read(_from_json(content))
    if content.startswith(PACKED):
        raise UploadError("The rows are packed. Unpack the file and paste its text.")
    if content.count(b"\n") + content.count(b"\r") > 2 * _LINES:
        raise UploadError(f"The page takes {MOST_NEW:,} new rows at most, and this has more than {_LINES:,} lines.")
    with tempfile.TemporaryDirectory(prefix="manifolia-") as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(content)
        try:
            return read(path)
        except TableError as error:
            raise UploadError(str(error).replace(str(path), "the rows")) from error


def _from_json(content: bytes) -> pd.DataFrame:
    if content.count(b"{") + content.count(b"[") > _LINES:
        raise UploadError(f"The page takes {MOST_NEW:,} new rows at most, and this has more than {_LINES:,} objects.")
    try:
        # NaN and Infinity are not in JSON; and no number is too long for it.
        found = json.loads(content, parse_constant=lambda _: None, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        raise UploadError(f"This is not JSON. {_FORMS}") from error
    lists = isinstance(found, dict) and found and all(isinstance(values, list) for values in found.values())
    records = isinstance(found, list) and found and all(isinstance(row, dict) for row in found)
    if not (lists or records) or not _flat(found):
        raise UploadError(f"These are no rows. {_FORMS}")
    n_rows, names = (len(found), set().union(*found)) if records else (max(map(len, found.values())), found)
    if n_rows > MOST_NEW or n_rows * len(names) > _MOST_CELLS:
        raise UploadError(
            f"The page takes {MOST_NEW:,} new rows at most, with up to {_MOST_CELLS:,} values in all; these are "
            f"{n_rows:,} rows with {len(names):,} columns."
        )
    try:
        return pd.DataFrame(found)
    except ValueError as error:
        raise UploadError(f"The columns are not of one length. {_FORMS}") from error


def _whole(text: str) -> int | float:
    return int(text) if len(text) <= _DIGITS else float(text)


def _flat(found: Any) -> bool:
    """Whether every cell is a value, not a list or an object."""
    cells = found.values() if isinstance(found, dict) else (row.values() for row in found)
    return not any(isinstance(cell, list | dict) for column in cells for cell in column)
