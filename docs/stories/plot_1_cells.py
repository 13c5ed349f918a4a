"""
Blood cells, by type
====================

2,638 blood cells of one donor, and how often each of 13,714 genes was read in each of them.
An earlier analysis gave every cell a type. Which genes tell the types apart, which cells
are doubtful, and how much of the picture can be trusted?

The counts are those of 10x Genomics (PBMC 3k, CC BY 4.0), the types those of the Seurat
tutorial.
"""

import anndata
import matplotlib.pyplot as plt
import numpy as np

import manifolia as mf
from manifolia import datasets

bunch = datasets.load("scrna_pbmc3k")
cells = anndata.AnnData(
    bunch.data.astype(np.float32),
    obs=bunch.frame.set_index("barcode")[["cell_type"]],
    var=bunch.feature_table.set_index("gene_symbol"),
)
cells.var_names_make_unique()
print(cells.obs["cell_type"].value_counts().to_string())

# %%
# As for any map of cells, counts are scaled to the same depth per cell and logarithms are
# taken. The 500 genes with the largest variance take part. (scanpy's ``sc.pp`` has these
# steps; here they are three lines, so that the example needs nothing but anndata.)

depth = np.asarray(cells.X.sum(axis=1)).reshape(-1, 1)
cells.X = np.log1p(cells.X.multiply(1e4 / depth).toarray())
cells.var["highly_variable"] = cells.X.var(axis=0) >= np.sort(cells.X.var(axis=0))[-500]

# %%
# One call makes the map and writes its results where scanpy looks for them: places in
# ``obsm``, verdicts in ``obs``, the importance of genes in ``var``, scores in ``uns``.

mf.sc.guided(cells, "cell_type", n_trees=200, importance=True)

places, kinds = cells.obsm["X_guided"], cells.obs["cell_type"].astype(str)
fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
colors = plt.get_cmap("tab10").colors
for color, kind in zip(colors, kinds.unique(), strict=False):
    ax.scatter(*places[kinds == kind].T, s=5, color=color, label=kind)
ax.legend(markerscale=3, fontsize=8)
ax.set(xticks=[], yticks=[], title="Cells placed by the votes of trees that did not see them")
plt.show()

# %%
# Most of the genes that matter are known markers, which the map was not told: LYZ, S100A8
# and S100A9 of monocytes, NKG7 and CCL5 of killer cells, CD74 and HLA-DRA of cells that
# present antigens.

importance = cells.var["guided_importance"].nlargest(12)
print(importance.round(4).to_string())

# %%
# How good is it? The forest is right about this share of the cells that it did not see,
# and so are the ten nearest cells in the map: it shows what was learned and no more. Well
# under half of the places are solid, though: which type a cell lies with is earned, but
# where it lies inside the type is mostly chance.

scores = cells.uns["guided"]["scores"]
print(f"the forest, on cells it did not see: {scores['oob_score']:.3f}")
print(f"map minus forest:                    {scores['over_separation']:+.3f}")
print(cells.uns["guided"]["trust"]["summary"])
for sentence in cells.uns["guided"]["trust"]["findings"]:
    print("-", sentence)

# %%
# Look twice where the forest disagrees with the given type. Most of these cells are T cells
# of kinds that blend into one another.

wrong = cells.obs["guided_prediction"].astype(str) != kinds
pairs = cells.obs[wrong].groupby(["cell_type", "guided_prediction"], observed=True).size()
print(pairs.nlargest(6).to_string())

# %%
# New cells go on the same map. Here every tenth cell is set aside and then placed; genes
# are matched by name. Novelty says how unlike the others a cell is.

aside = np.arange(cells.n_obs) % 10 == 0
reference, new = cells[~aside].copy(), cells[aside].copy()
mf.sc.guided(reference, "cell_type", n_trees=200, importance=False)
mf.sc.ingest(new, reference)
right = new.obs["guided_prediction"].astype(str) == new.obs["cell_type"].astype(str)
print(f"{right.mean():.3f} of {len(right)} new cells get the type that they were given")
print(f"{(new.obs['guided_novelty'] > 0.99).sum()} of them are called novel")

# %%
# What this map does not show
# ---------------------------
#
# - **That the types are right.** They were found by clustering the same counts, so it is too
#   easy for a map of these counts to agree with them. There was no independent assay.
# - **New types.** The target shapes the map: two kinds of cells with one label lie
#   together unless their genes pull the trees apart. For a search without labels use
#   ``mf.sc.featuremap`` or ``mf.sc.phate``.
# - **Development.** Neighbouring groups share genes that the forest uses. That is neither a
#   direction nor a time.
# - **Other people.** All cells are from one donor. With several, pass ``groups="donor"``:
#   otherwise trees recognise the donor.
# - **How many cells there are.** The size of a group in the map is not its share of the
#   blood; a rare type may take as much room as a common one.
