"""A sample in one pass: the same rows however they come, rare classes, whole groups."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from manifolia._core.random import hashed_bits
from manifolia.exceptions import TableError
from manifolia.tables.bottom_k import BottomK
from manifolia.tables.stream import Batch
from reference import random as naive


@pytest.fixture
def frame(rng):
    n = 30_000
    kind = np.where(rng.random(n) < 0.002, "rare", rng.choice(["a", "b"], n))
    return pd.DataFrame({"x": np.arange(n), "kind": kind, "patient": rng.integers(0, 900, n), "y": rng.normal(size=n)})


def batches(frame, rows, n_parts=3):
    for part, piece in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        for start in range(0, len(piece), rows):
            yield Batch(f"p{part}", start, frame.iloc[piece[start : start + rows]].reset_index(drop=True))


def draw(frame, n, rows=65_536, *, split=0, backwards=False, **options):
    samples = [BottomK(n, **options) for _ in range(split + 1)]
    pieces = list(batches(frame, rows))
    if backwards:
        pieces = [batch for _, own in itertools.groupby(pieces, lambda b: b.part) for batch in [list(own)]][::-1]
        pieces = [batch for own in pieces for batch in own]
    for i, batch in enumerate(pieces):
        samples[i % len(samples)].add(batch)
    for other in samples[:0:-1]:
        samples[0].merge(other)
    return samples[0].finish()


@pytest.mark.parametrize("options", [{}, {"classes": ("kind",)}, {"groups": "patient"},
                                     {"classes": ("kind",), "groups": "patient"}])  # fmt: skip
def test_the_same_rows_for_any_batch_order_of_parts_and_number_of_workers(frame, options, monkeypatch):
    monkeypatch.setattr("manifolia.tables.bottom_k._FEWEST_WAITING", 500)
    usual = draw(frame, 2000, **options)
    assert len(usual.frame) == 2000
    for way in ({"rows": 137}, {"rows": 1000, "backwards": True}, {"rows": 400, "split": 1}, {"rows": 90, "split": 4}):
        other = draw(frame, 2000, **way, **options)
        pd.testing.assert_frame_equal(other.frame, usual.frame)
        np.testing.assert_array_equal(other.uniform, usual.uniform)
        assert other.class_counts == usual.class_counts
        assert other.n_rows == len(frame)


def test_the_rows_are_those_with_the_smallest_keys(frame):
    """By definition: all keys sorted, and the first rows of each class added in place of the last others."""
    found = draw(frame, 500)
    keys = np.concatenate([hashed_bits(0, _name(f"p{p}"), np.arange(len(own)))
                           for p, own in enumerate(np.array_split(np.arange(len(frame)), 3))])  # fmt: skip
    np.testing.assert_array_equal(found.frame["x"], np.sort(np.argsort(keys)[:500]))
    assert found.uniform.all()
    by_class = draw(frame, 500, classes=("kind",), floor=40)
    rare = np.flatnonzero(frame["kind"] == "rare")
    np.testing.assert_array_equal(
        by_class.frame["x"][(by_class.frame["kind"] == "rare").to_numpy()], np.sort(rare[np.argsort(keys[rare])[:40]])
    )
    assert len(by_class.frame) == 500
    left = by_class.frame["x"][by_class.uniform]
    np.testing.assert_array_equal(left, np.sort(np.argsort(keys)[: len(left)]))


def _name(part):
    from manifolia.tables.bottom_k import _hash_of

    return _hash_of(part)


def test_keys_are_the_bits_of_the_kernels_streams():
    expected = [naive.bits(7, 2**63 + 5, i) for i in range(50)]
    np.testing.assert_array_equal(hashed_bits(7, 2**63 + 5, np.arange(50)), np.array(expected, dtype=np.uint64))


def test_a_sample_is_uniform_and_another_seed_draws_another(frame):
    first, second = draw(frame, 3000), draw(frame, 3000, seed=1)
    shared = np.intersect1d(first.frame["x"], second.frame["x"])
    assert 200 < len(shared) < 400  # 300 are expected
    assert abs(first.frame["x"].mean() - 15_000) < 4 * 30_000 / np.sqrt(12 * 3000)


def test_a_class_has_its_floor_or_all_its_rows(frame):
    frame.loc[[5, 70, 900], "kind"] = "three"
    found = draw(frame, 2000, classes=("kind",))
    counts = found.frame["kind"].value_counts()
    n_rare = int((frame["kind"] == "rare").sum())
    assert counts["rare"] == min(200, n_rare)
    assert counts["three"] == 3
    assert found.class_counts == frame["kind"].value_counts().to_dict()
    assert found.floor == 200
    many = frame.assign(kind=frame["x"] % 50)
    assert draw(many, 1000, classes=("kind",)).floor == 20  # what there is room for


def test_measured_numbers_are_no_classes_and_many_texts_are_refused(frame, monkeypatch):
    assert draw(frame, 500, classes=("y",)).class_counts == {}
    pd.testing.assert_frame_equal(draw(frame, 500, classes=("y",)).frame, draw(frame, 500).frame)
    late = frame.assign(kind=np.where(frame["x"] == 29_000, 0.5, 1.0))  # whole numbers until then
    pd.testing.assert_frame_equal(draw(late, 500, 1000, classes=("kind",)).frame[["x"]], draw(frame, 500).frame[["x"]])
    monkeypatch.setattr("manifolia.tables.bottom_k.MOST_CLASSES", 100)
    assert draw(frame, 500, classes=("x",)).class_counts == {}
    with pytest.raises(TableError, match="more than 100 classes"):
        draw(frame.assign(kind=frame["x"].astype(str)), 500, classes=("kind",))


def test_groups_are_drawn_whole_and_large_ones_in_turn(frame):
    found = draw(frame, 5000, groups="patient")
    sizes, whole = found.frame["patient"].value_counts(), frame["patient"].value_counts()
    assert (sizes < whole[sizes.index]).sum() <= 1  # the last one has no room
    few = frame.assign(patient=frame["x"] % 5)
    assert draw(few, 1000, groups="patient").frame["patient"].value_counts().tolist() == [200] * 5


def test_several_targets_make_a_class_of_each_combination(frame):
    two = frame.assign(other=np.where(frame["x"] < 10, "few", "many"))
    found = draw(two, 1000, classes=("kind", "other"), floor=5)
    assert set(zip(found.frame["kind"], found.frame["other"], strict=True)) == set(
        zip(two["kind"], two["other"], strict=True)
    )


def test_a_table_without_rows_is_refused(frame):
    with pytest.raises(TableError, match="no rows"):
        BottomK(10).finish()
