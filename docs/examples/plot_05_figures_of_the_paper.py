"""
The figures of the RF-PHATE paper
=================================

What Rhodes, Cutler, Wolf and Moon (2021) show, drawn anew: maps coloured by the variables
that matter most for the target, and the proximities of forests with larger and larger
leaves. The Titanic and Ames tables are not bundled; those figures are drawn where the
data home has them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier

import manifolia as mf
from manifolia.exceptions import DataHomeError
from manifolia.forest import proximity

# Ten colours that stay apart for colour-blind readers (Paul Tol's muted scheme).
palette = (
    "#332288 #88CCEE #DDCC77 #117733 #CC6677 #44AA99 #AA4499 #999933 #882255 #777777"
)
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=palette.split())


def panel(ax, Y, values, title, *, discrete=False):
    """A map coloured by one variable."""
    if discrete:
        names, codes = np.unique(values, return_inverse=True)
        for k, name in enumerate(names):
            ax.scatter(*Y[codes == k].T, s=9, alpha=0.7, linewidths=0, label=str(name))
        ax.legend(fontsize=7, markerscale=2, frameon=False)
    else:
        points = ax.scatter(*Y.T, c=values, s=9, cmap="viridis", linewidths=0)
        ax.figure.colorbar(points, ax=ax, shrink=0.8)
    ax.set(xticks=[], yticks=[], title=title)


# %%
# Handwritten digits by their class and by the two pixels that matter most for the forest
# (Figure 2a of the paper). ``feature_importances_`` is the loss of accuracy when a column
# is permuted among the rows that a tree has not seen.

X, y = load_digits(return_X_y=True)
digits = mf.RFPHATE(n_trees=300, random_state=0).fit(X, y)
first, second = np.argsort(-digits.feature_importances_)[:2]
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
panel(axes[0], digits.embedding_, y, "digit", discrete=True)
for ax, pixel in zip(axes[1:], (first, second), strict=True):
    panel(ax, digits.embedding_, X[:, pixel], f"pixel {pixel}")
plt.show()

# %%
# Iris: the proximities of forests whose leaves hold at least 1, 10 and 40 rows, by
# species (Figure 7). Larger leaves give a smoother kernel.

X, y = load_iris(return_X_y=True)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, leaf in zip(axes, (1, 10, 40), strict=True):
    forest = RandomForestClassifier(300, min_samples_leaf=leaf, random_state=0).fit(X, y)
    ax.imshow(proximity(forest, X, kind="oob").toarray(), cmap="magma_r", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], title=f"at least {leaf} rows a leaf")
plt.show()

# %%
# The Titanic by sex, class and age (Figure 1), its target being who survived.

try:
    table = mf.datasets.load("titanic").frame.drop(columns=["Name", "Ticket", "Cabin"])
except DataHomeError:
    print("The data home has no Titanic table.")
else:
    table = table.dropna().reset_index(drop=True)
    y = table.pop("Survived").to_numpy()
    inputs = pd.get_dummies(table.astype({"Pclass": str, "Sex": str, "Embarked": str}))
    titanic = mf.RFPHATE(random_state=0).fit(inputs, y)
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    panel(axes[0], titanic.embedding_, table["Sex"].to_numpy(), "sex", discrete=True)
    panel(axes[1], titanic.embedding_, table["Pclass"].to_numpy(), "class", discrete=True)
    panel(axes[2], titanic.embedding_, table["Age"].to_numpy(), "age")
    plt.show()

# %%
# Houses in Ames by price, quality and living area (Figure 2b): a map for a number.

try:
    table = mf.datasets.load("ames_housing").frame.drop(columns="Id")
except DataHomeError:
    print("The data home has no Ames table.")
else:
    price = table.pop("SalePrice").to_numpy(dtype=float)
    numbers = table.select_dtypes("number").fillna(0)
    categories = table.drop(columns=numbers.columns).astype(object).fillna("none")
    inputs = pd.concat([numbers, pd.get_dummies(categories)], axis=1).astype(float)
    ames = mf.RFPHATE(n_trees=300, random_state=0).fit(inputs, price)
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    panel(axes[0], ames.embedding_, np.log10(price), "sale price, log10")
    panel(axes[1], ames.embedding_, table["OverallQual"], "overall quality")
    panel(axes[2], ames.embedding_, table["GrLivArea"], "living area")
    plt.show()
