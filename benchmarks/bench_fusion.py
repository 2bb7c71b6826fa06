"""Fusion of runs and tuning: whole-number ids in rank order, and text ids in no order with ties."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.data import make_rows
from benchmarks.proof import check_fused
from benchmarks.race import prepare_python
from fastndcg.fusion.methods import FusionMethod

METHODS = ["rrf(k=60)", "wsum(norm=min_max)"]
KINDS = {
    "sorted whole-number ids": {"is_text": False, "is_shuffled": False},
    "text ids in no order": {"is_text": True, "is_shuffled": True},
    "text ids in no order, ties": {"is_text": True, "is_shuffled": True, "levels": 20},
}
RANX = {"rrf(k=60)": (None, "rrf", {"k": 60}), "wsum(norm=min_max)": ("min-max", "wsum", {"weights": [1.0, 1.0]})}
DOCUMENTS = 100


def make_runs(n_queries, kind, n_documents=DOCUMENTS):
    """Make the rows of two runs."""
    return [make_rows(n_queries, n_documents, seed=seed, **KINDS[kind]) for seed in (1, 2)]


def fuse_by_reference(rows, method, convention="default"):
    """Return the fused runs of some queries from the slow twin."""
    from twins import fusion as reference

    some = [run.select(np.isin(run.queries, np.unique(run.queries)[:10])) for run in rows]
    runs = [fn.Run(run.queries, run.documents, run.scores).to_dict() for run in some]
    return reference.fuse(runs, FusionMethod.parse(method), fn.fusion_conventions[convention])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_fuse_columns(race, kind, method):
    """Time building two runs of columns and fusing them, against sorting the keys of their rows by NumPy."""
    rows = make_runs(race.size(5_000, 2), kind)
    expected = fuse_by_reference(rows, method)
    queries, documents = (np.concatenate([getattr(run, name) for run in rows]) for name in ("queries", "documents"))
    keys = np.char.add(queries, documents) if KINDS[kind]["is_text"] else queries * 10 * DOCUMENTS + documents
    race(
        lambda: fn.fuse([fn.Run(run.queries, run.documents, run.scores) for run in rows], method),
        lambda fused: check_fused(fused.to_dict(), expected),
        floors={"sorting the keys by NumPy": lambda: np.sort(keys)},
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_fuse_against_ranx(race, kind, method):
    """Time fusing runs that are ready against ranx, each from its own objects with text ids."""
    ranx = pytest.importorskip("ranx")
    rows = make_runs(race.size(10_000, 2), kind)
    runs = [fn.Run(run.queries.astype(str), run.documents.astype(str), run.scores) for run in rows]
    theirs = [ranx.Run(run.to_dict()) for run in runs]
    norm, name, parameters = RANX[method]
    if "ties" in kind and name == "rrf":  # ranx ranks equal scores in no defined order
        texts = [replace(run, queries=run.queries.astype(str), documents=run.documents.astype(str)) for run in rows]
        expected = fuse_by_reference(texts, method, "ranx")
    else:
        expected = {query: dict(row) for query, row in ranx.fuse(theirs, norm, name, parameters).run.items()}
    race(
        lambda: fn.fuse(runs, method, fusion_convention="ranx"),
        lambda fused: check_fused(fused.to_dict(), expected),
        peers={"ranx": lambda: ranx.fuse(theirs, norm, name, parameters)},
    )


def test_fuse_files(race, tmp_path):
    """Time a process that fuses two files, against one that evaluates both."""
    rows = make_runs(race.size(5_000, 2), "text ids in no order")
    paths = [str(tmp_path / f"{number}.run") for number in range(2)]
    for run, path in zip(rows, paths, strict=True):
        fn.Run(run.queries, run.documents, run.scores).write(path)
    qrels, target = str(tmp_path / "qrels.txt"), str(tmp_path / "fused.run")
    judged = rows[0].select(rows[0].labels > 0)
    fn.Qrels(judged.queries, judged.documents, judged.labels).write(qrels)
    expected = fn.fuse(paths, "rrf").to_dict()
    race(
        prepare_python("-m", "fastndcg", "fuse", *paths, "-o", target),
        lambda _: check_fused(fn.Run(target).to_dict(), expected),
        floors={"evaluating both": prepare_python("-m", "fastndcg", "evaluate", qrels, *paths, "-m", "ndcg@10")},
    )


def test_report(race, tmp_path):
    """Time a report with the documents of a fused run and what each run gives to them, against one without this."""
    qrels, runs = make_judged_runs(race.size(5_000, 2 * FOLDS), is_text=True)
    fused = fn.fuse(runs, "rrf(k=60)")
    bare = fn.Run(fused.to_dict())
    path = tmp_path / "report.html"

    def prepare(run):
        comparison = fn.compare(qrels, {"a": runs["a"], "second": run}, METRIC, replicates=100, progress=False)
        return lambda: comparison.to_html(path, documents=True)

    def check(_):
        shares = re.findall(r"[ab] (0\.\d+) \(rank (\d+), ", path.read_text())
        assert shares
        assert all(float(points) == pytest.approx(1 / (60 + int(rank)), rel=1e-3) for points, rank in shares)

    race(prepare(fused), check, floors={"the report without shares": prepare(bare)})


METRIC = "ndcg@10"
METHOD = "wsum(norm=min_max)"
FOLDS = 5


def make_judged_runs(n_queries, *, is_text, n_documents=200):
    """Make judgments with some relevant documents a query, and two runs of the same documents."""
    rows = make_rows(n_queries, n_documents, is_text=is_text, is_shuffled=is_text)
    rng = np.random.default_rng(2003)
    judged = rows.select(rows.labels > 0)
    qrels = fn.Qrels(judged.queries, judged.documents, judged.labels)
    scores = [rng.normal(size=len(rows.labels)) + rows.labels for _ in range(2)]
    return qrels, {name: fn.Run(rows.queries, rows.documents, own) for name, own in zip("ab", scores, strict=True)}


def prepare_tuning(qrels, runs):
    """Return a call that tunes all weights with five folds, one that tries one weight, and the proof."""

    def try_weight(weight=0.5):
        fused = fn.fuse(runs, METHOD, weights=[weight, 1.0 - weight])
        return float(fn.evaluate(qrels, fused, METRIC).means()[0])

    def check(tuned, least=0.0):
        assert fn.evaluate(qrels, tuned.apply(runs), METRIC).means()[0] == tuned.best.mean
        assert max(least, *map(try_weight, np.linspace(0.0, 1.0, 11))) <= tuned.best.mean

    return lambda: fn.tune_fusion(qrels, runs, METRIC, [METHOD], folds=FOLDS), try_weight, check


@pytest.mark.parametrize("is_text", [False, True], ids=["sorted whole-number ids", "text ids in no order"])
def test_tune(race, is_text):
    """Time all weights of two runs with cross-validation, against one fuse and evaluate."""
    tune, try_weight, check = prepare_tuning(*make_judged_runs(race.size(5_000, 2 * FOLDS), is_text=is_text))
    race(tune, check, floors={"one fuse and evaluate": try_weight})


def test_tune_against_ranx(race):
    """Time all weights with cross-validation, against ranx's grid of 11 weights without it."""
    ranx = pytest.importorskip("ranx")
    qrels, runs = make_judged_runs(race.size(1_000, 2 * FOLDS), is_text=True)
    tune, _, check = prepare_tuning(qrels, runs)
    theirs = ranx.Qrels(qrels.to_dict()), [ranx.Run(run.to_dict()) for run in runs.values()]
    options = {"norm": "min-max", "method": "wsum", "metric": METRIC, "show_progress": False}
    optimize = partial(ranx.optimize_fusion, *theirs, **options)
    fused = ranx.fuse(theirs[1], "min-max", "wsum", optimize())
    best = ranx.evaluate(theirs[0], fused, METRIC) - 1e-12
    race(tune, lambda tuned: check(tuned, best), peers={"ranx, a grid of 11": optimize})
