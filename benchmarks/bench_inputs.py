"""Every form of input against the fastest other way to read or join the same data, with the memory of processes."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.data import make_rows
from benchmarks.proof import check_values, equals
from benchmarks.race import measure_peak, prepare_python

METRICS = "ndcg@10,map,rr"


def check_rows(qrels, run, metrics, means):
    """Raise AssertionError if means differ from those of dicts of the same rows, or these from the reference."""
    np.testing.assert_allclose(means, fn.evaluate(qrels, run, metrics).means(), rtol=1e-9)
    some = dict(list(qrels.items())[:20])
    check_values(some, {query: run[query] for query in some}, metrics, convention="default(ties=id_ascending)")


def write_trec(folder, n_topics, **kind):
    """Write judgments and a run of 500 documents a topic as TREC files."""
    rows = make_rows(n_topics, 500, **kind)
    qrels, run = str(folder / "qrels.txt"), str(folder / "run.txt")
    judged = rows.select(rows.labels > 0)
    fn.Qrels(judged.queries, judged.documents, judged.labels).write(qrels)
    fn.Run(rows.queries, rows.documents, rows.scores).write(run)
    return qrels, run


def test_trec_files(race, tmp_path):
    """Time a whole process that evaluates TREC text, against one that reads the file's bytes and imports NumPy."""
    qrels, run = write_trec(tmp_path, race.size(6_000, 5), is_text=True, is_shuffled=False)
    code = f"import numpy; data = open({run!r}, 'rb').read()"
    race.info["peak_mib"] = measure_peak(f"import fastndcg; fastndcg.evaluate({qrels!r}, {run!r}, {METRICS!r})")
    race.info["peak_mib_of_reading"] = measure_peak(code)
    means = fn.evaluate(fn.Qrels(qrels).to_dict(), fn.Run(run).to_dict(), METRICS).means()

    def check(printed):
        assert all(f"{value:.4f}" in printed for value in means), printed

    race(
        prepare_python("-m", "fastndcg", "evaluate", qrels, run, "-m", METRICS),
        check,
        floors={"reading the bytes": prepare_python("-c", code)},
    )


@pytest.mark.parametrize("kind", ["ranked, whole numbers", "no order, texts, ties"])
def test_trec_text(race, tmp_path, kind):
    """Time TREC text in this process against pandas' parser of the same file."""
    pd = pytest.importorskip("pandas")
    is_text = kind.startswith("no order")
    levels = 100 if is_text else None
    qrels, run = write_trec(tmp_path, race.size(2_000, 5), is_text=is_text, is_shuffled=is_text, levels=levels)
    dicts = fn.Qrels(qrels).to_dict(), fn.Run(run).to_dict()
    race(
        lambda: fn.evaluate(qrels, run, METRICS).means(),
        lambda means: check_rows(*dicts, METRICS, means),
        peers={"pandas' parser": lambda: pd.read_csv(run, sep=" ", header=None, dtype={0: str, 2: str})},
    )


@pytest.mark.parametrize("library", ["Polars", "pyarrow", "pandas"])
@pytest.mark.parametrize("kind", ["ranked", "no order, ties"])
def test_frames(race, kind, library):
    """Time joining frames with text ids and evaluating them, against the library's join of both."""
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    ties = kind != "ranked"
    rows = make_rows(race.size(4_000, 5), 500, is_text=True, is_shuffled=ties, levels=100 if ties else None)
    judged, keys = rows.select(rows.labels > 0), ["query", "document"]
    run = pl.DataFrame({"query": rows.queries, "document": rows.documents, "score": rows.scores})
    qrels = pl.DataFrame({"query": judged.queries, "document": judged.documents, "label": judged.labels})
    convert, join = {
        "Polars": (lambda frame: frame, lambda qrels, run: run.join(qrels, on=keys, how="left")),
        "pyarrow": (
            lambda frame: frame.to_arrow(compat_level=pl.CompatLevel.oldest()),
            lambda qrels, run: run.join(qrels, keys=keys, join_type="left outer"),
        ),
        "pandas": (
            lambda frame: pd.DataFrame({name: frame[name].to_list() for name in frame.columns}),
            lambda qrels, run: run.merge(qrels, on=keys, how="left"),
        ),
    }[library]
    frames = (convert(qrels), convert(run))
    race(
        lambda: fn.evaluate(*frames, "ndcg@10").means(),
        lambda means: check_rows(*rows.make_dicts(), "ndcg@10", means),
        floors={f"a join by {library}": lambda: join(*frames)},
    )


@pytest.mark.parametrize("kind", ["Parquet", "CSV"])
def test_table_files(race, tmp_path, kind):
    """Time files of rows in no order with ties, against reading them and joining both by Polars and by pyarrow."""
    pl, pq = pytest.importorskip("polars"), pytest.importorskip("pyarrow.parquet")
    csv = pytest.importorskip("pyarrow.csv")
    rows = make_rows(race.size(4_000, 5), 500, is_text=True, is_shuffled=True, levels=100)
    judged, keys = rows.select(rows.labels > 0), ["query", "document"]
    paths = [str(tmp_path / f"{name}.{kind.lower()}") for name in ("qrels", "run")]
    columns = {"label": judged.labels}, {"score": rows.scores}
    for path, own, values in zip(paths, (judged, rows), columns, strict=True):
        frame = pl.DataFrame({"query": own.queries, "document": own.documents, **values})
        getattr(frame, f"write_{kind.lower()}")(path)
    read_frame = getattr(pl, f"read_{kind.lower()}")
    read_table = pq.read_table if kind == "Parquet" else csv.read_csv

    def join_frames():
        qrels, run = map(read_frame, paths)
        return run.join(qrels, on=keys, how="left")

    def join_tables():
        qrels, run = map(read_table, paths)
        return run.join(qrels, keys=keys, join_type="left outer")

    race(
        lambda: fn.evaluate(*paths, "ndcg@10").means(),
        lambda means: check_rows(*rows.make_dicts(), "ndcg@10", means),
        floors={"Polars' reading and join": join_frames, "pyarrow's reading and join": join_tables},
    )


@pytest.mark.parametrize("way", ["rule", "column", "dict", "function"])
@pytest.mark.parametrize("ranks", ["kept", "closed"])
def test_chunks(race, ranks, way):
    """Time frames of chunks, all different, against the same frame of documents without `parents`, with text ids."""
    rows = make_rows(race.size(2_000, 5), 500, is_text=True, is_shuffled=True)
    judged = rows.select(rows.labels > 0)
    qrels = fn.Qrels(judged.queries, judged.documents, judged.labels)
    chunks = np.array([f"{document}#{row}" for row, document in enumerate(rows.documents)])
    plain = {"query": rows.queries, "document": rows.documents, "score": rows.scores}
    run = {"query": rows.queries, "document": chunks, "score": rows.scores, "parent": rows.documents}
    parents = {
        "rule": "before #",
        "column": "parent",
        "dict": dict(zip(chunks.tolist(), rows.documents.tolist(), strict=True)),
        "function": lambda chunk: chunk.partition("#")[0],
    }[way]
    means = fn.evaluate(qrels, plain, METRICS).means()
    race(
        lambda: fn.evaluate(qrels, fn.Run(run, ranks=ranks, parents=parents), METRICS).means(),
        lambda found: np.testing.assert_allclose(found, means, rtol=1e-12),
        floors={"without chunks": lambda: fn.evaluate(qrels, plain, METRICS).means()},
    )


@pytest.mark.parametrize(("choice", "ranks"), [("first", "kept"), ("best", "closed"), ("sum", None)])
def test_duplicates(race, choice, ranks):
    """Time runs that have each document twice against the runs of distinct documents that they stand for."""
    rows = make_rows(race.size(2_000, 5), 500, is_text=True, is_shuffled=True)
    judged = rows.select(rows.labels > 0)
    qrels = fn.Qrels(judged.queries, judged.documents, judged.labels)
    again = {
        "query": np.tile(rows.queries, 2),
        "document": np.tile(rows.documents, 2),
        "score": np.concatenate([rows.scores + 1.0, (rows.scores + 1.0) / 1000]),  # below all first rows
    }
    plain = {name: column[: len(rows.scores)] for name, column in again.items()}

    def evaluate(run):
        return fn.evaluate(qrels, run, METRICS).means()

    means = evaluate(plain)
    race(
        lambda: evaluate(fn.Run(again, duplicates=choice, ranks=ranks)),
        lambda found: np.testing.assert_allclose(found, means, rtol=1e-12),
        floors={"distinct documents": lambda: evaluate(plain)},
    )


def test_parquet(race, tmp_path):
    """Time Parquet rows sorted by query, read in parts, against pyarrow's reading of the same columns."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(2)
    path = str(tmp_path / "rows.parquet")
    n_rows = race.size(20_000_000, 20_000)
    columns = {
        "query": np.arange(n_rows) // 100,
        "label": (random.random(n_rows) < 0.05).astype("i1"),
        "score": random.random(n_rows, "f4"),
        "other": random.random(n_rows),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1_000_000)
    work = f"fastndcg.evaluate(fastndcg.Rows({path!r}, memory='250MB'), metrics='ndcg@10')"
    race.info["peak_mib"] = measure_peak(f"import fastndcg, pyarrow.dataset\n{work}")
    race.info["peak_mib_of_imports"] = measure_peak("import fastndcg, pyarrow.dataset")
    arrays = [columns[name] for name in ("label", "score", "query")]
    expected = fn.evaluate(*arrays[:2], "ndcg@10", query_ids=arrays[2])
    labels, scores, queries = (column[arrays[2] < 50] for column in arrays)
    check_values(labels, scores, "ndcg@10", query_ids=queries)
    race(
        lambda: fn.evaluate(fn.Rows(path, memory="250MB"), metrics="ndcg@10").means(),
        equals(expected.means()),
        floors={"pyarrow's reading": lambda: pq.read_table(path, columns=["query", "score", "label"])},
    )


def test_json_lines(race, tmp_path):
    """Time a run of records on lines against Python's parser alone."""
    path, random = tmp_path / "run.jsonl", np.random.default_rng(4)
    scores = random.random(race.size(1_000_000, 20_000)).tolist()
    lines = [
        json.dumps({"query": f"q{row // 100}", "document": f"d{row % 100}", "score": score}) for row, score in
        enumerate(scores)
    ]  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    race(
        lambda: fn.Run(path).values,
        lambda values: np.testing.assert_array_equal(values, scores),
        floors={
            "json.loads of the lines": lambda: list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
        },
    )


@pytest.mark.parametrize("kind", ["ranked", "no order, ties", "few long queries"])
def test_dicts_of_dicts(race, kind):
    """Time dicts of dicts with text ids against pytrec_eval with its conversion."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    queries, documents = (5, 100_000) if kind == "few long queries" else (1_000, 500)
    is_shuffled = kind == "no order, ties"
    rows = make_rows(
        queries, race.size(documents, 10), is_text=True, is_shuffled=is_shuffled, levels=50 if is_shuffled else None
    )
    qrels, run = rows.make_dicts()
    names = ("ndcg_cut_10", "map", "recip_rank")
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
    means = [np.mean([theirs[query][name] for query in qrels]) for name in names]
    race(
        lambda: fn.evaluate(qrels, run, METRICS, convention="trec_eval_9").means(),
        equals(means),
        peers={"pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)},
    )


def test_recommendations(race):
    """Time recommended items of many users against a sparse matrix, in multiples of adding up both."""
    sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(4)
    n_users, n_items = race.size(500_000, 100), 50_000
    items = random.integers(0, n_items, 10 * n_users, dtype="i4")
    bounds = np.arange(0, 10 * n_users + 1, 10)
    relevant = sparse.csr_matrix((np.ones(10 * n_users, "f4"), items, bounds), shape=(n_users, n_items))
    relevant.sum_duplicates()
    starts = random.integers(0, n_items, (n_users, 1), dtype="i4")
    recommended = (starts + np.arange(100, dtype="i4") * 499) % n_items
    arrays = [*np.array_split(recommended, 2), relevant.indices, relevant.data]
    pool = ThreadPoolExecutor(2)
    some = fn.reference.evaluate(relevant[:50], recommended[:50], "ndcg@20,r@20")
    race(
        lambda: fn.evaluate(relevant, recommended, "ndcg@20,r@20").values,
        equals(some.values, 1e-12, read=lambda values: values[:50]),
        floors={"reading the arrays": lambda: list(pool.map(np.sum, arrays))},
    )


LISTS = "SELECT list(label) AS labels, list(score) AS scores FROM rows GROUP BY query"
NDCG_IN_SQL = """
    WITH ranked AS (
        SELECT query, label,
            row_number() OVER (PARTITION BY query ORDER BY score DESC) AS place,
            row_number() OVER (PARTITION BY query ORDER BY label DESC) AS ideal_place
        FROM rows
    ), gains AS (
        SELECT sum(label / log2(place + 1)) FILTER (place <= 10) AS dcg,
            sum(label / log2(ideal_place + 1)) FILTER (ideal_place <= 10) AS idcg
        FROM ranked GROUP BY query
    )
    SELECT avg(dcg / idcg) FROM gains WHERE idcg > 0
"""


@pytest.mark.parametrize("engine", ["DuckDB", "Polars"])
def test_tables(race, engine):
    """Time functions of lists in DuckDB and Polars, from rows in no order, against nDCG in SQL and grouping alone."""
    generator = np.random.default_rng(4)
    n_queries = race.size(20_000, 100)
    columns = {
        "query": generator.permutation(np.repeat(np.arange(n_queries), 50)),
        "label": generator.integers(0, 4, n_queries * 50),
        "score": generator.permutation(n_queries * 50) / (n_queries * 50),
    }
    some = {name: column[columns["query"] < 20] for name, column in columns.items()}
    check_values(some["label"], some["score"], "ndcg@10", query_ids=some["query"])
    expected = fn.evaluate(columns["label"], columns["score"], "ndcg@10", query_ids=columns["query"]).means()[0]
    if engine == "DuckDB":
        duckdb, pyarrow = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
        from fastndcg.integrations.duckdb import register

        connection = duckdb.connect()
        register(connection, {"ndcg": "nDCG"})
        connection.register("arrow_rows", pyarrow.table(columns))
        connection.execute("CREATE TABLE rows AS SELECT * FROM arrow_rows").fetchall()

        def ask(query):
            return connection.execute(query).fetchall()[0][0]

        equals(expected)(ask(NDCG_IN_SQL))
        race(
            lambda: ask(f"SELECT avg(ndcg(labels, scores, 10)) FROM ({LISTS})"),
            equals(expected),
            floors={"the lists alone": lambda: ask(f"SELECT sum(len(labels) + len(scores)) FROM ({LISTS})")},
            peers={"nDCG in SQL": lambda: ask(NDCG_IN_SQL)},
        )
        return
    pl = pytest.importorskip("polars")
    from fastndcg.integrations.polars import metric

    frame = pl.DataFrame(columns)
    expression = metric("ndcg@10", "label", "score").mean()
    race(
        lambda: frame.group_by("query").agg("label", "score").select(expression).item(),
        equals(expected),
        floors={"the lists alone": lambda: frame.group_by("query").agg("label", "score")},
    )
