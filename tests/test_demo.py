"""The demo on a part of its data: files, figures and words."""

from __future__ import annotations

import csv
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.datasets import load_digits

from manifolia import _demo

N_ROWS = 200


@pytest.fixture(scope="module")
def run():
    return _demo.compute(n_trees=60, n_rows=N_ROWS)


@pytest.fixture(scope="module")
def files(run, tmp_path_factory):
    return _demo.write(run, tmp_path_factory.mktemp("demo") / "made")


def png_size(path):
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def test_pictures_are_png_files_large_enough_to_read(files):
    for path in files.values():
        if path.suffix == ".png":
            assert min(png_size(path)) >= 800
    assert sorted(path.name for path in files.values()) == ["map.csv", "map.png", "proximities.png"]


def test_table_has_a_line_for_each_row(run, files):
    with files["coordinates of the map"].open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert list(lines[0]) == ["row", "class", "x", "y"]
    assert [int(line["row"]) for line in lines] == list(range(N_ROWS))
    assert [int(line["class"]) for line in lines] == load_digits().target[:N_ROWS].tolist()
    places = np.array([[float(line["x"]), float(line["y"])] for line in lines])
    np.testing.assert_array_equal(places, run.Y)


def test_a_second_run_gives_the_same_map(run):
    again = _demo.compute(n_trees=60, n_rows=N_ROWS)
    np.testing.assert_array_equal(again.Y, run.Y)
    assert again.oob_accuracy == run.oob_accuracy
    other = _demo.compute(n_trees=60, n_rows=N_ROWS, random_state=1)
    assert not np.array_equal(other.Y, run.Y)


def test_the_map_shows_the_classes_and_a_shuffled_one_does_not(run):
    assert run.map_accuracy > 0.7
    assert run.oob_accuracy > 0.8
    from manifolia.metrics.supervised import knn_accuracy

    assert knn_accuracy(np.random.default_rng(0).permutation(run.Y), run.y, 10) < 0.3


def test_findings_quote_the_figures(run):
    forest, proximity, plane = _demo.findings(run)
    assert f"{run.oob_accuracy:.1%}" in forest
    assert f"{run.map_accuracy:.1%}" in plane
    own = run.display.class_shares.diagonal()
    assert f"{own.max():.1%}" in proximity
    assert f"{own.min():.1%}" in proximity


def test_hellinger_distance_of_known_distributions():
    P = sp.csr_array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    expected = np.sqrt(1.0 - np.array([[1.0, 0.5, 0, 1.0], [0.5, 1, 0, 0.5], [0, 0, 1, 0], [1, 0.5, 0, 1]]))
    np.testing.assert_allclose(_demo.hellinger_distances(P), expected, atol=1e-15)


def test_command_says_where_the_files_are_and_what_was_found(run, tmp_path, monkeypatch):
    monkeypatch.setattr(_demo, "compute", lambda: run)
    result = CliRunner().invoke(_demo.main, [str(tmp_path / "there")])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    for name in ("proximities.png", "map.png", "map.csv"):
        path = tmp_path / "there" / name
        assert path.exists()
        assert any(line.startswith(str(path)) for line in lines)
    assert [line for line in lines if line.startswith("- ")] == [f"- {sentence}" for sentence in _demo.findings(run)]


def test_drawing_leaves_pyplot_alone(run, tmp_path):
    import matplotlib.pyplot as plt

    before = (plt.get_fignums(), plt.rcParams["backend"])
    _demo.write(run, tmp_path)
    assert (plt.get_fignums(), plt.rcParams["backend"]) == before
