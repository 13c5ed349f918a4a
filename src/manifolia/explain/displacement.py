"""Which features shape a map, for any map that can place rows: change a row's values and see how far it moves.

`displacements` is that step; T places a row, and a feature may be a group of columns that belong together (those of one
category). A feature that the map does not use does not move anything.

**The map** (`importance`). Row i gets, in feature f alone, the value of a row j that is similar to it in all *other*
features, and is placed again:

    s_if = mean over j ∈ N_i(−f) of ‖ T(x_i with x_if ← x_jf) − T(x_i) ‖,        s_f = mean over rows of s_if

N_i(−f) are the k nearest rows by the standardised features without f: mixing within similar rows keeps to combinations
that occur (conditional permutation; Strobl et al. 2008), so that a feature which the others determine gets little.

The null: the same rows with the values of rows that lie in the same place *of the map*,

    o_if = mean over j ∈ M_i of ‖ T(x_i with x_if ← x_jf) − T(x_i) ‖,        M_i: the k nearest in the map.

These are values that the map cannot distinguish. If, given the other features, x_f is unrelated to a row's place, the
values of both kinds of donors have the same distribution, and s_if − o_if is above 0 as often as below. If it is
related, the values of neighbours in the map are closer to the row's own, and s_if > o_if. The test flips the signs of
the rows' differences and compares with the largest feature of each flip (Westfall and Young 1993), so that the p-values
hold for all features together. They are about the map, not about the world: a forest that has split on noise lets noise
move rows a little, even rows that it has not seen, and with enough rows that little is significant. `mean` − `null`
says how much it matters.

References
----------
Strobl, C., Boulesteix, A.-L., Kneib, T., Augustin, T. and Zeileis, A. (2008). Conditional variable importance for
random forests. BMC Bioinformatics 9, 307.
Westfall, P. H. and Young, S. S. (1993). Resampling-based multiple testing. Wiley.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, Callback, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_matrix, check_number, is_sparse
from manifolia.exceptions import ParameterError, ParameterTypeError

_POOL = 2000  # maximum number of rows among which similar ones are searched for
_LEAST_POOL = 200
_COMPARISONS = 400_000_000  # row × pool × feature comparisons that decide how large the pool may be: a few seconds
_POOL_CELLS = 40_000_000  # numbers of the pool in double precision: 320 MB
_CELLS = 4_000_000  # cells that are placed in one call
_STAGE = "importance"


class Displacement(NamedTuple):
    """How far rows move when a feature, or a group of features, is mixed up within similar rows."""

    # (g,): mean over the rows, in units of `spread`: 1 is as far as rows lie from the middle of the map
    mean: FloatArray
    null: FloatArray  # (g,): the same with values of rows that lie in the same place of the map
    # (g,): how often chance makes the largest feature stand out from its null as much as this one; for all together
    p_value: FloatArray
    rows: IntArray  # (r,): the rows
    per_row: FloatArray  # (r, g): displacement of each row
    null_per_row: FloatArray  # (r, g): its null
    spread: float  # Root mean square distance of rows from the middle of the map, in its own units


def displacements(
    place: Callable[[FloatArray], FloatArray],
    X: FloatArray,
    groups: Sequence[IntArray],
    values: Sequence[FloatArray],
    *,
    home: FloatArray | None = None,
) -> FloatArray:
    """Measure how far rows move when groups of columns take other values: (rows, groups, donors).

    For each group, `values` has those of k donors, (k, columns), or of k donors for each row, (rows, k, columns). A
    donor with the row's own values moves it by 0 and is not placed. `home`: the places of the rows, if known.
    """
    home = place(X) if home is None else home
    given = [np.broadcast_to(one, (len(X), *one.shape[-2:])) for one in values]
    out = np.zeros((len(X), len(groups), given[0].shape[1] if given else 0))
    changes = [np.empty((3, 0), dtype=np.intp)]
    for g, columns in enumerate(groups):
        own = X[:, np.newaxis, columns]
        row, donor = np.nonzero(((given[g] != own) & ~(np.isnan(given[g]) & np.isnan(own))).any(axis=2))
        changes.append(np.stack([row, np.full(len(row), g), donor]))
    moves = np.concatenate(changes, axis=1)
    # Groups share a call: many small calls cost more.
    for part in row_blocks(moves.shape[1], max(1, _CELLS // max(X.shape[1], 1))):
        i, which, j = moves[:, part]
        tried = X[i]
        for g in np.unique(which):
            these = np.flatnonzero(which == g)
            tried[np.ix_(these, groups[g])] = given[g][i[these], j[these]]
        out[i, which, j] = np.linalg.norm(place(tried) - home[i], axis=1)
    return out


def importance(
    model: Any,
    X: ArrayLike,
    *,
    rows: int | ArrayLike = 200,
    groups: Sequence[ArrayLike] | None = None,
    n_neighbors: int = 10,
    n_flips: int = 999,
    random_state: RandomState = None,
    callback: Callback = None,
) -> Displacement:
    """Measure how far rows move in a map when a feature takes the values of similar rows.

    It costs at most 2 · r · g · k placements (r rows, g groups, k neighbours), fewer where a donor has the row's own
    value, and the search for similar rows, r · g · 2000 comparisons. 200 rows with 64 features and 10 neighbours take
    up to 256,000 placements. The time of one placement does not depend on the other rows, so fewer rows are faster in
    proportion; a single one is quick enough to ask for while looking at a map.
    """
    if not hasattr(model, "transform"):
        raise ParameterTypeError(
            f"model must place rows by transform, and {type(model).__name__} has none. Give its map a formula first: "
            f"manifolia.KernelMap().fit(X, Y).",
            parameter="model",
        )
    data = check_matrix(X, accept_sparse=True, allow_nan=True, min_rows=3)
    n, d = data.shape
    generator = as_generator(random_state)
    asked = _which_rows(rows, n, generator)
    columns = [np.array([f]) for f in range(d)] if groups is None else _check_groups(groups, d)
    k = check_number(n_neighbors, "n_neighbors", low=1, integer=True)
    n_flips = check_number(n_flips, "n_flips", low=1, integer=True)
    reporter = Reporter(callback)
    names = getattr(X, "columns", None)

    def place(rows: FloatArray) -> FloatArray:
        if names is None:
            return np.asarray(model.transform(rows), dtype=np.float64)
        import pandas as pd

        return np.asarray(model.transform(pd.DataFrame(rows, columns=names)), dtype=np.float64)

    with threads(None):
        size = _COMPARISONS // max(len(asked) * len(columns), 1)
        size = min(n, max(_LEAST_POOL, min(_POOL, size)), max(3, _POOL_CELLS // d))
        pool = np.sort(generator.choice(n, size=size, replace=False))
        own, donors = _dense(data[asked]), _dense(data[pool])
        home, places = place(own), place(donors)
        same = asked[:, np.newaxis] == pool
        k = min(k, size - 1)
        in_map = _nearest(_squares(home, places), same, k)
        z_own, z_donors = _standardised(own, donors)
        apart = _squares(z_own, z_donors)
        moved, null = (np.zeros((len(asked), len(columns))) for _ in range(2))
        for g, group in enumerate(columns):
            reporter.step(_STAGE, g, len(columns))
            # |z_i − z_j|² without the group: the search by all features is made once
            without = apart - _squares(z_own[:, group], z_donors[:, group])
            similar = _nearest(without, same, k)
            both = np.concatenate([similar, in_map], axis=1)
            shift = displacements(place, own, [group], [donors[:, group][both]], home=home)[:, 0]
            moved[:, g], null[:, g] = shift[:, :k].mean(axis=1), shift[:, k:].mean(axis=1)
        reporter.step(_STAGE, len(columns), len(columns))
    spread = float(np.sqrt(places.var(axis=0).sum()))
    unit = spread if spread > 0 else 1.0
    moved, null = moved / unit, null / unit
    p_value = _flip_test(moved - null, n_flips, generator)
    return Displacement(moved.mean(axis=0), null.mean(axis=0), p_value, asked, moved, null, spread)


def _which_rows(rows: int | ArrayLike, n: int, generator: np.random.Generator) -> IntArray:
    if np.ndim(rows) == 0:  # type: ignore[arg-type]
        wanted = check_number(rows, "rows", low=1, integer=True)
        return np.sort(generator.choice(n, size=min(wanted, n), replace=False))
    return _check_indices(rows, n, "rows")  # type: ignore[arg-type]


def _check_groups(groups: Sequence[ArrayLike], d: int) -> list[IntArray]:
    if len(groups) == 0:
        raise ParameterError(
            "groups must name at least one group of columns, got none. None takes each column alone.",
            parameter="groups",
        )
    return [_check_indices(np.atleast_1d(group), d, f"groups[{g}]") for g, group in enumerate(groups)]


def _check_indices(given: ArrayLike, size: int, name: str) -> IntArray:
    found = np.asarray(given)
    whole = found.ndim == 1 and found.size > 0 and found.dtype.kind in "iu"
    if not whole or found.min() < 0 or found.max() >= size:
        raise ParameterError(f"{name} must be whole numbers from 0 to {size - 1}, got {given!r}.", parameter=name)
    return found.astype(np.intp)


def _dense(X: Any) -> FloatArray:
    return X.toarray() if is_sparse(X) else np.ascontiguousarray(X)


def _standardised(own: FloatArray, donors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both standardised by the donors' mean and standard deviation; missing values are put at the mean."""
    known = ~np.isnan(donors)
    count = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, donors, 0.0).sum(axis=0, dtype=np.float64) / count
    spread = np.sqrt(np.where(known, (donors - centre) ** 2, 0.0).sum(axis=0) / count)
    unit = np.where(spread > 0, spread, 1.0)
    scaled = [np.nan_to_num((part - centre) / unit, nan=0.0) for part in (own, donors)]
    return scaled[0], scaled[1]


def _squares(A: FloatArray, B: FloatArray) -> FloatArray:
    """Squared distances of all rows of A to all rows of B."""
    if A.shape[1] == 1:
        return (A - B[:, 0]) ** 2
    squares = np.einsum("ij,ij->i", A, A)[:, np.newaxis] + np.einsum("ij,ij->i", B, B) - 2.0 * (A @ B.T)
    return np.maximum(squares, 0.0)


def _nearest(squares: FloatArray, same: Array, k: int) -> IntArray:
    """Return the k nearest of every row, without the row itself; their order does not matter."""
    apart = np.where(same, np.inf, squares)
    return np.argpartition(apart, k - 1, axis=1)[:, :k]


def _flip_test(differences: FloatArray, n_flips: int, generator: np.random.Generator) -> FloatArray:
    """One-sided sign-flip test of each column's mean, adjusted by the largest column of each flip."""
    n = len(differences)
    # Σ d² does not change with signs, so the sum over its root orders flips as a t statistic does.
    length = np.sqrt(np.einsum("ij,ij->j", differences, differences))
    scaled = differences / np.where(length > 0, length, 1.0)
    observed = scaled.sum(axis=0)
    signs = generator.integers(0, 2, size=(n_flips, n)) * 2.0 - 1.0
    largest = (signs @ scaled).max(axis=1)
    return (1.0 + (largest[:, np.newaxis] >= observed - 1e-12).sum(axis=0)) / (n_flips + 1.0)
