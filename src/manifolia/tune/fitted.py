"""What can be asked of a tuner once it is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from manifolia._core.parallel import threads
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_is_fitted, check_number, check_option
from manifolia.metrics.registry import Metric
from manifolia.tune.answer import surrogate_front
from manifolia.tune.plan import mixed_seed
from manifolia.tune.proposal import Evidence, make_surrogate
from manifolia.tune.report import study_dict
from manifolia.tune.sensitivity import Sensitivity, sensitivity
from manifolia.tune.space import Space

__all__ = ["FittedStudy"]


class FittedStudy:
    """The part of a tuner that answers from finished trials."""

    surrogate: str
    _metrics: list[Metric]
    _space: Space
    _evidence: Evidence
    _search_seed: int
    _sensitivities: dict[str, Sensitivity]

    def sensitivity(self, metric: str | None = None) -> Sensitivity:
        """Tell which parameters matter, or why that cannot be told."""
        column = self._column(metric)
        name = self._names[column]
        if name not in self._sensitivities:
            self._sensitivities[name] = sensitivity(
                self._space, self._evidence, kind=self.surrogate, seed=self._search_seed, column=column
            )
        return self._sensitivities[name]

    def expect(self, settings: Sequence[Mapping[str, Any]], metric: str | None = None) -> tuple[FloatArray, FloatArray]:
        """Return what the surrogate expects of settings, tried or not."""
        column = self._column(metric)
        given = [self._space.check(dict(setting)) for setting in settings]
        noise = None if self._evidence.noise is None else self._evidence.noise[:, column]
        model = make_surrogate(self.surrogate, mixed_seed(self._search_seed, 3))
        with threads(1):
            model.fit(self._space.features(self._evidence.settings), self._evidence.losses[:, column], noise)
            return model.predict(self._space.features(given))

    def expected_front(self, n_points: int = 4096) -> pd.DataFrame:
        """Return the front that the surrogates expect over the whole space, tried or not."""
        check_is_fitted(self, "best_params_")
        check_number(n_points, "n_points", low=1, integer=True)
        with threads(1):
            settings, losses = surrogate_front(
                self._space, self._evidence, self.surrogate, mixed_seed(self._search_seed, 3), n_points=n_points
            )
        expected = {f"{one.name}_expected": losses[:, j] for j, one in enumerate(self._metrics)}
        return pd.DataFrame(settings).assign(**expected)

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain values, for the explorer and for files."""
        check_is_fitted(self, "best_params_")
        return study_dict(self, [(one.name, one.direction) for one in self._metrics], self._space.names)

    @property
    def _names(self) -> list[str]:
        return [metric.name for metric in self._metrics]

    def _column(self, metric: str | None) -> int:
        check_is_fitted(self, "best_params_")
        return 0 if metric is None else self._names.index(check_option(metric, "metric", self._names))
