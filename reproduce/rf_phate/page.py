"""The head of the RF-PHATE paper's page: the sum over its parts, which several scripts write to pages of their own.

Every such script calls `refresh` when its page is written, so that the head is true whichever ran last.
"""

from __future__ import annotations

from reproduce._shared import tallies

BEGIN, END = "<!-- parts: written by reproduce/rf_phate/page.py -->", "<!-- end of parts -->"

#: Name of the page, and what of the paper it has. The first is the paper's page itself.
PARTS = {
    "rf-phate": "Tables 3 to 7 and 9, RF-PHATE's own column beside the paper's; Fig. 1, 2, 3, 5 and 6",
    "baselines": "Tables 1 to 7 and 9, RF-PHATE's rank among seven methods; Table 10",
    "rf-phate-robustness": "Table 8; Fig. 7 and 8; the number of trees",
    "forest-family": "Fig. 9",
    "rf-phate-defaults": "our defaults, each varied alone (not in the paper)",
}


def _row(name, what, page):
    """One line of the table of parts, its count, and the targets that the page names."""
    link = "this page" if name == "rf-phate" else f"[{name}]({name}.md)"
    if page is None:
        return f"| {what} | not run here | | | |", None, []
    count = tallies.counted(page)
    targets = [line for line in page.splitlines() if line.startswith("Target")]
    cells = " | ".join("–" if count is None else str(number) for number in count or (None,) * 3)
    return f"| {what} | {link} | {cells} |", count, targets


def head(pages):
    """The lines between title and stamp: the sum, the parts, the targets. ``pages`` are texts by name, or None."""
    rows, counts, targets = [], [], []
    for name, what in PARTS.items():
        row, count, found = _row(name, what, pages.get(name))
        rows.append(row)
        targets += found
        counts += [] if count is None else [count]
    total = tallies.added(*counts)
    return [
        f"{tallies.tally(total)} of the {sum(total)} cells that are counted, all parts together",
        "",
        BEGIN,
        "",
        "| part of the paper | page | won | tied | lost |",
        "|---|---|---|---|---|",
        *rows,
        "",
        *[f"* {line}" for line in targets],
        *([""] if targets else []),
        END,
    ]


def refresh(folder):
    """Write the head of the paper's page in a folder again, if the page is there."""
    path = folder / "rf-phate.md"
    if not path.exists():
        return
    title, _, rest = path.read_text(encoding="utf-8").partition("\n")
    own = (rest.partition(END)[2] if END in rest else rest).lstrip("\n")
    pages = {"rf-phate": own}
    for name in PARTS:
        page = folder / f"{name}.md"
        if name not in pages:
            pages[name] = page.read_text(encoding="utf-8") if page.exists() else None
    path.write_text("\n".join([title, "", *head(pages), "", own]), encoding="utf-8")
