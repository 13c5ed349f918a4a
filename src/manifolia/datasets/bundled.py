"""scikit-learn's bundled sets, with columns and classes that can be read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from manifolia.datasets.catalogue import KnownSet

if TYPE_CHECKING:
    import pandas as pd


_ORIGIN = "bundled with scikit-learn"

#: Name to what is known about it. scikit-learn calls a single target column "target"; here it has a name.
BUNDLED: Mapping[str, KnownSet] = {
    "breast_cancer": KnownSet(
        "Cell nuclei of breast masses, 30 measurements; 212 malignant and 357 benign.",
        f"UCI Breast Cancer Wisconsin (Diagnostic), {_ORIGIN}",
        "CC BY 4.0 (UCI)",
        569,
        target=("diagnosis",),
    ),
    "diabetes": KnownSet(
        "Diabetes patients, ten variables and the progression of the disease after a year. Values are in their "
        "own units, not centred and scaled as scikit-learn gives them by default.",
        f"Efron, Hastie, Johnstone and Tibshirani (2004), {_ORIGIN}",
        "not stated",
        442,
        task="regression",
        target=("progression",),
    ),
    "digits": KnownSet(
        "Handwritten digits as counts from 0 to 16 in 8 × 8 blocks; the test part of UCI's optical digits.",
        f"UCI Optical Recognition of Handwritten Digits, {_ORIGIN}",
        "CC BY 4.0 (UCI)",
        1797,
        target=("digit",),
        image_shape=(8, 8),
    ),
    "iris": KnownSet(
        "Fisher's Iris: four measurements of flowers of three species.",
        f"Fisher (1936), {_ORIGIN}",
        "CC BY 4.0 (UCI)",
        150,
        target=("species",),
    ),
    "linnerud": KnownSet(
        "Men at a fitness club, three exercises as features and three body measures as targets.",
        f"A. C. Linnerud, {_ORIGIN}",
        "not stated",
        20,
        task="regression",
        target=("Weight", "Waist", "Pulse"),
    ),
    "wine": KnownSet(
        "Chemical analysis of wines of three cultivars, class_0 to class_2.",
        f"UCI Wine, {_ORIGIN}",
        "CC BY 4.0 (UCI)",
        178,
        target=("cultivar",),
    ),
}


def read_bundled(name: str) -> tuple[pd.DataFrame, dict[Hashable, str] | None]:
    """Read a bundled set as one table, its classes as text."""
    from sklearn import datasets

    known = BUNDLED[name]
    options: dict[str, Any] = {"scaled": False} if name == "diabetes" else {}
    raw = getattr(datasets, f"load_{name}")(as_frame=True, **options)
    frame: pd.DataFrame = raw.frame.rename(columns={"target": known.target[0]})
    if known.task != "classification":
        return frame, None
    names = raw.target_names.tolist()
    if isinstance(names[0], str):
        column = known.target[0]
        frame[column] = raw.target_names.astype(object)[frame[column].to_numpy()]
    return frame, {value: str(value) for value in names}
