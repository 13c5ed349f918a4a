"""What every estimator of ours promises beyond scikit-learn's own checks.

Each check takes a function that makes a fresh estimator; it raises an AssertionError when the promise is broken.
"""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from manifolia._core.validate import check_is_fitted
from manifolia.exceptions import StoppedByCallbackError
from manifolia.tables import TablePreparer

Make = Callable[[], Any]


def data(n: int = 60, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return three classes in d columns, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d))
    X[:, 0] += 3 * y
    return X, y


def output(result: Any) -> np.ndarray:
    """Return a dense array of what a transform gave, whatever its container."""
    return result.toarray() if sp.issparse(result) else np.asarray(result)


def same_bits(a: Any, b: Any, what: str) -> None:
    a, b = output(a), output(b)
    assert a.dtype == b.dtype, f"{what}: {a.dtype} and {b.dtype}"
    assert a.shape == b.shape, f"{what}: shapes {a.shape} and {b.shape}"
    assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes(), (
        f"{what}: differ by up to {np.nanmax(np.abs(a.astype(float) - b.astype(float)))}"
    )


def seeded(make: Make, random_state: Any = 0) -> Any:
    estimator = make()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=random_state)
    return estimator


def results(estimator: Any) -> list[Any]:
    """Fit, and return all that must be repeatable: the training rows' places, and new rows'."""
    X, y = data()
    found = [estimator.fit_transform(X, y)] if hasattr(estimator, "fit_transform") else []
    estimator.fit(X, y)
    if hasattr(estimator, "embedding_"):
        found.append(estimator.embedding_)
    if hasattr(estimator, "transform"):
        found.append(estimator.transform(data(seed=1)[0]))
    if hasattr(estimator, "predict_proba"):
        found.append(estimator.predict_proba(data(seed=1)[0]))
    assert found, f"{type(estimator).__name__} has no fit_transform, embedding_ or transform to compare"
    return found


def check_same_bits_for_any_n_jobs(make: Make) -> None:
    if "n_jobs" not in make().get_params():
        return
    one, two = (results(seeded(make).set_params(n_jobs=n)) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        same_bits(a, b, "n_jobs=1 and n_jobs=2")


def check_same_bits_on_the_next_run(make: Make) -> None:
    for a, b in zip(results(seeded(make)), results(seeded(make)), strict=True):
        same_bits(a, b, "two runs with random_state=0")


def check_random_states(make: Make) -> None:
    """An int, a RandomState and a Generator are accepted, and repeat when they are made again."""
    if "random_state" not in make().get_params():
        return
    for kind in (lambda: 1, lambda: np.random.RandomState(1), lambda: np.random.default_rng(1)):
        X, y = data()
        first, second = (seeded(make, kind()).fit_transform(X, y) for _ in range(2))
        same_bits(first, second, f"two runs with {type(kind()).__name__}")


def check_rows_do_not_depend_on_their_batch(make: Make) -> None:
    estimator = seeded(make)
    if not hasattr(estimator, "transform"):
        return
    estimator.fit(*data())
    for dtype in (np.float64, np.float32):
        X = data(n=30, seed=2)[0].astype(dtype)
        whole = output(estimator.transform(X))
        for i in (0, 7, 29):
            same_bits(estimator.transform(X[i : i + 1]), whole[i : i + 1], f"row {i} alone and in a batch")
        order = np.random.default_rng(3).permutation(len(X))
        same_bits(estimator.transform(X[order]), whole[order], "rows in another order")
        twice = np.concatenate([X[10:], X, 100 * X])
        same_bits(estimator.transform(twice)[20:50], whole, "rows among others")


def check_parameters_are_not_rewritten(make: Make) -> None:
    estimator = seeded(make)
    given = estimator.get_params()
    before = joblib.hash({name: copy.deepcopy(value) for name, value in given.items()})
    estimator.fit(*data())
    after = estimator.get_params()
    for name, value in given.items():
        assert after[name] is value, f"fit replaced the parameter {name}"
    assert joblib.hash(after) == before, "fit changed a parameter in place"
    copied = clone(estimator)
    assert type(copied) is type(estimator)
    assert not [name for name in vars(copied) if name.endswith("_") and not name.startswith("_")], "clone is fitted"


def check_pickling(make: Make) -> None:
    X, y = data()
    fitted = seeded(make).fit(X, y)
    restored = pickle.loads(pickle.dumps(fitted))
    if hasattr(fitted, "embedding_"):
        same_bits(restored.embedding_, fitted.embedding_, "embedding_ after pickling")
    if hasattr(fitted, "transform"):
        new = data(seed=1)[0]
        same_bits(restored.transform(new), fitted.transform(new), "transform after pickling")
    unfitted = pickle.loads(pickle.dumps(make()))
    assert repr(unfitted) == repr(make())


# --- a fit that fails, is interrupted or is stopped ---


def answers(estimator: Any) -> list[Any]:
    """Return what a fitted estimator says, of its own rows and of new ones with the columns that it expects."""
    new = data(n=12, d=estimator.n_features_in_, seed=1)[0]
    found = [estimator.embedding_] if hasattr(estimator, "embedding_") else []
    asked = [ask for ask in ("transform", "predict_proba", "novelty") if hasattr(estimator, ask)]
    return [*found, *(getattr(estimator, ask)(new) for ask in asked)]


def same_answers(estimator: Any, expected: list[Any], what: str) -> None:
    for one, other in zip(answers(estimator), expected, strict=True):
        same_bits(one, other, what)


def leaves_the_old_model(make: Make, fail: Callable[[Any], None], what: str) -> None:
    """Let a fit fail on an estimator that is fitted, and on one that is not."""
    fitted = seeded(make).fit(*data())
    expected, given = answers(fitted), fitted.get_params()
    fail(fitted)
    fitted.set_params(**{name: value for name, value in given.items() if "__" not in name})
    same_answers(fitted, expected, f"answers before and after {what}")
    fresh = seeded(make)
    fail(fresh)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)


def check_a_fit_that_fails_leaves_the_old_model(make: Make) -> None:
    """By its rows, by its target, by a parameter; the rows have another shape than those of the model."""
    X, y = data(n=50, d=7, seed=4)
    infinite = X.copy()
    infinite[3, 6] = np.inf

    def fit(estimator: Any, *given: Any, **parameters: Any) -> None:
        with pytest.raises((TypeError, ValueError)):
            estimator.set_params(**parameters).fit(*given)

    leaves_the_old_model(make, lambda estimator: fit(estimator, infinite, y), "a fit of infinite values")
    leaves_the_old_model(make, lambda estimator: fit(estimator, X[:, 0], y), "a fit of one column without a shape")
    names = make().get_params()
    wrong = next(name for name in ("n_components", "n_trees", "n_neighbors", "mapping", "missing") if name in names)
    leaves_the_old_model(make, lambda estimator: fit(estimator, X, y, **{wrong: -3}), f"a fit with {wrong}=-3")
    if make().__sklearn_tags__().target_tags.required:
        leaves_the_old_model(make, lambda estimator: fit(estimator, X, y[:-1]), "a fit of too short a target")
        leaves_the_old_model(make, lambda estimator: fit(estimator, X, None), "a fit without its target")


class Interrupting:
    """Raises KeyboardInterrupt where the n-th line of a ``fit`` of ours begins; without n, it counts the lines."""

    def __init__(self, n: int | None = None) -> None:
        self.n, self.count = n, 0

    def __enter__(self) -> Interrupting:
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.settrace(self._before)

    def _called(self, frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        ours = "manifolia" in code.co_filename or "contract" in code.co_filename
        return self._stepped if ours and code.co_name in ("fit", "_keep", "_fit_sparse", "_set_columns") else None

    def _stepped(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self.n:
                raise KeyboardInterrupt
        return self._stepped


def spread(n: int, most: int) -> list[int]:
    """Numbers from 1 to n, not more than some, the first and the last among them."""
    return sorted(set(np.linspace(1, n, min(n, most)).round().astype(int).tolist()))


def check_an_interrupted_fit_leaves_the_old_model(make: Make, most: int = 7) -> None:
    """Ctrl-C at lines of ``fit`` from the first to the last."""
    X, y = data(n=50, d=7, seed=4)
    with Interrupting() as counted:
        seeded(make).fit(X, y)
    fitted = seeded(make).fit(*data())
    expected = answers(fitted)
    for n in spread(counted.count, most):
        with pytest.raises(KeyboardInterrupt), Interrupting(n):
            fitted.fit(X, y)
        same_answers(fitted, expected, f"answers before and after Ctrl-C at line {n} of {counted.count} of fit")
    fresh = seeded(make)
    with pytest.raises(KeyboardInterrupt), Interrupting(counted.count):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)


class Counting:
    """A callback that acts at its n-th event; without n, it counts."""

    def __init__(self, act: Callable[[], bool] = lambda: False, n: int | None = None) -> None:
        self.act, self.n, self.count = act, n, 0

    def __call__(self, event: Any) -> bool:
        self.count += 1
        return self.act() if self.count == self.n else False


def check_a_callback_that_raises_or_stops(make: Make, most: int = 7) -> None:
    """It leaves the old model, or, where a stopped fit has a result, the model that a first fit stopped there gives."""
    if "callback" not in make().get_params():
        return
    X, y = data(n=50, d=7, seed=4)
    counted = Counting()
    seeded(make).set_params(callback=counted).fit(X, y)
    assert counted.count > 0, "the callback is never called"

    def interrupt() -> bool:
        raise KeyboardInterrupt

    fitted = seeded(make).fit(*data())
    expected = answers(fitted)
    for n in spread(counted.count, most):
        with pytest.raises(KeyboardInterrupt):
            fitted.set_params(callback=Counting(interrupt, n)).fit(X, y)
        same_answers(fitted, expected, f"answers before and after an interrupt at event {n} of {counted.count}")
        stopped = seeded(make).fit(*data())
        try:
            stopped.set_params(callback=Counting(lambda: True, n)).fit(X, y)
        except StoppedByCallbackError:
            same_answers(stopped, expected, f"answers before and after a stop at event {n} of {counted.count}")
        else:
            alone = seeded(make).set_params(callback=Counting(lambda: True, n)).fit(X, y)
            same_answers(stopped, answers(alone), f"a second and a first fit, stopped at event {n} of {counted.count}")


def check_columns_are_compared_with_what_is_held(make: Make) -> None:
    """A model that was told another number of columns refuses rows of that many: no kernel reads beyond them."""
    estimator = seeded(make)
    if not hasattr(estimator, "transform") or isinstance(estimator, TablePreparer):  # which finds columns by itself
        return
    estimator.fit(*data())
    for d in (2, 9):
        told = copy.copy(estimator)
        told.n_features_in_ = d
        rows = data(n=4, d=d, seed=1)[0]
        with pytest.raises(ValueError, match=r"columns|features|shape|dimension|broadcast"):
            told.transform(rows)


CHECKS = [
    check_same_bits_for_any_n_jobs,
    check_same_bits_on_the_next_run,
    check_random_states,
    check_rows_do_not_depend_on_their_batch,
    check_parameters_are_not_rewritten,
    check_pickling,
    check_a_fit_that_fails_leaves_the_old_model,
    check_an_interrupted_fit_leaves_the_old_model,
    check_a_callback_that_raises_or_stops,
    check_columns_are_compared_with_what_is_held,
]
