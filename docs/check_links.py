"""Fail if a link inside the built site leads nowhere: ``python docs/check_links.py FOLDER``.

Every ``<a href>`` to a page of the site must lead to a file that is there, and its fragment to an element with that
name. Links to other sites are listed, not followed: the check works with the network off.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collect the links of a page, and the names that links may lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.names |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


def read(path: Path) -> Page:
    """Read a page.

    Parameters
    ----------
    path : Path
        An HTML file.

    Returns
    -------
    Page
        Its links and names.
    """
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def problems(site: Path) -> tuple[list[str], int]:
    """Follow all links inside a site.

    Parameters
    ----------
    site : Path
        Its folder.

    Returns
    -------
    list of str, int
        Links that lead nowhere, in sentences, and how many were followed.
    """
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    found, followed = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            where = path.relative_to(site.resolve())
            if not target.exists():
                found.append(f"{where}: {link} leads to no file.")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                found.append(f"{where}: {link} leads to no such place on the page.")
    return found, followed


def main() -> int:
    """Check the folder named on the command line.

    Returns
    -------
    int
        0, or 1 if a link leads nowhere.
    """
    site = Path(sys.argv[1])
    found, followed = problems(site)
    for sentence in sorted(set(found)):
        sys.stderr.write(sentence + "\n")
    sys.stdout.write(f"{site}: {followed:,} links inside the site, {len(found)} of them lead nowhere.\n")
    return int(bool(found) or not followed)


if __name__ == "__main__":
    sys.exit(main())
