"""AnnData in place: maps of cells, written where scanpy looks for them.

Every call reads an AnnData and writes into it, as scanpy's own tools do; ``copy=True`` leaves it alone and returns a
copy with the results. Nothing is written unless all of it was computed.

=======================================  ==============================================================================
where, with ``key_added="guided"``       what
=======================================  ==============================================================================
``obsm["X_guided"]``                     the map, which ``sc.pl.embedding(adata, basis="guided")`` draws
``obs["guided_trust"]``                  how far to trust the place of a cell, with ``obs["guided_reason"]``
``obs["guided_novelty"]``                how unlike the other cells it is, from 0 to 1
``obs["guided_prediction"]``             what the model predicts for a cell that it did not see
``var["guided_importance"]``             how much a gene matters; NaN for genes that took no part
``obsp["guided_connectivities"]``        proximities, if asked for: a graph for ``sc.tl.leiden(adata, neighbors_key=…)``
``uns["guided"]``                        parameters, scores, findings, and the model, which `ingest` and `diagnose` read
=======================================  ==============================================================================

The model is kept without pickle: an AnnData from someone else cannot run code here. No call needs scanpy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from manifolia import registry
from manifolia._core.sparse import largest_entries
from manifolia._core.types import Array, ArrayLike
from manifolia._core.validate import check_bool, check_number, is_sparse, to_csr
from manifolia._version import __version__
from manifolia.exceptions import ParameterError, TableError
from manifolia.explorer.column_weights import importances_of, takes_long
from manifolia.methods.featuremap import FeatureMAP
from manifolia.methods.forest_features import ForestFeatures
from manifolia.methods.guided_map import GuidedMap
from manifolia.methods.phate import PHATE
from manifolia.methods.rf_phate import RFPHATE
from manifolia.persist import load, save
from manifolia.runs.scores import score_map
from manifolia.tables import annotated
from manifolia.tables.naming import listing, nearest
from manifolia.trust.diagnosis import Diagnosis
from manifolia.trust.examination import diagnose as diagnose_map
from manifolia.trust.words import ROW_VERDICTS

__all__ = ["diagnose", "featuremap", "forest_features", "guided", "ingest", "phate", "rfphate"]


@dataclass
class _Results:
    """What is written into an AnnData, once all of it is there."""

    uns: dict[str, Any]
    obsm: dict[str, Any] = field(default_factory=dict)
    obs: dict[str, Any] = field(default_factory=dict)
    var: dict[str, Any] = field(default_factory=dict)
    obsp: dict[str, Any] = field(default_factory=dict)

    def write(self, adata: Any, key: str) -> None:
        """Put everything in its place."""
        for name, values in self.obs.items():
            adata.obs[name] = values
        for name, values in self.var.items():
            adata.var[name] = values
        for name, values in self.obsm.items():
            adata.obsm[name] = values
        for name, values in self.obsp.items():
            adata.obsp[name] = values
        adata.uns[key] = self.uns


def guided(
    adata: Any,
    target: str = "cell_type",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    groups: str | None = None,
    key_added: str = "guided",
    copy: bool = False,
    mask_var: str | ArrayLike | None = "auto",
    proximities: bool | int = False,
    importance: bool | None = None,
    **settings: Any,
) -> Any:
    """Make a map of cells that a label guides, by `manifolia.GuidedMap`.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed by a file that is read in blocks. Normalise them as for any other map: genes are
        taken as they are.
    target : str, default='cell_type'
        Column of ``adata.obs`` that guides the map; cells without a label are placed by the cells that they are like.
    use_rep : str, default=None
        Entry of ``adata.obsm`` to take the cells from, such as ``"X_pca"``; None: the genes.
    layer : str, default=None
        Layer to take the genes from; None: ``adata.X``.
    neighbors_key : str, default=None
        Use the representation of the ``sc.pp.neighbors`` call that wrote ``adata.uns[neighbors_key]``.
    groups : str, default=None
        Column of ``adata.obs`` that says which cells belong together, such as the donor: they are drawn and held out
        together.
    key_added : str, default='guided'
        Name of the results; see the table of `manifolia.sc`.
    copy : bool, default=False
        Return a copy with the results, and leave `adata` as it is.
    mask_var : str, array-like of bool or None, default='auto'
        Genes that take part: a column of ``adata.var``, or one value per gene; "auto" is ``"highly_variable"`` where
        there is such a column, and None is all.
    proximities : bool or int, default=False
        Keep the forest's proximities in ``adata.obsp``: all, or only this many of each cell's largest.
    importance : bool or None, default=None
        Measure the importance of genes; None: if it does not take long.
    **settings : object
        Parameters of `manifolia.GuidedMap`; ``random_state`` is 0 unless it is given.

    Returns
    -------
    AnnData or None
        The copy, or None: the results are in `adata`.

    Raises
    ------
    TableError
        If something that was named is not in `adata`.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import manifolia as mf
    >>> from manifolia.datasets import make_relevant_blobs
    >>> blobs = make_relevant_blobs(150, random_state=0)
    >>> cells = anndata.AnnData(blobs.data.astype("float32"))
    >>> cells.obs["cell_type"] = np.array(["B", "NK", "T"])[blobs.target % 3]
    >>> mf.sc.guided(cells, n_trees=50)
    >>> cells.obsm["X_guided"].shape, sorted(cells.obs)
    ((150, 2), ['cell_type', 'guided_novelty', 'guided_prediction', 'guided_reason', 'guided_trust'])
    """
    asked = _Asked(GuidedMap, target, groups, key_added, copy, proximities, importance)
    return _map_cells(adata, asked, annotated.read_cells(adata, use_rep, layer, neighbors_key, mask_var), settings)


def rfphate(
    adata: Any,
    target: str = "cell_type",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    groups: str | None = None,
    key_added: str = "rfphate",
    copy: bool = False,
    mask_var: str | ArrayLike | None = "auto",
    proximities: bool | int = False,
    importance: bool | None = None,
    **settings: Any,
) -> Any:
    """Make a map of cells by the proximities of a forest and diffusion, by `manifolia.RFPHATE`.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed by a file.
    target : str, default='cell_type'
        Column of ``adata.obs`` that the forest learns.
    use_rep : str, default=None
        Entry of ``adata.obsm`` to take the cells from, such as ``"X_pca"``; None: the genes.
    layer : str, default=None
        Layer to take the genes from; None: ``adata.X``.
    neighbors_key : str, default=None
        Use the representation of the ``sc.pp.neighbors`` call that wrote ``adata.uns[neighbors_key]``.
    groups : str, default=None
        Column of ``adata.obs`` that says which cells belong together, such as the donor: they are drawn and held out
        together.
    key_added : str, default='rfphate'
        Name of the results; see the table of `manifolia.sc`.
    copy : bool, default=False
        Return a copy with the results, and leave `adata` as it is.
    mask_var : str, array-like of bool or None, default='auto'
        Genes that take part: a column of ``adata.var``, or one value per gene; "auto" is ``"highly_variable"`` where
        there is such a column, and None is all.
    proximities : bool or int, default=False
        Keep the forest's proximities in ``adata.obsp``: all, or only this many of each cell's largest.
    importance : bool or None, default=None
        Measure the importance of genes; None: if it does not take long.
    **settings : object
        Parameters of `manifolia.RFPHATE`; ``random_state`` is 0 unless it is given.

    Returns
    -------
    AnnData or None
        The copy, or None: the results are in `adata`.

    Raises
    ------
    TableError
        If something that was named is not in `adata`.
    """
    asked = _Asked(RFPHATE, target, groups, key_added, copy, proximities, importance)
    return _map_cells(adata, asked, annotated.read_cells(adata, use_rep, layer, neighbors_key, mask_var), settings)


def featuremap(
    adata: Any,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    key_added: str = "featuremap",
    copy: bool = False,
    mask_var: str | ArrayLike | None = "auto",
    importance: bool | None = None,
    **settings: Any,
) -> Any:
    """Make a map of cells by their neighbours, with local densities and genes' directions, by `manifolia.FeatureMAP`.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed by a file.
    use_rep : str, default=None
        Entry of ``adata.obsm`` to take the cells from, such as ``"X_pca"``; None: the genes.
    layer : str, default=None
        Layer to take the genes from; None: ``adata.X``.
    neighbors_key : str, default=None
        Use the representation, number of neighbours and metric of the ``sc.pp.neighbors`` call that wrote
        ``adata.uns[neighbors_key]``.
    key_added : str, default='featuremap'
        Name of the results; see the table of `manifolia.sc`.
    copy : bool, default=False
        Return a copy with the results, and leave `adata` as it is.
    mask_var : str, array-like of bool or None, default='auto'
        Genes that take part: a column of ``adata.var``, or one value per gene; "auto" is ``"highly_variable"`` where
        there is such a column, and None is all.
    importance : bool or None, default=None
        Measure the importance of genes; None: if it does not take long.
    **settings : object
        Parameters of `manifolia.FeatureMAP`; ``random_state`` is 0 unless it is given.

    Returns
    -------
    AnnData or None
        The copy, or None: the results are in `adata`.

    Raises
    ------
    TableError
        If something that was named is not in `adata`.
    """
    asked = _Asked(FeatureMAP, None, None, key_added, copy, False, importance)
    return _map_cells(adata, asked, annotated.read_cells(adata, use_rep, layer, neighbors_key, mask_var), settings)


def phate(
    adata: Any,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    key_added: str = "phate",
    copy: bool = False,
    mask_var: str | ArrayLike | None = "auto",
    **settings: Any,
) -> Any:
    """Make a map of cells by diffusion along nearest neighbours, by `manifolia.PHATE`.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed by a file.
    use_rep : str, default=None
        Entry of ``adata.obsm`` to take the cells from, such as ``"X_pca"``; None: the genes.
    layer : str, default=None
        Layer to take the genes from; None: ``adata.X``.
    neighbors_key : str, default=None
        Use the representation, number of neighbours and metric of the ``sc.pp.neighbors`` call that wrote
        ``adata.uns[neighbors_key]``.
    key_added : str, default='phate'
        Name of the results; see the table of `manifolia.sc`.
    copy : bool, default=False
        Return a copy with the results, and leave `adata` as it is.
    mask_var : str, array-like of bool or None, default='auto'
        Genes that take part: a column of ``adata.var``, or one value per gene; "auto" is ``"highly_variable"`` where
        there is such a column, and None is all.
    **settings : object
        Parameters of `manifolia.PHATE`; ``random_state`` is 0 unless it is given.

    Returns
    -------
    AnnData or None
        The copy, or None: the results are in `adata`.

    Raises
    ------
    TableError
        If something that was named is not in `adata`.
    """
    asked = _Asked(PHATE, None, None, key_added, copy, False, False)
    return _map_cells(adata, asked, annotated.read_cells(adata, use_rep, layer, neighbors_key, mask_var), settings)


def forest_features(
    adata: Any,
    target: str = "cell_type",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    neighbors_key: str | None = None,
    groups: str | None = None,
    key_added: str = "forest_features",
    copy: bool = False,
    mask_var: str | ArrayLike | None = "auto",
    **settings: Any,
) -> Any:
    """Describe cells by the nodes of a forest that they visit, by `manifolia.ForestFeatures`.

    The features are sparse, in ``adata.obsm["X_forest_features"]``: ``sc.pp.neighbors(adata,
    use_rep="X_forest_features")`` finds neighbours by them.

    Parameters
    ----------
    adata : AnnData
        Cells, in memory or backed by a file.
    target : str, default='cell_type'
        Column of ``adata.obs`` that the forest learns.
    use_rep : str, default=None
        Entry of ``adata.obsm`` to take the cells from, such as ``"X_pca"``; None: the genes.
    layer : str, default=None
        Layer to take the genes from; None: ``adata.X``.
    neighbors_key : str, default=None
        Use the representation of the ``sc.pp.neighbors`` call that wrote ``adata.uns[neighbors_key]``.
    groups : str, default=None
        Column of ``adata.obs`` that says which cells belong together, such as the donor: they are drawn and held out
        together.
    key_added : str, default='forest_features'
        Name of the results; see the table of `manifolia.sc`.
    copy : bool, default=False
        Return a copy with the results, and leave `adata` as it is.
    mask_var : str, array-like of bool or None, default='auto'
        Genes that take part: a column of ``adata.var``, or one value per gene; "auto" is ``"highly_variable"`` where
        there is such a column, and None is all.
    **settings : object
        Parameters of `manifolia.ForestFeatures`; ``random_state`` is 0 unless it is given.

    Returns
    -------
    AnnData or None
        The copy, or None: the results are in `adata`.

    Raises
    ------
    TableError
        If something that was named is not in `adata`.
    """
    asked = _Asked(ForestFeatures, target, groups, key_added, copy, False, False)
    return _map_cells(adata, asked, annotated.read_cells(adata, use_rep, layer, neighbors_key, mask_var), settings)


def ingest(adata_new: Any, adata_ref: Any, *, key: str = "guided", copy: bool = False) -> Any:
    """Place new cells on the map of others, with novelty and the model's prediction of their label.

    Parameters
    ----------
    adata_new : AnnData
        Cells to place, in memory or backed by a file, of which one block is in memory at a time. Genes are found by
        name, in any order; genes that the map did not use are ignored.
    adata_ref : AnnData
        Cells with a map, made by a function of this module.
    key : str, default='guided'
        The map: the `key_added` that it was made with. The results get the same names.
    copy : bool, default=False
        Return a copy with the results, and leave `adata_new` as it is.

    Returns
    -------
    AnnData or None
        The copy, or None: the results are in `adata_new`.

    Raises
    ------
    TableError
        If `adata_ref` has no such map, or `adata_new` lacks some of its genes.
    """
    annotated.check_adata(adata_new, "adata_new")
    annotated.check_adata(adata_ref, "adata_ref")
    about, model = _kept(adata_ref, key)
    adata = _target_of(adata_new, copy=copy, name="adata_new")
    source, columns = annotated.same_columns(adata_new, about)
    card = registry.card_of(model)
    places, novelties, predictions = [], [], []
    for block in annotated.blocks(source, columns):
        places.append(model.transform(block))
        if card.novelty:
            novelties.append(model.novelty(block))
        if card.predicts:
            predictions.append(model.predict(block))
    found = _Results({"params": dict(about["params"]), "placed_on": key, "version": __version__})
    found.obsm[f"X_{key}"] = _for_file(sp.vstack(places, format="csr") if is_sparse(places[0]) else np.vstack(places))
    if novelties:
        found.obs[f"{key}_novelty"] = np.concatenate(novelties)
        found.uns["novelty_threshold"] = float(model.novelty_threshold_)
    if predictions and predictions[0].ndim == 1:
        found.obs[f"{key}_prediction"] = _labels(np.concatenate(predictions))
    found.write(adata, key)
    return adata if copy else None


def diagnose(
    adata: Any,
    basis: str = "guided",
    *,
    target: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
    clusters: str | None = None,
    level: str = "quick",
    copy: bool = False,
    mask_var: str | ArrayLike | None = "auto",
    **settings: Any,
) -> Any:
    """Say how far a map of cells can be trusted: one of this module, or any in ``adata.obsm``, such as UMAP's.

    Verdicts go to ``adata.obs["<basis>_trust"]``, with ``_reason`` and ``_novelty``; findings, and the tables of
    `manifolia.Diagnosis`, to ``adata.uns["<basis>_trust"]``.

    Parameters
    ----------
    adata : AnnData
        Cells with a map.
    basis : str, default='guided'
        The map, as ``sc.pl.embedding`` takes it: ``"umap"`` is ``adata.obsm["X_umap"]``.
    target : str, default=None
        Column of ``adata.obs`` that the map should show. None: the one that it was made with, if any.
    use_rep : str, default=None
        Entry of ``adata.obsm`` that the map is compared with; None: what it was made from, or the genes.
    layer : str, default=None
        Layer of genes that it is compared with.
    groups : str, default=None
        Column of ``adata.obs`` that says which cells belong together. None: the one that it was made with, if any.
    clusters : str, default=None
        Column of ``adata.obs`` with clusters; None: those visible in the map.
    level : {"quick", "usual", "thorough"}, default='quick'
        How much is tried, as in `manifolia.diagnose`; more than "quick" is possible for maps of this module.
    copy : bool, default=False
        Return a copy with the results, and leave `adata` as it is.
    mask_var : str, array-like of bool or None, default='auto'
        Genes that it is compared with, for maps that this module did not make: as for `guided`.
    **settings : object
        Further parameters of `manifolia.diagnose`; ``random_state`` is 0 unless it is given.

    Returns
    -------
    AnnData or None
        The copy, or None: the results are in `adata`.

    Raises
    ------
    TableError
        If something that was named is not in `adata`.
    """
    annotated.check_adata(adata)
    out = _target_of(adata, copy=copy)
    own = adata.uns.get(basis)
    if isinstance(own, Mapping) and "model" in own and use_rep is None and layer is None:
        about, judged = _kept(adata, basis)
        values = annotated.all_blocks(*annotated.same_columns(adata, about))
        target = target or about["params"].get("target")
        groups = groups or about["params"].get("groups")
        if registry.card_of(judged).makes_map is False:
            raise ParameterError(f"{basis!r} holds features of cells, and no map.", parameter="basis")
    else:
        judged, values = (
            annotated.coordinates(adata, basis),
            annotated.read_cells(adata, use_rep, layer, None, mask_var).values,
        )
    y, together = annotated.obs_column(adata, target, "target"), annotated.obs_column(adata, groups, "groups")
    settings = {"random_state": 0, "level": level, **settings}
    if clusters is not None:
        settings["clusters"] = annotated.obs_column(adata, clusters, "clusters")
    found = _Results({})
    _add_verdicts(found, diagnose_map(judged, values, y, groups=together, **settings), basis)
    if f"{basis}_novelty" in adata.obs and hasattr(judged, "novelty"):  # the model's own is finer
        del found.obs[f"{basis}_novelty"]
    found.uns = found.uns.pop("trust")
    found.write(out, f"{basis}_trust")
    return out if copy else None


class _Asked(NamedTuple):
    """What is asked of a map."""

    kind: type  # Of estimator
    target: str | None
    groups: str | None
    key: str
    copy: bool
    proximities: bool | int
    importance: bool | None


def _map_cells(adata: Any, asked: _Asked, cells: annotated.Cells, settings: Mapping[str, Any]) -> Any:
    """Make a map, and write it with all that is known about it."""
    out = _target_of(adata, copy=asked.copy)
    key, card = asked.key, registry.card_of(asked.kind)
    y, groups = annotated.obs_column(adata, asked.target, "target"), annotated.obs_column(adata, asked.groups, "groups")
    model = _estimator(asked.kind, card.label, cells.settings, settings)
    kept = _check_proximities(asked.proximities)
    X = cells.values
    places = model.fit_transform(X, *(() if y is None else (y,)), **({} if groups is None else {"groups": groups}))
    params = {"method": card.name, "target": asked.target, "groups": asked.groups, **cells.source, **_plain(model)}
    found = _Results({"params": {name: value for name, value in params.items() if value is not None}})
    found.uns |= {"version": __version__, "variables": np.array(cells.names, dtype=object)}
    found.obsm[f"X_{key}"] = _for_file(places)
    if card.makes_map:
        card = registry.card_of(model)
        found.uns["scores"] = _scores(X, places, y, model, card)
        judged = diagnose_map(model, X, y if card.supervised else None, random_state=0, n_jobs=model.n_jobs)
        _add_verdicts(found, judged, key)
        if card.novelty:
            found.obs[f"{key}_novelty"] = model.novelty()
            found.uns["novelty_threshold"] = float(model.novelty_threshold_)
        if card.predicts and np.ndim(model.oob_prediction_) == 1:
            found.obs[f"{key}_prediction"] = _labels(getattr(model, card.prediction))
        if card.importance and asked.importance is not False and (asked.importance or not takes_long(model, X)):
            _add_importance(found, model, cells, adata.n_vars, key)
        if kept is not None:
            found.obsp[f"{key}_connectivities"] = _connectivities(model, kept)
            # scanpy asks for both names, but does not need the second matrix.
            found.uns |= {"connectivities_key": f"{key}_connectivities", "distances_key": f"{key}_distances"}
    found.uns["model"] = _packed(model)
    found.write(out, key)
    return out if asked.copy else None


def _estimator(kind: type, label: str, found: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """Make the estimator, with those neighbour settings that it has; name a setting that it does not have."""
    known = kind().get_params(deep=False)
    for name in settings:
        if name not in known:
            near = nearest(name, [*known, "use_rep", "layer", "neighbors_key", "key_added", "mask_var"])
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(f"{label} has no parameter {name!r}.{hint}", parameter=name)
    return kind(**{"random_state": 0, **{name: value for name, value in found.items() if name in known}, **settings})


def _target_of(adata: Any, *, copy: bool, name: str = "adata") -> Any:
    """The AnnData that is written to."""
    if not check_bool(copy, "copy"):
        return adata
    if adata.isbacked:
        raise ParameterError(
            f"{name} is backed by a file, which has no copy in memory. Leave copy out: only obs, var, obsm, obsp and "
            f"uns are written to, and the file changes when you call {name}.write().",
            parameter="copy",
        )
    return adata.copy()


# --- results ---------------------------------------------------------------------------------------------------------


def _scores(X: Any, Y: Array, y: Array | None, model: Any, card: registry.Card) -> dict[str, float]:
    """Compare the map with what it was made from, and add the model's own figures."""
    metric = card.metric if card.metric in ("cosine", "manhattan") else "euclidean"
    classes = card.task == "classification"
    about = y if y is not None and card.task in ("classification", "regression") else None
    scores = score_map(X, Y, about, metric=metric, classes=classes)
    found = {score.metric: score.value for score in scores if score.value is not None}
    own = {name.rstrip("_"): getattr(model, name) for name in card.figures}
    return found | {name: float(value) for name, value in own.items() if np.ndim(value) == 0 and np.isfinite(value)}


def _add_verdicts(found: _Results, diagnosis: Diagnosis, key: str) -> None:
    """Write the verdicts."""
    verdicts = pd.Categorical(diagnosis.rows["verdict"], categories=list(ROW_VERDICTS))
    found.obs[f"{key}_trust"] = verdicts.remove_unused_categories()
    found.obs[f"{key}_reason"] = diagnosis.rows["reason"].to_numpy(dtype=object).astype(str).astype(object)
    found.obs[f"{key}_novelty"] = diagnosis.rows["novelty"].to_numpy(dtype=np.float64)
    found.uns["trust"] = {
        "summary": diagnosis.summary,
        "findings": np.array([str(finding.text) for finding in diagnosis.findings], dtype=object),
        "map": {name: value for name, value in diagnosis.map.items() if isinstance(value, bool | int | float | str)},
        "clusters": _for_uns(diagnosis.clusters),
        "gaps": _for_uns(diagnosis.gaps),
    }


def _for_uns(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame that a file can hold: texts as texts, row names too."""
    texts = [name for name in frame.columns if frame[name].dtype.kind == "O"]
    frame = frame.astype(dict.fromkeys(texts, str))
    return frame.set_axis(frame.index.astype(str), axis=0)


def _add_importance(found: _Results, model: Any, cells: annotated.Cells, n_vars: int, key: str) -> None:
    """Write how much genes matter; for components, which are not genes, into uns."""
    numbers = [str(j) for j in range(len(cells.names))]  # names may be repeated
    measured = importances_of(model, cells.values, numbers)
    values = np.array([measured[number][0] for number in numbers])
    found.uns["importance_means"] = registry.card_of(model).importance
    if cells.used is None:
        found.uns["importance"] = values
        return
    genes = np.full(n_vars, np.nan)
    genes[cells.used] = values
    found.var[f"{key}_importance"] = genes


def _check_proximities(given: Any) -> int | None:
    """Read how many proximities of each cell are kept: 0 for all, None for none."""
    if isinstance(given, bool | np.bool_):
        return 0 if given else None
    return int(check_number(given, "proximities", low=1, integer=True))


def _connectivities(model: Any, most: int) -> Any:
    """Proximities of all pairs of cells, symmetric, in the form of scanpy's graphs."""
    P = to_csr(model.proximity_matrix())
    n = P.shape[0]
    if most:
        columns, values = largest_entries(P, min(most, n))
        there = columns >= 0
        rows = np.repeat(np.arange(n), columns.shape[1])[there.ravel()]
        P = sp.csr_array((values[there], (rows, columns[there])), shape=(n, n))
    P = ((P + P.T) * 0.5).tocoo()
    others = P.row != P.col  # a cell is not its own neighbour
    return sp.csr_matrix((P.data[others], (P.row[others], P.col[others])), shape=(n, n))


def _for_file(values: Any) -> Any:
    """Sparse arrays as matrices, which every version of anndata can write."""
    return sp.csr_matrix(values) if is_sparse(values) else np.asarray(values)


def _labels(values: Array) -> Any:
    return pd.Categorical(values.astype(str)) if values.dtype.kind in "OUS" else values


def _plain(model: Any) -> dict[str, Any]:
    """Parameters in a form that a file can hold."""
    found = {}
    for name, value in model.get_params(deep=False).items():
        if value is not None and name not in ("callback", "verbose"):
            found[name] = value if isinstance(value, bool | int | float | str) else repr(value)
    return found


def _packed(model: Any) -> Array:
    """A model as bytes, without pickle."""
    with tempfile.TemporaryDirectory() as folder:
        return np.frombuffer(save(model, Path(folder) / "model.mfa").read_bytes(), dtype=np.uint8)


def _kept(adata: Any, key: str) -> tuple[Mapping[str, Any], Any]:
    """Read the model of a map."""
    about = adata.uns.get(key)
    if not isinstance(about, Mapping) or "model" not in about:
        made = [name for name, entry in adata.uns.items() if isinstance(entry, Mapping) and "model" in entry]
        told = f"There are {listing(made)}." if made else "Make one with mf.sc.guided(adata_ref) first."
        raise TableError(f"there is no map {key!r} with a model in uns. {told}", parameter="key")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mfa"
        path.write_bytes(np.ascontiguousarray(about["model"], dtype=np.uint8).tobytes())
        return about, load(path)
