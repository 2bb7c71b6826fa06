"""Conventions as values: fields and names, what named ones print, tie policies, bugs not copied, and each choice."""

import functools
import math
import pickle
from itertools import product
from math import log2
from typing import get_args

import golden_records
import numpy as np
import pytest
from refusals import refused
from scipy import sparse

import fastndcg as fn
from fastndcg import choices
from fastndcg.errors import FastndcgError, UnknownMetricError
from fastndcg.fusion.joined_runs import rank_run
from fastndcg.fusion.tuning import line_search
from fastndcg.inputs.table import Run
from fastndcg.integrations.spark.columns import check_ties
from fastndcg.named_conventions import CHOICES, FIELDS, parse_convention
from fastndcg.named_conventions.named_choices import TIES, TiePolicy

DEFAULT = fn.conventions["default"]


def value(labels, scores, metric, **choices):
    convention = DEFAULT.replace(**choices)
    return fn.evaluate([labels], [scores], metric, convention=convention)[metric].item()


def test_named_conventions():
    assert list(fn.conventions) == list(get_args(choices.ConventionName))
    assert "trec_eval" in fn.conventions
    assert 5 not in fn.conventions
    assert fn.conventions.get("nope") is None
    new, old = (fn.conventions[name].choices() for name in ("trec_eval", "trec_eval_9"))
    assert {field for field in new if new[field] != old[field]} == {"missing_in_run", "recall_rounding", "score_dtype"}
    assert all(convention.source for convention in fn.conventions.values())
    peers = [convention for name, convention in fn.conventions.items() if name != "default"]
    assert all(convention.peer and convention.versions for convention in peers)
    assert repr(fn.conventions).startswith("conventions: default, trec_eval, trec_eval_c, trec_eval_9")


@pytest.mark.parametrize("field", CHOICES)
def test_convention_fields_read_back_from_text(field):
    for name, choice in product(fn.conventions, CHOICES[field]):
        convention = fn.conventions[name].replace(**{field: choice})
        assert getattr(convention, field) == choice
        assert pickle.loads(pickle.dumps(convention)) == convention
        assert parse_convention(convention.name) == convention
        if choice == getattr(fn.conventions[name], field):
            assert convention.name == name
        else:
            assert convention.name == f"{name}({field}={choice})"


def test_names_of_replaced_conventions():
    convention = DEFAULT.replace(ties="best").replace(gain=[0, 1, 3], undefined=0)
    assert convention.name == "default(gain=[0,1,3],ties=best,undefined=0)" == repr(convention)
    assert convention == DEFAULT.replace(undefined=0, gain=(0.0, 1.0, 3.0), ties="best")
    assert convention.replace(gain="linear", undefined=float("nan"), ties="average") == DEFAULT
    assert hash(convention.replace(ties="average")) == hash(DEFAULT.replace(gain=[0, 1, 3], undefined=0))
    assert DEFAULT.replace(ap_denominator="min(k,n_relevant)").ap_denominator == "min(k, n_relevant)"
    assert DEFAULT.replace(undefined="0") == DEFAULT.replace(undefined=0.0) == DEFAULT.replace(undefined=0)


def test_conventions_of_ones_own():
    mine = fn.Convention("mine", ties="input", gain="exp2")
    assert mine.name == "mine"
    assert mine.replace(undefined=0).name == "mine(undefined=0)"
    assert mine.replace(undefined=0).replace(gain="linear").name == "mine(gain=linear,undefined=0)"
    assert fn.evaluate([[0]], [[1]], "ndcg", convention=mine.replace(undefined=1)).values.tolist() == [[1]]


def test_convention_ideal_of_a_short_run():
    """Two of three judged documents were retrieved: the best order ends with the run, whatever the cutoff."""
    qrels, run = {"q": {"a": 1, "b": 3, "c": 2}, "none": {"a": 1}}, {"q": {"a": 2, "x": 1}, "none": {}}
    convention = DEFAULT.replace(ideal="min(k, n_retrieved)")
    full, short = 3 + 2 / log2(3) + 1 / log2(4), 3 + 2 / log2(3)
    for k, judged, retrieved in (("@1", 3, 3), ("@2", short, short), ("@10", full, short), ("", full, short)):
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            result = evaluate(qrels, run, f"idcg{k}, ndcg{k}", convention=convention)
            assert result.values.tolist() == [
                pytest.approx([retrieved, 1 / retrieved], rel=1e-15),
                pytest.approx([0, np.nan], nan_ok=True),
            ]
            assert evaluate(qrels, run, f"ndcg{k}").values[0, 0] == pytest.approx(1 / judged, rel=1e-15)
    explained = fn.explain(qrels, run, "ndcg@10", query="q", convention=convention)
    assert "IDCG@10 = 3·1 + 2·0.6309 = 4.2619" in str(explained)
    assert value([0, 2, 0], [3, 2, 1], "ndcg@3", ideal="min(k, n_retrieved)") == pytest.approx(1 / log2(3), rel=1e-15)


def test_means_of_values_that_a_convention_defines_or_skips():
    given = ([[0, 0], [1, 0]], [[2, 1], [1, 2]], "map,rr")
    result = fn.evaluate(*given, convention=DEFAULT.replace(undefined=1))
    assert result.means() == [(1 + 1 / 2) / 2, (0 + 1 / 2) / 2]
    assert result.n_undefined().tolist() == [0, 0]
    for choice in ("undefined", "skipped"):
        assert fn.evaluate(*given, convention=DEFAULT.replace(no_relevant=choice)).means() == [1 / 2, 1 / 2]
    names = [str(metric) for metric in fn.evaluate(*given, convention=DEFAULT.replace(default_k=2)).metrics]
    assert names == ["AP", "RR"]


@pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
def test_unjudged_documents_are_those_with_negative_labels_too(evaluate):
    qrels, run = {"q": {"a": 2, "b": -1, "c": 0}}, {"q": {"b": 3, "a": 2, "u": 1}}
    metrics = "rr,num_ret,infAP,judged,unjudged"
    values = evaluate(qrels, run, metrics, convention="trec_eval(unjudged=removed)").values
    assert values.tolist() == [[1, 1, 1, 1, 0]]
    kept = DEFAULT.replace(unjudged="removed", negative_labels="keep")
    assert evaluate(qrels, run, "rr,num_ret,judged", convention=kept).values.tolist() == [[1 / 2, 2, 1]]
    with pytest.raises(fn.InvalidInputError):
        evaluate([[1, -1]], [[2, 1]], "rr", convention="default(unjudged=removed)")


@pytest.mark.parametrize(("metric", "denominator", "expected"), [
    ("P@2", "k", (1 + 1) / (2 + 2)), ("P@2", "min(k, n_retrieved)", (1 + 1) / (1 + 2)),
    ("P@2", "min(k, n_relevant)", (1 + 1) / (1 + 2)), ("P", "k", (1 + 2) / (1 + 3)),
])  # fmt: skip
def test_micro_mean(metric, denominator, expected):
    convention = DEFAULT.replace(precision_mean="micro", precision_denominator=denominator)
    result = fn.evaluate([1, 0, 1, 1], [1, 3, 2, 1], [metric, "RR"], groups=[1, 3], convention=convention)
    assert result.means() == pytest.approx([expected, (1 + 1 / 2) / 2], rel=1e-15)
    assert result.values.shape == (2, 2)
    plain = fn.evaluate([1, 0, 1, 1], [1, 3, 2, 1], [metric, "RR"], groups=[1, 3],
                        convention=convention.replace(precision_mean="macro"))  # fmt: skip
    assert plain.values.tolist() == result.values.tolist()


@pytest.mark.parametrize(("metric", "choices", "message"), [
    ("ndcg", {"ideal": "k best"}, "nDCG must have a cutoff under ideal='k best'. Give it one, such as nDCG@10"),
    ("IDCG(rel=2)", {"ideal": "k best"}, "must have a cutoff under ideal='k best'"),
    ("ndcg@16777217", {"ideal": "k best"}, "must have a smaller cutoff under ideal='k best'. It must be at most"),
    ("map", {"ap_denominator": "k"}, "AP must have a cutoff under ap_denominator='k'. Give it one, such as AP@10"),
])  # fmt: skip
def test_convention_raises_on_undefined_combinations(metric, choices, message):
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        refused(message, evaluate, [[1]], [[1]], metric, convention=DEFAULT.replace(**choices))
    if "@" not in metric:
        assert value([2], [1], metric, **choices, default_k=1) > 0


BUGS = [
    pytest.param(convention, bug, id=f"{name}-{bug.what[:40]}")
    for name, convention in fn.conventions.items()
    for bug in convention.bugs
]


def test_convention_print_shows_every_field():
    shown = str(fn.conventions["lightgbm"])
    lines = {line.split()[0]: line.split()[1:] for line in shown.splitlines()[2 : 2 + len(FIELDS)]}
    assert list(lines) == list(FIELDS)
    assert lines["ties"] == ["input", "(default:", "average)"]
    assert lines["gain"] == ["[0,1,3,…,1073741823]", "of", "31", "(default:", "linear)"]
    assert lines["discount"] == ["log2"]
    assert shown.startswith("lightgbm: LightGBM 4.7.0\n  src/metric/dcg_calculator.cpp:122")
    assert "  option label_gain=0,1,2,3: lightgbm(gain=[0,1,2,3])" in shown
    assert "  not copied: a query without relevant documents adds its 1 without its weight" in shown


def test_convention_default_has_first_choices():
    default = fn.conventions["default"]
    assert default.choices() == {name: field.choices[0] for name, field in FIELDS.items()}
    assert "(default:" not in str(default)
    assert f"{default}" == default.name == "default"
    with pytest.raises(AttributeError):
        default.ties = "best"


def test_convention_differences():
    plain, minus = fn.conventions["xgboost"], fn.conventions["xgboost_minus"]
    assert plain.difference(minus) == {"undefined": 1}
    assert minus.difference(plain) == {"undefined": 0}
    assert plain.difference(plain) == {}


@pytest.mark.parametrize("name", fn.conventions)
def test_options_are_conventions_or_metrics(name):
    for theirs, ours in fn.conventions[name].options:
        try:
            assert fn.Metric.parse(ours)
        except UnknownMetricError:
            assert parse_convention(ours) != fn.conventions[name], theirs


@pytest.mark.parametrize(("convention", "bug"), BUGS)
def test_bugs_are_not_copied(convention, bug):
    assert bug.what
    assert bug.source
    assert bool(bug.labels) != bool(bug.case)
    if not bug.labels:
        return
    convention = convention.replace(negative_labels="zero") if "negative" in bug.what else convention
    offsets = [0]
    for labels in bug.labels:
        offsets.append(offsets[-1] + len(labels))
    labels, scores = ([value for query in queries for value in query] for queries in (bug.labels, bug.scores))
    assert min(labels) >= 0 or "negative" in bug.what
    assert bug.golden or all(set(row) == set(range(1, len(set(row)) + 1)) for row in bug.scores)  # no gap
    ids = list(range(len(labels)))[::-1]
    rankings = fn.Rankings(labels, scores, offsets, tie_keys=ids)
    (mean,) = fn.reference.evaluate(rankings, metrics=bug.metric, convention=convention).means(bug.weights)
    assert mean == pytest.approx(float(bug.ours), rel=1e-9, nan_ok=True)
    assert bug.theirs != bug.ours


PARTS_OF_CASES = {"ideal_gain_cache_by_qid", "r_precision_nan_skipped", "rating_zero_row"}


@pytest.mark.parametrize(("convention", "bug"), [param for param in BUGS if param.values[1].golden])
def test_bugs_were_seen(convention, bug):
    """Each listed bug names a recorded case of the program, which has its lists and the wrong number."""
    peers = {
        peer
        for peer, name in golden_records.CONVENTIONS.items()
        if name.startswith(convention.name) or convention.name.startswith(name)
    }
    found = [one for one in golden_records.every_record() if one["name"] == bug.golden and one["peer"] in peers]
    if bug.labels and bug.golden not in PARTS_OF_CASES:
        found = [one for one in found if golden_records.has_metric(one) and has_case(one, bug)]
    assert found
    if isinstance(bug.theirs, float):
        numbers = [value for one in found for value in [one["value"], *(one["per_query"] or {}).values()]]
        numbers = [value for value in numbers if isinstance(value, int | float)]
        assert any(math.isclose(value, bug.theirs, rel_tol=1e-6) for value in numbers)


def has_case(record, bug):
    lists = [[list(map(float, row)) for row in record[what].values()] for what in ("labels", "scores")]
    is_metric = golden_records.metric_of(record).name == fn.Metric.parse(bug.metric).name
    return is_metric and lists == [list(map(list, each)) for each in (bug.labels, bug.scores)]


LIKED = sparse.csr_array([[1, 0, 0], [0, 1, 1]])
TIED = np.ones((2, 3))


@pytest.fixture
def dice(monkeypatch):
    monkeypatch.setitem(TIES, "dice", TiePolicy("dice"))
    monkeypatch.setitem(FIELDS, "ties", FIELDS["ties"]._replace(choices=tuple(TIES)))
    record = fn.RR.record
    usual = record.ties
    object.__setattr__(record, "ties", (*usual, "dice"))
    yield fn.conventions["default"].with_fields(ties="dice", name="diced")
    object.__setattr__(record, "ties", usual)


WAYS = {
    "arrays": lambda ties: fn.evaluate([[1, 0, 0]], TIED[:1], "rr", convention=ties),
    "score matrix": lambda ties: fn.evaluate(LIKED, TIED, "rr", convention=ties),
    "counts": lambda ties: fn.evaluate(LIKED, fn.Embeddings(np.ones((2, 1)), np.ones((3, 1))), "rr", convention=ties),
    "pairs": lambda ties: fn.evaluate_pairs(LIKED, TIED, "rr", convention=ties),
    "reference": lambda ties: fn.reference.evaluate([[1, 0, 0]], TIED[:1], "rr", convention=ties),
    "explain": lambda ties: fn.explain([[1, 0, 0]], TIED[:1], "rr", query=0, convention=ties),
    "ranks of a run": lambda ties: rank_run(Run(["q", "q"], ["a", "b"], [1.0, 1.0]), ties.ties, 1),
    "Spark": lambda ties: check_ties(ties, None),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_order_raises(way, dice):
    """A policy that is in the table alone is an error wherever equal scores are ordered."""
    refused("not by 'dice'", WAYS[way], dice, error=NotImplementedError)


def test_lines_of_a_tuned_fusion_have_keys_of_known_orders_alone(dice):
    class Judged:
        convention = dice
        rankings = fn.Rankings([1, 0], [1.0, 1.0], [0, 2])

    refused("not by 'dice'", line_search._make_keys, Judged, error=NotImplementedError)


def test_choices_follow_the_table():
    from fastndcg.metrics.families.record import TIE_POLICIES, TIES_AND_MEAN_RANK

    assert tuple(TIES) == CHOICES["ties"] == get_args(choices.TiePolicy) == TIES_AND_MEAN_RANK
    assert set(TIES) - set(TIE_POLICIES) == {"mean_rank"}
    assert f"    ties : {{{', '.join(map(repr, TIES))}}}\n" in fn.Convention.__doc__


METRICS = "nDCG@3,DCG@12,DCG,IDCG@3,CG,AP@3,P@3,P,R@3,RR,Success@2,num_rel,RBP,num_ret"
NAMES = [f"d{place:02}" for place in range(16)]
LABELS = [0.7, 0, 2, 0.5, 3, 1.5, 1, 0, 1, 0, 2, 1, 0, 1, 0, 1]
CLOSE = 1 + 1e-10  # 1 in float32
SCORES = [9, 9, 8, 8, 7, 6.5, 6.5, 5, CLOSE, 1, 4, 3, 2, 1.5, 0.5, CLOSE / 2]
QRELS = {
    "long": dict(zip(NAMES, LABELS, strict=True)) | {"out": 3, "lost": 1},
    "short": {"a": 1, "b": 2, "c": 0.5, "d": 0, "e": 1, "f": 2}, "perfect": {"a": 2, "b": 0, "x": 0},
}  # fmt: skip
RUN = {
    "long": dict(zip(reversed(NAMES), SCORES, strict=True)) | {"n": 8.5, "d03": 3.5}, "short": {"a": 1, "d": 2},
    "perfect": {"a": 1, "b": 0.5, "x": 0.3},
}  # fmt: skip
CLOSE_TIES = {"q": {"b": 1, "a": CLOSE, "c": CLOSE}, "r": {"a": 1, "b": CLOSE, "c": CLOSE}}
DEEP = {f"d{place:02}": 50 - place for place in range(50)}
NEGATIVE = fn.Rankings([1, 0, -1], [1.0, 3.0, 2.0], [0, 3], tie_keys=[0, 1, 2])
ONE = {"a": 1, "b": 0}
PARTS = (  # judgments, a run, and metrics
    ({query: {d: int(x) for d, x in row.items()} for query, row in QRELS.items()}, RUN, METRICS),
    (QRELS, RUN, METRICS),
    ({query: {d: min(int(x), 1) for d, x in row.items()} for query, row in QRELS.items()}, RUN, METRICS),
    ({"q": dict.fromkeys(list(DEEP)[::2][:11], 1) | {"d40": 1}}, {"q": DEEP}, "DCG,P"),
    ({"q": dict.fromkeys(list(DEEP)[::2][:11], 1)}, {"q": DEEP}, "IPrec(recall=0.55)"),
    ({"q": dict.fromkeys(list(DEEP)[::2][:7], 1)}, {"q": DEEP}, "IPrec(recall=0.3)"),
    ({"none": {"a": 0, "b": 0}}, {"none": {"a": 1, "b": 0.5}}, "nDCG@3,RR,P@3"),
    ({"none": {"a": 0, "b": 0}}, {"none": {"a": 1, "b": 0.5}}, "AP@3"),
    ({"none": {"a": 0, "b": 0}}, {"none": {"a": 1, "b": 0.5}}, "P@3"),
    (QRELS, RUN, "RR,Success@2,num_rel"),
    ({"none": {"a": 0.3, "b": 0.7}}, {"none": {"a": 1, "b": 0.5}}, "AP@3,RR,P@3"),
    ({"some": {"a": 0.3, "b": 0.7}, "more": {"c": 0.7, "d": 1}}, {"some": {"a": 1, "b": 1}, "more": {"c": 1}},
     "RR,num_rel"),
    ({"q": {"b": 1, "a": 0, "c": 0}, "r": {"a": 1, "b": 0, "c": 0}}, CLOSE_TIES, "RR,Success@1"),
    ({"empty": {"a": 1}}, {"empty": {}}, "RBP_resid"),
    ({"q": ONE, "lost": ONE}, {"q": {"b": 2, "a": 1}}, "RR"),
    ({"q": ONE}, {"q": {"b": 2, "a": 1}, "more": {"a": 1}}, "RR"),
    ({"q": {"a": -1, "b": 2, "c": 1}}, {"q": {"a": 3, "u": 2.5, "c": 2, "b": 1}}, "RR,num_ret"),
    ({"q": {"a": -1, "b": 2, "c": 1}}, {"q": {"a": 3, "u": 2.5, "c": 2, "b": 1}}, "DCG@3"),
    (NEGATIVE, None, "RR"),
    ([[0, 1, 0]], [[1.0, math.nan, 2.0]], "RR"),
)  # fmt: skip
RECORDED = {  # by `add_up`
    "default": 3700.844232405, "trec_eval": 3740.053817478, "trec_eval_c": 3920.458985597,
    "trec_eval_9": 3910.746659173, "trec_eval_9_c": 3922.418815305, "ranx": 3605.355014938, "ndeval": 3911.728610693,
    "ms_marco": 3428.927809057, "sentence_transformers": 3812.321989043, "sklearn": 3005.835536688,
    "sklearn_ignore_ties": 2976.176852656, "lightgbm": 1834.249157646, "xgboost": 2207.022821411,
    "xgboost_minus": 2135.789571038, "catboost": 3578.478697208, "ranklib": 3588.219458040,
    "torchmetrics": 3649.845215722, "rax": 4042.829755871, "tf_ranking": 4011.807987170, "allrank": 4167.396484521,
    "rectools": 3889.376516885, "replay": 3876.191789206, "recommenders": 3864.519633074, "lenskit": 4041.773166210,
    "implicit": 3952.126968538, "recbole": 3876.191789206, "pykeen": -99.314785071, "recometrics": 4067.281935654,
    "lightfm": 3623.503440737, "mlflow": 4017.447524862, "haystack": 4293.414066806, "llama_index": 3245.740658137,
    "trulens": 4143.932555027, "ragas": 3965.086224379, "azure_ai": 4041.665437166, "elasticsearch": 3101.396203461,
    "opensearch": 4041.665437166, "rcp_ndcg": 3147.490490927,
}  # fmt: skip
PARTS = tuple(
    (fn.Qrels(truth) if isinstance(truth, dict) else truth, fn.Run(run) if isinstance(run, dict) else run, metrics)
    for truth, run, metrics in PARTS
)
ERROR = [-9.0]


def find_numbers(part, convention):
    """Return the number of queries, values and means, or one number for an error."""
    truth, run, metrics = part
    try:
        result = fn.evaluate(truth, run, metrics, convention=convention)
    except FastndcgError:
        return ERROR
    return np.nan_to_num([len(result), *result.values.ravel(), *result.means()], nan=-1.0).tolist()


@functools.cache
def list_numbers(convention):
    """Return the numbers of all parts."""
    return [find_numbers(part, convention) for part in PARTS]


def add_up(convention):
    """Return one number for all parts, to which each number adds by a factor of its own."""
    numbers = [number for own in list_numbers(convention) for number in own]
    return math.fsum(number * math.sqrt(place + 2) for place, number in enumerate(numbers))


@pytest.mark.parametrize("name", fn.conventions)
def test_values_are_recorded(name):
    """A choice that a convention gains or loses changes this number: record it again if the peer has changed."""
    assert add_up(fn.conventions[name]) == pytest.approx(RECORDED[name], abs=1e-6)


@pytest.mark.parametrize("name", fn.conventions)
def test_each_choice_changes_a_value(name):
    convention = fn.conventions[name]
    own = list_numbers(convention)
    for field in convention.difference(DEFAULT):
        other = convention.replace(**{field: getattr(DEFAULT, field)})
        assert any(
            find_numbers(part, other) != numbers for part, numbers in zip(PARTS[::-1], own[::-1], strict=True)
        ), field
