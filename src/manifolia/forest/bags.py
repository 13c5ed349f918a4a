"""Bags: which rows were drawn for which tree. Nothing else in the package draws or reads bootstrap samples.

A forest that we grow holds the counts of its bags in ``in_bag_counts_``. For any other, only a public attribute of
scikit-learn's forests is used: ``estimators_samples_``, which draws every bag again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from manifolia._core.parallel import map_blocks
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia.exceptions import ParameterError

_MANY_EQUAL = 10  # equal rows: as many as the neighbours by which a map is judged


def draws(forest: Any) -> list[IntArray]:
    """Return the rows that each tree of a fitted forest was trained on, repeated as often as they were drawn."""
    return list(forest.estimators_samples_)


def has_bags(forest: Any) -> bool:
    """Return whether an estimator, fitted or not, is a forest whose bags and leaves can be read."""
    # On the class: the property draws every bag again. Bagging has bags too, but no leaves of its own.
    return hasattr(type(forest), "estimators_samples_") and hasattr(type(forest), "apply")


def n_rows_drawn(forest: Any) -> int:
    """Lower bound of the number of rows that a fitted forest was trained on."""
    own = own_counts(forest)
    return 1 + _last_row(draws(forest)) if own is None else int(own.shape[1])


def own_counts(forest: Any) -> IntArray | None:
    """Return the counts of bags that we drew, of shape (trees, rows trained on); None if scikit-learn drew them."""
    own = vars(forest).get("in_bag_counts_")
    if own is None:
        return None
    if own.ndim != 2 or own.dtype.kind != "u" or own.shape[0] != len(forest.estimators_):
        raise ValueError("the in-bag counts of the forest are not those of its trees.")
    return np.asarray(own)


def tree_seeds(seed: int, n_trees: int) -> list[int]:
    """Return the seeds that a scikit-learn forest gives its trees; more trees do not change the first ones."""
    return [int(one) for one in np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_trees)]


def drawn_share(forest: Any, n_rows: int) -> float:
    """Return the share of the rows, or groups, that a forest draws for each tree."""
    asked = forest.max_samples
    return float(asked) if isinstance(asked, float) else (asked or n_rows) / n_rows


_of_thread = threading.local()


def seeded(seed: int) -> np.random.RandomState:
    """Seed the generator of this thread: making one takes longer than drawing a small bag."""
    if not hasattr(_of_thread, "generator"):
        _of_thread.generator = np.random.RandomState()
    _of_thread.generator.seed(seed)
    return _of_thread.generator


def bag_drawer(
    n_rows: int, *, groups: IntArray | None = None, share: float = 1.0, weight: FloatArray | None = None
) -> Callable[[int], IntArray]:
    """Make the function that draws the bag of the tree with a seed: how often each row is in it.

    Rows are drawn with replacement, or whole groups, whose rows then have the same count: as many as there are, or a
    share of these. Rows of weight 0 are not drawn, since a tree cannot grow on them alone. The draws are
    scikit-learn's, so that ``estimators_samples_`` names the same rows if neither groups nor weights are given.
    """
    n_units = n_rows if groups is None else int(groups.max()) + 1
    alive = None
    if weight is not None:
        alive = np.flatnonzero(weight if groups is None else np.bincount(groups, weight))
    n_alive = n_units if alive is None else len(alive)
    n_draws = max(1, round(share * n_alive)) if n_alive else 0

    def draw(seed: int) -> IntArray:
        drawn = seeded(seed).randint(0, max(n_alive, 1), n_draws, dtype=np.int32)
        counts = np.bincount(drawn if alive is None else alive[drawn], minlength=n_units)
        counts = counts.astype(_narrow(counts))
        return counts if groups is None else counts[groups]

    return draw


def draw_groups(
    groups: IntArray,
    n_trees: int,
    seed: int,
    *,
    first: int = 0,
    share: float = 1.0,
    weight: FloatArray | None = None,
) -> IntArray:
    """Draw whole groups for trees, starting at `first`: how often each row is in each bag, (trees, rows)."""
    draw = bag_drawer(len(groups), groups=groups, share=share, weight=weight)
    counts = [draw(one) for one in tree_seeds(seed, first + n_trees)[first:]]
    return np.stack(counts) if counts else np.zeros((0, len(groups)), dtype=np.uint8)


def halves_of_equal_rows(X: Any, seed: int) -> IntArray | None:
    """Divide rows that are equal in every column into two halves, each drawn as a whole; None if few rows are equal.

    Among many equal rows, those of class k see one vote less for k than the others do, in the trees that left them out:
    a row's class could be read from its votes, even if it is unrelated to the columns. The rows of a half share their
    trees, so that they all have the same votes. If there are fewer equal rows than neighbours in the map, the map
    cannot show it.
    """
    generator = np.random.default_rng(seed)
    n, d = X.shape
    rows, cell = np.arange(n), np.zeros(n, dtype=np.int64)
    for column in generator.permutation(d):  # the first pixels of pictures are equal in all rows
        values, codes = np.unique(X[rows, column].astype(np.float32), return_inverse=True)  # as trees compare them
        _, cell, sizes = np.unique(cell * len(values) + codes.ravel(), return_inverse=True, return_counts=True)
        many = sizes[cell] >= _MANY_EQUAL
        rows, cell = rows[many], cell[many]
        if not len(rows):
            return None
    shuffled = generator.permutation(len(rows))
    shuffled = shuffled[np.argsort(cell[shuffled], kind="stable")]  # cell by cell
    units = np.arange(n)
    for own in np.split(rows[shuffled], np.flatnonzero(np.diff(cell[shuffled])) + 1):
        for half in (own[::2], own[1::2]):
            units[half] = half.min()
    return np.asarray(np.unique(units, return_inverse=True)[1])


def check_group_forest(forest: Any, *, is_fitted: bool) -> None:
    """Refuse a forest whose bags cannot be drawn by groups."""
    name = type(forest).__name__
    if is_fitted:
        raise ParameterError(
            f"groups was given with a fitted {name}: its trees drew single rows, so that trees which left a row out "
            f"have seen others of its group. Pass the forest unfitted.",
            parameter="groups",
        )
    if not (has_bags(forest) and forest.bootstrap):
        held = f"{name}(bootstrap=False)" if has_bags(forest) else name
        raise ParameterError(
            f"groups needs a forest whose trees draw rows, got {held}: nothing is left out of any tree. Pass a random "
            f"forest with bootstrap=True, or leave groups out.",
            parameter="groups",
        )


def _narrow(counts: IntArray) -> type[np.unsignedinteger[Any]]:
    largest = int(counts.max(initial=0))
    return np.uint8 if largest < 256 else np.uint16 if largest < 65536 else np.uint32


def _last_row(drawn: list[IntArray]) -> int:
    return max((int(rows.max(initial=-1)) for rows in drawn), default=-1)


def in_bag_counts(forest: Any, n_rows: int, train_rows: ArrayLike | None = None) -> IntArray:
    """Count how often each of `n_rows` rows was drawn for each tree: an array of shape (trees, rows)."""
    own = own_counts(forest)
    drawn = draws(forest) if own is None else []
    where = None if train_rows is None else np.asarray(train_rows, dtype=np.int64)
    n_trained = n_rows if where is None else where.shape[0]
    if (_last_row(drawn) >= n_trained) if own is None else (own.shape[1] != n_trained):
        raise ValueError(
            f"the forest was trained on {'more' if own is None else 'other'} rows than the {n_trained} given. "
            f"Pass the X that it was fitted on, or relate the rows by train_rows."
        )
    if where is not None and (where.max(initial=-1) >= n_rows or where.min(initial=-1) < -1):
        raise ParameterError(
            f"train_rows must hold rows of X (0 to {n_rows - 1}) or -1, got {where.min()} to {where.max()}.",
            parameter="train_rows",
        )

    if own is not None and where is None:
        return own

    def moved(times: IntArray) -> IntArray:
        if where is None:
            return times
        kept = where >= 0
        return np.bincount(where[kept], weights=times[kept], minlength=n_rows).astype(np.int64)

    def count(rows: IntArray) -> IntArray:
        return moved(np.bincount(rows, minlength=n_trained))

    counted = map_blocks(count, drawn) if own is None else map_blocks(moved, list(own))
    dtype = _narrow(np.array([times.max(initial=0) for times in counted]))
    return np.stack([times.astype(dtype) for times in counted])


def training_weights(forest: Any, sample_weight: ArrayLike | None) -> FloatArray | None:
    """Find the weights that multiply the in-bag counts.

    scikit-learn 1.9 draws the bootstrap samples by weight, so that the counts already hold the weights; earlier
    releases multiply the counts. The trees themselves show which: the weight of their root is, or is not, the number of
    draws.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    # Nothing is drawn, or we draw whole groups: the weights go to the trees as they are.
    if not getattr(forest, "bootstrap", False) or own_counts(forest) is not None:
        return weights
    n_draws = len(draws(forest)[0])
    by_weight = np.isclose(forest.estimators_[0].tree_.weighted_n_node_samples[0], n_draws, rtol=1e-9)
    return None if by_weight else weights
