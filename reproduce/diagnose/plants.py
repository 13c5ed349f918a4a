"""The faults that are planted, each a function of a seed that returns what was called and what should have been."""

from __future__ import annotations

import warnings

import numpy as np
from reproduce.diagnose import maps
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

import manifolia as mf
from manifolia.exceptions import HonestyWarning
from manifolia.trust import arrangement, cluster_sizes, row_places

N_PATIENTS, N_EACH = 120, 5


def labels(table, name, seed, *, shuffled):
    """The verdict on a map of true, or of shuffled, labels, and the figures behind it."""
    X, y = maps.table(table, seed)
    if shuffled:
        y = np.random.default_rng(1000 + seed).permutation(y)
    y = y.astype(float) if table == maps.NUMBERS else y
    key = f"{table}-{name}-{'shuffled' if shuffled else 'true'}-{seed}"
    model = maps.Kept.get(key, lambda: maps.made(name, X, y, seed))
    about = quietly(model, X, y, random_state=seed).map
    return {key: about[key] for key in ("earned", "earned_p", "shown", "learned")}


def quietly(*args, **options):
    """Diagnose without the warning that a map is not earned: it is planted so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HonestyWarning)
        return mf.diagnose(*args, **options)


def patients(seed):
    """The verdict on labels that are drawn for each patient, with 5 rows each."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(N_PATIENTS), N_EACH)
    X = rng.normal(size=(N_PATIENTS, 8))[groups] + 0.2 * rng.normal(size=(len(groups), 8))
    y = rng.integers(0, 2, N_PATIENTS)[groups]
    model = maps.made("GuidedMap", X, y, seed, groups)
    return quietly(model, X, y, groups=groups, random_state=seed).map["earned"]


def exchanged(table, name, seed):
    """Exchange 2 % of the rows between far ends of a map; count calls among them and among the others."""
    X, y = maps.table(table, seed, 600)
    model = maps.Kept.get(f"{table}-{name}-600-{seed}", lambda: maps.made(name, X, y, seed))
    clean = mf.diagnose(model, X, random_state=seed)
    Y = np.array(clean.Y)
    moved = far_pairs(Y, max(1, len(Y) // 100), np.random.default_rng(seed))
    Y[moved.ravel()] = Y[moved[:, ::-1].ravel()]
    if name == "GuidedMap":
        model.embedding_ = Y
        found = mf.diagnose(model, X, random_state=seed)
    else:
        found = mf.diagnose(Y, X, random_state=seed)
    called, before = (is_called(one) for one in (found, clean))
    rows = np.zeros(len(Y), dtype=bool)
    rows[moved.ravel()] = True
    beyond = called & ~before & ~rows
    return {
        "moved": int(rows.sum()), "found": int(called[rows].sum()), "others": int((~rows).sum()),
        "called": int(called[~rows].sum()), "beyond": int(beyond.sum()), "clean": float(before.mean()),
    }  # fmt: skip


def is_called(diagnosis):
    """Rows whose place is doubted."""
    return diagnosis.rows["verdict"].isin(["chance", "torn"]).to_numpy()


def far_pairs(Y, n_pairs, rng):
    """Pairs of rows in different parts of a map, farther apart than nine tenths of all pairs."""
    order = rng.permutation(len(Y))
    apart = np.linalg.norm(Y[order[:200], np.newaxis] - Y[order[:200]], axis=2)
    far = np.quantile(apart, 0.9)
    taken, pairs = set(), []
    for i in order:
        if i in taken or len(pairs) == n_pairs:
            continue
        others = [j for j in order if j not in taken and np.linalg.norm(Y[i] - Y[j]) >= far]
        if others:
            pairs.append((i, others[0]))
            taken |= {i, others[0]}
    return np.array(pairs)


def swiss_roll(seed, n=1000, perplexity=150, refits=0):
    """How well scores of rows find the tear that t-SNE makes in a roll."""
    from sklearn.manifold import TSNE

    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n))
    height = 21.0 * rng.random(n)
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    arc = 0.5 * (t * np.sqrt(1.0 + t**2) + np.arcsinh(t))  # length along the roll
    sheet = np.column_stack([arc, height])
    tsne = TSNE(perplexity=perplexity, random_state=seed, init="pca")
    Y = maps.Kept.get(f"roll-{n}-{perplexity}-{seed}", lambda: tsne.fit_transform(X))
    torn = truly_torn(sheet, Y)
    if refits:
        return {"DynamicViz": judged(torn, restlessness(X, perplexity, seed, refits))}
    called = mf.diagnose(Y, X, random_state=seed).rows["verdict"].eq("torn").to_numpy()
    scores = {"torn share": row_places(X, Y).torn, **others(X, Y, perplexity, seed)}
    counts = {"torn": int(torn.sum()), "called": int(called.sum()), "both": int((torn & called).sum())}
    return {**counts, **{name: judged(torn, score) for name, score in scores.items()}}


def truly_torn(sheet, Y, k=10, share=0.3):
    """Rows of which three in ten neighbours on the unrolled sheet are not among the nearest tenth in the map."""
    from sklearn.neighbors import NearestNeighbors

    n = len(Y)
    near = NearestNeighbors(n_neighbors=k).fit(sheet).kneighbors(return_distance=False)
    around = NearestNeighbors(n_neighbors=n // 10).fit(Y).kneighbors(return_distance=False)
    here = np.zeros((n, n), dtype=bool)
    here[np.arange(n)[:, np.newaxis], around] = True
    return 1.0 - here[np.arange(n)[:, np.newaxis], near].mean(axis=1) >= share


def judged(truth, score):
    """AUROC, and precision where four fifths of the truth are found."""
    if not 0 < truth.sum() < len(truth):
        return None
    precision, recall, _ = precision_recall_curve(truth, score)
    return {
        "auroc": float(roc_auc_score(truth, score)),
        "precision": float(precision[recall >= 0.8].max()),
        "average precision": float(average_precision_score(truth, score)),
    }


def others(X, Y, perplexity, seed):
    """The statistics of EMBEDR and of scDEED, as their papers define them, large where a row is doubted.

    EMBEDR: the divergence of a row's affinities in the map from those in the data. scDEED: minus the correlation of the
    sorted distances to the nearer half of the rows.
    """
    from scipy.spatial.distance import cdist
    from sklearn.manifold._t_sne import _joint_probabilities

    D, M = cdist(X, X), cdist(Y, Y)
    from scipy.spatial.distance import squareform

    P = squareform(_joint_probabilities((D**2).astype(np.float32), perplexity, 0))
    P /= P.sum(axis=1, keepdims=True)
    Q = 1.0 / (1.0 + M**2)
    np.fill_diagonal(Q, 0.0)
    Q /= Q.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.nansum(np.where(P > 0, P * np.log(P / Q), 0.0), axis=1)
    half = len(X) // 2
    alike = [np.corrcoef(np.sort(D[i])[1 : half + 1], M[i][np.argsort(D[i])[1 : half + 1]])[0, 1]
             for i in range(len(X))]  # fmt: skip
    return {"EMBEDR": divergence, "scDEED": -np.array(alike)}


def restlessness(X, perplexity, seed, refits):
    """DynamicViz: the variance of a row's distances to the others over maps of bootstrap samples."""
    from scipy.spatial.distance import cdist
    from sklearn.manifold import TSNE

    rng, n = np.random.default_rng(seed), len(X)
    distances = np.full((refits, n, n), np.nan)
    for b in range(refits):
        drawn = rng.integers(0, n, n)
        Y = TSNE(perplexity=perplexity, random_state=b, init="pca").fit_transform(X[drawn])
        Y /= np.sqrt(Y.var(axis=0).sum())
        kept, first = np.unique(drawn, return_index=True)
        distances[b][np.ix_(kept, kept)] = cdist(Y[first], Y[first])
    spread = np.nanstd(distances, axis=0) / np.nanmean(distances, axis=0)
    return np.nanmean(np.nan_to_num(spread), axis=1)


def sizes(seed, factor, n_each=60, n_clusters=8, d=10):
    """Verdicts on clusters of one map, one of which is drawn too large or too small by a factor; 1 plants none."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(n_clusters), n_each)
    X = 25.0 * rng.normal(size=(n_clusters, d))[own] + np.geomspace(0.4, 2.5, n_clusters)[own, np.newaxis] * rng.normal(
        size=(len(own), d)
    )
    Y = maps.made("PCA", X, None, seed)
    wrong = int(rng.integers(n_clusters))
    centre = Y[own == wrong].mean(axis=0)
    Y[own == wrong] = centre + factor * (Y[own == wrong] - centre)
    found = cluster_sizes(X, Y, own, random_state=seed)
    off = {name for name, size in found.items() if size.verdict in ("stretched", "squeezed")}
    word = "stretched" if factor > 1 else "squeezed"
    return {
        "found": factor != 1 and found[str(wrong)].verdict == word,
        "alarms": len(off - ({str(wrong)} if factor != 1 else set())),
        "others": n_clusters - (factor != 1),
    }


def arranged(seed, n_clusters, *, at_random):
    """The verdict on clusters that lie as in the data, or at random."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(n_clusters), 30)
    centres = np.column_stack([rng.normal(size=(n_clusters, 2)) * 10.0, rng.normal(size=(n_clusters, 4)) * 3.0])
    X = centres[own] + rng.normal(size=(len(own), 6))
    Y = maps.made("PCA", X, None, seed)
    if at_random:
        means = np.array([Y[own == code].mean(axis=0) for code in range(n_clusters)])
        Y = Y - means[own] + (rng.normal(size=means.shape) * means.std(axis=0))[own]
    return arrangement(X, Y, own, random_state=seed).verdict


def foreign(table, other, seed, *, own_scale):
    """Novelty of rows of another table, put among the rows of one, one at a time.

    On their own scale they have the mean and the spread of the table that they are put into; else their values are
    what they are, on the scale of that table.
    """
    X, Z = maps.table(table, seed, 300)[0], maps.table(other, seed, 40)[0]
    if not own_scale:
        raw, Z = maps.table(table, seed, 300, raw=True)[0], maps.table(other, seed, 40, raw=True)[0]
    d = min(X.shape[1], Z.shape[1])
    X, Z = X[:, :d], Z[:, np.random.default_rng(seed).permutation(Z.shape[1])[:d]]
    if not own_scale:
        Z = (Z - raw[:, :d].mean(axis=0)) / raw[:, :d].std(axis=0)
        X = (raw[:, :d] - raw[:, :d].mean(axis=0)) / raw[:, :d].std(axis=0)
    own, strange, called = [], [], 0
    for z in Z[:6]:
        rows = np.vstack([X, z])
        found = mf.diagnose(maps.made("PCA", rows, None, seed), rows, random_state=seed).rows
        strange.append(float(found["novelty"].iloc[-1]))
        called += found["verdict"].iloc[-1] == "foreign"
        own = found["novelty"].iloc[:-1].tolist()
    truth = np.r_[np.zeros(len(own)), np.ones(len(strange))]
    return {"auroc": float(roc_auc_score(truth, own + strange)), "called": int(called), "of": len(strange)}


def clean(kind, seed):
    """Share of rows that are doubted in a map without a planted fault."""
    if kind == "2-D data, turned":
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 2)) + 6.0 * rng.integers(0, 4, (400, 1))
        angle = rng.random() * 2.0 * np.pi
        Y = X @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        found = mf.diagnose(Y, X, random_state=seed)
    else:
        table, name = kind.split(", ")
        X, y = maps.table(table, seed, 1000)
        model = maps.Kept.get(f"{table}-{name}-1000-{seed}", lambda: maps.made(name, X, y, seed))
        found = mf.diagnose(model, X, random_state=seed)
    verdicts = found.rows["verdict"]
    return {word: float((verdicts == word).mean()) for word in ("chance", "torn", "foreign", "cannot tell", "solid")}


def few(table, seed):
    """Verdicts on 40 rows."""
    X, y = maps.table(table, seed, 40)
    found = mf.diagnose(maps.made("PCA", X, y, seed), X, y if len(set(y)) > 1 else None, random_state=seed)
    return {"solid": found.counts().get("solid", 0), "earned": found.map["earned"]}
