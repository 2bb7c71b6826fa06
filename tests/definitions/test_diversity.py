"""Every metric by subtopic by its definition: the arithmetic written out, for the kernels and for the reference."""

from math import log2, nan

import numpy as np
import pytest
import strategies
from evaluators import EVALUATE, exactly
from refusals import refused, refuses

import fastndcg as fn

# documents in rank order, each the subtopics that it is relevant to; then those that were judged and not retrieved
TWO, ONE, NONE, THIRD = "st", "s", "", "u"
DISCOUNTED = 1 / log2(2) + (1 / 2 + 1) / log2(3) + 1 / log2(5)  # of ONE, TWO, NONE, THIRD
BEST = (1 + 1) / log2(2) + 1 / log2(3) + (1 / 2) / log2(4)  # TWO, THIRD, ONE
RANKING = [ONE, TWO, NONE, THIRD]

DEFINITIONS = {
    "alpha_nDCG": [
        ("alpha-nDCG", RANKING, [], DISCOUNTED / BEST),
        ("alpha-nDCG@2", RANKING, [], (1 + (1 / 2 + 1) / log2(3)) / (2 + 1 / log2(3))),
        ("alpha-nDCG@1", RANKING, [], 1 / 2),
        ("alpha-nDCG(alpha=0.25)@2", [ONE, ONE], [], (1 + 0.75 / log2(3)) / (1 + 0.75 / log2(3))),
        ("alpha-nDCG(alpha=1)@3", [ONE, ONE, THIRD], [], (1 + 0 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3))),
        ("alpha-nDCG(alpha=0)@2", [ONE, NONE, TWO], [], 1 / (2 + 1 / log2(3))),
        ("alpha-nDCG@5", [NONE], [THIRD], 0.0),
        ("alpha-nDCG@5", [NONE], [], nan),
        ("alpha-nDCG(rel=2)@5", RANKING, [], nan),
    ],
    "alpha_DCG": [
        ("alpha-DCG@2", RANKING, [], (1 + (1 / 2 + 1) / log2(3)) / (3 + (3 / 2) / log2(3))),
        ("alpha-DCG@1", RANKING, [], 1 / 3), ("alpha-DCG", [TWO], [ONE, THIRD], 2 / 3),
        ("alpha-DCG(alpha=0.25)@2", [ONE, ONE], [THIRD], (1 + 0.75 / log2(3)) / (2 + 2 * 0.75 / log2(3))),
        ("alpha-DCG@3", [TWO], [], 2 / (2 + (2 / 2) / log2(3) + (2 / 4) / log2(4))), ("alpha-DCG", [], [ONE], 0.0),
        ("alpha-DCG@3", [NONE], [NONE], nan),
    ],
    "nERR_IA": [
        ("nERR-IA", RANKING, [], (1 + (1 / 2 + 1) / 2 + 1 / 4) / (2 + 1 / 2 + (1 / 2) / 3)),
        ("nERR-IA@1", RANKING, [], 1 / 2),
        ("nERR-IA(alpha=0.9)@2", [ONE, ONE, TWO], [], (1 + 0.1 / 2) / (2 + 0.1 / 2)), ("nERR-IA@3", [], [ONE], 0.0),
        ("nERR-IA@3", [NONE], [], nan),
    ],
    "ERR_IA": [
        ("ERR-IA@4", RANKING, [], (1 + (1 / 2 + 1) / 2 + 1 / 4) / (3 * (1 + 1 / 4 + 1 / 12 + 1 / 32))),
        ("ERR-IA@1", RANKING, [], 1 / 3), ("ERR-IA", [THIRD], RANKING, 1 / 3),
        ("ERR-IA(alpha=0)@2", [ONE, ONE], [], 1.0), ("ERR-IA", [], [], nan),
    ],
    "nNRBP": [
        ("nNRBP", RANKING, [], (1 + (1 / 2 + 1) / 2 + 1 / 8) / (2 + 1 / 2 + (1 / 2) / 4)),
        ("nNRBP(beta=0.8)", [NONE, ONE], [ONE], 0.8 / (1 + 0.8 / 2)),
        ("nNRBP(alpha=0.25,beta=0.8)", [ONE, ONE], [TWO], (1 + 0.8 * 0.75) / (2 + 0.8 * 0.75 + 0.8**2 * 0.75**2)),
        ("nNRBP", [NONE], [], nan),
    ],
    "NRBP": [
        ("NRBP", RANKING, [], (1 - (1 / 2) * (1 / 2)) / 3 * (1 + (1 / 2 + 1) / 2 + 1 / 8)),
        ("NRBP(alpha=0.25,beta=0.8)", [ONE, ONE], [], (1 - 0.75 * 0.8) * (1 + 0.8 * 0.75)),
        ("NRBP", [NONE], [ONE], 0.0), ("NRBP", [NONE], [], nan),
    ],
    "P_IA": [
        ("P-IA@2", RANKING, [], (2 / 2 + 1 / 2 + 0 / 2) / 3), ("P-IA@5", RANKING, [], (2 / 5 + 1 / 5 + 1 / 5) / 3),
        ("P-IA", RANKING, [TWO], (2 / 4 + 1 / 4 + 1 / 4) / 3), ("P-IA@2", [], [ONE], 0.0), ("P-IA", [], [ONE], 0.0),
        ("P-IA@2", [NONE], [], nan),
    ],
    "AP_IA": [
        ("MAP-IA", RANKING, [], ((1 / 1 + 2 / 2) / 2 + 1 / 2 + 1 / 4) / 3),
        ("MAP-IA", RANKING, [ONE], ((1 / 1 + 2 / 2) / 3 + 1 / 2 + 1 / 4) / 3),
        ("MAP-IA@2", RANKING, [], ((1 / 1 + 2 / 2) / 2 + 1 / 2 + 0) / 3), ("MAP-IA", [], [ONE], 0.0),
        ("MAP-IA", [NONE], [], nan),
    ],
    "S_recall": [
        ("S-recall@1", RANKING, [], 1 / 3), ("S-recall@2", RANKING, [], 2 / 3), ("strec", RANKING, ["v"], 3 / 4),
        ("strec@3", [], [ONE], 0.0), ("evidence_recall@3", [NONE], [], nan),
    ],
    "all_evidence": [
        ("all_evidence@3", RANKING, [], 0.0), ("all_evidence@4", RANKING, [], 1.0),
        ("all_evidence", RANKING, ["v"], 0.0), ("all_evidence@3", [], [ONE], 0.0),
        ("all_evidence@3", [NONE], [], nan),
    ],
    "nugget_recall": [
        ("nugget_recall@2", RANKING, [], 2 / 4),  # s, t, u and v are nuggets, v of no document
        ("nugget_recall(rel=2)@2", RANKING, [], (1 / 2 + 1 / 2) / 4),
        ("nugget_recall(rel=2,partial=0.25)", RANKING, ["v"], 3 * 0.25 / 4),
        ("nugget_recall(rel=2,partial=0)@2", RANKING, [], 0.0), ("nugget_recall@2", [], [ONE], 0.0),
        ("nugget_recall", [NONE], [], 0 / 4),
    ],
}  # fmt: skip
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


def evaluated(evaluate, metric, documents, unretrieved, scores):
    """Evaluate documents with ids in the reverse order of ranks, so that ids break no tie of the ideal."""
    every = [*documents, *unretrieved]
    names = [f"d{len(every) - place:02}" for place in range(len(every))]
    judgments = {
        "q": {name: {s: int(s in document) for s in "stuv"} for name, document in zip(names, every, strict=True)}
    }
    run = {"q": dict(zip(names, scores, strict=False))}
    if not every:
        patterns = fn.DiversityQrels(["q"], ["s"], ["d"], [0]).patterns
        return evaluate(fn.Rankings([], [], [0, 0], patterns=patterns), metrics=metric)[metric]
    if not documents:
        judgments["other"], run = judgments["q"], {"other": {names[0]: 1.0}}
    return evaluate(judgments, run, metric)[metric][:1]


def test_diversity_definitions_are_complete():
    assert list(DEFINITIONS) == strategies.BY_SUBTOPIC
    for name, of_record in DEFINITIONS.items():
        assert {fn.Metric.parse(metric).name for metric, *_ in of_record} == {name}


@pytest.mark.parametrize(("metric", "documents", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_diversity_metric_equals_definition(evaluate, metric, documents, unretrieved, expected):
    scores = [-rank for rank in range(len(documents))]
    assert evaluated(evaluate, metric, documents, unretrieved, scores) == exactly(expected)


@pytest.mark.parametrize(("metric", "documents", "expected"), [
    # each order of s and st is as likely: 1 + (1/2 + 1)/log2(3), or 2 + (1/2)/log2(3)
    ("alpha-nDCG", [ONE, TWO], (1.5 + 1 / log2(3)) / (2 + (1 / 2) / log2(3))),
    # s at ranks 1 and 2, 1 and 3, or 2 and 3
    ("nERR-IA", [ONE, ONE, NONE], ((1 + 1 / 4) + (1 + 1 / 6) + (1 / 2 + 1 / 6)) / 3 / (1 + 1 / 4)),
    ("P-IA@1", [TWO, ONE, NONE], (2 / 2 + 1 / 2 + 0) / 3), ("MAP-IA", [ONE, NONE], (1 + 1 / 2) / 2),
    # without s: one of three pairs of ranks; without t: two of three
    ("S-recall@1", [ONE, TWO, NONE], (2 / 3 + 1 / 3) / 2), ("nugget_recall@1", [ONE, TWO, NONE], (2 / 3 + 1 / 3) / 4),
    # two of three documents: only s with st, or st with u, lack none of s, t and u: one pair of three
    ("all_evidence@2", [ONE, TWO, THIRD], 1 / 3), ("all_evidence@3", ["s", "t", "u", NONE, NONE, NONE], 1 / 20),
])  # fmt: skip
@EVALUATE
def test_ties_are_the_mean_over_their_orders(evaluate, metric, documents, expected):
    assert evaluated(evaluate, metric, documents, [], [1.0] * len(documents)) == exactly(expected)


@pytest.mark.parametrize(
    ("n", "n_relevant"), [(40, 7), (500, 500), (3000, 2), (400, 130)] if strategies.JIT else [(40, 7)]
)
def test_large_ties_are_hypergeometric(n, n_relevant):
    """The number of relevant documents above a rank is hypergeometric if hundreds of scores are equal."""
    hypergeom = pytest.importorskip("scipy.stats").hypergeom
    labels = [[1]] * n_relevant + [[0]] * (n - n_relevant)
    above, counts = np.arange(n), np.arange(n_relevant)
    chances = hypergeom.pmf(counts, n - 1, n_relevant - 1, above[:, None])
    for alpha in (0, 0.01, 0.5, 1):
        metric = fn.NRBP(alpha=alpha, beta=0.99)
        found = fn.evaluate(labels, [0.5] * n, metric, groups=[n])[metric]
        gains = (n_relevant / n) * (chances * (1.0 - alpha) ** counts).sum(axis=1)
        expected = (1 - (1 - alpha) * 0.99) * (gains * 0.99**above).sum()
        assert found == pytest.approx([expected], rel=1e-10), alpha


def test_diversity_greedy_ideal_can_be_exceeded():
    """Of three documents that gain as much, the greedy order begins with the one that leaves less to the others."""
    documents = ["tu", "st", "uv"]  # ranked third, first and second
    value = evaluated(fn.evaluate, "alpha-nDCG(alpha=1)@2", documents, [], [1, 3, 2])
    assert value == exactly((2 + 2 / log2(3)) / (2 + 1 / log2(3)))


def test_labels_have_a_threshold():
    judgments = {"q": {"b": {"s": 1, "t": 2}, "a": {"s": 3}}}
    run = {"q": {"b": 2.0, "a": 1.0}}
    assert fn.evaluate(judgments, run, "P_IA(rel=2)@1")["P_IA(rel=2)@1"] == exactly((0 / 1 + 1 / 1) / 2)
    assert fn.evaluate(judgments, run, "S_recall(rel=3)@1")["S_recall(rel=3)@1"] == exactly(0 / 1)
    assert fn.evaluate(judgments, run, "S_recall(rel=3)@2")["S_recall(rel=3)@2"] == exactly(1 / 1)


JUDGED = {"q": {"d1": {"n1": 1, "n2": 0.5}, "d2": {"n3": 1}, "d3": {"n1": 0.5}}}
IMPORTANCE = {"q": {"n1": "vital", "n2": "Vital", "n3": "okay", "n4": 0.5}}  # no document supports n4


@EVALUATE
def test_nuggets_have_importance_and_partial_support(evaluate):
    """Vital nuggets count 1 and okay ones 1/2; partial support counts 1/2. The strict score is of vital nuggets."""
    qrels = fn.DiversityQrels(JUDGED, importance=IMPORTANCE)
    run = {"q": ["d3", "d2", "d1"]}
    for metric, expected in {
        "nugget_recall@1": 1 * (1 / 2) / (1 + 1 + 1 / 2 + 1 / 2),
        "nugget_recall@2": (1 * (1 / 2) + 1 / 2) / 3,
        "nugget_recall": (1 + 1 / 2 + 1 / 2) / 3,
        "nugget_recall(importance=equal)": (1 + 1 / 2 + 1 + 0) / 4,
        "nugget_recall(importance=vital)": (1 + 1 / 2) / 2,
        "nugget_recall(importance=vital,partial=0)": 1 / 2,
        "S_recall": (1 + 1) / 2,  # of the subtopics with a document whose label is 1
    }.items():
        assert evaluate(qrels, run, metric).values[0] == exactly(expected), metric
    tied = {"q": {"d1": 1.0, "d2": 1.0, "d3": 1.0}}
    each = [(1 + 1 / 2) / 3, (1 / 2) / 3, (1 / 2) / 3]  # d1, d2 or d3 first
    assert evaluate(qrels, tied, "nugget_recall@1").values[0] == exactly(sum(each) / 3)


def test_importance_lasts_through_files_and_filters(tmp_path):
    """CSV and frames have the importance, also of nuggets that no document supports. JSON refuses it."""
    pytest.importorskip("pyarrow")
    other = {"p": {"d": {"n9": 1, "n1": 0}}, **JUDGED}
    qrels = fn.DiversityQrels(other, importance=IMPORTANCE)
    run = {"q": ["d3", "d1"], "p": ["x"]}
    expected = fn.evaluate(qrels, run, "nugget_recall@1, nugget_recall").values
    assert expected.tolist() == [[0, 0], [(1 / 2) / 3, (3 / 2) / 3]]
    path = tmp_path / "nuggets.csv"
    qrels.write(path)
    assert (fn.evaluate(path, run, "nugget_recall@1, nugget_recall").values == expected).all()
    words = path.read_text().replace(",1.0\n", ",vital\n").replace(",0.5\n", ",okay\n").replace("subtopic", "nugget")
    path.write_text(words)
    assert "okay" in words
    assert (fn.evaluate(path, run, "nugget_recall@1, nugget_recall").values == expected).all()
    assert (fn.evaluate(qrels.filter(["q"]), run, "nugget_recall@1, nugget_recall").values == expected[1:]).all()
    refused(r"no place for it\. Write CSV or Parquet", qrels.write, tmp_path / "nuggets.json")


test_wrong_importance_is_refused = refuses(lambda importance: fn.DiversityQrels(JUDGED, importance=importance), [
    ({"q": {"n1": 0}}, r"importance must be 'vital', 'okay' or a number above 0, but is 0\."),
    ({"q": {"n1": "nice"}}, "importance must be 'vital', 'okay' or a number above 0, but is 'nice'"),
    ({"p": {"n1": 1}}, "`importance` must be of judged queries, but query 'p' has no judgments"),
    ([1], "`importance` must be {query: {subtopic: importance}}, but is"),
])  # fmt: skip


def test_a_nugget_has_one_importance():
    message = r"must have one importance in a query, but that of n1 is 1 and 0\.5"
    refused(message, fn.DiversityQrels, ["q"] * 2, ["n1"] * 2, ["a", "b"], [1, 1], importance=[1, 0.5])


@EVALUATE
def test_evidence_groups_need_one_document_each(evaluate, put):
    """Groups of ids are subtopics, in a dict of lists or sets, or in JSON. Recall of documents has a note."""
    evidence = {"q1": [["a", "b"], ["c"]], "q2": [["d"]]}
    run = {"q1": ["b", "x", "c"], "q2": ["y", "d"]}
    metrics = "evidence_recall@2, all_evidence@2, all_evidence@3, recall@3"
    expected = [[1 / 2, 0, 1, 2 / 3], [1, 1, 1, 1]]
    path = put('{"q1": [["a", "b"], ["c"]], "q2": [["d"]]}', "evidence.json")
    for truth in (evidence, {q: [set(g) for g in groups] for q, groups in evidence.items()}, path):
        assert evaluate(truth, run, metrics).values.tolist() == expected
    numbers = {"q": [[1, 2], [3]]}
    assert evaluate(numbers, {"q": [2, 3]}, "all_evidence@1, all_evidence").values.tolist() == [[0, 1]]
    notes = fn.evaluate(evidence, run, metrics).notes
    assert notes == ("R@3 needs every document of a group, of which one is enough: evidence_recall counts groups",)
    assert fn.evaluate({"q2": [["d"]]}, run, metrics).notes == ()
    assert fn.evaluate(evidence, run, "rr, all_evidence@3").notes == ()


@pytest.mark.parametrize(
    "groups", [[["a"], []], [["a"], "b"], [["a", "a"]], [["a"], [0.5]], [["a"], {"b": 1}]], ids=repr
)
def test_wrong_evidence_groups_are_refused(groups):
    with pytest.raises(fn.InvalidInputError, match=r"must have groups of ids, all different|is no id"):
        fn.evaluate({"q": groups}, {"q": ["a"]}, "all_evidence@1")


def test_all_evidence_refuses_what_it_cannot_average():
    """More than 16 missing subtopics in one tie at the cutoff have no value; above or below the cutoff they do."""
    matrix = np.eye(17, dtype=int)
    scores = np.zeros(17)
    with pytest.raises(fn.InvalidInputError, match=r"more than 16 missing subtopics .* query 0 do.*\(ties='id_desc"):
        fn.evaluate(matrix, scores, "all_evidence@16", groups=[17])
    assert fn.evaluate(matrix, scores, "all_evidence@17, all_evidence", groups=[17]).values.tolist() == [[1, 1]]
    assert fn.evaluate(matrix, -np.arange(17), "all_evidence@16", groups=[17]).values.tolist() == [[0]]
    expected = 1 / 17  # 16 of 17 documents: the one that is left out must be the empty one
    found = fn.evaluate(matrix[:, :16], scores, "all_evidence@16", groups=[17]).values[0, 0]
    assert found == pytest.approx(expected, rel=1e-9)


@EVALUATE
def test_precision_divides_as_the_convention_says(evaluate):
    given = ([[1, 0], [0, 0], [1, 1], [0, 0]], [4, 3, 2, 1], "P_IA@6, P_IA@2, P_IA")
    values = evaluate(*given, groups=[4], convention="tf_ranking").values[0]
    assert values == pytest.approx([(2 / 4 + 1 / 4) / 2, (1 / 2 + 0 / 2) / 2, (2 / 4 + 1 / 4) / 2])
    assert evaluate(*given, groups=[4]).values[0][0] == pytest.approx((2 / 6 + 1 / 6) / 2)
    refused("P_IA@6 must have precision_denominator 'k'", evaluate, *given, groups=[4], convention="implicit")


def test_novelty_depends_on_names_where_the_best_order_ties():
    """Documents that gain alike are chosen by id: alpha_nDCG of the same judgments changes with their names."""
    subtopics = [{"t": 1, "v": 1}, {"u": 1, "v": 1}, {"s": 1, "u": 1}]
    values = []
    for names in ("abc", "acb"):
        judged = {"q": dict(zip(names, subtopics, strict=True))}
        run = {"q": dict(zip(names, [1.0, 2.0, 3.0], strict=True))}  # the last ranked first
        values += fn.evaluate(judged, run, "alpha_nDCG@2")["alpha_nDCG@2"].tolist()
    assert values[0] != values[1]
    assert "by id" in fn.CATALOG["alpha_nDCG"].formula
