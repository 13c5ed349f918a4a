"""Types stand in files by ids that outlive the modules they live in."""

from __future__ import annotations

import collections
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import manifolia as mf
from contract.estimators import ESTIMATORS
from manifolia.persist import allowed
from manifolia.persist.allowed import OWN, full_name, id_of, resolve
from manifolia.persist.checks import estimators
from manifolia.tables import TablePreparer
from persist.forgery import unpack

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("name", OWN)
def test_an_id_leads_to_a_class_and_back(name):
    kind = resolve(name)
    assert isinstance(kind, type)
    assert full_name(kind) == OWN[name]  # where the class is defined, not where it is imported
    assert id_of(kind) == name
    assert re.fullmatch(r"manifolia(\.[a-z]+)?\.[A-Z]\w+", name)


def test_no_id_is_used_twice():
    source = Path(allowed.__file__).read_text()
    ids = re.findall(r'^    "(manifolia[\w.]+)": "manifolia', source, re.MULTILINE)
    assert sorted(ids) == sorted(OWN)
    assert not [name for name, count in collections.Counter(ids).items() if count > 1]
    assert len(set(OWN.values())) == len(OWN)


def test_a_file_names_no_module_of_ours(tmp_path):
    """A module may be renamed: only the table of ids says where a class lives."""
    model = make_pipeline(TablePreparer(), mf.RFPHATE(n_trees=30, random_state=0)).fit(X, Y)
    members = dict(unpack(mf.save(model, tmp_path / "model.mfa")))
    with zipfile.ZipFile(io.BytesIO(members["graph.skops"])) as graph:
        written = graph.read("schema.json").decode() + members["manifolia.json"].decode()
    assert set(re.findall(r"manifolia\.[\w.]+", written)) <= OWN.keys()
    assert "manifolia.RFPHATE" in written
    modules = {node["__module__"].partition(".")[0] for node in nodes(json.loads(graph_schema(members)))}
    assert modules <= {"builtins", "numpy", "sklearn"}


def graph_schema(members):
    with zipfile.ZipFile(io.BytesIO(members["graph.skops"])) as graph:
        return graph.read("schema.json")


def nodes(value):
    if isinstance(value, dict):
        if "__module__" in value:
            yield value
        for item in value.values():
            yield from nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from nodes(item)


def test_a_class_that_moved_needs_its_new_place_in_the_table_only(tmp_path, monkeypatch):
    path = mf.save(mf.RFPHATE(n_trees=30, random_state=0).fit(X, Y), tmp_path / "model.mfa")
    (tmp_path / "new_home.py").write_text("from manifolia.methods.rf_phate import RFPHATE as Moved\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(OWN, "manifolia.RFPHATE", "new_home.Moved")
    assert mf.load(path).embedding_.shape == (150, 2)


def test_every_check_runs_when_a_model_is_loaded(tmp_path, monkeypatch):
    """Checks of what kernels index with: of the model, of steps of a pipeline, and of the objects that they hold."""
    called = []
    model = make_pipeline(TablePreparer(), mf.KernelTSNE(n_train=40, perplexity=5, random_state=0)).fit(X)
    path = mf.save(model, tmp_path / "model.mfa")
    for kind in (mf.KernelTSNE, mf.KernelMap):
        check = kind._check_restored
        monkeypatch.setattr(
            kind, "_check_restored", lambda self, check=check: called.append(type(self)) or check(self), raising=True
        )
    monkeypatch.setattr(TablePreparer, "check_restored", lambda self: called.append(type(self)), raising=False)
    mf.load(path)
    assert sorted(kind.__name__ for kind in called) == ["KernelMap", "KernelTSNE", "TablePreparer"]


def held(model):
    """What every object inside a model holds, by identity."""
    return {id(part): {name: id(value) for name, value in vars(part).items()} for part in estimators(model)}


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")  # small data
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "(" not in name])
def test_saving_computes_nothing(name, tmp_path):
    """What is computed on first use is not computed for a file: nothing new is held afterwards."""
    model = ESTIMATORS[name].make()
    rows = np.r_[0:30, 50:80, 100:130]
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if name == "KernelMap":
        model.fit(X[rows], X[rows][:, :2])
    else:
        model.fit(X[rows], Y[rows])
    before = held(model)
    path = mf.save(model, tmp_path / "model.mfa")
    assert held(model) == before
    assert type(mf.load(path)) is type(model)
