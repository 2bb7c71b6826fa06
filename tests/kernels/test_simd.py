"""Machine instructions against their definitions in Python, entry by entry, and what the definitions refuse."""

import inspect

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from refusals import refused

from fastndcg.kernels import jit, simd
from fastndcg.kernels.simd import LANES, WIDE

numba = pytest.importorskip("numba")

needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="intrinsics need the JIT")
FEW = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1.0, 2.5, np.inf, np.nan])


def twin(name):
    function = getattr(simd, name)
    return getattr(function, "py_func", function)


SCORES = (np.float32, np.float64)
LABELS = (np.uint8, np.int8, np.int16, np.int32, np.int64, *SCORES)


def compiled(name):
    jit.load_compiler()  # Numba learns the functions of the kernels
    parameters = ", ".join(inspect.signature(twin(name)).parameters)
    given = {"mask": "np.uint64(mask)"}.get(parameters, parameters)
    return numba.njit(eval(f"lambda {parameters}: intrinsic({given})", {"intrinsic": getattr(simd, name), "np": np}))


def scores(dtype):
    return arrays.arrays(dtype, st.integers(WIDE, WIDE + 20), elements=FEW.map(dtype))


@needs_jit
@pytest.mark.parametrize("dtype", SCORES)
@pytest.mark.parametrize("name", ["compare", "compare_wide", "mask_at_least"])
def test_comparing_equals_its_twin(name, dtype):
    function = compiled(name)
    n_lanes = LANES if name == "compare" else WIDE

    @strategies.examples(60)
    @given(values=scores(dtype), level=FEW, data=st.data())
    def check(values, level, data):
        place = data.draw(st.integers(0, len(values) - n_lanes))
        found = function(values, place, dtype(level))
        expected = twin(name)(values, place, dtype(level))
        assert np.array(found, "u8").tolist() == np.array(expected, "u8").tolist()

    check()


@needs_jit
@pytest.mark.parametrize("dtype", [*SCORES, np.int32])
def test_room_on_the_stack(dtype):
    @numba.njit(_nrt=False)
    def turned(values, out):
        first, second = simd.make_wide_like(values), simd.make_wide_like(values)
        for lane in range(WIDE):
            first[lane] = values[lane]
            second[lane] = -values[lane]
        for lane in range(WIDE):
            out[lane] = first[WIDE - 1 - lane]
            out[WIDE + lane] = second[lane]
        return first.shape[0]

    values, out = np.arange(WIDE).astype(dtype), np.empty(2 * WIDE, dtype)
    values.flags.writeable = False
    assert turned(values, out) == WIDE
    np.testing.assert_array_equal(out, np.concatenate([values[::-1], -values]))
    made = twin("make_wide_like")(values)
    assert (made.dtype, made.shape) == (values.dtype, (WIDE,))


@needs_jit
@pytest.mark.parametrize("dtype", LABELS)
def test_fetching_ahead_touches_nothing(dtype):
    @numba.njit(_nrt=False)
    def fetch(values):
        for place in range(0, values.shape[0], WIDE):
            simd.prefetch(values, place)

    values = np.arange(3 * WIDE).astype(dtype)
    expected = values.copy()
    fetch(values)
    np.testing.assert_array_equal(values, expected)
    twin("prefetch")(values, 0)


@needs_jit
@pytest.mark.parametrize(("name", "dtype"), [
    *[("mask_nan", dtype) for dtype in SCORES], *[(n, d) for n in ("mask_nonzero", "mask_positive") for d in LABELS],
])  # fmt: skip
def test_masks_equal_their_twins(name, dtype):
    function = compiled(name)

    @strategies.examples(60)
    @given(seed=st.integers(0, 1000))
    def check(seed):
        rng = np.random.default_rng(seed)
        values = rng.integers(-1, 3, WIDE + 9).astype(dtype)
        if np.issubdtype(dtype, np.floating):
            values[rng.random(len(values)) < 0.2] = np.nan
        place = int(rng.integers(1, 10))
        assert int(function(values, place)) == twin(name)(values, place)

    check()


@needs_jit
@pytest.mark.parametrize("dtype", SCORES)
@pytest.mark.parametrize("name", ["raise_maxima", "raise_maxima_wide"])
def test_raising_equals_its_twin(name, dtype):
    function = compiled(name)
    n_lanes = WIDE if name == "raise_maxima_wide" else LANES

    @strategies.examples(60)
    @given(values=scores(dtype), maxima=scores(dtype), counted_lanes=st.integers(0, 2**n_lanes - 1), data=st.data())
    def check(values, maxima, counted_lanes, data):
        place = data.draw(st.integers(0, len(values) - n_lanes))
        known = np.nan_to_num(maxima[:n_lanes], nan=0.0)
        found, expected = known.copy(), known.copy()
        function(found, values, place, np.uint64(counted_lanes))
        twin(name)(expected, values, place, counted_lanes)
        np.testing.assert_array_equal(found, expected)

    check()


@needs_jit
@strategies.examples(60)
@given(mask=st.integers(1, 2**64 - 1))
def test_bits_equal_their_twins(mask):
    assert COUNT(np.uint64(mask)) == twin("popcount")(mask)
    assert LOWEST(np.uint64(mask)) == twin("lowest_bit")(mask)


@needs_jit
def test_mask_first_equals_their_twin():
    function = compiled("mask_first")
    for n in (*range(WIDE + 2), 2 * WIDE, 2**40):
        assert function(n) == twin("mask_first")(n)


@needs_jit
def test_min_int64_equals_its_twin():
    function = compiled("min_int64")
    numbers = (-(2**62), -1, 0, 1, 2**62)
    assert all(function(one, other) == twin("min_int64")(one, other) for one in numbers for other in numbers)


if not numba.config.DISABLE_JIT:
    COUNT, LOWEST = compiled("popcount"), compiled("lowest_bit")


@pytest.mark.parametrize("place", [-1, 1])
def test_twins_refuse_lanes_beside_the_array(place):
    refused("must be within the array", twin("mask_nan"), np.zeros(WIDE), place, error=IndexError)


@needs_jit
@pytest.mark.parametrize("dtype", SCORES)
@pytest.mark.parametrize("place", [0, 7, 30])
def test_copy_wide_copies_64_entries(dtype, place):
    values = np.arange(WIDE + 30, dtype=dtype)
    for copy in (compiled("copy_wide"), twin("copy_wide")):
        out = np.full(WIDE + 40, -1, dtype)
        copy(values, place, out, 5)
        assert out[5 : 5 + WIDE].tolist() == list(range(place, place + WIDE))
        assert (out[:5] == -1).all()
        assert (out[5 + WIDE :] == -1).all()
    refused("64 lanes from 31 on", twin("copy_wide"), values, 31, out, 0, error=IndexError)
