"""The page as a file: complete in itself, the same every time, and nothing in the data can leave its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from explorer.pages import parse, read_page
from manifolia.explorer import Payload, build_payload, page_html, write_page

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "manifolia" / "explorer" / "static"
FRONTEND = ROOT / "frontend"

HOSTILE = [
    "</script><b>x",
    "<!-- <script>",
    "<img src=x onerror=alert(1)>",
    "\"double\" & 'single'",
    "]]>",
    "\u2028\u2029\x00\x1b",
    "🦜",
    "مرحبا",
    "long " * 300,
    "\ud800",  # half of a pair, as a broken encoding leaves it
    "__proto__",
    "{{7*7}} ${7*7}",
]


def hostile_payload() -> Payload:
    n = len(HOSTILE)
    columns: dict[str, object] = {name: np.arange(n) for name in HOSTILE}
    columns["label"] = HOSTILE
    return build_payload(
        np.c_[np.arange(n), np.zeros(n)],
        columns,
        title=HOSTILE[0],
        subtitle=HOSTILE[2],
        kinds={"label": "class"},
        row_names=HOSTILE,
        notes=HOSTILE,
        findings=HOSTILE,
        importances=dict.fromkeys(HOSTILE, 1.0),
        color_by="label",
    )


def test_the_same_payload_gives_the_same_bytes(tmp_path, rng):
    Y, columns = rng.normal(size=(300, 2)), {"a": rng.normal(size=300), "b": rng.choice(["x", "y"], 300)}
    first = write_page(build_payload(Y, columns), tmp_path / "one.html").read_bytes()
    second = write_page(build_payload(Y, columns), tmp_path / "two.html").read_bytes()
    assert first == second
    saved = build_payload(Y, columns).save(tmp_path / "p.npz")
    assert page_html(Payload.load(saved)).encode() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "p.npz", "two.html"]


def test_the_policy_allows_our_script_and_style_and_nothing_else(tmp_path):
    found = parse(write_page(build_payload(np.eye(2)), tmp_path / "page.html"))
    (policy,) = [a["content"] for tag, a in found.elements if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    (script,), (style,) = found.scripts, found.styles
    assert script == (STATIC / "explorer.js").read_text(encoding="utf-8")
    assert rules == {
        "default-src": "'none'",
        "script-src": digest(script),
        "style-src": digest(style),
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    # The policy comes before anything that it is to stop.
    tags = [tag for tag, _ in found.elements]
    assert tags.index("meta") < tags.index("style") < tags.index("script")


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    path = write_page(hostile_payload(), tmp_path / "page.html")
    found = parse(path)
    for tag, attributes in found.elements:
        assert tag in {"html", "head", "meta", "title", "style", "body", "div", "p", "noscript", "script"}
        assert not attributes.keys() & {"src", "href", "style", "srcset", "action"}, (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert set(re.findall(r"https?://[^\"'`\s]*", found.scripts[0])) == {"http://www.w3.org/2000/svg"}  # a name
    assert not re.search(r"url\(|@import", found.styles[0])


def test_hostile_text_stays_in_its_place(tmp_path):
    payload = hostile_payload()
    path = write_page(payload, tmp_path / "page.html")
    found = parse(path)
    wanted = [tag for tag, _ in parse(write_page(build_payload(np.eye(2)), tmp_path / "plain.html")).elements]
    n_more = len(payload.arrays) - 3
    assert [tag for tag, _ in found.elements] == wanted[:-1] + ["script"] * n_more + wanted[-1:]
    assert found.inside["title"] == HOSTILE[0]
    meta, _ = read_page(path)
    assert meta == json.loads(json.dumps(payload.meta))
    assert "<" not in found.inside["meta"]
    assert [finding["text"] for finding in meta["findings"]] == HOSTILE


def test_the_script_is_small_and_makes_no_markup():
    script = (STATIC / "explorer.js").read_text(encoding="utf-8")
    # Every page carries the script, and every change of it stays in the history of the repository.
    assert len(script.encode()) < 152_000
    assert "</script" not in script.lower()
    assert "<!--" not in script
    assert script.isascii()
    assert (STATIC / "explorer.css").read_text(encoding="utf-8").isascii()
    sources = list((FRONTEND / "src").rglob("*.ts"))
    assert len(sources) > 15
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    request = r"\bfetch\(|XMLHttpRequest|EventSource|WebSocket|sendBeacon"
    for text in [script, *(path.read_text(encoding="utf-8") for path in sources)]:
        assert not re.search(markup, text)
    # What talks to a server is in one module, and not in the script of a file.
    talking = [path.name for path in sources if re.search(request, path.read_text(encoding="utf-8"))]
    assert talking == ["live.ts"]
    assert not re.search(request, script)
    assert len((STATIC / "live.js").read_bytes()) < 135_000


def test_the_build_needs_nothing_at_run_time():
    package = json.loads((FRONTEND / "package.json").read_text(encoding="utf-8"))
    assert package["private"] is True
    assert "dependencies" not in package
    assert set(package["devDependencies"]) == {"esbuild", "prettier", "typescript"}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["devDependencies"].values())
    lock = (FRONTEND / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock  # no address of a registry
    assert "http" not in lock


def test_the_committed_bundle_is_what_the_sources_build(tmp_path):
    if not shutil.which("node") or not (FRONTEND / "node_modules" / "esbuild").is_dir():
        pytest.skip("Node or frontend/node_modules is not there: run `make frontend` to compare the bundle")
    subprocess.run(
        ["node", "build.mjs", "--outdir", str(tmp_path)], cwd=FRONTEND, check=True, capture_output=True, timeout=60
    )
    for name in ("explorer.js", "explorer.css", "live.js", "widget.js"):
        fresh, committed = (tmp_path / name).read_bytes(), (STATIC / name).read_bytes()
        assert fresh == committed, f"{name} is not what frontend/ builds: run `make frontend` and commit it"


def test_the_sources_of_the_page_are_formatted():
    prettier = FRONTEND / "node_modules" / "prettier" / "bin" / "prettier.cjs"
    if not shutil.which("node") or not prettier.is_file():
        pytest.skip("Node or frontend/node_modules is not there: run `make frontend` to check the format")
    done = subprocess.run(
        ["node", str(prettier), "--check", "."], cwd=FRONTEND, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr + "run `npm run format` in frontend/"


def test_a_failed_write_leaves_the_old_page(tmp_path, monkeypatch):
    path = write_page(build_payload(np.eye(2)), tmp_path / "page.html")
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_page(build_payload(np.eye(3)), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
