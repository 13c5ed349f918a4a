"""What tests of pictures share: a fitted model, and axes that need no pyplot."""

from __future__ import annotations

import pandas as pd
import pytest

from manifolia import FeatureMAP
from show.sheets import NAMES, sheet


@pytest.fixture(scope="session")
def model():
    X = pd.DataFrame(sheet(), columns=NAMES)
    return FeatureMAP(layout="edges", n_epochs=100, density_weight=0.0, random_state=0).fit(X)


@pytest.fixture
def ax():
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(5, 5), layout="constrained")
    return figure.subplots()
