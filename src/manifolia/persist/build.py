"""The objects of a file, built from what `manifolia.persist.audit` has approved.

skops would build the same, but first imports most of scikit-learn, for its own list of what may be trusted. Only the
kinds of nodes that the audit knows are known here.
"""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from typing import Any

import numpy as np


def build(graph: bytes, schema: dict[str, Any]) -> Any:
    """Build the objects that a schema describes; it must have been audited."""
    with zipfile.ZipFile(io.BytesIO(graph)) as archive:
        return _Builder(archive).build(schema)


class _Builder:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.built: dict[int, Any] = {}  # by number: an object in several places is built once

    def build(self, node: dict[str, Any]) -> Any:
        number = node.get("__id__")
        if number is None:
            return self._build(node)
        if number not in self.built:
            self.built[number] = self._build(node)
        return self.built[number]

    def _build(self, node: dict[str, Any]) -> Any:
        loader, content = node["__loader__"], node.get("content")
        if loader == "JsonNode":
            return json.loads(node["content"])
        if loader in ("ListNode", "SetNode", "TupleNode"):
            kind = {"ListNode": list, "SetNode": set, "TupleNode": tuple}[loader]
            return kind([self.build(item) for item in node["content"]])
        if loader == "DictNode":
            return {key: self.build(item) for key, item in node["content"].items()}
        if loader == "NdArrayNode":
            return np.load(io.BytesIO(self.archive.read(node["file"])), allow_pickle=False)
        if loader == "DTypeNode":
            return self.build(node["content"]).dtype
        if loader == "SliceNode":
            return slice(*(node["content"][end] for end in ("start", "stop", "step")))
        kind = getattr(importlib.import_module(node["__module__"]), node["__class__"])
        if loader == "TypeNode":
            return kind
        made = kind.__new__(kind)  # an ObjectNode
        state = None if content is None else self.build(content)
        if hasattr(made, "__setstate__") and state is not None:
            made.__setstate__(state)
        elif state is not None:
            vars(made).update(state)
        return made
