"""Fail if a page of the built site would load something from the network: ``python docs/check_offline.py FOLDER``.

Looked at: what a page loads by itself (scripts, style sheets, fonts, pictures, frames, preconnections), what style
sheets load (``url(...)``, ``@import``), and scripts that load from a written-out address. Links that a reader may click
are no loads. Local files that a page loads must exist.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes by which an element loads something on its own.
LOADS = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
#: Relations of ``<link>`` that a browser follows by itself; others, such as ``canonical``, are words about the page.
FOLLOWED = {"dns-prefetch", "icon", "manifest", "modulepreload", "preconnect", "prefetch", "preload", "stylesheet"}
IN_STYLE = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])([^'")\s]+)""", re.IGNORECASE)
IN_SCRIPT = re.compile(
    r"""(?:\bfetch|\bimport|\bimportScripts|new\s+(?:Shared)?Worker|new\s+WebSocket|new\s+EventSource)\s*\(\s*"""
    r"""['"`]((?:https?:|wss?:)?//[^'"`]+)""",
)


class Loads(HTMLParser):
    """Collect what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        for name in LOADS.get(tag, ()):
            if name == "srcset":
                self.found += [part.split()[0] for part in values.get(name, "").split(",") if part.strip()]
            elif values.get(name):
                self.found.append(values[name])
        if tag == "link" and FOLLOWED & set(values.get("rel", "").lower().split()):
            self.found.append(values.get("href", ""))
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.found += re.findall(r"url=(\S+)", values.get("content", ""), re.IGNORECASE)
        self.found += IN_STYLE.findall(values.get("style", ""))
        self.inside = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "style":
            self.found += IN_STYLE.findall(data)
        elif self.inside == "script":
            self.found += IN_SCRIPT.findall(data)


def is_remote(address: str) -> bool:
    """Whether an address leads away from the site's own files."""
    parts = urlsplit(address.strip())
    return parts.scheme not in ("", "data", "blob", "about", "javascript") or bool(parts.netloc)


def loads_of(path: Path) -> list[str]:
    """What a file of the site loads."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".html":
        page = Loads()
        page.feed(text)
        return page.found
    if path.suffix == ".css":
        return IN_STYLE.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return IN_SCRIPT.findall(text)


def is_template(path: Path, site: Path) -> bool:
    """Whether a file only has the looks of a page: themes leave templates among the static files."""
    return path.suffix == ".html" and path.relative_to(site).parts[0] == "_static"


def problems(site: Path) -> list[str]:
    """Every load from the network, and every local file that is asked for and missing."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix not in (".html", ".css", ".js", ".mjs") or is_template(path, site):
            continue
        for address in loads_of(path):
            where = path.relative_to(site)
            if is_remote(address):
                found.append(f"{where} loads {address}")
            elif path.suffix == ".html" and not urlsplit(address).scheme and urlsplit(address).path:
                local = unquote(urlsplit(address).path)
                if not (site / local[1:] if local.startswith("/") else path.parent / local).exists():
                    found.append(f"{where} asks for {address}, which is not there")
    return found


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(f"usage: python docs/check_offline.py FOLDER_OF_THE_BUILT_SITE (got {arguments})", file=sys.stderr)
        return 2
    site = Path(arguments[0])
    n_pages = sum(not is_template(path, site) for path in site.rglob("*.html"))
    if n_pages == 0:
        print(f"{site} has no pages; build the site first", file=sys.stderr)
        return 2
    found = problems(site)
    for problem in found:
        print(problem, file=sys.stderr)
    print(
        f"{n_pages} pages: " + (f"{len(found)} loads that need the network or a file" if found else "no network needed")
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
