"""The files round the code: what cites, builds, checks and releases the project says what the project is."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import manifolia
from manifolia._core import installed

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read_yaml(path):
    yaml = pytest.importorskip("yaml", reason="PyYAML reads these files")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_citation_names_this_version_and_every_paper():
    citation = read_yaml(ROOT / "CITATION.cff")
    assert citation["version"] == manifolia.__version__
    assert citation["license"] == PROJECT["license"]
    named = " ".join(paper["notes"] for paper in citation["references"])
    for method in ("RFPHATE", "ForestFeatures", "KernelTSNE", "FisherKernelTSNE", "FeatureMAP", "Tuner"):
        assert f"manifolia.{method}" in named
        assert hasattr(manifolia, method)
    assert all(paper["authors"] and paper["title"] and paper["year"] for paper in citation["references"])


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = read_yaml(ROOT / "conda" / "recipe.yaml")
    assert recipe["context"]["version"] == manifolia.__version__
    asked = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert asked == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry.replace(" ", "") == f"manifolia={PROJECT['scripts']['manifolia']}"


def commands():
    """Yield what workflows run: file and command."""
    for path in WORKFLOWS:
        for job in read_yaml(path)["jobs"].values():
            kinds = job.get("strategy", {}).get("matrix", {}).get("include", [])
            for step in job["steps"]:
                if "run" in step:
                    written = [kind["command"] for kind in kinds if "matrix.command" in step["run"]] or [step["run"]]
                    yield from ((path.name, command) for command in written)


def test_workflows_run_what_is_there():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    seen = list(commands())
    assert {name for name, _ in seen} == {path.name for path in WORKFLOWS}
    for name, command in seen:
        words = command.split()
        if words[0] == "make":
            assert words[1] in targets, (name, command)
        elif words[0].startswith("tools/"):
            assert (ROOT / words[0]).stat().st_mode & 0o111, (name, command)
        else:
            assert words[0] == "python", (name, command)
            assert words[1] == "-m" or (ROOT / words[1]).is_file(), (name, command)


def test_workflows_cover_the_pythons_that_the_package_names():
    tested = read_yaml(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    assert tested == named
    assert PROJECT["requires-python"] == f">={tested[0]}"


def test_the_version_switcher_knows_this_version():
    versions = json.loads((ROOT / "docs" / "_static" / "switcher.json").read_text(encoding="utf-8"))
    shown = "dev" if "dev" in manifolia.__version__ else manifolia.__version__
    assert shown in {version["version"] for version in versions}
    assert sum(version.get("preferred", False) for version in versions) == 1


def test_no_workflow_may_write_and_only_publishing_gets_a_token():
    for path in WORKFLOWS:
        workflow = read_yaml(path)
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for job in workflow["jobs"].values():
            deploys = {"pages": "write"} if path.name == "pages.yml" else {}
            assert job.get("permissions", {}) in ({}, {"id-token": "write", **deploys})
            assert "environment" in job or "permissions" not in job


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip

    def commit(**files):
        for name, text in files.items():
            path = tmp_path / {"code": "src/manifolia/a.py", "log": "CHANGELOG.md", "test": "tests/test_a.py"}[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git("add", "-A")
        git("commit", "-m", "x")

    git("init", "-b", "main")
    commit(code="1", log="# Changes\n", test="1")
    git("branch", "base")
    return tmp_path, commit


@pytest.mark.process
def test_a_change_of_the_code_needs_a_line_in_the_changelog(repository, capsys):
    folder, commit = repository
    check = tool("check_changelog").main
    commit(test="2")
    assert check("base", folder) == 0
    commit(code="2")
    assert check("base", folder) == 1
    assert "CHANGELOG.md gets no line" in capsys.readouterr().err
    commit(log="# Changes\n- a line\n")
    assert check("base", folder) == 0
    commit(log="")
    assert check("base", folder) == 1  # a line that is taken away tells nothing


def test_a_release_is_checked(tmp_path):
    faults = tool("check_release").faults
    (tmp_path / "src" / "manifolia").mkdir(parents=True)
    (tmp_path / "src" / "manifolia" / "_version.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0 (2027-01-01)\n")
    dist = tmp_path / "dist"
    dist.mkdir()
    for name in ("manifolia-1.2.0.tar.gz", "manifolia-1.2.0-py3-none-any.whl"):
        (dist / name).touch()
    assert faults("v1.2.0", dist, tmp_path) == []
    assert faults("1.2.0", dist, tmp_path) == ["the tag is 1.2.0, and the package is version 1.2.0"]
    (dist / "manifolia-1.2.0.tar.gz").unlink()
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n")
    (tmp_path / "CITATION.cff").write_text("version: 1.1.0\n")
    assert [told.split(" ")[0] for told in faults("v1.2.0", dist, tmp_path)] == [
        "CITATION.cff",
        "CHANGELOG.md",
        str(dist),
    ]


def test_versions_are_shown(capsys):
    manifolia.show_versions()
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"manifolia {manifolia.__version__}"
    for name, version in installed.versions().items():
        if name != "manifolia":
            assert f"  {name:14s} {version}" in shown
    assert any(line.split()[:1] == ["parquet"] for line in shown)


def test_every_line_of_the_scverse_checklist_is_answered_by_a_file():
    text = (ROOT / "docs" / "development" / "scverse-checklist.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(lines) == 11
    for line in lines:
        files = re.findall(r"`([^`]+)`", line.rstrip(" |").rsplit("|", 1)[1])
        assert files, line
        assert [name for name in files if not (ROOT / name).is_file()] == [], line


def test_the_pages_workflow_and_the_sitemap_name_a_place():
    text = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    (workflow,) = (path for path in WORKFLOWS if path.name == "pages.yml")
    assert "MANIFOLIA_DOCS_URL" in text
    assert "MANIFOLIA_DOCS_URL" in workflow.read_text(encoding="utf-8")
    assert "sitemap.xml" in text


def test_a_package_that_makes_no_page_is_no_release(tmp_path, capsys):
    assert tool("try_dist").main(tmp_path, ["python"]) == 1
    assert "holds 0 packages" in capsys.readouterr().err
