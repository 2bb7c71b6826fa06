"""Messages show at most some 300 characters of a value, and name the remedy of typical mistakes."""

import array
import collections
import operator
import subprocess
import sys

import numpy as np
import pytest
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.errors import join_names, shorten

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1}}
RUN = {"q1": {"d1": 0.5, "d2": 0.2}, "q2": {"d1": 0.1}}
N = 10_000
MOST = 2_000  # characters: several values of 300, and the text around them
TEXT = "x" * N
HUGE = {
    "text": TEXT, "control characters": "\x1b" * N, "bytes": b"x" * N, "list": list(range(N)),
    "list of texts": [TEXT] * 20, "nested list": [[[list(range(N))]]], "tuple": tuple(range(N)),
    "set": set(range(N)), "dict": dict.fromkeys(range(N)),
    "dict of dicts": {"q": {"d": {place: [TEXT] for place in range(N // 20)}}}, "array": np.arange(N),
    "array of texts": np.array([TEXT] * 3), "array of objects": np.array([TEXT, None] * 3, object),
    "bytearray": bytearray(N), "array.array": array.array("d", [0.5]) * N, "range": range(N), "number": 10**5000,
    "deque": collections.deque(range(N)), "mapping": collections.OrderedDict.fromkeys(range(N)),
}  # fmt: skip
RESULT = fn.evaluate(QRELS, RUN, "rr")
TEXTS = ("title", "formula", "range", "undefined", "source")
CALLS = {
    "truth": lambda value: fn.evaluate(value, RUN, "rr"), "predictions": lambda value: fn.evaluate(QRELS, value, "rr"),
    "a query's labels": lambda value: fn.evaluate({"q1": value}, RUN, "rr"),
    "a query's scores": lambda value: fn.evaluate(QRELS, {"q1": value}, "rr"),
    "a label": lambda value: fn.evaluate({"q1": {"d1": value}}, RUN, "rr"),
    "a score": lambda value: fn.evaluate(QRELS, {"q1": {"d1": value}}, "rr"),
    "labels": lambda value: fn.evaluate(value, [[1.0, 2.0]], "rr"),
    "scores": lambda value: fn.evaluate([[1, 0]], value, "rr"),
    "metrics": lambda value: fn.evaluate(QRELS, RUN, value), "a parameter": lambda value: fn.nDCG(gain=value),
    "an unknown parameter": lambda value: fn.nDCG(**{TEXT: value}), "a cutoff": lambda value: fn.nDCG @ value,
    "convention": lambda value: fn.evaluate(QRELS, RUN, "rr", convention=value),
    "a choice": lambda value: fn.conventions["default"].replace(ties=value),
    "a field": lambda value: fn.conventions["default"].replace(**{TEXT: value}),
    "a conventions' name": lambda value: fn.conventions[value],
    "offsets": lambda value: fn.evaluate([1, 0], [1, 2], "rr", offsets=value),
    "groups": lambda value: fn.evaluate([1, 0], [1, 2], "rr", groups=value),
    "query_ids": lambda value: fn.evaluate([1, 0], [1, 2], "rr", query_ids=value),
    "columns": lambda value: fn.Qrels({"query": ["q"], "document": ["d"], "label": [1]}, columns=value),
    "memory": lambda value: fn.evaluate(fn.Rows("absent.parquet", memory=value), metrics="rr"),
    "threads": lambda value: fn.evaluate(QRELS, RUN, "rr", threads=value),
    "progress": lambda value: fn.evaluate(QRELS, RUN, "rr", progress=value),
    "a column of results": lambda value: RESULT[value], "weights": lambda value: RESULT.mean(value),
    "a path": lambda value: fn.Run(value), "format": lambda value: fn.Run("absent.run", format=value),
    "Qrels": lambda value: fn.Qrels(value), "Run": lambda value: fn.Run({TEXT: value}),
    "Rankings": lambda value: fn.Rankings(value, value, [0, 1]), "Interactions": lambda value: fn.Interactions(value),
    "Recommendations": lambda value: fn.Recommendations([[1]], duplicates=value),
    "a query": lambda value: fn.explain(QRELS, RUN, "rr", query=value),
    "systems": lambda value: fn.compare(QRELS, value, "rr"),
    "baseline": lambda value: fn.compare({"a": RESULT, "b": RESULT}, baseline=value),
    "test": lambda value: fn.compare({"a": RESULT, "b": RESULT}, test=value),
    "level": lambda value: fn.compare({"a": RESULT, "b": RESULT}, level=value),
    "replicates": lambda value: fn.compare({"a": RESULT, "b": RESULT}, replicates=value),
    "segments": lambda value: fn.compare({"a": RESULT, "b": RESULT}).by(value),
    "a margin": lambda value: fn.compare({"a": RESULT, "b": RESULT}).equivalence(value),
    "a gate's margin": lambda value: fn.gate(None, RESULT, RESULT, margin=value),
    "a floor": lambda value: fn.gate(None, RESULT, RESULT, floors={"rr": value}),
    "power": lambda value: fn.plan(0.1, from_=0.2, power=value), "n": lambda value: fn.plan(n=value, from_=0.2),
    "std": lambda value: fn.plan(0.1, from_=value), "clusters": lambda value: fn.plan(0.1, from_=0.2, clusters=value),
    "a mean": lambda value: fn.audit(value, 10),
    "a span": lambda value: fn.evaluate_spans({"q": [("a", 0, value)]}, {}),
    "a published mean": lambda value: fn.leaderboard({"a": {"x": value, "y": 1}, "b": {"x": 1, "y": 0}}),
    "depth": lambda value: fn.fuse([RUN, RUN], depth=value), "k": lambda value: fn.Embeddings([[1]], [[1]]).top(value),
    "weights of runs": lambda value: fn.fuse([RUN, RUN], "wsum", weights=[value, 1]),
    "folds": lambda value: fn.tune_fusion(QRELS, [RUN, RUN], "rr", folds=value),
    "repeats": lambda value: fn.tune_fusion(QRELS, [RUN, RUN], "rr", repeats=value),
    "seed": lambda value: fn.tune_fusion(QRELS, [RUN, RUN], "rr", seed=value),
    "memory of a model": lambda value: fn.Embeddings([[1]], [[1]], memory=value).top(1),
    "Streaming": lambda value: fn.StreamingEvaluator(value),
    "a registered name": lambda value: fn.register(len, name=value, **dict.fromkeys(TEXTS, "")),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_messages_about_huge_values_are_short(call):
    messages = {}
    for name, value in HUGE.items():
        try:
            call(value)
        except (fn.FastndcgError, OSError, TypeError) as error:  # Python's own TypeError is about keys of a dict
            messages[name] = str(error)
    assert {name for name, message in messages.items() if len(message) >= MOST} == set()
    assert len(messages) > len(HUGE) / 2  # most values are refused


def test_shortened_values_and_names():
    for name, value in HUGE.items():
        assert 0 < len(shorten(value)) <= 300, name

    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert shorten(Broken()) == "<Broken whose repr raises RuntimeError>"
    assert join_names(["a", "b"]) == "'a', 'b'"
    assert join_names([str(place) for place in range(N)]).endswith(f", … ({N} in all)")
    assert len(join_names([TEXT] * 5)) <= 300
    systems = {f"system {place} {'x' * 50}": RESULT for place in range(200)}
    with pytest.raises(fn.InvalidInputError) as refused:
        fn.compare(systems, baseline="zzz")
    assert len(str(refused.value)) < MOST


def test_shorten_builds_no_more_than_it_shows():
    class Counted:
        times = 0

        def __repr__(self):
            Counted.times += 1
            return "item"

    assert shorten([Counted() for _ in range(N)]).endswith(f"… ({N} in all)]")
    assert shorten({place: Counted() for place in range(N)}).endswith(f"… ({N} in all)}}")
    assert Counted.times <= 40


@pytest.mark.parametrize("value", ["a", 1, 1.5, None, True, [1, "a"], (1,), (), {"a": 1}, {1}, frozenset([1]), b"a"])
def test_shorten_of_a_short_value_is_its_repr(value):
    assert shorten(value) == repr(value)


ARRAYS = ([[1, 0]], [[2.0, 1.0]])
FOUR = [4.0, 3.0, 2.0, 1.0]
CHROMA = {"ids": [["a", "b"], ["c"]], "distances": [[0.1, 0.2], [0.3]]}
COMPARED = {"a": fn.evaluate(*ARRAYS, "ndcg@1,ndcg@2,ndcg@3"), "b": fn.evaluate(*ARRAYS, "ndcg@1,ndcg@2,ndcg@3")}


def compare():
    """Return a comparison with the curve of nDCG."""
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib")
    return fn.compare(COMPARED)


test_typical_mistakes_are_told_what_to_pass = refuses(operator.call, {
    "a cutoff by place": (lambda: fn.ndcg(*ARRAYS, 10), "The cutoff is a keyword: k=10"),
    "a cutoff by place, arrays": (lambda: fn.reciprocal_rank(*ARRAYS, 5), "cutoff is a keyword: k=5"),
    "the mean of a metric": (lambda: RESULT.mean("rr"), r"For the mean of one metric take mean\(\)\['RR'\]"),
    "the mean of a Metric": (lambda: RESULT.mean(fn.RR), r"take mean\(\)\['RR'\]"),
    "weights beyond int64": (lambda: RESULT.mean([2**70, 0]), "must fit int64 or float64, but one is 1180591"),
    "weights of lists": (lambda: RESULT.mean([[1], [0, 1]]), r"but NumPy cannot convert \[\[1\], \[0, 1\]\]"),
    "a nested run": (lambda: fn.evaluate(QRELS, {"default": {"test": RUN}}, "rr"), r"Give run\['default'\]\['test'\]$"),
    "a nested truth": (lambda: fn.evaluate({"a": {"b": QRELS}}, RUN, "rr"), r"Give qrels\['a'\]\['b'\]$"),
    "one run in a list": (lambda: fn.evaluate(QRELS, [RUN], "rr"), r"a list of one. Give predictions\[0\]$"),
    "runs": (lambda: fn.evaluate(QRELS, {"x": RUN, "y": RUN}, "rr"), r"dict of several \('x', 'y'\). .* fn.compare\("),
    "truths": (lambda: fn.evaluate([QRELS, QRELS], RUN, "rr"), r"list of several \(2 in all\). Give one of them$"),
    "parts of results": (lambda: fn.evaluate(QRELS, {"q1": {"docs": ["d1"], "scores": [1.0]}}, "rr"),
        r"'q1' maps to \{'docs': .*\}, which gives no numbers. Give .*, such as dict\(zip\(ids, numbers\)\)$"),
    "facts of documents": (
        lambda: fn.evaluate(QRELS, {"q1": {"d1": {"score": 1.0}}}, "rr"), "'q1' maps to .* gives no numbers"),
    "a path in a dict": (lambda: fn.evaluate(QRELS, {"bm25": "a.run"}, "rr"), "For paths of several systems: "),
    "Chroma's lists": (lambda: fn.evaluate(QRELS, CHROMA, "rr"), r"Chroma, .* dict\(zip\(query_ids, result\['ids'\]"),
    "Chroma's dict": (lambda: fn.evaluate(QRELS, CHROMA | {"documents": None}, "rr"), "is a result of Chroma"),
    "means as a baseline": (lambda: fn.gate(QRELS, {"rr": 0.4, "map": 1}, RUN, "map"), "of 'rr', 'map'.* as floors="),
    "one label less": (lambda: fn.evaluate([1, 0, 1], FOUR, "rr", groups=[2, 2]), "^`labels` .* 4, like `groups` .* 3"),
    "labels less": (lambda: fn.ndcg([1, 0], FOUR, query_ids=[7, 7, 8, 8]), "^`labels` must have length 4, like `query"),
    "a label more": (lambda: fn.ndcg([1] * 5, FOUR, [0, 2, 4]), "^`labels` .* 4, like `offsets` .* has 5"),
    "ids as groups": (lambda: fn.ndcg([1, 0, 1, 0], FOUR, groups=[7, 7, 8, 8]), "of each document as query_ids$"),
    "texts as groups": (lambda: fn.ndcg([1, 0, 1, 0], FOUR, groups=list("aabb")), "of each document as query_ids$"),
    "wrong groups": (lambda: fn.ndcg([1, 0, 1, 0], FOUR, groups=[2, 3]), "add up to the number of documents, 4, but"),
    "an empty truth": (lambda: fn.evaluate({}, RUN, "rr"), "^the qrels must have a query, but are empty"),
    "an empty run": (lambda: fn.evaluate(QRELS, {}, "rr"), "^the run must have a query, but is empty"),
    "empty labels": (lambda: fn.evaluate([], [], "rr"), "^`labels` must hold documents, but is empty"),
    "a value that only a convention leaves out": (
        lambda: fn.evaluate({"q": {"a": 0}}, {"q": {"a": 1}}, "rr", convention="rectools(undefined=raise)"),
        r"query q has none \(nothing is relevant\)"),
    "a curve at a cutoff": (lambda: compare().plot("curve", metric="ndcg@2"), "Give metric='nDCG', not 'nDCG@2'"),
    "a forest of a system": (lambda: compare().plot("forest", system="zzz"), "^`system` is for a histogram"),
    "a text for a number": (lambda: fn.explain({1: {"a": 1}}, {1: {"a": 2}}, "rr", query="1"),
        "none is called '1'. The ids are such as 1: write it like them, of one type"),
    **{f"{what} by texts for numbers": (
        lambda what=what: COMPARED["a"].confidence_interval("ndcg@1", **{what: {"0": 1}}),
        f"^`{what}` must have the ids of the queries, such as 0, but has none of them. Its first id is '0'")
        for what in ("weights", "clusters", "strata")},
    "segments by numbers": (lambda: fn.compare(COMPARED).by({7: 1}), "^`segments` must have the ids of"),
    "another convention": (lambda: fn.conventions["default"].difference("lightgmb"), "Did you mean 'lightgbm'"),
}, error=fn.FastndcgError)  # fmt: skip


def test_a_convention_is_compared_with_a_name():
    default, other = fn.conventions["default"], fn.conventions["lightgbm"]
    assert default.difference("lightgbm") == default.difference(other) != {}


def test_results_say_what_did_not_happen():
    """No scores tie, and no query differs."""
    assert str(fn.evaluate(*ARRAYS, "rr")).endswith("convention default; no ties between different labels")
    pytest.importorskip("scipy")
    same, other = (fn.evaluate([[1, 0]] * 3, [[2, 1], [2, 1], last], "rr") for last in ([2, 1], [1, 2]))
    notes = fn.compare({"a": same, "b": same, "c": other}).remarks
    assert notes == ("b (RR): no query differs", "c (RR): too few queries differ for a p below 1.0000")
    counted = fn.evaluate([[1, 0]] * 3, [[2, 1]] * 3, "num_ret")
    assert fn.compare({"a": counted, "b": counted}).remarks == ("b (num_ret): no query differs",)
    interval = other.confidence_interval("rr")
    assert repr(interval) == f"Interval({interval})"


def test_a_missing_value_of_a_file_is_in_a_line(tmp_path):
    """Comments, blank lines and line breaks in fields count, as in an editor."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "qrels.csv"
    for text, line in (
        ("query,docid,rating\na,1,3\na,2,0\nb,3,\n", 4),
        ('# two\n\nquery,docid,rating\n"a\nb",1,3\n\n,2,0\n', 7),
    ):
        path.write_text(text, encoding="utf-8")
        refused(rf"must have no null, but column '\w+' has one in line {line}\.", fn.Qrels, path)


@pytest.mark.parametrize("files", [[], ["a.run"]])
def test_error_on_folder_of_runs_says_to_name_files(files, tmp_path):
    pytest.importorskip("pyarrow")
    for name in files:
        (tmp_path / name).write_text("q1 Q0 d1 1 0.5 x\n", encoding="utf-8")
    refused(r"(?i)name files of other formats one by one, such as .*\*.run", fn.evaluate, QRELS, tmp_path, "rr")


SWAPPED = "no label is a whole number, and all scores are: were truth and predictions swapped?"


def test_swapped_truth_and_predictions_are_noted():
    for truth, run in (({"q1": {"a": 0.9, "b": 0.3}}, {"q1": {"a": 1, "b": 0, "c": 2}}), ([[0.9, 0.3]], [[0, 1]])):
        result = fn.evaluate(truth, run, "ndcg")
        assert result.notes == (SWAPPED,)
        assert str(result).splitlines()[-1] == SWAPPED
        assert SWAPPED in result._repr_html_()
    for truth, run in (
        ([[1.0, 0.5]], [[1, 0]]), ([[0.9, 0.3]], [[0.5, 2]]), ([[1, 0]], [[1, 0]]), ([[1.0, 0.0]], [[3, 2]]),
        ({"q1": {"a": 1, "b": 0}}, {"q1": {"a": 2, "b": 1}}),
    ):  # fmt: skip
        assert fn.evaluate(truth, run, "ndcg").notes == ()
    named = fn.evaluate([[0.9, 0.3]], [[1, 0]], "ndcg,rr")
    pytest.importorskip("scipy")
    assert SWAPPED in fn.compare({"a": named, "b": named}, test="t", interval="t").notes


class TestCommand:
    def test_an_import_that_exits_is_an_error(self, files, wrong):
        (files / "ends.py").write_text("import sys\nsys.exit(5)\n", encoding="utf-8")
        message = "--import ends.py: the file must not end the process, but it calls sys.exit(5)"
        wrong(message, "--import", "ends.py", "evaluate")

    def test_messages_are_one_short_line(self, run, wrong):
        for arguments in ([TEXT], ["evaluate", "-m", TEXT], ["evaluate", TEXT, TEXT], ["evaluate", "--threads", TEXT]):
            wrong("", *arguments)
            assert len(run(*arguments)[2]) < MOST

    @pytest.mark.parametrize("words", ["evaluate -m nothing", "nothing", "evaluate absent absent"])
    def test_a_closed_standard_error_keeps_the_exit_code(self, words):
        command = 'exec "$0" -m fastndcg "$@" 2>&-'
        done = subprocess.run(["/bin/sh", "-c", command, sys.executable, *words.split()], check=False)
        assert done.returncode == 2
