"""The data of a study, and how a setting is run on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia.metrics.registry import Metric
from manifolia.tune.evaluation import Job, Run, fitted_map, run_all, takes_target
from manifolia.tune.plan import SEARCHED_STAGES, STAGES, mixed_seed, run_seed
from manifolia.tune.study import Trial
from manifolia.tune.subsample import sample_rows, sample_size

__all__ = ["Bench", "Task"]

#: A run to do: a trial and the number of the repeat.
Task = tuple[Trial, int]

_METRIC_ROWS = 5000  # beyond, metrics with all pairs look at a sample of so many rows


class Bench:
    """Data, estimator and metrics of a study."""

    def __init__(
        self,
        tuner: Any,
        estimator: Any,
        X: Any,
        y: ArrayLike | None,
        metric_X: ArrayLike | None,
        metrics: Sequence[Metric],
        seed: int,
    ) -> None:
        self._tuner, self.estimator, self._X, self._y, self._seed = tuner, estimator, X, y, seed
        self._metrics, self._metric_X = metrics, metric_X
        self.n_rows = int(X.shape[0])
        self.rows = self._drawn(mixed_seed(seed, 0))

    def _drawn(self, seed: int) -> IntArray:
        size = sample_size(self._tuner.subsample, self.n_rows)
        if size == self.n_rows:
            return np.arange(self.n_rows)
        data = self._X
        if self._tuner.sampling == "leverage":
            data = self._X if self._metric_X is None else self._metric_X
            data = data.to_numpy() if hasattr(data, "iloc") else data
        return sample_rows(data, size, sampling=self._tuner.sampling, y=self._y, random_state=seed)

    def _rows_for(self, stage: str, repeat: int) -> IntArray | None:
        if stage == "full" or len(self.rows) == self.n_rows:
            return None
        if not self._tuner.resample:
            return self.rows
        # Fresh rows depend on the repeat, so that settings are compared on the same ones; what confirms an answer must
        # not have had a part in it, so that later stages draw their own.
        later = () if stage in SEARCHED_STAGES else (STAGES.index(stage),)
        return self._drawn(mixed_seed(self._seed, 4, repeat, *later))

    @property
    def _passes_target(self) -> bool:
        given = self._tuner.pass_target
        return self._y is not None and bool(takes_target(self.estimator) if given == "auto" else given)

    def run(self, tasks: list[Task]) -> list[Run]:
        """Run tasks side by side."""
        jobs = [
            Job(
                dict(trial.arguments),
                run_seed(self._seed, trial.stage, trial.slot, repeat),
                self._rows_for(trial.stage, repeat),
            )
            for trial, repeat in tasks
        ]
        options = {
            "pass_target": self._passes_target,
            "sample": self._tuner.metric_sample or _METRIC_ROWS,
            "metric_X": self._metric_X,
        }
        return run_all(self.estimator, jobs, self._X, self._y, self._metrics, options, n_jobs=self._tuner.n_jobs)

    def fitted(self, arguments: dict[str, Any], seed: int) -> tuple[Any, FloatArray]:
        """Fit a setting to all rows."""
        with threads(1):  # as its run was made
            return fitted_map(self.estimator, Job(arguments, seed), self._X, self._y, pass_target=self._passes_target)
