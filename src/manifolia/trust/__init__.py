"""How far a map can be trusted: verdicts with reasons, on plain arrays, for maps from any library.

`manifolia.diagnose` asks all of these questions of one map; each function here answers one of them.
"""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=[
        "cases",
        "changes",
        "clusters",
        "comparison",
        "corridor",
        "diagnosis",
        "dip",
        "drift",
        "earning",
        "examination",
        "held_out",
        "leaks",
        "nudges",
        "places",
        "refits",
        "regions",
        "seen_clusters",
        "sides",
        "two_samples",
        "valleys",
        "words",
    ],
    names={
        "Comparison": "manifolia.trust.comparison",
        "Diagnosis": "manifolia.trust.diagnosis",
        "arrangement": "manifolia.trust.clusters",
        "cluster_sizes": "manifolia.trust.clusters",
        "compare": "manifolia.trust.comparison",
        "diagnose": "manifolia.trust.examination",
        "gaps": "manifolia.trust.valleys",
        "label_null": "manifolia.trust.refits",
        "row_places": "manifolia.trust.places",
        "sensitivity": "manifolia.trust.nudges",
        "signal": "manifolia.trust.earning",
        "stability": "manifolia.trust.refits",
        "torn_share": "manifolia.trust.places",
    },
)
