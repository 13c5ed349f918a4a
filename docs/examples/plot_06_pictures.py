"""
Pictures of a map
=================

Every picture is a display: ``from_…`` computes, ``plot`` draws on your own axes or on new
ones, and what was drawn is kept on the display. Colours are told apart with any colour
vision; ``theme="dark"`` has its own. The axes of a map mean nothing, so they have no
ticks: it may be turned and mirrored, and only who is near whom speaks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.model_selection import train_test_split

import manifolia as mf
from manifolia.show import EntropyDisplay, ImportanceDisplay, MapDisplay, ShepardDisplay

wine = load_wine(as_frame=True)
X, X_new, y, y_new = train_test_split(
    wine.data, wine.target, test_size=0.25, stratify=wine.target, random_state=0
)
model = mf.RFPHATE(n_trees=200, random_state=0).fit(X, y)
names = ["Barolo", "Grignolino", "Barbera"]

# %%
# By class, with rows that were put aside as diamonds. Where the forest's prediction is
# not the label, a ring has the colour of the prediction.

display = MapDisplay.from_estimator(
    model,
    y,
    X_new=X_new,
    y_new=y_new,
    predicted=model.forest_.predict(X_new.to_numpy()),
    class_names=names,
    name="cultivar",
)
display.plot()
plt.show()

# %%
# The same for the rows of the map: ``predicted="oob"`` is what the trees say that did not
# train on a row.

MapDisplay.from_estimator(
    model, y, predicted="oob", class_names=names, name="cultivar"
).plot(theme="dark")
plt.show()

# %%
# By any column. Missing values are hollow. Beside it, what shaped the map.

proline = X["proline"].mask(X["magnesium"] > 120)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
MapDisplay.from_estimator(model, proline).plot(left, limits="robust")
ImportanceDisplay.from_estimator(model, top=10).plot(right)
plt.show()

# %%
# Values with a sign get a scale with a middle. Here the map is of a number, the progress
# of a disease after a year, and the colour says how far the forest was off on rows out of
# its bags.

diabetes = load_diabetes(as_frame=True)
number = mf.RFPHATE(n_trees=200, random_state=0).fit(diabetes.data, diabetes.target)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
MapDisplay.from_estimator(number, diabetes.target, name="progress").plot(left)
error = number.oob_prediction_ - diabetes.target
MapDisplay.from_estimator(number, error, name="predicted − true").plot(right, center=0)
plt.show()

# %%
# How long the walk was and how the map keeps distances. It is laid out by what the forest
# learned, not by distances between rows: the second picture is no reproach.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
EntropyDisplay.from_estimator(model).plot(left)
scaled = (X - X.mean()) / X.std()
ShepardDisplay.from_data(scaled, model.embedding_).plot(right)
plt.show()

# %%
# In one dimension each class has a lane, in three the axes are in space.

iris = load_iris()
line = mf.RFPHATE(1, n_trees=200, random_state=0).fit(iris.data, iris.target)
MapDisplay.from_estimator(line, iris.target, class_names=list(iris.target_names)).plot()
space = mf.RFPHATE(3, n_trees=200, random_state=0).fit(X, y)
MapDisplay.from_estimator(space, y, class_names=names).plot()
plt.show()

# %%
# Legends grow columns, and names stand where their class is densest.

rng = np.random.default_rng(0)
group = rng.integers(0, 40, 3000)
Y = 6 * rng.normal(size=(40, 2))[group] + 0.5 * rng.normal(size=(3000, 2))
labels = np.array([f"type {i}" for i in range(40)])[group]
MapDisplay.from_data(Y, labels).plot()
plt.show()
