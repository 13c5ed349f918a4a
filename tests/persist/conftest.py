"""Tests of saved models write hundreds of small files: none of them has to survive a power cut."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
