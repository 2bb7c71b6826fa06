"""
Python's documented C API as numba intrinsics: read dicts, lists, tuples, texts and numbers.

Every function here calls functions of CPython's stable ABI. No function reads a struct or assumes an address.
Without the JIT, plain twins in Python do the same.

An object is passed as its address, `id(object)`. The caller must hold the interpreter's lock and keep the object
alive. No function runs Python code or raises, as long as these rules hold:

* keys for `dict_get`, and texts for `hash_text` and `texts_equal`, are exactly of type str,
* numbers for `to_float64` are floats, and those for `to_int64` are ints,
* objects for `tuple_item` are tuples, and those for `list_item` are lists, and the index exists.
"""

import ctypes

import numba
import numpy as np
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
def _dict_next(typing_context, row, position):
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
def _dict_get(typing_context, row, key):
    """Return the value of a key in a dict, 0 if it has none (PyDict_GetItemWithError)."""

    def build(context, builder, signature, arguments):
        return _call_for_address(builder, "PyDict_GetItemWithError", arguments, {0, 1})

    return INT64(INT64, INT64), build


@intrinsic
def _exact_type(typing_context, thing):
    """Return the type of an object (PyObject_Type). The new reference is dropped: the object holds another."""

    def build(context, builder, signature, arguments):
        address = _call_for_address(builder, "PyObject_Type", arguments, {0})
        _call(builder, "Py_DecRef", VOID, [address], {0})
        return address

    return INT64(INT64), build


@intrinsic
def _to_float64(typing_context, number):
    """Return a float as float64 (PyFloat_AsDouble)."""

    def build(context, builder, signature, arguments):
        return _call(builder, "PyFloat_AsDouble", DOUBLE, arguments, {0})

    return types.float64(INT64), build


@intrinsic
def _to_int64(typing_context, number):
    """Return an int as int64, and 0 unless it overflows (PyLong_AsLongLongAndOverflow)."""

    def build(context, builder, signature, arguments):
        variable, address = _allocate_on_stack(builder, INT)
        value = _call(builder, "PyLong_AsLongLongAndOverflow", WORD, [arguments[0], address], {0})
        overflow = builder.sext(builder.load(variable), WORD)
        return context.make_tuple(builder, signature.return_type, [value, overflow])

    return types.UniTuple(INT64, 2)(INT64), build


@intrinsic
def _to_utf8(typing_context, text):
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
def _hash_text(typing_context, text):
    """Return the hash of a text (PyObject_Hash)."""

    def build(context, builder, signature, arguments):
        return _call(builder, "PyObject_Hash", WORD, arguments, {0})

    return INT64(INT64), build


@intrinsic
def _texts_equal(typing_context, text, other):
    """Return True if two texts are equal (PyUnicode_Compare)."""

    def build(context, builder, signature, arguments):
        order = _call(builder, "PyUnicode_Compare", INT, arguments, {0, 1})
        return builder.icmp_signed("==", order, ir.Constant(INT, 0))

    return types.boolean(INT64, INT64), build


@intrinsic
def _list_size(typing_context, items):
    """Return the number of items of a list (PyList_Size)."""

    def build(context, builder, signature, arguments):
        return _call(builder, "PyList_Size", WORD, arguments, {0})

    return INT64(INT64), build


@intrinsic
def _list_item(typing_context, items, index):
    """Return the item of a list at an index (PyList_GetItem)."""

    def build(context, builder, signature, arguments):
        return _call_for_address(builder, "PyList_GetItem", arguments, {0})

    return INT64(INT64, INT64), build


@intrinsic
def _list_append(typing_context, items, thing):
    """Append an object to a list, and return False if memory is short (PyList_Append)."""

    def build(context, builder, signature, arguments):
        status = _call(builder, "PyList_Append", INT, arguments, {0, 1})
        has_failed = builder.icmp_signed("!=", status, ir.Constant(INT, 0))
        with builder.if_then(has_failed, likely=False):
            _call(builder, "PyErr_Clear", VOID, [], set())
        return builder.not_(has_failed)

    return types.boolean(INT64, INT64), build


@intrinsic
def _tuple_size(typing_context, items):
    """Return the number of items of a tuple (PyTuple_Size)."""

    def build(context, builder, signature, arguments):
        return _call(builder, "PyTuple_Size", WORD, arguments, {0})

    return INT64(INT64), build


@intrinsic
def _tuple_item(typing_context, items, index):
    """Return the item of a tuple at an index (PyTuple_GetItem)."""

    def build(context, builder, signature, arguments):
        return _call_for_address(builder, "PyTuple_GetItem", arguments, {0})

    return INT64(INT64, INT64), build


@intrinsic
def _copy_bytes(typing_context, address, size, data, start):
    """Copy bytes from an address into an array, from index `start` on."""

    def build(context, builder, signature, arguments):
        first = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        source = builder.inttoptr(arguments[0], POINTER)
        cgutils.raw_memcpy(builder, builder.gep(first, [arguments[3]]), source, arguments[1], 1)
        return context.get_dummy_value()

    return types.void(INT64, INT64, data, INT64), build


def _object_at(address):
    return ctypes.cast(int(address), ctypes.py_object).value


def _plain_dict_next(row, position):
    variables = [ctypes.c_ssize_t(int(position)), ctypes.c_ssize_t(), ctypes.c_ssize_t()]
    has_next = ctypes.pythonapi.PyDict_Next(ctypes.c_void_p(int(row)), *map(ctypes.byref, variables))
    return has_next, *(variable.value for variable in variables)


def _plain_dict_get(row, key):
    function = ctypes.pythonapi.PyDict_GetItemWithError
    function.restype = ctypes.c_ssize_t
    return function(ctypes.c_void_p(int(row)), ctypes.c_void_p(int(key)))


def _plain_exact_type(thing):
    return id(type(_object_at(thing)))


def _plain_to_float64(number):
    return float(_object_at(number))


def _plain_to_int64(number):
    value = int(_object_at(number))
    if -(2**63) <= value < 2**63:
        return value, 0
    return -1, (1 if value > 0 else -1)


def _plain_to_utf8(text):
    size = ctypes.c_ssize_t()
    function = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
    function.restype = ctypes.c_ssize_t
    try:
        return function(ctypes.c_void_p(int(text)), ctypes.byref(size)), size.value
    except UnicodeEncodeError:
        return 0, 0


def _plain_hash_text(text):
    return hash(_object_at(text))


def _plain_texts_equal(text, other):
    return _object_at(text) == _object_at(other)


def _plain_list_item(items, index):
    return id(_object_at(items)[index])


def _plain_list_append(items, thing):
    _object_at(items).append(_object_at(thing))
    return True


def _plain_list_size(items):
    return len(_object_at(items))


def _plain_tuple_size(items):
    return len(_object_at(items))


def _plain_tuple_item(items, index):
    return id(_object_at(items)[index])


def _plain_copy_bytes(address, size, data, start):
    data[start : start + size] = np.frombuffer(ctypes.string_at(int(address), int(size)), "u1")


IS_JIT = not numba.config.DISABLE_JIT
dict_next = _dict_next if IS_JIT else _plain_dict_next
dict_get = _dict_get if IS_JIT else _plain_dict_get
exact_type = _exact_type if IS_JIT else _plain_exact_type
to_float64 = _to_float64 if IS_JIT else _plain_to_float64
to_int64 = _to_int64 if IS_JIT else _plain_to_int64
to_utf8 = _to_utf8 if IS_JIT else _plain_to_utf8
hash_text = _hash_text if IS_JIT else _plain_hash_text
texts_equal = _texts_equal if IS_JIT else _plain_texts_equal
list_size = _list_size if IS_JIT else _plain_list_size
list_item = _list_item if IS_JIT else _plain_list_item
list_append = _list_append if IS_JIT else _plain_list_append
tuple_size = _tuple_size if IS_JIT else _plain_tuple_size
tuple_item = _tuple_item if IS_JIT else _plain_tuple_item
copy_bytes = _copy_bytes if IS_JIT else _plain_copy_bytes
