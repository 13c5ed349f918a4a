"""What stands in a file for objects that skops does not write, or not safely. Their names are part of the format."""

from __future__ import annotations

from typing import Any, NamedTuple

from manifolia._core.types import Array

__all__ = ["ObjectArray", "Pairs", "RandomStream", "Scalar", "SparseMatrix", "TreeAt", "TreeList"]


class TreeAt(NamedTuple):
    """A tree, by its place among the arrays of trees.

    Attributes
    ----------
    place : int
        Its number.
    """

    place: int


class TreeList(NamedTuple):
    """The trees of a forest.

    Attributes
    ----------
    template : estimator
        What they share: one of them, without its nodes.
    seeds : list
        The ``random_state`` of each.
    first : int
        Number of the first tree; the others follow.
    """

    template: Any
    seeds: list[Any]
    first: int


class SparseMatrix(NamedTuple):
    """A sparse matrix or array.

    Attributes
    ----------
    kind : str
        Name of its class, such as ``"csr_array"``.
    shape : tuple of int
        Its shape.
    data : ndarray
        Its entries.
    indices : ndarray of int
        Their columns (rows, if the matrix is stored by columns).
    indptr : ndarray of int
        Where each row (column) begins; of a coo matrix, the row of each entry.
    """

    kind: str
    shape: tuple[int, ...]
    data: Array
    indices: Array
    indptr: Array


class RandomStream(NamedTuple):
    """A stream of random numbers.

    Attributes
    ----------
    legacy : bool
        Whether it is a ``numpy.random.RandomState``; else it is a ``Generator``.
    state : dict
        Its state, as NumPy gives it.
    seed : dict
        State of the seed sequence from which a generator spawns others.
    """

    legacy: bool
    state: dict[str, Any]
    seed: dict[str, Any]


class ObjectArray(NamedTuple):
    """An array of objects.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    items : list or ndarray of str
        Its items, row by row; of texts alone, one array.
    """

    shape: tuple[int, ...]
    items: list[Any] | Array


class Scalar(NamedTuple):
    """A number of NumPy.

    Attributes
    ----------
    value : ndarray of shape ()
        The number.
    """

    value: Array


class Pairs(NamedTuple):
    """A dictionary whose keys are not all texts.

    Attributes
    ----------
    keys : list
        Its keys.
    values : list
        Its values.
    """

    keys: list[Any]
    values: list[Any]
