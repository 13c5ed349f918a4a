"""What a saved object always holds, and defaults for what its class got later.

Code reads the attributes in `ALWAYS` without checking. An object that lacks one was saved before its class had it:
`BEFORE` says what that means; if there is no default, the file is refused with an explanation. A test fits every class,
and fails if an attribute is neither here nor known to be optional.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

from manifolia.exceptions import ModelFileError

#: Id of a class to attributes that every fit sets, besides its parameters.
ALWAYS = {
    "manifolia.baselines.MLkNN": "_k _labels _likelihood _many _rows classes_ n_features_in_ prior_",
    "manifolia.baselines.MVU": "distance_error_ embedding_ n_features_in_ variances_",
    "manifolia.baselines.TSNE": "embedding_ kl_divergence_ n_features_in_ n_iter_ perplexity_",
    "manifolia.baselines.ParametricTSNE": "_n_features_out _scale _shift coefs_ converged_ embedding_ "
    "hidden_layer_sizes_ intercepts_ loss_curve_ n_features_in_ n_iter_ perplexity_ reconstruction_curves_",
    "manifolia.baselines.PLSDA": "_n_features_out classes_ mean_ n_features_in_ rotations_ scale_",
    "manifolia.baselines.EnhancedSupervisedIsomap": "_map _n_features_out beta_ classes_ embedding_ n_features_in_",
    "manifolia.baselines.EnhancedSupervisedLLE": "_k _n_features_out _rows classes_ embedding_ n_features_in_",
    "manifolia.baselines.SupervisedNMF": "_n_features_out _scale classes_ components_ embedding_ n_features_in_ "
    "n_iter_ objective_ shift_",
    "manifolia.baselines.KernelSupervisedPCA": "_X _center _n_features_out _shift dual_coef_ gamma_ n_features_in_ "
    "n_supervised_",
    "manifolia.baselines.SupervisedPCA": "_n_features_out components_ mean_ n_features_in_ n_supervised_",
    "manifolia.KernelMap": "_calibration _frame _n_features_out _scale center_indices_ centers_ n_features_in_ places_",
    "manifolia.FeatureMAP": "_known_rows near_ "
    "_Z _embedded _layout_seed _mean_distance _n_features_out _projection _pullback "
    "_search_seed _spaces _yardstick anisotropy_correlation_ embedding_ gauges_ graph_ intrinsic_dim_ intrinsic_dims_ "
    "layout_ n_epochs_ n_features_in_ pullback_ radius_correlation_ reliability_ singular_values_",
    "manifolia.FisherKernelTSNE": "_n_features_out _subset embedding_ fisher_bandwidth_ layout_metric_ left_out_score_ "
    "log_likelihood_ map_ n_features_in_ over_separation_ prior_log_likelihood_ train_indices_",
    "manifolia.ForestFeatures": "_had_missing _hash_key _missing_key convergence_ forest_ n_features_in_ n_trees_ "
    "task_",
    "manifolia.ForestMap": "_fitted_forest _n_features_out embedding_ layout_embedding_ n_features_in_ "
    "novelty_threshold_ oob_score_ over_separation_ task_",
    "manifolia.GuidedMap": "_known_rows near_ "
    "_fitted_forest _guide _n_features_out embedding_ guide_losses_ guide_name_ guide_score_ "
    "kl_divergence_ layout_embedding_ n_features_in_ novelty_threshold_ oob_score_ over_separation_ task_",
    "manifolia.KernelTSNE": "_n_features_out _subset embedding_ map_ n_features_in_ train_indices_",
    "manifolia.PHATE": "_known_rows near_ "
    "_X _n_features_out _places _search_seed bandwidth_ embedding_ entropy_ kernel_ "
    "landmark_embedding_ landmark_labels_ n_features_in_ stress_ t_",
    "manifolia.RFPHATE": "_known_rows near_ "
    "_fitted_forest _n_features_out embedding_ entropy_ landmark_embedding_ landmark_labels_ "
    "n_features_in_ novelty_threshold_ oob_score_ over_separation_ stress_ t_ task_",
    "manifolia.tables.TablePreparer": "center_ fill_ had_missing_ levels_ n_features_in_ names_out_ notes_ origins_ "
    "pooled_ positions_ roles_ scale_ sources_ sparse_ texts_ used_ written_",
    "manifolia.state.FittedForest": "_training _trees contrast_seed counts excess forest groups importance leaf leaves "
    "permutation_seed ranges weight",
    "manifolia.state.FittedGuide": "classes forest_share losses model name one_output seed units votes weight",
}

#: Id of a class to parameters and attributes that it got after files of it had been written, and their defaults.
BEFORE: dict[str, dict[str, Any]] = {
    "manifolia.ForestFeatures": {"roots": True},
    "manifolia.FeatureMAP": {"layout": "edges", "layout_": "edges", "near_": None, "_known_rows": None},
    "manifolia.RFPHATE": {
        "sharpness": 1.0,
        "placing": "leaves",
        "t_rule": "slowdown",
        "near_": None,
        "_known_rows": None,
    },
    "manifolia.tables.TablePreparer": {"texts_": {}},
    "manifolia.state.FittedForest": {"groups": None},
    "manifolia.state.FittedGuide": {"forest_share": 0.0},
    "manifolia.GuidedMap": {"near_": None, "_known_rows": None},
    "manifolia.PHATE": {"near_": None, "_known_rows": None},
}


def completed(name: str, kind: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of an object of a class, completed by what the class got later."""
    always = ALWAYS.get(name, "").split()
    parameters = [] if name.startswith("manifolia.state.") else list(inspect.signature(kind).parameters)
    is_fitted = any(attribute in state for attribute in always)
    needed = [*parameters, *always] if is_fitted else parameters
    later = {one: copy.copy(value) for one, value in BEFORE.get(name, {}).items() if one in needed}
    absent = [one for one in needed if one not in state and one not in later]
    if absent:
        raise ModelFileError(
            f"it was saved by another version of manifolia: its {kind.__name__} lacks {', '.join(absent)}. Fit it "
            f"again, or load it with the version that saved it."
        )
    return later | state
