"""Maps of cells: results where scanpy looks for them, the same as the estimators give, and kept in a file."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import manifolia as mf
from manifolia.exceptions import ParameterError, ParameterTypeError, TableError
from manifolia.tables import annotated

anndata = pytest.importorskip("anndata", reason="anndata is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:anndata", "ignore::manifolia.exceptions.HonestyWarning")

N, D = 120, 12
FEW = {"n_trees": 40}


def counts(n, seed):
    """Cells of three kinds: gene 2k is high in cells of kind k."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    means = np.full((n, D), 0.6)
    means[np.arange(n), 2 * kind] = 6.0
    return rng.poisson(means).astype(np.float32), np.array(["B", "NK", "T"])[kind]


@pytest.fixture
def cells():
    X, kind = counts(N, 0)
    found = anndata.AnnData(
        sp.csr_matrix(X),
        obs=pd.DataFrame(
            {"cell_type": pd.Categorical(kind), "donor": [f"d{i // 4}" for i in range(N)]},
            index=[f"cell{i}" for i in range(N)],
        ),
        var=pd.DataFrame({"highly_variable": np.arange(D) < 8}, index=[f"gene{j}" for j in range(D)]),
    )
    found.layers["double"] = found.X * 2
    found.obsm["X_pca"] = X[:, :5] - X[:, :5].mean(axis=0)
    return found


def test_places_are_those_of_the_estimator(cells):
    assert mf.sc.guided(cells, **FEW) is None
    used = cells.X[:, :8]
    model = mf.GuidedMap(random_state=0, **FEW).fit(used, cells.obs["cell_type"].astype(str).to_numpy())
    assert np.array_equal(cells.obsm["X_guided"], model.embedding_)
    assert np.array_equal(cells.obs["guided_novelty"], model.novelty())
    assert cells.obs["guided_prediction"].astype(str).tolist() == model.oob_prediction_.tolist()
    importance = cells.var["guided_importance"]
    assert np.array_equal(importance[:8], model.feature_importances_)
    assert importance[8:].isna().all()
    assert set(importance.nlargest(3).index) == {"gene0", "gene2", "gene4"}
    diagnosis = mf.diagnose(model, used, cells.obs["cell_type"].astype(str).to_numpy(), random_state=0)
    assert cells.obs["guided_trust"].astype(str).tolist() == diagnosis.rows["verdict"].tolist()
    about = cells.uns["guided"]
    assert about["params"]["target"] == "cell_type"
    assert about["params"]["n_trees"] == 40
    assert about["scores"]["oob_score"] == model.oob_score_
    assert about["trust"]["summary"] == diagnosis.summary
    assert "guided_connectivities" not in cells.obsp


def test_a_copy_leaves_the_cells_alone(cells):
    before = cells.copy()
    made = mf.sc.guided(cells, copy=True, key_added="mine", **FEW)
    assert "X_mine" in made.obsm
    assert set(cells.obsm) == set(before.obsm)
    assert list(cells.obs) == list(before.obs)
    assert not cells.uns


@pytest.mark.parametrize("method", ["rfphate", "featuremap", "phate", "forest_features"])
def test_every_method(cells, method):
    card = {"rfphate": {"n_trees": 40}, "forest_features": {"n_trees": 10}}.get(method, {})
    getattr(mf.sc, method)(cells, **card)
    places = cells.obsm[f"X_{method}"]
    assert places.shape[0] == N
    if method == "forest_features":
        assert sp.issparse(places)
        assert "forest_features_trust" not in cells.obs
        return
    assert places.shape == (N, 2)
    assert f"{method}_trust" in cells.obs
    assert np.isfinite(cells.obs[f"{method}_novelty"]).all()
    assert (f"{method}_importance" in cells.var) == (method != "phate")
    assert "auc_r_nx" in cells.uns[method]["scores"]


def test_where_cells_are_read_from(cells):
    mf.sc.featuremap(cells, use_rep="X_pca")
    assert np.array_equal(
        cells.obsm["X_featuremap"], mf.FeatureMAP(random_state=0).fit_transform(np.asarray(cells.obsm["X_pca"]))
    )
    assert "featuremap_importance" not in cells.var  # components are no genes
    assert len(cells.uns["featuremap"]["importance"]) == 5
    mf.sc.featuremap(cells, layer="double", mask_var=None)
    assert np.array_equal(
        cells.obsm["X_featuremap"], mf.FeatureMAP(random_state=0).fit_transform(cells.layers["double"])
    )
    mf.sc.phate(cells, mask_var=np.arange(D) < 6)
    assert np.array_equal(cells.obsm["X_phate"], mf.PHATE(random_state=0).fit_transform(cells.X[:, :6]))


def test_neighbours_say_where_and_how(cells):
    cells.uns["near"] = {"params": {"n_neighbors": 9, "metric": "cosine", "use_rep": "X_pca", "n_pcs": 4}}
    mf.sc.featuremap(cells, neighbors_key="near")
    own = mf.FeatureMAP(n_neighbors=9, metric="cosine", random_state=0)
    assert np.array_equal(cells.obsm["X_featuremap"], own.fit_transform(cells.obsm["X_pca"][:, :4]))
    cells.uns["near"] = {"params": {"n_neighbors": 9, "metric": "euclidean"}}  # few genes: scanpy takes them all
    mf.sc.guided(cells, neighbors_key="near", **FEW)  # a forest has no number of neighbours: where is all it is told
    assert len(cells.uns["guided"]["variables"]) == 8


def test_labels_that_are_missing_are_predicted(cells):
    gaps = np.arange(N) % 10 == 0
    cells.obs["partial"] = cells.obs["cell_type"].where(~gaps)
    mf.sc.guided(cells, "partial", **FEW)
    right = cells.obs["guided_prediction"].astype(str) == cells.obs["cell_type"].astype(str)
    assert right[gaps].mean() > 0.9
    assert "nan" not in set(cells.obs["guided_prediction"])


def test_groups_are_held_out_together(cells):
    mf.sc.guided(cells, groups="donor", **FEW)
    X, y = cells.X[:, :8], cells.obs["cell_type"].astype(str).to_numpy()
    own = mf.GuidedMap(random_state=0, **FEW).fit(X, y, groups=cells.obs["donor"].to_numpy())
    assert np.array_equal(cells.obsm["X_guided"], own.embedding_)
    assert cells.uns["guided"]["params"]["groups"] == "donor"


def test_proximities_on_request(cells):
    mf.sc.rfphate(cells, proximities=True, **FEW)
    all_of_them = cells.obsp["rfphate_connectivities"]
    assert cells.uns["rfphate"]["connectivities_key"] == "rfphate_connectivities"
    assert abs(all_of_them - all_of_them.T).max() < 1e-7
    assert all_of_them.diagonal().max() == 0
    kind = cells.obs["cell_type"].astype(str).to_numpy()
    rows, columns = all_of_them.nonzero()
    same = kind[rows] == kind[columns]
    weights = np.asarray(all_of_them[rows, columns]).ravel()
    assert weights[same].sum() > 5 * weights[~same].sum()
    mf.sc.rfphate(cells, proximities=5, **FEW)
    assert cells.obsp["rfphate_connectivities"].nnz < all_of_them.nnz
    with pytest.raises(ParameterError, match="proximities"):
        mf.sc.rfphate(cells, proximities=0, **FEW)


def test_new_cells_are_placed_by_the_names_of_genes(cells):
    mf.sc.guided(cells, **FEW)
    X, kind = counts(30, 1)
    order = np.random.default_rng(0).permutation(D)
    new = anndata.AnnData(X[:, order], var=pd.DataFrame(index=[f"gene{j}" for j in order]))
    mf.sc.ingest(new, cells)
    model = mf.GuidedMap(random_state=0, **FEW).fit(cells.X[:, :8], cells.obs["cell_type"].astype(str).to_numpy())
    assert np.array_equal(new.obsm["X_guided"], model.transform(X[:, :8]))
    assert np.array_equal(new.obs["guided_novelty"], model.novelty(X[:, :8]))
    assert (new.obs["guided_prediction"].astype(str) == kind).mean() > 0.9
    lacking = new[:, [name for name in new.var_names if name != "gene3"]].copy()
    with pytest.raises(TableError, match=r"1 of the 8 genes of the map are not there: 'gene3'"):
        mf.sc.ingest(lacking, cells)
    with pytest.raises(TableError, match="no map 'umap'"):
        mf.sc.ingest(new, cells, key="umap")
    assert mf.sc.ingest(new, cells, copy=True).obsm["X_guided"].shape == (30, 2)


def test_new_cells_by_components(cells):
    mf.sc.phate(cells, use_rep="X_pca")
    new = cells[:7].copy()
    mf.sc.ingest(new, cells, key="phate")
    own = mf.PHATE(random_state=0).fit(np.asarray(cells.obsm["X_pca"]))
    assert np.array_equal(new.obsm["X_phate"], own.transform(np.asarray(new.obsm["X_pca"])))
    new.obsm["X_pca"] = np.asarray(new.obsm["X_pca"])[:, :3]
    with pytest.raises(TableError, match="has 3 columns, and the map was made of 5"):
        mf.sc.ingest(new, cells, key="phate")


def test_everything_is_written_and_read_back(cells, tmp_path):
    mf.sc.guided(cells, proximities=10, **FEW)
    mf.sc.featuremap(cells)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert np.array_equal(back.obsm["X_guided"], cells.obsm["X_guided"])
    assert back.uns["guided"]["trust"]["summary"] == cells.uns["guided"]["trust"]["summary"]
    new, again = cells[:5].copy(), cells[:5].copy()
    mf.sc.ingest(new, back)
    mf.sc.ingest(again, cells)
    assert np.array_equal(new.obsm["X_guided"], again.obsm["X_guided"])


@pytest.mark.parametrize("sparse", [True, False])
def test_backed_files_give_the_same_and_are_read_in_blocks(cells, tmp_path, monkeypatch, sparse):
    if not sparse:
        cells.X = cells.X.toarray()
    cells.write_h5ad(tmp_path / "cells.h5ad")
    mf.sc.guided(cells, **FEW)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    heights = []
    real = annotated.blocks

    def watched(source, columns):
        for block in real(source, columns):
            heights.append(block.shape)
            yield block

    monkeypatch.setattr(annotated, "blocks", watched)
    monkeypatch.setattr(annotated, "_BLOCK", 50)
    mf.sc.guided(backed, **FEW)
    assert heights == [(50, 8), (50, 8), (20, 8)]
    assert np.array_equal(backed.obsm["X_guided"], cells.obsm["X_guided"])
    mf.sc.ingest(backed, cells, key="guided")
    assert heights[3:] == heights[:3]
    whole = cells.copy()
    mf.sc.ingest(whole, cells)
    assert np.array_equal(backed.obsm["X_guided"], whole.obsm["X_guided"])
    with pytest.raises(ParameterError, match="backed by a file"):
        mf.sc.guided(backed, copy=True, **FEW)
    backed.file.close()


def test_maps_from_elsewhere_are_judged(cells):
    rng = np.random.default_rng(0)
    cells.obsm["X_umap"] = rng.normal(size=(N, 2))
    mf.sc.diagnose(cells, "umap", use_rep="X_pca")
    assert set(cells.obs["umap_trust"]) <= {"chance", "torn", "cannot tell", "solid", "foreign"}
    assert (cells.obs["umap_trust"] == "solid").mean() < 0.5
    assert cells.uns["umap_trust"]["summary"]
    mf.sc.guided(cells, **FEW)
    before = cells.obs["guided_trust"].astype(str).tolist()
    mf.sc.diagnose(cells)
    assert cells.obs["guided_trust"].astype(str).tolist() == before
    with pytest.raises(TableError, match=r"no map 'umpa'. Did you mean 'umap'\?"):
        mf.sc.diagnose(cells, "umpa")


@pytest.mark.parametrize(
    ("settings", "kind", "match"),
    [
        ({"target": "cel_type"}, TableError, r"no column of obs 'cel_type'. Did you mean 'cell_type'\?"),
        ({"layer": "dble"}, TableError, r"no layer 'dble'"),
        ({"use_rep": "X_pcs"}, TableError, r"no entry of obsm 'X_pcs'"),
        ({"use_rep": "X_pca", "layer": "double"}, ParameterError, "use_rep and layer are given"),
        ({"neighbors_key": "neighbors"}, TableError, "no entry of uns 'neighbors'"),
        ({"mask_var": "variable"}, TableError, "no column of var 'variable'"),
        ({"mask_var": np.zeros(D, dtype=bool)}, ParameterError, "marks no gene"),
        ({"mask_var": np.ones(3, dtype=bool)}, ParameterError, "for each of the 12 genes"),
        ({"n_tress": 5}, ParameterError, r"no parameter 'n_tress'. Did you mean 'n_trees'\?"),
        ({"groups": ["d1"]}, ParameterTypeError, "the name of a column of obs"),
    ],
)
def test_what_is_not_there_is_named(cells, settings, kind, match):
    with pytest.raises(kind, match=match):
        mf.sc.guided(cells, **{**FEW, **settings})
    assert set(cells.obsm) == {"X_pca"}
    assert not cells.uns


def test_other_things_than_anndata_are_refused():
    with pytest.raises(ParameterTypeError, match="must be an AnnData, got ndarray"):
        mf.sc.guided(np.eye(3))


needs_scanpy = pytest.mark.skipif(importlib.util.find_spec("scanpy") is None, reason="scanpy is not installed")


@needs_scanpy
@pytest.mark.filterwarnings("ignore")
def test_scanpy_draws_and_clusters_what_was_made(cells):
    import scanpy as sc
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    sc.pp.pca(cells, n_comps=5)
    sc.pp.neighbors(cells, n_neighbors=8, n_pcs=4)
    mf.sc.guided(cells, proximities=True, **FEW)
    axes = sc.pl.embedding(cells, basis="guided", color=["guided_trust", "guided_novelty", "gene0"], show=False)
    assert len(axes) == 3
    drawn = axes[0].collections[0].get_offsets()
    order = np.lexsort(drawn.T)
    places = cells.obsm["X_guided"]
    assert np.allclose(drawn[order], places[np.lexsort(places.T)])
    plt.close("all")
    mf.sc.featuremap(cells, neighbors_key="neighbors")
    assert cells.uns["featuremap"]["params"]["n_neighbors"] == 8
    sc.tl.leiden(cells, neighbors_key="guided", flavor="igraph", n_iterations=2, directed=False)
    table = pd.crosstab(cells.obs["leiden"], cells.obs["cell_type"])
    assert table.to_numpy().max(axis=1).sum() / N > 0.9
    mf.sc.forest_features(cells, n_trees=10)
    sc.pp.neighbors(cells, use_rep="X_forest_features", key_added="by_forest")
    assert cells.obsp["by_forest_connectivities"].shape == (N, N)
