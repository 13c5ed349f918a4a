"""A look at what a file asks to build, before anything is built.

By default, skops allows every estimator of scikit-learn, functions of NumPy and SciPy, and more. Here each node of its
``schema.json`` must be of a known kind and name a class of `manifolia.persist.allowed`, and each array must be as large
as it says and hold no objects. Our own objects are dictionaries here, with an id.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection
from typing import Any

from manifolia._core.files import parse_json
from manifolia.exceptions import ModelFileError
from manifolia.persist.allowed import OBJECTS, SCALAR_TYPES, TYPE, check_id
from manifolia.persist.archive import INNER, SCHEMA, check_members, check_objects, check_size, npy_header

_PROTOCOL = 2  # protocol of skops; older ones are read by other code, which a file could ask for
_START = 12_000  # more than the longest header of an array
_DESCRIPTION = 500  # bytes of a node: twice what there are on average
_MOST_IN_SET = 2000  # numbers can be chosen so that a set takes quadratic time

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


def audit(graph: bytes, *, trusted: frozenset[str] = frozenset(), foreign: bool = True) -> dict[str, Any]:
    """Check the objects of a file without building any, and their number if someone else may have written it.

    Returns their checked description.
    """
    if foreign:
        check_objects(graph.count(b"PK\x01\x02"), len(graph))  # entries of its list of members
    with zipfile.ZipFile(io.BytesIO(graph)) as archive:
        infos = check_members(archive, INNER)
        if SCHEMA not in infos:
            raise ModelFileError("it does not say what its objects are.")
        description = archive.read(SCHEMA)
        n_objects = description.count(b"__loader__")
        if foreign:
            check_objects(max(n_objects, len(description) // _DESCRIPTION), len(graph))
        # A node has about six keys.
        schema = parse_json(description, most_items=10 * max(1000, n_objects), object_pairs_hook=_once)
        for name, info in infos.items():
            if name != SCHEMA:
                with archive.open(info) as member:
                    npy_header(member.read(_START), name, info.file_size)
    if not isinstance(schema, dict) or schema.get("protocol") != _PROTOCOL:
        raise ModelFileError("its objects are written in an unknown way; update manifolia and skops.")
    look = _Look({name: info.file_size for name, info in infos.items()}, trusted)
    look.at(schema)
    check_size(look.unpacked)
    return schema


class _Look:
    """A walk through all nodes, which checks each.

    Nodes with the same number are built once, from the first of them. A file written by `save` repeats the content with
    the number; this is required.
    """

    def __init__(self, sizes: dict[str, int], trusted: frozenset[str]) -> None:
        self.sizes, self.trusted = sizes, trusted
        self.unpacked = 0  # bytes of arrays that are read
        self._marks: dict[Any, int] = {}
        self._read: set[tuple[Any, Any]] = set()

    def at(self, value: Any) -> int:
        """Check a value, and return a mark that values of the same content share."""
        if isinstance(value, list):
            return hash(tuple(self.at(item) for item in value))
        if not isinstance(value, dict):
            return hash((type(value), value))
        if not any(key.startswith("__") and key.endswith("__") for key in value):
            return hash(tuple((key, self.at(item)) for key, item in value.items()))
        _check_node(value, self.sizes, self.trusted)
        # What is made while an object is written, such as the list of its attributes, has a new name each time.
        mark = hash(tuple((key, self.at(item)) for key, item in value.items() if key not in ("__id__", "file")))
        number, file = value.get("__id__"), value.get("file", "")
        if number is None or (number, file) not in self._read:
            self._read.add((number, file))
            self.unpacked += self.sizes.get(file, 0)
        if number is not None and self._marks.setdefault(number, mark) != mark:
            raise ModelFileError("two different objects in it have the same number.")
        return mark


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary, refusing duplicate keys: readers differ in which one they take."""
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ModelFileError("it says the same thing twice.")
    return out


def _check_node(node: dict[str, Any], members: Collection[str], trusted: frozenset[str]) -> None:
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
    if loader == "DictNode":
        if any(key["__class__"] != "str" for key in node["key_types"]["content"]):
            raise ModelFileError("it holds a dictionary whose keys are not texts.")
        if TYPE in node["content"]:
            check_id(json.loads(node["content"][TYPE]["content"]))
    if loader == "JsonNode" and node["content"].lstrip()[:1] in ("[", "{"):
        raise ModelFileError("it holds a list where a number or a text belongs.")
    if loader == "SetNode" and len(node["content"]) > _MOST_IN_SET:
        raise ModelFileError("it holds a set that is larger than any of a model.")
    if loader == "NdArrayNode" and (node.get("type") != "numpy" or node.get("file") not in {*members} - {SCHEMA}):
        raise ModelFileError("it refers to an array that it does not hold.")
