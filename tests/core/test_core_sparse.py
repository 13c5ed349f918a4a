"""The largest entries of sparse rows against a sort of each."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manifolia._core.sparse import largest_entries, places_in_rows


def test_each_row_is_sorted_by_value_then_by_column(rng):
    dense = np.round(rng.random((40, 30)), 1) * (rng.random((40, 30)) < 0.3)
    dense[7] = 0.0
    K = sp.csr_array(dense)
    columns, values = largest_entries(K, 6)
    for row in range(40):
        stored = np.flatnonzero(dense[row])
        expected = stored[np.argsort(-dense[row, stored], kind="stable")][:6]
        assert columns[row, : len(expected)].tolist() == expected.tolist()
        np.testing.assert_array_equal(values[row, : len(expected)], dense[row, expected])
        assert (columns[row, len(expected) :] == -1).all()
        assert (values[row, len(expected) :] == 0).all()
    assert (
        places_in_rows(K)[: K.indptr[1]].tolist()
        == np.argsort(np.argsort(-K.data[: K.indptr[1]], kind="stable")).tolist()
    )


def test_nothing_stored():
    columns, values = largest_entries(sp.csr_array((3, 5)), 2)
    assert (columns == -1).all()
    assert (values == 0).all()
