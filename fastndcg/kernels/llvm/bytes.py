"""Machine instructions of kernels/bytes.py."""

import sys

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from fastndcg.kernels.bytes import WINDOW

BLANK = 32
FIRST_CONTROL = 9  # tab, line feed, vertical tab, form feed, carriage return
N_CONTROLS = 5


@intrinsic
def load_word(typing_context, data, place):
    """Return the 8 bytes from `place` on as one number, the first byte lowest."""

    def build(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(start, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(pointer, align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(data, types.intp), build


@intrinsic
def store_word(typing_context, data, place, word):
    """Store a number as the 8 bytes from `place` on, the lowest byte first."""

    def build(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(start, [arguments[1]]), ir.IntType(64).as_pointer())
        word = arguments[2] if sys.byteorder == "little" else builder.bswap(arguments[2])
        builder.store(word, pointer, align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), build


@intrinsic
def mask_separators(typing_context, data, place):
    """Return the mask of the blanks, tabs and line ends among 64 bytes from `place` on, bit i for byte i."""

    def build(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        vector = ir.VectorType(ir.IntType(8), WINDOW)
        lanes = builder.load(builder.bitcast(builder.gep(start, [arguments[1]]), vector.as_pointer()), align=1)
        blank, first, n = (ir.Constant(vector, [number] * WINDOW) for number in (BLANK, FIRST_CONTROL, N_CONTROLS))
        are_controls = builder.icmp_unsigned("<", builder.sub(lanes, first), n)
        mask = builder.or_(are_controls, builder.icmp_unsigned("==", lanes, blank))
        return builder.bitcast(mask, ir.IntType(WINDOW))

    return types.uint64(data, types.intp), build


@intrinsic
def multiply_wide(typing_context, left, right):
    """Return the high and the low 64 bits of a product."""

    def build(context, builder, signature, arguments):
        wide = [builder.zext(argument, ir.IntType(128)) for argument in arguments]
        product = builder.mul(*wide)
        high = builder.lshr(product, ir.Constant(ir.IntType(128), 64))
        halves = [builder.trunc(half, ir.IntType(64)) for half in (high, product)]
        return context.make_tuple(builder, signature.return_type, halves)

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), build


@intrinsic
def count_leading_zeros(typing_context, word):
    """Return the number of zero bits above the highest bit that is set."""

    def build(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], cgutils.false_bit)

    return types.uint64(types.uint64), build


@intrinsic
def bits_to_float(typing_context, bits):
    """Return the float64 that has the same bits."""

    def build(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), build


@intrinsic
def swap_bytes(typing_context, word):
    """Return the number with its 8 bytes in reverse order."""

    def build(context, builder, signature, arguments):
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), build
