"""Tiles: bounded memory, files larger than it, progress, Ctrl-C, plain Python, and factors that change meanwhile."""

import signal
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from model_options import choose

import fastndcg as fn
from fastndcg.scoring import sources

METRICS = "ndcg@10, rank, auc"


def make_liked(n_users, n_items, n_liked=3):
    rng = np.random.default_rng(1)
    items = np.stack([rng.choice(n_items, n_liked, replace=False) for _ in range(n_users)])
    return fn.Interactions(items.reshape(-1), offsets=np.arange(n_users + 1) * n_liked, n_items=n_items)


def measure_peak(call):
    """Return the bytes that a call allocates at most. The first call compiles."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("n_users", "n_items", "n_columns"), [(3000, 9000, 64), (700, 2000, 1536)])
def test_default_memory_is_below_128_megabytes(n_users, n_items, n_columns):
    """Ranks and the best items take less than 128 MB above the inputs."""
    rng = np.random.default_rng(2)
    users, items = (rng.standard_normal((n, n_columns), "f4") for n in (n_users, n_items))
    liked, model = make_liked(n_users, n_items), fn.Embeddings(users, items)
    assert measure_peak(lambda: fn.evaluate(liked, model, METRICS)) < 128 << 20
    result = n_users * 100 * 8
    assert measure_peak(lambda: model.top(100)) < (128 << 20) + result


def test_file_larger_than_memory_is_not_copied(tmp_path):
    """A memory-mapped matrix of 24 MB is evaluated within `memory` of 4 MB."""
    rng = np.random.default_rng(3)
    items = np.memmap(tmp_path / "items.bin", "f4", "w+", shape=(60_000, 100))
    items[:] = rng.integers(-2, 3, items.shape, "i1")
    users = rng.integers(-2, 3, (20, 100)).astype("f4")
    liked = make_liked(20, len(items))

    def evaluate():
        return fn.evaluate(liked, fn.Embeddings(users, items, memory="4MB"), METRICS)

    assert measure_peak(evaluate) < 10 << 20
    assert evaluate().values.tobytes() == fn.evaluate(liked, users @ items.T, METRICS).values.tobytes()


def test_large_results_leave_less_memory_for_rows():
    rng = np.random.default_rng(4)
    model = fn.Embeddings(rng.standard_normal((1000, 2), "f4"), rng.standard_normal((1500, 2), "f4"))
    result = 1000 * 500 * 8
    assert measure_peak(lambda: choose(model, memory="1MB").top(500, threads=1)) < result + (3 << 20)


def test_one_block_of_a_function_is_in_memory():
    alive = []

    def score(rows):
        alive.append(sum(block() is not None for block in blocks))
        scores = np.random.default_rng(rows.start).random((rows.stop - rows.start, 500), dtype="f4")
        blocks.append(weakref.ref(scores))
        return scores

    blocks = []
    model = fn.Scorer(score, n_items=500, n_users=300)
    fn.evaluate(make_liked(300, 500), choose(model, memory="200kB"), "rr")
    choose(model, memory="200kB").top(5)
    assert len(alive) > 6
    assert max(alive) == 0


@pytest.mark.parametrize("kind", ["embeddings", "scorer", pytest.param("tensors", marks=pytest.mark.peers)])
def test_progress_ends_with_all_users(kind):
    rng = np.random.default_rng(5)
    users, items = (rng.standard_normal((n, 8), "f4") for n in (3000, 700))
    models = {"embeddings": lambda: fn.Embeddings(users, items), "scorer": lambda: fn.Scorer(score, n_items=700)}

    def score(rows):
        return users[rows] @ items.T

    if kind == "tensors":
        torch = pytest.importorskip("torch")
        models["tensors"] = lambda: fn.Embeddings(torch.from_numpy(users), torch.from_numpy(items))
    calls = []
    model = choose(models[kind](), memory="20MB")
    fn.evaluate(make_liked(3000, 700), model, "rr", progress=lambda n, total: calls.append((n, total)))
    n_calls = len(calls)
    assert n_calls > 1
    assert calls == sorted(calls)
    assert calls[-1] == (3000, 3000)
    evaluator = fn.Evaluator(make_liked(3000, 700), "rr")
    evaluator.evaluate(model, progress=lambda n, total: calls.append((n, total)))
    assert calls[n_calls:] == calls[:n_calls]


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_after_the_tiles_at_work(monkeypatch, threads):
    rng = np.random.default_rng(6)
    users, items = (rng.standard_normal((n, 16), "f4") for n in (300, 20_000))
    loaded = []
    load = sources.TileWorker.load_items

    def load_items(*arguments):
        loaded.append(threading.get_ident())
        if len(loaded) == 5:
            signal.raise_signal(signal.SIGINT)
        return load(*arguments)

    monkeypatch.setattr(sources.TileWorker, "load_items", load_items)
    model, liked = fn.Embeddings(users, items), make_liked(300, 20_000)
    with pytest.raises(KeyboardInterrupt):
        fn.evaluate(liked, choose(model, memory="200kB"), "rr", threads=threads)
    assert loaded[5:].count(threading.get_ident()) <= 1
    assert len(loaded) < 20_000 // 64


@pytest.mark.stress
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1"])
def test_factors_that_change_give_values_or_errors(dtype):
    rng = np.random.default_rng(7)
    users, items = (rng.integers(0, 3, (n, 20)).astype(dtype) for n in (500, 3000))
    liked = make_liked(500, 3000, 10)
    has_ended = threading.Event()

    def overwrite():
        own = np.random.default_rng(8)
        while not has_ended.is_set():
            for vectors in (users, items):
                vectors[:] = own.integers(0, 3, vectors.shape)
                if vectors.dtype.kind == "f":
                    vectors[own.integers(0, len(vectors), 9)] = own.choice([np.nan, np.inf, -np.inf, 1e30])

    kinds = ("hamming",) if dtype == "u1" else ("dot", "euclidean")
    models = [fn.Embeddings(users, items, similarity=similarity) for similarity in kinds]

    def score(rows):
        with np.errstate(all="ignore"):
            return users[rows].astype("f4") @ items.astype("f4").T

    models.append(fn.Scorer(score, n_items=3000, n_users=500))
    writer = threading.Thread(target=overwrite)
    writer.start()
    n_values = 0
    try:
        for number in range(60):
            model = models[number % len(models)]
            convention = f"default(ties={('average', 'input', 'worst')[number % 3]})"
            try:
                fn.evaluate(liked, model, "ndcg@10, ap, rank", convention=convention)
                model.top(10)
                n_values += 1
            except fn.FastndcgError:
                pass
    finally:
        has_ended.set()
        writer.join()
    assert n_values or dtype[0] == "f"
