"""Nearest neighbours: exact where that is quick, through inverted lists above, the same bits for any `n_jobs`."""

from manifolia.neighbors.index import NeighborIndex, Neighbors, kneighbors

__all__ = ["NeighborIndex", "Neighbors", "kneighbors"]
