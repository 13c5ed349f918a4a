"""The tables that judge choices: all of them load, each with its reason, and no page on defaults was made with them."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path

import numpy as np
import pytest

from manifolia import datasets

FOLDER = Path(__file__).parents[2] / "reproduce"
HOME = os.environ.get("MANIFOLIA_DATA")
needs_home = pytest.mark.skipif(not HOME, reason="MANIFOLIA_DATA is not set: there is no data home to load from")


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    return importlib.import_module("reproduce.untouched")


def test_each_is_named_once_with_its_reason(module):
    names = [table.name for table in module.UNTOUCHED]
    assert len(names) == len(set(names)) == 19
    assert all(table.reason for table in module.UNTOUCHED)


def test_none_of_them_was_varied_on(module):
    (source,) = FOLDER.rglob("*defaults.py")
    text = source.read_text(encoding="utf-8")
    seen = set(re.findall(r'"(\w+)"', "".join(re.findall(r"^(?:PAPER|OTHERS) = (.*)$", text, re.MULTILINE))))
    assert "wine" in seen
    assert not seen & {table.name for table in module.UNTOUCHED}


def test_the_page_compares_means_by_their_errors(module):
    every = (*module.GUIDED, *module.UNGUIDED)
    runs = [{method: {"right": 0.5, "near": 0.9, "seconds": 1.0} for method in every} for _ in range(3)]
    for run, shift in zip(runs, (0.0, 0.01, 0.02), strict=True):
        run["GuidedMap"] = {"right": 0.7 + shift, "near": 0.9, "seconds": 1.0}
        run["RF-PHATE"] = {"right": 0.49 + shift, "near": 0.9, "seconds": 1.0}
        run["NCA"] = {"refused": "ValueError: too few"}
    found = {"ecoli": runs}
    assert module.beside(found, "GuidedMap", "LDA") == [1, 0, 0]
    assert module.beside(found, "RF-PHATE", "LDA") == [0, 1, 0]
    assert module.beside(found, "RF-PHATE", "GuidedMap") == [0, 0, 1]
    one = {"ecoli": runs[:1]}
    assert module.beside(one, "GuidedMap", "LDA") == [1, 0, 0]
    assert module.beside(one, "UMAP", "LDA") == [0, 1, 0]
    assert module.beside(one, "RF-PHATE", "LDA") == [0, 0, 1]
    assert module.beside(one, "NCA", "LDA") == [0, 0, 1]  # refused is behind
    assert module.beside(one, "LDA", "NCA") == [0, 0, 0]
    text = module.page(found)
    assert "| GuidedMap | LDA | 1 | 0 | 0 |" in text
    assert "| ecoli | **0.710 ± 0.006** | 0.500 ± 0.006 |" in text
    assert "* ecoli, NCA: ValueError: too few" in text


def test_without_a_data_home_there_are_none(module, tmp_path):
    assert list(module.untouched(tmp_path)) == []


@needs_home
def test_they_load(module):
    found = {table.name: data for table, data in module.untouched(HOME)}
    missing = {table.name for table in module.UNTOUCHED} - found.keys()
    if missing:
        pytest.skip(f"the data home lacks {', '.join(sorted(missing))}")
    for data in found.values():
        assert len(data.target) == data.data.shape[0]
        assert len(np.unique(data.target)) > 1
        assert data.task == "classification"


@needs_home
def test_the_speakers_of_the_vowels_group_the_rows():
    if "vowel" not in datasets.available(HOME):
        pytest.skip("the data home lacks vowel")
    vowel = datasets.load("vowel", data_home=HOME)
    assert vowel.identifiers == ["x1", "x2"]
    assert vowel.frame["x2"].nunique() == 15
    assert set(vowel.frame["x2"].value_counts()) == {66}
