"""The order of the gallery: plot_2 comes before plot_10."""

from __future__ import annotations

import re


class ByNumber:
    """Sort examples by the number in their file's name.

    Parameters
    ----------
    folder : str
        Of the examples; the order does not depend on it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Return what to sort by.

        Parameters
        ----------
        name : str
            Of the file, such as ``plot_2_honesty.py``.

        Returns
        -------
        tuple of (int, str)
            Its number, then its name.
        """
        found = re.match(r"plot_(\d+)_", name)
        return (int(found[1]) if found else 0), name
