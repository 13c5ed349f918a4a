"""Every name of the reference has a complete docstring, with the defaults of the signature; all others have a sentence.

The reference is the explicit list in docs/api_pages.py.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import FunctionDoc, NumpyDocString
from numpydoc.validate import validate

import manifolia

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["numpydoc_validation"]
CHECKS = set(SETTINGS["checks"])
#: What holds for every docstring, public or not: there is one, and it is a sentence.
SENTENCE = {"GL08", "SS03", "SS04"}
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(manifolia.__path__, "manifolia.")
    if not info.name.endswith(("__main__", "_version"))
)


def is_public(name: str) -> bool:
    return not name.startswith("_")


def members(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the dotted name and the object of every public function, class, method and property of a module."""
    for name, value in vars(module).items():
        if not is_public(name) or getattr(value, "__module__", None) != module.__name__:
            continue
        if not (inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "py_func")):
            continue
        yield name, value
        if inspect.isclass(value):
            for inner, member in vars(value).items():
                if (is_public(inner) or inner == "__call__") and (
                    inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
                ):
                    yield f"{name}.{inner}", member


def reference() -> set[int]:
    """Return the ids of the objects that the reference documents."""
    spec = importlib.util.spec_from_file_location("api_pages", ROOT / "docs" / "api_pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    return {id(pkgutil.resolve_name(name)) for name in pages.public_names()}


def parameters(value: Any) -> dict[str, inspect.Parameter]:
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if isinstance(function, property):
        return {}
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {name: parameter for name, parameter in found.items() if name not in ("self", "cls")}


def is_record(value: Any) -> bool:
    return inspect.isclass(value) and (hasattr(value, "_fields") or dataclasses.is_dataclass(value))


def fields(value: Any) -> tuple[str, ...]:
    if hasattr(value, "_fields"):
        return tuple(value._fields)
    return tuple(field.name for field in dataclasses.fields(value) if is_public(field.name))


def stated_defaults(doc: NumpyDocString) -> dict[str, str | None]:
    """Return what each documented parameter says after ``default=``; None if it says nothing."""
    found: dict[str, str | None] = {}
    for entry in [*doc["Parameters"], *doc.get("Other Parameters", [])]:
        match = re.search(r"\bdefault=(.+)$", entry.type)
        for name in entry.name.split(","):
            found[name.strip().lstrip("*")] = match.group(1).strip().rstrip(".") if match else None
    return found


def same_value(text: str, value: object) -> bool:
    text = text.strip("`")
    try:
        return bool(ast.literal_eval(text) == value and type(ast.literal_eval(text)) is type(value))
    except (SyntaxError, ValueError):
        pass
    name = getattr(value, "__name__", None)
    return text in {str(value), name, f"{getattr(value, '__module__', None)}.{name}"}


def wrong_defaults(value: Any, doc: NumpyDocString) -> list[str]:
    stated = stated_defaults(doc)
    wrong = []
    for name, parameter in parameters(value).items():
        if name not in stated:
            continue  # the numpydoc checks report it
        default, text = parameter.default, stated[name]
        if default is inspect.Parameter.empty:
            if text is not None:
                wrong.append(f"{name}: default={text} in the docstring, none in the signature")
        elif text is None:
            wrong.append(f"{name}: the docstring does not say default={default!r}")
        elif not same_value(text, default):
            wrong.append(f"{name}: default={text} in the docstring, {default!r} in the signature")
    return wrong


def problems(name: str, value: Any, checks: set[str]) -> list[str]:
    doc = NumpyDocString(inspect.getdoc(value) or "")
    if is_record(value) and not checks <= SENTENCE:  # its fields are its parameters
        documented = [entry.name for entry in [*doc["Attributes"], *doc["Parameters"]]]
        missing = sorted(set(fields(value)) - set(re.split(r",\s*", ", ".join(documented))))
        return [f"fields {', '.join(missing)} not documented"] if missing else []
    # A Protocol is never called, but has a signature.
    checks = checks - {"PR01"} if getattr(value, "_is_protocol", False) else checks
    # numpydoc takes every first word in "s" for a verb, also a possessive: "Pearson's correlation".
    checks = checks - {"SS05"} if re.match(r"\w+['’]s\b", " ".join(doc["Summary"])) else checks
    found = [f"{code} {text}" for code, text in validate(name)["errors"] if code in checks]
    if not checks <= SENTENCE:
        found += wrong_defaults(value, doc)
    return found


@pytest.fixture(scope="module")
def public() -> set[int]:
    return reference()


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, public):
    module = importlib.import_module(name)
    wrong = []
    summary = inspect.cleandoc(module.__doc__ or "").partition("\n\n")[0]
    if not re.search(r"[.:?]($|\n)", summary):
        wrong.append(f"{name}: the module's docstring does not begin with a sentence")
    for inner, value in members(module):
        outer = vars(module)[inner.partition(".")[0]]
        checks = CHECKS if id(outer) in public else SENTENCE
        wrong += [f"{name}.{inner}: {problem}" for problem in problems(f"{name}.{inner}", value, checks)]
    assert not wrong, "\n".join(wrong)


def test_the_public_names_of_a_module_are_looked_at():
    from manifolia._core import progress

    names = dict(members(progress))
    assert {"watch_kernel", "Reporter", "Reporter.update", "TqdmCallback.__call__", "ProgressEvent"} <= set(names)
    assert len(MODULES) > 20
    assert id(manifolia.RFPHATE) in reference()


# --- the checks themselves --------------------------------------------------------------------------------------


def sample(a, b=2, *, c="x", d=None, e=1.0):
    """Do something.

    Parameters
    ----------
    a : int
        First.
    b : int, default=3
        Second.
    c : {"x", "y"}, default="x"
        Third.
    d : int or None
        Fourth.
    e : float, default=1
        Fifth.
    """


def test_wrong_defaults_are_caught():
    assert wrong_defaults(sample, FunctionDoc(sample)) == [
        "b: default=3 in the docstring, 2 in the signature",
        "d: the docstring does not say default=None",
        "e: default=1 in the docstring, 1.0 in the signature",
    ]


def undocumented(a):
    """do a thing"""


def test_an_incomplete_docstring_is_caught():
    codes = {problem.split()[0] for problem in problems(f"{__name__}.undocumented", undocumented, CHECKS)}
    assert {"SS03", "PR01"} <= codes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ("-1", -1),
        ("0.5", 0.5),
        ("'a'", "a"),
        ('"a"', "a"),
        ("()", ()),
        ("-inf", float("-inf")),
        ("int", int),
    ],
)
def test_defaults_are_read(text, value):
    assert same_value(text, value)
    assert not same_value(text, object())
