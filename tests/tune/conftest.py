"""Tuning needs Optuna; without it these tests are left out."""

from __future__ import annotations

import importlib.util

collect_ignore = [] if importlib.util.find_spec("optuna") else ["test_course.py", "test_tuner.py", "test_workers.py"]
