"""Tests of the hashes of query ids: equal to the reference, to published values, and for equal ids of any array."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.id_column import IdColumn
from fastndcg.reference.poisson_bootstrap import compute_xxh64, hash_id
from fastndcg.statistics.query_hashes import hash_queries

MOMENTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))
IDS = st.one_of(
    st.lists(st.text(st.characters(codec=None), max_size=100), max_size=20),
    st.lists(st.integers(-(2**63), 2**64 - 1), max_size=20),
    st.lists(st.floats(allow_nan=False), max_size=20),
    st.lists(st.booleans(), max_size=20),
    st.lists(st.binary(max_size=100).map(lambda value: value.rstrip(b"\0")), max_size=20),
    st.lists(MOMENTS, max_size=20),
    st.lists(st.dates(), max_size=20),
)


def test_published_hashes():
    """The specification's program gives these values for the seed 0."""
    published = {
        b"": 0xEF46DB3751D8E999,
        b"a": 0xD24EC4F1A98C6E5B,
        b"abc": 0x44BC2CF5AD770999,
        b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
    }
    assert {content: compute_xxh64(content, 0) for content in published} == published


@examples(300)
@given(ids=IDS)
def test_hashes_equal_the_reference(ids):
    """Ids of every type and length have the reference's hash."""
    assert hash_queries(ids).tolist() == [hash_id(value) for value in ids]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", object])
def test_whole_numbers_of_any_width_have_one_hash(dtype):
    """The width of a column is no part of an id."""
    assert hash_queries(np.array([0, 7, 100], dtype)).tolist() == [hash_id(value) for value in (0, 7, 100)]


def test_numbers_beyond_int64_differ_from_negative_ones():
    """Both have the same 8 bytes."""
    wide = hash_queries(np.array([2**64 - 1, 5], "u8"))
    assert wide.tolist() == [hash_id(2**64 - 1), hash_id(5)] == hash_queries([2**64 - 1, 5]).tolist()
    assert wide[0] != hash_queries([-1])[0]
    assert hash_queries(IdColumn.of(np.array([2**64 - 1, 5], "u8"), "ids")).tolist() == wide.tolist()


def test_types_differ_by_definition():
    """A number, a text, a float, a bool and bytes that look alike are five ids."""
    assert len({int(hash_queries([value])[0]) for value in (1, "1", 1.0, True, b"1")}) == 5


def test_forms_of_texts_have_one_hash():
    """Arrays of NumPy, lists, and columns of pandas, Polars and pyarrow, also sliced and as categories."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    texts = ["", "q1", "größer", "a text of more than thirty-two bytes, twice as long"]
    wanted = [hash_id(text) for text in texts]
    column = pyarrow.array(["before", *texts, "after"])
    forms = [
        texts, np.array(texts), np.array(texts, object), IdColumn.of_texts(texts), pandas.Series(texts),
        pandas.Series(texts, dtype="category"), polars.Series(texts), pyarrow.array(texts), column.slice(1, 4),
        column.slice(1, 4).cast(pyarrow.large_string()), pyarrow.array(texts).dictionary_encode(),
        pyarrow.chunked_array([texts[:1], texts[1:]]),
    ]  # fmt: skip
    assert all(hash_queries(form).tolist() == wanted for form in forms)


def test_forms_of_times_have_one_hash():
    """The unit is no part of a time, and a time with a zone is the time in UTC."""
    pyarrow = pytest.importorskip("pyarrow")
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, 250_000)
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    forms = [
        [moment], [moment.replace(tzinfo=datetime.UTC).astimezone(zone)], np.array([moment], "M8[us]"),
        np.array([moment], "M8[ns]"), pyarrow.array([moment]),
        pyarrow.array([moment.replace(tzinfo=datetime.UTC)], pyarrow.timestamp("ms", "America/Lima")),
    ]  # fmt: skip
    assert {int(hash_queries(form)[0]) for form in forms} == {hash_id(moment)}
    midnight = datetime.date(2024, 2, 29)
    assert hash_queries(np.array([midnight], "M8[D]"))[0] == hash_queries(pyarrow.array([midnight]))[0]
    assert hash_queries([midnight])[0] == hash_id(datetime.datetime(2024, 2, 29))


def test_forms_of_other_ids_have_one_hash():
    """Bytes, floats and bools of NumPy and pyarrow."""
    pyarrow = pytest.importorskip("pyarrow")
    for values, dtype in (([b"a", b"bc"], "S4"), ([0.0, 1.5], "f4"), ([-0.0, 1.5], "f2"), ([True, False], bool)):
        wanted = [hash_id(value) for value in values]
        assert hash_queries(np.array(values, dtype)).tolist() == wanted
        assert hash_queries(pyarrow.array(values)).tolist() == wanted


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (["a", None], "missing, but that of row 1 is"),
        ([1.0, float("nan")], "missing, but that of row 1 is"),
        (np.array([np.nan]), "missing, but that of row 0 is"),
        (np.array(["NaT"], "M8[s]"), "missing, but that of row 0 is"),
        ([2**64], "must fit int64 or uint64, but one is 18446744073709551616"),
        (np.zeros((2, 2)), r"one dimension, but their shape is \(2, 2\)"),
        (np.array([1], "M8[ps]"), "whole nanoseconds, but that of row 0 is not"),
    ],
)
def test_ids_without_a_hash_are_errors(ids, problem):
    """The first offender is named."""
    with pytest.raises(InvalidInputError, match=problem):
        hash_queries(ids)


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (["a", 1], "one type, but some are int, str"),
        ([1, True], "one type, but some are bool, int"),
        ([(1, 2)], "not tuple"),
        ("abc", "a sequence or an array, not 'abc'"),
        (np.array([1], "m8[s]"), "not timedelta64"),
        (np.array([1j]), "not complex128"),
    ],
)
def test_types_without_a_hash_are_errors(ids, problem):
    """The message names the type."""
    with pytest.raises(InvalidTypeError, match=problem):
        hash_queries(ids)


def test_missing_ids_of_frames_are_errors():
    """Nulls of pyarrow and pandas have no hash."""
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    for ids in (pyarrow.array(["a", None]), pyarrow.array([1, None]), pandas.Series([1, None], dtype="Int64")):
        with pytest.raises(InvalidInputError, match="missing, but that of row 1 is"):
            hash_queries(ids)
    with pytest.raises(InvalidTypeError, match="not list<"):
        hash_queries(pyarrow.array([[1]]))
