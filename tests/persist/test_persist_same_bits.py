"""A loaded model answers with the same bits, for every kind of model that can be saved."""

from __future__ import annotations

import copy
import io
import json
import pickle
import stat
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import manifolia as mf
from manifolia.exceptions import ModelFileError
from manifolia.persist.allowed import TYPE
from manifolia.persist.graph import dismantle, reassemble
from manifolia.tables import TablePreparer

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)
NEW = X[::7] + 0.05


def small(**options):
    return mf.RFPHATE(**{"n_trees": 30, "random_state": 0, **options})


def same_bits(a, b):
    if sp.issparse(a):
        a, b = a.tocsr(), b.tocsr()
        same_bits(a.indices, b.indices)
        same_bits(a.indptr, b.indptr)
        a, b = a.data, b.data
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def round_trip(model, tmp_path, **options):
    path = mf.save(model, tmp_path / "model.mfa", **options)
    assert path == tmp_path / "model.mfa"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mfa"]
    return mf.load(path, **options)


def two_targets():
    return np.column_stack([X[:, 0], X[:, 1] ** 2])


def two_classes():
    return np.column_stack([Y, Y == 1])


def frame():
    return pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "__class__"])


def with_gaps():
    out = X.copy()
    out[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return out


RFPHATES = {
    "classes": lambda: small().fit(X, Y),
    "classes with names": lambda: small().fit(frame(), NAMES[Y]),
    "single precision": lambda: small().fit(X.astype(np.float32), Y),
    "regression": lambda: small().fit(*load_diabetes(return_X_y=True)),
    "several outputs": lambda: small(task="multioutput").fit(X, two_targets()),
    "several labels": lambda: small().fit(X, two_classes()),
    "unsupervised": lambda: small(task="unsupervised", n_trees=100).fit(
        X
    ),  # of few trees, none may tell where a row belongs
    "sparse rows": lambda: small().fit(sp.csr_matrix(np.where(X > 1, X, 0)), Y),
    "missing values": lambda: small().fit(with_gaps(), Y),
    "some labels missing": lambda: small().fit(X, np.where(np.arange(150) % 4, Y.astype(float), np.nan)),
    "weights": lambda: small().fit(X, Y, sample_weight=np.linspace(0.5, 2, 150)),
    "landmarks": lambda: small(n_landmarks=40).fit(X, Y),
    "votes on classes": lambda: small(sharpness=3.0).fit(X, Y),
    "votes on numbers": lambda: small(sharpness=2, placing="layout", task="multioutput").fit(X, two_targets()),
    "three dimensions": lambda: small(n_components=3, mds="classic").fit(X, Y),
    "given forest": lambda: small(forest=RandomForestClassifier(30, random_state=1).fit(X, Y)).fit(X, Y),
    "frozen forest": lambda: small(forest=FrozenEstimator(RandomForestClassifier(30, random_state=1).fit(X, Y))).fit(
        X, Y
    ),
    "forest to fit": lambda: small(forest=ExtraTreesClassifier(30, bootstrap=True, max_leaf_nodes=6)).fit(X, Y),
    "generator": lambda: small(random_state=np.random.default_rng(3)).fit(X, Y),
}


@pytest.mark.parametrize("name", RFPHATES)
def test_rfphate(name, tmp_path):
    model = RFPHATES[name]()
    new = load_diabetes().data[::9] if name == "regression" else NEW
    if name == "sparse rows":
        new = sp.csr_matrix(new)
    if name == "classes with names":
        new = frame()[::7]
    importances = model.feature_importances_.copy()
    loaded = round_trip(model, tmp_path)
    same_bits(loaded.embedding_, model.embedding_)
    same_bits(loaded.landmark_embedding_, model.landmark_embedding_)
    same_bits(loaded.transform(new), model.transform(new))
    same_bits(loaded.novelty(new), model.novelty(new))
    same_bits(loaded.feature_importances_, importances)
    same_bits(loaded.importances_std_, model.importances_std_)
    same_bits(loaded.proximity_matrix(new), model.proximity_matrix(new))
    same_bits(loaded.proximity_matrix(), model.proximity_matrix())
    assert loaded.oob_score_ == model.oob_score_ or np.isnan(model.oob_score_)
    assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())
    assert repr(loaded).partition(" at 0x")[0] == repr(model).partition(" at 0x")[0]
    assert type(loaded.t_) is type(model.t_)
    # Not saved: the data.
    assert loaded._fitted_forest._training is None
    same_bits(loaded.novelty(), model.novelty())


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    model = small().fit(X, Y)
    loaded = round_trip(model, tmp_path)
    same_bits(loaded.fit(X, Y).embedding_, model.embedding_)


def test_saving_twice_and_saving_what_was_loaded(tmp_path):
    model = small().fit(X, Y)
    again = round_trip(round_trip(model, tmp_path), tmp_path)
    same_bits(again.transform(NEW), model.transform(NEW))


FORESTS = {
    "random forest": lambda: RandomForestClassifier(8, random_state=0).fit(X, NAMES[Y]),
    "several outputs": lambda: RandomForestClassifier(8, random_state=0).fit(X, two_classes()),
    "regression": lambda: RandomForestRegressor(8, random_state=0).fit(X, X[:, 1]),
    "several targets": lambda: ExtraTreesRegressor(8, random_state=0, max_depth=3).fit(X, two_targets()),
    "extra trees": lambda: ExtraTreesClassifier(8, random_state=0, class_weight={0: 1.0, 1: 2.0, 2: 1.0}).fit(X, Y),
    "missing values": lambda: RandomForestClassifier(8, random_state=0).fit(with_gaps(), Y),
    "pruned": lambda: RandomForestClassifier(8, random_state=0, ccp_alpha=0.02).fit(X, Y),
    "best first": lambda: RandomForestClassifier(8, random_state=0, max_leaf_nodes=5).fit(X, Y),
    "one leaf": lambda: RandomForestClassifier(3, random_state=0).fit(X, np.zeros(150)),
    "grown on": lambda: (
        RandomForestClassifier(4, random_state=0, warm_start=True)
        .fit(X, Y)
        .set_params(n_estimators=7, max_depth=2)
        .fit(X, Y)
    ),
    "one tree": lambda: DecisionTreeClassifier(random_state=np.random.RandomState(5)).fit(X, NAMES[Y]),
}


@pytest.mark.parametrize("name", FORESTS)
def test_forest(name, tmp_path):
    model = FORESTS[name]()
    loaded = round_trip(model, tmp_path)
    rows = with_gaps()[::3] if name == "missing values" else NEW
    same_bits(loaded.apply(rows), model.apply(rows))
    one, other = loaded.predict(rows), model.predict(rows)
    assert one.dtype == other.dtype
    assert np.array_equal(one, other)
    same_bits(loaded.feature_importances_, model.feature_importances_)
    path, expected = loaded.decision_path(rows), model.decision_path(rows)
    same_bits(path if name == "one tree" else path[0], expected if name == "one tree" else expected[0])
    if hasattr(model, "estimators_samples_"):
        assert all(map(np.array_equal, loaded.estimators_samples_, model.estimators_samples_))
        for mine, its in zip(loaded.estimators_, model.estimators_, strict=True):
            assert mine.get_params() == its.get_params()
            assert mine.get_depth() == its.get_depth()
            same_bits(mine.tree_.value, its.tree_.value)


def mixed_frame():
    table = pd.DataFrame(X.copy(), columns=list("abcd"))
    table["e"] = np.where(X[:, 0] > 5.5, "tall", "small")
    table.loc[::9, "b"] = np.nan
    return table


def pipeline(*steps):
    return make_pipeline(*steps, small()).fit(mixed_frame(), NAMES[Y])


PIPELINES = {
    "tables": lambda: pipeline(TablePreparer()),
    "columns": lambda: pipeline(
        make_column_transformer(
            (OneHotEncoder(dtype=np.float32, handle_unknown="ignore"), ["e"]),
            (SimpleImputer(add_indicator=True), ["b"]),
            (make_union(StandardScaler(), PCA(2, random_state=0)), ["a", "c"]),
            remainder="passthrough",
        )
    ),
    "many": lambda: pipeline(
        make_column_transformer(
            (OrdinalEncoder(), ["e"]),
            (make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=20)), ["b"]),
            (KBinsDiscretizer(3, strategy="uniform"), ["c"]),
            (PowerTransformer(), slice(0, 1)),
            (RobustScaler(), slice(3, 4)),
        )
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipeline(name, tmp_path):
    model = PIPELINES[name]()
    loaded = round_trip(model, tmp_path)
    new = mixed_frame()[::4]
    same_bits(loaded.transform(new), model.transform(new))
    assert list(loaded[:-1].get_feature_names_out()) == list(model[:-1].get_feature_names_out())


def test_an_unfitted_model(tmp_path):
    assert repr(round_trip(small(t=7), tmp_path)) == repr(small(t=7))


@pytest.mark.parametrize(
    "value",
    [
        {1: "a", False: "b", None: "c", ("x", 2): "d", 2.5: "e"},
        {"__loader__": 1, "__class__": {"__id__": 3}},
        {"manifolia:type": "manifolia.RFPHATE", "n_trees": 3},
        [np.float32(1.5), np.str_("text"), np.bool_(True), np.datetime64("2020-01-02")],
        np.array(["a", None, 3, np.nan, 2.5], dtype=object),
        np.array([["a", "b"], ["c", "d\0"]], dtype=object),
        np.array([], dtype=object),
        np.array("0-d", dtype=object),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["", ""]),
        np.zeros((0, 3)),
        {3, 1, 2},
        slice(1, None, 2),
        np.dtype("float32"),
        np.float64,
        (float("nan"), float("-inf"), -0.0, 10**30),
        sp.csr_array(np.eye(3)),
        sp.csc_matrix(np.eye(3)),
        sp.coo_array(np.eye(3)[:, :2]),
    ],
)
def test_values_come_back_as_they_were(value, tmp_path):
    loaded = round_trip(FunctionTransformer(kw_args=value), tmp_path).kw_args
    assert type(loaded) is type(value)
    if sp.issparse(value):
        assert (loaded != value).nnz == 0
    elif isinstance(value, np.ndarray):
        assert loaded.dtype == value.dtype
        assert repr(loaded) == repr(value)
        assert list(map(type, loaded.ravel().tolist())) == list(map(type, value.ravel().tolist()))
    else:
        assert repr(loaded) == repr(value)


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "SFC64", "MT19937", "Philox", "legacy"])
def test_random_streams_go_on_where_they_were(bits, tmp_path):
    stream = np.random.RandomState(3) if bits == "legacy" else np.random.Generator(getattr(np.random, bits)(3))
    stream.normal(size=5)
    loaded = round_trip(small(random_state=stream), tmp_path).random_state
    assert np.array_equal(loaded.normal(size=700), stream.normal(size=700))
    if bits != "legacy":
        assert loaded.spawn(1)[0].random() == stream.spawn(1)[0].random()


def test_what_is_shared_stays_shared(tmp_path):
    loaded = round_trip(RFPHATES["given forest"](), tmp_path)
    assert loaded.forest is loaded.forest_


def test_callbacks_and_caches_are_not_saved(tmp_path):
    model = make_pipeline(StandardScaler(), small(callback=print), memory=str(tmp_path / "cache"))
    path = mf.save(model, tmp_path / "model.mfa")
    loaded = mf.load(path)
    assert loaded.memory is None
    assert loaded[-1].callback is None
    assert model.memory == str(tmp_path / "cache")
    assert model[-1].callback is print


def test_saving_leaves_the_model_alone(tmp_path):
    model = RFPHATES["given forest"]()
    before = {name: id(value) for name, value in vars(model).items()}
    round_trip(model, tmp_path)
    assert {name: id(value) for name, value in vars(model).items()} == before
    assert all(hasattr(tree, "tree_") for tree in model.forest_.estimators_)


class Doubler(FunctionTransformer):
    """A transformer of a user."""

    def transform(self, X):
        return 2 * X


def test_a_class_of_the_user_needs_a_word(tmp_path):
    model = make_pipeline(Doubler(), StandardScaler()).fit(X)
    name = f"{Doubler.__module__}.Doubler"
    with pytest.raises(ModelFileError, match=r"steps\[0\]\[1\] is of a type .*Doubler.*trusted="):
        mf.save(model, tmp_path / "model.mfa")
    assert list(tmp_path.iterdir()) == []
    path = mf.save(model, tmp_path / "model.mfa", trusted=[name])
    with pytest.raises(ModelFileError, match=r"not allowed: .*Doubler.*trusted="):
        mf.load(path)


def test_a_class_of_the_user_is_loaded_when_named(tmp_path, monkeypatch):
    (tmp_path / "users_module.py").write_text(
        "from sklearn.preprocessing import FunctionTransformer\n"
        "class Doubler(FunctionTransformer):\n"
        "    def transform(self, X):\n"
        "        return 2 * X\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import users_module

    model = make_pipeline(users_module.Doubler(), StandardScaler()).fit(X)
    path = mf.save(model, tmp_path / "model.mfa", trusted=["users_module.Doubler"])
    loaded = mf.load(path, trusted="users_module.Doubler")
    same_bits(loaded.transform(NEW), model.transform(NEW))


@pytest.mark.parametrize("bad", [["Doubler"], [3], [Doubler]])
def test_trusted_wants_full_names(bad, tmp_path):
    with pytest.raises(TypeError, match="full names of classes"):
        mf.load(tmp_path / "model.mfa", trusted=bad)


@pytest.mark.parametrize(
    "function",
    [np.log1p, lambda x: x, print, joblib.Parallel, np.ma.array([1])],
    ids=["ufunc", "lambda", "builtin", "class", "masked"],
)
def test_other_things_are_not_saved(function, tmp_path):
    with pytest.raises(ModelFileError, match=r"FunctionTransformer\.func is of a type that a model file may not hold"):
        mf.save(FunctionTransformer(func=function), tmp_path / "model.mfa")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = mf.save(StandardScaler().fit(X), tmp_path / "model.mfa")
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        mf.save(PCA(2).fit(X), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mfa"]


def test_a_file_has_the_usual_permissions(tmp_path):
    path = mf.save(StandardScaler(), tmp_path / "model.mfa")
    (tmp_path / "other").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


def test_the_header_tells_what_it_is(tmp_path):
    path = mf.save(small().fit(X, Y), str(tmp_path / "model.mfa"))
    with zipfile.ZipFile(path) as file:
        header = json.loads(file.read("manifolia.json"))
    assert header["format"] == "manifolia-model"
    assert header["version"] == 2
    assert header["model"] == "manifolia.RFPHATE"
    assert {"manifolia", "scikit-learn", "numpy", "skops", "python"} <= header["libraries"].keys()
    assert len(header["sha256"]) == 64


@pytest.mark.parametrize("way", ["pickle", "joblib", "copy"])
@pytest.mark.parametrize("make", [RFPHATES["classes"], PIPELINES["tables"]], ids=["map", "pipeline"])
def test_pickle_and_joblib_work_too(way, make):
    model = make()
    new = mixed_frame()[::4] if hasattr(model, "steps") else NEW
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(model))
    elif way == "copy":
        loaded = copy.deepcopy(model)
    else:
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        buffer.seek(0)
        loaded = joblib.load(buffer)
    same_bits(loaded.transform(new), model.transform(new))


def test_trees_that_differ_are_kept_one_by_one():
    forest = FORESTS["grown on"]()
    parts, trees = dismantle(forest)
    assert type(parts.estimators_) is list
    assert len(trees) == 7
    assert dismantle(FORESTS["random forest"]())[0].estimators_[TYPE] == "manifolia.part.TreeList"
    assert [tree.max_depth for tree in reassemble(parts, trees).estimators_] == [None] * 4 + [2] * 3
