"""What a map is judged by: how well held-out rows are told from their neighbours, and what it does to the rows.

==============  ==================================  ===========================  ============================
figure          classes                             numbers                      several labels
==============  ==================================  ===========================  ============================
``nn1, nn10``   accuracy of the vote of 1 and of    R² of the mean of 1 and of   1 − Hamming loss of the vote
                10 neighbours                       10 neighbours                of 1 and of 10 neighbours
``doubt``       Brier score of the vote of 20       squared error of the mean    Brier score of the vote of
                neighbours: the sum over classes    of 20 neighbours, by the     20 neighbours, mean over
                of squared differences              variance: 1 − R²             labels
==============  ==================================  ===========================  ============================

Neighbours of a held-out row are training rows, by the distance of their places. ``inner`` is `metrics.inner_structure`
of the training rows with the proximities of `GuidedMap`'s forest, whatever the map. ``coinciding`` is the share of all
rows that share a place with a row that differs from them.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from manifolia import metrics

NEIGHBORS = 10
DOUBT_NEIGHBORS = 20
SAME_PLACE = 1e-6  # of the map's width


def nearest(Y, Y_new, k):
    """The k nearest training rows of each held-out row, in order; of equally near ones the first."""
    return np.argsort(cdist(Y_new, Y), axis=1, kind="stable")[:, :k]


def held_out(data, Y, Y_new):
    """How well held-out rows are told from their neighbours: nn1, nn10 and doubt."""
    order = nearest(Y, Y_new, DOUBT_NEIGHBORS)
    if data.task == "classification":
        test = (Y_new, data.y_new)
        nn1, nn10 = metrics.knn_accuracy(Y, data.y, [1, min(NEIGHBORS, len(Y))], test=test, n_jobs=1)
        classes, codes = np.unique(data.y, return_inverse=True)
        shares = np.eye(len(classes))[codes][order].mean(axis=1)
        return {"nn1": float(nn1), "nn10": float(nn10), "doubt": brier(classes, shares, data.y_new)}
    values = data.y.astype(float)[order]
    several = [values[:, :k].mean(axis=1) for k in (1, NEIGHBORS, DOUBT_NEIGHBORS)]
    if data.task == "regression":
        found = [r_squared(data.y_new, mean) for mean in several]
        return {"nn1": found[0], "nn10": found[1], "doubt": 1.0 - found[2]}
    right = [labels_right(data.y_new, mean) for mean in several[:2]]
    return {"nn1": right[0], "nn10": right[1], "doubt": float(np.mean((several[2] - data.y_new) ** 2))}


def of_forest(forest, data):
    """The same figures of the forest's own predictions, which is what a map can hope for."""
    if data.task == "classification":
        return of_model(forest.predict_proba(data.X_new), data)
    if data.task == "regression":
        return of_model(forest.predict(data.X_new), data)
    votes = zip(forest.predict_proba(data.X_new), forest.classes_, strict=True)
    return of_model(np.column_stack([_said_yes(one, classes) for one, classes in votes]), data)


def of_guide(guide, votes, data):
    """The same figures of what a guide says of the held-out rows."""
    if data.task == "multilabel":
        parts = zip(guide.shares(votes), guide.classes, strict=True)
        votes = np.column_stack([_said_yes(one, classes) for one, classes in parts])
    return of_model(votes if data.task != "regression" else votes[:, 0], data)


def _said_yes(votes, classes):
    """Shares of a label; one that all training rows have, or none, has one column of votes."""
    return votes[:, list(classes).index(1)] if 1 in classes else np.zeros(len(votes))


def of_model(votes, data):
    """Figures of shares of classes, of numbers, or of shares of several labels."""
    if data.task == "classification":
        classes = np.unique(data.y)  # models are trained on their numbers
        score = float(np.mean(classes[votes.argmax(axis=1)] == data.y_new))
        return {"nn1": score, "nn10": score, "doubt": brier(classes, votes, data.y_new)}
    if data.task == "regression":
        score = r_squared(data.y_new, votes)
        return {"nn1": score, "nn10": score, "doubt": 1.0 - score}
    score = labels_right(data.y_new, votes)
    return {"nn1": score, "nn10": score, "doubt": float(np.mean((votes - data.y_new) ** 2))}


def brier(classes, shares, truth):
    """Mean over rows of the sum over classes of squared differences between shares and truth."""
    return float(((shares - (np.asarray(truth)[:, None] == classes)) ** 2).sum(axis=1).mean())


def r_squared(truth, predicted):
    """Share of the held-out rows' variance that is explained."""
    return float(1.0 - np.sum((truth - predicted) ** 2) / np.sum((truth - truth.mean()) ** 2))


def labels_right(truth, shares):
    """1 − Hamming loss of saying yes where more than half of the votes do."""
    return float(np.mean((shares > 0.5) == (truth > 0.5)))


def coinciding(X, Y):
    """Share of rows that share a place with another row though the two differ."""
    reach = SAME_PLACE * float(np.ptp(Y, axis=0).max())
    pairs = KDTree(Y).query_pairs(reach, output_type="ndarray")
    kinds = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    differing = pairs[kinds[pairs[:, 0]] != kinds[pairs[:, 1]]]
    return len(np.unique(differing)) / len(Y)


def inner(P, Y, data):
    """The order inside classes; None for targets that have no classes, and where all are too small."""
    if data.task != "classification":
        return None
    return metrics.inner_structure(P, Y, data.y)
