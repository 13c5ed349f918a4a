"""Free text → a few numbers per row, each named by its words.

A text consists of its words and the pieces of its words: runs of three and four characters, with a blank at either end
of a word, so that "walking" is like "walked". Both are weighted by ``(1 + log count) · idf`` with ``idf = 1 + log((1 +
n) / (1 + df))``, scaled to length 1, and projected on the leading right singular vectors of the rows of ``fit``. These
are rotated (varimax) so that each represents few words: distances stay as they are, and trees, which look at one column
at a time, see topics.

A row's numbers depend only on its text, to the bit: counts are whole numbers, logarithms come from one table, and sums
run over a row's terms in the order of the vocabulary.

====================  ========================================================  ====================
symbol                meaning                                                   shape
====================  ========================================================  ====================
``words``, ``pieces``  the vocabulary: what at least `_RARE` texts have          n_words, n_pieces
``word_axes`` …       what a word or a piece adds to each feature               (n_words, k)
====================  ========================================================  ====================
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.parallel import threads
from manifolia._core.types import FloatArray, IntArray
from manifolia.tables.naming import distinct

#: As many features as this, or fewer.
N_FEATURES = 30
_TEXTS_PER_FEATURE = 8  # different ones
#: Rows that the vocabulary and the axes are learned from, evenly over the table: more do not change the topics.
_LEARNED_ROWS = 10_000
_MOST_WORDS = _MOST_PIECES = 10_000
#: A term in fewer texts says nothing about other texts; in a large table a term needs one more.
_RARE, _LARGE = 2, 1000
#: How much of a text and of a word is read, in characters: more is not prose.
_LONGEST_TEXT, _LONGEST_WORD = 20_000, 40
_PIECES = (3, 4)
_BLOCK = 2000  # rows whose words are in memory at once
#: 1 + log count, from one table: a vectorised logarithm may round differently by position.
_DAMPED = 1.0 + np.log(np.arange(1.0, 1001.0))
_SHARED = np.sqrt(0.5)  # words and pieces weigh the same
_NOISE = 1e-6  # singular values below this share of the largest are rounding
_NAMED = 3  # words in a feature's name
_TURNS, _SETTLED = 50, 1e-5  # of the rotation
_WORD = re.compile(r"\w+")
#: A column is free text if its texts have this many words on average, and at least this share of the words that are not
#: in nearly all texts recurs.
_PROSE_WORDS, _PROSE_SHARE, _PROSE_SAMPLE, _EVERYWHERE = 2.0, 0.3, 2000, 0.9


class TextFeatures(NamedTuple):
    """What ``fit`` learns about a column of texts."""

    labels: list[str]  # The words that each feature represents
    words: list[str]
    pieces: list[str]
    word_weights: FloatArray  # (n_words,): idf
    piece_weights: FloatArray  # (n_pieces,): idf
    word_axes: FloatArray  # (n_words, k)
    piece_axes: FloatArray  # (n_pieces, k)

    def sources(self, column: str) -> list[str]:
        """Name the features of a column, each by its words."""
        return [f"{column}: {label}" for label in self.labels]


def is_prose(texts: Sequence[object]) -> bool:
    """Return whether different texts have several words each that recur, so that they are more than names."""
    step = max(1, len(texts) // _PROSE_SAMPLE)
    split = [
        {word.lower() for word in text[:_LONGEST_TEXT].split() if any(map(str.isalpha, word))}
        for text in texts[::step]
        if isinstance(text, str)
    ]
    n_texts = Counter(word for words in split for word in words)
    # What nearly all texts have, as in "passenger number 17", says nothing about any of them.
    telling = {word: n for word, n in n_texts.items() if n <= _EVERYWHERE * len(split)}
    again = sum(n for n in telling.values() if n > 1)
    long_enough = sum(n_texts.values()) >= _PROSE_WORDS * len(split) > 0
    return long_enough and again >= max(1, _PROSE_SHARE * sum(telling.values()))


def learn_texts(texts: Sequence[str]) -> TextFeatures | None:
    """Find the features of a column's texts; None if they share no words and no pieces."""
    texts = texts[:: -(-len(texts) // _LEARNED_ROWS)] if texts else texts
    counts, found = _count_words(texts)
    rare = _RARE + (len(texts) > _LARGE)
    words, word_weights = _vocabulary(counts, found, rare, _MOST_WORDS)
    all_pieces = sorted({piece for word in found for piece in _pieces_of(word)})
    pieces, piece_weights = _vocabulary(counts @ _made_of(found, all_pieces), all_pieces, rare, _MOST_PIECES)
    terms = sp.hstack(
        [
            _weighted(counts @ _picked(found, words), word_weights),
            _weighted(counts @ _made_of(found, pieces), piece_weights),
        ],
        format="csr",
    )
    # A few recurring sentences need few features: more are noise, which trees draw as often as other columns.
    n_features = min(N_FEATURES, max(2, len(set(texts)) // _TEXTS_PER_FEATURE), *(side - 1 for side in terms.shape))
    if n_features < 1:
        return None
    from sklearn.utils.extmath import randomized_svd

    with threads(1):
        _, sizes, axes = randomized_svd(terms * _SHARED, n_features, n_iter=5, random_state=0)
        axes = _turned(axes[sizes > _NOISE * sizes[0]].T)
    if not axes.shape[1]:
        return None
    axes *= _SHARED
    labels = [_label(axis, [*words, *(f"…{piece.strip()}…" for piece in pieces)], len(words)) for axis in axes.T]
    return TextFeatures(
        distinct(labels),
        words,
        pieces,
        word_weights,
        piece_weights,
        np.ascontiguousarray(axes[: len(words)]),
        np.ascontiguousarray(axes[len(words) :]),
    )


def to_features(texts: Sequence[str], learned: TextFeatures) -> FloatArray:
    """Turn texts into numbers, each text on its own."""
    out = np.zeros((len(texts), len(learned.labels)))
    for start in range(0, len(texts), _BLOCK):
        counts, found = _count_words(texts[start : start + _BLOCK])
        of_words = _weighted(counts @ _picked(found, learned.words), learned.word_weights)
        of_pieces = _weighted(counts @ _made_of(found, learned.pieces), learned.piece_weights)
        out[start : start + _BLOCK] = of_words @ learned.word_axes + of_pieces @ learned.piece_axes
    return out


def _count_words(texts: Iterable[str]) -> tuple[Any, list[str]]:
    """Return how often each text has which of the words that occur, (n_texts, n_found), and these words."""
    known: dict[str, int] = {}
    codes, ends = array("i"), [0]
    for text in texts:
        codes.extend([known.setdefault(word, len(known)) for word in _WORD.findall(text[:_LONGEST_TEXT].lower())])
        ends.append(len(codes))
    columns = np.array(codes, dtype=np.int32)
    counts = sp.csr_array((np.ones(len(columns)), columns, np.array(ends)), shape=(len(ends) - 1, len(known)))
    counts.sum_duplicates()
    return counts, list(known)


def _pieces_of(word: str) -> list[str]:
    """Cut a word into pieces; short words are shorter than some of them."""
    padded = f" {word[:_LONGEST_WORD]} "
    return [padded[i : i + n] for n in _PIECES for i in range(len(padded) - n + 1)]


def _matrix(rows: list[int], columns: list[int], shape: tuple[int, int]) -> Any:
    return sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()  # adds up what occurs again


def _picked(found: list[str], words: list[str]) -> Any:
    """Return which of the words that were found is which of the vocabulary."""
    place = {word: j for j, word in enumerate(words)}
    pairs = [(i, place[word]) for i, word in enumerate(found) if word in place]
    return _matrix([i for i, _ in pairs], [j for _, j in pairs], (len(found), len(words)))


def _made_of(found: list[str], pieces: list[str]) -> Any:
    """Return how often each word that was found has each piece of the vocabulary."""
    place = {piece: j for j, piece in enumerate(pieces)}
    pairs = [(i, place[piece]) for i, word in enumerate(found) for piece in _pieces_of(word) if piece in place]
    return _matrix([i for i, _ in pairs], [j for _, j in pairs], (len(found), len(pieces)))


def _vocabulary(counts: Any, terms: list[str], rare: int, most: int) -> tuple[list[str], FloatArray]:
    """Choose the terms that several texts have, and weight them; the same ones in any order of the rows."""
    n_texts: IntArray = np.bincount(counts.indices, minlength=len(terms))
    kept = sorted((j for j in range(len(terms)) if n_texts[j] >= rare), key=lambda j: (-n_texts[j], terms[j]))[:most]
    kept.sort(key=lambda j: terms[j])
    return [terms[j] for j in kept], 1.0 + np.log((1.0 + counts.shape[0]) / (1.0 + n_texts[kept]))


def _weighted(counts: Any, weights: FloatArray) -> Any:
    """Weight counts and scale each row to length 1; a row without terms stays zero."""
    terms = counts.tocsr()
    terms.sort_indices()
    damped = _DAMPED[np.minimum(terms.data.astype(np.intp), len(_DAMPED)) - 1]
    terms.data = damped * weights[terms.indices]
    rows = np.repeat(np.arange(terms.shape[0]), np.diff(terms.indptr))
    terms.data /= np.sqrt(np.bincount(rows, weights=terms.data**2, minlength=terms.shape[0]))[rows]
    return terms


def _turned(axes: FloatArray) -> FloatArray:
    """Rotate axes so that each represents few terms (varimax, Kaiser 1958), and let them point at these terms."""
    turn, before = np.eye(axes.shape[1]), 0.0
    for _ in range(_TURNS):
        loads = axes @ turn
        left, sizes, right = np.linalg.svd(axes.T @ (loads**3 - loads * (loads**2).mean(axis=0)))
        turn = left @ right
        if sizes.sum() < before * (1.0 + _SETTLED):
            break
        before = sizes.sum()
    loads = axes @ turn
    return loads * np.where((loads**3).sum(axis=0) < 0, -1.0, 1.0)


def _label(axis: FloatArray, terms: list[str], n_words: int) -> str:
    """Name a feature by the words that add most to it, or by pieces if no word does."""
    among = axis[:n_words] if (axis[:n_words] > 0).any() else axis
    best = np.argsort(-among, kind="stable")[:_NAMED]
    return ", ".join(terms[j] for j in best if among[j] > 0.1 * among[best[0]])
