"""A browser for the tests of the page; what a page must never do is checked after each.

With MANIFOLIA_SCREENSHOTS set to a folder, every page is photographed as its test left it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manifolia.explorer import Payload, write_page

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
READING = ("willReadFrequently", "GPU stall due to ReadPixels")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def show(browser, tmp_path, request) -> Iterator[Any]:
    """Return a function that opens a payload; at the end the pages must have asked for nothing and not complained."""
    opened = []

    def open_page(
        payload: Payload,
        *,
        query: str = "",
        dark: bool = False,
        width: int = 1200,
        height: int = 900,
        **options: Any,
    ) -> Any:
        path = write_page(payload, tmp_path / f"page{len(opened)}.html")
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        context.set_default_timeout(60_000)  # a busy machine is slow, not wrong
        page = context.new_page()
        heard: list[str] = []
        page.on("request", lambda request: heard.append(f"request {request.url}"))
        page.on("console", lambda message: heard.append(f"{message.type} {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error {error}"))
        opened.append((context, path.as_uri() + query.partition("#")[0], heard))
        page.goto(path.as_uri() + query)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    folder = os.environ.get("MANIFOLIA_SCREENSHOTS")
    for i, (context, address, heard) in enumerate(opened):
        if folder:
            name = re.sub(r"\W+", "_", request.node.name).strip("_")
            context.pages[0].screenshot(path=Path(folder) / f"{name}_{i}.png")
        context.close()
        # What browsers say of canvases that are read is meant for these tests: the page reads none.
        assert [line for line in heard if not any(word in line for word in READING)] == [f"request {address}"]
