"""Vector intrinsics against their plain twins, entry by entry, and what the twins refuse."""

import cases
import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fastndcg.kernels import vectors
from fastndcg.kernels.vectors import LANES, WIDE

needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="intrinsics need the JIT")
FEW = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1.0, 2.5, np.inf, np.nan])
TWO_ARGUMENTS = {
    "missing": vectors._plain_missing,
    "nonzero": vectors._plain_nonzero,
    "positive": vectors._plain_positive,
    "changes": vectors._plain_changes,
}
RAISING = {"raise_lanes": vectors._plain_raising(LANES), "raise_wide": vectors._plain_raising(WIDE)}
SCORES = (np.float32, np.float64)
LABELS = (np.uint8, np.int8, np.int16, np.int32, np.int64, *SCORES)
COMPARING = {"compare": vectors._plain_comparing(LANES), "compare_wide": vectors._plain_comparing(WIDE)}


def compiled(name):
    """An intrinsic as a function that Python may call."""
    intrinsic = getattr(vectors, name)
    return {
        "compare": numba.njit(lambda values, place, level: intrinsic(values, place, level)),
        "compare_wide": numba.njit(lambda values, place, level: intrinsic(values, place, level)),
        "reach_wide": numba.njit(lambda values, place, level: intrinsic(values, place, level)),
        "missing": numba.njit(lambda values, place: intrinsic(values, place)),
        "nonzero": numba.njit(lambda values, place: intrinsic(values, place)),
        "positive": numba.njit(lambda values, place: intrinsic(values, place)),
        "changes": numba.njit(lambda values, place: intrinsic(values, place)),
        "raise_lanes": numba.njit(lambda maxima, values, place, among: intrinsic(maxima, values, place, among)),
        "raise_wide": numba.njit(lambda maxima, values, place, among: intrinsic(maxima, values, place, among)),
        "popcount": numba.njit(lambda mask: intrinsic(np.uint64(mask))),
        "lowest_bit": numba.njit(lambda mask: intrinsic(np.uint64(mask))),
        "lanes_below": numba.njit(lambda n: intrinsic(n)),
        "lesser": numba.njit(lambda first, second: intrinsic(first, second)),
    }[name]


def scores(dtype):
    """Arrays of WIDE entries and some more, of few different values."""
    return arrays.arrays(dtype, st.integers(WIDE, WIDE + 20), elements=FEW.map(dtype))


@needs_jit
@pytest.mark.parametrize("dtype", SCORES)
@pytest.mark.parametrize("name", COMPARING)
def test_comparing_equals_its_twin(name, dtype):
    """Masks of what is higher and of what is the same, NaN being neither."""
    function = compiled(name)

    @cases.examples(60)
    @given(values=scores(dtype), level=FEW, data=st.data())
    def check(values, level, data):
        n_lanes = WIDE if name == "compare_wide" else LANES
        place = data.draw(st.integers(0, len(values) - n_lanes))
        found = function(values, place, dtype(level))
        assert tuple(map(int, found)) == COMPARING[name](values, place, dtype(level))

    check()


@needs_jit
@pytest.mark.parametrize("dtype", SCORES)
def test_reaching_equals_its_twin(dtype):
    """The mask of what is as high or higher, NaN being neither."""
    function = compiled("reach_wide")

    @cases.examples(60)
    @given(values=scores(dtype), level=FEW, data=st.data())
    def check(values, level, data):
        place = data.draw(st.integers(0, len(values) - WIDE))
        assert int(function(values, place, dtype(level))) == vectors._plain_reach_wide(values, place, dtype(level))

    check()


@needs_jit
@pytest.mark.parametrize("dtype", [*SCORES, np.int32])
def test_room_on_the_stack(dtype):
    """Sixty-four entries of the other array's dtype, each array its own, and nothing to free."""

    @numba.njit(_nrt=False)
    def turned(values, out):
        first, second = vectors.wide_like(values), vectors.wide_like(values)
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
    twin = vectors._plain_wide_like(values)
    assert (twin.dtype, twin.shape) == (values.dtype, (WIDE,))


@needs_jit
@pytest.mark.parametrize("dtype", LABELS)
def test_fetching_ahead_touches_nothing(dtype):
    """What is asked for may lie behind the array, and the array stays as it is."""

    @numba.njit(_nrt=False)
    def fetch(values):
        for place in range(0, values.shape[0], WIDE):
            vectors.fetch_ahead(values, place)

    values = np.arange(3 * WIDE).astype(dtype)
    expected = values.copy()
    fetch(values)
    np.testing.assert_array_equal(values, expected)
    vectors._plain_fetch_ahead(values, 0)


@needs_jit
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *[("missing", dtype) for dtype in SCORES],
        *[(n, d) for n in ("nonzero", "positive") for d in LABELS],
        ("changes", "i8"),
    ],
)
def test_masks_equal_their_twins(name, dtype):
    """Masks of NaN among scores, of labels that are not 0, of every dtype, and of numbers unlike the one before."""
    function = compiled(name)

    @cases.examples(60)
    @given(seed=st.integers(0, 1000))
    def check(seed):
        rng = np.random.default_rng(seed)
        values = rng.integers(-1, 3, WIDE + 9).astype(dtype)
        if np.issubdtype(dtype, np.floating):
            values[rng.random(len(values)) < 0.2] = np.nan
        place = int(rng.integers(1, 10))
        assert int(function(values, place)) == TWO_ARGUMENTS[name](values, place)

    check()


@needs_jit
@pytest.mark.parametrize("dtype", SCORES)
@pytest.mark.parametrize("name", RAISING)
def test_raising_equals_its_twin(name, dtype):
    """The higher of both in the lanes that count; the others stay, and NaN raises none."""
    function = compiled(name)
    n_lanes = WIDE if name == "raise_wide" else LANES

    @cases.examples(60)
    @given(values=scores(dtype), maxima=scores(dtype), among=st.integers(0, 2**n_lanes - 1), data=st.data())
    def check(values, maxima, among, data):
        place = data.draw(st.integers(0, len(values) - n_lanes))
        known = np.nan_to_num(maxima[:n_lanes], nan=0.0)
        found, expected = known.copy(), known.copy()
        function(found, values, place, np.uint64(among))
        RAISING[name](expected, values, place, among)
        np.testing.assert_array_equal(found, expected)

    check()


@needs_jit
@cases.examples(60)
@given(mask=st.integers(1, 2**64 - 1))
def test_bits_equal_their_twins(mask):
    """How many bits are set, and which is the lowest."""
    assert COUNT(np.uint64(mask)) == vectors._plain_popcount(mask)
    assert LOWEST(np.uint64(mask)) == vectors._plain_lowest_bit(mask)


@needs_jit
def test_lanes_below_equal_their_twin():
    """None of them, some of them, and all from WIDE on."""
    function = compiled("lanes_below")
    for n in (*range(WIDE + 2), 2 * WIDE, 2**40):
        assert function(n) == vectors._plain_lanes_below(n)


@needs_jit
def test_lesser_equals_its_twin():
    """On either side of 0, and where both are the same."""
    function = compiled("lesser")
    numbers = (-(2**62), -1, 0, 1, 2**62)
    assert all(function(one, other) == vectors._plain_lesser(one, other) for one in numbers for other in numbers)


if not numba.config.DISABLE_JIT:
    COUNT, LOWEST = compiled("popcount"), compiled("lowest_bit")


@pytest.mark.parametrize("place", [-1, 1])
def test_twins_refuse_lanes_beside_the_array(place):
    """Where machine code would read on, the twin raises, so that the run without JIT finds it."""
    with pytest.raises(IndexError, match="do not lie in an array of 64"):
        vectors._plain_missing(np.zeros(WIDE), place)
