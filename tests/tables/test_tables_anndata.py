"""AnnData in and out."""

from __future__ import annotations

import warnings

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manifolia.exceptions import MissingExtraError
from manifolia.tables import TableError, TablePreparer, read, write_anndata

anndata = pytest.importorskip("anndata", reason="anndata is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:anndata")


@pytest.fixture
def data():
    cells = [f"cell{i}" for i in range(12)]
    found = anndata.AnnData(
        sp.random(12, 5, density=0.5, format="csr", random_state=0, dtype=np.float32),
        obs=pd.DataFrame({"kind": ["a", "b", "c"] * 4, "depth": np.arange(12.0)}, index=cells),
        var=pd.DataFrame(index=[f"gene{i}" for i in range(5)]),
    )
    found.layers["raw"] = np.arange(60.0).reshape(12, 5)
    found.obsm["X_pca"] = np.arange(36.0).reshape(12, 3)
    found.uns["old"] = "kept"
    return found


@pytest.fixture
def path(data, tmp_path):
    data.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def test_the_matrix_stays_sparse(data, path):
    for source in (data, path, str(path)):
        table = read(source)
        assert isinstance(table.features, sp.csr_array)
        assert np.array_equal(table.features.toarray(), data.X.toarray())
        assert table.feature_names == [f"gene{i}" for i in range(5)]
        assert table.row_names.tolist()[:2] == ["cell0", "cell1"]
        assert table.column("kind").tolist() == ["a", "b", "c"] * 4
        assert table.column("gene3").tolist() == data.X.toarray()[:, 3].tolist()
        assert TablePreparer().fit(table).get_feature_names_out().tolist() == table.feature_names
    assert read(path).source == str(path)


def test_layers_and_obsm(data, path):
    assert np.array_equal(read(path, layer="raw").features, data.layers["raw"])
    table = read(path, obsm="X_pca")
    assert table.feature_names == ["X_pca_1", "X_pca_2", "X_pca_3"]
    assert np.array_equal(table.features, data.obsm["X_pca"])
    data.obsm["named"] = pd.DataFrame({"u": np.arange(12), "v": 1.5}, index=data.obs_names)
    assert read(data, obsm="named").feature_names == ["u", "v"]
    with pytest.raises(TableError, match=r"no layer 'rwa'. Did you mean 'raw'\?"):
        read(path, layer="rwa")
    with pytest.raises(TableError, match=r"no entry of obsm 'pca'. (Did you mean|There are) 'X_pca'"):
        read(path, obsm="pca")
    with pytest.raises(TableError, match="both given"):
        read(path, layer="raw", obsm="X_pca")
    with pytest.raises(TableError, match=r"has no matrix X.*layers 'raw', obsm"):
        read(anndata.AnnData(obs=data.obs, var=data.var, layers={"raw": data.layers["raw"]}))


def test_names_that_occur_twice(data):
    data.var_names = ["g", "h", "g", "i", "j"]
    table = read(data)
    assert table.feature_names == ["g", "h", "g (2)", "i", "j"]
    assert "more than once" in table.notes[0]


def test_a_file_in_the_background(data, path):
    backed = anndata.read_h5ad(path, backed="r")
    assert np.array_equal(read(backed).features.toarray(), data.X.toarray())
    backed.file.close()


def test_results_are_written_beside(data, path, tmp_path):
    before = path.read_bytes()
    Y = np.arange(24.0).reshape(12, 2)
    target = write_anndata(
        path,
        tmp_path / "out.h5ad",
        obsm={"X_rfphate": Y},
        obs={"outlier": np.arange(12) / 7, "predicted": pd.Categorical(["a", "b"] * 6)},
        uns={"rfphate": {"t": 3, "importance": np.ones(5), "names": ["p", "q"]}},
    )
    assert path.read_bytes() == before
    back = anndata.read_h5ad(target)
    assert np.array_equal(back.obsm["X_rfphate"], Y)
    assert np.array_equal(back.obsm["X_pca"], data.obsm["X_pca"])
    assert np.array_equal(back.X.toarray(), data.X.toarray())
    assert back.obs["outlier"].tolist() == (np.arange(12) / 7).tolist()
    assert back.obs["predicted"].tolist() == ["a", "b"] * 6
    assert back.obs["kind"].tolist() == ["a", "b", "c"] * 4
    assert back.obs_names.tolist() == data.obs_names.tolist()
    assert back.uns["old"] == "kept"
    assert int(back.uns["rfphate"]["t"]) == 3
    assert list(back.uns["rfphate"]["names"]) == ["p", "q"]
    with h5py.File(path) as old, h5py.File(target) as new:
        assert np.array_equal(old["X/data"][:], new["X/data"][:])
    write_anndata(target, target, obsm={"X_rfphate": -Y}, obs={"outlier": np.zeros(12)})  # again, over the old values
    back = anndata.read_h5ad(target)
    assert np.array_equal(back.obsm["X_rfphate"], -Y)
    assert back.obs["outlier"].tolist() == [0] * 12


def test_a_write_that_cannot_be(path, tmp_path):
    with pytest.raises(TableError, match=r"'X_rfphate' has 11 rows and .* has 12"):
        write_anndata(path, tmp_path / "out.h5ad", obsm={"X_rfphate": np.zeros((11, 2))})
    (tmp_path / "bad.h5ad").write_bytes(b"no")
    with pytest.raises(TableError, match="cannot be read as AnnData"):
        write_anndata(tmp_path / "bad.h5ad", tmp_path / "out.h5ad")
    with pytest.raises(TableError, match="cannot be read as AnnData"):
        write_anndata(tmp_path / "none.h5ad", tmp_path / "out.h5ad")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bad.h5ad", "cells.h5ad"]


def test_without_the_package(path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "anndata", None)
    with warnings.catch_warnings(), pytest.raises(MissingExtraError, match=r"the extra 'anndata' of manifolia"):
        read(path)
