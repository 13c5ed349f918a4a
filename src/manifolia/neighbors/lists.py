"""Approximate neighbours through inverted lists on leading principal components.

Rows are projected on at most 64 directions of largest variance, cut into 2 √n lists by k-means, and a row is compared
with the members of the lists whose centres are nearest to it. The best candidates are measured in the full space. How
many lists are probed and how many candidates are measured is not guessed: the exact neighbours of some of the rows are
found, and the least effort that would have found 98.7 % of them is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import fixed_gemm, row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import FloatArray, IntArray
from manifolia.neighbors.exact import exact_neighbors
from manifolia.neighbors.rows import largest_value, measured, take, unit_scale

_MOST_DIRECTIONS = 64
_DIRECT_FEATURES = 96  # up to here projecting saves less than it loses
_SAMPLE = 4096  # rows from which the directions are found
_OVERSAMPLE, _POWER_STEPS = 8, 3  # of the randomised subspace iteration
_TRAIN_PER_LIST, _TRAIN_STEPS = 32, 5  # k-means: rows per list, and steps; more of either hardly improves the lists
_BLOCK = 1024
#: Shares of the true neighbours that must lie in the probed lists, and then among the candidates: together 0.987.
#: Candidates are the cheaper of the two: on MNIST, 0.99 takes 15 lists and 0.994 takes 22.
_IN_LISTS, _IN_CANDIDATES = 0.99, 0.997


class InvertedLists(NamedTuple):
    """Projected rows, cut into lists."""

    directions: FloatArray | None  # (d, m): orthonormal columns; None if the features themselves are the coordinates
    shift: FloatArray  # (m,): centre of the projected rows
    scale: float  # Power of two that brings them near 1
    labels: IntArray  # (n,): list of each row
    centres: tuple[Any, ...]  # The centres, as one list around the origin
    members: tuple[Any, ...]  # The rows, in their lists. Both are the fields of ``manifolia.kernels.ivf.Panels``

    @property
    def n_lists(self) -> int:
        """How many lists there are."""
        return int(self.members[0].shape[0])


class Effort(NamedTuple):
    """How hard to search, and what it finds."""

    n_probes: int  # Lists to probe
    n_candidates: int  # Members to measure
    recall: float  # Share of the true neighbours found for the rows on which the effort was chosen


def build_lists(X: Any, rng: np.random.Generator) -> tuple[InvertedLists, FloatArray]:
    """Project all rows and cut them into lists."""
    n = X.shape[0]
    directions, shift = _directions(X, rng)
    scale = unit_scale(largest_value(X))
    Z = _project(X, directions, shift, scale)
    n_lists = min(n, max(1, round(2.0 * np.sqrt(n))))
    train = Z[np.sort(rng.choice(n, min(n, _TRAIN_PER_LIST * n_lists), replace=False))]
    centres = train[np.sort(rng.choice(train.shape[0], n_lists, replace=False))]
    for _ in range(_TRAIN_STEPS):
        labels = _nearest_centres(train, _as_one_list(centres), 1)[:, 0]
        member = sp.csr_array((np.ones(labels.size), (labels, np.arange(labels.size))), shape=(n_lists, labels.size))
        sizes = np.bincount(labels, minlength=n_lists)[:, None]
        means = (member @ train.astype(np.float64)) / np.maximum(sizes, 1)
        centres = np.where(sizes > 0, means, centres).astype(np.float32)
    packed = _as_one_list(centres)
    labels = _nearest_centres(Z, packed, 1)[:, 0]
    return InvertedLists(directions, shift, scale, labels, packed, _pack(Z, labels, centres)), Z


def _directions(X: Any, rng: np.random.Generator) -> tuple[FloatArray | None, FloatArray]:
    """Return the leading principal directions of a sample, and the projected centre."""
    n, d = X.shape
    sample = take(X, np.sort(rng.choice(n, min(n, _SAMPLE), replace=False)))
    mean = np.asarray(sample.mean(axis=0, dtype=np.float64)).ravel()
    if d <= _DIRECT_FEATURES and not sp.issparse(X):
        return None, mean
    width = min(d, _MOST_DIRECTIONS + _OVERSAMPLE)
    if not sp.issparse(X):
        sample = sample - mean
        peak = np.abs(sample).max(initial=0.0)
        sample = (sample / (peak if peak > 0.0 else 1.0)).astype(np.float32)
    basis = rng.standard_normal((d, width))
    with threads(1):
        for _ in range(_POWER_STEPS):
            basis = np.linalg.qr(_gram_times(sample, mean, basis))[0]
        # Rayleigh and Ritz: within the subspace found, the directions in order of their variance.
        small = basis.T @ _gram_times(sample, mean, basis)
        vectors = np.linalg.eigh(0.5 * (small + small.T))[1]
        directions = np.ascontiguousarray(basis @ vectors[:, ::-1][:, :_MOST_DIRECTIONS])
        return directions, mean @ directions


def _gram_times(sample: Any, mean: FloatArray, basis: FloatArray) -> FloatArray:
    """Multiply the covariance of the sample with a few vectors, up to a factor; a sparse sample is centred here."""
    if sp.issparse(sample):
        image = sample @ basis - mean @ basis
        return sample.T @ image - np.outer(mean, image.sum(axis=0))
    return (sample.T @ (sample @ basis.astype(np.float32))).astype(np.float64)


def project(X: Any, lists: InvertedLists) -> FloatArray:
    """Convert rows to the lists' coordinates, each row on its own."""
    return _project(X, lists.directions, lists.shift, lists.scale)


def _project(X: Any, directions: FloatArray | None, shift: FloatArray, scale: float) -> FloatArray:
    from manifolia.kernels.ivf import STEP

    out = np.zeros((X.shape[0], -(-shift.size // STEP) * STEP), dtype=np.float32)
    if directions is None:
        for part in row_blocks(X.shape[0], 4096):
            out[part, : shift.size] = (X[part] - shift) * scale
        return out
    # SciPy adds up a row's products in the order of its features; dense rows go through blocks of one height.
    image = X @ directions if sp.issparse(X) else fixed_gemm(X, directions)
    out[:, : shift.size] = (image - shift) * scale
    return out


def _as_one_list(rows: FloatArray) -> tuple[Any, ...]:
    return _pack(rows, np.zeros(rows.shape[0], dtype=np.int32), np.zeros((1, rows.shape[1]), dtype=np.float32))


def _pack(Z: FloatArray, labels: IntArray, centres: FloatArray) -> tuple[Any, ...]:
    """Put the members of every list into separate panels, as differences from its centre."""
    from manifolia.kernels.ivf import WIDTH

    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=centres.shape[0])
    starts = np.concatenate([[0], np.cumsum(-(-sizes // WIDTH))]).astype(np.int64)
    within = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.repeat(starts[:-1] * WIDTH, sizes) + within
    n_panels, m = int(starts[-1]), Z.shape[1]
    wide = np.zeros((n_panels * WIDTH, m), dtype=np.float32)
    wide[places] = Z[order] - centres[labels[order]]
    squares = np.full(n_panels * WIDTH, np.inf, dtype=np.float32)
    squares[places] = np.einsum("ij,ij->i", wide, wide)[places]
    members = np.full(n_panels * WIDTH, -1, dtype=np.int32)
    members[places] = order
    panels = np.ascontiguousarray(wide.reshape(n_panels, WIDTH, m).transpose(0, 2, 1))
    return centres, starts, panels, squares.reshape(n_panels, WIDTH), members


def _scan(
    Z: FloatArray, visits: IntArray, lists: tuple[Any, ...], own: IntArray, n_candidates: int
) -> tuple[IntArray, IntArray]:
    from manifolia.kernels import ivf

    keys = np.zeros((Z.shape[0], n_candidates), dtype=np.int64)
    counts = np.empty(Z.shape[0], dtype=np.int64)
    ivf.scan_lists(Z, visits, ivf.Panels(*lists), own, keys, counts)
    return keys.astype(np.int32), counts  # the lower half of a key is the member


def _probes(Z: FloatArray, centres: tuple[Any, ...], n_probes: int) -> IntArray:
    """Return the nearest lists of each row, nearest first."""
    rows = np.arange(Z.shape[0], dtype=np.int64)
    nobody = np.full(Z.shape[0], -1, dtype=np.int64)
    return _scan(Z, np.stack([np.zeros_like(rows), rows], axis=1), centres, nobody, n_probes)[0]


def _nearest_centres(Z: FloatArray, centres: tuple[Any, ...], n_probes: int) -> IntArray:
    parts = map_blocks(lambda part: _probes(Z[part], centres, n_probes), row_blocks(Z.shape[0], _BLOCK))
    return np.concatenate(parts) if parts else np.empty((0, n_probes), dtype=np.int32)


def _visits(probes: IntArray) -> IntArray:
    """Return list and row of each visit, in the order of the lists, but with every row's nearest list first.

    The nearest list has most of a row's neighbours: once those are known, few members of other lists are candidates.
    """
    parts = []
    for chosen in (probes[:, :1], probes[:, 1:]):
        by_list = np.argsort(chosen.ravel(), kind="stable")
        parts.append(np.stack([chosen.ravel()[by_list].astype(np.int64), by_list // max(chosen.shape[1], 1)], axis=1))
    return np.concatenate(parts)


def _candidates(
    Z: FloatArray, lists: InvertedLists, own: IntArray, probes: IntArray, n_candidates: int, k: int
) -> tuple[IntArray, IntArray]:
    """Return the best members of some lists; if there are fewer than k, all rows are candidates."""
    candidates, counts = _scan(Z, _visits(probes), lists.members, own, n_candidates)
    counts[counts < k] = -1
    return candidates, counts


def search_lists(
    Q: Any, Z: FloatArray, X: Any, lists: InvertedLists, k: int, effort: Effort, *, metric: str, own: IntArray
) -> tuple[IntArray, FloatArray]:
    """Find about the k nearest rows of `X`; distances are exact."""
    probes = _nearest_centres(Z, lists.centres, effort.n_probes)
    # Rows of one list probe the same lists and measure the same rows: processed in sequence, they find them in cache.
    order = np.argsort(probes[:, 0], kind="stable")

    def run(part: slice) -> tuple[IntArray, FloatArray]:
        rows = order[part]
        candidates, counts = _candidates(Z[rows], lists, own[rows], probes[rows], effort.n_candidates, k)
        return measured(take(Q, rows), X, k, metric=metric, own=own[rows], candidates=candidates, counts=counts)

    blocks = row_blocks(order.size, _BLOCK)
    indices, distances = np.empty((order.size, k), dtype=np.intp), np.empty((order.size, k))
    for part, found in zip(blocks, map_blocks(run, blocks), strict=True):
        indices[order[part]], distances[order[part]] = found
    return indices, distances


def choose_effort(X: Any, Z: FloatArray, lists: InvertedLists, judges: IntArray, k: int, *, metric: str) -> Effort:
    """Choose the least effort that finds 98.7 % of the true neighbours of some rows."""
    n, n_lists = X.shape[0], lists.n_lists
    truth = exact_neighbors(take(X, judges), X, k, metric=metric, own=judges)[0]
    ranking = _nearest_centres(Z, lists.centres, n_lists)
    position = np.empty_like(ranking)
    np.put_along_axis(position, ranking, np.arange(n_lists, dtype=np.int32)[None, :], axis=1)
    ranks = np.take_along_axis(position, lists.labels[truth], axis=1)
    n_probes = _least(ranks.ravel(), _IN_LISTS) + 1
    probed = ranks < n_probes
    room = min(n, 4 * k + 64)
    while True:
        candidates, counts = _candidates(Z, lists, judges, ranking[:, :n_probes], room, k)
        places = _places(truth, candidates, counts)
        n_candidates = max(_least(places[probed], _IN_CANDIDATES) + 1, k)
        if n_candidates <= room or 4 * room > n:
            break
        room *= 2
    n_candidates = min(n_candidates, room)
    return Effort(n_probes, n_candidates, float(np.mean(probed & (places < n_candidates))))


def _least(values: IntArray, share: float) -> int:
    """Return the smallest value that this share of all values does not exceed."""
    return int(np.sort(values)[int(np.ceil(share * values.size)) - 1])


def _places(truth: IntArray, candidates: IntArray, counts: IntArray) -> IntArray:
    """Return the rank of each true neighbour among the candidates, or how many there may be if it is not among them."""
    places = np.zeros_like(truth)  # if all rows are candidates, all are found
    for row in np.flatnonzero(counts >= 0):
        listed = candidates[row, : counts[row]]
        by_number = np.argsort(listed)
        near = np.minimum(np.searchsorted(listed, truth[row], sorter=by_number), listed.size - 1)
        is_listed = listed[by_number[near]] == truth[row]
        places[row] = np.where(is_listed, by_number[near], candidates.shape[1])
    return places
