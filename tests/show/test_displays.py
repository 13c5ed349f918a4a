"""What all displays have in common."""

from __future__ import annotations

import dataclasses

import pytest

from manifolia import show
from manifolia.show._style import Display

DISPLAYS = [getattr(show, name) for name in show.__all__ if name.endswith("Display")]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_a_display_is_made_from_an_estimator_or_from_data(display):
    assert issubclass(display, Display)
    assert dataclasses.is_dataclass(display)
    makers = {name for name in dir(display) if name.startswith("from_")}
    assert makers
    assert makers <= ({"from_diagnosis"} if display is show.TrustDisplay else {"from_estimator", "from_data"})


def test_displays_have_no_modules_of_their_names():
    modules = {display.__module__.rpartition(".")[2] for display in DISPLAYS}
    assert len(DISPLAYS) > len(modules) > 5
    assert not modules & set(show.__all__)
