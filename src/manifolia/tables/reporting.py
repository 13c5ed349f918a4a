"""What the preparer says about its work: short sentences, for the user of a command line as of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from manifolia.tables.naming import Remark, counted, listing
from manifolia.tables.survey import Survey

__all__ = ["describe"]


def describe(names: Sequence[str], found: Survey, *, missing: str, scale: bool) -> list[str]:
    """Say what becomes of the columns."""
    notes: list[str] = []

    def tell(wanted: Callable[[int], bool], before: str, detail: Callable[[int], str], after: str = "") -> None:
        places = [i for i in range(len(names)) if wanted(i)]
        if places:
            texts = [Remark(names[i], detail(i)) for i in places]
            notes.append(f"{before}: {listing(texts)}.{after}")

    def plan_note(i: int) -> str:
        return found.plans[i].note if i in found.plans else ""

    def has(role: str) -> Callable[[int], bool]:
        return lambda i: found.roles[i] == role

    used = _used(found)
    tell(
        lambda i: found.roles[i] == "identifier" and bool(plan_note(i)),
        "Left out, because there are too many different texts to be categories",
        plan_note,
        " Set the role 'categorical' to use such a column.",
    )
    tell(has("constant"), "Left out, because all rows have the same value", lambda i: "")
    tell(has("missing"), "Left out, because no row has a value", lambda i: "")
    tell(
        lambda i: found.roles[i] == "drop" or (found.roles[i] == "identifier" and not plan_note(i)),
        "Left out as asked",
        lambda i: "",
    )
    tell(
        has("categorical"),
        "Categories, one column of 0 and 1 for each level",
        lambda i: counted(len(found.plans[i].levels) + len(found.plans[i].pooled), "level"),
    )
    tell(
        lambda i: found.roles[i] == "categorical" and bool(found.plans[i].pooled),
        "Rare levels share the column 'other'",
        lambda i: (
            f"{len(found.plans[i].pooled):,} of {len(found.plans[i].levels) + len(found.plans[i].pooled):,} levels"
        ),
    )
    tell(has("ordered"), "Levels in order, as 0, 1, 2, …", lambda i: " < ".join(_ends(found.plans[i].levels)))
    tell(
        has("date"),
        "Dates, as days since the earliest",
        lambda i: ", ".join(filter(None, (f"since {_day(found.plans[i].origin)}", plan_note(i)))),
    )
    tell(lambda i: found.roles[i] == "numeric" and bool(plan_note(i)), "Taken as numbers", plan_note)
    tell(
        lambda i: bool(found.numbered[i]) and used[i],
        "Used as a number, though it looks like a row's number",
        lambda i: "",
        " Set the role 'drop' if it says nothing about the row.",
    )
    kept = {
        "keep": "Missing values stay missing",
        "impute": "Missing values are filled by the median or the most frequent level, and a further column marks them",
    }[missing]
    tell(lambda i: used[i] and found.n_missing[i] > 0, kept, lambda i: counted(int(found.n_missing[i]), "row"))
    if scale:
        notes.append(
            "Numbers are standardised to mean 0 and standard deviation 1; columns of 0 and 1 for levels are not."
        )
    return notes


def _used(found: Survey) -> np.ndarray:
    return ~np.isnan(found.fill)


def _ends(levels: Sequence[str], limit: int = 5) -> list[str]:
    return list(levels) if len(levels) <= limit else [*levels[:2], "…", levels[-1]]


def _day(origin: str) -> str:
    day, _, time = origin.partition("T")
    return day if not time or (time.startswith("00:00:00") and not time.strip("0:.")) else origin
