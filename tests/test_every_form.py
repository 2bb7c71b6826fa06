"""Real data in every form: identical bytes come out."""

import bz2
import gzip
import json

import numpy as np
import pytest
from shared import shared

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
METRICS = "ndcg,ndcg@10,map,rr,p@5,recall@100"
CONVENTIONS = ("default", "trec_eval_9")


@pytest.fixture(scope="module")
def trec():
    """Judgments and a run of TREC 2019, as rows of plain Python."""
    qrels = [line.split() for line in shared("data", "trec-dl19", "qrels.txt").read_text().splitlines()]
    packed = shared("data", "trec-dl19", "runs", "BM25.2019.res.gz")
    run = [line.split() for line in gzip.decompress(packed.read_bytes()).decode().splitlines()]
    return [(q, d, int(v)) for q, _, d, v in qrels], [(row[0], row[2], float(row[4])) for row in run]


def frame(rows, name):
    """The rows as columns."""
    queries, documents, values = zip(*rows, strict=True)
    return {"query_id": queries, "doc_id": documents, name: values}


def nested(rows):
    """The rows as a dict of dicts."""
    table = {}
    for query, document, value in rows:
        table.setdefault(query, {})[document] = value
    return table


def forms(qrels, run, folder):
    """Judgments and run in every form that has ids."""
    columns = frame(qrels, "label"), frame(run, "score")
    dicts = nested(qrels), nested(run)
    yield "dicts", dicts
    for maker in (pd.DataFrame, pl.DataFrame, pa.table):
        yield maker.__module__, tuple(map(maker, columns))
    yield "categories", tuple(pl.DataFrame(one).with_columns(pl.col(pl.String).cast(pl.Categorical)) for one in columns)
    texts = {
        "trec": (
            "".join(f"{q} 0 {d} {v}\n" for q, d, v in qrels),
            "".join(f"{q}\tQ0\t{d}\t0\t{v!r}\tname\r\n" for q, d, v in run),
        ),
        "json": tuple(map(json.dumps, dicts)),
        "jsonl": tuple("\n".join(json.dumps({q: row}) for q, row in table.items()) for table in dicts),
        "csv": tuple(pl.DataFrame(one).write_csv() for one in columns),
    }
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


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_trec(trec, tmp_path, convention):
    """TREC 2019: dicts, frames and files of every kind, ties by id among them."""
    expected = fn.evaluate(*map(nested, trec), METRICS, convention=convention)
    assert len(expected) == 43
    names = []
    for name, (qrels, run) in forms(*trec, tmp_path):
        result = fn.evaluate(qrels, run, METRICS, convention=convention)
        assert result.values.tobytes() == expected.values.tobytes(), name
        assert result.query_ids.tolist() == expected.query_ids.tolist(), name
        names.append(name)
    assert len(names) == 18


def test_movies(tmp_path):
    """MovieLens with scores: arrays, shuffled rows, ragged columns, frames, Parquet and batches."""
    ratings = pl.read_csv(shared("data", "ml-latest-small", "ratings.csv"))
    rated = ratings.select("userId", "rating").with_columns(score=np.random.default_rng(6).random(len(ratings)))
    users, labels, scores = (rated[name].to_numpy() for name in rated.columns)
    expected = fn.evaluate(labels, scores, METRICS, query_ids=users)
    shuffled = rated.sample(fraction=1.0, shuffle=True, seed=1)
    rated.write_parquet(tmp_path / "sorted.parquet", row_group_size=999)
    shuffled.write_parquet(tmp_path / "shuffled.parquet", row_group_size=999)
    lists = rated.group_by("userId", maintain_order=True).agg("rating", "score")
    stream = fn.StreamingEvaluator(METRICS, per_query=True)
    for batch in np.array_split(np.unique(users), 7):
        stream.update(rated.filter(pl.col("userId").is_in(batch.tolist())))
    results = {
        "frame": fn.evaluate(rated, metrics=METRICS),
        "shuffled": fn.evaluate(shuffled, metrics=METRICS),
        "lists": fn.evaluate(lists, metrics=METRICS),
        "ragged": fn.evaluate(lists["rating"], lists["score"], METRICS),
        "parquet": fn.evaluate(tmp_path / "sorted.parquet", metrics=METRICS),
        "unsorted parquet": fn.evaluate(tmp_path / "shuffled.parquet", metrics=METRICS, memory="1MB"),
        "batches": stream.result(),
    }
    by_user = dict(zip(expected.query_ids.tolist(), expected.values, strict=True))
    for name, result in results.items():
        ids = expected.query_ids if name == "ragged" else result.query_ids
        assert sorted(ids.tolist()) == sorted(by_user), name
        for user, values in zip(ids.tolist(), result.values, strict=True):
            assert values.tobytes() == by_user[user].tobytes(), (name, user)
        assert result.mean() == expected.mean(), name


def test_recommended_movies():
    """Half of each user's ratings against the popular movies: a matrix, interactions, frames and dicts."""
    sparse = pytest.importorskip("scipy.sparse")
    ratings = pl.read_csv(shared("data", "ml-latest-small", "ratings.csv")).select("userId", "movieId", "rating")
    popular = ratings["movieId"].value_counts(sort=True)["movieId"][:50].to_numpy()
    users = ratings["userId"].unique(maintain_order=True).to_numpy()
    rows = np.searchsorted(users, ratings["userId"].to_numpy())
    shape = (len(users), int(ratings["movieId"].max()) + 1)
    matrix = sparse.csr_matrix((ratings["rating"].to_numpy(), (rows, ratings["movieId"].to_numpy())), shape=shape)
    recommended = np.tile(popular, (len(users), 1))
    expected = fn.evaluate(matrix, recommended, METRICS)
    by_user = ratings.group_by("userId", maintain_order=True).agg("movieId", "rating")
    run = {user: {movie: -rank for rank, movie in enumerate(popular.tolist())} for user in users.tolist()}
    dicts = {user: dict(zip(movies, given, strict=True)) for user, movies, given in by_user.iter_rows()}
    for result in (
        fn.evaluate(fn.Interactions(by_user["movieId"], by_user["rating"]), recommended, METRICS),
        fn.evaluate(fn.Qrels.from_frame(ratings, {"document": "movieId"}), run, METRICS),
        fn.evaluate(dicts, run, METRICS),
    ):
        assert result.values.tobytes() == expected.values.tobytes()
