"""Machine instructions of kernels/scoring/panels.py."""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from fastndcg.kernels.scoring.panels import ITEM_VECTORS, USER_PANEL, VECTOR_BYTES

WORD = ir.IntType(64)


class _Types:
    """Types of a product's vectors, by the type of an element and that of a score."""

    def __init__(self, context, element_type, score_type, is_distance):
        self.element = context.get_data_type(element_type)
        self.score = context.get_data_type(score_type)
        self.size = context.get_abi_sizeof(self.element)
        self.score_size = context.get_abi_sizeof(self.score)
        self.n_lanes = VECTOR_BYTES // self.size
        self.vector = ir.VectorType(self.element, self.n_lanes)
        self.scores = ir.VectorType(self.score, self.n_lanes)
        self.is_float = isinstance(element_type, types.Float)
        self.is_distance = not isinstance(is_distance, types.NoneType)


def _fill(builder, value, n_lanes):
    """Return a vector with the same value in every lane."""
    undefined = ir.Constant(ir.VectorType(value.type, n_lanes), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), n_lanes), [0] * n_lanes))


def _load(builder, pointer, kind):
    """Load a vector, whose address may be that of any element."""
    lanes = builder.load(builder.bitcast(pointer, kind.vector.as_pointer()))
    lanes.align = kind.size
    return lanes


def _add_terms(builder, kind, left, right, total):
    """Return a vector of sums with the terms of one more column."""
    if kind.is_float:
        name = f"llvm.fma.v{kind.n_lanes}f{8 * kind.size}"
        signature = ir.FunctionType(kind.vector, [kind.vector] * 3)
        if kind.is_distance:
            right = builder.fsub(left, right)
            left = builder.fneg(right)
        return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), [left, right, total])
    name = f"llvm.ctpop.v{kind.n_lanes}i64"
    count_bits = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind.vector, [kind.vector]), name)
    return builder.add(total, builder.call(count_bits, [builder.xor(left, right)]))


def _convert_sums(builder, kind, sums):
    """Return a vector of scores. That of bits is the negative number of bits that differ."""
    if kind.is_float:
        return sums
    sums = builder.trunc(builder.neg(sums), ir.VectorType(ir.IntType(32), kind.n_lanes))
    return builder.sitofp(sums, kind.scores)


@intrinsic
def multiply_panels(typing_context, users, items, places, n_columns, out, out_width, is_distance):
    """
    Write the scores of a panel of users for a panel of items.

    users, items  packed operands
    places        where the panels begin in `users` and `items`, and where their first score is in `out`
    n_columns     number of columns, 1 or more
    out           tile with rows of out_width scores
    is_distance   None for the product of floats, True for their negative squared distance
    """

    def build(context, builder, signature, arguments):
        kind = _Types(context, signature.args[0].dtype, signature.args[4].dtype, is_distance)
        user, item, target = (
            builder.gep(
                context.make_array(signature.args[array])(context, builder, arguments[array]).data,
                [builder.extract_value(arguments[2], place)],
            )
            for place, array in enumerate((0, 1, 4))
        )
        before = builder.block
        loop = builder.append_basic_block("column")
        after = builder.append_basic_block("after_columns")
        builder.branch(loop)
        builder.position_at_end(loop)
        column = builder.phi(WORD)
        column.add_incoming(ir.Constant(WORD, 0), before)
        sums = [builder.phi(kind.vector) for _ in range(USER_PANEL * ITEM_VECTORS)]
        item_column = builder.gep(item, [builder.mul(column, ir.Constant(WORD, ITEM_VECTORS * kind.n_lanes))])
        user_column = builder.gep(user, [builder.mul(column, ir.Constant(WORD, USER_PANEL))])
        offsets = [ir.Constant(WORD, number * kind.n_lanes) for number in range(ITEM_VECTORS)]
        lanes = [_load(builder, builder.gep(item_column, [offset]), kind) for offset in offsets]
        totals = []
        for row in range(USER_PANEL):
            value = builder.load(builder.gep(user_column, [ir.Constant(WORD, row)]))
            values = _fill(builder, value, kind.n_lanes)
            own = sums[row * ITEM_VECTORS : (row + 1) * ITEM_VECTORS]
            totals += [_add_terms(builder, kind, values, right, total) for right, total in zip(lanes, own, strict=True)]
        following = builder.add(column, ir.Constant(WORD, 1))
        column.add_incoming(following, loop)
        for total, new in zip(sums, totals, strict=True):
            total.add_incoming(ir.Constant(kind.vector, None), before)
            total.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, arguments[3]), loop, after)
        builder.position_at_end(after)
        for number, total in enumerate(totals):
            row, vector = divmod(number, ITEM_VECTORS)
            start = builder.mul(arguments[5], ir.Constant(WORD, row))
            place = builder.gep(target, [builder.add(start, offsets[vector])])
            scores = _convert_sums(builder, kind, total)
            store = builder.store(scores, builder.bitcast(place, kind.scores.as_pointer()))
            store.align = kind.score_size
        return context.get_dummy_value()

    signature = types.void(users, items, types.UniTuple(types.intp, 3), types.intp, out, types.intp, is_distance)
    return signature, build


@intrinsic
def add_term(typing_context, total, user, item, is_distance):
    """Return a sum with the terms of one more column, rounded as in `multiply_panels`."""

    def build_floats(context, builder, signature, arguments):
        name = f"llvm.fma.f{user.bitwidth}"
        function = ir.FunctionType(arguments[0].type, [arguments[0].type] * 3)
        fused = cgutils.get_or_insert_function(builder.module, function, name)
        total, left, right = arguments[:3]
        if not isinstance(is_distance, types.NoneType):
            right = builder.fsub(left, right)
            left = builder.fneg(right)
        return builder.call(fused, [left, right, total])

    def build_bits(context, builder, signature, arguments):
        return builder.sub(arguments[0], builder.ctpop(builder.xor(arguments[1], arguments[2])))

    if isinstance(user, types.Float):
        return user(user, user, user, is_distance), build_floats
    return types.int64(types.int64, user, item, is_distance), build_bits
