"""A model taken apart into what skops writes safely, and put together again.

skops writes containers, texts, numbers, arrays and objects of other libraries with attributes. Our own objects are
written as dictionaries of their attributes or fields, in which the entry `TYPE` holds the id of the class. What skops
does not write, or reads in ways that trust the file, is replaced by a named tuple of plain parts, which is written in
the same way: trees, sparse matrices, random streams, arrays of objects, dictionaries whose keys are not texts. A copy
is taken apart: the model itself is not touched.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.types import Array
from manifolia.exceptions import ModelFileError
from manifolia.persist.allowed import OBJECTS, OWN, SCALAR_TYPES, TREES, TYPE, full_name, id_of, resolve
from manifolia.persist.archive import check_size
from manifolia.persist.states import completed
from manifolia.persist.trees import is_tree

#: Parameters that a file does not carry: a callable, and a folder that the next fit would read pickles from.
NOT_SAVED = ("callback", "memory")

_SPARSE = {"csr", "csc", "coo"}
_STREAMS = ("PCG64", "PCG64DXSM", "SFC64", "MT19937", "Philox")
#: Where a stream's position is, and its greatest value: NumPy does not check it.
_POSITIONS = {"MT19937": (("state", "pos"), 624), "Philox": (("buffer_pos",), 4)}
#: A list that warns, in scikit-learn 1.5 to 1.8 only; only its content counts.
_COLUMNS = "sklearn.compose._column_transformer._RemainderColsList"
_LONG = 2**24  # characters of an array of texts, all padded to the longest
_PLAIN = (type(None), bool, int, float, str)
_TEXT = 2**6  # bytes of a text of a few characters
#: Keys of dictionaries: beyond this, numbers can be chosen so that many keys take quadratic time.
_LARGE, _FEW = 2**60, 2000


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
    indptr: Array  # Where each row (column) begins; for a coo matrix, the row of each entry


class RandomStream(NamedTuple):
    """A stream of random numbers."""

    legacy: bool  # Whether it is a ``numpy.random.RandomState``; otherwise it is a ``Generator``
    state: dict[str, Any]  # Its state, as NumPy gives it
    seed: dict[str, Any]  # State of the seed sequence from which a generator spawns others


class ObjectArray(NamedTuple):
    """An array of objects."""

    shape: tuple[int, ...]  # Its shape
    items: list[Any] | Array  # Its items, row by row; if all are texts, one array


class Scalar(NamedTuple):
    """A NumPy number."""

    value: Array  # (): the number


class Pairs(NamedTuple):
    """A dictionary whose keys are not all texts."""

    keys: list[Any]  # Its keys
    values: list[Any]  # Its values


def dismantle(model: Any, *, trusted: frozenset[str] = frozenset()) -> tuple[Any, list[Any]]:
    """Take a model apart."""
    work = _Dismantler(trusted)
    return work.take(model, type(model).__name__), work.trees


class _Dismantler:
    def __init__(self, trusted: frozenset[str]) -> None:
        self.kinds = {*OBJECTS, *OWN.values(), *trusted}
        self.trees: list[Any] = []
        self.done: dict[int, Any] = {}
        self.alive: list[Any] = []  # an id is unique only while the object lives

    def take(self, value: Any, where: str) -> Any:
        """Return the plain parts of a value; `where` names it in messages."""
        if type(value) in _PLAIN or type(value) is slice or isinstance(value, np.dtype):
            return value
        if isinstance(value, type) and full_name(value) in SCALAR_TYPES:
            return value
        if id(value) not in self.done:
            self.alive.append(value)
            self.done[id(value)] = self._take(value, where)
        return self.done[id(value)]

    def _take(self, value: Any, where: str) -> Any:
        kind = type(value)
        if isinstance(value, np.generic):
            return _named(Scalar(np.array(value)))
        if kind in (np.ndarray, np.memmap):
            return self._array(np.asarray(value), where)
        if kind in (list, set):
            return kind([self.take(item, f"{where}[{i}]") for i, item in enumerate(value)])
        if full_name(kind) == _COLUMNS:
            return self.take(list(value.data), where)
        if kind is tuple:
            return tuple(self.take(item, f"{where}[{i}]") for i, item in enumerate(value))
        if kind in (dict, OrderedDict):
            return self._dictionary(value, where)
        if sp.issparse(value) and value.format in _SPARSE:
            return _sparse_parts(value)
        if kind in (np.random.RandomState, np.random.Generator):
            return self._stream(value, where)
        if is_tree(value):
            self.trees.append(value)
            return _named(TreeAt(len(self.trees) - 1))
        if full_name(kind) in self.kinds:
            return self._object(value, where)
        raise ModelFileError(
            f"{where} is of a type that a model file may not hold: {full_name(kind)}. If it is your own class that "
            f"can be imported where the file is loaded, name it for both: save(model, path, trusted=[...]) and "
            f"load(path, trusted=[...]). Functions are not saved; pickle and joblib save them, in files that only "
            f"their author should load."
        )

    def _array(self, value: Array, where: str) -> Any:
        if value.dtype != object:
            return np.ascontiguousarray(value) if value.ndim else value
        items = value.ravel().tolist()
        lengths = [len(item) if type(item) is str and item[-1:] != "\0" else _LONG for item in items]
        if max(lengths, default=_LONG) * len(items) < _LONG:
            # One array instead of one entry per text.
            return _named(ObjectArray(value.shape, np.array(items, dtype=str)))
        return _named(ObjectArray(value.shape, [self.take(item, f"{where}[{i}]") for i, item in enumerate(items)]))

    def _dictionary(self, value: dict[Any, Any], where: str) -> Any:
        parts = [self.take(item, f"{where}[{key!r}]") for key, item in value.items()]
        # skops marks its own entries by two underscores: a column of that name must not look like one of them, or of
        # ours.
        if all(type(key) is str and not key.startswith("__") and key != TYPE for key in value):
            return dict(zip(value, parts, strict=True))
        return _named(Pairs([self.take(key, f"{where}, key {key!r}") for key in value], parts))

    def _object(self, value: Any, where: str) -> Any:
        state = value._asdict() if hasattr(value, "_fields") else value.__getstate__()
        if not isinstance(state, dict):
            raise ModelFileError(
                f"{where}, {full_name(type(value))}, does not give its state as a dictionary of attributes."
            )
        state = {name: None if name in NOT_SAVED else item for name, item in state.items()}
        parts = {}
        for name, item in state.items():
            packed = self._tree_list(item, where) if name == "estimators_" else None
            parts[name] = packed if packed is not None else self.take(item, f"{where}.{name}")
        if id_of(type(value)) in OWN:
            return {TYPE: id_of(type(value)), **parts}
        copy = object.__new__(type(value))
        copy.__dict__.update(parts)
        return copy

    def _tree_list(self, items: Any, where: str) -> Any:
        """Store what the trees of a forest share once; None if they differ in more than seed and nodes."""
        if type(items) is not list or not items or any(full_name(type(item)) not in TREES for item in items):
            return None
        differing = ("tree_", "random_state")
        shared = [{k: v for k, v in vars(item).items() if k not in differing} for item in items]
        kind = type(items[0])
        if any(type(item) is not kind or not is_tree(vars(item).get("tree_")) for item in items):
            return None
        if not all(_equal(shared[0], other) for other in shared[1:]):
            return None
        template = object.__new__(kind)
        template.__dict__.update(self.take(shared[0], f"{where}.estimators_[0]"))
        first = len(self.trees)
        self.trees += [item.tree_ for item in items]
        return _named(TreeList(template, [self.take(item.random_state, where) for item in items], first))

    def _stream(self, value: Any, where: str) -> Any:
        legacy = isinstance(value, np.random.RandomState)
        state = value.get_state(legacy=False) if legacy else value.bit_generator.state
        known = ("MT19937",) if legacy else _STREAMS
        if state["bit_generator"] not in known:
            raise ModelFileError(f"{where} is a random stream of a kind that is not saved: {state['bit_generator']}.")
        seed: dict[str, Any] = {}
        if not legacy and type(value.bit_generator.seed_seq) is np.random.SeedSequence:
            seed = {k: v for k, v in value.bit_generator.seed_seq.state.items() if k != "pool_size"}
        return _named(RandomStream(legacy, self.take(state, where), self.take(seed, where)))


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    return bool(one == other)


def _named(part: Any) -> dict[str, Any]:
    """Write a named tuple as a dictionary of its fields and the id of its class."""
    return {TYPE: id_of(type(part)), **part._asdict()}


def _sparse_parts(value: Any) -> dict[str, Any]:
    kind = f"{value.format}_{'array' if isinstance(value, sp.sparray) else 'matrix'}"
    if value.format == "coo":
        return _named(SparseMatrix(kind, value.shape, value.data, value.col, value.row))
    return _named(SparseMatrix(kind, value.shape, value.data, value.indices, value.indptr))


def reassemble(parts: Any, trees: list[Any]) -> Any:
    """Put a model together again."""
    return _Assembler(trees).put(parts)


class _Assembler:
    def __init__(self, trees: list[Any]) -> None:
        self.trees = trees
        self.done: dict[int, Any] = {}
        self.alive: list[Any] = []

    def put(self, value: Any) -> Any:
        if isinstance(value, (*_PLAIN, np.ndarray, np.generic, np.dtype, slice, type)):
            return value
        if id(value) not in self.done:
            self.alive.append(value)
            self.done[id(value)] = self._put(value)
        return self.done[id(value)]

    def _put(self, value: Any) -> Any:
        kind = type(value)
        if kind in (list, set, tuple):
            return kind([self.put(item) for item in value])
        if kind is dict:
            return self._typed(value) if TYPE in value else {key: self.put(item) for key, item in value.items()}
        for name, item in list(vars(value).items()):
            vars(value)[name] = self.put(item)
        return value

    def _typed(self, value: dict[str, Any]) -> Any:
        """Build one of our objects from its attributes or fields; only now is its class imported."""
        builders: dict[type, Callable[[Any], Any]] = {
            TreeAt: lambda tree: self._at(tree.place),
            TreeList: self._forest,
            SparseMatrix: self._sparse,
            RandomStream: self._stream,
            ObjectArray: self._object_array,
            Scalar: _scalar,
            Pairs: self._pairs,
        }
        kind: Any = resolve(value[TYPE])
        fields = {name: item for name, item in value.items() if name != TYPE}
        if issubclass(kind, tuple):
            demand(fields.keys() == set(kind._fields), f"{value[TYPE]} has other fields")
        if kind in builders:
            return builders[kind](kind(**fields))
        state = {name: self.put(item) for name, item in fields.items()}
        if issubclass(kind, tuple):
            return kind(**state)
        made = object.__new__(kind)
        vars(made).update(completed(value[TYPE], kind, state))
        return made

    def _at(self, index: Any) -> Any:
        demand(type(index) is int and 0 <= index < len(self.trees), "it refers to a tree that it does not hold")
        return self.trees[index]

    def _forest(self, value: TreeList) -> list[Any]:
        demand(full_name(type(value.template)) in TREES, "the trees of a forest are none")
        demand(type(value.seeds) is list and type(value.first) is int, "the trees of a forest are not numbered")
        shared = {name: self.put(item) for name, item in vars(value.template).items()}
        out = []
        for i, seed in enumerate(value.seeds):
            estimator = object.__new__(type(value.template))
            estimator.__dict__.update(shared, random_state=self.put(seed), tree_=self._at(value.first + i))
            out.append(estimator)
        return out

    def _sparse(self, value: SparseMatrix) -> Any:
        form, _, family = str(value.kind).partition("_")
        arrays = (value.data, value.indices, value.indptr)
        whole = all(type(a) is np.ndarray and a.ndim == 1 for a in arrays) and all(
            a.dtype.kind in "iu" for a in arrays[1:]
        )
        sizes = self.put(value.shape)
        demand(form in _SPARSE and family in ("array", "matrix") and whole, "a sparse matrix is none")
        demand(
            type(sizes) is tuple and len(sizes) == 2 and all(type(n) is int and 0 <= n < 2**63 for n in sizes),
            "a sparse matrix has no shape",
        )
        build = getattr(sp, value.kind)
        if form == "coo":
            demand(len({len(a) for a in arrays}) == 1, "a sparse matrix has entries without a place")
            inside = all(bool(((a >= 0) & (a < n)).all()) for a, n in zip((arrays[2], arrays[1]), sizes, strict=True))
            demand(inside, "a sparse matrix has entries outside of it")
            return build((arrays[0], (arrays[2], arrays[1])), shape=sizes)
        matrix = build(arrays, shape=sizes)
        matrix.check_format(full_check=True)
        return matrix

    def _stream(self, value: RandomStream) -> Any:
        state, seed = self.put(value.state), self.put(value.seed)
        name = state["bit_generator"]
        demand(name in (("MT19937",) if value.legacy else _STREAMS), "a random stream is of an unknown kind")
        if name in _POSITIONS:
            keys, most = _POSITIONS[name]
            position: Any = state
            for key in keys:
                position = position[key]
            demand(type(position) is int and 0 <= position <= most, "a random stream has no position")
        if value.legacy:
            legacy = np.random.RandomState()
            legacy.set_state(state)
            return legacy
        demand(set(seed) <= {"entropy", "spawn_key", "n_children_spawned"}, "a random stream has an unknown seed")
        bits = getattr(np.random, name)(np.random.SeedSequence(**seed) if seed else 0)
        bits.state = state
        return np.random.Generator(bits)

    def _object_array(self, value: ObjectArray) -> Array:
        given = value.items
        if isinstance(given, np.ndarray):
            check_size(given.size * _TEXT)
        items = given.tolist() if isinstance(given, np.ndarray) else [self.put(item) for item in given]
        shape = self.put(value.shape)
        out = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            out[i] = item
        return out.reshape(shape)

    def _pairs(self, value: Pairs) -> dict[Any, Any]:
        keys = [self.put(key) for key in value.keys]
        small = all(
            isinstance(key, (*_PLAIN, np.generic)) and not (type(key) is int and abs(key) > _LARGE) for key in keys
        )
        demand(small or len(keys) < _FEW, "a dictionary has keys that no model has")
        return dict(zip(keys, [self.put(item) for item in value.values], strict=True))


def _scalar(value: Scalar) -> Any:
    demand(type(value.value) is np.ndarray and value.value.ndim == 0, "a number is none")
    return value.value[()]


def demand(condition: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Refuse parts that do not fit."""
    if not condition:
        raise ModelFileError(f"its parts do not fit together: {what}.")
