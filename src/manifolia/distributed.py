"""Heavy parts on a Dask cluster: the trees of forests, the runs of a tuner, and blocks of rows.

The layers below know nothing of Dask. They hand their work to an executor (``manifolia._core.parallel``), and `use`
makes a cluster that executor for a ``with`` block; estimators hold no client, so that ``clone``, pickle and
``get_params`` work as always. A block is computed alone and on one thread wherever it runs, so a map has the same bits
as without a cluster, provided that its machines compute alike (the same packages, the same kind of processor).
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import importlib.metadata
import inspect
import io
import itertools
import pickle
import secrets
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

import joblib
import numpy as np

from manifolia._core.collections import is_lazy
from manifolia._core.optional import import_extra
from manifolia._core.parallel import run_alone, use_executor
from manifolia._core.types import Array
from manifolia._core.validate import is_sparse
from manifolia._core.warnings import warn
from manifolia._version import __version__

Block = TypeVar("Block")
Result = TypeVar("Result")

#: Tasks per thread of the cluster: several, so that a slow worker delays few blocks; not one per block, of which there
#: may be thousands that take a millisecond each.
_TASKS_PER_THREAD = 4
#: Number of rows of a lazy table on which a model is fitted.
FIT_ROWS = 100_000
_MOST_MODELS = 4  # that a worker keeps
_LARGE = 2**16  # bytes of an array that is sent separately
#: How often a step is tried while workers come and go, and seconds to wait for a new one.
_ATTEMPTS, _WAIT = 5, 60
_DIED = (
    "Workers of the cluster died over the same piece of work, most often because they ran out of memory. Give them "
    "more, or fewer threads each."
)


@contextlib.contextmanager
def use(client: Any) -> Iterator[Any]:
    """Let a Dask cluster do the heavy parts of whatever runs inside the ``with`` block.

    These go to the cluster: growing the trees of forests (those of scikit-learn by joblib), the runs of a
    `Tuner`, exact search for neighbours, forest proximities, permutation importance, and the measures of
    `manifolia.metrics` that look at pairs of rows. What must share memory, such as the layout of a map, stays here.
    Results are the same, to the bit, as without it if the workers have the same packages and the same kind of
    processor.

    Parameters
    ----------
    client : dask.distributed.Client
        A client that is not asynchronous. Its workers need the same version of manifolia as here.

    Yields
    ------
    dask.distributed.Client
        The same client.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    TypeError
        If it is not such a client.
    ValueError
        If the cluster has no worker, or one where manifolia is missing or has another version.

    See Also
    --------
    manifolia.Tuner : Its `n_jobs` plays no part inside the block.

    Notes
    -----
    Rows go to every worker once per fit, however many steps use them, and trees come back: a cluster helps where the
    work outweighs that. On one machine, threads (``n_jobs``) are faster. A worker that dies costs the tasks it was
    working on.

    Dask arrays and frames need no such block: ``transform``, ``novelty``, ``predict`` and ``predict_proba`` of every
    estimator answer them lazily, with the model sent to each worker once; ``fit`` takes up to 100,000 of their rows,
    drawn on the workers as `manifolia.stream.sample` draws them, at least 200 of each class.

    Examples
    --------
    >>> import manifolia as mf
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> with mf.distributed.use(Client("tcp://scheduler:8786")):  # doctest: +SKIP
    ...     model = mf.RFPHATE(n_trees=5000, random_state=0).fit(X, y)
    """
    dask = import_extra("distributed", extra="dask", purpose="manifolia.distributed")
    if not isinstance(client, dask.Client):
        raise TypeError(
            f"use() takes a dask.distributed.Client, got {type(client).__name__}. "
            f'Client("tcp://address:8786") connects to a cluster, Client() starts one on this machine.'
        )
    if client.asynchronous:
        raise TypeError("use() takes a client that waits for its results: make it without asynchronous=True.")
    _check_workers(client)
    with joblib.parallel_config(backend="dask", client=client), use_executor(_Cluster(client, dask)):
        yield client


def _check_workers(client: Any) -> None:
    # A function of the standard library: one of ours could not be sent to a worker that has no manifolia.
    found = client.run(importlib.metadata.version, "manifolia", on_error="return")
    if not found:
        raise ValueError("The cluster has no workers. client.wait_for_workers(1) waits until there is one.")
    for address, version in found.items():
        if isinstance(version, BaseException):
            raise ValueError(
                f"The worker {address} has no manifolia that can be found ({type(version).__name__}). Install "
                f"manifolia {__version__} wherever workers run."
            )
        if version != __version__:
            raise ValueError(
                f"The worker {address} has manifolia {version} and this process {__version__}: they would not compute "
                f"the same. Install the same version."
            )


class _Cluster:
    """An executor whose blocks run on the workers of a cluster.

    Arrays are sent separately from the functions that use them, to each worker once, and are recognised by their
    content: so the rows of a fit travel once, however many steps use them. They are released when the array here is.
    """

    def __init__(self, client: Any, dask: Any) -> None:
        self._client = client
        self._dask = dask
        self._gone = (dask.comm.CommClosedError, dask.client.CancelledError, concurrent.futures.CancelledError)
        self._kept: dict[str, Any] = {}  # hash of an array to the future that holds it

    def map(self, function: Callable[[Block], Result], blocks: list[Block], /) -> list[Result]:
        """Apply `function` to each block; if a worker dies, its task is done again."""
        n_threads = max(1, sum(self._client.nthreads().values()))
        groups = np.array_split(np.arange(len(blocks)), min(len(blocks), _TASKS_PER_THREAD * n_threads) or 1)
        pieces = [[blocks[i] for i in group] for group in groups if len(group)]
        done = dict(self._tasks(function, pieces))
        return [result for i in range(len(pieces)) for result in done[i]]

    def as_done(self, function: Callable[[Block], Result], blocks: list[Block], /) -> Iterator[tuple[int, Result]]:
        """Apply `function` to each block, one task each, and yield number and result as they are done."""
        for i, (result,) in self._tasks(function, [[block] for block in blocks]):
            yield i, result

    def again(self, work: Callable[[], Result], /) -> Result:
        """Do work that joblib sends to the workers, and do it again if one of them died with what was sent to it."""
        for attempt in range(_ATTEMPTS):
            try:
                return work()
            except self._dask.KilledWorker as error:
                raise BrokenExecutor(_DIED) from error
            except self._gone as error:
                if attempt == _ATTEMPTS - 1:
                    raise BrokenExecutor(_DIED) from error
                self._wait(error)
        raise AssertionError  # pragma: no cover

    def _tasks(
        self, function: Callable[[Block], Result], pieces: list[list[Block]]
    ) -> Iterator[tuple[int, list[Result]]]:  # fmt: skip
        """Run each piece as a task. Blocks change nothing but their result, so lost ones can run again.

        Dask itself reruns what a worker was doing when it died, and gives up on tasks that kill one worker after
        another. It cannot restore what was sent from here, so that is sent again.
        """
        left = dict(enumerate(pieces))
        for attempt in range(_ATTEMPTS):
            if not left:
                return
            futures: dict[Any, int] = {}
            try:
                packed, arrays = self._pack(function)
                sent = self._client.scatter(packed, hash=False, broadcast=True)
                for i, piece in left.items():
                    futures[self._client.submit(_run, sent, arrays, piece, pure=False)] = i
                for future in self._dask.as_completed(list(futures)):
                    i = futures[future]
                    found = self._client.gather(future, direct=True)
                    del left[i]
                    yield i, found
            except self._dask.KilledWorker as error:
                raise BrokenExecutor(_DIED) from error
            except self._gone as error:
                if attempt == _ATTEMPTS - 1:
                    raise BrokenExecutor(_DIED) from error
                self._kept.clear()
                self._wait(error)
            finally:
                self._client.cancel(list(futures))  # after an error or Ctrl-C, the rest is not needed

    def _pack(self, function: Callable[..., Any]) -> tuple[bytes, dict[str, Any]]:
        """Serialise a function, and send the arrays that it holds to workers that do not have them yet."""
        import cloudpickle  # comes with Dask; plain pickle knows no closures

        stream, arrays = io.BytesIO(), dict[str, Array]()
        pickler = cloudpickle.Pickler(stream, protocol=5)
        pickler.persistent_id = lambda obj: _set_aside(obj, arrays)
        pickler.dump(function)
        for token, array in arrays.items():
            future = self._kept.get(token)
            if future is None or future.status not in ("pending", "finished"):
                # As bytes: what Dask unpacks itself may be unaligned or read-only. Kernels are compiled separately for
                # such arrays, and where the compiler may reorder sums, the last bits differ.
                self._kept[token] = self._client.scatter(pickle.dumps(array, protocol=5), hash=False, broadcast=True)
                weakref.finalize(_owner(array), self._kept.pop, token, None)
        return stream.getvalue(), {token: self._kept[token] for token in arrays}

    def _wait(self, error: BaseException) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_WAIT)
        except TimeoutError:
            raise RuntimeError(
                f"The cluster has lost all its workers, and none came back within {_WAIT} seconds."
            ) from error


def _set_aside(obj: Any, arrays: dict[str, Array]) -> str | None:
    """Give the hash of the content of a large array, and remember it; None for anything else."""
    if type(obj) is not np.ndarray or obj.nbytes < _LARGE or obj.dtype.hasobject:
        return None
    about = f"{obj.dtype.descr}{obj.shape}{obj.flags.c_contiguous}{obj.flags.writeable}"
    rows = obj.T if obj.flags.f_contiguous and not obj.flags.c_contiguous else obj
    digest = hashlib.blake2b(about.encode())
    digest.update(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)
    arrays[digest.hexdigest()] = obj
    return digest.hexdigest()


def _owner(array: Array) -> Array:
    """Return the array that holds the memory of one."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: bytes, arrays: dict[str, bytes]) -> None:
        super().__init__(io.BytesIO(packed))
        self._arrays = arrays

    def persistent_load(self, token: Any) -> Array:
        """Return the array with a given hash: the one that an earlier task has unpacked, if it is still there."""
        with _unpacking:
            array = _unpacked.get(token)
            if array is None:
                array = _unpacked[token] = pickle.loads(self._arrays[token])
            return array


#: Arrays that tasks in this process use now.
_unpacked: weakref.WeakValueDictionary[str, Array] = weakref.WeakValueDictionary()
_unpacking = threading.Lock()


def _run(packed: bytes, arrays: dict[str, bytes], blocks: list[Any]) -> list[Any]:
    function = _Unpickler(packed, arrays).load()
    return [function(block) for block in blocks]


# --- lazy tables ---


class _Sent:
    """A model in the form sent to workers, each of which reads it once."""

    def __init__(self, token: str, content: bytes) -> None:
        self.token, self.content = token, content


class _Here:
    """A model that stays in this process, for Dask's own threads."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __dask_tokenize__(self) -> str:
        return f"manifolia-{id(self.model)}"


#: Models that the workers of a client have, by client and content; and those that this process received last.
_sent_models: weakref.WeakValueDictionary[tuple[str, str], Any] = weakref.WeakValueDictionary()
_read_models: OrderedDict[str, Any] = OrderedDict()
_reading = threading.Lock()


def answer_lazily(model: Any, name: str, X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask a model about each row of a Dask table: as lazily as the table, block by block."""
    import dask

    if args or kwargs:
        raise TypeError(f"{name} of a table that is computed later takes the table alone. Leave the rest out.")
    held = _send(model)
    frame = hasattr(X, "map_partitions") and hasattr(X, "columns")
    if not frame and not hasattr(X, "map_blocks"):
        raise TypeError(f"{name} takes Dask's arrays and frames, got {type(X).__name__}.")
    if not frame and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: {name} takes one row for each thing.")
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore")  # made-up rows, to see what comes back
        made_up: Any = X._meta_nonempty if frame else np.zeros((2, X.shape[1]), dtype=X.dtype)
        like = getattr(model, name)(made_up)
    if isinstance(like, list):
        raise TypeError(f"{name} gives a list for several targets, which cannot be computed later. Ask for each alone.")
    if frame:
        meta = _as_frame(like, made_up.index, model)
        return X.map_partitions(_answer_frame, held, name, meta.iloc[:0], meta=meta.iloc[:0], align_dataframes=False)
    rows = X.rechunk({1: X.shape[1]}) if X.numblocks[1] > 1 else X
    if like.ndim == 1:
        return rows.map_blocks(_answer, held, name, like[:0], drop_axis=1, dtype=like.dtype, meta=like[:0])
    chunks = (rows.chunks[0], (like.shape[1],))
    return rows.map_blocks(_answer, held, name, like[:0], chunks=chunks, dtype=like.dtype, meta=like[:0])


def _send(model: Any) -> Any:
    """Return a stand-in for a model in a graph: what the workers hold, or the model itself if there are no workers."""
    from dask.delayed import Delayed

    client = _current_client()
    if client is None:
        key = f"manifolia-{id(model)}-{secrets.token_hex(8)}"
        return Delayed(key, {key: _Here(model)})
    content = pickle.dumps(model, protocol=5)
    token = hashlib.blake2b(content).hexdigest()
    future = _sent_models.get((client.id, token))
    if future is None or future.status not in ("pending", "finished"):
        future = client.scatter(_Sent(token, content), hash=False, broadcast=True)
        _sent_models[client.id, token] = future
    return Delayed(future.key, {future.key: future})


def _current_client() -> Any:
    """Return the client that would compute now, if there is one."""
    import dask.base

    computing = dask.base.get_scheduler()
    if not inspect.ismethod(computing):  # a function of Dask's, for threads or processes of this machine
        return None
    import distributed

    return computing.__self__ if isinstance(computing.__self__, distributed.Client) else None


def _model_of(held: Any) -> Any:
    if isinstance(held, _Here):
        return held.model
    with _reading:
        if held.token not in _read_models:
            _read_models[held.token] = pickle.loads(held.content)
            if len(_read_models) > _MOST_MODELS:
                _read_models.popitem(last=False)
        _read_models.move_to_end(held.token)
        return _read_models[held.token]


def _answer(rows: Any, held: Any, name: str, none: Any) -> Any:
    if not len(rows):
        return none
    return run_alone(getattr(_model_of(held), name), rows)


def _answer_frame(rows: Any, held: Any, name: str, none: Any) -> Any:
    if not len(rows):
        return none
    model = _model_of(held)
    return _as_frame(run_alone(getattr(model, name), rows), rows.index, model)


def _as_frame(answer: Any, index: Any, model: Any) -> Any:
    """Give an answer the index of its rows, and the names of the map's axes."""
    import pandas as pd

    values = answer.toarray() if is_sparse(answer) else np.asarray(answer)
    if values.ndim == 1:
        return pd.Series(values, index=index)
    with contextlib.suppress(AttributeError):
        names = model.get_feature_names_out()
        if len(names) == values.shape[1]:
            return pd.DataFrame(values, index=index, columns=names)
    return pd.DataFrame(values, index=index, columns=[str(i) for i in range(values.shape[1])])


_TARGET, _GROUPS = "\x00target {}", "\x00groups"  # names that no column has


def sample_rows(
    X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:  # fmt: skip
    """Draw the rows that a model is fitted on from a Dask table, on its workers, with their target and groups."""
    from dask.delayed import delayed

    from manifolia.tables.bottom_k import BottomK

    known = {"y": args[0] if args else None, **kwargs}
    groups = known.pop("groups", None)
    y = known.pop("y")
    if len(args) > 1 or any(one is not None for one in known.values()):
        raise TypeError("fit of a table that is computed later takes y and groups. Leave the rest out.")
    frame = hasattr(X, "map_partitions") and hasattr(X, "columns")
    blocks = X.to_delayed() if frame else X.rechunk({1: X.shape[1]}).to_delayed().ravel()
    columns: list[Any] = list(X.columns) if frame else list(range(X.shape[1]))
    targets = [_blocks_like(y, X, len(blocks), "y")] if y is not None else []
    belonging = _blocks_like(groups, X, len(blocks), "groups") if groups is not None else [None] * len(blocks)
    width = 0 if y is None or getattr(y, "ndim", 1) == 1 else int(y.shape[1])
    classes = tuple(_TARGET.format(k) for k in range(max(width, 1))) if y is not None else ()
    empty = BottomK(FIT_ROWS, classes=classes, groups=None if groups is None else _GROUPS)
    drawn = [
        delayed(_draw)(empty, *place, block, targets[0][i] if targets else None, belonging[i])
        for i, (place, block) in enumerate(zip(_places(X, len(blocks)), blocks, strict=True))
    ]
    while len(drawn) > 1:  # where the rows are, so that no worker gets more than two samples at a time
        drawn = [delayed(_merge)(drawn[i : i + 2]) for i in range(0, len(drawn), 2)]
    sample = drawn[0].compute().finish()
    if sample.n_rows > len(sample.frame):
        warn(f"The fit is made of {len(sample.frame):,} of {sample.n_rows:,} rows; transform places all of them.")
    own = sample.frame[[str(name) for name in columns]]
    rows = own.set_axis(columns, axis=1) if frame else own.to_numpy(X.dtype)
    labels = None
    if y is not None:
        cells = sample.frame[list(classes)]
        labels = cells.to_numpy() if width else cells.iloc[:, 0].to_numpy()
    more = {} if groups is None else {"groups": sample.frame[_GROUPS].to_numpy()}
    return rows, () if y is None else (labels,), more


def _blocks_like(values: Any, X: Any, n: int, name: str) -> Any:
    """Cut what belongs to the rows of a table in the same way as the table."""
    if not is_lazy(values):
        frame = hasattr(X, "columns")
        sizes = [len(part) for part in X.partitions] if frame else list(X.chunks[0])
        if sum(sizes) != len(values):
            raise ValueError(f"X has {sum(sizes):,} rows and {name} has {len(values):,}.")
        ends = np.cumsum([0, *sizes])
        return [values[a:b] for a, b in itertools.pairwise(ends)]
    found = values.to_delayed() if hasattr(values, "map_partitions") else values.to_delayed().reshape(n, -1)[:, 0]
    if len(found) != n:
        raise ValueError(f"X has {n:,} blocks of rows and {name} has {len(found):,}. Cut both at the same rows.")
    return found


def _places(X: Any, n: int) -> list[tuple[str, int]]:
    """Return the part and first row by which the rows of each block are drawn: their numbers in the table, if known.

    Then any blocks give the same sample, which is that of `manifolia.stream.sample`. The lengths of a frame's blocks
    are known only after reading, so there rows are numbered from the start of their block.
    """
    sizes = getattr(X, "chunks", ((np.nan,),))[0]
    if np.isnan(sizes).any():
        return [(f"{i:09d}", 0) for i in range(n)]
    return [("", int(first)) for first in np.cumsum([0, *sizes[:-1]])]


def _draw(empty: Any, part: str, start: int, rows: Any, y: Any, groups: Any) -> Any:
    """Draw rows of one block."""
    import pandas as pd

    from manifolia.tables.stream import Batch

    sample = empty.empty()
    frame = rows.set_axis([str(name) for name in rows.columns], axis=1) if hasattr(rows, "columns") else None
    frame = pd.DataFrame(rows, columns=[str(k) for k in range(rows.shape[1])]) if frame is None else frame.copy()
    if y is not None:
        labels = np.asarray(y)
        if len(labels) != len(frame):
            raise ValueError(
                f"a block has {len(frame):,} rows of X and {len(labels):,} of y. Cut both at the same rows."
            )
        for k, column in enumerate(labels.reshape(len(labels), -1).T):
            frame[_TARGET.format(k)] = column
    if groups is not None:
        frame[_GROUPS] = np.asarray(groups)
    sample.add(Batch(part, start, frame.reset_index(drop=True)))
    return sample


def _merge(samples: list[Any]) -> Any:
    first, *others = samples
    total = first.empty()
    for sample in (first, *others):
        total.merge(sample)
    return total
