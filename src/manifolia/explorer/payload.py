"""What a page shows, as a description and a few arrays: the one format behind files, live pages and notebooks.

Format version 2. ``meta`` is JSON: title, notes, findings, importances, and for each column its name, role, kind and
the way its values are coded (`manifolia.explorer.columns`). ``arrays`` are flat and little-endian:

=========  ==========================================================================================================
x, y       coordinates of all points: f4, or u2 codes of ``offset + scale * code`` from `PRECISE_ROWS` rows on
z          the same for a map of three dimensions or more, which the page can turn
row        row number in the user's table of each training point (u2 or u4)
c0, c1, …  columns, one entry for each point
part.key   arrays of a part; those with a line for each point follow the order of the points
=========  ==========================================================================================================

The training points come first, in a random order that the seed fixes, so that the first m of them are a fair sample
while the map is moved; new rows follow in their own order. ``meta["parts"]`` describes what else is known of the map
(`manifolia.explorer.parts`); a part that is not there is not shown:

=========  ==========================================================================================================
reasons    the k features that say most about each point: feature u2, weight u1 (``code / 255 * scale``), sign i1,
           for gradients dx, dy i1 (``code / 127 * arrow_scale`` in units of the map), reliability u1 (``code / 255``)
arrows     where features grow, on a grid of ny × nx cells over ``box``: dx, dy i1 for each feature, weight u1
neighbors  the k nearest points in the data and in the map (u4; 2³² − 1 is none)
quality    scores of the map, R_NX curve, and the columns of role "quality"
images     pixels u1, height × width × channels for each point
saliency   values u1, height × width for each point (``code / 255 * scale``)
novelty    how unlike the rows of the map new rows are: flag u1 for each of them
model      what the model says of the points: columns of role "model"
tuning     a study, as `manifolia.Tuner.to_dict` gives it
=========  ==========================================================================================================

Files of format version 1, which have no parts, are read too.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.files import draft
from manifolia._core.types import Array, ArrayLike
from manifolia.exceptions import ModelFileError
from manifolia.explorer.budget import pack
from manifolia.explorer.parts.part import Part

__all__ = ["FORMAT", "FORMAT_VERSION", "NewRows", "Payload", "dtype_name"]

FORMAT_VERSION = 2
FORMAT = "manifolia-explorer"
_READ = (1, 2)  # versions that `Payload.load` reads
#: What reading a damaged archive raises, beside the errors of the archive itself.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_DTYPES = ("u1", "u2", "u4", "i1", "i2", "f4", "f8")


@dataclass(frozen=True)
class NewRows:
    """Rows that were placed on a finished map."""

    Y: ArrayLike  # (m, n_components): their coordinates
    # Their columns, with the names of the map's; what is missing there is missing on the page
    columns: pd.DataFrame | Mapping[str, ArrayLike] | None = None
    row_names: Sequence[Any] | None = None  # Their names
    parts: Sequence[Part] = ()  # What else is known of them, coded as the parts of the map are


@dataclass(eq=False)
class Payload:
    """What a page shows; make one with `manifolia.explorer.build_payload`."""

    meta: dict[str, Any]  # The description, as it goes to JSON
    arrays: dict[str, Array]  # Coordinates, row numbers, columns and what belongs to parts
    _packed: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was left out or changed, in sentences; the page lists them too."""
        return tuple(self.meta["left_out"])

    def packed(self, name: str) -> str:
        """Compress an array for the page."""
        if name not in self._packed:
            self._packed[name] = pack(self.arrays[name])
        return self._packed[name]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one ``.npz`` file, so that the page can be made again without fitting again."""
        text = json.dumps(self.meta, separators=(",", ":"), allow_nan=False)
        buffer = io.BytesIO()
        stored: dict[str, Any] = {"meta": np.frombuffer(text.encode("ascii"), dtype=np.uint8), **self.arrays}
        np.savez_compressed(buffer, **stored)
        with draft(path) as file:
            file.write_bytes(buffer.getvalue())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Payload:
        """Read a file of `save`."""
        # From memory: NumPy leaves a damaged file open.
        content = io.BytesIO(Path(path).read_bytes())
        try:
            with np.load(content, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            meta = json.loads(arrays.pop("meta").tobytes())
            foreign = meta["format"] != FORMAT
            version = meta["version"]
        except (*_DAMAGE, zipfile.BadZipFile, zlib.error) as error:
            message = f"{os.fspath(path)!r} holds no page of manifolia, or is damaged ({error}). Make it again."
            raise ModelFileError(message) from error
        if foreign or version not in _READ:
            message = (
                f"{os.fspath(path)!r} has format {meta['format']!r}, version {version!r}, and manifolia reads "
                f"{FORMAT!r}, version {FORMAT_VERSION}. Make the file again, or update manifolia."
            )
            raise ModelFileError(message)
        if version == 1:
            meta.update(version=FORMAT_VERSION, parts={})
        _check_arrays(meta, arrays, os.fspath(path))
        return cls(meta, arrays)


def dtype_name(array: Array) -> str:
    """Name the type of an array in two characters."""
    return f"{array.dtype.kind}{array.dtype.itemsize}"


def _check_arrays(meta: dict[str, Any], arrays: dict[str, Array], path: str) -> None:
    """Refuse a file whose arrays are not those that its description promises."""
    try:
        promised = {name: (item["dtype"], item["length"]) for name, item in meta["arrays"].items()}
        found = {name: (dtype_name(array), len(array)) for name, array in arrays.items() if array.ndim == 1}
        fits = promised == found and len(arrays) == len(found) and all(kind in _DTYPES for kind, _ in found.values())
        n_points = meta["n_rows"] + meta["n_new"]
        placed = {"x", "y", *meta["coordinates"]}
        fits = fits and all(len(arrays[axis]) == n_points for axis in placed) and len(arrays["row"]) == meta["n_rows"]
        parts = meta["parts"]
        fits = fits and isinstance(parts, dict) and all(isinstance(part, dict) for part in parts.values())
        fits = fits and {name.split(".")[0] for name in arrays if "." in name and not name.endswith(".text")} <= set(
            parts
        )
        listed = all(isinstance(meta[name], list) for name in ("columns", "notes", "findings", "left_out"))
    except (KeyError, TypeError) as error:
        message = f"{path!r} is damaged: {error}. Make it again."
        raise ModelFileError(message) from error
    if not (fits and listed):
        message = f"{path!r} is damaged: its arrays are not those it describes. Make it again."
        raise ModelFileError(message)
