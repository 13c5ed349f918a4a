"""A sample of a table in one pass: the rows with the smallest keys, with a floor for each class.

The key of a row is a hash of a seed, the name of its part and its number there. So the sample is uniform without
replacement, and the same for any size of batches, order of parts and number of workers; two samples add up to the
sample of both tables (Cohen and Kaplan 2007). For each class, at least the `floor` rows with its smallest keys are
kept.

Rows that belong together are drawn together: groups in the order of a hash of their labels, each with its rows. A few
large groups must not take everything: the remaining rows of a group that is larger than a share of the sample wait
until every other group has had its turn.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.random import hashed_bits
from manifolia._core.types import Array, BoolArray, IntArray
from manifolia.exceptions import TableError
from manifolia.tables.columns import key_of
from manifolia.tables.stream import Batch

FLOOR = 200  #: Rows of a class that are in every sample, or all there are
MOST_CLASSES = 10_000
_TURNS = 50  # in its turn a group takes one over this of a sample
_FEWEST_WAITING = 20_000  # rows that are collected before they are sorted
_GROUP_STREAM = 1  # so that groups are not drawn by the hashes of rows


class Drawn(NamedTuple):
    """A sample."""

    frame: pd.DataFrame  # Its rows, in the order of parts and of rows
    part: Array  # (n,): the part of each
    row: IntArray  # (n,): its number there
    uniform: BoolArray  # (n,): whether it was drawn whatever its class
    n_rows: int  # Of the table
    class_counts: dict[str, int]  # Rows of each class in the table; empty without classes
    floor: int  # Rows of each class that are in the sample, or all there are


class BottomK:
    """The rows with the smallest keys of those that were added."""

    def __init__(
        self, n: int, *, seed: int = 0, classes: tuple[str, ...] = (), groups: str | None = None, floor: int = FLOOR
    ) -> None:
        self.n, self.seed, self.classes, self.groups, self.floor = n, seed, classes, groups, floor
        self.n_rows = 0
        self.class_counts: dict[str, int] = {}
        self._numbers_of_classes = True  # so far, all labels are numbers
        self._measured = False  # numbers with fractions: there are no classes
        self._held: list[tuple[pd.DataFrame, pd.DataFrame]] = []  # keys and rows: the first is sorted out
        self._waiting = 0
        self._limit = np.uint64(2**64 - 1)  # no row with a larger key is among the smallest
        self._class_limits: dict[str, int] = {}  # the same among those of its class, where there are enough

    def empty(self) -> BottomK:
        """Return the same sample, still empty."""
        return BottomK(self.n, seed=self.seed, classes=self.classes, groups=self.groups, floor=self.floor)

    def add(self, batch: Batch) -> None:
        """Offer some rows."""
        n = len(batch.frame)
        rows = np.arange(batch.start, batch.start + n)
        self.n_rows += n
        keys = hashed_bits(self.seed, _hash_of(batch.part), rows)
        table = pd.DataFrame({"key": keys, "part": batch.part, "row": rows, "drawn": True})
        table["group"] = self._group_keys(batch.frame, keys)
        table["label"] = self._labels(batch.frame)
        if self.groups is None:
            wanted = keys <= self._limit
            if self.has_classes:
                limits = table["label"].map(self._class_limits).to_numpy(np.float64, na_value=np.inf)
                wanted |= (keys.astype(np.float64) <= limits) & table["label"].notna().to_numpy()
            if not wanted.all():
                table, frame = table[wanted], batch.frame[wanted]
            else:
                frame = batch.frame
        else:
            frame = batch.frame
        self._take(table, frame)

    def merge(self, other: BottomK) -> None:
        """Add the sample of other rows."""
        self.n_rows += other.n_rows
        self._measured |= other._measured
        self._numbers_of_classes &= other._numbers_of_classes
        self._count(other.class_counts)
        for table, frame in other._held:
            self._take(table, frame)

    @property
    def has_classes(self) -> bool:
        """Whether rows are drawn by class."""
        return bool(self.classes) and not self._measured

    def finish(self) -> Drawn:
        """Return the sample: the floor of each class first, then the smallest keys."""
        self._sort_out()
        if not self._held:
            raise TableError("there are no rows. A table needs at least one row.")
        table, frame = self._held[0]
        floor = 0
        chosen = np.zeros(len(table), dtype=bool)
        if self.has_classes and self.class_counts:
            floor = max(1, min(self.floor, self.n // len(self.class_counts)))
            chosen = self._class_ranks(table) < floor
        order = self._order(table)
        room = max(self.n - int(chosen.sum()), 0)
        more = order[~chosen[order]][:room]
        # The rows with the smallest keys overall are uniform; those added only for their class are not.
        uniform = np.zeros(len(table), dtype=bool)
        last = np.flatnonzero(np.isin(order, more))
        uniform[order[: last[-1] + 1] if len(last) else order[:0]] = True
        chosen[more] = True
        at = np.flatnonzero(chosen)
        at = at[np.lexsort((table["row"].to_numpy()[at], table["part"].to_numpy(str)[at]))]
        return Drawn(
            frame.iloc[at].reset_index(drop=True), table["part"].to_numpy()[at], table["row"].to_numpy()[at],
            uniform[at], self.n_rows, dict(sorted(self.class_counts.items())) if floor else {}, floor,
        )  # fmt: skip

    def _take(self, table: pd.DataFrame, frame: pd.DataFrame) -> None:
        if not len(table):
            return
        self._held.append((table, frame))
        self._waiting += len(table)
        if self._waiting > max(self.n // 2, _FEWEST_WAITING):
            self._sort_out()

    def _labels(self, frame: pd.DataFrame) -> Array:
        """Return the class of each row as a text; None where it is not known."""
        labels = np.full(len(frame), None, dtype=object)
        if not self.has_classes:
            return labels
        known = np.ones(len(frame), dtype=bool)
        texts: list[Array] = []
        for name in self.classes:
            cells = frame[name]
            if pd.api.types.is_float_dtype(cells.dtype):
                values = cells.to_numpy(np.float64, na_value=np.nan)
                if (values[~np.isnan(values)] % 1 != 0).any():
                    self._forget_classes()
                    return labels
            if pd.api.types.is_datetime64_any_dtype(cells.dtype):
                self._forget_classes()
                return labels
            self._numbers_of_classes &= pd.api.types.is_numeric_dtype(cells.dtype)
            codes, uniques = pd.factorize(cells)
            known &= codes >= 0
            texts.append(np.array([*(key_of(value) for value in uniques), ""], dtype=object)[codes])
        labels[known] = texts[0][known] if len(texts) == 1 else ["\x1f".join(row) for row in zip(*texts, strict=True)]
        if len(texts) > 1:
            labels[~known] = None
        found, counts = np.unique(labels[known].astype(str), return_counts=True)
        self._count(dict(zip(found.tolist(), counts.tolist(), strict=True)))
        return labels

    def _count(self, counts: dict[str, int]) -> None:
        if not self.has_classes:
            self._forget_classes()
            return
        for label, count in counts.items():
            self.class_counts[label] = self.class_counts.get(label, 0) + count
        if len(self.class_counts) > MOST_CLASSES:
            if not self._numbers_of_classes:
                raise TableError(
                    f"the target {' and '.join(self.classes)} has more than {MOST_CLASSES:,} classes, too many to keep "
                    f"rows of each. Choose a column with fewer.",
                    parameter="target",
                )
            self._forget_classes()

    def _forget_classes(self) -> None:
        """Draw regardless of the label: it is a measurement."""
        self._measured = bool(self.classes)
        self.class_counts, self._class_limits = {}, {}

    def _group_keys(self, frame: pd.DataFrame, keys: Array) -> Array:
        if self.groups is None:
            return np.zeros(len(frame), np.uint64)
        codes, uniques = pd.factorize(frame[self.groups])
        hashes = np.array([_hash_of(key_of(value)) for value in uniques], dtype=np.uint64)
        drawn = hashed_bits(self.seed, _GROUP_STREAM, hashes)
        return np.where(codes >= 0, np.append(drawn, np.uint64(0))[codes], keys)  # a missing label is its own group

    def _order(self, table: pd.DataFrame) -> IntArray:
        """Return the rows that are drawn whatever their class, the first ones first."""
        able = np.flatnonzero(table["drawn"].to_numpy())
        key, group, row = (table[name].to_numpy()[able] for name in ("key", "group", "row"))
        part = table["part"].to_numpy(str)[able]
        if self.groups is None:
            return able[np.lexsort((row, part, key))]
        order = np.lexsort((row, part, key, group))
        starts = np.append(True, np.diff(group[order]) != 0)
        rank = np.arange(len(order)) - np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
        turn = np.empty(len(order), np.int64)
        turn[order] = rank // max(1, self.n // _TURNS)
        return able[np.lexsort((row, part, key, group, turn))]

    def _class_ranks(self, table: pd.DataFrame) -> IntArray:
        """Return which row of its class each is, the first ones first; without a class, none."""
        codes, _ = pd.factorize(table["label"])
        columns = [table[name].to_numpy() for name in ("row", "part", "key", "group")]
        columns[1] = columns[1].astype(str)
        order = np.lexsort((*columns, codes))
        starts = np.append(True, np.diff(codes[order]) != 0)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order)) - np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
        ranks[codes < 0] = np.iinfo(np.int64).max
        return ranks

    def _sort_out(self) -> None:
        """Keep the rows that may be in the sample, whatever comes."""
        if not self._held:
            return
        table = pd.concat([keys for keys, _ in self._held], ignore_index=True)
        frame = pd.concat([rows for _, rows in self._held], ignore_index=True)
        order = self._order(table)[: self.n]
        drawn = np.zeros(len(table), dtype=bool)
        drawn[order] = True
        keep = drawn.copy()
        keys = table["key"].to_numpy()
        if len(order) == self.n and self.groups is None:
            self._limit = keys[order[-1]]
        if self.has_classes:
            ranks = self._class_ranks(table)
            keep |= ranks < self.floor
            last = table.loc[ranks == self.floor - 1, ["label", "key"]]
            self._class_limits = dict(zip(last["label"], last["key"].astype(float), strict=True))
        table = table.assign(drawn=drawn)[keep].reset_index(drop=True)
        self._held, self._waiting = [(table, frame[keep].reset_index(drop=True))], 0


def _hash_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
