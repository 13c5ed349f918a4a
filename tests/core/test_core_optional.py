"""Optional packages: imported, or the extra that brings them is named."""

from __future__ import annotations

import json
import sys

import pytest

from manifolia._core.optional import import_extra
from manifolia.exceptions import ManifoliaError, MissingExtraError


def test_an_installed_module_is_returned():
    assert import_extra("json", extra="plot", purpose="Reading") is json
    assert import_extra("xml.dom", extra="plot", purpose="Reading").__name__ == "xml.dom"


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.inner.part"])
def test_a_missing_package_names_itself_and_the_extra(module):
    with pytest.raises(MissingExtraError) as caught:
        import_extra(module, extra="plot", purpose="Drawing a map")
    assert str(caught.value) == (
        "Drawing a map needs the package 'no_such_package', which is not installed. "
        "Install it with: pip install no-such-package (the extra 'plot' of manifolia brings it)"
    )
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, ManifoliaError)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_errors_inside_an_installed_package_pass_through(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "half_installed_xyz.py").write_text("import no_such_dependency_xyz\n")
    (tmp_path / "broken_xyz.py").write_text("raise ImportError('a shared library is missing')\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency_xyz") as caught:
        import_extra("half_installed_xyz", extra="plot", purpose="Drawing")
    assert not isinstance(caught.value, MissingExtraError)
    with pytest.raises(ImportError, match="shared library") as caught:
        import_extra("broken_xyz", extra="plot", purpose="Drawing")
    assert not isinstance(caught.value, MissingExtraError)


def test_a_missing_part_of_an_installed_package_passes_through():
    with pytest.raises(ModuleNotFoundError, match=r"json\.no_such_part") as caught:
        import_extra("json.no_such_part", extra="plot", purpose="Drawing")
    assert not isinstance(caught.value, MissingExtraError)


def test_a_package_hidden_by_none_counts_as_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "json", None)
    with pytest.raises(MissingExtraError, match="the extra 'parquet' of manifolia"):
        import_extra("json", extra="parquet", purpose="Reading")
