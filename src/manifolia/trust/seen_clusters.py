"""What is said about the clusters of a map: their sizes, their arrangement, the gaps between them, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray, IntArray
from manifolia.trust.cases import Case
from manifolia.trust.clusters import (
    Arrangement,
    Clusters,
    ClusterSize,
    find_clusters,
    judge_arrangement,
    judge_sizes,
)
from manifolia.trust.diagnosis import frame_of
from manifolia.trust.regions import Region, region_of_clusters
from manifolia.trust.valleys import N_BINS, Gap, judge_gaps, merge_islands, untold_gaps
from manifolia.trust.words import SOLID


class SeenClusters(NamedTuple):
    """Clusters, and what is said about them."""

    clusters: Clusters
    islands: Sequence[int]  # of which each was joined
    sizes: Sequence[ClusterSize]
    arrangement: Arrangement
    gaps: Sequence[Gap]


def see_clusters(part: Case, plain: FloatArray, alpha: float, seeds: Sequence[int], *, guided: bool) -> SeenClusters:
    """Judge clusters by Euclidean distance, if the map is meant to keep that."""
    Y = np.asarray(part.Y, dtype=np.float64)
    clusters, islands = part.clusters, [1] * (0 if part.clusters is None else len(part.clusters.names))
    if clusters is None:
        clusters, joined = merge_islands(Y, find_clusters(Y))
        islands = [len(own) for own in joined]
    told = ""
    if guided:
        told = "A map of forest proximities is not meant to keep the distances of the data, so they cannot judge this."
    elif part.metric != "euclidean":
        told = f"The map compares rows by {part.metric} distance, in which centres have no meaning."
    if told:
        cannot = [ClusterSize("cannot tell", np.nan, told)] * len(clusters.names)
        arranged = Arrangement("cannot tell", np.nan, np.nan, told)
        return SeenClusters(clusters, islands, cannot, arranged, untold_gaps(Y, clusters, told))
    sizes = judge_sizes(plain, Y, clusters, part.groups, seeds[0])
    arranged = judge_arrangement(plain, Y, clusters, alpha, seeds[1])
    gaps = judge_gaps(plain, Y, clusters, part.groups, alpha, seeds[2])
    return SeenClusters(clusters, islands, sizes, arranged, gaps)


def cluster_table(seen: SeenClusters, verdicts: Array, regions: Sequence[Region]) -> pd.DataFrame:
    """One line per cluster; `verdicts` are those of its rows."""
    lines, shown = [], region_of_clusters(regions, seen.clusters)
    for code, (name, size) in enumerate(zip(seen.clusters.names, seen.sizes, strict=True)):
        own = seen.clusters.codes == code
        solid = float((verdicts[own] == SOLID).mean()) if own.any() else np.nan
        about = (code, str(name), int(own.sum()), size.verdict, float(size.stretch), solid, size.reason)
        lines.append((*about, seen.islands[code], shown[code]))
    return frame_of("clusters", lines)


def gap_table(gaps: Sequence[Gap], judged: IntArray) -> pd.DataFrame:
    """One line per pair of neighbouring clusters."""
    lines = [
        (str(gap.a), str(gap.b), gap.verdict, gap.ratio, gap.p_dip, gap.reason, *(int(judged[i]) for i in gap.rows))
        for gap in gaps
    ]
    return frame_of("gaps", lines)


def densities(gaps: Sequence[Gap]) -> FloatArray:
    """Rows along the way across each gap."""
    return np.array([gap.density for gap in gaps], dtype=np.float64).reshape(len(gaps), N_BINS)
