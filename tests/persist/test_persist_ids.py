"""Types stand in files by ids that outlive the modules they live in."""

from __future__ import annotations

import collections
import inspect
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import manifolia as mf
from contract.estimators import ESTIMATORS
from manifolia.exceptions import ModelFileError
from manifolia.persist import allowed, archive
from manifolia.persist.allowed import OWN, full_name, id_of, resolve
from manifolia.persist.checks import estimators
from manifolia.persist.graph import dismantle
from manifolia.persist.states import ALWAYS, BEFORE
from manifolia.persist.trees import flatten_trees
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
    loaded = mf.load(path)
    assert type(loaded) is type(model)
    check_states(loaded)


#: Attributes that a saved object has at times: code asks before it reads them.
AT_TIMES = {
    "manifolia.KernelMap": {"bandwidth_", "coefficients_", "factor_"},
    "manifolia.tables.TablePreparer": {"starts_", "marks_"},  # not of sparse rows
}


def check_states(model):
    """What the objects of a model hold is what `states` says of their classes."""
    for part in estimators(model):
        name = id_of(type(part))
        if name in OWN and not isinstance(part, tuple):
            given = set() if ".state." in name else set(inspect.signature(type(part)).parameters)
            at_times = {"feature_names_in_", "oob_prediction_", "guide_prediction_", *AT_TIMES.get(name, ())}
            always = set(ALWAYS[name].split())
            assert always <= vars(part).keys() <= always | given | at_times, name


def test_the_states_of_other_fits(tmp_path):
    """A fit without a target, of sparse rows or of a table leaves out what another has."""
    frame = pd.DataFrame({"a": [1.0, None, 3.0] * 20, "b": list("xyz") * 20, "c": ["1%", "2%", "3%"] * 20})
    for model in (
        mf.GuidedMap(n_trees=20, random_state=0).fit(X, Y),
        mf.GuidedMap(n_trees=20, guide="lda", random_state=0).fit(X, X[:, :2]),
        mf.RFPHATE(n_trees=100, task="unsupervised", random_state=0).fit(X),
        mf.ForestFeatures(10, task="unsupervised", random_state=0).fit(X),
        TablePreparer().fit(frame),
        TablePreparer(missing="impute", scale=True).fit(frame),
        TablePreparer(scale=True).fit(sp.csr_array(X)),
    ):
        check_states(mf.load(mf.save(model, tmp_path / "model.mfa")))


LATER = [(name, attribute) for name, values in BEFORE.items() for attribute in values]


@pytest.mark.parametrize(("name", "attribute"), LATER)
def test_what_stands_in_for_an_attribute_is_of_a_class_that_has_it(name, attribute):
    known = {*ALWAYS[name].split(), *inspect.signature(resolve(name)).parameters}
    assert attribute in known


def write_without(model, attribute, path):
    """Write a model as a version would have whose last step, or first, had no such attribute."""
    part = next(step for step in (model[-1], model[0]) if hasattr(step, attribute))
    delattr(part, attribute)
    parts, trees = dismantle(model)
    header = {"model": "sklearn.pipeline.Pipeline", "trusted": [], "libraries": {}}
    archive.write(path, archive.Content(header, skops.io.dumps(parts), flatten_trees(trees)))
    return type(part).__name__


@pytest.fixture
def pipeline():
    return make_pipeline(TablePreparer(), mf.RFPHATE(n_trees=20, random_state=0)).fit(X, Y)


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")  # of a scikit-learn that is not named
@pytest.mark.parametrize("attribute", ["texts_", "sharpness", "placing"])
def test_a_model_of_a_version_without_an_attribute_means_what_it_meant(pipeline, attribute, tmp_path):
    expected = pipeline.transform(X)
    write_without(pipeline, attribute, tmp_path / "model.mfa")
    assert mf.load(tmp_path / "model.mfa").transform(X).tobytes() == expected.tobytes()


@pytest.mark.parametrize("attribute", ["entropy_", "n_trees", "roles_"])
def test_a_model_of_a_version_that_lacks_an_attribute_is_refused(pipeline, attribute, tmp_path):
    name = write_without(pipeline, attribute, tmp_path / "model.mfa")
    told = rf"saved by another version of manifolia: its {name} lacks {attribute}\. Fit it again"
    with pytest.raises(ModelFileError, match=told):
        mf.load(tmp_path / "model.mfa")
