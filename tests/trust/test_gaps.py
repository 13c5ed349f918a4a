"""Gaps between clusters: what is in the data, what the map made, what cannot be told, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

import manifolia as mf
from manifolia.exceptions import ParameterError
from manifolia.trust import gaps, valleys
from manifolia.trust.clusters import Clusters
from manifolia.trust.valleys import Gap, merge_islands, without_ways_around
from manifolia.trust.words import IN_DATA

VERDICTS = {"in the data", "made by the map", "cannot tell"}


def balls(rng, sizes, apart, d=4):
    """Rows of round clusters in a line, with their labels."""
    own = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(own), d))
    X[:, 0] += apart * own
    return X, own


def torn(rng, n=300, d=4):
    """A cloud, and a map that pulls it apart in the middle."""
    X = rng.normal(size=(n, d))
    Y = X[:, :2].copy()
    own = (X[:, 0] > 0).astype(int)
    Y[own == 1, 0] += 6.0
    return X, Y, own


@pytest.mark.parametrize("sizes", [(60, 60), (60, 200), (300, 60)])
def test_five_standard_deviations_are_a_gap_in_the_data(rng, sizes):
    X, own = balls(rng, sizes, 5.0)
    (gap,) = gaps(X, X[:, :2], own, random_state=0)
    assert (gap.a, gap.b, gap.verdict) == ("0", "1", "in the data")
    assert gap.p_dip <= 0.05
    assert gap.ratio <= 0.4
    assert own[list(gap.rows)].tolist() == [0, 1]
    assert sum(gap.density) > 0.9 * len(X)


def test_a_cut_through_a_cloud_was_made_by_the_map(rng):
    X, Y, own = torn(rng)
    (gap,) = gaps(X, Y, own, random_state=0)
    assert gap.verdict == "made by the map"
    assert gap.p_dip > 0.1
    assert gap.ratio > 0.3
    assert "a single hump fits" in gap.reason


def test_where_the_map_has_no_gap_none_is_blamed_on_it(rng):
    X, _, own = torn(rng)
    (gap,) = gaps(X, X[:, :2], own, random_state=0)
    assert gap.verdict == "cannot tell"
    assert "touch in the map" in gap.reason


@pytest.mark.parametrize(("steps", "ratio", "verdict"), [
    (0.95, 1.2, "made by the map"), (0.95, 0.9, "cannot tell"),
    (0.85, 1.2, "cannot tell"), (1.05, 0.9, "made by the map"),
])  # fmt: skip
def test_many_links_make_up_for_a_gap_that_nearly_shows(rng, monkeypatch, steps, ratio, verdict):
    X, _, own = torn(rng)
    Y = X[:, :2].copy()
    drawn = valleys._steps
    monkeypatch.setattr(
        valleys, "_steps", lambda S, codes, pairs: np.array([steps]) if S.shape[1] == 2 else drawn(S, codes, pairs)
    )
    monkeypatch.setattr(valleys, "_links", lambda *_: [ratio, ratio])
    (gap,) = gaps(X, Y, own, random_state=0)
    assert gap.verdict == verdict


def test_rows_between_two_clusters_count(rng):
    """Two ends of a strip look apart if its middle is left out of sight."""
    X = np.column_stack([rng.uniform(0, 6, 600), rng.normal(size=(600, 2)) * 0.3])
    own = np.where(X[:, 0] < 2, "left", np.where(X[:, 0] > 4, "right", None))
    Y = X[:, :2].copy()
    Y[X[:, 0] > 2] += [3.0, 0.0]
    Y[X[:, 0] > 4] += [3.0, 0.0]
    (gap,) = gaps(X, Y, own, random_state=0)
    assert gap.verdict != "in the data"
    alone = own != None  # noqa: E711 - elementwise
    (gap,) = gaps(X[alone], Y[alone], own[alone], random_state=0)
    assert gap.verdict == "in the data"


def test_a_way_around_is_no_gap():
    """Of a ring of arcs a to d, whose gaps the map made, a and d lie on both sides of the hole; e lies apart."""

    def gap(a, b, verdict):
        return Gap(a, b, verdict, 0.1, 0.01, "why", (0, 1), ())

    known = [("a", "b", "made by the map"), ("b", "c", "made by the map"), ("c", "d", "made by the map")]
    gaps_in_data = [gap("a", "d", IN_DATA), gap("d", "e", IN_DATA)]
    found = without_ways_around([gap(*one) for one in known] + gaps_in_data, [one[:2] for one in known])
    assert [one.verdict for one in found] == ["made by the map"] * 3 + ["cannot tell", "in the data"]
    assert "a way around" in found[3].reason


def test_arcs_of_a_ring_are_not_apart(rng):
    """Bent clusters look like two humps along the straight line, and hang together around it."""
    angle = np.sort(rng.uniform(0, 2 * np.pi, 600))
    X = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(600)]) + 0.1 * rng.normal(size=(600, 3))
    own = (3 * angle / np.pi).astype(int)  # six arcs
    Y = 3.0 * X[:, :2] + 4.0 * np.column_stack([np.cos((own + 0.5) * np.pi / 3), np.sin((own + 0.5) * np.pi / 3)])
    found = gaps(X, Y, own, random_state=0)
    assert {gap.verdict for gap in found} <= {"made by the map", "cannot tell"}
    beside = [gap for gap in found if (int(gap.b) - int(gap.a)) % 6 in (1, 5)]
    assert sum(gap.verdict == "made by the map" for gap in beside) >= 0.8 * len(beside)


def test_fragments_that_meet_in_a_corner_hang_together(rng):
    """Few links cross a short edge, and still a single hump fits."""
    X = rng.random((900, 2)) * [6.0, 1.0]
    own = (X[:, 0] + 1.5 * X[:, 1]).astype(int)  # slanted pieces
    Y = X + np.column_stack([2.0 * own, np.zeros(900)])
    found = gaps(X, Y, own, random_state=0)
    assert sum(gap.verdict == "made by the map" for gap in found) >= 0.8 * len(found)
    assert all(gap.verdict != "in the data" for gap in found)


def test_an_empty_gap_that_no_line_shows_is_in_the_data(rng):
    """A ring around a ball: their centres are the same, but the best way across takes far longer steps."""
    angle = rng.uniform(0, 2 * np.pi, 300)
    ring = np.column_stack([8.0 * np.cos(angle), 8.0 * np.sin(angle)]) + 0.3 * rng.normal(size=(300, 2))
    X = np.vstack([rng.normal(size=(150, 2)) * 0.7 + 0.5, ring])
    (gap,) = gaps(X, X, np.arange(450) >= 150, random_state=0)
    assert gap.verdict == "in the data"
    assert "the best way takes" in gap.reason


def test_rows_of_no_cluster_may_lead_around(rng):
    """Two ends of a bow, whose middle belongs to no cluster."""
    angle = np.linspace(0, np.pi, 500)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.06 * rng.normal(size=(500, 2))
    own = np.where(angle < 1.3, "right", np.where(angle > 1.8, "left", None))
    Y = X + np.where(angle > 1.55, -3.0, 3.0)[:, np.newaxis] * [1.0, 0.0]
    (gap,) = gaps(X, Y, own, random_state=0)
    assert gap.verdict != "in the data"


def test_a_single_neighbourhood_of_a_patient_is_one_row(rng):
    """Copies of few patients make two heaps of what is one cloud."""
    patients = rng.normal(size=(24, 3))
    group = np.repeat(np.arange(24), 20)
    X = patients[group] + 0.02 * rng.normal(size=(480, 3))
    own = (patients[:, 0] > 0).astype(int)[group]
    Y = X[:, :2] + 5.0 * own[:, np.newaxis]
    assert gaps(X, Y, own, groups=group, random_state=0)[0].verdict != "in the data"


@pytest.mark.parametrize("n_small", [1, 3, 9])
def test_small_clusters_cannot_be_told(rng, n_small):
    X, own = balls(rng, (80, n_small), 20.0)
    (gap,) = gaps(X, X[:, :2], own, random_state=0)
    assert gap.verdict == "cannot tell"
    assert gap.reason == f"1 has {n_small} rows, and 10 are needed."
    assert np.isnan(gap.ratio)


def test_one_island_all_noise_and_equal_rows(rng):
    X = rng.normal(size=(100, 3))
    assert gaps(X, X[:, :2], np.zeros(100), random_state=0) == []
    assert gaps(X, X[:, :2], np.full(100, np.nan), random_state=0) == []
    same = np.ones((60, 3))
    (gap,) = gaps(same, rng.normal(size=(60, 2)) + 9.0 * (np.arange(60) % 2)[:, np.newaxis], np.arange(60) % 2)
    assert gap.verdict == "cannot tell"
    assert gap.reason == "Their centres are the same in the data."
    assert gaps(X[:5], X[:5, :2]) == []  # too few rows to see clusters


def test_wrong_lengths_are_refused(rng):
    X = rng.normal(size=(50, 3))
    with pytest.raises(ParameterError):
        gaps(X, X[:40, :2], np.zeros(50))
    with pytest.raises(ParameterError):
        gaps(X, X[:, :2], np.zeros(40))


def test_islands_of_a_cloud_are_merged_and_clusters_are_not(rng):
    cloud = rng.normal(size=(400, 2))
    halves = Clusters((cloud[:, 0] > 0).astype(int), ["a", "b"])
    merged, members = merge_islands(cloud, halves)
    assert members == [[0, 1]]
    assert set(merged.codes) == {0}
    apart, own = balls(rng, (100, 100), 12.0, d=2)
    merged, members = merge_islands(apart, Clusters(own, ["a", "b"]))
    assert members == [[0], [1]]


def test_diagnose_has_gaps_and_counts_islands(rng):
    X, own = balls(rng, (120, 120), 9.0)
    found = mf.diagnose(X[:, :2], X, random_state=0)
    assert found.gaps["verdict"].tolist() == ["in the data"]
    assert found.clusters["islands"].min() >= 1
    X, Y, own = torn(rng)
    found = mf.diagnose(Y, X, clusters=own, random_state=0)
    assert found.gaps["verdict"].tolist() == ["made by the map"]
    assert "1 of 1 gap made by the map" in found.summary
    assert any("The gap between 0 and 1 was made by the map." in one.text for one in found.findings)
    assert found.densities.shape == (1, 24)
    assert own[found.gaps.loc[0, ["row_a", "row_b"]].astype(int)].tolist() == [0, 1]


def test_gaps_are_the_same_for_any_order_of_draws_and_saved(rng, tmp_path):
    X, Y, own = torn(rng)
    one = mf.diagnose(Y, X, clusters=own, random_state=3, n_jobs=1)
    two = mf.diagnose(Y, X, clusters=own, random_state=3, n_jobs=2)
    assert one.gaps.equals(two.gaps)
    back = mf.Diagnosis.load(one.save(tmp_path / "trust.npz"))
    assert back.gaps.astype(object).equals(one.gaps.astype(object))
    assert np.array_equal(back.densities, one.densities)
    assert set(one.gaps["verdict"]) <= VERDICTS


def test_a_guided_map_is_not_judged_by_distances():
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    model = mf.GuidedMap(n_trees=40, random_state=0).fit(X, y)
    found = mf.diagnose(model, X, y, clusters=y, random_state=0)
    assert len(found.gaps) > 0
    assert set(found.gaps["verdict"]) == {"cannot tell"}
    assert "forest proximities" in found.gaps["reason"].iloc[0]
