"""
Machine instructions of the functions with @instruction, by the same names. Their docstrings are there.

A function here gets a `Code` and the values of its arguments, and emits LLVM's instructions into the kernel that calls
it. Vectors are portable. Nothing here is imported unless a kernel is compiled.
"""

import inspect
import sys

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from fastndcg.kernels.scoring.panels import ITEM_VECTORS, USER_PANEL, VECTOR_BYTES
from fastndcg.kernels.simd import LANES, WIDE, WINDOW

BIT, BYTE, INT, WORD = map(ir.IntType, (1, 8, 32, 64))
DOUBLE = ir.DoubleType()
POINTER = BYTE.as_pointer()
VOID = ir.VoidType()
INT64 = types.int64
UINT64 = types.uint64


class Code:
    """
    The place in a kernel where an instruction is emitted.

    Attributes
    ----------
    builder : llvmlite.ir.IRBuilder
        What emits LLVM's instructions.
    types : tuple
        Numba's types of the arguments.
    """

    def __init__(self, context, builder, signature):
        self.builder = builder
        self.types = signature.args
        self._context = context
        self._result = signature.return_type

    def address(self, number, array, place):
        """Return the address of an entry of an array, which is argument `number`."""
        data = self._context.make_array(self.types[number])(self._context, self.builder, array).data
        return self.builder.gep(data, [place])

    def size(self, pointer):
        """Return the bytes of an element at an address."""
        return self._context.get_abi_sizeof(pointer.type.pointee)

    def load(self, pointer, n_lanes):
        """Return elements from an address on as one vector. The address may be that of any element."""
        vector = ir.VectorType(pointer.type.pointee, n_lanes)
        return self.builder.load(self.builder.bitcast(pointer, vector.as_pointer()), align=self.size(pointer))

    def store(self, lanes, pointer):
        """Store a vector from the address of any element on."""
        store = self.builder.store(lanes, self.builder.bitcast(pointer, lanes.type.as_pointer()))
        store.align = self.size(pointer)

    def wide(self, number, array, place):
        """Return 64 entries of an array, which is argument `number`."""
        return self.load(self.address(number, array, place), WIDE)

    def fill(self, value, n_lanes):
        """Return a vector with the same value in every lane."""
        undefined = ir.Constant(ir.VectorType(value.type, n_lanes), ir.Undefined)
        first = self.builder.insert_element(undefined, value, INT(0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(INT, n_lanes), [0] * n_lanes))

    def mask(self, lanes):
        """Return the mask of a vector of booleans."""
        bits = self.builder.bitcast(lanes, ir.IntType(lanes.type.count))
        return bits if lanes.type.count == 64 else self.builder.zext(bits, WORD)

    def call(self, name, result, *values):
        """Call a function of C or LLVM. An address that it returns becomes a number."""
        kind = ir.FunctionType(result, [value.type for value in values])
        value = self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), values)
        return self.builder.ptrtoint(value, WORD) if result is POINTER else value

    def pointer(self, address):
        """Return a number as an address."""
        return self.builder.inttoptr(address, POINTER)

    def variable(self, kind):
        """Return a variable on the stack, and its address as C functions take it."""
        variable = cgutils.alloca_once(self.builder, kind)
        return variable, self.builder.bitcast(variable, POINTER)

    def pack(self, *values):
        """Return the tuple of some values, as the kernel gets it."""
        return self._context.make_tuple(self.builder, self._result, values)

    def new_array(self, dtype, size):
        """Return an uninitialised array on the stack."""
        element = self._context.get_data_type(dtype)
        data = cgutils.alloca_once(self.builder, element, size=WORD(size))
        result = self._context.make_array(types.Array(dtype, 1, "C"))(self._context, self.builder)
        itemsize = self._context.get_constant(types.intp, self._context.get_abi_sizeof(element))
        populate_array(result, data, [WORD(size)], [itemsize], itemsize, None)
        return result._getvalue()


def emits(sign):
    """Make Numba's intrinsic of a function that emits code. `sign` returns the signature for the types of arguments."""

    def make(emit):
        def give_types(typing_context, *arguments):
            def build(context, builder, signature, values):
                result = emit(Code(context, builder, signature), *values)
                return context.get_dummy_value() if result is None else result

            return sign(*arguments), build

        give_types.__name__ = emit.__name__
        give_types.__signature__ = inspect.signature(emit)  # type: ignore[attr-defined]
        return intrinsic(give_types)

    return make


# ----------------------------------------------------------------------------------------------------- vectors: simd.py


def _make_compare(n_lanes):
    @emits(lambda values, place, level: types.UniTuple(UINT64, 2)(values, types.intp, values.dtype))
    def compare(code, values, place, level):
        lanes = code.load(code.address(0, values, place), n_lanes)
        levels = code.fill(level, n_lanes)
        return code.pack(*(code.mask(code.builder.fcmp_ordered(sign, lanes, levels)) for sign in (">", "==")))

    return compare


compare = _make_compare(LANES)
compare_wide = _make_compare(WIDE)


@emits(lambda values, place, level: UINT64(values, types.intp, values.dtype))
def mask_at_least(code, values, place, level):
    return code.mask(code.builder.fcmp_ordered(">=", code.wide(0, values, place), code.fill(level, WIDE)))


@emits(lambda values, place: UINT64(values, types.intp))
def mask_nan(code, values, place):
    lanes = code.wide(0, values, place)
    return code.mask(code.builder.fcmp_unordered("uno", lanes, lanes))


def _make_mask_labels(sign):
    @emits(lambda values, place: UINT64(values, types.intp))
    def mask_labels(code, values, place):
        lanes = code.wide(0, values, place)
        dtype = code.types[0].dtype
        if isinstance(dtype, types.Float):  # NaN is not above 0 and not 0
            compare_lanes = code.builder.fcmp_unordered if sign == "!=" else code.builder.fcmp_ordered
        else:
            compare_lanes = code.builder.icmp_signed if dtype.signed else code.builder.icmp_unsigned
        return code.mask(compare_lanes(sign, lanes, ir.Constant(lanes.type, None)))

    return mask_labels


mask_nonzero = _make_mask_labels("!=")
mask_positive = _make_mask_labels(">")


def _make_raise_maxima(n_lanes):
    @emits(lambda maxima, values, place, counted_lanes: types.void(maxima, values, types.intp, UINT64))
    def raise_maxima(code, maxima, values, place, counted_lanes):
        lanes = code.load(code.address(1, values, place), n_lanes)
        target = code.address(0, maxima, WORD(0))
        old = code.load(target, n_lanes)
        bits = counted_lanes if n_lanes == WIDE else code.builder.trunc(counted_lanes, ir.IntType(n_lanes))
        is_counted = code.builder.bitcast(bits, ir.VectorType(BIT, n_lanes))
        above = code.builder.and_(code.builder.fcmp_ordered(">", lanes, old), is_counted)
        code.store(code.builder.select(above, lanes, old), target)

    return raise_maxima


raise_maxima = _make_raise_maxima(LANES)
raise_maxima_wide = _make_raise_maxima(WIDE)


@emits(lambda values, place, out, out_place: types.void(values, types.intp, out, types.intp))
def copy_wide(code, values, place, out, out_place):
    code.store(code.wide(0, values, place), code.address(2, out, out_place))


PREFETCH_BYTES = 1 << 13  # distance: 90 ns of one access to memory, in which a core reads 90 bytes a nanosecond
CACHE_LINE = 64  # bytes


@emits(lambda values, place: types.void(values, types.intp))
def prefetch(code, values, place):
    start = code.address(0, values, place)
    size = code.size(start)
    n_bytes = WIDE * size if size > 1 else 0  # one cache line of single bytes needs no prefetch
    start = code.builder.bitcast(start, POINTER)
    for offset in range(PREFETCH_BYTES, PREFETCH_BYTES + n_bytes, CACHE_LINE):
        code.call("llvm.prefetch.p0i8", VOID, code.builder.gep(start, [WORD(offset)]), INT(0), INT(3), INT(1))


@emits(lambda array: types.Array(array.dtype, 1, "C")(array))
def make_wide_like(code, array):
    return code.new_array(code.types[0].dtype, WIDE)


@emits(lambda n: UINT64(INT64))
def mask_first(code, n):
    some = code.builder.sub(code.builder.shl(WORD(1), n), WORD(1))
    return code.builder.select(code.builder.icmp_unsigned("<", n, WORD(WIDE)), some, WORD(-1))


@emits(lambda first, second: INT64(INT64, INT64))
def min_int64(code, first, second):
    return code.builder.select(code.builder.icmp_signed("<", first, second), first, second)


@emits(lambda mask: INT64(UINT64))
def popcount(code, mask):
    return code.builder.ctpop(mask)


@emits(lambda mask: INT64(UINT64))
def lowest_bit(code, mask):
    return code.builder.cttz(mask, cgutils.false_bit)


# ------------------------------------------------------------------------------------------------------- bytes: simd.py

BLANK = 32
FIRST_CONTROL = 9  # tab, line feed, vertical tab, form feed, carriage return
N_CONTROLS = 5


def _swap_on_big_endian(code, word):
    return word if sys.byteorder == "little" else code.builder.bswap(word)


@emits(lambda data, place: UINT64(data, types.intp))
def load_word(code, data, place):
    pointer = code.builder.bitcast(code.address(0, data, place), WORD.as_pointer())
    return _swap_on_big_endian(code, code.builder.load(pointer, align=1))


@emits(lambda data, place, word: types.void(data, types.intp, UINT64))
def store_word(code, data, place, word):
    pointer = code.builder.bitcast(code.address(0, data, place), WORD.as_pointer())
    code.builder.store(_swap_on_big_endian(code, word), pointer, align=1)


@emits(lambda data, place: UINT64(data, types.intp))
def mask_separators(code, data, place):
    lanes = code.load(code.address(0, data, place), WINDOW)
    blank, first, n = (ir.Constant(lanes.type, [number] * WINDOW) for number in (BLANK, FIRST_CONTROL, N_CONTROLS))
    are_controls = code.builder.icmp_unsigned("<", code.builder.sub(lanes, first), n)
    return code.mask(code.builder.or_(are_controls, code.builder.icmp_unsigned("==", lanes, blank)))


@emits(lambda left, right: types.UniTuple(UINT64, 2)(UINT64, UINT64))
def multiply_wide(code, left, right):
    double = ir.IntType(128)
    product = code.builder.mul(code.builder.zext(left, double), code.builder.zext(right, double))
    high = code.builder.lshr(product, double(64))
    return code.pack(code.builder.trunc(high, WORD), code.builder.trunc(product, WORD))


@emits(lambda word: UINT64(UINT64))
def count_leading_zeros(code, word):
    return code.builder.ctlz(word, cgutils.false_bit)


@emits(lambda bits: types.float64(UINT64))
def bits_to_float(code, bits):
    return code.builder.bitcast(bits, DOUBLE)


@emits(lambda word: UINT64(UINT64))
def swap_bytes(code, word):
    return code.builder.bswap(word)


# ---------------------------------------------------------------------------------- sums of products: scoring/panels.py


def _multiply_add(code, left, right, total, is_distance):
    """Return sums of floats, one or a vector, with the terms of one more column."""
    if is_distance:
        right = code.builder.fsub(left, right)
        left = code.builder.fneg(right)
    is_vector = isinstance(left.type, ir.VectorType)
    element = left.type.element if is_vector else left.type
    n_bits = 64 if element == DOUBLE else 32
    return code.call(f"llvm.fma.{f'v{left.type.count}' if is_vector else ''}f{n_bits}", left.type, left, right, total)


def _count_differing(code, left, right, total):
    """Return vectors of counts with the bits of one more column that differ."""
    name = f"llvm.ctpop.v{left.type.count}i64"
    return code.builder.add(total, code.call(name, left.type, code.builder.xor(left, right)))


@emits(
    lambda users, items, places, n_columns, out, out_width, is_distance: types.void(
        users, items, types.UniTuple(types.intp, 3), types.intp, out, types.intp, is_distance
    )
)
def multiply_panels(code, users, items, places, n_columns, out, out_width, is_distance):
    builder = code.builder
    is_float = isinstance(code.types[0].dtype, types.Float)
    is_distance = not isinstance(code.types[6], types.NoneType)
    user, item, target = (
        code.address(number, array, builder.extract_value(places, place))
        for place, (number, array) in enumerate(((0, users), (1, items), (4, out)))
    )
    n_lanes = VECTOR_BYTES // code.size(user)
    vector = ir.VectorType(user.type.pointee, n_lanes)
    before = builder.block
    loop = builder.append_basic_block("column")
    after = builder.append_basic_block("after_columns")
    builder.branch(loop)
    builder.position_at_end(loop)
    column = builder.phi(WORD)
    column.add_incoming(WORD(0), before)
    sums = [builder.phi(vector) for _ in range(USER_PANEL * ITEM_VECTORS)]
    item_column = builder.gep(item, [builder.mul(column, WORD(ITEM_VECTORS * n_lanes))])
    user_column = builder.gep(user, [builder.mul(column, WORD(USER_PANEL))])
    offsets = [WORD(number * n_lanes) for number in range(ITEM_VECTORS)]
    lanes = [code.load(builder.gep(item_column, [offset]), n_lanes) for offset in offsets]
    totals = []
    for row in range(USER_PANEL):
        values = code.fill(builder.load(builder.gep(user_column, [WORD(row)])), n_lanes)
        for right, total in zip(lanes, sums[row * ITEM_VECTORS :], strict=False):
            if is_float:
                totals.append(_multiply_add(code, values, right, total, is_distance))
            else:
                totals.append(_count_differing(code, values, right, total))
    following = builder.add(column, WORD(1))
    column.add_incoming(following, loop)
    for total, new in zip(sums, totals, strict=True):
        total.add_incoming(ir.Constant(vector, None), before)
        total.add_incoming(new, loop)
    builder.cbranch(builder.icmp_signed("<", following, n_columns), loop, after)
    builder.position_at_end(after)
    for number, total in enumerate(totals):
        row, place = divmod(number, ITEM_VECTORS)
        start = builder.mul(out_width, WORD(row))
        scores = total
        if not is_float:  # the negative number of bits that differ
            differing = builder.trunc(builder.neg(total), ir.VectorType(INT, n_lanes))
            scores = builder.sitofp(differing, ir.VectorType(target.type.pointee, n_lanes))
        code.store(scores, builder.gep(target, [builder.add(start, offsets[place])]))


@emits(
    lambda total, user, item, is_distance: (
        user(user, user, user, is_distance) if isinstance(user, types.Float) else INT64(INT64, user, item, is_distance)
    )
)
def add_term(code, total, user, item, is_distance):
    if isinstance(code.types[1], types.Float):
        return _multiply_add(code, user, item, total, not isinstance(code.types[3], types.NoneType))
    return code.builder.sub(total, code.builder.ctpop(code.builder.xor(user, item)))


# ------------------------------------------------------------------------ Python's stable ABI: inputs/python_objects.py


@emits(lambda row, position: types.UniTuple(INT64, 4)(INT64, INT64))
def dict_next(code, row, position):
    variables, addresses = zip(*(code.variable(WORD) for _ in range(3)), strict=True)
    code.builder.store(position, variables[0])
    has_next = code.call("PyDict_Next", INT, code.pointer(row), *addresses)
    return code.pack(code.builder.sext(has_next, WORD), *map(code.builder.load, variables))


@emits(lambda thing: INT64(INT64))
def exact_type(code, thing):
    address = code.call("PyObject_Type", POINTER, code.pointer(thing))
    code.call("Py_DecRef", VOID, code.pointer(address))
    return address


@emits(lambda number: types.float64(INT64))
def to_float64(code, number):
    return code.call("PyFloat_AsDouble", DOUBLE, code.pointer(number))


@emits(lambda number: types.UniTuple(INT64, 2)(INT64))
def to_int64(code, number):
    variable, address = code.variable(INT)
    value = code.call("PyLong_AsLongLongAndOverflow", WORD, code.pointer(number), address)
    return code.pack(value, code.builder.sext(code.builder.load(variable), WORD))


@emits(lambda text: types.UniTuple(INT64, 2)(INT64))
def to_utf8(code, text):
    variable, address = code.variable(WORD)
    start = code.call("PyUnicode_AsUTF8AndSize", POINTER, code.pointer(text), address)
    with code.builder.if_then(code.builder.icmp_unsigned("==", start, WORD(0)), likely=False):
        code.call("PyErr_Clear", VOID)
    return code.pack(start, code.builder.load(variable))


@emits(lambda address, size, data, start: types.void(INT64, INT64, data, INT64))
def copy_bytes(code, address, size, data, start):
    cgutils.raw_memcpy(code.builder, code.address(2, data, start), code.pointer(address), size, 1)
