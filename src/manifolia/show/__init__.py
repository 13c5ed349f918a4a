"""Pictures: each Display computes in ``from_*``, draws in ``plot(ax=None)`` and returns itself."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=["palette"],
    names={
        "ConvergenceDisplay": "manifolia.show.tuning",
        "CorankingDisplay": "manifolia.show.quality",
        "DensityDisplay": "manifolia.show.density",
        "EntropyDisplay": "manifolia.show.forest",
        "EvidenceDisplay": "manifolia.show.forest",
        "FeatureFieldDisplay": "manifolia.show.arrows",
        "FeatureTableDisplay": "manifolia.show.importances",
        "GaugeDisplay": "manifolia.show.density",
        "ImportanceDisplay": "manifolia.show.importances",
        "ImputationDisplay": "manifolia.show.forest",
        "MapDisplay": "manifolia.show.map",
        "MetricsDisplay": "manifolia.show.quality",
        "OutlierDisplay": "manifolia.show.forest",
        "ParetoDisplay": "manifolia.show.tuning",
        "PrototypeDisplay": "manifolia.show.forest",
        "ProximityDisplay": "manifolia.show.forest",
        "SaliencyDisplay": "manifolia.show.saliency",
        "SensitivityDisplay": "manifolia.show.tuning",
        "SettingDisplay": "manifolia.show.tuning",
        "ShepardDisplay": "manifolia.show.quality",
        "TopArrowsDisplay": "manifolia.show.arrows",
        "TrustDisplay": "manifolia.show.verdicts_map",
    },
)
