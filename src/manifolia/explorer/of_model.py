"""What the page of a fitted model shows: its map, the table, the target, what it says of rows, and the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.validate import check_is_fitted, is_sparse
from manifolia.explorer.building import build_payload
from manifolia.explorer.describing import Describer, prepared_rows, subject_of
from manifolia.explorer.options import PageOptions
from manifolia.explorer.parts.gather import Known, check_parts, gather_parts
from manifolia.explorer.parts.images import check_shape
from manifolia.explorer.parts.told import Told, new_told, told_columns
from manifolia.explorer.payload import NewRows, Payload

__all__ = ["described_model"]

#: Of a wider table the page gets the columns that matter most.
_MOST_COLUMNS = 400
#: Of pictures fewer: a pixel is rarely asked for by its name.
_MOST_PIXELS = 160
#: A target of whole numbers with at most this many distinct values is one of classes, unless the model says otherwise.
_MOST_CLASSES = 40


def described_model(model: Any, X: Any, y: Any, options: PageOptions) -> tuple[Payload, Describer]:
    """Gather what the page of a fitted model shows, and what describes new rows alike."""
    last = model[-1] if hasattr(model, "steps") else model
    if not hasattr(last, "fit"):
        message = (
            f"model_or_run is {type(model).__name__}. Pass a fitted estimator with embedding_, the folder of a run, or "
            f"a payload."
        )
        raise TypeError(message)
    check_is_fitted(last, "embedding_")
    n = len(last.embedding_)
    ranked = _importances(last, options.importances, X)
    bare, names, row_names = _checked_table(X, n, last, options.images)
    target, target_kinds = _target_columns(y, n, last, names)
    taken = {*names, *target.columns}
    wanted, _ = check_parts(options.parts)
    told, told_kinds = told_columns(last, n, wanted, taken, target_kinds)
    predicted = {label: name for label, (name, role, _) in told.items() if role == "model"}
    if "predicted" in predicted and len(target.columns) == 1:
        predicted["target"] = str(target.columns[0])
    known = Known(
        y=target.iloc[:, 0].to_numpy() if len(target_kinds) == len(target.columns) == 1 else None,
        importances={name: _mean(value) for name, value in (ranked or {}).items()},
        pixels=None if options.images is None else _raw_pixels(bare),
        pixel_names=[] if options.images is None else names,
        images=options.images,
        predicted=predicted,
        study=options.study,
    )
    described = None
    if X is not None:
        rows, sources, labels = prepared_rows(model, X)
        known_names = sources or (names if np.shape(rows)[1] == len(names) else _feature_names(last, np.shape(rows)[1]))
        described = subject_of(last, rows, sources=known_names, labels=labels)
    subject, completer = described if described is not None else (None, None)
    gathered = gather_parts(subject, options.parts, known)
    describer = Describer(subject, gathered.effects, gathered.parts, completer)
    most = _MOST_COLUMNS if options.images is None else _MOST_PIXELS
    table, left_out = _narrowed(bare, names, n, ranked, gathered.preferred()[: most // 2], most)
    gathered.rename(taken)
    extra = {name: values for name, _, values in told.values()} | gathered.columns
    frames = [part for part in (target, table, pd.DataFrame(extra, index=pd.RangeIndex(n))) if len(part.columns)]
    columns = pd.concat(frames, axis=1) if frames else table
    color_by = options.color_by
    if color_by is None and len(target.columns):
        color_by = str(target.columns[0])
    payload = build_payload(
        last.embedding_,
        columns,
        title=type(last).__name__ if options.title is None else options.title,
        subtitle=type(last).__name__,
        color_by=color_by,
        kinds={**target_kinds, **told_kinds, **dict(options.kinds or {})},
        row_names=row_names,
        new=_new_rows(model, options.new, names, describer, told),
        notes=[*_how_it_was_made(last), *options.notes],
        findings=[*options.findings, *_what_was_found(last, ranked)],
        importances=ranked,
        roles={name: role for name, role, _ in told.values()} | dict.fromkeys(gathered.columns, "quality"),
        parts=gathered.parts,
        max_mb=options.max_mb,
    )
    payload.meta["left_out"][:0] = [*left_out, *gathered.left_out]
    return payload, describer


def _raw_pixels(X: Any) -> Any:
    return X.to_numpy() if isinstance(X, pd.DataFrame) else X


def _feature_names(model: Any, d: int, images: Sequence[int] | None = None) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names) == d:
        return [str(name) for name in names]
    if images is not None:
        _, width, channels = check_shape(images, d)
        spots = [f"pixel {i // channels // width}, {i // channels % width}" for i in range(d)]
        return spots if channels == 1 else [f"{spot} ({'rgb'[i % channels]})" for i, spot in enumerate(spots)]
    return [f"feature {i}" for i in range(d)]


def _checked_table(X: Any, n: int, model: Any, images: Sequence[int] | None) -> tuple[Any, list[str], list[str] | None]:
    """Check what users hand over; return it with the names of its columns and rows."""
    if X is None:
        return None, [], None
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame) and not is_sparse(X):
        X = np.asarray(X)
        X = X.reshape(-1, 1) if X.ndim == 1 else X
    if X.ndim != 2 or X.shape[0] != n:
        message = f"X has shape {X.shape} and the map has {n:,} rows. Pass the rows that the model was fitted on."
        raise ValueError(message)
    if not isinstance(X, pd.DataFrame):
        return X, _feature_names(model, X.shape[1], images), None
    words = X.index.dtype == object or isinstance(X.index.dtype, pd.StringDtype)
    return X, [str(c) for c in X.columns], [str(i) for i in X.index] if words else None


def _narrowed(
    X: Any, names: list[str], n: int, ranked: Mapping[str, Any] | None, preferred: list[str], most: int
) -> tuple[pd.DataFrame, list[str]]:
    """Bring rows into a DataFrame of at most so many columns: those that the page speaks of, and those that matter."""
    if X is None:
        return pd.DataFrame(index=pd.RangeIndex(n)), []
    chosen = _chosen_columns(X, names, ranked, preferred, most)
    left_out = []
    if len(chosen) < len(names):
        how = "of the greatest importance" if ranked else "that vary most"
        spoken = ", and those that arrows and reasons name most," if preferred else ""
        left_out.append(f"Of {len(names):,} columns the {len(chosen):,} {how}{spoken} are on the page.")
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, chosen].reset_index(drop=True), left_out
    table = pd.DataFrame(X[:, chosen].toarray() if is_sparse(X) else X[:, chosen])
    table.columns = pd.Index([names[i] for i in chosen])
    return table.infer_objects(), left_out


def _chosen_columns(
    X: Any, names: list[str], ranked: Mapping[str, Any] | None, preferred: list[str], most: int
) -> list[int]:
    if len(names) <= most:
        return list(range(len(names)))
    if ranked:
        order = sorted(range(len(names)), key=lambda i: -_mean(ranked.get(names[i], -np.inf)))
    elif is_sparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        order = list(np.argsort(-(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2), kind="stable"))
    else:
        numbers = pd.DataFrame(X).apply(pd.to_numeric, errors="coerce")
        order = list(np.argsort(-np.nan_to_num(numbers.var(ddof=0).to_numpy(dtype=float), nan=np.inf), kind="stable"))
    place = {name: i for i, name in enumerate(names)}
    first = [place[name] for name in preferred if name in place]
    return sorted(list(dict.fromkeys([*first, *(int(i) for i in order)]))[:most])


def _target_columns(y: Any, n: int, model: Any, names: list[str]) -> tuple[pd.DataFrame, dict[str, str]]:
    if y is None:
        return pd.DataFrame(index=pd.RangeIndex(n)), {}
    if hasattr(y, "to_pandas"):
        y = y.to_pandas()
    if isinstance(y, pd.DataFrame):
        target = y.reset_index(drop=True)
    elif isinstance(y, pd.Series):
        target = y.reset_index(drop=True).to_frame(name="target" if y.name is None else str(y.name))
    else:
        bare = pd.DataFrame(np.asarray(y))
        several = [f"target {i}" for i in range(bare.shape[1])]
        target = bare.set_axis(["target"] if bare.shape[1] == 1 else several, axis=1).infer_objects()
    if len(target) != n:
        message = f"y has {len(target):,} rows and the map has {n:,}."
        raise ValueError(message)
    taken = set(names)
    target.columns = pd.Index([f"{name} (target)" if str(name) in taken else str(name) for name in target.columns])
    task = str(getattr(model, "task_", ""))
    kinds = {}
    for name in target.columns:
        values = target[name]
        if task in ("classification", "multilabel") or (not task and _looks_like_classes(values)):
            kinds[str(name)] = "class"
    return target, kinds


def _looks_like_classes(values: pd.Series) -> bool:
    if not pd.api.types.is_numeric_dtype(values.dtype):
        return False  # what words are is for their number to tell
    present = values.dropna().to_numpy(dtype=float)
    return len(np.unique(present)) <= _MOST_CLASSES and bool(np.all(present == np.rint(present)))


def _new_rows(model: Any, new: Any, names: list[str], describer: Describer, told: Told) -> NewRows | None:
    if new is None or isinstance(new, NewRows):
        return new
    if hasattr(new, "to_pandas"):
        new = new.to_pandas()
    last = model[-1] if hasattr(model, "steps") else model
    placed = np.asarray(model.transform(new))
    columns = pd.DataFrame(index=pd.RangeIndex(len(placed)))
    if isinstance(new, pd.DataFrame):
        columns = new.reset_index(drop=True)
    elif not is_sparse(new) and len(names) == np.shape(new)[1]:
        columns = pd.DataFrame(np.asarray(new), columns=names)
    rows = prepared_rows(model, new)[0]
    added, novelty = new_told(last, rows, told)
    columns = pd.concat([columns, pd.DataFrame(added, index=columns.index)], axis=1)
    pixels = _raw_pixels(new) if any(part.name == "images" for part in describer.parts) else None
    parts = describer.new_parts(last, rows, placed, novelty=novelty, pixels=pixels)
    return NewRows(placed, columns, parts=parts)


def _importances(model: Any, importances: Any, X: Any) -> dict[str, Any] | None:
    if importances is False or importances is None:
        return None
    if importances is not True:
        return dict(importances)
    means = np.asarray(model.feature_importances_, dtype=float)
    names = [str(c) for c in X.columns] if isinstance(X, pd.DataFrame) else []
    if len(names) != len(means):
        names = _feature_names(model, len(means))
    if not hasattr(model, "importances_std_") or not hasattr(model, "forest_"):
        return dict(zip(names, means.tolist(), strict=True))
    errors = np.asarray(model.importances_std_, dtype=float) / np.sqrt(len(model.forest_.estimators_))
    return dict(zip(names, zip(means.tolist(), errors.tolist(), strict=True), strict=True))


def _mean(value: Any) -> float:
    return float(value[0] if isinstance(value, tuple) else value)


def _how_it_was_made(model: Any) -> list[str]:
    """Say what the fitted attributes of known methods tell; an unknown one is named, no more."""
    said = [f"Made by {type(model).__name__} from {len(model.embedding_):,} rows."]
    forest = getattr(model, "forest_", None)
    if forest is not None and hasattr(model, "t_"):
        said.append(
            f"A forest of {len(forest.estimators_):,} trees says how alike two rows are for the target; a random walk "
            f"of {model.t_} steps over these likenesses was laid out in the plane."
        )
        said.append(
            "Each row is placed by the trees that did not train on it, so that its own label does not place it."
        )
    return said


def _what_was_found(model: Any, ranked: Mapping[str, Any] | None) -> list[str]:
    said = []
    if ranked:
        top = sorted(ranked, key=lambda name: -_mean(ranked[name]))[:3]
        said.append(f"What matters most: {', '.join(top)}.")
    score, excess = getattr(model, "oob_score_", None), getattr(model, "over_separation_", None)
    if score is not None and np.isfinite(score):
        of = "R²" if str(getattr(model, "task_", "")) in ("regression", "multioutput") else "accuracy"
        said.append(f"The forest's {of} on rows it did not train on is {score:.3f}.")
    elif getattr(model, "left_out_score_", None) is not None:
        said.append(f"The share of training rows whose class the rows near them tell is {model.left_out_score_:.3f}.")
    if excess is not None and np.isfinite(excess) and excess > 0.02:
        said.append(
            f"Neighbours in the map agree more than that, by {excess:.3f}: part of the separation is not earned."
        )
    return said
