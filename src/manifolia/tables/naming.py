"""Names in messages: the nearest one, a listing that stays short, and names made distinct."""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from manifolia.exceptions import TableError


def nearest(name: object, names: Iterable[object], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the names most like a given one, whatever their case and their accents."""
    plain: dict[str, str] = {}
    for known in names:
        plain.setdefault(_without_accents(known), str(known))
    close = difflib.get_close_matches(_without_accents(name), list(plain), n=n, cutoff=cutoff)
    return [plain[near] for near in close]


def _without_accents(name: object) -> str:
    return "".join(one for one in unicodedata.normalize("NFKD", str(name).lower()) if not unicodedata.combining(one))


def listing(values: Iterable[object], limit: int = 5) -> str:
    """Write values as a short list."""
    everything = list(values)
    # One more than the limit is written out: "and 1 more" would be no shorter.
    shown = everything if len(everything) <= limit + 1 else everything[:limit]
    texts = [_short(value) for value in shown]
    rest = len(everything) - len(shown)
    if rest:
        return f"{', '.join(texts)} and {rest:,} more"
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else "none"


class Remark:
    """A name with a remark, in a listing: ``'age' (3 rows)``."""

    def __init__(self, name: str, remark: str) -> None:
        self.name, self.remark = name, remark

    def __repr__(self) -> str:
        name = _short(self.name)
        return f"{name} ({self.remark})" if self.remark else name


def counted(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def group_words(name: str) -> tuple[str, str]:
    """Call one and several groups by the column that names them: "patient" and "patients", "groups (x2)"."""
    if name.isascii() and name.isalpha() and name[-1:] not in "sS":
        word = name.lower()
        if word.endswith(("ch", "sh", "x", "z")):
            return name, f"{name}es"
        return name, f"{name[:-1]}ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else f"{name}s"
    return (f"group ({name})", f"groups ({name})") if name else ("group", "groups")


def of_groups(count: int, name: str) -> str:
    """Say how many groups there are: "200 patients"."""
    return f"{count:,} {group_words(name)[count != 1]}"


def place_of_row(row: int) -> str:
    """Write where a row is, the same way in every message."""
    return f"row {row:,} (counting from 0)"


def _short(value: object, width: int = 60) -> str:
    text = repr(value)
    width *= 1 + 2 * isinstance(value, Remark)  # a remark is already short, except for texts that it quotes
    return text if len(text) <= width else f"{text[: width - 2]}…{text[-1]}"


def unknown_name(
    name: object, names: Sequence[object], what: str = "column", *, parameter: str | None = None
) -> TableError:
    """Make the error for a name that is not there."""
    near = nearest(name, names, n=3)
    hint = f"Did you mean {' or '.join(repr(text) for text in near)}?" if near else f"There are {listing(names)}."
    return TableError(f"there is no {what} {name!r}. {hint}", parameter=parameter)


def repeated(names: Iterable[Any]) -> list[Any]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def complex_numbers(column: str | None = None) -> TableError:
    """Make the error for complex numbers, in scikit-learn's words."""
    what = "the array" if column is None else f"column {column!r}"
    return TableError(f"Complex data not supported: {what} holds complex numbers. Pass real and imaginary parts.")


def labels(index: Iterable[Any]) -> list[str]:
    """Write the labels of an index as texts; they need not be distinct."""
    return [" / ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in index]


def column_names(index: Iterable[Any], *, source: str = "the table") -> list[str]:
    """Turn the labels of columns into distinct texts."""
    names = labels(index)
    twice = repeated(names)
    if twice:
        raise TableError(f"{source} has several columns named {listing(twice)}. Give each column a name of its own.")
    return names


def distinct(names: Sequence[str], taken: Iterable[str] = (), *, as_pandas: bool = False) -> list[str]:
    """Make names distinct by a number in parentheses; or as pandas does, whose second x is x.1."""
    used = set(taken)
    made = []
    for name in names:
        unique, count = name, 1
        while unique in used:
            count += 1
            unique = f"{name}.{count - 1}" if as_pandas else f"{name} ({count})"
        used.add(unique)
        made.append(unique)
    return made


def number(value: float) -> str:
    """Write a number to four digits, with all digits of a large one: 0.01234, 12.35, 10,542."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def percent(share: float) -> str:
    """Write a share so that only all of it is 100%, and only none of it 0%."""
    text = f"{share:.0%}"
    if text == "100%" and share < 1.0:
        text = f"{share:.1%}" if share < 0.9995 else "more than 99.9%"
    elif text == "0%" and share > 0.0:
        text = "less than 1%"
    return text


def clipped(name: object, width: int) -> str:
    """Shorten a name to a width, and show that it is shortened."""
    text = str(name)
    return text if len(text) <= width else f"{text[: width - 1]}…"
