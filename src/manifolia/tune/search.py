"""Algorithm 1 of the paper: pilots, then proposals of a surrogate, each run several times.

If runs are saved (``race=True``), with one metric:

- **Pilots** by successive halving: all get 2 runs, the better half of them 4, and so on up to the full number.
- **Proposals** by racing: after 3 runs, and after every 2 more, a setting that is worse than what the surrogate expects
  of the best so far, by more than 1.5 standard errors of the difference, gets no further run.

A setting whose first runs made the same map is not random, and gets no further run either. The rules use only finished
runs, and runs have their own seeds, so the outcome does not depend on the number of processes.

Several workers, each with the same call on one storage, share the slots. The worker that starts the pilots runs them,
the others wait; proposals are then made one by one by any free worker, as if those being tried elsewhere had returned
what the surrogate expects. Only then does the outcome depend on which worker is faster.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.progress import Reporter
from manifolia._core.warnings import warn
from manifolia.tune.noise import aggregate, choose_aggregate, local_spread, standard_error
from manifolia.tune.pareto import widths
from manifolia.tune.proposal import pilot_design, propose
from manifolia.tune.space import SearchSpace, Setting, key_of
from manifolia.tune.study import SEARCHED_STAGES, Task, Trial, TrialRun, TrialStore, mixed_seed
from manifolia.tune.surrogate import Observations

if TYPE_CHECKING:
    from manifolia.tune.tuner import Tuner


_FIRST_ROUND = 3
_ROUND = 2
_SCOUT_RUNS = 3
_RACE = 1.5  # standard errors of the difference; with 2 hardly any run is saved
_LEAST_PILOTS = 4  # fewer are not worth halving
_PATIENCE = 3
_POLL = 0.3  # seconds between looks at what other workers do
_SMALL_GAIN = 0.1  # share of a trial's noise: an improvement that would go unnoticed
_SEARCH_TIME = 0.75  # share of the whole: the rest has to suffice for confirming
_ASKED = "the callback asked for it"


class Search:
    """Runs the trials that a tuner asks for."""

    def __init__(
        self,
        tuner: Tuner,
        space: SearchSpace,
        store: TrialStore,
        run: Callable[[list[Task]], list[TrialRun]],
        begun: float,  # when the fit began, by ``time.monotonic``
    ) -> None:
        self.tuner, self.space, self.store, self._run, self._begun = tuner, space, store, run, begun
        self._timeout = math.inf if tuner.timeout is None else tuner.timeout
        self._reporter = Reporter(tuner.callback, verbose=tuner.verbose)
        self._cheap = dict(tuner.pilot_params or {})
        self._spent, self._ran = 0.0, 0  # seconds and runs since this search began, for the time of a run
        self._hurried = False
        self.how: Any = "mean" if tuner.aggregate == "auto" else tuner.aggregate  # runs become one figure
        self.stopped = ""

    def trials(self) -> list[Trial]:
        """Run what is missing."""
        lost = self.store.recover()
        if lost:
            warn(f"{lost} unfinished trials of a process that is gone are run again; their finished runs are kept.")
        self._pilots()
        if self.tuner.aggregate == "auto":
            done = [t.losses[:, 0] for t in self.store.trials(("pilot",)) if t.works]
            self.how = choose_aggregate(done)
        if self.tuner.surrogate != "grid":
            self._proposals()
        return self.store.trials()

    def _working(self) -> list[Trial]:
        return [trial for trial in self.store.trials() if trial.works]

    def observe(self, trials: Sequence[Trial]) -> Observations:
        """Aggregate the runs of trials."""
        if not trials:
            return Observations([], np.empty((0, 1)), None)
        m = trials[0].losses.shape[1]
        losses = np.array([[aggregate(t.losses[:, j], self.how) for j in range(m)] for t in trials])
        if all(len(t.runs) == 1 for t in trials):
            return Observations([t.setting for t in trials], losses, None)
        spread = local_spread(trials, self.space.features([t.setting for t in trials]))
        noise = np.array(
            [[standard_error(t.losses[:, j], self.how, spread[i, j]) for j in range(m)] for i, t in enumerate(trials)]
        )
        return Observations([t.setting for t in trials], losses, noise)

    # -- how far it is, and what ends it: time, or the callback

    def run(self, tasks: list[Task]) -> list[TrialRun]:
        """Run tasks, and learn how long a run takes."""
        begun = time.monotonic()
        runs = self._run(tasks)
        self._spent += time.monotonic() - begun
        self._ran += len(tasks)
        return runs

    @property
    def is_late(self) -> bool:
        """Whether all the time was used, or the callback asked for an end while the answer was confirmed."""
        return self._hurried or self._used > self._timeout

    @property
    def is_over(self) -> bool:
        """Whether the time for the search was used (the rest is for confirming), or the callback asked for its end."""
        return self.stopped == _ASKED or self._used > _SEARCH_TIME * self._timeout

    @property
    def _used(self) -> float:
        return time.monotonic() - self._begun

    def _must_end(self, stage: str) -> bool:
        """Whether a stage has to be content with what it has."""
        return self.is_over if stage in SEARCHED_STAGES else self.is_late

    def _tell(self, stage: str, done: int, total: int, begun: Sequence[Trial] = ()) -> bool:
        """Report; the callback may end the search, or the confirming, with the runs there are."""
        if not self._reporter.is_heard:
            return False
        asked = self._reporter.update(stage, done, total, **self._outlook(done, begun))
        if asked and (stage == "trials" or stage in SEARCHED_STAGES):
            self.stopped = _ASKED
        elif asked:
            self._hurried = True
        return asked

    def _outlook(self, done: int, open_trials: Sequence[Trial]) -> dict[str, float]:
        """Least figure so far, and the seconds that the search may still take, from the mean time of a run."""
        finished, begun = self._working(), [trial for trial in open_trials if not trial.finished]
        best = min((aggregate(t.losses[:, 0], self.how) for t in (*finished, *begun) if t.works), default=math.nan)
        usual = float(np.mean([len(trial.runs) for trial in finished])) if finished else float(self.tuner.n_repeats)
        coming = self.tuner.n_trials - max(done, len(finished) + len(begun))
        runs = sum(max(usual - len(trial.runs), 0.0) for trial in begun) + usual * max(coming, 0)
        left = min(self._spent / max(self._ran, 1) * runs, _SEARCH_TIME * self._timeout - self._used)
        return {"best": best, "seconds_left": max(left, 0.0)}

    # -- pilots

    def _pilots(self) -> None:
        tuner = self.tuner
        if tuner.surrogate == "grid":
            settings = self.space.grid(tuner.n_trials)
        else:
            n = min(tuner.n_pilot, tuner.n_trials)
            n_drawn = 2 * n if self._cheap else n
            drawn = pilot_design(self.space, n_drawn, mixed_seed(self.store.seed, 1), design=tuner.design)
            settings = self._scouted(drawn, n) if self._cheap else drawn
        self._n_pilots = len(settings)
        self.run_together("pilot", settings, halve=len(settings) >= _LEAST_PILOTS)

    def _scouted(self, settings: Sequence[Setting], n: int) -> list[Setting]:
        """The better ones by cheap runs, which show the order of settings but not their losses."""
        trials = [t for t in self.run_together("scout", settings, halve=False) if t.works]
        trials.sort(key=lambda t: (float(np.mean(t.losses)), t.slot))
        return [t.setting for t in sorted(trials[:n], key=lambda t: t.slot)] or list(settings[:n])

    def run_together(self, stage: str, settings: Sequence[Setting], *, halve: bool) -> list[Trial]:
        """Run settings that are all known at once, by successive halving if that is allowed."""
        while True:
            trials, shared = self._together(stage, settings, halve=halve)
            if not shared or not self.wait(stage) or self._must_end(stage):
                return trials

    def wait(self, stage: str) -> bool:
        """Wait until no other worker is at this stage."""
        while self.store.elsewhere(stage):
            if self.is_late:
                return False
            time.sleep(_POLL)
            self.store.recover()
        return True

    def _together(self, stage: str, settings: Sequence[Setting], *, halve: bool) -> tuple[list[Trial], bool]:
        """Run what no other worker runs, and return whether there are others."""
        more = self._cheap if stage == "scout" else {}
        n_runs = min(self.tuner.n_repeats, _SCOUT_RUNS) if stage == "scout" else self.tuner.n_repeats
        alive: list[Trial] = []
        shared = False
        for slot, setting in enumerate(settings):
            trial = self.store.begin(stage, slot, setting, {**self.space.resolve(setting), **more})
            if trial is None:  # the worker with the first has them all: halving compares them with each other
                shared = True
                break
            alive.append(trial)
        started = list(alive)
        halving = halve and self._may_race()
        # Always two runs first: they show whether the setting is random at all.
        rungs = _rungs(n_runs) if halving else sorted({min(2, n_runs), n_runs})
        for i, rung in enumerate(rungs):
            self._grow(alive, rung)
            for trial in [t for t in alive if t.error]:
                self._finish(trial)
                alive.remove(trial)
            if halving and i + 1 < len(rungs):
                alive.sort(key=lambda t: (float(np.mean(t.losses[:rung, 0])), t.slot))
                dropped = alive[math.ceil(len(alive) / 2) :]
                alive = sorted(alive[: math.ceil(len(alive) / 2)], key=lambda t: t.slot)
                for trial in dropped:
                    self._finish(trial)
            going_on = len(alive) if i + 1 < len(rungs) else 0
            self._tell(stage, len(settings) - going_on, len(settings), alive)
            if self._must_end(stage):
                break
        for trial in alive:
            self._finish(trial)
        done = [trial for trial in started if trial.finished]
        return done, shared or len(done) < sum(bool(trial.runs) for trial in started)  # one was taken over

    # -- proposals

    def _proposals(self) -> None:
        """Go through the slots, and again if one that another worker had started is lost."""
        while self._pass(self._n_pilots) and self.store.elsewhere("model") and self.wait("model"):
            pass

    def _pass(self, start: int) -> bool:
        """Try the free slots; False if the search is over early."""
        tuner = self.tuner
        patience = 0
        while start < tuner.n_trials and not self.is_over:
            slots = list(range(start, min(start + tuner.batch_size, tuner.n_trials)))
            observed = self.observe([t for t in self._working() if t.slot < start])
            tried = {key_of(t.setting) for t in self.store.trials() if t.slot < start}  # whether they worked or not
            if len(tried) >= self.space.n_points:
                self.stopped = "every setting was tried"
                return False
            trials, best = self._opened(slots, observed)
            self._compare([trial for trial in trials if not trial.finished], best)
            start += len(slots)
            if self._tell("trials", start, tuner.n_trials):
                return False
            if tuner.early_stop and observed.noise is not None:
                small = [t.expected_gain < _SMALL_GAIN * _noise_of(observed) for t in trials]
                patience = patience + len(small) if small and all(small) else 0
                if patience >= _PATIENCE:
                    self.stopped = f"{_PATIENCE} proposals in a row promised less than the noise of a trial shows"
                    return False
        if start < tuner.n_trials:
            self.stopped = self.stopped or "the time was used up"
            return False
        return True

    def _opened(self, slots: Sequence[int], observed: Observations) -> tuple[list[Trial], tuple[float, float]]:
        """Open the trials of a batch, including those that are already finished, without those of other workers.

        Also return what they have to beat: the expected loss of the best so far, and its uncertainty.
        """
        trials: list[Trial] = []
        best = (math.nan, math.nan)
        others = self.store.elsewhere("model")
        for slot in slots:
            if slot in others:
                continue
            trial = self.store.finished("model", slot)
            if trial is None:
                pending = [*(one.setting for one in trials), *others.values()]
                seed = mixed_seed(self.store.seed, 2, slot)
                proposal = propose(self.space, observed, self.tuner.surrogate, seed, pending=pending)
                best = (proposal.best, proposal.best_sd)
                arguments = self.space.resolve(proposal.setting)
                trial = self.store.begin("model", slot, proposal.setting, arguments, proposal.expected_gain)
            if trial is not None:
                trials.append(trial)
        if math.isnan(best[0]) and observed.noise is not None:
            at = int(np.argmin(observed.losses[:, 0]))
            best = (float(observed.losses[at, 0]), float(observed.noise[at, 0]))
        return trials, best

    def _compare(self, trials: list[Trial], best: tuple[float, float]) -> None:
        """Run proposals, in rounds if hopeless ones may be dropped."""
        rounds = sorted({min(2, self.tuner.n_repeats), self.tuner.n_repeats})
        if self._may_race() and self.tuner.n_repeats > _FIRST_ROUND and not math.isnan(best[0]):
            rounds = [*range(_FIRST_ROUND, self.tuner.n_repeats, _ROUND), self.tuner.n_repeats]
        racing = list(trials)
        for target in rounds:
            self._grow(racing, target)
            racing = [t for t in racing if not t.error and not _is_steady(t) and not self._is_hopeless(t, best)]
            if self.is_over:
                break
        for trial in trials:
            self._finish(trial)

    def _is_hopeless(self, trial: Trial, best: tuple[float, float]) -> bool:
        if not self._may_race() or math.isnan(best[0]):
            return False
        mine = self.observe([*self._working(), trial])
        if mine.noise is None:
            return False
        return bool(mine.losses[-1, 0] - best[0] > _RACE * math.hypot(mine.noise[-1, 0], best[1]))

    # -- both

    def _may_race(self) -> bool:
        return self.tuner.race and len(self.store.study.directions) == 1

    def _grow(self, trials: Sequence[Trial], target: int) -> None:
        """Extend trials to a number of runs, doing all missing ones at once."""
        tasks = [
            (trial, repeat)
            for trial in trials
            if not trial.finished and not trial.error and not _is_steady(trial)
            for repeat in range(len(trial.runs), target)
        ]
        if not tasks:
            return
        runs = self.run(tasks)
        for trial in trials:
            new = [run for (owner, _), run in zip(tasks, runs, strict=True) if owner is trial]
            if new:
                self.store.record(trial, new)

    def _finish(self, trial: Trial) -> None:
        if trial.finished or not trial.runs:
            return
        m = trial.losses.shape[1] if trial.works else 0
        self.store.finish(trial, [aggregate(trial.losses[:, j], self.how) for j in range(m)])


def _noise_of(observed: Observations) -> float:
    """Standard error of a trial on the scale of `Proposal.expected_gain`; for mixed losses, each in its own range."""
    noise = observed.noise
    assert noise is not None  # the caller checked
    if noise.shape[1] == 1:
        return float(np.median(noise))
    return float(np.median(noise / widths(observed.losses))) / noise.shape[1]


def _is_steady(trial: Trial) -> bool:
    """Whether two or more runs made the same map, so that more runs add nothing."""
    prints = {run.fingerprint for run in trial.runs}
    return len(trial.runs) > 1 and len(prints) == 1 and "" not in prints


def _rungs(n_repeats: int) -> list[int]:
    """2, 4, 8, … and the full number."""
    return [*(2**k for k in range(1, n_repeats.bit_length()) if 2**k < n_repeats), n_repeats]
