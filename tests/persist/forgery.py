"""Tools of someone who makes model files by hand, with checksums that are right."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import skops.io

from manifolia.persist import archive
from manifolia.persist.allowed import OWN, TYPE, full_name, id_of, resolve
from manifolia.persist.graph import dismantle
from manifolia.persist.trees import flatten_trees

SEAL = b"manifolia-sha256:"


def unpack(path: Path) -> list[tuple[str, bytes]]:
    """Return names and bytes of all members, in order."""
    with zipfile.ZipFile(path) as file:
        return [(info.filename, file.read(info)) for info in file.infolist()]


def pack(path: Path, members: list[tuple[str, bytes]], *, rewrite_header: bool = True, packing: int = 0) -> Path:
    """Write members as they are, with the checksum of the header and the seal computed anew."""
    payload = {name: data for name, data in members if name != "manifolia.json"}
    digest = hashlib.sha256()
    for name in sorted(payload):
        digest.update(f"{name} {len(payload[name])}\n".encode() + payload[name])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.comment = SEAL + b"0" * 64
        for name, data in members:
            if name == "manifolia.json" and rewrite_header:
                data = json.dumps({**json.loads(data), "sha256": digest.hexdigest()}).encode()
            file.writestr(
                zipfile.ZipInfo(name), data, packing or (0 if name == "graph.skops" else zipfile.ZIP_DEFLATED)
            )
    return reseal(path, buffer.getvalue())


def reseal(path: Path, data: bytes) -> Path:
    """Write bytes whose last 64 are replaced by the right seal."""
    path.write_bytes(data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode())
    return path


def with_header(path: Path, out: Path, **changes: Any) -> Path:
    members = dict(unpack(path))
    members["manifolia.json"] = json.dumps({**json.loads(members["manifolia.json"]), **changes}).encode()
    return pack(out, list(members.items()))


def with_member(path: Path, out: Path, name: str, data: bytes) -> Path:
    members = dict(unpack(path))
    members[name] = data
    return pack(out, list(members.items()))


def with_schema(path: Path, out: Path, change: Callable[[dict[str, Any]], Any], **more: bytes) -> Path:
    """Change what skops is told to build; `change` edits the schema, or returns another text."""
    members = dict(unpack(path))
    with zipfile.ZipFile(io.BytesIO(members["graph.skops"])) as inner:
        parts = {name: inner.read(name) for name in inner.namelist()}
    schema = json.loads(parts["schema.json"])
    changed = change(schema)
    parts["schema.json"] = changed if isinstance(changed, bytes) else json.dumps(schema).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as inner:
        for name, data in {**parts, **more}.items():
            inner.writestr(name, data)
    return with_member(path, out, "graph.skops", buffer.getvalue())


def forge(
    model: Any,
    out: Path,
    *,
    change: Callable[[Any], Any] = lambda parts: None,
    nodes: Callable[[dict[str, Any]], Any] = lambda arrays: None,
) -> Path:
    """Save a model after its parts, or the arrays of its trees, were changed; nothing is checked on the way."""
    written, trees = dismantle(model)
    parts = opened(written)
    changed = change(parts)
    arrays = flatten_trees(trees)
    nodes(arrays)
    graph = skops.io.dumps(closed(parts if changed is None else changed))
    header = {"model": id_of(type(model)), "libraries": libraries()}
    archive.write(out, archive.Content(header, graph, arrays))
    return out


def opened(value: Any) -> Any:
    """Turn the dictionaries that stand for objects of ours into such objects, with whatever is in them."""
    if isinstance(value, dict) and TYPE in value:
        kind = resolve(value[TYPE])
        fields = {name: opened(item) for name, item in value.items() if name != TYPE}
        if issubclass(kind, tuple):
            return kind(**fields)
        value = object.__new__(kind)
        vars(value).update(fields)
        return value
    return _inside(value, opened)


def closed(value: Any) -> Any:
    """Turn objects of ours into the dictionaries that stand for them."""
    if full_name(type(value)) in OWN.values():
        fields = value._asdict() if isinstance(value, tuple) else vars(value)
        return {TYPE: id_of(type(value)), **{name: closed(item) for name, item in fields.items()}}
    return _inside(value, closed)


def _inside(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(change(item) for item in value)
    if type(value) is dict:
        return {key: change(item) for key, item in value.items()}
    if hasattr(value, "get_params"):
        vars(value).update({name: change(item) for name, item in vars(value).items()})
    return value


def libraries() -> dict[str, str]:
    import sklearn

    return {"scikit-learn": sklearn.__version__}


def npy(array: np.ndarray, *, pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=pickled)
    return buffer.getvalue()
