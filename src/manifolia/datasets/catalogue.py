"""The public sets that manifolia knows by name: target, identifiers, split, meaning of the class codes, quirks.

A set is known by the name of its file in the data home, or by its name in scikit-learn. The sets are listed in
catalogue.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class KnownSet:
    """What is known about a set beyond its file."""

    about: str  # What a row is, and what to beware of
    origin: str  # Where it comes from
    licence: str  # If the source states one
    n_rows: int  # Rows of the complete set
    task: str = "classification"  # "classification", "regression", "multilabel" or "none"
    target: tuple[str, ...] = ("y",)  # Target columns of a table or of the label table; the array of a matrix
    identifiers: tuple[str, ...] = ()  # Columns that name a row or an event and are not features
    n_train: int | None = None  # Number of rows at the top that are the training part, if the file does not say
    classes: Mapping[Hashable, str] | None = None  # Class code to its meaning, in the source's order
    image_shape: tuple[int, int] | None = None  # Height and width of a row seen as an image
    feature_column: str | None = None  # The column of the feature table that names the features of a count matrix
    openml: str | None = None  # The set's name on OpenML, if it differs from ours

    @property
    def description(self) -> str:
        """The text for the user."""
        return f"{self.about} Source: {self.origin}. Licence: {self.licence}."


def _known_sets(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, KnownSet]:
    return {
        name: KnownSet(**{field: _as_field(field, value) for field, value in entry.items()})
        for name, entry in entries.items()
    }


def _as_field(field: str, value: Any) -> Any:
    """Convert what TOML can express to a field: it has pairs for a mapping from codes, and lists for tuples."""
    if field == "classes":
        return dict(value)
    return tuple(value) if isinstance(value, list) else value


_entries = tomllib.loads(resources.files("manifolia.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8"))
#: Name to what is known about it: sets bundled with scikit-learn, and files of the data home.
BUNDLED: Mapping[str, KnownSet] = _known_sets(_entries.pop("bundled"))
KNOWN: Mapping[str, KnownSet] = _known_sets(_entries)
