"""Each named convention has recorded values, which every choice that is not the default's changes."""

import functools
import math

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.errors import FastndcgError

DEFAULT = fn.conventions["default"]
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
