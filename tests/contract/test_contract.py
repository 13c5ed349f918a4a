"""Every estimator keeps scikit-learn's contract and ours; and the checks of ours can fail.

A small projection stands in the lists beside the real estimators: the checks are shown to pass on it, and each to fail
on a version of it that breaks just one promise.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.estimator_checks import estimator_checks_generator

import manifolia as mf
from contract.checks import (
    CHECKS,
    check_a_callback_that_raises_or_stops,
    check_a_fit_that_fails_leaves_the_old_model,
    check_an_interrupted_fit_leaves_the_old_model,
    check_parameters_are_not_rewritten,
    check_pickling,
    check_random_states,
    check_rows_do_not_depend_on_their_batch,
    check_same_bits_for_any_n_jobs,
    check_same_bits_on_the_next_run,
    data,
)
from contract.estimators import ESTIMATORS, Entry
from manifolia._core.blocks import fixed_gemm
from manifolia._core.fitting import all_or_nothing
from manifolia._core.random import as_generator
from manifolia._core.validate import check_is_fitted, validate_data
from manifolia.exceptions import MemoryLimitError


class Projection(TransformerMixin, BaseEstimator):
    """A random projection that keeps every promise."""

    def __init__(self, n_components=2, *, random_state=None, n_jobs=None):
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X, y=None):
        X = validate_data(self, X)
        rng = as_generator(self.random_state)
        self.components_ = rng.normal(size=(X.shape[1], self.n_components)).astype(X.dtype)
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return fixed_gemm(X, self.components_.astype(X.dtype), n_jobs=self.n_jobs)


class CentresTheBatch(Projection):
    def transform(self, X):
        out = super().transform(X)
        return out - out.mean(axis=0)


class UsesPlainBlas(Projection):
    def transform(self, X):
        return np.asarray(X) @ self.components_.astype(X.dtype)


class DependsOnJobs(Projection):
    def transform(self, X):
        out = super().transform(X)
        return np.nextafter(out, 0) if self.n_jobs == 2 else out


class ForgetsItsSeed(Projection):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.components_ = np.random.default_rng().normal(size=self.components_.shape)
        return self


class TakesZeroForNone(Projection):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.components_ = np.random.default_rng(self.random_state or None).normal(size=self.components_.shape)
        return self


class RefusesGenerators(Projection):
    def fit(self, X, y=None):
        np.random.RandomState(self.random_state)
        return super().fit(X, y)


class RewritesAParameter(Projection):
    def fit(self, X, y=None):
        self.n_jobs = self.n_jobs or 1
        return super().fit(X, y)


class ChangesAParameterInPlace(Projection):
    def __init__(self, n_components=2, *, random_state=None, n_jobs=None, options=None):
        super().__init__(n_components, random_state=random_state, n_jobs=n_jobs)
        self.options = options

    def fit(self, X, y=None):
        self.options["seen"] = len(X)
        return super().fit(X, y)


class HoldsALambda(Projection):
    def fit(self, X, y=None):
        self.function_ = lambda x: x
        return super().fit(X, y)


class ForgetsWhenPickled(Projection):
    def __getstate__(self):
        state = super().__getstate__()
        if "components_" in state:
            state = {**state, "components_": state["components_"] + 1}
        return state


class SetsAsItGoes(Projection):
    def fit(self, X, y=None):
        X = validate_data(self, X)
        rng = as_generator(self.random_state)
        components = rng.normal(size=(X.shape[1], self.n_components))
        self.components_ = components.astype(X.dtype)
        return self


class MixesWhenStopped(Projection):
    def __init__(self, n_components=2, *, random_state=None, n_jobs=None, callback=None):
        super().__init__(n_components, random_state=random_state, n_jobs=n_jobs)
        self.callback = callback

    @all_or_nothing
    def fit(self, X, y=None):
        before = vars(self).get("components_")
        super().fit(X, y)
        if self.callback is not None and self.callback(None) and before is not None:
            self.components_ += before[0]
        return self


ALL = {"Projection": Entry(Projection), **ESTIMATORS}


def scikit_learn_checks(entries):
    """Return a parameter set for each check of each estimator; those expected to fail are marked so, strictly."""
    found = []
    for name, entry in entries.items():
        pairs = estimator_checks_generator(
            entry.make(), expected_failed_checks=dict(entry.expected_failed_checks), mark="xfail"
        )
        for pair in pairs:
            estimator, check = getattr(pair, "values", pair)
            identity = f"{name}-{getattr(check, 'func', check).__name__}"
            found.append(pytest.param(estimator, check, marks=getattr(pair, "marks", ()), id=identity))
    return found


# Its tables are tiny and their labels random, of which an estimator of ours may well warn.
@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")
@pytest.mark.parametrize(("estimator", "check"), scikit_learn_checks(ALL))
def test_scikit_learn(estimator, check):
    check(estimator)


def test_a_check_that_cannot_hold_must_fail():
    reason = {"check_n_features_in": "it keeps no promise about columns"}
    found = scikit_learn_checks({"Projection": Entry(Projection, reason)})
    marked = [param for param in found if param.marks]
    assert [param.id for param in marked] == ["Projection-check_n_features_in"]
    assert [mark.name for mark in marked[0].marks] == ["xfail"]  # strict by pyproject: passing is an error
    assert len(found) > 30


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ALL)
def test_ours(name, check):
    check(ALL[name].make)


@pytest.mark.parametrize(
    ("kind", "check", "message"),
    [
        (CentresTheBatch, check_rows_do_not_depend_on_their_batch, "row 0 alone and in a batch"),
        (DependsOnJobs, check_same_bits_for_any_n_jobs, "n_jobs=1 and n_jobs=2"),
        (ForgetsItsSeed, check_same_bits_on_the_next_run, "two runs with random_state=0"),
        (TakesZeroForNone, check_same_bits_on_the_next_run, "two runs with random_state=0"),
        (ForgetsItsSeed, check_random_states, "two runs with int"),
        (RewritesAParameter, check_parameters_are_not_rewritten, "fit replaced the parameter n_jobs"),
        (ForgetsWhenPickled, check_pickling, "transform after pickling"),
        (MixesWhenStopped, check_a_callback_that_raises_or_stops, "a second and a first fit, stopped at event 1 of 1"),
    ],
)
def test_a_broken_promise_is_caught(kind, check, message):
    with pytest.raises(AssertionError, match=message):
        check(kind)


@pytest.mark.parametrize(
    "check", [check_a_fit_that_fails_leaves_the_old_model, check_an_interrupted_fit_leaves_the_old_model]
)
def test_a_mixture_of_two_models_is_caught(check):
    # It expects seven columns, and its directions have five.
    with pytest.raises((AssertionError, ValueError)):
        check(SetsAsItGoes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_a_fit_may_be_interrupted_anywhere(name):
    check_an_interrupted_fit_leaves_the_old_model(ALL[name].make, most=200)
    check_a_callback_that_raises_or_stops(ALL[name].make, most=100)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if not name.startswith("TablePreparer")])
def test_memory_is_foreseen_and_checked_before_the_work(name):
    estimator, (X, y), heard = ESTIMATORS[name].make(), data(), []
    assert mf.estimate_memory(estimator, X, y) > 1000
    assert mf.estimate_memory(estimator, X.tolist(), y.tolist()) == mf.estimate_memory(estimator, X, y)
    if "callback" in estimator.get_params():
        estimator.set_params(callback=heard.append)
    with mf.memory_limit("1 kB"), pytest.raises(MemoryLimitError, match=r"needs about .* and the limit is 1000 B"):
        estimator.fit(X, y)
    assert not heard


def test_a_parameter_changed_in_place_is_caught():
    with pytest.raises(AssertionError, match="changed a parameter in place"):
        check_parameters_are_not_rewritten(lambda: ChangesAParameterInPlace(options={}))


def test_a_refused_generator_is_caught():
    with pytest.raises((TypeError, ValueError)):
        check_random_states(RefusesGenerators)


def test_what_cannot_be_pickled_is_caught():
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        check_pickling(HoldsALambda)


def test_plain_blas_is_caught():
    # Wide enough that BLAS takes different paths for one row and for many.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 400)).astype(np.float32)
    estimator = UsesPlainBlas(33, random_state=0).fit(X)
    whole = estimator.transform(X)
    assert any(estimator.transform(X[i : i + 1]).tobytes() != whole[i].tobytes() for i in range(len(X)))
    sound = Projection(33, random_state=0).fit(X)
    whole = sound.transform(X)
    assert all(sound.transform(X[i : i + 1]).tobytes() == whole[i].tobytes() for i in range(len(X)))


def test_the_list_is_complete_in_itself():
    for name, entry in ESTIMATORS.items():
        # One class may be there with several settings: RFPHATE and RFPHATE(mds="classic").
        assert type(entry.make()).__name__ == name.partition("(")[0]
        assert entry.make() is not entry.make()
        for check, reason in entry.expected_failed_checks.items():
            assert check.startswith("check_"), check
            assert len(reason) > 20, f"{name}: say why {check} cannot hold"
