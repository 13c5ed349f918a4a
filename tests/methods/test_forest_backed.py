"""Forest maps as predictors: the guide's answers, or the forest's, each row alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV

import manifolia as mf

X, y = load_wine(return_X_y=True)
NAMES = np.array(["Barolo", "Grignolino", "Barbera"])
FIT, NEW = slice(0, None, 2), slice(1, None, 2)
MAPS = {
    "guided by a model": lambda **more: mf.GuidedMap(n_trees=30, guide="lda", random_state=0, **more),
    "guided by a user's": lambda **more: mf.GuidedMap(
        n_trees=30, guide=LinearDiscriminantAnalysis(), random_state=0, **more
    ),
    "guided by the forest": lambda **more: mf.GuidedMap(n_trees=30, random_state=0, **more),
    "rf-phate": lambda **more: mf.RFPHATE(n_trees=30, random_state=0, **more),
    "forest map": lambda **more: mf.ForestMap(n_trees=30, random_state=0, **more),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_predicts_rows_each_alone(name):
    model = MAPS[name]().fit(X[FIT], NAMES[y[FIT]])
    assert model.classes_.tolist() == sorted(NAMES)
    shares, said = model.predict_proba(X[NEW]), model.predict(X[NEW])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (model.classes_[shares.argmax(axis=1)] == said).all()
    assert (said == NAMES[y[NEW]]).mean() > 0.9
    alone = [(model.predict_proba(row[np.newaxis]), model.predict(row[np.newaxis])) for row in X[NEW]]
    assert np.concatenate([one for one, _ in alone]).tobytes() == shares.tobytes()
    assert (np.concatenate([one for _, one in alone]) == said).all()


def test_the_forest_answers_as_scikit_learn_does():
    model = MAPS["rf-phate"]().fit(X[FIT], y[FIT])
    np.testing.assert_allclose(model.predict_proba(X[NEW]), model.forest_.predict_proba(X[NEW]), rtol=1e-12)
    assert (model.predict(X[NEW]) == model.forest_.predict(X[NEW])).all()


def test_the_guide_answers_where_there_is_one():
    model = MAPS["guided by a user's"]().fit(X[FIT], y[FIT])
    own = LinearDiscriminantAnalysis().fit(X[FIT], y[FIT])
    np.testing.assert_allclose(model.predict_proba(X[NEW]), own.predict_proba(X[NEW]), atol=1e-9)


def test_numbers_have_no_classes_and_no_target_no_answers():
    model = MAPS["guided by the forest"]().fit(X[FIT], X[FIT, 0] + 0.5)
    assert model.predict(X[NEW]).dtype.kind == "f"
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="is numbers, which have no classes"):
        _ = model.classes_
    unguided = MAPS["rf-phate"](task="unsupervised")
    assert not hasattr(unguided, "predict")
    assert not hasattr(unguided.fit(X[FIT]), "predict")


def test_several_targets_are_answered_one_by_one():
    both = np.column_stack([y == 0, y == 1]).astype(int)
    model = MAPS["rf-phate"]().fit(X[FIT], both[FIT])
    assert model.predict(X[NEW]).shape == both[NEW].shape
    assert [shares.shape for shares in model.predict_proba(X[NEW])] == [(len(both[NEW]), 2)] * 2
    assert [classes.tolist() for classes in model.classes_] == [[0, 1], [0, 1]]


def test_searches_need_no_wrapper():
    model = MAPS["guided by the forest"](task="classification")
    assert is_classifier(model)
    search = GridSearchCV(
        model, {"sharpness": [1.0, 2.0]}, scoring=["accuracy", "neg_log_loss"], refit="accuracy", cv=2
    )
    assert search.fit(X, y).best_score_ > 0.9
    assert not is_classifier(MAPS["guided by the forest"]())  # what "auto" is, the fit finds out
