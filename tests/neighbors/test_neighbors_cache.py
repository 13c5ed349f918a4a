"""The process that compiles a kernel and one that finds it in the cache give the same bits."""

import os
import subprocess
import sys

CODE = """
import hashlib
import numpy as np
from manifolia.neighbors import kneighbors

X = np.random.default_rng(0).normal(size=(300, 20))
for metric in ("manhattan", "euclidean"):
    print(hashlib.sha256(kneighbors(X, 10, metric=metric, exact=True).distances.tobytes()).hexdigest())
"""


def test_a_compiled_and_a_cached_search_agree_to_the_bit(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300, check=True, env=environment
        ).stdout
        for _ in range(2)
    )
    assert first == second
    assert len(first.split()) == 2
