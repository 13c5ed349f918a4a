"""Change one number of a forest's trees at a time, seal the file rightly, and use whatever is still loaded.

Runs in a process of its own, because what it looks for is a crash: ``python tamper.py SEED FOLDER``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import manifolia as mf
from manifolia.exceptions import ModelFileError
from persist.forgery import forge

ROUNDS = 150


def main() -> None:
    rng, path = np.random.default_rng(int(sys.argv[1])), Path(sys.argv[2]) / "tampered.mfa"
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    os.fsync = lambda descriptor: None  # nothing here has to survive a power cut
    n_refused = 0
    for _ in range(ROUNDS):

        def change(arrays: dict[str, np.ndarray]) -> None:
            name = rng.choice([name for name, array in arrays.items() if array.dtype.kind in "iu"])
            array = arrays[name]
            most = np.iinfo(array.dtype).max
            value = rng.choice([-3, -2, -1, 0, 1, 2, 3, 4, 5, len(array), most])
            array[rng.integers(len(array))] = value % (most + 1) if array.dtype.kind == "u" else value

        forge(forest, path, nodes=change)
        try:
            loaded = mf.load(path)
        except ModelFileError:
            n_refused += 1
            continue
        loaded.predict_proba(X)
        loaded.decision_path(X)
        loaded.apply(X)
    sys.stdout.write(f"{n_refused}\n")


if __name__ == "__main__":
    main()
