"""``manifolia diagnose``: of a run, of a map from elsewhere, and what ends with code 3."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from cli_helpers import passengers
from manifolia.explorer import Payload
from manifolia.runs import open_run


@pytest.fixture
def own_run(finished, tmp_path):
    """A copy of the run that many tests read."""
    return shutil.copytree(finished[0], tmp_path / "run")


def test_map_tells_what_may_be_trusted(finished):
    folder, done = finished
    assert "- What may be trusted: " in done.stdout
    trust = json.loads((folder / "report.json").read_text())["trust"]
    assert trust["map"]["earned"] == "earned"
    assert sum(trust["verdicts"].values()) == trust["map"]["n_judged"] == 240
    assert trust["summary"].endswith("target earned")
    assert "trust" in Payload.load(folder / "payload.npz").meta["parts"]


def test_a_run_is_diagnosed_and_its_page_made_again(own_run, manifolia):
    done = manifolia("diagnose", own_run, "--clusters", "Survived")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"What the map of {own_run} may be trusted for: ")
    assert 1 <= sum(line.startswith("- ") for line in lines) <= 5
    assert any(line.startswith("  0 ") and "solid" in line for line in lines)
    why = "A map of forest proximities is not meant to keep the distances of the data, so they cannot judge this."
    assert lines.count(f"  Sizes and arrangement: cannot tell. {why}") == 1
    assert "size:" not in done.stdout
    assert any(line.startswith("  0 ") and line.endswith("  Survived 0 100%") for line in lines)
    table = pd.read_csv(own_run / "trust.csv")
    assert list(table)[:3] == ["row", "verdict", "reason"]
    assert len(table) == 240
    again = open_run(own_run)
    assert again.report["trust"]["clusters"][0]["name"] == "0"
    codes = again.payload.arrays["trust.verdict"]
    assert np.bincount(codes).sum() == 240
    words = again.payload.meta["parts"]["trust"]["verdicts"]
    assert [words[code] for code in codes] == table["verdict"].iloc[again.payload.order].tolist()


def test_rows_in_no_cluster_are_named(own_run, manifolia):
    done = manifolia("diagnose", own_run)
    found = open_run(own_run).diagnose()
    alone = np.flatnonzero(~np.isin(found.labels, found.clusters["cluster"]))
    told = [line for line in done.stdout.splitlines() if "in no cluster, but between them or apart: " in line]
    assert [line.split()[0] for line in told] == ([str(len(alone))] if len(alone) else [])
    assert all(f"apart: {open_run(own_run).coordinates['row'].iloc[alone[0]]}" in line for line in told)


def test_maps_of_halves_are_made_and_kept(own_run, manifolia):
    done = manifolia("diagnose", own_run, "--level", "usual", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["map"]["n_refits"] == 10
    assert not told["map"]["failed_refits"]
    # The page and the report say one thing of what may be trusted, that of the last diagnosis.
    run = open_run(own_run)
    for findings in (run.payload.meta["findings"], run.report["findings"]):
        lines = [one["text"] for one in findings if one["text"].startswith("What may be trusted: ")]
        assert len(lines) == 1
        assert lines[0].startswith(f"What may be trusted: {told['summary']}.")
    kept = sorted((own_run / "refits").iterdir())
    assert len(kept) == 10
    before = [path.stat().st_mtime_ns for path in kept]
    again = manifolia("diagnose", own_run, "--level", "usual", "--json")
    assert json.loads(again.stdout) == told
    assert [path.stat().st_mtime_ns for path in sorted((own_run / "refits").iterdir())] == before


def test_json(own_run, manifolia):
    done = manifolia("diagnose", own_run, "--json")
    told = json.loads(done.stdout)
    assert told["map"]["level"] == "quick"
    assert set(told) == {"summary", "map", "verdicts", "clusters", "gaps", "regions", "findings", "rows"}
    assert len(told["rows"]) <= 10


def test_the_same_verdicts_as_the_map_gave(own_run, manifolia):
    before = open_run(own_run).report["trust"]
    assert manifolia("diagnose", own_run).returncode == 0
    assert open_run(own_run).report["trust"] == before


def test_a_map_from_elsewhere(manifolia, tmp_path, rng):
    X = rng.normal(size=(150, 4))
    pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(X[:, 0] > 0, "up", "down")).to_csv(
        tmp_path / "table.csv", index=False
    )
    pd.DataFrame(X[:, :2], columns=["u", "v"]).to_csv(tmp_path / "places.csv", index=False)
    done = manifolia("diagnose", "--map", tmp_path / "places.csv", "--data", tmp_path / "table.csv", "-t", "kind")
    assert done.returncode == 0, done.stderr
    assert "target earned" in done.stdout
    assert "a alone nearly tells kind" in done.stdout or "a alone tells kind" in done.stdout
    pd.DataFrame(X[:40, :2]).to_csv(tmp_path / "few.csv", index=False)
    done = manifolia("diagnose", "--map", tmp_path / "few.csv", "--data", tmp_path / "table.csv")
    assert done.returncode == 1
    assert "few.csv has 40 rows and" in done.stderr
    done = manifolia("diagnose", "--map", tmp_path / "table.csv", "--data", tmp_path / "table.csv")
    assert "has 4 columns of numbers, and a map has 1 to 3" in done.stderr


def test_not_earned_ends_with_code_3(manifolia, tmp_path, rng):
    frame = passengers(200)
    frame["Survived"] = rng.permutation(frame["Survived"].to_numpy())
    frame = frame[["Pclass", "Age", "Fare", "Survived"]]
    frame.to_csv(tmp_path / "shuffled.csv", index=False)
    about = ("map", tmp_path / "shuffled.csv", "-t", "Survived", "-o", tmp_path / "run", "--set", "n_trees=60")
    done = manifolia(*about, "--fail-on", "not-earned", "--no-explain")
    assert done.returncode == 3, done.stdout
    assert "The map is not earned by Survived." in done.stdout
    assert (tmp_path / "run" / "map.html").is_file()
    assert manifolia("diagnose", tmp_path / "run").returncode == 0
    assert manifolia("diagnose", tmp_path / "run", "--fail-on", "not-earned", "-q").returncode == 3


def test_several_targets_get_a_sentence(manifolia, tmp_path):
    passengers(120)[["Pclass", "Age", "Fare", "Sex", "Survived"]].to_csv(tmp_path / "two.csv", index=False)
    about = (
        "map",
        tmp_path / "two.csv",
        "-t",
        "Survived",
        "-t",
        "Pclass",
        "-o",
        tmp_path / "run",
        "--set",
        "n_trees=60",
    )
    assert manifolia(*about, "--no-explain").returncode == 0
    done = manifolia("diagnose", tmp_path / "run")
    assert "The map has 2 targets, and one can be judged at a time" in done.stdout
    assert "earned" not in done.stdout


def test_an_earned_map_ends_well(own_run, manifolia):
    assert manifolia("diagnose", own_run, "--fail-on", "not-earned").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--level", "slow"), "level must be one of"),
        (("--clusters", "Colour"), "--clusters: there is no column on the page of the run 'Colour'"),
        (("--groups", "Colour"), "--groups: there is no column on the page of the run 'Colour'"),
        (("--data", "x.csv"), "A run has its own map, table and target"),
    ],
)
def test_wrong_commands_get_a_sentence(own_run, manifolia, arguments, message):
    done = manifolia("diagnose", own_run, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr


def test_a_run_or_a_map_is_needed(manifolia):
    done = manifolia("diagnose")
    assert done.returncode == 2
    assert "Give a run, or a map from elsewhere" in done.stderr


def test_a_run_without_rows_says_so(own_run, manifolia):
    (own_run / "rows.npz").unlink()
    done = manifolia("diagnose", own_run)
    assert done.returncode == 1
    assert "did not keep its rows" in done.stderr
