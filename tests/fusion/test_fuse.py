"""Inputs, counts, errors and explanations of `fuse`."""

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from fusion_cases import draw_runs
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.fusion.catalog import FUSION_METHODS
from fastndcg.fusion.joined_runs import join_runs
from fastndcg.fusion.normalization import normalize, parse_norm

A = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "q2": {"d9": 1.0}}
B = {"q1": {"d2": 9.0, "d4": 8.0}, "q2": {"d9": 2.0, "d8": 1.0}}
RUNS = {"a": A, "b": B}


def test_fused_run_is_evaluated_compared_and_written(tmp_path):
    fused = fn.fuse(RUNS, "rrf")
    qrels = {"q1": {"d2": 1}, "q2": {"d9": 1}}
    fused.write(tmp_path / "fused.run")
    assert isinstance(fused, fn.Run)
    assert fn.evaluate(qrels, fused, "rr").mean() == {"RR": 1.0}
    assert fn.compare(qrels, {"a": A, "fused": fused}, "rr").table()
    assert fn.Run(tmp_path / "fused.run").to_dict() == fused.to_dict()
    assert repr(fused) == "FusedRun of 2 queries, 6 documents by rrf"
    assert fused.filter(["q1"]).method == ""


def test_all_forms_of_runs_give_the_same_fused_run(tmp_path):
    import pandas as pd

    rows = [(query, document, score) for query, row in A.items() for document, score in row.items()]
    frame = pd.DataFrame(rows, columns=["query", "document", "score"])
    path = tmp_path / "a.run"
    fn.Run(A).write(path, tag="a")
    records = [{"query": q, "document": d, "score": s} for q, d, s in rows]
    forms = [fn.Run(A), frame, str(path), records, fn.Run(*zip(*rows, strict=True))]
    expected = fn.fuse(RUNS, "mnz").to_dict()
    for form in forms:
        assert fn.fuse([("a", form), ("b", B)], "mnz").to_dict() == expected
        assert fn.fuse({"a": form, "b": B}, "mnz").to_dict() == expected
    assert fn.fuse([{"q": ["d1", "d2"]}, {"q": ["d2"]}], "rrf(k=0)").to_dict() == {"q": {"d2": 1 / 2 + 1, "d1": 1}}


def test_lists_of_recommended_items_have_the_numbers_of_users_as_queries():
    array = np.array([[5, 7, -1], [7, 5, 3]], "i4")
    lists = fn.Recommendations(np.array([[7], [3]]))
    fused = fn.fuse({"array": array, "lists": lists}, "rrf(k=0)")
    assert fused.to_dict() == {0: {7: 1 / 2 + 1, 5: 1}, 1: {3: 1 / 3 + 1, 7: 1, 5: 1 / 2}}
    refused("-1 behind them only", fn.fuse, [np.array([[-1, 5]]), array[:1]])
    refused("stand once", fn.fuse, [np.array([[5, 5]]), array[:1]])


def test_recommendations_with_ids_and_scores_are_read_as_the_run_that_they_become():
    class Top(fn.Recommendations):
        def to_run(self):
            return fn.Run(["u"], ["item"], [4.0])

    fused = fn.fuse({"top": Top([[0]]), "run": {"u": {"item": 2.0, "other": 1.0}}}, "sum")
    assert fused.to_dict() == {"u": {"item": 6.0, "other": 1.0}}


def test_ids_keep_their_type():
    small = fn.Run(np.array([1], "i4"), np.array([7], "i2"), [1.0])
    wide = fn.Run(np.array([1], "i8"), np.array([2**40], "i8"), [1.0])
    huge = fn.Run(np.array([1], "u8"), np.array([2**64 - 1], "u8"), [1.0])
    assert fn.fuse([small, small]).documents.names().dtype == np.int16
    assert fn.fuse([small, wide]).to_dict() == {1: {7: 1 / 61, 2**40: 1 / 61}}
    assert fn.fuse([small, huge]).to_dict() == {1: {7: 1 / 61, 2**64 - 1: 1 / 61}}
    assert fn.fuse([{"é": {"ü": 1}}, {"é": {"日本": 1}}]).to_dict() == {"é": {"ü": 1 / 61, "日本": 1 / 61}}
    negative = fn.Run(np.array([1]), np.array([-5]), [1.0])
    refused("negative ones", fn.fuse, [negative, huge], error=fn.InvalidTypeError)
    refused("texts in the run 'run 1'", fn.fuse, [A, {"q1": {1: 1.0}, "q2": {2: 1.0}}], error=fn.InvalidTypeError)


def test_many_queries_on_threads_give_the_same_bytes():
    rng = np.random.default_rng(5)
    queries = np.repeat(np.arange(3000), 40)
    runs = [
        fn.Run(queries, np.concatenate([rng.permutation(90)[:40] for _ in range(3000)]), rng.random(len(queries)))
        for _ in range(3)
    ]
    one, several = (fn.fuse(runs, "wmnz(norm=z_score)", weights=[1, 2, 3], threads=n) for n in (1, 3))
    assert one.values.tobytes() == several.values.tobytes()
    assert one.documents.names().tobytes() == several.documents.names().tobytes()
    assert (np.diff(one.values) <= 0)[np.diff(np.repeat(np.arange(3000), np.diff(one.offsets))) == 0].all()


def test_depth_cuts_each_run_and_the_result_counts_it():
    fused = fn.fuse(RUNS, "sum", depth=1)
    assert fused.to_dict() == {"q1": {"d2": 9, "d1": 3}, "q2": {"d9": 3}}
    assert (fused.counts.n_cut, fused.notes) == (4, ("documents below depth, cut: 4",))
    tied = [{"q": {"b": 1.0, "a": 1.0}}] * 2
    assert fn.fuse(tied, "sum", depth=1).to_dict() == {"q": {"b": 2}}
    assert fn.fuse(tied, "sum", depth=1, fusion_convention="default(ties=id_ascending)").to_dict() == {"q": {"a": 2}}
    first = fused.top(1)
    assert first.to_dict() == {"q1": {"d2": 9}, "q2": {"d9": 3}}
    assert (first.method, first.notes, first.counts) == ("sum", fused.notes, fused.counts)
    # documents of queries that are left out are not counted as cut
    counts = fn.fuse({"a": A, "b": {"q2": B["q2"]}}, depth=1, fusion_convention="default(queries=common)").counts
    assert (counts.n_cut, counts.n_left_out) == (1, 1)


def test_queries_of_some_runs_are_refused_fused_or_left_out_and_counted():
    runs = {"a": A, "b": {"q1": B["q1"], "q7": {"d1": 1.0}}}
    with pytest.raises(fn.InvalidInputError, match=r"'a' lacks query q7, and 2 of 3 .*'default' to .*queries=common"):
        fn.fuse(runs, fusion_convention="default(queries=raise)")
    refused(r"'ranx\(queries=union\)' to .* 'ranx\(queries=common\)' to leave", fn.fuse, runs, fusion_convention="ranx")
    refused(r"'default\(ties=input\)'", fn.fuse, runs, fusion_convention="default(queries=raise,ties=input)")
    union = fn.fuse(runs)
    assert (set(union.to_dict()), union.counts.n_incomplete) == ({"q1", "q2", "q7"}, 2)
    assert union.notes == ("queries that some run lacks, fused from the others: 2",)
    assert fn.evaluate({"q1": {"d1": 1}}, union, "rr").notes == union.notes
    assert str(union).splitlines() == ["FusedRun of 3 queries, 6 documents by rrf", *union.notes]
    common = fn.fuse(runs, fusion_convention="default(queries=common)")
    assert (set(common.to_dict()), common.counts.n_left_out) == ({"q1"}, 2)
    with pytest.raises(fn.InvalidInputError, match="must have a query in common"):
        fn.fuse([{"x": {"d": 1}}, {"y": {"d": 1}}], fusion_convention="default(queries=common)")
    (note,) = fn.fuse([{"x": {"d": 1}}, {"y": {"d": 1}}]).notes
    assert note.endswith("the others: 2, all of them: check that the ids are written alike")


@pytest.mark.parametrize("absent", [None, "skip", "minimum", "mean", "zero"])
@pytest.mark.parametrize("method", ["max", "min", "med", "anz", "min(norm=rank)", "max(norm=borda)"])
def test_a_run_that_lacks_a_query_has_no_part_in_it(method, absent):
    """Scores are negative, so that a run that counted as 0 would win by `max`, and tie all documents."""
    alone = {"q1": {"d1": -1.0, "d2": -9.0}, "q2": {"d1": -4.0, "d3": -2.0, "d4": -7.5}}
    runs = {"a": alone, "b": {"q1": {"d1": -3.0, "d2": -2.0}}}
    fused = fn.fuse(runs, method, absent=absent).to_dict()["q2"]
    assert list(fused) == ["d3", "d1", "d4"]
    if "norm" in method:
        assert list(fused.values()) == pytest.approx([1, 2 / 3, 1 / 3], rel=1e-15)
    else:
        assert fused == alone["q2"]


test_wrong_input_is_refused = refuses(lambda arguments: fn.fuse(**{"runs": RUNS, "method": "rrf"} | arguments), [
    ({"runs": {"a": A}}, "two runs or more, got 1"), ({"runs": []}, "two runs or more, got 0"),
    ({"runs": fn.Run(A)}, "not Run"), ({"runs": [("a", A), ("a", B)]}, "'a' occurs twice"),
    ({"runs": {1: A, 2: B}}, "texts as names"),
    ({"runs": {"a": A, "b": {"q1": {"d1": float("nan")}, "q2": {"d": 1.0}}}}, "d1 of query q1 in run 'b' is nan"),
    ({"runs": {"a": A, "b": {"q1": {"d1": float("inf")}, "q2": {"d": 1.0}}}}, "is inf"),
    ({"weights": [1, -1]}, "of 'b' is -1"), ({"weights": [0, 0]}, "must not all be 0"),
    ({"weights": [1, float("nan")]}, "of 'b' is nan"), ({"weights": 0.5}, "in the order of the runs, not float: 0.5"),
    ({"weights": "12"}, "in the order of the runs, not str"),
    ({"weights": {1.0, 2.0}}, "in the order of the runs, not set"),
    ({"weights": [1e308, 1e308], "method": "wsum"}, "is inf. Rescale the scores or the weights$"),
    ({"weights": [1]}, "one weight for each of 2 runs, but has 1"),
    ({"weights": {"a": 1, "c": 1}}, "there is no run 'c'"), ({"weights": {"a": 1}}, "of 'b' is missing"),
    ({"method": "sum", "weights": [1, 1]}, "Take 'wsum'"),
    ({"method": "isr", "weights": [1, 1]}, "takes no weights. Leave them out"),
    ({"method": "rff"}, "Did you mean 'rrf'"), ({"method": "wsum(norm=minmx)"}, "Did you mean 'minmax'"),
    ({"method": "rrf(kk=6)"}, "Did you mean 'k'"), ({"method": "rrf(k=-6)"}, "`k` of rrf must be"),
    ({"method": "rrf@10"}, "must have no cutoff"), ({"method": 7}, "must be a text"),
    ({"method": "rrf(k=0)", "fusion_convention": "weaviate"}, "k is 0, and ranks .* weaviate. Take a"),
    ({"method": "rrf(k=0)", "fusion_convention": "weaviate", "weights": [0, 1]}, "k is 0, and ranks begin at 0"),
    ({"method": "rrf(k=0)", "fusion_convention": "qdrant", "weights": [1, 1]}, "is inf. Take a larger k$"),
    ({"runs": A}, r"looks like one run, because 'q1' maps to .* such as \{'bm25': run"),
    ({"runs": {"q1": {"d1": 1}}}, "looks like one run"),
    ({"runs": {"a": {"query": ["q"], "document": ["d"]}, "b": B}}, r"`runs\['a'\]`: `run` must have one column"),
    ({"runs": {"a": fn.Embeddings([[1.0]], [[2.0]]), "b": B}}, r"not a model .* model.top\(k\)"),
    ({"method": "mapfuse", "train": ({"q1": {"d1": 1}}, [A, B])}, r"alike: train=\(qrels, \{name: run\}\)"),
    ({"depth": 0}, "`depth` must be a whole number of 1 or more"), ({"absent": "none"}, "`absent` must be one of"),
    ({"method": "condorcet", "absent": "zero"}, "compares ranks"), ({"method": "mapfuse"}, "`train` is missing"),
    ({"method": "rrf", "train": ({}, {})}, "does not. Leave it out"),
    ({"method": "mapfuse", "train": 3}, r"must be \(qrels, runs\)"),
    ({"method": "mapfuse", "train": ({"q1": {"d1": 1}}, {"a": A, "c": B})}, "same runs as `runs`.* Name them"),
    ({"method": "mapfuse", "train": ({"q8": {"d1": 1}}, {"a": A, "b": B})}, "judged queries in its runs"),
    ({"method": max}, "must be a text such as 'rrf\\(k=60\\)', not builtin_function"),
    ({"runs": {"a": A, "b": fn.Qrels({"q1": {"d1": 1}})}}, "must be a run, not judgments"),
])  # fmt: skip


def test_weights_of_an_iterator_are_read_once():
    expected = fn.fuse(RUNS, "wsum", weights=[1, 2]).to_dict()
    assert fn.fuse(RUNS, "wsum", weights=np.array([1.0, 2.0])).to_dict() == expected
    assert fn.fuse(RUNS, "wsum", weights=(weight for weight in (1, 2))).to_dict() == expected


def test_repeated_documents_are_refused(put):
    path = put("q1 Q0 d1 1 2 x\nq1 Q0 d1 2 1 x\n", "twice.run")
    refused("d1 of query q1 is in lines 1 and 2", fn.fuse, {"a": path, "b": path})


def test_linear_fusion_is_the_weighted_sum_of_normalised_scores():
    """`join_runs` and `normalize` give what a search for weights needs: no NaN, and the fused score is a sum."""
    convention = fn.fusion_conventions["default"]
    joined = join_runs([fn.Run(A), fn.Run(B)], ["a", "b"], convention)
    points = normalize(joined, [parse_norm("min_max")] * 2, convention, ["zero"] * 2)
    fused = fn.fuse(RUNS, "wsum(norm=min_max)", weights=[0.3, 0.7]).to_dict()
    assert joined.scores.shape == points.shape == (2, 6)
    assert np.count_nonzero(~np.isnan(joined.scores)) == 8
    sums = 0.3 * points[0] + 0.7 * points[1]
    names = joined.row_documents.take(joined.document_rows).names().tolist()
    assert dict(zip(names[:4], sums[:4].tolist(), strict=True)) == fused["q1"]


def test_method_learns_from_other_queries():
    train = ({"t1": {"x": 1}, "t2": {"y": 1}}, {"a": {"t1": {"x": 2.0, "z": 1.0}}, "b": {"t2": {"z": 2.0, "y": 1.0}}})
    fused = fn.fuse(RUNS, "mapfuse", train=train).to_dict()
    assert fused["q1"]["d1"] == (1 + 0) / 2  # MAP of a over both judged queries
    assert fused["q1"]["d4"] == (0 + 1 / 2) / 2 / 2


@pytest.mark.parametrize("n_runs", [2, 5])
def test_memory_is_that_of_the_union(n_runs):
    """A document takes some bytes for each run, whatever the number of queries: no table of all documents is made."""
    rng = np.random.default_rng(0)
    queries = np.repeat(np.arange(100), 50)
    runs = [
        fn.Run(queries, np.concatenate([rng.permutation(5000)[:50] for _ in range(100)]), rng.random(len(queries)))
        for _ in range(n_runs)
    ]
    for method in ("rrf(k=60)", "wsum(norm=min_max)", "condorcet"):
        n_rows = len(fn.fuse(runs, method, threads=1).values)  # also compiles
        tracemalloc.start()
        fn.fuse(runs, method, threads=1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < n_rows * (30 * n_runs + 100)


ADDS_NOT = ("min", "max", "med", "geometric_mean", "harmonic_mean", "condorcet", "wcondorcet")


@pytest.mark.parametrize("convention", ["default", "opensearch", "qdrant"])
@pytest.mark.parametrize("name", [name for name, record in FUSION_METHODS.items() if not record.needs_training])
def test_points_add_up_to_the_fused_score(name, convention):
    _, runs = draw_runs(7, n_queries=3, n_documents=8, n_runs=3)
    del runs["run2"]["q1"]
    record = FUSION_METHODS[name]
    method = f"{name}(norm=min_max)" if record.points == "scores" else name
    weights = [0.3, 1.2, 2.0] if record.is_weighted else None
    fused = fn.fuse(runs, method, weights=weights, fusion_convention=convention)
    for query, row in fused.to_dict().items():
        for rank, (document, score) in enumerate(row.items(), start=1):
            table = fused.explain(query, document)
            *shares, total = table
            assert (total.run, total.rank, total.points) == ("fused", rank, score)
            assert [share.run for share in shares] == list(runs)
            for share, run in zip(shares, runs.values(), strict=True):
                given = run.get(query, {}).get(document)
                assert share.score is given is None or math.isclose(share.score, given, rel_tol=1e-7)
                assert (share.rank is None) == (share.score is None)
            if name not in ADDS_NOT:
                assert math.fsum(share.points or 0 for share in shares) == pytest.approx(score, rel=1e-6, abs=1e-9)
                assert "the fused score is the sum of the points" in table.notes
            else:
                assert f"the fused score is {record.formula}" in table.notes


def test_the_parts_of_a_weighted_sum_by_hand():
    """BM25 is normalised, (9 - 4) / (12 - 4) · 0.3, the other run is not, 0.9 · 0.7. An absent document gets 0."""
    runs = {"bm25": {"q": {"a": 12.0, "b": 9.0, "c": 4.0}}, "dense": {"q": {"b": 0.9, "d": 0.8}}}
    fused = fn.fuse(runs, "wsum(norms={bm25:min_max,dense:none})", weights=[0.3, 0.7])
    assert [tuple(row) for row in fused.explain("q", "b")] == [
        ("bm25", 2, 9.0, 5 / 8, 0.3, 5 / 8 * 0.3), ("dense", 1, 0.9, 0.9, 0.7, 0.9 * 0.7),
        ("fused", 1, None, None, None, 5 / 8 * 0.3 + 0.9 * 0.7),
    ]  # fmt: skip
    assert fused.explain("q", "a")[1] == ("dense", None, None, 0.0, 0.7, 0.0)
    frame = fused.explain("q", "a").to_pandas()
    assert frame["points"].tolist() == [0.3, 0.0, 0.3]


def test_tied_documents_have_their_mean_rank_and_cut_ones_a_note():
    """Two documents share the ranks 1 and 2. Below `depth` a document counts as absent, and a note says so."""
    runs = [{"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}]
    assert fn.fuse(runs).explain("q", "a")[0].rank == 1.5
    table = fn.fuse(runs, depth=1).explain("q", "b")
    assert table[0].rank is None
    assert "runs whose document is below the depth of 1: 1" in table.notes


def test_a_copy_explains_and_a_part_does_not():
    runs = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "c": 1.0}}]
    fused = fn.fuse(runs, "rrf(k=0)")
    for copy in (pickle.loads(pickle.dumps(fused)), fused.top(1)):
        assert str(copy.explain("q", "b")) == str(fused.explain("q", "b"))
    refused("a part of a fused run lacks", fused.filter(["q"]).explain, "q", "b")
    refused("`query` must be in the fused run, but 'qq' is not", fused.explain, "qq", "b")
    refused("`document` must be in query q, but 'z' is not", fused.explain, "q", "z")
    refused("which are texts, not 1", fused.explain, 1, "b", error=fn.UnknownIdError)
