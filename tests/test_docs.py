"""What README and site say is there, is there; and the check that the site needs no network sees what it should."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: The reference is a promise, so it is short.
MOST_PUBLIC_NAMES = 181
GENERATED = {"_build", "_extra", "auto_examples", "auto_stories", "generated"}
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
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


# --- README and pages ------------------------------------------------------------------------------------------------


def named_tests(text):
    """Yield each test that a page names, with the files that its section names."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        files = re.findall(r"`(tests/[\w/]+\.py)`", section)
        for name in re.findall(r"`((?:test|check)_\w+)`", section):
            yield name, files


def test_tests_that_pages_name_exist():
    missing, n_named = [], 0
    for page in PAGES:
        for name, files in named_tests(page.read_text("utf-8")):
            n_named += 1
            if not any((ROOT / file).is_file() and name in functions_of(ROOT / file) for file in files):
                missing.append(
                    f"{page.relative_to(ROOT)}: {name} is not in {files or 'any file that the section names'}"
                )
    assert not missing, "\n".join(missing)
    assert n_named > 25


def test_sections_are_told_apart():
    text = "Tests in `tests/a.py`: `test_one`.\n\n## More\n\n`test_two`"
    assert list(named_tests(text)) == [("test_one", ["tests/a.py"]), ("test_two", [])]


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
    assert resolves("manifolia.forest.proximity")
    assert not resolves("manifolia.forest.proximitys")
    assert not resolves("manifolia.forests")


def test_files_that_readme_points_to_exist():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    assert "docs/images/page.png" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_code_on_the_page_runs(page, capsys, tmp_path, monkeypatch):
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")  # a test opens no window
    monkeypatch.chdir(tmp_path)  # examples write files
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL):
        exec(compile(block, page, "exec"), scope)
    assert scope["model"].embedding_.shape[1] == 2
    plt.close("all")


# --- reference pages -------------------------------------------------------------------------------------------------


def test_reference_documents_each_name_once():
    documented = load("api_pages").public_names()
    assert len(documented) == len(set(documented))
    objects = [pkgutil.resolve_name(name) for name in documented]
    assert len(objects) == len({id(value) for value in objects})
    assert {"manifolia.RFPHATE", "manifolia.metrics.auc_r_nx", "manifolia.forest.proximity"} <= set(documented)
    assert len(documented) <= MOST_PUBLIC_NAMES


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


def typeset(lines):
    """Return what docutils finds wrong with the docstring that Sphinx would get."""
    import docutils.core
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles

    class Content(Directive):
        """Stands for Sphinx's own directives."""

        has_content, optional_arguments, final_argument_whitespace = True, 9, True

        def run(self):
            return []

    for name in ("only", "autosummary", "seealso"):
        directives.register_directive(name, Content)
    roles.register_generic_role("obj", nodes.literal)
    found = io.StringIO()
    settings = {"report_level": 2, "halt_level": 5, "warning_stream": found}
    docutils.core.publish_doctree("\n".join(lines), settings_overrides=settings)
    return found.getvalue()


def docstrings_of(module, page):
    """Yield the name and the docstring, as numpydoc hands it to Sphinx, of a module and of what it documents."""
    from numpydoc.docscrape_sphinx import get_doc_object

    yield module, inspect.getdoc(importlib.import_module(module)).splitlines()
    for name in page.names:
        value = getattr(importlib.import_module(module), name)
        members = [
            (inner, member)
            for inner, member in (vars(value).items() if inspect.isclass(value) else ())
            if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, property | classmethod))
        ]
        for label, documented in [(name, value), *((f"{name}.{inner}", member) for inner, member in members)]:
            function = getattr(documented, "__func__", getattr(documented, "fget", documented))
            text = inspect.getdoc(function) or ""
            what = "class" if inspect.isclass(function) else "function"
            doc = get_doc_object(function, what=what, doc=text, config={"show_class_members": False})
            yield f"{module}.{label}", str(doc).splitlines()


def test_docstrings_can_be_typeset():
    api_pages = load("api_pages")
    wrong, n_seen = [], 0
    for module, page in api_pages.public_modules().items():
        for name, lines in docstrings_of(module, page):
            api_pages.bars_as_signs(None, "", name, None, None, lines)
            problem, n_seen = typeset(lines), n_seen + 1
            if problem:
                wrong.append(f"{name}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert n_seen > 100


@pytest.mark.parametrize(
    "text", ["the fitted value_ of shape (n_,)", "a *star", "==  ==\na   b\n==  ==\nlong  b\n==  =="]
)
def test_what_cannot_be_typeset_is_seen(text):
    assert typeset(text.splitlines())


def test_the_gallery_counts_its_examples():
    names = sorted(path.name for path in (DOCS / "examples").glob("plot_*.py"))
    assert [name[:8] for name in names] == [f"plot_{i:02d}_" for i in range(1, len(names) + 1)]


def test_names_of_pages_have_hyphens():
    assert [str(page) for page in PAGES if "_" in page.stem] == []
    assert any("-" in page.stem for page in PAGES)


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


# --- the pages' Python -----------------------------------------------------------------------------------------------


def test_blocks_of_a_page():
    page = "a\n<!-- given:\nx = 1\n-->\n```python\ny = x\n```\n<!-- not run: why -->\n\n```python\n1 / 0\n```\n"
    assert load("run_pages").blocks(page) == [(3, "python", "x = 1\n"), (6, "python", "y = x\n")]


def test_a_page_runs_as_one_program_in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text('```python\nopen("here", "w").close()\n```\n\n```python\nassert len(X) == len(Y) == 500\n```\n')
    assert load("run_pages").run(page) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
    page.write_text("# Title\n\n```python\nz = 1\nz.no_such_name\n```\n")
    with pytest.raises(AttributeError) as caught:
        load("run_pages").run(page)
    assert caught.traceback[-1].lineno == 4  # from 0: the line of the page


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="sub/b.html#here">1</a><a href="#top">2</a><a href="https://x.org/#a">3</a>'
    )
    (tmp_path / "sub" / "b.html").write_text('<p id="here"></p><a href="../">up</a>')
    check = load("check_links")
    assert check.problems(tmp_path) == ([], 3)
    (tmp_path / "sub" / "b.html").write_text('<a href="c.html">1</a><a href="../index.html#bottom">2</a>')
    found, _ = check.problems(tmp_path)
    assert sorted(found) == [
        "index.html: sub/b.html#here leads to no such place on the page.",
        "sub/b.html: ../index.html#bottom leads to no such place on the page.",
        "sub/b.html: c.html leads to no file.",
    ]
