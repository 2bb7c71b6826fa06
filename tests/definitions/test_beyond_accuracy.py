"""The metrics beyond accuracy by their definitions: the arithmetic written out, for the kernels and the reference."""

from math import log2, nan, sqrt

import numpy as np
import pytest
from evaluators import exactly

import fastndcg as fn
from fastndcg.metrics.families import CATALOG

BEYOND = pytest.mark.parametrize(
    "beyond", [fn.beyond_accuracy, fn.reference.beyond_accuracy], ids=["kernels", "reference"]
)

# six items: how many of eight users interacted with each, which categories they have, where they are
POPULARITY = [8, 4, 4, 2, 1, 1]
CATEGORIES = [[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]]
VECTORS = [[2, 0], [0, 3], [1, 1], [-1, 0], [5, 0], [0, -1]]
KNOWN = {"popularity": POPULARITY, "n_users": 8, "categories": CATEGORIES, "vectors": VECTORS}

# metric, the items of one user, value
DEFINITIONS = {
    "popularity": [
        ("popularity", [0, 3, 5], (8 + 2 + 1) / 3), ("popularity@2", [0, 3, 5], (8 + 2) / 2),
        ("popularity@9", [3], 2 / 1), ("popularity", [], nan),
    ],
    "novelty": [
        ("novelty", [0, 1, 4], (-log2(8 / 8) - log2(4 / 8) - log2(1 / 8)) / 3),
        ("novelty@2", [3, 1, 4], (-log2(2 / 8) - log2(4 / 8)) / 2),
        ("novelty(share_of=interactions)", [0, 3], (-log2(8 / 20) - log2(2 / 20)) / 2), ("novelty", [], nan),
    ],
    "tail": [
        # 80 % of 20 interactions are those of items 0, 1 and 2
        ("tail", [0, 1, 3, 4], (0 + 0 + 1 + 1) / 4),
        ("tail@2", [3, 0, 4], (1 + 0) / 2),
        # half of them are those of item 0 and one of the items 1 and 2, either of which may be it
        ("tail(head=0.5)", [0, 1, 2], (0 + 1 / 2 + 1 / 2) / 3),
        ("tail(head=0)", [0, 1], 1.0),
        ("tail(head=1)", [4, 5], 0.0),
        ("tail(items=0.5)", [2, 3, 4], (0 + 1 + 1) / 3),
        ("tail(items=0.17)", [4, 5, 3], (1 / 2 + 1 / 2 + 0) / 3),
        ("tail", [], nan),
    ],
    "ILD": [
        ("ILD", [0, 1], 1 - 0), ("ILD", [0, 2, 3], ((1 - 1 / sqrt(2)) + (1 - (-1)) + (1 - (-1) / sqrt(2))) / 3),
        ("ILD@2", [0, 4, 1], 1 - 1),
        ("ILD(distance=jaccard)", [0, 1, 2], ((1 - 1 / 2) + (1 - 0 / 3) + (1 - 0 / 2)) / 3),
        ("ILD(distance=jaccard)@2", [4, 5, 1], 0.0), ("ILD(distance=hamming)", [0, 1, 3], (1 + 1 + 2) / 3),
        ("ILD", [0], nan), ("ILD(distance=jaccard)", [0], nan), ("ILD(distance=hamming)", [], nan),
    ],
    "serendipity": [
        # the user likes items 0, 2 and 4; the two most popular items are 0 and one of the items 1 and 2
        ("serendipity@2", [0, 4], (0 + 1) / 2), ("serendipity@2", [2, 3, 4], ((1 - 1 / 2) + 0) / 2),
        ("serendipity", [4, 3, 2], (1 + 0 + 0) / 3), ("serendipity(rel=2)@2", [4, 2], (1 + 0) / 2),
        ("serendipity", [], nan),
    ],
}  # fmt: skip
LIKED = fn.Interactions([0, 2, 4], [1, 1, 2], [0, 3])
EACH = [case for of_record in DEFINITIONS.values() for case in of_record]

# metric, the items of all users, value
OF_ALL = {
    "coverage": [
        ("coverage", [[0, 1], [0, 2]], 3 / 6), ("coverage@1", [[0, 1], [0, 2]], 1 / 6),
        ("coverage", [[], []], 0 / 6),
    ],
    "gini": [
        ("gini", [[0, 1], [0, 2]], ((2 * 4 - 6 - 1) * 1 + (2 * 5 - 6 - 1) * 1 + (2 * 6 - 6 - 1) * 2) / (6 * 4)),
        ("gini", [[0, 1, 2], [3, 4, 5]], 0.0), ("gini@1", [[0, 1], [0, 2]], 1 - 1 / 6), ("gini", [[]], nan),
    ],
    "entropy": [
        ("entropy", [[0, 1], [0, 2]], -(2 / 4) * log2(2 / 4) - 2 * (1 / 4) * log2(1 / 4)),
        ("entropy@1", [[0, 1], [0, 2]], 0.0), ("entropy", [[]], nan),
    ],
    "personalisation": [
        ("personalisation", [[0, 1], [0, 2], [2, 0]], ((1 - 1 / 2) + (1 - 1 / 2) + (1 - 2 / 2)) / 3),
        ("personalisation@1", [[0, 1], [0, 2], [2, 0]], ((1 - 1) + (1 - 0) + (1 - 0)) / 3),
        ("personalisation", [[0, 1, 2], [1], []], 1 - 1 / 3),
        ("personalisation", [[0, 1, 2], [1], [1, 0]], ((1 - 1 / 3) + (1 - 2 / 3) + (1 - 1 / 2)) / 3),
        ("personalisation", [[0, 1], []], nan),
    ],
}  # fmt: skip
EACH_OF_ALL = [case for of_record in OF_ALL.values() for case in of_record]


def test_beyond_accuracy_definitions_are_complete():
    every = DEFINITIONS | OF_ALL
    records = {name: record for name, record in CATALOG.items() if record.function_name == "beyond_accuracy"}
    assert every.keys() == records.keys()
    assert OF_ALL.keys() == {name for name, record in records.items() if record.has_one_value}
    for name, of_record in every.items():
        assert {fn.Metric.parse(metric).name for metric, *_ in of_record} == {name}


def padded(lists):
    width = max(map(len, lists))
    return np.array([one + [-1] * (width - len(one)) for one in lists], "i8").reshape(len(lists), width)


@pytest.mark.parametrize(("metric", "items", "expected"), EACH)
@BEYOND
def test_beyond_accuracy_of_one_user_equals_definition(beyond, metric, items, expected):
    result = beyond(padded([items]), metric, liked=LIKED, **KNOWN)
    value = result[0, 0] if isinstance(result, np.ndarray) else result[metric][0]
    assert value == pytest.approx(expected, rel=1e-14, abs=2e-16, nan_ok=True)


@pytest.mark.parametrize(("metric", "lists", "expected"), EACH_OF_ALL)
@BEYOND
def test_beyond_accuracy_of_all_users_equals_definition(beyond, metric, lists, expected):
    result = beyond(padded(lists), metric, catalogue=6)
    value = result[0, 0] if isinstance(result, np.ndarray) else result[metric].item()
    assert [value] == exactly(expected)
