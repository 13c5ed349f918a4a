"""What README and site say is there, is there; and the check that the site needs no network sees what it should."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = {"_build", "auto_examples", "generated"}
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if not GENERATED & set(path.relative_to(DOCS).parts)),
]


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functions_of(path):
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


def resolves(name):
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


# --- README and pages ------------------------------------------------------------------------------------------------


def test_tests_that_pages_name_exist():
    named = {
        (page, *match) for page in PAGES for match in re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text("utf-8"))
    }
    assert len(named) > 15
    missing = [
        f"{page.relative_to(ROOT)}: {path}::{name}"
        for page, path, name in sorted(named)
        if not (ROOT / path).is_file() or name not in functions_of(ROOT / path)
    ]
    assert not missing, "\n".join(missing)


def test_public_names_that_pages_mention_exist():
    named = {
        (page, name)
        for page in PAGES
        for name in re.findall(r"`(manifolia(?:\.\w+)+)", page.read_text("utf-8"))
        if not name.startswith("manifolia._")
    }
    assert len(named) > 10
    missing = [f"{page.relative_to(ROOT)}: {name}" for page, name in sorted(named) if not resolves(name)]
    assert not missing, "\n".join(missing)


def test_names_that_do_not_exist_are_noticed():
    assert resolves("manifolia.affinity.forest.proximity")
    assert not resolves("manifolia.affinity.forest.proximities")
    assert not resolves("manifolia.forests")


def test_files_that_readme_points_to_exist():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    assert "docs/images/digits.png" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/getting_started.md"])
def test_code_on_the_page_runs(page, capsys):
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")  # a test opens no window
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL):
        exec(compile(block, page, "exec"), scope)
    assert scope["model"].embedding_.shape[1] == 2
    plt.close("all")


# --- reference pages -------------------------------------------------------------------------------------------------


def test_reference_documents_each_name_once_and_at_its_shortest(tmp_path):
    api_pages = load("api_pages")
    pages = api_pages.public_modules()
    documented = [f"{module}.{name}" for module, page in pages.items() for name in page.names]
    assert len(documented) == len(set(documented))
    assert {"manifolia.RFPHATE", "manifolia.metrics.auc_r_nx", "manifolia.affinity.forest.proximity"} <= set(documented)
    assert "manifolia.metrics.coranking.auc_r_nx" not in documented
    assert "manifolia.metrics.auc_r_nx" in pages["manifolia.metrics.coranking"].elsewhere


def test_pages_of_names_that_are_gone_are_removed(tmp_path):
    api_pages = load("api_pages")
    stale = tmp_path / "objects" / "manifolia.gone.rst"
    stale.parent.mkdir()
    stale.write_text("gone")
    written = api_pages.write(tmp_path)
    assert not stale.exists()
    assert str(tmp_path / "modules" / "manifolia.metrics.rst") in written
    assert all(Path(path).is_file() for path in written)


def test_bars_in_formulas_are_no_substitutions():
    lines = ["mean of |λ| over |S_i| trees", "int | None", ">>> a |b|"]
    load("api_pages").bars_as_signs(None, "function", "f", None, None, lines)
    assert lines == ["mean of ∣λ∣ over ∣S_i∣ trees", "int | None", ">>> a |b|"]


# --- no network ------------------------------------------------------------------------------------------------------

CLEAN = (
    '<link rel="canonical" href="https://example.org/"><a href="https://example.org/">a link to click</a>'
    '<script src="_static/own.js?v=1"></script><img src="data:image/png;base64,AAAA">'
    "<pre>&lt;script src='https://example.org/x.js'&gt;</pre>"
)


@pytest.fixture
def site(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "own.js").write_text("const home = 'https://example.org/'; // a word, not a load")
    (tmp_path / "_static" / "own.css").write_text("/* url(https://example.org/font) */ a { background: url(own.png) }")
    (tmp_path / "_static" / "template.html").write_text('<script src="{{ pathto() }}"></script>')
    (tmp_path / "index.html").write_text(CLEAN)
    return tmp_path


def test_a_page_that_loads_its_own_files_passes(site, capsys):
    check = load("check_offline")
    assert check.problems(site) == []
    assert check.main([str(site)]) == 0
    assert "1 pages: no network needed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "addition",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<script src="//cdn.example.org/x.js"></script>',
        '<link rel="stylesheet" href="https://fonts.example.org/css">',
        '<link rel="preconnect" href="https://fonts.example.org">',
        '<img src="https://example.org/badge.svg">',
        '<img srcset="own.png 1x, https://example.org/badge.png 2x">',
        '<iframe src="https://example.org"></iframe>',
        "<style>@import 'https://example.org/x.css';</style>",
        '<p style="background: url(https://example.org/x.png)">',
        "<script>fetch('https://example.org/data.json')</script>",
        '<script src="_static/missing.js"></script>',
    ],
)
def test_what_a_page_loads_from_elsewhere_is_found(site, addition):
    (site / "index.html").write_text(CLEAN + addition)
    if "own.png" in addition:
        (site / "own.png").write_bytes(b"")
    check = load("check_offline")
    assert len(check.problems(site)) == 1
    assert check.main([str(site)]) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("more.css", "@font-face { src: url('https://example.org/a.woff2') }"),
        ("more.css", "@import url(//example.org/a.css);"),
        ("more.js", "importScripts('https://example.org/worker.js')"),
        ("more.js", "const m = await import(`https://example.org/m.js`)"),
    ],
)
def test_what_style_sheets_and_scripts_load_is_found(site, name, text):
    (site / "_static" / name).write_text(text)
    assert len(load("check_offline").problems(site)) == 1


def test_a_folder_without_pages_is_no_success(tmp_path, capsys):
    check = load("check_offline")
    assert check.main([str(tmp_path)]) == 2
    assert check.main([str(tmp_path / "absent")]) == 2
    assert "build the site first" in capsys.readouterr().err
