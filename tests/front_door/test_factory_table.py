"""A table from a factory: a sentinel, short times, few groups, a target without a value, and what is said of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import manifolia as mf
from cli_helpers import one_sentence, run
from front_door.cases import QUICK
from manifolia.exceptions import ManifoliaWarning
from manifolia.explorer.findings import Learned, Together, findings_of
from manifolia.explorer.row_findings import disagreement_finding
from manifolia.forest.targets import read_target
from manifolia.runs.explanation import Explanation
from manifolia.tables import TablePreparer, read
from manifolia.tables.naming import group_words
from manifolia.tables.survey import _codes
from manifolia.trust.words import chip

N = 240


def factory(n=N):
    rng = np.random.default_rng(0)
    sensor = rng.normal(25.0, 4.0, n).round(2)
    defect = np.where(sensor + rng.normal(0.0, 2.0, n) > 27.0, "crack", "ok").astype(object)
    defect[:6] = None
    sensor[10:20] = -999.0
    return pd.DataFrame(
        {
            "line": rng.choice(list("ABC"), n),
            "batch": [f"B{i:02d}" for i in rng.integers(0, 57, n)],
            "sensor": sensor,
            "pressure": [f"{value:.2f} bar" for value in rng.normal(5.0, 0.3, n)],
            "cycle": [f"{s // 60}m {s % 60:02d}s" for s in rng.integers(10, 119, n)],
            "yield": [f"{value:.1f}%" for value in rng.normal(97.0, 1.5, n)],
            "defect": defect,
        }
    )


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("factory")
    factory().to_csv(folder / "line.csv", index=False)
    done = run("map", folder / "line.csv", "-t", "defect", "-x", "yield", "-o", folder / "run", *QUICK,
               "--set", "n_trees=60")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, done


# --- cells ----------------------------------------------------------------------------------------------------------


def test_a_number_that_may_mean_missing_is_named_and_not_taken_away(mapped, tmp_path):
    folder, done = mapped
    told = "'sensor' (-999 in 10 rows, the nearest other is"
    assert f"Note: One number comes again and again, far from all others: {told}" in done.stderr
    assert "If it means “missing”, pass --na -999." in done.stderr
    again = run("map", folder / "line.csv", "-t", "defect", "--na", "-999", "-o", tmp_path / "run", *QUICK)
    assert "Missing values stay missing: 'sensor' (10 rows)" in again.stderr
    assert "again and again" not in again.stderr
    frame = factory()
    assert read(frame, na_values=["-999"]).features["sensor"].isna().sum() == 10


def column(*codes, rest):
    return np.concatenate([rest, codes])[:, np.newaxis].astype(np.float64)


@pytest.mark.parametrize(
    ("codes", "rest", "found"),
    [
        ([-999.0] * 3, np.arange(20), -999.0),
        ([9999.0] * 5, np.linspace(0, 90, 30), 9999.0),
        ([0.0] * 4, np.arange(1990, 2020), 0.0),  # a year
        ([-999.0] * 2, np.arange(20), None),  # twice may be an outlier
        ([-999.0] * 30, np.arange(20), None),  # most rows have it
        ([-999.0] * 3, np.arange(1000.0), None),  # the others are as far from one another
        ([9.0] * 5, np.arange(4), None),  # an answer beside few others
        ([-999.0, -999.0, -998.0], np.arange(20), None),  # not one number
        ([np.nan] * 5, np.arange(20), None),
    ],
)
def test_which_numbers_are_taken_for_codes(codes, rest, found):
    codes_found = _codes(column(*codes, rest=rest))
    assert [code.value for code in codes_found.values()] == ([] if found is None else [found])
    if found is not None:
        assert codes_found[0].n_rows == len(codes)
        assert codes_found[0].next == rest[np.argmin(np.abs(rest - found))]


def test_ordinary_columns_are_not_called_codes(rng):
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

    for bundled in (load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine):
        assert _codes(bundled().data) == {}, bundled.__name__
    drawn = np.column_stack([rng.poisson(0.2, 500), rng.lognormal(0, 2, 500).round(1), rng.integers(0, 2, 500)])
    assert _codes(drawn.astype(np.float64)) == {}


def test_short_times_are_seconds_and_new_rows_say_what_they_lack(mapped, tmp_path):
    folder, done = mapped
    assert "s', as seconds)" in done.stderr
    opened = mf.open_run(folder / "run")
    frame = factory()
    parts = frame["cycle"].str.extract(r"(\d+)m (\d+)s").astype(int)
    place = opened.model[0].get_feature_names_out().tolist().index("cycle")
    np.testing.assert_array_equal(opened.rows[:, place], 60 * parts[0] + parts[1])
    reasons = opened.explain(30, top=20).reasons.set_index("column")["value"]
    assert reasons[["cycle", "pressure"]].tolist() == frame.loc[30, ["cycle", "pressure"]].tolist()
    bare = frame.head(4).assign(pressure=5.1, cycle=81)
    with pytest.warns(
        ManifoliaWarning, match=r"plain numbers: 'pressure' \(bar\) and 'cycle' \(seconds\); each is tak"
    ):
        opened.transform(bare)


def test_a_comma_that_splits_a_text_in_many_lines(tmp_path):
    path = tmp_path / "line.csv"
    lines = [f"{i},restarted, pressure low,{i % 7}" if i % 5 == 2 else f"{i},,{i % 7}" for i in range(50)]
    path.write_text("\n".join(["a,comment,b", *lines]), encoding="utf-8")
    said = one_sentence(run("map", path, "-o", tmp_path / "run", *QUICK))
    assert (
        "line 4: 4 fields where 3 are expected. 9 more lines are so, and all hold 'restarted, pressure low'. " in said
    )
    path.write_text("\n".join(["a,b", "1,2", "1,2,3", "1", "4,5"]), encoding="utf-8")
    said = one_sentence(run("map", path, "-o", tmp_path / "run", *QUICK))
    assert "line 3: 3 fields where 2 are expected. 1 more line is so. " in said


def test_columns_of_one_name_are_called_as_pandas_calls_them(tmp_path):
    path = tmp_path / "twice.csv"
    rows = "\n".join(f"{i % 7},{i % 5},{i % 3},{'ab'[i % 2]}" for i in range(40))
    path.write_text(f"sensor,sensor,other,kind\n{rows}", encoding="utf-8")
    made = mf.map(path, "kind", n_trees=10, parts=None, importance=False)
    np.testing.assert_array_equal(made.transform(pd.read_csv(path)).iloc[:, :2], made.transform(path).iloc[:, :2])


# --- targets --------------------------------------------------------------------------------------------------------


def test_a_part_without_an_entry_has_no_value_and_not_no_defect(mapped):
    assert (
        "In 6 of 240 rows 'defect' has no value: they are placed, and nothing is learned from them." in mapped[1].stderr
    )


def test_texts_that_read_as_numbers_and_are_made_classes_are_named():
    texts = factory()["yield"]
    with pytest.warns(ManifoliaWarning, match=r"read as numbers, such as '.*%', and each of the") as said:
        read_target(texts, N)
    assert f"each of the {texts.nunique()} different ones is taken as a class" in str(said[0].message)
    read_target(np.array([f"{i % 26}" for i in range(N)]), N)  # names of classes may well be whole numbers
    read_target(np.array([f"{i % 20}.5" for i in range(N)]), N)  # which are few


def guesses_of(groups, y):
    """All that is said where the forest's guesses are right in rows of two of three groups."""
    predicted = np.where((groups == 2) ^ (np.arange(len(y)) % 10 == 0), np.where(y == "a", "b", "a"), y)
    learned = Learned(float((y == predicted).mean()), 0.0, classes=True, together=Together(groups, "line", "lines"))
    line = np.column_stack([np.arange(len(y), dtype=float), np.zeros(len(y))])
    known = {"target": "kind", "y": y, "importances": {"u": (0.5, 0.01)}, "purpose": "kind", "predicted": predicted}
    return [one.text for one in findings_of(line, list(map(str, range(len(y)))), learned=learned, **known)]


def test_three_groups_leave_it_open_and_nothing_says_otherwise():
    y = np.array(list("aabb") * 45, dtype=object)
    said = guesses_of(np.repeat([0, 1, 2], [70, 80, 30]), y)
    assert said[0] == (
        "Whether any column matters for kind cannot be told: on rows of lines it was not trained on, the forest "
        "guesses better than chance if each row counts by itself, and with 3 lines that may be chance."
    )
    assert said[-1].endswith("with 3 lines its guesses may be right by chance.")
    assert "no better than chance" not in " ".join(said)
    assert "tell little" not in " ".join(said)


def test_what_tells_little_is_said_beside_what_it_hangs_on(rng):
    y = rng.choice(list("abcdefgh"), 800)
    predicted = np.where(rng.random(800) < 0.1, y, rng.permutation(y))
    line = np.column_stack([np.arange(800.0), np.zeros(800)])
    known = {"target": "kind", "y": y, "importances": {"u": (0.5, 0.01)}, "purpose": "kind", "predicted": predicted}
    learned = Learned(float((y == predicted).mean()), 0.0, classes=True)
    said = [one.text for one in findings_of(line, list(map(str, range(800))), learned=learned, **known)]
    assert said[0] == "What matters most for kind, of which the forest's guesses tell little: u (100%)."
    assert said[-1].endswith("its guesses tell little of kind.")


def test_an_earned_map_of_little_says_so():
    from manifolia.trust.earning import Evidence, judge_signal
    from manifolia.trust.held_out import HeldOut

    rng = np.random.default_rng(0)
    y = rng.integers(0, 100, 4000)
    said = np.eye(100)[np.where(rng.random(4000) < 0.04, y, rng.permutation(y))]
    found = judge_signal(Evidence(y, list(map(str, range(100))), said, [HeldOut("the forest", said)]), 0.05)
    assert found.verdict == "earned"
    assert found.little
    assert found.reason.endswith("the map shows no more than was learned, which is little.")
    about = {"share_solid": 0.5, "earned": "earned", "learned_little": True, "arrangement": "cannot tell"}
    empty = pd.DataFrame({"size_verdict": [], "verdict": []})
    assert chip(about, empty, empty, []).endswith("target earned, but little was learned of it")
    few = judge_signal(Evidence(y % 2, ["a", "b"], said[:, :2], [HeldOut("the forest", said[:, :2])], y % 57), 0.05)
    assert few.reason == "57 groups are too few to tell a target from a shuffled one: it takes 60."


def test_guide_and_forest_are_told_apart_and_asked_about_labelled_rows_alone():
    learned = Learned(0.9, 0.0, classes=True, knower="discriminant analysis", forest_score=0.8)
    guide, forest = np.array(list("aabb")), np.array(list("bbbb"))
    labels = np.array([None, "a", "b", "b"], dtype=object)
    found = disagreement_finding(guide, forest, learned, "comment", list("pqrs"), labels)
    assert found.text == (
        "Discriminant analysis and the forest disagree about the comment of 1 of 3 labelled rows: "
        "q (guide: a, forest: b)."
    )
    assert found.rows == (1,)
    found = disagreement_finding(guide, guide, learned, "comment", list("pqrs"), labels)
    assert found.text.endswith("would guess the same comment for every labelled row.")
    mixed = learned._replace(knower="a mixture of an RBF SVM and the forest")
    text = disagreement_finding(guide, forest, mixed, "comment", list("pqrs"), labels).text
    assert text.startswith(
        "A mixture of an RBF SVM and the forest, and the forest by itself, disagree about the comment"
    )


# --- Python habits --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.HonestyWarning")  # of 117 rows
def test_searches_need_no_scoring():
    frame = factory().dropna(subset="defect").reset_index(drop=True)
    X, y = frame[["line", "sensor", "cycle"]], frame["defect"]
    model = make_pipeline(TablePreparer(), mf.GuidedMap(n_trees=40, random_state=0))
    scores = cross_val_score(model, X, y, cv=2)
    assert (scores > 0.6).all()
    assert GridSearchCV(model, {"guidedmap__n_trees": [40, 60]}, cv=2).fit(X, y).best_score_ > 0.6
    model.fit(X, y)
    assert model.score(X, y) == (model.predict(X) == y).mean()
    some = y.where(np.arange(len(y)) % 3 > 0)
    assert model[-1].score(model[0].transform(X), some) == (model.predict(X) == y)[some.notna()].mean()
    weights = np.arange(1.0, len(y) + 1)
    right = (model.predict(X) == y).to_numpy()
    assert model[-1].score(model[0].transform(X), y, weights) == pytest.approx(np.average(right, weights=weights))
    numbers = mf.GuidedMap(n_trees=40, random_state=0).fit(frame[["sensor"]], frame["sensor"] * 2.0)
    from sklearn.metrics import r2_score

    assert numbers.score(frame[["sensor"]], frame["sensor"] * 2.0) == r2_score(
        frame["sensor"] * 2.0, numbers.predict(frame[["sensor"]])
    )
    unguided = mf.GuidedMap(n_trees=5, task="unsupervised", random_state=0)
    assert not hasattr(unguided, "score")


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("batch", "batches"),
        ("box", "boxes"),
        ("city", "cities"),
        ("day", "days"),
        ("wash", "washes"),
        ("line", "lines"),
    ],
)
def test_groups_have_their_plural(one, several):
    assert group_words(one) == (one, several)


def test_a_single_other_class_has_its_name():
    votes = {"defect": {"ok": 0.5, "crack": 0.3, "leak": 0.19, "scratch": 0.01}}
    explained = Explanation({"row": 1}, pd.DataFrame({"a": [], "b": [], "c": []}), votes, pd.DataFrame(), "", "")
    assert any(line.endswith("ok 50%, crack 30%, leak 19%, scratch 1%") for line in explained.lines())
    votes["defect"] |= {"scratch": 0.006, "bent": 0.004}
    assert any(line.endswith("leak 19%, others 1%") for line in explained.lines())


def test_info_leaves_out_what_is_no_setting_of_the_map(mapped):
    told = run("info", mapped[0] / "run").stdout
    assert "n_trees" in told
    assert "callback" not in told
    losses = json.loads((mapped[0] / "run" / "report.json").read_text(encoding="utf-8"))["guide"]["losses"]
    assert {"forest", "discriminant analysis"} <= set(losses)  # also where the forest guides


def test_diagnose_says_what_is_in_a_cluster(mapped):
    done = run("diagnose", mapped[0] / "run", "--clusters", "line")
    lines = done.stdout.splitlines()
    opened = mf.open_run(mapped[0] / "run").coordinates
    for name in "ABC":
        labels = opened["defect"][(factory()["line"] == name).to_numpy()].dropna()
        share = (labels == "ok").mean()
        own = next(line for line in lines if line.startswith(f"  {name} "))
        assert own.endswith(f"defect {'ok' if share > 0.5 else 'crack'} {max(share, 1 - share):.0%}")
    assert sum("cannot tell. A map of forest proximities" in line for line in lines) == 1
    shown = lines[lines.index("Rows to look at") + 1 :] if "Rows to look at" in lines else []
    assert len(shown) <= 6
