"""Machine instructions of kernels/simd.py, as portable LLVM vectors."""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from fastndcg.kernels.simd import LANES, WIDE

PREFETCH_BYTES = 1 << 13  # distance, about what a kernel reads during one access to memory
CACHE_LINE = 64  # bytes


def _load_lanes(context, builder, array_type, array, place, n_lanes):
    """Load entries place … place + n_lanes − 1 of a contiguous array as one vector."""
    data = context.make_array(array_type)(context, builder, array).data
    element = context.get_data_type(array_type.dtype)
    pointer = builder.bitcast(builder.gep(data, [place]), ir.VectorType(element, n_lanes).as_pointer())
    return builder.load(pointer, align=context.get_abi_sizeof(element))


def _fill_lanes(builder, value, n_lanes):
    """Return a vector with the same value in every lane."""
    vector = ir.VectorType(value.type, n_lanes)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), n_lanes), [0] * n_lanes)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _make_mask(builder, lanes, n_lanes):
    """Return the mask of a vector of booleans."""
    mask = builder.bitcast(lanes, ir.IntType(n_lanes))
    return mask if n_lanes == 64 else builder.zext(mask, ir.IntType(64))


def _make_compare(n_lanes):
    """Return an intrinsic that compares entries with a level: the masks of those above it and of those equal to it."""

    @intrinsic
    def compare(typing_context, values, place, level):
        def build(context, builder, signature, arguments):
            lanes = _load_lanes(context, builder, signature.args[0], arguments[0], arguments[1], n_lanes)
            levels = _fill_lanes(builder, arguments[2], n_lanes)
            masks = [_make_mask(builder, builder.fcmp_ordered(sign, lanes, levels), n_lanes) for sign in (">", "==")]
            return context.make_tuple(builder, signature.return_type, masks)

        return types.UniTuple(types.uint64, 2)(values, types.intp, values.dtype), build

    return compare


compare = _make_compare(LANES)
compare_wide = _make_compare(WIDE)


@intrinsic
def mask_at_least(typing_context, values, place, level):
    """Return the mask of 64 entries that are at least a level."""

    def build(context, builder, signature, arguments):
        lanes = _load_lanes(context, builder, signature.args[0], arguments[0], arguments[1], WIDE)
        return _make_mask(builder, builder.fcmp_ordered(">=", lanes, _fill_lanes(builder, arguments[2], WIDE)), WIDE)

    return types.uint64(values, types.intp, values.dtype), build


@intrinsic
def mask_nan(typing_context, values, place):
    """Return the mask of 64 entries that are NaN."""

    def build(context, builder, signature, arguments):
        lanes = _load_lanes(context, builder, signature.args[0], arguments[0], arguments[1], WIDE)
        return _make_mask(builder, builder.fcmp_unordered("uno", lanes, lanes), WIDE)

    return types.uint64(values, types.intp), build


def _make_mask_labels(sign):
    """Return an intrinsic for the mask of 64 labels that are above 0, or not 0. NaN is not above 0 and not 0."""

    @intrinsic
    def mask_labels(typing_context, values, place):
        def build(context, builder, signature, arguments):
            lanes = _load_lanes(context, builder, signature.args[0], arguments[0], arguments[1], WIDE)
            dtype = signature.args[0].dtype
            if not isinstance(dtype, types.Float):
                compare_integers = builder.icmp_signed if dtype.signed else builder.icmp_unsigned
                truths = compare_integers(sign, lanes, ir.Constant(lanes.type, None))
            elif sign == "!=":
                truths = builder.fcmp_unordered(sign, lanes, ir.Constant(lanes.type, None))
            else:
                truths = builder.fcmp_ordered(sign, lanes, ir.Constant(lanes.type, None))
            return _make_mask(builder, truths, WIDE)

        return types.uint64(values, types.intp), build

    return mask_labels


mask_nonzero = _make_mask_labels("!=")
mask_positive = _make_mask_labels(">")


def _make_raise_maxima(n_lanes):
    """Return an intrinsic that raises the first lanes of `maxima` to those of `values`, in the lanes of a mask."""

    @intrinsic
    def raise_maxima(typing_context, maxima, values, place, counted_lanes):
        def build(context, builder, signature, arguments):
            zero = ir.Constant(ir.IntType(64), 0)
            lanes = _load_lanes(context, builder, signature.args[1], arguments[1], arguments[2], n_lanes)
            old = _load_lanes(context, builder, signature.args[0], arguments[0], zero, n_lanes)
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            bits = arguments[3] if n_lanes == WIDE else builder.trunc(arguments[3], ir.IntType(n_lanes))
            is_counted = builder.bitcast(bits, ir.VectorType(ir.IntType(1), n_lanes))
            above = builder.and_(builder.fcmp_ordered(">", lanes, old), is_counted)
            higher = builder.select(above, lanes, old)
            store = builder.store(higher, builder.bitcast(data, lanes.type.as_pointer()))
            store.align = context.get_abi_sizeof(lanes.type.element)
            return context.get_dummy_value()

        return types.void(maxima, values, types.intp, types.uint64), build

    return raise_maxima


raise_maxima = _make_raise_maxima(LANES)
raise_maxima_wide = _make_raise_maxima(WIDE)


@intrinsic
def copy_wide(typing_context, values, place, out, out_place):
    """Copy 64 entries of an array to another array of the same dtype."""

    def build(context, builder, signature, arguments):
        lanes = _load_lanes(context, builder, signature.args[0], arguments[0], arguments[1], WIDE)
        data = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        target = builder.gep(data, [arguments[3]])
        store = builder.store(lanes, builder.bitcast(target, lanes.type.as_pointer()))
        store.align = context.get_abi_sizeof(lanes.type.element)
        return context.get_dummy_value()

    return types.void(values, types.intp, out, types.intp), build


@intrinsic
def prefetch(typing_context, values, place):
    """
    Load what comes PREFETCH_BYTES behind 64 entries into the processor's cache.

    Processors do this by themselves within a query, but not from one query to the next.
    """

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        size = context.get_abi_sizeof(data.type.pointee)
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        start = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0i8"
        )
        n_bytes = WIDE * size if size > 1 else 0  # one cache line of single bytes needs no prefetch
        for offset in range(PREFETCH_BYTES, PREFETCH_BYTES + n_bytes, CACHE_LINE):
            line = builder.gep(start, [ir.Constant(ir.IntType(64), offset)])
            builder.call(function, [line, ir.Constant(word, 0), ir.Constant(word, 3), ir.Constant(word, 1)])
        return context.get_dummy_value()

    return types.void(values, types.intp), build


@intrinsic
def make_wide_like(typing_context, array):
    """Return an uninitialised array of 64 entries on the stack of the kernel, with the dtype of an array."""
    wide = types.Array(array.dtype, 1, "C")

    def build(context, builder, signature, arguments):
        element = context.get_data_type(wide.dtype)
        size = context.get_abi_sizeof(element)
        data = cgutils.alloca_once(builder, element, size=ir.Constant(ir.IntType(64), WIDE))
        result = context.make_array(wide)(context, builder)
        itemsize = context.get_constant(types.intp, size)
        populate_array(result, data, [ir.Constant(ir.IntType(64), WIDE)], [itemsize], itemsize, None)
        return result._getvalue()

    return wide(array), build


@intrinsic
def mask_first(typing_context, n):
    """Return the mask of the first n lanes, of all lanes from 64 on."""

    def build(context, builder, signature, arguments):
        some = builder.sub(builder.shl(ir.Constant(ir.IntType(64), 1), arguments[0]), ir.Constant(ir.IntType(64), 1))
        is_some = builder.icmp_unsigned("<", arguments[0], ir.Constant(ir.IntType(64), WIDE))
        return builder.select(is_some, some, ir.Constant(ir.IntType(64), -1))

    return types.uint64(types.int64), build


@intrinsic
def min_int64(typing_context, first, second):
    """Return the lower of two integers. Numba compiles `min` again for each pair of types."""

    def build(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed("<", *arguments), *arguments)

    return types.int64(types.int64, types.int64), build


@intrinsic
def popcount(typing_context, mask):
    """Return the number of lanes in a mask."""

    def build(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build


@intrinsic
def lowest_bit(typing_context, mask):
    """Return the first lane in a mask that is not 0."""

    def build(context, builder, signature, arguments):
        return builder.cttz(arguments[0], cgutils.false_bit)

    return types.int64(types.uint64), build
