"""Conventions as values: fields, names that say what was replaced, and what each choice does to a number."""

import pickle
from itertools import product
from math import log2

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.named_conventions import CHOICES

DEFAULT = fn.conventions["default"]


def value(labels, scores, metric, **choices):
    convention = DEFAULT.replace(**choices)
    return fn.evaluate([labels], [scores], metric, convention=convention)[metric].item()


def test_named_conventions():
    assert list(fn.conventions) == [
        "default", "trec_eval", "trec_eval_c", "trec_eval_9", "trec_eval_9_c", "ranx", "ndeval", "ms_marco",
        "sentence_transformers", "sklearn", "sklearn_ignore_ties", "lightgbm", "xgboost", "xgboost_minus", "catboost",
        "ranklib", "torchmetrics", "rax", "tf_ranking", "allrank", "rectools", "replay", "recommenders", "lenskit",
        "implicit", "recbole", "pykeen", "recometrics", "lightfm", "mlflow", "haystack", "llama_index", "trulens",
        "ragas", "azure_ai", "elasticsearch", "opensearch", "rcp_ndcg",
    ]  # fmt: skip
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
        truth, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
        assert fn.evaluate(truth, run, "rr", convention=convention.name).convention == convention
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
    """A convention made by the caller keeps its name and adds the fields that were replaced later."""
    mine = fn.Convention("mine", ties="input", gain="exp2")
    assert mine.name == "mine"
    assert mine.replace(undefined=0).name == "mine(undefined=0)"
    assert mine.replace(undefined=0).replace(gain="linear").name == "mine(gain=linear,undefined=0)"
    assert fn.evaluate([[0]], [[1]], "ndcg", convention=mine.replace(undefined=1)).values.tolist() == [[1]]


def test_gain_and_discount():
    labels, scores = [0, 2, 1], [3, 2, 1]
    assert value(labels, scores, "dcg") == pytest.approx(2 / log2(3) + 1 / log2(4), rel=1e-15)
    assert value(labels, scores, "dcg", gain="exp2") == pytest.approx(3 / log2(3) + 1 / log2(4), rel=1e-15)
    assert value(labels, scores, "dcg", gain=(0, 5, 7)) == pytest.approx(7 / log2(3) + 5 / log2(4), rel=1e-15)
    assert value(labels, scores, "dcg", discount=(1, 0.5)) == 2 * 0.5
    assert value(labels, scores, "ndcg", discount=(1, 0.5)) == (2 * 0.5) / (2 * 1 + 1 * 0.5)
    own = fn.evaluate([labels], [scores], fn.CG(gain="linear"), convention=DEFAULT.replace(gain="exp2"))
    assert own.values.tolist() == [[3]]


def test_discount_formulas():
    """The discount is 1/2 or 1 at rank 2, and 1/3 or 1/log2(3) at rank 3."""
    assert value([0, 2, 1], [3, 2, 1], "dcg", discount="1/r") == pytest.approx(2 / 2 + 1 / 3, rel=1e-15)
    expected = 2 / log2(2) + 1 / log2(3)
    assert value([0, 2, 1], [3, 2, 1], "dcg", discount="log2(max(r, 2))") == pytest.approx(expected, rel=1e-15)


def test_binary_gain():
    """1 for what is relevant, by the metric's threshold or the convention's."""
    labels, scores = [3, 1, 0.5], [3, 2, 1]
    assert value(labels, scores, "cg", gain="binary") == 2
    assert value(labels, scores, "cg", gain="binary", relevant="above 0") == 3
    assert value(labels, scores, fn.CG(rel=2), gain="binary", relevant="above 0") == 1
    assert value(labels, scores, "CG(gain=binary)") == 2


def test_label_fractions():
    labels, scores = [1.5, 0.7], [2, 1]
    assert value(labels, scores, "cg", label_fractions="cut off") == 1
    assert value(labels, scores, "cg", label_fractions="cut off", gain="exp2") == 2**1 - 1
    assert value(labels, scores, "cg", label_fractions="cut off", gain=(0, 5)) == 5
    assert value(labels, scores, "p", label_fractions="cut off", relevant="above 0.5") == 2 / 2


@pytest.mark.parametrize(("choice", "expected"), [("at least 1", 1), ("above 0", 3), ("above 0.5", 2)])
def test_convention_relevant_threshold(choice, expected):
    labels, scores = [1, 0.7, 0.5, 0], [4, 3, 2, 1]
    assert value(labels, scores, "num_rel", relevant=choice) == expected
    assert value(labels, scores, "num_rel(rel=0.6)", relevant=choice) == 2
    assert value(labels, scores, "p@4", relevant=choice) == expected / 4


def test_convention_ideal():
    """One relevant document at rank 2 of 3: over the best order, or over three that all gain as much."""
    reached = 2 / log2(3)
    assert value([0, 2, 0], [3, 2, 1], "ndcg@3") == pytest.approx(reached / (2 / log2(2)), rel=1e-15)
    best = 2 / log2(2) + 2 / log2(3) + 2 / log2(4)
    assert value([0, 2, 0], [3, 2, 1], "idcg@3", ideal="k best") == pytest.approx(best, rel=1e-15)
    assert value([0, 2, 0], [3, 2, 1], "ndcg@3", ideal="k best") == pytest.approx(reached / best, rel=1e-15)
    wider = best + sum(2 / log2(r + 1) for r in range(4, 2001))
    assert value([0, 2, 0], [3, 2, 1], "ndcg@2000", ideal="k best") == pytest.approx(reached / wider, rel=1e-14)
    assert value([1, 1, 1], [3, 2, 1], "ndcg@3", ideal="k best") == 1
    assert np.isnan(value([0, 0, 0], [3, 2, 1], "ndcg@3", ideal="k best"))


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
    assert "IDCG@10 = 3·1 + 2·0.6309 = 4.2619" in str(
        fn.explain(qrels, run, "ndcg@10", query="q", convention=convention)
    )
    assert value([0, 2, 0], [3, 2, 1], "ndcg@3", ideal="min(k, n_retrieved)") == pytest.approx(1 / log2(3), rel=1e-15)


def test_convention_pool():
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0}}
    for choice, recall in (("judged", 1 / 2), ("retrieved", 1 / 1)):
        result = fn.evaluate(qrels, run, "recall,num_rel,ndcg", convention=DEFAULT.replace(pool=choice))
        assert result["recall"].tolist() == [recall]
        assert result["num_rel"].tolist() == [1 / recall]
        expected = (1 / log2(2)) / (1 / log2(2) + (1 / log2(3) if choice == "judged" else 0))
        assert result["ndcg"].tolist() == pytest.approx([expected], rel=1e-15)


def test_default_k():
    """A metric without a cutoff uses the default cutoff and keeps its name. Other metrics keep their cutoffs."""
    result = fn.evaluate([[0, 0, 1]], [[3, 2, 1]], "rr,rr@3,p", convention=DEFAULT.replace(default_k=2))
    assert result.values.tolist() == [[0, 1 / 3, 0]]
    assert [str(metric) for metric in result.metrics] == ["RR", "RR@3", "P"]


def test_undefined_ap():
    result = fn.evaluate([[0]], [[1]], "map,ndcg", convention=DEFAULT.replace(undefined=1, undefined_ap=0))
    assert result.values.tolist() == [[0, 1]]
    with pytest.raises(fn.UndefinedMetricError, match="AP must have a value"):
        value([0], [1], "map", undefined_ap="raise")


@pytest.mark.parametrize(
    ("choice", "undefined"),
    [("defined", ["AP"]), ("undefined", ["AP", "RR", "Success"]), ("skipped", ["AP", "RR", "Success", "P", "num_ret"])],
)
def test_convention_no_relevant(choice, undefined):
    names = ["AP", "RR", "Success", "P", "num_ret"]
    labels, scores = [[0, 0], [1, 0]], [[2, 1], [1, 2]]
    result = fn.evaluate(labels, scores, names, convention=DEFAULT.replace(no_relevant=choice))
    assert [name for name in names if np.isnan(result[name][0])] == undefined
    assert not np.isnan(result.values[1]).any()
    assert result.mean()["RR"] == (1 / 2 if "RR" in undefined else (0 + 1 / 2) / 2)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("average", (1 + 1 / 2 + 1 / 3) / 3), ("input", 1 / 2), ("best", 1), ("worst", 1 / 3), ("input_reversed", 1 / 2)],
)
def test_convention_ties(ties, expected):
    """One relevant document among three that tie."""
    assert value([0, 1, 0], [5, 5, 5], "rr", ties=ties) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("choice", [0, 1])
def test_convention_undefined(choice):
    """A number replaces NaN for undefined values and counts in the mean. Defined values do not change."""
    result = fn.evaluate([[0, 0], [1, 0]], [[1, 2], [1, 2]], "ndcg,map", convention=DEFAULT.replace(undefined=choice))
    assert result["map"].tolist() == [choice, 1 / 2]
    assert result.mean()["AP"] == (choice + 1 / 2) / 2
    assert result.n_undefined().tolist() == [0, 0]


def test_negative_labels():
    """Negative labels raise an error in arrays and gain 0 in qrels. Choices of the convention keep or remove them."""
    with pytest.raises(fn.InvalidInputError, match="`labels` must not be negative"):
        value([1, -1, 0], [1, 2, 3], "dcg")
    assert value([1, -1, 0], [1, 2, 3], "dcg", negative_labels="zero") == 1 / log2(4)
    reached, best = -1 / log2(3) + 1 / log2(4), 1 / log2(2) - 1 / log2(4)
    assert value([1, -1, 0], [1, 2, 3], "dcg", negative_labels="keep") == pytest.approx(reached, rel=1e-15)
    assert value([1, -1, 0], [1, 2, 3], "ndcg", negative_labels="keep") == pytest.approx(reached / best, rel=1e-15)
    assert value([1, -1], [1, 2], "num_rel", negative_labels="keep") == 1
    assert value([1, -1, 0], [1, 2, 0], "rr", negative_labels="removed") == 1
    assert value([1, -1, 0], [1, 2, 0], "num_ret", negative_labels="removed") == 2
    assert fn.evaluate({"q": {"a": -1}}, {"q": {"a": 1}}, "dcg").values.tolist() == [[0]]


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


def test_nan_scores_last():
    """NaN scores rank below minus infinity and tie with other NaN scores."""
    nan, inf = np.nan, np.inf
    assert value([0, 1, 0], [-inf, nan, 1], "rr", nan_scores="last") == 1 / 3
    assert value([1, 0, 0], [nan, nan, 1], "rr", nan_scores="last") == (1 / 2 + 1 / 3) / 2
    assert value([1, 0, 0], [nan, nan, nan], "rr", nan_scores="last", ties="worst") == 1 / 3
    with pytest.raises(fn.InvalidInputError, match=r"`scores` must not be NaN, but scores\[0, 1\] \(query 0\) is nan"):
        value([1, 0], [1, nan], "rr")


def test_score_dtype():
    """Scores that are equal as float32 tie when the convention sets float32. Scores beyond its range are infinite."""
    scores = [1 + 1e-9, 1 + 2e-9]
    assert value([1, 0], scores, "rr") == 1 / 2
    assert value([1, 0], scores, "rr", score_dtype="float32") == (1 + 1 / 2) / 2
    assert value([1, 0], [1e300, 1e200], "rr", score_dtype="float32", ties="worst") == 1 / 2


def test_convention_denominators():
    labels, scores = [1, 0, 1, 1, 1], [5, 4, 3, 2, 1]  # hits at 1 and 3 among the first 3, 4 relevant
    hits = 1 + 2 / 3
    for choice, denominator in (("n_relevant", 4), ("min(k, n_relevant)", 3), ("n_hits", 2), ("k", 3)):
        assert value(labels, scores, "ap@3", ap_denominator=choice) == pytest.approx(hits / denominator, rel=1e-15)
        if choice != "k":
            everything = (hits + 3 / 4 + 4 / 5) / 4
            assert value(labels, scores, "ap", ap_denominator=choice) == pytest.approx(everything, rel=1e-15)
    assert value([1, 0], [2, 1], "ap@3", ap_denominator="k") == 1 / 3
    assert fn.evaluate(
        {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 1.0}}, "ap@2",
        convention=DEFAULT.replace(ap_denominator="min(k, n_relevant, n_retrieved)"),
    ).values.tolist() == [[1 / 1]]  # fmt: skip
    for choice, denominator in (("n_relevant", 4), ("min(k, n_relevant)", 2)):
        assert value(labels, scores, "recall@2", recall_denominator=choice) == 1 / denominator
        assert value(labels, scores, "recall", recall_denominator=choice) == 4 / 4
    for choice, denominator in (("k", 10), ("min(k, n_retrieved)", 5), ("min(k, n_relevant)", 4)):
        assert value(labels, scores, "p@10", precision_denominator=choice) == 4 / denominator
        assert value(labels, scores, "p", precision_denominator=choice) == 4 / min(denominator, 5)


@pytest.mark.parametrize(
    ("metric", "denominator", "expected"),
    [
        ("P@2", "k", (1 + 1) / (2 + 2)),
        ("P@2", "min(k, n_retrieved)", (1 + 1) / (1 + 2)),
        ("P@2", "min(k, n_relevant)", (1 + 1) / (1 + 2)),
        ("P", "k", (1 + 2) / (1 + 3)),
    ],
)
def test_micro_mean(metric, denominator, expected):
    convention = DEFAULT.replace(precision_mean="micro", precision_denominator=denominator)
    result = fn.evaluate([1, 0, 1, 1], [1, 3, 2, 1], [metric, "RR"], groups=[1, 3], convention=convention)
    assert result.means() == pytest.approx([expected, (1 + 1 / 2) / 2], rel=1e-15)
    assert result.values.shape == (2, 2)
    plain = fn.evaluate([1, 0, 1, 1], [1, 3, 2, 1], [metric, "RR"], groups=[1, 3],
                        convention=convention.replace(precision_mean="macro"))  # fmt: skip
    assert plain.values.tolist() == result.values.tolist()


@pytest.mark.parametrize(
    ("metric", "choices", "message"),
    [
        ("ndcg", {"ideal": "k best"}, "nDCG must have a cutoff under ideal='k best'. Give it one, such as nDCG@10"),
        ("IDCG(rel=2)", {"ideal": "k best"}, "must have a cutoff under ideal='k best'"),
        ("ndcg@16777217", {"ideal": "k best"}, "must have a smaller cutoff under ideal='k best'. It must be at most"),
        ("map", {"ap_denominator": "k"}, "AP must have a cutoff under ap_denominator='k'. Give it one, such as AP@10"),
    ],
)
def test_convention_raises_on_undefined_combinations(metric, choices, message):
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        with pytest.raises(fn.InvalidInputError, match=message):
            evaluate([[1]], [[1]], metric, convention=DEFAULT.replace(**choices))
    if "@" not in metric:
        assert value([2], [1], metric, **choices, default_k=1) > 0


def test_conventions_cannot_change():
    with pytest.raises(AttributeError):
        DEFAULT.ties = "best"
