"""Every map of Table 1, Fig. 13 and Fig. 14 by name: ours and those of other packages, with the time they take.

Packages that are not installed are left out (``pip install -e '.[peers,tsne]'`` gets them all). Each method has its
package's own settings, two threads where it can use them, and has fitted some rows before it is timed, so that what
that fit compiles is not in the time. A seed would put umap-learn on one thread and PaCMAP's search for neighbours too:
both and TriMap, which takes none, draw from NumPy's global generator, and with two threads their maps differ a little
from run to run. h-NNE is the first version of the method, that of 2022.
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
#: Weights of the density term.
WEIGHTS = {OURS: None, "λ = 0": 0.0, "λ = 0.5": 0.5}
#: Methods of other packages, and the package.
PACKAGES = {
    "UMAP": "umap",
    "densMAP": "umap",
    "t-SNE": "openTSNE",
    "PaCMAP": "pacmap",
    "triMAP": "trimap",
    "h-NNE": "hnne",
}
INSTALLED_AS = {"umap": "umap-learn"}
#: In the order in which they are computed: the quick ones first.
ALL = (*WEIGHTS, "UMAP", "PaCMAP", "triMAP", "h-NNE", "PHATE", "densMAP", "t-SNE")
N_JOBS = 2
#: Rows of the fit before the timed one: umap-learn compiles another search for neighbours from 4,096 rows on.
WARM_ROWS = {"UMAP": 4_200, "densMAP": 4_200, OURS: 4_200, "PHATE": 4_200}
WARM_OTHERS = 1_000
#: Where maps are kept beside the parts; the script sets it.
FOLDER = pathlib.Path("maps")
_warm = set()


def available(method):
    """Whether the method's package is installed."""
    package = PACKAGES.get(method)
    return package is None or importlib.util.find_spec(package) is not None


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
    if method in WEIGHTS:
        weight = {} if WEIGHTS[method] is None else {"density_weight": WEIGHTS[method]}
        return FeatureMAP(random_state=seed, n_jobs=N_JOBS, **weight).fit_transform
    if method == "PHATE":
        return PHATE(random_state=seed, n_jobs=N_JOBS).fit_transform
    np.random.seed(seed)  # noqa: NPY002, for packages that have no other way to be given one
    if method in ("UMAP", "densMAP"):
        import umap

        return umap.UMAP(n_jobs=N_JOBS, densmap=method == "densMAP").fit_transform
    if method == "t-SNE":
        import openTSNE

        return openTSNE.TSNE(n_jobs=N_JOBS, random_state=seed).fit
    if method == "PaCMAP":
        import pacmap

        return pacmap.PaCMAP().fit_transform
    if method == "triMAP":
        import trimap

        return trimap.TRIMAP(verbose=False).fit_transform
    import hnne

    return hnne.HNNE(random_state=seed, hnne_version="v1").fit_transform


def timed(method, X, seed=0):
    """The map, its seconds by the clock and its seconds of processor time, compilation left out; None as in fit."""
    if not available(method):
        return None
    n = min(len(X), WARM_ROWS.get(method, WARM_OTHERS))
    if (method, n) not in _warm:
        fit(method, X[np.linspace(0, len(X) - 1, n).astype(int)], seed)
        _warm.add((method, n))
    begin, busy = time.perf_counter(), time.process_time()
    Y = fit(method, X, seed)
    return Y, time.perf_counter() - begin, time.process_time() - busy


def plain(error):
    """An exception as a sentence for the page."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def path_of(name, method):
    """The file of a map."""
    return FOLDER / f"{name}-{method.replace(' ', '_')}.npz"


def keep(name, method, Y, y):
    """Keep a map and its labels for the gallery."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path_of(name, method), Y=np.asarray(Y, dtype=np.float32), y=np.asarray(y).astype(str))


def kept(name, method):
    """A map and its labels; None if there is none."""
    path = path_of(name, method)
    if not path.exists():
        return None
    with np.load(path) as found:
        return found["Y"], found["y"]
