"""
Python's own dicts, texts and numbers, read by machine code through Python's C interface; ctypes twins without the JIT.

An object is its address, `id(object)`; who calls keeps it alive, and holds the interpreter's lock, without which a
dict may change meanwhile. Nothing here runs Python code or raises: ask `find` for exact texts among exact texts alone,
and for numbers and texts of objects whose type is exactly that.
"""

import ctypes

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

TYPE_PLACE = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)  # of its type in an object: it comes last
WORD, INT, DOUBLE, POINTER = ir.IntType(64), ir.IntType(32), ir.DoubleType(), ir.IntType(8).as_pointer()
INT64 = types.int64


def _call(builder, name, result, arguments):
    """Call a function of Python's C interface; numbers stand for pointers."""
    given = [builder.inttoptr(one, POINTER) if one.type == WORD else one for one in arguments]
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, [one.type for one in given]), name
    )
    return builder.call(function, given)


def _room(builder, kind):
    """Memory of a function's own, and its address as what C takes."""
    room = cgutils.alloca_once(builder, kind)
    return room, builder.bitcast(room, POINTER)


@intrinsic
def _next_item(typing_context, row, place):
    """The item of a dict after a place, which is 0 at first: whether there is one, the next place, key and value."""

    def build(context, builder, signature, arguments):
        rooms = [_room(builder, WORD) for _ in range(3)]
        builder.store(arguments[1], rooms[0][0])
        found = _call(builder, "PyDict_Next", INT, [arguments[0], *(address for _, address in rooms)])
        given = [builder.sext(found, WORD), *(builder.load(room) for room, _ in rooms)]
        return context.make_tuple(builder, signature.return_type, given)

    return types.UniTuple(INT64, 4)(INT64, INT64), build


@intrinsic
def _find(typing_context, row, key):
    """The value of a key in a dict, 0 if there is none."""

    def build(context, builder, signature, arguments):
        return builder.ptrtoint(_call(builder, "PyDict_GetItemWithError", POINTER, arguments), WORD)

    return INT64(INT64, INT64), build


@intrinsic
def _type_of(typing_context, thing):
    def build(context, builder, signature, arguments):
        place = builder.add(arguments[0], ir.Constant(WORD, TYPE_PLACE))
        return builder.load(builder.inttoptr(place, WORD.as_pointer()))

    return INT64(INT64), build


@intrinsic
def _float_of(typing_context, thing):
    def build(context, builder, signature, arguments):
        return _call(builder, "PyFloat_AsDouble", DOUBLE, arguments)

    return types.float64(INT64), build


@intrinsic
def _whole_of(typing_context, thing):
    """A whole number, and whether it is beyond int64."""

    def build(context, builder, signature, arguments):
        room, address = _room(builder, INT)
        value = _call(builder, "PyLong_AsLongLongAndOverflow", WORD, [arguments[0], address])
        return context.make_tuple(builder, signature.return_type, [value, builder.sext(builder.load(room), WORD)])

    return types.UniTuple(INT64, 2)(INT64), build


@intrinsic
def _text_of(typing_context, thing):
    """Where a text's bytes in UTF-8 are, as long as it lives, and how many; 0 if it has halves of characters."""

    def build(context, builder, signature, arguments):
        room, address = _room(builder, WORD)
        start = builder.ptrtoint(_call(builder, "PyUnicode_AsUTF8AndSize", POINTER, [arguments[0], address]), WORD)
        with builder.if_then(builder.icmp_unsigned("==", start, ir.Constant(WORD, 0)), likely=False):
            _call(builder, "PyErr_Clear", ir.VoidType(), [])
        return context.make_tuple(builder, signature.return_type, [start, builder.load(room)])

    return types.UniTuple(INT64, 2)(INT64), build


@intrinsic
def _copy_bytes(typing_context, address, size, data, place):
    """Copy bytes from an address to a place in an array."""

    def build(context, builder, signature, arguments):
        start = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        source = builder.inttoptr(arguments[0], POINTER)
        cgutils.raw_memcpy(builder, builder.gep(start, [arguments[3]]), source, arguments[1], 1)
        return context.get_dummy_value()

    return types.void(INT64, INT64, data, INT64), build


def _plain_next_item(row, place):
    rooms = [ctypes.c_ssize_t(int(place)), ctypes.c_ssize_t(), ctypes.c_ssize_t()]
    found = ctypes.pythonapi.PyDict_Next(ctypes.c_void_p(int(row)), *map(ctypes.byref, rooms))
    return found, *(room.value for room in rooms)


def _plain_find(row, key):
    function = ctypes.pythonapi.PyDict_GetItemWithError
    function.restype = ctypes.c_ssize_t
    return function(ctypes.c_void_p(int(row)), ctypes.c_void_p(int(key)))


def _plain_type_of(thing):
    return id(type(_object_at(thing)))


def _plain_float_of(thing):
    return float(_object_at(thing))


def _plain_whole_of(thing):
    value = int(_object_at(thing))
    return (value, 0) if -(2**63) <= value < 2**63 else (-1, 1 if value > 0 else -1)


def _plain_text_of(thing):
    size = ctypes.c_ssize_t()
    function = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
    function.restype = ctypes.c_ssize_t
    try:
        return function(ctypes.c_void_p(int(thing)), ctypes.byref(size)), size.value
    except UnicodeEncodeError:
        return 0, 0


def _plain_copy_bytes(address, size, data, place):
    data[place : place + size] = np.frombuffer(ctypes.string_at(int(address), int(size)), "u1")


def _object_at(address):
    return ctypes.cast(int(address), ctypes.py_object).value


if numba.config.DISABLE_JIT:
    next_item, find, type_of = _plain_next_item, _plain_find, _plain_type_of
    float_of, whole_of = _plain_float_of, _plain_whole_of
    text_of, copy_bytes = _plain_text_of, _plain_copy_bytes
else:
    next_item, find, type_of, float_of, whole_of = _next_item, _find, _type_of, _float_of, _whole_of
    text_of, copy_bytes = _text_of, _copy_bytes
