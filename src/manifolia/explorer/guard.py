"""Who may talk to a served page: the browser that was given its address, from that page, on this machine.

Any web site that the user visits can send requests to this machine, and any program on it can read addresses of other
users' programs. So a request is answered only if it

- names this server as its host: a site that has its own name point here (DNS rebinding) does not,
- carries the cookie that the token in the printed address was swapped for,
- if it sends something, comes from a page of this server (``Origin``), in a type that forms of other sites cannot send.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple

__all__ = ["Guard", "Refusal"]

_SELF = ("same-origin", "none")  # "none" is an address that the user typed


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
