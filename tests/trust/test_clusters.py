"""Sizes and arrangement of clusters: planted faults, true maps, and answers that must not be given."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.exceptions import ParameterError
from manifolia.trust import arrangement, cluster_sizes
from manifolia.trust.clusters import _log_ratio, find_clusters


def blobs(rng, n_clusters=8, size=80, d=6, *, spread=None):
    """Clusters far apart, with their labels; the map is the first two columns of a turned copy."""
    labels = np.repeat(np.arange(n_clusters), size)
    spread = np.ones(n_clusters) if spread is None else spread
    angle = 2.0 * np.pi * np.arange(n_clusters) / n_clusters
    centres = np.column_stack([30.0 * np.cos(angle), 20.0 * np.sin(angle), 3.0 * rng.normal(size=(n_clusters, d - 2))])
    X = centres[labels] + spread[labels, np.newaxis] * rng.normal(size=(len(labels), d))
    return X, X[:, :2].copy(), labels


@pytest.mark.parametrize(("factor", "word"), [(2.5, "stretched"), (0.4, "squeezed")])
def test_a_cluster_of_another_size_is_called(rng, factor, word):
    X, Y, labels = blobs(rng)
    centre = Y[labels == 3].mean(axis=0)
    Y[labels == 3] = centre + factor * (Y[labels == 3] - centre)
    found = cluster_sizes(X, Y, labels, random_state=0)
    assert found["3"].verdict == word
    assert found["3"].stretch == pytest.approx(factor, rel=0.3)
    assert {found[str(i)].verdict for i in range(8) if i != 3} == {"as in the data"}


def test_true_sizes_raise_no_alarm(rng):
    X, Y, labels = blobs(rng, spread=np.geomspace(0.3, 3.0, 8))
    assert {size.verdict for size in cluster_sizes(X, Y, labels, random_state=0).values()} == {"as in the data"}


def test_what_cannot_be_told_is_not(rng):
    X, Y, labels = blobs(rng, n_clusters=4)
    small = np.where(np.arange(len(labels)) < 3, 9, labels)  # a cluster of 3 rows
    found = cluster_sizes(X, Y, small, random_state=0)
    assert found["9"].verdict == "cannot tell"
    assert "3 rows" in found["9"].reason
    two = cluster_sizes(X, Y, labels % 2, random_state=0)
    assert {size.verdict for size in two.values()} == {"cannot tell"}
    Y[labels == 1] = 0.0  # all rows in one place
    assert cluster_sizes(X, Y, labels, random_state=0)["1"].verdict == "cannot tell"


def test_rows_of_groups_are_drawn_together(rng):
    """Ten copies of each row are no more than the row: the size of a small cluster stays unknown."""
    X, Y, labels = blobs(rng, n_clusters=4, size=40, d=2)
    Y = X + rng.normal(size=X.shape)
    copies = [np.repeat(values, 10, axis=0) for values in (X, Y, labels)]
    own = np.repeat(np.arange(160), 10)
    errors = []
    for groups in (None, own):
        rows = copies[2] == 0
        inside = np.arange(rows.sum()) if groups is None else np.unique(own[rows], return_inverse=True)[1]
        errors.append(_log_ratio(copies[0][rows], copies[1][rows], inside, np.random.default_rng(0))[1])
    assert errors[1] > 2.0 * errors[0]


def test_arrangement_of_a_true_map_and_of_a_random_one(rng):
    X, Y, labels = blobs(rng, n_clusters=10)
    kept = arrangement(X, Y, labels, random_state=0)
    assert (kept.verdict, kept.p) == ("yes", 0.001)
    placed = rng.normal(size=(10, 2)) * 30.0
    means = np.array([Y[labels == i].mean(axis=0) for i in range(10)])
    lost = arrangement(X, Y - means[labels] + placed[labels], labels, random_state=0)
    assert lost.verdict != "yes"


def test_random_arrangements_are_called(rng):
    found = [arrangement(rng.normal(size=(9, 4)), rng.normal(size=(9, 2)), np.arange(9), random_state=i).verdict
             for i in range(60)]  # fmt: skip
    assert found.count("no") >= 54
    assert found.count("yes") <= 3


def test_all_exchanges_of_five_clusters_are_counted():
    X = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]])
    found = arrangement(X, np.column_stack([X, 0.0 * X]), list("abcde"))
    assert found.p == pytest.approx(1 / 120)
    assert found.correlation == pytest.approx(1.0)


def test_few_clusters_cannot_be_told(rng):
    X, Y, labels = blobs(rng, n_clusters=4)
    assert arrangement(X, Y, labels).verdict == "cannot tell"
    one = arrangement(X, Y, np.zeros(len(X)))
    assert (one.verdict, one.reason) == ("cannot tell", "There is one cluster in the map.")
    six = [arrangement(rng.normal(size=(6, 3)), rng.normal(size=(6, 2)), np.arange(6)).verdict for _ in range(20)]
    assert "no" not in six


def test_clusters_that_one_sees_are_found(rng):
    _, Y, labels = blobs(rng, n_clusters=5)
    found = find_clusters(Y)
    assert len(found.names) == 5
    pairs = {(int(a), int(b)) for a, b in zip(labels, found.codes, strict=True) if b >= 0}
    assert len(pairs) == 5
    assert len(find_clusters(Y[:8]).names) == 0


def test_measurements_are_refused_as_clusters(rng):
    X, Y, _ = blobs(rng)
    with pytest.raises(ParameterError, match="clusters has 640 different labels"):
        cluster_sizes(X, Y, X[:, 0])
