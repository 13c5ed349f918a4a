"""The same cells on every road: blanks in files and frames, codes that a run reads back, rows without a target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import run
from front_door.cases import QUICK
from manifolia.tables import read

FAST = {"n_trees": 10, "parts": None, "importance": False}


def test_blanks_are_missing_and_texts_are_stripped_in_files_as_in_frames(tmp_path):
    frame = pd.DataFrame({"sex": ["m", " ", "m ", " w", "", None, "w", "\tm"], "size": range(8)})
    frame.to_csv(tmp_path / "table.csv", index=False)
    expected = ["m", None, "m", "w", None, None, "w", "m"]
    for source in (frame, tmp_path / "table.csv"):
        cells = read(source).column("sex").astype(object)
        assert cells.where(cells.notna(), None).tolist() == expected
    assert frame["sex"].tolist()[1] == " "  # the user's own is as it was
    levels = read(frame.assign(sex=frame["sex"].astype("category"))).column("sex")
    assert levels.isna().tolist() == [False, True, False, False, True, True, False, False]


def coded(n=40):
    codes = [f"{i // 4 + 1:06d}" for i in range(n)]
    kinds = [["NA", "None", "01"][i % 3] for i in range(n)]
    return pd.DataFrame({"code": codes, "size": np.arange(n) % 3 + 0.01 * np.arange(n), "kind": kinds})


@pytest.mark.parametrize("table_format", ["csv", "parquet"])
def test_codes_and_classes_are_read_back_as_they_were(tmp_path, table_format):
    made = mf.map(coded(), target="kind", groups="code", **FAST)
    said = made.explain(38)
    made.save(tmp_path / "run", table_format=table_format)
    opened = mf.open_run(tmp_path / "run")
    assert opened.coordinates["code (groups)"].tolist() == coded()["code"].tolist()
    assert opened.coordinates["kind"].tolist() == coded()["kind"].tolist()
    assert opened.explain(38).lines() == said.lines()
    done = run("explain", tmp_path / "run", "--row", "38")
    assert "code (groups) 000010" in done.stdout
    assert "kind 01" in done.stdout


@pytest.mark.parametrize(
    ("gaps", "says"),
    [
        (6, "In 6 of 40 rows 'kind' has no value: they are placed, and nothing is learned from them."),
        (1, "In 1 of 40 rows 'kind' has no value: it is placed, and nothing is learned from it."),
        (0, None),
    ],
)
def test_rows_without_a_target_are_counted(tmp_path, gaps, says):
    frame = coded().drop(columns="code")
    frame["kind"] = frame["kind"].where(np.arange(40) >= gaps, "")
    frame = frame.replace({"kind": {"NA": "b", "None": "c"}})
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = run("map", tmp_path / "table.csv", "-t", "kind", "-o", tmp_path / "run", *QUICK)
    assert done.returncode == 0, done.stderr
    assert (f"Note: {says}" in done.stderr) if says else "nothing is learned" not in done.stderr
    assert mf.open_run(tmp_path / "run").embedding.notna().all(axis=None)
    unguided = run("map", tmp_path / "table.csv", "-m", "pca", "-t", "kind", "-o", tmp_path / "other")
    assert "nothing is learned" not in unguided.stderr
