"""Trials in an Optuna study: slots, what is finished, what was lost, resuming after a kill, and several workers.

One trial is one setting with its repeats. Every trial has a **slot**, a number of our own: what is tried in slot s,
with which seeds, follows from the seed of the study, s and what the slots before it found. Optuna's own numbers count
attempts: a slot whose process was killed is marked failed and tried again under another number. The runs that it had
finished are kept with the failed trial and taken over.

Several processes may work on one storage: a slot belongs to the one whose trial has the lowest number. `tune.workers`
says which of them are gone.

Stages: ``"scout"`` (cheap pilots that only choose pilots), ``"pilot"`` and ``"model"`` (the trials proper), then
``"confirm"``, ``"final"`` and ``"full"`` (fresh seeds, and all rows).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.optional import import_extra
from manifolia._core.random import as_seed
from manifolia._core.types import FloatArray, IntArray
from manifolia.exceptions import ManifoliaError, ParameterError, ParameterTypeError
from manifolia.tune.parameters import label_of
from manifolia.tune.space import SearchSpace, Setting
from manifolia.tune.subsample import take_rows
from manifolia.tune.workers import Beat, Watch, end_worker, is_gone, new_worker

#: Their numbers are part of the seeds of runs.
STAGES = ("scout", "pilot", "model", "confirm", "final", "full")
#: Those that have a part in the choice of candidates.
SEARCHED_STAGES = ("scout", "pilot", "model")
#: Those that count as trials.
_TRIALS = ("pilot", "model")

_ATTEMPTS = 40  # attempts to open a storage that another process is just creating
_ATTEMPT_PAUSE = 0.25  # seconds between them
_PATIENCE = 60.0  # seconds that SQLite waits for another process to end its writing
_LOOKED_AT = 1000  # rows, evenly spread, by which data are recognised
_NAMING = 5.0  # seconds that another process may take between asking for a trial and naming its slot
_PAUSE = 0.025  # seconds between looks at whether it has


def mixed_seed(seed: int, *numbers: int) -> int:
    """Make a separate seed for a stage, slot or repeat."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1)[0])


def run_seed(seed: int, stage: str, slot: int, repeat: int) -> int:
    """Make the seed of a run."""
    return mixed_seed(seed, 6, STAGES.index(stage), slot, repeat)


class StudyMismatchError(ManifoliaError, ValueError):
    """A stored study was made with another space, other metrics or other data."""


@dataclass(frozen=True)
class TrialRun:
    """The result of a run."""

    # One per metric, in [0, 1] where the metric has a range, smaller being better; empty after an error
    losses: tuple[float, ...] = ()
    values: tuple[float, ...] = ()  # The metrics themselves
    own_loss: float = math.nan  # What the estimator minimised, if it reports it; NaN otherwise
    seconds: float = 0.0  # Time of the map and the metrics
    error: str = ""  # What went wrong, in one line; empty if nothing did
    notes: tuple[str, ...] = ()  # Warnings of the estimator
    fingerprint: str = ""  # Fingerprint of the map: two runs with the same one made the same map

    def to_dict(self) -> dict[str, Any]:
        """Return what a stored study keeps."""
        return {**asdict(self), "own_loss": None if math.isnan(self.own_loss) else self.own_loss}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> TrialRun:
        """Read what a stored study kept."""
        lists = {name: tuple(kept[name]) for name in ("losses", "values", "notes")}
        return cls(**{**kept, **lists, "own_loss": math.nan if kept["own_loss"] is None else kept["own_loss"]})


@dataclass
class Trial:
    """One setting with its runs."""

    slot: int  # Number within its stage
    stage: str  # What it was tried for
    setting: Setting  # The setting
    arguments: dict[str, Any]  # What the estimator got
    runs: list[TrialRun] = field(default_factory=list)  # Finished repeats, in order
    expected_gain: float = math.nan  # Improvement that was expected of it; NaN if none was
    finished: bool = False  # Whether no more runs follow
    number: int = -1  # Optuna's number
    handle: Any = field(default=None, repr=False, compare=False)  # What it is written through while it runs

    @property
    def losses(self) -> FloatArray:
        """Losses of the runs that worked, (n_runs, n_metrics)."""
        worked = [run.losses for run in self.runs if not run.error]
        return np.array(worked, dtype=np.float64) if worked else np.empty((0, 0))

    @property
    def error(self) -> str:
        """The first error, if any run failed: a setting that fails now and then is not one to recommend."""
        return next((run.error for run in self.runs if run.error), "")

    @property
    def works(self) -> bool:
        """Whether it has runs and none failed."""
        return bool(self.runs) and not self.error


#: A run to do: a trial and the number of the repeat.
Task = tuple[Trial, int]


class TrialStore:
    """The trials of a study, in Optuna's storage."""

    def __init__(
        self,
        space: SearchSpace,
        metric_names: list[str],
        *,
        storage: Any = None,
        study_name: str | None = None,
        signature: dict[str, Any],
        seed: int | None = 0,
    ) -> None:
        self._optuna = import_extra("optuna", extra="tune", purpose="Tuning")
        from manifolia.tune.sampler import SurrogateSampler, distributions

        self._space = space
        self._states = self._optuna.trial.TrialState
        self._distributions = distributions
        self._sampler = SurrogateSampler(space, random_state=0)
        verbosity = self._optuna.logging.get_verbosity()
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        try:
            self.study = _open_study(
                self._optuna,
                storage,
                study_name=study_name or ("manifolia" if storage is not None else None),
                sampler=self._sampler,
                directions=["minimize"] * len(metric_names),
                load_if_exists=True,
            )
        finally:
            self._optuna.logging.set_verbosity(verbosity)
        described = {name: repr(space.conditions.get(name, one)) for name, one in space.parameters.items()}
        self._check_signature({**signature, "space": described, "metrics": metric_names}, seed)
        if self.study.directions and len(self.study.directions) != len(metric_names):
            raise StudyMismatchError(
                f"the stored study has {len(self.study.directions)} metrics, not {len(metric_names)}."
            )
        with warnings.catch_warnings():  # Optuna calls it experimental; it only names columns of the dashboard
            warnings.simplefilter("ignore")
            self.study.set_metric_names(metric_names)
        self._open: dict[int, Trial] = {}
        self._me = new_worker()
        self._watch = Watch()
        self._is_kept = storage is not None

    def _check_signature(self, signature: dict[str, Any], seed: int | None) -> None:
        kept = self.study.user_attrs.get("manifolia")
        if seed is None:  # the user leaves it to us: resuming means resuming with the stored seed
            seed = as_seed(None) if kept is None else json.loads(kept).get("random_state", 0)
        self.seed = seed
        text = json.dumps({**signature, "random_state": seed}, sort_keys=True, default=str)
        if kept is None:
            is_begun = bool(self._kept())
            kept = self.study.user_attrs.get("manifolia")  # another process may meanwhile have signed it and started
            if is_begun and kept is None:
                raise StudyMismatchError(
                    f"the study {self.study.study_name!r} holds trials of another program. Pass another study_name."
                )
        if kept is None:
            self.study.set_user_attr("manifolia", text)
        elif kept != text:
            before, now = json.loads(kept), json.loads(text)
            changed = [name for name in now if before.get(name) != now[name]]
            raise StudyMismatchError(
                f"the study {self.study.study_name!r} was begun with another {' and '.join(changed) or 'set-up'}. "
                "Continue it with the same, or pass another study_name."
            )

    def recover(self) -> int:
        """Mark trials whose worker is gone as failed."""
        lost = 0
        for trial in self._kept(self._states.RUNNING, self._states.WAITING):
            worker = trial.user_attrs.get("worker")
            if worker is None or worker == self._me:
                continue
            if is_gone(worker) or self._watch.is_silent(trial.number, trial.user_attrs.get("beat")):
                self.study.tell(trial.number, state=self._states.FAIL, skip_if_finished=True)
                lost += 1
        return lost

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Work on the study: whatever ends it, even an interrupt, leaves no trial open that nobody runs."""
        beat = Beat(self._write_beat) if self._is_kept else None
        try:
            yield
        finally:
            if beat is not None:
                beat.end()
            for trial in list(self._open.values()):
                self.study.tell(trial.number, state=self._states.FAIL, skip_if_finished=True)
            self._open.clear()
            end_worker(self._me)

    def _write_beat(self, number: int) -> None:
        for trial in list(self._open.values()):
            with self._taken():  # or finished meanwhile
                trial.handle.set_user_attr("beat", number)

    def _taken(self) -> contextlib.suppress:
        """Writing to a trial that another worker has closed, because it took this one for gone, does nothing."""
        return contextlib.suppress(self._optuna.exceptions.UpdateFinishedTrialError)

    def trials(self, stages: Iterable[str] = _TRIALS) -> list[Trial]:
        """List trials that are finished, in the order of their slots."""
        first: dict[tuple[str, int], Trial] = {}
        wanted = tuple(stages)
        for kept in self._kept():
            if kept.user_attrs.get("finished") and kept.user_attrs["stage"] in wanted:
                trial = self._read(kept)
                first.setdefault((trial.stage, trial.slot), trial)
        return sorted(first.values(), key=lambda t: (wanted.index(t.stage), t.slot))

    def elsewhere(self, stage: str) -> dict[int, Setting]:
        """List slots that other processes are trying."""
        others = [kept for kept in self._kept(self._states.RUNNING) if kept.user_attrs.get("worker") != self._me]
        begun = [kept for kept in others if kept.user_attrs.get("stage") == stage and "slot" in kept.user_attrs]
        return {int(kept.user_attrs["slot"]): dict(kept.params) for kept in begun}

    def finished(self, stage: str, slot: int) -> Trial | None:
        """Find a finished trial."""
        return next((trial for trial in self.trials((stage,)) if trial.slot == slot), None)

    def begin(
        self, stage: str, slot: int, setting: Setting, arguments: dict[str, Any], expected_gain: float = math.nan
    ) -> Trial | None:
        """Open a trial, with the runs that an earlier attempt at it has finished."""
        runs: list[TrialRun] = []
        for kept in self._at(stage, slot):
            if self._is_done(kept, setting):
                return self._read(kept)
            if kept.params == setting:
                runs = max(runs, self._runs(kept), key=len)
        attributes = {
            "stage": stage,
            "arguments": {name: label_of(value) for name, value in arguments.items()},
            "expected_gain": None if math.isnan(expected_gain) else expected_gain,
            "worker": self._me,
            "slot": slot,  # last: a trial with a slot is described in full
        }
        self._sampler.fixed = setting
        handle = self.study.ask(self._distributions(self._space, list(setting)))
        for name, value in attributes.items():
            handle.set_user_attr(name, value)
        trial = Trial(slot, stage, setting, arguments, runs, expected_gain, False, handle.number, handle)
        holder = self._holder(trial)
        if holder is not None:
            self.study.tell(handle.number, state=self._states.FAIL)
            return self._read(holder) if self._is_done(holder, setting) else None
        self._open[trial.number] = trial
        if runs:
            self._keep(trial)
        return trial

    def _at(self, stage: str, slot: int) -> list[Any]:
        return [
            kept for kept in self._kept() if kept.user_attrs.get("slot") == slot and kept.user_attrs["stage"] == stage
        ]

    def _kept(self, *states: Any) -> list[Any]:
        """Trials as Optuna keeps them: all, or those in some states."""
        return list(self.study.get_trials(deepcopy=False, states=states or None))

    def _is_done(self, kept: Any, setting: Setting) -> bool:
        """Whether a trial settles its slot: in the search whatever was tried there, later only the same setting."""
        searched = kept.user_attrs["stage"] in _TRIALS
        return bool(kept.user_attrs.get("finished")) and (searched or kept.params == setting)

    def _holder(self, trial: Trial) -> Any:
        """The trial of another process that has the slot because it started a moment earlier; None if there is none."""
        until = time.monotonic() + _NAMING
        running = self._states.RUNNING
        while any("slot" not in kept.user_attrs for kept in self._kept(running) if kept.number < trial.number):
            if time.monotonic() > until:
                break
            time.sleep(_PAUSE)
        at = [kept for kept in self._at(trial.stage, trial.slot) if kept.number < trial.number]
        return next((kept for kept in at if kept.state == running or self._is_done(kept, trial.setting)), None)

    def record(self, trial: Trial, runs: list[TrialRun]) -> None:
        """Add finished runs."""
        trial.runs.extend(runs)
        self._keep(trial)

    def _keep(self, trial: Trial) -> None:
        with self._taken():
            trial.handle.set_user_attr("runs", json.dumps([run.to_dict() for run in trial.runs]))

    def finish(self, trial: Trial, values: list[float]) -> None:
        """Close a trial."""
        self._open.pop(trial.number, None)
        with self._taken():
            trial.handle.set_user_attr("finished", True)
            if trial.error or not values:
                trial.handle.set_user_attr("error", trial.error)
                self.study.tell(trial.number, state=self._states.FAIL)
            else:
                self.study.tell(trial.number, values)
            trial.finished = True

    def _runs(self, kept: Any) -> list[TrialRun]:
        return [TrialRun.from_dict(one) for one in json.loads(kept.user_attrs.get("runs", "[]"))]

    def _read(self, kept: Any) -> Trial:
        attrs = kept.user_attrs
        gain = attrs.get("expected_gain")
        setting = self._space.check(dict(kept.params))
        return Trial(
            int(attrs["slot"]),
            attrs["stage"],
            {name: setting[name] for name in self._space.names if name in setting},
            dict(attrs.get("arguments", {})),
            self._runs(kept),
            math.nan if gain is None else float(gain),
            bool(attrs.get("finished")),
            kept.number,
        )


def _open_study(optuna: Any, storage: Any, **options: Any) -> Any:
    """Open a study, or create it."""
    for attempt in range(_ATTEMPTS):
        try:
            return optuna.create_study(storage=_opened(optuna, storage), **options)
        except Exception as error:
            if storage is None or isinstance(error, (FileNotFoundError, MemoryError, ParameterTypeError)):
                raise
            # SQLAlchemy's errors, an extra of an extra, are recognised by their text. Another process may be creating
            # the tables of the same file: then try again.
            passing = "already exists" in str(error) or "locked" in str(error) or "UNIQUE" in str(error)
            if not passing or attempt + 1 == _ATTEMPTS:
                text = str(error).partition("\n")[0]
                where = re.sub(r"//[^/@]*@", "//…@", str(storage))  # an address may hold a password
                raise ParameterError(
                    f"storage={where!r} cannot be opened as a study: {text}. Pass the path of an SQLite file that may "
                    "be new, or the address of a database that Optuna knows.",
                    parameter="storage",
                ) from error
            time.sleep(_ATTEMPT_PAUSE)
    raise AssertionError  # the loop returns or raises


def _opened(optuna: Any, storage: Any) -> Any:
    if not isinstance(storage, str | Path | optuna.storages.BaseStorage | None):
        raise ParameterTypeError(
            f"storage must be a path, an address, a storage of Optuna or None, got {storage!r}.", parameter="storage"
        )
    if isinstance(storage, Path) or (isinstance(storage, str) and "://" not in storage):
        path = Path(storage).expanduser()
        if not path.parent.is_dir():
            raise FileNotFoundError(f"storage={storage!r}: the folder {path.parent} does not exist. Make it first.")
        return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs={"connect_args": {"timeout": _PATIENCE}})
    return storage


def study_signature(
    tuner: Any, X: Any, y: Any, metric_X: Any, n: int, groups: IntArray | None = None
) -> dict[str, Any]:
    """Collect what has to be the same for a stored study to resume."""
    rows = np.unique(np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(int))
    same = ("pass_target", "subsample", "sampling", "resample", "n_repeats", "n_pilot", "surrogate", "design", "race",
            "batch_size", "metric_sample")  # fmt: skip
    return {
        "data": _print_of((X.shape, _rows_of(X, rows))),
        "y": None if y is None else _print_of(_rows_of(y, rows)),
        "metric_X": None if metric_X is None else _print_of(_rows_of(metric_X, rows)),
        **({} if groups is None else {"groups": _print_of(groups.tolist())}),
        **{name: getattr(tuner, name) for name in same},
        **{name: repr(getattr(tuner, name)) for name in ("estimator", "pilot_params", "aggregate")},
        # Points of a larger grid lie elsewhere, so one cannot be extended to the other.
        "n_trials": tuner.n_trials if tuner.surrogate == "grid" else None,
    }


def _rows_of(values: Any, rows: Any) -> Any:
    taken = take_rows(values, rows)
    return (taken.toarray() if sp.issparse(taken) else np.asarray(taken)).tolist()


def _print_of(values: Any) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
