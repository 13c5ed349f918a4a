"""What stands in a file for objects that skops does not write, or not safely. Their names are part of the format."""

from __future__ import annotations

from typing import Any, NamedTuple

from manifolia._core.types import Array

__all__ = ["ObjectArray", "Pairs", "RandomStream", "Scalar", "SparseMatrix", "TreeAt", "TreeList"]


class TreeAt(NamedTuple):
    """A tree, by its place among the arrays of trees."""

    place: int  # Its number


class TreeList(NamedTuple):
    """The trees of a forest."""

    template: Any  # What they share: one of them, without its nodes
    seeds: list[Any]  # The ``random_state`` of each
    first: int  # Number of the first tree; the others follow


class SparseMatrix(NamedTuple):
    """A sparse matrix or array."""

    kind: str  # Name of its class, such as ``"csr_array"``
    shape: tuple[int, ...]  # Its shape
    data: Array  # Its entries
    indices: Array  # Their columns (rows, if the matrix is stored by columns)
    indptr: Array  # Where each row (column) begins; of a coo matrix, the row of each entry


class RandomStream(NamedTuple):
    """A stream of random numbers."""

    legacy: bool  # Whether it is a ``numpy.random.RandomState``; else it is a ``Generator``
    state: dict[str, Any]  # Its state, as NumPy gives it
    seed: dict[str, Any]  # State of the seed sequence from which a generator spawns others


class ObjectArray(NamedTuple):
    """An array of objects."""

    shape: tuple[int, ...]  # Its shape
    items: list[Any] | Array  # Its items, row by row; of texts alone, one array


class Scalar(NamedTuple):
    """A number of NumPy."""

    value: Array  # (): the number


class Pairs(NamedTuple):
    """A dictionary whose keys are not all texts."""

    keys: list[Any]  # Its keys
    values: list[Any]  # Its values
