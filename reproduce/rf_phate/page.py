"""The parts of the RF-PHATE paper, which several scripts write to pages of their own."""

from __future__ import annotations

#: Name of the page, and what of the paper it has. The first is the paper's page itself.
PARTS = {
    "rf-phate": "Tables 3 to 7 and 9, RF-PHATE's own column beside the paper's; Fig. 1 to 6: counted",
    "baselines": "Tables 1 to 7 and 9, RF-PHATE's rank among seven methods; Table 10: not counted",
    "rf-phate-robustness": "Table 8, names of variables; Fig. 7 and 8; the number of trees: not counted",
    "forest-family": "Fig. 9, pictures",
    "rf-phate-defaults": "our defaults, each varied alone (not in the paper)",
}


def parts():
    """The table of parts."""
    lines = ["| part of the paper | page |", "|---|---|"]
    for name, what in PARTS.items():
        lines.append(f"| {what} | {'this page' if name == 'rf-phate' else f'[{name}]({name}.md)'} |")
    return lines
