"""Data with a known truth, scikit-learn's bundled sets, and a data home for the rest.

========================  ==================================================================================
``make_*``                toy sets, drawn from a formula; the truth comes with the data
``load("iris")``          scikit-learn's bundled sets, installed with it
``load("titanic")``       a file of the data home
``load("home:iris")``     the data home's file where a bundled set has the same name
========================  ==================================================================================

The data home is the argument ``data_home=``, otherwise the environment variable ``MANIFOLIA_DATA``, otherwise the
user's cache folder (`get_data_home`). Nothing is downloaded unless ``load(..., download=True)`` asks for it.
"""

from manifolia._core.lazy import attach

_MANIFOLDS = "manifolia.datasets.manifolds"
_CONCEPTS = "manifolia.datasets.concepts"

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=["bundled", "catalogue", "concepts", "home", "loading", "manifolds"],
    names={
        "available": "manifolia.datasets.loading",
        "get_data_home": "manifolia.datasets.home",
        "load": "manifolia.datasets.loading",
        "make_iris_noise": _CONCEPTS,
        "make_relevant_blobs": _CONCEPTS,
        "make_sin_inverse": _CONCEPTS,
        "make_sine": _MANIFOLDS,
        "make_swiss_roll": _MANIFOLDS,
        "make_tree": _MANIFOLDS,
        "make_unbalanced_clusters": _CONCEPTS,
    },
)
