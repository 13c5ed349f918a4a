"""How far a search is, how long it may still take, and what ends it: time, or the callback."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from manifolia._core.progress import Reporter
from manifolia.tune.aggregate import aggregate
from manifolia.tune.bench import Task
from manifolia.tune.evaluation import Run
from manifolia.tune.plan import SEARCHED_STAGES, Plan
from manifolia.tune.study import Trial

__all__ = ["Course"]

_SEARCH_TIME = 0.75  # of the whole: what is left has to do for confirming
_ASKED = "the callback asked for it"


class Course:
    """The course of a search."""

    def __init__(self, plan: Plan, run: Callable[[list[Task]], list[Run]], reporter: Reporter) -> None:
        self._plan, self._run, self._reporter = plan, run, reporter
        self._spent, self._ran = 0.0, 0  # seconds and runs since this search began: what a run takes
        self._hurried = False
        self.stopped = ""

    def run(self, tasks: list[Task]) -> list[Run]:
        """Run tasks, and learn what a run takes."""
        begun = time.monotonic()
        runs = self._run(tasks)
        self._spent += time.monotonic() - begun
        self._ran += len(tasks)
        return runs

    @property
    def is_late(self) -> bool:
        """Whether all the time was used, or the callback asked for an end while the answer was confirmed."""
        return self._hurried or self._used > self._plan.timeout

    @property
    def is_over(self) -> bool:
        """Whether the time for the search was used (the rest is for confirming), or the callback asked for its end."""
        return self.stopped == _ASKED or self._used > _SEARCH_TIME * self._plan.timeout

    @property
    def _used(self) -> float:
        return time.monotonic() - self._plan.begun

    def must_end(self, stage: str) -> bool:
        """Tell whether a stage has to make do with what it has."""
        return self.is_over if stage in SEARCHED_STAGES else self.is_late

    def tell(
        self,
        stage: str,
        done: int,
        total: int,
        finished: Callable[[], Sequence[Trial]],
        begun: Sequence[Trial],
        how: Any,
    ) -> bool:
        """Report; the callback may end the search, or the confirming, with the runs there are."""
        if not self._reporter.is_heard:
            return False
        asked = self._reporter.update(stage, done, total, **self._outlook(done, finished(), begun, how))
        if asked and (stage == "trials" or stage in SEARCHED_STAGES):
            self.stopped = _ASKED
        elif asked:
            self._hurried = True
        return asked

    def _outlook(self, done: int, finished: Sequence[Trial], begun: Sequence[Trial], how: Any) -> dict[str, float]:
        """Least figure so far, and the seconds that the search may still take, from the mean time of a run."""
        begun = [trial for trial in begun if not trial.finished]
        best = min((aggregate(t.losses[:, 0], how) for t in (*finished, *begun) if t.works), default=math.nan)
        usual = float(np.mean([len(trial.runs) for trial in finished])) if finished else float(self._plan.n_repeats)
        coming = self._plan.n_trials - max(done, len(finished) + len(begun))
        runs = sum(max(usual - len(trial.runs), 0.0) for trial in begun) + usual * max(coming, 0)
        left = min(self._spent / max(self._ran, 1) * runs, _SEARCH_TIME * self._plan.timeout - self._used)
        return {"best": best, "seconds_left": max(left, 0.0)}
