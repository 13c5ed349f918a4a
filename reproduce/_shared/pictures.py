"""How pictures of the pages are written."""

from __future__ import annotations

import io
import pathlib


def save(figure, path, *, shades, dpi, **options):
    """Write a picture with few colours: points in full colour make a large file."""
    from PIL import Image

    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = io.BytesIO()
    figure.savefig(whole, format="png", dpi=dpi, facecolor="white")
    few = {"dither": Image.Dither.NONE, **options}
    Image.open(whole).convert("RGB").quantize(shades, **few).save(path, optimize=True)
