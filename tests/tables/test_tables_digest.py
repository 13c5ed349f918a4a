"""Preparation is decided on all rows: the same as if they were in memory, though only some are at hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manifolia.exceptions import TableError
from manifolia.tables import TablePreparer
from manifolia.tables.bottom_k import BottomK
from manifolia.tables.digest import Digest
from manifolia.tables.frames import take_source
from manifolia.tables.stream import Batch
from manifolia.tables.survey import LookedAt


@pytest.fixture
def frame(rng):
    n = 5000
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "gap late": np.where(np.arange(n) > 4990, np.nan, rng.normal(size=n)),
            "whole": rng.integers(0, 50, n),
            "id": rng.permutation(n),
            "rising": np.arange(n) * 2,
            "kind": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
            "late level": np.where(np.arange(n) == 4000, "rare", "common"),
            "flag": rng.random(n) < 0.3,
            "flag with gaps": pd.array(np.where(rng.random(n) < 0.1, None, rng.random(n) < 0.6), dtype=object),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "length": pd.to_timedelta(rng.integers(1, 100, n), "h"),
            "percent": [f"{k}%" for k in rng.integers(0, 100, n)],
            "code": [f"{k:03d}" for k in rng.integers(0, 60, n)],
            "name": [f"person {i}" for i in range(n)],
            "constant": 1.5,
            "nothing": np.nan,
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
        }
    )
    frame.loc[4999, "day"] = pd.Timestamp("1999-05-05")
    return frame


def digested(frame, rows, n_parts=2, n=800, given=None):
    digests, sample = [], BottomK(n)
    for part, piece in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        digests.append(Digest(given))
        for start in range(0, len(piece), rows):
            batch = Batch(f"p{part}", start, frame.iloc[piece[start : start + rows]].reset_index(drop=True))
            digests[-1].add(batch, f"big/p{part}")
            sample.add(batch)
    for other in digests[1:]:
        digests[0].merge(other)
    return digests[0], sample.finish()


def prepared(frame, rows=700, given=None, missing="keep", **options):
    digest, drawn = digested(frame, rows, given=given, **options)
    source = take_source(drawn.frame)
    survey = digest.survey(source, drawn.uniform, given or {})
    return TablePreparer(given, missing=missing).fit(LookedAt(source, given or {}, survey))


@pytest.mark.parametrize("missing", ["keep", "impute"])
def test_roles_levels_and_marks_are_those_of_all_rows(frame, missing):
    found, whole = prepared(frame, missing=missing), TablePreparer(missing=missing).fit(frame)
    for name in ("roles_", "levels_", "pooled_", "origins_", "written_", "names_out_", "sources_"):
        assert getattr(found, name) == getattr(whole, name), name
    np.testing.assert_array_equal(found.had_missing_, whole.had_missing_)
    exact = [j for j, name in enumerate(whole.used_) if name in ("kind", "late level", "flag", "percent", "size")]
    np.testing.assert_array_equal(found.fill_[exact], whole.fill_[exact])
    spread = frame["number"].std()
    assert abs(found.fill_[0] - whole.fill_[0]) < 5 * 1.25 * spread / np.sqrt(800)  # the median of the sample
    assert [note for note in found.notes_ if "'name'" not in note] == [
        note for note in whole.notes_ if "'name'" not in note
    ]


def test_what_is_decided_does_not_depend_on_batches_or_parts(frame):
    first, second = prepared(frame, 700), prepared(frame, 64)
    assert first.notes_ == second.notes_
    np.testing.assert_array_equal(first.fill_, second.fill_)


def test_given_roles_see_all_values(frame):
    found = prepared(frame, given={"whole": "categorical", "kind": ["z", "y", "x"], "number": "drop"})
    whole = TablePreparer({"whole": "categorical", "kind": ["z", "y", "x"], "number": "drop"}).fit(frame)
    assert found.roles_ == whole.roles_
    assert found.levels_ == whole.levels_
    assert found.pooled_ == whole.pooled_


def test_beyond_the_counters_frequent_values_stay_and_their_number_is_estimated(frame, monkeypatch):
    monkeypatch.setattr("manifolia.tables.digest.MOST_VALUES", 50)
    often = frame.assign(kind=np.where(np.arange(5000) % 3 == 0, "often", [f"k{i}" for i in range(5000)]))
    digest, _ = digested(often[["kind", "name"]], 512)
    kind = digest.columns["kind"]
    assert max(kind.values, key=lambda key: kind.values[key][0])[1] == "often"
    assert len(kind.values) <= 50
    assert abs(kind.n_values - 3334) < 0.12 * 3334
    found = prepared(often[["kind", "name", "number"]])
    assert found.roles_["name"] == "identifier"
    assert any("about" in note and "in 5,000 rows" in note for note in found.notes_)


def test_an_infinite_value_is_named_with_its_row_and_file(frame):
    frame.loc[3000, "number"] = np.inf
    with pytest.raises(TableError, match=r"'number' has an infinite value in row 500 \(counting from 0\) of big/p1"):
        digested(frame, 128)


def test_a_column_that_changes_its_kind_is_named_with_its_file(frame):
    mixed = [Batch("p0", 0, frame[["whole"]]), Batch("p1", 0, pd.DataFrame({"whole": ["1", "two"]}))]
    first, second = Digest(), Digest()
    first.add(mixed[0], "big/p0")
    second.add(mixed[1], "big/p1")
    with pytest.raises(TableError, match=r"'whole' holds numbers in p0 and texts such as 'two' in big/p1"):
        first.merge(second)


def test_a_value_among_numbers_is_named_with_its_row_and_file(frame):
    texts = frame["whole"].astype(str)
    texts[4321] = "many"
    with pytest.raises(TableError, match=r"row 1,821 \(counting from 0\) of big/p1 has 'many'"):
        prepared(pd.DataFrame({"a": texts.astype(object) + "1", "b": frame["number"]}).assign(
            a=[f"{i}.5" if t != "many" else "many" for i, t in enumerate(texts)]))  # fmt: skip
