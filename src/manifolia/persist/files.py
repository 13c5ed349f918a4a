"""Save a model, load a model."""

from __future__ import annotations

import os
import platform
import warnings
import zipfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from manifolia._core.warnings import warn
from manifolia._version import __version__
from manifolia.exceptions import ModelFileError, ParameterTypeError
from manifolia.persist import archive
from manifolia.persist.allowed import id_of
from manifolia.persist.audit import audit
from manifolia.persist.build import build
from manifolia.persist.checks import check_model
from manifolia.persist.graph import dismantle, reassemble
from manifolia.persist.trees import flatten_trees, rebuild_trees

_LEVEL = 3  # of compression, as in `manifolia.persist.archive`


def save(model: Any, path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Path:
    """Save a model in one file, without pickle.

    Parameters
    ----------
    model : estimator
        An estimator of manifolia, a forest of scikit-learn, or a pipeline of scikit-learn's transformers with these.
        The data it was fitted on is not saved, nor is a ``callback`` or a pipeline's ``memory``: both are None in the
        loaded model. Attributes that are computed on first access from the data, such as ``feature_importances_``, are
        saved if they were accessed before.
    path : str or path
        The file, by convention with the suffix ``.mfa``. An existing one is replaced once the new one is complete.
    trusted : iterable of str, default=()
        Full names (``"package.module.Class"``) of further classes in the model, such as your own transformer. `load`
        needs the same.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelFileError
        If the model holds anything that a file may not hold; the message says where.

    See Also
    --------
    load : Load it.

    Examples
    --------
    >>> import tempfile, numpy as np, manifolia as mf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.RFPHATE(n_trees=50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mf.save(model, f"{folder}/iris.mfa")
    ...     loaded = mf.load(path)
    >>> np.array_equal(loaded.transform(X), model.transform(X))
    True
    """
    import skops.io

    names = _names(trusted)
    target = Path(path)
    parts, trees = dismantle(model, trusted=names)
    try:
        graph = skops.io.dumps(parts, compression=zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)
        audit(graph, trusted=names, foreign=False)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"{type(model).__name__} cannot be saved: {error}") from error
    header = {"model": id_of(type(model)), "trusted": sorted(names), "libraries": _libraries()}
    archive.write(target, archive.Content(header, graph, flatten_trees(trees)))
    return target


def load(path: str | os.PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Load a model that was written by `save`. The file cannot run code.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str, default=()
        Full names of classes beyond those that manifolia knows. They are imported, and get attributes from the file:
        name only classes that you know, and only for files from people you trust.

    Returns
    -------
    estimator
        The model. With the same versions of the libraries, on the same kind of machine, its answers have the same bits
        as before.

    Raises
    ------
    ModelFileError
        If the file is damaged, of another kind, of a newer version, too large for memory, or holds anything that a
        model may not hold.

    Warns
    -----
    ManifoliaWarning
        If it was saved with another version of scikit-learn.

    See Also
    --------
    save : Save it.
    """
    names = _names(trusted)
    source = Path(path)
    if source.is_dir():
        inside = " Its model is the file model.mfa in it." if (source / "model.mfa").is_file() else ""
        raise ModelFileError(f"{source} is not loaded: it is a folder.{inside}")
    writer = ""
    with open(source, "rb") as file:
        try:
            content = archive.read(file)
            writer = _difference(content.header)
            model = _build(content, names)
        except ModelFileError as error:
            raise ModelFileError(f"{source} is not loaded: {error}") from error
        except Exception as error:
            # Whatever a library raises for bytes that no `save` wrote.
            raise ModelFileError(
                f"{source} is not loaded: its content makes no model ({type(error).__name__}: {error}).{writer}"
            ) from error
    if writer:
        warn(f"{source}:{writer} The trees have been checked; fit anew if results must not differ.")
    return model


def _build(content: archive.Content, trusted: frozenset[str]) -> Any:
    schema = audit(content.graph, trusted=trusted)
    trees = rebuild_trees(content.arrays)
    with warnings.catch_warnings():
        # We compare versions once, instead of for each object.
        warnings.filterwarnings("ignore", message="Trying to unpickle estimator")
        parts = build(content.graph, schema)
    model = reassemble(parts, trees)
    if id_of(type(model)) != content.header.get("model"):
        raise ModelFileError("its header names another class of model than it holds.")
    check_model(model)
    return model


def _names(trusted: Iterable[str]) -> frozenset[str]:
    names = [trusted] if isinstance(trusted, str) else list(trusted)
    for name in names:
        if not isinstance(name, str) or "." not in name:
            raise ParameterTypeError(
                f"trusted must hold full names of classes such as 'package.module.Class', got {name!r}.",
                parameter="trusted",
            )
    return frozenset(names)


def _libraries() -> dict[str, str]:
    versions = {name: version(name) for name in ("scikit-learn", "numpy", "scipy", "skops")}
    return {"manifolia": __version__, **versions, "python": platform.python_version(), "machine": platform.machine()}


def _difference(header: dict[str, Any]) -> str:
    """Say which scikit-learn wrote a file, if another one is running."""
    libraries = header.get("libraries")
    said = str(libraries.get("scikit-learn", "?"))[:40] if isinstance(libraries, dict) else "?"
    runs = version("scikit-learn")
    if said.split(".")[:2] == runs.split(".")[:2]:
        return ""
    return f" It was saved with scikit-learn {said}, this is {runs}."
