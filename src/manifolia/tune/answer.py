"""From trials to an answer: recommend by what is expected, confirm with fresh seeds.

The least mean of noisy runs is too good to be true (by 0.06 to 0.12 in 1 − NMI on the paper's two clusters). So the
candidates are those whose *expected* loss, by the surrogate, is least; they are run again with fresh seeds; and the
figure reported is of runs that had no part in the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from manifolia._core.types import FloatArray
from manifolia.tune.pareto import knee, non_dominated
from manifolia.tune.plan import mixed_seed
from manifolia.tune.proposal import Evidence, make_surrogate
from manifolia.tune.search import Search
from manifolia.tune.space import Setting, Space
from manifolia.tune.study import Trial

__all__ = ["Answer", "confirm", "expected_losses", "front_chances", "is_flat", "surrogate_front"]

_N_DRAWS = 200
_FLAT = 0.95


class Answer(NamedTuple):
    """What is recommended."""

    setting: Setting  # The setting
    final: Trial | None  # Runs with fresh seeds that had no part in the choice; None if there was no time for them
    candidates: list[Trial]  # What was run again
    chosen_by: Trial | None  # The trial of the setting; None if it was not tried
    failure: str = ""  # What went wrong in the final runs; empty if nothing did

    @property
    def values(self) -> FloatArray:
        """Metrics of the final runs, or of those it was chosen by; (n_runs, n_metrics), and no row without any."""
        trial = self.chosen_by if self.final is None else self.final
        return np.array([run.values for run in trial.runs if not run.error]) if trial else np.empty((0, 0))


def expected_losses(space: Space, evidence: Evidence, kind: str, seed: int) -> FloatArray:
    """Return what the surrogate expects of the tried settings."""
    if len(evidence.settings) < 3:
        return evidence.losses
    features = space.features(evidence.settings)
    out = np.empty_like(evidence.losses)
    for j in range(evidence.losses.shape[1]):
        noise = None if evidence.noise is None else evidence.noise[:, j]
        out[:, j] = make_surrogate(kind, seed).fit(features, evidence.losses[:, j], noise).predict(features)[0]
    return out


def confirm(search: Search, *, n_confirm: int, pick: Setting | None = None) -> Answer:
    """Choose a setting and measure it afresh."""
    plan, space = search.plan, search.space
    trials = [trial for trial in search.store.trials() if trial.works]
    if pick is not None:
        return _measured(search, pick, trials, [])
    expected = expected_losses(space, search.evidence_of(trials), plan.surrogate, mixed_seed(plan.seed, 3))
    ranked = _ranking(expected)
    settings = _distinct([trials[i].setting for i in ranked])[: max(n_confirm, 1)]
    candidates: list[Trial] = []
    if n_confirm > 1 and len(settings) > 1 and not search.course.is_late:
        candidates = [t for t in search.run_together("confirm", settings, halve=True) if t.works]
        if candidates:
            pooled = [_pooled(trial, candidates) for trial in trials]
            now = expected_losses(space, search.evidence_of(pooled), plan.surrogate, mixed_seed(plan.seed, 3))
            among = {repr(trial.setting) for trial in candidates}
            order = [i for i in _ranking(now) if repr(trials[i].setting) in among]
            settings = [trials[order[0]].setting]
    return _measured(search, settings[0], trials, candidates)


def _measured(search: Search, setting: Setting, trials: Sequence[Trial], candidates: list[Trial]) -> Answer:
    """The setting with runs whose seeds no other stage has, if there is time for them."""
    runs = [] if search.course.is_late else search.run_together("final", [setting], halve=False)
    return Answer(
        setting,
        next((trial for trial in runs if trial.works), None),
        candidates,
        next((trial for trial in trials if trial.setting == setting), None),
        next((trial.error for trial in runs if trial.error), ""),
    )


def _ranking(expected: FloatArray) -> list[int]:
    """Best first: by the loss, or the knee of the front, then the rest of the front, then the others."""
    if expected.shape[1] == 1:
        return [int(i) for i in np.argsort(expected[:, 0], kind="stable")]
    front = non_dominated(expected)
    best = knee(expected)
    width = np.ptp(expected, axis=0)
    far = np.linalg.norm((expected - expected[best]) / np.where(width > 0, width, 1.0), axis=1)
    return [int(i) for i in sorted(range(len(expected)), key=lambda i: (i != best, not front[i], far[i]))]


def _distinct(settings: Sequence[Setting]) -> list[Setting]:
    return list({repr(sorted(setting.items())): setting for setting in settings}.values())


def _pooled(trial: Trial, fresh: Sequence[Trial]) -> Trial:
    """The trial with the fresh runs of its setting added."""
    more = [run for other in fresh if other.setting == trial.setting for run in other.runs]
    return Trial(trial.slot, trial.stage, trial.setting, trial.arguments, [*trial.runs, *more])


def is_flat(evidence: Evidence) -> bool:
    """Tell whether the settings differ no more than their runs do, so that tuning has nothing to find."""
    if evidence.noise is None or len(evidence.settings) < 3:
        return False
    loss, noise = evidence.losses[:, 0], evidence.noise[:, 0]
    if not np.all(noise > 0):
        return bool(np.ptp(loss) == 0)
    weights = noise**-2.0
    mean = float(np.sum(weights * loss) / np.sum(weights))
    return bool(np.sum(weights * (loss - mean) ** 2) < chi2.ppf(_FLAT, loss.size - 1))


def front_chances(space: Space, evidence: Evidence, kind: str, seed: int) -> FloatArray:
    """Estimate how likely each tried setting is on the front."""
    features = space.features(evidence.settings)
    rng = np.random.default_rng(seed)
    draws = []
    for j in range(evidence.losses.shape[1]):
        noise = None if evidence.noise is None else evidence.noise[:, j]
        model = make_surrogate(kind, seed).fit(features, evidence.losses[:, j], noise)
        draws.append(model.draw(features, _N_DRAWS, rng))
    return np.mean([non_dominated(np.stack(one, axis=1)) for one in zip(*draws, strict=True)], axis=0)


def surrogate_front(
    space: Space, evidence: Evidence, kind: str, seed: int, *, n_points: int = 4096
) -> tuple[list[Setting], FloatArray]:
    """Find the front of the surrogates' means over the whole space, by dense sampling."""
    points = np.random.default_rng(seed).random((n_points, len(space.parameters)))
    settings = [space.at(point) for point in points]
    features, tried = space.features(settings), space.features(evidence.settings)
    columns = []
    for j in range(evidence.losses.shape[1]):
        noise = None if evidence.noise is None else evidence.noise[:, j]
        columns.append(make_surrogate(kind, seed).fit(tried, evidence.losses[:, j], noise).predict(features)[0])
    expected = np.stack(columns, axis=1)
    front = np.flatnonzero(non_dominated(expected))
    front = front[np.argsort(expected[front, 0], kind="stable")]
    return [settings[i] for i in front], expected[front]
