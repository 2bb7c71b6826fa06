"""Work that calls the kernels of inputs, statistics, agreement, recommendations, scoring and fusion."""

import tempfile
from pathlib import Path

import numpy as np

import fastndcg as fn
from fastndcg.compat import common
from fastndcg.engine import run as engine
from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
from fastndcg.fusion.conventions import CHOICES as FUSION_CHOICES
from fastndcg.metrics.families import records_of
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import CHOICES, conventions
from fastndcg.rankings.rankings import Rankings
from fastndcg.recommenders.interactions import MAX_MARKED_ROW, Interactions
from fastndcg.results.aggregates import to_limbs
from fastndcg.statistics import resampling
from fastndcg.statistics.sampling_design import make_design
from fastndcg.statistics.settings import Settings

DEFAULT = conventions["default"]


def run_all(rng):
    for run in (
        evaluate_sums, evaluate_variants, compare, agree, look_beyond, cover_text, read, repeat, judge, recommend,
        score, fuse, tune,
    ):  # fmt: skip
        run(rng)


def draw_items(rng, n_users, n_each, n_items, dtype="i4"):
    return np.concatenate([rng.permutation(n_items)[:n_each] for _ in range(n_users)]).astype(dtype)


def make_queries(rng, n_queries=30, longest=40):
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, longest, n_queries))])
    labels = rng.integers(0, 4, offsets[-1]) * (rng.random(offsets[-1]) < 0.5)
    return labels, rng.integers(0, 9, offsets[-1]).astype("f8"), offsets


def evaluate_sums(rng):
    """Evaluate sums of gains of all kinds, and labels whose ideal must be sorted."""
    labels, scores, offsets = make_queries(rng)
    rankings = Rankings(labels, scores, offsets)
    gains = (*(Metric("DCG", gain=gain) for gain in ("exp2", "binary", (0, 1, 2, 2))), Metric("DCG", rel=2))
    engine.run(rankings, (*gains, *(Metric("nDCG", gain=gain) for gain in ("exp2", "binary"))), DEFAULT)
    interpolated = tuple(map(Metric.parse, ("IPrec(recall=0.1)", "IAP(rel=2)")))
    engine.run(rankings, interpolated, DEFAULT.replace(ties="input"))
    fractions = labels * rng.random(len(labels)) * 40
    engine.run(Rankings(fractions, scores, offsets), (Metric("nDCG"), Metric("DCG")), DEFAULT)
    equal = Rankings(np.ones(len(labels), "u1"), scores, offsets)
    every = tuple(Metric(record.name) for record in records_of("evaluate") if not record.by_subtopic)
    engine.run(equal, every, DEFAULT.replace(ties="input"))
    engine.run(equal, tuple(metric for metric in every if "average" in metric.record.ties), DEFAULT)


def evaluate_variants(rng):
    """Evaluate what takes a metric's place under some choices, metrics by subtopic, and an exact sum."""
    labels, scores, offsets = make_queries(rng)
    for record in records_of("evaluate"):
        for field, choice, _ in record.variants:
            metric = Metric(record.name, 1 if record.has_cutoff else None)
            is_convention = field in CHOICES
            convention = DEFAULT.replace(**{field: choice}) if is_convention else DEFAULT
            chosen = metric if is_convention else metric(**{field: choice})
            fn.evaluate(labels, scores, chosen, offsets=offsets, convention=convention)
    by_subtopic = [Metric(record.name) for record in records_of("evaluate") if record.by_subtopic]
    by_subtopic += [metric @ 5 for metric in by_subtopic if metric.record.has_cutoff]
    subtopics = rng.integers(0, 2, (4, 30, 3))
    for scored in (rng.random((4, 30)), rng.integers(0, 4, (4, 30))):
        fn.evaluate(subtopics, scored, by_subtopic)
    to_limbs(rng.standard_normal(1000) * 10.0 ** rng.integers(-300, 300, 1000))


def compare(rng):
    """Draw the replicates of everything that comparisons draw."""
    labels = rng.integers(0, 3, (60, 8))
    systems = {name: rng.random((60, 8)) for name in "abc"}
    for options in ({"test": "randomization"}, {"test": "tukey"}, {"interval": "percentile"}):
        fn.compare(labels, systems, "rr,ap", replicates=50, **options)
    few = {name: scores[:9] for name, scores in systems.items()}
    fn.compare(labels[:9], few, "rr", test="randomization")
    clusters = np.repeat(np.arange(20), 3)
    fn.compare(labels, systems, "rr", clusters=clusters, replicates=50, interval="percentile")
    strided = rng.random((6, 9, 2))[:, :, ::2]
    settings = Settings(replicates=20, threads=1)
    resampling.permuted_ranges(np.moveaxis(strided, 2, 0), settings)
    resampling.bootstrap_sums(rng.random((60, 4))[:, ::2], make_design(np.arange(60)), settings)
    stream = fn.StreamingEvaluator("rr,ap")
    stream.update(labels, systems["a"])
    str(stream.result())


def agree(rng):
    """Compare rankings by every metric of agreement, for both dtypes of scores."""
    names = [record.name for record in records_of("agreement")]
    _, _, offsets = make_queries(rng)
    for first in ("f4", "f8"):
        for second in ("f4", "f8"):
            pair = [rng.integers(0, 9, offsets[-1]).astype(dtype) for dtype in (first, second)]
            fn.agreement(*pair, names, offsets=offsets)
    fn.agreement({"a": {"1": 2, "2": 1}}, {"a": {"1": 1, "3": 2}}, names)


def look_beyond(rng):
    names = [record.name for record in records_of("beyond_accuracy")]
    metrics = [*names, "ILD(distance=jaccard)", "ILD(distance=hamming)"]
    recommended = np.argsort(rng.random((20, 50)), axis=1)[:, :5]
    for dtype in ("i4", "i8"):
        for labels in (None, rng.random(40)):
            liked = Interactions(draw_items(rng, 20, 2, 50, dtype), labels, np.arange(0, 41, 2))
            fn.beyond_accuracy(
                recommended.astype(dtype), metrics, popularity=rng.integers(1, 20, 50), n_users=20,
                vectors=rng.random((50, 4)), categories=rng.integers(0, 2, (50, 3)), liked=liked,
            )  # fmt: skip


def cover_text(rng):
    """Cover gold text by chunks, by every metric of spans."""
    names = [record.name for record in records_of("evaluate_spans")]
    gold, chunks = ({q: [("a", s, s + 9) for s in rng.integers(0, 90, n).tolist()] for q in "pq"} for n in (3, 8))
    fn.evaluate_spans(gold, chunks, [*names, "span_ndcg(ideal=chunks)@3"])


def read(rng):
    """Read text, dicts, tuples and items, in any order, with labels of all types, and write runs."""
    queries = [f"q{n}" for n in rng.integers(0, 9, 200)]
    documents = [f"d{n:03}" for n in rng.permutation(200)]
    scores = rng.integers(0, 30, 200) / 7
    run = fn.Run(queries, documents, scores)
    text = run.to_trec()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.txt")
        file.write_text(text)
        fn.Run(file)
        judged = fn.Qrels(queries, documents, np.ones(200, "i8"))
        fn.evaluate(judged, run, "ndcg").save(Path(folder, "result"), truth=judged)
    fn.Run({"a": ["1", "2"]}).to_trec()
    for labels in (rng.integers(0, 3, 200), rng.integers(-1, 300, 200), rng.random(200)):
        qrels = fn.Qrels(queries, documents, labels)
        for convention in ("default", "trec_eval", "trec_eval_9"):
            fn.evaluate(qrels, run, "ndcg,ap,bpref", convention=convention)
        subtopics = [f"s{n}" for n in rng.integers(0, 3, 200)]
        fn.evaluate(fn.DiversityQrels(queries, subtopics, documents, labels), run, "P_IA,alpha_nDCG")
        judged = {
            q: {d: v for p, d, v in zip(queries, documents, labels.tolist(), strict=True) if p == q} for q in queries
        }
        run_dict = {
            q: {d: s for p, d, s in zip(queries, documents, scores.tolist(), strict=True) if p == q} for q in queries
        }
        fn.evaluate(judged, run_dict, "ndcg,ap")
        common.judge(fn.Qrels(judged), fn.Run(run_dict)).with_tie_keys()
        numbers = rng.permutation(200)
        fn.evaluate(fn.Qrels(numbers // 20, numbers, labels), fn.Run(numbers // 20, numbers, scores), "ndcg")
    some = np.isin(queries, ["q1", "q4", "q6"])  # so that judgments of the others are left out
    part = fn.Run(np.array(queries)[some], np.array(documents)[some], scores[some])
    for labels in (rng.integers(0, 3, 200), rng.integers(-1, 300, 200), rng.random(200)):
        for convention in ("default(missing_in_run=skip)", "default(missing_in_run=skip, ties=id_descending)"):
            fn.evaluate(fn.Qrels(queries, documents, labels), part, "ndcg", convention=convention)
    few = fn.Qrels(np.array(queries)[some], np.array(documents)[some], rng.integers(0, 3, some.sum()))
    fn.evaluate(few, run, "ndcg", convention="default(ties=id_descending)")
    rows = [{"query": q, "document": d, "label": 1} for q, d in zip(queries, documents, strict=True)]
    fn.evaluate(rows, run, "ndcg")


def repeat(rng):
    """Read documents more than once, and passages of documents."""
    qrels = {"a": {f"d{n}": n % 2 for n in range(5)}, "b": {"d1": 1}}
    run = [(q, f"d{n % 7}", float(score)) for q in "ab" for n, score in enumerate(rng.permutation(20))]
    parents = {f"d{n}": f"p{n % 3}" for n in range(7)}
    for choice in ("first", "best", "sum"):
        fn.evaluate(qrels, fn.Run(run, duplicates=choice), "ndcg")
        fn.evaluate({q: {"p1": 1} for q in "ab"}, fn.Run(run, parents=parents, duplicates=choice), "ndcg")


def judge(rng):
    """Bound metrics over unjudged documents."""
    truth = {q: {f"d{n}": int(n % 3) for n in rng.permutation(9)[:4].tolist()} for q in "abc"}
    systems = {name: {q: {f"d{n}": float(n) for n in rng.permutation(9)[:6].tolist()} for q in "abc"} for name in "xy"}
    fn.bounds(truth, systems, "ndcg@5, r@5, p@3, rr, ap", labels=range(3)).difference("y", "x")


def recommend(rng):
    for n_items in (50, 5000):
        for dtype in ("i4", "i8"):
            recommended = np.argsort(rng.random((30, n_items)), axis=1)[:, :20].astype(dtype)
            for labels in (rng.integers(0, 3, 120), rng.random(120), None):
                items = draw_items(rng, 30, 4, n_items - 2, dtype)
                liked = Interactions(items, labels, np.arange(0, 121, 4))
                fn.evaluate(liked, recommended, "ndcg@10,recall@20,map")
                for score_dtype in ("f4", "f8"):
                    scores = rng.integers(0, 9, (30, n_items)).astype(score_dtype)
                    for ties in ("average", "input", "worst", "id_ascending", "id_descending"):
                        convention = f"default(ties={ties})"
                        seen = fn.Scores(scores, exclude=[[n_items - 2, n_items - 1]] * 30)
                        fn.evaluate(liked, seen, "ndcg@10,rr", convention=convention)
                        fn.evaluate(liked, scores, "ndcg,auc", convention=convention)
    for dtype in ("i4", "i8"):
        long_rows = np.argsort(rng.random((3, 6 * MAX_MARKED_ROW)), axis=1)[:, : 2 * MAX_MARKED_ROW].astype(dtype)
        for labels in (rng.integers(0, 3, 12), rng.random(12)):
            liked = Interactions(draw_items(rng, 3, 4, 6 * MAX_MARKED_ROW, dtype), labels, np.arange(0, 13, 4))
            fn.evaluate(liked, long_rows, "ndcg@10,recall@20,map")
    for dtype in ("f4", "f8", "i1", "i4", "i8", "u1"):
        Interactions(draw_items(rng, 3, 4, 50), rng.integers(0, 3, 12).astype(dtype), np.arange(0, 13, 4))


def score(rng):
    liked = Interactions(draw_items(rng, 20, 2, 300), None, np.arange(0, 41, 2))
    floats = {dtype: (rng.standard_normal((20, 24)).astype(dtype), rng.standard_normal((300, 24)).astype(dtype))
              for dtype in ("f4", "f8")}  # fmt: skip
    for users, items in floats.values():
        for similarity in ("dot", "cosine", "euclidean"):
            embeddings = fn.Embeddings(users, items, similarity=similarity)
            fn.evaluate(liked, embeddings, "ndcg@10,rr,bpref")
            fn.evaluate(liked, embeddings, "ndcg@10,rr")
            embeddings.top(10)
            embeddings.top(150)
            embeddings.score_rows(np.array([0, 1]))
    small = rng.integers(-128, 128, (320, 24)).astype("i1")
    wide = rng.integers(-128, 128, (320, 2000)).astype("i1")
    bits = rng.integers(0, 256, (320, 8)).astype("u1")
    for vectors, similarity in ((small, "dot"), (wide, "dot"), (bits, "hamming")):
        embeddings = fn.Embeddings(vectors[:20], vectors[20:], similarity=similarity)
        fn.evaluate(liked, embeddings, "ndcg@10,bpref")
        fn.evaluate(liked, embeddings, "ndcg@10,rr")
        embeddings.top(10)
        embeddings.score_rows(np.array([0, 1]))
    for dtype in ("f4", "f8"):
        users, items = floats[dtype]
        scorer = fn.Scorer(lambda rows, users=users, items=items: users[rows] @ items.T, n_items=300, n_users=20)
        fn.evaluate(liked, scorer, "ndcg@10,rr")
        scorer.top(10)


def fuse(rng):
    texts = [
        {f"q{q}": {f"d{d}": float(rng.integers(0, 9)) for d in rng.permutation(30)[:12]} for q in range(5)}
        for _ in "ab"
    ]
    numbers = [
        fn.Run(np.repeat(np.arange(5), 12), np.concatenate([rng.permutation(30)[:12] for _ in range(5)]),
               rng.integers(0, 9, 60).astype("f4"))
        for _ in "ab"
    ]  # fmt: skip
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 2)) for d in range(30)} for q in range(5)}
    for name, record in FUSION_METHODS.items():
        train = (qrels, texts) if record.needs_training else None
        fn.fuse(texts, name, train=train, absent=None if record.points == "ranks" else "mean")
    for name in NORMALIZATIONS:
        fn.fuse(numbers, f"sum(norm={name})", depth=5)
    for policy in FUSION_CHOICES["fused_ties"]:
        for runs in (texts, numbers):
            fn.fuse(runs, fusion_convention=f"default(fused_ties={policy})")
    for name in ("sum", "arithmetic_mean", "geometric_mean", "harmonic_mean"):
        fn.fuse(texts, name, fusion_convention="opensearch")  # sums in float32


def tune(rng):
    runs = {
        name: {f"q{q}": {f"d{d}": float(rng.integers(0, 9)) for d in range(8)} for q in range(6)} for name in ("a", "b")
    }
    for kind in (int, float):
        qrels = {
            f"q{q}": {f"d{d}": kind(rng.integers(0, 3)) / (1 if kind is int else 2) for d in range(8)} for q in range(6)
        }
        fn.tune_fusion(qrels, runs, "ndcg@3", ["wsum", "rrf(k=60)"], folds=3, progress=False)
