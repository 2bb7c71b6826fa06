"""Recorded data in every form: identical bytes come out."""

import bz2
import collections
import gzip
import itertools
import json

import numpy as np
import pytest
from recorded_data import DRAWN_RUNS, drawn_run
from refusals import refused
from table_forms import LIBRARY_FORMS, PLAIN_FORMS

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
METRICS = "ndcg,ndcg@10,map,rr,p@5,recall@100"
N_QUERIES = 15
CONVENTIONS = ("default", "trec_eval_9")
Judgment = collections.namedtuple("Judgment", "query_id doc_id relevance")
ScoredDocument = collections.namedtuple("ScoredDocument", "query_id doc_id score")
RANKINGS = fn.Rankings([0, 1], [2.0, 1.0], [0, 2])


@pytest.fixture(scope="module")
def trec():
    qrels, run = (
        [line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
        for path in (DRAWN_RUNS / "qrels.txt.gz", drawn_run("impacts"))
    )
    queries = set(sorted({row[0] for row in qrels})[:N_QUERIES])
    return (
        [(q, d, int(v)) for q, _, d, v in qrels if q in queries],
        [(row[0], row[2], float(row[4])) for row in run if row[0] in queries],
    )


def frame(rows, name):
    queries, documents, values = zip(*rows, strict=True)
    return {"query_id": queries, "doc_id": documents, name: values}


def nested(rows):
    table = {}
    for query, document, value in rows:
        table.setdefault(query, {})[document] = value
    return table


def forms(qrels, run, folder):
    columns = frame(qrels, "label"), frame(run, "score")
    dicts = nested(qrels), nested(run)
    yield "dicts", dicts
    yield "tuples", (qrels, run)
    yield "iterators of named tuples", (itertools.starmap(Judgment, qrels), itertools.starmap(ScoredDocument, run))
    records = tuple([dict(zip(one, row, strict=True)) for row in zip(*one.values(), strict=True)] for one in columns)
    yield "records", records
    for maker in (pd.DataFrame, pl.DataFrame, pa.table):
        yield maker.__module__, tuple(map(maker, columns))
    yield "categories", tuple(pl.DataFrame(one).with_columns(pl.col(pl.String).cast(pl.Categorical)) for one in columns)
    hits = tuple(
        {query: [{"_id": document, name: value} for document, value in row.items()] for query, row in one.items()}
        for one, name in zip(dicts, ("rating", "_score"), strict=True)
    )
    listed = tuple(
        [{"query": query, name: row} for query, row in one.items()]
        for one, name in zip(hits, ("ratings", "hits"), strict=True)
    )
    yield "hits", hits
    yield "lists of hits", listed
    texts = {
        "json of hits": tuple(map(json.dumps, hits)),
        "jsonl of hits": tuple("\n".join(json.dumps({q: row}) for q, row in one.items()) for one in hits),
        "jsonl of lists of hits": tuple("\n".join(map(json.dumps, rows)) for rows in listed),
        "trec": ("".join(f"{q} 0 {d} {v}\n" for q, d, v in qrels),
            "".join(f"{q}\tQ0\t{d}\t0\t{v!r}\tname\r\n" for q, d, v in run)),
        "json": tuple(map(json.dumps, dicts)),
        "jsonl": tuple("\n".join(json.dumps({q: row}) for q, row in table.items()) for table in dicts),
        "json of records": tuple(map(json.dumps, records)),
        "jsonl of records": tuple("\n".join(map(json.dumps, rows)) for rows in records),
        "csv": tuple(pl.DataFrame(one).write_csv() for one in columns),
        "tabs": tuple(pl.DataFrame(one).write_csv(separator="\t") for one in columns),
        "semicolons": tuple(pl.DataFrame(one).write_csv(separator=";") for one in columns),
        "blanks": tuple(pl.DataFrame(one).write_csv(separator=" ") for one in columns),
    }  # fmt: skip
    for name, text in texts.items():
        for suffix, pack in (("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)):
            paths = [folder / f"{name}-{side}{suffix}" for side in ("qrels", "run")]
            for path, content in zip(paths, text, strict=True):
                path.write_bytes(pack(content.encode()))
            yield name + suffix, paths
    paths = [folder / f"{side}.parquet" for side in ("qrels", "run")]
    for path, one in zip(paths, columns, strict=True):
        pl.DataFrame(one).write_parquet(path)
    yield "parquet", paths
    tables = tuple(map(pa.table, columns))
    for name, make in PLAIN_FORMS.items():
        yield name, tuple(make(one, folder) for one in tables)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_trec_data_in_every_form(trec, tmp_path, convention):
    expected = fn.evaluate(*map(nested, trec), METRICS, convention=convention)
    assert len(expected) == N_QUERIES
    names = []
    for name, (qrels, run) in forms(*trec, tmp_path):
        result = fn.evaluate(qrels, run, METRICS, convention=convention)
        assert result.values.tobytes() == expected.values.tobytes(), name
        assert result.query_ids.tolist() == expected.query_ids.tolist(), name
        names.append(name)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", LIBRARY_FORMS)
def test_trec_data_in_forms_of_libraries(trec, tmp_path, name):
    qrels, run = (
        LIBRARY_FORMS[name](pa.table(frame(*one)), tmp_path) for one in zip(trec, ("label", "score"), strict=True)
    )
    expected = fn.evaluate(*map(nested, trec), METRICS, convention="trec_eval")
    result = fn.evaluate(qrels, run, METRICS, convention="trec_eval")
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.query_ids.tolist() == expected.query_ids.tolist()


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_ranked_ids_in_every_form(trec, tmp_path, convention):
    found = {query: [d for d, label in row.items() if label > 0] for query, row in nested(trec[0]).items()}
    relevant = {query: ids for query, ids in found.items() if ids}
    ranked = {query: sorted(row, key=row.get, reverse=True) for query, row in nested(trec[1]).items()}
    labels = {query: dict.fromkeys(ids, 1) for query, ids in relevant.items()}
    scores = {query: {document: -rank for rank, document in enumerate(ids)} for query, ids in ranked.items()}
    expected = fn.evaluate(labels, scores, METRICS, convention=convention)
    assert len(expected) == len(relevant) > 10
    rows = [(query, document, rank) for query, ids in ranked.items() for rank, document in enumerate(ids, 1)]
    ranks = pd.DataFrame(frame(rows, "rank"))
    liked = pd.DataFrame(frame([(q, d, 1.0) for q, ids in relevant.items() for d in ids], "weight"))
    lists = [
        [{"query_id": query, name: ids} for query, ids in one.items()]
        for one, name in ((relevant, "expected_ids"), (ranked, "retrieved_ids"))
    ]
    paths = [tmp_path / "qrels.json", tmp_path / "run.jsonl"]
    paths[0].write_text(json.dumps(relevant))
    paths[1].write_text("\n".join(json.dumps({query: ids}) for query, ids in ranked.items()))
    groups = [{"query_id": query, "retrieval_gt": [[one] for one in ids]} for query, ids in relevant.items()]
    questions = {"queries": dict.fromkeys(relevant, "?"), "corpus": {}, "relevant_docs": relevant, "mode": "text"}
    examples = [{"inputs": {"query_id": row["query_id"]}, "outputs": {"docs": row["expected_ids"]}} for row in lists[0]]
    others = [tmp_path / "groups.parquet", tmp_path / "questions.json", tmp_path / "examples.jsonl"]
    pl.DataFrame(groups).write_parquet(others[0])
    others[1].write_text(json.dumps(questions))
    others[2].write_text("\n".join(map(json.dumps, examples)))
    for name, (truth, run) in {
        "lists": (relevant, ranked),
        "groups": (groups, ranked),
        "a frame of groups": (pd.DataFrame(groups), ranked),
        "Parquet of groups": (others[0], ranked),
        "a data set of LlamaIndex": (questions, ranked),
        "its file": (others[1], ranked),
        "examples of LangSmith": (examples, ranked),
        "their file": (others[2], ranked),
        "sets": ({query: set(ids) for query, ids in relevant.items()}, ranked),
        "frames": (liked, ranks),
        "shuffled frames": (liked, ranks.sample(frac=1.0, random_state=3)),
        "records": (liked.to_dict("records"), ranks.to_dict("records")),
        "records of lists": lists,
        "frames of lists": [pd.DataFrame(one) for one in lists],
        "columns of lists": [pl.DataFrame(one) for one in lists],
        "files": paths,
    }.items():
        result = fn.evaluate(truth, run, METRICS, convention=convention)
        by_query = dict(zip(result.query_ids.tolist(), result.values, strict=True))
        values = np.stack([by_query[query] for query in expected.query_ids.tolist()])
        assert values.tobytes() == expected.values.tobytes(), name


class Ranked:
    """A value of a form that a test adds."""


def test_lists_and_dicts_skip_forms_of_objects(monkeypatch):
    from fastndcg.forms import dispatch

    def fail(value):
        raise AssertionError(f"{value} was searched")

    replaced = tuple(record if record.types else record._replace(matches=fail) for record in dispatch.FORMS)
    monkeypatch.setattr(dispatch, "FORMS", replaced)
    assert fn.evaluate([[1, 0]], [[0.1, 0.2]], "rr").mean() == {"RR": 0.5}
    assert fn.evaluate({"q": {"a"}}, {"q": ["b", "a"]}, "rr").mean() == {"RR": 0.5}
    refused("was searched", fn.evaluate, Ranked(), metrics="rr", error=AssertionError)


def test_a_new_form_is_one_record(monkeypatch):
    from fastndcg.forms import dispatch

    form = dispatch.InputForm("a Ranked", lambda value: isinstance(value, Ranked), lambda *_: RANKINGS)
    monkeypatch.setattr(dispatch, "FORMS", (*dispatch.FORMS, form))
    assert fn.evaluate(Ranked(), metrics="rr").mean() == {"RR": 0.5}
    refused("or a Ranked, but is of type int", fn.evaluate, 3, metrics="rr", error=fn.InvalidTypeError)
