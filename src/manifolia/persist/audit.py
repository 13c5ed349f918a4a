"""A look at what skops would build, before it builds anything.

skops lets through every estimator of scikit-learn, functions of NumPy and SciPy and more by default. Here each node of
its ``schema.json`` must be of a known kind and name a class of `manifolia.persist.allowed`, and each array must be as
large as it says and hold no objects. Objects of ours are dictionaries here, with an id.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from manifolia.exceptions import ModelFileError
from manifolia.persist.allowed import OBJECTS, SCALAR_TYPES, TYPE, check_id
from manifolia.persist.archive import INNER, SCHEMA, check_members, npy_header

_PROTOCOL = 2  # of skops; older ones are read by other code, which a file could ask for
_START = 12_000  # more than the longest header of an array

#: What each kind of node may build.
_NODES: dict[str, frozenset[str]] = {
    "DictNode": frozenset({"builtins.dict"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}),
    "ObjectNode": OBJECTS,
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": SCALAR_TYPES,
}


def audit(graph: bytes, *, trusted: frozenset[str] = frozenset()) -> list[str]:
    """Check the objects of a file without building any."""
    with zipfile.ZipFile(io.BytesIO(graph)) as archive:
        infos = check_members(archive, INNER)
        if SCHEMA not in infos:
            raise ModelFileError("it does not say what its objects are.")
        schema = json.loads(archive.read(SCHEMA), object_pairs_hook=_once)
        for name, info in infos.items():
            if name != SCHEMA:
                with archive.open(info) as member:
                    npy_header(member.read(_START), name, info.file_size)
    if not isinstance(schema, dict) or schema.get("protocol") != _PROTOCOL:
        raise ModelFileError("its objects are written in an unknown way; update manifolia and skops.")
    types: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if any(key.startswith("__") and key.endswith("__") for key in node):
                types.add(_check_node(node, set(infos), trusted))
            waiting += node.values()
    return sorted(types)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary, refusing a key that is there twice: readers differ in which one they take."""
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ModelFileError("it says the same thing twice.")
    return out


def _check_node(node: dict[str, Any], members: set[str], trusted: frozenset[str]) -> str:
    loader, module, kind = (node.get(key) for key in ("__loader__", "__module__", "__class__"))
    if not all(isinstance(text, str) for text in (loader, module, kind)) or loader not in _NODES:
        raise ModelFileError(
            f"it holds an object of an unknown kind: {str(loader)[:80]!r} for {str(module)[:80]}.{str(kind)[:80]}."
        )
    name = f"{module}.{kind}"
    if name not in _NODES[str(loader)] and not (loader == "ObjectNode" and name in trusted):
        advice = (
            f" If you know the class and trust whoever made the file, name it: load(path, trusted=[{name[:160]!r}])."
        )
        message = f"it holds an object of a type that is not allowed: {name[:160]}."
        raise ModelFileError(message + advice if loader == "ObjectNode" else message)
    if loader == "DictNode" and TYPE in node["content"]:
        check_id(json.loads(node["content"][TYPE]["content"]))
    if loader == "NdArrayNode" and (node.get("type") != "numpy" or node.get("file") not in members - {SCHEMA}):
        raise ModelFileError("it refers to an array that it does not hold.")
    return name
