"""Estimators whose best setting is known, for the tests of the tuner."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from manifolia.tune.space import SearchSpace
from manifolia.tune.study import TrialRun, TrialStore

RUN = TrialRun((0.5,), (0.5,))


def store(path: Path) -> TrialStore:
    """A study with one parameter and one metric."""
    return TrialStore(SearchSpace({"x": (0.0, 1.0)}), ["closeness"], storage=path, signature={"seed": 0})


def closeness(Y: np.ndarray) -> float:
    """The first coordinate of the first row: what the toy wrote there."""
    return float(Y[0, 0])


def closeness_of_the_other(Y: np.ndarray) -> float:
    """The second coordinate of the first row."""
    return float(Y[0, 1])


class Toy(TransformerMixin, BaseEstimator):
    """A map whose quality is 1 − (x − 0.3)², with noise; the second loss is best at x = 0.8."""

    def __init__(
        self, x: float = 0.0, noise: float = 0.0, kind: str = "a", n_neighbors: int = 5, random_state: Any = None
    ) -> None:
        self.x = x
        self.noise = noise
        self.kind = kind
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Write the quality into the map.

        Parameters
        ----------
        X : array-like
            Data.
        y : object
            Not used.

        Returns
        -------
        ndarray
            Map.
        """
        rng = np.random.default_rng(self.random_state)
        self.loss_ = (self.x - 0.3) ** 2 + self.noise * rng.normal()
        self.n_rows_ = len(X)
        Y = np.zeros((len(X), 2))
        Y[0] = 1 - self.loss_, 1 - (self.x - 0.8) ** 2
        return Y


class Failing(Toy):
    """Fails on the right half, and returns NaN at the very left."""

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        if self.x > 0.5:
            raise RuntimeError("too far to the right")
        Y = super().fit_transform(X, y)
        return Y * np.nan if self.x < 0.1 else Y


class Warning_(Toy):
    """Warns, which must neither stop a study nor be lost."""

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        warnings.warn("nothing of importance", UserWarning, stacklevel=1)
        return super().fit_transform(X, y)


class Stateless(BaseEstimator):
    """Has no random_state and is not random."""

    def __init__(self, x: float = 0.0) -> None:
        self.x = x

    def fit_transform(self, X: Any) -> np.ndarray:
        """Write the quality into the map.

        Parameters
        ----------
        X : array-like
            Data.

        Returns
        -------
        ndarray
            Map.
        """
        return np.full((len(X), 2), 1 - (self.x - 0.6) ** 2)


class Killed(Toy):
    """Kills its process on the n-th run, counted in a file, once."""

    def __init__(
        self, x: float = 0.0, noise: float = 0.1, folder: str = "", at: int = 0, random_state: Any = None
    ) -> None:
        self.x = x
        self.noise = noise
        self.folder = folder
        self.at = at
        self.random_state = random_state
        self.kind = "a"
        self.n_neighbors = 5

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        if self.folder:
            counter = Path(self.folder) / "runs"
            done = int(counter.read_text()) + 1 if counter.exists() else 1
            counter.write_text(str(done))
            if done == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)
        return super().fit_transform(X, y)


class BrokenOff(Killed):
    """Breaks the study off on the n-th run, counted in a file, once."""

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        if self.folder:
            counter = Path(self.folder) / "runs"
            done = int(counter.read_text()) + 1 if counter.exists() else 1
            counter.write_text(str(done))
            if done == self.at:
                raise KeyboardInterrupt
        return Toy.fit_transform(self, X, y)


class Slow(Toy):
    """Takes its time, so that two processes meet."""

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        time.sleep(0.05)
        return super().fit_transform(X, y)
