"""Tables that no default of manifolia was chosen on: they judge a choice, once, after it was made on other data.

A table leaves this list as soon as a default, a threshold or a rule is chosen with its results in sight. Not on it:

* the sets of the papers on which defaults were chosen: Titanic, Sonar, German credit, Ames, optdigits (RF-PHATE, see
  ``rf_phate/defaults.py``), letter, USPS and MNIST (kernel t-SNE, see ``kernel_tsne/run.py``), Fashion-MNIST, COIL-20
  and PBMC 3k (FeatureMAP);
* the others that RF-PHATE's defaults were varied on: wine, ionosphere, glass, vehicle, Pima diabetes, the diabetes and
  breast cancer sets that come with scikit-learn, heart_cleveland. `breast_cancer_wisconsin_diagnostic` is the latter
  once more;
* iris, which every test uses.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from sklearn.utils import Bunch

from manifolia import datasets


class Untouched(NamedTuple):
    """A table and why it may judge."""

    name: str
    reason: str


_KEPT_APART = "kept apart from the start, in the folder untouched of the data home"
_BLIND = "first looked at when every default of RF-PHATE was fixed, and nothing was changed after (its blind sets)"
_PAPER = "used only to repeat Vens and Costa's tables with the settings of their paper"

UNTOUCHED = (
    *(
        Untouched(name, _KEPT_APART)
        for name in (
            "pendigits",
            "satimage",
            "segment",
            "vowel",
            "splice",
            "spambase",
            "led7digit",
            "contraceptive",
        )
    ),
    *(
        Untouched(name, _BLIND)
        for name in (
            "ecoli",
            "blood_transfusion",
            "mammographic_mass",
            "spectf_heart",
            "haberman",
            "hepatitis",
            "credit_approval",
        )
    ),
    *(
        Untouched(name, _PAPER)
        for name in (
            "breast_cancer_wisconsin_original",
            "breast_cancer_wisconsin_prognostic",
            "cylinder_bands",
            "arcene",
        )
    ),
)


def untouched(data_home: str | os.PathLike[str] | None = None) -> Iterator[tuple[Untouched, Bunch]]:
    """Load the tables one after the other; what the data home does not hold is left out."""
    here = set(datasets.available(data_home))
    for table in UNTOUCHED:
        if table.name in here:
            yield table, datasets.load(table.name, data_home=data_home)
