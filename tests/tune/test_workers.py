"""Several processes on one study."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pandas as pd
import pytest

from manifolia.tune import study
from manifolia.tune.evaluation import Run
from manifolia.tune.space import Space
from manifolia.tune.study import TrialStore

RUN = Run((0.5,), (0.5,))


def store(path: Path) -> TrialStore:
    return TrialStore(Space({"x": (0.0, 1.0)}), ["closeness"], storage=path, signature={"seed": 0})


def test_a_slot_belongs_to_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = store(tmp_path / "s.db"), store(tmp_path / "s.db")
    trial = other.begin("model", 3, {"x": 0.1}, {})
    assert trial is not None
    monkeypatch.setattr(study, "_myself", lambda: {"host": "mine", "pid": 1})
    assert mine.elsewhere("model") == {3: {"x": 0.1}}
    assert mine.begin("model", 3, {"x": 0.7}, {}) is None
    assert mine.elsewhere("pilot") == {}
    other.record(trial, [RUN])
    other.finish(trial, [0.5])
    assert mine.elsewhere("model") == {}
    found = mine.finished("model", 3)
    assert found is not None
    assert found.setting == {"x": 0.1}
    assert mine.finished("model", 4) is None


def test_a_storage_that_is_being_made_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import optuna

    real, failures = optuna.create_study, ["table studies already exists", "database is locked"]

    def create(**options: object) -> object:
        if failures:
            raise RuntimeError(failures.pop())
        return real(**options)

    monkeypatch.setattr(optuna, "create_study", create)
    monkeypatch.setattr(study, "_PAUSE", 0.0)
    assert store(tmp_path / "s.db").trials() == []
    assert not failures
    monkeypatch.setattr(optuna, "create_study", lambda **_: (_ for _ in ()).throw(RuntimeError("disk full")))
    with pytest.raises(RuntimeError, match="disk full"):
        store(tmp_path / "t.db")


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
