"""Odd input of every kind for every estimator, by number: a case is made from its number alone, and can be made again.

``python tests/contract/fuzz.py FIRST LAST`` runs cases and writes a line about each.
"""

from __future__ import annotations

import ast
import datetime
import decimal
import fractions
import functools
import linecache
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

import manifolia as mf
from manifolia.exceptions import ManifoliaError, ManifoliaWarning

SOURCE = str(Path(mf.__file__).parent)
#: What scikit-learn's users know, and filter by.
_NAMES = re.compile("X (has|does not have valid) feature names")
SECONDS = 60  # after which a case counts as hanging


class Case(NamedTuple):
    """An estimator, what it is fitted on, and what else it is given."""

    number: int
    kind: str
    model: Any
    X: Any
    y: Any
    new: Any
    told: str


class Outcome(NamedTuple):
    """How a case ended: "fine", "refused", "raw", "bad output", "hang", and what was said."""

    end: str
    said: str


# --- tables ----------------------------------------------------------------------------------------------------------


def _values(rng: np.random.Generator) -> np.ndarray:
    """Numbers, some of them at the ends of what floats can hold."""
    n = int(rng.choice([0, 1, 2, 3, 5, 8, 20, 30, 40], p=[0.03, 0.04, 0.04, 0.05, 0.05, 0.09, 0.2, 0.25, 0.25]))
    d = int(rng.choice([0, 1, 2, 3, 5, 9], p=[0.03, 0.1, 0.15, 0.32, 0.3, 0.1]))
    X = rng.normal(size=(n, d))
    if n > 3:
        X[:, : d // 2] += 3 * (np.arange(n) % 3)[:, np.newaxis]
    return _VALUES[rng.choice(list(_VALUES), p=_WEIGHTS)](rng, X)


def _with(value: float) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    """Some cells hold a value."""

    def change(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
        X = X.copy()
        X[rng.random(X.shape) < rng.choice([0.05, 0.5, 1.0])] = value
        return X

    return change


_VALUES: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "plain": lambda rng, X: X,
    "positive": lambda rng, X: np.abs(X),
    "constant": lambda rng, X: np.full(X.shape, rng.choice([0.0, 1.0, -3.5, 1e9])),
    "constant column": lambda rng, X: np.where(np.arange(X.shape[1]) == 0, 2.0, X),
    "equal rows": lambda rng, X: X[rng.integers(0, 3, len(X))] if len(X) > 3 else X,
    "few values": lambda rng, X: np.rint(X),
    "NaN": _with(np.nan),
    "inf": _with(np.inf),
    "-inf": _with(-np.inf),
    "huge": lambda rng, X: X * rng.choice([1e20, 1e39, 1e100, 1e155, 1e200, 1e307]),
    "one huge": lambda rng, X: _with(float(rng.choice([1e20, 3e38, 1e39, 1e150, 1e200, 1.7e308])))(rng, X),
    "tiny": lambda rng, X: X * rng.choice([1e-20, 1e-150, 1e-200, 1e-308, 5e-324]),
    "far": lambda rng, X: X + rng.choice([1e8, 1e15, 1e17, -1e30]),
    "scales": lambda rng, X: X * 10.0 ** rng.integers(-12, 12, X.shape[1]),
}
_WEIGHTS = np.array([10, 3, 1, 1, 1, 1, 2, 1, 1, 2, 2, 1, 1, 1]) / 28


def _named(rng: np.random.Generator, X: Any) -> pd.DataFrame:
    """A frame with names that are usual, odd, of several kinds, or equal."""
    names: list[list[Any]] = [
        [f"c{j}" for j in range(X.shape[1])],
        ["a"] * X.shape[1],
        list(range(X.shape[1])),
        [0] * X.shape[1],
        ["a", 1, None, ("b", 2), 2.5, "", "x", "y", "z", "v"][: X.shape[1]],
        ["", " ", "\n", "ünï", "a b", "{x}", "%s", "'", "\x00", "0"][: X.shape[1]],
        [("a", j) for j in range(X.shape[1])],
    ]
    frame = pd.DataFrame(X, dtype=object if X.dtype == object else None)
    more = [f"more {j}" for j in range(X.shape[1])]
    names = [[*some, *more][: X.shape[1]] for some in names]
    frame.columns = names[rng.choice(len(names), p=[0.5, 0.1, 0.1, 0.05, 0.1, 0.1, 0.05])]
    if rng.random() < 0.3:
        frame.index = rng.permutation(len(frame)) + 100
    return frame


def _object(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    out = X.astype(object)
    odd = [
        None, pd.NA, pd.NaT, "a", "1.5", "", "nan", b"2", b"\xff", True, np.bool_(True), 10**400,
        decimal.Decimal("1.5"),
        decimal.Decimal("NaN"), fractions.Fraction(1, 3), 1 + 2j, {"a": 1}, [1, 2], (1,), np.zeros(1), np.zeros(3),
        datetime.date(2020, 1, 1), pd.Timestamp("2020"), datetime.timedelta(1), object(), int, np.float16(2),
        np.ma.masked,
        range(2), np.datetime64("NaT"), np.timedelta64(1, "s"), np.str_("x"), np.longdouble("1e4000"), Ellipsis,
        set(),
    ]  # fmt: skip
    value = odd[rng.integers(len(odd))]
    for place in np.argwhere(rng.random(X.shape) < rng.choice([0.0, 0.05, 1.0])):
        out[tuple(place)] = value
    return out


def _columns(rng: np.random.Generator, X: np.ndarray) -> pd.DataFrame:
    """A frame whose columns have types of their own."""
    n = len(X)
    text = rng.choice(["red", "green", "blue"], n)
    kinds: list[Callable[[np.ndarray], Any]] = [
        lambda v: v,
        lambda v: v.astype(np.float32),
        lambda v: pd.array(np.where(v > 1, None, 1), dtype="Int64"),
        lambda v: pd.array(v, dtype="Float32"),
        lambda v: pd.array(np.where(v > 1, None, v > 0), dtype="boolean"),
        lambda v: text,
        lambda v: pd.array(text, dtype="string"),
        lambda v: pd.Categorical(text),
        lambda v: pd.Categorical(np.rint(np.clip(v, -9, 9))),
        lambda v: pd.Categorical([None] * n),
        lambda v: pd.date_range("2020", periods=n),
        lambda v: pd.date_range("2020", periods=n, tz="UTC"),
        lambda v: pd.timedelta_range("1s", periods=n),
        lambda v: pd.period_range("2020", periods=n, freq="D"),
        lambda v: pd.interval_range(0, max(n, 1), periods=max(n, 1))[:n],
        lambda v: pd.arrays.SparseArray(np.nan_to_num(v)),
        lambda v: pd.array(np.nan_to_num(v), dtype="float64[pyarrow]"),
        lambda v: pd.array([str(x) for x in v], dtype="string[pyarrow]"),
        lambda v: np.full(n, None),
        lambda v: [[1]] * n,
        lambda v: v > 0,
        lambda v: text.astype("S"),
    ]
    usual = rng.random(X.shape[1]) < 0.6
    chosen = [0 if usual[j] else int(rng.integers(len(kinds))) for j in range(X.shape[1])]
    if rng.random() < 0.1:
        chosen = [int(rng.integers(len(kinds)))] * X.shape[1]
    columns = [pd.Series(kinds[k](X[:, j])) for j, k in enumerate(chosen)]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n))
    return frame.set_axis(_named(rng, X).columns, axis=1)


def _polars(rng: np.random.Generator, X: np.ndarray) -> Any:
    pl = __import__("polars")
    frame = pl.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    n = len(X)
    more: list[Callable[[], Any]] = [
        lambda: frame,
        lambda: frame,
        lambda: frame.cast(pl.Float32),
        lambda: frame.with_columns(t=pl.Series(["a"] * n, dtype=pl.Utf8)),
        lambda: frame.with_columns(t=pl.Series(["a"] * n, dtype=pl.Categorical)),
        lambda: frame.with_columns(t=pl.Series([None] * n, dtype=pl.Int64)),
        lambda: frame.with_columns(t=pl.Series([datetime.date(2020, 1, 1)] * n, dtype=pl.Date)),
        lambda: frame.with_columns(t=pl.Series([[1]] * n, dtype=pl.List(pl.Int64))),
        lambda: frame.with_columns(t=pl.Series([True] * n, dtype=pl.Boolean)),
        lambda: frame.lazy(),
        lambda: pl.Series("a", np.zeros(n)),
    ]
    return more[rng.integers(len(more))]() if X.shape[1] else frame


def _arrow(rng: np.random.Generator, X: np.ndarray) -> Any:
    pa = __import__("pyarrow")
    columns: dict[str, Any] = {f"c{j}": pa.array(X[:, j]) for j in range(X.shape[1])}
    n = len(X)
    more = [
        None, None, pa.array(["a"] * n, type=pa.string()), pa.array([None] * n, type=pa.int32()),
        pa.array(["a"] * n, type=pa.string()).dictionary_encode(), pa.array([1] * n, type=pa.timestamp("s")),
        pa.array([True] * n, type=pa.bool_()), pa.array([[1]] * n, type=pa.list_(pa.int64())),
        pa.array([decimal.Decimal("1.5")] * n, type=pa.decimal128(10, 2)),
    ]  # fmt: skip
    extra = more[rng.integers(len(more))]
    if extra is not None:
        columns["t"] = extra
    table = pa.table(columns)
    return [table, table, pa.array(np.zeros(n)), *(table.to_batches()[:1] or [table])][rng.integers(4 if n else 3)]


def _sparse(rng: np.random.Generator, X: np.ndarray) -> Any:
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
    form = rng.choice(["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
    kind = getattr(sp, f"{form}_{rng.choice(['array', 'matrix'])}")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = kind(X.astype(rng.choice([np.float64, np.float32, np.int64, np.int8, bool, np.complex128, np.longdouble],
                                       p=[0.5, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05])))  # fmt: skip
    odd = rng.random()
    if form in ("csr", "csc") and odd < 0.6:
        out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
        if odd < 0.1 and out.nnz:
            out.indices[0] = rng.choice([10**9, -1, 2**40])
        elif odd < 0.15:
            out.indptr[-1] += 5
        elif odd < 0.3:
            out.indices[:] = out.indices[::-1].copy()
    elif form == "coo" and odd < 0.3:
        out = sp.coo_array(np.ones(7)) if odd < 0.1 and hasattr(sp, "coo_array") else sp.hstack([out, out]).tocoo()
    return out


def _ragged(rng: np.random.Generator, X: np.ndarray) -> list[Any]:
    rows: list[Any] = X.tolist()
    if len(rows) > 1:
        rows[-1] = [[], [1.0], [1.0] * 20, 3.0, "text", None, [[1.0], [2.0]], {"a": 1}][rng.integers(8)]
    return rows


def _masked(rng: np.random.Generator, X: np.ndarray) -> Any:
    return np.ma.masked_array(X, rng.random(X.shape) < rng.choice([0.0, 0.1, 1.0]))


def _typed(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    kinds = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "f2", "f4", "f4", "f4", "g", ">f8", ">i2",
        "c8", "c16",
             "M8[ns]", "M8[D]", "m8[s]", "U9", "S9", "O", "V8"]  # fmt: skip
    kind = np.dtype(kinds[rng.integers(len(kinds))])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind.kind in "Mm":
            return np.nan_to_num(X * 1000, posinf=0, neginf=0).clip(-1e9, 1e9).astype("i8").astype(kind)
        return np.zeros(X.shape, kind) if kind.kind == "V" else X.astype(kind)


_NO_TABLES: list[Callable[[], Any]] = [
    lambda: None, lambda: 5, lambda: 2.5, lambda: "text", lambda: b"x", lambda: {"a": [1, 2]}, lambda: {1, 2},
    list, lambda: [[]], lambda: [[], []], lambda: [1, 2, 3], lambda: ["a", "b"], lambda: [["a", "b"], ["c", "d"]],
    lambda: (i for i in range(3)), lambda: range(5), lambda: object(), lambda: int, lambda: np.float64(3),
    lambda: True,
    lambda: np.array(3.0), lambda: np.zeros(5), lambda: np.zeros((3, 3, 3)), lambda: np.zeros((0,)),
    lambda: [[[1.0]]],
    lambda: [{"a": 1}, {"a": 2}], lambda: [None, None], lambda: [np.zeros(2), np.zeros(3)], lambda: 3 + 4j,
    lambda: np.zeros(4, dtype=[("a", "f8"), ("b", "i4")]), lambda: memoryview(b"abc"), lambda: sp,
    lambda: [[1, 2], 3],
    lambda: pd.Series([1.0, 2.0]), lambda: pd.Index([1, 2]), lambda: pd.DataFrame(), lambda: Ellipsis, lambda: np.nan,
    lambda: pd.DataFrame({"a": []}), lambda: np.array(["a"] * 5), lambda: np.array(None), lambda: lambda x: x,
    lambda: bytearray(b"abc"), lambda: pd.NA, lambda: np.zeros((5, 0)), lambda: np.zeros((0, 5)),
    lambda: sp.csr_array((0, 3)),
]  # fmt: skip

_TABLES: dict[str, tuple[float, Callable[[np.random.Generator, np.ndarray], Any]]] = {
    "array": (14, lambda rng, X: X),
    "typed": (5, _typed),
    "object": (3, _object),
    "Fortran": (0.5, lambda rng, X: np.asfortranarray(X)),
    "strided": (0.5, lambda rng, X: np.repeat(X, 2, axis=0)[::-2]),
    "read-only": (0.5, lambda rng, X: _read_only(X)),
    "list": (1, lambda rng, X: X.tolist()),
    "list of arrays": (0.5, lambda rng, X: list(X)),
    "texts": (0.5, lambda rng, X: [[str(x) for x in row] for row in X]),
    "ragged": (1, _ragged),
    "masked": (1, _masked),
    "matrix": (0.5, lambda rng, X: np.asmatrix(X)),
    "frame": (6, _named),
    "frame of columns": (5, _columns),
    "frame of objects": (1, lambda rng, X: _named(rng, _object(rng, X))),
    "polars": (2, _polars),
    "Arrow": (2, _arrow),
    "sparse": (5, _sparse),
    "no table": (3, lambda rng, X: _NO_TABLES[rng.integers(len(_NO_TABLES))]()),
}


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def table(rng: np.random.Generator, X: np.ndarray | None = None) -> tuple[str, Any]:
    """Make a table, or what is none."""
    weights = np.array([weight for weight, _ in _TABLES.values()])
    name = str(rng.choice(list(_TABLES), p=weights / weights.sum()))
    return name, _TABLES[name][1](rng, _values(rng) if X is None else X)


# --- targets and parameters ------------------------------------------------------------------------------------------


def _rows_of(X: Any) -> int:
    shape = getattr(X, "shape", None)
    try:
        return len(X) if not shape else int(shape[0])
    except TypeError:
        return 7


def target(rng: np.random.Generator, n: int) -> tuple[str, Any]:
    """Make labels, or what are none."""
    codes = np.arange(n) % int(rng.integers(1, 5))
    words = np.array(["ant", "bee", "cat", "dog"])[codes]
    real = rng.normal(size=n)
    makers: dict[str, Callable[[], Any]] = {
        "classes": lambda: codes, "words": lambda: words, "words as objects": lambda: words.astype(object),
        "list": lambda: words.tolist(), "real": lambda: real,
        "real in single precision": lambda: real.astype(np.float32),
        "None": lambda: None, "booleans": lambda: codes > 0, "one class": lambda: np.zeros(n, int),
        "all distinct": lambda: np.arange(n), "all distinct words": lambda: [f"w{i}" for i in range(n)],
        "NaN": lambda: np.where(rng.random(n) < 0.3, np.nan, real),
        "None among words": lambda: np.where(rng.random(n) < 0.3, None, words.astype(object)),
        "NA": lambda: pd.Series(codes, dtype="Int64").mask(rng.random(n) < 0.3),
        "all missing": lambda: np.full(n, np.nan),
        "no label": lambda: [None] * n, "infinite": lambda: np.where(rng.random(n) < 0.3, np.inf, real),
        "huge": lambda: real * 1e300, "column": lambda: codes[:, np.newaxis],
        "labels": lambda: (rng.random((n, 3)) < 0.5).astype(int), "outputs": lambda: rng.normal(size=(n, 2)),
        "outputs with NaN": lambda: np.where(rng.random((n, 2)) < 0.2, np.nan, 1.5),
        "no outputs": lambda: np.zeros((n, 0)),
        "words in columns": lambda: np.stack([words, words], axis=1), "three dimensions": lambda: np.zeros((n, 2, 2)),
        "too few": lambda: codes[: n // 2], "too many": lambda: np.r_[codes, codes, 1], "empty": list,
        "mixed": lambda: [("a", 1, 2.5, None)[i % 4] for i in range(n)], "dict": lambda: {"a": 1},
        "text": lambda: "abc",
        "number": lambda: 3, "categories": lambda: pd.Series(words).astype("category"),
        "categories with gaps": lambda: pd.Categorical(np.where(codes > 1, None, words.astype(object))),
        "strings": lambda: pd.Series(words, dtype="string"), "dates": lambda: pd.date_range("2020", periods=n),
        "days": lambda: np.arange(n).astype("M8[D]"), "durations": lambda: pd.timedelta_range("1s", periods=n),
        "periods": lambda: pd.period_range("2020", periods=n, freq="D"), "complex": lambda: real + 1j,
        "sparse": lambda: sp.csr_array((rng.random((n, 2)) < 0.5).astype(float)),
        "frame": lambda: pd.DataFrame({"a": codes, "b": codes}), "frame of words": lambda: pd.DataFrame({"a": words}),
        "polars": lambda: __import__("polars").Series("y", codes),
        "Arrow": lambda: __import__("pyarrow").array(words.tolist()),
        "bytes": lambda: words.astype("S"), "ragged": lambda: [[1], [1, 2], *[[3]] * max(0, n - 2)],
        "sets": lambda: [{1, 2}] * n, "tuples": lambda: [(1, 2)] * n,
        "masked": lambda: np.ma.masked_array(codes, codes > 1),
        "objects": lambda: np.array([object()] * n, dtype=object),
        "nullable": lambda: pd.array(codes > 0, dtype="boolean"),
        "generator": lambda: (i for i in range(n)), "long": lambda: real.astype(np.longdouble),
        "half": lambda: real.astype("f2"),
        "fields": lambda: np.zeros(n, dtype=[("a", "f8")]), "unsigned": lambda: codes.astype("u8") + np.uint64(2**63),
        "decimals": lambda: [decimal.Decimal(int(i)) for i in codes],
        "large numbers": lambda: [10**30 + int(i) for i in codes],
    }  # fmt: skip
    usual = ("classes", "words", "real", "booleans")
    name = str(rng.choice(usual) if rng.random() < 0.6 else rng.choice(list(makers)))
    return name, makers[name]()


_ODD: list[Any] = [
    None, 0, -1, 1, 2, 3, 7, 3.5, 1e9, 1e-9, -0.5, 0.5, float("nan"), float("inf"), -float("inf"), "auto",
    "abc", "", True,
    False, [], {}, (1, 2), [1, 2], (), ("a",), np.array([1, 2]), np.array(3), np.float32(2), np.int64(3),
    np.nan, object(),
    lambda x: x, fractions.Fraction(1, 2), decimal.Decimal(2), 1 + 1j, b"x", {"a": 1}, bool, pd.NA,
    np.bool_(True), "2", "None",
    "euclidean", "precomputed", "cosine", "exact", "median", np.random.RandomState(0), range(3), slice(2),
    np.str_("mds"),
]  # fmt: skip
_HUGE = [2**31, 2**63, 2**70, -(2**70), 10**400]
#: A number here is how long to work, or what to allocate: as the user asks.
_WORK = {"n_trees", "max_trees", "n_epochs", "max_iter", "n_iter", "n_pretrain", "n_trials", "n_repeats", "n_pilot",
         "n_components", "hidden_layer_sizes", "n_confirm", "n_features_out", "negative_sample_rate",
         "n_init"}  # fmt: skip


def change_parameters(rng: np.random.Generator, model: Any) -> str:
    """Give a model values of the wrong kind or range, and return what was changed."""
    names = sorted(model.get_params(deep=False))
    told = []
    for name in rng.choice(names, int(rng.integers(1, 3)), replace=False):
        values = _ODD if name in _WORK else _ODD + _HUGE
        value = values[rng.integers(len(values))]
        if name in _WORK and isinstance(value, float | int) and value == 1e9:
            value = -1e9
        model.set_params(**{str(name): value})
        told.append(f"{name}={value!r}")
    return ", ".join(told)


def make(number: int, estimators: dict[str, Callable[[], Any]]) -> Case:
    """Make a case from its number."""
    rng = np.random.default_rng([20261118, number])
    kind = str(rng.choice(list(estimators)))
    model = estimators[kind]()
    name, X = table(rng)
    n = _rows_of(X)
    label, y = target(rng, n)
    if kind.startswith("KernelMap") and rng.random() < 0.7:
        label, y = table(rng, rng.normal(size=(n, 2)))
    changed = change_parameters(rng, model) if rng.random() < 0.3 else ""
    new = X
    if rng.random() < 0.5 and hasattr(X, "shape") and len(X.shape) == 2:
        _, new = table(rng, rng.normal(size=(int(rng.integers(0, 9)), X.shape[1] + int(rng.random() < 0.1))))
    shape = getattr(X, "shape", "")
    return Case(number, kind, model, X, y, new, f"{kind}, {name} {shape}, y {label}, {changed}")


# --- what must come of it --------------------------------------------------------------------------------------------


def run(case: Case) -> Outcome:
    """Fit, place new rows, and judge what came of it."""
    model = case.model
    steps: list[tuple[str, Callable[[], Any]]] = []
    if hasattr(model, "fit_transform"):
        steps.append(("fit_transform", lambda: model.fit_transform(case.X, case.y)))
    else:
        steps.append(("fit", lambda: model.fit(case.X, case.y)))
    steps += [
        (name, functools.partial(lambda name: getattr(model, name)(case.new), name))
        for name in (
            "transform",
            "predict",
            "predict_proba",
            "novelty",
            "feature_importance",
            "feature_gradients",
            "kernel",
        )
        if hasattr(type(model), name)
    ]
    for name, step in steps:
        if name == "predict_proba" and not hasattr(model, name):  # which a map of numbers has not
            continue
        with _limit(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                result = step()
            except TimeoutError:
                return Outcome("hang", name)
            except Exception as error:
                if is_ours(error):
                    if name.startswith("fit"):
                        return Outcome("refused", str(error))
                    continue
                return Outcome("raw", f"{name}: {''.join(traceback.format_exception(error)[-3:])}")
        foreign = [
            w for w in warned if not issubclass(w.category, ManifoliaWarning) and not _NAMES.match(str(w.message))
        ]
        if foreign:
            return Outcome("raw warning", f"{name}: {foreign[0].message} ({foreign[0].filename}:{foreign[0].lineno})")
        fault = _fault(case, name, result)
        if fault:
            return Outcome("bad output", f"{name}: {fault}")
    return Outcome("fine", "")


def _fault(case: Case, name: str, result: Any) -> str:
    """Say what is wrong with an output; empty if nothing is."""
    if name == "fit" or case.kind == "Tuner":
        return ""
    X = case.X if name == "fit_transform" else case.new
    out = np.asarray(result.toarray() if sp.issparse(result) else result)
    if name in ("transform", "fit_transform") and (out.ndim != 2 or out.shape[0] != _rows_of(X)):
        return f"shape {out.shape} of {_rows_of(X)} rows"
    if name == "predict":
        return ""
    if out.dtype.kind not in "fiub":
        return f"dtype {out.dtype}"
    if name in ("transform", "fit_transform") and out.dtype not in (np.float32, np.float64, np.uint8):
        return f"dtype {out.dtype}"
    may_be_nan = case.kind.startswith("TablePreparer") or "nan" in (getattr(case.model, "far", ""), name)
    bad = ~np.isfinite(out) if not may_be_nan else np.isinf(out)
    return f"{int(bad.sum())} of {bad.size} values are not finite" if bad.any() else ""


@contextmanager
def _limit() -> Iterator[None]:
    """End what takes too long, where the system can."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_ours(error: BaseException) -> bool:
    """Whether an error is raised by a statement of ours, in words of ours."""
    if not isinstance(error, ManifoliaError | ValueError | TypeError | NotImplementedError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not last.filename.startswith(SOURCE) or not _raises(last.filename, last.lineno or 0):
        return False
    cause = error.__cause__
    foreign = cause is not None and not is_ours(cause) and str(cause)
    return not (foreign and str(cause).strip(".") in str(error))


@functools.cache
def _statements(path: str) -> list[tuple[int, int]]:
    tree = ast.parse("".join(linecache.getlines(path)))
    return [(node.lineno, node.end_lineno or 0) for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc]


def _raises(path: str, line: int) -> bool:
    return any(first <= line <= last for first, last in _statements(path))


def estimators() -> dict[str, Callable[[], Any]]:
    """Every public estimator with small settings, and the tuner."""
    from contract.estimators import ESTIMATORS

    found = {name: entry.make for name, entry in ESTIMATORS.items()}
    for name, maker in found.items():
        if "random_state" in maker().get_params():
            found[name] = functools.partial(lambda maker: maker().set_params(random_state=0), maker)
    try:
        import optuna
    except ImportError:
        return found
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    small = {"n_trials": 2, "n_repeats": 1, "n_pilot": 2, "random_state": 0, "n_jobs": 1}
    found["Tuner"] = lambda: mf.Tuner(mf.PHATE(random_state=0), {"n_neighbors": (2, 4)}, **small)
    found["Tuner of a forest"] = lambda: mf.Tuner(mf.RFPHATE(n_trees=10, random_state=0), {"t": (1, 4)}, **small)
    return found


def main(first: int, last: int) -> None:
    """Run cases and write how each ends."""
    known = estimators()
    for number in range(first, last):
        sys.stdout.write(f"{number}\t")  # before it runs: it may end the process
        sys.stdout.flush()
        case = make(number, known)
        outcome = run(case)
        sys.stdout.write(f"{outcome.end}\t{case.told}\t{outcome.said!r}\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(*map(int, sys.argv[1:]))
