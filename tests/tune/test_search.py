"""What a search tells on its way, and what ends it."""

from __future__ import annotations

import math
import os
import signal

import numpy as np
import pytest

from manifolia._core.progress import ProgressEvent
from manifolia.exceptions import ManifoliaWarning
from manifolia.tune import Tuner
from tune.toys import Toy, closeness, closeness_of_the_other

pytest.importorskip("optuna", reason="Optuna is not installed")

X = np.random.default_rng(0).normal(size=(60, 3))


def tuner(estimator: object = None, space: object = None, metrics: object = closeness, **options: object) -> Tuner:
    given = {"n_repeats": 4, "n_trials": 8, "random_state": 0, "n_jobs": 1, "refit": False} | options
    return Tuner(estimator or Toy(noise=0.01), space or {"x": (0.0, 1.0)}, metrics, **given)


def test_every_event_tells_the_best_and_the_time_left() -> None:
    events: list[ProgressEvent] = []
    found = tuner(callback=events.append).fit(X)
    assert {event.stage for event in events} == {"pilot", "trials", "confirm", "final"}
    for event in events:
        assert event.metrics["seconds_left"] >= 0.0
        assert math.isfinite(event.metrics["best"])
        assert 0 <= event.done <= event.total
    trials = [event for event in events if event.stage == "trials"]
    assert [event.done for event in trials] == [6, 7, 8]
    assert trials[-1].metrics["best"] == pytest.approx(found.trials_["closeness_loss"].min())
    assert trials[-1].metrics["seconds_left"] == 0.0
    pilots = [event for event in events if event.stage == "pilot"]
    assert pilots[-1].done == pilots[-1].total == 5
    assert pilots[0].done < 5  # some get more runs


def test_time_left_counts_what_this_call_has_run(tmp_path: pytest.TempPathFactory) -> None:
    """Trials that were stored before took no time now, and must not make the rest look quick."""
    path = f"{tmp_path}/s.db"
    tuner(storage=path, n_trials=6, n_confirm=0).fit(X)
    events: list[ProgressEvent] = []
    tuner(storage=path, n_trials=8, n_confirm=0, callback=events.append).fit(X)
    first = next(event for event in events if event.stage == "trials")
    assert first.done == 6
    assert first.metrics["seconds_left"] == 0.0  # nothing was run yet
    second = [event for event in events if event.stage == "trials"][1]
    assert second.metrics["seconds_left"] > 0.0


def test_a_callback_that_always_asks_for_an_end_gets_an_answer() -> None:
    with pytest.warns(ManifoliaWarning, match="no time to run the recommended setting again"):
        found = tuner(n_trials=30, callback=lambda event: True).fit(X)
    assert found.stopped_ == "the callback asked for it"
    assert len(found.trials_) == 5  # the pilots, with two runs each
    assert set(found.trials_["n_runs"]) == {2}
    assert not found.confirmed_


def test_a_callback_may_end_the_confirming() -> None:
    with pytest.warns(ManifoliaWarning, match="no time to run the recommended setting again"):
        found = tuner(callback=lambda event: event.stage == "confirm").fit(X)
    assert len(found.trials_) == 8
    assert found.stopped_ == ""


def test_a_space_that_is_used_up_ends_the_search() -> None:
    found = tuner(space={"x": [0.1, 0.5, 0.9]}, n_trials=20, n_confirm=0).fit(X)
    assert sorted(found.trials_["x"]) == [0.1, 0.5, 0.9]
    assert found.stopped_ == "every setting was tried"


def test_early_stop_needs_something_to_compare() -> None:
    for options in ({"surrogate": "random"}, {"surrogate": "grid"}, {"n_repeats": 1}):
        with pytest.raises(ValueError, match="early_stop=True compares what a surrogate expects"):
            tuner(early_stop=True, **options).fit(X)


def test_nothing_to_gain_on_a_flat_landscape_is_said_to_be_one() -> None:
    with pytest.warns(ManifoliaWarning, match="the method may not suit the data"):
        found = tuner(Toy(noise=0.05), {"n_neighbors": (1, 50)}, n_trials=40, early_stop=True).fit(X)
    assert found.flat_
    assert len(found.trials_) < 40
    assert "promised less than the noise" in found.stopped_


def test_early_stop_with_several_metrics_looks_at_each_in_its_own_range() -> None:
    """A loss in thousandths beside one in thousands: neither its noise nor its gain may be taken for the other's."""

    def large(Y: np.ndarray) -> float:
        return 1000 * float(Y[0, 0])

    def small(Y: np.ndarray) -> float:
        return float(Y[0, 1]) / 1000

    def plain(Y: np.ndarray) -> float:
        return float(Y[0, 1])

    options = {"n_trials": 14, "early_stop": True, "n_confirm": 0}
    one = tuner(Toy(noise=0.02), metrics=[large, small], **options).fit(X)
    two = tuner(Toy(noise=0.02), metrics=[closeness, plain], **options).fit(X)
    assert len(one.trials_) == len(two.trials_)


class Dies(Toy):
    """Kills its process on the right."""

    def fit_transform(self, X: object, y: object = None) -> np.ndarray:
        if self.x > 0.7:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit_transform(X, y)


@pytest.mark.slow
def test_a_process_that_dies_is_a_setting_that_failed() -> None:
    with pytest.warns(ManifoliaWarning, match="the process of this run died"):
        found = tuner(Dies(noise=0.001), n_pilot=3, n_trials=4, n_repeats=2, n_confirm=0, n_jobs=2).fit(X)
    wrong = found.trials_[found.trials_["error"] != ""]
    assert (wrong["x"] > 0.7).all()
    assert len(wrong) > 0
    assert (found.trials_.loc[found.trials_["error"] == "", "x"] <= 0.7).all()


def test_two_metrics_share_a_cube_whatever_their_units() -> None:
    """A user's function has no range: it is measured within that of the trials, so that the share is one."""
    found = tuner(metrics=[closeness, closeness_of_the_other], n_repeats=2, n_confirm=0).fit(X)
    assert 0.0 < found.hypervolume_ <= 1.0
