"""
Distances that count what tells classes apart
=============================================

The Fisher metric stretches the directions along which the probabilities of the classes
change, and shrinks the others. Fisher kernel t-SNE lays rows out by it. What such a map
proves, and what it does not, is seen with shuffled labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import manifolia as mf
from manifolia.affinity import fisher
from manifolia.layout.embed import embed
from manifolia.metrics import knn_accuracy

# %%
# Two classes that differ in their first feature. The colours are distances from the
# star: Euclidean ones grow in all directions; Fisher distances stay near 0 on the
# star's side and rise where the class changes. A border between classes that are
# certain on either side is π wide.

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 300)
X = rng.normal(size=(300, 2)) * [0.5, 1.0] + np.outer(2.0 * y - 1.0, [1.0, 0.0])
steps = np.linspace(-2.5, 2.5, 41)
grid = np.stack(np.meshgrid(steps, steps), axis=-1)
points = np.vstack([[[-1.0, 0.0]], grid.reshape(-1, 2), X])
codes = np.concatenate([np.full(1 + 41**2, -1), y])  # only the rows have a class
classes = fisher.parzen_classes(points, codes)
by_fisher = fisher.path_distances(points, classes)[0, 1:-300].reshape(41, 41)
by_euclid = np.linalg.norm(grid - points[0], axis=-1)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
fields = {"Euclidean": by_euclid, "Fisher": by_fisher}
for ax, (name, D) in zip(axes, fields.items(), strict=True):
    field = ax.contourf(grid[..., 0], grid[..., 1], D, levels=12, cmap="cividis")
    for c, marker in enumerate("o^"):
        ax.scatter(
            *X[y == c].T,
            s=14,
            marker=marker,
            c="white",
            edgecolors="black",
            linewidths=0.5,
        )
    ax.scatter(-1, 0, marker="*", s=260, c="red", edgecolors="white")
    ax.set(title=f"{name} distance from the star", xlabel="feature 1", ylabel="feature 2")
    ax.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))
    figure.colorbar(field, ax=ax)
plt.show()

# %%
# A map of digits. 600 rows are laid out, the other rows are placed without their class.
# The training rows show more than there is to know (``over_separation_``); judge by the
# others.

X, y = load_digits(return_X_y=True)
model = mf.FisherKernelTSNE(n_train=600, random_state=0).fit(X, y)
train = model.train_indices_
others = np.setdiff1d(np.arange(len(X)), train)
print(f"class known without the row: {model.left_out_score_:.3f}")
print(f"over-separation of the training rows: {model.over_separation_:.3f}")

# %%
# Now with shuffled labels, which say nothing, and with the width of windows that suited
# the true ones. The training rows come apart by a label that means nothing. Rows that
# were not laid out do not. ``FisherKernelTSNE`` sees that left-out rows are not
# predicted, warns, and lays rows out by Euclidean distances instead; here the stages
# are called by hand.

shuffled = rng.permutation(y)
blind = fisher.parzen_classes(
    X[train], shuffled[train], bandwidth=model.fisher_bandwidth_
)
print(
    f"log-likelihood {blind.likelihood:.2f}, of class frequencies alone {blind.prior:.2f}"
)
places = embed(fisher.path_distances(X[train], blind), "tsne", metric="precomputed")
placed = mf.KernelMap(mapping="mode").fit(X[train], places).transform(X[others])

figure, axes = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
rows = [
    (model.embedding_[train], y[train], "digits: 600 training rows"),
    (model.embedding_[others], y[others], f"digits: {len(others)} other rows"),
    (places, shuffled[train], "shuffled labels: training rows"),
    (placed, shuffled[others], "shuffled labels: other rows"),
]
for ax, (Y, labels, title) in zip(axes.flat, rows, strict=True):
    ax.scatter(*Y.T, c=labels, cmap="tab10", s=7)
    share = knn_accuracy(Y, labels, 1)
    ax.set(
        title=f"{title}\nnearest neighbour of the same label: {share:.0%}",
        xticks=[],
        yticks=[],
    )
plt.show()
