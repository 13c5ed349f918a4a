"""Nothing false: every number and every verdict in every sentence is computed a second time, on tables of all kinds.

A sentence that nobody here knows how to check is a failure too.
"""

from __future__ import annotations

import json
import os
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from cli_helpers import run as command
from manifolia.runs import Request, make_run, write_run
from manifolia.tables import read
from runs.made_tables import MAKERS, REAL
from runs.second_opinion import POINT, Opinion, keys, percent

QUICK = (
    "two_classes", "whole_codes_with_gaps", "numbers_to_learn", "many_classes", "codes_on_a_guided_map", "twelve_rows",
)  # fmt: skip
N_TREES = 80


def opinion_of(make, seed):
    made = make(np.random.default_rng(seed))
    settings = {} if made.options.get("method") in ("phate", "pca") or not made.target else {"n_trees": N_TREES}
    if made.options.get("method") == "rf-phate":
        settings = {"n_trees": N_TREES}
    request = Request(target=made.target, settings=settings, parts=None, importance=True, **made.options)
    return Opinion(made, make_run(read(made.frame), request))


def items(told):
    """What is said of each column: ``'a' (3 rows) and 'b' (1 row)``."""
    return dict(re.findall(r"'([^']+)'(?: \((.*?)\))?(?=, '| and '| and \d+ more|$)", told))


def check_note(opinion, note):
    made, features = opinion.made, opinion.features
    used = set(opinion.used)
    taken = re.fullmatch(
        r"(\S+) taken as (classes|numbers) \((\w+)\); task='(\w+)' takes them as (classes|numbers)\.", note
    )
    if taken:
        name, kind, task, other, otherwise = taken.groups()
        values = made.frame[name].dropna()
        assert (values % 1 == 0).all()
        assert kind == ("classes" if values.nunique() <= 20 else "numbers")
        assert {kind: task, otherwise: other} == {"classes": "classification", "numbers": "regression"}
        assert opinion.run.report["target"]["task"] == task
        return
    for begin, check in {
        "Left out, because all rows have the same value: ":
            lambda name, told: features[name].nunique() == 1 and not features[name].isna().any(),
        "Left out, because no row has a value: ": lambda name, told: features[name].isna().all(),
        "Left out, because there are too many different texts to be categories: ":
            lambda name, told: opinion.kinds[name] == "left" and told.startswith(
                f"{features[name].nunique():,} different texts in {features[name].notna().sum():,} rows"),
        "Categories, one column of 0 and 1 for each level: ":
            lambda name, told: told == f"{features[name].nunique()} levels" and opinion.kinds[name] == "category",
        "The other levels share the column 'other': ":
            lambda name, told: told == f"{features[name].nunique() - 29} of {features[name].nunique()} levels",
        "Texts, as features of their words: ":
            lambda name, told: told.startswith(f"{(opinion.sources == name).sum()} features, such as '")
            and told[:-1].split("'")[1] in " ".join(features[name].dropna()).lower(),
        "Dates, as days since the earliest: ": lambda name, told: told == f"since {features[name].min().date()}",
        "Taken as numbers: ":
            lambda name, told: re.search(r"amounts in \$ such as '(.+)'", told)[1] in set(features[name]),
        "Used as a number, though it looks like a row's number: ":
            lambda name, told: features[name].is_unique and (features[name] % 1 == 0).all(),
        "Missing values stay missing: ": lambda name, told: told.split()[0] == f"{features[name].isna().sum():,}",
        "Missing values are filled by the median or the most frequent level, and a further column marks them: ":
            lambda name, told: told.split()[0] == f"{features[name].isna().sum():,}",
        "Shifted and scaled, because single precision, in which trees compare, cannot hold the numbers as they are: ":
            lambda name, told: len(np.unique(features[name].to_numpy(np.float32))) < len(np.unique(features[name])) / 2,
        "Taken as categories, because there are texts among the numbers: ":
            lambda name, told: told.startswith(
                f"numbers in {pd.to_numeric(features[name], errors='coerce').notna().mean():.0%} of its values"),
    }.items():  # fmt: skip
        if note.startswith(begin):
            told = re.split(r"\. (?=Pass |If |Such )|\.$", note.removeprefix(begin))[0]
            found = items(told)
            assert found, note
            for name, detail in found.items():
                assert check(name, detail), (note, name, detail)
                assert (name in used) != begin.startswith("Left out"), note
            return
    copied = re.match(r"'(\w+)' holds the same as '(\w+)': ", note)
    if copied:
        first, second = (pd.factorize(features[name])[0] for name in copied.groups())
        assert (first == second).all(), note
        return
    twice = re.match(r"([\d,]+) of ([\d,]+) rows repeat an earlier row in every column that is used", note)
    if twice:
        counts = [int(text.replace(",", "")) for text in twice.groups()]
        assert counts == [features[sorted(used)].duplicated().sum(), len(features)], note
        return
    if note.startswith("Numbers are standardised"):
        rows = opinion.run.rows
        numeric = [j for j in range(rows.shape[1]) if len(np.unique(rows[:, j])) > 2]
        np.testing.assert_allclose(rows[:, numeric].mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(rows[:, numeric].std(axis=0), 1, rtol=1e-9)
        return
    coloured = re.fullmatch(r"(.+) takes no target: (.+) colours the map, and does not guide it\.", note)
    if coloured:
        assert not hasattr(opinion.method, "forest_")
        assert coloured[2] == made.target[0]
        return
    unlabelled = re.fullmatch(
        r"In (\d+) of (\d+) rows .+ has no value: (?:it is|they are) placed, and nothing is learned from (?:it|them)\.",
        note,
    )
    if unlabelled:
        gaps = made.frame[list(made.target)].isna().any(axis=1)
        assert [int(unlabelled[1]), int(unlabelled[2])] == [gaps.sum(), len(gaps)]
        return
    chosen = re.fullmatch(
        r"(?:The forest guides the map|The map is guided by (.+?))\. (Brier score|Squared error, of the variance,) on "
        r"rows that were left out: (.+?)\.(?: The lead of (.+) is within one standard error, or below 0\.001, which "
        r"is a tie\.)?(?: In the mixture: (.+?)\.)?(?: Not tried: .+\.)?", note,
    )  # fmt: skip
    if chosen:
        opinion.check_choice(*chosen.groups())
        return
    unlabelled = re.fullmatch(
        r"([\d,]+) of ([\d,]+) rows ha(?:s|ve) no (.+): (?:it is|they are) placed, and nothing is learned from "
        r"(?:it|them)\.", note,
    )  # fmt: skip
    if unlabelled:
        counted = [int(text.replace(",", "")) for text in unlabelled.groups()[:2]]
        assert counted == [(~opinion.known).sum(), len(opinion.known)]
        assert unlabelled[3] in (opinion.name, "value in at least one of the targets")
        return
    unseen = re.match(r"([\d,]+) rows? (?:is|are) of a class that the guide's model for it has not seen", note)
    if unseen:
        counts = pd.Series(opinion.labels[opinion.known, 0]).value_counts()
        assert int(unseen[1].replace(",", "")) == (counts == 1).sum()
        return
    unearned = re.fullmatch(
        r"the map separates the target better \((-?[\d.]+), by the (\d+) nearest rows\) than "
        rf"{opinion.knower} can tell it on "
        r"rows it was not trained on \((-?[\d.]+)\): part of the separation is not earned\.", note,
    )  # fmt: skip
    assert unearned, f"nobody checks: {note}"
    assert abs(float(unearned[1]) - opinion.shown) < 0.02
    assert int(unearned[2]) == min(10, opinion.known.sum() - 1)
    assert abs(float(unearned[3]) - opinion.learned) < 0.01
    assert opinion.shown > max(opinion.learned, opinion.blind if opinion.classes else 0)


def notes_of(done):
    return [line.removeprefix("Note: ") for line in done.stderr.splitlines() if line.startswith("Note: ")]


def check_transform(opinion, folder, tmp_path):
    """New rows: what is said of them, against what the model itself says and what their table holds."""
    made, report = opinion.made, opinion.run.report
    made.new.to_csv(tmp_path / "new.csv", index=False)
    done = command("transform", folder, tmp_path / "new.csv", "-o", tmp_path / "placed.csv")
    assert done.returncode == 0, done.stderr
    placed = pd.read_csv(tmp_path / "placed.csv")
    lines = [line.strip().removeprefix("- ") for line in done.stdout.splitlines()]
    assert lines.pop(0) == f"{len(made.new)} rows placed: {tmp_path / 'placed.csv'}"
    unseen = {
        name: ~made.new[name].isin(made.frame[name].dropna()) & made.new[name].notna()
        for name in opinion.used if opinion.kinds[name] == "category"
    }  # fmt: skip
    said_by = f"The predictions of {opinion.guide}" if opinion.guide else "The forest's predictions"
    for line in lines:
        novel = re.fullmatch(
            r"(\d+|None) of them looks? unlike the rows of the map \(novelty of at least ([\d.]+), as ([\d.]+%) of "
            r"rows like those have\)\.", line,
        )  # fmt: skip
        right = re.match(
            rf"{said_by} are right about (?:([\d.]+%) of|all|none of|(?P<count>\d+) of)(?: the)? (?P<n>\d+) "
            r"rows whose (.+) is in",
            line,
        )
        explained = re.match(rf"{said_by} explain ([\d.]+%|none \(R² is (.+)\)) of the variance", line)
        like = re.fullmatch(
            r"But (\d+) rows? looks? to the forest exactly like rows of the fit, whose answers it has seen\.", line
        )
        if novel:
            assert int(novel[1].replace("None", "0")) == (placed["novelty"] >= float(novel[2]) - 0.0005).sum()
            own = opinion.run.coordinates["novelty"]
            assert abs(percent(novel[3]) - (own >= float(novel[2]) - 0.0005).mean()) < 0.0005 + 4 / len(own)
        elif right:
            name = made.target[0]
            labels, guesses = keys(made.new[name]), keys(placed[f"predicted {name}"])
            asked = made.new[name].notna().to_numpy() & np.isin(labels, keys(made.frame[name].dropna()))
            n, hits = int(right["n"]), int((labels == guesses)[asked].sum())
            assert n == asked.sum()
            if right[1]:
                assert abs(percent(right[1]) - hits / n) < 0.00051
            else:
                assert right["count"] == str(hits) if right["count"] else hits == (n if "about all" in line else 0)
            strange = set(labels[made.new[name].notna().to_numpy() & ~asked])
            assert ("Not counted" in line) == bool(strange)
            assert all(repr(value) in line for value in strange)
        elif explained:
            name = made.target[0]
            truth, guesses = made.new[name].to_numpy(dtype=float), placed[f"predicted {name}"].to_numpy()
            known = ~np.isnan(truth)
            share = 1 - ((truth - guesses)[known] ** 2).sum() / ((truth[known] - truth[known].mean()) ** 2).sum()
            assert share <= 0 if explained[2] else abs(percent(explained[1]) - share) < 0.00051
            assert f"in the {known.sum()} rows of the file" in line
        elif like:
            forest, prepared = opinion.method.forest_, opinion.run.model[0]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                new = prepared.transform(made.new.drop(columns=list(made.target)))
            seen = {tuple(leaves) for leaves in forest.apply(opinion.run.rows)}
            assert int(like[1]) == sum(tuple(leaves) in seen for leaves in forest.apply(new))
        elif line.startswith("Novelty does not see"):
            count = int(np.any(list(unseen.values()), axis=0).sum())
            rows = "row has" if count == 1 else "rows have"
            assert line == f"Novelty does not see levels that were not in the fit: {count} {rows} such."
        else:
            assert line.startswith("The predictions are not compared"), f"nobody checks: {line}"
            name = made.target[0]
            assert not set(keys(made.new[name].dropna())) & set(keys(made.frame[name].dropna()))
    for note in notes_of(done):
        total = sum(max(entry["importance"], 0) for entry in report["importances"])
        shares = {entry["column"]: entry["importance"] / total for entry in report["importances"]}
        matters = re.match(
            r"(\d+) rows? ha\w+ (?:a level|levels) of '(.+)' that fit did not see\. .* carries (\d+%)", note
        )
        some = re.match(r"([\d,]+) of ([\d,]+) rows (?:have values|has a value) of '(.+)' that fit did not see: ", note)
        filled = re.match(r"Missing values in columns that were complete at fit are filled .*: (.+)\.", note)
        if matters:
            assert int(matters[1]) == unseen[matters[2]].sum()
            assert abs(percent(matters[3]) - shares[matters[2]]) < POINT
        elif some:
            assert (int(some[1]), int(some[2])) == (unseen[some[3]].sum(), len(made.new))
        elif filled:
            for name, told in items(filled[1]).items():
                assert not made.frame[name].isna().any()
                assert told.split()[0] == str(made.new[name].isna().sum())
        else:
            raise AssertionError(f"nobody checks: {note}")


def check_explain(opinion, folder):
    """Importances are the report's; a row's reasons are what moving it shows; those like it are its proximities."""
    report, method = opinion.run.report, opinion.method
    listed = json.loads(command("explain", folder, "--json").stdout)["importances"]
    assert listed == [dict(entry) for entry in report["importances"]]
    if not hasattr(method, "transform"):
        return
    row = 3
    done = command("explain", folder, "--row", row, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows, sources = np.array(opinion.run.rows), opinion.sources
    spread = np.sqrt(opinion.Y.var(axis=0).sum())
    here = np.asarray(method.transform(rows[[row]]))
    for reason in told["reasons"][:3]:
        # Other values from low to high: those at the middles of four equal parts of the sorted column.
        own = np.flatnonzero(sources == reason["column"])
        key = rows[:, own[0]] if len(own) == 1 else rows[:, own].argmax(axis=1)
        donors = np.argsort(key, kind="stable")[((np.arange(4) + 0.5) / 4 * len(rows)).astype(int)]
        tried = np.repeat(rows[[row]], 4, axis=0)
        tried[:, own] = rows[donors][:, own]
        counted = (np.linalg.norm(np.asarray(method.transform(tried)) - here, axis=1) / spread).mean()
        if hasattr(method, "feature_gradients"):  # Eq. (4) of FeatureMAP tells it without moving the row
            counted = np.linalg.norm(method.feature_importance(rows=[row])[0, own])
        if hasattr(method, "feature_effects"):  # Shapley values; those of players of several columns are not their sum
            counted = reason["weight"]
            if len(set(sources)) == len(sources):
                counted = np.linalg.norm(method.feature_effects(None)[row, own[0]]) / spread
        assert reason["weight"] == pytest.approx(counted, rel=1e-6, abs=1e-9), reason
        raw, said = opinion.features[reason["column"]].iloc[row], reason["value"]
        if pd.isna(raw):
            assert said is None
        elif isinstance(raw, pd.Timestamp):
            assert pd.Timestamp(said) == raw
        elif isinstance(raw, str):
            assert said == raw
        else:
            assert said == pytest.approx(raw, rel=1e-6, abs=0.0)  # the page has seven digits
    voted = hasattr(method, "forest_") and opinion.made.target and opinion.classes
    assert set(told["votes"]) == (set(opinion.made.target) if voted else set())
    for j, name in enumerate(told["votes"]):
        shares = dict(zip(opinion.class_names[j], opinion.votes[j][row], strict=True))
        assert told["votes"][name] == {label: pytest.approx(share) for label, share in shares.items() if share > 0}
    if hasattr(method, "forest_") and opinion.made.target:
        leaves, bags = method.forest_.apply(rows), opinion.bags
        out = bags[:, row] == 0
        near = (leaves[:, out] == leaves[row, out]).T * bags[out]
        proximity = np.mean(near / np.maximum(near.sum(axis=1, keepdims=True), 1), axis=0)
        names = opinion.run.coordinates["row"].astype(str).tolist()
        for like in told["like"]:
            assert abs(like["proximity"] - proximity[names.index(like["row"])]) < 1e-9
        assert told["like"][0]["proximity"] == pytest.approx(np.delete(proximity, row).max())


def check_everything(make, seed, tmp_path):
    opinion = opinion_of(make, seed)
    report = opinion.run.report
    assert report["findings"]
    for finding in report["findings"]:
        opinion.check_finding(finding["text"])
    opinion.check_silence([finding["text"] for finding in report["findings"]])
    for note in report["notes"]:
        check_note(opinion, note)
    json.dumps(report, allow_nan=False)
    folder = tmp_path / "run"
    write_run(opinion.run, folder)
    if (folder / "model.mfa").is_file():
        check_explain(opinion, folder)
        if opinion.made.new is not None:
            check_transform(opinion, folder, tmp_path)


@pytest.mark.parametrize("name", QUICK)
def test_what_is_said_of_a_table_is_true(name, tmp_path):
    check_everything(MAKERS[name], 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [10, 100])
@pytest.mark.parametrize("name", MAKERS)
def test_what_is_said_of_any_table_is_true(name, seed, tmp_path):
    check_everything(MAKERS[name], seed, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif("MANIFOLIA_DATA" not in os.environ, reason="the data sets are not here")
@pytest.mark.parametrize("name", REAL)
def test_what_is_said_of_a_real_table_is_true(name, tmp_path):
    check_everything(REAL[name], 0, tmp_path)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_what_is_said_of_rows_that_belong_together_is_true(kind):
    """Both figures of the forest, the neighbours' share and the counts, by hand."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 6)
    X = rng.normal(size=(50, 5))[groups] + 0.1 * rng.normal(size=(300, 5))
    label = np.array(["ill", "well"])[rng.permutation(50) % 2] if kind == "classes" else rng.normal(size=50)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(patient=groups, state=label[groups])
    request = Request(target=("state",), groups="patient", method="rf-phate", settings={"n_trees": N_TREES}, parts=None)
    run = make_run(read(frame), request)
    forest, y = run.model[-1].forest_, frame["state"].to_numpy()
    counts = forest.in_bag_counts_
    assert (counts.reshape(-1, 50, 6) == counts[:, ::6, None]).all()

    def score(guess):
        return np.mean(guess == y) if kind == "classes" else 1 - ((guess - y) ** 2).mean() / y.var()

    total, asked = 0.0, (counts == 0).sum(axis=0)
    for tree, drawn in zip(forest.estimators_, counts, strict=True):
        says = tree.predict_proba(run.rows) if kind == "classes" else tree.predict(run.rows)[:, None]
        total = total + says * (drawn == 0)[:, None]
    assert asked.min() > 0
    learned = score(forest.classes_[total.argmax(axis=1)] if kind == "classes" else total[:, 0] / asked)
    Y = run.coordinates[["map_x", "map_y"]].to_numpy()
    D = np.linalg.norm(Y[:, None] - Y, axis=2)
    D[groups[:, None] == groups] = np.inf
    near = y[np.argsort(D, axis=1)[:, :10]]
    if kind == "numbers":
        shown = score(near.mean(axis=1))
    else:
        well = (near == "well").sum(axis=1)
        shown = score(np.where(well == 5, near[:, 0], np.where(well > 5, "well", "ill")))  # the nearest decides a tie
    texts = [finding["text"] for finding in run.report["findings"]]
    both = re.search(r"By rows (\d+%)[^,]*, by patients (\d+%): the difference is recognition", " ".join(texts))
    assert abs(percent(both[2]) - max(learned, 0)) < POINT
    assert percent(both[1]) > percent(both[2]) + 0.2
    neighbours = next(text for text in texts if "of other patients" in text)
    told = [percent(one) for one in re.findall(r"\d+%", neighbours)]
    assert abs(told[0] - max(shown, 0)) < POINT
    assert abs(told[-1] - max(learned, 0)) < POINT
    assert "on rows of patients" in neighbours or "of rows of patients" in neighbours
    assert run.report["groups"] == {"column": "patient", "count": 50}
