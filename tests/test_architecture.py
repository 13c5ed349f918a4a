"""The rules of the house that no tool checks for us, and a proof that the import contracts bite."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import manifolia
from contract.estimators import ESTIMATORS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "manifolia"
MODULES = sorted(PACKAGE.rglob("*.py"))
KERNELS = sorted(path for path in (PACKAGE / "kernels").glob("*.py") if path.name not in ("__init__.py", "_jit.py"))

MOST_KERNEL_ARGUMENTS = 12
#: Where scikit-learn keeps its input checks; ours are in _core.validate and _core.random.
SKLEARN_CHECKS = {"check_array", "check_X_y", "check_random_state", "check_consistent_length", "column_or_1d"}
#: Who may draw.
PLOTTERS = ("show/",)


def load_tool(name: str) -> ModuleType:
    """Import a script of tools/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imports(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, module and imported name ("" for a whole module) of every import, also those in functions."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.lineno, "." * node.level + (node.module or ""), alias.name


def kernels_of(path: Path) -> dict[str, ast.FunctionDef]:
    """Return the public functions under a ``kernel(...)`` decorator."""
    found = {}
    for node in tree(path).body:
        decorators = [d.func if isinstance(d, ast.Call) else d for d in getattr(node, "decorator_list", [])]
        is_kernel = any(isinstance(d, ast.Name) and d.id == "kernel" for d in decorators)
        if isinstance(node, ast.FunctionDef) and is_kernel and not node.name.startswith("_"):
            found[node.name] = node
    return found


def test_the_package_is_found():
    assert len(MODULES) > 20
    assert "random.py" in [path.name for path in KERNELS]
    assert "uniform_rows" in kernels_of(PACKAGE / "kernels" / "random.py")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module(path):
    """One look at each module; all that is wrong with it is listed at once."""
    wrong = []
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "sys.stdout.write", "pprint.pprint"}:
            wrong.append(f"line {node.lineno}: {ast.unparse(node.func)}; report through callback, logger or warn()")
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_extra") and node.args:
            extra = ast.unparse(node.args[0]).strip("'\"")
            if extra.partition(".")[0] == "matplotlib" and not name_of(path).startswith(PLOTTERS):
                wrong.append(f"line {node.lineno}: only {' and '.join(PLOTTERS)} draw")
        if isinstance(node, ast.Raise) and node.exc is not None and re.match(r"Exception\b", ast.unparse(node.exc)):
            wrong.append(f"line {node.lineno}: raises a bare Exception")
    for lineno, module, name in imports(path):
        top = module.partition(".")[0]
        if module.startswith("."):
            wrong.append(f"line {lineno}: relative import")
        checks_input = module == "sklearn.utils.validation" or name in SKLEARN_CHECKS
        if top == "sklearn" and checks_input and name_of(path) != "_core/validate.py":
            wrong.append(f"line {lineno}: scikit-learn's checks are called by _core.validate and _core.random only")
        if top not in ("manifolia", "__future__", "") and re.search(r"(^|\.)_[a-z]", f"{module}.{name}"):
            wrong.append(f"line {lineno}: {module} {name} is private to another project")
    left = re.finditer(r"\b(TODO|FIXME|XXX)\b", text)
    wrong += [f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group()}" for match in left]
    assert not wrong, "\n".join([name_of(path), *wrong])


@pytest.mark.parametrize("path", KERNELS, ids=name_of)
def test_kernel_module(path):
    """Every kernel has a naive twin that shares no code with it; the module stands alone and says its notation."""
    twin = ROOT / "tests" / "reference" / path.name
    kernels = kernels_of(path)
    if kernels:
        assert twin.exists(), f"write tests/reference/{path.name} with: {', '.join(kernels)}"
        twins = {node.name for node in tree(twin).body if isinstance(node, ast.FunctionDef)}
        missing = sorted(set(kernels) - twins)
        assert not missing, f"tests/reference/{path.name} has no naive twin of: {', '.join(missing)}"
        shared = {module for _, module, _ in imports(twin) if module.partition(".")[0] in ("manifolia", "numba")}
        assert not shared, f"tests/reference/{path.name} must not import {shared}: it would share what it checks"
    for lineno, module, _ in imports(path):
        top = module.partition(".")[0]
        allowed = top in {"numpy", "numba"} or top in sys.stdlib_module_names or module.startswith("manifolia.kernels")
        assert allowed, f"{name_of(path)} line {lineno}: kernels import numpy and numba only"
    for name, node in kernels.items():
        n_arguments = len(node.args.args)
        assert n_arguments <= MOST_KERNEL_ARGUMENTS, f"{name} has {n_arguments} arguments: pass a named tuple"
        raising = [part.lineno for part in ast.walk(node) if isinstance(part, ast.Raise | ast.Assert)]
        assert not raising, f"{name_of(path)} line {raising[0]}: kernels return a status, they do not raise"
    assert "symbol" in (ast.get_docstring(tree(path)) or ""), f"{name_of(path)} has no notation table in its docstring"


def public_estimators() -> dict[str, type]:
    """Return every public class of the package with a ``fit``, by name.

    What is in ``tune`` runs other estimators on data that it does not look at, or stands for a loss: no map of its own.
    The registry makes classes for peers that are installed.
    """
    found = {}
    for info in pkgutil.walk_packages(manifolia.__path__, "manifolia."):
        if info.name.startswith(("manifolia.tune", "manifolia.registry")):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            ours = inspect.isclass(value) and value.__module__ == info.name and not name.startswith("_")
            if ours and callable(getattr(value, "fit", None)) and not inspect.isabstract(value):
                found[name] = value
    return found


@pytest.mark.filterwarnings("default")
def test_every_public_estimator_is_in_the_contract_tests():
    tested = {type(entry.make()) for entry in ESTIMATORS.values()}
    untested = sorted(name for name, kind in public_estimators().items() if kind not in tested)
    assert not untested, f"add to tests/contract/estimators.py: {', '.join(untested)}"
    unknown = sorted(kind.__name__ for kind in tested if kind not in public_estimators().values())
    assert not unknown, f"no public classes: {', '.join(unknown)}"


# --- the rules of the house ------------------------------------------------------------------------------------------

figures = load_tool("figures")
HOUSE = figures.read(ROOT)
#: What breaks a rule today. A list may only shrink: an entry that no longer breaks its rule is an error too.
EXCEPTIONS: dict[str, set[str]] = {
    "no attribute is announced for someone else to set": {
        # The standard library makes these, so that __init__ is not theirs; a text has no __init__ at all.
        "explorer/handler.py: Handler",
        "explorer/handler.py: Server",
        "_core/messages.py: Message",
    },
    "only the registry asks what a model can do": {
        # Checks of a parameter in layers below the registry: is this an estimator that can do what is asked of it?
        "explain/displacement.py: importance",
        "layout/embed.py: check_embedder",
    },
}


def own_fit_missing() -> list[str]:
    """Rule 1, one paper, one file: estimators in methods/ whose ``fit`` stands elsewhere."""
    return [
        f"{module.path}: {node.name}"
        for module in HOUSE.values()
        if module.path.startswith("methods/") and not module.path.startswith("methods/_")
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and {"NamedTuple"}.isdisjoint(figures.base_names(node))
        if "fit" not in {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    ]


def announced_attributes() -> list[str]:
    """Rule 2, state objects: classes that announce attributes which someone else sets."""
    return [
        f"{module.path}: {node.name}"
        for module in HOUSE.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        and not re.search(r"NamedTuple|Protocol|TypedDict", ast.unparse(node).partition(":")[0])
        and not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
        and "__init__" not in {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        and any(isinstance(part, ast.AnnAssign) and part.value is None for part in node.body)
    ]


def modules_named_like_exports() -> list[str]:
    """Rule 6: modules that would hide a function or class which their package exports."""
    found = []
    for name, module in HOUSE.items():
        if module.path.endswith("__init__.py"):
            exported = set(importlib.import_module(name).__dict__.get("__all__", ()))
            below = {other.rpartition(".")[2] for other in HOUSE if other.rpartition(".")[0] == name}
            found += [f"{name}.{hidden}" for hidden in exported & below if not is_module(name, hidden)]
    return found


def is_module(package: str, name: str) -> bool:
    return inspect.ismodule(getattr(importlib.import_module(package), name))


UPPER = ("_cli/", "runs/", "explorer/", "show/", "trust/", "tune/")


def repeated_stems() -> list[str]:
    """A stem occurs once in the upper layers, but for commands and parts of the page, named like what they show."""
    stems: dict[str, list[str]] = {}
    for module in HOUSE.values():
        stem = module.path.rpartition("/")[2].removesuffix(".py")
        named_after = module.path.startswith(("_cli/", "explorer/parts/"))
        if module.path.startswith(UPPER) and not named_after and stem != "__init__":
            stems.setdefault(stem, []).append(module.path)
    return [stem for stem, paths in stems.items() if len(paths) > 1]


def many_parameters() -> list[str]:
    """An estimator has up to 20 parameters."""
    return [name for name, kind in public_estimators().items() if len(inspect.signature(kind).parameters) > 20]


def bags_outside() -> list[str]:
    """Only forest/bags.py draws bootstrap samples or reads them."""
    return [
        module.path
        for module in HOUSE.values()
        if module.path != "forest/bags.py"
        and any(
            isinstance(node, ast.Attribute) and node.attr == "estimators_samples_" for node in ast.walk(module.tree)
        )
    ]


RULES = {
    "every method has its own fit": own_fit_missing,
    "no attribute is announced for someone else to set": announced_attributes,
    "no base of ours has one subclass": lambda: figures.lonely_bases(HOUSE),
    "no class is spread over several files": lambda: figures.spread_classes(HOUSE),
    "no base calls what only its subclass has": lambda: figures.upward_calls(HOUSE),
    "no file has more than 400 lines of code": lambda: figures.large_modules(HOUSE),
    "a small module with one importer lives inside it": lambda: figures.small_modules(HOUSE),
    "only the registry asks what a model can do": lambda: figures.probes(HOUSE),
    "no module is named like what its package exports": modules_named_like_exports,
    "a stem occurs once in the upper layers": repeated_stems,
    "an estimator has up to 20 parameters": many_parameters,
    "only bags.py reads bootstrap samples": bags_outside,
}


@pytest.mark.parametrize("rule", RULES)
def test_rule_of_the_house(rule):
    broken = {re.sub(r" \(\d+\).*| ← .*", "", entry) for entry in RULES[rule]()}
    allowed = EXCEPTIONS.get(rule, set())
    assert broken <= allowed, f"{rule}: {sorted(broken - allowed)}"
    assert allowed <= broken, f"{rule}: no longer an exception, take it off the list: {sorted(allowed - broken)}"


def test_the_counters_count():
    """The counters see what they are made for, in a package of three files."""
    sources = {
        "a": "class Base:\n    def run(self):\n        self._step()\n",
        "b": "from manifolia.a import Base\n\nclass Only(Base):\n    def _step(self):\n        pass\n",
        "c": "def f(model):\n    return hasattr(model, 'forest_')\n",
    }
    made = {
        f"manifolia.{name}": figures.Module(
            f"manifolia.{name}", f"methods/{name}.py", ast.parse(text), *figures.measure(text, ast.parse(text))
        )
        for name, text in sources.items()
    }
    assert figures.lonely_bases(made) == ["Base ← Only"]
    assert figures.spread_classes(made) == ["Only"]
    assert figures.upward_calls(made) == ["Base._step"]
    assert figures.probes(made) == ["methods/c.py: f (1)"]
    assert figures.small_modules(made) == ["methods/a.py (3) ← manifolia.b"]
    assert figures.measure('"""Doc."""\n\n# why\nx = 1\n', ast.parse('"""Doc."""\n\n# why\nx = 1\n')) == (1, 1)


# --- what the project says of itself --------------------------------------------------------------------------------

# Built from pieces, so that this file does not contain them.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.~/-])/("
    + "|".join(["work", "root", "home/[a-z]", "Users/[a-z]"])
    + r")\b(?!\.)",
    "the number of an issue": r"(?i)\b(issue|ticket|pull request|PR)s?\s+#?\d+\b|\((#\d+)\)|\b(fix(es)?|closes)\s+#\d+",
    "a host of packages": r"(?i)py" + r"pi\.org|python" + r"hosted\.org|anaconda\." + r"org",
}
TEXT = {".py", ".md", ".rst", ".toml", ".txt", ".yaml", ".yml", ".cfg", ".ts", ".js", ".css", ".html", ".json", ""}


def tracked_files() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = done.stdout.split("\0") if done.returncode == 0 else []
    found = [ROOT / name for name in names if name] or [path for path in ROOT.rglob("*") if ".venv" not in path.parts]
    return [path for path in found if path.suffix in TEXT and path.is_file() and path != Path(__file__).resolve()]


def test_the_project_speaks_of_itself_alone():
    wrong = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for what, pattern in FORBIDDEN.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                wrong.append(f"{path.relative_to(ROOT)} line {line}: {what}: {match.group()!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("see " + "issue" + " 12", True),
        ("as in (" + "#12)", True),
        ("read /wo" + "rk/data", True),
        ("/ro" + "ot/.cache", True),
        ("https://py" + "pi.org/simple", True),
        ("the colour #123456 and the issue of 3 rows", False),
        ("~/work and docs/work/", False),
        ("https://github.com/manifolia/manifolia/issues", False),
        ("the square root/mean", False),
    ],
)
def test_forbidden_words_are_told_from_others(text, caught):
    assert any(re.search(pattern, text) for pattern in FORBIDDEN.values()) is caught


# --- the import contracts --------------------------------------------------------------------------------------------

#: A package with every layer, where each import is allowed.
SKELETON = {
    "__init__": "",
    "_version": "",
    "exceptions": "",
    "_core/__init__": "from manifolia import exceptions",
    "kernels/__init__": "",
    "kernels/_jit": "import numba",
    "kernels/loops": "import numpy\nfrom manifolia.kernels import _jit",
    "tables": "import manifolia._core",
    "datasets/__init__": "import manifolia.tables",
    "persist": "import manifolia._core",
    "neighbors": "import manifolia._core\ndef f():\n    from manifolia.kernels import loops",
    "forest/__init__": "import manifolia.neighbors",
    "forest/proximities": "from manifolia.kernels import loops",
    "affinity/__init__": "import manifolia.forest",
    "affinity/fuzzy": "from manifolia.kernels import loops",
    "operators/__init__": "import manifolia.affinity",
    "layout/__init__": "",
    "layout/mds": "from manifolia.kernels import loops",
    "extension/__init__": "import manifolia.layout",
    "explain/__init__": "import manifolia.extension",
    "metrics/__init__": "import manifolia.extension",
    "methods/__init__": "",
    "methods/one": "import manifolia.metrics, manifolia.operators",
    "methods/two": "import manifolia.affinity",
    "baselines/__init__": "import manifolia.layout",
    "registry": "import manifolia.methods.one",
    "tune/__init__": "import manifolia.registry",
    "trust/__init__": "import manifolia.metrics",
    "show/__init__": "import matplotlib\nimport manifolia.tune",
    "show/scatter": "import matplotlib",
    "distributed": "import dask, distributed\nimport manifolia._core",
    "explorer/__init__": "import manifolia.show, manifolia.distributed",
    "runs/__init__": "import manifolia.explorer, manifolia.registry",
    "_cli/__init__": "import manifolia.runs",
    "cli": "import manifolia._cli, manifolia.distributed",
    "__main__": "import manifolia.cli",
}

#: Contract, module, and what it must not import.
VIOLATIONS = [
    ("one way", "_core", "kernels.loops"),
    ("one way", "kernels.loops", "_core"),
    ("one way", "neighbors", "affinity"),
    ("one way", "forest.proximities", "affinity"),
    ("one way", "affinity.fuzzy", "methods.one"),
    ("one way", "operators", "layout"),
    ("one way", "metrics", "explain"),
    ("one way", "methods.two", "baselines"),
    ("one way", "tune", "show"),
    ("one way", "show", "explorer"),
    ("one way", "explorer", "runs"),
    ("one way", "runs", "_cli"),
    ("one way", "exceptions", "_core"),
    ("know numba", "_core", "numba"),
    ("know numba", "layout", "numba"),
    ("stages call kernels", "methods.one", "kernels.loops"),
    ("stages call kernels", "tune", "kernels.loops"),
    ("stages call kernels", "datasets", "kernels"),
    ("each other", "methods.two", "methods.one"),
    ("at the edge", "forest.proximities", "matplotlib"),
    ("at the edge", "explorer", "matplotlib"),
    ("at the edge", "tune", "dask"),
    ("at the edge", "show.scatter", "distributed"),
]


def full_name(module: str) -> str:
    external = module in ("numba", "matplotlib", "dask", "distributed")
    return module if external else f"manifolia.{module}"


def lint_skeleton(folder: Path, additions: dict[str, str]) -> dict[str, str]:
    """Run the project's contracts on the skeleton with more statements; return the report of each broken one."""
    for module in SKELETON.keys() | additions.keys():
        path = folder / "manifolia" / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SKELETON.get(module, "") + "\n" + additions.get(module, ""))
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    # Without the site module the editable install of the real package is not on the path.
    packages = [entry for entry in sys.path if entry.endswith("site-packages")]
    done = subprocess.run(
        [sys.executable, "-S", "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *packages]), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    report = done.stdout
    assert "Contracts:" in report, report + done.stderr
    names = [contract["name"] for contract in tomllib.loads(settings)["tool"]["importlinter"]["contracts"]]
    broken = [name for name in names if f"{name} BROKEN" in report]
    assert done.returncode == (1 if broken else 0), report + done.stderr
    details = report.partition("Broken contracts")[2]
    starts = [details.index(f"\n{name}\n") for name in broken]
    return {name: details[i:j] for name, i, j in zip(broken, starts, [*starts, len(details)][1:], strict=True)}


def test_the_import_contracts_allow_the_design(tmp_path):
    assert lint_skeleton(tmp_path, {}) == {}


def test_the_import_contracts_catch_every_violation(tmp_path):
    additions: dict[str, str] = {}
    for _, module, forbidden in VIOLATIONS:
        path = module.replace(".", "/")
        path = path if path in SKELETON else f"{path}/__init__"
        additions[path] = additions.get(path, "") + f"import {full_name(forbidden)}\n"
    broken = lint_skeleton(tmp_path, additions)
    for contract, module, forbidden in VIOLATIONS:
        (details,) = [text for name, text in broken.items() if contract in name]
        assert re.search(rf"{full_name(module)} -> {full_name(forbidden)} \(l\.", details), (contract, module, details)


def test_a_module_outside_the_layers_is_caught(tmp_path):
    broken = lint_skeleton(tmp_path, {"helpers": ""})
    assert "helpers" in broken["The pipeline runs one way"]
