"""Pictures: each Display computes in ``from_*``, draws in ``plot(ax=None)`` and returns itself."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=["palette"],
    names={
        "DensityDisplay": "manifolia.show.density_display",
        "EntropyDisplay": "manifolia.show.entropy_display",
        "EvidenceDisplay": "manifolia.show.evidence_display",
        "FeatureFieldDisplay": "manifolia.show.field_display",
        "FeatureTableDisplay": "manifolia.show.feature_table_display",
        "GaugeDisplay": "manifolia.show.gauge_display",
        "ImportanceDisplay": "manifolia.show.importance_display",
        "ImputationDisplay": "manifolia.show.evidence_display",
        "MapDisplay": "manifolia.show.map_display",
        "MetricsDisplay": "manifolia.show.metrics_display",
        "OutlierDisplay": "manifolia.show.outlier_display",
        "PrototypeDisplay": "manifolia.show.outlier_display",
        "ProximityDisplay": "manifolia.show.proximity_display",
        "SaliencyDisplay": "manifolia.show.saliency_display",
        "ShepardDisplay": "manifolia.show.shepard_display",
        "TopArrowsDisplay": "manifolia.show.top_arrows_display",
        "ConvergenceDisplay": "manifolia.show.tuning_display",
        "ParetoDisplay": "manifolia.show.tuning_answer_display",
        "SensitivityDisplay": "manifolia.show.tuning_answer_display",
        "SettingDisplay": "manifolia.show.tuning_display",
    },
)
