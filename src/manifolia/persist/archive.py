"""The file: a ZIP archive with a JSON header, the objects, the arrays of trees, and a seal over every byte.

=====================  ==============================================================================================
member                 holds
=====================  ==============================================================================================
``manifolia.json``     format, its version, versions of libraries, class of the model, SHA-256 of the members below
``graph.skops``        the objects, as skops writes them: an archive of ``schema.json`` and arrays
``trees/<name>.npy``   the nodes of all trees, one array for each property
=====================  ==============================================================================================

The archive's comment is ``manifolia-sha256:`` and the SHA-256 of all bytes before it, so that a file that was cut off
or altered anywhere is recognised. Whoever makes a file by hand can compute both checksums: they detect damage, not
forgery.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from manifolia._core.files import draft, parse_json
from manifolia._core.memory import RAISE_LIMIT, format_bytes, limit_now
from manifolia._core.types import Array
from manifolia.exceptions import ModelFileError

FORMAT = "manifolia-model"
VERSION = 2
HEADER, GRAPH, SCHEMA = "manifolia.json", "graph.skops", "schema.json"

#: Members of the file, and of the archive of objects inside it.
OUTER = re.compile(r"manifolia\.json|graph\.skops|trees/[a-z_]{1,40}\.npy")
INNER = re.compile(r"schema\.json|[0-9]{1,20}\.npy")

_SEAL = b"manifolia-sha256:"
_DIGEST = 64  # hexadecimal digits
_LEVEL = 3  # of compression: 500 trees of 1900 nodes in 1.8 s, to a sixth; level 6: twice as long, a tenth less
_MOST_DEFLATED = 1032  # deflate cannot expand one byte to more than this
_MOST_HEADER = 2**20
_MOST_END = 2**16 + 42  # bytes at the end of an archive that say where its list of members is
_NPY_START = 12_000  # more than numpy's longest header
_CHUNK = 2**20
_LARGE = 2**30  # bytes of a member that gets the form for members beyond 2 GiB
_KINDS = "biufcUSMm"  # of arrays: no objects, no records
_OBJECT = 2**11  # bytes that an object takes while it is read: 1.2 KB measured, including skops' own record of it
_MOST_OBJECTS = 150_000  # enough to prepare a table of 15,000 columns; more only in a file that is itself large
_PACKED_OBJECT = 3  # bytes of an object in a file: six measured, 0.1 if all are the same


Bytes = bytes | memoryview


class Content(NamedTuple):
    """What a file holds."""

    header: dict[str, Any]  # The header
    graph: bytes  # The objects
    arrays: dict[str, Array]  # The arrays of the trees, by name


def write(path: Path, content: Content) -> None:
    """Write a file, at once or not at all.

    Parameters
    ----------
    path : Path
        Where to write. An existing file is replaced when the new one is complete.
    content : Content
        What to write; the checksum is added to the header.
    """
    members: dict[str, list[Bytes]] = {GRAPH: [content.graph]}
    members |= {f"trees/{name}.npy": _npy_pieces(array) for name, array in content.arrays.items()}
    header = {"format": FORMAT, "version": VERSION, **content.header, "sha256": _checksum(members)}
    with draft(path) as beside, beside.open("rb+") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            archive.comment = _SEAL + b"0" * _DIGEST
            archive.writestr(zipfile.ZipInfo(HEADER), json.dumps(header, indent=1).encode())
            archive.writestr(zipfile.ZipInfo(GRAPH), content.graph)  # as it is: the graph is compressed already
            for name in [name for name in members if name != GRAPH]:
                with archive.open(name, "w", force_zip64=_size(members[name]) > _LARGE) as member:
                    for piece in members[name]:
                        member.write(piece)
        digest = _file_digest(file)
        file.seek(-_DIGEST, os.SEEK_END)
        file.write(digest)
        file.flush()
        os.fsync(file.fileno())


def _npy_pieces(array: Array) -> list[Bytes]:
    """Give the bytes of a file of one array: its header, and its cells where they are."""
    cells, start = np.ascontiguousarray(array), io.BytesIO()
    np.lib.format.write_array_header_1_0(start, np.lib.format.header_data_from_array_1_0(cells))
    return [start.getvalue(), cells.ravel().view(np.uint8).data if cells.itemsize else b""]


def _size(pieces: Sequence[Bytes]) -> int:
    return sum(len(piece) for piece in pieces)


def _checksum(members: Mapping[str, Sequence[Bytes]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name} {_size(members[name])}\n".encode())
        for piece in members[name]:
            digest.update(piece)
    return digest.hexdigest()


def _file_digest(file: IO[bytes]) -> bytes:
    """Compute the SHA-256 of all bytes but those of the digest itself."""
    left = file.seek(0, os.SEEK_END) - _DIGEST
    file.seek(0)
    digest = hashlib.sha256()
    while left > 0:
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            break
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest().encode()


def read(file: IO[bytes]) -> Content:
    """Read a file and check that it is whole, ours, of a known version and not larger than memory.

    Parameters
    ----------
    file : binary file
        Open for reading.

    Returns
    -------
    Content
        Only its header has been interpreted.

    Raises
    ------
    ModelFileError
        If it is not such a file.
    """
    _check_seal(file)
    _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        infos = check_members(archive, OUTER)
        if GRAPH in infos and infos[GRAPH].compress_type != zipfile.ZIP_STORED:  # it is an archive itself
            raise ModelFileError(f"its member {GRAPH!r} is packed twice.")
        header = _header(archive, infos)
        members = {name: archive.read(info) for name, info in infos.items() if name != HEADER}
    checksum = _checksum({name: [data] for name, data in members.items()})
    if GRAPH not in members or checksum != header.get("sha256"):
        raise ModelFileError("it is damaged: its content does not match the checksum in its header.")
    graph = members.pop(GRAPH)
    names = {name: name.removeprefix("trees/").removesuffix(".npy") for name in members}
    return Content(header, graph, {short: array_from(members.pop(name), name) for name, short in names.items()})


def _check_seal(file: IO[bytes]) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(64)
    if not size:
        raise ModelFileError("it is empty.")
    if start[:4] != b"PK\x03\x04":
        kind = "a pickle or joblib file, which could run code" if start[:1] == b"\x80" else "another kind of file"
        raise ModelFileError(f"it is {kind}; a model file is written by manifolia.save.")
    file.seek(max(0, size - len(_SEAL) - _DIGEST))
    end = file.read()
    if not end.startswith(_SEAL):
        if start[30:].startswith(HEADER.encode()):
            message = "it is damaged: its end is missing or was altered. Copy or save it again."
        else:
            message = "it is another kind of archive; a model file is written by manifolia.save."
        raise ModelFileError(message)
    if _file_digest(file) != end[-_DIGEST:]:
        raise ModelFileError("it is damaged: it was altered since it was saved. Copy or save it again.")


def _check_directory(file: IO[bytes]) -> None:
    """Refuse an archive whose list of members is longer than that of any model file, before it is read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MOST_END))
    end = file.read()
    at = end.rfind(b"PK\x05\x06")
    is_long = end[max(0, at - 20) : at].startswith(b"PK\x06\x07")  # the form for archives beyond 4 GiB
    if size < 2**32 if is_long else int.from_bytes(end[at + 12 : at + 16], "little") > _MOST_HEADER:
        raise ModelFileError("it holds more members than a model file has.")


def check_members(archive: zipfile.ZipFile, allowed: re.Pattern[str]) -> dict[str, zipfile.ZipInfo]:
    """Look at the list of an archive's members before any of them is unpacked."""
    infos: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if not allowed.fullmatch(info.filename) or info.filename in infos:
            raise ModelFileError(f"it holds a member that a model file does not have: {info.filename[:80]!r}.")
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError(f"its member {info.filename!r} is packed in an unknown way.")
        if info.file_size > _MOST_DEFLATED * info.compress_size + _CHUNK:
            raise ModelFileError(f"its member {info.filename!r} says that it is larger than it can be.")
        infos[info.filename] = info
    check_size(sum(info.file_size for info in infos.values()))
    return infos


def check_size(size: float) -> None:
    """Refuse what would not fit into memory."""
    _check_limit(size, limit_now())


def check_objects(n_objects: int, packed: int = 0) -> None:
    """Refuse more objects than a model can have in a file of this size: a small file can describe very many."""
    most = max(_MOST_OBJECTS, packed // _PACKED_OBJECT)
    _check_limit(n_objects * _OBJECT, limit_now(unless_set=most * _OBJECT))


def _check_limit(size: float, limit: int) -> None:
    if size > limit:
        raise ModelFileError(
            f"it would take about {format_bytes(size)} of memory and the limit is {format_bytes(limit)}. {RAISE_LIMIT}"
        )


def _header(archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    if HEADER not in infos or infos[HEADER].file_size > _MOST_HEADER:
        raise ModelFileError("it has no header of a model file.")
    header = parse_json(archive.read(infos[HEADER]))
    if not isinstance(header, dict) or header.get("format") != FORMAT or type(header.get("version")) is not int:
        raise ModelFileError("its header is not that of a model file.")
    if header["version"] == 1:
        raise ModelFileError(
            "it is a model file of format 1, which was written by an unreleased manifolia and is no longer read. "
            "Make the map again from its data and save it."
        )
    if header["version"] != VERSION:
        libraries = header.get("libraries")
        writer = libraries.get("manifolia", "?") if isinstance(libraries, dict) else "?"
        raise ModelFileError(
            f"its format is version {header['version']}, this manifolia reads version {VERSION}. "
            f"Update manifolia (the file was written by {str(writer)[:40]})."
        )
    return header


def array_from(data: bytes, name: str) -> Array:
    """Read an array, after comparing its declared shape with the number of bytes."""
    shape, fortran, dtype, start = npy_header(data[:_NPY_START], name, len(data))
    flat = np.frombuffer(data, dtype=dtype, offset=start) if dtype.itemsize else np.empty(math.prod(shape), dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy("K")


def npy_header(start: bytes, name: str, size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Read and check the header of an array."""
    buffer = io.BytesIO(start)
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise ModelFileError(f"its array {name!r} is of an unknown version.")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    sizes_are_whole = all(type(length) is int and length >= 0 for length in shape)
    if dtype.hasobject or dtype.kind not in _KINDS or dtype.subdtype is not None or not sizes_are_whole:
        raise ModelFileError(f"its array {name!r} holds what an array of a model may not hold ({dtype}).")
    # An array of empty texts has no bytes, however many there are; each would still cost time.
    if math.prod(shape) * dtype.itemsize != size - buffer.tell() or (not dtype.itemsize and math.prod(shape) > _CHUNK):
        raise ModelFileError(f"its array {name!r} says shape {shape} and is not as large as that.")
    return shape, fortran, dtype, buffer.tell()
