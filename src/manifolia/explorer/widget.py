"""The page inside a notebook: what is selected, under the pointer and coloured by can be read and set in Python.

The page runs in a frame that may run its script and nothing else (``sandbox="allow-scripts"``): it has no access to the
notebook, its cookies or the network. With anywidget the frame tells Python what happens in it; without, the frame alone
is shown, which also works in a notebook that was exported to HTML.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from manifolia._core.optional import import_extra, is_installed
from manifolia._core.types import ArrayLike, IntArray
from manifolia._core.validate import check_number
from manifolia.explorer.build import page_of
from manifolia.explorer.columns import color_column
from manifolia.explorer.context import PageOptions
from manifolia.explorer.page import page_html, static
from manifolia.explorer.payload import NewRows, Payload

_SANDBOX = "allow-scripts allow-downloads"


class Explorer:
    """A map in a notebook: put one at the end of a cell, and read what is selected in the next.

    Parameters
    ----------
    model_or_run : estimator, Run, str, path, Payload or array-like of shape (n, n_components)
        A fitted estimator with ``embedding_``, or a pipeline that ends in one; a run, or its folder; a payload; or the
        coordinates of a map from elsewhere.
    X : array-like, sparse matrix or DataFrame of shape (n, d), default=None
        The rows that the model was fitted on.
    y : array-like of shape (n,) or (n, n_outputs), default=None
        Target: the first colouring.
    title : str, default=None
        Heading; None: the model's name, or that of the run.
    color_by : str, default=None
        Column of the first colouring; None: the target.
    new : array-like, DataFrame or NewRows, default=None
        New rows, which the model places on the map.
    kinds : mapping of str to {"class", "number", "date", "text"}, default=None
        What columns are.
    importances : bool, "auto" or mapping of str to float, default="auto"
        Importance of the features; see `manifolia.explore`.
    findings : iterable of str, default=()
        Sentences to show first.
    notes : iterable of str, default=()
        Sentences to add to how the map was made.
    parts : "auto", sequence of str or None, default="auto"
        What the page tells beyond places and columns; see `manifolia.explore`.
    images : tuple of int, default=None
        Height and width, or height, width and channels, if the rows are pictures.
    study : Tuner or mapping, default=None
        The study that chose the settings.
    max_mb : float, default=25.0
        Size of the page in MB above which parts and columns are left out.
    height : int, default=640
        Height in the notebook, in pixels.

    Attributes
    ----------
    payload : Payload
        What it shows.
    widget : anywidget.AnyWidget or None
        What runs in the notebook, with the traits ``selection``, ``hover`` and ``color_by``; None without anywidget.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mf.RFPHATE(n_trees=50, random_state=0).fit(X, y)
    >>> explorer = mf.Explorer(model, X, y, parts=None)
    >>> explorer  # doctest: +SKIP
    >>> explorer.color_by
    'target'
    """

    def __init__(
        self,
        model_or_run: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        title: str | None = None,
        color_by: str | None = None,
        new: ArrayLike | NewRows | None = None,
        kinds: Mapping[str, str] | None = None,
        importances: bool | str | Mapping[str, float] = "auto",
        findings: Iterable[str] = (),
        notes: Iterable[str] = (),
        parts: str | Sequence[str] | None = "auto",
        images: Sequence[int] | None = None,
        study: Any = None,
        max_mb: float = 25.0,
        height: int = 640,
    ) -> None:
        self._height = check_number(height, "height", low=100, integer=True)
        options = PageOptions(title, color_by, new, kinds, importances, findings, notes, parts, images, study, max_mb)
        self.payload: Payload = page_of(model_or_run, X, y, options)[0]
        first = self.payload.meta["color_by"]
        self._color_by = None if first is None else str(self.payload.meta["columns"][first]["name"])
        self.widget: Any = None
        if is_installed("anywidget"):
            self.widget = _widget_class()(html=page_html(self.payload), height=self._height, color_by=self._color_by)

    @property
    def selection(self) -> IntArray | None:
        """Rows that are selected.

        Returns
        -------
        ndarray of int or None
            Row numbers, ascending; new rows count on from those of the map. None if nothing is selected.
        """
        rows = None if self.widget is None else self.widget.selection
        return None if rows is None else np.array(rows, dtype=np.intp)

    @selection.setter
    def selection(self, rows: ArrayLike | None) -> None:
        """Select rows on the page."""
        total = int(self.payload.meta["n_rows"] + self.payload.meta["n_new"])
        if rows is None:
            self._needed().selection = None
            return
        found = np.asarray(rows)
        if found.dtype == bool and found.shape == (total,):
            found = np.flatnonzero(found)
        if found.ndim != 1 or found.dtype.kind not in "iu" or ((found < 0) | (found >= total)).any():
            raise ValueError(
                f"selection must be row numbers from 0 to {total - 1}, or a mask of {total} values; got {rows!r}."
            )
        self._needed().selection = np.unique(found).tolist()

    @property
    def hover(self) -> int | None:
        """Row under the pointer.

        Returns
        -------
        int or None
            Its number.
        """
        return None if self.widget is None else self.widget.hover

    @property
    def color_by(self) -> str | None:
        """Column that colours the map.

        Returns
        -------
        str or None
            Its name.
        """
        return self._color_by if self.widget is None else self.widget.color_by

    @color_by.setter
    def color_by(self, name: str) -> None:
        """Colour the map by a column."""
        color_column([(column["name"], column["kind"]) for column in self.payload.meta["columns"]], name)
        self._needed().color_by = name

    def observe(self, handler: Callable[[Any], None], names: str | Sequence[str] = "selection") -> None:
        """Call a function when something changes.

        Parameters
        ----------
        handler : callable
            Gets a change with ``name``, ``old`` and ``new``, as of traitlets.
        names : str or sequence of str, default="selection"
            Of what: "selection", "hover" or "color_by".
        """
        self._needed().observe(handler, names)

    def _needed(self) -> Any:
        if self.widget is None:
            import_extra("anywidget", extra="notebook", purpose="Reading and setting what a page in a notebook shows")
        return self.widget

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Show the page: as a widget, or as a frame where anywidget is not installed."""
        if self.widget is not None:
            return self.widget._repr_mimebundle_(include=include, exclude=exclude)
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, which works without Python behind it."""
        page = html.escape(page_html(self.payload))
        return (
            f'<iframe sandbox="{_SANDBOX}" srcdoc="{page}" title="Map" '
            f'style="width:100%;height:{self._height}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        """Say what is shown."""
        return f"<Explorer: {self.payload.meta['title']}, {self.payload.meta['n_rows']:,} rows>"


@functools.cache
def _widget_class() -> Any:
    """Make the widget's class: importing anywidget takes most of a second, so not before it is needed."""
    import anywidget
    import traitlets

    class MapWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """The page in a notebook."""

        _esm = static("widget.js")
        html = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(640).tag(sync=True)
        selection = traitlets.List(traitlets.Int(), allow_none=True, default_value=None).tag(sync=True)
        hover = traitlets.Int(allow_none=True, default_value=None).tag(sync=True)
        color_by = traitlets.Unicode(allow_none=True, default_value=None).tag(sync=True)

    return MapWidget
