"""A payload as one HTML file that needs nothing else: no server, no network, no other file.

The file's own policy (a Content-Security-Policy with the hashes of our script and style) lets the browser run nothing
but them and load nothing from anywhere: what is in the data cannot run, and the page cannot send the data away.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib import resources
from pathlib import Path

from manifolia._core.files import draft
from manifolia.explorer.payload import Payload


def page_html(payload: Payload) -> str:
    """Make the page of a file."""
    script, style = static("explorer.js"), static("explorer.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{hash_of(script)}'",
            f"style-src '{hash_of(style)}'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )
    blocks = [
        f'<script type="text/plain" id="array-{html.escape(name)}">{payload.packed(name)}</script>'
        for name in payload.arrays
    ]
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="referrer" content="no-referrer">',
        f"<style>{style}</style>",
    ]
    none = "<noscript><p>This map is drawn by a script inside this file; scripts are switched off here.</p></noscript>"
    return _frame(payload, head, [none, _meta(payload), *blocks, f"<script>{script}</script>"])


def served_html(payload: Payload) -> str:
    """Make the page of a server, which hands over style, script and arrays when they are asked for."""
    head = ['<link rel="stylesheet" href="/explorer.css">', '<link rel="icon" href="data:,">']
    return _frame(payload, head, [_meta(payload, " data-live"), '<script src="/live.js"></script>'])


def _frame(payload: Payload, head: list[str], body: list[str]) -> str:
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{html.escape(payload.meta['title'])}</title>",
            *head,
            "</head>",
            "<body>",
            '<div id="app"><p class="loading">Reading the map…</p></div>',
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _meta(payload: Payload, mark: str = "") -> str:
    # JSON in a script element ends at "</script" and changes its rules at "<!--": without "<" it can do neither.
    text = json.dumps(payload.meta, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="meta"{mark}>{text}</script>'


def write_page(payload: Payload, path: str | os.PathLike[str]) -> Path:
    """Write the page to a file."""
    # A lone surrogate, which a broken encoding leaves in a title, has no bytes.
    with draft(path) as file:
        file.write_bytes(page_html(payload).encode("utf-8", errors="replace"))
    return Path(path)


def static(name: str) -> str:
    """Read a file of the built frontend."""
    return resources.files("manifolia.explorer").joinpath("static", name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """Name a script or a style in a policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
