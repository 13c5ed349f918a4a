"""The tuner as a user meets it."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifolia import PHATE, RFPHATE, FeatureMAP
from manifolia._core.progress import ProgressEvent
from manifolia.exceptions import ManifoliaWarning, TuningError
from manifolia.metrics import register
from manifolia.tune import Integer, Normalized, SurrogateSampler, Tuner, When
from manifolia.tune.study import StudyMismatchError, run_seed
from tune.toys import BrokenOff, Failing, Killed, Stateless, Toy, Warning_, closeness, closeness_of_the_other

X = np.random.default_rng(0).normal(size=(60, 3))
SPACE = {"x": (0.0, 1.0)}


def tuner(estimator: object = None, space: object = None, metrics: object = closeness, **options: object) -> Tuner:
    given = {"n_repeats": 4, "n_trials": 12, "random_state": 0, "n_jobs": 1} | options
    return Tuner(
        Toy(noise=0.01) if estimator is None else estimator, SPACE if space is None else space, metrics, **given
    )


def coarse(Y: np.ndarray) -> float:
    """One of two values."""
    return float(Y[0, 0] > 0.9)


def test_the_best_setting_is_found_and_its_score_is_of_fresh_runs() -> None:
    found = tuner().fit(X)
    assert abs(found.best_params_["x"] - 0.3) < 0.1
    assert found.best_score_ == pytest.approx(1 - (found.best_params_["x"] - 0.3) ** 2, abs=0.02)
    assert found.best_score_error_ < 0.02
    assert found.confirmed_
    assert found.r2_ > 0.5
    assert not found.flat_
    assert list(found.trials_["slot"]) == list(range(12))
    assert found.n_runs_ < 12 * 4 + 3 * 4 + 4  # racing saves some
    assert found.embedding_.shape == (60, 2)
    assert found.best_estimator_.x == found.best_params_["x"]


def test_the_score_is_not_the_luckiest_one() -> None:
    """With noise only, the best of ten means is far too good; the reported score is not."""
    luck, reported = [], []
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManifoliaWarning)  # it says that the landscape is flat
            found = tuner(Toy(noise=1.0), {"n_neighbors": (1, 50)}, random_state=seed, refit=False, n_trials=10).fit(X)
        luck.append(found.trials_["closeness"].max())
        reported.append(found.best_score_)
    truth = 1 - 0.3**2
    assert np.mean(luck) - truth > 0.5
    assert abs(np.mean(reported) - truth) < 0.9  # three standard errors of 12 runs


def test_the_map_delivered_is_the_last_run_with_the_least_loss() -> None:
    """Its own loss is the least of the final runs, whose scores are reported."""
    found = tuner(Toy(noise=0.1), n_repeats=6, n_confirm=0, n_trials=6).fit(X)
    seeds = [run_seed(0, "final", 0, repeat) for repeat in range(6)]
    losses = []
    for seed in seeds:
        model = clone(Toy(noise=0.1)).set_params(**found.best_params_, random_state=seed)
        model.fit_transform(X)
        losses.append(model.loss_)
    assert found.best_estimator_.loss_ == min(losses)
    assert found.best_score_ == pytest.approx(1 - np.mean(losses))


def test_the_map_delivered_is_the_run_with_the_least_loss() -> None:
    found = tuner(Toy(noise=0.1), n_repeats=6).fit(X)
    alone = [clone(Toy(noise=0.1)).set_params(**found.best_params_, random_state=s) for s in range(40)]
    for model in alone:
        model.fit_transform(X)
    assert found.best_estimator_.loss_ < np.quantile([model.loss_ for model in alone], 0.5)


def test_a_flat_landscape_is_said() -> None:
    with pytest.warns(ManifoliaWarning, match="no more than between runs of one setting"):
        found = tuner(Toy(noise=0.3), {"n_neighbors": (1, 50)}).fit(X)
    assert found.flat_


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 2},
        pytest.param({"n_trials": 12}, marks=pytest.mark.slow),
        pytest.param({"n_trials": 12, "race": False}, marks=pytest.mark.slow),
        pytest.param({"surrogate": "forest"}, marks=pytest.mark.slow),
    ],
)
def test_processes_change_nothing(options: dict[str, object]) -> None:
    given = {"n_trials": 8, "refit": False} | options
    one = tuner(**given).fit(X)
    two = tuner(**given, n_jobs=2).fit(X)
    columns = [c for c in one.trials_ if c != "seconds"]
    pd.testing.assert_frame_equal(one.trials_[columns], two.trials_[columns])
    assert one.best_score_ == two.best_score_


def test_a_setting_that_is_not_random_is_run_twice() -> None:
    found = tuner(Stateless(), n_repeats=10, refit=False).fit(X)
    assert set(found.trials_["n_runs"]) <= {2, 3}
    assert abs(found.best_params_["x"] - 0.6) < 0.05


def test_equal_figures_of_different_maps_do_not_end_a_setting() -> None:
    """A metric with few values agrees by chance; what counts is whether the maps are the same."""
    found = tuner(Toy(noise=0.2), metrics=coarse, n_trials=5, n_repeats=6, race=False, refit=False).fit(X)
    assert set(found.trials_["n_runs"]) == {6}


def test_failures_are_recorded_and_passed_over() -> None:
    with pytest.warns(ManifoliaWarning, match=r"settings failed and count for nothing; the first, .*too far"):
        found = tuner(Failing(noise=0.01), refit=False).fit(X)
    wrong = found.trials_[found.trials_["error"] != ""]
    assert wrong["error"].str.contains("too far to the right").any()
    assert (wrong["x"] > 0.5).any()
    assert abs(found.best_params_["x"] - 0.3) < 0.15
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_nan_is_a_failure() -> None:
    with pytest.warns(ManifoliaWarning, match="closeness is not a finite number"):
        found = tuner(Failing(noise=0.001), {"x": (0.0, 0.4)}, refit=False, random_state=1).fit(X)
    assert found.trials_["error"].str.contains("not a finite number").any()


def test_nothing_works() -> None:
    with pytest.raises(TuningError, match=r"none of 5 settings worked, all for the same reason: RuntimeError: too far"):
        tuner(Failing(), {"x": (0.6, 1.0)}, n_trials=5).fit(X)


@pytest.mark.parametrize("table", ["frame", "polars", "Arrow"])
def test_a_cause_that_all_settings_share_is_named_once(table):
    frame = pd.DataFrame({"age": np.arange(30.0), "city": ["Paris", "Rome"] * 15})
    X = {"frame": frame, "polars": polars_of(frame), "Arrow": arrow_of(frame)}[table]
    with pytest.raises(TuningError) as caught:
        Tuner(PHATE(), {"n_neighbors": (2, 4)}, n_trials=3, n_repeats=1, n_pilot=2, n_jobs=1).fit(X)
    said = str(caught.value)
    assert said.startswith("none of 3 settings worked, all for the same reason: X cannot be used: column 'city' holds")
    assert said.count("'Paris'") == 1
    assert said.endswith("PHATE takes numbers; use mf.map, or put TablePreparer before it.")


def polars_of(frame):
    return pytest.importorskip("polars", reason="polars is not installed").from_pandas(frame)


def arrow_of(frame):
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").Table.from_pandas(frame)


def test_warnings_of_an_estimator_do_not_stop_a_study() -> None:
    assert tuner(Warning_(), n_trials=4, refit=False).fit(X).confirmed_


def test_several_metrics_give_a_front() -> None:
    found = tuner(metrics=[closeness, closeness_of_the_other], n_trials=14, n_repeats=2).fit(X)
    front = found.pareto_
    assert front["x"].between(0.2, 0.9).mean() > 0.7
    assert front["chance"].between(0, 1).all()
    assert 0.3 < found.knee_["x"] < 0.8  # best for one at 0.3, for the other at 0.8
    assert found.best_setting_ in [dict(row) for row in front[["x"]].to_dict("records")]
    assert len(found.best_score_) == 2
    json.dumps(found.to_dict(), allow_nan=False)
    expected = found.expected_front(500)
    assert expected["x"].between(0.2, 0.9).mean() > 0.9
    first = expected["closeness_expected"].to_numpy()
    second = expected["closeness_of_the_other_expected"].to_numpy()
    assert np.all(np.diff(first) >= 0)
    assert np.all(np.diff(second) <= 0)  # what is gained in one is lost in the other


def test_a_users_pick_is_fitted_without_searching_again(tmp_path: Path) -> None:
    options = {
        "metrics": [closeness, closeness_of_the_other],
        "storage": tmp_path / "s.db",
        "n_trials": 8,
        "n_repeats": 2,
    }
    first = tuner(**options).fit(X)
    pick = {"x": float(first.pareto_["x"].iloc[0])}
    again = tuner(**options, refit=pick).fit(X)
    assert again.best_params_ == pick
    pd.testing.assert_frame_equal(first.trials_.drop(columns="seconds"), again.trials_.drop(columns="seconds"))
    with pytest.raises(ValueError, match="lies outside"):
        tuner(**options, refit={"x": 7.0}).fit(X)


def test_fractions_are_carried_over_to_all_rows() -> None:
    """n_neighbors does not matter to the toy: all three ways are run on all rows, and the first is as good as any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        found = tuner(Toy(noise=0.01), {"n_neighbors": Normalized(0.1, 0.5)}, subsample=20, n_trials=4, n_full=2).fit(X)
    assert found.best_estimator_.n_rows_ == 60
    fraction = found.best_setting_["n_neighbors"]
    small, large = max(1, round(20 * fraction)), round(60 * fraction)
    assert found.best_params_["n_neighbors"] in (small, round((small * large) ** 0.5), large)
    assert found.trials_["argument_n_neighbors"].max() <= 10  # the trials were on 20 rows
    assert len(found.rows_) == 20


class Best(Toy):
    """Best where n_neighbors is 7, whatever the number of rows."""

    def fit_transform(self, X: np.ndarray, y: object = None) -> np.ndarray:
        Y = super().fit_transform(X, y)
        Y[0, 0] = (
            1 - ((self.n_neighbors - 7) / 60) ** 2 + self.noise * np.random.default_rng(self.random_state).normal()
        )
        return Y


def test_a_number_that_does_not_grow_with_the_rows_is_carried_as_a_number() -> None:
    """The fraction found on 20 rows would be three times too large on 60; the table tells what was tried."""
    options = {"subsample": 20, "n_trials": 8, "n_full": 2, "n_confirm": 0}
    found = tuner(Best(noise=0.001), {"n_neighbors": Normalized(0.1, 0.9)}, **options).fit(X)
    small = found.trials_["argument_n_neighbors"][found.trials_["closeness_expected"].idxmin()]
    assert found.best_params_["n_neighbors"] == small
    assert found.carried_["way"].tolist() == ["same fraction", "between", "same number"]
    assert found.carried_["chosen"].tolist() == [False, False, True]
    assert found.carried_["closeness"].is_monotonic_increasing
    assert (found.carried_["n_runs"] == 2).all()
    json.dumps(found.to_dict(), allow_nan=False)
    trusting = tuner(Best(), {"n_neighbors": Normalized(0.1, 0.9)}, **(options | {"n_full": 0})).fit(X)
    assert trusting.best_params_["n_neighbors"] == round(60 * trusting.best_setting_["n_neighbors"])


def test_runs_on_all_rows_are_not_made_for_nothing() -> None:
    found = tuner(subsample=20, n_trials=4, n_confirm=0, refit=False).fit(X)  # one way only, and no map to make
    assert not hasattr(found, "carried_")


class Watched(Toy):
    """Writes which rows it got."""

    def __init__(self, x: float = 0.0, noise: float = 0.0, folder: str = "", random_state: object = None) -> None:
        super().__init__(x, noise, random_state=random_state)
        self.folder = folder

    def fit_transform(self, X: np.ndarray, y: object = None) -> np.ndarray:
        with open(f"{self.folder}/rows", "a") as file:
            file.write(f"{self.x!r} {X[:, 0].tolist()!r}\n")
        return Toy.fit_transform(self, X, y)


@pytest.mark.parametrize("resample", [False, True])
def test_rows_of_a_repeat_are_the_same_for_all_settings_and_fresh_when_confirmed(
    tmp_path: Path, resample: bool
) -> None:
    options = {"subsample": 20, "n_trials": 3, "n_pilot": 3, "n_repeats": 2, "n_confirm": 0, "refit": False}
    found = tuner(Watched(folder=str(tmp_path), noise=0.1), resample=resample, **options).fit(X)
    lines = [line.split(" ", 1) for line in (tmp_path / "rows").read_text().splitlines()]
    searched, final = lines[:6], lines[6:]
    by_setting: dict[str, list[str]] = {}
    for x, rows in searched:
        by_setting.setdefault(x, []).append(rows)
    assert len({tuple(rows) for rows in by_setting.values()}) == 1  # settings are compared on the same rows
    assert len({rows for _, rows in searched}) == (2 if resample else 1)
    assert len(final) == 2
    assert ({rows for _, rows in final} & {rows for _, rows in searched} == set()) is resample
    assert found.confirmed_


def test_a_users_pick_that_fails_has_no_score() -> None:
    """Neither that of another setting, nor a map."""
    found = tuner(Failing(noise=0.01), {"x": (0.1, 0.9)}, refit={"x": 0.8}, n_trials=5, n_confirm=0)
    with warnings.catch_warnings(record=True) as caught, pytest.raises(RuntimeError, match="too far"):
        warnings.simplefilter("always")
        found.fit(X)
    assert any("failed when it was run again" in str(w.message) and "no score" in str(w.message) for w in caught)
    assert "best_score_" not in vars(found)  # a fit that fails leaves nothing


@pytest.mark.parametrize("sampling", ["uniform", "leverage", "stratified"])
def test_ways_of_sampling(sampling: str) -> None:
    y = np.repeat([0, 1], [50, 10])
    found = tuner(subsample=0.5, sampling=sampling, n_trials=4, resample=True, n_full=0).fit(X, y)
    assert len(found.rows_) == 30
    if sampling == "stratified":
        assert y[found.rows_].sum() == 5


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_study_goes_on_where_it_was_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_size: int
) -> None:
    """The same in one process, which claims to be another that is gone and had no time to clear up."""
    gone = {"host": socket.gethostname(), "pid": 2**30, "session": "gone"}
    options = {"n_trials": 7, "refit": False, "batch_size": batch_size}
    with monkeypatch.context() as patch:
        patch.setattr("manifolia.tune.study.new_worker", lambda: gone)
        patch.setattr("manifolia.tune.study.TrialStore.at_work", lambda store: contextlib.nullcontext())
        with pytest.raises(KeyboardInterrupt):
            tuner(BrokenOff(folder=str(tmp_path), at=21), storage=tmp_path / "s.db", **options).fit(X)
    with pytest.warns(ManifoliaWarning, match="unfinished trials of a process that is gone"):
        resumed = tuner(BrokenOff(folder=str(tmp_path), at=21), storage=tmp_path / "s.db", **options).fit(X)
    whole = tuner(BrokenOff(), **options).fit(X)
    columns = [c for c in whole.trials_ if c != "seconds"]
    pd.testing.assert_frame_equal(whole.trials_[columns], resumed.trials_[columns])
    assert resumed.best_score_ == whole.best_score_


@pytest.mark.filterwarnings("ignore:.*nothing is to be gained")  # six settings at random may look alike
def test_a_study_that_was_interrupted_goes_on_in_the_same_process(tmp_path: Path) -> None:
    """As in a notebook; and without a seed of the user's, with the one that is stored."""
    broken = BrokenOff(folder=str(tmp_path), at=13)
    options = {"n_trials": 6, "refit": False, "random_state": None, "storage": tmp_path / "s.db", "n_confirm": 0}
    with pytest.raises(KeyboardInterrupt):
        tuner(broken, **options).fit(X)
    resumed = tuner(broken, **options).fit(X)
    assert len(resumed.trials_) == 6
    assert int((tmp_path / "runs").read_text()) <= resumed.n_runs_ + 4  # what was under way at the interrupt


@pytest.mark.slow
def test_a_study_goes_on_after_a_kill_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """SIGKILL in the middle of a trial; then the same call again."""
    code = textwrap.dedent(f"""
        import numpy as np, sys, warnings
        warnings.simplefilter("ignore")
        sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
        from tune.toys import Killed, closeness
        from manifolia.tune import Tuner
        X = np.random.default_rng(0).normal(size=(60, 3))
        Tuner(Killed(folder={str(tmp_path)!r}, at=int(sys.argv[1])), {{"x": (0.0, 1.0)}}, closeness, n_repeats=4,
              n_trials=8,
              storage={str(tmp_path / "study.db")!r}, random_state=0, n_jobs=1, refit=False).fit(X)
    """)
    died = subprocess.run([sys.executable, "-c", code, "25"], capture_output=True, check=False)
    assert died.returncode == -9, died.stderr.decode()
    assert (tmp_path / "runs").read_text() == "25"
    whole = tuner(Killed(), n_trials=8, refit=False).fit(X)
    with pytest.warns(ManifoliaWarning, match="unfinished trials of a process that is gone"):
        resumed = tuner(
            Killed(folder=str(tmp_path), at=25), n_trials=8, storage=tmp_path / "study.db", refit=False
        ).fit(X)
    columns = [c for c in whole.trials_ if c != "seconds"]
    pd.testing.assert_frame_equal(whole.trials_[columns], resumed.trials_[columns])
    assert resumed.best_score_ == whole.best_score_
    assert int((tmp_path / "runs").read_text()) < 25 + whole.n_runs_  # finished runs were not run again


def test_more_trials_are_added_to_a_stored_study(tmp_path: Path) -> None:
    first = tuner(storage=tmp_path / "s.db", n_trials=6, refit=False).fit(X)
    more = tuner(storage=tmp_path / "s.db", n_trials=9, refit=False).fit(X)
    assert len(more.trials_) == 9
    pd.testing.assert_frame_equal(first.trials_[["slot", "x"]], more.trials_[["slot", "x"]].iloc[:6])


@pytest.mark.parametrize(
    ("options", "what"),
    [({"random_state": 1}, "random_state"), ({"space": {"x": (0.0, 2.0)}}, "space"), ({"n_repeats": 3}, "n_repeats")],
)
def test_a_stored_study_is_not_mixed_with_another(tmp_path: Path, options: dict[str, object], what: str) -> None:
    tuner(storage=tmp_path / "s.db", n_trials=3, refit=False).fit(X)
    with pytest.raises(StudyMismatchError, match=f"begun with another {what}"):
        tuner(**({"storage": tmp_path / "s.db", "n_trials": 3} | options)).fit(X)


def test_a_stored_study_knows_its_target_its_last_rows_and_its_grid(tmp_path: Path) -> None:
    y = np.repeat([0, 1], 30)
    options = {"n_repeats": 1, "n_trials": 3, "n_confirm": 0, "surrogate": "grid", "refit": False}
    tuner(storage=tmp_path / "s.db", **options).fit(X, y)
    other = X.copy()
    other[-1] += 1.0
    for data, target, more, what in ((X, 1 - y, {}, "y"), (other, y, {}, "data"), (X, y, {"n_trials": 5}, "n_trials")):
        with pytest.raises(StudyMismatchError, match=f"begun with another {what}"):
            tuner(storage=tmp_path / "s.db", **(options | more)).fit(data, target)


def test_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("manifolia.tune.search.time.monotonic", lambda: float(next(ticks)))
    found = tuner(n_trials=500, timeout=100.0, refit=False).fit(X)
    assert found.stopped_ == "the time was used up"
    assert 5 < len(found.trials_) < 60
    assert found.confirmed_  # a quarter of the time is kept for that


def test_without_time_to_confirm_the_score_is_said_to_be_too_good() -> None:
    with pytest.warns(ManifoliaWarning, match="no time to run the recommended setting again"):
        found = tuner(timeout=1e-3).fit(X)
    assert not found.confirmed_
    assert len(found.trials_) == 5  # the pilots


def test_a_callback_ends_the_search() -> None:
    found = tuner(n_trials=30, callback=lambda event: event.stage == "trials" and event.done >= 7, refit=False).fit(X)
    assert len(found.trials_) == 7
    assert found.stopped_ == "the callback asked for it"


@pytest.mark.parametrize("stage", ["trials", "confirm"])
def test_an_interrupted_search_leaves_the_old_answer(stage: str) -> None:
    found = tuner().fit(X)
    before = found.best_params_, found.best_score_, found.embedding_.copy(), len(found.trials_)
    heard: list[str] = []

    def interrupt(event: ProgressEvent) -> None:
        heard.append(event.stage)
        if event.stage == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.set_params(callback=interrupt, random_state=1, space={"x": (0.0, 0.1)}).fit(X[:40])
    assert heard[-1] == stage
    with pytest.raises(ValueError, match="n_trials"):
        found.set_params(callback=None, n_trials=0).fit(X[:40])
    assert (found.best_params_, found.best_score_, len(found.trials_)) == (*before[:2], before[3])
    np.testing.assert_array_equal(found.embedding_, before[2])
    assert len(found.rows_) == len(X)


def test_nothing_to_gain_ends_the_search() -> None:
    found = tuner(Toy(noise=0.05), n_trials=40, early_stop=True, refit=False).fit(X)
    assert len(found.trials_) < 40
    assert "promised less than the noise" in found.stopped_


def test_cheap_pilots_choose_the_pilots() -> None:
    found = tuner(pilot_params={"noise": 0.0}, n_pilot=4, n_trials=6, refit=False).fit(X)
    pilots = found.trials_[found.trials_["stage"] == "pilot"]
    assert len(pilots) == 4
    assert pilots["x"].between(0.0, 0.7).all()  # of eight the four nearest to 0.3


def test_a_grid_runs_all_its_points() -> None:
    found = tuner(surrogate="grid", n_trials=11, race=False, refit=False).fit(X)
    assert sorted(found.trials_["x"]) == pytest.approx(np.linspace(0, 1, 11).tolist())
    assert abs(found.best_params_["x"] - 0.3) < 0.11


def test_conditions_and_options_go_through() -> None:
    space = {"kind": ["a", "b"], "n_neighbors": When(Integer(2, 9), on="kind", among=["b"]), "x": (0.0, 1.0)}
    found = tuner(space=space, refit=False).fit(X)
    assert found.trials_.loc[found.trials_["kind"] == "a", "n_neighbors"].isna().all()
    assert abs(found.best_params_["x"] - 0.3) < 0.2


def test_sensitivity_of_a_study() -> None:
    found = tuner(space={"x": (0.0, 1.0), "n_neighbors": (2, 50)}, n_trials=14, refit=False).fit(X)
    table = pd.DataFrame(found.to_dict()["sensitivity"]["table"]).set_index("parameter")  # from sensitivity()
    assert table.loc["x", "ST"] > 0.9
    assert table.loc["n_neighbors", "ST"] < 0.1


def test_metrics_by_name_pipelines_and_real_methods() -> None:
    iris = load_iris()
    model = make_pipeline(StandardScaler(), Isomap())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = Tuner(
            model,
            {"isomap__n_neighbors": (5, 40)},
            ["auc_r_nx", "knn_accuracy"],
            n_pilot=3,
            n_trials=4,
            random_state=0,
            n_jobs=1,
        ).fit(iris.data, iris.target)
    assert set(found.best_params_) == {"isomap__n_neighbors"}
    assert found.trials_["knn_accuracy"].between(0.8, 1).all()


def test_data_frames_are_passed_on() -> None:
    iris = load_iris(as_frame=True)
    found = Tuner(PCA(2), {"whiten": [True, False]}, "silhouette", n_pilot=2, n_trials=2, random_state=0, n_jobs=1)
    found.fit(iris.data, iris.target)
    assert list(found.best_estimator_.feature_names_in_) == list(iris.data.columns)


def test_a_registered_metric() -> None:
    register("first_number", closeness, direction="higher", needs=["Y"], overwrite=True)
    assert abs(tuner(metrics="first_number", n_trials=8, refit=False).fit(X).best_params_["x"] - 0.3) < 0.2


def test_presets() -> None:
    assert set(Tuner.for_(TSNE()).space) == {"perplexity", "early_exaggeration"}
    assert set(Tuner.for_(FeatureMAP()).space) == {"n_neighbors", "density_weight"}
    assert set(Tuner.for_(FeatureMAP(layout="edges")).space) == {"n_neighbors", "density_weight", "min_dist"}
    assert set(Tuner.for_("rf-phate", n_trials=5).space) == {"t", "damping", "forest__max_features"}
    assert Tuner.for_(TSNE(), space={"perplexity": (5.0, 20.0)}).space["perplexity"] == (5.0, 20.0)
    with pytest.raises(ValueError, match="there is no preset for PCA"):
        Tuner.for_(PCA())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": 3}, "estimator must have fit_transform"),
        ({"space": {"z": (0, 1)}}, "a parameter of space must be one of"),
        ({"metrics": "nmi"}, "metric 'nmi' needs y"),
        ({"metrics": "arrow_fidelity"}, "needs gradients"),
        ({"metrics": lambda Z: 0.0}, "must take the map as a parameter called Y"),
        ({"surrogate": "gp"}, "surrogate must be one of"),
        ({"aggregate": "best"}, "aggregate must be"),
        ({"n_repeats": 0}, "n_repeats must be at least 1"),
        ({"subsample": 0.01}, "leaves 1 of 60 rows"),
        ({"storage": "/nowhere/at/all.db"}, "does not exist"),
        ({"pilot_params": {"q": 1}}, "a parameter of pilot_params must be one of"),
        ({"pilot_params": {"x": 0.5}}, "pilot_params has 'x', which is tuned"),
        ({"estimator": Toy}, "Pass an instance"),
        ({"metrics": []}, "metrics must be one or several"),
        ({"metrics": [lambda Y: 0.0, lambda Y: 1.0]}, "with different names"),
        ({"refit": {"y": 0.5}}, "lacks 'x'"),
        ({"surrogate": "grid", "space": {"x": (0.0, 1.0), "noise": (0.0, 1.0)}, "n_trials": 3}, "at least 4 settings"),
    ],
)
def test_errors_say_what_to_do(options: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError, FileNotFoundError), match=message):
        tuner(**options).fit(X)


def test_data_need_rows_and_columns() -> None:
    with pytest.raises(ValueError, match=r"X must have rows and columns, got shape \(60,\)"):
        tuner().fit(X[:, 0])
    frame = pd.DataFrame({"a": ["p", "q"] * 30, "b": range(60)})
    with pytest.raises(ValueError, match=r"sampling='leverage' needs numbers.*metric_X"):
        tuner(subsample=0.5, sampling="leverage").fit(frame)


@pytest.mark.slow
def test_the_preset_of_a_forests_map_tunes_the_forest() -> None:
    iris = load_iris()
    model = RFPHATE(n_trees=20, n_landmarks=None)
    found = Tuner.for_(model, n_pilot=3, n_trials=4, n_repeats=2, n_confirm=0, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)  # four settings may well be called flat
        found.fit(iris.data[::3], iris.target[::3])
    assert 0.1 <= found.best_params_["forest__max_features"] <= 1.0
    assert found.best_estimator_.forest_.max_features == found.best_params_["forest__max_features"]
    RFPHATE().set_params(**found.best_params_)  # what is recommended can be used


def test_the_sampler_in_a_study_of_optunas() -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=SurrogateSampler({"x": (0.0, 1.0)}, random_state=0), direction="maximize")
    study.optimize(lambda trial: -((trial.suggest_float("x", 0.0, 1.0) - 0.7) ** 2), n_trials=12)
    assert abs(study.best_params["x"] - 0.7) < 0.05


def test_parameters_are_a_copy_away() -> None:
    assert clone(tuner()).get_params()["n_trials"] == 12
