"""Pictures of outliers, prototypes, evidence and filled gaps: what is drawn, not its pixels."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from manifolia.forest.tools import Imputed, outlier_scores
from manifolia.show import EvidenceDisplay, ImputationDisplay, OutlierDisplay, PrototypeDisplay


@pytest.fixture
def K():
    near = np.full((40, 40), 0.02)
    near[:20, :20] = near[20:, 20:] = 0.6
    near[3, :] = near[:, 3] = 0.001  # unlike its class
    return near


LABELS = np.repeat(["a", "b"], 20)


def test_outliers_are_named_and_the_limit_is_drawn(K):
    display = OutlierDisplay.from_matrix(K, LABELS)
    np.testing.assert_array_equal(display.scores, outlier_scores(K, LABELS))
    ax = Figure().subplots()
    assert display.plot(ax) is display
    assert display.named_ == [3]
    assert [text.get_text() for text in ax.texts] == ["3"]
    assert ax.lines[0].get_ydata()[0] == 10.0
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b"]
    drawn = np.concatenate([c.get_offsets()[:, 1] for c in ax.collections if len(c.get_offsets())])
    assert len(drawn) == 40


def test_prototypes_show_the_features_that_differ(K):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X[20:, 2] += 5
    display = PrototypeDisplay.from_matrix(K, X, LABELS, feature_names=list("pqrst"), top=2)
    assert 2 in display.features
    ax = Figure().subplots()
    display.plot(ax, theme="dark")
    assert [text.get_text() for text in ax.get_yticklabels()] == [list("pqrst")[f] for f in display.features]
    assert "3 more features" in ax.get_xlabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_evidence_draws_a_line_to_each_row_that_speaks(K):
    Y = np.random.default_rng(0).normal(size=(40, 2))
    labels = LABELS.astype(object)
    labels[0] = None
    display = EvidenceDisplay.from_matrix(K, Y, labels, 5, n_neighbors=3)
    assert display.found.rows.tolist() == [[1, 2, 4]]
    ax = Figure().subplots()
    display.plot(ax)
    assert len(ax.lines) == 3
    for line, other in zip(ax.lines, (1, 2, 4), strict=True):
        np.testing.assert_allclose(line.get_xydata(), Y[[5, other]])
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[0].startswith("a: 9")
    assert words[-1] == "row 5"
    new = EvidenceDisplay.from_matrix(K[:2], Y, labels, 1, places=[[9.0, 9.0], [8.0, 8.0]])
    assert new.spot.tolist() == [8.0, 8.0]


def test_filled_values_stand_beside_known_ones():
    X = np.arange(24.0).reshape(8, 3)
    missing = np.zeros((8, 3), dtype=bool)
    missing[:2, 1] = missing[0, 2] = True
    display = ImputationDisplay.from_imputed(Imputed(X, missing, np.array([0.5, 0.02])), feature_names=list("uvw"))
    assert display.names == ["v", "w"]
    ax = Figure().subplots()
    display.plot(ax)
    assert [len(c.get_offsets()) for c in ax.collections] == [6, 2, 7, 1]
    assert "2 rounds; last change 0.02" in ax.get_xlabel()
    with pytest.raises(ValueError, match="nothing was missing"):
        ImputationDisplay.from_imputed(Imputed(X, np.zeros((8, 3), dtype=bool), np.zeros(0)))
