"""The whole diagnosis: its tables, what it says, what it refuses, and that it is the same every time."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from manifolia.exceptions import (
    HonestyWarning,
    MemoryLimitError,
    ModelFileError,
    ParameterError,
    StoppedByCallbackError,
)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def guided(wine):
    return mf.GuidedMap(n_trees=100, random_state=0).fit(*wine)


@pytest.fixture(scope="module")
def diagnosis(guided, wine):
    return mf.diagnose(guided, *wine, random_state=0)


def plane(rng, n=300, n_clusters=6):
    """Rows of clusters in a plane, with their labels; the rows are their own map."""
    own = np.arange(n) % n_clusters
    angle = 2.0 * np.pi * own / n_clusters
    return np.column_stack([9.0 * np.cos(angle), 6.0 * np.sin(angle)]) + rng.normal(size=(n, 2)), own


def test_tables_are_those_that_the_design_names(diagnosis):
    assert list(diagnosis.rows) == [
        *["verdict", "reason", "p_place", "torn_share", "restless", "novelty", "evidence", "sensitivity"],
    ]
    assert list(diagnosis.clusters)[:6] == ["cluster", "name", "n_rows", "size_verdict", "stretch", "share_solid"]
    assert list(diagnosis.gaps)[:6] == ["a", "b", "verdict", "ratio", "p_dip", "reason"]
    assert set(diagnosis.gaps["verdict"]) <= {"cannot tell"}  # a guided map is not meant to keep distances
    assert diagnosis.rows["restless"].isna().all()
    keys = [
        "earned",
        "earned_p",
        "shown",
        "learned",
        "arrangement",
        "arrangement_p",
        "share_solid",
        "level",
        "n_judged",
    ]
    assert set(keys) <= set(diagnosis.map)
    assert len(diagnosis.findings) <= 5
    assert diagnosis.map["level"] == "quick"
    assert diagnosis.map["n_judged"] == 178


def test_a_guided_map_of_wine_is_earned_and_mostly_solid(diagnosis):
    assert diagnosis.map["earned"] == "earned"
    assert diagnosis.map["share_solid"] > 0.9
    assert diagnosis.map["compared_with"] == "in the forest's view"
    assert set(diagnosis.clusters["size_verdict"]) == {"cannot tell"}


def test_shuffled_labels_warn(wine, rng):
    X, y = wine
    shuffled = pd.Series(rng.permutation(y), name="colour")
    model = mf.GuidedMap(n_trees=100, random_state=0).fit(X, shuffled)
    with pytest.warns(HonestyWarning, match="not earned by colour: On rows that were left out"):
        found = mf.diagnose(model, X, shuffled, random_state=0)
    assert found.map["earned"] == "not earned"
    assert "The map is not earned by colour." in found.findings[0].text


def test_a_map_that_is_its_data_has_nothing_to_call(rng):
    X, own = plane(rng)
    found = mf.diagnose(X, X, clusters=own, random_state=0)
    assert set(found.rows["verdict"]) <= {"solid", "foreign"}
    assert (found.rows["verdict"] == "foreign").mean() <= 0.01
    assert set(found.clusters["size_verdict"]) == {"as in the data"}
    assert found.map["earned"] is None
    assert found.map["arrangement"] == "yes"
    assert found.summary.endswith("sizes as in the data · arrangement means something")


def test_exchanged_rows_have_a_reason_that_is_true(rng):
    X, own = plane(rng)
    Y = X.copy()
    Y[[0, 3]] = Y[[3, 0]]
    found = mf.diagnose(Y, X, clusters=own, random_state=0)
    assert found.rows.loc[[0, 3], "verdict"].tolist() == ["chance", "chance"]
    assert "0 of its 15 nearest rows in the map are among its 45 nearest in the data" in found.rows.loc[0, "reason"]
    assert set(found.worst_rows(2).index) == {0, 3}
    assert {0, 3} <= set(found.findings[0].rows)


@pytest.mark.parametrize("n", [80, 200])
def test_a_single_strange_row_is_foreign(rng, n):
    X = rng.normal(size=(n, 5))
    X[7] = 40.0
    found = mf.diagnose(X[:, :2], X, random_state=0)
    assert found.rows.loc[7, "verdict"] == "foreign"
    assert found.rows["novelty"].idxmax() == 7


def test_a_column_that_tells_the_target_is_named(wine):
    X, y = wine
    copy = X.assign(cultivar_copy=y.map({0: "a", 1: "b", 2: "c"}))
    plain = StandardScaler().fit_transform(X)
    found = mf.diagnose(plain[:, [6, 9]], plain, y.rename("cultivar"), random_state=0)
    assert not any(finding.columns for finding in found.findings)
    from manifolia.trust.leaks import telling_columns
    from manifolia.trust.words import leak_finding

    leaks = telling_columns(copy.items(), y.to_numpy(), classes=True)
    assert [leak.column for leak in leaks] == ["cultivar_copy"]
    assert leak_finding(leaks, "cultivar").text == "cultivar_copy alone tells cultivar: is it known before?"


def test_a_column_of_numbers_that_tells_a_number_is_named(rng):
    from manifolia.trust.leaks import telling_columns

    y = rng.normal(size=400)
    columns = {"noise": rng.normal(size=400), "price": 3.0 * y + 1.0, "near": y + 0.4 * rng.normal(size=400)}
    assert [leak.column for leak in telling_columns(columns.items(), y, classes=False)] == ["price"]
    names = {"row": [f"r{i}" for i in range(400)]}  # different in every row: it tells nothing
    assert telling_columns(names.items(), (y > 0).astype(int), classes=True) == []


def test_one_class_and_rows_that_repeat_one_another_give_nothing_away(rng):
    from manifolia.trust.leaks import telling_columns

    X = rng.normal(size=(30, 3))
    y = rng.permutation(np.arange(30) % 2)
    four_times = {f"x{j}": np.repeat(values, 4) for j, values in enumerate(X.T)}
    assert telling_columns(four_times.items(), np.repeat(y, 4), classes=True) == []
    many = {"x": rng.normal(size=200)}
    assert telling_columns(many.items(), np.zeros(200), classes=True) == []
    assert telling_columns(many.items(), np.zeros(200), classes=False) == []


def test_pipelines_and_missing_values(wine):
    X, y = wine
    gaps = X.copy()
    gaps.iloc[::7, 3] = np.nan
    model = make_pipeline(StandardScaler(), mf.GuidedMap(n_trees=60, random_state=0)).fit(gaps, y)
    assert mf.diagnose(model, gaps, y, random_state=0).map["earned"] == "earned"
    some = y.astype(object).where(np.arange(178) % 3 > 0, None)
    assert mf.diagnose(model, gaps, some, random_state=0).map["earned"] == "earned"


def test_groups_of_the_model_are_respected(rng):
    patients = np.repeat(np.arange(80), 5)
    X = rng.normal(size=(80, 6))[patients] + 0.1 * rng.normal(size=(400, 6))
    y = rng.integers(0, 2, 80)[patients]
    model = mf.GuidedMap(n_trees=60, random_state=0).fit(X, y, groups=patients)
    with pytest.warns(HonestyWarning):
        found = mf.diagnose(model, X, y, random_state=0)
    assert found.map["earned"] == "not earned"
    assert "these 80 groups" in found.map["earned_reason"]


def test_many_rows_are_sampled_and_that_is_said(rng):
    X, own = plane(rng, 900)
    groups = np.repeat(np.arange(300), 3)
    found = mf.diagnose(X, X, clusters=own, groups=groups, sample=300, random_state=0)
    judged = (found.rows["verdict"] != "not judged").to_numpy()
    assert found.map["n_judged"] == judged.sum() == 300
    assert (judged.reshape(-1, 3).sum(axis=1) % 3 == 0).all()  # whole groups
    assert found.rows.loc[~judged, "p_place"].isna().all()
    assert any("300 of 900 rows were judged" in finding.text for finding in found.findings)
    assert set(found.labels[~judged]) == {-1}
    assert mf.diagnose(X, X, sample=None, random_state=0).map["n_judged"] == 900


def test_what_a_sample_knows_of_a_guided_map(wine, guided):
    """The forest's own votes are those of all rows, so that nothing is only a bound."""
    found = mf.diagnose(guided, *wine, sample=100, random_state=0)
    assert found.map["earned"] == "earned"
    assert found.map["n_judged"] == 100


def test_few_rows_are_never_solid(wine):
    X, y = wine
    some = np.random.default_rng(0).permutation(178)[:40]
    rows = StandardScaler().fit_transform(X.iloc[some])
    found = mf.diagnose(rows[:, [6, 9]], rows, y.iloc[some], random_state=0)
    assert set(found.rows["verdict"]) == {"cannot tell"}
    assert found.rows["reason"].iloc[0] == "40 rows are too few to tell a place from chance."
    assert found.map["earned"] == "cannot tell"
    assert found.map["share_solid"] is None


def test_bits_do_not_depend_on_threads_and_seeds_do_matter(wine):
    X, y = wine
    Y = StandardScaler().fit_transform(X)[:, [6, 9]]
    plain = StandardScaler().fit_transform(X)
    one, two = (mf.diagnose(Y, plain, y, random_state=1, n_jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.rows, two.rows, check_exact=True)
    pd.testing.assert_frame_equal(one.clusters, two.clusters, check_exact=True)
    assert one.to_dict() == two.to_dict()
    learned = [mf.diagnose(Y, plain, plain[:, 0], random_state=seed).map["learned"] for seed in (1, 2)]
    assert learned[0] != learned[1]


def test_files(diagnosis, tmp_path):
    path = diagnosis.save(tmp_path / "trust.npz")
    back = mf.Diagnosis.load(path)
    pd.testing.assert_frame_equal(back.rows.astype(object), diagnosis.rows.astype(object))
    pd.testing.assert_frame_equal(back.clusters, diagnosis.clusters)
    assert back.to_dict() == diagnosis.to_dict()
    assert back.findings == diagnosis.findings
    json.dumps(diagnosis.to_dict(), allow_nan=False)
    (tmp_path / "other.npz").write_bytes(b"no archive")
    with pytest.raises(ModelFileError, match="does not hold a diagnosis"):
        mf.Diagnosis.load(tmp_path / "other.npz")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    with pytest.raises(ModelFileError, match="does not hold a diagnosis"):
        mf.Diagnosis.load(tmp_path / "arrays.npz")


def test_progress_and_stop(rng):
    X, _ = plane(rng)
    heard = []
    mf.diagnose(X, X, random_state=0, callback=lambda event: heard.append(event.stage))
    assert list(dict.fromkeys(heard)) == ["neighbours", "clusters"]
    with pytest.raises(StoppedByCallbackError, match="'neighbours'"):
        mf.diagnose(X, X, random_state=0, callback=lambda event: True)


def test_memory_is_asked_for_first(rng):
    X, _ = plane(rng)
    with mf.memory_limit("1KiB"), pytest.raises(MemoryLimitError, match="the diagnosis of 300 rows needs about"):
        mf.diagnose(X, X)


def with_nan(Y):
    out = Y.copy()
    out[3, 0] = np.nan
    return out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: {"model_or_Y": X[:-1]}, "model_or_Y has 299 rows and the data has 300"),
        (lambda X: {"model_or_Y": with_nan(X)}, "model_or_Y contains NaN"),
        (lambda X: {"X": with_nan(X)}, "X contains NaN"),
        (lambda X: {"y": np.zeros(299)}, "y must have a label"),
        (lambda X: {"y": np.zeros((300, 2))}, "y has 2 columns"),
        (lambda X: {"clusters": np.arange(300)}, "clusters has 300 different labels"),
        (lambda X: {"clusters": np.arange(299)}, "clusters has 299 labels"),
        (lambda X: {"clusters": "colour"}, "clusters is 'colour', and X has no such column"),
        (lambda X: {"groups": np.zeros(300)}, "groups must hold at least 3 groups"),
        (lambda X: {"level": "usual"}, "level='usual' makes maps of other rows"),
        (lambda X: {"level": "slow"}, "level must be one of"),
        (lambda X: {"alpha": 0.0}, "alpha must be above 0"),
        (lambda X: {"sample": 5}, "sample must be at least 60"),
    ],
)
def test_bad_input_gets_a_sentence(rng, change, message):
    X, _ = plane(rng)
    with pytest.raises(ParameterError, match=message):
        mf.diagnose(**{"model_or_Y": X, "X": X, **change(X)})


def test_other_rows_than_those_of_the_model_are_refused(guided, wine):
    with pytest.raises(ParameterError, match="X has 100 rows and the map has 178"):
        mf.diagnose(guided, wine[0].iloc[:100])


def test_odd_maps_are_judged(rng):
    X, own = plane(rng)
    one = mf.diagnose(X, X, clusters=np.zeros(300), random_state=0)
    assert one.map["arrangement"] == "cannot tell"
    assert one.clusters["size_verdict"].tolist() == ["cannot tell"]
    three = mf.diagnose(X, X, clusters=np.where(np.arange(300) < 3, 9, own), random_state=0)
    assert three.clusters.set_index("name").loc["9", "size_verdict"] == "cannot tell"
    double = np.repeat(X[:100], 3, axis=0)  # each row three times
    assert (mf.diagnose(double, double, random_state=0).rows["verdict"] == "solid").mean() > 0.95
    flat = mf.diagnose(np.zeros((300, 2)), X, random_state=0)
    assert set(flat.rows["verdict"]) <= {"chance", "foreign"}
    same = mf.diagnose(X, X, np.zeros(300), random_state=0)
    assert same.map["earned"] == "cannot tell"
    assert same.map["earned_reason"] == "All rows have the same label."


def test_what_the_guide_of_a_map_has_learned_is_earned():
    """A ball and what is around it: trees and lines know little of it, the support vector machine that guides much."""
    X = np.random.default_rng(0).normal(size=(400, 6))
    y = np.where(np.linalg.norm(X, axis=1) > 2.3, "out", "in")
    X = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    model = mf.GuidedMap(guide="svm", n_trees=60, random_state=0).fit(X, y)
    found = mf.diagnose(model, X, y)
    assert found.map["earned"] == "earned"
    assert found.map["learned"] == pytest.approx(model.guide_score_)
    assert "an RBF SVM" in found.map["earned_reason"]
    with pytest.warns(mf.exceptions.HonestyWarning, match="taken as made out of fold"):
        lying = mf.GuidedMap(n_trees=60, random_state=0).fit(X, y, votes=np.eye(2)[(y == "out").astype(int)])
    assert mf.diagnose(lying, X, y).map["earned"] != "earned"
