"""Tuning needs Optuna; without it these tests are left out."""

from __future__ import annotations

import importlib.util

NEED_OPTUNA = ["test_search.py", "test_study.py", "test_tuner.py", "test_workers.py"]
collect_ignore = [] if importlib.util.find_spec("optuna") else NEED_OPTUNA
