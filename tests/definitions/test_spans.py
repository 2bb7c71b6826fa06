"""Metrics of text spans: by their definitions, by characters, and as chunking_evaluation computes them."""

import json
from math import log2, nan
from pathlib import Path

import numpy as np
import pytest
import strategies
from fresh_processes import answer, start
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.metrics.families import CATALOG

GOLDEN = json.loads((Path(__file__).parents[1] / "data/chunking_evaluation/spans.json").read_text(encoding="utf-8"))
METRICS = [name for name, record in CATALOG.items() if record.function_name == "evaluate_spans"]
GOLD = {"q": [("a", 100, 200), ("b", 0, 50, 3)]}
CHUNKS = {"q": [("a", 50, 150), ("a", 100, 250), ("c", 0, 90), ("b", 0, 100)]}
IDEAL = 150 / log2(2) + 100 / log2(3)  # b has 50 characters of weight 3
GREEDY = 150 / log2(2) + 100 / log2(3) + 0
DEFINITIONS = {
    "span_recall": [("span_recall@1", 50 / 150), ("span_recall@2", 100 / 150), ("span_recall", 1.0)],
    "span_precision": [("span_precision@1", 50 / 100), ("span_precision@2", 100 / 200),
        ("span_precision(overlap=counted)@2", 100 / (100 + 150)), ("span_precision", 150 / (200 + 90 + 100))],
    "span_iou": [("span_iou@1", 50 / (100 + 100)), ("span_iou@2", 100 / (200 + 50)),
        ("span_iou(overlap=counted)@2", 100 / (100 + 150 + 50)), ("span_iou", 150 / (200 + 90 + 100))],
    "span_ndcg": [("span_ndcg@1", 50 / 150), ("span_ndcg", (50 + 50 / log2(3) + 150 / log2(5)) / IDEAL),
        ("span_ndcg(ideal=chunks)", (50 + 50 / log2(3) + 150 / log2(5)) / GREEDY)],
}  # fmt: skip


def test_every_metric_of_spans_has_its_arithmetic():
    assert list(DEFINITIONS) == METRICS


def test_metrics_of_spans_equal_their_definitions():
    for metric, expected in [case for cases in DEFINITIONS.values() for case in cases]:
        assert fn.evaluate_spans(GOLD, CHUNKS, metric).values[0, 0] == pytest.approx(expected, rel=1e-14), metric
        assert fn.reference.evaluate_spans(GOLD, CHUNKS, metric)[0, 0] == pytest.approx(expected, rel=1e-14), metric


def test_queries_without_gold_or_chunks():
    """A query without chunks is 0. One whose gold is an empty list is left out, as one of the chunks alone is."""
    result = fn.evaluate_spans({"p": [("a", 0, 5)], "q": []} | GOLD, {"x": [("a", 0, 5)], **CHUNKS}, METRICS)
    assert result.query_ids.tolist() == ["p", "q"]
    assert result.values[0].tolist() == [0.0] * len(METRICS)
    assert str(result).splitlines()[-2:] == ["queries without chunks: 1 (zero)", "queries without gold text: 1 (skip)"]


def test_chroma_counts_what_overlap_counted_counts():
    """chunking_evaluation's recall, precision and IoU of 60 drawn questions, in its own arithmetic."""
    gold = {str(n): case["gold"] for n, case in enumerate(GOLDEN)}
    for n, case in enumerate(GOLDEN):
        metrics = [f"{name}@{case['k']}" for name in ("span_recall", "span_precision", "span_iou")]
        own = {str(n): gold[str(n)]}
        values = fn.evaluate_spans(own, {str(n): case["chunks"]}, metrics, overlap="counted").values[0]
        assert values.tolist() == pytest.approx([case["recall"], case["precision"], case["iou"]], rel=1e-14), case
    chunks = [case["chunks"][: case["k"]] for case in GOLDEN]
    overlaps = [own for own in chunks if count(own) < sum(end - start for _, start, end in own)]
    assert len(overlaps) > 10, "the drawn chunks must overlap"


def characters(spans):
    return {(document, place) for document, start, end, *_ in spans for place in range(start, end)}


def count(spans):
    return len(characters(spans))


SPANS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 12), st.integers(1, 6)).map(lambda s: (s[0], s[1], s[1] + s[2])),
    max_size=5,
)


@strategies.examples(200)
@given(data=st.data())
def test_metrics_of_spans_equal_a_bitmap(data):
    """Sets of characters in plain Python, for gold that overlaps, chunks that repeat, and any cutoff."""
    queries = [f"q{n}" for n in range(data.draw(st.integers(1, 3)))]
    gold = {query: data.draw(SPANS.filter(bool)) for query in queries}
    chunks = {query: data.draw(SPANS) for query in queries}
    k = data.draw(st.none() | st.integers(1, 6))
    overlap = data.draw(st.sampled_from(["union", "counted"]))
    texts = [f"{name}@{k}" if k else name for name in METRICS]

    result = fn.evaluate_spans(gold, chunks, [*texts, f"span_ndcg(ideal=chunks){'' if k is None else f'@{k}'}"],
                               overlap=overlap)  # fmt: skip

    for q, query in enumerate(queries):
        wanted, own = characters(gold[query]), chunks[query][:k]
        n_found, n_covered = len(wanted & characters(own)), count(own)
        n_chars = sum(end - start for _, start, end in own) if overlap == "counted" else n_covered
        expected = [
            n_found / len(wanted), n_found / n_chars if n_chars else 0, n_found / (n_chars + len(wanted) - n_found),
        ]  # fmt: skip
        assert result.values[q, :3].tolist() == pytest.approx(expected, rel=1e-14)
        gains = [len((wanted & characters([chunk])) - characters(own[:i])) for i, chunk in enumerate(own)]
        dcg = sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))
        assert (dcg == 0) == (result.values[q, 3] == 0) == (result.values[q, 4] == 0)
    parsed = [str(metric) for metric in result.metrics]
    reference = fn.reference.evaluate_spans(gold, chunks, parsed)
    np.testing.assert_allclose(result.values, reference, rtol=1e-13)


def test_greedy_order_scores_one():
    """Chunks in greedy order have nDCG 1 by ideal=chunks. Adjacent chunks of one gold span have less by ideal=gold."""
    gold, chunks = {"q": [("a", 0, 300)]}, {"q": [("a", 0, 150), ("a", 150, 250), ("a", 250, 300), ("b", 0, 9)]}
    values = fn.evaluate_spans(gold, chunks, "span_ndcg(ideal=chunks), span_ndcg").values[0]
    assert values.tolist() == [1.0, (150 + 100 / log2(3) + 50 / 2) / 300]


def test_threads_change_no_bit(monkeypatch):
    random = np.random.default_rng(3)
    starts = random.integers(0, 500, (300, 12))
    chunks = {n: [("a", int(s), int(s) + 60) for s in row] for n, row in enumerate(starts)}
    places = [random.permutation(9)[:3] * 50 for _ in range(300)]
    weights = (0.1, 0.3, 2.0)
    gold = {n: [("a", int(s), int(s) + 40, w) for s, w in zip(row, weights, strict=True)]
            for n, row in enumerate(places)}  # fmt: skip
    metrics = "span_recall@5, span_iou@5, span_ndcg@5, span_ndcg(ideal=chunks)@5"
    expected = fn.evaluate_spans(gold, chunks, metrics, threads=1).values
    monkeypatch.setattr("fastndcg.span_retrieval.CHUNK_SPANS", 50)
    assert fn.evaluate_spans(gold, chunks, metrics, threads=3).values.tobytes() == expected.tobytes()
    alone = fn.evaluate_spans({7: gold[7]}, {7: chunks[7]}, metrics).values
    assert alone.tobytes() == expected[7:8].tobytes()


COUNT_STEPS = """
    import json, os, sys
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    import numpy as np
    import fastndcg as fn

    def count(starts, ends):
        n_steps = 0

        def trace(frame, event, _):
            nonlocal n_steps
            if "kernels" not in frame.f_code.co_filename:
                return None
            n_steps += event == "line"
            return trace

        chunks = {"query": [0] * len(starts), "document": [0] * len(starts), "start": starts, "end": ends}
        gold = {"query": [0] * len(starts), "document": [0] * len(starts), "start": range(0, 20 * len(starts), 20),
                "end": range(9, 20 * len(starts), 20)}
        gold, chunks = ({name: list(values) for name, values in table.items()} for table in (gold, chunks))
        sys.settrace(trace)
        fn.evaluate_spans(gold, chunks, "span_iou, span_ndcg, span_ndcg(ideal=chunks)", threads=1)
        sys.settrace(None)
        return n_steps

    steps = {}
    for n in 50, 200:
        random = np.random.default_rng(0)
        drawn, widths = random.integers(0, 20 * n, n), random.integers(1, 20 * n, n)
        permuted, places = random.permutation(n) * 20, np.arange(n)
        for name, starts, ends in (
            ("apart", permuted, permuted + 15), ("drawn", drawn, drawn + widths),
            ("all overlap", permuted, permuted + 20 * n), ("equal", 0 * places, 0 * places + n),
            ("each in the next", 10 * n - 9 * places, 10 * n + 9 * places),
            ("each in the last", places, 20 * n - places),
        ):
            steps.setdefault(name, []).append(count(starts, ends + 1))
    print(json.dumps(steps))
"""


def test_steps_grow_little_faster_than_the_chunks_of_a_query():
    """Four times as many chunks take less than six times as many steps: n log n gives 5.4, all pairs give 16."""
    steps = answer(start(COUNT_STEPS))
    assert min(map(min, steps.values())) > 5_000
    assert {name: counts for name, counts in steps.items() if counts[1] > 6 * counts[0]} == {}


def test_one_chunk_weighs_nothing_beside_another():
    """Check that the rest which rounding leaves of a chunk around a chosen one is no chunk of its own."""
    gold = {"q": [("a", 0, 10, 1.0), ("a", 10, 20, 1e20), ("a", 20, 30, 1.0), ("b", 0, 9, 1e19)]}
    chunks = {"q": [("a", 10, 20), ("a", 5, 25), ("b", 0, 9)]}
    found = fn.evaluate_spans(gold, chunks, "span_ndcg(ideal=chunks)").values[0, 0]
    assert found == pytest.approx((1e21 + 9e19 / 2) / (1e21 + 9e19 / log2(3)), rel=1e-15)


def test_frames_records_and_dicts_agree():
    pd = pytest.importorskip("pandas")
    metrics = "span_recall@2, span_ndcg"
    expected = fn.evaluate_spans(GOLD, CHUNKS, metrics).values.tolist()
    gold = [{"query_id": "q", "doc_id": d, "start_index": s, "end_index": e, "weight": w[0] if w else 1}
            for d, s, e, *w in GOLD["q"]]  # fmt: skip
    chunks = [{"query_id": "q", "doc_id": d, "start_index": s, "end_index": e, "rank": r, "score": 1.0 / r}
              for r, (d, s, e) in enumerate(CHUNKS["q"], 1)]  # fmt: skip
    assert fn.evaluate_spans(gold, chunks[::-1], metrics).values.tolist() == expected
    frame = pd.DataFrame(chunks)
    assert fn.evaluate_spans(pd.DataFrame(gold), frame.drop(columns="rank")[::-1], metrics).values.tolist() == expected
    bare = frame.drop(columns=["rank", "score"]).rename(columns={"start_index": "from"})
    named = pd.DataFrame(gold).rename(columns={"start_index": "from"})
    both = [fn.Spans(table, columns={"start": "from"}) for table in (named, bare)]
    assert fn.evaluate_spans(*both, metrics).values.tolist() == expected
    assert repr(fn.Spans(both[0])) == f"Spans: {len(gold)} of 1 query"
    assert fn.evaluate_spans(fn.Spans(GOLD), fn.Spans(CHUNKS), metrics).values.tolist() == expected
    with pytest.raises(fn.InvalidTypeError, match="`columns` is no argument of evaluate_spans"):
        fn.evaluate_spans(named, bare, metrics, columns={"start": "from"})


test_wrong_spans_are_refused = refuses(lambda gold, own: fn.evaluate_spans({"q": gold}, {"q": own}, "span_recall"), [
    ([("a", 5, 5)], [], r"`gold` must have whole numbers 0 ≤ start < end .* row 0 \(query 'q'\) is from 5 to 5"),
    ([("a", -1, 5)], [], "is from -1 to 5"),
    ([("a", 0, 5)], [("a", 0, 2.5)], r"`chunks` must have whole numbers .* is from 0 to 2\.5"),
    ([("a", 0, nan)], [], "is from 0 to nan"),
    ([("a", 0, 5, 0)], [], "`gold` must have finite weights above 0, but row 0 has 0"),
    ([("a", 0, 5, 1), ("a", 3, 9, 2)], [], "must not have spans of different weights that overlap, but .* 3 to 9"),
    ([("a", 0, 5)], [("a", 0, 5, 1)], r"`chunks` must be {query: \[\(document, start, end\)"),
    ([("a", 0)], [], r"`gold` must be {query: \[\(document, start, end\)"), (5, [], "query 'q' maps to 5"),
])  # fmt: skip


def test_chunks_with_one_rank_or_score_are_refused():
    """Which of two equal chunks stands first is not known. Queries in common and a known overlap are needed."""
    rows = {"query": ["q", "q"], "document": ["a", "b"], "start": [0, 0], "end": [5, 5]}
    message = r"different ranks or scores in a query, but two of query 'q' have 0\.5"
    refused(message, fn.evaluate_spans, GOLD, rows | {"score": [0.5, 0.5]}, "span_recall")
    with pytest.raises(fn.InvalidInputError, match="a query in common, but the gold has 'q', and the chunks have 'p'"):
        fn.evaluate_spans(GOLD, {"p": [("a", 0, 5)]}, "span_recall")
    with pytest.raises(fn.InvalidInputError, match="`overlap` must be 'union' or 'counted', not 'twice'"):
        fn.evaluate_spans(GOLD, CHUNKS, "span_recall", overlap="twice")
    refused("evaluate_spans", fn.evaluate, {"q": ["a"]}, {"q": ["a"]}, "span_recall")


def write_spans(folder, rows, names):
    """Write spans as files of each kind, and return their paths."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    records = [dict(zip(names, row, strict=True)) for row in rows]
    texts = {
        "records.json": json.dumps(records),
        "columns.json": json.dumps(table.to_pydict()),
        "records.jsonl": "".join(f"{json.dumps(record)}\n" for record in records),
        "rows.csv": "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]),
        "rows.tsv": "\n".join(["\t".join(names), *("\t".join(map(str, row)) for row in rows)]),
        "commas.tsv": "\n".join(["\t".join([*names, "a, b"]), *("\t".join([*map(str, row), "x, y"]) for row in rows)]),
    }
    texts |= {
        "blanks.csv": texts["rows.csv"].replace(",", " , "),
        "below comments.csv": f"# of 3, drawn; by us\n\n{texts['rows.csv']}",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    pytest.importorskip("pyarrow.parquet").write_table(table, folder / "rows.parquet")
    pytest.importorskip("pyarrow.feather").write_feather(table, folder / "rows.feather")
    return [*(folder / name for name in texts), str(folder / "rows.parquet"), folder / "rows.feather"]


def test_files_of_spans_equal_their_rows(tmp_path, put):
    """The ids 007 and 7 are two queries, in files of text too."""
    rows = [("007", "a", 50, 150, 3.5), ("007", "a", 100, 250, 2.5), ("7", "b", 0, 100, 1.0)]
    gold = {"007": [("a", 100, 200)], "7": [("b", 0, 50)]}
    path = put(json.dumps(gold), "gold.json")
    chunks = {query: [row[1:4] for row in rows if row[0] == query] for query in gold}
    expected = fn.evaluate_spans(gold, chunks, METRICS)
    for chunk_path in write_spans(tmp_path, rows, ["query", "document", "start", "end", "score"]):
        found = fn.evaluate_spans(path, chunk_path, METRICS)
        assert found.to_dict() == expected.to_dict(), chunk_path


@pytest.mark.parametrize(("text", "message"), [
    ('{"q": ', "gold, line 1: must be JSON, but is not: .* Give JSON of"),
    ('{"q": [["a", 5, 5]]}', "gold must have whole numbers 0 ≤ start < end .* row 0 .* is from 5 to 5"),
    ('{"q": [["a", 5]]}', "gold must be .*, but query 'q' has"),
    ('{"q": [], "q": []}', "gold, line 1: an object must have each key once, but 'q' stands twice"),
    ("query,document,start,end\nq,a,x,5", "column 'start' of `gold` must hold numbers"),
    ("query,document,start\nq,a,5", "`gold` must have one column of end"),
    ("query,document,start,end\nq,a,5", "gold must hold spans, but does not: .* Give JSON of"),
    ("", "gold must hold spans, but does not: .*Empty CSV file.* Give JSON of"),
])  # fmt: skip
def test_bad_files_of_spans(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    Path("gold").write_text(text, encoding="utf-8")
    refused(message, fn.evaluate_spans, "gold", CHUNKS, "span_recall")


def test_command_line_of_spans(tmp_path, monkeypatch, shown, wrong):
    monkeypatch.chdir(tmp_path)
    Path("gold.json").write_text(json.dumps(GOLD), encoding="utf-8")
    Path("chunks.json").write_text(json.dumps(CHUNKS), encoding="utf-8")
    expected = fn.evaluate_spans(GOLD, CHUNKS, "span_recall@2, span_iou@2", overlap="counted")
    command = ["spans", "gold.json", "chunks.json", "-m", "span_recall@2,span_iou@2", "--overlap", "counted"]
    assert shown(*command) == f"{expected}\n"
    facts = json.loads(shown(*command, "--json", "--per-query"))["runs"][0]
    assert (facts["mean"], facts["per_query"]) == (expected.mean(), expected.to_dict())
    for options, message in (["-m", "ndcg"], "Use fastndcg evaluate"), (["-m", "span_recal"], "span_recall"):
        wrong(message, "spans", "gold.json", "chunks.json", *options)
    wrong("fastndcg: error: none.json: No such file or directory\n", "spans", "none.json", "chunks.json")
