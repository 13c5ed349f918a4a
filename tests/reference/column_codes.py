"""Keys and codes of columns, by sorting numbers as numbers."""

from __future__ import annotations

import numpy as np

MISSING_KEY, MISSING_CODE, MOST_CODES = 2**32 - 1, 255, 255


def key_of(value):
    """The key of one single-precision number."""
    if np.isnan(value):
        return MISSING_KEY
    bits = int(np.float32(abs(value)).view(np.uint32))
    return 2**31 - 1 - bits if value < 0 else 2**31 + bits


def number_of(key):
    """The number of a key."""
    bits = 2**31 - 1 - int(key) if key < 2**31 else int(key) - 2**31
    size = float(np.uint32(bits).view(np.float32))
    return -size if key < 2**31 else size


def order_values(bits, keys):
    for i, value in enumerate(bits.view(np.float32)):
        keys[i] = key_of(value)


def code_distinct(keys, codes, low, high):
    different = np.unique(keys[keys != MISSING_KEY])
    if len(different) > MOST_CODES:
        return -1
    low[: len(different)] = high[: len(different)] = different
    for i, key in enumerate(keys):
        codes[i] = MISSING_CODE if key == MISSING_KEY else int(np.flatnonzero(different == key)[0])
    return len(different)


def code_by_edges(keys, edges, codes, low, high):
    bins = [[key for key in keys if key != MISSING_KEY and (edges < key).sum() == b] for b in range(len(edges) + 1)]
    full = [members for members in bins if members]
    for code, members in enumerate(full):
        low[code], high[code] = min(members), max(members)
    for i, key in enumerate(keys):
        codes[i] = next((code for code, members in enumerate(full) if key in members), MISSING_CODE)
    return len(full)
