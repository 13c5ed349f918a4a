"""A page read back by other means than the page's own: what the tests compare with what went in."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from manifolia.explorer import Payload
from manifolia.explorer.build import build_page, describe
from manifolia.explorer.context import PageOptions, context_of

MISSING = {"u1": 2**8 - 1, "u2": 2**16 - 1, "u4": 2**32 - 1}


class Blocks(HTMLParser):
    """Collects every element with its attributes and, of scripts, styles and the title, what is inside."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._open: tuple[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style", "title"):
            self._open = (tag, dict(attrs).get("id") or "")
            if tag == "script" and not dict(attrs).get("type"):
                self.scripts.append("")
            if tag == "style":
                self.styles.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[0] == tag:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is None:
            return
        tag, name = self._open
        if tag == "script" and not name:
            self.scripts[-1] += data
        elif tag == "style":
            self.styles[-1] += data
        else:
            key = name or tag
            self.inside[key] = self.inside.get(key, "") + data


def parse(path: str | Path) -> Blocks:
    found = Blocks()
    found.feed(Path(path).read_text(encoding="utf-8"))
    found.close()
    return found


def read_page(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the arrays that are in a page."""
    found = parse(path)
    meta = json.loads(found.inside["meta"])
    arrays = {}
    for name, item in meta["arrays"].items():
        raw = zlib.decompress(base64.b64decode(found.inside[f"array-{name}"], validate=True))
        arrays[name] = np.frombuffer(raw, dtype="<" + item["dtype"])
        assert len(arrays[name]) == item["length"]
    return meta, arrays


def coordinates(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return the points in the order of the user's rows, then the new ones."""
    spec = meta["coordinates"]
    columns = [arrays[axis].astype(float) * spec[axis]["scale"] + spec[axis]["offset"] for axis in "xy"]
    return in_rows(meta, arrays, np.column_stack(columns))


def values(meta: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Return a column in the order of the user's rows: text and classes as objects, None where missing."""
    (spec,) = [column for column in meta["columns"] if column["name"] == name]
    codes = arrays.get(spec["id"])
    if spec["kind"] == "text":
        texts = json.loads(arrays[spec["id"] + ".text"].tobytes())
        found = texts if not spec["coded"] else [None if c == spec["missing"] else texts[c] for c in codes]
        return in_rows(meta, arrays, np.array(found, dtype=object))
    if spec["kind"] == "class":
        found = [None if c == spec["missing"] else spec["levels"][c] for c in codes]
        return in_rows(meta, arrays, np.array(found, dtype=object))
    numbers = codes.astype(np.float64)
    if "missing" in spec:
        assert spec["missing"] == MISSING[meta["arrays"][spec["id"]]["dtype"]]
        numbers = np.where(codes == spec["missing"], np.nan, spec["offset"] + spec["scale"] * numbers)
    return in_rows(meta, arrays, numbers)


def in_rows(meta: dict[str, Any], arrays: dict[str, np.ndarray], points: np.ndarray) -> np.ndarray:
    found = points.copy()
    found[arrays["row"]] = points[: meta["n_rows"]]
    return found


def payload_of_model(model: Any, X: Any = None, y: Any = None, **options: Any) -> Payload:
    """Return what the page of a model shows."""
    context = context_of(model, X, y, PageOptions(**options))
    describe(context)
    return build_page(context)
