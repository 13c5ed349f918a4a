"""Binary sets (section III-C) and sin(1/x) (section III-B): what one repetition measures, as plain figures."""

from __future__ import annotations

import itertools
import time

import numpy as np
from reproduce.forest_features import data as sets
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from manifolia import ForestFeatures, datasets
from manifolia.forest.grow import grow_until_stable
from manifolia.metrics import target_alignment

COSTS = (0.01, 0.1, 1, 10, 100, 1000)
WIDTHS = (100, 10, 1, 0.1, 0.01)
SHARES = (0.2, 1.0, 5.0)
SIZES = (100, 200, 500, 1000, 2000)
MISSING = ("random", "split", "native")
_STEPS = 10**6  # of libsvm: the linear SVM of a few sets' original features takes a hundred times more with C ≥ 100


def sized(X, y, held_out, seed):
    """A fitted encoder whose forest has grown on X until the Gram matrix of the held-out rows stood still."""
    model = RandomForestClassifier(max_features=int(np.ceil(np.sqrt(X.shape[1]))), random_state=seed)
    found = grow_until_stable(model, X, y, held_out)
    return ForestFeatures(forest=found.forest, random_state=seed).fit(X, y), found.n_trees


def nearest(D, y, k):
    """Class of each row by a vote of its k nearest; ties to the nearest."""
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    votes = y[order].mean(axis=1)
    return np.where(votes == 0.5, y[order[:, 0]], votes > 0.5).astype(int)


def squared(A, B):
    return np.maximum((A**2).sum(1)[:, None] - 2 * A @ B.T + (B**2).sum(1), 0)


def machine(C):
    return SVC(kernel="precomputed", C=C, max_iter=_STEPS, cache_size=500)


def svm(train, test, y, y_test, C):
    model = machine(C).fit(train, y)
    return model.decision_function(test), float((model.predict(test) == y_test).mean())


def best_cost(K, K_val, y, y_val):
    """The C of the best accuracy on held-out rows, the least of several; none is tried after one without errors."""
    best, found = -1.0, COSTS[0]
    for C in COSTS:
        score = (machine(C).fit(K, y).predict(K_val) == y_val).mean()
        if score > best:
            best, found = score, C
        if best == 1:
            break
    return found


def with_roots(model, X, Z=None):
    """K as section II-F has it, of the codes of section II-C, which hold the root of every tree."""
    A = model.transform(X)
    B = A if Z is None else model.transform(Z)
    length = [np.sqrt(np.asarray(C.power(2).sum(axis=1), dtype=np.float64).ravel()) for C in (A, B)]
    return np.asarray((A @ B.T).todense(), dtype=np.float64) / np.outer(*length)


def fold(task, train, test, seed):
    """All figures of one fold, by `kernel` ("uci") and by codes with roots ("written"), of the same forests.

    Names that end in 0 are of the original features.
    """
    rng = np.random.default_rng(seed)
    rest, val = train[(part := rng.permutation(len(train)))[len(train) // 9 :]], train[part[: len(train) // 9]]
    X, Z, y = task.X, task.filled, task.y
    inner, size = sized(X[rest], y[rest], X[val], seed)
    model = ForestFeatures(size, random_state=seed).fit(X[train], y[train])
    C0 = best_cost(Z[rest] @ Z[rest].T, Z[val] @ Z[rest].T, y[rest], y[val])
    D = squared(Z[test], Z[train])
    unit = Z[test] / np.linalg.norm(Z[test], axis=1, keepdims=True).clip(1e-12)
    out = {"trees": size, "alignment0": target_alignment(unit @ unit.T, y[test])}
    among = squared(Z[test], Z[test])
    for width in WIDTHS:
        gaussian = np.exp(-among / width)
        apart = np.where(np.eye(len(among)), 0, gaussian).max() < 1e-150  # no two rows are alike: nothing is aligned
        out[f"gauss{width}"] = 0.0 if apart else target_alignment(gaussian, y[test])
    for k in (1, 3, 5):
        out[f"nn{k}0"] = (nearest(D, y[train], k) == y[test]).mean()
    said0, out["acc0"] = svm(Z[train] @ Z[train].T, Z[test] @ Z[train].T, y[train], y[test], C0)
    out["auc0"] = roc_auc_score(y[test], said0)
    out["auc_forest"] = roc_auc_score(y[test], model.forest_.predict_proba(X[test])[:, 1])

    def by(kernel):
        C = best_cost(kernel(inner, X[rest]), kernel(inner, X[val], X[rest]), y[rest], y[val])
        K = kernel(model, X[test], X[train])
        found = {"alignment": target_alignment(kernel(model, X[test]), y[test])}
        found |= {f"nn{k}": (nearest(-K, y[train], k) == y[test]).mean() for k in (1, 3, 5)}
        said, found["acc"] = svm(kernel(model, X[train]), K, y[train], y[test], C)
        return found | {"auc": roc_auc_score(y[test], said)}

    return {"uci": out | by(ForestFeatures.kernel), "written": by(with_roots)}


def folds(X, y, seed, n=10):
    """The first n of ten folds."""
    return itertools.islice(StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y), n)


def uci(name, seed, n_folds=10):
    """Tables II and III, Figs. 6 and 7, by `kernel` ("uci") and with roots ("written"): a list of folds each."""
    task = sets.load(name)
    parts = enumerate(folds(task.X, task.y, seed, n_folds))
    rows = [fold(task, train, test, 100 * seed + f) for f, (train, test) in parts]
    return {kind: {key: [float(row[kind][key]) for row in rows] for key in rows[0][kind]} for kind in rows[0]}


def times(name, seed):
    """Section III-C.5: processor seconds of a forest of 200 trees on the whole set and of the codes of its rows."""
    task = sets.load(name)
    begin = time.process_time()
    ForestFeatures(200, random_state=seed).fit(task.X, task.y).transform(task.X)
    return {"seconds": time.process_time() - begin}


def noisy(task, share, seed):
    """Rows with added columns of uniform noise of mean 0 and deviation 1."""
    bound = np.sqrt(3)
    shape = len(task.X), round(share * task.X.shape[1])
    return np.hstack([task.X, np.random.default_rng(seed).uniform(-bound, bound, size=shape)])


def noise(share, seed, n_folds=10):
    """Section III-C.3: Sonar with added columns of noise, 1-NN accuracy."""
    task = sets.load("Connectionist")
    X, y = noisy(task, share, seed), task.y
    scores = []
    for train, test in folds(X, y, seed, n_folds):
        model = ForestFeatures(random_state=seed).fit(X[train], y[train])
        near = [
            nearest(-kernel(model, X[test], X[train]), y[train], 1) for kernel in (ForestFeatures.kernel, with_roots)
        ]
        near.append(nearest(squared(X[test], X[train]), y[train], 1))
        scores.append([(one == y[test]).mean() for one in near])
    return dict(zip(("induced", "written", "original"), np.mean(scores, axis=0).tolist(), strict=True))


def draws(share, seed):
    """The original features' figure of the same experiment for ten draws of the noise."""
    task = sets.load("Connectionist")
    scores = []
    for draw in range(10 * seed, 10 * seed + 10):
        X, y = noisy(task, share, draw), task.y
        near = [nearest(squared(X[test], X[train]), y[train], 1) == y[test] for train, test in folds(X, y, draw)]
        scores.append(float(np.concatenate(near).mean()))
    return {"original": scores}


def missing(name, seed, n_folds=10):
    """Section II-D: three encodings of missing values, one forest; 1-NN accuracy and AUROC of a linear SVM, C = 1."""
    task = sets.load(name)
    X, y = task.X, task.y
    scores = {f"{way}_{score}": [] for way in MISSING for score in ("nn", "auc")}
    for train, test in folds(X, y, seed, n_folds):
        model = ForestFeatures(150, random_state=seed).fit(X[train], y[train])
        for way in MISSING:
            model.set_params(missing=way)
            K = model.kernel(X[test], X[train])
            scores[f"{way}_nn"].append((nearest(-K, y[train], 1) == y[test]).mean())
            said, _ = svm(model.kernel(X[train]), K, y[train], y[test], 1.0)
            scores[f"{way}_auc"].append(roc_auc_score(y[test], said))
    return {key: float(np.mean(values)) for key, values in scores.items()}


def sin_inverse(n, seed):
    """Fig. 5: accuracy on 1000 rows of SVMs and forest trained on n rows, half of each class."""
    test = datasets.make_sin_inverse(1000, random_state=10_000)
    drawn = datasets.make_sin_inverse(n, balanced=True, random_state=seed)
    X, y, Xt, yt = (np.asarray(part) for part in (drawn.data, drawn.target, test.data, test.target))
    order = np.random.default_rng(seed).permutation(n)
    val, rest = order[: n // 3], order[n // 3 :]
    inner, size = sized(X[rest], y[rest], X[val][:500], seed)
    model = ForestFeatures(size, random_state=seed).fit(X, y)
    by = {}
    for label, kernel in (("kernel", ForestFeatures.kernel), ("written", with_roots)):
        C = best_cost(kernel(inner, X[rest]), kernel(inner, X[val], X[rest]), y[rest], y[val])
        by[label] = svm(kernel(model, X), kernel(model, Xt, X), y, yt, C)[1]
    grid = [(c, g) for c in COSTS for g in (1, 10, 100, 1000)]  # scikit-learn's gamma is 1 / γ
    tried = [SVC(C=c, gamma=g, max_iter=_STEPS).fit(X[rest], y[rest]).score(X[val], y[val]) for c, g in grid]
    c, g = grid[int(np.argmax(tried))]
    gaussian = SVC(C=c, gamma=g, max_iter=_STEPS).fit(X, y).score(Xt, yt)
    return {**by, "gaussian": gaussian, "forest": model.forest_.score(Xt, yt), "trees": size}
