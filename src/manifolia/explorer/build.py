"""The only way to a page: from a fitted model, a table's run or a payload, through a context, to a file or a server."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import is_classifier

from manifolia._core.files import load_arrays, parse_json
from manifolia._core.messages import Argument, Message
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import is_sparse
from manifolia._core.warnings import warn
from manifolia.exceptions import ModelFileError, ParameterError
from manifolia.explorer.column_weights import by_column
from manifolia.explorer.columns import color_column, infer_kind
from manifolia.explorer.context import Context, FinishedMap, PageOptions, context_of, stored_context
from manifolia.explorer.findings import Finding, Learned, Together, findings_of, own_target
from manifolia.explorer.page import write_page
from manifolia.explorer.parts import make_parts, reasons
from manifolia.explorer.parts.part import NO_FEATURE
from manifolia.explorer.parts.predictions import FOREST
from manifolia.explorer.parts.trust import trust_findings
from manifolia.explorer.payload import NewRows, Payload, build_payload
from manifolia.explorer.place import as_numbers, new_rows, place_rows, text_features
from manifolia.explorer.serve import LivePage
from manifolia.explorer.sharpness import trials_of
from manifolia.metrics.separation import earned_score, is_unearned
from manifolia.persist import load
from manifolia.tables import read
from manifolia.tables.columns import as_keys
from manifolia.tables.naming import counted, group_words

_LIVE_MB = 1e6  # a served page has no size to keep to
#: Of a wider table the page gets the columns that matter most. More than this are searched, not read; and 200 columns
#: of 20,000 rows, in full precision, leave the parts a few of the 25 MB that a page has by default.
_MOST_COLUMNS = 200
#: Of pictures fewer: a pixel is rarely asked for by its name.
_MOST_PIXELS = 160


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
    importances: bool | str | Mapping[str, float] = "auto",
    findings: Iterable[str] = (),
    notes: Iterable[str] = (),
    parts: str | Sequence[str] | None = "auto",
    images: Sequence[int] | None = None,
    study: Any = None,
    max_mb: float = 25.0,
    force: bool = False,
    live: bool = False,
    port: int = 0,
) -> Path | LivePage:
    """Write a map as one self-contained page: open it in a browser, or send it to a colleague.

    Parameters
    ----------
    model_or_run : estimator, Run, str, path, Payload or array-like of shape (n, n_components)
        A fitted estimator with ``embedding_``, or a pipeline that ends in one; a run, or its folder; a payload; or the
        coordinates of a map from elsewhere, such as ``adata.obsm["X_umap"]``.
    X : array-like, sparse matrix, DataFrame or AnnData of n rows, default=None
        The rows that the model was fitted on: their columns become colours and the cards of the points. With
        coordinates it may be any table.
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
        What columns are, if that should not be inferred from their values.
    importances : bool, "auto" or mapping of str to float, default="auto"
        Importance of the features; "auto" measures it if the model has a measure and it does not take long, True
        always. A forest permutes each feature for this.
    findings : iterable of str, default=()
        Sentences to show first.
    notes : iterable of str, default=()
        Sentences to add to how the map was made.
    parts : "auto", sequence of str or None, default="auto"
        What the page shows beyond places and columns: everything that the model can provide within seconds, the named
        parts, or nothing. The parts are "reasons" (what puts each row where it is), "arrows" (where columns grow over
        the map), "neighbors", "quality", "trust" (verdicts on rows, target and clusters), "images", "saliency",
        "novelty", "model" (what it predicts) and "tuning". The page says what was sampled.
    images : tuple of int, default=None
        Height and width, or height, width and channels, if the rows of `X` are pictures.
    study : Tuner or mapping, default=None
        The study that chose the settings, or its ``to_dict()``.
    max_mb : float, default=25.0
        Size in MB (10⁶ bytes) above which parts and columns are left out; a warning, and the page, say which.
    force : bool, default=False
        Replace an existing file.
    live : bool, default=False
        Serve the page on this machine instead of writing it: new rows can be pasted into it, and Python can read the
        selection.
    port : int, default=0
        Port to serve on; 0 takes any free one.

    Returns
    -------
    Path or LivePage
        Where the page is; or, with `live`, the page that is served: its ``url``, its ``selection``, its ``close()``.

    Raises
    ------
    FileExistsError
        If the file exists, and `force` is not set.
    TypeError
        If there is nothing to make a map from.
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
        raise ParameterError(
            "new is NewRows, whose places are given. With live=True pass the rows themselves.", parameter="new"
        )
    if not live and Path(path).exists() and not force:  # before the work
        raise FileExistsError(
            Message(f"{path} is there already. Choose another name, or replace it with ", Argument("force", True), ".")
        )
    is_model = not isinstance(model_or_run, str | os.PathLike | Payload | Paged)
    later = new if live and is_model else None  # rows that the served page places
    options = PageOptions(
        title, color_by, None if later is not None else new, kinds, importances, findings, notes, parts, images, study,
        _LIVE_MB if live else max_mb,
    )  # fmt: skip
    payload, context = page_of(model_or_run, X, y, options)
    if not live:
        return write_page(payload, path)
    if isinstance(model_or_run, Paged):
        context = model_or_run.page_context()
    elif context is None and not isinstance(model_or_run, Payload):
        context = _stored(Path(model_or_run), payload)
    page = LivePage(payload, context, port=port)
    if later is not None:
        page.add(later)
    return page


@runtime_checkable
class Paged(Protocol):
    """A run: what has a page already."""

    payload: Payload

    def page_context(self) -> Context | None:
        """What is needed to tell of new rows what the page tells of its own."""


def page_of(model_or_run: Any, X: Any, y: Any, options: PageOptions) -> tuple[Payload, Context | None]:
    """Make the page of a model, or take that of a run, which was made before."""
    if not isinstance(model_or_run, str | os.PathLike | Payload | Paged):
        context = context_of(model_or_run, X, y, options)
        describe(context)
        payload = build_page(context)
        if payload.left_out:
            warn("The page does not hold everything. " + " ".join(payload.left_out))
        return payload, context
    only_models = {"X": X, "y": y} | {name: getattr(options, name) for name in ("new", "kinds", "images", "study")}
    only_models["importances"] = None if options.importances in (False, "auto") else options.importances
    only_models["parts"] = None if options.parts == "auto" else options.parts
    given = [name for name, value in only_models.items() if value is not None]
    if given or tuple(options.findings) or tuple(options.notes):
        raise ValueError(
            f"{', '.join(given) or 'findings and notes'}: a run has all that its page shows. "
            f"Leave these out, or pass the model instead of the run."
        )
    run = model_or_run.payload if isinstance(model_or_run, Paged) else model_or_run
    return _of_run(run, options.title, options.color_by), None


def describe(context: Context) -> None:
    """Find out what the page tells beyond places and columns: its parts, and what it says first."""
    make_parts(context)
    own = (Finding(str(text)) for text in context.options.findings)
    alarms, trusted = trust_findings(context)
    context.findings = [*own, *alarms, *_findings(context), *trusted]
    reasons.complete(context)


def build_page(context: Context) -> Payload:
    """Put a page together from what is known of a map."""
    options, added = context.options, context.added
    table, narrowed = _narrowed(context, _spoken_of(context))
    table, written = as_numbers(context, table)
    table = pd.concat([table, text_features(context, context.X)], axis=1)
    aside = [] if context.table is None else [name for name in context.table.names if name in context.hidden]
    told = pd.DataFrame({name: column.values for name, column in added.items() if column.role != "quality"})
    judged = pd.DataFrame({name: column.values for name, column in added.items() if column.role == "quality"})
    about = pd.DataFrame() if context.table is None else context.table.meta.reset_index(drop=True)
    frames = [part for part in (context.target, told, about, table, judged) if len(part.columns)]
    kinds = {str(name): "class" for name in context.target.columns if context.is_classes}
    kinds |= {name: column.kind for name, column in added.items() if column.kind is not None}
    kinds |= dict(options.kinds or {})
    label = context.card.label or type(context.method).__name__
    targets = ((str(name), values) for name, values in context.target.items())
    in_colors = (name for name, values in targets if (kinds.get(name) or infer_kind(values)) != "text")
    shown = ((name, table[name]) for name in aside if name in table.columns)
    aside_in_colors = (name for name, values in shown if (kinds.get(name) or infer_kind(values)) != "text")
    new = options.new
    if new is not None and not isinstance(new, NewRows):
        new = new_rows(context, place_rows(context, read(new)))
    payload = build_payload(
        context.Y,
        pd.concat(frames, axis=1) if frames else None,
        title=label if options.title is None else options.title,
        subtitle=label,
        color_by=options.color_by or next(in_colors, None) or next(aside_in_colors, None),
        kinds=kinds,
        row_names=context.row_names,
        new=new,
        notes=[*_how_it_was_made(context, label), *options.notes],
        findings=context.findings,
        importances=context.importances,
        roles={name: column.role for name, column in added.items()},
        written=context.target_texts | written,
        first=aside,
        parts=context.parts.values(),
        max_mb=options.max_mb,
    )
    payload.meta["left_out"][:0] = [*narrowed, *context.left_out]
    return payload


def _spoken_of(context: Context) -> list[str]:
    """Name the user's columns that arrows and reasons speak of, so that the page shows their values."""
    arrows, weights = context.parts.get("arrows"), context.parts.get("reasons")
    names = list(arrows.sources or ()) if arrows is not None else []
    if weights is not None:
        features, feature = weights.meta["features"], weights.rows["feature"]
        counts = np.bincount(feature[feature != NO_FEATURE].astype(np.int64), minlength=len(features))
        names += [features[i] for i in np.argsort(-counts, kind="stable") if counts[i]]
    return list(dict.fromkeys(names))


def _narrowed(context: Context, spoken: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Take the columns that the page can colour by: all, or of a wide table those that matter most."""
    if context.table is None:
        return pd.DataFrame(index=pd.RangeIndex(context.n)), []
    X, names = context.table.features, context.table.feature_names
    most = _MOST_COLUMNS if context.image_shape is None else _MOST_PIXELS
    chosen, left_out = list(range(len(names))), []
    if len(names) > most:
        place = {name: i for i, name in enumerate(names)}
        aside = [name for name in names if name in context.hidden]
        asked = [context.options.color_by] if context.options.color_by else []
        first = [place[name] for name in [*asked, *aside, *spoken[: most // 2]] if name in place]
        chosen = sorted(list(dict.fromkeys([*first, *_by_weight(context, X, names)]))[:most])
        how = "matter" if context.importances or first else "vary"
        left_out = [f"Of {len(names):,} columns the {most} that {how} most are on the page."]
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, chosen].reset_index(drop=True), left_out
    table = pd.DataFrame(X[:, chosen].toarray() if is_sparse(X) else X[:, chosen])
    return table.set_axis([names[i] for i in chosen], axis=1).infer_objects(), left_out


def _by_weight(context: Context, X: Any, names: list[str]) -> list[int]:
    """Order columns by importance, or by how much they vary where that is not known; words come first."""
    if context.importances:
        return sorted(range(len(names)), key=lambda i: -context.importances.get(names[i], (-math.inf, 0.0))[0])
    if is_sparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        variance: FloatArray = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    else:
        numbers = pd.DataFrame(X).apply(pd.to_numeric, errors="coerce")
        variance = np.nan_to_num(numbers.var(ddof=0).to_numpy(dtype=float), nan=np.inf)
    return [int(i) for i in np.argsort(-variance, kind="stable")]


def _how_it_was_made(context: Context, label: str) -> list[str]:
    """Say how a map was made, as far as its card tells."""
    sentences = [f"Method: {label}, on {context.rows_in_words}."]
    if isinstance(context.method, FinishedMap):
        sentences = [f"The places of {context.rows_in_words} were made elsewhere; what made them is not known here."]
        sentences += context.model[0].notes_ if context.model is not context.method else []
    if not context.card.forest:
        return sentences
    method = context.method
    alike = f"A forest of {len(method.forest_.estimators_):,} trees says how alike two rows are"
    alike += "" if method.task_ == "unsupervised" else " for the target"
    steps = context.card.figures_of(context.model).get("t")
    if steps is not None:
        where = "the plane" if method.n_components == 2 else f"{method.n_components} dimensions"
        alike += f"; a random walk of {counted(int(steps), 'step')} over these likenesses was laid out in {where}"
    sentences.append(f"{alike}.")
    through_leaves = method.get_params(deep=False).get("placing", "leaves") == "leaves"
    if through_leaves and method.task_ != "unsupervised" and method._fitted_forest.leaves_every_row_out:
        placed = "Each row is placed by the trees that did not train on it, so that its own label does not place it."
        if context.card.knower != FOREST:
            placed = (
                f"Each row is placed by the votes of {context.card.knower}, fitted without it, and by the trees that "
                f"did not train on it, so that its own label does not place it."
            )
        if context.row_groups is not None:
            one, several = group_words(context.group_name)
            placed = (
                f"Trees draw and leave out whole {several}: each row is placed by the trees that trained on no row of "
                f"its {one}, so that no label of its {one} places it."
            )
        sentences.append(placed)
    return sentences


def _findings(context: Context) -> list[Finding]:
    """Say what a map shows."""
    card, figures = context.card, context.card.figures_of(context.model)
    learned = None
    if "oob_score" in figures:
        classes = is_classifier(context.method.forest_)  # also where each of several targets is one of classes
        together = None
        if context.row_groups is not None:
            together = Together(context.row_groups, *group_words(context.group_name), context.by_rows)
        own = figures.get(card.score.rstrip("_"), figures["oob_score"])
        _, trained = context.method._fitted_forest.training_data()
        shown = figures.get("over_separation", math.nan) + earned_score(own, trained.y, classification=classes)
        learned = Learned(
            own, shown - own, classes=classes, together=together, knower=card.knower, forest_score=figures["oob_score"]
        )
    quality = context.parts.get("quality")
    scores = None
    if context.scores is not None:
        scores = {line["metric"]: line["value"] for line in context.scores}
    elif quality is not None:
        scores = {line["name"]: line["value"] for line in quality.meta["lines"]}
    # Novelty is a share of the rows of the fit, so spread evenly among these: it names none of them. A page that is to
    # tell nothing of neighbours does not look for them.
    isolation = None
    if scores is not None and context.space is not None and not is_sparse(context.space.rows) and context.n > 1:
        isolation = context.nearest.distances.mean(axis=1)
    target = context.target_name or "the target"
    predicted = getattr(context.method, card.prediction) if card.predicts else None
    y = None if predicted is None else own_target(context.y, predicted, context.method.forest_)
    trials = [] if learned is None or y is None else trials_of(context, y, np.asarray(predicted), learned)
    found = findings_of(
        context.Y,
        context.row_names or [str(i) for i in range(context.n)],
        target=target,
        target_names=[] if context.target is None else [str(name) for name in context.target.columns],
        y=y,
        learned=learned,
        trials=trials,
        importances={
            name: (mean, 0.0 if math.isnan(error) else error)
            for name, (mean, error) in by_column(context.importances, context.preparer).items()
        },
        purpose=importance_purpose(context),
        scores=scores,
        isolation=isolation,
        predicted=predicted,
        by_forest=context.method.oob_prediction_ if card.predicts and card.knower != FOREST else None,
    )
    score = figures.get(card.score.rstrip("_"))
    if score is not None and learned is None:
        text, excess = card.score_means.format(measure="accuracy", value=score), figures.get("over_separation", 0.0)
        classes = context.classes  # numbers are cut into bins of equal counts, none of which is a good guess
        labels = np.zeros(context.n) if classes is None else as_keys(classes)
        about: dict[str, Any] = {"classification": classes is not None, "groups": context.row_groups}
        shown = excess + earned_score(score, labels, classification=classes is not None)
        if is_unearned(shown, score, labels, **about):
            text += f" Neighbours in the map agree more than that, by {excess:.3f}: part of it is not earned."
        found.append(Finding(text))
    return found


def importance_purpose(context: Context) -> str:
    """Say what columns are important for."""
    unguided = context.card.forest and context.card.task == "unsupervised"
    target = "telling the rows from shuffled copies of them" if unguided else context.target_name or "the target"
    return context.card.importance_for or target


def _of_run(run: str | os.PathLike[str] | Payload, title: str | None, color_by: str | None) -> Payload:
    if isinstance(run, Payload):
        payload = run
    else:
        folder = Path(run)
        file = folder / "payload.npz" if folder.is_dir() else folder
        if not file.is_file():
            raise ModelFileError(
                f"model_or_run is {str(folder)!r}, where there is no payload.npz. Pass the folder of a run."
            )
        payload = Payload.load(file)
    meta = dict(payload.meta)
    if title is not None:
        meta["title"] = title
    if color_by is not None:
        columns = [(column["name"], column["kind"]) for column in meta["columns"]]
        meta["color_by"] = color_column(columns, color_by, payload.left_out)
    return Payload(meta, payload.arrays)


def _stored(folder: Path, payload: Payload) -> Context | None:
    """Take the model of a run, if it is there, with what its folder keeps."""
    if not (folder / "model.mfa").is_file():
        return None
    report = folder / "report.json"
    rows = stored_rows(folder / "rows.npz", int(payload.meta["n_rows"]))
    return stored_context(load(folder / "model.mfa"), payload, rows, read_report(report) if report.is_file() else {})


_MOST_REPORT = 50_000_000  # bytes of the report of a run
#: What the report of a run must have, as far as anything reads it; a list stands for an object of such values too.
_NUMBER = (int, float)
_REPORT = {
    "created": str,
    "method": str,
    "data": {"source": str, "rows": int, "columns": int},
    "target": {"columns": [str], "task": str},
    "excluded": [str],
    "axes": [str],
    "parameters": {},
    "model": [_NUMBER],
    "scores": [{"metric": str, "value": (int, float, type(None)), "direction": str, "sample": str, "note": str}],
    "importance": {"purpose": str, "measure": str},
    "importances": [{"column": str, "importance": _NUMBER, "standard_error": _NUMBER, "of": str}],
    "findings": [{"text": str}],
    "notes": [str],
}


_GROUPS = {"column": str, "count": int}  # of runs whose rows belong together; the first runs do not name them


def read_report(path: Path) -> dict[str, Any]:
    """Read the report of a run."""
    try:
        if path.stat().st_size > _MOST_REPORT:
            raise ValueError(f"it is larger than {_MOST_REPORT // 10**6} MB")
        report = parse_json(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path.parent} is not a manifolia run: it has no {path.name} that can be read."
        ) from error
    if not _fits(report, _REPORT) or not (report.get("groups") is None or _fits(report["groups"], _GROUPS)):
        raise ModelFileError(f"{path.parent} is not a manifolia run: its {path.name} is of something else.")
    return report


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(name in value and _fits(value[name], shape[name]) for name in shape)
    if isinstance(shape, list):
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [NotImplemented]
        return all(_fits(item, shape[0]) for item in items)
    return isinstance(value, shape) and not isinstance(value, bool)


def stored_rows(path: Path, n_rows: int | None = None) -> Any:
    """Read the prepared rows of a run; None if it did not keep them."""
    if not path.is_file():
        return None
    try:
        arrays = load_arrays(path)
        rows = arrays["rows"] if "rows" in arrays else sp.csr_array(sp.load_npz(path))
        if rows.ndim != 2 or rows.dtype.kind not in "biuf" or n_rows not in (None, rows.shape[0]):
            raise ValueError(f"it holds an array of shape {rows.shape} and type {rows.dtype}")
    except (ValueError, LookupError, TypeError) as error:
        raise ModelFileError(
            f"{path} does not hold the rows of the run: {error}. Make the map again, or delete the file to do without "
            f"the rows."
        ) from error
    return rows
