"""Trials in a storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from manifolia.tune import study
from manifolia.tune.space import SearchSpace
from manifolia.tune.study import TrialStore
from tune.toys import RUN, store


def test_a_slot_belongs_to_one_worker(tmp_path: Path) -> None:
    mine, other = store(tmp_path / "s.db"), store(tmp_path / "s.db")
    trial = other.begin("model", 3, {"x": 0.1}, {})
    assert trial is not None
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
    monkeypatch.setattr(study, "_ATTEMPT_PAUSE", 0.0)
    assert store(tmp_path / "s.db").trials() == []
    assert not failures
    monkeypatch.setattr(optuna, "create_study", lambda **_: (_ for _ in ()).throw(RuntimeError("disk full")))
    with pytest.raises(ValueError, match="cannot be opened as a study: disk full"):
        store(tmp_path / "t.db")


def test_what_is_interrupted_leaves_no_trial_open(tmp_path: Path) -> None:
    """In a notebook the process lives on: the same call again must not wait for itself."""
    one = store(tmp_path / "s.db")
    with pytest.raises(KeyboardInterrupt), one.at_work():
        trial = one.begin("model", 3, {"x": 0.1}, {})
        one.record(trial, [RUN])
        raise KeyboardInterrupt
    again = store(tmp_path / "s.db")
    assert again.elsewhere("model") == {}
    taken = again.begin("model", 3, {"x": 0.1}, {})
    assert taken is not None
    assert taken.runs == [RUN]


def test_a_storage_that_is_none_is_said_without_its_password(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(b"no database, by any means " * 50)
    with pytest.raises(ValueError, match=r"cannot be opened as a study: .*not a database"):
        store(tmp_path / "s.db")
    with pytest.raises(ValueError, match=r"nosuch://…@host/name.* cannot be opened") as failure:
        TrialStore(SearchSpace({"x": (0.0, 1.0)}), ["a"], storage="nosuch://me:secret@host/name", signature={})
    assert "secret" not in str(failure.value)
