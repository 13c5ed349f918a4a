"""A file that was cut off, altered or is something else is refused with a sentence; nothing else happens."""

from __future__ import annotations

import io
import pickle
import re
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import manifolia as mf
from manifolia.exceptions import ManifoliaError, ModelFileError
from manifolia.persist import archive
from persist.forgery import unpack

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    model = mf.RFPHATE(n_trees=30, random_state=0).fit(X, Y)
    return mf.save(model, tmp_path_factory.mktemp("good") / "model.mfa")


def refused(path, pattern):
    with pytest.raises(ModelFileError, match=pattern) as caught:
        mf.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path} is not loaded: ")
    assert text.endswith(".")
    assert "Traceback" not in text
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ManifoliaError)


def flip(data, rng):
    out = bytearray(data)
    out[rng.integers(len(out))] ^= 1 << rng.integers(8)
    return bytes(out)


def overwrite(data, rng):
    out = bytearray(data)
    start = rng.integers(len(out))
    noise = rng.integers(0, 256, min(int(rng.integers(1, 400)), len(out) - start), dtype=np.uint8).tobytes()
    out[start : start + len(noise)] = noise
    return bytes(out)


def truncate(data, rng):
    return data[: rng.integers(len(data))]


def remove(data, rng):
    start, length = rng.integers(len(data) - 1), rng.integers(1, 400)
    return data[:start] + data[start + length :]


def insert(data, rng):
    start = rng.integers(len(data))
    return data[:start] + rng.integers(0, 256, rng.integers(1, 400), dtype=np.uint8).tobytes() + data[start:]


def exchange(data, rng):
    """Exchange two members, as a careless tool would: the checksums stay."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        members, comment = [(info, source.read(info)) for info in source.infolist()], source.comment
    i, j = rng.choice(len(members), 2, replace=False)
    contents = [content for _, content in members]
    contents[i], contents[j] = contents[j], contents[i]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.comment = comment
        for (info, _), content in zip(members, contents, strict=True):
            target.writestr(info.filename, content)
    return buffer.getvalue()


WAYS = [flip] * 40 + [truncate] * 20 + [overwrite] * 15 + [remove] * 10 + [insert] * 10 + [exchange] * 5


def test_a_hundred_damaged_files_are_refused(good, tmp_path, rng):
    data = good.read_bytes()
    path = tmp_path / "damaged.mfa"
    for way in WAYS:
        damaged = way(data, rng)
        if damaged == data:  # noise that happens to be what was there
            damaged = flip(data, rng)
        path.write_bytes(damaged)
        refused(path, "it is damaged|it is empty|another kind")
    assert len(WAYS) == 100
    path.write_bytes(data)
    assert isinstance(mf.load(path), mf.RFPHATE)


def test_no_byte_is_beyond_the_seal(good, tmp_path, rng):
    """The archive's own bookkeeping, and the seal itself, are covered too: every byte of the first and last 300."""
    data = good.read_bytes()
    path = tmp_path / "damaged.mfa"
    for place in [*range(300), *range(len(data) - 300, len(data))]:
        out = bytearray(data)
        out[place] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(out))
        refused(path, "it is damaged|another kind")


def text_file():
    return b"a,b,c\n1,2,3\n"


def npz_file():
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(3))
    return buffer.getvalue()


def docx_file():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<document/>")
    return buffer.getvalue()


def pickle_file():
    return pickle.dumps(RandomForestClassifier(2).fit(X, Y))


def joblib_file():
    buffer = io.BytesIO()
    joblib.dump(RandomForestClassifier(2).fit(X, Y), buffer)
    return buffer.getvalue()


def skops_file():
    import skops.io

    return skops.io.dumps(RandomForestClassifier(2).fit(X, Y))


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        (bytes, "it is empty"),
        (text_file, "another kind of file"),
        (npz_file, "another kind of archive"),
        (docx_file, "another kind of archive"),
        (skops_file, "another kind of archive"),
        (pickle_file, "a pickle or joblib file, which could run code"),
        (joblib_file, "a pickle or joblib file, which could run code"),
        (lambda: b"PK", "another kind of file"),
        (lambda: b"PK\x03\x04", "another kind of archive"),
    ],
)
def test_another_kind_of_file(make, pattern, tmp_path):
    path = tmp_path / "foreign.mfa"
    path.write_bytes(make())
    refused(path, pattern)


def test_a_folder(good, tmp_path):
    refused(tmp_path, "it is a folder")
    (tmp_path / "model.mfa").write_bytes(good.read_bytes())
    refused(tmp_path, r"Its model is the file model\.mfa in it")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape("nowhere.mfa")):
        mf.load(tmp_path / "nowhere.mfa")


def test_the_file_has_the_members_it_should(good):
    names = [name for name, _ in unpack(good)]
    assert names[:2] == ["manifolia.json", "graph.skops"]
    assert all(re.fullmatch(r"trees/[a-z_]+\.npy", name) for name in names[2:])
    assert len(names) == len(set(names)) == 2 + 14


def test_members_of_any_size_are_read_back(good, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_LARGE", 100)  # then members beyond it have the form of those beyond 2 GiB
    model = mf.load(good)
    path = mf.save(model, tmp_path / "large.mfa")
    assert path.stat().st_size > good.stat().st_size
    np.testing.assert_array_equal(mf.load(path).transform(X), model.transform(X))
