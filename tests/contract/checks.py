"""What every estimator of ours promises beyond scikit-learn's own checks.

Each check takes a function that makes a fresh estimator; it raises an AssertionError when the promise is broken.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

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


CHECKS = [
    check_same_bits_for_any_n_jobs,
    check_same_bits_on_the_next_run,
    check_random_states,
    check_rows_do_not_depend_on_their_batch,
    check_parameters_are_not_rewritten,
    check_pickling,
]
