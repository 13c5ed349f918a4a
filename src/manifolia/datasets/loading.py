"""`load` and `available`: one name for every set, wherever it comes from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sklearn.utils import Bunch

from manifolia._core.validate import check_bool
from manifolia.datasets.assemble import from_arrays, from_counts, from_table
from manifolia.datasets.catalogue import BUNDLED, KNOWN
from manifolia.datasets.home import find, get_data_home, read_arrays, read_counts, read_table, scan
from manifolia.exceptions import DataHomeError, ParameterError, ParameterTypeError

_HOME = "home:"


def load(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = False,
    target: str | Sequence[str] | None = None,
) -> Bunch:
    """Load a data set by name.

    The bundled names ``breast_cancer``, ``diabetes``, ``digits``, ``iris``, ``linnerud`` and ``wine`` always
    give scikit-learn's set, whatever the data home holds, so that a script means the same on every machine.
    Every other name is a file of the data home; ``home:iris`` reads its file where a bundled set has the same
    name.

    Parameters
    ----------
    name : str
        One of `available`, or with `download` a name on OpenML.
    data_home : path, default=None
        Folder with the files; None takes the environment variable ``MANIFOLIA_DATA``, then the user's cache
        (`get_data_home`).
    download : bool, default=False
        Whether to ask OpenML for a set that is neither bundled nor in the data home. The copy is kept in scikit-learn's
        own cache and comes with OpenML's columns and class labels.
    target : str or sequence of str, default=None
        Target column(s) of a table or of the labels of counts, or the target array of an npz file. None takes
        the known target; a file that is not in the catalogue has none, except for the array ``y``.

    Returns
    -------
    Bunch
        ``data`` : DataFrame of the features for tables, ndarray for matrices, ``csr_array`` for counts, with
        values and types as stored. ``target`` : Series (DataFrame for several) for tables, else ndarray; None
        if there is none; two-dimensional for multi-label sets. ``frame`` : DataFrame, for tables all columns
        as stored, otherwise what is known about each row besides the features. ``feature_names``, ``target_names`` :
        list of str. ``class_names`` : dict from class to a readable name, None unless a known classification. ``task``
        : "classification", "regression", "multilabel" or None. ``identifiers`` : columns of ``frame`` that only name a
        row. ``description``, ``name``, ``source`` : str. Where the set has them: ``split`` (array of "train" and
        "test"), ``image_shape``, ``feature_table`` (DataFrame on the columns of counts), and further arrays of an npz
        file under their own names, such as ``pose``.

    Raises
    ------
    DataHomeError
        If there is no such set; the message lists what is there.
    MissingExtraError
        If a Parquet file is to be read without the extra ``parquet``.
    ValueError
        If `target` is not in the set, or a file cannot be read.

    Examples
    --------
    >>> from manifolia import datasets
    >>> iris = datasets.load("iris")
    >>> iris.data.shape, iris.target.iloc[0]
    ((150, 4), 'setosa')
    """
    if not isinstance(name, str):
        raise ParameterTypeError(
            f"name must be a str, got {name!r} of type {type(name).__name__}. See manifolia.datasets.available().",
            parameter="name",
        )
    download = check_bool(download, "download")
    columns = _as_columns(target)
    if name in BUNDLED:
        return _from_sklearn(name, columns)

    home = get_data_home(data_home)
    if download and not name.startswith(_HOME) and name not in scan(home):
        return _from_openml(name, columns)
    stem = name.removeprefix(_HOME)
    entry = find(stem, home)
    options: dict[str, Any] = {"source": str(entry.path), "known": KNOWN.get(stem), "target": columns}
    if entry.kind == "table":
        return from_table(stem, read_table(entry.path), **options)
    if entry.kind == "matrix":
        return from_arrays(stem, read_arrays(entry.path), **options)
    return from_counts(stem, *read_counts(entry.path), **options)


def available(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """List the names that `load` takes without a download.

    Parameters
    ----------
    data_home : path, default=None
        As for `load`.

    Returns
    -------
    list of str
        The bundled sets and those of the data home, in alphabetical order; ``home:NAME`` for a file with the
        name of a bundled set.
    """
    listed = scan(get_data_home(data_home))
    return sorted([*BUNDLED, *(_HOME + name if name in BUNDLED else name for name in listed)])


def _as_columns(target: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if target is None:
        return None
    columns = (target,) if isinstance(target, str) else tuple(target)
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ParameterError(
            f"target must be a column's name, a sequence of names or None, got {target!r}.", parameter="target"
        )
    return columns


def _from_sklearn(name: str, target: tuple[str, ...] | None) -> Bunch:
    """Take a bundled set as one table, its classes as text."""
    from sklearn import datasets

    known, classes = BUNDLED[name], None
    options: dict[str, Any] = {"scaled": False} if name == "diabetes" else {}
    raw = getattr(datasets, f"load_{name}")(as_frame=True, **options)
    column = known.target[0]
    frame = raw.frame.rename(columns={"target": column})
    if known.task == "classification":
        classes = {value: str(value) for value in raw.target_names.tolist()}
        if isinstance(raw.target_names[0], str):
            frame[column] = raw.target_names.astype(object)[frame[column].to_numpy()]
    return from_table(name, frame, source="scikit-learn", known=known, target=target, classes=classes)


def _from_openml(name: str, target: tuple[str, ...] | None) -> Bunch:
    from sklearn import datasets

    known = KNOWN.get(name)
    remote = known.openml if known is not None and known.openml is not None else name
    column: Any = "default-target" if target is None else target[0] if len(target) == 1 else list(target)
    try:
        raw = datasets.fetch_openml(name=remote, target_column=column, as_frame=True, parser="auto")
    except (OSError, ValueError, KeyError) as error:  # no network, no such set, no such column
        raise DataHomeError(
            f"OpenML did not give a data set named {remote!r}: {error} Check the name and the network."
        ) from error
    if known is not None and len(raw.frame) != known.n_rows:
        # The name would then mean different sets on different machines.
        raise DataHomeError(
            f"OpenML's {remote!r} has {len(raw.frame)} rows and the set known as {name!r} has {known.n_rows}: it is "
            f"another edition. To have it all the same, call sklearn.datasets.fetch_openml({remote!r})."
        )
    return from_table(
        name,
        raw.frame,
        source=f"OpenML: {remote}",
        target=tuple(raw.target_names or ()),
        description=str(raw.DESCR),
    )
