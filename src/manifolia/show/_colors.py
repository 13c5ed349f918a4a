"""What colours the points of a map: classes or a scale, distinguished and put into one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.types import ArrayLike, BoolArray, FloatArray, IntArray
from manifolia.exceptions import ParameterError
from manifolia.show.palette import class_palette

_FEW = 20  # maximum number of different whole numbers that are taken for classes


class Classes(NamedTuple):
    """Colour by class."""

    names: list[str]  # Classes in the order of the legend; the last is "other" if some were pooled
    codes: IntArray  # (n,): class of each row of the map; −1 if its label is missing
    # (m,): class of each new row, −1 if missing; None if their classes are unknown; the predictions if only these are
    # known
    new_codes: IntArray | None
    predicted: IntArray | None  # Predicted classes: of the new rows if there are any, otherwise of the rows of the map
    # Which of these differ from a known label; None without predictions or labels to compare
    wrong: BoolArray | None
    pooled: list[str]  # Classes gathered in "other", largest first


class Values(NamedTuple):
    """Colour by a value."""

    values: FloatArray  # (n,): value of each row of the map; NaN if missing
    new_values: FloatArray | None  # (m,): values of the new rows
    dates: bool  # Whether the values are days since 1970


def scale_values(color: ArrayLike, new_color: ArrayLike | None) -> Values:
    """Make the colours floats; dates become days, as matplotlib counts them."""
    import pandas as pd
    from pandas.api.types import is_datetime64_any_dtype

    dates = is_datetime64_any_dtype(pd.Series(color))
    return Values(
        _numbers(color, "color", dates=dates),
        None if new_color is None else _numbers(new_color, "new_color", dates=dates),
        dates,
    )


def _numbers(values: ArrayLike, name: str, *, dates: bool) -> FloatArray:
    import pandas as pd

    column = pd.Series(values)
    try:
        if dates:
            past = pd.to_datetime(column, utc=True) - pd.Timestamp(0, tz="UTC")
            return (past / pd.Timedelta(days=1)).to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{name} must be {'dates' if dates else 'numbers'} for a scale. Pass kind='class' for labels.",
            parameter=name,
        ) from error


def are_classes(color: ArrayLike, kind: str, class_names: Any, predicted: Any) -> bool:
    """Return whether the colours are classes: declared so, or few whole numbers, or neither numbers nor dates."""
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if kind != "auto":
        return kind == "class"
    if class_names is not None or predicted is not None:
        return True
    column = pd.Series(color).dropna()
    if is_datetime64_any_dtype(column):
        return False
    if not is_numeric_dtype(column) or is_bool_dtype(column):
        numbers = column.map(lambda one: isinstance(one, (int, float, np.number)) and not isinstance(one, bool))
        if isinstance(column.dtype, pd.CategoricalDtype) or not numbers.all():
            return True
    known = column.to_numpy(dtype=np.float64)
    return len(np.unique(known)) <= _FEW and bool((known == np.floor(known)).all())


def class_codes(
    color: ArrayLike, new_color: ArrayLike | None, predicted: ArrayLike | None, class_names: Any, *, new: bool
) -> Classes:
    """Put all labels, known, new and predicted, into one order."""
    import pandas as pd

    parts = [pd.Series(part).reset_index(drop=True) for part in (color, new_color, predicted) if part is not None]
    labels = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    palette = class_palette(labels)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    codes, *more = np.split(palette.codes, ends)
    new_codes = more[0] if new_color is not None else None
    guessed = more[-1] if predicted is not None else None
    wrong = None
    if guessed is not None and (new_codes is not None or not new):
        # Pooled classes share a code: what is compared must be the labels themselves.
        own = np.split(pd.factorize(labels)[0], ends)
        truth = own[1 if new else 0]
        wrong = (truth != own[-1]) & (truth >= 0) & (own[-1] >= 0)
    if new and new_codes is None:
        new_codes = guessed
    names = _rename(palette.names, palette.values, class_names)
    return Classes(names, codes, new_codes, guessed, wrong, palette.pooled)


def _rename(names: list[str], values: list[Any], class_names: Any) -> list[str]:
    """Replace the labels by the user's names; "other" at the end, if there is one, keeps its name."""
    if class_names is None:
        return names
    if isinstance(class_names, Mapping):
        named = [str(class_names.get(value, name)) for value, name in zip(values, names, strict=False)]
        return named + names[len(values) :]
    given = [str(one) for one in class_names]
    if len(given) != len(values) or len(names) != len(values):
        raise ParameterError(
            f"class_names has {len(given)} names and there are {len(values)} classes with a colour of their own. Pass "
            f"one for each, in sorted order, or a mapping from label to name.",
            parameter="class_names",
        )
    return given
