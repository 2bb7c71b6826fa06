"""Tables, lists and matrices as people have them: each gives the value that follows from its definition by hand."""

import collections
import functools
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from table_forms import LIBRARY_FORMS, USUAL_FORMS

import fastndcg as fn

pa, pd, pl = map(pytest.importorskip, ("pyarrow", "pandas", "polars"))


def values(*arguments, **ways):
    result = fn.evaluate(*arguments, "rr", **ways)
    np.testing.assert_array_equal(fn.reference.evaluate(*arguments, "rr", **ways).values, result.values)
    return [value for (value,) in result.values.tolist()]


def refused(message, *arguments, **ways):
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate(*arguments, **{"metrics": "rr"} | ways)


class Unread:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __array__(self, *_, **__):
        pytest.fail("a column without a role was converted")

    def __iter__(self):
        pytest.fail("a column without a role was read")


def test_only_chosen_columns_are_converted(noted):
    """200 columns cost as four, and a column that Arrow cannot hold does not matter."""
    columns = {"query": [1, 1], "document": ["a", "b"], "label": [1, 0], "score": [0.5, 0.9]}
    spare = {f"feature {i}": Unread(2) for i in range(200)}
    assert values(columns | spare, None) == [1 / 2]
    converted = noted(pa, "array", len)
    mixed = pd.DataFrame(columns | {f"feature {i}": [3, "three"] for i in range(200)})
    assert values(mixed, None) == [1 / 2]
    relation = pytest.importorskip("duckdb").from_arrow(pa.table(columns | {"list": [[{"a": 1}], None]}))
    assert values(relation, None) == [1 / 2]
    assert len(converted) <= 2 * 4


def test_roles_of_columns_whose_names_are_alike():
    """Digits count; ids come before texts; which column it is does not depend on the other table."""
    trec = {"query": [0], "q0": ["0"], "docid": ["d1"], "rel": [2]}
    run = {"query": [0, 0], "q0": ["q0"] * 2, "docid": ["d2", "d1"], "rank": [0, 1], "score": [1.5, 1.2]}
    assert values(trec, run) == [1 / 2]
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1], "iteration": ["0"]})
    terrier = pd.DataFrame(
        {"qid": ["1"] * 2, "docid": [5, 6], "docno": ["b", "a"], "score": [3.0, 2.0], "query": ["red shoes"] * 2}
    )
    assert values(qrels, terrier) == values({"1": {"a": 1}}, terrier) == [1 / 2]
    by_number = qrels.rename(columns={"docno": "docid"}).assign(docid=6)
    assert values(by_number, fn.Run(terrier, columns={"document": "docid"})) == [1 / 2]
    with pytest.raises(
        fn.InvalidTypeError, match="ids of documents are whole numbers in the qrels, such as 6, but texts"
    ):
        values(by_number, terrier)
    scored = {"Query ID": [1, 1], "label": [1, 0], "score": [0.1, 0.5], "score_2": [0.5, 0.1], "Score": [0.5, 0.1]}
    assert values(scored, None) == [1 / 2]
    refused("more than one of its usual names", {"user_id": [1], "session_id": [1], "label": [1], "score": [1]}, None)
    movies = pd.DataFrame({"userId": [1], "movieId": [10], "rating": [4.0], "timestamp": [0]})
    rated = pd.DataFrame({"userId": [1, 1], "movieId": [20, 10], "rating": [4.5, 4.0]})
    assert values(movies, rated) == [1 / 2]  # MovieLens: `rating` is the label of one side, and the score of the other


def test_scores_of_the_truth_are_its_labels():
    """BEIR's and MTEB's tables: `score` in both. With predictions, it is the label, also in an Evaluator."""
    qrels = pd.DataFrame({"query-id": ["1", "2"], "corpus-id": ["a", "c"], "score": [1, 2]})
    run = pd.DataFrame({"query-id": ["1", "1", "2"], "corpus-id": ["b", "a", "c"], "score": [2.0, 1.0, 3.0]})
    for columns in (None, {"label": "score"}, {"label": "score", "score": "score"}):
        assert values(fn.Qrels(qrels, columns=columns), fn.Run(run, columns=columns)) == [1 / 2, 1]
    assert values(qrels, run) == [1 / 2, 1]
    assert fn.Evaluator(qrels, "rr").evaluate(run).mean() == {"RR": 3 / 4}
    with_old_scores = qrels.rename(columns={"score": "label"}).assign(score=9.0)
    assert values(with_old_scores, run) == [1 / 2, 1]
    systems = {"one": run, "two": run.assign(score=-run["score"])}
    both = fn.compare(fn.Qrels(with_old_scores, columns={"query": "query-id"}), systems, "rr")
    assert [row.mean for row in both.rows] == [3 / 4, 1]
    refused("must have one column of label ids", qrels, None)


def test_names_for_each_side():
    truth = pd.DataFrame({"customer": ["q"], "article": ["x"]})
    run = pd.DataFrame({"member": ["q", "q"], "prediction": ["y", "x"], "rank": [1, 2]})
    columns = {"query": "member", "document": "prediction"}
    judged = fn.Qrels(truth, columns={"document": "article"})
    assert values(judged, fn.Run(run, columns=columns)) == values(truth, fn.Run(run, columns=columns)) == [1 / 2]
    with pytest.raises(fn.InvalidInputError, match=r"`run` .*'article', but has 0: .*Give columns={'document': NAME}"):
        fn.Run(run, columns={"document": "article"})
    with pytest.raises(fn.InvalidInputError, match="`qrels` must have one column 'nope', but has 0"):
        fn.Qrels(truth, columns={"document": "nope"})
    fused = fn.fuse({"a": fn.Run(run, columns=columns), "b": fn.Run(run, columns=columns)}, "rrf")
    assert list(fused.to_dict()["q"]) == ["y", "x"]
    assert fn.explain(truth, fn.Run(run, columns=columns), "rr").value == 1 / 2
    same = fn.agreement(fn.Run(run.assign(rank=[1, 2]), columns=columns), fn.Run(run, columns=columns), "tau_b")
    assert same.mean() == {"tau_b": 1.0}


LISTS = USUAL_FORMS | {"Hugging Face": LIBRARY_FORMS["Hugging Face"]}


@pytest.mark.parametrize("form", LISTS)
def test_row_for_each_query_with_lists_of_ids(form, tmp_path):
    """LlamaIndex, MLflow, ragas: relevant and retrieved ids in one table, or in one table each."""
    make = lambda columns: LISTS[form](pa.table(columns), tmp_path)  # noqa: E731
    rows = {"query": ["what", "who"], "expected_ids": [["n1", "n9"], ["n2"]], "retrieved_ids": [["n3", "n1"], ["n2"]]}
    expected = fn.evaluate({"what": {"n1", "n9"}, "who": {"n2"}}, {"what": ["n3", "n1"], "who": ["n2"]}, "rr,recall")
    one = fn.evaluate(make(rows), metrics="rr,recall")
    assert one.to_dict() == expected.to_dict() == {"what": {"RR": 0.5, "R": 0.5}, "who": {"RR": 1.0, "R": 1.0}}
    assert fn.reference.evaluate(make(rows), metrics="rr,recall").to_dict() == expected.to_dict()
    truth, run = ({"query": rows["query"], "doc_ids": rows[name]} for name in ("expected_ids", "retrieved_ids"))
    assert fn.evaluate(make(truth), make(run), "rr,recall").to_dict() == expected.to_dict()
    assert fn.evaluate(make(truth), {"what": {"n1": 2.0, "n3": 1.0}, "who": {"n2": 1.0}}, "rr").mean() == {"RR": 1.0}
    named = {"question_id": rows["query"], "gold things": rows["expected_ids"], "got": rows["retrieved_ids"]}
    if form not in ("dict of columns", "JSON Lines"):  # which show by usual names that they have columns
        relevant, retrieved = {"document": "gold things"}, {"document": "got"}
        qrels, found = fn.Qrels(make(named), columns=relevant), fn.Run(make(named), columns=retrieved)
        found = fn.evaluate(qrels, found, "rr,recall")
        assert found.to_dict() == expected.to_dict()
    graded = truth | {"label": [[0, 3], [1]]}
    scored = run | {"score": [[0.1, 0.9], [1.0]]}
    assert fn.evaluate(make(graded), make(scored), "ndcg").to_dict() == {"what": {"nDCG": 0.0}, "who": {"nDCG": 1.0}}
    spark = {"prediction": [[1.0, 6.0, 2.0], [4.0]], "label": [[2.0, 1.0], [4.0, 5.0]]}  # RankingEvaluator's columns
    refused(r"same number of labels as scores .* for lists of ids .*fn\.Qrels\(.*fn\.Run\(", make(spark), None)
    relevant, retrieved = {"document": "label"}, {"document": "prediction"}
    found = fn.evaluate(fn.Qrels(make(spark), columns=relevant), fn.Run(make(spark), columns=retrieved), "p@1")
    assert found.to_dict() == {0: {"P@1": 1.0}, 1: {"P@1": 1.0}}


def test_lists_of_ids_and_ranks_in_files(tmp_path):
    rows = pl.DataFrame({"query": ["what", "who"], "expected": [["n1"], ["n2"]], "hits": [["n3", "n1"], ["n2"]]})
    log = pl.DataFrame({"session": [1, 1, 2], "position": [2, 1, 1], "clicked": [1, 0, 1]})
    for number, write in enumerate((pl.DataFrame.write_parquet, pl.DataFrame.write_ipc, pl.DataFrame.write_ndjson)):
        paths = [tmp_path / f"{name}{number}" for name in ("both", "truth", "run", "log")]
        for path, table in zip(paths, (rows, rows.drop("hits"), rows.drop("expected"), log), strict=True):
            write(table, path)
        assert values(paths[0], None) == values(paths[1], paths[2]) == values(paths[3], None) == [1 / 2, 1]


def test_lists_of_ids_in_rows_that_are_wrong():
    truth = {"query": ["a", "a"], "doc_ids": [["x"], ["y"]]}
    run = {"query": ["a"], "doc_ids": [["x"]]}
    refused("query a has rows 0 and 1. Join their lists", truth, run)
    refused("is in places 0 and 1 of row 0", {"query": ["a"], "doc_ids": [["x", "x"]]}, run)
    refused("row 0 has 1 and 2", {"query": ["a"], "doc_ids": [["x", "y"]], "label": [[1]]}, run)
    refused("must be a list in each record", [{"query": "a", "doc_ids": ["x"]}, {"query": "b", "doc_ids": "y"}], run)


def test_lists_of_ids_by_position():
    """Recmetrics' mapk(actual, predicted): AP@3 of A Z B X against A B C is (1 + 2/3) / 3. Texts, and whole numbers."""
    result = fn.evaluate([["A", "B", "C"], ["D"]], [["A", "Z", "B", "X"], ["E", "D"]], "map@3")
    assert result.to_dict() == {0: {"AP@3": (1 + 2 / 3) / 3}, 1: {"AP@3": 1 / 2}}
    assert not result.notes
    assert values([["a"], ["c", "d"]], [["b", "a"], []]) == [1 / 2, 0]
    assert values([{1, 2}, {3}], [[9, 2], [3, 7]]) == [1 / 2, 1]
    actual, predicted = [[12, 5], [4, 8]], [[12, 34, 1], [9, 4]]
    both_ways = (
        r"Give a score for each label, .* offsets=, .* lists of ids, \[set\(ids\) for ids in truth\] and fn.Recomm"
    )
    for truth, scores, place in (
        (actual, predicted, "list 0 has 3 and not 2"), (predicted, actual, "list 0 has 2 and not 3"),
        ([[1, 0, 2], [3, 1]], [[5, 4, 3], [2, 1, 0]], "list 1 has 3 and not 2"),
        ([[1, 0], [3, 1]], [[5, 4, 3], [2, 1, 0]], r"shape of `labels`, \(2, 2\), but has \(2, 3\)"),
        ([[1, 0], [1]], [[5, 4], [2], [3]], "same number of lists as `labels`, 2, but has 3"),
    ):  # fmt: skip
        refused(f"{place}. {both_ways}", truth, scores)
        with pytest.raises(fn.InvalidInputError, match=place):
            fn.explain(truth, scores, "rr", query=0)
    numbers = fn.evaluate([set(ids) for ids in actual], fn.Recommendations(predicted), "map@3")
    assert numbers.to_dict() == {0: {"AP@3": 1 / 2}, 1: {"AP@3": 1 / 4}}
    alike = fn.evaluate([[12, 5], [4, 8]], [[12, 34], [9, 4]], "map@3")
    assert "were lists of ids meant?" in alike.notes[0]
    users = fn.evaluate({1: [10, 20], 2: [30]}, {1: [11, 10], 2: [30, 5]}, "rr")  # LibRecommender's dicts
    assert users.to_dict() == {1: {"RR": 1 / 2}, 2: {"RR": 1.0}}
    assert "read as ids. For labels give" in users.notes[0]
    refused("`scores` must have the same number of numbers", [[1, 0, 1], [1]], [[3, 5], [2]])  # 1 twice: labels
    pairs = [("q1", "d1"), ("q1", "d2")]
    assert values(pairs, {"q1": ["d3", "d1"]}) == [1 / 2]


ROWS = st.lists(st.lists(st.integers(-1, 9), max_size=3), min_size=1, max_size=3)


@given(truth=ROWS, predictions=ROWS, kind=st.sampled_from((list, tuple, functools.partial(np.array, dtype="i8"))))
def test_lists_of_whole_numbers_are_labels_and_scores_or_an_error(truth, predictions, kind):
    """No function reads them as ids: one number too many would change a value without a word."""
    sizes = list(map(len, truth))
    if sizes == list(map(len, predictions)):
        flat = [list(itertools.chain(*rows)) for rows in (truth, predictions)]
        expected = fn.evaluate(*flat, "rr", offsets=np.cumsum([0, *sizes]))
        found = fn.evaluate([*map(kind, truth)], [*map(kind, predictions)], "rr")
        np.testing.assert_array_equal(found.values, expected.values)
    else:
        both_ways = r"offsets=.*\[set\(ids\) for ids in truth\] and fn\.Recommendations\(predictions\)"
        refused(both_ways, [*map(kind, truth)], [*map(kind, predictions)])
    if all(sizes):
        for read in (fn.Qrels, fn.Run, lambda rows: fn.fuse([rows, rows])):
            with pytest.raises(fn.InvalidTypeError, match=r"Give \{query: ids\}, or fn\.Interactions .*offsets="):
                read([*map(kind, truth)])


def test_the_kind_of_the_predictions_does_not_make_ids_of_whole_numbers_in_the_truth():
    for predictions in (fn.Recommendations([[5, 4], [2, 1]]), [{5}, {2}], [["a"], ["b"]]):
        refused(r"as `truth` is of labels, .*\[set\(ids\) for ids in truth\]", [[1, 0], [3]], predictions)


def test_ragged_lists_of_labels_and_scores():
    labels, scores = [[0, 2], [1], [0, 0, 1]], [[0.9, 0.8], [0.1], [0.3, 0.2, 0.1]]
    assert values(labels, scores) == values(pa.array(labels), pa.array(scores)) == [1 / 2, 1, 1 / 3]
    assert values(labels, [np.array(row) for row in scores]) == [1 / 2, 1, 1 / 3]
    refused("list 2 has 1 and not 3", labels, [[0.9, 0.8], [0.1], [0.3]])


def test_ranks_beside_labels():
    log = {"session_id": [1, 1, 1, 2, 2], "position": [3, 2, 1, 1, 2], "clicked": [0, 1, 0, 1, 0]}
    assert values(pd.DataFrame(log), None) == values(pl.DataFrame(log), None) == [1 / 2, 1]
    with_items = log | {"item_id": [1, 2, 3, 4, 5]}
    assert values(pd.DataFrame(with_items), None) == [1 / 2, 1]
    refused("ranks must differ", log | {"position": [1, 1, 2, 1, 2]}, None)
    refused("has rank 9", log | {"position": [9, 1, 2, 1, 2]}, None)
    Shown = collections.namedtuple("Shown", "query_id rank label")
    assert values([Shown("q", 1, 0), Shown("q", 2, 1)], None) == [1 / 2]


def test_frames_beyond_accuracy():
    shown = pd.DataFrame({"user": ["b", "a", "b", "a"], "item": [1, 0, 0, 2], "rank": [2, 1, 1, 2]})
    known = pd.DataFrame({"user": ["a", "c", "c", "c"], "item": [0, 0, 1, 2], "rating": [1, 1, 1, 1]})
    metrics = "coverage, novelty@2, serendipity"
    result = fn.beyond_accuracy(
        fn.Run(shown, columns={"document": "item"}), metrics, interactions=known, liked=known, catalogue=3
    )
    arrays = fn.beyond_accuracy(
        [[0, 1], [0, 2]], metrics, popularity=[2, 1, 1], n_users=2, catalogue=3,
        liked=fn.Interactions([0], offsets=[0, 0, 1]),
    )  # fmt: skip
    np.testing.assert_array_equal(result.values, arrays.values)
    assert result.query_ids.tolist() == ["b", "a"]
    with pytest.raises(fn.InvalidTypeError, match="`interactions` must have texts as items"):
        fn.beyond_accuracy(shown.assign(item=list("wxyz")), "coverage", interactions=sp.csr_array([[1, 0, 1]]))


def test_sparse_scores():
    liked = sp.csr_array([[0, 1, 0, 1], [1, 0, 0, 0]])
    scores = sp.csr_array([[0, 0.9, 0.5, 0.1], [0.2, 0.7, 0, 0]])
    result = fn.evaluate(liked, scores, "rr, num_ret")
    assert result.values.tolist() == [[1.0, 3.0], [0.5, 2.0]]
    for form in (sp.coo_matrix, sp.csc_array):
        assert fn.evaluate(liked, form(scores), "rr").values.tolist() == [[1.0], [0.5]]
    assert fn.evaluate({0: {1, 3}, 1: {0}}, scores, "rr").values.tolist() == [[1.0], [0.5]]
    tied = fn.evaluate(liked, sp.csr_array([[0, 0.5, 0.5, 0], [0.2, 0, 0, 0]]), "p@1")
    assert tied.values.tolist() == [[0.5], [1.0]]
    refused(r"must have a row per user and a column per item of the truth, \(2, 4\)", liked, scores[:1])
    drawn = sp.random_array((40, 50), density=0.2, rng=np.random.default_rng(7), format="csr")
    relevant = sp.csr_array((np.ones(drawn.nnz), drawn.indices[::-1] % 50, drawn.indptr), shape=drawn.shape)
    relevant.sum_duplicates()
    ranked = [[int(i) for i in np.argsort(-row) if row[i] > 0] for row in drawn.toarray()]
    expected = fn.evaluate(relevant, fn.Recommendations(ranked), "ndcg, map, rr, p@3, recall@5, bpref")
    np.testing.assert_array_equal(fn.evaluate(relevant, drawn, expected.metrics).values, expected.values)


def test_matrices_with_ids():
    scores = pd.DataFrame([[0.1, 0.9, 0.3], [0.5, 0.2, 0.7]], index=["u1", "u2"], columns=["x", "y", "z"])
    labels = pd.DataFrame([[np.nan, 0, 1], [1, np.nan, 0]], index=["u1", "u2"], columns=["x", "y", "z"])
    assert values(labels, scores) == values(labels, scores.iloc[::-1, ::-1]) == [1 / 2, 1 / 2]
    mixed = labels.fillna(0).astype({"x": bool, "y": "Int64", "z": int})
    assert values(mixed, scores.astype({"x": "float32"})) == [1 / 2, 1 / 2]
    ratings = pd.DataFrame({"userId": [7, 7, 9], "movieId": [1, 2, 1], "rating": [1.0, 0.0, 1.0]})
    table = ratings.pivot(index="userId", columns="movieId", values="rating")
    assert values(table, {7: {2: 1.0, 1: 0.5}, 9: {1: 0.1}}) == [1 / 2, 1]
    result = fn.evaluate(labels.rename(columns=str.upper), scores, "rr")
    assert "the qrels have 'X', the run has 'x'. They differ by the case of letters" in result.notes[0]
    refused("none of its usual names", pd.DataFrame({"a": [1, 2], "b": [0, 1]}), scores)  # a table of wrong names


def test_scores_of_one_element_and_columns_of_a_matrix():
    """model.predict gives arrays of shape (n, 1): as scores in dicts, and beside labels and query ids."""
    predicted = np.array([[0.2], [0.9]])
    assert values({"q": {"a": 1}}, {"q": dict(zip(["a", "b"], predicted, strict=True))}) == [1 / 2]
    assert values({"q": {"a": 1}}, {"q": {"a": 0.2, "b": np.array(0.9)}}) == [1 / 2]
    for labels in ([1, 0], np.array([[1], [0]])):
        assert values(labels, predicted, query_ids=np.array([["q"], ["q"]])) == [1 / 2]
        assert values(labels, predicted, offsets=[0, 2]) == [1 / 2]
    refused(r"score of document 'a' of query 'q' is array", {"q": {"a": 1}}, {"q": {"a": np.array([0.1, 0.2])}})


def test_class_of_each_row_and_probabilities():
    """Kaggle's MAP@k of one class a row: 1 / rank of the class among the first k."""
    classes, scores = np.array([2, 0, 1]), np.array([[0.1, 0.3, 0.6], [0.2, 0.5, 0.3], [0.3, 0.25, 0.4]])
    for pair in ((classes, scores), (classes.tolist(), scores.tolist()), (classes[:, None], scores)):
        assert fn.evaluate(*pair, "map@3").means() == [(1 + 1 / 3 + 1 / 3) / 3]
        assert fn.evaluate(*pair, "map@2").means() == [1 / 3]
    refused("that of row 1 is 3. Number them", np.array([2, 3, 1]), scores)
    refused(r"fn.Interactions\(classes", [1, 0, 1], [0.1, 0.2, 0.3])
    found = np.array([[2, 0, 1], [1, 2, 0], [0, 1, 2]])  # ids that a search found: recall@k of an index
    refused(r"offsets=.* \[set\(ids\) for ids in truth\] and fn.Recomm", classes[:, None], found)
    refused(r"fn.Interactions\(classes", classes, found)
    liked = [set(row) for row in classes[:, None]]
    assert fn.evaluate(liked, fn.Recommendations(found), "recall@1").means() == [1 / 3]


def test_ids_that_nearly_agree_are_said():
    for theirs, own, what in (
        (" d7", "d7", "blanks around them"), ("D7", "d7", "the case of letters"), ("007", "7", "zeros before numbers"),
        ("d7", "d7#2", "a suffix"), ("d7_1", "d7", "a suffix"), ("7", "7.0", "a fraction of 0"),
    ):  # fmt: skip
        notes = fn.evaluate({"q": {theirs: 1, "other": 1}}, {"q": {"x": 2.0, own: 1.0}}, "rr").notes
        assert notes == (
            f"no document of the run is judged: the qrels have {theirs!r}, the run has {own!r}. They differ by {what}: "
            "write ids alike",
        )
        refused(f"differ by {what}", {theirs: {"d": 1}}, {own: {"d": 1.0}})
    assert fn.evaluate({"q": {"d7": 1, "other": 1}}, {"q": {"d7": 2.0}}, "rr").notes == ()
    refused("whole numbers in the run, such as 7. As texts, 1 would be the same", {"q": {"7": 1}}, {"q": {7: 1.0}})


def test_a_frame_of_whole_numbers_without_names_is_no_run():
    numbers = pd.DataFrame([[0, 1], [1, 0]])
    model = fn.Embeddings(np.eye(2), np.eye(2))
    for use in (lambda frame: fn.Run(frame), lambda frame: fn.index_recall(model, frame)):
        with pytest.raises(
            fn.InvalidTypeError, match=r"could be items in rank order. Give frame.to_numpy\(\) for items"
        ):
            use(numbers)
    assert fn.Run(numbers.astype(float)).to_dict() == {0: {0: 0.0, 1: 1.0}, 1: {0: 1.0, 1: 0.0}}
    assert fn.index_recall(model, numbers.to_numpy(), "recall@1").means() == [1.0]
    assert fn.Qrels(numbers)[0] == {0: 0, 1: 1}  # labels are whole numbers
