"""Metrics with labels: worked examples, what a perfect, a random and a constant map score, and invariances."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples
from sklearn.neighbors import KNeighborsClassifier

from manifolia.metrics import supervised
from manifolia.metrics._statistics import correlation, mean_interval, share_interval
from manifolia.metrics.supervised import (
    centroid_triplet_accuracy,
    class_distance_correlation,
    classification_error,
    knn_accuracy,
    nmi,
    silhouette,
    torn_classes,
)

WITH_DATA = [centroid_triplet_accuracy, class_distance_correlation]
OF_MAP = [knn_accuracy, classification_error, nmi, silhouette, torn_classes]


def blobs(seed: int = 0, n: int = 120, n_classes: int = 4, spread: float = 0.3):
    """Points around the corners of a grid in the plane, some classes overlapping for a large spread."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [5.0, 4.0], [9.0, -2.0]])[:n_classes]
    return centres[y] + spread * rng.normal(size=(n, 2)), y


def rotated(Y: np.ndarray, angle: float = 0.7, scale: float = 3.0) -> np.ndarray:
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return scale * Y @ turn + [5.0, -2.0]


# Worked examples


def test_triplets_of_three_classes_on_a_line():
    # Centres 0, 1, 3 in the data and 0, 2, 3 in the map: only the middle class changes its nearer neighbour.
    X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [2.0], [3.0]])
    assert centroid_triplet_accuracy(X, Y, ["a", "b", "c"]) == pytest.approx(2 / 3)


def test_a_triplet_that_is_tied_in_the_map_counts_half_and_one_tied_in_the_data_nothing():
    # In the map the middle class is as far from both others: of its three anchors two agree, one is undecided.
    X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [2.0]])
    assert centroid_triplet_accuracy(X, Y, [0, 1, 2]) == pytest.approx(2.5 / 3)
    assert centroid_triplet_accuracy(Y, X, [0, 1, 2]) == 1.0


def test_triplets_equal_a_count_over_all_of_them():
    rng = np.random.default_rng(3)
    X, Y, y = rng.normal(size=(60, 5)), rng.normal(size=(60, 2)), np.arange(60) % 6
    high = np.array([X[y == c].mean(axis=0) for c in range(6)])
    low = np.array([Y[y == c].mean(axis=0) for c in range(6)])
    agree = []
    for i, j, k in itertools.permutations(range(6), 3):
        order = [np.linalg.norm(m[i] - m[j]) < np.linalg.norm(m[i] - m[k]) for m in (high, low)]
        agree.append(order[0] == order[1])
    assert centroid_triplet_accuracy(X, Y, y) == pytest.approx(np.mean(agree))


def test_neighbours_vote_on_a_line():
    Y = np.array([[0.0], [1.0], [3.0], [3.5], [10.0]])
    y = np.array(["a", "a", "b", "b", "a"])
    assert knn_accuracy(Y, y, 1) == pytest.approx(4 / 5)
    # With two neighbours every vote but the last is tied, and the nearer one decides.
    assert knn_accuracy(Y, y, 2) == pytest.approx(4 / 5)
    assert knn_accuracy(Y, y, 3) == 0.0
    np.testing.assert_allclose(knn_accuracy(Y, y, [1, 2, 3]), [0.8, 0.8, 0.0])
    np.testing.assert_array_equal(knn_accuracy(Y, y, 1, pointwise=True), [1, 1, 1, 1, 0])
    assert knn_accuracy(Y, y, [1, 3], pointwise=True).shape == (5, 2)


def test_neighbours_of_test_rows_come_from_the_map_alone():
    Y, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    new, truth = np.array([[0.4], [5.4], [5.5], [0.5]]), np.array([0, 1, 0, 2])
    assert knn_accuracy(Y, y, 1, test=(new, truth)) == 0.5  # the last class is unknown to the map
    np.testing.assert_array_equal(knn_accuracy(Y, y, 1, test=(new, truth), pointwise=True), [1, 1, 0, 0])
    # A test row on top of a training row uses it: nothing is left out.
    assert knn_accuracy(Y, y, 1, test=(Y, y)) == 1.0


def test_test_rows_agree_with_scikit_learn():
    Y, y = blobs(1, 200, spread=1.2)
    new, truth = blobs(2, 80, spread=1.2)
    expected = KNeighborsClassifier(1).fit(Y, y).score(new, truth)
    assert 0.5 < expected < 1.0
    assert knn_accuracy(Y, y, 1, test=(new, truth)) == expected


def test_nmi_of_a_clustering_that_splits_a_class():
    Y = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    y = [0, 0, 0, 0, 1, 1]
    shares = np.array([[3 / 6, 0.0], [1 / 6, 2 / 6]])  # clusters × classes
    of_clusters, of_classes = np.array([0.5, 0.5]), np.array([4 / 6, 2 / 6])
    terms = [
        s * math.log(s / (a * b)) for row, a in zip(shares, of_clusters, strict=True)
        for s, b in zip(row, of_classes, strict=True) if s > 0
    ]  # fmt: skip
    entropies = [-(p * np.log(p)).sum() for p in (of_clusters, of_classes)]
    assert nmi(Y, y) == pytest.approx(sum(terms) / math.sqrt(entropies[0] * entropies[1]))
    assert nmi(Y, y, average="arithmetic") == pytest.approx(sum(terms) / np.mean(entropies))
    assert nmi(Y, y, n_clusters=1) == 0.0


def test_silhouette_of_two_pairs():
    # 0: a = 1, b = 4.5; 1: a = 1, b = 3.5; the other pair mirrors them.
    Y, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    assert silhouette(Y, y) == pytest.approx((3.5 / 4.5 + 2.5 / 3.5) / 2)
    np.testing.assert_allclose(silhouette(Y, y, pointwise=True), [7 / 9, 5 / 7, 5 / 7, 7 / 9])


def test_widths_of_classes():
    # Widths 1, 2, 3 in the data and 1, 2, 4 in the map; centres in the same places.
    X = np.array([[-1.0], [1.0], [8.0], [12.0], [17.0], [23.0]])
    Y = np.array([[-1.0], [1.0], [8.0], [12.0], [16.0], [24.0]])
    y = [0, 0, 1, 1, 2, 2]
    assert class_distance_correlation(X, Y, y, kind="intra") == pytest.approx(np.corrcoef([1, 2, 3], [1, 2, 4])[0, 1])
    assert class_distance_correlation(X, Y, y) == pytest.approx(1.0)


def test_classification_error_counts_the_held_out_points():
    # Two classes on either side of 0, but 20 points of the right side carry the left label.
    Y = np.repeat([[-1.0], [1.0]], 50, axis=0)
    y = np.repeat([0, 1], 50)
    y[50:70] = 0
    error, (low, high) = classification_error(Y, y, return_ci=True)
    learn, predict = supervised._stratified_split(
        supervised.classes(y, n_rows=100, purpose=""), 0.2, np.random.default_rng(0)
    )
    assert predict.shape == (20,)
    assert (y[predict] == 1).sum() == 6  # 20 % of each class
    assert error == pytest.approx(np.mean((Y[predict, 0] > 0) != y[predict]))
    assert 0.0 <= low < error < high <= 1.0
    assert np.intersect1d(learn, predict).size == 0


def test_a_class_of_one_is_learnt_and_never_predicted():
    for seed in range(5):
        labels = supervised.classes([0] * 6 + [1] * 4 + [2], n_rows=11, purpose="")
        learn, predict = supervised._stratified_split(labels, 0.3, np.random.default_rng(seed))
        assert 10 in learn
        assert set(labels.codes[learn]) == {0, 1, 2}
        assert predict.shape[0] == 3
        learn, _ = supervised._stratified_split(labels, 0.9, np.random.default_rng(seed))
        assert set(labels.codes[learn]) == {0, 1, 2}


# Torn classes


def naive_torn(Y: np.ndarray, y: np.ndarray) -> list:
    """Torn classes in sorted order, from all pairs of rows and the definition."""
    torn = []
    D = np.sqrt(((Y[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2))
    for name in sorted(set(y.tolist())):
        rows = [i for i in range(len(y)) if y[i] == name]
        if len(rows) < 6:
            continue
        r = 3 * np.median([sorted(D[i, j] for j in rows if j != i)[4] for i in rows])
        left, pieces = set(rows), []
        while left:
            piece = [left.pop()]
            for i in piece:
                near = {j for j in left if D[i, j] <= r}
                piece += near
                left -= near
            pieces.append(piece)
        large = [piece for piece in pieces if len(piece) >= len(rows) / 10]
        others = [i for i in range(len(y)) if y[i] != name]
        for piece in large:
            # Walk over pieces, by gaps no wider than the way to another class.
            to_others = D[np.ix_(piece, others)].min()
            reached = [piece]
            for one in reached:
                reached += [to for to in large if to not in reached and D[np.ix_(one, to)].min() <= to_others]
            if len(reached) < len(large):
                torn.append(name)
                break
    return torn


def row_of(*parts: tuple[str, float, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows on a line, one apart: the class, the start and the number of rows of each part."""
    Y = np.concatenate([start + np.arange(n, dtype=float) for _, start, n in parts])
    return Y[:, None], np.concatenate([[name] * n for name, _, n in parts])


def torn_names(Y, y) -> list:
    share, names = torn_classes(Y, y, return_classes=True)
    assert isinstance(share, float)
    assert torn_classes(Y, y) == share
    assert names.dtype == np.asarray(y).dtype
    sizes = Counter(np.asarray(y).tolist())
    assert share == len(names) / sum(size >= 6 for size in sizes.values())
    assert set(names.tolist()) <= set(sizes)
    return names.tolist()


def test_a_class_in_one_piece_is_whole_and_one_with_another_between_is_torn():
    assert torn_names(*row_of(("a", 0, 20), ("b", 40, 20))) == []
    assert torn_names(*row_of(("a", 0, 20), ("b", 40, 20), ("a", 80, 20))) == ["a"]
    # The fifth neighbour is 3 away in the middle of a part, so gaps of 9 are bridged and gaps of 10 are not.
    assert torn_names(*row_of(("a", 0, 20), ("b", 22, 5), ("a", 28, 20), ("b", 60, 5))) == []
    assert torn_names(*row_of(("a", 0, 20), ("b", 22, 5), ("a", 29, 20), ("b", 60, 5))) == ["a"]


def test_pieces_with_nothing_nearer_are_not_torn():
    # 31 between the pieces of a; b is 32, then 31, then 30 beyond them.
    assert torn_names(*row_of(("a", 0, 20), ("a", 50, 20), ("b", 101, 20))) == []
    assert torn_names(*row_of(("a", 0, 20), ("a", 50, 20), ("b", 100, 20))) == []
    assert torn_names(*row_of(("a", 0, 20), ("a", 50, 20), ("b", 99, 20))) == ["a"]


def test_of_three_classes_one_is_torn():
    Y, y = row_of(("c", 0, 10), ("b", 30, 10), ("a", 60, 10), ("b", 90, 10))
    assert torn_classes(Y, y) == pytest.approx(1 / 3)
    assert torn_names(Y, y) == ["b"]
    Y, y = row_of(("b", 0, 10), ("c", 30, 10), ("a", 60, 10), ("b", 90, 10), ("a", 120, 10))
    assert torn_names(Y, y) == ["a", "b"]


def test_a_piece_below_a_tenth_of_the_class_is_ignored():
    assert torn_names(*row_of(("a", 0, 55), ("b", 100, 9), ("a", 200, 6))) == []
    assert torn_names(*row_of(("a", 0, 54), ("b", 100, 9), ("a", 200, 6))) == ["a"]


def test_the_way_from_piece_to_piece_passes_over_others():
    # Gaps of 31; b is 40 from the line: farther than each gap, nearer than the first piece is to the last.
    line, y = row_of(("a", 0, 20), ("a", 50, 20), ("a", 100, 20), ("b", 50, 20))
    Y = np.column_stack([line[:, 0], np.where(y == "b", 40.0, 0.0)])
    assert torn_names(Y, y) == []
    without = (y == "b") | (line[:, 0] < 50) | (line[:, 0] >= 100)
    assert torn_names(Y[without], y[without]) == ["a"]
    # Two pairs: each piece has a neighbour nearer than b, and b is between the pairs all the same.
    assert torn_names(*row_of(("a", 0, 20), ("a", 40, 20), ("b", 110, 20), ("a", 180, 20), ("a", 220, 20))) == ["a"]
    # The first piece has b at 25 and the second piece at 21; the third is 41 from the second.
    assert torn_names(*row_of(("b", -30, 6), ("a", 0, 20), ("a", 40, 20), ("a", 100, 20))) == ["a"]


def test_duplicates_count_as_rows():
    places, y = np.array([[0.0], [5.0], [9.0]]), np.array(["a", "b", "a"])
    # No row has a neighbour elsewhere among its five: the places are the pieces.
    assert torn_names(places.repeat(8, axis=0), y.repeat(8)) == ["a"]
    assert torn_names(places.repeat([72, 6, 8], axis=0), y.repeat([72, 6, 8])) == ["a"]
    assert torn_names(places.repeat([73, 6, 8], axis=0), y.repeat([73, 6, 8])) == []  # 8 of 81
    # With five rows at each place the fifth neighbour is at another, and 3 × 9 links both.
    assert torn_names(places.repeat([5, 6, 5], axis=0), y.repeat([5, 6, 5])) == []
    # A class on top of a piece is nearer than anything.
    on_top = np.array([[0.0], [0.0], [9.0]])
    assert torn_names(on_top.repeat(8, axis=0), y.repeat(8)) == ["a"]
    assert torn_names(np.zeros((20, 2)), np.arange(20) % 2) == []


@pytest.mark.parametrize("n_components", [1, 2, 3, 5, 9])
def test_torn_classes_are_those_of_all_pairs(n_components, rng):
    numbers = []
    for _ in range(12):
        # Classes in one to four groups of any size and width, some rows twice.
        centres = 6.0 * rng.normal(size=(12, n_components)) * n_components**-0.5
        group = rng.choice(12, p=rng.dirichlet(np.ones(12)), size=180)
        Y = centres[group] + rng.uniform(0.05, 1.0, size=12)[group, None] * rng.normal(size=(180, n_components))
        y = rng.integers(0, 5, size=12)[group]
        Y[rng.integers(0, 180, size=20)] = Y[:20]
        expected = naive_torn(Y, y)
        assert torn_names(Y, y) == expected
        numbers.append(len(expected))
    assert 0 < sum(numbers) < 60


def test_torn_classes_of_whole_numbers_are_those_of_all_pairs(rng):
    # Many rows are equal, and many distances are exactly r, or exactly those to another class.
    numbers = []
    for _ in range(20):
        group = rng.integers(0, 12, size=90)
        Y = np.stack([20 * group + rng.integers(0, 12, size=90), rng.integers(0, 2, size=90)], axis=1)
        y = rng.integers(0, 4, size=12)[group]
        expected = naive_torn(Y.astype(float), y)
        assert torn_names(Y, y) == expected
        numbers.append(len(expected))
    assert 0 < sum(numbers) < 80


def cut_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Four classes in the plane; classes 1 and 3 lie in two far pieces each, in between the others."""
    Y, y = blobs(spread=0.1, n=160)
    Y[(y == 1) & (np.arange(160) % 8 < 4)] += [0.0, 9.0]
    Y[(y == 3) & (np.arange(160) % 8 < 4)] -= [9.0, 7.0]
    return Y, y


def test_rotation_scale_order_and_names_do_not_change_which_classes_are_torn(rng):
    Y, y = cut_blobs()
    assert torn_names(Y, y) == [1, 3]
    order = rng.permutation(160)
    assert torn_names(rotated(Y), y) == [1, 3]
    assert torn_names(Y[order], y[order]) == [1, 3]
    assert torn_names(Y * 1e-200, y) == [1, 3]
    assert torn_names(Y * 1e200, y) == [1, 3]
    assert torn_names(Y.astype(np.float32), y) == [1, 3]
    assert torn_names(Y, np.array(["d", "z", "c", "b"])[y]) == ["b", "z"]
    assert torn_names(Y, np.array([2.5, 30.0, 1.0, 4.0])[y]) == [4.0, 30.0]
    # Labels of kinds that have no order are sorted by their texts.
    assert torn_names(Y, np.array([7.5, "b", 2, 10], dtype=object)[y]) == [10, "b"]
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(torn_classes(Y, y, return_classes=True, n_jobs=n_jobs)[1], [1, 3])


def test_perfect_random_and_constant_maps_tear_nothing():
    rng = np.random.default_rng(5)
    assert torn_classes(*blobs(spread=0.01)) == 0.0
    assert torn_classes(rng.normal(size=(600, 2)), rng.integers(0, 3, 600)) == 0.0
    assert torn_classes(np.ones((60, 2)), np.arange(60) % 3) == 0.0


def test_many_rows_within_reach_of_each_other_take_no_memory_of_pairs(rng):
    Y, y = rng.normal(size=(20_000, 2)), np.arange(20_000) % 2
    Y[:9_000] *= 1e-5  # 4,500 rows of each class are nearer to each other than r: 10 million pairs
    tracemalloc.start()
    try:
        assert torn_classes(Y, y) == 0.0
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


def test_classes_of_fewer_than_six_rows_are_not_judged_but_are_in_the_way():
    Y, y = row_of(("a", 0, 20), ("one", 40, 1), ("a", 60, 20))
    assert torn_classes(Y, y) == 1.0
    Y, y = row_of(("five", 0, 3), ("a", 20, 20), ("five", 60, 2))
    assert torn_classes(Y, y) == 0.0
    with pytest.raises(
        ValueError, match=r"needs a class of at least 6 rows and the largest has 5\. Pass more rows, or"
    ):
        torn_classes(np.arange(10.0)[:, None], np.arange(10) % 2)
    with pytest.raises(ValueError, match="needs a class of at least 6 rows and the largest has 1"):
        torn_classes(np.arange(10.0)[:, None], np.arange(10))
    with pytest.raises(TypeError, match="return_classes must be True or False, got 'yes'"):
        torn_classes(Y, y, return_classes="yes")


# Best, random and constant maps


def test_separated_classes_score_the_optimum():
    Y, y = blobs(spread=0.01)
    assert knn_accuracy(Y, y) == 1.0
    assert classification_error(Y, y) == 0.0
    assert nmi(Y, y) == 1.0
    assert silhouette(Y, y) > 0.97
    for metric in WITH_DATA:
        assert metric(Y, Y, y) == pytest.approx(1.0)
    assert class_distance_correlation(Y, Y, y, kind="intra") == pytest.approx(1.0)


def test_random_maps_score_near_chance():
    rng = np.random.default_rng(5)
    Y, y = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
    assert abs(knn_accuracy(Y, y) - 1 / 3) < 0.07
    assert abs(classification_error(Y, y) - 2 / 3) < 0.15
    assert nmi(Y, y) < 0.02
    assert abs(silhouette(Y, y)) < 0.05
    scores = []
    for seed in range(40):
        X, classes = blobs(seed, 30, n_classes=5)
        scores.append(centroid_triplet_accuracy(X, np.random.default_rng(100 + seed).normal(size=(30, 2)), classes))
    assert abs(np.mean(scores) - 0.5) < 0.08


def test_constant_maps_score_chance_without_a_warning():
    X, y = blobs()
    Y = np.ones((120, 2))
    assert centroid_triplet_accuracy(X, Y, y) == 0.5
    assert class_distance_correlation(X, Y, y) == 0.0
    assert class_distance_correlation(X, Y, y, kind="intra") == 0.0
    assert nmi(Y, y) == 0.0
    assert silhouette(Y, y) == 0.0
    assert classification_error(Y, y) == 0.75
    assert 0.0 <= knn_accuracy(Y, y) <= 1.0


# Invariances


@pytest.mark.parametrize("metric", WITH_DATA)
def test_rotation_scale_order_and_names_do_not_matter_with_data(metric):
    X, y = blobs(spread=1.0)
    Y = X * [0.2, 1.0]
    order = np.random.default_rng(0).permutation(120)
    value = metric(X, Y, y)
    assert 0.3 < value < 1.0
    assert metric(X, rotated(Y), y) == pytest.approx(value)
    assert metric(X[order], Y[order], y[order]) == pytest.approx(value)
    assert metric(X, Y, np.array(["d", "a", "c", "b"])[y]) == pytest.approx(value)


@pytest.mark.parametrize("metric", [knn_accuracy, nmi, silhouette])
def test_rotation_scale_order_and_names_do_not_matter(metric):
    Y, y = blobs(spread=1.0)
    order = np.random.default_rng(0).permutation(120)
    value = metric(Y, y)
    assert metric(rotated(Y), y) == pytest.approx(value, abs=1e-9)
    assert metric(Y[order], y[order]) == pytest.approx(value, abs=1e-9)
    assert metric(Y, np.array(["d", "a", "c", "b"])[y]) == pytest.approx(value, abs=1e-9)


def test_names_and_scale_do_not_matter_for_the_classifier():
    Y, y = blobs(spread=1.0)
    value = classification_error(Y, y)
    assert 0.05 < value < 0.5
    assert classification_error(Y * 1e6, y) == value
    assert classification_error(Y, np.array(["d", "a", "c", "b"])[y]) == value


def test_the_split_follows_random_state():
    Y, y = blobs(spread=1.5)
    assert classification_error(Y, y) == classification_error(Y, y, random_state=0)
    assert len({classification_error(Y, y, random_state=seed) for seed in range(8)}) > 1


def test_any_number_of_threads_gives_the_same_bits():
    Y, y = blobs(n=500, spread=1.0)
    assert np.array_equal(
        knn_accuracy(Y, y, 7, pointwise=True, n_jobs=1), knn_accuracy(Y, y, 7, pointwise=True, n_jobs=2)
    )
    one, two = (silhouette(Y, y, sample=300, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one == two


def test_labels_of_any_kind_are_accepted():
    Y, y = blobs()
    for labels in (
        y.astype(str),
        y.astype(float),
        y == 1,
        np.array([None if c < 0 else f"k{c}" for c in y], dtype=object),
    ):
        assert 0.9 < knn_accuracy(Y, labels, 3) <= 1.0


def test_a_tie_between_classes_does_not_follow_their_names():
    # Two neighbours each: the nearer pair member decides whatever the names are.
    Y, y = np.array([[0.0], [1.0], [-2.0]]), np.array([0, 0, 1])
    assert knn_accuracy(Y, y, 2, pointwise=True)[0] == 1.0
    assert knn_accuracy(Y, 1 - y, 2, pointwise=True)[0] == 1.0


# Sampled silhouettes


def test_silhouettes_of_some_rows_are_those_of_scikit_learn():
    Y, y = blobs(n=201, spread=1.0)
    y[0] = 77  # a class of one
    labels = supervised.classes(y, n_rows=201, purpose="")
    rows = np.array([0, 3, 50, 200])
    np.testing.assert_allclose(
        supervised._silhouettes_of_rows(Y, labels, rows, 1), silhouette_samples(Y, y)[rows], atol=1e-12
    )


def test_the_interval_holds_the_exact_silhouette():
    Y, y = blobs(n=1500, spread=1.0)
    exact, interval = silhouette(Y, y, return_ci=True)
    assert interval == (exact, exact)
    hits = 0
    for seed in range(100):
        value, (low, high) = silhouette(Y, y, sample=150, random_state=seed, return_ci=True)
        hits += low <= exact <= high
        assert low < value < high
    assert 88 <= hits < 100


# Errors


@pytest.mark.parametrize("metric", OF_MAP)
def test_one_class_is_refused(metric):
    with pytest.raises(ValueError, match="needs at least 2 classes and y has 1"):
        metric(np.zeros((5, 2)), [1] * 5)


@pytest.mark.parametrize("metric", WITH_DATA)
def test_two_classes_have_no_triplets(metric):
    with pytest.raises(ValueError, match="needs at least 3 classes and y has 2"):
        metric(np.zeros((4, 2)), np.zeros((4, 2)), [0, 0, 1, 1])


@pytest.mark.parametrize("metric", OF_MAP)
def test_missing_values_and_lengths_are_refused(metric):
    Y, y = blobs()
    broken = Y.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        metric(broken, y)
    with pytest.raises(ValueError, match="y has 1 missing labels"):
        metric(Y, np.where(np.arange(120) == 4, np.nan, y))
    with pytest.raises(ValueError, match="y has 119 labels and the data has 120 rows"):
        metric(Y, y[1:])


@pytest.mark.parametrize("metric", WITH_DATA)
def test_nan_in_the_data_is_refused(metric):
    X, y = blobs()
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        metric(broken, X, y)
    with pytest.raises(ValueError, match="NaN"):
        metric(X, broken, y)
    with pytest.raises(ValueError, match="Y has 119 rows and the data has 120"):
        metric(X, X[1:], y)


def test_equidistant_classes_have_no_order():
    with pytest.raises(ValueError, match="equally far apart"):
        centroid_triplet_accuracy(np.eye(3), np.eye(3)[:, :2], [0, 1, 2])


def test_wrong_parameters_are_refused():
    Y, y = blobs(n=8, n_classes=2)
    with pytest.raises(ValueError, match=r"k must be at least 1 and at most 7, got 8\. The map has 8 points"):
        knn_accuracy(Y, y, 8)
    with pytest.raises(TypeError, match="k must be an int"):
        knn_accuracy(Y, y, 2.5)
    with pytest.raises(TypeError, match=r"test must be a tuple \(Y_test, y_test\)"):
        knn_accuracy(Y, y, 1, test=Y)
    with pytest.raises(ValueError, match="Y_test has 3 components and Y has 2"):
        knn_accuracy(Y, y, 1, test=(np.zeros((2, 3)), [0, 1]))
    with pytest.raises(ValueError, match="test_size must be above 0"):
        classification_error(Y, y, test_size=0.0)
    with pytest.raises(ValueError, match="leaves none to predict"):
        classification_error(Y, y, test_size=0.01)
    with pytest.raises(ValueError, match="average must be one of"):
        nmi(Y, y, average="median")
    with pytest.raises(ValueError, match="n_clusters must be at least 1"):
        nmi(Y, y, n_clusters=0)
    with pytest.raises(ValueError, match=r"kind must be one of 'inter', 'intra', got 'inner'\. Did you mean 'inter'"):
        class_distance_correlation(Y, Y, y, kind="inner")
    with pytest.raises(ValueError, match="all 8 labels differ"):
        silhouette(Y, np.arange(8))
    for options in ({"sample": 4}, {"return_ci": True}):
        with pytest.raises(ValueError, match=r"nothing to estimate\. Leave sample= and return_ci= out"):
            silhouette(Y, y, pointwise=True, **options)
    with pytest.raises(TypeError, match="pointwise must be True or False, got 1"):
        knn_accuracy(Y, y, 2, pointwise=1)
    with pytest.raises(TypeError, match="return_ci must be True or False"):
        classification_error(Y, y, return_ci="yes")
    with pytest.raises(ValueError, match=r"sample must be at least 2 and at most 8, got 9\. It is a number of points"):
        silhouette(Y, y, sample=9)


# Shared statistics


def test_correlation_is_pearsons_and_0_without_variation():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=50), rng.normal(size=50)
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert correlation(a * 1e-200, b * 1e200) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert correlation(a, np.full(50, 0.1)) == 0.0
    assert correlation(np.full(50, 0.1) * 3, b) == 0.0
    assert correlation(a, 1 - 2 * a) == pytest.approx(-1.0)


def test_intervals_in_closed_form():
    low, high = share_interval(0.0, 10)
    assert low == 0.0
    assert high == pytest.approx(1.959964**2 / (10 + 1.959964**2), rel=1e-6)  # Wilson's bound for no success
    low, high = mean_interval(np.array([1.0, 3.0]))
    assert high - 2.0 == pytest.approx(12.7062047, rel=1e-6)  # t of 1 degree of freedom, standard error 1
    assert mean_interval(np.array([1.0, 3.0]), population=2) == (2.0, 2.0)
    assert mean_interval(np.array([1.0])) == (-math.inf, math.inf)
