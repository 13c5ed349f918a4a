"""`manifolia.compare`: planted changes are said, and nothing is said of two equal maps."""

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from manifolia.trust.changes import LIMITS, Sides, find_changes
from manifolia.trust.comparison import _common

WORDS = ("moved", "split", "merged", "appeared", "vanished")


def _islands(rng, k=6, n=80):
    """Clusters on a ring, which no motion maps onto itself."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, k)) if k > 6 else np.array([0.0, 0.9, 2.1, 3.0, 4.2, 5.3])[:k]
    centres = 40.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + 6.0 * np.arange(k)[:, None] * [0.3, 0.1]
    labels = np.repeat(np.arange(k), n)
    return centres[labels] + rng.normal(size=(k * n, 2)) * 2.0, labels


def _words(found):
    return sorted(set(found.clusters["change"]) - {"stayed"})


def _again(rng, a, size=1.7):
    """The same map held another way, with a little noise: as another program may draw it."""
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    return size * (a + 0.2 * rng.normal(size=a.shape)) @ turn + [100.0, 3.0]


def test_a_map_that_is_held_another_way_is_the_same(rng):
    a, _ = _islands(rng)
    found = mf.compare(a, _again(rng, a) * [1.0, -1.0])
    assert _words(found) == []
    assert found.map["kept"] > 0.7
    assert found.map["size"] == pytest.approx(1 / 1.7, rel=0.05)
    assert len(found.findings) == 1
    mirrored = [mf.compare(a, a * sign).map["mirrored"] for sign in ([1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0])]
    assert mirrored == [False, True, False]
    assert "0.00 local radii" in mf.compare(a, a).findings[0].text


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("word", WORDS)
def test_a_planted_change_is_said_and_nothing_else(word, seed):
    rng = np.random.default_rng(seed)
    a, labels = _islands(rng)
    b = a.copy()
    one = labels == 2
    key = [np.arange(len(a)), np.arange(len(a))]
    if word == "moved":
        b[one] += [3.0, 75.0]
    elif word == "split":
        b[one] += np.where(a[one, :1] > np.median(a[one, 0]), 12.0, -12.0) * [1.0, 0.0]
    elif word == "merged":
        b[one] += np.median(a[labels == 3], axis=0) - np.median(a[one], axis=0) + [3.0, 0.0]
    elif word == "vanished":
        b, key[1] = b[~one], key[1][~one]
    else:
        a, key[0] = a[~one], key[0][~one]
    found = mf.compare(a, _again(rng, b), key=key)
    assert _words(found) == [word]
    assert len(found.clusters) == {"merged": 5}.get(word, 6)
    about = found.clusters[found.clusters["change"] == word]
    assert len(about) == 1
    assert about["n_rows"].item() in (range(120, 161) if word == "merged" else range(60, 81))
    assert len(found.findings) == 2
    said = {"moved": "elsewhere", "split": "lies in 2 parts", "merged": "together", "vanished": "not in the second",
            "appeared": "is new"}[word]  # fmt: skip
    assert said in found.findings[1].text
    inside = found.findings[1].rows
    if word in ("moved", "split"):
        assert set(labels[list(inside)]) == {2}


def test_rows_scattered_over_the_map_are_a_cluster_that_vanished(rng):
    a, labels = _islands(rng)
    b = a.copy()
    b[labels == 2] = rng.uniform(-40, 40, size=(80, 2))
    found = mf.compare(a, b)
    assert _words(found) == ["vanished"]
    assert "times as far from one another in the second map as in the first" in found.clusters["reason"][0]
    back = mf.compare(b, a)
    assert _words(back) == ["appeared"]
    assert "times as far from one another in the first map as in the second" in back.clusters["reason"][0]


def test_rows_are_compared_with_their_neighbours(rng):
    a, labels = _islands(rng)
    b = a.copy()
    b[[0, 100]] = a[[100, 0]]  # two rows change places
    found = mf.compare(a, b)
    rows = found.rows
    assert set(rows["moved"].nlargest(2).index) == {0, 100}
    assert rows["moved"].drop([0, 100]).max() < 1e-6
    assert rows.loc[[0, 100], "kept"].max() == 0.0
    assert found.findings[0].rows[:2] in ((0, 100), (100, 0))
    data = rng.normal(size=(6, 12))[labels] * 4.0 + rng.normal(size=(480, 12))
    more = mf.compare(a, b, data, labels)
    assert {"kept_of_data_a", "kept_of_data_b"} <= set(more.rows.columns)
    assert [line["score"] for line in more.map["scores"]] == ["auc_r_nx", "knn_accuracy"]
    assert all(line["better"] is None for line in more.map["scores"])
    assert "cluster of 0" in " ".join(more.clusters["clusters_a"])


def test_common_counts_by_hand():
    some, others = np.array([[0, 1, 2], [3, 4, 5]]), np.array([[2, 9, 0], [0, 1, 2]])
    np.testing.assert_allclose(_common(some, others), [2 / 3, 0.0])


def test_a_worse_map_is_named_and_an_equal_one_is_not(rng):
    X = rng.normal(size=(6, 10))[np.repeat(np.arange(6), 60)] * 5.0 + rng.normal(size=(360, 10))
    y = np.repeat(list("abcdef"), 60)
    good, noise = X @ np.linalg.svd(X - X.mean(axis=0))[2][:2].T, rng.normal(size=(360, 2))
    found = mf.compare(good, noise, X, y)
    assert [line["better"] for line in found.map["scores"]] == ["a", "a"]
    assert found.map["auc_r_nx"] < 0.1
    assert "little of their structure" in found.findings[0].text
    assert len(found.findings) <= 6
    assert all(line["better"] is None for line in mf.compare(good, good, X, y).map["scores"])


def test_what_seeds_show_too_is_not_said(rng):
    a, labels = _islands(rng)
    b, other = a.copy(), a.copy()
    b[labels == 2] += [3.0, 75.0]
    other[labels == 4] += [5.0, -85.0]
    assert _words(mf.compare(a, b)) == ["moved"]
    assert _words(mf.compare(a, b, seeds=[other])) == []
    assert _words(mf.compare(a, b, seeds=[_again(rng, a)])) == ["moved"]
    said = mf.compare(a, b, seeds=[_again(rng, a)]).findings[0].text
    assert "than between seeds of one method" in said or "between seeds of one method" in said
    assert LIMITS["moved"] == 1.5  # nothing was changed for others


def test_rows_are_found_by_key_index_or_what_models_know(rng):
    a, _ = _islands(rng, n=40)
    names = [f"r{i}" for i in range(len(a))]
    order = rng.permutation(len(a))[:200]
    frames = pd.DataFrame(a, index=names), pd.DataFrame(a[order] * 2.0, index=[names[i] for i in order])
    found = mf.compare(*frames)
    assert found.map["matched_by"] == "index"
    assert found.map["n_shared"] == 200
    assert found.rows["moved"].max() < 1e-6
    assert found.rows.index.tolist() == [names[i] for i in sorted(order)]
    keyed = mf.compare(a, 2.0 * a[order], key=(names, [names[i] for i in order]))
    np.testing.assert_allclose(keyed.rows["moved"], found.rows["moved"], atol=1e-9)
    X = rng.normal(size=(80, 5))
    models = [mf.PHATE(random_state=0).fit(X[rows]) for rows in (slice(0, 70), slice(79, 9, -1))]
    shared = mf.compare(*models)
    assert shared.map["matched_by"] == "equality"
    assert shared.rows["a"].tolist() == list(range(10, 70))
    assert shared.rows["b"].tolist() == [79 - i for i in range(10, 70)]
    assert shared.to_dict()["map"]["n_shared"] == 60


def test_changes_of_no_clusters_and_of_few_rows(rng):
    Y = rng.normal(size=(8, 2))
    nobody = np.full(8, -1)
    assert find_changes(Sides(Y, Y, nobody, nobody, np.zeros(0, int), np.zeros(0, int))) == []
    assert mf.compare(Y, Y).clusters.empty
    assert mf.compare(np.zeros((9, 2)), np.zeros((9, 2))).map["moved"] == 0.0


@pytest.mark.parametrize(
    ("a", "b", "more", "message"),
    [
        ((20, 2), (20, 3), {}, "b has 3 dimensions and a has 2"),
        ((20, 2), (19, 2), {}, "nothing says which are the same"),
        ((20, 2), (20, 2), {"key": [range(20)]}, "key must be a pair"),
        ((20, 2), (20, 2), {"key": (range(20), [0] * 20)}, "key must name every row of b once"),
        ((20, 2), (20, 2), {"key": (range(20), range(18, 38))}, "b shares 2 rows with a"),
        ((20, 2), (20, 2), {"X": np.zeros((7, 3))}, "X has 7, a has 20"),
        ((20, 2), (20, 2), {"seeds": [np.zeros((5, 2))]}, "seeds must be maps of the rows of a"),
    ],
)
def test_bad_input_is_a_sentence(rng, a, b, more, message):
    with pytest.raises(ValueError, match=message):
        mf.compare(rng.normal(size=a), rng.normal(size=b), **more)
    with pytest.raises(TypeError, match="open_run"):
        mf.compare("run", rng.normal(size=b))
