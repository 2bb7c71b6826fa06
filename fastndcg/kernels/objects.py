"""
Python's own dicts, lists, tuples, texts and numbers, read by machine code through Python's C interface.

Without the JIT, twins by ctypes.

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
NUMBER_PLACE = object.__basicsize__  # of its number in a float, NumPy's too: it comes next
SIZE_PLACE = object.__basicsize__  # of the number of its items in a tuple or a list
ITEM_PLACE = tuple.__basicsize__  # of its first item
ITEM_SIZE = ctypes.sizeof(ctypes.c_void_p)
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
        place = builder.add(arguments[0], ir.Constant(WORD, NUMBER_PLACE))
        return builder.load(builder.inttoptr(place, DOUBLE.as_pointer()))

    return types.float64(INT64), build


@intrinsic
def _word_of(typing_context, thing, place):
    """Eight bytes of an object."""

    def build(context, builder, signature, arguments):
        return builder.load(builder.inttoptr(builder.add(*arguments), WORD.as_pointer()))

    return INT64(INT64, INT64), build


@intrinsic
def _listed(typing_context, rows, place):
    """The object at a place of a list, which has so many."""

    def build(context, builder, signature, arguments):
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(POINTER, [POINTER, WORD]), "PyList_GetItem"
        )
        found = builder.call(function, [builder.inttoptr(arguments[0], POINTER), arguments[1]])
        return builder.ptrtoint(found, WORD)

    return INT64(INT64, INT64), build


@intrinsic
def _append(typing_context, rows, thing):
    """Put an object at the end of a list; whether there was memory for it."""

    def build(context, builder, signature, arguments):
        failed = builder.icmp_signed("!=", _call(builder, "PyList_Append", INT, arguments), ir.Constant(INT, 0))
        with builder.if_then(failed, likely=False):
            _call(builder, "PyErr_Clear", ir.VoidType(), [])
        return builder.not_(failed)

    return types.boolean(INT64, INT64), build


@intrinsic
def _hash_of(typing_context, text):
    """What stands for a text in a dict; two texts hardly ever share it."""

    def build(context, builder, signature, arguments):
        return _call(builder, "PyObject_Hash", WORD, arguments)

    return INT64(INT64), build


@intrinsic
def _are_alike(typing_context, text, other):
    """Whether two texts are equal."""

    def build(context, builder, signature, arguments):
        order = _call(builder, "PyUnicode_Compare", INT, arguments)
        return builder.icmp_signed("==", order, ir.Constant(INT, 0))

    return types.boolean(INT64, INT64), build


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


def _plain_word_of(thing, place):
    return ctypes.c_int64.from_address(int(thing) + int(place)).value


def _plain_listed(rows, place):
    return id(_object_at(rows)[place])


def _plain_append(rows, thing):
    _object_at(rows).append(_object_at(thing))
    return True


def _plain_hash_of(text):
    return hash(_object_at(text))


def _plain_are_alike(text, other):
    return _object_at(text) == _object_at(other)


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
    word_of, listed, append = _plain_word_of, _plain_listed, _plain_append
    hash_of, are_alike = _plain_hash_of, _plain_are_alike
    text_of, copy_bytes = _plain_text_of, _plain_copy_bytes
else:
    next_item, find, type_of, float_of, whole_of = _next_item, _find, _type_of, _float_of, _whole_of
    word_of, listed, append, hash_of, are_alike = _word_of, _listed, _append, _hash_of, _are_alike
    text_of, copy_bytes = _text_of, _copy_bytes
