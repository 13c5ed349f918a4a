"""Every public estimator, with settings small enough for the contract tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """How to make an estimator, and which of scikit-learn's checks cannot hold for it."""

    make: Callable[[], Any]
    #: Name of scikit-learn's check to the reason why it fails by design.
    expected_failed_checks: Mapping[str, str] = {}


#: Name to entry; the settings are small: ten trees, few epochs.
ESTIMATORS: dict[str, Entry] = {}
