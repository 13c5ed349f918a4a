"""Every way to judge a map that the papers use. Names are imported when they are first asked for."""

from manifolia._core.lazy import attach
from manifolia.metrics.registry import PUBLIC

_FAMILIES = sorted({module.rpartition(".")[2] for module in PUBLIC.values()} - {"_report"} | {"separation"})
__getattr__, __dir__, __all__ = attach(__name__, submodules=_FAMILIES, names=PUBLIC)
