"""Every map of Table 1, Fig. 13 and Fig. 14 by name: ours and those of other packages, with the time they take.

Packages that are not installed are left out (``pip install -e '.[peers]'`` gets them all). Each method has its
package's own settings and a seed, on one thread where it can be told so, and has fitted some rows before it is timed,
so that what that fit compiles is not in the time. TriMap takes no seed and draws from NumPy's global generator. h-NNE
is the first version of the method, that of 2022.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import pathlib
import time
import warnings

import numpy as np

from manifolia import PHATE, FeatureMAP

OURS = "FeatureMAP"
#: Our maps: the default; without the density term; with Eq. 13, without and with the paper's weight.
SETTINGS = {
    OURS: {},
    "λ = 0": {"density_weight": 0.0},
    "edges": {"layout": "edges"},
    "edges λ = 0.5": {"layout": "edges", "density_weight": 0.5},
}
#: The paper's own: the density term along the embedded tangent spaces, its weight, UMAP's start and rounds.
WRITTEN = "as written"
SETTINGS[WRITTEN] = {
    "gauge": "embedded",
    "density_weight": 0.5,
    "density_fraction": 0.3,
    "n_epochs": 500,
    "init": "spectral",
    "center": "point",
}
#: Methods of other packages, and the package.
PACKAGES = {
    "UMAP": "umap",
    "UMAP from PCA": "umap",
    "densMAP": "umap",
    "t-SNE": "openTSNE",
    "PaCMAP": "pacmap",
    "triMAP": "trimap",
    "h-NNE": "hnne",
}
INSTALLED_AS = {"umap": "umap-learn"}
#: In the order in which they are computed: the quick ones first.
ALL = (*SETTINGS, "UMAP", "UMAP from PCA", "PaCMAP", "triMAP", "h-NNE", "PHATE", "densMAP", "t-SNE")
UMAPS = {"UMAP": {}, "UMAP from PCA": {"init": "pca"}, "densMAP": {"densmap": True}}
N_JOBS = 1
#: Rows of the fit before the timed one: umap-learn compiles another search for neighbours from 4,096 rows on.
WARM_ROWS = dict.fromkeys((*UMAPS, *SETTINGS, "PHATE"), 4_200)
WARM_OTHERS = 1_000
#: Where maps are kept beside the parts; the script sets it.
FOLDER = pathlib.Path("maps")
_warm = set()


def available(method):
    """Whether the method's package is installed."""
    package = PACKAGES.get(method)
    return package is None or importlib.util.find_spec(package) is not None


def ours(method, seed=0):
    """Our estimator of that name."""
    return FeatureMAP(random_state=seed, n_jobs=N_JOBS, **SETTINGS[method])


def fit(method, X, seed=0):
    """The map of that name; None if its package is not there."""
    if not available(method):
        return None
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        if method in PACKAGES:
            warnings.simplefilter("ignore")
        return np.asarray(_maker(method, seed)(X), dtype=np.float32)


def _maker(method, seed):
    """A function from rows to the map."""
    if method in SETTINGS:
        return ours(method, seed).fit_transform
    if method == "PHATE":
        return PHATE(random_state=seed, n_jobs=N_JOBS).fit_transform
    if method in UMAPS:
        import umap

        return umap.UMAP(n_jobs=N_JOBS, random_state=seed, **UMAPS[method]).fit_transform
    if method == "t-SNE":
        import openTSNE

        return openTSNE.TSNE(n_jobs=N_JOBS, random_state=seed).fit
    if method == "PaCMAP":
        import pacmap

        return pacmap.PaCMAP(random_state=seed).fit_transform
    np.random.seed(seed)  # noqa: NPY002, for a package that has no other way to be given one
    if method == "triMAP":
        import trimap

        return trimap.TRIMAP(verbose=False).fit_transform
    import hnne

    return hnne.HNNE(random_state=seed, hnne_version="v1").fit_transform


def timed(method, X, seed=0):
    """The map, its seconds by the clock and its seconds of processor time, compilation left out, and the fitted model
    if it is ours; None as in fit.
    """
    if not available(method):
        return None
    n = min(len(X), WARM_ROWS.get(method, WARM_OTHERS))
    if (method, n) not in _warm:
        fit(method, X[np.linspace(0, len(X) - 1, n).astype(int)], seed)
        _warm.add((method, n))
    begin, busy = time.perf_counter(), time.process_time()
    if method in SETTINGS:
        model = ours(method, seed).fit(X)
        Y = model.embedding_
    else:
        model, Y = None, fit(method, X, seed)
    return Y, time.perf_counter() - begin, time.process_time() - busy, model


def plain(error):
    """An exception as a sentence for the page."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def path_of(name, method):
    """The file of a map."""
    return FOLDER / f"{name}-{method.replace(' ', '_')}.npz"


def keep(name, method, Y, y):
    """Keep a map and its labels for the gallery."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    y = np.zeros(len(Y), dtype=int) if y is None else np.asarray(y)
    np.savez_compressed(path_of(name, method), Y=np.asarray(Y, dtype=np.float32), y=y.astype(str))


def kept(name, method):
    """A map and its labels; None if there is none."""
    path = path_of(name, method)
    if not path.exists():
        return None
    with np.load(path) as found:
        return found["Y"], found["y"]
