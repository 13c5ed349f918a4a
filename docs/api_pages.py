"""Pages of the reference, made from the public names that exist when the site is built.

A module's page has its docstring and a table of its names. A name that a package offers (``manifolia.metrics.q_nx``) is
documented there; the page of the module that defines it (``manifolia.metrics.coranking``) links to it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

#: Modules that pages or docstrings send readers to, without being listed as submodules of their package.
ALSO = {
    "manifolia.affinity": ["forest_size", "leaves", "node_paths", "node_table", "path_kernel", "split_width"],
    "manifolia.baselines": ["parametric_tsne"],
    "manifolia.explain": ["embedded", "gradients", "pullback"],
    "manifolia.show": ["explorer"],
    "manifolia.show.explorer": ["payload"],
}


class Page(NamedTuple):
    """A public module: names documented here, names documented elsewhere (in full), and modules below it."""

    names: list[str]
    elsewhere: list[str]
    submodules: list[str]


def public_modules(name: str = "manifolia", taken: dict[int, str] | None = None) -> dict[str, Page]:
    """Every public module by its full name; a class or function belongs to the shortest way to it."""
    taken = {} if taken is None else taken
    module = importlib.import_module(name)
    own, elsewhere, submodules = [], [], []
    for entry in dict.fromkeys([*getattr(module, "__all__", []), *ALSO.get(name, [])]):
        value = getattr(module, entry, None)
        if value is None or isinstance(value, ModuleType):
            submodules.append(f"{name}.{entry}")
        elif inspect.isclass(value) or inspect.isroutine(value):
            if id(value) in taken:
                elsewhere.append(taken[id(value)])
            else:
                taken[id(value)] = f"{name}.{entry}"
                own.append(entry)
    found = {}
    for submodule in submodules:
        found |= public_modules(submodule, taken)
    kept = [submodule for submodule in submodules if submodule in found]
    if own or elsewhere or kept:
        found = {name: Page(sorted(own, key=str.lower), sorted(elsewhere, key=str.lower), kept)} | found
    return found


def module_page(name: str, page: Page) -> str:
    lines = [f"``{name}``", "=" * (len(name) + 4), "", f".. automodule:: {name}", "   :no-members:", ""]
    if page.names:
        lines += [f".. currentmodule:: {name}", "", ".. autosummary::", "   :toctree: ../objects", "   :nosignatures:"]
        lines += ["", *(f"   {entry}" for entry in page.names), ""]
    if page.elsewhere:
        lines += [".. rubric:: Offered by the package", "", ".. autosummary::", "   :nosignatures:"]
        lines += ["", *(f"   {entry}" for entry in page.elsewhere), ""]
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
