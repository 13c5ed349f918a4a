"""
Which settings, and how sure?
=============================

UMAP's ``n_neighbors`` and ``min_dist`` change a map a good deal, and so does its seed.
``Tuner`` runs settings several times, learns from all runs, and says what it recommends.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import manifolia as mf
from manifolia.show import (
    ConvergenceDisplay,
    MapDisplay,
    ParetoDisplay,
    SensitivityDisplay,
    SettingDisplay,
)

X, y = load_digits(return_X_y=True)
X, y = X[:400], y[:400]
umap = mf.FeatureMAP(layout="edges", density_weight=0)

# %%
# A third of the rows, each setting up to three times, 5 pilots and 9 proposals. The
# neighbours are a fraction of the rows, so that what is found on few rows has a meaning
# on all of them.

space = {"n_neighbors": mf.Normalized(0.02, 0.3), "min_dist": (0.0, 1.0)}
tuner = mf.Tuner(
    umap,
    space,
    "auc_r_nx",
    subsample=130,
    n_repeats=3,
    n_trials=14,
    random_state=0,
    n_jobs=1,
)
tuner.fit(X)
print(f"use {tuner.best_params_}")
print(f"area under R_NX: {tuner.best_score_:.3f} ± {tuner.best_score_error_:.3f}")

# %%
# That figure comes from runs which had no part in the choice. The best mean that was seen
# on the way is better, because it is the luckiest of all.

print(f"luckiest mean: {tuner.trials_['auc_r_nx'].max():.3f}")
print(tuner.trials_[["n_neighbors", "min_dist", "auc_r_nx", "n_runs"]].round(3).tail(5))

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
ConvergenceDisplay.from_estimator(tuner).plot(axes[0])
SettingDisplay.from_estimator(tuner).plot(axes[1])
plt.show()

# %%
# Which of the two matters? Sobol indices and Shapley effects of the surrogate, with
# intervals; where the trials do not support such a table, the reason is drawn instead.

SensitivityDisplay.from_estimator(tuner).plot()
plt.show()

# %%
# Near rows and far ones pull apart. With two metrics the answer is a front: settings that
# no other beats in both. The knee is a suggestion.

both = mf.Tuner(
    umap,
    space,
    ["q_local", "q_global"],
    subsample=130,
    n_repeats=2,
    n_trials=14,
    random_state=0,
    n_jobs=1,
)
both.fit(X)
print(both.pareto_[["n_neighbors", "min_dist", "q_local", "q_global"]].round(3))
ParetoDisplay.from_estimator(both).plot()
plt.show()

# %%
# The map of all rows with the setting that was found.

MapDisplay.from_data(tuner.embedding_, y.astype(str)).plot()
plt.show()
