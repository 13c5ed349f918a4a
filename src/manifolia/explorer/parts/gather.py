"""All parts that a map can have, computed within seconds; what was sampled or could not be had is said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.types import Array, FloatArray
from manifolia.explorer.parts.arrows import arrows_part
from manifolia.explorer.parts.effects import Effects, effects_of
from manifolia.explorer.parts.images import check_shape, images_part, pixels_of, saliency_part, salient_pixels
from manifolia.explorer.parts.neighbors import neighbors_part, new_neighbors, uses_forest
from manifolia.explorer.parts.part import NO_FEATURE, Part
from manifolia.explorer.parts.quality import quality_part
from manifolia.explorer.parts.reasons import new_reasons, reasons_part
from manifolia.explorer.parts.subject import Subject

__all__ = ["PARTS", "Gathered", "Known", "check_parts", "gather_new", "gather_parts", "novelty_part"]

PARTS = ("reasons", "arrows", "neighbors", "quality", "images", "saliency", "novelty", "model", "tuning")
#: What makes a pixel matter.
_PIXELS = {
    "tangent": "A pixel matters as much as it varies among the pictures most like this one.",
    "jacobian": "A pixel matters as much as it would move this picture on the map if it were brighter or darker.",
}
#: What a method that is not ours may raise when it is asked something that it cannot tell.
_CANNOT = (ArithmeticError, AttributeError, LookupError, MemoryError, NotImplementedError, TypeError, ValueError)


def check_parts(parts: str | Sequence[str] | None) -> tuple[tuple[str, ...], bool]:
    """Check which parts are asked for."""
    if parts is None:
        return (), True
    if parts == "auto":
        return PARTS, True
    names = (parts,) if isinstance(parts, str) else tuple(parts)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        message = f"parts names {unknown[0]!r}. Use 'auto', None, or some of {', '.join(map(repr, PARTS))}."
        raise ValueError(message)
    return names, False


@dataclass(eq=False)
class Known:
    """What is known of a map already, so that it is not computed again."""

    y: Array | None = None  # (n,): classes
    importances: dict[str, float] = field(default_factory=dict)  # Of the user's columns
    lines: Sequence[dict[str, Any]] | None = None  # Scores, as the page takes them
    pixels: Any = None  # Raw columns, if the rows are pictures
    pixel_names: list[str] = field(default_factory=list)  # Their names
    images: Sequence[int] | None = None  # Height and width, and channels, of the pictures
    predicted: Mapping[str, str] = field(default_factory=dict)  # Columns that the model adds, by what they are
    study: Any = None  # The study that chose the settings


@dataclass(eq=False)
class Gathered:
    """Parts of a map."""

    parts: list[Part] = field(default_factory=list)  # For the page
    columns: dict[str, FloatArray] = field(default_factory=dict)  # Columns that belong to them, of role "quality"
    left_out: list[str] = field(default_factory=list)  # What could not be had, in sentences
    effects: Effects | None = None  # How columns act on rows, for new ones

    def preferred(self) -> list[str]:
        """Name the user's columns that arrows and reasons speak of, so that the page shows their values."""
        found: list[str] = []
        for part in self.parts:
            if part.name == "arrows" and part.sources is not None:
                found[:0] = part.sources
            if part.name == "reasons":
                names = part.meta["features"]
                feature = part.rows["feature"]
                counts = np.bincount(feature[feature != NO_FEATURE].astype(np.int64), minlength=len(names))
                found += [names[i] for i in np.argsort(-counts, kind="stable") if counts[i]]
        return list(dict.fromkeys(found))

    def rename(self, taken: Collection[str]) -> None:
        """Give columns names of their own, where the table has such a column."""
        renamed = {name: f"{name} (map)" if name in taken else name for name in self.columns}
        self.columns = {renamed[name]: values for name, values in self.columns.items()}
        for part in self.parts:
            if part.name == "quality" and part.columns is not None:
                part.columns = {label: renamed[name] for label, name in part.columns.items()}


def gather_parts(subject: Subject | None, parts: str | Sequence[str] | None, known: Known) -> Gathered:
    """Compute what a page tells beyond places and columns."""
    wanted, optional = check_parts(parts)
    out = Gathered()
    shape = None if known.images is None else check_shape(known.images, len(known.pixel_names))
    if known.predicted and "model" in wanted:
        out.parts.append(Part("model", {}, columns=known.predicted))
    if known.study is not None and "tuning" in wanted:
        out.parts.append(Part("tuning", _study(known.study)))
    if shape is not None and "images" in wanted:
        out.parts.append(images_part(known.pixels, shape))
    if subject is None:
        return out

    def attempt(name: str, compute: Callable[[], None]) -> None:
        if name not in wanted:
            return
        if not optional:
            compute()
            return
        try:
            compute()
        except _CANNOT as error:
            out.left_out.append(f"{name}: could not be computed for this map ({error})".rstrip(".") + ".")

    def reasons() -> None:
        out.effects = effects_of(subject, known.importances)
        if out.effects is None:
            return
        salient = shape is not None and "saliency" in wanted and out.effects.kind != "substitution"
        found = reasons_part(out.effects, keep_weights=salient)
        out.parts.append(found.part)
        if salient and shape is not None and found.weights is not None:
            picture = saliency_part(
                found.weights, out.effects.rows, subject.n, out.effects.names, known.pixel_names, shape,
                _PIXELS[out.effects.kind],
            )  # fmt: skip
            out.parts += [picture] if picture is not None else []

    def arrows() -> None:
        guided = hasattr(subject.model, "forest_")
        found = arrows_part(subject, out.effects, known.importances if guided else {})
        out.parts += [found] if found is not None else []

    kept: list[FloatArray] = []

    def neighbors() -> None:
        near = neighbors_part(subject)
        if near is not None:
            out.parts.append(near.part)
            kept.append(near.kept)

    def quality() -> None:
        forest = uses_forest(subject)
        found = quality_part(subject, known.y, kept=kept[0] if kept else None, forest=forest, lines=known.lines)
        if found is not None:
            out.parts.append(found.part)
            out.columns.update(found.columns)

    for name, compute in (("reasons", reasons), ("arrows", arrows), ("neighbors", neighbors), ("quality", quality)):
        attempt(name, compute)
    return out


def gather_new(
    subject: Subject | None,
    effects: Effects | None,
    parts: Sequence[Part],
    X: Any,
    Y: FloatArray,
    *,
    plain: Any = None,
    pixels: Any = None,
) -> list[Part]:
    """Compute the same for new rows as is known of those of the map."""
    out = []
    for part in parts:
        if part.name == "reasons" and effects is not None:
            out.append(new_reasons(effects, X, part.meta))
        elif part.name == "neighbors" and subject is not None:
            out.append(new_neighbors(subject, X, plain, Y, part.meta))
        elif part.name == "saliency" and effects is not None and "at" in part.meta:
            found = [effects.of_new(X[rows]).weight for rows in row_blocks(X.shape[0], 256)]
            values = salient_pixels(np.concatenate(found), part.meta)
            out.append(Part("saliency", dict(part.meta), rows={"values": values}))
        elif part.name == "images" and pixels is not None:
            out.append(Part("images", dict(part.meta), rows={"pixels": pixels_of(pixels, part.meta)}))
    return out


def novelty_part(novelty: FloatArray, level: float, *, share: float | None, far: str = "") -> Part:
    """Flag new rows that are unlike those of the map."""
    note = f"Rows of at least {level:.2f} are unlike those of the map."
    if share is not None:
        note = f"Rows of at least {level:.2f} are farther from the map's rows than {1 - share:.0%} of these are."
    flags = (np.nan_to_num(novelty, nan=1.0) >= level).astype(np.uint8)
    meta = {"level": float(level), "direction": "above", "note": note, "far": far}
    return Part("novelty", meta, fixed={"flag": flags}, columns={"novelty": "novelty"})


def _study(study: Any) -> dict[str, Any]:
    found = study.to_dict() if hasattr(study, "to_dict") else study
    if not isinstance(found, Mapping):
        message = f"study is {type(study).__name__}. Pass a fitted Tuner, or its to_dict()."
        raise TypeError(message)
    return dict(found)
