"""What a page knows beyond places and columns, a module for each part: reasons, arrows, neighbours, quality, images.

A part is computed from a fitted model and its rows (`gather`), coded in few bytes, and left out where the model cannot
tell it. `manifolia.explorer.payload` lists the arrays of each.
"""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=["arrows", "effects", "gather", "images", "neighbors", "part", "quality", "reasons"],
    names={"Part": "manifolia.explorer.parts.part", "gather_parts": "manifolia.explorer.parts.gather"},
)
