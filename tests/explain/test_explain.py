"""explain: its numbers are those of evaluate, its sums add up, and it names what makes a difference."""

import json
from fractions import Fraction
from itertools import pairwise
from math import fsum, isnan, log2, nan

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.explaining.contributions import allow_undefined
from fastndcg.metrics.families import CATALOG
from fastndcg.metrics.families.record import UNJUDGED
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.named_conventions import parse_convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.reference import expectation
from fastndcg.reference.definition import list_orders, order_by_policy, read_query

WITHOUT_CONTRIBUTIONS = {"IDCG", "num_ret", "num_rel"}  # the documents' order does not count
QRELS = {"q1": {"a": 3, "b": 0, "c": 1}, "q2": {"a": 1}}
RUN = {"q1": {"b": 0.9, "a": 0.5, "x": 0.5, "c": 0.1}, "q2": {"a": 1.0}}


@pytest.mark.parametrize("name", strategies.PLAIN)
@strategies.examples(56, plain=8)
@given(data=st.data())
def test_numbers_are_those_of_evaluate(name, data):
    ties = data.draw(st.sampled_from(CATALOG[name].ties))
    case = data.draw(strategies.cases(strategies.kinds_for(name)).filter(lambda case: case.rankings.n_queries))
    convention = data.draw(strategies.conventions(case, ties))
    metric = data.draw(strategies.metrics(name, case.kind, convention))
    query = data.draw(st.integers(0, case.rankings.n_queries - 1))
    expected = fn.evaluate(case.rankings, metrics=metric, convention=convention)[metric][query]
    explained = fn.explain(case.rankings, metric=metric, query=query, convention=convention)
    assert explained.value == expected or (isnan(explained.value) and isnan(expected))
    added = [one.contribution for one in explained.ranking]
    if name in WITHOUT_CONTRIBUTIONS:
        assert not any(added)
    if CATALOG[name].is_additive and not any("is undefined where" in line for line in explained.arithmetic):
        assert fsum(added) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        if name in ("CG", "DCG"):
            discounted = fsum(one.gain * one.discount for one in explained.ranking)
            assert discounted == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", strategies.PLAIN)
@strategies.examples(24, plain=5)
@given(data=st.data())
def test_contributions_are_what_the_value_loses(name, data):
    """Of every metric: the reference's value, less that of the ranking in which the document has label 0."""
    ties = data.draw(st.sampled_from(CATALOG[name].ties))
    case = data.draw(strategies.cases(strategies.kinds_for(name)).filter(lambda case: case.rankings.n_queries))
    convention = data.draw(strategies.conventions(case, ties)).for_input(qrels=False)
    metric = data.draw(strategies.metrics(name, case.kind, convention))
    explained = fn.explain(case.rankings, metric=metric, query=0, convention=convention)
    if any("is undefined where" in line for line in explained.arithmetic):
        return
    (metric,) = add_default_cutoff((metric.bare,), convention)
    query = read_query(case.rankings.without_patterns(), 0, convention, metric.record.view)
    groups = [order_by_policy(group, ties) for group in query.tie_groups]
    policy = ties if TIES[ties].orders == "group" else "input"

    nothing = UNJUDGED if metric.record.view == "judgments" else 0.0

    def evaluate(lost):
        left = [[one._replace(label=nothing) if one is lost else one for one in group] for group in groups]
        orders = list_orders(query._replace(tie_groups=left), policy)
        value = expectation(metric, orders, query.judged, convention)
        return 0.0 if isnan(value) else value

    found = [one.contribution for one in explained.ranking]
    precision = 1e-9 * max(1.0, abs(evaluate(None)))
    lost = [evaluate(None) - evaluate(document) if document.label else 0.0 for group in groups for document in group]
    assert found == pytest.approx(lost, rel=1e-9, abs=precision)


@pytest.mark.parametrize("ties", strategies.TIES)
@given(case=strategies.long_cases())
@strategies.examples(5)
def test_longer_rankings(ties, case):
    for query in range(case.rankings.n_queries):
        convention = f"default(ties={ties},nan_scores=last)"
        explained = fn.explain(case.rankings, metric="ndcg@20", query=query, convention=convention)
        value = fn.evaluate(case.rankings, metrics="ndcg@20", convention=convention)["ndcg@20"][query]
        assert fsum(one.contribution for one in explained.ranking) == pytest.approx(0 if isnan(value) else value)
        for rank, (one, below) in enumerate(pairwise(explained.ranking), 1):
            assert not one.score < below.score
            assert one.first <= rank <= one.last
            assert (one.tie_group is not None and one.tie_group == below.tie_group) == (
                one.score == below.score or (isnan(one.score) and isnan(below.score))
            )
            assert ties == "average" or one.first == one.last


def test_is_the_arithmetic_by_hand():
    explained = fn.explain(QRELS, RUN, "ndcg", query="q1")
    best = 3 / log2(2) + 1 / log2(3)
    tied = (1 / log2(3) + 1 / log2(4)) / 2
    assert explained.value == pytest.approx((3 * tied + 1 / log2(5)) / best, rel=1e-15)
    assert [(one.document, one.rank, one.tie_group, one.label) for one in explained.ranking] == [
        ("b", "1", None, 0), ("a", "2–3", 1, 3), ("x", "2–3", 1, None), ("c", "4", None, 1),
    ]  # fmt: skip
    assert [one.discount for one in explained.ranking] == pytest.approx([1, tied, tied, 1 / log2(5)], rel=1e-15)
    assert [one.contribution for one in explained.ranking] == pytest.approx([0, 3 * tied / best, 0, 1 / log2(5) / best])
    assert [(one.document, one.gain) for one in explained.ideal] == [("a", 3), ("c", 1), ("b", 0)]
    assert fsum(one.contribution for one in explained.ideal) == pytest.approx(1, rel=1e-15)
    assert explained.arithmetic == (
        "DCG = 3·0.5655 + 1·0.4307 = 2.1271",
        "IDCG = 3·1 + 1·0.6309 = 3.6309",
        "nDCG = DCG / IDCG = 2.1271 / 3.6309 = 0.5858",
    )


@pytest.mark.parametrize(("metric", "expected"), [
    ("p@3", [0, 1 / 3, 1 / 3, 0]), ("r@2", [0, 1 / 2, 0, 0]), ("cg@2", [0, 1, 0, 0]), ("num_rel_ret", [0, 1, 1, 0]),
    ("rr", [0, 1 / 2 - 1 / 3, 0, 0]), ("success@1", [0, 0, 0, 0]),
    ("ap", [0, (1 / 2 + 2 / 3) / 2 - 1 / 3 / 2, (1 / 2 + 2 / 3) / 2 - 1 / 2 / 2, 0]),
    ("fallout@3", [0, 1 / 2 - 2 / 3, 1 / 2 - 2 / 3, 0]), ("utility", [0, 2, 2, 0]),
    ("q", [0, (2 / 4 + 4 / 5) / 2 - 2 / 5 / 2, (2 / 4 + 4 / 5) / 2 - 2 / 4 / 2, 0]),
])  # fmt: skip
def test_contributions_by_hand(metric, expected):
    explained = fn.explain([[0, 1, 1, 0]], [[4, 3, 2, 1]], metric)
    assert [one.contribution for one in explained.ranking] == pytest.approx(expected)
    is_sum = explained.metric.record.is_additive
    assert (f"{explained.metric} = " in explained.arithmetic[0]) == is_sum
    assert not is_sum or explained.value == pytest.approx(sum(expected))


def test_names_the_fields_that_make_the_difference():
    other = "default(gain=exp2,ties=worst,undefined=0)"
    explained = fn.explain([[0, 3, 1]], [[0.5, 0.5, 0.1]], "ndcg", against=other)
    assert explained.why() == ("gain", "ties")
    assert [step.field for step in explained.steps] == ["gain", "ties", "undefined"]
    gain_alone = fn.ndcg([[0, 3, 1]], [[0.5, 0.5, 0.1]], gain="exp2")[0]
    assert [step.value for step in explained.steps] == [gain_alone, *[explained.against.value] * 2]
    assert explained.against.value == fn.ndcg([[0, 3, 1]], [[0.5, 0.5, 0.1]], convention=other)[0]
    assert str(explained).endswith("fields that change the value: gain, ties")


def test_nothing_makes_a_difference():
    explained = fn.explain([[0, 3, 1]], [[3, 2, 1]], "ndcg", against="default(ties=worst)")
    assert explained.why() == ()
    assert fn.explain([[0, 3, 1]], [[3, 2, 1]], "ndcg", against="default").steps == ()
    assert "none, the values are equal" in str(explained)


def test_undefined():
    for choice, value in (("nan", nan), ("0", 0), ("1", 1), ("raise", nan)):
        explained = fn.explain([[0, 0]], [[2, 1]], "ndcg@5", convention=f"default(undefined={choice})")
        assert explained.value == pytest.approx(value, nan_ok=True)
        assert explained.arithmetic[-1] == (
            f"nDCG@5 is undefined where nothing has a gain; the convention says undefined={choice}"
        )
    explained = fn.explain([[0, 0]], [[2, 1]], "ap", convention="default(undefined_ap=raise)")
    assert isnan(explained.value)
    explained = fn.explain([[0, 0]], [[2, 1]], "ap", convention="catboost")
    assert (explained.value, explained.arithmetic[-1]) == (
        0,
        "AP is undefined where nothing is relevant; the convention says undefined_ap=0",
    )


def test_queries_on_one_side_only():
    missing = fn.explain(QRELS, {"q1": {"a": 1}}, "ndcg", query="q2")
    assert (missing.value, missing.ranking, [one.document for one in missing.ideal]) == (0, (), ["a"])
    extra = fn.explain(
        QRELS, RUN | {"q3": {"a": 1}}, "p@5", query="q3", convention="default(missing_in_qrels=undefined)"
    )
    assert isnan(extra.value)


def test_many_orders_of_ties():
    """A hundred tied documents, of which all relevant ones add the same."""
    labels, scores = [[1] * 10 + [0] * 90], [[0.5] * 100]
    for metric in ("ndcg@10", "p@10", "r@20"):
        explained = fn.explain(labels, scores, metric)
        assert fsum(one.contribution for one in explained.ranking) == pytest.approx(explained.value, rel=1e-12)
    explained = fn.explain(labels, scores, "ap")
    without = fn.Rankings([1] * 9 + [0] * 91, [0.5] * 100, [0, 100], pool=(labels[0], [0, 100]))
    lost = fn.average_precision(labels, scores)[0] - fn.evaluate(without, metrics="ap")["ap"][0]
    added = [one.contribution for one in explained.ranking]
    assert (added[:10], added[10:]) == (pytest.approx([lost] * 10, rel=1e-12), [0] * 90)


def test_named_conventions():
    explained = fn.explain([[0, 1, 0]], [[3, 2, 1]], "ndcg@5", against="rectools")
    ideal = sum(1 / log2(rank + 1) for rank in range(1, 6))
    assert explained.against.value == pytest.approx(1 / log2(3) / ideal, rel=1e-12)
    assert f" = {ideal:.4f}" in explained.against.arithmetic[1]
    assert "ideal" in explained.why()
    assert fn.explain([[0, 1, 0]], [[3, 2, 1]], "ndcg", convention="xgboost").metric == fn.nDCG @ 32
    assert "[0,1,3,…,1073741823] of 31" in str(fn.explain([[0, 1, 0]], [[3, 2, 1]], "ndcg", against="lightgbm"))


def test_places_in_arrays():
    explained = fn.explain([1, 0, 2, 0], [1, 2, 3, 4], "ndcg", query="b", query_ids=["a", "b", "a", "b"])
    assert [one.document for one in explained.ranking] == ["3", "1"]
    assert explained.query == "query b"
    assert [one.document for one in fn.explain([[0, 1], [1, 0]], [[1, 2], [1, 2]], "rr", query=1).ranking] == [
        "1, 1", "1, 0",
    ]  # fmt: skip


def test_in_a_notebook():
    explained = fn.explain({"q": {"<a>": 1}}, {"q": {"<a>": 1.0}}, "rr")
    assert "<td style='text-align:left'>&lt;a&gt;</td>" in explained._repr_html_()
    compared = fn.explain([[1, 0]], [[1, 2]], "rr", against="default(ties=best)")
    assert "fields that change the value" in compared._repr_html_()
    assert repr(explained) == str(explained)


def test_cannot_change():
    with pytest.raises(AttributeError):
        fn.explain([[1, 0]], [[1, 2]], "rr").value = 1


GIVEN = {"truth": QRELS, "predictions": RUN, "metric": "ndcg", "query": "q1"}
test_refuses = refuses(lambda arguments: fn.explain(**GIVEN | arguments), [
    ({"query": None}, r"`query` is missing\. Pass the id of one of the 2 queries: 'q1', 'q2'"),
    ({"query": "q11"}, "`query` must be the id of one query, but none is called 'q11'. Did you mean 'q1'"),
    ({"query": "zzzzz"}, "none is called 'zzzzz'. There are 2: 'q1', 'q2'"), ({"metric": None}, "`metric` is missing"),
    ({"metric": "ndcg,map"}, "`metric` must be one metric, got 2: nDCG, AP"),
    ({"convention": "defautl"}, "no convention is called 'defautl'. Did you mean 'default'"),
    ({"against": "trec_evil"}, "no convention is called 'trec_evil'. Did you mean 'trec_eval'"),
])  # fmt: skip


def test_explain_names_the_field_that_leaves_a_query_out(files, run):
    qrels = {**QRELS, "q3": {"a": 1}}
    assert fn.explain(qrels, RUN, "ndcg", query="q3").value == 0
    message = (
        r"the run lacks 'q3', and trec_eval_9 leaves such queries out\. "
        r"Take convention\.replace\(missing_in_run='zero'\)"
    )
    refused(message, fn.explain, qrels, RUN, "ndcg", query="q3", against="trec_eval_9")
    refused("none is called 'q4'", fn.explain, qrels, RUN, "ndcg", query="q4", against="trec_eval_9")
    arguments = ("explain", "qrels.txt", "tied.run", "q3", "-m", "ndcg", "--against", "trec_eval_9")
    assert "Take --convention 'NAME(missing_in_run=zero)'." in run(*arguments)[2]


def test_half_way_there_may_be_no_value():
    rankings = fn.Rankings([1, -1], [1.0, 2.0], [0, 2])
    kept, zero = "default(negative_labels=keep)", "default(gain=[0,1],negative_labels=zero)"
    explained = fn.explain(rankings, metric="cg", convention=kept, against=zero)
    assert (explained.value, explained.against.value) == (0, 1)
    assert [(step.field, step.value) for step in explained.steps] == [("gain", None), ("negative_labels", 1)]
    assert explained.why() == ("gain", "negative_labels")
    mean = fn.explain([[1, -1]] * 3, [[1, 2]] * 3, "cg", convention=kept, against=zero)
    assert [(step.field, step.adds) for step in mean.steps] == [("gain", 0), ("negative_labels", 1)]


MEAN_QRELS = {"q1": {"a": 3, "b": 0, "c": 1}, "q2": {"a": 2, "d": 1}, "q3": {"e": 0}, "q4": {"a": 1}, "q5": {"b": 2}}
MEAN_RUN = {
    "q1": {"b": 0.9, "a": 0.5, "x": 0.5, "c": 0.1}, "q2": {"d": 0.4, "y": 0.3, "a": 0.3}, "q3": {"e": 0.2},
    "q5": {"z": 0.7, "b": 0.7}, "q6": {"a": 0.1},
}  # fmt: skip
SUBTOPICS = {"q1": {"a": {"s": 1, "t": 1}, "b": {"s": 1}, "c": {"t": 2}}, "q2": {"a": {"s": 1}}, "q4": {"a": {"u": 1}}}
WHOLE_RUN = {query: MEAN_RUN.get(query, {"x": 0.2, "a": 0.1}) for query in MEAN_QRELS}
PAIRS = [("default", "trec_eval_9"), ("lightgbm", "default(gain=exp2)"), ("default(ties=worst)", "trec_eval_9_c")]


def explain_mean(metric, here, there, run=MEAN_RUN):
    """Check the explanation of a mean against two evaluations. Return None if there is no mean under one of the two."""
    qrels = fn.DiversityQrels(SUBTOPICS) if metric.record.by_subtopic else MEAN_QRELS
    try:
        conventions = [allow_undefined(parse_convention(own)) for own in (here, there)]
        both = [fn.evaluate(qrels, run, metric, convention=own) for own in conventions]
    except fn.FastndcgError:
        return None
    explained = fn.explain(qrels, run, metric, convention=here, against=there)
    first, second = (result.means()[0] for result in both)
    assert repr([explained.value, explained.against.value]) == repr([first, second])
    assert [step.field for step in explained.steps] == list(parse_convention(here).difference(parse_convention(there)))
    columns = [dict(zip(result.query_ids.tolist(), result[metric].tolist(), strict=True)) for result in both]
    values = {query: [column.get(query, nan) for column in columns] for query in columns[0] | columns[1]}
    assert explained.n_queries == len(values)
    assert all(str([row.here, row.there]) == str(values.pop(row.query)) for row in explained.queries)
    assert all(np.isclose(*pair, rtol=1e-11, atol=1e-15, equal_nan=True) for pair in values.values())
    if isnan(first - second):
        return None
    assert sum(step.adds for step in explained.steps) == Fraction(second) - Fraction(first)
    assert set(explained.why()) >= {step.field for step in explained.steps if abs(step.adds) > 1e-12}
    return explained


@pytest.mark.parametrize("name", strategies.PLAIN + strategies.BY_SUBTOPIC)
def test_what_fields_add_is_the_difference_of_the_means(name):
    """Of every metric, to the last digit, and the queries that differ are those of two evaluations."""
    metric = fn.Metric(name) @ 3 if CATALOG[name].has_cutoff else fn.Metric(name)
    assert any(explain_mean(metric, *pair) is not None for pair in PAIRS)


@pytest.mark.parametrize("name", fn.conventions)
def test_a_mean_under_every_convention(name):
    metrics = [fn.Metric.parse(text) for text in ("ndcg@3", "rr", "gm(P@2)")]
    found = [explain_mean(metric, "lightgbm", name, WHOLE_RUN) for metric in metrics]
    assert found[1] is not None


def test_a_mean_by_hand():
    """Two of five queries have ties, at ranks 2 and 3, and 1 and 2. One that the run lacks counts 0, then nothing."""
    explained = fn.explain(MEAN_QRELS, MEAN_RUN, "rr", against="ms_marco(ties=worst,missing_in_run=skip)")
    adds = {step.field: (float(step.adds), step.n_queries) for step in explained.steps if step.matters}
    ties = (1 / 3 - (1 / 2 + 1 / 3) / 2 + 1 / 2 - (1 + 1 / 2) / 2) / 5
    missing = (1 / 3 + 1 + 1 / 2) * (1 / 4 - 1 / 5)
    assert adds == {"ties": (pytest.approx(ties), 2), "missing_in_run": (pytest.approx(missing), 1)}
    assert [(row.query, row.there) for row in explained.queries[1:]] == [("q5", 1 / 2), ("q1", 1 / 3)]
    frame = explained.to_pandas()
    assert frame["query"].tolist() == ["q4", "q5", "q1"]
    facts = json.loads(explained.to_json())
    assert [step["adds"] for step in facts["steps"] if step["matters"]] == [float(one) for one, _ in adds.values()]
    assert (facts["n_queries"], facts["queries"][0]) == (5, {"query": "q4", "here": 0, "there": None})
    assert "fields that change the mean" in explained.to_markdown()


def test_a_mean_is_printed_with_the_largest_differences():
    labels = [[0] * place + [1] + [0] * (20 - place) for place in range(21)]
    explained = fn.explain(labels, [[0.0] * 21] * 21, "rr", against="default(ties=best)")
    lines = str(explained).splitlines()
    assert lines[0].startswith("mean of RR: 0.1736 with default, 1 with default(ties=best) (+0.8264), one field at a")
    assert lines[3].split() == ["ties", "average", "best", "1", "+0.8264", "21"]
    assert lines[4:6] == ["fields that change the mean: ties", "21 of 21 queries differ, the largest difference first:"]
    assert [line.split() for line in lines[7:]] == [[str(q), "0.1736", "1", "+0.8264"] for q in range(10)]
    same = fn.explain(labels, labels, "rr", against="default(ties=best)")
    assert str(same).endswith("fields that change the mean: none, the values are equal")
    undefined = fn.explain([[0, 0]] * 2, [[1, 2]] * 2, "ndcg", against="default(undefined=1)")
    assert isnan(undefined.steps[0].adds)
    assert "mean of nDCG: nan with default, 1 with default(undefined=1) (–)" in str(undefined)


def test_command(files, run, shown, wrong):
    of_query = ("explain", "qrels.txt", "good.run", "q1")
    expected = fn.explain("qrels.txt", "good.run", "ndcg@1", query="q1", against="trec_eval")
    assert shown(*of_query, "-m", "ndcg@1", "--against", "trec_eval") == f"{expected}\n"
    assert run(*of_query, "-o", "out.txt")[:2] == (0, "")
    assert (files / "out.txt").read_text(encoding="utf-8").startswith("nDCG@10 of query q1: 1;")
    wrong("error: `query` must be the id of one query, but none is called 'q99'.", *of_query[:3], "q99")
    wrong("error: no metric", *of_query, "-m", "ndgc")
    wrong("or another convention", "explain", "qrels.txt", "tied.run")
    mean = fn.explain("qrels.txt", "tied.run", "ndcg", against="trec_eval_9")
    assert shown("explain", "qrels.txt", "tied.run", "-m", "ndcg", "--against", "trec_eval_9") == f"{mean}\n"
    assert str(mean).startswith("mean of nDCG: ")


@pytest.mark.parametrize("metric", ["ndcg@10", "R@100", "P@10", "ndcg"])
def test_contributions_of_long_rankings_add_up(metric):
    draws = np.random.default_rng(8)
    labels = draws.integers(1, 4, 1000) * (draws.random(1000) < 0.4)
    qrels = {"q": {f"d{place}": int(label) for place, label in enumerate(labels)}}
    run = {"q": {f"d{place}": float(-place) for place in range(1000)}}
    explained = fn.explain(qrels, run, metric, query="q")
    assert fsum(one.contribution for one in explained.ranking) == pytest.approx(explained.value, rel=1e-12)
    reference = fn.reference.evaluate(qrels, run, metric).mean()
    assert explained.value == pytest.approx(next(iter(reference.values())), rel=1e-12)
