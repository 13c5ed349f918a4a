"""Figures of one or several checkouts, side by side: ``python tools/figures.py [CHECKOUT ...]``.

All are counted from the sources of ``src/manifolia`` by one counter, so that two states of the project can be compared.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

SMALL = 40  # lines of code below which a module with one importer belongs inside it
LARGE = 400  # lines of code that a file may have
#: What a variable that holds somebody's model is called.
MODEL_NAMES = {"model", "estimator", "last", "self.model", "self.estimator", "owner", "embedder", "self.embedder"}
#: Who may ask what a model can do: the registry, and the protocol that estimators themselves follow.
MAY_PROBE = ("registry.py", "_core/", "persist/")
#: What scikit-learn's protocol lets every estimator have or lack: no ability.
PROTOCOL = {"feature_names_in_", "n_features_in_", "n_jobs"}
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Module(NamedTuple):
    """A source file: its dotted name, its tree, and its lines of code and of docstrings."""

    name: str
    path: str
    tree: ast.Module
    code: int
    docs: int


def measure(text: str, tree: ast.Module) -> tuple[int, int]:
    """Lines of code and lines of docstrings; comments and blank lines are neither."""
    docs: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docs |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - docs), len(docs)


def read(checkout: Path) -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    source = checkout / "src"
    modules = {}
    for path in sorted((source / "manifolia").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        name = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        modules[name] = Module(name, path.relative_to(source / "manifolia").as_posix(), tree, *measure(text, tree))
    return modules


def importers(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Which modules import each module, by a statement or by its name in a string (lazy attributes)."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for node in ast.walk(module.tree):
            named: list[str] = []
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = [node.value.partition(":")[0]]
            for name in named:
                if name in modules and name != module.name:
                    found[name].add(module.name)
    return found


def small_modules(modules: dict[str, Module]) -> list[str]:
    """Modules with exactly one importer and fewer than 40 lines of code."""
    by = importers(modules)
    return [
        f"{module.path} ({module.code}) ← {next(iter(by[name]))}"
        for name, module in modules.items()
        if len(by[name]) == 1 and module.code < SMALL and not module.path.startswith("kernels/")  # a layer of its own
        if not module.path.endswith(("__init__.py", "_version.py"))
    ]


def large_modules(modules: dict[str, Module]) -> list[str]:
    """Files of more than 400 lines of code."""
    return [f"{module.path} ({module.code})" for module in modules.values() if module.code > LARGE]


def classes(modules: dict[str, Module]) -> dict[str, tuple[Module, ast.ClassDef]]:
    """Every class by its name."""
    return {
        node.name: (module, node)
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }


def base_names(node: ast.ClassDef) -> list[str]:
    """The last part of the names of a class's bases."""
    return [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]


def subclasses(modules: dict[str, Module]) -> dict[str, list[str]]:
    """Our classes that are bases of others of ours, with their subclasses."""
    ours = classes(modules)
    found: dict[str, list[str]] = defaultdict(list)  # a kind of error may stand alone
    for name, (_, node) in ours.items():
        for base in base_names(node):
            if base in ours and not base.endswith(("Error", "Warning")):
                found[base].append(name)
    return found


def lonely_bases(modules: dict[str, Module]) -> list[str]:
    """Bases of ours with one subclass."""
    return [f"{base} ← {below[0]}" for base, below in subclasses(modules).items() if len(below) == 1]


def spread_classes(modules: dict[str, Module]) -> list[str]:
    """Classes whose body stands in several files: a base of theirs, in another file, has no other subclass."""
    ours = classes(modules)
    return [
        below[0]
        for base, below in subclasses(modules).items()
        if len(below) == 1 and ours[base][0].name != ours[below[0]][0].name
    ]


def upward_calls(modules: dict[str, Module]) -> list[str]:
    """Methods that a base calls on itself and only its subclasses have."""
    ours, below = classes(modules), subclasses(modules)

    def known(name: str) -> set[str]:
        node = ours[name][1]
        own = {part.name for part in node.body if isinstance(part, ast.FunctionDef) and not is_abstract(part)}
        own |= {part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and part.value is not None}
        return own.union(*(known(base) for base in base_names(node) if base in ours))

    found = []
    for base in below:
        module, node = ours[base]
        if not module.path.startswith(("methods/", "explain/", "extension/", "forest/", "baselines/")):
            continue
        called = {
            part.func.attr
            for part in ast.walk(node)
            if isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and ast.unparse(part.func.value) == "self"
            and part.func.attr.startswith("_")
            and not part.func.attr.startswith("__")
        }
        found += [f"{base}.{name}" for name in sorted(called - known(base))]
    return found


def is_abstract(node: ast.FunctionDef) -> bool:
    """Whether a method is only promised."""
    return any("abstractmethod" in ast.unparse(decorator) for decorator in node.decorator_list)


def probes(modules: dict[str, Module]) -> list[str]:
    """Functions that find out by ``hasattr``, ``getattr`` or a class's name what a model can do."""
    found = []
    for module in modules.values():
        if module.path.startswith(MAY_PROBE):
            continue
        for function in ast.walk(module.tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            asks = [
                node
                for node in ast.walk(function)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and (node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3))
                and ast.unparse(node.args[0]) in MODEL_NAMES
                and ast.unparse(node.args[1]).strip("'\"") not in PROTOCOL
            ]
            if asks:
                found.append(f"{module.path}: {function.name} ({len(asks)})")
    return found


def public_names(checkout: Path) -> list[str]:
    """Names that have a page in the reference of the site."""
    ask = (
        "import api_pages; "
        "print(*(f'{m}.{n}' for m, page in api_pages.public_modules().items() for n in page.names), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask],
        cwd=checkout / "docs",
        env={"PYTHONPATH": f"{checkout / 'src'}:{checkout / 'docs'}", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def figures(checkout: Path) -> dict[str, list[str] | int]:
    """All figures of a checkout: a number, or the list of what was counted."""
    modules = read(checkout)
    return {
        "files": len(modules),
        "lines of code": sum(module.code for module in modules.values()),
        "lines of docstrings": sum(module.docs for module in modules.values()),
        "public names": public_names(checkout),
        "files above 400 lines of code": large_modules(modules),
        "modules with one importer and fewer than 40 lines of code": small_modules(modules),
        "bases of ours with one subclass": lonely_bases(modules),
        "classes spread over several files": spread_classes(modules),
        "calls upwards, from a base to its subclass, in a fit": upward_calls(modules),
        "functions that probe what a model can do": probes(modules),
    }


def main() -> None:
    """Print the figures; what is left is listed for the last checkout."""
    verbose = "-v" in sys.argv
    checkouts = [Path(name).resolve() for name in sys.argv[1:] if name != "-v"] or [Path(__file__).resolve().parents[1]]
    counted = [figures(checkout) for checkout in checkouts]
    for label in counted[0]:
        values = [side[label] for side in counted]
        print(f"{label:60s}" + "".join(f"{len(v) if isinstance(v, list) else v:>9,}" for v in values))
        if verbose and isinstance(values[-1], list) and label != "public names":
            print("".join(f"    {entry}\n" for entry in values[-1]), end="")


if __name__ == "__main__":
    main()
