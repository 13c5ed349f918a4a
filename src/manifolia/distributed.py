"""Heavy parts on a Dask cluster: the trees of forests, the runs of a tuner, and blocks of rows.

The layers below know nothing of Dask. They hand their work to an executor (``manifolia._core.parallel``), and `use`
makes a cluster that executor for a ``with`` block; estimators hold no client, so that ``clone``, pickle and
``get_params`` are as ever. A block is computed alone and on one thread wherever it runs, so a map has the same bits as
without a cluster, provided that its machines compute alike (the same packages, the same kind of processor).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

import joblib
import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.parallel import use_executor
from manifolia._version import __version__

Block = TypeVar("Block")
Result = TypeVar("Result")

#: Tasks per thread of the cluster: several, so that a slow worker holds up few blocks; not one per block, which may be
#: thousands of a millisecond each.
_TASKS_PER_THREAD = 4
#: How often a step is tried while workers come and go, and seconds to wait for a new one.
_ATTEMPTS, _WAIT = 5, 60
_DIED = (
    "Workers of the cluster died over the same piece of work, most often because they ran out of memory. Give them "
    "more, or fewer threads each."
)


@contextlib.contextmanager
def use(client: Any) -> Iterator[Any]:
    """Let a Dask cluster do the heavy parts of whatever runs inside the ``with`` block.

    These go to the cluster: fitting the trees of forests (also those of scikit-learn, by joblib), the runs of a
    `Tuner`, exact search for neighbours, forest proximities, permutation importance, and the measures of
    `manifolia.metrics` that look at pairs of rows. What must share memory, such as the layout of a map, stays here.
    Results are the same to the bit as without it, if the workers have the same packages on the same kind of processor.

    Parameters
    ----------
    client : dask.distributed.Client
        A client that is not asynchronous. Its workers need manifolia, in the same version as here.

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
        If the cluster has no worker, or one whose manifolia is missing or another version.

    See Also
    --------
    manifolia.Tuner : Its `n_jobs` plays no part inside the block.

    Notes
    -----
    Data go to every worker once for each step, so a cluster can help only where the work outweighs that: many trees,
    many trials, very many rows. On one machine threads (``n_jobs``) are faster.

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
    """An executor whose blocks run on the workers of a cluster."""

    def __init__(self, client: Any, dask: Any) -> None:
        self._client = client
        self._dask = dask

    def map(self, function: Callable[[Block], Result], blocks: list[Block], /) -> list[Result]:
        """Apply `function`, which is sent to each worker once with all that it holds, to each block."""
        if not blocks:
            return []
        # A worker may go while it is sent something, or with what it holds. Blocks change nothing but their result, so
        # they can run again; Dask itself gives up on work that kills one worker after the other.
        gone = (self._dask.comm.CommClosedError, self._dask.client.CancelledError)
        for left in reversed(range(_ATTEMPTS)):
            try:
                return self._map(function, blocks)
            except self._dask.KilledWorker as error:
                raise BrokenExecutor(_DIED) from error
            except gone as error:
                if left == 0:
                    raise BrokenExecutor(_DIED) from error
                self._wait(error)
        raise AssertionError  # pragma: no cover

    def as_done(self, function: Callable[[Block], Result], blocks: list[Block], /) -> Iterator[tuple[int, Result]]:
        """Apply `function` to each block, one task each, and give number and result as they are done."""
        packed = self._client.scatter(self._pack(function), hash=False, broadcast=True)
        waiting = {self._client.submit(_run, packed, [block], pure=False): i for i, block in enumerate(blocks)}
        try:
            for future, found in self._dask.as_completed(list(waiting), with_results=True):
                yield waiting[future], found[0]
        except self._dask.KilledWorker as error:
            raise BrokenExecutor(_DIED) from error
        finally:
            self._client.cancel(list(waiting))

    @staticmethod
    def _pack(function: Callable[..., Any]) -> bytes:
        import cloudpickle  # comes with Dask; plain pickle knows no closures

        return bytes(cloudpickle.dumps(function))

    def _wait(self, error: BaseException) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_WAIT)
        except TimeoutError:
            raise RuntimeError(
                f"The cluster has lost all its workers, and none came back within {_WAIT} seconds."
            ) from error

    def _map(self, function: Callable[[Block], Result], blocks: list[Block]) -> list[Result]:
        n_threads = max(1, sum(self._client.nthreads().values()))
        groups = np.array_split(np.arange(len(blocks)), min(len(blocks), _TASKS_PER_THREAD * n_threads))
        futures: list[Any] = []
        try:
            # As bytes: what Dask unpacks itself may lie at odd addresses or be read-only. For such arrays kernels are
            # compiled apart, and where the compiler may reorder sums the last bits are others.
            packed = self._pack(function)
            sent = self._client.scatter(packed, hash=False, broadcast=True)
            for group in groups:
                mine = [blocks[i] for i in group]
                futures.append(self._client.submit(_run, sent, mine, pure=False))
            found = self._client.gather(futures)
        finally:
            self._client.cancel(futures)  # after an error or Ctrl-C the rest is not wanted
        return [result for part in found for result in part]


def _run(packed: bytes, blocks: list[Any]) -> list[Any]:
    function = pickle.loads(packed)
    return [function(block) for block in blocks]
