"""
Sixteen or sixty-four comparisons at once, as portable LLVM vectors; plain Python twins where the JIT is off.

A mask holds one bit a lane, lane i in bit i. `place` is the first entry looked at: all lanes must lie in the array.
`wide_like` makes an uninitialised array of sixty-four entries, of another's dtype, on the stack: good until the kernel
that called it ends. `fetch_ahead` asks memory for what comes some way behind sixty-four entries: where a loop goes on
to the next query, the processor would wait for it. `lanes_below` is the mask of the first lanes, of all from WIDE on.
`lesser` of two whole numbers takes the place of `min`, which numba compiles anew for each pair of types.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

LANES = 16
WIDE = 64
NONE, ONE, ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)  # masks
AHEAD = 1 << 13  # bytes: about what a kernel reads while memory answers
LINE = 64  # bytes that come together


def _lanes(context, builder, array_type, array, place, n_lanes):
    """Load entries place … place + n_lanes − 1 of a contiguous array as one vector."""
    data = context.make_array(array_type)(context, builder, array).data
    element = context.get_data_type(array_type.dtype)
    pointer = builder.bitcast(builder.gep(data, [place]), ir.VectorType(element, n_lanes).as_pointer())
    return builder.load(pointer, align=context.get_abi_sizeof(element))


def _filled(builder, value, n_lanes):
    """A vector with the same value in every lane."""
    vector = ir.VectorType(value.type, n_lanes)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), n_lanes), [0] * n_lanes)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)


def _as_mask(builder, lanes, n_lanes):
    """A vector of truths as the bits of a 64-bit number."""
    mask = builder.bitcast(lanes, ir.IntType(n_lanes))
    return mask if n_lanes == 64 else builder.zext(mask, ir.IntType(64))


def _comparing(n_lanes):
    """An intrinsic that compares so many entries with a level: a mask of those above it, one of those equal to it."""

    @intrinsic
    def comparing(typing_context, values, place, level):
        def build(context, builder, signature, arguments):
            lanes = _lanes(context, builder, signature.args[0], arguments[0], arguments[1], n_lanes)
            levels = _filled(builder, arguments[2], n_lanes)
            masks = [_as_mask(builder, builder.fcmp_ordered(sign, lanes, levels), n_lanes) for sign in (">", "==")]
            return context.make_tuple(builder, signature.return_type, masks)

        return types.UniTuple(types.uint64, 2)(values, types.intp, values.dtype), build

    return comparing


_compare, _compare_wide = _comparing(LANES), _comparing(WIDE)


@intrinsic
def _reach_wide(typing_context, values, place, level):
    def build(context, builder, signature, arguments):
        lanes = _lanes(context, builder, signature.args[0], arguments[0], arguments[1], WIDE)
        return _as_mask(builder, builder.fcmp_ordered(">=", lanes, _filled(builder, arguments[2], WIDE)), WIDE)

    return types.uint64(values, types.intp, values.dtype), build


@intrinsic
def _missing(typing_context, values, place):
    def build(context, builder, signature, arguments):
        lanes = _lanes(context, builder, signature.args[0], arguments[0], arguments[1], WIDE)
        return _as_mask(builder, builder.fcmp_unordered("uno", lanes, lanes), WIDE)

    return types.uint64(values, types.intp), build


def _marking(sign):
    """An intrinsic that compares sixty-four labels with 0; NaN is not above it, and not equal to it."""

    @intrinsic
    def marking(typing_context, values, place):
        def build(context, builder, signature, arguments):
            lanes = _lanes(context, builder, signature.args[0], arguments[0], arguments[1], WIDE)
            kind = signature.args[0].dtype
            if not isinstance(kind, types.Float):
                compare_integers = builder.icmp_signed if kind.signed else builder.icmp_unsigned
                truths = compare_integers(sign, lanes, ir.Constant(lanes.type, None))
            elif sign == "!=":
                truths = builder.fcmp_unordered(sign, lanes, ir.Constant(lanes.type, None))
            else:
                truths = builder.fcmp_ordered(sign, lanes, ir.Constant(lanes.type, None))
            return _as_mask(builder, truths, WIDE)

        return types.uint64(values, types.intp), build

    return marking


_nonzero, _positive = _marking("!="), _marking(">")


@intrinsic
def _changes(typing_context, values, place):
    def build(context, builder, signature, arguments):
        one = ir.Constant(ir.IntType(64), 1)
        places = arguments[1], builder.sub(arguments[1], one)
        lanes = [_lanes(context, builder, signature.args[0], arguments[0], start, WIDE) for start in places]
        return _as_mask(builder, builder.icmp_signed("!=", *lanes), WIDE)

    return types.uint64(values, types.intp), build


def _raising(n_lanes):
    """An intrinsic that raises the first lanes of one array to those of another, where a mask says so."""

    @intrinsic
    def raising(typing_context, maxima, values, place, among):
        def build(context, builder, signature, arguments):
            zero = ir.Constant(ir.IntType(64), 0)
            lanes = _lanes(context, builder, signature.args[1], arguments[1], arguments[2], n_lanes)
            known = _lanes(context, builder, signature.args[0], arguments[0], zero, n_lanes)
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            bits = arguments[3] if n_lanes == WIDE else builder.trunc(arguments[3], ir.IntType(n_lanes))
            counted = builder.bitcast(bits, ir.VectorType(ir.IntType(1), n_lanes))
            above = builder.and_(builder.fcmp_ordered(">", lanes, known), counted)
            higher = builder.select(above, lanes, known)
            store = builder.store(higher, builder.bitcast(data, lanes.type.as_pointer()))
            store.align = context.get_abi_sizeof(lanes.type.element)
            return context.get_dummy_value()

        return types.void(maxima, values, types.intp, types.uint64), build

    return raising


_raise_lanes, _raise_wide = _raising(LANES), _raising(WIDE)


@intrinsic
def _fetch_ahead(typing_context, values, place):
    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        size = context.get_abi_sizeof(data.type.pointee)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        start = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        prefetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0i8"
        )
        for offset in (
            range(AHEAD, AHEAD + WIDE * size, LINE) if size > 1 else ()
        ):  # of bytes, it costs more than it gives
            line = builder.gep(start, [ir.Constant(ir.IntType(64), offset)])
            builder.call(prefetch, [line, ir.Constant(word, 0), ir.Constant(word, 3), ir.Constant(word, 1)])
        return context.get_dummy_value()

    return types.void(values, types.intp), build


@intrinsic
def _wide_like(typing_context, array):
    wide = types.Array(array.dtype, 1, "C")

    def build(context, builder, signature, arguments):
        element = context.get_data_type(wide.dtype)
        size = context.get_abi_sizeof(element)
        data = cgutils.alloca_once(builder, element, size=ir.Constant(ir.IntType(64), WIDE))
        made = context.make_array(wide)(context, builder)
        populate_array(made, data, [ir.Constant(ir.IntType(64), WIDE)], [context.get_constant(types.intp, size)],
                       context.get_constant(types.intp, size), None)  # fmt: skip
        return made._getvalue()

    return wide(array), build


@intrinsic
def _lanes_below(typing_context, n):
    def build(context, builder, signature, arguments):
        some = builder.sub(builder.shl(ir.Constant(ir.IntType(64), 1), arguments[0]), ir.Constant(ir.IntType(64), 1))
        is_some = builder.icmp_unsigned("<", arguments[0], ir.Constant(ir.IntType(64), WIDE))
        return builder.select(is_some, some, ir.Constant(ir.IntType(64), -1))

    return types.uint64(types.int64), build


@intrinsic
def _lesser(typing_context, first, second):
    def build(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed("<", *arguments), *arguments)

    return types.int64(types.int64, types.int64), build


@intrinsic
def _popcount(typing_context, mask):
    def build(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build


@intrinsic
def _lowest_bit(typing_context, mask):
    def build(context, builder, signature, arguments):
        return builder.cttz(arguments[0], cgutils.false_bit)

    return types.int64(types.uint64), build


def _plain_lanes(values, place, n_lanes):
    """The entries that a vector would hold; an error where machine code would read beside the array."""
    if not 0 <= place <= len(values) - n_lanes:
        raise IndexError(f"{n_lanes} lanes from {place} on do not lie in an array of {len(values)}")
    return values[place : place + n_lanes]


def _plain_comparing(n_lanes):
    def comparing(values, place, level):
        lanes = _plain_lanes(values, place, n_lanes)
        return _plain_mask(lanes > level), _plain_mask(lanes == level)

    return comparing


def _plain_reach_wide(values, place, level):
    return _plain_mask(_plain_lanes(values, place, WIDE) >= level)


def _plain_missing(values, place):
    return _plain_mask(np.isnan(_plain_lanes(values, place, WIDE)))


def _plain_raising(n_lanes):
    def raising(maxima, values, place, among):
        lanes = _plain_lanes(values, place, n_lanes)
        counted = [int(among) >> lane & 1 == 1 for lane in range(n_lanes)]
        maxima[:n_lanes] = np.where(counted, np.fmax(_plain_lanes(maxima, 0, n_lanes), lanes), maxima[:n_lanes])

    return raising


def _plain_changes(values, place):
    return _plain_mask(_plain_lanes(values, place, WIDE) != _plain_lanes(values, place - 1, WIDE))


def _plain_nonzero(values, place):
    return _plain_mask(_plain_lanes(values, place, WIDE) != 0)


def _plain_positive(values, place):
    return _plain_mask(_plain_lanes(values, place, WIDE) > 0)


def _plain_mask(lanes):
    return sum(1 << lane for lane in np.flatnonzero(lanes).tolist())


def _plain_wide_like(array):
    return np.empty(WIDE, array.dtype)


def _plain_fetch_ahead(values, place):
    pass


def _plain_lanes_below(n):
    return np.uint64((1 << int(min(n, WIDE))) - 1)


def _plain_lesser(first, second):
    return min(first, second)


def _plain_popcount(mask):
    return int(mask).bit_count()


def _plain_lowest_bit(mask):
    return (int(mask) & -int(mask)).bit_length() - 1


if numba.config.DISABLE_JIT:
    compare, compare_wide = _plain_comparing(LANES), _plain_comparing(WIDE)
    raise_lanes, raise_wide = _plain_raising(LANES), _plain_raising(WIDE)
    missing, nonzero, positive, changes = _plain_missing, _plain_nonzero, _plain_positive, _plain_changes
    popcount, lowest_bit, lanes_below, lesser = _plain_popcount, _plain_lowest_bit, _plain_lanes_below, _plain_lesser
    reach_wide, wide_like, fetch_ahead = _plain_reach_wide, _plain_wide_like, _plain_fetch_ahead
else:
    compare, compare_wide = _compare, _compare_wide
    raise_lanes, raise_wide = _raise_lanes, _raise_wide
    missing, nonzero, positive, changes = _missing, _nonzero, _positive, _changes
    popcount, lowest_bit, lanes_below, lesser = _popcount, _lowest_bit, _lanes_below, _lesser
    reach_wide, wide_like, fetch_ahead = _reach_wide, _wide_like, _fetch_ahead
