"""What scikit-learn sees of our estimators: a link to the page of each, and callbacks in addition to ``callback=``.

From version 1.9, scikit-learn has its own callbacks: ``model.set_callbacks(ProgressBar())``. They see the stages of a
fit as tasks, in the order in which they run; one that returns True at the end of a stage stops the fit there, like a
``callback`` that returns True. Older versions have none, and ``set_callbacks`` does not exist there.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

#: Where the pages of the reference are.
_PAGE = "https://manifolia.readthedocs.io/en/latest/api/generated/objects/{address}.html"
#: Packages that their estimators are imported from; all others are imported from ``manifolia``.
_OWN_PAGES = ("baselines", "tables")
_HELD = "_skl_callbacks"  # where scikit-learn keeps an estimator's callbacks


def _callback_support() -> Any:
    """The class by which scikit-learn recognises what takes its callbacks; any class if there is none."""
    if importlib.util.find_spec("sklearn.callback") is None:
        return object
    return getattr(importlib.import_module("sklearn.callback"), "CallbackSupportMixin", object)


_CallbackSupport: Any = _callback_support()


class Estimator(BaseEstimator, _CallbackSupport):
    """The base of all estimators."""

    _doc_link_module = "manifolia"
    _doc_link_template = _PAGE

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Name the page: what the estimator is imported as."""
        kind = type(self)
        package = kind.__module__.split(".")[1]
        return {"address": ".".join(["manifolia", *([package] if package in _OWN_PAGES else []), kind.__name__])}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out scikit-learn's callbacks, which belong to the process."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != _HELD}


def has_callbacks(estimator: Any) -> bool:
    """Whether scikit-learn's callbacks should hear of the fit."""
    return bool(vars(estimator).get(_HELD))


def fit_heard(fit: Callable[..., Any], estimator: Any, double: Any, args: tuple[Any, ...], more: Any) -> None:
    """Fit the double of an estimator, and let the estimator's callbacks hear of it."""
    rows = {name: args[place] if len(args) > place else more.get(name) for place, name in enumerate(("X", "y"))}

    def work(heard: Any) -> None:
        root = heard._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=heard, **rows)
        before = set(vars(double))
        given = getattr(double, "callback", None)
        stages = _Stages(heard, root, given)
        if hasattr(double, "callback"):
            double.callback = stages
        try:
            fit(double, *args, **more)
        finally:
            if hasattr(double, "callback"):
                double.callback = given
        stages.end()
        fitted = {name: value for name, value in vars(double).items() if name not in before or name.endswith("_")}
        root.call_on_fit_task_end(estimator=heard, reconstruction_attributes=fitted, **rows)

    importlib.import_module("sklearn.callback").with_callbacks(work)(estimator)


class _Stages:
    """Our own callback, which turns each stage into a task and also asks the user's callback."""

    def __init__(self, estimator: Any, root: Any, given: Any) -> None:
        self._estimator, self._root, self._given = estimator, root, given
        self._stage: str | None = None
        self._task: Any = None

    def __call__(self, event: Any) -> bool:
        answer = self._given(event) if self._given is not None else False
        stop = isinstance(answer, (bool, np.bool_)) and bool(answer)  # as `Reporter` reads it
        if event.stage != self._stage:
            stop |= self.end()
            self._stage, self._task = event.stage, self._root.subcontext(task_name=event.stage)
            self._task.call_on_fit_task_begin(estimator=self._estimator)
        if event.total is not None and event.done >= event.total:
            stop |= self.end()
        return stop

    def end(self) -> bool:
        """End the stage that runs, if any, and ask whether to stop."""
        task, self._task = self._task, None
        return task is not None and bool(task.call_on_fit_task_end(estimator=self._estimator))
