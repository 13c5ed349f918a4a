"""Counts of won, tied and lost cells: how a page begins, and how it is read again."""

from __future__ import annotations

import re

COUNT = re.compile(r"won (\d+), tied (\d+), lost (\d+)")
WORDS = ("won", "tied", "lost")


def counted(text):
    """The first count of a text as three numbers, or None."""
    found = COUNT.search(text)
    return None if found is None else tuple(int(number) for number in found.groups())


def tally(counts):
    """Three numbers, or a dictionary of verdicts, as a page writes them."""
    numbers = [counts.get(word, 0) for word in WORDS] if hasattr(counts, "get") else counts
    return ", ".join(f"{word} {number}" for word, number in zip(WORDS, numbers, strict=True))


def added(*several):
    """Counts of several parts together."""
    numbers = [[one.get(word, 0) for word in WORDS] if hasattr(one, "get") else list(one) for one in several]
    return tuple(sum(column) for column in zip(*numbers, strict=True)) if numbers else (0, 0, 0)


def several(number, what):
    """ "1 seed", "5 seeds"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
