"""Tables in the form that trees are grown from: each column coded once into bytes, kept by column and by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks
from manifolia._core.types import Array, IntArray

#: Number of codes for values; one more stands for missing values.
_MOST_CODES = 255
_SAMPLE = 100_000  # rows that decide the bins: a bin's share of the rows is then within a few per cent of 1/255
_WIDTH = 16  # columns that are coded at a time: a cache line holds this many values of a row
_HEIGHT = 4096  # rows that are transposed at a time: with some columns they fit into a core's cache


def table_bytes(n_rows: int, n_columns: int) -> int:
    """Maximum size of a coded table in bytes: a key of four bytes and two codes of one byte per value."""
    return 6 * n_rows * n_columns


def code_table(X: Array) -> Any:
    """Code a dense table; missing values are NaN."""
    from manifolia.kernels.column_codes import MISSING_KEY, code_by_edges, code_distinct, order_values
    from manifolia.kernels.node_search import BINNED, EXACT, NEARLY, TWO, Table

    n, d = X.shape
    require(
        table_bytes(n, d),
        step=f"Coding {n:,} rows and {d:,} columns for the forest",
        remedy="Pass fewer columns or rows.",
    )
    single = np.empty((n, d), dtype=np.float32)
    keys = single.view(np.uint32)
    columns, rows = np.empty((d, n), dtype=np.uint8), np.empty((n, d), dtype=np.uint8)
    n_codes, kinds = np.zeros(d, dtype=np.int32), np.full(d, EXACT, dtype=np.uint8)
    low, high = np.zeros((d, 256), dtype=np.uint32), np.zeros((d, 256), dtype=np.uint32)

    def order(block: slice) -> None:
        single[block] = X[block]
        flat = keys[block].reshape(-1)
        order_values(flat, flat)

    def code(block: slice) -> None:
        some = np.ascontiguousarray(keys[:, block].T)
        for column, f in zip(some, range(block.start, block.stop), strict=True):
            n_codes[f] = code_distinct(column, columns[f], low[f], high[f])
            if n_codes[f] < 0:
                edges = _edges(column[column != MISSING_KEY])
                n_codes[f] = code_by_edges(column, edges, columns[f], low[f], high[f])
                shared = np.count_nonzero(low[f, : n_codes[f]] != high[f, : n_codes[f]])
                kinds[f] = NEARLY if len(edges) == _MOST_CODES - 1 and shared == 1 else BINNED
            elif n_codes[f] == 2 and columns[f].max() == 1:
                kinds[f] = TWO

    def turn(block: slice) -> None:
        rows[block] = columns[:, block].T

    map_blocks(order, row_blocks(n, _HEIGHT))
    map_blocks(code, row_blocks(d, _WIDTH))
    map_blocks(turn, row_blocks(n, _HEIGHT))
    # If every code stands for one value, keys are not needed.
    exact = np.isin(kinds, (EXACT, TWO)).all()
    return Table(columns, rows, keys[:0] if exact else keys, n_codes, kinds, low, high)


def _edges(keys: IntArray) -> IntArray:
    """The last key of each bin but the last, for bins of about equal numbers of rows.

    If there is one value too many, as in pictures with 256 greys, the two neighbours with the fewest rows share a bin.
    """
    if len(keys) > _SAMPLE:
        keys = keys[np.random.default_rng(0).integers(0, len(keys), _SAMPLE)]
    ordered = np.sort(keys)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if len(starts) == _MOST_CODES + 1:
        sizes = np.diff(starts, append=len(ordered))
        return np.delete(ordered[starts[:-1]], np.argmin(sizes[:-1] + sizes[1:]))
    return np.unique(ordered[np.arange(1, _MOST_CODES) * len(ordered) // _MOST_CODES - 1])
