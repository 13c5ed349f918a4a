"""The size of a page: what is left out when it would be too large, and how that is said."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence

import numpy as np

from manifolia._core.types import Array
from manifolia.explorer.columns import Encoded, quantize, some_names
from manifolia.explorer.parts.part import Part

#: What the script, the style and the frame of a page take, at most.
_FRAME_BYTES = 182_000
#: Share of a page that is too large which its parts may keep; the columns have the rest.
_PARTS_SHARE = 0.6
#: What goes first when parts take too much: a part, how many entries a row keeps (0: none), and what to call it.
_STEPS = (
    ("placer", 0, "the trees by which the page places new rows"),
    ("saliency", 0, "the saliency of the images"),
    ("images", 0, "the images"),
    ("neighbors", 5, "neighbours"),
    ("reasons", 4, "reasons"),
    ("neighbors", 0, "the neighbours of the rows"),
    ("model", 0, "the votes of the trees"),
    ("reasons", 0, "the reasons of the rows"),
)


def fit_parts(
    parts: Sequence[Part],
    encoded: list[tuple[str, str, Encoded]],
    arrays: dict[str, Array],
    budget: float,
    left_out: list[str],
) -> list[Part]:
    """Leave out parts, or what they say beyond the first few entries of a row, until the page fits."""
    kept = {part.name: part for part in parts}
    if not kept or _bound(encoded, arrays) + 1.34 * sum(_raw(part) for part in parts) <= budget:
        return list(parts)
    others = _FRAME_BYTES + sum(len(pack(array)) for array in arrays.values())
    others += sum(_size(coded) for _, _, coded in encoded)
    allowed = max(_PARTS_SHARE * (budget - _FRAME_BYTES), budget - others)
    sizes = {part.name: _part_size(part) for part in parts}
    why = f"because the page would be larger than {budget / 1e6:g} MB"
    said: dict[str, str] = {}
    for name, k, what in _STEPS:
        if sum(sizes.values()) <= allowed:
            break
        if (
            name not in kept
            or (k and kept[name].meta["k"] <= k)
            or not (kept[name].rows or kept[name].links or kept[name].fixed)
        ):
            continue
        if k:
            said[name] = f"Each row has {k} {what} instead of {kept[name].meta['k']}, {why}."
            kept[name] = kept[name].cut(k)
            sizes[name] = _part_size(kept[name])
        else:
            said[name] = f"Left out, {why}: {what}."
            rest = kept.pop(name).without_rows()
            del sizes[name]
            if rest is not None:
                kept[name], sizes[name] = rest, _part_size(rest)
    left_out += said.values()
    return list(kept.values())


def _raw(part: Part) -> int:
    arrays = [*part.rows.values(), *part.links.values(), *part.fixed.values()]
    return sum(array.size * min(array.itemsize, 4) + 64 for array in arrays) + len(json.dumps(part.meta))


def _part_size(part: Part) -> int:
    arrays = [*part.rows.values(), *part.fixed.values(), *(links.astype("<u4") for links in part.links.values())]
    return len(json.dumps(part.meta)) + sum(len(pack(array)) for array in arrays)


def fit_budget(
    encoded: list[tuple[str, str, Encoded]],
    arrays: dict[str, Array],
    first: int | None,
    ranking: list[str],
    budget: float,
    left_out: list[str],
) -> list[tuple[str, str, Encoded]]:
    """Leave out columns until the page fits, the least important first, and say which."""
    if _bound(encoded, arrays) <= budget:
        return encoded
    rank = {name: i for i, name in enumerate(ranking)}
    # The colour of the first view and the names of the rows matter most, then what the model and the metrics say of a
    # row, then columns by importance, then the rest.
    weight = [
        (0, 0, i) if i == first or role == "name" else (1, rank.get(name, len(rank)) if role == "value" else -1, i)
        for i, (name, role, _) in enumerate(encoded)
    ]
    sizes = [_size(coded) for _, _, coded in encoded]
    total = _FRAME_BYTES + sum(len(pack(array)) for array in arrays.values()) + sum(sizes)
    kept = set(range(len(encoded)))
    dropped: list[int] = []

    def drop(candidates: list[int]) -> None:
        nonlocal total
        for i in sorted(candidates, key=lambda i: weight[i], reverse=True):
            if total <= budget:
                return
            kept.discard(i)
            dropped.append(i)
            total -= sizes[i]

    drop([i for i, (_, role, coded) in enumerate(encoded) if coded.kind == "text" and role != "name"])
    coarser = 0
    for i in sorted(kept, key=lambda i: weight[i], reverse=True):
        if total > budget and encoded[i][2].kind == "number" and i != first and _coarsen(encoded[i][2]):
            coarser += 1
            total += _size(encoded[i][2]) - sizes[i]
            sizes[i] = _size(encoded[i][2])
    if coarser:
        left_out.append(f"{coarser:,} columns of numbers are kept to 1/254 of their range, to save space.")
    drop([i for i in kept if i != first])
    if dropped:
        names = some_names(encoded[i][0] for i in sorted(dropped))
        left_out.append(
            f"{len(dropped):,} of {len(encoded):,} columns are left out, because the page would be larger than "
            f"{budget / 1e6:g} MB: {names}."
        )
    if total > budget:
        left_out.append(f"The points alone take {total / 1e6:.1f} MB, more than the {budget / 1e6:g} MB asked for.")
    return [entry for i, entry in enumerate(encoded) if i in kept]


def _bound(encoded: list[tuple[str, str, Encoded]], arrays: dict[str, Array]) -> float:
    """Return what the page takes at most, without compressing anything: deflate adds 0.1 %, base64 a third."""
    raw = sum(array.nbytes + 64 for array in arrays.values())
    raw += sum(array.nbytes + 64 for _, _, coded in encoded for array in coded.arrays.values())
    return _FRAME_BYTES + 1.34 * raw + sum(_described(coded) for _, _, coded in encoded)


def _coarsen(coded: Encoded) -> bool:
    """Keep a column of numbers to 1/254 of its range; tell whether that changed it."""
    values = coded.arrays[""]
    if values.dtype.itemsize == 1:
        return False
    spec = coded.spec
    numbers = values.astype(np.float64)
    if values.dtype.kind == "u":
        numbers = np.where(values == spec["missing"], np.nan, spec["offset"] + spec["scale"] * numbers)
    coded.arrays[""], offset, scale = quantize(numbers, "u1")
    coded.spec = {"offset": offset, "scale": scale, "missing": 255}
    return True


def _size(coded: Encoded) -> int:
    return _described(coded) + sum(len(pack(array)) for array in coded.arrays.values())


def _described(coded: Encoded) -> int:
    return 200 + sum(len(json.dumps(level)) + 8 for level in coded.spec.get("levels", ()))


def pack(array: Array) -> str:
    """Compress an array for the page."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 6)).decode("ascii")
