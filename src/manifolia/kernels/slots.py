"""How a long kernel reports its progress and hears that it should stop.

The kernel and its watcher (``manifolia._core.progress.watch_kernel``) share an int64 array of two slots. A plain
``slots[1] != 0`` in a loop is not enough: the compiler may read the slot once before the loop, because nothing in
the loop changes it, and write ``slots[0]`` once after it. The reads and writes here are atomic, so they happen.

=======  =============================================  ======
symbol   meaning                                        shape
=======  =============================================  ======
slots    units done; not 0 once the kernel should stop  (2,)
=======  =============================================  ======
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic

from manifolia.kernels._jit import kernel

_DONE, _STOP = 0, 1
_ALIGNMENT = 8  # bytes of an int64
_ORDER = "monotonic"  # each slot is read and written whole; no order between the slots is needed


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


if config.DISABLE_JIT:

    def _read(slots, index):
        return slots[index]

    def _write(slots, index, value):
        slots[index] = value

else:

    @intrinsic
    def _read(typing_context, slots, index):
        def generate(context, builder, signature, args):
            address = _address(context, builder, signature.args[0], args[0], args[1])
            return builder.load_atomic(address, _ORDER, _ALIGNMENT)

        return types.int64(slots, types.intp), generate

    @intrinsic
    def _write(typing_context, slots, index, value):
        def generate(context, builder, signature, args):
            address = _address(context, builder, signature.args[0], args[0], args[1])
            builder.store_atomic(args[2], address, _ORDER, _ALIGNMENT)
            return context.get_dummy_value()

        return types.void(slots, types.intp, types.int64), generate


@kernel()
def advance(slots, done):
    """Say how many units are done."""
    _write(slots, _DONE, done)


@kernel()
def stopped(slots):
    """Ask whether to stop."""
    return _read(slots, _STOP) != 0
