"""Baselines: small estimators that the papers compare with."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, names={"MLkNN": "manifolia.baselines.ml_knn"})
