"""The commands that follow a map: transform, explore, score, explain, info, demo."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import one_sentence, passengers
from manifolia.runs import open_run


@pytest.fixture
def new_rows(tmp_path):
    path = tmp_path / "new.csv"
    passengers(30, seed=9).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "json", "npz"])
def test_the_suffix_chooses_the_format(finished, new_rows, tmp_path, manifolia, suffix):
    out = tmp_path / f"placed.{suffix}"
    done = manifolia("transform", finished[0], new_rows, "-o", out)
    assert done.returncode == 0, done.stderr
    read = {
        "tsv": lambda path: pd.read_csv(path, sep="\t"),
        "parquet": pd.read_parquet,
        "json": pd.read_json,
        "npz": lambda path: np.load(path, allow_pickle=False),
    }[suffix](out)
    expected = mf.load(finished[0] / "model.mfa").transform(passengers(30, seed=9).drop(columns="Survived"))
    np.testing.assert_allclose(np.asarray(read["map_x"], dtype=float), expected[:, 0], rtol=1e-9)


def test_an_unknown_suffix_is_refused(finished, new_rows, tmp_path, manifolia):
    done = manifolia("transform", finished[0], new_rows, "-o", tmp_path / "placed.docx")
    assert done.returncode == 1
    assert ".csv" in one_sentence(done)


def test_without_out_the_table_goes_to_stdout_and_notes_to_stderr(finished, tmp_path, manifolia):
    frame = passengers(20, seed=4).drop(columns="Fare")
    frame["Embarked"] = ["Belfast"] + ["S"] * 19
    frame["Surprise"] = 1.0
    frame = frame[frame.columns[::-1]]
    frame.to_csv(tmp_path / "new.csv", index=False)
    done = manifolia("transform", finished[0], tmp_path / "new.csv")
    assert done.returncode == 0, done.stderr
    (tmp_path / "out.csv").write_text(done.stdout, encoding="utf-8")
    placed = pd.read_csv(tmp_path / "out.csv")
    assert len(placed) == 20
    for word in ("'Fare'", "Belfast", "'Surprise'"):
        assert word in done.stderr


def test_a_row_alone_is_placed_as_in_its_batch(finished, tmp_path, manifolia):
    frame = passengers(12, seed=5)
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame.iloc[[7]].to_csv(tmp_path / "one.csv", index=False)
    lines = [manifolia("transform", finished[0], tmp_path / name, "-q").stdout for name in ("all.csv", "one.csv")]
    assert lines[0].splitlines()[8].split(",")[1:] == lines[1].splitlines()[1].split(",")[1:]


def test_too_few_columns_and_text_in_a_number_are_refused(finished, tmp_path, manifolia):
    passengers(12)[["Name", "Sex"]].to_csv(tmp_path / "a.csv", index=False)
    done = manifolia("transform", finished[0], tmp_path / "a.csv")
    assert done.returncode == 1
    assert "columns" in one_sentence(done)
    frame = passengers(12).astype({"Age": object})
    frame.loc[3, "Age"] = "old"
    frame.to_csv(tmp_path / "b.csv", index=False)
    done = manifolia("transform", finished[0], tmp_path / "b.csv")
    assert done.returncode == 1
    assert "'Age'" in one_sentence(done)
    assert "'old'" in one_sentence(done)


def test_transform_does_not_overwrite(finished, new_rows, tmp_path, manifolia):
    out = tmp_path / "placed.csv"
    out.write_text("mine")
    assert manifolia("transform", finished[0], new_rows, "-o", out).returncode == 1
    assert out.read_text() == "mine"
    assert manifolia("transform", finished[0], new_rows, "-o", out, "--force").returncode == 0
    assert out.read_text() != "mine"


@pytest.mark.parametrize("command", ["transform", "explore", "score", "explain", "info"])
def test_what_is_no_run_is_said(tmp_path, new_rows, manifolia, command):
    more = [new_rows] if command == "transform" else []
    done = manifolia(command, tmp_path / "no-run", *more)
    assert done.returncode == 1
    assert "no-run" in one_sentence(done)
    (tmp_path / "empty").mkdir()
    done = manifolia(command, tmp_path / "empty", *more)
    assert done.returncode == 1
    assert "not a manifolia run" in one_sentence(done)


def test_a_damaged_model_is_said(finished, new_rows, tmp_path, manifolia):
    folder = tmp_path / "run"
    shutil.copytree(finished[0], folder)
    content = bytearray((folder / "model.mfa").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (folder / "model.mfa").write_bytes(bytes(content))
    done = manifolia("transform", folder, new_rows)
    assert done.returncode == 1
    assert "model.mfa" in one_sentence(done)


def test_explore_writes_the_page_again_and_another_one(finished, tmp_path, manifolia):
    folder = tmp_path / "run"
    shutil.copytree(finished[0], folder)
    page = (folder / "map.html").read_bytes()
    (folder / "map.html").unlink()
    assert manifolia("explore", folder).returncode == 0
    assert (folder / "map.html").read_bytes() == page
    done = manifolia("explore", folder, "-o", tmp_path / "age.html", "--color-by", "Age", "--title", "By age")
    assert done.returncode == 0, done.stderr
    assert "By age" in (tmp_path / "age.html").read_text(encoding="utf-8")
    done = manifolia("explore", folder, "-o", tmp_path / "x.html", "--color-by", "Agee")
    assert done.returncode == 1
    assert "Agee" in one_sentence(done)
    done = manifolia("explore", folder, "-f", "--color-by", "Name")
    assert done.returncode == 1
    assert "--color-by is 'Name', which is a column of texts" in one_sentence(done)
    assert (folder / "map.html").read_bytes() == page


def test_explore_of_a_table_is_one_command(table, tmp_path, manifolia):
    done = manifolia("explore", table, "--target", "Survived", "-o", tmp_path / "map.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "map.html").stat().st_size > 10_000
    assert [path.name for path in tmp_path.iterdir()] == ["map.html"]


def test_score_prints_saved_scores_all_scores_and_scores_of_new_rows(finished, tmp_path, manifolia):
    done = manifolia("score", finished[0], "--json")
    saved = {score["metric"]: score["value"] for score in json.loads(done.stdout)["scores"]}
    done = manifolia("score", finished[0], "--all", "--json")
    every = {score["metric"]: score["value"] for score in json.loads(done.stdout)["scores"]}
    assert set(saved) < set(every)
    assert every["knn_accuracy"] == pytest.approx(saved["knn_accuracy"])
    assert "importance_alignment" in every
    passengers(150, seed=8).to_csv(tmp_path / "new.csv", index=False)
    done = manifolia("score", finished[0], "--data", tmp_path / "new.csv", "--json")
    new = {score["metric"]: score["value"] for score in json.loads(done.stdout)["scores"]}
    assert 0.5 < new["knn_accuracy"] < 1.0
    assert "knn_accuracy" in manifolia("score", finished[0]).stdout


@pytest.mark.parametrize("method", ["rf-phate", "guided-map", "phate"])
def test_a_score_has_one_value(method, tmp_path, manifolia):
    """The saved report, every score computed anew, and the curve on the page: on a table with gaps everywhere."""
    rng = np.random.default_rng(3)
    messy = passengers(120)
    messy["Deck"] = rng.choice(np.array(["A", "B", "C", None], dtype=object), len(messy))
    messy["Fare"] = messy["Fare"].where(rng.random(len(messy)) > 0.2)
    messy["Survived"] = messy["Survived"].where(rng.random(len(messy)) > 0.1)
    messy.to_csv(tmp_path / "messy.csv", index=False)
    folder = tmp_path / "run"
    done = manifolia("map", tmp_path / "messy.csv", "--target", "Survived", "-o", folder, "--method", method)
    assert done.returncode == 0, done.stderr
    told = [json.loads(manifolia("score", folder, *more, "--json").stdout)["scores"] for more in ((), ("--all",))]
    saved, every = ({one["metric"]: one["value"] for one in scores} for scores in told)
    assert saved == pytest.approx({name: every[name] for name in saved}, rel=1e-12)
    assert open_run(folder).payload.meta["parts"]["quality"]["auc"] == pytest.approx(saved["auc_r_nx"], rel=1e-12)


def test_explain_ranks_columns(finished, manifolia):
    done = manifolia("explain", finished[0])
    assert done.stdout.splitlines()[1].split()[0] == "Sex"
    importances = json.loads(manifolia("explain", finished[0], "--json").stdout)["importances"]
    assert importances[0]["column"] == "Sex"
    assert "Name" not in {entry["column"] for entry in importances}


def test_explain_lists_one_column_at_least(finished, manifolia):
    done = manifolia("explain", finished[0], "--top", "0")
    assert done.returncode != 0
    assert "--top" in done.stderr
    assert "x>=1" in done.stderr
    assert done.stdout == ""
    assert len(manifolia("explain", finished[0], "--top", "1").stdout.splitlines()) == 2


def test_explain_says_why_there_is_nothing_to_say(table, tmp_path, manifolia):
    plain = tmp_path / "plain"
    assert manifolia("map", table, "-t", "Survived", "-o", plain, "-m", "tsne", "--no-explain").returncode == 0
    assert "tsne has no measure of how much each column matters" in manifolia("explain", plain).stdout
    told = one_sentence(manifolia("explain", plain, "--row", "17"))
    assert "tsne cannot say where a row with other values would lie" in told
    assert "new rows can be placed" not in told
    unmeasured = tmp_path / "unmeasured"
    few = ("-t", "Survived", "--set", "n_trees=10", "--no-explain", "--no-importance")
    assert manifolia("map", table, "-o", unmeasured, *few).returncode == 0
    assert (
        "not measured in this run. Map again with --importance (importance=True)."
        in manifolia("explain", unmeasured).stdout
    )


def test_explain_a_row_of_a_method_that_does_not_keep_its_map(table, tmp_path, manifolia):
    done = manifolia("map", table, "-t", "Survived", "-o", tmp_path / "run", "-m", "pca", "--no-explain")
    assert done.returncode == 0, done.stderr
    done = manifolia("explain", tmp_path / "run", "--row", "17", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {"Age", "Fare"} <= {reason["column"] for reason in told["reasons"]}
    assert told["like"] == []


def test_explain_a_row(finished, table, manifolia):
    told = json.loads(manifolia("explain", finished[0], "--row", "17", "--json").stdout)
    raw = pd.read_csv(table).iloc[17]
    assert told["row"]["Survived"] == raw["Survived"]
    assert told["reasons"][0]["column"] == "Sex"
    assert told["reasons"][0]["value"] == raw["Sex"]
    weights = [reason["weight"] for reason in told["reasons"]]
    assert weights == sorted(weights, reverse=True)
    assert told["like"][0]["proximity"] > 0
    assert all(entry["row"] != "17" for entry in told["like"])
    votes = told["votes"]["Survived"]
    assert sum(votes.values()) == pytest.approx(1.0)
    assert list(votes.values()) == sorted(votes.values(), reverse=True)
    printed = manifolia("explain", finished[0], "--row", "17").stdout
    assert "Sex" in printed
    told = ", ".join(f"{name} {share:.0%}" for name, share in votes.items())
    guide = json.loads((finished[0] / "report.json").read_text(encoding="utf-8"))["guide"]["name"]
    voters = "How the trees vote that did not train on it:"
    if guide != "the forest":
        voters = f"How it is voted on by {guide}, fitted without it:"
    assert f"{voters}\n  {'Survived':28s} {told}\n" in printed
    done = manifolia("explain", finished[0], "--row", "99999")
    assert done.returncode == 1
    assert "no row '99999'" in one_sentence(done)


def test_info_tells_versions_and_runs(finished, manifolia):
    told = json.loads(manifolia("info", "--json").stdout)
    assert told["versions"]["manifolia"] == mf.__version__
    assert "rf-phate" in told["methods"]
    assert told["extras"]["plot"]
    assert "guided-map" in manifolia("info", finished[0]).stdout


def test_demo_makes_a_run_with_new_rows(tmp_path, manifolia):
    done = manifolia("demo", "out", "--data", "iris", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"map.html", "model.mfa", "report.json", "new.csv", "new-coordinates.csv", "data.csv"} <= names
    assert "Open the page: " in done.stdout
    assert len(pd.read_csv(tmp_path / "out" / "new-coordinates.csv")) == 30
    again = manifolia("demo", "out", "--data", "iris", "-q", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert manifolia("demo", "x", "--data", "tulips", cwd=tmp_path).returncode == 1


def test_help_does_not_import_what_is_heavy():
    """So that it answers in a tenth of a second."""
    code = "import sys; from manifolia.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "manifolia.cli" in loaded
    assert not loaded & {"numpy", "pandas", "sklearn", "scipy", "numba", "matplotlib"}


@pytest.mark.parametrize("command", ["map", "transform", "explore", "score", "explain", "info", "demo"])
def test_every_command_has_help(manifolia, command):
    done = manifolia(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: ")


def test_no_escape_codes_where_there_is_no_terminal(finished, manifolia):
    for variables in ({}, {"NO_COLOR": "1"}):
        done = manifolia("info", finished[0], **variables)
        assert "\x1b" not in done.stdout + done.stderr
