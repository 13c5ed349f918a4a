"""Tuning on rows that belong together: whole groups in every sample, and in what is measured."""

from __future__ import annotations

import numpy as np
import pytest

import manifolia as mf
from manifolia.exceptions import ParameterError
from manifolia.tune.runner import Bench, Job
from manifolia.tune.subsample import sample_rows

# Where groups are left out to compare, rows are near copies of one another.
pytestmark = pytest.mark.filterwarnings("ignore:.*have near copies:manifolia.exceptions.HonestyWarning")

GROUPS = np.repeat(np.arange(40), 5)


@pytest.fixture
def patients(rng):
    X = rng.normal(size=(40, 5))[GROUPS] + 0.05 * rng.normal(size=(200, 5))
    return X, (np.arange(40) % 2)[GROUPS]


@pytest.mark.parametrize("sampling", ["uniform", "leverage", "stratified"])
def test_whole_groups_are_drawn(patients, sampling):
    X, y = patients
    drawn = [sample_rows(X, 83, sampling=sampling, y=y, groups=GROUPS, random_state=seed) for seed in range(4)]
    for rows in drawn:
        assert len(rows) == 80
        assert set(np.bincount(GROUPS[rows])) <= {0, 5}
        if sampling == "stratified":
            assert np.bincount(y[rows]).tolist() == [40, 40]
    assert not np.array_equal(drawn[0], drawn[1])
    assert len(sample_rows(X, 200, groups=GROUPS)) == 200


def test_rows_that_shape_the_data_are_drawn_with_their_group(patients):
    X, _ = patients
    X = X.copy()
    X[GROUPS == 3, 0] += 50.0
    drawn = [sample_rows(X, 50, sampling="leverage", groups=GROUPS, random_state=seed) for seed in range(20)]
    assert np.mean([np.isin(3, GROUPS[rows]) for rows in drawn]) > 0.6  # a quarter by chance


def test_estimator_and_metric_are_told_of_the_groups(patients):
    X, y = patients
    metric = mf.metrics.get("knn_accuracy")
    values = {}
    for name, groups in (("rows", None), ("groups", GROUPS)):
        bench = Bench(mf.RFPHATE(n_trees=50), X, y, metrics=[metric], groups=groups)
        run = bench.run(Job({}, 0, np.arange(150)))
        assert not run.error
        values[name] = run.values[0]
    assert values["rows"] > values["groups"] + 0.2
    plain = Bench(mf.PHATE(), X, y, metrics=[metric], groups=GROUPS).run(Job({}, 0))  # which takes none
    assert not plain.error


def test_the_tuner_passes_groups_on(patients):
    X, y = patients
    tuner = mf.Tuner(
        mf.RFPHATE(n_trees=30), {"t": [2, 4]}, "knn_accuracy", subsample=0.5, n_trials=2, n_pilot=2, n_repeats=1,
        n_confirm=0, surrogate="random", random_state=0, n_jobs=1,
    )  # fmt: skip
    tuner.fit(X, y, groups=GROUPS)
    assert set(np.bincount(GROUPS[tuner.rows_])) <= {0, 5}
    assert tuner.best_estimator_._fitted_forest.groups is not None
    assert tuner.best_score_ < 0.75
    with pytest.raises(ParameterError, match="groups has 2 labels"):
        tuner.fit(X, y, groups=[1, 2])
