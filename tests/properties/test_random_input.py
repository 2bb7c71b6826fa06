"""Whatever is handed to the face, it answers or refuses: no other error, no warning, no value that was made up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from strategies import examples

import fastndcg as fn

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.complex_numbers(), st.text(max_size=8),
    st.binary(max_size=4), st.sampled_from(["ndcg", "p@2", "default", "trec_eval", "nDCG(gain=[0,1])", "q1", "d1"]),
)  # fmt: skip
keys = st.one_of(st.none(), st.booleans(), st.integers(-3, 2**65), st.text(max_size=3), st.tuples(st.integers(0, 3)))
dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(),
    hnp.datetime64_dtypes(max_period="s", min_period="s"),
    hnp.unicode_string_dtypes(max_len=3),
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
junk = st.recursive(
    st.one_of(scalars, arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(keys, st.one_of(inner, st.dictionaries(keys, inner, max_size=3)), max_size=3),
    ),
    max_leaves=8,
)
REFUSALS = (fn.FastndcgError, OSError)


def answer(call):
    try:
        return call()
    except REFUSALS:
        return None


@examples(300)
@given(truth=junk, predictions=junk, metrics=st.one_of(st.just("ndcg,map,rr"), junk), data=st.data())
def test_evaluate_answers_or_refuses(truth, predictions, metrics, data):
    names = ("offsets", "groups", "query_ids", "convention", "threads")
    given_names = data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    options = {name: data.draw(junk) for name in given_names}
    result = answer(lambda: fn.evaluate(truth, predictions, metrics, **options))
    assert result is None or isinstance(result, fn.Results)


ZERO = np.array(0)  # without a dimension: no list
HOLDERS = [
    ZERO, [ZERO], (ZERO, None), [["q", ZERO]], [("q", ZERO, 1)], [("q", "d", ZERO)], [[ZERO], [ZERO]], {"q": ZERO},
    {"q": [ZERO]}, {"q": {"d": ZERO}}, [{"query": "q", "doc": ZERO}], [{"query": "q", "doc": [ZERO], "score": ZERO}],
    {"query": [ZERO], "doc": ZERO, "label": ZERO}, {"query": ZERO, "label": [[ZERO]], "score": [[ZERO]]},
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(HOLDERS)))
def test_numbers_in_arrays_without_a_dimension(place):
    for other in (*HOLDERS, None, {}, {"q": {"d": 1}}):
        answer(lambda other=other: fn.evaluate(HOLDERS[place], other, "ndcg"))
        answer(lambda other=other: fn.evaluate(other, HOLDERS[place], "ndcg"))
    answer(lambda: fn.evaluate([], [], "ndcg", offsets=np.empty((1, 0))))


@examples(200)
@given(arguments=st.tuples(junk, junk, junk), judged=junk, pool=junk, tie_keys=junk, query_ids=junk)
def test_rankings_answer_or_refuse(arguments, judged, pool, tie_keys, query_ids):
    options = {"judged": judged, "pool": pool, "tie_keys": tie_keys, "query_ids": query_ids}
    for name, value in options.items():
        answer(lambda name=name, value=value: fn.Rankings([1, 0], [1, 2], [0, 1, 2], **{name: value}))
    answer(lambda: fn.Rankings(*arguments, **options))


numbers = hnp.arrays(
    st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", "<f2", "f4", "f8", ">f8", "g"]),
    st.just(5),
)


@examples(300)
@given(labels=numbers, scores=numbers, cuts=st.lists(st.integers(0, 5), max_size=4))
def test_random_arrays_give_values_or_input_errors(labels, scores, cuts):
    offsets = [0, *sorted(cuts), 5]
    result = answer(lambda: fn.evaluate(labels, scores, "ndcg,ndcg@2,map,rr,p@2,r@2,f1@2,rprec", offsets=offsets))
    if result is not None:
        assert result.values.shape == (len(offsets) - 1, 8)
        defined = result.values[~np.isnan(result.values)]
        assert ((defined >= 0) & (defined <= 1)).all()


@examples(300)
@given(
    text=st.one_of(
        st.text(max_size=20), st.text("ndcgmaprPR@_(),=[]0123456789 .-einf", max_size=20), st.from_regex(r"p\(rel=.+\)")
    )
)
def test_texts_are_metrics_or_refused(text):
    metric = answer(lambda: fn.Metric.parse(text))
    assert metric is None or fn.Metric.parse(str(metric)) == metric
    convention = answer(lambda: fn.evaluate([[1]], [[1]], "rr", convention=text))
    assert convention is None or convention.convention.name


@examples(200)
@given(
    content=st.one_of(
        st.binary(max_size=60),
        st.lists(st.sampled_from(["q1", "0", "d1", "d2", "1", "-1", "x", "nan", "\t", "\r", "\n", "\n", "é"])).map(
            lambda words: " ".join(words).encode()
        ),
    )
)
def test_files_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    path.write_bytes(content)
    for read in (fn.Qrels, fn.Run):
        table = answer(lambda read=read: read(path))
        assert table is None or len(table) > 0
