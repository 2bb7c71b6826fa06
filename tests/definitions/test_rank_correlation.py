"""The metrics of two rankings by their definitions: the arithmetic written out, for the kernels and the reference."""

from math import log, nan, sqrt

import pytest
from evaluators import exactly

import fastndcg as fn
from fastndcg.metrics.families import CATALOG

AGREE = pytest.mark.parametrize("agree", [fn.agreement, fn.reference.agreement], ids=["kernels", "reference"])

# metric, scores of documents in the first and in the second ranking, value
DEFINITIONS = {
    "tau_b": [
        ("tau_b", "abc", "abc", 1.0), ("tau_b", "abc", "cba", -1.0), ("tau_b", "abcd", "abdc", (5 - 1) / 6),
        ("tau_b", "a(bc)", "abc", (2 - 0) / sqrt((3 - 1) * 3)),
        ("tau_b", "(ab)cd", "a(bc)d", (4 - 0) / sqrt((6 - 1) * (6 - 1))),
        ("tau_b", "(ab)c", "(ac)b", (0 - 1) / sqrt((3 - 1) * (3 - 1))), ("tau_b", "axbyc", "czabw", (1 - 2) / 3),
        ("tau_b", "(abc)", "abc", nan), ("tau_b", "ax", "ay", nan),
    ],
    "spearman": [
        ("spearman", "abc", "abc", 1.0), ("spearman", "abc", "cba", -1.0),
        ("spearman", "abcd", "bacd", 1 - 6 * (1 + 1) / (4 * (4**2 - 1))),
        ("spearman", "a(bc)", "abc", (1 * 1 + 0 * 0.5 + 1 * 0.5) / sqrt((1 + 0.25 + 0.25) * 2)),
        ("spearman", "(ab)", "ab", nan),
    ],
    "tau_ap": [
        ("tau_ap", "abc", "abc", 1.0), ("tau_ap", "abc", "cba", -1.0),
        ("tau_ap", "abc", "bac", 2 / 2 * (0 / 1 + 2 / 2) - 1),
        ("tau_ap", "abc", "acb", 2 / 2 * (1 / 1 + 1 / 2) - 1),
        ("tau_ap", "bac", "abc", 2 / 2 * (0 / 1 + 2 / 2) - 1),
        ("tau_ap", "abcd", "badc", 2 / 3 * (0 / 1 + 2 / 2 + 2 / 3) - 1),
        ("tau_ap", "abc", "(ab)c", ((2 / 2 * (1 / 1 + 2 / 2) - 1) + (2 / 2 * (0 / 1 + 2 / 2) - 1)) / 2),
        ("tau_ap", "abc", "a(bc)", ((2 / 2 * (1 / 1 + 2 / 2) - 1) + (2 / 2 * (1 / 1 + 1 / 2) - 1)) / 2),
        ("tau_ap", "a(bc)", "abc", 2 / 2 * (1 / 1 + (1 + 1 / 2) / 2) - 1), ("tau_ap", "ax", "ya", nan),
    ],
    "tau_ap_b": [
        ("tau_ap_b", "abc", "abc", 1.0), ("tau_ap_b", "abc", "bac", 2 / 2 * (0 / 1 + 2 / 2) - 1),
        ("tau_ap_b", "(ab)c", "(ab)c", 1.0),
        ("tau_ap_b", "(ab)c", "a(bc)", ((2 / 2 * (0 / 1 + 1 / 1) - 1) + (2 / 1 * (1 / 2) - 1)) / 2),
        ("tau_ap_b", "(ab)", "ab", nan),
    ],
    "RBO": [
        ("RBO(p=0.5)", "ab", "ba", 0.5 / 0.5 * (0 / 1 * 0.5 + 2 / 2 * 0.25) + 2 / 2 * 0.25),
        ("RBO(p=0.5)", "abc", "abc", 1.0), ("RBO", "ab", "cd", 0.0), ("RBO(p=0.5)@1", "ab", "ac", 1.0),
        ("RBO(p=0.5)", "ab", "ac", 0.5 / 0.5 * (1 / 1 * 0.5 + 1 / 2 * 0.25) + 1 / 2 * 0.25),
        # the lists end at 1 and 2: X1 = 1, X2 = 1
        (
            "RBO(p=0.5)", "a", "ab",
            (1 / 1 * 0.5 + 1 / 2 * 0.25 + 1 * (2 - 1) / (1 * 2) * 0.25) + ((1 - 1) / 2 + 1 / 1) * 0.25,
        ),
        ("RBO(p=0.5)", "(ab)", "ab", (1 / 2 * 0.5 + 2 / 2 * 0.25) + 2 / 2 * 0.25),
        ("RBO(p=0.5)@1", "(ab)", "(ac)", 1 / 4 * 0.5 + 1 / 4 * 0.5),
        ("RBO(p=0.5,form=min)", "ab", "ac", (1 - 1) * 0.5 / 1 + (1 - 1) * 0.25 / 2 - 1 * log(1 - 0.5)),
        ("RBO(p=0.5,form=min)", "ab", "ba", (0 - 2) * 0.5 / 1 + (2 - 2) * 0.25 / 2 - 2 * log(1 - 0.5)),
    ],
}  # fmt: skip
EACH = [case for of_record in DEFINITIONS.values() for case in of_record]


def scores(ranking):
    """The documents of a text such as a(bc)d, in which b and c tie, with scores."""
    rows, tied = {}, False
    for character in ranking:
        if character in "()":
            tied = character == "("
            level = len(rows)
        else:
            rows[character] = -(level if tied else len(rows))
    return rows


def test_rank_correlation_definitions_are_complete():
    assert DEFINITIONS.keys() == {name for name, record in CATALOG.items() if record.function_name == "agreement"}
    for name, of_record in DEFINITIONS.items():
        assert {fn.Metric.parse(metric).name for metric, *_ in of_record} == {name}


@pytest.mark.parametrize(("metric", "first", "second", "expected"), EACH)
@AGREE
def test_rank_correlation_equals_definition(agree, metric, first, second, expected):
    runs = [{"q": scores(ranking), "other": {"z": 1.0}} for ranking in (first, second)]
    result = agree(*runs, metric)
    value = result[metric][0] if agree is fn.agreement else result[0, 0]
    assert [value] == exactly(expected)
