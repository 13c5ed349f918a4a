"""What a page tells beyond places and columns; `PARTS` lists all of it, and nothing else does.

A part is made from a `manifolia.explorer.context.Context` by ``make(context)``, which returns a `Part`, or None where
the model cannot tell it; columns that belong to it are added to the context. ``for_new(context, arrivals)`` tells the
same of new rows. The docstring of each module says which arrays its part has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from manifolia.exceptions import ParameterError
from manifolia.explorer.parts import arrows, images, neighbors, placer, predictions, quality, reasons, trust
from manifolia.explorer.parts.part import Part

if TYPE_CHECKING:
    from manifolia.explorer.context import Arrivals, Context

__all__ = ["PARTS", "Maker", "Part", "check_parts", "make_parts", "parts_for_new"]

#: What a method that is not ours may raise when it is asked something that it cannot tell.
_CANNOT = (ArithmeticError, AttributeError, LookupError, MemoryError, NotImplementedError, TypeError, ValueError)


class Maker(NamedTuple):
    """How a part is made."""

    name: str
    make: Callable[[Context], Part | None]
    for_new: Callable[[Context, Arrivals], Part | None] | None = None  # None: it does not speak of single rows


def _tuning(context: Context) -> Part | None:
    """Hand over the study that chose the settings, as `manifolia.Tuner.to_dict` gives it."""
    return None if context.study is None else Part("tuning", dict(context.study))


#: All parts, in the order in which they are made: later ones use what earlier ones left in the context.
PARTS = (
    Maker("model", predictions.make, predictions.for_new),
    Maker("novelty", predictions.make_novelty, predictions.novelty_for_new),
    Maker("tuning", _tuning),
    Maker("images", images.make, images.for_new),
    Maker("reasons", reasons.make, reasons.for_new),
    Maker("placer", placer.make),
    Maker("saliency", images.make_saliency, images.saliency_for_new),
    Maker("arrows", arrows.make),
    Maker("neighbors", neighbors.make, neighbors.for_new),
    Maker("quality", quality.make),
    Maker("trust", trust.make),
)


def check_parts(parts: str | Sequence[str] | None) -> tuple[tuple[str, ...], bool]:
    """Check which parts are asked for, and tell whether one that cannot be made may be left out."""
    known = tuple(maker.name for maker in PARTS)
    if parts is None or parts == "auto":
        return known if parts else (), True
    names = (parts,) if isinstance(parts, str) else tuple(parts)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ParameterError(
            f"parts names {unknown[0]!r}. Use 'auto', None, or some of {', '.join(map(repr, known))}.",
            parameter="parts",
        )
    return names, False


def make_parts(context: Context) -> None:
    """Make the parts that a page is to have; what cannot be had is said."""
    wanted, optional = check_parts(context.options.parts)
    for maker in PARTS:
        if maker.name not in wanted:
            continue
        try:
            part = maker.make(context)
        except _CANNOT as error:
            if not optional:
                raise
            context.left_out.append(f"{maker.name}: could not be computed for this map ({error})".rstrip(".") + ".")
            continue
        if part is not None:
            context.parts[maker.name] = part


def parts_for_new(context: Context, arrivals: Arrivals) -> list[Part]:
    """Say about new rows what the page says about the rows of the map."""
    made: list[Any] = [maker.for_new(context, arrivals) for maker in PARTS if maker.for_new is not None]
    return [part for part in made if part is not None]
