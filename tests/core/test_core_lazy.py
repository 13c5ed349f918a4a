"""Names that are imported when they are asked for."""

from __future__ import annotations

import importlib
import sys

import pytest

from manifolia._core.lazy import attach


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package on disk with a submodule, a lazy name and a submodule that fails."""
    folder = tmp_path / "lazy_example"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from manifolia._core.lazy import attach\n"
        "__getattr__, __dir__, __all__ = attach(\n"
        "    __name__, submodules=['part', 'broken'], names={'answer': 'lazy_example.part'}\n"
        ")\n"
        "__all__ += ['__version__']\n"
        "__version__ = '1'\n"
    )
    (folder / "part.py").write_text("answer = 42\n")
    (folder / "broken.py").write_text("import no_such_thing_xyz\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("lazy_example")
    for name in [name for name in sys.modules if name.split(".")[0] == "lazy_example"]:
        del sys.modules[name]


def test_nothing_is_imported_before_it_is_asked_for(package):
    assert "lazy_example.part" not in sys.modules
    assert package.answer == 42
    assert "lazy_example.part" in sys.modules


def test_submodules_and_names_resolve_and_stay(package):
    assert package.part is sys.modules["lazy_example.part"]
    assert "answer" not in vars(package)
    assert package.answer == 42
    assert vars(package)["answer"] == 42


def test_the_listing_holds_every_public_name(package):
    assert dir(package) == ["__version__", "answer", "broken", "part"]
    assert sorted(package.__all__) == dir(package)


def test_a_star_import_brings_what_is_listed(package):
    del sys.modules["lazy_example"]
    (folder,) = package.__path__
    with open(f"{folder}/broken.py", "w") as file:
        file.write("")
    target = {}
    exec("from lazy_example import *", target)
    assert {"answer", "broken", "part", "__version__"} <= set(target)


def test_an_unknown_name_is_an_attribute_error_that_knows_its_neighbours(package):
    with pytest.raises(AttributeError, match=r"^module 'lazy_example' has no attribute 'answerr'$") as caught:
        _ = package.answerr
    assert caught.value.name == "answerr"
    assert caught.value.obj is package
    assert not hasattr(package, "something_else")


def test_an_error_of_the_submodule_is_not_hidden(package):
    with pytest.raises(ModuleNotFoundError, match="no_such_thing_xyz"):
        _ = package.broken


def test_without_names_there_is_nothing():
    get, listing, public = attach("json")
    assert listing() == public == []
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'x'"):
        get("x")
