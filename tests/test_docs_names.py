"""Every public name has a page, every page of a paper or a method is complete, and examples in docstrings run."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAPERS = sorted(path for path in (DOCS / "papers").glob("*.md") if path.stem != "index")
METHODS = sorted(path for path in (DOCS / "methods").glob("*.md") if path.stem != "index")
#: What a page of a method has, in this order.
SECTIONS = ["What it is for", "The formula in words", "Parameters that matter", "When not to use it"]
#: The names that the interface promises; more may be public.
PROMISED = {
    "manifolia": [
        "RFPHATE",
        "ForestMap",
        "GuidedMap",
        "PHATE",
        "ForestFeatures",
        "KernelMap",
        "KernelTSNE",
        "FisherKernelTSNE",
        "FeatureMAP",
        "Tuner",
        "Normalized",
        "explore",
        "save",
        "load",
        "estimate_memory",
    ],
    "manifolia.forest": [
        "proximity",
        "operator",
        "path_kernel",
        "permutation_importance",
        "outlier_scores",
        "prototypes",
        "evidence",
        "impute",
    ],
    "manifolia.affinity.fisher": ["distances"],
    "manifolia.neighbors": ["kneighbors"],
    "manifolia.datasets": ["load"],
    "manifolia.registry": ["get"],
    "manifolia.metrics": [
        "coranking_matrix",
        "q_nx",
        "r_nx",
        "auc_r_nx",
        "q_local",
        "q_global",
        "trustworthiness",
        "continuity",
        "neighbor_recall",
        "shepard_goodness",
        "normalized_stress",
        "distance_correlation",
        "distance_ratio",
        "centroid_triplet_accuracy",
        "knn_accuracy",
        "classification_error",
        "nmi",
        "variable_preservation",
        "importance_alignment",
        "target_alignment",
        "radius_correlation",
        "anisotropy_correlation",
        "arrow_fidelity",
        "inner_structure",
        "report",
        "get",
        "register",
    ],
}
#: Examples in docstrings that take more than a second.
LONG = {
    "manifolia.persist.files",
    "manifolia.explorer.widget",
    "manifolia.show.forest",
    "manifolia.tune.sampler",
    "manifolia.tune.tuner",
}


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- every public name has a page ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Return the names that the written pages of the reference document, and the modules that have a page."""
    folder = tmp_path_factory.mktemp("generated")
    names, modules = set(), set()
    for path in load("api_pages").write(folder):
        modules.add(Path(path).stem)
        text = Path(path).read_text(encoding="utf-8")
        for block in re.findall(r"^\.\. autosummary::\n((?:   .*\n|\n)+)", text, flags=re.MULTILINE):
            if ":toctree:" in block:
                names |= {f"{Path(path).stem}.{name}" for name in re.findall(r"^   (\w+)$", block, flags=re.MULTILINE)}
    return names, modules


def test_the_site_shows_the_list_and_nothing_else(reference):
    names, modules = reference
    assert names == set(load("api_pages").public_names())
    assert {"manifolia", "manifolia.metrics", "manifolia.forest", "manifolia.explain.gradients"} <= modules


def test_every_promised_name_has_a_page(reference):
    documented = {id(pkgutil.resolve_name(name)) for name in reference[0]}
    promised = [f"{module}.{name}" for module, names in PROMISED.items() for name in names]
    assert [name for name in promised if id(pkgutil.resolve_name(name)) not in documented] == []


def references_of(text):
    """Yield role and target of each reference to Python in a page."""
    for role, inside in re.findall(r"\{py:(\w+)\}`([^`]+)`", text):
        named = re.search(r"<([^>]+)>", inside)
        yield role, (named[1] if named else inside).lstrip("~")


def test_references_of_pages_lead_to_a_page(reference):
    names, modules = reference
    lost, n_seen = [], 0
    for path in sorted(DOCS.rglob("*.md")):
        for role, target in references_of(path.read_text(encoding="utf-8")):
            n_seen += 1
            found = target in (modules if role == "mod" else names)
            if role == "meth":
                found = target.rpartition(".")[0] in names and callable(pkgutil.resolve_name(target))
            if not found:
                lost.append(f"{path.relative_to(ROOT)}: {target}")
    assert not lost, "\n".join(lost)
    assert n_seen > 120


def test_references_are_read_with_and_without_a_text():
    text = "{py:func}`~manifolia.a.b` {py:class}`a text <manifolia.C>` `manifolia.d`"
    assert list(references_of(text)) == [("func", "manifolia.a.b"), ("class", "manifolia.C")]


# --- papers: equation, function, test, result ------------------------------------------------------------------------


def tables_of(text):
    """Yield header and rows of each table of a page, as lists of cells."""
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|\n"))] for line in block.splitlines()]
        yield rows[0], rows[2:]


@pytest.mark.parametrize("page", PAPERS, ids=lambda path: path.stem)
def test_rows_of_a_paper_name_function_and_test(page):
    incomplete, n_rows = [], 0
    for header, rows in tables_of(page.read_text(encoding="utf-8")):
        if header[-1] != "test":
            continue
        for row in rows:
            n_rows += 1
            complete = len(row) == 3 and all(row)
            says_where = complete and re.search(r"`.+`|the same|both", row[1])
            if not (says_where and re.search(r"`test_\w+`|the same", row[2])):
                incomplete.append(row)
    assert not incomplete
    assert n_rows > 5


@pytest.mark.parametrize("page", PAPERS, ids=lambda path: path.stem)
def test_results_of_a_paper_are_there(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("\n## Results\n") == 1
    [(header, rows)] = tables_of(text.split("\n## Results\n")[1].split("\n## ")[0])
    assert header == ["table or figure", "script", "result"]
    assert rows
    assert rows[0][1] != "the same"
    for _, scripts, result in rows:
        named = re.findall(r"`([\w/.]+)`", scripts)
        assert named or scripts == "the same"
        assert [name for name in named if not (ROOT / name).is_file()] == []
        links = re.findall(r"\]\(([^)#]+)", result)
        assert links or result == "the same"
        assert [link for link in links if not (page.parent / link).is_file()] == []


def test_every_script_of_a_paper_is_on_a_page():
    listed = set(re.findall(r'"(\w+/\w+)\.py"', (ROOT / "reproduce" / "all.py").read_text(encoding="utf-8")))
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAPERS)
    assert len(listed) > 6
    assert [name for name in sorted(listed) if f"`reproduce/{name}.py`" not in pages] == []


# --- pages of methods ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", METHODS, ids=lambda path: path.stem)
def test_a_page_of_a_method_is_complete(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == SECTIONS
    assert headings[-1] == "More"
    pictures = re.findall(r"^```\{figure\} (\S+)\n:alt: .{30,}$", text, flags=re.MULTILINE)
    assert pictures
    assert all((page.parent / picture).is_file() for picture in pictures)
    assert "```python\n" in text
    more = text.split("\n## More\n")[1]
    for needed in ("py:", "../papers/", "../results/"):
        assert needed in more


def test_every_method_has_a_page():
    import manifolia

    described = "\n".join(page.read_text(encoding="utf-8").split("\n## ")[0] for page in METHODS)
    names = [*manifolia.methods.__all__, "Tuner"]
    assert [name for name in names if f"manifolia.{name}`" not in described] == []
    contents = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")
    assert [page.stem for page in METHODS if f"\n{page.stem}\n" not in contents] == []


# --- examples in docstrings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in load("run_pages").modules_with_examples()
    ],
)
def test_examples_in_docstrings_run(name, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")  # a test opens no window
    assert load("run_pages").run_docstrings(name) > 0


def test_an_example_that_gives_something_else_is_told(tmp_path, monkeypatch):
    (tmp_path / "example_that_lies.py").write_text('"""One.\n\n>>> 1 + 1\n3\n"""\n')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AssertionError, match=r"Expected:\n    3\nGot:\n    2"):
        load("run_pages").run_docstrings("example_that_lies")


def test_no_example_of_a_page_is_passed_over():
    pages = load("run_pages")
    assert {ROOT / "README.md", DOCS / "getting-started.md", DOCS / "methods" / "phate.md"} <= set(pages.PAGES)
    fences = {
        fence
        for page in pages.PAGES
        for fence in re.findall(r"^```([^\s`]+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    # Python and shell are run, and text and commands for Windows cannot be; "py" or "pycon" would not be seen.
    assert {fence for fence in fences if not fence.startswith("{")} <= {"python", "shell", "bat", "text"}
    for page in pages.PAGES:
        text = page.read_text(encoding="utf-8")
        n_python = len(re.findall(r"^```python$", text, flags=re.MULTILINE))
        n_left_out = len(re.findall(r"^<!-- not run: [^>]+-->\n+```python$", text, flags=re.MULTILINE))
        n_given = len(re.findall(r"^<!-- given:$", text, flags=re.MULTILINE))
        run = [block for block in pages.blocks(text) if block.language == "python"]
        assert len(run) == n_python - n_left_out + n_given, page.name


# --- commands on pages -----------------------------------------------------------------------------------------------


def test_commands_of_a_shell_block():
    pages = load("run_pages")
    code = "make demo   # not ours\nmanifolia map data.csv --sep ';' -o run  # ours\n"
    assert pages.commands(code) == [["map", "data.csv", "--sep", ";", "-o", "run"]]
    text = f"```shell\n{code}```\n\n```shell\nmake test\n```\n"
    assert pages.blocks(text) == [(2, "shell", code)]


def test_a_command_that_fails_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match=r"manifolia info nowhere ended with 1: .*nowhere"):
        load("run_pages").run_commands("manifolia info nowhere\n")
