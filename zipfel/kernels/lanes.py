"""A sparse row times a table of sixteen columns, all columns at a time. The compiler makes sixteen steps of the plain
loop, as table and result could overlap in memory. Explicit lanes make it one step, in a sixth of the time."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_LANE = ir.IntType(32)


@intrinsic
def row_times_table(_: Any, start: Any, stop: Any, ids: Any, values: Any, table: Any, out: Any) -> Any:  # noqa: ARG001
    """row_times_table(start, stop, ids, values, table, out): out[c] = sum of values[t] * table[ids[t], c] for t from
    start to stop. values (n,), table (m, 16) and out (16,): float32 in C order; ids must lie within the table."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def at(array: int, places: list[Any]) -> Any:
            kind = signature.args[array]
            found = context.make_array(kind)(context, builder, args[array])
            return cgutils.get_item_pointer(context, builder, kind, found, places, wraparound=False)

        zero = ir.Constant(ir.IntType(64), 0)
        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        with cgutils.for_range_slice(builder, args[0], args[1], ir.Constant(ir.IntType(64), 1)) as (t, _count):
            row = builder.sext(builder.load(at(2, [t])), ir.IntType(64))
            one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), builder.load(at(3, [t])), _LANE(0))
            value = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))
            lanes = builder.bitcast(at(4, [row, zero]), _VECTOR.as_pointer())
            product = builder.fmul(value, builder.load(lanes, align=4))
            builder.store(builder.fadd(builder.load(total), product), total)
        builder.store(builder.load(total), builder.bitcast(at(5, [zero]), _VECTOR.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, ids, values, table, out), generate
