"""Columns of a table as one-byte codes: the form from which trees are grown.

A value in single precision becomes a 32-bit *key*: unsigned, in the order of the values, −0 and 0 alike, missing values
last. A column of at most 255 different values is coded by their ranks, any other by bins with about equal numbers of
rows. Code 255 is a missing value.

======  =================================================  ==========
symbol  meaning                                            shape
======  =================================================  ==========
bits    bits of single-precision numbers                   (n,)
keys    their keys                                         (n,)
edges   last key of each bin but the last one, ascending   (m,)
codes   code of each row                                   (n,)
low     least key of each code                             (256,)
high    greatest key of each code                          (256,)
======  =================================================  ==========
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

#: Key of a missing value.
MISSING_KEY = np.uint32(0xFFFFFFFF)
#: Code of a missing value; the codes of values are below.
MISSING_CODE = np.uint8(255)
_MOST_CODES = 255
_SIGN = np.uint32(0x80000000)
_REST = np.uint32(0x7FFFFFFF)
_INFINITE = np.uint32(0x7F800000)  # bits of infinity; anything above, apart from the sign, is not a number
_SLOTS = 1024  # of a hash table for 255 keys: mostly empty, so that the first look finds the key or its absence
_SPREAD = np.uint32(2654435769)  # 2^32 / golden ratio: keys of neighbouring values land far apart
_SHIFT = np.uint32(22)  # the upper 10 bits of a product name a slot
_NEXT = np.uint32(1)


@kernel()
def order_values(bits, keys):
    """Turn the bits of single-precision numbers into keys."""
    for i in range(len(bits)):
        b = bits[i]
        if (b & _REST) > _INFINITE:
            keys[i] = MISSING_KEY
        elif b & _SIGN and b != _SIGN:
            keys[i] = ~b
        else:
            keys[i] = b | _SIGN  # −0, whose only bit is the sign, is 0 here


@kernel()
def code_distinct(keys, codes, low, high):
    """Code keys by their ranks among the different ones; return how many there are, −1 if they are too many."""
    slot_key = np.empty(_SLOTS, np.uint32)
    slot_code = np.empty(_SLOTS, np.int16)
    for slot in range(_SLOTS):
        slot_code[slot] = -1
    n_found = 0
    last_key, last_code = MISSING_KEY, MISSING_CODE  # equal values often follow each other
    for i in range(len(keys)):
        key = keys[i]
        if key == last_key:
            codes[i] = last_code
            continue
        if key == MISSING_KEY:
            codes[i] = MISSING_CODE
            continue
        slot = np.uint32(key * _SPREAD) >> _SHIFT
        while slot_code[slot] >= 0 and slot_key[slot] != key:
            slot = (slot + _NEXT) % np.uint32(_SLOTS)
        if slot_code[slot] < 0:
            if n_found == _MOST_CODES:
                return -1
            slot_key[slot], slot_code[slot] = key, n_found
            low[n_found] = key
            n_found += 1
        last_key, last_code = key, np.uint8(slot_code[slot])
        codes[i] = last_code
    # Codes are in the order in which values were met: sort them by insertion.
    first_met = np.empty(256, np.uint8)
    for code in range(n_found):
        key = low[code]
        at = code
        while at > 0 and high[at - 1] > key:
            high[at], first_met[at] = high[at - 1], first_met[at - 1]
            at -= 1
        high[at], first_met[at] = key, code
    rank = np.empty(256, np.uint8)
    rank[MISSING_CODE] = MISSING_CODE
    for r in range(n_found):
        rank[first_met[r]] = r
        low[r] = high[r]
    for i in range(len(codes)):
        codes[i] = rank[codes[i]]
    return n_found


@kernel()
def code_by_edges(keys, edges, codes, low, high):
    """Code keys by the bins between edges, leaving out bins without rows; return how many bins there are."""
    top = np.empty(256, np.uint32)
    for b in range(256):  # padded, so that a search of eight steps needs no end
        top[b] = edges[b] if b < len(edges) else MISSING_KEY
        low[b], high[b] = MISSING_KEY, np.uint32(0)
    for i in range(len(keys)):
        key = keys[i]
        if key == MISSING_KEY:
            codes[i] = MISSING_CODE
            continue
        at = 0
        step = 128
        while step > 0:
            if top[at + step - 1] < key:
                at += step
            step //= 2
        codes[i] = at
        low[at] = min(low[at], key)
        high[at] = max(high[at], key)
    rank = np.empty(256, np.uint8)
    rank[MISSING_CODE] = MISSING_CODE
    n_used = 0
    for b in range(len(edges) + 1):
        if low[b] <= high[b]:
            rank[b] = n_used
            low[n_used], high[n_used] = low[b], high[b]
            n_used += 1
    for i in range(len(codes)):
        codes[i] = rank[codes[i]]
    return n_used
