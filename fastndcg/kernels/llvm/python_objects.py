"""Machine instructions of kernels/inputs/python_objects.py: calls of Python's stable ABI."""

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

WORD = ir.IntType(64)
INT = ir.IntType(32)
DOUBLE = ir.DoubleType()
POINTER = ir.IntType(8).as_pointer()
VOID = ir.VoidType()
INT64 = types.int64


def _call(builder, name, result, arguments, pointers):
    """Call a function of Python's C API. Arguments at the indices in `pointers` are addresses."""
    values = [
        builder.inttoptr(argument, POINTER) if index in pointers and argument.type == WORD else argument
        for index, argument in enumerate(arguments)
    ]
    function_type = ir.FunctionType(result, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), values)


def _call_for_address(builder, name, arguments, pointers):
    """Call a function of Python's C API that returns a pointer, and return it as a number."""
    return builder.ptrtoint(_call(builder, name, POINTER, arguments, pointers), WORD)


def _allocate_on_stack(builder, kind):
    """Return a variable on the stack, and its address as C functions take it."""
    variable = cgutils.alloca_once(builder, kind)
    return variable, builder.bitcast(variable, POINTER)


@intrinsic
def dict_next(typing_context, row, position):
    """Return whether a dict has a next item, the position after it, its key and its value (PyDict_Next)."""

    def build(context, builder, signature, arguments):
        variables = [_allocate_on_stack(builder, WORD) for _ in range(3)]
        builder.store(arguments[1], variables[0][0])
        addresses = [address for _, address in variables]
        has_next = _call(builder, "PyDict_Next", INT, [arguments[0], *addresses], {0})
        values = [builder.sext(has_next, WORD), *(builder.load(variable) for variable, _ in variables)]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(INT64, 4)(INT64, INT64), build


@intrinsic
def exact_type(typing_context, thing):
    """Return the type of an object (PyObject_Type). The new reference is dropped: the object holds another."""

    def build(context, builder, signature, arguments):
        address = _call_for_address(builder, "PyObject_Type", arguments, {0})
        _call(builder, "Py_DecRef", VOID, [address], {0})
        return address

    return INT64(INT64), build


@intrinsic
def to_float64(typing_context, number):
    """Return a float as float64 (PyFloat_AsDouble)."""

    def build(context, builder, signature, arguments):
        return _call(builder, "PyFloat_AsDouble", DOUBLE, arguments, {0})

    return types.float64(INT64), build


@intrinsic
def to_int64(typing_context, number):
    """Return an int as int64, and 0 unless it overflows (PyLong_AsLongLongAndOverflow)."""

    def build(context, builder, signature, arguments):
        variable, address = _allocate_on_stack(builder, INT)
        value = _call(builder, "PyLong_AsLongLongAndOverflow", WORD, [arguments[0], address], {0})
        overflow = builder.sext(builder.load(variable), WORD)
        return context.make_tuple(builder, signature.return_type, [value, overflow])

    return types.UniTuple(INT64, 2)(INT64), build


@intrinsic
def to_utf8(typing_context, text):
    """
    Return the address of a text's UTF-8 bytes, and their number (PyUnicode_AsUTF8AndSize).

    The bytes live as long as the text. The address is 0 if the text has surrogates, which UTF-8 lacks.
    """

    def build(context, builder, signature, arguments):
        variable, address = _allocate_on_stack(builder, WORD)
        start = _call_for_address(builder, "PyUnicode_AsUTF8AndSize", [arguments[0], address], {0})
        with builder.if_then(builder.icmp_unsigned("==", start, ir.Constant(WORD, 0)), likely=False):
            _call(builder, "PyErr_Clear", VOID, [], set())
        return context.make_tuple(builder, signature.return_type, [start, builder.load(variable)])

    return types.UniTuple(INT64, 2)(INT64), build


@intrinsic
def copy_bytes(typing_context, address, size, data, start):
    """Copy bytes from an address into an array, from index `start` on."""

    def build(context, builder, signature, arguments):
        first = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        source = builder.inttoptr(arguments[0], POINTER)
        cgutils.raw_memcpy(builder, builder.gep(first, [arguments[3]]), source, arguments[1], 1)
        return context.get_dummy_value()

    return types.void(INT64, INT64, data, INT64), build
