"""Two kernels that Numba compiles in a fraction of a second, for tests of compilation and of its cache."""

from fastndcg.kernels.jit import inline, kernel


@inline
def twice(value):
    return value + value


@kernel
def double(values, out):
    for i in range(values.shape[0]):
        out[i] = twice(values[i])


@kernel
def add_up(values, out):
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    out[0] = total
