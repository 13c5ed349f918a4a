"""What scikit-learn sees of our estimators: links to their pages, frames of polars, and its own callbacks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifolia as mf
from contract.estimators import ESTIMATORS
from manifolia.exceptions import StoppedByCallbackError

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]
with_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks of its own"
)


class Listener:
    """A callback by scikit-learn's protocol that writes down what it hears."""

    def __init__(self, stop_at=None):
        self.heard, self.stop_at, self.fitted = [], stop_at, []

    def setup(self, estimator, context):
        self.heard.append(("setup", type(estimator).__name__))

    def teardown(self, estimator, context):
        self.heard.append(("teardown", type(estimator).__name__))

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.heard.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.heard.append(("end", context.task_name))
        self.fitted += [] if fitted_estimator is None else [fitted_estimator]
        return context.task_name == self.stop_at


class Propagated(Listener):
    """One that a pipeline hands on."""

    max_propagation_depth = None


@pytest.mark.parametrize("kind", {type(entry.make()) for entry in ESTIMATORS.values()}, ids=lambda kind: kind.__name__)
def test_the_html_links_to_the_page_of_the_reference(kind):
    model = kind()
    address = model._get_doc_link()
    name = address.rsplit("/", 1)[1].removesuffix(".html")
    root = Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location("api_pages", root / "docs" / "api_pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    assert name in pages.public_names()
    assert address in model._repr_html_()


def test_a_class_of_a_users_own_has_no_page_of_ours():
    class Mine(mf.PHATE):
        pass

    assert Mine()._get_doc_link() == ""


@pytest.mark.parametrize(
    "model",
    [
        mf.GuidedMap(n_trees=20, random_state=0),
        mf.FeatureMAP(n_epochs=20, random_state=0),
        mf.PHATE(random_state=0),
        mf.KernelTSNE(n_train=30, embedder="isomap", random_state=0),
        mf.baselines.SupervisedPCA(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_places_as_a_frame_of_polars(model):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    plain = clone(model).fit(X, y)
    model = clone(model).set_output(transform="polars")
    made = model.fit_transform(X, y)
    assert isinstance(made, polars.DataFrame)
    assert made.columns == model.get_feature_names_out().tolist()
    assert np.array_equal(made.to_numpy(), clone(plain).fit_transform(X, y))
    assert np.array_equal(model.transform(X[:5]).to_numpy(), plain.transform(X[:5]))


@with_callbacks
def test_stages_are_tasks_in_their_order():
    listener, stages = Listener(), []
    model = mf.RFPHATE(n_trees=20, random_state=0, callback=lambda event: stages.append(event.stage))
    model.set_callbacks(listener).fit(X, y)
    inner = [what for what in listener.heard if what[1] not in ("RFPHATE", "fit")]
    names = list(dict.fromkeys(stages))  # our own callback hears the same stages
    assert inner == [pair for name in names for pair in (("begin", name), ("end", name))]
    assert listener.heard[:2] == [("setup", "RFPHATE"), ("begin", "fit")]
    assert listener.heard[-2:] == [("end", "fit"), ("teardown", "RFPHATE")]
    (fitted,) = listener.fitted
    assert np.array_equal(fitted.transform(X[:3]), model.transform(X[:3]))
    plain = mf.RFPHATE(n_trees=20, random_state=0).fit(X, y)
    assert np.array_equal(model.embedding_, plain.embedding_)
    assert callable(model.callback)


@with_callbacks
def test_a_callback_stops_the_fit_and_leaves_the_old_model():
    model = mf.GuidedMap(n_trees=20, random_state=0).fit(X, y)
    before = model.embedding_
    listener = Listener(stop_at="forest")
    model.set_callbacks(listener)
    with pytest.raises(StoppedByCallbackError):
        model.fit(X[:40], y[:40])
    assert model.embedding_ is before
    assert listener.heard[-1] == ("teardown", "GuidedMap")
    model.set_callbacks()
    assert len(model.fit(X[:40], y[:40]).embedding_) == 40


@with_callbacks
def test_a_pipeline_hands_its_callbacks_on():
    listener = Propagated()
    pipeline = make_pipeline(StandardScaler(), mf.PHATE(random_state=0))
    pipeline.set_callbacks(listener).fit(X)
    assert ("begin", "layout") in listener.heard or ("begin", "walk") in listener.heard
    assert listener.heard[-1] == ("teardown", "Pipeline")
    assert not hasattr(pipeline[-1], "_parent_callback_ctx")


@with_callbacks
def test_callbacks_are_not_saved(tmp_path):
    model = mf.PHATE(random_state=0).set_callbacks(Listener()).fit(X)
    mf.save(model, tmp_path / "model.mfa")
    loaded = mf.load(tmp_path / "model.mfa")
    assert "_skl_callbacks" not in vars(loaded)
    assert np.array_equal(loaded.transform(X[:3]), model.transform(X[:3]))
