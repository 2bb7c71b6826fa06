"""Judgments by subtopic: every form of input, errors, and the command line."""

import numpy as np
import pytest
import strategies
from diversity_strategies import METRICS, random_matrices
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses

import fastndcg as fn

JUDGMENTS = [
    ("q1", "s1", "a", 1), ("q1", "s2", "a", 2), ("q1", "s1", "b", 1), ("q1", "s3", "c", 1), ("q1", "s1", "d", 0),
    ("q2", "s1", "a", 0), ("q2", "s2", "b", 1), ("q2", "s2", "a", -2), ("q2", "s9", "b", 3),
]  # fmt: skip
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0, "c": 0.5}, "q2": {"a": 1.0, "b": 1.0}}


def nested(judgments):
    found = {}
    for query, subtopic, document, label in judgments:
        found.setdefault(query, {}).setdefault(document, {})[subtopic] = label
    return found


@pytest.fixture(scope="module")
def expected():
    return fn.evaluate(fn.DiversityQrels(*zip(*JUDGMENTS, strict=True)), RUN, METRICS).values


class TestInputs:
    def test_order_of_rows_changes_no_bit(self, expected):
        for seed in range(5):
            rows = [JUDGMENTS[place] for place in np.random.default_rng(seed).permutation(len(JUDGMENTS))]
            result = fn.evaluate(fn.DiversityQrels(*zip(*rows, strict=True)), RUN, METRICS)
            by_query = dict(zip(result.query_ids, result.values, strict=True))
            assert np.array([by_query["q1"], by_query["q2"]]).tobytes() == expected.tobytes()

    @strategies.examples(60)
    @given(data=st.data())
    def test_any_lines(self, tmp_path_factory, data):
        ids = st.text("aé0.-\u2028", min_size=1, max_size=9)
        blanks = st.text(" \t\v\f", min_size=1, max_size=3)
        rows = data.draw(st.lists(st.tuples(ids, ids, ids), min_size=1, max_size=9, unique=True))
        lines = [[query, topic, document, str(n % 3)] for n, (query, topic, document) in enumerate(rows)]
        path = tmp_path_factory.mktemp("qrels") / "qrels"
        path.write_bytes("".join(data.draw(blanks).join(line) + "\n" for line in lines).encode())
        run = {query: {document: 1.0 for _, _, document in rows} for query, _, _ in rows}
        found = fn.evaluate(fn.Qrels(path, format="trec_diversity"), run, METRICS)
        queries, topics, documents, labels = zip(*lines, strict=True)
        given_lists = fn.DiversityQrels(queries, topics, documents, [int(label) for label in labels])
        assert found.values.tobytes() == fn.evaluate(given_lists, run, METRICS).values.tobytes()

    def test_matrices(self):
        labels, scores, offsets = random_matrices(8, 9)
        expected = fn.evaluate(labels, scores, METRICS, offsets=offsets).values
        sizes = np.diff(offsets)
        assert fn.evaluate(labels, scores, METRICS, groups=sizes).values.tobytes() == expected.tobytes()
        queries = np.repeat(np.arange(len(sizes)), sizes)
        with_documents = fn.evaluate(labels, scores, METRICS, query_ids=queries)
        assert with_documents.values.tobytes() == expected[sizes > 0].tobytes()
        q = int(np.argmax(sizes))
        own = slice(offsets[q], offsets[q + 1])
        alone = fn.evaluate(labels[None, own], scores[None, own], METRICS)
        assert alone.values.tobytes() == expected[q].tobytes()

    @pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i8", "f2", "f4", "f8"])
    def test_dtype_of_labels_changes_nothing(self, dtype):
        labels, scores, offsets = random_matrices(8, 9)
        labels = np.minimum(labels, 1)
        expected = fn.evaluate(labels, scores, METRICS, offsets=offsets).values
        for array in (labels.astype(dtype), np.asfortranarray(labels.astype(dtype))):
            assert fn.evaluate(array, scores, METRICS, offsets=offsets).values.tobytes() == expected.tobytes()

    @strategies.examples(60)
    @given(data=st.data())
    def test_ids_and_matrices_agree(self, data):
        n_documents, n_subtopics = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
        label = st.sampled_from([0, 0, 1, 2, -1])
        labels = data.draw(st.lists(st.lists(label, min_size=n_subtopics, max_size=n_subtopics),
                                    min_size=n_documents, max_size=n_documents))  # fmt: skip
        scores = data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n_documents, max_size=n_documents))
        names = [f"d{n_documents - place}" for place in range(n_documents)]
        judgments = {"q": {name: dict(enumerate(row)) for name, row in zip(names, labels, strict=True)}}
        # a label of 0 by id names a nugget, a column of zeros does not
        metrics = [metric for metric in METRICS if metric.name != "nugget_recall"]
        ours = fn.evaluate(judgments, {"q": dict(zip(names, scores, strict=True))}, metrics)
        matrix = fn.evaluate([labels], [scores], metrics, convention="default(negative_labels=zero)")
        assert ours.values.tobytes() == matrix.values.tobytes()


class TestErrors:
    def test_one_label_a_document(self):
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            with pytest.raises(fn.InvalidInputError, match=r"`truth` must have judgments by subtopic for alpha_nDCG@5"):
                evaluate([1, 0], [2, 1], "alpha-nDCG@5", offsets=[0, 2])
            refused(r"judgments by subtopic", evaluate, {"q": {"d": 1}}, {"q": {"d": 1.0}}, "nDCG, ERR-IA@5")

    @pytest.mark.parametrize(("text", "message"), [
        ("1 s1 a nan\n", "line 1: label of document a must be finite"),
        ("1 s1 a 1\n1 s1 a\n", r"line 2: must have 4 fields \(query, subtopic, document, label\), but has 3"),
        ("1 s1 a x\n", "line 1: label must be a number, but is 'x'"), ("", "is empty"),
        ("1 s1 a 1\n1 s2 a 1\n\n1 s1 a 0\n", "qrels, line 4: a document must stand once in a subtopic .* a "),
    ])  # fmt: skip
    def test_bad_lines(self, put, text, message):
        path = put(text, "qrels")
        refused(message, fn.Qrels, path, format="trec_diversity")

    def test_bad_matrices(self):
        finite = r"`labels` must be finite, but labels\[0, 1\] is nan"
        refused(finite, fn.evaluate, [[1, np.nan]], [1], "P_IA@5", groups=[1])
        shape = r"`scores` must have the shape of `labels`, \(2,\)"
        refused(shape, fn.evaluate, [[1, 0], [0, 1]], [[1, 0], [0, 1]], "P_IA@5", groups=[2])
        convention = "default(negative_labels=raise)"
        for evaluate in (fn.evaluate, fn.reference.evaluate):
            negative = r"must not be negative, but labels\[1, 1\] is -2"
            refused(negative, evaluate, [[1, 0], [1, -2]], [1, 2], "P_IA@5, nDCG", groups=[2])
            named = r"that of document a \(the qrels\) is -2"
            refused(named, evaluate, nested(JUDGMENTS), RUN, "nDCG", convention=convention)


test_bad_dicts = refuses(lambda judgments: fn.evaluate(judgments, {"q": {"a": 1.0}}, "P_IA@5"), [
    ({"q": {"a": {"s": 1}}, "r": [1]}, r"^`qrels` must map queries to dicts, but 'r' maps to \[1\]"),
    ({"q": {"a": {"s": 1}, "b": 1}}, "document 'b' of query 'q' has 1"),
    ({"q": {"a": {"s": 1}, "b": {}}}, "document 'b' of query 'q' has {}"),
    ({"q": {"a": {"s": "x"}}}, "must hold numbers"), ({"q": {"a": {"s": float("inf")}}}, "must be finite"),
    ({"q": {"a": {1: 1}, "b": {"s": 1}}}, "ids of subtopics in the qrels must be all texts or all whole"),
])  # fmt: skip
test_metrics_without_a_definition = refuses(
    lambda metric, ties: fn.evaluate([[[1, 0]]], [[1]], metric, convention=f"default(ties={ties})"), [
    ("alpha_nDCG", "best", "must have a tie policy that it is defined for"),
    ("alpha_nDCG", "worst", "must have a tie policy that it is defined for"),
    ("alpha_DCG@1000000000", "average", "must be at most 16777216"),
    ("ERR_IA@1000000000", "average", "must be at most 16777216"),
])  # fmt: skip


def test_command_line(put, shown, wrong):
    qrels = put("".join(" ".join(map(str, row)) + "\n" for row in JUDGMENTS), "qrels")
    rows = [(query, document, score) for query, row in RUN.items() for document, score in row.items()]
    run = put("".join(f"{query} Q0 {document} 0 {score} name\n" for query, document, score in rows), "run")
    command = ("-m", "alpha-nDCG@10,AP", "--format", "csv")
    output = shown("evaluate", qrels, run, "--qrels-format", "trec_diversity", *command)
    result = fn.evaluate(nested(JUDGMENTS), RUN, "alpha-nDCG@10,AP")
    assert output.splitlines()[1].startswith(f"name,{result.means()[0]},{result.means()[1]},2,")
    wrong("--qrels-format trec_diversity", "evaluate", put("q1 0 a 1\n", "plain"), run, "-m", "alpha-nDCG@10")


def test_explain_has_no_words_for_them():
    refused("alpha_nDCG@5 uses one per subtopic", fn.explain, nested(JUDGMENTS), RUN, "alpha_nDCG@5", query="q1")
    explained = fn.explain(nested(JUDGMENTS), RUN, "DCG@5", query="q1")
    assert [one.label for one in explained.ranking] == [1, 2, None, 1]
    assert explained.value == fn.evaluate(nested(JUDGMENTS), RUN, "DCG@5")["DCG@5"][0]
