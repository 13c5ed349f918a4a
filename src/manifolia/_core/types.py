"""Names for the kinds of values that modules exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from manifolia._core.progress import ProgressEvent

FloatArray: TypeAlias = NDArray[np.floating]
IntArray: TypeAlias = NDArray[np.integer]
BoolArray: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]
#: Data as a user passes it: array, sparse matrix or DataFrame.
ArrayLike: TypeAlias = Any
#: scipy.sparse arrays and matrices; SciPy ships no types.
Sparse: TypeAlias = Any
RandomState: TypeAlias = int | np.integer | np.random.RandomState | np.random.Generator | None
Callback: TypeAlias = "Callable[[ProgressEvent], bool | None] | None"
