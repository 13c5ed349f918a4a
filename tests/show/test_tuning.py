"""Pictures of a study: what is behind them, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from manifolia.metrics.registry import Metric
from manifolia.show import ConvergenceDisplay, ParetoDisplay, SensitivityDisplay, SettingDisplay
from manifolia.show.tuning import _value_of_loss
from manifolia.tune import Tuner
from tune.toys import Toy, closeness, closeness_of_the_other

pytest.importorskip("optuna", reason="Optuna is not installed")

X = np.random.default_rng(0).normal(size=(30, 3))


def study(space=None, metrics=closeness, **options):
    given = {"n_repeats": 3, "n_trials": 8, "random_state": 0, "n_jobs": 1, "refit": False, "n_confirm": 0} | options
    return Tuner(Toy(noise=0.02), {"x": (0.0, 1.0)} if space is None else space, metrics, **given).fit(X)


def test_the_least_loss_never_rises():
    one = study()
    display = ConvergenceDisplay.from_estimator(one, reference=0.01).plot(Figure().subplots())
    curve = display.line_.get_ydata()
    np.testing.assert_allclose(curve, np.minimum.accumulate(one.trials_["closeness_loss"]))
    assert np.all(np.diff(curve) <= 0)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["least so far", "grid: 0.01"]
    several = ConvergenceDisplay.from_estimator([one, study(random_state=1)]).plot(Figure().subplots())
    assert several.best.shape == (2, 8)
    np.testing.assert_allclose(several.line_.get_ydata(), several.best.mean(axis=0))


def test_boxes_are_the_runs_of_each_setting():
    one = study()
    display = SettingDisplay.from_estimator(one).plot(Figure().subplots())
    medians = sorted(float(line.get_ydata()[0]) for line in display.artist_["medians"])
    expected = sorted(one.runs_.groupby("slot")["closeness"].median())
    np.testing.assert_allclose(medians, expected)
    assert display.ax_.get_xlabel() == "x"


def test_the_curve_over_the_boxes_is_what_is_expected_of_the_metric():
    one = study()
    display = SettingDisplay.from_estimator(one).plot(Figure().subplots())
    curve = display.ax_.lines[[line.get_label() for line in display.ax_.lines].index("expected")]
    mean, _ = one.expect([{"x": float(x)} for x in curve.get_xdata()])
    np.testing.assert_allclose(curve.get_ydata(), -mean)  # a user's function: its loss is its negative
    middle = one.runs_.merge(one.trials_[["slot", "x"]], on="slot").groupby("x")["closeness"].mean()
    near = np.interp(middle.index, curve.get_xdata(), curve.get_ydata())
    assert np.abs(near - middle.to_numpy()).max() < 0.1
    penalised = SettingDisplay.from_estimator(study(aggregate=("mean-var", 5.0))).plot(Figure().subplots())
    assert penalised.ax_.get_legend() is None  # what is expected there is not of the boxes


@pytest.mark.parametrize(
    ("direction", "limits", "value", "loss"), [("higher", (-1.0, 1.0), 0.5, 0.25), ("lower", (0.0, 2.0), 0.5, 0.25)]
)
def test_losses_turn_back_into_metrics(direction, limits, value, loss):
    metric = Metric("a", direction, ("Y",), limits, float)
    assert metric.normalize(value) == pytest.approx(loss)
    shift, slope = _value_of_loss(metric)
    assert shift + slope * loss == pytest.approx(value)
    assert np.isnan(_value_of_loss(Metric("a", direction, ("Y",), (0.0, np.inf), float))).all()


def test_two_parameters_make_a_heat_map_of_what_is_expected():
    one = study({"x": (0.0, 1.0), "n_neighbors": (2, 20)}, n_trials=12)
    display = SettingDisplay.from_estimator(one).plot(Figure().subplots())
    assert display.artist_.get_array().size == 1600
    cell = display.expected.iloc[777]
    mean, _ = one.expect([{"x": float(cell["x"]), "n_neighbors": int(cell["n_neighbors"])}])
    assert mean[0] == pytest.approx(cell["mean"])
    with pytest.raises(ValueError, match="parameters must be one of"):
        SettingDisplay.from_estimator(one, "z")


def test_a_choice_is_no_axis():
    one = study({"x": (0.0, 1.0), "kind": ["a", "b"]})
    with pytest.raises(ValueError, match="is a choice without an order"):
        SettingDisplay.from_estimator(one, "kind")


def test_the_front_and_its_knee():
    one = study(metrics=[closeness, closeness_of_the_other])
    display = ParetoDisplay.from_estimator(one).plot(Figure().subplots())
    assert len(display.front_.get_offsets()) == len(one.pareto_)
    with pytest.raises(ValueError, match="a front needs two metrics"):
        ParetoDisplay.from_estimator(study())


def test_bars_or_the_reason_for_none():
    one = study({"x": (0.0, 1.0), "n_neighbors": (2, 20)}, n_trials=12)
    display = SensitivityDisplay.from_estimator(one).plot(Figure().subplots())
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_[1]], display.table["ST"])
    refused = SensitivityDisplay.from_estimator(study(n_trials=3)).plot(Figure().subplots())
    assert refused.table is None
    assert "too few" in refused.ax_.texts[0].get_text()
    assert refused.ax_.texts[0].get_text()[0].isdigit()  # "3 trials …"
    assert refused.ax_.get_title() == "It is not known which parameters matter"
