"""One entry to the layouts that a kernel map can build on: t-SNE, a UMAP-type one, Isomap, LLE, MVU, or any estimator.

The paper's section 6.1 gives each of them the same formula for new rows: kernel t-SNE, kernel Isomap, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from manifolia._core.progress import Reporter
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_map, check_option
from manifolia.affinity.fuzzy import fuzzy_graph
from manifolia.exceptions import ParameterError
from manifolia.layout.edge_sgd import edge_layout
from manifolia.layout.initialize import pca_start, spectral_start
from manifolia.layout.isomap import isomap
from manifolia.layout.lle import lle
from manifolia.layout.mvu import unfold, unfold_need
from manifolia.layout.tsne import perplexity_graph, tsne, tsne_neighbors
from manifolia.neighbors import Neighbors, kneighbors
from manifolia.neighbors.rows import prepare

#: Names of the layouts.
EMBEDDERS = ("tsne", "umap", "isomap", "lle", "mvu")
_UMAP_NEIGHBORS, _ISOMAP_NEIGHBORS, _LLE_NEIGHBORS = 15, 10, 12


def check_embedder(embedder: Any, metric: str) -> None:
    """Refuse what cannot lay rows out."""
    if hasattr(embedder, "fit_transform"):
        return
    check_option(embedder, "embedder", EMBEDDERS)
    if embedder == "lle" and metric != "euclidean":
        raise ParameterError(
            f"embedder='lle' rebuilds rows from the features of their neighbours and needs metric='euclidean', got "
            f"{metric!r}. Use another layout.",
            parameter="embedder",
        )


def embed(
    X: FloatArray,
    embedder: Any,
    n_components: int = 2,
    *,
    metric: str = "euclidean",
    perplexity: float = 30.0,
    random_state: int = 0,
    reporter: Reporter | None = None,
) -> FloatArray:
    """Lay rows out."""
    n = len(X)
    reporter = Reporter() if reporter is None else reporter
    if isinstance(embedder, str) and embedder in ("tsne", "umap"):
        k = tsne_neighbors(perplexity, n) if embedder == "tsne" else min(_UMAP_NEIGHBORS, n - 1)
        reporter.step("neighbours", 0, 1)
        near = kneighbors(X, k, metric=metric, exact=True)
        reporter.step("neighbours", 1, 1)
        start = None if metric == "precomputed" else pca_start(X, n_components, random_state=random_state)
        how: dict[str, Any] = {"perplexity": perplexity, "random_state": random_state, "reporter": reporter}
        return neighbor_layout(near, embedder, n_components, start=start, **how)
    if isinstance(embedder, str) and embedder == "mvu":
        return unfold(X, n_components, metric=metric, random_state=random_state, reporter=reporter).Y
    reporter.step("layout", 0, 1)
    if isinstance(embedder, str):
        D = X if metric == "precomputed" else _all_distances(X, metric)
        lay_out, k = (isomap, _ISOMAP_NEIGHBORS) if embedder == "isomap" else (lle, _LLE_NEIGHBORS)
        Y = lay_out(D, n_components, n_neighbors=min(k, n - 1))
    else:
        from sklearn.base import clone

        made: Any = clone(embedder, safe=False)
        known = made.get_params() if hasattr(made, "get_params") else {}
        if "random_state" in known and known["random_state"] is None:
            made.set_params(random_state=random_state)
        Y = check_map(np.asarray(made.fit_transform(X)), n_rows=n, name="the embedder's map")
    reporter.step("layout", 1, 1)
    return Y.astype(np.float64)


def _all_distances(X: FloatArray, metric: str) -> FloatArray:
    """Distances of all pairs of rows."""
    rows = prepare(X, metric).astype(np.float64)
    D = cdist(rows, rows, "cityblock" if metric == "manhattan" else "euclidean")
    return D * D / 2.0 if metric == "cosine" else D


def neighbor_layout(
    near: Neighbors,
    kind: str,
    n_components: int = 2,
    *,
    start: FloatArray | None = None,
    perplexity: float = 30.0,
    random_state: int = 0,
    reporter: Reporter | None = None,
) -> FloatArray:
    """Lay known neighbours out by t-SNE or a UMAP-type descent, from a start or from their graph's eigenvectors."""
    graph = None if kind == "tsne" else fuzzy_graph(near).graph
    if start is None:
        begin = perplexity_graph(near, perplexity) if graph is None else graph
        start = spectral_start(begin, n_components, random_state=random_state)
    if graph is None:
        return tsne(near, start, perplexity=perplexity, callback=reporter)
    return edge_layout(graph, start, random_state=random_state, callback=reporter).Y.astype(np.float64)


def embed_need(embedder: Any, n: int, perplexity: float = 30.0) -> float:
    """Estimate how much memory a layout takes."""
    if embedder == "tsne":
        return 8.0 * n * 12 * min(3 * perplexity + 1, n)  # both directions of the graph, and what their union takes
    if embedder == "umap":
        return 8.0 * n * 12 * min(_UMAP_NEIGHBORS, n)
    return unfold_need(n) if embedder == "mvu" else 8.0 * 3 * float(n) * n
