"""``map --near``, ``compare`` and ``transform --report --fail-on drift``: the road from one week to the next."""

import json

import numpy as np
import pandas as pd
import pytest

import manifolia as mf

SETTINGS = ("--guide", "forest", "--no-importance", "--no-explain", "--set", "n_trees=30")


def _frame(n, seed, first=0, shift=0.0):
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    return pd.DataFrame({
        "id": [f"p{i}" for i in range(first, first + n)], "size": size + shift, "kind": rng.choice(list("abc"), n),
        "weight": rng.normal(size=n), "target": np.where(size + 0.3 * rng.normal(size=n) > 0, "x", "y"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def week(tmp_path_factory, manifolia):
    """The run of an earlier week, and its table."""
    folder = tmp_path_factory.mktemp("weeks")
    frame = _frame(200, 0)
    frame.to_csv(folder / "old.csv", index=False)
    done = manifolia("map", folder / "old.csv", "-t", "target", "--key", "id", *SETTINGS, "-o", folder / "old")
    assert done.returncode == 0, done.stderr
    return folder, frame


def test_the_next_week_lies_as_the_last_and_is_compared(week, manifolia):
    folder, frame = week
    pd.concat([frame[20:], _frame(30, 1, first=200)]).to_csv(folder / "next.csv", index=False)
    done = manifolia(
        "map", folder / "next.csv", "-t", "target", "--key", "id", *SETTINGS, "--near", folder / "old", "-o",
        folder / "next",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "180 rows are held near where an earlier map has them, found by key; 30 are free." in done.stderr
    run = mf.open_run(folder / "next")
    assert run.report["near"] == {"rows": 180, "found_by": "key", "strength": 1.0}
    assert run.model[-1].near_.n_shared == 180
    done = manifolia("compare", folder / "old", folder / "next", "-o", folder / "both.html", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["map"]["n_shared"] == 180
    assert told["map"]["moved"] < 1.0
    assert told["page"] == str(folder / "both.html")
    assert "old and next" in (folder / "both.html").read_text(encoding="utf-8")
    again = manifolia("compare", folder / "old", folder / "next", "-o", folder / "both.html")
    assert again.returncode == 1
    assert "is there already" in again.stderr
    shown = manifolia("compare", folder / "old", folder / "next")
    assert "- Both maps have 180 rows; 20 are in the first alone and 30 in the second alone." in shown.stdout


def test_rows_without_a_key_are_found_by_what_they_hold(week, manifolia):
    frame = week[1]
    one = mf.map(frame.drop(columns="id"), "target", n_trees=20, guide="forest", importance=False, parts=None)
    more = pd.concat([frame[50:], _frame(30, 1)]).drop(columns="id").reset_index(drop=True)
    two = mf.map(more, "target", n_trees=20, guide="forest", importance=False, parts=None, near=one)
    assert two.report["near"] == {"rows": 150, "found_by": "equality", "strength": 1.0}
    named = frame.set_index("id")
    one = mf.map(named, "target", n_trees=20, guide="forest", importance=False, parts=None)
    changed = named.assign(weight=named["weight"] + 1.0)
    two = mf.map(changed, "target", n_trees=20, guide="forest", importance=False, parts=None, near=one)
    assert two.report["near"]["found_by"] == "index"
    assert two.report["near"]["rows"] == 200


def test_what_cannot_be_near_is_a_sentence(week, manifolia):
    folder, _ = week
    _frame(50, 3, first=900).to_csv(folder / "other.csv", index=False)
    common = (folder / "other.csv", "-t", "target", *SETTINGS[:-2], "--near", folder / "old", "-o", folder / "x")
    for more, told in (
        (("--key", "id"), "near shares no row with the table"),
        (("-x", "id"), "near shares no row with the table"),
        (("-m", "forest-map"), "is for maps by"),
        (("--near-strength", "-1"), "near-strength"),
        (("--set", "n_components=3"), "near has 2 dimensions and n_components is 3"),
    ):
        arguments = [one for one in common if more[0] != "-m" or one not in ("--guide", "forest")]
        done = manifolia("map", *arguments, *more)
        assert done.returncode in (1, 2), more
        assert told in done.stderr, more
    assert not (folder / "x").exists()


def test_a_batch_that_has_drifted_ends_with_three(week, manifolia):
    folder, _ = week
    _frame(80, 5, first=500).to_csv(folder / "same.csv", index=False)
    changed = _frame(80, 6, first=600, shift=1.5)
    changed.loc[:9, "kind"] = "z"
    changed.loc[:4, "target"] = "new"
    changed.to_csv(folder / "drifted.csv", index=False)
    quiet = manifolia(
        "transform", folder / "old", folder / "same.csv", "-o", folder / "s.csv", "--report", folder / "same.html",
        "--fail-on", "drift",
    )  # fmt: skip
    assert quiet.returncode == 0, quiet.stderr
    assert "Nothing says that these 80 rows come from elsewhere" in quiet.stdout
    loud = manifolia(
        "transform", folder / "old", folder / "drifted.csv", "-o", folder / "d.csv", "--report", folder / "d.html",
        "--fail-on", "drift", "--json",
    )  # fmt: skip
    assert loud.returncode == 3
    told = json.loads(loud.stdout)["drift"]
    assert told["alarm"] is True
    texts = " ".join(one["text"] for one in told["findings"])
    assert "size: its mean is" in texts
    assert "5 rows have classes that the map does not know: new." in texts
    assert {line["column"]: line["unknown"] for line in told["columns"]}["kind"] == 10
    page = (folder / "d.html").read_text(encoding="utf-8")
    assert "These 80 rows do not come from where those of the map came from" in page
    assert "<script" not in page
    assert page.count('class="new"') == 80
    assert (folder / "d.csv").exists()
    without = manifolia("transform", folder / "old", folder / "drifted.csv", "-o", folder / "e.csv")
    assert without.returncode == 0


def test_runs_without_names_are_not_compared_by_chance(week, manifolia):
    folder, frame = week
    for name, rows in (("a", frame[:100]), ("b", frame[:90])):
        rows.drop(columns="id").to_csv(folder / f"{name}.csv", index=False)
        assert manifolia("map", folder / f"{name}.csv", "-t", "target", *SETTINGS, "-o", folder / name).returncode == 0
    done = manifolia("compare", folder / "a", folder / "b")
    assert done.returncode == 1
    assert "Map both tables with the column that names their rows as key." in done.stderr
