"""
Rows as the nodes they visit in a forest
========================================

A forest that has learned a target asks each row a series of questions. The list of nodes
that a row visits is a sparse code in which rows are alike if they are alike for the
target, whatever the noise around it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import SparseRandomProjection

import manifolia as mf
from manifolia.show import DensityDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
names = ["malignant", "benign"]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# The code is a sparse matrix with a column for each node. The number of trees was found
# by watching the cosines between held-out rows until 50 more trees hardly changed them.

model = mf.ForestFeatures(random_state=0).fit(X_train, y_train)
codes = model.transform(X_test)
print(f"{model.task_}: {model.n_trees_} trees, {codes.shape[1]} nodes")
print(f"each row visits {codes.sum(axis=1).mean():.0f} of them")

# %%
# A column can be read. Here is the most visited node among malignant test rows that no
# benign one visits.

seen = codes.toarray()
malignant = (y_test == 0).to_numpy()
only = np.where(seen[~malignant].any(axis=0), 0, seen[malignant].sum(axis=0))
best = int(only.argmax())
print(f"{int(only[best])} of {malignant.sum()} malignant rows, no benign one:")
print(model.describe(best))

# %%
# In a pipeline
# -------------
# Nearest neighbours suffer from columns that say nothing. Ninety columns of noise are
# added to the thirty of the data. Codes suffer less: trees seldom ask about noise.

rng = np.random.default_rng(0)
noise_train = rng.normal(size=(len(X_train), 90))
noise_test = rng.normal(size=(len(X_test), 90))
plain = make_pipeline(StandardScaler(), KNeighborsClassifier(1))
coded = make_pipeline(
    mf.ForestFeatures(random_state=0), KNeighborsClassifier(1, metric="cosine")
)
for name, train, test in (
    ("data alone", X_train.to_numpy(), X_test.to_numpy()),
    (
        "with noise",
        np.hstack([X_train, noise_train]),
        np.hstack([X_test, noise_test]),
    ),
):
    scores = [pipe.fit(train, y_train).score(test, y_test) for pipe in (plain, coded)]
    print(f"{name}: columns {scores[0]:.3f}, codes {scores[1]:.3f}")

# %%
# As a picture
# ------------
# Codes are high-dimensional and sparse: random projections and truncated singular value
# decompositions take them as they are. Below, the densities of new rows in a random
# plane, of the codes and of the scaled columns; classes share one range and colours.

for first, title in (
    (mf.ForestFeatures(random_state=0), "codes"),
    (StandardScaler(), "columns"),
):
    pipe = make_pipeline(
        first, SparseRandomProjection(2, random_state=0, dense_output=True)
    ).fit(X_train, y_train)
    display = DensityDisplay.from_estimator(
        pipe, X_test, y_test, class_names=names
    ).plot()
    overlap = display.overlap
    display.figure_.suptitle(f"{title} in a random plane: overlap {overlap:.2f}")
    plt.show()

# %%
# The directions in which the codes vary most part the classes further.

svd = make_pipeline(mf.ForestFeatures(random_state=0), TruncatedSVD(3, random_state=0))
svd.fit(X_train, y_train)
display = DensityDisplay.from_estimator(
    svd, X_test, y_test, components=(1, 2), class_names=names
).plot()
overlap = display.overlap
display.figure_.suptitle(f"second and third singular vector: overlap {overlap:.2f}")
plt.show()
