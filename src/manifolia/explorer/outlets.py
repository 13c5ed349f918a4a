"""From a fitted model, or a run, to a page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from manifolia._core.types import ArrayLike
from manifolia._core.warnings import warn
from manifolia.exceptions import ModelFileError
from manifolia.explorer.describing import Describer
from manifolia.explorer.of_model import described_model
from manifolia.explorer.options import PageOptions
from manifolia.explorer.page import write_page
from manifolia.explorer.payload import NewRows, Payload
from manifolia.explorer.placing import Placer, describer_of
from manifolia.explorer.server import LivePage
from manifolia.explorer.stored import stored_report, stored_rows
from manifolia.persist import load

__all__ = ["explore", "payload_of"]

_LIVE_MB = 1e6  # a served page has no size to keep to


def explore(
    model_or_run: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    path: str | os.PathLike[str] = "map.html",
    *,
    title: str | None = None,
    color_by: str | None = None,
    new: ArrayLike | NewRows | None = None,
    kinds: Mapping[str, str] | None = None,
    importances: bool | Mapping[str, float] = False,
    findings: Iterable[str] = (),
    notes: Iterable[str] = (),
    parts: str | Sequence[str] | None = "auto",
    images: Sequence[int] | None = None,
    study: Any = None,
    max_mb: float = 25.0,
    live: bool = False,
    port: int = 0,
) -> Path | LivePage:
    """Write a map as one self-contained page: open it in a browser, hand it to a colleague.

    Parameters
    ----------
    model_or_run : estimator, str, path or Payload
        A fitted estimator with ``embedding_``, or a pipeline that ends in one; or the folder of a run; or a payload.
    X : array-like, sparse matrix or DataFrame of shape (n, d), default=None
        The rows that the model was fitted on: their columns become colours and the cards of the points.
    y : array-like of shape (n,) or (n, n_outputs), default=None
        Target: the first colouring.
    path : str or path, default="map.html"
        Where to write the page.
    title : str, default=None
        Heading; None: the model's name, or that of the run.
    color_by : str, default=None
        Column of the first colouring; None: the target.
    new : array-like, DataFrame or NewRows, default=None
        New rows, which the model places on the map; they are drawn as diamonds.
    kinds : mapping of str to {"class", "number", "date", "text"}, default=None
        What columns are, where that is not to be inferred from their values.
    importances : bool or mapping of str to float, default=False
        Importance of the features, or True to compute it with the model; RFPHATE permutes each feature for it.
    findings : iterable of str, default=()
        Sentences to show first.
    notes : iterable of str, default=()
        Sentences to add to how the map was made.
    parts : "auto", sequence of str or None, default="auto"
        What the page tells beyond places and columns: all that the model can tell within seconds, those named, or
        nothing. They are "reasons" (what puts each row where it is), "arrows" (where columns grow over the map),
        "neighbors", "quality", "images", "saliency", "novelty", "model" (what it predicts) and "tuning". What was
        sampled is said on the page.
    images : tuple of int, default=None
        Height and width, or height, width and channels, if the rows of `X` are pictures.
    study : Tuner or mapping, default=None
        The study that chose the settings, or its ``to_dict()``.
    max_mb : float, default=25.0
        Size in MB (10⁶ bytes) above which parts and columns are left out; a warning, and the page, say which.

    live : bool, default=False
        Serve the page on this machine instead of writing it: new rows can be pasted into it, and Python can read what
        is selected.
    port : int, default=0
        Port to serve on; 0 takes a free one.

    Returns
    -------
    Path or LivePage
        Where the page is; or, with `live`, the page that is served: its ``url``, its ``selection``, its ``close()``.

    Raises
    ------
    TypeError
        If there is nothing to make a map of.
    ValueError
        If lengths or names do not match.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mf.RFPHATE(n_trees=50, random_state=0).fit(X, y)
    >>> mf.explore(model, X, y, "iris.html")  # doctest: +SKIP
    PosixPath('iris.html')
    """
    if live and isinstance(new, NewRows):
        message = "new is NewRows, whose places are given. With live=True pass the rows themselves."
        raise ValueError(message)
    is_model = not isinstance(model_or_run, str | os.PathLike | Payload)
    later = new if live and is_model else None  # rows that the served page places
    options = PageOptions(
        title, color_by, None if later is not None else new, kinds, importances, findings, notes, parts, images, study,
        _LIVE_MB if live else max_mb,
    )  # fmt: skip
    payload, describer = payload_of(model_or_run, X, y, options)
    if not live:
        return write_page(payload, path)
    if describer is None:
        return _served_run(model_or_run, payload, port)
    page = LivePage(payload, Placer(model_or_run, describer, payload), port=port)
    if later is not None:
        page.add(later)
    return page


def payload_of(model_or_run: Any, X: Any, y: Any, options: PageOptions) -> tuple[Payload, Describer | None]:
    """Gather what a page shows, of a model or of what was made before."""
    if isinstance(model_or_run, str | os.PathLike | Payload):
        only_models = {"X": X, "y": y} | {name: getattr(options, name) for name in ("new", "kinds", "images", "study")}
        only_models["importances"] = options.importances or None
        only_models["parts"] = None if options.parts == "auto" else options.parts
        given = [name for name, value in only_models.items() if value is not None]
        if given or tuple(options.findings) or tuple(options.notes):
            message = (
                f"{', '.join(given) or 'findings and notes'}: a run has all that its page shows. "
                f"Leave these out, or pass the model instead of the run."
            )
            raise ValueError(message)
        return _of_run(model_or_run, options.title, options.color_by), None
    payload, describer = described_model(model_or_run, X, y, options)
    if payload.left_out:
        warn("The page does not hold everything. " + " ".join(payload.left_out))
    return payload, describer


def _served_run(run: str | os.PathLike[str] | Payload, payload: Payload, port: int) -> LivePage:
    """Serve the page of a run, with its model if that is there."""
    folder = None if isinstance(run, Payload) else Path(run)
    if folder is None or not (folder / "model.mfa").is_file():
        return LivePage(payload, port=port)
    model = load(folder / "model.mfa")
    report = stored_report(folder / "report.json")
    importances = {item["column"]: item["importance"] for item in report.get("importances", ())}
    seed = int(report.get("random_state") or 0)
    describer = describer_of(model, stored_rows(folder / "rows.npz"), payload, importances, seed=seed)
    hidden = {*report.get("target", {}).get("columns", ()), *report.get("excluded", ())}
    return LivePage(payload, Placer(model, describer, payload, hidden), port=port)


def _of_run(run: str | os.PathLike[str] | Payload, title: str | None, color_by: str | None) -> Payload:
    if isinstance(run, Payload):
        payload = run
    else:
        folder = Path(run)
        file = folder / "payload.npz" if folder.is_dir() else folder
        if not file.is_file():
            message = f"model_or_run is {str(folder)!r}, where there is no payload.npz. Pass the folder of a run."
            raise ModelFileError(message)
        payload = Payload.load(file)
    if title is None and color_by is None:
        return payload
    meta = dict(payload.meta)
    if title is not None:
        meta["title"] = title
    if color_by is not None:
        names = [column["name"] for column in meta["columns"]]
        if color_by not in names:
            message = f"color_by is {color_by!r}, which is no column of the page: {', '.join(map(repr, names))}."
            raise ValueError(message)
        meta["color_by"] = names.index(color_by)
    return Payload(meta, payload.arrays)
