"""Kept files keep loading, and their models keep answering the same."""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import sklearn

import manifolia as mf
from manifolia.exceptions import ManifoliaWarning
from manifolia.persist.archive import VERSION
from persist.fixtures.make import answers

FOLDER = Path(__file__).parent / "fixtures"
FILES = sorted(FOLDER.glob("v*.mfa"))


def test_there_are_files_of_the_version():
    assert {path.name.partition("-")[0] for path in FILES} == {f"v{VERSION}"}
    assert all(path.stat().st_size < 40_000 for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_kept_file_loads(path):
    version, _, name = path.stem.partition("-")
    with zipfile.ZipFile(path) as archive:
        written = json.loads(archive.read("manifolia.json"))["libraries"]["scikit-learn"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = mf.load(path)
    same = written.split(".")[:2] == sklearn.__version__.split(".")[:2]
    assert [entry.category for entry in caught] == ([] if same else [ManifoliaWarning])
    if not same:
        assert f"saved with scikit-learn {written}" in str(caught[0].message)
    expected = json.loads((FOLDER / f"{version}-expected.json").read_text())[name]
    # Sums of a few numbers: rounding could differ on another machine, and does not by more than that.
    for what, values in answers(name, model).items():
        np.testing.assert_allclose(values, expected[what], rtol=1e-12, atol=1e-12)
    assert np.ptp(expected["transform"]) > 0.1


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")  # of another scikit-learn
def test_a_kept_map_names_parameters_that_came_later():
    model = mf.load(FOLDER / "v2-map.mfa")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(model) == "RFPHATE(n_jobs=1, n_trees=5, random_state=0)"
    assert (model.sharpness, model.placing) == (1.0, "leaves")
