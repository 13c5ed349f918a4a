"""Algorithm 1 of the paper: pilots, then proposals of a surrogate, each run several times.

Where runs are saved (``race=True``), with one metric:

- **Pilots** by successive halving: all get 2 runs, the better half of them 4, and so on up to the full number.
- **Proposals** by racing: after 3 runs, and after every 2 more, a setting that is worse than what the surrogate expects
  of the best so far, by more than 1.5 standard errors of the difference, gets no further run.

A setting whose first runs made the same map is not random, and gets no further run either. The rules look at
finished runs only and runs have seeds of their own, so the outcome does not depend on the number of processes.

Several workers, each with the same call on one storage, share the slots. Whoever begins the pilots runs them, the
others wait; proposals are then made one by one by whoever is free, as if those that are being tried elsewhere had
returned what the surrogate expects. So the outcome depends on who is faster, and only then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifolia._core.progress import Reporter
from manifolia._core.types import FloatArray
from manifolia._core.warnings import warn
from manifolia.tune.aggregate import aggregate, choose_aggregate, standard_error
from manifolia.tune.evaluation import Run
from manifolia.tune.proposal import Evidence, pilot_design, propose
from manifolia.tune.space import Setting, Space
from manifolia.tune.study import Trial, TrialStore

__all__ = ["STAGES", "Plan", "Search", "mixed_seed", "run_seed"]

#: Their numbers are part of the seeds of runs.
STAGES = ("scout", "pilot", "model", "confirm", "final", "full")

_FIRST_ROUND = 3
_ROUND = 2
_SEARCH_TIME = 0.75  # of the whole: what is left has to do for confirming
_SCOUT_RUNS = 3
_RACE = 1.5  # standard errors of the difference; at 2 hardly any run is saved
_LEAST_PILOTS = 4  # fewer are not worth halving
_PATIENCE = 3
_NEAR = 0.1  # of a parameter's range: within it runs of other settings tell how much runs vary
_PRIOR = 4.0  # degrees of freedom that the spread over all settings counts for
_POLL = 0.3  # seconds between looks at what other workers do
_SMALL_GAIN = 0.1  # of the noise of a trial: an improvement that no one could see

#: A run to do: a trial and the number of the repeat.
Task = tuple[Trial, int]


@dataclass(frozen=True)
class Plan:
    """How to search.

    Attributes
    ----------
    surrogate : str
        What proposes.
    n_pilot, n_trials, n_repeats : int
        Settings of the design, settings in all, runs of a setting.
    design : str
        Of the pilots.
    aggregate : object
        How runs become one figure.
    race : bool
        Whether runs are saved.
    batch_size : int
        Proposals made at once.
    early_stop : bool
        Whether to stop when nothing is to be gained.
    seed : int
        Of the study.
    begun : float
        When it began, by ``time.monotonic``.
    timeout : float
        Seconds it may take.
    """

    surrogate: str
    n_pilot: int
    n_trials: int
    n_repeats: int
    design: str
    aggregate: Any
    race: bool
    batch_size: int
    early_stop: bool
    seed: int
    begun: float = 0.0
    timeout: float = math.inf


def mixed_seed(seed: int, *numbers: int) -> int:
    """Make a seed of its own for a stage, slot or repeat.

    Parameters
    ----------
    seed : int
        Of the study.
    *numbers : int
        What it is for.

    Returns
    -------
    int
        Between 0 and 2**32 − 1.
    """
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1)[0])


def run_seed(seed: int, stage: str, slot: int, repeat: int) -> int:
    """Make the seed of a run.

    Parameters
    ----------
    seed : int
        Of the study.
    stage : str
        One of `STAGES`.
    slot : int
        Number of the trial within its stage.
    repeat : int
        Number of the run within its trial.

    Returns
    -------
    int
        What the estimator gets as its random state.
    """
    return mixed_seed(seed, 6, STAGES.index(stage), slot, repeat)


class Search:
    """Runs the trials of a plan.

    Parameters
    ----------
    plan : Plan
        What to do.
    space : Space
        The space of settings.
    store : TrialStore
        Where trials are kept.
    run : callable
        Takes a list of tasks and returns their runs, in order; kept as `run`.
    resolve : callable
        Turns a setting into arguments of the estimator.
    reporter : Reporter
        Where progress goes.
    cheap : dict or None, default=None
        Arguments of cheap runs that choose the pilots; None or empty: the design is the pilots.
    """

    def __init__(
        self,
        plan: Plan,
        space: Space,
        store: TrialStore,
        run: Callable[[list[Task]], list[Run]],
        resolve: Callable[[Setting], dict[str, Any]],
        reporter: Reporter,
        cheap: dict[str, Any] | None = None,
    ) -> None:
        self.plan, self.space, self.store, self.run, self._resolve = plan, space, store, run, resolve
        self._reporter = reporter
        self._cheap = cheap or {}
        self._how = "mean" if plan.aggregate == "auto" else plan.aggregate
        self._begun = time.monotonic()
        self.stopped = ""

    @property
    def how(self) -> Any:
        """How runs become one figure, once that is decided."""
        return self._how

    def trials(self) -> list[Trial]:
        """Run what is missing of the plan.

        Returns
        -------
        list of Trial
            All that are finished, failed ones included.
        """
        lost = self.store.recover()
        if lost:
            warn(f"{lost} unfinished trials of a process that is gone are run again; their finished runs are kept.")
        self._pilots()
        if self.plan.aggregate == "auto":
            done = [t.losses[:, 0] for t in self.store.trials(("pilot",)) if t.works]
            self._how = choose_aggregate(done)
        if self.plan.surrogate != "grid":
            self._proposals()
        return self.store.trials()

    def evidence(self, before: int | None = None) -> Evidence:
        """Collect what is known.

        Parameters
        ----------
        before : int or None, default=None
            Only slots below this number.

        Returns
        -------
        Evidence
            Settings that work, their figures and standard errors.
        """
        trials = [t for t in self.store.trials() if t.works and (before is None or t.slot < before)]
        return self.evidence_of(trials)

    def evidence_of(self, trials: Sequence[Trial]) -> Evidence:
        """Aggregate the runs of trials.

        Parameters
        ----------
        trials : sequence of Trial
            Trials that work.

        Returns
        -------
        Evidence
            Settings, figures and standard errors.
        """
        if not trials:
            return Evidence([], np.empty((0, 1)), None)
        m = trials[0].losses.shape[1]
        losses = np.array([[aggregate(t.losses[:, j], self._how) for j in range(m)] for t in trials])
        if all(len(t.runs) == 1 for t in trials):
            return Evidence([t.setting for t in trials], losses, None)
        spread = local_spread(trials, self.space.features([t.setting for t in trials]))
        noise = np.array(
            [[standard_error(t.losses[:, j], self._how, spread[i, j]) for j in range(m)] for i, t in enumerate(trials)]
        )
        return Evidence([t.setting for t in trials], losses, noise)

    # -- pilots

    def _pilots(self) -> None:
        plan = self.plan
        if plan.surrogate == "grid":
            settings = self.space.grid(plan.n_trials)
        else:
            n = min(plan.n_pilot, plan.n_trials)
            drawn = pilot_design(self.space, 2 * n if self._cheap else n, mixed_seed(plan.seed, 1), design=plan.design)
            settings = self._scouted(drawn, n) if self._cheap else drawn
        self.run_together("pilot", settings, halve=len(settings) >= _LEAST_PILOTS)

    def _scouted(self, settings: Sequence[Setting], n: int) -> list[Setting]:
        """The better ones by cheap runs, which tell the order of settings but not their losses."""
        trials = [t for t in self.run_together("scout", settings, halve=False) if t.works]
        trials.sort(key=lambda t: (float(np.mean(t.losses)), t.slot))
        return [t.setting for t in sorted(trials[:n], key=lambda t: t.slot)] or list(settings[:n])

    def run_together(self, stage: str, settings: Sequence[Setting], *, halve: bool) -> list[Trial]:
        """Run settings that are all known at once, by successive halving where that is allowed.

        Parameters
        ----------
        stage : str
            What they are tried for.
        settings : sequence of dict
            Settings; their order gives their slots.
        halve : bool
            Whether the worse half may get fewer runs.

        Returns
        -------
        list of Trial
            Those that are finished.
        """
        while True:
            trials, shared = self._together(stage, settings, halve=halve)
            if not shared or not self.wait(stage):
                return trials

    def wait(self, stage: str) -> bool:
        """Wait until no other worker is at this stage.

        Parameters
        ----------
        stage : str
            Stage.

        Returns
        -------
        bool
            False if the time was used up before.
        """
        while self.store.elsewhere(stage):
            if self.is_late:
                return False
            time.sleep(_POLL)
            self.store.recover()
        return True

    def _together(self, stage: str, settings: Sequence[Setting], *, halve: bool) -> tuple[list[Trial], bool]:
        """Run what no other worker runs, and tell whether there are others."""
        more = self._cheap if stage == "scout" else {}
        n_runs = min(self.plan.n_repeats, _SCOUT_RUNS) if stage == "scout" else self.plan.n_repeats
        alive: list[Trial] = []
        shared = False
        for slot, setting in enumerate(settings):
            trial = self.store.begin(stage, slot, setting, {**self._resolve(setting), **more})
            if trial is None:  # who has the first has them all: halving compares them with each other
                shared = True
                break
            alive.append(trial)
        started = list(alive)
        halving = halve and self._may_race()
        # Two runs first in any case: they show whether the setting is random at all.
        rungs = _rungs(n_runs) if halving else sorted({min(2, n_runs), n_runs})
        for i, rung in enumerate(rungs):
            self._grow(alive, rung, stage, len(settings))
            for trial in [t for t in alive if t.error]:
                self._finish(trial)
                alive.remove(trial)
            if halving and i + 1 < len(rungs):
                alive.sort(key=lambda t: (float(np.mean(t.losses[:rung, 0])), t.slot))
                dropped = alive[math.ceil(len(alive) / 2) :]
                alive = sorted(alive[: math.ceil(len(alive) / 2)], key=lambda t: t.slot)
                for trial in dropped:
                    self._finish(trial)
            if self._is_over() if stage in ("scout", "pilot") else self.is_late:
                break
        for trial in alive:
            self._finish(trial)
        return [trial for trial in started if trial.finished], shared

    # -- proposals

    def _proposals(self) -> None:
        """Go through the slots; again, if one that another worker had begun is lost."""
        first = min(self.plan.n_pilot, self.plan.n_trials)
        while self._pass(first) and self.store.elsewhere("model") and self.wait("model"):
            pass

    def _pass(self, start: int) -> bool:
        """Try the slots that are free; False if the search is over before its end."""
        plan = self.plan
        patience = 0
        while start < plan.n_trials and not self._is_over():
            slots = list(range(start, min(start + plan.batch_size, plan.n_trials)))
            evidence = self.evidence(before=start)
            trials, best = self._opened(slots, evidence)
            self._compare([trial for trial in trials if not trial.finished], best)
            start += len(slots)
            least, left = self._outlook(start)
            if self._reporter.update("trials", start, plan.n_trials, best=least, seconds_left=left):
                self.stopped = "the callback asked for it"
                return False
            if plan.early_stop and evidence.noise is not None:
                small = [t.expected_gain < _SMALL_GAIN * float(np.median(evidence.noise)) for t in trials]
                patience = patience + 1 if small and all(small) else 0
                if patience >= _PATIENCE:
                    self.stopped = f"{_PATIENCE} proposals in a row promised less than the noise of a trial shows"
                    return False
        if start < plan.n_trials:
            self.stopped = "the time was used up"
            return False
        return True

    def _opened(self, slots: Sequence[int], evidence: Evidence) -> tuple[list[Trial], tuple[float, float]]:
        """Open the trials of a batch, with those that are finished already and without those of other workers.

        With them what they have to beat: the expected loss of the best so far, and how far that may be off.
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
                seed = mixed_seed(self.plan.seed, 2, slot)
                proposal = propose(
                    self.space, evidence, self.plan.surrogate, seed, pending=pending, resolve=self._resolve
                )
                best = (proposal.best, proposal.best_sd)
                arguments = self._resolve(proposal.setting)
                trial = self.store.begin("model", slot, proposal.setting, arguments, proposal.expected_gain)
            if trial is not None:
                trials.append(trial)
        if math.isnan(best[0]) and evidence.noise is not None:
            at = int(np.argmin(evidence.losses[:, 0]))
            best = (float(evidence.losses[at, 0]), float(evidence.noise[at, 0]))
        return trials, best

    def _compare(self, trials: list[Trial], best: tuple[float, float]) -> None:
        """Run proposals, in rounds if hopeless ones may be dropped."""
        rounds = sorted({min(2, self.plan.n_repeats), self.plan.n_repeats})
        if self._may_race() and self.plan.n_repeats > _FIRST_ROUND and not math.isnan(best[0]):
            rounds = [*range(_FIRST_ROUND, self.plan.n_repeats, _ROUND), self.plan.n_repeats]
        racing = list(trials)
        for target in rounds:
            self._grow(racing, target, "", 0)
            racing = [t for t in racing if not t.error and not _is_steady(t) and not self._is_hopeless(t, best)]
            if self._is_over():
                break
        for trial in trials:
            self._finish(trial)

    def _is_hopeless(self, trial: Trial, best: tuple[float, float]) -> bool:
        if not self._may_race() or math.isnan(best[0]):
            return False
        mine = self.evidence_of([*(t for t in self.store.trials() if t.works), trial])
        if mine.noise is None:
            return False
        return bool(mine.losses[-1, 0] - best[0] > _RACE * math.hypot(mine.noise[-1, 0], best[1]))

    # -- both

    def _may_race(self) -> bool:
        return self.plan.race and len(self.store.study.directions) == 1

    @property
    def is_late(self) -> bool:
        """Whether all the time was used."""
        return time.monotonic() - self.plan.begun > self.plan.timeout

    def _is_over(self) -> bool:
        """Whether the time for the search was used; the rest is for confirming."""
        return time.monotonic() - self.plan.begun > _SEARCH_TIME * self.plan.timeout

    def _grow(self, trials: Sequence[Trial], target: int, stage: str, total: int) -> None:
        """Bring trials up to a number of runs, all missing ones at once."""
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
        if stage:
            done = sum(trial.finished or len(trial.runs) >= target for trial in trials)
            self._reporter.step(stage, done, total)

    def _finish(self, trial: Trial) -> None:
        if trial.finished or not trial.runs:
            return
        m = trial.losses.shape[1] if trial.works else 0
        self.store.finish(trial, [aggregate(trial.losses[:, j], self._how) for j in range(m)])

    def _outlook(self, done: int) -> tuple[float, float]:
        """Best figure so far and the time that is left, from the mean time of a trial."""
        found = self.evidence()
        best = float(found.losses[:, 0].min()) if len(found.settings) else math.nan
        per_trial = (time.monotonic() - self._begun) / max(done, 1)
        return best, per_trial * (self.plan.n_trials - done)


def pooled_spread(trials: Sequence[Trial]) -> FloatArray:
    """Pool the standard deviation of one run over settings.

    Parameters
    ----------
    trials : sequence of Trial
        Trials that work.

    Returns
    -------
    ndarray of shape (n_metrics,)
        Root of the mean variance within settings, weighted by degrees of freedom; 0 if no setting has two runs.
    """
    m = trials[0].losses.shape[1]
    squares, freedom = np.zeros(m), 0
    for trial in trials:
        if len(trial.losses) > 1:
            squares += (len(trial.losses) - 1) * np.var(trial.losses, axis=0, ddof=1)
            freedom += len(trial.losses) - 1
    return np.sqrt(squares / freedom) if freedom else np.zeros(m)


def local_spread(trials: Sequence[Trial], features: FloatArray) -> FloatArray:
    """Estimate the standard deviation of one run at each setting from the runs there and near it.

    Runs may vary ten times as much at some settings as at others (1 − NMI of t-SNE does: 0.17 where the clusters part
    now and then, 0.00 where they never do), and two or three runs do not tell by how much. So variances are averaged
    over settings, by degrees of freedom and by nearness, together with a few degrees of freedom of all.

    Parameters
    ----------
    trials : sequence of Trial
        Trials that work.
    features : ndarray of shape (n, p)
        What the surrogate sees of their settings.

    Returns
    -------
    ndarray of shape (n, n_metrics)
        Standard deviations.
    """
    whole = pooled_spread(trials) ** 2
    freedom = np.array([max(len(t.losses) - 1, 0) for t in trials], dtype=np.float64)
    variances = np.array([np.var(t.losses, axis=0, ddof=1) if len(t.losses) > 1 else whole for t in trials])
    gaps = np.sum((features[:, None, :] - features[None, :, :]) ** 2, axis=2)
    weights = np.exp(-0.5 * gaps / _NEAR**2) * freedom
    return np.sqrt((weights @ variances + _PRIOR * whole) / (weights.sum(axis=1, keepdims=True) + _PRIOR))


def _is_steady(trial: Trial) -> bool:
    """Whether two or more runs made the same map, so that more of them tell nothing."""
    prints = {run.fingerprint for run in trial.runs}
    return len(trial.runs) > 1 and len(prints) == 1 and "" not in prints


def _rungs(n_repeats: int) -> list[int]:
    """2, 4, 8, … and the full number."""
    rungs, size = [], 2
    while size < n_repeats:
        rungs.append(size)
        size *= 2
    return [*rungs, n_repeats]
