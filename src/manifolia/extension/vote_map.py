"""A map read through the leaves of a forest, where the trees' votes on the target decide whose place counts.

Each tree votes for a label *and* a place. With v_k the vote of a row's trees for class k, and μ_k the mean place of the
rows of class k that share leaves with it, the row is placed at

    Σ_k f(v_k / v_max) μ_k / Σ_k f(v_k / v_max),    f(r)⁴ = max(0, r⁴ − τ⁴) / (1 − τ⁴),    τ = 1 − 1/s.

s is the sharpness. Only contenders have a say: classes with more than τ of the leader's votes, half of them at s = 2.
Well above τ they count by their votes (f(r) ≈ r), near it they fade out, so that a place changes with the votes without
a jump. s = 1 is the mean of the leaves (`manifolia.extension.leaf_map`). (A power v_k^s would leave all classes a say:
where the votes for many small ones add up, as among 26 letters, rows drift to the middle, and a power that prevents
this hides the doubt between two.) In the leaves this has a closed form: an entry for each class in a leaf holds its
share and its mean place. RF-GAP proximities give the same vote, v_i[k] = Σ_{j: y_j = k} p_ij (Rhodes, Cutler and Moon
2023), so that it is also the mean under the weights p_ij f(r) / r with r = v_i[y_j] / v_max.

Means over leaves shrink a class towards its centre. The better the trees know the class, the more it shrinks: a class
without doubt would be a dot. So `GuidedMap` spreads each class out again, to three quarters of its extent in the layout
(`spread_of_groups`), which keeps the order of its rows, and removes space between classes if all are far apart
(`gathered`).

The votes may be those of another model, a *guide*: f then takes its votes, and the leaves still say where inside a
class a row belongs. A class that the guide names but no leaf of the row holds counts with its centre, as if one more
tree had put the row there.

Several labels: a class is a combination of them, and its weight the product of the weights for each. Numbers: a tree
counts by exp(−(s − 1) (a − ŷ)² / e²), with a the mean of its leaf, ŷ the mean over trees, e the forest's error out of
bag.

A training row asks only trees for which it is out of bag, so its own label has no part in any of this.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray, Sparse
from manifolia.extension.leaf_map import EVERY_TREE, ROWS, LeafValues, check_leaves, leaf_values, warn_of_lost_rows
from manifolia.forest.leaf_tables import LeafTable, parts_out_of_bag
from manifolia.forest.shapley import Exchange, LeafEntries, weighted_effects
from manifolia.forest.targets import Target

#: Extent of a class in the map, as a share of its extent in the layout. (All of it, without a reach, cost 0.02 of
#: accuracy on letter.)
_EXTENT = 0.75
_EMPTY = 3.0  # times the sum of two radii; space between groups beyond that is removed
_FEWEST = 5  # rows that a class needs for its extent to be known
_MOST = 50.0  # maximum factor by which a class is spread out
#: Pairs of rows with different labels attract one another less in the layout, by a factor of sharpness to this power.
_APART = 4.0
_ONE_TREE = 1.0  # which puts a row at the centre of each class, where a guide decides


class Labels(NamedTuple):
    """Rows grouped by their labels."""

    group: IntArray  # (n,): which combination of labels a row has; −1 if none
    columns: IntArray  # (n_groups, n_labels): of each combination, its labels' columns in a table of votes


class ClassVotes(NamedTuple):
    """How the trees for which a row is out of bag vote on its classes."""

    votes: FloatArray  # (n, n_votes): for each label, shares that add up to 1
    labels: Labels

    def as_table(self) -> FloatArray:
        """The votes as shares."""
        return self.votes

    def for_leaves(self) -> FloatArray:
        """The votes as leaves compare them."""
        return self.votes

    def by_guide(self, votes: FloatArray, target: Target) -> ClassVotes:
        """Let a guide's votes take the place of the trees'."""
        return self._replace(votes=votes)

    def log_agreement(self, row: IntArray, other: IntArray, sharpness: float) -> FloatArray:
        """Logarithm of 1/s⁴ for every label in which two rows differ; a row without labels differs in all."""
        mine, theirs = self.labels.group[row], self.labels.group[other]
        unknown, differing = (mine < 0) | (theirs < 0), np.zeros(len(row))
        for column in self.labels.columns.T:
            differing += (column[mine] != column[theirs]) | unknown
        return -_APART * np.log(sharpness) * differing


class NumberVotes(NamedTuple):
    """What the trees for which a row is out of bag expect of its numbers."""

    expected: FloatArray  # (n, n_outputs): in units of `error`
    error: FloatArray  # (n_outputs,): root mean squared error of what is expected

    def as_table(self) -> FloatArray:
        """What is expected, as numbers."""
        return self.expected * self.error

    def for_leaves(self) -> FloatArray:
        """What is expected, as leaves compare it."""
        return self.expected

    def by_guide(self, votes: FloatArray, target: Target) -> NumberVotes:
        """Let what a guide expects take the place of what the trees expect."""
        return number_votes(votes, target)

    def log_agreement(self, row: IntArray, other: IntArray, sharpness: float) -> FloatArray:
        """Minus the squared difference of what is expected of two rows, in units of the error."""
        total = np.zeros(len(row))
        for expected in self.expected.T:
            total -= (expected[row] - expected[other]) ** 2
        return (sharpness - 1.0) * total


Votes = ClassVotes | NumberVotes


class VotedLeaves(NamedTuple):
    """Leaves that hold a place for each combination of labels in them."""

    starts: IntArray  # (n_leaves + 1,): where the entries of each leaf begin
    group: IntArray  # (n_entries,): combination of labels
    content: FloatArray  # (n_entries, 1 + c): its share of the leaf, and that share times its mean place
    columns: IntArray  # (n_groups, n_labels): its columns in a table of votes
    cut: float  # τ: classes with at most this share of the leader's votes have no say
    spread: FloatArray  # (n_groups, 2 + 2 c): how a group is spread out: factor, reach, centre of the means, centre

    def votes(self, leaf: IntArray, parts: IntArray = EVERY_TREE) -> FloatArray:
        """Count how the trees of every row vote, as shares."""
        counts, n_asked = self._count(leaf, parts)
        return counts / np.maximum(n_asked, 1)[:, np.newaxis]

    def _count(self, leaf: IntArray, parts: IntArray) -> tuple[FloatArray, IntArray]:
        from manifolia.kernels.forest import vote_out

        n = leaf.shape[1]
        votes, n_asked = np.zeros((n, self.n_votes)), np.zeros(n, dtype=np.int64)

        def run(rows: slice) -> None:
            vote_out(
                leaf, parts, self.starts, self.group, self.content, self.columns, rows.start, rows.stop, votes, n_asked
            )

        map_blocks(run, row_blocks(n, ROWS))
        return votes, n_asked

    @property
    def n_votes(self) -> int:
        """Columns of a table of votes: the classes of all labels."""
        return int(self.columns.max()) + 1

    def place(self, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None) -> FloatArray:
        """Place rows by the trees that they may ask; the votes of a `guide` count in place of the trees'."""
        from manifolia.kernels.forest import place_by_votes, weigh_votes

        check_leaves(leaf, len(self.starts) - 1)
        votes, n_asked = self._count(leaf, parts)
        prior = 0.0
        if guide is None:
            warn_of_lost_rows(int((n_asked == 0).sum()), len(votes))
        elif self.columns.shape[1] == 1:  # several labels have too many combinations
            prior = _ONE_TREE
        votes += prior
        decides = votes if guide is None else np.ascontiguousarray(guide, dtype=np.float64)
        say, out = np.zeros_like(votes), np.zeros((leaf.shape[1], self.content.shape[1] - 1))

        def run(rows: slice) -> None:
            weigh_votes(votes, decides, self.columns, self.cut, rows.start, rows.stop, say)
            place_by_votes(
                leaf, parts, self.starts, self.group, self.content, self.columns, say, prior, self.spread,
                rows.start, rows.stop, out,
            )  # fmt: skip

        map_blocks(run, row_blocks(leaf.shape[1], ROWS))
        return out

    def effects(
        self, game: Exchange, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None
    ) -> FloatArray:
        """Shapley values of places, with the weights of each class and each tree for a row held fixed.

        A mixture of rows goes, tree by tree, to where the classes in its leaf are that count for the row.
        """
        from manifolia.kernels.forest import weigh_votes
        from manifolia.kernels.shapley import add_voted_effects, log_votes

        check_leaves(leaf, len(self.starts) - 1)
        votes, _ = self._count(leaf, parts)
        prior = _ONE_TREE if guide is not None and self.columns.shape[1] == 1 else 0.0
        votes += prior
        decides = votes if guide is None else np.ascontiguousarray(guide, dtype=np.float64)
        n, out, entries = leaf.shape[1], game.room(self.content.shape[1] - 1), (*self[:4], self.spread)
        say = np.zeros_like(votes)
        counts, shrink = (np.empty((n, len(self.columns))) for _ in range(2))

        def run(rows: slice) -> None:
            first, last = rows.start, rows.stop
            own_leaf, own_parts = (np.ascontiguousarray(part[:, rows]) for part in (leaf, parts))
            weigh_votes(votes, decides, self.columns, self.cut, first, last, say)
            say[rows][votes[rows] == 0.0] = -np.inf
            log_votes(own_leaf, own_parts, entries, say[rows], prior, counts[rows], shrink[rows])
            add_voted_effects(*game.block(rows), own_leaf, own_parts, entries, counts[rows], shrink[rows], out[rows])

        map_blocks(run, game.blocks())
        return out

    def own_means(self, leaf: IntArray, parts: IntArray, own: IntArray) -> FloatArray:
        """Average the places of each row's own group in the leaves that it may ask; NaN where there are none."""
        from manifolia.kernels.forest import own_group_sums

        sums = np.zeros((leaf.shape[1], self.content.shape[1]))

        def run(rows: slice) -> None:
            own_group_sums(leaf, parts, self.starts, self.group, self.content, own, rows.start, rows.stop, sums)

        map_blocks(run, row_blocks(leaf.shape[1], ROWS))
        return sums[:, 1:] / np.where(sums[:, :1] > 0.0, sums[:, :1], np.nan)

    def fits(self, n_leaves: int) -> bool:
        """Whether arrays from a file can be indexed with one another, for a forest with this many leaves."""
        starts, group, content, columns, cut, spread = self
        kinds = starts.dtype == np.int64 and group.dtype == columns.dtype == np.int32 and content.dtype == np.float64
        shapes = starts.shape == (n_leaves + 1,) and columns.ndim == content.ndim == 2 and min(columns.shape) > 0
        shapes = shapes and spread.shape == (len(columns), 2 * content.shape[1]) and spread.dtype == np.float64
        if not kinds or not shapes or group.shape != content.shape[:1] or content.shape[1] < 2:
            return False
        ordered = starts[0] == 0 and starts[-1] == len(group) and (np.diff(starts) >= 0).all()
        inside = ((group >= 0) & (group < len(columns))).all() and (columns >= 0).all()
        return bool(ordered and inside) and int(columns.max()) < columns.size and type(cut) is float


class ValuedLeaves(NamedTuple):
    """Leaves that hold numbers and a place."""

    values: FloatArray  # (n_leaves, n_outputs + c): numbers in units of their error, then the mean place
    filled: BoolArray  # (n_leaves,): whether a leaf has a say
    n_outputs: int
    power: float  # of a tree's agreement with all others: 2 (sharpness − 1)

    def place(self, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None) -> FloatArray:
        """Place rows by the trees that they may ask; what a `guide` expects replaces what all trees expect."""
        from manifolia.kernels.forest import place_by_values

        guess = guide
        if guess is None:
            guess = LeafValues(np.ascontiguousarray(self.values[:, : self.n_outputs]), self.filled).place(leaf, parts)
        out = np.zeros((leaf.shape[1], self.values.shape[1] - self.n_outputs))

        def run(rows: slice) -> None:
            place_by_values(leaf, parts, self.values, self.filled, guess, self.power, rows.start, rows.stop, out)

        map_blocks(run, row_blocks(leaf.shape[1], ROWS))
        return out

    def effects(
        self, game: Exchange, leaf: IntArray, parts: IntArray = EVERY_TREE, guide: FloatArray | None = None
    ) -> FloatArray:
        """Shapley values of places: a tree counts the more, the closer its number is to what is expected of the row."""
        numbers = np.ascontiguousarray(self.values[:, : self.n_outputs])
        guess = LeafValues(numbers, self.filled).place(leaf, parts) if guide is None else guide
        away = np.zeros((leaf.shape[1], leaf.shape[0]))
        for k in range(self.n_outputs):
            away += 0.5 * (numbers[leaf, k].T - guess[:, [k]]) ** 2
        asked = (self.filled[leaf] & (parts != 0 if parts.shape[0] else True)).T
        away = np.where(asked, away, np.inf)
        nearest = away.min(axis=1, keepdims=True)
        weights = np.where(asked, np.exp(-self.power * (away - np.where(np.isinf(nearest), 0.0, nearest))), 0.0)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        places = np.ascontiguousarray(self.values[:, self.n_outputs :])
        return weighted_effects(game, leaf, weights, LeafEntries.of_table(places, self.filled))

    def fits(self, n_leaves: int) -> bool:
        """Whether arrays from a file can be indexed with one another, for a forest with this many leaves."""
        sizes = type(self.n_outputs) is int and type(self.power) is float
        return (
            LeafValues(self.values, self.filled).fits(n_leaves) and sizes and 0 < self.n_outputs < self.values.shape[1]
        )


def out_of_bag_votes(table: LeafTable, target: Target, *, row_weight: FloatArray | None = None) -> Votes | None:
    """Ask the trees for which a row is out of bag for its target; None without a target."""
    if target.y is None:
        return None
    weight = _labelled_weight(target, row_weight)
    if target.is_classification:
        labels = read_labels(target)
        counted = voted_leaves(table, labels, np.zeros((table.n_rows, 1)), 1.0, row_weight=weight)
        return ClassVotes(counted.votes(table.leaf, parts_out_of_bag(table)), labels)
    leaves = leaf_values(table, _numbers(target), row_weight=weight)
    return number_votes(leaves.place(table.leaf, parts_out_of_bag(table)), target)


def out_of_bag_prediction(
    table: LeafTable, target: Target, *, row_weight: FloatArray | None = None, votes: Votes | None = None
) -> Array:
    """Predict the target of every row by the trees for which it is out of bag, whose `votes` may already be known.

    It is the forest's own out-of-bag prediction where a leaf's value is the mean of its in-bag rows: not with
    ``criterion="absolute_error"`` (medians) or ``class_weight="balanced_subsample"`` (weights that differ by tree).
    """
    y = np.asarray(target.y)
    held = out_of_bag_votes(table, target, row_weight=row_weight) if votes is None else votes
    shape = (table.n_rows, *y.shape[1:])
    if held is None or not target.is_classification:
        return held.as_table().reshape(shape)  # type: ignore[union-attr]
    found = [np.unique(column) for column in y.reshape(len(y), -1).T]
    edges = np.cumsum([len(classes) for classes in found])[:-1]
    shares = np.split(held.as_table(), edges, axis=1)
    best = [classes[np.argmax(own, axis=1)] for classes, own in zip(found, shares, strict=True)]
    return np.column_stack(best).astype(y.dtype, copy=False).reshape(shape)


def number_votes(expected: FloatArray, target: Target) -> NumberVotes:
    """Measure what is expected of numbers in units of its error."""
    error = np.sqrt(np.mean((expected - _numbers(target))[target.labelled] ** 2, axis=0))
    error = np.where(error > 0.0, error, 1.0)  # no error at all: any unit will do
    return NumberVotes(expected / error, error)


def guided_leaves(
    table: LeafTable, Y: FloatArray, target: Target, votes: Votes | None, sharpness: float, *,
    row_weight: FloatArray | None = None, spread_out: bool = False,
) -> LeafValues | VotedLeaves | ValuedLeaves:  # fmt: skip
    """Put places into the leaves, with the target of the rows there; `spread_out` undoes the shrinking of means."""
    if votes is None:
        return leaf_values(table, Y, row_weight=row_weight)
    weight = _labelled_weight(target, row_weight)
    if isinstance(votes, ClassVotes):
        Y = gathered(votes.labels, Y) if spread_out else Y
        leaves = voted_leaves(table, votes.labels, Y, sharpness, row_weight=weight)
        if not spread_out:
            return leaves
        means = leaves.own_means(table.leaf, parts_out_of_bag(table), votes.labels.group)
        return leaves._replace(spread=spread_of_groups(votes.labels, Y, means))
    numbers = _numbers(target) / votes.error
    values = leaf_values(table, np.column_stack([numbers, Y]), row_weight=weight)
    return ValuedLeaves(*values, numbers.shape[1], 2.0 * float(sharpness - 1.0))


def voted_leaves(
    table: LeafTable, labels: Labels, Y: FloatArray, sharpness: float, *, row_weight: FloatArray
) -> VotedLeaves:
    """Average places over the in-bag rows of every leaf and combination of labels."""
    from manifolia.kernels.forest import fill_voted_leaves

    places = np.ascontiguousarray(Y, dtype=np.float64)

    def read(t: int) -> tuple[IntArray, IntArray, FloatArray]:
        mass, first, last = table.counts[t] * row_weight, *table.trees.first_leaf[t : t + 2]
        n_most = int(np.count_nonzero(mass))
        sizes, group = np.empty(last - first, dtype=np.int64), np.empty(n_most, dtype=np.int32)
        content = np.empty((n_most, 1 + places.shape[1]))
        n_entries = fill_voted_leaves(table.leaf[t], first, mass, labels.group, places, sizes, group, content)
        return sizes, group[:n_entries].copy(), content[:n_entries].copy()

    sizes, groups, contents = zip(*map_blocks(read, range(table.n_trees)), strict=True)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    content, cut = np.concatenate(contents), 1.0 - 1.0 / float(sharpness)
    spread = _as_it_is(len(labels.columns), Y.shape[1])
    return VotedLeaves(starts, np.concatenate(groups), content, labels.columns, cut, spread)


def _as_it_is(n_groups: int, c: int) -> FloatArray:
    spread = np.zeros((n_groups, 2 + 2 * c))
    spread[:, :2] = 1.0, np.inf
    return spread


def gathered(labels: Labels, Y: FloatArray) -> FloatArray:
    """Move groups towards one another, each as a whole, if all gaps between them are far wider than they are.

    Forces push unconnected groups apart, and the fewer there are, the farther: three classes would be three dots in an
    empty map. All centres are scaled by one factor, so that the two groups that are closest for their size are `_EMPTY`
    times the sum of their radii apart. Who is next to whom does not change; if groups are closer than that, nothing
    changes.
    """
    n_groups = len(labels.columns)
    if labels.columns.shape[1] > 1 or n_groups < 2:  # combinations of labels are too many to lie apart
        return Y
    rows = [np.flatnonzero(labels.group == g) for g in range(n_groups)]
    centers = np.array([np.median(Y[own], axis=0) for own in rows])
    radii = [
        np.quantile(np.linalg.norm(Y[own] - center, axis=1), 0.9) for own, center in zip(rows, centers, strict=True)
    ]
    first, second = np.triu_indices(n_groups, 1)
    apart = np.linalg.norm(centers[first] - centers[second], axis=1)
    wanted = _EMPTY * (np.take(radii, first) + np.take(radii, second))
    if not (wanted.max() > 0.0 and (wanted < apart).all()):
        return Y
    moved = Y.copy()
    for own, shift in zip(rows, (float(np.max(wanted / apart)) - 1.0) * centers, strict=True):
        moved[own] += shift
    return moved


def spread_of_groups(labels: Labels, Y: FloatArray, means: FloatArray) -> FloatArray:
    """Find out how to spread each group of rows, from its layout and from where its rows' own leaves put them.

    Extents are median distances from the centre, which is the median. No row goes farther than nine tenths of the
    layout's rows are from the centre, however few rows a mean is taken over.
    """
    spread = _as_it_is(len(labels.columns), Y.shape[1])
    for g in range(len(labels.columns)):
        rows = np.flatnonzero(labels.group == g)
        center = np.median(Y[rows], axis=0)
        spread[g, 2:] = *center, *center
        rows = rows[~np.isnan(means[rows, 0])]
        if len(rows) < _FEWEST:
            continue
        middle, center = np.median(means[rows], axis=0), np.median(Y[rows], axis=0)
        shrunk, distance = (np.linalg.norm(A[rows] - m, axis=1) for A, m in ((means, middle), (Y, center)))
        extent, reach = np.quantile(distance, [0.5, 0.9])
        if _EXTENT * extent > np.median(shrunk) > 0.0:
            factor = min(_EXTENT * extent / np.median(shrunk), _MOST)
            spread[g] = factor, reach, *middle, *center
    return spread


def read_labels(target: Target) -> Labels:
    """Group rows of a target of classes by their labels."""
    outputs = np.asarray(target.y).reshape(len(target.y), -1)  # type: ignore[arg-type]
    columns, n_votes = [], 0
    for output in outputs.T:
        found, codes = np.unique(output, return_inverse=True)
        columns.append(n_votes + codes)
        n_votes += len(found)
    combinations, own = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    group = np.full(len(target.labelled), -1, dtype=np.int32)
    group[target.labelled] = own.ravel()
    return Labels(group, np.ascontiguousarray(combinations, dtype=np.int32))


def sharpened(
    P: Sparse, votes: Votes | None, sharpness: float, *, own: IntArray | None = None, others: IntArray | None = None
) -> Sparse:
    """Multiply proximities by how far two rows agree on the target; rows add up to 1, in single precision.

    `own` and `others` are the rows of the table that the rows and the columns of `P` stand for, if not all of them.
    For classes the factor is s⁻⁴ if the labels differ: this separates classes, and rows in doubt are put between them
    when they are placed, without their own label. For numbers, it is what is expected of both rows out of bag.
    """
    data = np.empty(P.nnz, dtype=np.float32)
    for rows in row_blocks(P.shape[0], ROWS):  # all pairs at once would take several times the memory of P
        first, last = P.indptr[rows.start], P.indptr[rows.stop]
        sizes = np.diff(P.indptr[rows.start : rows.stop + 1])
        row, weights = np.repeat(np.arange(len(sizes)), sizes), P.data[first:last]
        if votes is not None and sharpness > 1.0:
            row_of, column_of = rows.start + row, P.indices[first:last]
            agreement = votes.log_agreement(
                row_of if own is None else own[row_of], column_of if others is None else others[column_of], sharpness
            )
            largest = np.full(len(sizes), -np.inf)
            np.maximum.at(largest, row, agreement)
            weights = weights * np.exp(agreement - largest[row])
        data[first:last] = weights / np.bincount(row, weights, minlength=len(sizes))[row]
    return sp.csr_array((data, P.indices, P.indptr), P.shape)


def _labelled_weight(target: Target, row_weight: FloatArray | None) -> FloatArray:
    """A fitted forest may have been trained on more labels than were passed: rows without one have no say."""
    known = target.labelled.astype(np.float64)
    return known if row_weight is None else np.where(target.labelled, row_weight, 0.0)


def _numbers(target: Target) -> FloatArray:
    known: Any = np.asarray(target.y, dtype=np.float64)
    known = known.reshape(len(known), -1)
    numbers = np.zeros((len(target.labelled), known.shape[1]))
    numbers[target.labelled] = known
    return numbers
