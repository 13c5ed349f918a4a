"""Rows along the way from one cluster of a map to another, and whether they form a single hump.

The dip is the least distance between a sample's distribution function and one with a single mode (Hartigan and Hartigan
1985, `manifolia.kernels.dip`). The least favourable distribution with one mode is the uniform one, so p is the share of
uniform samples of that size with a larger dip, from our own table (``reproduce/diagnose/dip_table.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray, RandomState

#: Sizes of samples, shares of samples that exceed a value, and √n times the values, from 200,000 samples of each size.
SIZES = (4, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000)
SHARES = (0.99, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.025, 0.01, 0.005, 0.002, 0.001)
QUANTILES = (
    (0.2500, 0.2500, 0.2500, 0.2500, 0.2649, 0.3143, 0.3741, 0.4141, 0.4408, 0.4634, 0.4745, 0.4842, 0.4894),
    (0.2041, 0.2041, 0.2545, 0.3014, 0.3441, 0.3659, 0.3896, 0.4033, 0.4259, 0.4689, 0.4943, 0.5196, 0.5350),
    (0.1768, 0.2321, 0.2819, 0.3140, 0.3409, 0.3547, 0.4012, 0.4351, 0.4620, 0.4889, 0.5062, 0.5290, 0.5536),
    (0.1935, 0.2466, 0.2857, 0.3093, 0.3480, 0.3758, 0.4124, 0.4414, 0.4675, 0.5050, 0.5283, 0.5546, 0.5707),
    (0.2115, 0.2489, 0.2888, 0.3240, 0.3607, 0.3860, 0.4267, 0.4602, 0.4906, 0.5275, 0.5527, 0.5844, 0.6050),
    (0.2122, 0.2540, 0.2952, 0.3278, 0.3685, 0.3950, 0.4347, 0.4698, 0.5012, 0.5395, 0.5656, 0.5973, 0.6228),
    (0.2165, 0.2597, 0.3021, 0.3369, 0.3779, 0.4056, 0.4469, 0.4834, 0.5169, 0.5592, 0.5879, 0.6202, 0.6429),
    (0.2219, 0.2669, 0.3095, 0.3454, 0.3873, 0.4157, 0.4586, 0.4959, 0.5300, 0.5710, 0.6005, 0.6363, 0.6601),
    (0.2284, 0.2742, 0.3177, 0.3546, 0.3976, 0.4268, 0.4709, 0.5108, 0.5472, 0.5908, 0.6212, 0.6611, 0.6878),
    (0.2333, 0.2799, 0.3242, 0.3618, 0.4057, 0.4355, 0.4815, 0.5218, 0.5588, 0.6037, 0.6347, 0.6752, 0.7049),
    (0.2379, 0.2848, 0.3300, 0.3679, 0.4127, 0.4431, 0.4894, 0.5309, 0.5688, 0.6168, 0.6499, 0.6871, 0.7186),
    (0.2405, 0.2875, 0.3332, 0.3713, 0.4163, 0.4470, 0.4934, 0.5348, 0.5734, 0.6181, 0.6502, 0.6903, 0.7178),
    (0.2425, 0.2898, 0.3349, 0.3737, 0.4190, 0.4497, 0.4969, 0.5390, 0.5774, 0.6237, 0.6563, 0.6981, 0.7272),
)

_MOST_AXES, _MOST_COLUMNS = 50, 100  # principal axes that a discriminant looks at, of a pair and of all rows
_TUBE = 0.75  # share of the clusters' own rows inside the tube
_DRAWS = 9
_AT_HOME = 0.5  # share of the nearest rows of a row of the tube that lie in it or in the clusters


class Dip(NamedTuple):
    """How far a sample is from having one mode."""

    dip: float
    p: float  # Share of uniform samples with a larger dip; not below 0.001


def dip_test(sample: FloatArray) -> Dip:
    """Test whether a sample has more than one mode; p is NaN for fewer than 4 values."""
    from manifolia.kernels.dip import dip

    x, counts = np.unique(np.asarray(sample, dtype=np.float64), return_counts=True)
    n = int(counts.sum())
    if n < SIZES[0]:
        return Dip(0.5 / max(n, 1), np.nan)
    found = float(dip(x, np.concatenate([[0], np.cumsum(counts)])))
    # Between two sizes, √n times the quantile is nearly linear in log n; above the largest it does not change.
    values = [np.interp(np.log(n), np.log(SIZES), column) for column in np.array(QUANTILES).T]
    p = np.exp(np.interp(np.sqrt(n) * found, values, np.log(SHARES)))
    return Dip(found, 1.0 if np.sqrt(n) * found <= values[0] else float(p))


class Way(NamedTuple):
    """Rows along the way from one cluster to another."""

    along: FloatArray  # (m,): 0 at the centre of the first, 1 at that of the second
    side: IntArray  # (m,): 0 and 1 for rows of the clusters, 2 for rows of the tube
    rows: IntArray  # (m,)


def fewer_columns(X: FloatArray, seed: int) -> FloatArray:
    """Principal axes instead of very many columns."""
    if X.shape[1] <= _MOST_COLUMNS or len(X) <= _MOST_COLUMNS:
        return X
    from sklearn.decomposition import PCA

    return np.asarray(PCA(_MOST_COLUMNS, svd_solver="randomized", random_state=seed).fit_transform(X))


def measure_way(
    X: FloatArray,
    members: Sequence[IntArray],
    others: IntArray,
    groups: IntArray | None,
    generator: np.random.Generator,
) -> Way | None:
    """Measure rows along the way between two clusters, each by a direction found from the other half."""
    from sklearn.covariance import ledoit_wolf

    rows, side = np.concatenate(members), np.repeat([0, 1], [len(own) for own in members])
    near, centre = X[rows], X[rows].mean(axis=0)
    axes = np.eye(X.shape[1])
    if X.shape[1] > _MOST_AXES:
        axes = np.linalg.svd(near - centre, full_matrices=False)[2][:_MOST_AXES]
    Z, far = (near - centre) @ axes.T, (X[others] - centre) @ axes.T
    half, half_of_others = _halves(rows, side, groups, generator), _half_of_groups(others, groups, generator)
    parts = []
    for own in (0, 1):
        learned = half != own
        if min(np.count_nonzero(learned & (side == end)) for end in (0, 1)) < 2 or not (half == own).any():
            return None  # one group has nearly all rows
        centres = [Z[learned & (side == end)].mean(axis=0) for end in (0, 1)]
        within = np.vstack([Z[learned & (side == end)] - centres[end] for end in (0, 1)])
        covariance = ledoit_wolf(within, assume_centered=True)[0]
        apart = centres[1] - centres[0]
        size = float(np.trace(covariance)) / len(covariance)
        if not size > 0.0:
            size = float(apart @ apart)
        if not size > 0.0:
            return None
        precision = np.linalg.pinv(covariance + 1e-9 * size * np.eye(len(covariance)), hermitian=True)
        direction = precision @ apart
        length = float(apart @ direction)
        if not length > 0.0:
            return None

        def place(
            points: FloatArray,
            start: FloatArray = centres[0],
            w: FloatArray = direction,
            length: float = length,
            precision: FloatArray = precision,
        ) -> tuple[FloatArray, FloatArray]:
            from_start = points - start
            along = from_start @ w / length
            return along, np.einsum("ij,jk,ik->i", from_start, precision, from_start) - along**2 * length

        along, off = place(Z[half == own])
        parts.append((along, side[half == own], rows[half == own]))
        along_others, off_others = place(far[half_of_others == own])
        inside = (off_others <= np.quantile(off, _TUBE)) & (along_others > 0.0) & (along_others < 1.0)
        between = others[half_of_others == own][inside]
        parts.append((along_others[inside], np.full(len(between), 2), between))
    return Way(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def without_passers(near: IntArray, members: Sequence[IntArray], way: Way) -> Way:
    """Drop rows of the tube most of whose nearest rows are neither in it nor in the clusters: they pass by."""
    known = np.zeros(len(near), dtype=bool)
    known[np.concatenate([*members, way.rows])] = True
    kept = (way.side < 2) | (known[near[way.rows]].mean(axis=1) >= _AT_HOME)
    return Way(*(values[kept] for values in way))


def _halves(rows: IntArray, side: IntArray, groups: IntArray | None, generator: np.random.Generator) -> IntArray:
    """Half of each cluster, or of the groups."""
    if groups is not None:
        return _half_of_groups(rows, groups, generator)
    half = np.zeros(len(rows), dtype=np.intp)
    for end in (0, 1):
        half[generator.permutation(np.flatnonzero(side == end))[::2]] = 1
    return half


def _half_of_groups(rows: IntArray, groups: IntArray | None, generator: np.random.Generator) -> IntArray:
    own = rows if groups is None else groups[rows]
    units, place = np.unique(own, return_inverse=True)
    half = np.zeros(len(units), dtype=np.intp)
    half[generator.permutation(len(units))[::2]] = 1
    return half[place.ravel()] if len(units) else np.zeros(0, dtype=np.intp)


def single_hump(way: Way, groups: IntArray | None, generator: np.random.Generator) -> float:
    """p of the dip test of the rows along the way: its median over draws of as many rows of either cluster."""
    units = way.rows if groups is None else groups[way.rows]
    found = []
    for _ in range(_DRAWS):
        order = generator.permutation(len(units))
        # One row of each group on each side.
        _, first = np.unique(units[order] * 3 + way.side[order], return_index=True)
        once = order[np.sort(first)]
        by_side = [once[way.side[once] == end] for end in (0, 1, 2)]
        fewest = min(len(by_side[0]), len(by_side[1]))
        drawn = np.concatenate([by_side[0][:fewest], by_side[1][:fewest], by_side[2]])
        found.append(dip_test(way.along[drawn]).p)
    return float(np.median(found))


def hump_between(
    X: FloatArray, first: IntArray, second: IntArray, groups: IntArray | None, random_state: RandomState
) -> float:
    """p of a single hump along the way between some rows and others; 1 if there is no way."""
    generator = as_generator(random_state)
    others = np.setdiff1d(np.arange(len(X)), np.concatenate([first, second]))
    way = measure_way(X, [first, second], others, groups, generator)
    return 1.0 if way is None else single_hump(way, groups, generator)
