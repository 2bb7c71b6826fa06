"""
Products of users and items: the scores of a tile.

Operands are packed in panels. A panel has some rows of an operand, column after column, so that a vector of rows is
contiguous. Rows that fill the last panel are 0.

A score of floats is the fused sum over the columns in their order. Each multiplication and addition together is
rounded once. So scores do not depend on threads or tiles, and equal vectors get equal scores. A score of packed bits
is the negative number of bits that differ.

The product keeps USER_PANEL x ITEM_VECTORS vectors of sums in registers. d = 64: 106 GFLOP/s on one core of an EPYC with
AVX-512, where OpenBLAS takes 84 to 93.
"""

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from fastndcg.kernels.jit import inline, kernel

_FEATURES = binding.get_host_cpu_features()
VECTOR_BYTES = 64 if _FEATURES.get("avx512f") else 32 if _FEATURES.get("avx") else 16
HAS_MANY_REGISTERS = VECTOR_BYTES == 64 or binding.get_default_triple().startswith(("aarch64", "arm64"))
USER_PANEL = 12 if HAS_MANY_REGISTERS else 6  # rows
ITEM_VECTORS = 2
ITEM_PANEL_BYTES = ITEM_VECTORS * VECTOR_BYTES  # of one column


class _Types:
    """Types of a product's vectors. Sums of packed bits are integers, and their scores float32."""

    def __init__(self, context, array_type):
        self.element = context.get_data_type(array_type.dtype)
        self.size = context.get_abi_sizeof(self.element)
        self.n_lanes = VECTOR_BYTES // self.size
        self.vector = ir.VectorType(self.element, self.n_lanes)
        self.is_float = isinstance(array_type.dtype, types.Float)
        self.score = self.element if self.is_float else ir.FloatType()
        self.scores = ir.VectorType(self.score, self.n_lanes)


def _fill(builder, value, n_lanes):
    """Return a vector with the same value in every lane."""
    undefined = ir.Constant(ir.VectorType(value.type, n_lanes), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), n_lanes), [0] * n_lanes))


def _load(builder, pointer, vector, size):
    """Load a vector, whose address may be any multiple of `size`."""
    lanes = builder.load(builder.bitcast(pointer, vector.as_pointer()))
    lanes.align = size
    return lanes


def _add_terms(builder, kind, left, right, total):
    """Return a vector of sums with one more term each."""
    if kind.is_float:
        name = f"llvm.fma.v{kind.n_lanes}f{8 * kind.size}"
        signature = ir.FunctionType(kind.vector, [kind.vector] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), [left, right, total])
    return builder.add(total, builder.ctpop(builder.xor(left, right)))


@intrinsic
def multiply_panels(typing_context, users, user_place, items, item_place, n_columns, out, out_place, out_width):
    """
    Write the scores of a panel of users for a panel of items.

    users, items           packed operands, whose panels begin at user_place and item_place
    out                    tile with rows of out_width scores, of which the panel's first is at out_place
    """

    def build(context, builder, signature, arguments):
        kind = _Types(context, signature.args[0])
        word = ir.IntType(64)

        def point(array, place):
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            return builder.gep(data, [place])

        user, item, target = (point(array, arguments[array + 1]) for array in (0, 2, 5))
        before = builder.block
        loop = builder.append_basic_block("column")
        after = builder.append_basic_block("after_columns")
        builder.branch(loop)
        builder.position_at_end(loop)
        column = builder.phi(word)
        column.add_incoming(ir.Constant(word, 0), before)
        sums = [builder.phi(kind.vector) for _ in range(USER_PANEL * ITEM_VECTORS)]
        width = ITEM_VECTORS * kind.n_lanes
        item_column = builder.gep(item, [builder.mul(column, ir.Constant(word, width))])
        user_column = builder.gep(user, [builder.mul(column, ir.Constant(word, USER_PANEL))])
        offsets = [ir.Constant(word, number * kind.n_lanes) for number in range(ITEM_VECTORS)]
        lanes = [_load(builder, builder.gep(item_column, [offset]), kind.vector, kind.size) for offset in offsets]
        totals = []
        for row in range(USER_PANEL):
            value = builder.load(builder.gep(user_column, [ir.Constant(word, row)]))
            values = _fill(builder, value, kind.n_lanes)
            own = sums[row * ITEM_VECTORS : (row + 1) * ITEM_VECTORS]
            totals += [_add_terms(builder, kind, values, right, total) for right, total in zip(lanes, own, strict=True)]
        following = builder.add(column, ir.Constant(word, 1))
        column.add_incoming(following, loop)
        for total, new in zip(sums, totals, strict=True):
            total.add_incoming(ir.Constant(kind.vector, None), before)
            total.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, arguments[4]), loop, after)
        builder.position_at_end(after)
        for number, total in enumerate(totals):
            row, vector = divmod(number, ITEM_VECTORS)
            scores = total
            if not kind.is_float:
                scores = builder.sitofp(builder.neg(total), kind.scores)
            start = builder.mul(arguments[7], ir.Constant(word, row))
            place = builder.gep(target, [builder.add(start, offsets[vector])])
            store = builder.store(scores, builder.bitcast(place, kind.scores.as_pointer()))
            store.align = 4 if kind.score == ir.FloatType() else 8
        return context.get_dummy_value()

    return types.void(
        users, types.intp, items, types.intp, types.intp, out, types.intp, types.intp
    ), build  # fmt: skip


def _plain_multiply_panels(users, user_place, items, item_place, n_columns, out, out_place, out_width):
    width = ITEM_PANEL_BYTES // users.itemsize
    rows = users[user_place : user_place + n_columns * USER_PANEL].reshape(n_columns, USER_PANEL)
    columns = items[item_place : item_place + n_columns * width].reshape(n_columns, width)
    is_bits = users.dtype.kind == "u"
    sums = np.zeros((USER_PANEL, width), np.int64 if is_bits else users.dtype)
    for user, item in zip(rows, columns, strict=True):
        if is_bits:
            sums -= np.bitwise_count(user[:, None] ^ item).astype(np.int64)
        else:  # the product of two float32 is exact in float64
            sums = (np.multiply.outer(user, item, dtype=np.float64) + sums).astype(users.dtype)
    for row in range(USER_PANEL):
        start = out_place + row * out_width
        out[start : start + width] = sums[row]


if numba.config.DISABLE_JIT:
    multiply_panels = _plain_multiply_panels


@kernel
def pack(rows, n_rows, width, out):
    """
    Pack the first rows of an operand in panels.

    rows   (at least n_rows, n_columns) float32, float64 or uint64
    width  rows of a panel: USER_PANEL, or ITEM_PANEL_BYTES by the bytes of an element
    out    (n_panels * width * n_columns,) the panels
    """
    n_columns = rows.shape[1]
    for first in range(0, n_rows, width):
        start = first * n_columns
        n = min(width, n_rows - first)
        for column in range(n_columns):
            place = start + column * width
            for r in range(n):
                out[place + r] = rows[first + r, column]
            for r in range(n, width):
                out[place + r] = 0


@intrinsic
def add_term(typing_context, total, user, item):
    """Return a sum with the term of one more column, rounded as in `multiply_panels`."""
    if isinstance(user, types.Float):

        def build(context, builder, signature, arguments):
            name = f"llvm.fma.f{user.bitwidth}"
            function = ir.FunctionType(arguments[0].type, [arguments[0].type] * 3)
            fused = cgutils.get_or_insert_function(builder.module, function, name)
            return builder.call(fused, [arguments[1], arguments[2], arguments[0]])

        return user(user, user, user), build

    def build_bits(context, builder, signature, arguments):
        return builder.sub(arguments[0], builder.ctpop(builder.xor(arguments[1], arguments[2])))

    return types.int64(types.int64, user, item), build_bits


def _plain_add_term(total, user, item):
    if user.dtype.kind == "u":
        return total - int(np.bitwise_count(user ^ item))
    return user.dtype.type(np.float64(user) * np.float64(item) + np.float64(total))


if numba.config.DISABLE_JIT:
    add_term = _plain_add_term


@kernel
def score_pairs(users, items, zero, n_pairs, out):
    """
    Write the scores of single pairs of a user and an item, the same as in a tile.

    users, items  (at least n_pairs, n_columns) rows of operands, one a pair
    zero          0 as a sum: of the dtype of floats, or int64 for packed bits
    out           (n_pairs,) float32 or float64
    """
    for pair in range(n_pairs):
        total = zero
        for column in range(users.shape[1]):
            total = add_term(total, users[pair, column], items[pair, column])
        out[pair] = total


@inline
def fill_tile(users, first_panel, n_panels, items, n_columns, row_width, tile):
    """
    Write the scores of some panels of users for all panels of items.

    users, items  packed operands
    row_width     number of items with those that fill the last panel
    tile          (at least n_panels * USER_PANEL * row_width,) row after row
    """
    width = ITEM_PANEL_BYTES // items.itemsize
    for i in range(row_width // width):
        for u in range(n_panels):
            user_place = (first_panel + u) * USER_PANEL * n_columns
            out_place = u * USER_PANEL * row_width + i * width
            multiply_panels(users, user_place, items, i * width * n_columns, n_columns, tile, out_place, row_width)
