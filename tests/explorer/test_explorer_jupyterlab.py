"""JupyterLab from end to end: a cell shows the map, a selection made in it is read by the next cell."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time

import pytest

CELLS = [
    """import numpy as np
from manifolia.explorer import Explorer, build_payload
explorer = Explorer(build_payload(np.random.default_rng(0).normal(size=(50, 2)), {"a": np.arange(50)}), height=400)
explorer""",
    "print('selected', explorer.selection.tolist(), explorer.color_by)",
]


@pytest.fixture
def lab(tmp_path):
    for name in ("jupyterlab", "anywidget"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    cells = [
        {"cell_type": "code", "id": f"c{i}", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for i, text in enumerate(CELLS)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "map.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = os.environ | {name: str(tmp_path / name) for name in folders}
    options = ["--no-browser", f"--port={port}", "--IdentityProvider.token=abc", f"--ServerApp.root_dir={tmp_path}"]
    with (tmp_path / "lab.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--allow-root", *options],
            env=environment, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            for _ in range(240):
                if server.poll() is not None:
                    break
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        yield f"http://127.0.0.1:{port}/lab/tree/map.ipynb?token=abc"
                        return
                time.sleep(0.25)
            pytest.fail(f"JupyterLab did not start:\n{(tmp_path / 'lab.log').read_text()[-2000:]}")
        finally:
            server.terminate()
            server.wait(20)


@pytest.mark.slow
def test_a_selection_in_jupyterlab_is_read_in_python(browser, lab):
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(120_000)
    page.goto(lab)
    first = page.locator(".jp-CodeCell").first
    first.locator(".cm-content").click()
    page.locator('[data-status="idle"], .jp-Notebook-ExecutionIndicator[data-status="idle"]').first.wait_for(
        state="attached"
    )
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea iframe").first.wait_for()
    frame = page.frame_locator(".jp-OutputArea iframe").first
    frame.locator("html[data-ready]").wait_for(state="attached")
    inner = next(one for one in page.frames if one.evaluate("() => typeof manifolia") == "object")
    rows = inner.evaluate(
        """() => {
            manifolia.store.set({ selection: Int32Array.of(3, 4, 5) });
            return [3, 4, 5].map((point) => manifolia.data.rowNumber(point)).sort((a, b) => a - b);
        }"""
    )
    page.wait_for_timeout(2000)
    page.locator(".jp-CodeCell").nth(1).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    said = page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea-output")
    said.wait_for()
    found = re.search(r"selected \[(.*)\] a", said.inner_text())
    assert found, said.inner_text()
    assert [int(text) for text in found.group(1).split(",")] == rows
    page.close()
