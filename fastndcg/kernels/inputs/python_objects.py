"""
Python's documented C API for kernels: read dicts, texts and numbers.

Every function is defined here in Python. Kernels call functions of CPython's stable ABI in their place: see
kernels/intrinsics.py. No function reads a struct or assumes an address.

An object is passed as its address, `id(object)`. The caller must hold the interpreter's lock and keep the object
alive. No function runs Python code or raises, as long as numbers for `to_float64` are floats, and those for `to_int64`
are ints.
"""

import ctypes

import numpy as np

from fastndcg.kernels.jit import instruction


def object_at(address):
    """Return the object at an address."""
    return ctypes.cast(int(address), ctypes.py_object).value


@instruction
def dict_next(row, position):
    """Return whether a dict has a next item, the position after it, its key and its value (PyDict_Next)."""
    variables = [ctypes.c_ssize_t(int(position)), ctypes.c_ssize_t(), ctypes.c_ssize_t()]
    has_next = ctypes.pythonapi.PyDict_Next(ctypes.c_void_p(int(row)), *map(ctypes.byref, variables))
    return has_next, *(variable.value for variable in variables)


@instruction
def exact_type(thing):
    """Return the type of an object (PyObject_Type). The new reference is dropped: the object holds another."""
    return id(type(object_at(thing)))


@instruction
def to_float64(number):
    """Return a float as float64 (PyFloat_AsDouble)."""
    return float(object_at(number))


@instruction
def to_int64(number):
    """Return an int as int64, and 0 unless it overflows (PyLong_AsLongLongAndOverflow)."""
    value = int(object_at(number))
    if -(2**63) <= value < 2**63:
        return value, 0
    return -1, (1 if value > 0 else -1)


@instruction
def to_utf8(text):
    """
    Return the address of a text's UTF-8 bytes, and their number (PyUnicode_AsUTF8AndSize).

    The bytes live as long as the text. The address is 0 if the text has surrogates, which UTF-8 lacks.
    """
    size = ctypes.c_ssize_t()
    function = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
    function.restype = ctypes.c_ssize_t
    try:
        return function(ctypes.c_void_p(int(text)), ctypes.byref(size)), size.value
    except UnicodeEncodeError:
        return 0, 0


@instruction
def copy_bytes(address, size, data, start):
    """Copy bytes from an address into an array, from index `start` on."""
    data[start : start + size] = np.frombuffer(ctypes.string_at(int(address), int(size)), "u1")
