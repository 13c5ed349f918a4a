"""The result of `manifolia.diagnose`: tables of verdicts, findings, and a file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.files import draft, load_arrays, parse_json
from manifolia._core.messages import Finding
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia.exceptions import ModelFileError
from manifolia.trust.words import NOT_JUDGED, ROW_VERDICTS, chip

_FORMAT = 3
_ARRAYS = ("Y", "labels", "densities", "other_places", "region_labels")
_WHOLE = {
    "clusters": ("cluster", "n_rows", "islands"),
    "regions": ("region", "n_rows", "level", "parent"),
    "gaps": ("row_a", "row_b"),
}
_TEXT = {"verdict", "reason", "name", "size_verdict", "size_reason", "a", "b", ("clusters", "region")}
#: Columns of the tables, in order, and what they hold.
COLUMNS = {
    "rows": ("verdict", "reason", "p_place", "torn_share", "restless", "novelty", "evidence", "sensitivity"),
    "clusters": (
        "cluster",
        "name",
        "n_rows",
        "size_verdict",
        "stretch",
        "share_solid",
        "size_reason",
        "islands",
        "region",
    ),
    "regions": ("region", "name", "n_rows", "level", "parent", "returned"),
    "gaps": ("a", "b", "verdict", "ratio", "p_dip", "reason", "row_a", "row_b"),
}


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """How far a map can be trusted; `manifolia.diagnose` makes one.

    Attributes
    ----------
    rows : DataFrame
        One row per row of the map: ``verdict`` ("solid", "torn", "chance", "restless", "foreign", "cannot tell" or "not
        judged"), ``reason``, ``p_place`` (chance that a random place keeps as many neighbours), ``torn_share`` (of its
        neighbours that lie far away, the nearest counting most), ``restless`` (robust standard deviations by which it
        lies farther from its neighbours in maps of other halves; NaN at level "quick"), ``novelty`` (share of rows that
        are less far from their neighbours), ``evidence`` (share of its neighbours that map and data have in common,
        the lesser of both ways) and ``sensitivity`` (how far a small change of the row moves it at most, in local
        radii, as `manifolia.trust.sensitivity` measures it; NaN at level "quick", and where places come from no
        formula).
    clusters : DataFrame
        One row per cluster: ``cluster``, ``name``, ``n_rows``, ``size_verdict`` ("as in the data", "stretched",
        "squeezed" or "cannot tell"), ``stretch``, ``share_solid``, ``size_reason`` and ``islands`` (how many were
        joined, because the map shows no gap between them; 1 for clusters that were given) and ``region`` (name of the
        region that it shows; empty if none).
    gaps : DataFrame
        One row per pair of neighbouring clusters: ``a`` and ``b`` (names), ``verdict`` ("in the data", "made by the
        map" or "cannot tell"), ``ratio`` (links of nearest rows across the gap, for each through the middle of a
        cluster), ``p_dip`` (chance that rows with a single hump lie as unevenly along the way), ``reason``, and
        ``row_a`` and ``row_b``, the rows of both that are nearest in the map.
    map : dict
        ``earned`` ("earned", "partly", "not earned", "cannot tell"; None without a target), ``earned_p``, ``shown``,
        ``learned``, ``learned_little``, ``earned_reason``, ``arrangement`` ("yes", "no" or "cannot tell"),
        ``arrangement_p``, ``arrangement_reason``, ``share_solid``, ``level`` and ``n_judged``; about maps that were
        made again, ``n_refits``, ``solid_in_all`` (share of the rows that are solid in all of them), ``failed_refits``
        (why some could not be made) and ``nulls`` ("labels" and "columns": what the map and shuffled ones show).
    findings : list
        At most five records with ``text``, ``rows`` and ``columns``, the worst first.
    Y : ndarray of shape (n, n_components)
        The map.
    labels : ndarray of shape (n,)
        Cluster of each row, as in ``clusters``; −1 is none, or a row that was not judged.
    densities : ndarray of shape (n_gaps, 24)
        Rows along the way across each gap, from half the distance before the centre of ``a`` to half of it beyond that
        of ``b``.
    other_places : ndarray of shape (n_refits, n, n_components)
        Where the rows lie in maps of halves of them, each rotated onto this one; NaN where they do not.
    region_labels : ndarray of shape (n,)
        The innermost region of each row, as in ``regions``; −1 is none.
    regions : DataFrame
        Empty at level "quick"; otherwise one row per region, a cluster of the data that returns in halves of it:
        ``region``, ``name`` (the columns that set it apart from the rest, such as "proline high, hue low"), ``n_rows``,
        ``level`` (0 to 2, the number of regions around it), ``parent`` (−1 is none) and ``returned`` (share of the
        halves).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import manifolia as mf
    >>> X, y = load_wine(return_X_y=True)
    >>> model = mf.GuidedMap(n_trees=100, random_state=0).fit(X, y)
    >>> diagnosis = mf.diagnose(model, X, y, random_state=0)
    >>> diagnosis.map["earned"]
    'earned'
    """

    rows: pd.DataFrame
    clusters: pd.DataFrame
    gaps: pd.DataFrame
    map: dict[str, Any]
    findings: list[Finding]
    Y: FloatArray
    labels: Array
    densities: FloatArray
    other_places: FloatArray
    region_labels: IntArray
    regions: pd.DataFrame

    def __repr__(self) -> str:
        return f"Diagnosis({self.summary})"

    @property
    def summary(self) -> str:
        """One line.

        Returns
        -------
        str
            Such as "87 % of rows solid · target earned · sizes mean nothing".
        """
        return chip(self.map, self.clusters, self.gaps, self.findings)

    def counts(self) -> dict[str, int]:
        """Count the rows by verdict.

        Returns
        -------
        dict of str to int
            Verdicts that occur.
        """
        found = self.rows["verdict"].value_counts()
        return {verdict: int(found[verdict]) for verdict in ROW_VERDICTS if verdict in found}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON.

        Returns
        -------
        dict
            ``summary``, ``map``, ``verdicts`` (number of rows by verdict), ``clusters``, ``gaps``, ``regions`` and
            ``findings`` (lists of records) and ``rows`` (column to its values). Missing numbers are None.
        """
        return {
            **self.to_report(),
            "rows": {name: [plain(value) for value in self.rows[name]] for name in self.rows.columns},
        }

    def to_report(self) -> dict[str, Any]:
        """Return what `to_dict` does, without the rows.

        Returns
        -------
        dict
            As small as a report needs it.
        """
        return {
            "summary": self.summary,
            "map": {name: plain(value) for name, value in self.map.items()},
            "verdicts": self.counts(),
            "clusters": records(self.clusters),
            "gaps": records(self.gaps),
            "regions": records(self.regions),
            "findings": [{**finding._asdict(), "rows": list(finding.rows), "columns": list(finding.columns)}
                         for finding in self.findings],
        }  # fmt: skip

    def worst_rows(self, n: int = 10) -> pd.DataFrame:
        """Return the rows to look at.

        Parameters
        ----------
        n : int, default=10
            Maximum number.

        Returns
        -------
        DataFrame
            Rows that are not solid, with the largest torn share first.
        """
        some = self.rows[~self.rows["verdict"].isin(["solid", "cannot tell", NOT_JUDGED])]
        return some.sort_values(["torn_share", "p_place", "novelty"], ascending=False, kind="stable").head(n)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the diagnosis to a file, beside a model for example.

        Parameters
        ----------
        path : str or path
            Such as ``"trust.npz"``.

        Returns
        -------
        Path
            Where it is.
        """
        arrays: dict[str, Array] = {name: np.asarray(getattr(self, name)) for name in _ARRAYS}
        for table, columns in COLUMNS.items():
            frame = getattr(self, table)
            for name in columns:
                arrays[f"{table}.{name}"] = frame[name].to_numpy(
                    dtype=str if name in _TEXT or (table, name) in _TEXT else np.float64
                )
        about = {"format": _FORMAT, "map": self.to_report()["map"], "findings": self.to_report()["findings"]}
        arrays["about"] = np.frombuffer(json.dumps(about, allow_nan=False).encode(), dtype=np.uint8)
        with draft(path) as beside, beside.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Diagnosis:
        """Read a diagnosis that was saved.

        Parameters
        ----------
        path : str or path
            Where it is.

        Returns
        -------
        Diagnosis
            The same tables.

        Raises
        ------
        ModelFileError
            If the file does not hold a diagnosis.
        """
        try:
            arrays = load_arrays(Path(path))
            about = parse_json(arrays["about"].tobytes())
            if about["format"] != _FORMAT:
                raise ValueError(f"it is of format {about['format']}, and this version reads format {_FORMAT}")
            frames = {
                table: pd.DataFrame({name: arrays[f"{table}.{name}"] for name in columns})
                for table, columns in COLUMNS.items()
            }
            for table, columns in _WHOLE.items():
                for name in columns:
                    frames[table][name] = frames[table][name].astype(np.int64)
            findings = [
                Finding(str(one["text"]), tuple(int(i) for i in one["rows"]), tuple(str(c) for c in one["columns"]))
                for one in about["findings"]
            ]
            n = len(frames["rows"])
            if len(arrays["Y"]) != n or len(arrays["labels"]) != n or len(arrays["densities"]) != len(frames["gaps"]):
                raise ValueError("its tables have different lengths")
            about_map, own = dict(about["map"]), {name: arrays[name] for name in _ARRAYS}
            return cls(map=about_map, findings=findings, **frames, **own)  # type: ignore[arg-type]
        except FileNotFoundError:
            raise
        except (ValueError, LookupError, TypeError) as error:
            raise ModelFileError(f"{path} does not hold a diagnosis of manifolia: {error}.") from error


def frame_of(table: str, lines: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    """A table of a diagnosis, which may be empty."""
    names = list(COLUMNS[table])
    return pd.DataFrame(lines, columns=names) if lines else pd.DataFrame({name: [] for name in names})


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Lines of a table as JSON can hold them."""
    return [{str(key): plain(value) for key, value in line.items()} for line in frame.to_dict("records")]


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
