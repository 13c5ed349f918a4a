"""What a guided map must not do: show classes where there are none, and hide that a row is of two kinds."""

from __future__ import annotations

import warnings

import numpy as np
from reproduce.guided import maps, scores
from reproduce.guided.data import MOST_ROWS, split
from reproduce.guided.results import Results

from manifolia.metrics.separation import map_score

#: Tables whose labels are permuted, with what their targets hold.
PERMUTED = {
    "sonar": "classification",
    "titanic": "classification",
    "digits": "classification",
    "ames_housing": "regression",
    "coil20": "classification",
}
#: Rows of a table that are taken, where it is to be small: 20 classes of 14 training rows each.
FEW_ROWS = {"coil20": 400}
#: Maps of permuted labels: guided by the forest, by the best of several models, by boosted trees.
GUIDES = ("GuidedMap", maps.AUTO, maps.BOOSTED)
PERMUTED_SEEDS = 10
#: Tables of pictures that are mixed, pairs of each seed, and the share that the first picture has in a mixture.
MIXED = ("optdigits", "usps")
MIXED_SEEDS = 5
N_MIXTURES = 300
LEAST, MOST = 0.4, 0.6
SHARPNESS = ("GuidedMap", "GuidedMap, sharpness 1")


def permuted(table, seed, path):
    """Map a table whose labels were permuted; append what the maps show of them beside what knows nothing."""
    results = Results(path)
    done = results.done()
    missing = [name for name in GUIDES if ("permuted", table, seed, name) not in done]
    if not missing:
        return
    most = FEW_ROWS.get(table, MOST_ROWS)
    data = split(table, seed, task=PERMUTED[table], permuted=True, most=most)
    is_class = data.task == "classification"
    for name in missing:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the map shows more than it has earned is what is measured
            found = maps.place(name, data, seed)
        results.add(
            "permuted",
            table,
            seed,
            name,
            left_out=map_score(found.Y, data.y, classification=is_class, n_jobs=1),
            left_out_blind=largest_share(data.y, data.y) if is_class else 0.0,
            held_out=scores.held_out(data, found.Y, found.Y_new)["nn10"],
            held_out_blind=largest_share(data.y, data.y_new) if is_class else 0.0,
            over_separation=float(found.model.over_separation_),
            guide_score=float(found.model.guide_score_),
        )


def largest_share(known, asked):
    """Share of rows that are right if all are said to be of the class that most known rows have."""
    names, counts = np.unique(known, return_counts=True)
    return float(np.mean(asked == names[counts.argmax()]))


def mixtures(table, seed, path):
    """Place mixtures of two pictures; append the share that has both classes among its neighbours."""
    results = Results(path)
    done = results.done()
    missing = [name for name in SHARPNESS if ("mixtures", table, seed, name) not in done]
    if not missing:
        return
    data = split(table, seed)
    mixed, first, second = mixed_rows(data.X_new, data.y_new, seed)
    for name in missing:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = maps.place(name, data._replace(X_new=mixed), seed)
        order = scores.nearest(found.Y, found.Y_new, scores.DOUBT_NEIGHBORS)
        results.add("mixtures", table, seed, name, both=share_of_both(data.y[order], first, second))


def mixed_rows(X, y, seed):
    """Mixtures of held-out rows of two classes, and these classes."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, len(X), size=(2, 20 * N_MIXTURES))
    a, b = (rows[y[a] != y[b]][:N_MIXTURES] for rows in (a, b))
    part = rng.uniform(LEAST, MOST, size=(len(a), 1))
    return part * X[a] + (1.0 - part) * X[b], y[a], y[b]


def share_of_both(neighbors, first, second):
    """Share of rows that have a neighbour of one class and a neighbour of the other."""
    has_first, has_second = ((neighbors == one[:, None]).any(axis=1) for one in (first, second))
    return float(np.mean(has_first & has_second))
