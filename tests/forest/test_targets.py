"""What a target asks for, and what is no target."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.exceptions import ManifoliaWarning
from manifolia.forest.targets import read_target

N = 30


@pytest.mark.parametrize(
    ("y", "kind", "said"),
    [
        (np.full(N, 1j), TypeError, "y holds complex numbers, which are no labels. Pass numbers, or names of classes."),
        (np.zeros(N, dtype=[("a", "f8")]), TypeError, "y holds records with named fields"),
        (sp.csr_array(np.eye(N)), TypeError, r"y is a sparse matrix of shape \(30, 30\)\. Pass y\.toarray\(\)"),
        ([[1], [1, 2]], ValueError, "y has rows of 1 and of 2 values"),
        (np.zeros((N, 0)), ValueError, "y must have a label, or a row of labels, for each of the 30 rows"),
        (np.r_[np.inf, np.arange(N - 1)], ValueError, "y holds infinite values"),
        (np.linspace(0, 1e300, N), ValueError, r"standard deviation from 1e-70 to 1e\+70 to be regressed on"),
    ],
)
def test_what_is_no_target_is_said(y, kind, said):
    with pytest.raises(kind, match=said):
        read_target(y, N)


def test_masked_labels_are_missing_and_large_whole_numbers_are_classes():
    masked = np.ma.masked_array(np.arange(N) % 3, np.arange(N) < 5)
    assert read_target(masked, N).labelled.tolist() == [False] * 5 + [True] * (N - 5)
    large = [10**30 + (i % 2) * 10**29 for i in range(N)]
    assert len(np.unique(read_target(large, N, "classification").y)) == 2


def test_as_many_classes_as_rows_are_warned_about():
    with pytest.warns(ManifoliaWarning, match="y has 30 classes in 30 rows, so that most have one row"):
        read_target([f"row {i}" for i in range(N)], N)
