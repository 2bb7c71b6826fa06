"""Remedies of errors in the words of each front end."""

import inspect
import pickle
import re
from math import log2

import numpy as np
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg import cli
from fastndcg.errors import Choice, Column, Option, Words
from fastndcg.integrations import spark

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n"
RUN = "q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.8 x\n"


def test_the_command_line_rewords_the_parts_of_an_error():
    cases = (
        ((Choice("ties", ["worst", "best"]),), "convention.replace(ties='worst' or 'best')",
         "--convention 'NAME(ties=worst)' or 'NAME(ties=best)'"),
        ((Column("rank"),), "columns={'rank': NAME}", "--columns rank=NAME"),
        ((Option("missing_truth", "'skip'"), "."), "missing_truth='skip'.", "--missing-truth skip."),
        ((Option("fusion_convention", "'a(b=c)'"),), "fusion_convention='a(b=c)'", "--fusion-convention 'a(b=c)'"),
        ((Option("train", "(qrels, runs)"),), "train=(qrels, runs)", "--train QRELS RUN RUN"),
        ((Words("{a}", "b"),), "{a}", "b"),
    )  # fmt: skip
    for parts, python, shell in cases:
        error = fn.InvalidInputError("Take ", *parts)
        for same in (error, pickle.loads(pickle.dumps(error))):
            assert (str(same), cli._error_message(same)) == (f"Take {python}", f"Take {shell}")


@pytest.mark.parametrize(("arguments", "call"), [
    (["-m", "ndcg", "--convention", "default(undefined=raise)"], {"metrics": "ndcg"}),
    (["-m", "ndgc"], {"metrics": "ndgc"}), (["-m", "alpha_ndcg@5"], {"metrics": "alpha_ndcg@5"}),
    (["-m", "rr", "--convention", "default(missing_in_run=raise)"], {"metrics": "rr"}),
])  # fmt: skip
def test_no_front_end_shows_the_other_s_words(tmp_path, run, arguments, call):
    (tmp_path / "qrels").write_text(QRELS + "q3 0 a 0\n")
    (tmp_path / "run").write_text(RUN + "q3 Q0 a 1 1 x\n")
    _, _, shell = run("evaluate", tmp_path / "qrels", tmp_path / "run", *arguments)
    with pytest.raises(fn.FastndcgError) as caught:
        fn.evaluate(
            tmp_path / "qrels", tmp_path / "run", **call, **dict(zip(["convention"], arguments[3:], strict=False))
        )
    assert ".replace(" not in shell
    assert "fn." not in shell
    assert "Qrels(path" not in shell
    assert "--" not in str(caught.value)
    assert "`fastndcg" not in str(caught.value)
    assert shell.rstrip() != f"fastndcg: error: {caught.value}"


METRICS = {
    "mpa": "Did you mean 'map'?", "ndgc": "Did you mean 'ndcg'?",
    "ndcg_at_10": "Did you mean 'nDCG@10'?", "precision_at_k": "Did you mean 'P@10'?", "ndcg10": "'nDCG@10'?",
    "ndcg(10)": "Write the cutoff behind @: 'ndcg@10'", "ndcg@10 map": "Write commas: 'ndcg@10,map'",
    "ndcg@10; map": "Write commas: 'ndcg@10,map'", "P@5;R@5": "Write commas: 'P@5,R@5'",
    "ndcg@10;map": "Write commas: 'ndcg@10,map'", "ndcg@10|map": "Write commas: 'ndcg@10,map'",
    "Recall@[1,5]": "Write 'Recall@1,5'", "map,ndcg@(1, 5)": "Write 'ndcg@1,5'",
    "cosine_ndcg@10": "Did you mean 'ndcg'?", "eval_dot_score_mrr@10": "Did you mean 'mrr'?",
    "val_ndcg_5": "Did you mean 'nDCG@5'?", "cosine_accuracy@1": "'accuracy' has two meanings",
    "top_5_accuracy": "Did you mean 'Success@5'?", "top-3-accuracy": "Did you mean 'Success@3'?",
    "top_k_categorical_accuracy": "Did you mean 'Success@10'?", "top5_recall": "Did you mean 'R@5'?",
    "hits@3": "'hits' has two meanings", "Accuracy@1": "two meanings",
    "context_recall": "it is recall@k", "Context-Precision": "'default(ap_denominator=n_hits)'",
    "hit rate@3": "Did you mean 'hit_rate@3'?", "context recall@5": "it is recall@k; with evidence",
    "faithfulness": "of an answer that a model has written", "RMSE": "an error of predicted ratings",
    "map@k kaggle": "divides by min(k, R)", "kaggle map@3": "divides by min(k, R)",
}  # fmt: skip
CONVENTIONS = {
    "pytrec_eval": "trec_eval_9", "trec_eval_10": "trec_eval", "BEIR": "trec_eval_9", "Mteb": "trec_eval_9",
    "PyTerrier": "trec_eval_9_c", "ir-measures": "trec_eval_9_c", "Pyserini": "trec_eval_9", "Scikit-Learn": "sklearn",
    "LGBM": "lightgbm", "xgb": "xgboost", "trec_eval 9": "trec_eval_9",
    "Sentence-Transformers": "sentence_transformers", "MLflow": "mlflow", "LlamaIndex": "llama_index",
    "Elasticsearch": "elasticsearch", "Haystack-AI": "haystack", "Azure AI Evaluation": "azure_ai",
}  # fmt: skip
UNKNOWN_CONVENTIONS = {
    "Rank_BM25": "its rankings are runs", "rank-bm25": "its rankings are runs", "Qdrant": "is a search engine",
    "deepeval": "asks a language model", "PyTorch": "stands for several programs", "trec": "Did you mean 'trec_eval'?",
}  # fmt: skip
KEYWORDS = {
    "k": (10, "The cutoff belongs to a metric: 'ndcg@10'"), "ties": ("worst", "convention='default(ties=worst)'"),
    "group": ([2], "`groups` are the sizes"), "offset": ([0, 2], "Did you mean 'offsets'?"),
    "y_true": ([1], "the first arguments: "), "sample_weight": ([1], "result.mean(weights=…)"),
    "zzz": ("red", "Leave it out"),
}  # fmt: skip
OWN_KEYWORDS = {
    "tune_fusion": {"k": "'rrf(k=60)'", "method": "methods="}, "agreement": {"k": "The cutoff belongs to a metric"},
    "evaluate_pairs": {"group": "`groups` are", "row": "Did you mean 'rows'?"},
    "evaluate_spans": {"top_k": "The cutoff belongs to a metric"},
    "explain": {"q": "is query=", "qid": "is query=", "metrics": "or metric="},
    "fuse": {
        "k": "'rrf(k=60)'", "norm": "'wsum(norm=min_max)'", "params": "weights=", "alpha": "[alpha, 1 - alpha]",
        "top_k": "fuse(…).top(k)", "queries": "fusion_convention='default(queries=common)'", "qrels": "tune_fusion",
        "weight": "Did you mean 'weights'?", "zzz": "Leave it out",
    },
    "beyond_accuracy": {
        "train": "are `interactions` in beyond_accuracy", "k": "The cutoff belongs to a metric",
        "catalog": "Did you mean 'catalogue'?", "zzz": "Leave it out",
    },
}  # fmt: skip


def test_names_that_people_write_are_found_or_explained():
    for text, words in METRICS.items():
        refused(re.escape(words), fn.evaluate, [[1, 0]], [[2, 1]], text)
    for name, convention in CONVENTIONS.items():
        assert name in fn.conventions
        assert fn.conventions[name].name == convention, name
    for name, words in UNKNOWN_CONVENTIONS.items():
        with pytest.raises(fn.UnknownConventionError, match=re.escape(words)):
            fn.conventions[name]
    for name, (value, words) in KEYWORDS.items():
        calls = {
            "explain": lambda own: fn.explain([[1, 0]], [[2, 1]], "rr", **own),
            "evaluate": lambda own: fn.evaluate([[1, 0]], [[2, 1]], "rr", **own),
            "Evaluator": lambda own: fn.Evaluator([[1, 0]], "rr", **own),
            "compare": lambda own: fn.compare([[1, 0]], {"a": [[2, 1]], "b": [[1, 2]]}, "rr", **own),
        }
        for function, call in calls.items():
            with pytest.raises(TypeError, match=f"^`{name}` is no argument of {function}. .*{re.escape(words)}"):
                call({name: value})
    for function, answers in OWN_KEYWORDS.items():
        metric = ["rr"] if function == "tune_fusion" else []
        for name, words in answers.items():
            with pytest.raises(TypeError, match=f"^`{name}` is no argument of {function}. .*{re.escape(words)}"):
                getattr(fn, function)([[1, 0]], [[2, 1]], *metric, **{name: 60})


def test_names_of_other_programs_in_place_of_arguments_are_answered():
    """Python would say that the first argument is missing, and not where labels, scores and runs go."""
    names = (
        "evaluate Evaluator explain compare gate leaderboard fuse tune_fusion agreement evaluate_spans evaluate_pairs"
    )
    joining = [getattr(fn, name) for name in names.split()] + [fn.beyond_accuracy, spark.evaluate, spark.compare]
    others = ({"y_true": [1], "y_score": [1]}, {"labels": [1], "scores": [1]}, {"qrels": {}, "run": {}})
    for function in joining:
        for keywords in others:
            unknown = next(name for name in keywords if name not in inspect.signature(function).parameters)
            refused(f"^`{unknown}` is no argument of {function.__name__}. ", function, **keywords, metrics="rr")
    refused("`truth` is missing: call evaluate", fn.evaluate, metrics="rr", error=TypeError)
    call = re.escape("gate(truth, baseline, candidate, metrics, …)")
    with pytest.raises(TypeError, match=f"^`y_true` is no argument of gate. .* are the first arguments: {call}"):
        fn.gate(y_true=[1], candidate=[1])
    refused("`offsets` is no argument of gate", fn.gate, [1, 0], [1, 0], [1, 0], "rr", offsets=[0, 2], error=TypeError)


def test_kaggle_s_map_has_the_convention_that_is_named():
    """Two of five relevant documents are found, at ranks 1 and 3: (1/1 + 2/3) / min(3, 5)."""
    convention = "default(ap_denominator=min(k, n_relevant))"
    found = fn.evaluate({"q": list("abxyz")}, {"q": ["a", "n", "b"]}, "map@3", convention=convention)
    assert found["map@3"].tolist() == [pytest.approx((1 + 2 / 3) / 3, rel=1e-15)]


def test_labels_in_rank_order_alone_are_told_their_scores():
    for call in (lambda: fn.ndcg([3, 0, 2]), lambda: fn.evaluate([[3, 0, 2]], metrics="ndcg")):
        refused(re.escape("-rank, such as -numpy.arange"), call)
    ideal = 3 + 2 / log2(3)
    assert fn.ndcg([[3, 0, 2]], -np.arange(3)[None]) == pytest.approx([(3 + 2 / log2(4)) / ideal], rel=1e-15)
