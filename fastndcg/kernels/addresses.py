"""
Arrays where their memory is: a kernel that is told an address is called sooner than one that takes NumPy's object.

Who calls keeps the memory alive, and says what is there. Without the JIT, a twin by ctypes.
"""

import ctypes

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


@intrinsic
def _array_at(typing_context, address, size, dtype):
    """The read-only array of so many entries at an address."""
    kind = types.Array(dtype.instance_type, 1, "C", readonly=True)

    def build(context, builder, signature, arguments):
        element = context.get_data_type(kind.dtype)
        n_bytes = context.get_constant(types.intp, context.get_abi_sizeof(element))
        data = builder.inttoptr(arguments[0], element.as_pointer())
        made = context.make_array(kind)(context, builder)
        populate_array(made, data, [arguments[1]], [n_bytes], n_bytes, None)
        return made._getvalue()

    return kind(types.int64, types.int64, dtype), build


def _plain_array_at(address, size, dtype):
    memory = (ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(memory, dtype)


array_at = _plain_array_at if numba.config.DISABLE_JIT else _array_at
