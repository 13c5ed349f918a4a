"""AnnData: its matrix, a layer or an entry of ``obsm`` as features, its ``obs`` beside; and results written back."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.messages import Argument, Message, Word
from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike
from manifolia._core.validate import is_sparse, to_csr
from manifolia.exceptions import TableError
from manifolia.tables.naming import column_names, distinct, listing, unknown_name
from manifolia.tables.table import Table, make_table
from manifolia.tables.writing import replacing

_PURPOSE = "Reading and writing AnnData (.h5ad)"


def read_anndata(path: Path, *, layer: str | None = None, obsm: str | None = None) -> Table:
    """Read an h5ad file."""
    anndata = import_extra("anndata", extra="anndata", purpose=_PURPOSE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are not unique: said below, by the names of the table
        try:
            data = anndata.read_h5ad(path)
        except Exception as error:  # h5py and anndata raise errors of many kinds on a damaged file
            raise TableError(f"{path} cannot be read as AnnData (.h5ad): {error}") from error
    return from_anndata(data, layer=layer, obsm=obsm, source=str(path))


def from_anndata(data: Any, *, layer: str | None = None, obsm: str | None = None, source: str = "the AnnData") -> Table:
    """Take a table from an AnnData object."""
    if layer is not None and obsm is not None:
        raise TableError(f"layer={layer!r} and obsm={obsm!r} are both given. Pass one of them.")
    if getattr(data, "isbacked", False):
        data = data.to_memory()
    notes: list[str] = []
    names = [str(name) for name in data.var_names]
    if obsm is not None:
        if obsm not in data.obsm:
            raise unknown_name(obsm, list(data.obsm), "entry of obsm", parameter="obsm")
        values = data.obsm[obsm]
        framed = isinstance(values, pd.DataFrame)
        names = column_names(values.columns) if framed else [f"{obsm}_{j + 1}" for j in range(values.shape[1])]
        values = values.to_numpy() if framed else values
    elif layer is not None:
        if layer not in data.layers:
            raise unknown_name(layer, list(data.layers), "layer", parameter="layer")
        values = data.layers[layer]
    else:
        values = data.X
        if values is None:
            there = f"layers {listing(data.layers)}, obsm {listing(data.obsm)}"
            layers, entries = Argument("layer", Word()), Argument("obsm", Word())
            raise TableError(
                Message(f"{source} has no matrix X. Pass ", layers, " or ", entries, f"; there are {there}.")
            )
    if len(set(names)) < len(names):
        notes.append("Names of variables that occur more than once got a number.")
        names = distinct(names)
    meta = data.obs.reset_index(drop=True)
    meta.columns = pd.Index(column_names(meta.columns, source=f"obs of {source}"))
    values = to_csr(values) if is_sparse(values) else np.asarray(values)
    return make_table(values, names, source, meta=meta, row_names=data.obs_names, notes=notes)


def write_anndata(
    source: str | Path,
    path: str | Path,
    *,
    obsm: Mapping[str, ArrayLike] | None = None,
    obs: Mapping[str, ArrayLike] | None = None,
    uns: Mapping[str, Any] | None = None,
) -> Path:
    """Write a copy of an h5ad file with a map and explanations added; all else stays byte for byte.

    Parameters
    ----------
    source : path
        The file to copy.
    path : path
        Where the copy goes; it appears only when it is complete. May be `source`.
    obsm : mapping, default=None
        Name to array of shape (n, k), such as ``{"X_rfphate": coordinates}``.
    obs : mapping, default=None
        Name to one value per row.
    uns : mapping, default=None
        Name to anything that AnnData can write: numbers, texts, arrays, frames, dicts of them.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    TableError
        If the source is not an AnnData, or an array has a different number of rows.
    """
    anndata = import_extra("anndata", extra="anndata", purpose=_PURPOSE)
    import h5py

    io = anndata.io if hasattr(anndata, "io") else anndata.experimental
    source = Path(source)
    with replacing(path) as draft:
        try:
            shutil.copyfile(source, draft)
            with h5py.File(draft, "r") as store:
                frame = io.read_elem(store["obs"])
        except (OSError, KeyError) as error:
            raise TableError(f"{source} cannot be read as AnnData (.h5ad): {error}") from error
        n_rows = len(frame)
        for name, values in {**(obsm or {}), **(obs or {})}.items():
            if len(values) != n_rows:
                raise TableError(
                    f"{name!r} has {len(values)} rows and {source} has {n_rows}. Fill rows that were left out with NaN."
                )
        with h5py.File(draft, "r+") as store:
            if obs:
                for name, values in obs.items():
                    frame[name] = np.asarray(values) if not isinstance(values, pd.Series) else values.array
                _put(io, store, "obs", frame)
            for group, entries in (("obsm", obsm), ("uns", uns)):
                if entries and group not in store:
                    io.write_elem(store, group, {})
                for name, value in (entries or {}).items():
                    _put(io, store[group], name, np.asarray(value) if group == "obsm" else value)
    return Path(path)


def _put(io: Any, group: Any, name: str, value: Any) -> None:
    if name in group:
        del group[name]
    io.write_elem(group, name, value)
