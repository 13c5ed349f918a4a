"""Several processes on one study."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from manifolia.tune import workers
from tune.toys import RUN, store


def test_a_worker_that_beats_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another machine, where no one can look for its process: what counts is whether its number grows."""
    clock = [0.0]
    monkeypatch.setattr(workers.time, "monotonic", lambda: clock[0])
    mine, other = store(tmp_path / "s.db"), store(tmp_path / "s.db")
    other._me["host"] = "elsewhere"
    trial = other.begin("model", 3, {"x": 0.1}, {})
    assert trial is not None
    other.record(trial, [RUN])
    for number in range(4):
        clock[0] += 200.0
        other._write_beat(number)
        assert mine.recover() == 0
    clock[0] += 200.0
    assert mine.recover() == 0  # not long enough
    clock[0] += 200.0
    assert mine.recover() == 1
    taken = mine.begin("model", 3, {"x": 0.1}, {})
    assert taken is not None
    assert taken.runs == [RUN]
    # The other one was only slow: it finds its trial closed, and leaves it.
    other.record(trial, [RUN])
    other.finish(trial, [0.5])
    assert not trial.finished
    mine.finish(taken, [0.5])
    assert [one.slot for one in other.trials()] == [3]


def test_beats_are_written_while_a_trial_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BEAT", 0.01)
    one = store(tmp_path / "s.db")
    with one.at_work():
        one.begin("model", 3, {"x": 0.1}, {})
        end = time.monotonic() + 20.0
        while "beat" not in one.study.trials[0].user_attrs and time.monotonic() < end:
            time.sleep(0.02)
    assert one.study.trials[0].user_attrs["beat"] >= 1
    assert not any(thread.name == "manifolia-tune-beat" for thread in threading.enumerate())


def test_a_beat_that_fails_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BEAT", 0.001)
    written: list[int] = []

    def write(number: int) -> None:
        written.append(number)
        raise RuntimeError("database is locked")

    beat = workers.Beat(write)
    end = time.monotonic() + 20.0
    while len(written) < 2 and time.monotonic() < end:
        time.sleep(0.005)
    beat.end()
    assert written[:2] == [1, 2]


def test_an_old_worker_with_the_number_of_this_process_is_gone() -> None:
    """A container that starts anew has its old host and process number."""
    mine = workers.new_worker()
    assert not workers.is_gone(mine)
    assert workers.is_gone({**mine, "session": "of an earlier life"})
    workers.end_worker(mine)
    assert workers.is_gone(mine)
    assert not workers.is_gone({"host": "elsewhere", "pid": 1, "session": "a"})
    assert workers.is_gone({"host": mine["host"], "pid": 2**30, "session": "a"})


def _runs(pid: int) -> bool:
    """Whether a process is there; one that has ended may wait for somebody to ask how."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (OSError, ValueError):
        return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
def test_the_processes_of_a_tuner_that_is_killed_end_by_themselves(tmp_path: Path) -> None:
    """In the midst of a run, which would go on for long."""
    code = textwrap.dedent(f"""
        import os, sys, time, warnings
        from pathlib import Path
        import numpy as np
        warnings.simplefilter("ignore")
        sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
        from tune.toys import Toy, closeness
        from manifolia.tune import Tuner

        class Endless(Toy):
            def fit_transform(self, X, y=None):
                (Path({str(tmp_path)!r}) / f"{{os.getpid()}}.run").touch()
                time.sleep(120)

        X = np.random.default_rng(0).normal(size=(60, 3))
        Tuner(Endless(), {{"x": (0.0, 1.0)}}, closeness, n_repeats=2, n_trials=4, n_jobs=2, random_state=0).fit(X)
    """)
    tuner = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "NUMBA_NUM_THREADS": "2"}, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 60.0
    while len(list(tmp_path.glob("*.run"))) < 2 and time.monotonic() < end and tuner.poll() is None:
        time.sleep(0.1)
    at_work = [int(path.stem) for path in tmp_path.glob("*.run")]
    assert len(at_work) == 2
    assert tuner.pid not in at_work
    tuner.send_signal(signal.SIGKILL)
    tuner.wait()
    end = time.monotonic() + 30.0
    while any(_runs(pid) for pid in at_work) and time.monotonic() < end:
        time.sleep(0.1)
    left = [pid for pid in at_work if _runs(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.mark.slow
def test_two_processes_share_a_study(tmp_path: Path) -> None:
    """Both begin on a file that is not there; every slot is tried once, and both end with the same answer."""
    code = textwrap.dedent(f"""
        import numpy as np, sys, warnings
        warnings.simplefilter("ignore")
        sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
        from tune.toys import Slow, closeness
        from manifolia.tune import Tuner
        X = np.random.default_rng(0).normal(size=(60, 3))
        tuner = Tuner(Slow(noise=0.1), {{"x": (0.0, 1.0)}}, closeness, n_repeats=4, n_trials=12,
                      storage={str(tmp_path / "study.db")!r}, random_state=0, n_jobs=1, refit=False).fit(X)
        print(tuner.best_params_, tuner.best_score_)
        tuner.trials_.to_csv(sys.argv[1])
    """)
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(f)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for f in files
    ]
    ends = [worker.communicate(timeout=300) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], ends
    assert ends[0][0] == ends[1][0]
    one, two = (pd.read_csv(f) for f in files)
    pd.testing.assert_frame_equal(one, two)
    assert one["slot"].tolist() == list(range(12))
    import optuna

    kept = optuna.load_study(study_name="manifolia", storage=f"sqlite:///{tmp_path / 'study.db'}").trials
    done = [(t.user_attrs["stage"], t.user_attrs["slot"]) for t in kept if t.user_attrs.get("finished")]
    assert len(done) == len(set(done))
    assert len({t.user_attrs["worker"]["pid"] for t in kept}) == 2  # both had a part
