"""Lines of the pages: tables, pictures, and figures with their spread."""

from __future__ import annotations

import numpy as np


def line(*cells):
    """One line of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(*cells):
    """The first two lines of a table."""
    return [line(*cells), "|---" * len(cells) + "|"]


def table(names, rows):
    """A table, without empty lines around it."""
    return [*head(*names), *(line(*row) for row in rows)]


def picture(paper, text, name):
    """A picture of a paper's folder."""
    return ["", f"![{text}](images/{paper}/{name}.png)"]


def spread(found, digits):
    """Mean and standard deviation over seeds as text."""
    text = f"{round(float(np.mean(found)), digits) + 0.0:.{digits}f}"  # + 0.0: no minus before zero
    return f"{text} ± {np.std(found, ddof=1):.{digits}f}" if len(found) > 1 else text
