"""The evaluators for sentence-transformers: values, keys and files of the library's own, and their errors."""

import json
import math

import dense_cases
import pytest
from refusals import refused

import fastndcg as fn

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch")
theirs = pytest.importorskip("sentence_transformers.sentence_transformer.evaluation")
ours = pytest.importorskip("fastndcg.integrations.sentence_transformers")

PLACES = [theirs, ours]
OPTIONS = [
    {}, {"corpus_chunk_size": 7, "write_csv": False}, dense_cases.OPTIONS | {"write_predictions": True},
    {"score_functions": {"cos": dense_cases.StandInModel(torch.as_tensor).similarity, "dot": lambda a, b: a @ b.T},
        "main_score_function": "dot", "truncate_dim": 3},
]  # fmt: skip


def make_model():
    return dense_cases.StandInModel(torch.as_tensor)


def read_files(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def assert_same_files(found, expected):
    assert list(found) == list(expected)
    for name in expected:
        lines = [text.split("\n") for text in (found[name], expected[name])]
        for one, other in zip(*lines, strict=True):
            assert one == other or [float(part) for part in one.split(",")] == pytest.approx(
                [float(part) for part in other.split(",")], rel=1e-12
            )


@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_sentence_transformers_search_equals_library(options, tmp_path):
    results = []
    for number, place in enumerate(PLACES):
        evaluator = place.InformationRetrievalEvaluator(*dense_cases.draw_texts(), **options)
        model = make_model()
        folder = tmp_path / str(number)
        folder.mkdir()
        values = [evaluator(model, output_path=str(folder), epoch=1, steps=2), evaluator(model, str(folder))]
        names = evaluator.primary_metric, evaluator.description, evaluator.get_config_dict(), evaluator.csv_headers
        results.append((values, names, read_files(folder), [stored[2:] for stored in model.stored], model.n_encoded))
    expected, computed = results
    for one, other in zip(computed[0], expected[0], strict=True):
        assert list(one) == list(other)
        assert one == pytest.approx(other, rel=1e-12)
    assert_same_files(computed[2], expected[2])
    assert computed[1::2] == expected[1::2]
    assert computed[4] == expected[4]


@pytest.mark.parametrize("chunk_size", [1, 9, 1000])
def test_sentence_transformers_ties_are_ordered_by_id(chunk_size):
    _, corpus, _ = dense_cases.draw_texts()
    first = sorted(corpus)[:3]
    evaluator = ours.InformationRetrievalEvaluator(
        {"q": "1"}, corpus, {"q": {first[2]}}, chunk_size, score_functions={"none": lambda a, b: torch.zeros(1, len(b))}
    )
    assert evaluator(make_model())["none_mrr@10"] == 1 / 3


def test_sentence_transformers_precomputed_embeddings():
    queries, corpus, relevant = dense_cases.draw_texts()
    model = make_model()
    score_functions = {"dot": lambda a, b: (b @ a.T).T}
    evaluator = ours.InformationRetrievalEvaluator(queries, corpus, relevant, score_functions=score_functions)
    expected = evaluator.compute_all_metrics(model)
    embeddings = model.encode(list(corpus.values()))
    n_encoded = model.n_encoded
    assert evaluator.compute_all_metrics(model, corpus_embeddings=embeddings) == expected
    assert evaluator.compute_all_metrics(model, corpus_embeddings=embeddings.to_sparse()) == expected
    assert model.n_encoded == n_encoded + 2 * len(evaluator.queries)


def test_sentence_transformers_accuracy_is_the_hit_rate():
    """Accuracy@2 of one hit at rank 2 and none is 1/2. Other values follow from their definitions."""
    evaluator = ours.InformationRetrievalEvaluator(
        {"a": "1", "b": "1"}, {"x": "1", "y": "1"}, {"a": {"y", "z"}, "b": ["z"]}, accuracy_at_k=[1, 2],
        precision_recall_at_k=[2], mrr_at_k=[2], ndcg_at_k=[2], map_at_k=[2],
    )  # fmt: skip
    hits = [{"corpus_id": "y", "score": 0.5}, {"corpus_id": "x", "score": 0.9}]
    ideal = 1 + 1 / math.log2(3)
    assert evaluator.compute_metrics([hits, []]) == {
        "accuracy@k": {1: 0, 2: 1 / 2},
        "precision@k": {2: 1 / 4},
        "recall@k": {2: 1 / 4},
        "ndcg@k": {2: pytest.approx(1 / math.log2(3) / ideal / 2)},
        "mrr@k": {2: 1 / 4},
        "map@k": {2: pytest.approx(1 / 2 / 2 / 2)},
    }


def test_sentence_transformers_predictions(tmp_path):
    evaluator = ours.InformationRetrievalEvaluator(
        {"q": "1 0"}, {"a": "0 1", "b": "1 0"}, {"q": {"a"}}, write_predictions=True
    )
    evaluator(make_model(), output_path=str(tmp_path))
    text = (tmp_path / "Information-Retrieval_evaluation_predictions_cosine.jsonl").read_text(encoding="utf-8")
    assert json.loads(text) == {
        "query_id": "q",
        "query": "1 0",
        "results": [{"corpus_id": "b", "score": 1.0}, {"corpus_id": "a", "score": 0.0}],
    }


@pytest.mark.parametrize("options", [{}, {"use_batched_encoding": False, "at_k": 3, "name": "n"}])
def test_sentence_transformers_reranking_equals_library(options, tmp_path):
    results = []
    for number, place in enumerate(PLACES):
        evaluator = place.RerankingEvaluator(
            dense_cases.draw_samples(), similarity_fct=make_model().similarity, **options
        )
        folder = tmp_path / str(number)
        values = evaluator(make_model(), output_path=str(folder))
        results.append((values, evaluator.primary_metric, list(read_files(folder))))
    assert results[1][0] == pytest.approx(results[0][0], rel=1e-12)
    assert list(results[1][0]) == list(results[0][0])
    assert results[1][1:] == results[0][1:]


def test_sentence_transformers_errors():
    queries, corpus = {"q": "1 0"}, {"a": "0 1", "b": "1 0"}
    make = ours.InformationRetrievalEvaluator
    refused("`relevant_docs` must have documents for a query, but has none", make, queries, corpus, {"other": {"a"}})
    refused("must list a document once, but query 'q' has one twice", make, queries, corpus, {"q": ["a", "a"]})
    with pytest.raises(fn.InvalidTypeError, match="ids of `corpus` must be of one type"):
        make(queries, corpus | {3: "1 1"}, {"q": {"a"}})
    evaluator = make(queries, corpus, {"q": {"a"}})
    refused(r"must have length 1 \(one list per query\), got 0", evaluator.compute_metrics, [])
    nan = make(queries, corpus, {"q": {"a"}}, score_functions={"nan": lambda a, b: torch.tensor([[1.0, math.nan]])})
    refused("'nan' gives it for query 'q' and document 'b'", lambda: nan(make_model()))
    with pytest.raises(fn.InvalidInputError, match="`samples` must have positive and negative documents"):
        ours.RerankingEvaluator([{"query": "1", "positive": ["1"], "negative": []}])


def make_hybrid(run, **options):
    return ours.HybridRetrievalEvaluator(*dense_cases.draw_texts(), run=run, run_name="bm25", **options)


def draw_lexical_run():
    """Return a fixed run of some documents with ties. It lacks the last query."""
    queries, corpus, relevant = dense_cases.draw_texts()
    judged = [query for query in queries if relevant.get(query)]
    return {
        query: {name: float((place * 7 + number) % 13) for place, name in enumerate(sorted(corpus)[number::3])}
        for number, query in enumerate(judged[:-1])
    }


@pytest.mark.parametrize(
    "options", [{}, {"method": "wsum(norm=min_max)", "weights": [0.3, 0.7], "depth": 20, "name": "n"}]
)
def test_sentence_transformers_hybrid_search(options, tmp_path):
    run = draw_lexical_run()
    evaluator = make_hybrid(run, **options)
    queries, corpus, relevant = dense_cases.draw_texts()
    model = make_model()
    library = theirs.InformationRetrievalEvaluator(queries, corpus, relevant, name=options.get("name", ""))
    expected = library(model)
    for _ in range(2):
        values = evaluator(model, output_path=str(tmp_path), epoch=1, steps=2)
    prefix = "n_" if "name" in options else ""
    assert {key: values[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    qrels = {query: dict.fromkeys(own, 1) for query, own in relevant.items() if own and query in queries}
    found = evaluator._search(model, model, None)["cosine"]
    dense = {
        query: dict(zip((evaluator._ids[number] for number in row), scores, strict=True))
        for query, row, scores in zip(evaluator.queries_ids, found.documents, found.scores.tolist(), strict=True)
    }
    fusing = {name: options[name] for name in ("weights", "depth") if name in options}
    method = options.get("method", "rrf(k=60)")
    systems = {"bm25": run, "cosine": dense}
    systems["bm25+cosine"] = fn.fuse(systems, method, **({"depth": 100} | fusing))
    for name, system in systems.items():
        result = fn.evaluate(qrels, system, "ndcg@10, ap@100", convention="sentence_transformers")
        keys = f"{prefix}{name}_ndcg@10", f"{prefix}{name}_map@100"
        assert [values[key] for key in keys] == pytest.approx(result.means(), rel=1e-12)
    assert evaluator.primary_metric == f"{prefix}bm25+cosine_ndcg@10"
    table = evaluator.comparisons["cosine"]
    assert list(table.results) == ["bm25", "cosine", "bm25+cosine"]
    rows = [row for row in table.rows if str(row.metric) == "nDCG@10"]
    assert [row.system for row in rows] == ["bm25", "cosine", "bm25+cosine"]
    assert all(0 < row.p <= 1 for row in rows[1:])
    lines = next(iter(read_files(tmp_path).values())).splitlines()
    assert [len(line.split(",")) for line in lines] == [2 + 3 * (len(expected) // 1)] * 3
    assert "bm25+cosine-NDCG@10" in lines[0].split(",")


def test_sentence_transformers_hybrid_errors(tmp_path):
    run = draw_lexical_run()
    path = tmp_path / "bm25.run"
    path.write_text("".join(f"{q} Q0 {d} 0 {score} x\n" for q, own in run.items() for d, score in own.items()))
    assert make_hybrid(str(path))(make_model()) == make_hybrid(run)(make_model())
    refused("`run` must have a query of `queries`, but has none", make_hybrid, {"other": {"d": 1.0}})
    refused("rff", make_hybrid, run, method="rff", error=fn.FastndcgError)
    with pytest.raises(fn.InvalidInputError, match="`run_name` must not be that of a score function"):
        make_hybrid(run, score_functions={"bm25": lambda a, b: a @ b.T})
