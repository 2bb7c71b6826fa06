"""
Eight bytes at once, and products of 128 bits, as machine instructions; plain Python twins where the JIT is off.

Numbers are uint64 throughout: numba makes a float of a uint64 beside an int64.
"""

import sys

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

BYTES = 8
WINDOW = 64
BLANK, FIRST_CONTROL, N_CONTROLS = 32, 9, 5  # what parts fields and lines: a blank, and from the tab to the return


@intrinsic
def _load_word(typing_context, data, place):
    def build(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(start, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(pointer, align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(data, types.intp), build


@intrinsic
def _store_word(typing_context, data, place, word):
    def build(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(start, [arguments[1]]), ir.IntType(64).as_pointer())
        word = arguments[2] if sys.byteorder == "little" else builder.bswap(arguments[2])
        builder.store(word, pointer, align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), build


@intrinsic
def _separators(typing_context, data, place):
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
def _multiply(typing_context, left, right):
    def build(context, builder, signature, arguments):
        wide = [builder.zext(argument, ir.IntType(128)) for argument in arguments]
        product = builder.mul(*wide)
        high = builder.lshr(product, ir.Constant(ir.IntType(128), 64))
        halves = [builder.trunc(half, ir.IntType(64)) for half in (high, product)]
        return context.make_tuple(builder, signature.return_type, halves)

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), build


@intrinsic
def _leading_zeros(typing_context, word):
    def build(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], cgutils.false_bit)

    return types.uint64(types.uint64), build


@intrinsic
def _as_float(typing_context, bits):
    def build(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), build


@intrinsic
def _swapped(typing_context, word):
    def build(context, builder, signature, arguments):
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), build


def _plain_load_word(data, place):
    """Eight bytes, the first of them lowest; an error where machine code would read beside the array."""
    if not 0 <= place <= len(data) - BYTES:
        raise IndexError(f"{BYTES} bytes from {place} on do not lie in an array of {len(data)}")
    return np.uint64(int.from_bytes(data[place : place + BYTES].tobytes(), "little"))


def _plain_store_word(data, place, word):
    if not 0 <= place <= len(data) - BYTES:
        raise IndexError(f"{BYTES} bytes from {place} on do not lie in an array of {len(data)}")
    data[place : place + BYTES] = np.frombuffer(int(word).to_bytes(BYTES, "little"), "u1")


def _plain_separators(data, place):
    if not 0 <= place <= len(data) - WINDOW:
        raise IndexError(f"{WINDOW} bytes from {place} on do not lie in an array of {len(data)}")
    window = data[place : place + WINDOW].tolist()
    return np.uint64(sum(1 << lane for lane, byte in enumerate(window) if byte in b"\t\n\v\f\r "))


def _plain_multiply(left, right):
    product = int(left) * int(right)
    return np.uint64(product >> 64), np.uint64(product & (2**64 - 1))


def _plain_leading_zeros(word):
    return np.uint64(64 - int(word).bit_length())


def _plain_as_float(bits):
    return np.uint64(bits).view("f8")


def _plain_swapped(word):
    return np.uint64(int.from_bytes(int(word).to_bytes(BYTES, "little"), "big"))


if numba.config.DISABLE_JIT:
    load_word, store_word, separators = _plain_load_word, _plain_store_word, _plain_separators
    multiply, leading_zeros, swapped, as_float = _plain_multiply, _plain_leading_zeros, _plain_swapped, _plain_as_float
else:
    load_word, store_word, separators = _load_word, _store_word, _separators
    multiply, leading_zeros, swapped, as_float = _multiply, _leading_zeros, _swapped, _as_float
