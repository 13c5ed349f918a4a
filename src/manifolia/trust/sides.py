"""What a map is compared with: distances of rows, or how alike a forest finds them.

A map by distances is to keep the neighbours of the data. A map that a forest guides is not: it keeps rows together that
the forest takes for the same. There the data side of a row is its profile, the row of RF-GAP proximities from the trees
that left it out of their bag, and two rows are as far apart as the angle between their profiles says: 1 − cos.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from manifolia._core.types import FloatArray, IntArray, Sparse

#: Proximities of a row that make up its profile; smaller ones are many and change the angle little.
MOST_PROXIMITIES = 300


class Side(Protocol):
    """Rows of which one can ask how far some of them are from all."""

    @property
    def n(self) -> int:
        """Number of rows."""

    def keys(self, rows: IntArray) -> FloatArray:
        """Return numbers that order the distances of some rows to all."""


class Profiles(NamedTuple):
    """Rows as a forest sees them."""

    unit: Sparse  # (n, m): proximities, each row of length 1; a row that no tree left out is empty
    transposed: Sparse  # (m, n)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.unit.shape[0])

    @property
    def empty(self) -> IntArray:
        """Rows without a profile."""
        return np.flatnonzero(np.diff(self.unit.indptr) == 0)

    def keys(self, rows: IntArray) -> FloatArray:
        """Return 1 − cos of the profiles of some rows and of all."""
        alike = (self.unit[rows] @ self.transposed).toarray()
        # Equal profiles differ by rounding; twelve digits tell all others apart.
        return np.asarray(np.round(1.0 - alike, 12))


def profiles_of(proximities: Sparse) -> Profiles:
    """Make profiles of a matrix of proximities, whose row i is the profile of row i."""
    from scipy.sparse import csr_array

    P = csr_array(proximities, dtype=np.float64, copy=True)
    P.eliminate_zeros()
    lengths = np.sqrt(np.asarray(P.multiply(P).sum(axis=1)).ravel())
    P.data /= np.repeat(lengths, np.diff(P.indptr))
    return Profiles(P, P.T.tocsr())
