"""The reference: a list of public names, and the pages that are written from it.

Estimators and metrics are listed by their cards; the rest is listed here.

What is listed here is a promise: it has a complete docstring and keeps its meaning. Everything else may change.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from manifolia import metrics, registry


def _estimators() -> dict[str, list[str]]:
    """Estimators by the package that users import them from, as their cards have it."""
    packages: dict[str, list[str]] = {}
    for card in registry.cards():
        module, _, name = card.path.partition(":")
        if card.is_ours:
            package = ".".join(module.split(".")[:2])
            packages.setdefault(package if package in _OWN_PAGES else "manifolia", []).append(name)
    return packages


#: Packages whose estimators are imported from them; all others are imported from ``manifolia``.
_OWN_PAGES = ("manifolia.baselines", "manifolia.tables")
#: Module to its public names, beyond estimators and metrics, each at the address that users import it from.
_LISTED = {
    "manifolia": (
        "Diagnosis Run Tuner Normalized align diagnose explore Explorer map open_run save load "
        "estimate_memory memory_limit show_versions Comparison Drift compare drift"
    ),
    "manifolia.registry": "Card card_of default_method find get names register",
    "manifolia.show": (
        "ConvergenceDisplay CorankingDisplay DensityDisplay EntropyDisplay EvidenceDisplay FeatureFieldDisplay "
        "FeatureTableDisplay GaugeDisplay ImportanceDisplay ImputationDisplay MapDisplay MetricsDisplay OutlierDisplay "
        "ParetoDisplay PrototypeDisplay ProximityDisplay SaliencyDisplay SensitivityDisplay SettingDisplay "
        "ShepardDisplay TopArrowsDisplay TrustDisplay"
    ),
    "manifolia.explorer": "LivePage",
    "manifolia.trust": "arrangement cluster_sizes gaps label_null row_places sensitivity signal stability torn_share",
    "manifolia.tune": "Choice Integer Real SurrogateSampler When",
    "manifolia.tables": "Table read write write_anndata",
    "manifolia.datasets": (
        "available get_data_home load make_iris_noise make_relevant_blobs make_sin_inverse make_sine "
        "make_swiss_roll make_tree make_unbalanced_clusters"
    ),
    "manifolia.distributed": "use",
    "manifolia.sc": "diagnose featuremap forest_features guided ingest phate rfphate",
    "manifolia.stream": "Placement place sample",
    "manifolia.exceptions": (
        "DataHomeError HonestyWarning ManifoliaError ManifoliaWarning MemoryLimitError MissingExtraError "
        "ModelFileError ParameterError ParameterTypeError StoppedByCallbackError TableError TuningError"
    ),
    # Stage functions that are useful on their own.
    "manifolia.neighbors": "NeighborIndex Neighbors kneighbors",
    "manifolia.forest": (
        "evidence impute operator outlier_scores path_kernel permutation_importance prototypes proximity"
    ),
    "manifolia.affinity.alpha_decay": "alpha_decay",
    "manifolia.affinity.fuzzy": "fuzzy_graph",
    "manifolia.affinity.fisher": "distances",
    "manifolia.operators.diffusion": "diffuse markov",
    "manifolia.operators.entropy": "choose_t von_neumann_entropy",
    "manifolia.operators.potential": "potential_distances",
    "manifolia.operators.tangent": "tangent_spaces",
    "manifolia.layout.classical_mds": "classical_mds",
    "manifolia.layout.metric_mds": "metric_mds",
    "manifolia.explain.gradients": "feature_gradients feature_importance",
    "manifolia.explain.pullback": "pullback",
}
_FROM_CARDS = {
    **_estimators(),
    "manifolia.metrics": [name for name in metrics.__all__ if callable(getattr(metrics, name))],
}
#: Module to all of its public names.
REFERENCE: dict[str, list[str]] = {
    module: [*_FROM_CARDS.get(module, []), *_LISTED.get(module, "").split()]
    for module in dict.fromkeys(["manifolia", *_FROM_CARDS, *_LISTED])
}


def metric_table() -> str:
    """Every metric with its meaning, as its card has it, as a table in Markdown."""
    cards = [metrics.get(name) for name in metrics.names()]
    lines = [f"| `{card.name}` | {card.label} | {card.meaning} | {card.direction} |" for card in cards]
    return "\n".join(["| name | on the page | what it tells | better |", "| --- | --- | --- | --- |", *lines, ""])


class Page(NamedTuple):
    """A public module: the names documented here, and the public modules below it."""

    names: list[str]
    submodules: list[str]


def public_names() -> list[str]:
    """Every public name in full."""
    return [f"{module}.{name}" for module, names in REFERENCE.items() for name in names]


def public_modules() -> dict[str, Page]:
    """Every module with a page: those that are listed and the packages above them."""
    modules = {name.rsplit(".", depth)[0] for name in REFERENCE for depth in range(name.count(".") + 1)}
    return {
        module: Page(
            sorted(REFERENCE.get(module, []), key=str.lower),
            sorted(other for other in modules if other.rpartition(".")[0] == module),
        )
        for module in sorted(modules)
    }


def module_page(name: str, page: Page) -> str:
    lines = [f"``{name}``", "=" * (len(name) + 4), "", f".. automodule:: {name}", "   :no-members:", ""]
    if page.names:
        lines += [f".. currentmodule:: {name}", "", ".. autosummary::", "   :toctree: ../objects", "   :nosignatures:"]
        lines += ["", *(f"   {entry}" for entry in page.names), ""]
    if page.submodules and name != "manifolia":
        lines += [".. rubric:: Modules", "", ".. toctree::", "   :maxdepth: 1"]
        lines += ["", *(f"   ../parts/{entry}" for entry in page.submodules), ""]
    return "\n".join(lines)


def write(folder: Path) -> list[str]:
    """Write a page for each module, remove those of names that are gone, and return the pages for autosummary."""
    modules = public_modules()
    pages = {}
    for name, page in modules.items():
        kind = "modules" if name.count(".") <= 1 else "parts"
        pages[folder / kind / f"{name}.rst"] = module_page(name, page)
    objects = {folder / "objects" / f"{name}.{entry}.rst" for name, page in modules.items() for entry in page.names}
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # an untouched page is not built anew
            path.write_text(text, encoding="utf-8")
    (folder / "metric_cards.txt").write_text(metric_table(), encoding="utf-8")
    for path in folder.rglob("*.rst"):
        if path not in pages and path not in objects:
            path.unlink()
    return [str(path) for path in pages]


def bars_as_signs(app, what, name, value, options, lines):
    """Replace the bars of |x| by the sign for "divides", which looks the same: reStructuredText would substitute x."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "|", "+")):
            lines[number] = re.sub(r"\|(?=\S)|(?<=\S)\|", "\N{DIVIDES}", line)


def skip_member(app, what, name, value, skip, options):
    """Leave out the fields of named tuples, which their class explains, and what scikit-learn adds."""
    if type(value).__name__ == "_tuplegetter" or re.fullmatch(r"set_\w+_request", name):
        return True
    return None
