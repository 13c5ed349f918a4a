"""Layouts: coordinates for the rows, from distances between them or from a graph."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=[
        "alignment",
        "anchors",
        "classical_mds",
        "coarse",
        "density",
        "edge_sgd",
        "embed",
        "forces",
        "grid",
        "initialize",
        "isomap",
        "lle",
        "metric_mds",
        "mvu",
        "tsne",
    ],
)
