"""Compare what two checkouts compute, to the bit: ``python tools/golden.py BEFORE AFTER``.

Every estimator of ``tests/contract/estimators.py`` is fitted on three small data sets in both checkouts, each in a
process of its own, on this machine. Compared are the map, the places of rows given again, every explanation, the
novelty, and the places after saving and loading. No result is kept: bits differ between machines.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

N_NEW = 20  # rows that are placed again, explained and asked for their novelty


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Classes, many columns, and a number as the target; nothing negative, because one estimator wants that."""
    from sklearn.datasets import load_digits, load_iris, make_swiss_roll

    iris, digits = load_iris(return_X_y=True), load_digits(return_X_y=True)
    roll, along = make_swiss_roll(120, noise=0.1, random_state=0)
    return {
        "iris": iris,
        "digits": (digits[0][:150], digits[1][:150]),
        "roll": (roll - roll.min(axis=0), along),
    }


def questions(model: Any, X: np.ndarray) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what can be asked of a fitted model, whatever the checkout calls its parameters."""
    new = X[:N_NEW] + 0.01
    for attribute in ("embedding_", "feature_importances_", "importances_std_", "gauges_", "pullback_", "oob_score_"):
        if hasattr(type(model), attribute) or attribute in vars(model):
            yield attribute, lambda attribute=attribute: getattr(model, attribute)
    for method in ("transform", "feature_importance", "feature_gradients", "novelty", "jacobian", "predict"):
        if hasattr(model, method):
            yield method, lambda method=method: getattr(model, method)(new)
    for method in ("feature_importance", "feature_gradients", "novelty"):
        if hasattr(model, method):
            yield f"{method} of the rows of fit", getattr(model, method)
    if hasattr(model, "transform"):
        yield "transform after loading", lambda: reloaded(model).transform(new)


def reloaded(model: Any) -> Any:
    """Save a model and load it again."""
    import manifolia as mf

    with tempfile.TemporaryDirectory() as folder:
        mf.save(model, Path(folder) / "model.mf")
        return mf.load(Path(folder) / "model.mf")


def as_array(value: Any) -> np.ndarray:
    """Anything an estimator answers, as an array without objects."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, tuple):
        return np.concatenate([as_array(part).ravel() for part in value])
    return np.asarray(value)


def record(target: Path) -> None:
    """Fit everything with the package that is on the path; write the answers to one file."""
    from contract.estimators import ESTIMATORS

    warnings.simplefilter("ignore")
    answers: dict[str, np.ndarray] = {}
    for name, entry in ESTIMATORS.items():
        for label, (X, y) in data_sets().items():
            model = entry.make()
            if "random_state" in model.get_params():
                model.set_params(random_state=0)
            key = f"{name} | {label} | "
            try:
                # A formula for a finished map takes the map as its target.
                target_of_fit = X[:, :2] if type(model).__name__ == "KernelMap" else y
                answers[key + "fit_transform"] = as_array(
                    model.fit_transform(X, target_of_fit)
                    if hasattr(model, "fit_transform")
                    else model.fit(X, target_of_fit).predict(X)
                )
            except Exception as error:  # a refusal is an answer too
                answers[key + "refused"] = np.array(type(error).__name__)
                continue
            for question, ask in questions(model, X):
                try:
                    answers[key + question] = as_array(ask())
                except Exception as error:
                    answers[key + question] = np.array(f"refused: {type(error).__name__}")
        print(name, file=sys.stderr, flush=True)
    np.savez(target, **answers)


def answers_of(checkout: Path, folder: Path) -> dict[str, np.ndarray]:
    """The answers of a checkout's own package, in a process of its own."""
    out = folder / "answers.npz"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(checkout / "tests")]),
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
    }
    subprocess.run([sys.executable, __file__, "--record", str(out)], env=environment, cwd=folder, check=True)
    with np.load(out) as file:
        return dict(file)


def differences(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield a line for every answer that is not the same, to the bit, on both sides."""
    for key in sorted(before.keys() | after.keys()):
        if key not in after:
            yield f"only before: {key}"
        elif key not in before:
            yield f"only after:  {key}"
        elif was_refused(before[key]) and "of the rows of fit" in key:
            continue  # a question that could not be asked before
        elif before[key].shape != after[key].shape or before[key].dtype.kind != after[key].dtype.kind:
            yield f"other shape: {key}: {describe(before[key])} → {describe(after[key])}"
        elif before[key].tobytes() != after[key].tobytes():
            yield f"other bits:  {key}{gap(before[key], after[key])}"


def was_refused(value: np.ndarray) -> bool:
    """Whether a question was refused."""
    return value.dtype.kind == "U" and str(value).startswith("refused")


def describe(value: np.ndarray) -> str:
    """An array in a word: its text if it is one, else its shape."""
    return str(value) if value.dtype.kind == "U" else f"{value.dtype} {value.shape}"


def gap(a: np.ndarray, b: np.ndarray) -> str:
    """How far two arrays of numbers are apart."""
    if a.dtype.kind == "U":
        return f": {a} → {b}"
    with np.errstate(invalid="ignore"):
        return f": largest difference {np.nanmax(np.abs(a - b), initial=0.0):.3g}"


def main() -> int:
    """Compare two checkouts; the exit code is 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path, nargs="*", help="BEFORE and AFTER")
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help="folder in which answers are kept, to compare with again")
    options = parser.parse_args()
    if options.record:
        record(options.record)
        return 0
    if len(options.checkouts) != 2:
        parser.error("name two checkouts: BEFORE and AFTER")
    with tempfile.TemporaryDirectory() as temporary:
        sides = []
        for number, checkout in enumerate(options.checkouts):
            kept = options.keep / f"{checkout.resolve().name}.npz" if options.keep else None
            if kept and kept.exists() and number == 0:
                with np.load(kept) as file:
                    sides.append(dict(file))
                continue
            folder = Path(temporary) / str(number)
            folder.mkdir()
            sides.append(answers_of(checkout.resolve(), folder))
            if kept and number == 0:
                kept.parent.mkdir(parents=True, exist_ok=True)
                np.savez(kept, **sides[0])
    found = list(differences(*sides))
    print("\n".join(found))
    print(f"{len(sides[0])} answers before, {len(sides[1])} after, {len(found)} differences")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
