"""Every method by name: manifolia's own, scikit-learn's, and peers that happen to be installed.

``registry.get("rf-phate")`` returns a class; nothing is imported before that. The command line offers the same names.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from typing import Any, NamedTuple

__all__ = ["Method", "default_method", "find", "get", "names", "register"]


class Method(NamedTuple):
    """What is known of a method without importing it.

    Attributes
    ----------
    name : str
        As in ``--method``.
    path : str
        Where the class is, as ``"module:Class"``.
    summary : str
        One line.
    distribution : str
        What to install when it is missing, as ``pip`` names it.
    supervised : bool, default=False
        Whether the target shapes the map.
    takes_missing : bool, default=False
        Whether missing values may stay missing.
    needs_scale : bool, default=True
        Whether it compares distances, so that columns have to be on one scale.
    baseline : bool, default=False
        Whether it is here to be compared with.
    package : str, default=""
        What has to be importable, where that is not the package of `path`.
    """

    name: str
    path: str
    summary: str
    distribution: str
    supervised: bool = False
    takes_missing: bool = False
    needs_scale: bool = True
    baseline: bool = False
    package: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the package that holds it can be found."""
        return importlib.util.find_spec(self.package or self.path.partition(":")[0].partition(".")[0]) is not None

    def load(self) -> Any:
        """Import the class.

        Returns
        -------
        type
            An estimator with ``fit_transform``.

        Raises
        ------
        ImportError
            If its package is not installed, or cannot be imported.
        """
        module, _, name = self.path.partition(":")
        command = f"pip install {self.distribution}"
        if not self.is_installed:
            message = f"method {self.name!r} needs the package {self.distribution}: {command}"
            raise ImportError(message)
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            message = (
                f"method {self.name!r} is in the package {self.distribution}, which is here but lacks something: "
                f"{error}. Try: {command} --upgrade"
            )
            raise ImportError(message) from error


_METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method, or replace one of the same name.

    Parameters
    ----------
    method : Method
        What to add.

    Returns
    -------
    Method
        The same.
    """
    _METHODS[method.name] = method
    return method


for _method in (
    Method(
        "rf-phate", "manifolia.methods.rf_phate:RFPHATE", "forest proximities, diffusion and MDS; places new rows",
        "manifolia", supervised=True, takes_missing=True, needs_scale=False,
    ),
    Method(
        "forest-map", "manifolia.methods.forest_map:ForestMap",
        "forest proximities under MDS, Isomap, LLE, t-SNE, UMAP or PHATE; places new rows",
        "manifolia", supervised=True, takes_missing=True, needs_scale=False,
    ),
    Method(
        "phate", "manifolia.methods.phate:PHATE",
        "diffusion along nearest neighbours and MDS; places new rows", "manifolia",
    ),
    Method(
        "featuremap", "manifolia.methods.featuremap:FeatureMAP",
        "UMAP's graph with local densities and arrows of features; places new rows", "manifolia",
    ),
    Method(
        "kernel-tsne", "manifolia.methods.kernel_tsne:KernelTSNE",
        "t-SNE of some rows and a formula for all; places new rows", "manifolia",
    ),
    Method(
        "fisher-kernel-tsne", "manifolia.methods.fisher_kernel_tsne:FisherKernelTSNE",
        "t-SNE of what tells classes apart, and a formula for all rows; places new rows", "manifolia", supervised=True,
    ),
    Method(
        "supervised-pca", "manifolia.baselines.supervised_pca:SupervisedPCA",
        "directions on which the target depends most; places new rows", "manifolia", supervised=True, baseline=True,
    ),
    Method(
        "kernel-supervised-pca", "manifolia.baselines.supervised_pca:KernelSupervisedPCA",
        "the same in the space of a kernel; places new rows", "manifolia", supervised=True, baseline=True,
    ),
    Method(
        "supervised-isomap", "manifolia.baselines.supervised_isomap:EnhancedSupervisedIsomap",
        "Isomap on distances that know the classes; places new rows", "manifolia", supervised=True, baseline=True,
    ),
    Method(
        "supervised-lle", "manifolia.baselines.supervised_lle:EnhancedSupervisedLLE",
        "LLE among neighbours that the classes choose; places new rows", "manifolia", supervised=True, baseline=True,
    ),
    Method(
        "supervised-nmf", "manifolia.baselines.supervised_nmf:SupervisedNMF",
        "non-negative parts that classes share or not; places new rows", "manifolia", supervised=True, baseline=True,
    ),
    Method(
        "pls-da", "manifolia.baselines.pls_da:PLSDA",
        "partial least squares; places new rows", "manifolia", supervised=True, baseline=True,
    ),
    Method(
        "mvu", "manifolia.baselines.mvu:MVU",
        "maximum variance unfolding; cannot place new rows", "manifolia", supervised=False, baseline=True,
    ),
    Method(
        "parametric-tsne", "manifolia.baselines.parametric_tsne:ParametricTSNE",
        "a deep network tuned on t-SNE's cost; places new rows", "manifolia", baseline=True,
    ),
    Method("pca", "sklearn.decomposition:PCA", "the plane of largest variance", "scikit-learn"),
    Method("tsne", "sklearn.manifold:TSNE", "t-SNE; cannot place new rows", "scikit-learn"),
    Method("isomap", "sklearn.manifold:Isomap", "geodesic distances", "scikit-learn"),
    Method("lle", "sklearn.manifold:LocallyLinearEmbedding", "locally linear embedding", "scikit-learn"),
    Method("mds", "sklearn.manifold:MDS", "multidimensional scaling; cannot place new rows", "scikit-learn"),
    Method("nmf", "sklearn.decomposition:NMF", "non-negative parts; takes no negative values", "scikit-learn"),
    Method("opentsne", "openTSNE.sklearn:TSNE", "t-SNE of openTSNE; places new rows", "openTSNE"),
    Method("umap", "umap:UMAP", "UMAP", "umap-learn"),
    Method(
        "densmap", "manifolia.baselines._peers:DensMAP",
        "UMAP that keeps local densities; cannot place new rows", "umap-learn", package="umap",
    ),
    Method("pacmap", "pacmap:PaCMAP", "PaCMAP", "pacmap"),
    Method("trimap", "trimap:TRIMAP", "TriMap; cannot place new rows", "trimap"),
    Method("h-nne", "hnne:HNNE", "h-NNE: a tree of nearest neighbours", "hnne"),
    Method("phate-package", "phate:PHATE", "PHATE of Moon et al., in their own package", "phate"),
):  # fmt: skip
    register(_method)


def names(*, installed: bool = True) -> list[str]:
    """List the methods.

    Parameters
    ----------
    installed : bool, default=True
        Only those whose package is there.

    Returns
    -------
    list of str
        Manifolia's first, then by name; baselines of its own last.
    """
    found = [method for method in _METHODS.values() if method.is_installed or not installed]
    return [method.name for method in sorted(found, key=lambda m: (m.baseline, m.distribution != "manifolia", m.name))]


def find(name: str) -> Method:
    """Find what is known of a method.

    Parameters
    ----------
    name : str
        Its name; case and underscores do not matter.

    Returns
    -------
    Method
        What is known without importing it.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    plain = str(name).lower().replace("_", "-")
    if plain not in _METHODS:
        near = difflib.get_close_matches(plain, _METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        message = f"there is no method {name!r}.{hint} Installed: {', '.join(names())}."
        raise ValueError(message)
    return _METHODS[plain]


def get(name: str) -> Any:
    """Import a method by name.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    type
        An estimator with ``fit_transform``.

    Examples
    --------
    >>> from manifolia import registry
    >>> registry.get("rf-phate").__name__
    'RFPHATE'
    """
    return find(name).load()


def default_method(*, supervised: bool) -> str:
    """Name the method to take where the user names none.

    Parameters
    ----------
    supervised : bool
        Whether there is a target.

    Returns
    -------
    str
        Its name: forests learn the target; without one the neighbours of the rows are all there is.
    """
    return "rf-phate" if supervised else _UNSUPERVISED


_UNSUPERVISED = "featuremap"
