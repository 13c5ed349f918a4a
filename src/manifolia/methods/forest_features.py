"""ForestFeatures: task-dependent features from the nodes of a forest (Vens and Costa 2011, Fig. 2).

======  =========================================================  ==================================================
lines   paper                                                      here
======  =========================================================  ==================================================
1–4     a forest of M bootstrapped trees, √f features a split      `forest.grow`
(M)     as many trees as the Gram matrix needs to stand still      `forest.grow.grow_until_stable`
5–9     the nodes on each row's path, and their identifiers        `forest.node_paths.encode`
10, 11  identifiers hashed to F columns, entries added up          `forest.node_paths.node_hash`
II-F    κ and its normalised forms                                 `forest.path_kernel`
======  =========================================================  ==================================================
"""

from __future__ import annotations

import logging
import math
import re
from functools import partial
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin, clone
from sklearn.utils import get_tags

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.groups import draw_rows_by_groups, sub_groups
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator, as_key, spawn_seeds
from manifolia._core.types import Array, ArrayLike, Callback, FloatArray, IntArray, RandomState, Sparse
from manifolia._core.validate import check_bool, check_is_fitted, check_number, check_option, is_sparse
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.forest.bags import check_group_forest, has_bags
from manifolia.forest.grow import foresee_size, grow_forest, grow_until_stable, shuffled_columns
from manifolia.forest.node_paths import (
    HASHES,
    MISSING,
    NODES,
    NodeHash,
    encode,
    node_hash,
)
from manifolia.forest.path_kernels import path_kernel
from manifolia.forest.targets import Target, read_target, target_groups
from manifolia.forest.trees import (
    Trees,
    check_ensemble,
    check_rows,
    describe_node,
    has_missing,
    is_grown,
    read_trees,
    single_precision,
)

_HELD_OUT = 9  # one row in nine judges the size of the forest, as one fold of the paper's nine training folds does
_MOST_HELD_OUT = 500  # the Gram matrix has the square of it entries, so that the cost stays linear in the rows
_FEW_ROWS = 6  # too few to hold any out: the rows themselves judge
_USUAL_TREES = 200  # that "auto" comes to on most data
_TABLE_BYTES = 35  # of a node in our arrays
_GROWING = 1.25  # of these, while trees grow in steps and their nodes are laid side by side
_log = logging.getLogger(__name__)


class ForestFeatures(TransformerMixin, Estimator):
    """Sparse features from the nodes that a row visits in a forest trained on the target.

    Rows have features in common if the forest asks them the same questions and gets the same answers, so that linear
    models, nearest neighbours and projections on these features see the data as the target does.
    ``fit_transform`` equals ``fit`` followed by ``transform``.

    Parameters
    ----------
    n_trees : int or "auto", default="auto"
        Trees of the forest that is built when none is given. ``"auto"``: 50 more until the mean absolute change of the
        normalised Gram matrix of held-out rows falls below `tol`; a forest of that size is then grown on all rows.
    n_features_out : int, default=None
        Number of columns into which nodes are hashed. None: one column per node, those of ``forest_.decision_path``,
        less each tree's first with ``roots=False``.
    nodes : {"path", "leaf"}, default="path"
        Every node on the path, or leaves only.
    roots : bool, default=True
        Whether a path begins at its root, as in the paper. False drops each tree's root column from what ``transform``
        gives: all rows share the roots, so their columns carry no information. `kernel` leaves them out either way.
    missing : {"random", "split", "native"}, default="random"
        Where a test sends a missing value: either way with equal chance, which depends on the seed, the node and the
        row's own content; both ways with half the mass each; or where the tree learned to send it. In training the
        forest always learns one direction, as scikit-learn does, and does not send such rows both ways.
    task : {"auto", "classification", "regression", "multilabel", "multioutput", "unsupervised"}, default="auto"
        The kind of task. ``"auto"``: numbers with fractions, and whole numbers with more than 20 different values, are
        regressed on; everything else is classes.
    forest : scikit-learn tree or ensemble of trees, default=None
        Fitted: used as it is; wrap it in ``sklearn.frozen.FrozenEstimator`` for pipelines and searches. Unfitted: a
        clone is fitted, with its own number of trees. None: a random forest with √d features per split, rounded up; our
        own kernels grow it unless the data are sparse or `ccp_alpha` is above 0, and scikit-learn otherwise.
    tol : float, default=0.01
        Change of the Gram matrix below which no trees are added.
    max_trees : int, default=1000
        Maximum number of trees for ``n_trees="auto"``.
    hash : {"mixed", "signed", "modulo"}, default="mixed"
        How a node is assigned one of `n_features_out` columns: a well-mixed hash; the same with a random sign per node,
        which keeps inner products unbiased; or the node's number modulo the columns, as in the paper.
    max_depth : int, default=None
        Bounds the depth of the trees that are built, and so the number of nodes.
    min_samples_leaf : int, default=1
        Bounds the size of their leaves from below.
    ccp_alpha : float, default=0.0
        Prunes them by cost and complexity.
    dtype : {"float32", "uint8"}, default="float32"
        Type of the entries.
    random_state : int, RandomState, Generator or None, default=None
        Seed of forest, held-out rows, missing values and hash.
    n_jobs : int or None, default=None
        Threads; None is all cores. The result does not depend on it.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True stops.

    Attributes
    ----------
    forest_ : scikit-learn estimator
        The forest.
    n_trees_ : int
        Its number of trees.
    convergence_ : ndarray of shape (k,)
        Mean absolute change of the Gram matrix from 50 to 100 trees, from 100 to 150, …; empty if the number was given.
    task_ : str
        The task that was chosen.
    n_features_in_ : int
        Features seen in ``fit``.

    References
    ----------
    .. [1] C. Vens and F. Costa, "Random forest based feature induction", ICDM 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.ForestFeatures(20, random_state=0).fit(X, y)
    >>> codes = model.transform(X)
    >>> codes.shape[0], bool((codes != model.forest_.decision_path(X)[0]).nnz == 0)
    (150, True)
    """

    def __init__(
        self,
        n_trees: int | str = "auto",
        *,
        n_features_out: int | None = None,
        nodes: str = "path",
        roots: bool = True,
        missing: str = "random",
        task: str = "auto",
        forest: Any = None,
        tol: float = 0.01,
        max_trees: int = 1000,
        hash: str = "mixed",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        dtype: str = "float32",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_trees = n_trees
        self.n_features_out = n_features_out
        self.nodes = nodes
        self.roots = roots
        self.missing = missing
        self.task = task
        self.forest = forest
        self.tol = tol
        self.max_trees = max_trees
        self.hash = hash
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> ForestFeatures:
        """Grow the forest.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows of numbers; NaN is a missing value where the forest supports it. Encode categories first, as one-hot
            columns (the paper) or by their order of frequency; `manifolia.tables.TablePreparer` does the former.
        y : array-like of shape (n,) or (n, n_outputs), default=None
            Target. Rows whose label is missing are not trained on.
        groups : array-like of shape (n,), default=None
            Labels of rows that belong together, such as one patient's. Trees draw whole groups, and whole groups are
            held out where the number of trees is chosen. A missing label is a group of its own.

        Returns
        -------
        ForestFeatures
            Itself.
        """
        given = self._check_parameters()
        self._check_output()
        reporter = Reporter(self.callback, verbose=self.verbose)
        with threads(self.n_jobs):
            rows = check_rows(self, X, reset=True)
            forest_seed, held_out_seed, missing_seed, hash_seed = spawn_seeds(self.random_state, 4)
            curve: FloatArray = np.empty(0)
            if given is not None and groups is not None:
                check_group_forest(given, is_fitted=is_grown(given))
            if given is not None and is_grown(given):
                _check_columns(given, rows)
                forest, task = given, "given"
            else:
                target = read_target(y, rows.shape[0], self.task, forest=given if has_bags(given) else None)
                memory.require(
                    self._memory_need(rows, y),
                    step=f"a forest of {rows.shape[0]} rows",
                    remedy="Use fewer trees (n_trees, max_trees), or smaller ones (max_depth, min_samples_leaf).",
                )
                task = target.task
                together = target_groups(groups, target)
                _log.info("task: %s", task)
                model = self._unfitted(given, target, rows.shape[1], forest_seed)
                if given is None and self.n_trees == "auto":
                    curve, n_trees = self._size(clone(model), rows, target, together, held_out_seed, reporter)  # (M)
                    model.set_params(n_estimators=n_trees)
                forest = self._grow(model, rows, target, together, forest_seed, reporter)  # 1–4
            nodes = read_trees(forest)  # 5–9: what rows are coded by
            self.forest_, self.task_, self.convergence_ = forest, task, curve
            self.n_trees_, self._nodes = nodes.n_trees, nodes
            self._missing_key, self._hash_key = int(as_key(missing_seed)), int(as_key(hash_seed))
            self._had_missing = has_missing(rows)
        return self

    @row_by_row
    def transform(self, X: ArrayLike) -> Sparse:
        """Code rows by the nodes that they visit, each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.

        Returns
        -------
        csr_array of shape (m, n_nodes) or (m, n_features_out)
            1 for each node on the path; shares of it with ``missing="split"``; counts, or signed counts, when hashed.
        """
        self._check_output()
        rows = self._rows(X)
        with threads(self.n_jobs):
            return encode(
                self._trees,
                rows,
                nodes=self.nodes,
                missing=self.missing,
                key=self._missing_key,
                folded=self._folded(),
                roots=self.roots,
                dtype=self.dtype,
            )

    def kernel(self, X: ArrayLike, Z: ArrayLike | None = None, normalize: str | None = "cosine") -> Any:
        """Compare rows by the paths that they share; can be the ``kernel`` of ``sklearn.svm.SVC``.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows.
        Z : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            Rows to compare with; None: `X` itself.
        normalize : {"cosine", "max"} or None, default="cosine"
            ``"cosine"``: κ(x, z) / √(κ(x, x) κ(z, z)). ``"max"``: in each tree the common length over that of the
            longer path (Torkkola and Tuv), mean over trees. None: κ, the cumulative length of the common paths.

        Returns
        -------
        ndarray, or csr_array with ``nodes="leaf"``, of shape (n, m)
            Computed from the nodes below the roots, whether codes are hashed or not. The roots are left out whatever
            `roots` is: all rows share them, so they pull every kernel towards a constant one.
        """
        rows = self._rows(X)
        others = None if Z is None or Z is X else self._rows(Z)
        how: dict[str, Any] = {"nodes": self.nodes, "missing": self.missing, "key": self._missing_key, "roots": False}
        return path_kernel(self._trees, rows, others, normalize=normalize, n_jobs=self.n_jobs, **how)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Name the columns of the code.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Only compared with the names that ``fit`` saw.

        Returns
        -------
        ndarray of str objects
            ``tree3_node17``, or ``hash17`` when nodes share columns.

        Raises
        ------
        ValueError
            If `input_features` are others than those of ``fit``.
        """
        check_is_fitted(self, "forest_")
        if input_features is not None:
            names = np.asarray(input_features, dtype=object)
            if "feature_names_in_" in vars(self) and not np.array_equal(names, self.feature_names_in_):
                raise ParameterError(
                    "input_features is not equal to feature_names_in_. Leave it out, or pass the names of fit.",
                    parameter="input_features",
                )
            if len(names) != self.n_features_in_:
                raise ParameterError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), "
                    f"got {len(names)}.",
                    parameter="input_features",
                )
        if self.n_features_out is not None:
            return np.array([f"hash{j}" for j in range(self.n_features_out)], dtype=object)
        roots = self._trees.roots
        tree = np.repeat(np.arange(self.n_trees_), np.diff(roots))
        node = np.arange(self._trees.n_nodes) - roots[tree]
        named = [f"tree{t}_node{k}" for t, k in zip(tree, node, strict=True) if self.roots or k > 0]
        return np.array(named, dtype=object)

    def describe(self, feature: int | str) -> str:
        """Say which tests lead to the node of a feature.

        Parameters
        ----------
        feature : int or str
            Column of the code, or its name.

        Returns
        -------
        str
            The tests joined by "and", with the column names of ``fit``; the root is ``"every row"``. For a hashed
            column, one line for each node in it.

        Raises
        ------
        ValueError
            If there is no such feature.
        """
        check_is_fitted(self, "forest_")
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        say = partial(describe_node, self._trees, names=names, missing=self.missing == "native" and self._had_missing)
        column = self._column(feature)
        folded = self._folded()
        coded = self._coded_nodes()
        if folded is None:
            return say(int(coded[column]))
        nodes = coded[folded.columns == column]
        trees = np.searchsorted(self._trees.roots, nodes, side="right") - 1
        return "\n".join(
            f"tree{t}_node{v - self._trees.roots[t]}: {say(int(v))}" for t, v in zip(trees, nodes, strict=True)
        )

    def _column(self, feature: int | str) -> int:
        coded = self._coded_nodes()
        n_columns = len(coded) if self.n_features_out is None else self.n_features_out
        column = -1
        if isinstance(feature, str):
            hashed, plain = re.fullmatch(r"hash(\d+)", feature), re.fullmatch(r"tree(\d+)_node(\d+)", feature)
            if hashed and self.n_features_out is not None:
                column = int(hashed[1])
            elif plain and self.n_features_out is None and int(plain[1]) < self.n_trees_:
                first, last = self._trees.roots[int(plain[1])], self._trees.roots[int(plain[1]) + 1]
                node = int(first) + int(plain[2])
                place = int(np.searchsorted(coded, node))
                column = place if node < last and place < len(coded) and coded[place] == node else -1
        elif isinstance(feature, (int, np.integer)) and not isinstance(feature, bool):
            column = int(feature)
        if not 0 <= column < n_columns:
            raise ParameterError(
                f"feature must be a column from 0 to {n_columns - 1} or a name of get_feature_names_out(), "
                f"got {feature!r}.",
                parameter="feature",
            )
        return column

    def _check_parameters(self) -> Any:
        check_number(self.n_trees, "n_trees", low=1, integer=True, hint="Use 'auto' or a number of trees.", word="auto")
        if self.n_features_out is not None:
            check_number(self.n_features_out, "n_features_out", low=1, high=2**31 - 1, integer=True)
        check_option(self.nodes, "nodes", NODES)
        check_bool(self.roots, "roots")
        check_option(self.missing, "missing", MISSING)
        check_number(self.tol, "tol", low=0.0)
        check_number(self.max_trees, "max_trees", low=1, integer=True)
        check_option(self.hash, "hash", HASHES)
        if self.max_depth is not None:
            check_number(self.max_depth, "max_depth", low=1, integer=True)
        check_number(self.min_samples_leaf, "min_samples_leaf", low=1, integer=True)
        check_number(self.ccp_alpha, "ccp_alpha", low=0.0)
        check_option(self.dtype, "dtype", ("float32", "uint8"))
        if self.dtype == "uint8" and (self.missing == "split" or (self.hash == "signed" and self.n_features_out)):
            raise ParameterError(
                "dtype='uint8' holds neither the shares of missing='split' nor the signs of hash='signed'. "
                "Use dtype='float32'.",
                parameter="dtype",
            )
        check_bool(self.verbose, "verbose")
        return check_ensemble(self.forest)

    def _check_output(self) -> None:
        """Refuse frames as output before the forest is grown."""
        asked = getattr(self, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
        if asked != "default":
            raise ParameterError(
                f"set_output: {asked.capitalize()} output does not support sparse data. ForestFeatures gives a sparse "
                f"matrix: use set_output(transform='default'); pandas.DataFrame.sparse.from_spmatrix makes a frame of "
                f"it."
            )

    def _rows(self, X: ArrayLike) -> Any:
        check_is_fitted(self, "forest_")
        rows = single_precision(check_rows(self, X, reset=False))
        _check_columns(self.forest_, rows)
        if self.missing == "native" and has_missing(rows) and not get_tags(self.forest_).input_tags.allow_nan:
            raise ParameterError(
                f"X has missing values and {type(self.forest_).__name__} has learned no direction for them. "
                f"Use missing='random' or missing='split'.",
                parameter="X",
            )
        return rows

    def _unfitted(self, given: Any, target: Target, d: int, seed: int) -> Any:
        """The forest of section III-A: √d features per split, rounded up, trees grown until their leaves are pure."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        if given is not None:
            model = clone(given)
            if not has_bags(given) and "random_state" in model.get_params() and model.random_state is None:
                model.set_params(random_state=seed)
            return model
        classes = target.is_classification or target.task == "unsupervised"
        with threads(None) as n_threads:
            return (RandomForestClassifier if classes else RandomForestRegressor)(
                n_estimators=1 if self.n_trees == "auto" else self.n_trees,
                max_features=math.ceil(math.sqrt(d)),
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
                ccp_alpha=self.ccp_alpha,
                n_jobs=n_threads,
                random_state=seed,
            )

    def _grow(self, model: Any, X: Any, target: Target, groups: IntArray | None, seed: int, reporter: Reporter) -> Any:
        if not has_bags(model):  # nothing is known of its bags, or needed
            return model.fit(X[target.labelled], target.y)
        reporter.step("forest", 0, 1)
        own = self.forest is None
        forest = grow_forest(X, target, forest=model, own=own, groups=groups, random_state=seed).forest
        reporter.step("forest", 1, 1)
        return forest

    def _size(
        self, model: Any, X: Any, target: Target, groups: IntArray | None, seed: int, reporter: Reporter
    ) -> tuple[FloatArray, int]:
        """Section III-A: the size at which the Gram matrix of held-out rows settles, and its changes until then."""
        generator = as_generator(seed)
        rows = generator.permutation(np.flatnonzero(target.labelled))
        n_held = min(_MOST_HELD_OUT, max(2, len(rows) // _HELD_OUT))
        held_out, train = (rows, rows) if len(rows) < _FEW_ROWS else (rows[:n_held], np.sort(rows[n_held:]))
        own = sub_groups(groups, np.sort(rows))
        if own is not None:
            labelled = np.sort(rows)
            held = draw_rows_by_groups(own, n_held, generator)
            held_out, train = labelled[held][:_MOST_HELD_OUT], np.delete(labelled, held)
        units = sub_groups(groups, train)
        if target.y is None:
            if is_sparse(X):
                raise ParameterTypeError(
                    "task='unsupervised' shuffles columns and needs dense data, got a sparse X.", parameter="task"
                )
            data = np.vstack([X[train], shuffled_columns(X[train], generator)])
            y = np.repeat([1, 0], len(train))
            units = None if units is None else np.concatenate([units, units])
        else:
            place = np.cumsum(target.labelled) - 1
            data, y = X[train], target.y[place[train]]
        settings: dict[str, Any] = {"tol": self.tol, "max_trees": self.max_trees, "own": self.forest is None}
        heard = partial(reporter.step, "size")
        sized = grow_until_stable(model, data, y, X[held_out], groups=units, report=heard, **settings)
        if len(sized.curve) and sized.curve[-1] >= self.tol:
            warn(
                f"the Gram matrix still changes by {sized.curve[-1]:.3g} with {sized.n_trees} trees, more than "
                f"tol={self.tol:g}. Raise max_trees or tol."
            )
        return sized.curve, sized.n_trees

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the forest's nodes in scikit-learn's trees and in our table."""
        n, d = X.shape
        given = check_ensemble(self.forest)
        if given is not None and is_grown(given):
            return float(_TABLE_BYTES * read_trees(given).n_nodes)
        own = min(self.max_trees, _USUAL_TREES) if self.n_trees == "auto" else self.n_trees
        n_trees = own if given is None else getattr(given, "n_estimators", 1)
        foreseen = foresee_size(n, int(n_trees), None if y is None else read_target(y, n, self.task))
        return _GROWING * (foreseen.n_bytes + _TABLE_BYTES * foreseen.n_nodes) + 4.0 * n * d

    def _folded(self) -> NodeHash | None:
        if self.n_features_out is None:
            return None
        return node_hash(len(self._coded_nodes()), self.n_features_out, kind=self.hash, key=self._hash_key)

    def _coded_nodes(self) -> IntArray:
        """The nodes that have a column, or a place in the hash, in order."""
        nodes = np.arange(self._trees.n_nodes)
        return nodes if self.roots else np.delete(nodes, self._trees.roots[:-1])

    @property
    def _trees(self) -> Trees:
        """The nodes of the forest as arrays: not saved, but read again from the forest."""
        if "_nodes" not in vars(self):
            self._nodes = read_trees(self.forest_)
        return self._nodes

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be read from the forest again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_nodes"}

    def _check_restored(self) -> None:
        """Check that a model which came from a file fits its forest."""
        self.__dict__.pop("_nodes", None)
        if "forest_" in vars(self) and self.forest_.n_features_in_ != self.n_features_in_:
            raise ValueError("the nodes of the model are not those of its forest.")

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        given = getattr(self.forest, "estimator", self.forest)
        tags.target_tags.required = self.task != "unsupervised" and not (given is not None and is_grown(given))
        tags.transformer_tags.preserves_dtype = ["float32"] if self.dtype == "float32" else []
        return tags


def _check_columns(forest: Any, rows: Any) -> None:
    """Refuse rows whose columns differ from those that the forest was fitted on."""
    if forest.n_features_in_ != rows.shape[1]:
        raise ParameterError(
            f"forest was fitted with {forest.n_features_in_} features, got an X with {rows.shape[1]}.",
            parameter="forest",
        )
