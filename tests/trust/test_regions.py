"""Regions of the data: those that return, their names, and noise, which has none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

import manifolia as mf
from manifolia.trust.clusters import Clusters
from manifolia.trust.regions import (
    Region,
    _nested,
    _one_tree,
    _pairs,
    find_regions,
    labels_of,
    region_of_clusters,
)


def three(rng, n=80):
    """Three round clusters, one of which has two halves, with columns that tell them."""
    own = np.repeat([0, 1, 2, 3], n)
    X = rng.normal(size=(4 * n, 4)) * 0.7
    X[own == 1, 0] += 14.0
    X[own >= 2, 1] += 14.0
    X[own == 3, 2] += 6.0
    return X, own, [("length", X[:, 0]), ("height", X[:, 1]), ("depth", X[:, 2]), ("noise", X[:, 3])]


def test_clusters_that_return_are_named_by_what_tells_them(rng):
    X, own, columns = three(rng)
    found = find_regions(X, columns, random_state=0)
    names = {region.name: region for region in found}
    assert {"length high", "height high"} <= {name.partition(",")[0] for name in names}
    (parent,) = (k for k, region in enumerate(found) if set(own[region.rows]) == {2, 3})
    inner = [region for region in found if region.parent == parent]
    assert {region.name.partition(",")[0] for region in inner} == {"depth high", "depth low"}
    assert {region.level for region in inner} == {found[parent].level + 1}
    assert all(region.returned >= 0.8 for region in found)
    assert adjusted_rand_score(labels_of(found, len(X)), own) > 0.98


@pytest.mark.parametrize("kind", ["normal", "uniform", "strip", "wide"])
def test_pure_noise_has_no_regions(rng, kind):
    X = {
        "normal": lambda: rng.normal(size=(300, 2)),
        "uniform": lambda: rng.random((300, 3)),
        "strip": lambda: rng.random((300, 2)) * [8.0, 1.0],
        "wide": lambda: rng.normal(size=(300, 10)),
    }[kind]()
    assert find_regions(X, [], random_state=0) == []


def test_the_tree_of_all_halves_is_the_mean_of_their_clusters(rng):
    X = np.vstack([rng.normal(size=(30, 3)), rng.normal(size=(30, 3)) + 4.0])
    halves = [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    trees = [linkage(X[half], "ward") for half in halves]

    apart = np.zeros((60, 60))
    for half, tree in zip(halves, trees, strict=True):
        clusters = [{i} for i in range(30)]
        for a, b in tree[:, :2].astype(int):
            clusters.append(clusters[a] | clusters[b])
        near = [np.argsort(np.linalg.norm(X[half] - x, axis=1))[:3] for x in X]
        for i in range(60):
            for j in range(60):
                for a, b in zip(near[i], near[j], strict=True):
                    smallest = min(len(own) for own in clusters if {a, b} <= own) if a != b else 1
                    apart[i, j] += np.log(max(smallest, 10) / 10)
    np.fill_diagonal(apart, 0.0)
    own, naive = _one_tree(X, halves, trees), linkage(squareform(apart), "average")
    assert np.allclose(own[:, 2], naive[:, 2], rtol=1e-5)
    (pair,) = (pair for pair in _pairs(own, 20) if len(pair[0]) + len(pair[1]) > 50)
    assert {frozenset(rows // 30) for rows in pair} == {frozenset({0}), frozenset({1})}


def test_halves_of_one_cluster_are_no_regions(rng):
    X = rng.normal(size=(400, 3)) * [3.0, 1.0, 1.0]
    X[200:, 1] += 30.0  # both halves of a long cluster stand out from the other one, and not from one another
    found = find_regions(X, [("long", X[:, 0]), ("side", X[:, 1])], random_state=0)
    assert sorted(len(region.rows) for region in found) == [200, 200]


def test_of_four_within_one_another_the_one_that_returns_least_is_left_out():
    rows = np.arange(100)
    kept = [(rows[:n], often) for n, often in ((70, 1.0), (50, 0.8), (30, 0.9), (15, 1.0))]
    found = _nested([*kept, (rows[:14], 1.0)])
    assert [(len(region.rows), region.level, region.parent) for region in found] == [
        (70, 0, -1),
        (30, 1, 0),
        (15, 2, 1),
    ]


def test_two_halves_of_a_table_have_the_same_regions(rng):
    centres = rng.normal(size=(6, 8)) * 3.0
    X = centres[rng.integers(0, 6, 600)] + rng.normal(size=(600, 8))
    told = []
    for half in (np.arange(0, 600, 2), np.arange(1, 600, 2)):
        columns = [(str(j), column) for j, column in enumerate(X[half].T)]
        labels = labels_of(find_regions(X[half], columns, random_state=0), 300)
        told.append(KNeighborsClassifier(5).fit(X[half], labels).predict(X))
    assert adjusted_rand_score(*told) >= 0.9


def test_wine_has_the_same_regions_for_other_seeds():
    X, _ = load_wine(return_X_y=True, as_frame=True)
    columns = [(name, X[name].to_numpy()) for name in X]
    one, two = (find_regions(scale(X), columns, random_state=seed) for seed in (0, 1))
    assert adjusted_rand_score(labels_of(one, 178), labels_of(two, 178)) >= 0.8
    assert any("proline high" in region.name for region in one)


def test_levels_name_regions_and_missing_values_do_no_harm(rng):
    X, own, _ = three(rng)
    colour = np.where(own == 1, "red", "blue").astype(object)
    colour[::9] = None
    numbers = np.where(np.arange(len(X)) % 7 == 0, np.nan, X[:, 1])
    columns = [
        ("colour", colour),
        ("height", numbers),
        ("name", np.arange(len(X)).astype(str)),
        ("empty", [None] * len(X)),
    ]
    found = find_regions(X, columns, random_state=0)
    told = {frozenset(own[region.rows].tolist()): region.name for region in found}
    assert told[frozenset({1})].startswith("colour red")
    assert told[frozenset({2, 3})].startswith("height high")


def test_without_columns_regions_have_numbers(rng):
    X, _, _ = three(rng)
    found = find_regions(X, [], random_state=0)
    assert [region.name for region in found] == [f"region {k + 1}" for k in range(len(found))]
    assert {region.level for region in found} == {0}  # inner regions that no column tells are left out


def test_few_rows_have_none(rng):
    assert find_regions(rng.normal(size=(30, 2)), [], random_state=0) == []
    assert find_regions(np.ones((80, 3)), [], random_state=0) == []


def test_a_cluster_of_the_map_shows_a_region():
    regions = [Region("left", np.arange(10), 0, -1, 1.0), Region("right", np.arange(10, 20), 0, -1, 1.0)]
    clusters = Clusters(np.repeat([0, 1, 2], [9, 7, 4]), ["a", "b", "c"])
    assert region_of_clusters(regions, clusters) == ["left", "right", ""]


def test_diagnose_has_regions_from_usual_on(rng, tmp_path):
    _, _, columns = three(rng, n=50)
    frame = pd.DataFrame(dict(columns))
    model = PCA(2).fit(frame)
    Y = model.transform(frame)
    quick = mf.diagnose(Y, frame, random_state=0)
    assert len(quick.regions) == 0
    assert set(quick.clusters["region"]) == {""}
    found = mf.diagnose(Y, frame, level="usual", refit=lambda rows, y, seed: PCA(2).fit(rows), random_state=0)
    assert list(found.regions) == ["region", "name", "n_rows", "level", "parent", "returned"]
    assert len(found.regions) >= 3
    assert set(found.region_labels) <= set(range(-1, len(found.regions)))
    assert set(found.clusters["region"]) & set(found.regions["name"])
    back = mf.Diagnosis.load(found.save(tmp_path / "trust.npz"))
    assert back.regions.astype(object).equals(found.regions.astype(object))
    assert np.array_equal(back.region_labels, found.region_labels)
