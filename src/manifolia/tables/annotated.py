"""Cells and genes of an AnnData: which are asked for, read a few cells at a time, and found again in other cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from manifolia._core.types import Array, IntArray
from manifolia._core.validate import is_sparse, to_csr
from manifolia.exceptions import ParameterError, ParameterTypeError, TableError
from manifolia.tables.naming import counted, listing, repeated, unknown_name

_BLOCK = 4096  # cells that are read of a file, or placed, at a time
_FEW_GENES = 50  # scanpy takes the genes themselves up to this many, and principal components above


class Cells(NamedTuple):
    """The rows that a map is made from."""

    values: Any  # (n, d)
    names: list[str]  # Of its columns
    used: IntArray | None  # Numbers of the genes that take part; None if the columns are not genes
    source: dict[str, str]  # "use_rep" or "layer", by which new cells are read in the same way
    settings: dict[str, Any]  # Of the neighbours that were named


def check_adata(adata: Any, name: str = "adata") -> None:
    """Refuse what is not an AnnData."""
    if not all(hasattr(adata, part) for part in ("obs", "var", "obsm", "uns", "var_names")):
        raise ParameterTypeError(f"{name} must be an AnnData, got {type(adata).__name__}.", parameter=name)


def read_cells(adata: Any, use_rep: str | None, layer: str | None, neighbors_key: str | None, mask_var: Any) -> Cells:
    """Find the matrix that is asked for, and take the genes of it that take part."""
    check_adata(adata)
    given = {"use_rep": use_rep, "layer": layer, "neighbors_key": neighbors_key}
    both = [name for name, value in given.items() if value is not None]
    if len(both) > 1:
        raise ParameterError(f"{' and '.join(both)} are given. Pass one of them.", parameter=both[0])
    settings: dict[str, Any] = {}
    components = None
    if neighbors_key is not None:
        use_rep, components, settings = _of_neighbors(adata, neighbors_key)
    if use_rep is not None and use_rep != "X":
        values = _entry(adata.obsm, use_rep, "entry of obsm", "use_rep")
        values = values.to_numpy() if isinstance(values, pd.DataFrame) else values
        values = (to_csr(values) if is_sparse(values) else np.asarray(values))[:, :components]
        names = [f"{use_rep}_{j + 1}" for j in range(values.shape[1])]
        return Cells(values, names, None, {"use_rep": use_rep}, settings)
    used = _genes(adata, mask_var)
    source = _matrix(adata, layer)
    columns = None if len(used) == adata.n_vars else used
    names = [str(name) for name in adata.var_names[used]]
    return Cells(all_blocks(source, columns), names, used, {} if layer is None else {"layer": layer}, settings)


def _of_neighbors(adata: Any, key: str) -> tuple[str, int | None, dict[str, Any]]:
    """Read where scanpy's neighbours were found, by its own rule, and how."""
    about = _entry(adata.uns, key, "entry of uns", "neighbors_key")
    params = about.get("params") if isinstance(about, Mapping) else None
    if not isinstance(params, Mapping):
        raise TableError(
            f"uns[{key!r}] was not written by sc.pp.neighbors: it has no params.", parameter="neighbors_key"
        )
    n_pcs = params.get("n_pcs")
    use_rep = params.get("use_rep")
    if use_rep is None:
        genes = n_pcs == 0 or adata.n_vars <= _FEW_GENES or "X_pca" not in adata.obsm
        use_rep = "X" if genes else "X_pca"
    components = int(n_pcs) if n_pcs and use_rep != "X" else None
    settings = {name: params[name] for name in ("n_neighbors", "metric") if name in params}
    return str(use_rep), components, settings


def _entry(entries: Any, name: str, what: str, parameter: str) -> Any:
    if name not in entries:
        raise unknown_name(name, list(entries), what, parameter=parameter)
    return entries[name]


def _matrix(adata: Any, layer: str | None) -> Any:
    """Find the genes: an array, a sparse matrix, or what represents one in a file."""
    if layer is None and adata.X is None:
        there = f"layers {listing(adata.layers)}, obsm {listing(adata.obsm)}"
        raise TableError(f"the AnnData has no matrix X. Pass layer or use_rep; there are {there}.", parameter="layer")
    found = adata.X if layer is None else _entry(adata.layers, layer, "layer", "layer")
    return to_csr(found) if sp.issparse(found) else found  # by cells, of which blocks are taken


def _genes(adata: Any, mask: Any) -> IntArray:
    """Number the genes that take part."""
    if mask is None or (isinstance(mask, str) and mask == "auto" and "highly_variable" not in adata.var):
        return np.arange(adata.n_vars)
    if isinstance(mask, str):
        name = "highly_variable" if mask == "auto" else mask
        mask = _entry(adata.var, name, "column of var", "mask_var")
    marked = np.asarray(mask)
    if marked.shape != (adata.n_vars,) or marked.dtype.kind != "b":
        raise ParameterError(
            f"mask_var must say yes or no for each of the {adata.n_vars:,} genes, got shape {marked.shape} of "
            f"{marked.dtype}. Pass the name of such a column of var, an array of bool, or None for all genes.",
            parameter="mask_var",
        )
    if not marked.any():
        raise ParameterError("mask_var marks no gene. Pass None to take all genes.", parameter="mask_var")
    return np.flatnonzero(marked)


def obs_column(adata: Any, name: str | None, parameter: str) -> Array | None:
    """Take a column of obs; categories as what they stand for, None for missing labels."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise ParameterTypeError(
            f"{parameter} must be the name of a column of obs, got {type(name).__name__}.", parameter=parameter
        )
    column = _entry(adata.obs, name, "column of obs", parameter)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype if column.notna().all() else object)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        return np.asarray(column)
    return np.array([None if gap else str(value) for value, gap in zip(column, column.isna(), strict=True)], object)


def blocks(source: Any, columns: IntArray | None) -> Iterator[Any]:
    """Read a matrix, in memory or in a file, some cells at a time."""
    for start in range(0, source.shape[0], _BLOCK):
        block = source[start : start + _BLOCK]
        block = to_csr(block) if is_sparse(block) else np.asarray(block)
        yield block if columns is None else block[:, columns]


def all_blocks(source: Any, columns: IntArray | None) -> Any:
    """Read the cells: from a file, never more than a block of the genes that take no part."""
    read = list(blocks(source, columns))
    if not read:
        raise TableError("the AnnData has no cells.")
    return to_csr(sp.vstack(read, format="csr")) if is_sparse(read[0]) else np.concatenate(read)


def same_columns(adata: Any, about: Mapping[str, Any]) -> tuple[Any, IntArray | None]:
    """Find in other cells what a map was made from."""
    params, names = about["params"], [str(name) for name in about["variables"]]
    if "use_rep" in params:
        source = _entry(adata.obsm, params["use_rep"], "entry of obsm", "adata_new")
        source = source.to_numpy() if isinstance(source, pd.DataFrame) else source
        if source.shape[1] < len(names):
            raise TableError(
                f"obsm[{params['use_rep']!r}] has {source.shape[1]} columns, and the map was made of {len(names)}. "
                f"Compute it in the same way as for the reference."
            )
        return source, np.arange(len(names))
    genes = [str(name) for name in adata.var_names]
    twice = set(repeated(genes)) & set(names)
    if twice:
        raise TableError(f"{listing(sorted(twice))} occurs more than once. Call var_names_make_unique() first.")
    places = {name: j for j, name in enumerate(genes)}
    missing = [name for name in names if name not in places]
    if missing:
        raise TableError(
            f"{len(missing):,} of the {counted(len(names), 'gene')} of the map are not there: {listing(missing)}. Pass "
            f"cells with the same genes."
        )
    return _matrix(adata, params.get("layer")), np.array([places[name] for name in names])


def coordinates(adata: Any, basis: str) -> Array:
    """Find a map in obsm, as scanpy does."""
    name = basis if basis in adata.obsm else f"X_{basis}"
    if name not in adata.obsm:
        raise unknown_name(basis, [one.removeprefix("X_") for one in adata.obsm], "map", parameter="basis")
    return np.asarray(adata.obsm[name], dtype=np.float64)
