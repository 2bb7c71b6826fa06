"""Arrays that break a rule: the error names the argument, the rule, the first offender with its place, the remedy."""

from decimal import Decimal

import numpy as np
import pytest
from refusals import refused_in_full

import fastndcg as fn
from fastndcg.forms.dispatch import FORMS

LABELS, SCORES, OFFSETS = [1, 0, 2], [0.3, 0.2, 0.1], [0, 3]
CUT = "queries must be cut by exactly one of `offsets`, `groups`, `query_ids` or a second dimension, but there "
LOOP = []
LOOP.append(LOOP)


class Refuses:
    """An object whose conversion to an array fails."""

    def __array__(self, *_, **__):
        raise RuntimeError("still on the device")


def masked(*values):
    return np.ma.array(values, mask=[0] * (len(values) - 1) + [1])


CUTS = [
    (
        {},
        CUT + "is none; for one query give offsets=[0, 3], and for the class of each row "
        "fn.Interactions(classes, offsets=range(len(classes) + 1))",
    ),
    ({"offsets": OFFSETS, "groups": [3]}, CUT + "are `offsets` and `groups`"),
    ({"offsets": OFFSETS, "groups": [3], "query_ids": [1, 1, 1]}, CUT + "are `offsets` and `groups` and `query_ids`"),
    ({"offsets": []}, "`offsets` must have one entry more than there are queries, but is empty. Use [0]"),
    ({"offsets": [1, 3]}, "`offsets` must start at 0, but offsets[0] = 1"),
    ({"offsets": [0, 2]}, "`offsets` must end at the number of documents, 3, but offsets[1] = 2"),
    ({"offsets": [0, 4]}, "`offsets` must end at the number of documents, 3, but offsets[1] = 4"),
    ({"offsets": [0, 2, 1, 3]}, "`offsets` must not decrease, but offsets[1] = 2 > offsets[2] = 1"),
    ({"offsets": [0, -1, 3]}, "`offsets` must not decrease, but offsets[0] = 0 > offsets[1] = -1"),
    ({"offsets": [0.0, 3.0]}, "`offsets` must hold whole numbers, but its dtype is float64. Use an int array"),
    ({"offsets": [False, True]}, "`offsets` must hold whole numbers, but its dtype is bool. Use an int array"),
    ({"offsets": [[0, 3]]}, "`offsets` must have 1 dimension, but its shape is (1, 2)"),
    ({"offsets": 3}, "`offsets` must have 1 dimension, but its shape is ()"),
    (
        {"offsets": [0, None]},
        "`offsets` must hold numbers, but its dtype is object: offsets[1] is None. Use an array of int or float",
    ),
    (
        {"offsets": {0, 3}},
        "`offsets` must hold numbers, but its dtype is object: offsets is {0, 3}. Use an array of int or float",
    ),
    ({"offsets": masked(0, 3)}, "`offsets` must have no masked value, but offsets[1] is masked. Fill or drop it"),
    (
        {"offsets": np.array([0, 2**64 - 1], np.uint64)},
        "`offsets` must fit int64 exactly, but offsets[1] is 18446744073709551615. Round or rescale it",
    ),
    ({"groups": [4, -1]}, "`groups` must hold sizes of 0 or more, but groups[1] = -1"),
    ({"groups": [2, 2]}, "`groups` must add up to the number of documents, 3, but add up to 4"),
    ({"groups": []}, "`groups` must add up to the number of documents, 3, but add up to 0"),
    ({"groups": [0, 5]}, "`groups` must add up to the number of documents, 3, but groups[1] = 5"),
    (
        {"groups": [2**62] * 4},
        "`groups` must add up to the number of documents, 3, but groups[0] = 4611686018427387904",
    ),
    ({"groups": [3.0]}, "`groups` must hold whole numbers, but its dtype is float64. Use an int array"),
    ({"query_ids": [1, 1]}, "`query_ids` must have the shape of `labels`, (3,), but has (2,)"),
    ({"query_ids": [[1, 1, 1]]}, "`query_ids` must have the shape of `labels`, (3,), but has (1, 3)"),
    ({"query_ids": "abc"}, "`query_ids` must have the shape of `labels`, (3,), but has ()"),
    ({"query_ids": [1, "1", 1]}, "`query_ids` must be all texts or all whole numbers, but one is '1'. Use one type"),
    (
        {"query_ids": np.array([True, 1, 1], object)},
        "`query_ids` must be all texts or all whole numbers, but one is True. Use one type",
    ),
    (
        {"query_ids": [1.0, 1.0, 2.0]},
        "`query_ids` must be all texts or all whole numbers, but one is 1.0. Use one type",
    ),
    (
        {"query_ids": ["a", None, "a"]},
        "`query_ids` must be all texts or all whole numbers, but one is None. Use one type",
    ),
    (
        {"query_ids": np.array([1.0, 1.0, 2.0])},
        "`query_ids` must be whole numbers or texts, but its dtype is float64. Convert them",
    ),
    (
        {"query_ids": np.array(["2020-01-01"] * 3, "M8[D]")},
        "`query_ids` must be whole numbers or texts, but its dtype is datetime64[D]. Convert them",
    ),
    (
        {"query_ids": masked(1, 1, 2)},
        "`query_ids` must have no masked value, but query_ids[2] is masked. Fill or drop it",
    ),
    ({"query_ids": [1, 2**70, 1]}, f"`query_ids` must fit int64 or uint64, but one is {2**70}. Use texts"),
    (
        {"query_ids": [[1], [1, 2]]},
        "`query_ids` must be one array, but its rows differ in length. Concatenate them and give `offsets`",
    ),
]


@pytest.mark.parametrize(("ways", "message"), CUTS, ids=[message[:70] for _, message in CUTS])
def test_bad_query_boundaries_raise(ways, message):
    refused_in_full(message, fn.evaluate, LABELS, SCORES, "ndcg", **ways)


NUMBERS = [
    (np.array(["a", "b", "c"]), "must hold numbers, but its dtype is <U1. Convert it to an array of int or float"),
    ([1, "a", 2], "must hold numbers, but its dtype is <U21. Convert it to an array of int or float"),
    ([1, None, 2], "must hold numbers, but its dtype is object: {}[1] is None. Use an array of int or float"),
    (np.array([1, 0, 2], object), "must hold numbers, but its dtype is object. Use an array of one number type"),
    ([2**70, 0, 1], "must hold numbers, but its dtype is object. Use an array of one number type"),
    ([Decimal(1), 0, 1],
        "must hold numbers, but its dtype is object: {}[0] is Decimal('1'). Use an array of int or float"),
    ([1j, 0, 1], "must hold numbers, but its dtype is complex128. Convert it to an array of int or float"),
    (np.array(["2020-01-01"] * 3, "M8[D]"),
        "must hold numbers, but its dtype is datetime64[D]. Convert it to an array of int or float"),
    (np.array([1, 2, 3], "m8[s]"),
        "must hold numbers, but its dtype is timedelta64[s]. Convert it to an array of int or float"),
    (LOOP, "must be one array, but its rows differ in length. Concatenate them and give `offsets`"),
    ([[0, None], [[]]], "must be one array, but its rows differ in length. Concatenate them and give `offsets`"),
    (masked(1, 0, 2), "must have no masked value, but {}[2] is masked. Fill or drop it"),
    (Refuses(), "must be an array or a list, but Refuses does not become one: still on the device"),
    ([2**53 + 1, 0.5, 1], "must fit float64 exactly, but {}[0] is 9007199254740993. Use whole numbers only"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["labels", "scores"])
@pytest.mark.parametrize(("values", "message"), NUMBERS, ids=[message[:60] for _, message in NUMBERS])
def test_non_numeric_arrays_raise(name, values, message):
    arrays = {"labels": LABELS, "scores": SCORES} | {name: values}
    refused_in_full(
        f"`{name}` {message.format(name)}", fn.evaluate, arrays["labels"], arrays["scores"], "ndcg", offsets=OFFSETS
    )


@pytest.mark.skipif(np.finfo(np.longdouble).nmant == 52, reason="long double is float64 on this machine")
@pytest.mark.parametrize("name", ["labels", "scores"])
def test_long_doubles_that_float64_lacks(name):
    values = np.array([1, 0, 2], np.longdouble)
    arrays = {"labels": LABELS, "scores": SCORES, "offsets": OFFSETS}
    assert getattr(fn.Rankings(**(arrays | {name: values})), name).dtype == np.float64
    values[1] = 1 + np.longdouble(2) ** -60
    message = f"`{name}` must fit float64 exactly, but {name}[1] is 1.0000000000000000009. Round or rescale it"
    refused_in_full(message, fn.Rankings, **arrays | {name: values})


NAMES = [form.name for form in FORMS if form.name and form.truth is not None]
KNOWN_FORMS = f"`truth` must be {', '.join(NAMES[:-1])} or {NAMES[-1]}, but is of type "
SHAPES = [
    (LABELS, [0.1, 0.2], "`scores` must have the shape of `labels`, (3,), but has (2,)"),
    (LABELS, [SCORES], "`scores` must have the shape of `labels`, (3,), but has (1, 3)"),
    (LABELS, 0.5, "`scores` must have the shape of `labels`, (3,), but has ()"),
    (1, SCORES, KNOWN_FORMS + "int. Convert it to one of these"),
    ([[LABELS]], SCORES, CUT + "are `offsets` and two dimensions"),
    ([LABELS], [SCORES], "`offsets` must end at the number of documents, 1, but offsets[1] = 3"),  # three subtopics
    (None, SCORES, KNOWN_FORMS + "NoneType. Convert it to one of these"),
]


@pytest.mark.parametrize(("labels", "scores", "message"), SHAPES)
def test_shapes_that_disagree(labels, scores, message):
    refused_in_full(message, fn.evaluate, labels, scores, "ndcg", offsets=OFFSETS)


def test_matrices_of_different_widths_raise():
    message = "`scores` must have the shape of `labels`, (1, 2), but has (1, 3)"
    refused_in_full(message, fn.evaluate, [[1, 0]], [[1.0, 2.0, 3.0]], "ndcg")


NAN_LABEL = "not be NaN, but {} is nan. Leave the document out, or give it the label 0"
NAN_SCORE = "not be NaN, but {} is nan. Find out where it comes from, or take convention.replace(nan_scores='last')"
NEGATIVE = "not be negative, but {} is -1. Set it to 0, or take convention.replace(negative_labels='zero')"
TOO_LARGE = "be finite and at most 2**53 in size, but {} is {}. Rescale the labels"
NAN = float("nan")
VALUES = [
    ({"labels": [1, NAN, 2]}, "`labels` must " + NAN_LABEL.format("labels[1] (query 0)")),
    ({"labels": [1, 0, float("inf")]}, "`labels` must " + TOO_LARGE.format("labels[2] (query 1)", "inf")),
    ({"labels": [1, 0, 2**60]}, "`labels` must " + TOO_LARGE.format("labels[2] (query 1)", 2**60)),
    ({"labels": [1, -1, 2]}, "`labels` must " + NEGATIVE.format("labels[1] (query 0)")),
    ({"scores": [0.1, NAN, NAN]}, "`scores` must " + NAN_SCORE.format("scores[1] (query 0)")),
]


@pytest.mark.parametrize(("change", "message"), VALUES)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_bad_values_raise_with_first_place(change, message, dtype):
    arrays = {"labels": LABELS, "scores": SCORES} | change
    if any(np.isfinite(value) and abs(value) > 60000 for value in change.get("labels", [])):
        dtype = "i8"
    arrays |= {name: np.array(values, dtype) for name, values in change.items()}
    message = message.replace("is -1.", "is -1.0.")
    refused_in_full(message, fn.evaluate, arrays["labels"], arrays["scores"], "map", offsets=[0, 2, 3])


def test_places_are_those_in_the_arrays_of_the_user():
    message = "`scores` must " + NAN_SCORE.format("scores[2] (query 7)")  # not those of arrays that were put in order
    ids = [7, 3, 7]
    refused_in_full(message, fn.evaluate, [1, 0, 1], [0.1, 0.2, NAN], "ndcg", query_ids=ids)
    message = "`labels` must " + NEGATIVE.format("labels[1, 0] (query 1)")
    refused_in_full(message, fn.evaluate, [[1, 0], [-1, 1]], [[1, 2], [2, 3]], "ndcg")
