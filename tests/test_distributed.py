"""A Dask cluster of two processes gives what threads give, to the bit, and gets the work it should get."""

import contextlib
import os
import signal
import sys
from concurrent.futures import BrokenExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.manifold import Isomap

import manifolia as mf
from manifolia._core.parallel import has_executor, map_blocks
from manifolia.exceptions import ManifoliaWarning, MissingExtraError, ParameterError
from manifolia.neighbors import kneighbors

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")


@contextlib.contextmanager
def cluster():
    """Two processes of one thread each, and a scheduler that gives a task up as soon as it has killed its worker."""
    settings = {"distributed.scheduler.allowed-failures": 0, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started,
        distributed.Client(started) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def there_and_here(client, work):
    """What `work` gives on the cluster and without it, and the names of the tasks that the cluster ran."""
    with distributed.get_task_stream(client) as stream, mf.distributed.use(client) as same:
        assert same is client
        there = work()
    return there, work(), {str(task["key"]) for task in stream.data}


def test_a_supervised_map_and_its_importances(client, wine):
    X, y = wine
    there, here, tasks = there_and_here(client, lambda: mf.RFPHATE(n_trees=30, random_state=0).fit(X, y))
    np.testing.assert_array_equal(there.embedding_, here.embedding_)
    np.testing.assert_array_equal(there.feature_importances_, here.feature_importances_)
    np.testing.assert_array_equal(there.transform(X[:5] + 0.1), here.transform(X[:5] + 0.1))
    assert sum(name.startswith("_run") for name in tasks) > 2  # for the trees and for proximities


def test_importances_are_computed_on_the_cluster_when_asked_for_there(client, wine):
    X, y = wine
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(X, y)
    there, here, tasks = there_and_here(client, lambda: clone(model).fit(X, y).feature_importances_)
    np.testing.assert_array_equal(there, here)
    assert any(name.startswith("_run") for name in tasks)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_exact_neighbours(client, metric):
    X = np.random.default_rng(0).normal(size=(700, 20))
    there, here, tasks = there_and_here(client, lambda: kneighbors(X, 10, metric=metric, exact=True))
    np.testing.assert_array_equal(there.indices, here.indices)
    np.testing.assert_array_equal(there.distances, here.distances)
    assert any(name.startswith("_run") for name in tasks)


@pytest.mark.parametrize(
    "measure",
    [
        lambda X, Y, y: mf.metrics.trustworthiness(X, Y),
        lambda X, Y, y: mf.metrics.auc_r_nx(X, Y),
        lambda X, Y, y: mf.metrics.distance_correlation(X, Y),
        lambda X, Y, y: mf.metrics.normalized_stress(X, Y),
        lambda X, Y, y: mf.metrics.silhouette(Y, y, sample=150, random_state=0),
        lambda X, Y, y: mf.metrics.knn_accuracy(Y, y),
        lambda X, Y, y: mf.metrics.importance_alignment(X, Y, y, random_state=0),
    ],
    ids=["trust", "r_nx", "distance_correlation", "stress", "silhouette", "knn", "importance"],
)
def test_metrics(client, wine, measure):
    X, y = wine
    there, here, tasks = there_and_here(client, lambda: float(measure(X, X[:, :2] + 0.3 * X[:, 2:4], y)))
    assert there == here
    assert any(name.startswith("_run") for name in tasks)


def test_a_tuner_runs_its_trials_on_the_cluster(client):
    X, _ = load_iris(return_X_y=True)
    options = {"n_pilot": 3, "n_trials": 5, "random_state": 0}
    there, here, tasks = there_and_here(client, lambda: mf.Tuner(Isomap(), {"n_neighbors": (5, 60)}, **options).fit(X))
    assert there.best_params_ == here.best_params_
    assert there.best_score_ == here.best_score_
    assert any(name.startswith("_run") for name in tasks)


class Deadly(Isomap):
    """Kills the process that fits it, if that is not the one with this number."""

    def __init__(self, n_neighbors=5, spared=0):
        super().__init__(n_neighbors=n_neighbors)
        self.spared = spared

    def fit_transform(self, X, y=None):
        if os.getpid() != self.spared and self.n_neighbors > 40:
            os._exit(1)
        return super().fit_transform(X)


@pytest.mark.slow
def test_a_trial_that_kills_its_worker_is_a_failed_trial():
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test
    X, _ = load_iris(return_X_y=True)
    tuner = mf.Tuner(
        Deadly(spared=os.getpid()), {"n_neighbors": (5, 60)}, n_pilot=4, n_trials=4, random_state=0, refit=False
    )
    try:
        with cluster() as client, mf.distributed.use(client), pytest.warns(ManifoliaWarning, match="settings failed"):
            tuner.fit(X)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    failed = tuner.trials_[tuner.trials_["error"] != ""]
    assert 0 < len(failed) < len(tuner.trials_)
    assert (failed["n_neighbors"] > 40).all()


def test_work_that_writes_to_an_array_of_ours_stays_here(client):
    with mf.distributed.use(client):
        out = np.zeros(3)

        def run(i):
            out[i] = os.getpid()

        map_blocks(run, range(3))
    assert (out == os.getpid()).all()


def test_other_work_runs_in_other_processes_in_order_and_its_error_arrives(client):
    here = os.getpid()
    with mf.distributed.use(client):
        assert has_executor()
        found = map_blocks(lambda i: (i, os.getpid() != 0, has_executor()), range(50), anywhere=True)
        places = map_blocks(lambda _: os.getpid(), range(8), anywhere=True)
        assert map_blocks(abs, [], anywhere=True) == []
        with pytest.raises(ZeroDivisionError):
            map_blocks(lambda i: 1 // i, [1, 0], anywhere=True)
    assert found == [(i, True, False) for i in range(50)]
    assert here not in places
    assert not has_executor()


def test_afterwards_nothing_goes_to_the_cluster(client, wine):
    X, y = wine
    with mf.distributed.use(client):
        pass
    with distributed.get_task_stream(client) as stream:
        RandomForestClassifier(5, n_jobs=2).fit(X, y)
        mf.metrics.trustworthiness(X, X[:, :2])
    assert not stream.data


def test_a_step_is_tried_again_when_a_worker_goes_and_not_for_ever(client, monkeypatch):
    scatter, calls = client.scatter, []

    def going(*arguments, **options):
        calls.append(1)
        if len(calls) <= n_lost:
            raise distributed.comm.CommClosedError("gone")
        return scatter(*arguments, **options)

    monkeypatch.setattr(client, "scatter", going)
    with mf.distributed.use(client):
        n_lost = 2
        assert map_blocks(abs, [-1, 2], anywhere=True) == [1, 2]
        assert len(calls) == 3
        n_lost = 100
        with pytest.raises(BrokenExecutor, match="died over the same piece of work"):
            map_blocks(abs, [-1, 2], anywhere=True)
        monkeypatch.setattr("manifolia.distributed._WAIT", 0.5)
        monkeypatch.setattr(client, "wait_for_workers", lambda n, timeout: (_ for _ in ()).throw(TimeoutError))
        with pytest.raises(RuntimeError, match="lost all its workers"):
            map_blocks(abs, [-1, 2], anywhere=True)


def test_a_worker_with_another_version_is_refused(client, monkeypatch):
    monkeypatch.setattr("manifolia.distributed.__version__", "99.0")
    with (
        pytest.raises(ValueError, match=r"worker tcp.* has manifolia .* this process 99\.0"),
        mf.distributed.use(client),
    ):
        pass


def test_a_worker_without_manifolia_is_refused(client, monkeypatch):
    monkeypatch.setattr(client, "run", lambda *_, **__: {"tcp://far:1": ModuleNotFoundError("manifolia")})
    with pytest.raises(ValueError, match="tcp://far:1 has no manifolia"), mf.distributed.use(client):
        pass


def test_a_cluster_without_workers_is_refused():
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty) as client,
        pytest.raises(ValueError, match="no workers"),
        mf.distributed.use(client),
    ):
        pass


def test_something_else_than_a_client_is_refused():
    with pytest.raises(TypeError, match=r"takes a dask\.distributed\.Client, got str"), mf.distributed.use("tcp://a:1"):
        pass


def test_an_asynchronous_client_is_refused(client, monkeypatch):
    monkeypatch.setattr(type(client), "asynchronous", True)
    with pytest.raises(TypeError, match="asynchronous=True"), mf.distributed.use(client):
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"the extra 'dask' of manifolia"), mf.distributed.use(object()):
        pass


# --- data travel once, and workers may die ---------------------------------------------------------------------------


def test_what_a_function_holds_is_sent_once_however_many_steps_use_it(client, monkeypatch):
    rows, sent = np.random.default_rng(0).normal(size=(400, 100)), []
    scatter = client.scatter
    monkeypatch.setattr(client, "scatter", lambda data, **more: sent.append(len(data)) or scatter(data, **more))
    with mf.distributed.use(client):
        for _ in range(4):
            found = map_blocks(lambda i: rows[i].sum(), range(6), anywhere=True)
    assert found == [rows[i].sum() for i in range(6)]
    assert sum(size > rows.nbytes for size in sent) == 1
    assert sum(size for size in sent if size <= rows.nbytes) < rows.nbytes


def test_what_was_changed_in_place_is_sent_anew(client):
    rows = np.zeros((100, 100))
    with mf.distributed.use(client):
        before = map_blocks(lambda i: rows[i].sum(), range(3), anywhere=True)
        rows += 1.0
        assert map_blocks(lambda i: rows[i].sum(), range(3), anywhere=True) == [100.0] * 3
    assert before == [0.0] * 3


def test_the_trees_of_a_forest_grow_on_the_cluster(client, wine):
    X, y = wine
    there, here, tasks = there_and_here(client, lambda: mf.GuidedMap(n_trees=20, random_state=0).fit(X, y))
    np.testing.assert_array_equal(there.embedding_, here.embedding_)
    np.testing.assert_array_equal(
        there.forest_.estimators_[7].tree_.threshold, here.forest_.estimators_[7].tree_.threshold
    )
    assert len(tasks) > 4


def test_a_report_has_the_same_bits(client, wine):
    X, y = wine
    there, here, _ = there_and_here(client, lambda: mf.metrics.report(X, X[:, :2] + 0.3 * X[:, 2:4], y))
    for name in set(here.columns) - {"seconds"}:
        assert [repr(one) for one in there[name]] == [repr(one) for one in here[name]], name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rf-phate", "guided-map", "featuremap"])
def test_a_fit_survives_a_worker_that_dies(wine, name):
    from manifolia import registry

    X, y = np.tile(wine[0], (4, 1)), np.tile(wine[1], 4)
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    settings = {"n_epochs": 20} if name == "featuremap" else {"n_trees": 40}
    model = registry.get(name)(random_state=0, **settings)
    here = clone(model).fit(X, y)
    killed = []
    settings = {"distributed.scheduler.allowed-failures": 3, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started,
        distributed.Client(started) as client,
        mf.distributed.use(client),
    ):
        submit = client.submit

        def deadly(*arguments, **options):
            future = submit(*arguments, **options)
            if not killed:
                killed.append(client.run(os.getpid))
                os.kill(next(iter(killed[0].values())), signal.SIGKILL)
            return future

        client.submit = deadly
        there = clone(model).fit(X, y)
    assert killed
    np.testing.assert_array_equal(there.embedding_, here.embedding_)


# --- tables that are computed later ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return mf.RFPHATE(n_trees=20, random_state=0).fit(X, y), X


def graph_size(collection):
    import cloudpickle

    return len(cloudpickle.dumps(collection.__dask_graph__()))


def test_arrays_and_frames_are_answered_lazily(client, fitted):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    _, frame = fitted
    model = mf.RFPHATE(n_trees=20, random_state=0).fit(frame.to_numpy(), load_wine().target)
    array = da.from_array(frame.to_numpy(), chunks=(50, 4))
    for name in ("transform", "novelty", "predict", "predict_proba"):
        later = getattr(model, name)(array)
        now = getattr(model, name)(frame.to_numpy())
        assert isinstance(later, da.Array)
        assert (later.shape, later.dtype) == (now.shape, now.dtype)
        np.testing.assert_array_equal(later.compute(), now)
    later = fitted[0].transform(dd.from_pandas(frame, npartitions=3))
    assert list(later.columns) == ["rfphate0", "rfphate1"]
    found = later.compute()
    np.testing.assert_array_equal(found, fitted[0].transform(frame))
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(
        fitted[0].novelty(dd.from_pandas(frame, npartitions=3)).compute(), fitted[0].novelty(frame)
    )


def test_nothing_needs_a_cluster(fitted):
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(60, 5))
    model = mf.KernelMap().fit(X, X[:, :2])
    with dask.config.set(scheduler="threads"):
        np.testing.assert_array_equal(model.transform(da.from_array(X, chunks=20)).compute(), model.transform(X))


def test_a_graph_does_not_grow_with_the_model_which_is_sent_once(client, wine, monkeypatch):
    da = pytest.importorskip("dask.array")
    X, y = wine
    array, sizes, sent = da.from_array(np.zeros((6, 13)), chunks=(3, 13)), [], []
    scatter = client.scatter
    monkeypatch.setattr(client, "scatter", lambda data, **more: sent.append(data) or scatter(data, **more))
    for n_trees in (30, 200):
        model = mf.RFPHATE(n_trees=n_trees, random_state=0).fit(X, y)
        sent.clear()
        kept = [model.transform(array), model.novelty(array), model.predict(array)]
        assert len(sent) == 1
        sizes.append(graph_size(kept[0]))
    assert abs(sizes[1] - sizes[0]) < 200


def test_a_fit_takes_a_sample_with_its_target_and_groups(client, wine, monkeypatch):
    import pandas as pd

    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, y = wine
    groups = np.arange(len(y)) // 2
    kept = mf.RFPHATE(n_trees=20, random_state=0).fit(X, y, groups=groups)
    later = mf.RFPHATE(n_trees=20, random_state=0).fit(
        da.from_array(X, chunks=(60, 5)), da.from_array(y, chunks=60), groups=da.from_array(groups, chunks=60)
    )
    np.testing.assert_array_equal(later.embedding_, kept.embedding_)  # of few rows all are taken, in their order
    monkeypatch.setattr("manifolia.distributed.FIT_ROWS", 90)
    samples = []
    for chunks in (60, 25):
        model = mf.PHATE(random_state=0, n_landmarks=None)
        with pytest.warns(ManifoliaWarning, match="made of 90 of 178 rows"):
            places = model.fit_transform(da.from_array(X, chunks=(chunks, 13)))
        assert places.compute().shape == (178, 2)
        samples.append(model.embedding_)
    np.testing.assert_array_equal(*samples)  # however the rows are cut into blocks
    drawn = mf.stream.sample(pd.DataFrame(X), 90).to_numpy()
    np.testing.assert_array_equal(samples[0], mf.PHATE(random_state=0, n_landmarks=None).fit(drawn).embedding_)
    frame = dd.from_pandas(load_wine(as_frame=True).data, npartitions=2)
    with pytest.warns(ManifoliaWarning, match="made of 90"):
        assert list(mf.RFPHATE(n_trees=40, random_state=0).fit(frame, y).feature_names_in_) == list(frame.columns)


def test_what_cannot_be_asked_later_is_refused(fitted, wine):
    da = pytest.importorskip("dask.array")
    X, y = wine
    with pytest.raises(TypeError, match="takes y and groups"):
        mf.RFPHATE().fit(da.from_array(X), y, sample_weight=np.ones(178))
    with pytest.raises(ValueError, match=r"X has 178 rows and y has 5"):
        mf.RFPHATE().fit(da.from_array(X), y[:5])


def test_a_folder_is_mapped_on_a_cluster_by_command(client, tmp_path):
    import pandas as pd

    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    frame["kind"] = np.where(frame["a"] * frame["b"] > 0, "same", "other")
    (tmp_path / "big").mkdir()
    for i in range(3):
        frame.iloc[i * 1000 : i * 1000 + 1000].to_parquet(tmp_path / "big" / f"p{i}.parquet")
    options = {"fit_rows": 1000, "n_trees": 10, "guide": "forest", "parts": None}
    with distributed.get_task_stream(client) as stream:
        there = mf.map(tmp_path / "big", "kind", out=tmp_path / "there", scheduler=client.scheduler.address, **options)
    here = mf.map(tmp_path / "big", "kind", out=tmp_path / "here", **options)
    assert len(stream.data) >= 6
    for i in range(3):
        pd.testing.assert_frame_equal(
            *(pd.read_parquet(tmp_path / run / "placed" / f"p{i}.parquet") for run in ("there", "here"))
        )
    assert there.report["stream"] == here.report["stream"]
    with pytest.raises(ParameterError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        mf.map(tmp_path / "big", "kind", out=tmp_path / "no", scheduler="tcp://127.0.0.1:9", **options)
