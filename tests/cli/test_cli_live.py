"""``manifolia explore RUN --live``, and what a run's page explains."""

from __future__ import annotations

import http.cookiejar
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest

from cli_helpers import passengers
from manifolia.explorer import Payload
from manifolia.persist import load


@pytest.mark.slow
def test_a_run_is_served_until_it_is_stopped(finished):
    folder, _ = finished
    command = [sys.executable, "-c", "from manifolia.cli import main; main()", "explore", str(folder), "--live"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        try:
            line = served.stdout.readline()
            url = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line).group(0)
            bare = url.split("?")[0]
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(bare, timeout=60)
            jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
            browser = urllib.request.build_opener(jar)
            assert browser.open(url, timeout=60).status == 200
            new = passengers(6, seed=9)
            sent = urllib.request.Request(
                bare + "transform",
                new.to_csv(index=False).encode(),
                {"Content-Type": "text/csv", "Origin": bare.rstrip("/")},
            )
            said = json.load(browser.open(sent, timeout=120))
        finally:
            served.send_signal(signal.SIGINT)
        assert served.wait(60) in (0, 130)
    model = load(folder / "model.mfa")
    expected = model.transform(new.drop(columns="Survived"))
    np.testing.assert_allclose(np.c_[said["x"], said["y"]], expected, rtol=1e-6)
    assert said["columns"]["predicted Survived"]
    assert said["reasons"][0][0]["feature"] in new.columns
    assert len(said["flagged"]) == 6


def test_live_serves_runs_only(finished, manifolia, tmp_path):
    folder, _ = finished
    done = manifolia("explore", folder, "--live", "-o", tmp_path / "x.html")
    assert done.returncode == 1
    assert "--live serves the page of a run and writes none" in done.stderr


def test_pictures_are_told_and_explanations_can_be_left_out(manifolia, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, size=(60, 6)), columns=[f"p{i}" for i in range(6)])
    frame["label"] = np.where(frame["p0"] > 4, "a", "b")
    frame.to_csv(tmp_path / "data.csv", index=False)
    options = ["-t", "label", "--set", "n_trees=20", "-q"]
    done = manifolia("map", tmp_path / "data.csv", *options, "--images", "2x3", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    payload = Payload.load(tmp_path / "run" / "payload.npz")
    pixels = payload.arrays["images.pixels"].reshape(60, 6)
    shown = frame.iloc[:, :6].to_numpy()[payload.arrays["row"]]
    np.testing.assert_allclose(pixels / 255, shown / shown.max(), atol=1 / 400)
    done = manifolia("map", tmp_path / "data.csv", *options, "--no-explain", "-o", tmp_path / "bare")
    assert done.returncode == 0, done.stderr
    assert Payload.load(tmp_path / "bare" / "payload.npz").meta["parts"].keys() == {"trust"}
    for wrong, said in (("2by3", "not of the form HEIGHTxWIDTH"), ("3x3", "9 pixels, and X has 6")):
        done = manifolia("map", tmp_path / "data.csv", *options, "--images", wrong, "-o", tmp_path / "wrong")
        assert done.returncode != 0
        assert said in " ".join(done.stderr.split())
