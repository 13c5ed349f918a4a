"""Input is checked once, at the door; every message says parameter, value, what is allowed and what to do.

This module is the only one that imports scikit-learn's validation functions. Policy: float32 and float64 stay what
they are, everything else becomes float64; sparse input becomes CSR with sorted, distinct indices; nothing is repaired
silently. Missing labels are NaN, None or ``pandas.NA``, never −1.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array as _sklearn_check_array
from sklearn.utils.validation import check_is_fitted as check_is_fitted
from sklearn.utils.validation import validate_data as validate_data

from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, Sparse
from manifolia.exceptions import ParameterError, ParameterTypeError

_FLOATS = (np.float64, np.float32)


def _parameter(name: str) -> str:
    """The parameter behind a name such as ``roles['age']``."""
    return name.partition("[")[0].partition("'")[0]


def _wrong(name: str, told: str, kind: type[ParameterError | ParameterTypeError] = ParameterError) -> Exception:
    """Make the error for an argument, of which something is told."""
    return kind(f"{name} {told}", parameter=_parameter(name))


def check_matrix(
    X: ArrayLike,
    *,
    name: str = "X",
    accept_sparse: bool = False,
    allow_nan: bool = False,
    min_rows: int = 1,
    min_columns: int = 1,
) -> Any:
    """Check a two-dimensional numeric input and bring it into the house's form."""
    if sp.issparse(X) and not accept_sparse:
        told = f"is a sparse matrix ({type(X).__name__}, {X.shape[0]} × {X.shape[1]}) and dense data is required here."
        raise _wrong(name, f"{told} Pass {name}.toarray() if it fits into memory.", ParameterTypeError)
    try:
        # scikit-learn looks for NaN and infinity by adding everything up, which warns where inf meets -inf.
        with np.errstate(invalid="ignore", over="ignore"):
            checked = _sklearn_check_array(
                X,
                accept_sparse="csr" if accept_sparse else False,
                dtype=_FLOATS,
                order="C",
                ensure_all_finite="allow-nan" if allow_nan else True,
                ensure_min_samples=min_rows,
                ensure_min_features=min_columns,
                input_name=name,
            )
    except (TypeError, ValueError) as error:
        # scikit-learn names the input in some of its messages only.
        named = re.search(rf"\b{re.escape(name)}\b", str(error))
        kind = ParameterTypeError if isinstance(error, TypeError) else ParameterError
        raise kind(str(error) if named else f"{name} cannot be used: {error}", parameter=_parameter(name)) from error
    return to_csr(checked) if sp.issparse(checked) else checked


def check_map(Y: ArrayLike, *, n_rows: int | None = None, name: str = "Y") -> FloatArray:
    """Check map coordinates."""
    checked: FloatArray = check_matrix(Y, name=name)
    if n_rows is not None and checked.shape[0] != n_rows:
        told = f"has {checked.shape[0]} rows and the data has {n_rows}."
        raise _wrong(name, f"{told} Pass the coordinates of the same rows, in the same order.")
    return checked


def check_same_length(**arrays: Any) -> int:
    """Check that named inputs have equally many rows."""
    lengths = {}
    for name, value in arrays.items():
        if value is None:
            continue
        shape = getattr(value, "shape", None)
        if shape == () or (shape is None and not hasattr(value, "__len__")):
            told = f"must have one entry per row, got the single value {value!r}. Pass an array or a list."
            raise _wrong(name, told, ParameterTypeError)
        lengths[name] = len(value) if shape is None else int(shape[0])
    if len(set(lengths.values())) > 1:
        listing = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"the inputs must have equally many rows: {listing}. Pass the same rows in the same order.")
    return next(iter(lengths.values()))


def missing_labels(y: ArrayLike) -> BoolArray:
    """Tell which labels are missing: NaN, None or ``pandas.NA``. −1 is a label like any other."""
    if hasattr(y, "isna"):  # pandas and its masked types, without importing pandas
        mask: BoolArray = np.asarray(y.isna(), dtype=bool)
    else:
        values = _as_array(y)
        if values.dtype.kind in "fc":
            mask = np.isnan(values)
        elif values.dtype.kind in "mM":
            mask = np.isnat(values)
        elif values.dtype.kind == "O":
            mask = np.array([_is_missing(value) for value in values.ravel()], dtype=bool).reshape(values.shape)
        else:
            mask = np.zeros(values.shape, dtype=bool)
    return mask if mask.ndim == 1 else np.any(mask.reshape(mask.shape[0], -1), axis=1)


def _as_array(y: ArrayLike) -> Array:
    """Return labels as an array; a list keeps its None and NaN, which NumPy would turn into the text "nan"."""
    values = np.asarray(y)
    if values.dtype.kind in "US" and not hasattr(y, "dtype"):
        kept = np.asarray(y, dtype=object)
        if any(_is_missing(value) for value in kept.ravel()):
            return kept
    return values


def _is_missing(value: object) -> bool:
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return True
    return type(value).__name__ in {"NAType", "NaTType"}


def check_labels(y: ArrayLike, *, n_rows: int | None = None, name: str = "y", allow_missing: bool = False) -> Array:
    """Check class labels of any type."""
    values = _as_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1:
        raise _wrong(name, f"must be one-dimensional, got shape {values.shape}. Pass one label per row.")
    if n_rows is not None and values.shape[0] != n_rows:
        raise _wrong(name, f"has {values.shape[0]} labels and the data has {n_rows} rows. Pass one label per row.")
    if not allow_missing:
        n_missing = int(missing_labels(y).sum())
        if n_missing:
            told = f"has {n_missing} missing labels (NaN, None or NA) of {values.shape[0]} and none are allowed here."
            raise _wrong(name, f"{told} Drop those rows first.")
    return values


def check_option(value: Any, name: str, allowed: Collection[Any]) -> Any:
    """Check a value against a list of names, and suggest the nearest one."""
    try:
        if value in allowed:
            return value
    except (TypeError, ValueError):  # unhashable, or an array: cannot be one of the names
        pass
    texts = [option for option in allowed if isinstance(option, str)]
    near = difflib.get_close_matches(str(value), texts, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listing = ", ".join(repr(option) for option in allowed)
    raise _wrong(name, f"must be one of {listing}, got {value!r}.{hint}")


def check_number(
    value: Any,
    name: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    integer: bool = False,
    open_low: bool = False,
    hint: str = "",
) -> Any:
    """Check a number against a range. Infinity and NaN are never allowed."""
    kind = numbers.Integral if integer else numbers.Real
    if not isinstance(value, kind) or isinstance(value, (bool, np.bool_)):
        what = "an int" if integer else "a number"
        raise _wrong(name, f"must be {what}, got {value!r}. {hint}".rstrip(), ParameterTypeError)
    number: float = int(value) if integer else float(value)  # type: ignore[call-overload]
    infinite = not integer and not math.isfinite(number)
    if infinite or number < low or number > high or (open_low and number == low):
        parts: Sequence[str] = [
            "" if low == -math.inf else f"{'above' if open_low else 'at least'} {low:.12g}",
            "" if high == math.inf else f"at most {high:.12g}",
            "finite" if infinite else "",
        ]
        allowed = " and ".join(part for part in parts if part)
        raise _wrong(name, f"must be {allowed}, got {value!r}. {hint}".rstrip())
    return number


def check_bool(value: Any, name: str) -> bool:
    """Check a flag."""
    if not isinstance(value, (bool, np.bool_)):
        raise _wrong(name, f"must be True or False, got {value!r}.", ParameterTypeError)
    return bool(value)


def is_sparse(X: Any) -> bool:
    """Tell whether `X` is a SciPy sparse matrix or array."""
    return bool(sp.issparse(X))


def to_csr(X: Sparse) -> Sparse:
    """Return a CSR array with sorted, distinct indices; the input is not changed."""
    out = sp.csr_array(X)
    if not out.has_canonical_format:
        out = out.copy()  # the arrays may be the user's
        out.sum_duplicates()  # sorts too
    return out


def check_pairwise(D: Any, *, square: bool, metric: str = "precomputed") -> Any:
    """Refuse distances or affinities of rows that are not square where they must be, or negative."""
    if square and D.shape[0] != D.shape[1]:
        what = "affinities" if metric == "affinity" else "distances"
        raise ValueError(
            f"X must be square with metric={metric!r}, got shape {D.shape}. Pass the {what} of all rows to all rows."
        )
    least = float((D.data if is_sparse(D) else D).min(initial=0.0))
    if least < 0.0:
        what = "affinities, none below 0," if metric == "affinity" else "distances"
        raise ValueError(f"X must hold {what} with metric={metric!r}, got the negative value {least:.6g}.")
    return D


def row_numbers(rows: Any, n: int, name: str = "rows") -> IntArray:
    """Check which rows, or features, are asked for."""
    if rows is None:
        return np.arange(n)
    if isinstance(rows, slice):
        return np.arange(n)[rows]
    chosen = np.atleast_1d(np.asarray(rows))
    if chosen.size == 0:
        return np.empty(0, dtype=np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
        raise TypeError(
            f"{name} must be numbers, a slice or a mask, got {chosen.dtype} values of shape {chosen.shape}."
        )
    if chosen.dtype.kind == "b":
        if chosen.shape[0] != n:
            raise ValueError(f"{name} is a mask of {chosen.shape[0]} and there are {n}. Pass one value for each.")
        return np.flatnonzero(chosen)
    if chosen.min() < -n or chosen.max() >= n:
        raise ValueError(f"{name} must lie between 0 and {n - 1}, got {chosen.min()} to {chosen.max()}.")
    return np.where(chosen < 0, chosen + n, chosen).astype(np.intp)


def feature_numbers(features: Any, model: Any) -> IntArray:
    """Check which features of a fitted model are asked for, by number or by the names that its table had."""
    asked = None if features is None or isinstance(features, slice) else np.atleast_1d(np.asarray(features))
    if asked is None or asked.dtype.kind not in "UO":
        return row_numbers(features, model.n_features_in_, "features")
    known = {name: number for number, name in enumerate(vars(model).get("feature_names_in_", ()))}
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ValueError(
            f"features: there is no feature {str(unknown[0])!r}. Pass column numbers, or names of a DataFrame given to "
            f"fit."
        )
    return np.array([known[name] for name in asked], dtype=np.intp)
