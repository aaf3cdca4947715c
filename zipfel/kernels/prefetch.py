"""Tells the processor what a kernel will read soon. Rows in random order are not where the last one was: without a
hint, most of the time is spent waiting for memory."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 16
"""Numbers of four bytes that come with each other."""
_BYTE, _WORD = ir.IntType(8), ir.IntType(32)
_READ, _KEEP, _DATA = 0, 3, 1


@intrinsic
def prefetch(_: Any, array: Any, place: Any) -> Any:  # noqa: ARG001 - numba asks for their types by name
    """prefetch(array, place): array[place] will be read. It changes nothing else, and a place behind the end is no
    error."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        found = context.make_array(kind)(context, builder, args[0])
        where = cgutils.get_item_pointer(context, builder, kind, found, [args[1]], wraparound=False)
        takes = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), _WORD, _WORD, _WORD])
        hint = cgutils.get_or_insert_function(builder.module, takes, "llvm.prefetch.p0i8")
        numbers = [ir.Constant(_WORD, number) for number in (_READ, _KEEP, _DATA)]
        builder.call(hint, [builder.bitcast(where, _BYTE.as_pointer()), *numbers])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate
