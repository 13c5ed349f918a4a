"""Two maps on one page that needs nothing else: what `frontend/src/compare.ts` reads, and its file.

========  =======  =======================================================
array     type     meaning
========  =======  =======================================================
x, y      float32  places, the second map laid over the first
shared    int32    number of the shared row, −1 for rows of one map alone
level     uint8    class of each row, 255 for none
moved     float32  way of each shared row, in local radii
========  =======  =======================================================
"""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from manifolia._core.files import draft
from manifolia._core.types import Array
from manifolia.explorer.page import hash_of, static
from manifolia.show.palette import CONTINUOUS, CONTINUOUS_DARK, OTHER_COLOR, class_colors

_TYPES = {"x": "<f4", "y": "<f4", "shared": "<i4", "level": "u1", "moved": "<f4"}
NO_LEVEL = 255
MOST_LEVELS = 40


def write_two_maps(meta: Mapping[str, Any], arrays: Mapping[str, Array], path: str | os.PathLike[str]) -> Path:
    """Write the page; arrays are called ``x-a``, ``x-b`` and so on."""
    script, style = static("compare.js"), static("compare.css")
    policy = (
        f"default-src 'none'; script-src '{hash_of(script)}'; style-src '{hash_of(style)}'; base-uri 'none'; "
        f"form-action 'none'; require-trusted-types-for 'script'"
    )
    palette = {
        "light": {"classes": class_colors(MOST_LEVELS), "continuous": list(CONTINUOUS)},
        "dark": {"classes": class_colors(MOST_LEVELS, dark=True), "continuous": list(CONTINUOUS_DARK)},
        "other": OTHER_COLOR,
    }
    text = json.dumps({**meta, "palette": palette}, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    blocks = []
    for name, values in arrays.items():
        packed = np.ascontiguousarray(values, dtype=_TYPES[name.partition("-")[0]]).tobytes()
        blocks.append(f'<script type="text/plain" id="{name}">{base64.b64encode(packed).decode("ascii")}</script>')
    title = html.escape(" and ".join(meta["titles"]))
    page = "\n".join([
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="referrer" content="no-referrer">', f"<title>{title}</title>", f"<style>{style}</style>", "</head>",
        "<body>", '<main id="app"><p>Reading the maps…</p></main>',
        "<noscript><p>These maps are drawn by a script inside this file; scripts are switched off here.</p></noscript>",
        f'<script type="application/json" id="meta">{text}</script>', *blocks, f"<script>{script}</script>",
        "</body>", "</html>", "",
    ])  # fmt: skip
    with draft(path) as file:
        file.write_bytes(page.encode("utf-8", errors="replace"))
    return Path(path)
