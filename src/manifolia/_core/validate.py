"""Input is checked once, at the door; every message says parameter, value, what is allowed and what to do.

Policy: float32 and float64 stay what they are, everything else becomes float64; arrays are C-contiguous; sparse input
becomes CSR with sorted, distinct 32-bit indices; nothing is repaired silently. Missing labels are NaN, None or
``pandas.NA``, never −1.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.cells import Cells, as_array, check_indices
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, Sparse
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError, ParameterTypeError


def _parameter(name: str) -> str:
    """The parameter behind a name such as ``roles['age']``."""
    return name.partition("[")[0].partition("'")[0]


def _wrong(name: str, told: str, kind: type[ParameterError | ParameterTypeError] = ParameterError) -> Exception:
    """Make the error for an argument, with a message about it."""
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
    """Check a two-dimensional numeric input and convert it to the house's form."""
    return _checked(
        X, name, accept_sparse=accept_sparse, allow_nan=allow_nan, min_rows=min_rows, min_columns=min_columns
    ).numbers


def _checked(
    X: ArrayLike,
    name: str,
    taker: str = "",
    *,
    accept_sparse: bool,
    allow_nan: bool,
    min_rows: int,
    min_columns: int = 1,
) -> Cells:
    if sp.issparse(X) and not accept_sparse:
        told = f"is a sparse matrix ({type(X).__name__}, {' × '.join(map(str, X.shape))}) and dense data is required"
        raise _wrong(name, f"{told} here. Pass {name}.toarray() if it fits into memory.", ParameterTypeError)
    cells = Cells(X, name, taker)
    shape = cells.numbers.shape
    for count, least, what in ((shape[0], min_rows, "sample"), (shape[1], min_columns, "feature")):
        if count < least:
            unit = "rows" if what == "sample" else "columns"
            told = f"has {count} {what}(s) (shape={shape}) while a minimum of {least} is required."
            raise _wrong(name, f"{told} Pass at least {least} {unit[:-1] if least == 1 else unit}.")
    if is_sparse(cells.numbers) and not accept_sparse:
        raise _wrong(name, "is a frame of sparse columns and dense data is required here.", ParameterTypeError)
    _check_finite(cells, allow_nan=allow_nan)
    if not is_sparse(cells.numbers):
        cells.numbers = np.ascontiguousarray(cells.numbers)
    return cells


def _check_finite(cells: Cells, *, allow_nan: bool) -> None:
    """Refuse infinity, and NaN where it is not allowed, naming the first column and row that hold it."""
    values = cells.numbers.data if is_sparse(cells.numbers) else cells.numbers
    for bad, what, least, remedy in (
        (np.isinf(values), "infinity", "inf", "Rescale the column, or set those values to something finite."),
        (np.zeros(0) if allow_nan else np.isnan(values), "NaN", "NaN", "Fill in missing values, or drop those rows."),
    ):
        if not bad.any():
            continue
        if is_sparse(cells.numbers):
            entries = cells.numbers.tocoo()
            at = np.flatnonzero(bad)
            rows, columns = entries.row[at], entries.col[at]
        else:
            rows, columns = np.nonzero(bad)
        column = columns[0]
        count = int((columns == column).sum())
        told = f"contains {what}: {cells.column(int(column))} has {count} {least} value{'s' if count > 1 else ''}"
        raise _wrong(cells.name, f"{told}, the first in row {rows[0]}. {remedy}")


def validate_data(
    estimator: Any,
    X: ArrayLike,
    *,
    reset: bool = True,
    accept_sparse: bool = False,
    allow_nan: bool = False,
    min_rows: int = 1,
) -> Any:
    """Check the rows of an estimator; ``fit`` (`reset`) keeps number and names of the columns, others compare them."""
    kind = type(estimator).__name__
    cells = _checked(X, "X", kind, accept_sparse=accept_sparse, allow_nan=allow_nan, min_rows=min_rows)
    _check_size(cells, is_whole=reset)
    names, n_columns = _names(cells), cells.numbers.shape[1]
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = names
        estimator.n_features_in_ = n_columns
        return cells.numbers
    known = vars(estimator).get("feature_names_in_")
    # In scikit-learn's words, which its users filter by.
    if known is None and names is not None:
        warn(f"X has feature names, but {kind} was fitted without feature names", UserWarning)
    elif known is not None and names is None:
        warn(f"X does not have valid feature names, but {kind} was fitted with feature names", UserWarning)
    elif known is not None and names is not None and list(known) != list(names):
        raise _wrong("X", _other_names(list(known), list(names)))
    if n_columns != estimator.n_features_in_:
        told = f"has {n_columns} features, but {kind} is expecting {estimator.n_features_in_} features as input."
        raise _wrong("X", f"{told} Pass the columns of fit, in the same order.")
    return cells.numbers


#: Beyond these, products overflow or vanish, if not before, then where trees or layouts work in single precision.
_LARGEST, _LEAST = 1e35, 1e-35


def _check_size(cells: Cells, *, is_whole: bool) -> None:
    """Refuse numbers that nothing can be computed with: a single one that is too large, or a table of tiny ones."""
    values = cells.numbers.data if is_sparse(cells.numbers) else cells.numbers
    ends = [float(find(values, axis=None, initial=0.0)) for find in (np.fmax.reduce, np.fmin.reduce)]
    largest = max(ends, key=abs)
    if abs(largest) > _LARGEST:
        at = int(np.flatnonzero(values.ravel() == largest)[0])
        column = cells.numbers.indices[at] if is_sparse(cells.numbers) else at % values.shape[1]
        told = (
            f"has the value {largest:.6g} in {cells.column(int(column))}, and numbers beyond {_LARGEST:.3g} overflow."
        )
        raise _wrong("X", f"{told} Rescale the column.")
    if is_whole and 0.0 < abs(largest) < _LEAST:
        told = f"has no value larger than {abs(largest):.6g}, and squares of numbers below {_LEAST:.3g} vanish."
        raise _wrong("X", f"{told} Rescale the table.")


def _names(cells: Cells) -> Array | None:
    """Take the names of columns if they are text; refuse names that nobody could ask for."""
    names = cells.names or []
    texts = [name for name in names if isinstance(name, str)]
    if not texts:
        return None
    if len(texts) < len(names):
        other = next(name for name in names if not isinstance(name, str))
        told = f"has names of columns that are text ({texts[0]!r}) and others that are not ({other!r})."
        raise _wrong("X", f"{told} Make them alike: X.columns = X.columns.astype(str).", ParameterTypeError)
    twice = [name for name, count in Counter(texts).items() if count > 1]
    if twice:
        raise _wrong("X", f"has {texts.count(twice[0])} columns named {twice[0]!r}. Give each a name of its own.")
    return np.asarray(texts, dtype=object)


def _other_names(known: list[str], names: list[str]) -> str:
    """Say how the names of columns differ from those of ``fit``."""
    told = "cannot be used. The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted({*names} - {*known}), sorted({*known} - {*names})
    for title, some in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", missing)):
        if some:
            told += f"Feature names {title}:\n" + "".join(f"- {name}\n" for name in some[:5])
            told += "- ...\n" if len(some) > 5 else ""
    if not unseen and not missing:
        told += "Feature names must be in the same order as they were in fit.\n"
    return f"{told}Pass the columns of fit, in the same order."


def check_map(Y: ArrayLike, *, n_rows: int | None = None, name: str = "Y") -> FloatArray:
    """Check map coordinates."""
    checked: FloatArray = check_matrix(Y, name=name)
    if n_rows is not None and checked.shape[0] != n_rows:
        told = f"has {checked.shape[0]} rows and the data has {n_rows}."
        raise _wrong(name, f"{told} Pass the coordinates of the same rows, in the same order.")
    return checked


def check_same_length(**arrays: Any) -> int:
    """Check that named inputs have the same number of rows."""
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
    """Find which labels are missing: NaN, None or ``pandas.NA``. −1 is a label like any other."""
    if hasattr(y, "isna"):  # pandas and its masked types, without importing pandas
        mask: BoolArray = np.asarray(y.isna(), dtype=bool)
    else:
        values = label_array(y)
        if values.dtype.kind in "fc":
            mask = np.isnan(values)
        elif values.dtype.kind in "mM":
            mask = np.isnat(values)
        elif values.dtype.kind == "O":
            mask = np.array([_is_missing(value) for value in values.ravel()], dtype=bool).reshape(values.shape)
        else:
            mask = np.zeros(values.shape, dtype=bool)
    return mask if mask.ndim == 1 else np.any(mask.reshape(mask.shape[0], -1), axis=1)


def label_array(y: ArrayLike, name: str = "y") -> Array:
    """Return labels as an array; a list keeps its None and NaN, which NumPy would turn into the text "nan"."""
    if sp.issparse(y):
        raise _wrong(name, f"is a sparse matrix of shape {y.shape}. Pass {name}.toarray().", ParameterTypeError)
    values = as_array(y, name)
    if values.dtype.kind in "cV":
        what = "complex numbers" if values.dtype.kind == "c" else "records with named fields"
        raise _wrong(name, f"holds {what}, which are no labels. Pass numbers, or names of classes.", ParameterTypeError)
    if np.ma.is_masked(y):
        kept = values.astype(object)
        kept[np.ma.getmaskarray(y)] = None
        return kept
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
    values = label_array(y, name)
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
    """Check a value against a list of names, and suggest the closest one."""
    try:
        if not isinstance(value, np.ndarray) and value in allowed:
            return value
    except (TypeError, ValueError):  # unhashable: cannot be one of the names
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
    word: str = "",
) -> Any:
    """Check that a number is in a range, or that the value is `word`. Infinity and NaN are never allowed."""
    if word and isinstance(value, str) and value == word:
        return value
    # A Fraction is a number too, but arrays that it is multiplied with would hold objects.
    kind = numbers.Integral if integer else (numbers.Integral, float, np.floating)
    if not isinstance(value, kind) or isinstance(value, (bool, np.bool_, np.timedelta64)):
        what = "an int" if integer else "a number"
        raise _wrong(name, f"must be {what}, got {value!r}. {hint}".rstrip(), ParameterTypeError)
    try:
        number: float = int(value) if integer else float(value)  # type: ignore[call-overload]
    except OverflowError:  # an int that no float can hold
        number = math.inf if int(value) > 0 else -math.inf
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
    """Return whether `X` is a SciPy sparse matrix or array."""
    return bool(sp.issparse(X))


def to_csr(X: Sparse) -> Sparse:
    """Return a CSR array with sorted, distinct indices; the input is not changed."""
    check_indices(X)
    out = sp.csr_array(X)
    if not out.has_canonical_format:
        out = out.copy()  # the arrays may be the user's
        out.sum_duplicates()  # sorts too
    return out


def check_pairwise(D: Any, *, square: bool, metric: str = "precomputed") -> Any:
    """Refuse distances or affinities of rows that are negative, or not square where they must be."""
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


def takes_weights(estimator: Any) -> bool:
    """Return whether an estimator's ``fit`` takes weights of rows."""
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(estimator, "sample_weight"))


def check_is_fitted(estimator: Any, attributes: str | Sequence[str] | None = None) -> None:
    """Refuse an estimator that is not fitted, in scikit-learn's words."""
    from sklearn.utils.validation import check_is_fitted as check

    check(estimator, attributes)
