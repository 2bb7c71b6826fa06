"""
Scoring suite: ranks over all items from vectors, against NumPy's product alone, and against what others do with it.

Both sides have the same vectors and threads. A peer's values are compared with ours before they are timed. The product
is timed in blocks of 64, 256 and 1,024 users, of which the fastest counts.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import fastndcg as fn
from benchmarks.lib.suite import Options, Row, Suite, make_missing_row, make_row, measure_parts
from benchmarks.lib.timing import time_alternately
from benchmarks.lib.workloads import Array

N_USERS = 20_000  # of the comparison with the product
N_OTHER_USERS = 2_000  # of the other parts, whose peers take many times as long
N_ITEMS = 100_000
N_RELEVANT = 10
N_TOP = 100
N_VERIFIED = 16
BLOCKS = (64, 256, 1024)
METRICS = "ndcg@10, ndcg@100, recall@10, recall@100, p@10, rr, ap, auc, rank, success@10, f1@10, rprec"
MOST_RANKS = {64: 1.35, 128: 1.25, 768: 1.07}  # x NumPy's product, by the length of vectors
MOST_TOP = {64: 1.6, 128: 1.4, 768: 1.15}
LEAST_SORTED = {64: 4.0, 128: 3.0, 768: 1.4}  # x as fast as the product with argpartition
MOST_BYTES = 128 << 20
LEAST_BITS = 8.0
LEAST_PEERS = {"recometrics": 3.0, "implicit": 3.0, "sentence-transformers": 10.0}


class Case(NamedTuple):
    """Vectors of users and items, and the items that users like."""

    users: Array
    items: Array
    liked: fn.Interactions


def make_case(n_columns: int, options: Options, n_users: int = N_OTHER_USERS) -> Case:
    """Make random vectors, and random items that users like."""
    rng = np.random.default_rng(22)
    n_users = max(64, round(n_users * options.scale))
    users, items = (rng.standard_normal((n, n_columns), "f4") for n in (n_users, N_ITEMS))
    liked = np.stack([np.sort(rng.choice(N_ITEMS, N_RELEVANT, replace=False)) for _ in range(n_users)])
    offsets = np.arange(n_users + 1) * N_RELEVANT
    return Case(users, items, fn.Interactions(liked.reshape(-1), offsets=offsets, n_items=N_ITEMS))


def multiply(case: Case, block: int, use: Callable[[Array, int], None] | None = None) -> None:
    """Multiply users and items in blocks of users, and pass the scores of each block on."""
    out = np.empty((block, N_ITEMS), "f4")
    for start in range(0, len(case.users), block):
        own = case.users[start : start + block]
        scores = np.matmul(own, case.items.T, out=out[: len(own)])
        if use is not None:
            use(scores, start)


def make_products(case: Case) -> dict[str, Callable[[], Any]]:
    """Return NumPy's product in blocks of each size."""
    return {f"product {block}": partial(multiply, case, block) for block in BLOCKS}


def find_fastest(seconds: dict[str, float]) -> float:
    """Return the time of the fastest blocks."""
    return min(seconds[f"product {block}"] for block in BLOCKS)


def compare_with_product(options: Options) -> list[Row]:
    """Compare ranks with twelve metrics, and the best items, with NumPy's product alone."""
    rows = []
    for n_columns, goal in MOST_RANKS.items():
        case = make_case(n_columns, options, N_USERS)
        verify(case)
        model = fn.Embeddings(case.users, case.items)
        calls = make_products(case) | {
            "ranks": partial(fn.evaluate, case.liked, model, METRICS),
            "top": partial(model.top, N_TOP),
        }
        seconds = time_alternately(calls, options.repeat)
        product = find_fastest(seconds)
        what = f"d = {n_columns}, {len(case.users):,} x {N_ITEMS:,}"
        detail = f"product {product:.3g} s"
        ratio = seconds["ranks"] / product
        rows.append(make_row(f"{what}: ranks, 12 metrics", ratio, "× NumPy's product", at_most=goal, detail=detail))
        ratio = seconds["top"] / product
        rows.append(make_row(f"{what}: top({N_TOP})", ratio, "× NumPy's product", at_most=MOST_TOP[n_columns]))
    return rows


def compare_formats(options: Options) -> list[Row]:
    """Compare int8, uint8 and packed bits with float32."""
    rows = []
    for n_columns in MOST_RANKS:
        case = make_case(n_columns, options)
        whole = [np.clip(np.round(40 * vectors), -127, 127).astype("i1") for vectors in (case.users, case.items)]
        bits = [np.packbits(vectors > 0, axis=1) for vectors in (case.users, case.items)]
        models = {
            "float32": fn.Embeddings(case.users, case.items),
            "int8": fn.Embeddings(*whole),
            "uint8": fn.Embeddings(*(vectors.view("u1") for vectors in whole)),
            "bits": fn.Embeddings(bits[0], bits[1], similarity="hamming"),
        }
        calls = {name: partial(fn.evaluate, case.liked, model, METRICS) for name, model in models.items()}
        seconds = time_alternately(calls, options.repeat)
        for name in ("int8", "uint8"):
            ratio = seconds[name] / seconds["float32"]
            rows.append(make_row(f"d = {n_columns}: {name}", ratio, "× float32", at_most=1.0))
        ratio = seconds["float32"] / seconds["bits"]
        goal = LEAST_BITS if n_columns == max(MOST_RANKS) else None
        rows.append(make_row(f"d = {n_columns}: packed bits", ratio, "× as fast as float32", at_least=goal))
    return rows


def measure_memory(options: Options) -> list[Row]:
    """Measure the memory that ranks take above the inputs at most."""
    rows = []
    for n_columns in MOST_RANKS:
        case = make_case(n_columns, options)
        call = partial(fn.evaluate, case.liked, fn.Embeddings(case.users, case.items), METRICS)
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        what = f"d = {n_columns}: memory above the inputs"
        rows.append(make_row(what, peak / (1 << 20), "MB", at_most=MOST_BYTES >> 20))
    return rows


def compare_with_sorting(options: Options) -> list[Row]:
    """Compare ranks with NumPy's product and `argpartition`, and with torch's product and `topk`."""
    rows = []
    for n_columns, goal in LEAST_SORTED.items():
        case = make_case(n_columns, options)
        calls = {"ours": partial(fn.evaluate, case.liked, fn.Embeddings(case.users, case.items), METRICS)}
        calls |= {f"argpartition {block}": partial(multiply, case, block, select_best) for block in BLOCKS}
        verify_best(case)
        try:
            calls |= make_torch_calls(case)
        except ModuleNotFoundError:
            rows.append(make_missing_row(f"d = {n_columns}: torch's topk", "torch is not installed: pip install torch"))
        seconds = time_alternately(calls, options.repeat)
        fastest = min(seconds[f"argpartition {block}"] for block in BLOCKS)
        what = f"d = {n_columns}: ranks against NumPy's product and argpartition"
        rows.append(make_row(what, fastest / seconds["ours"], "× as fast", at_least=goal))
        own = [value for name, value in seconds.items() if name.startswith("torch")]
        if own:
            what = f"d = {n_columns}: ranks against torch's product and topk"
            rows.append(make_row(what, min(own) / seconds["ours"], "× as fast", at_least=1.0))
    return rows


def select_best(scores: Array, start: int) -> None:
    """Find the best items of a block as NumPy's users do: the cut by `argpartition`, then their order."""
    del start
    best = np.argpartition(scores, -N_TOP, axis=1)[:, -N_TOP:]
    np.argsort(np.take_along_axis(scores, best, axis=1), axis=1)


def make_torch_calls(case: Case) -> dict[str, Callable[[], Any]]:
    """Return torch's product with `topk` in blocks of each size."""
    import torch

    users = torch.from_numpy(case.users)
    items = torch.from_numpy(case.items)

    def find_best(block: int) -> None:
        for own in torch.split(users, block):
            (own @ items.T).topk(N_TOP)

    return {f"torch {block}": partial(find_best, block) for block in BLOCKS}


def compare_with_recometrics(options: Options) -> list[Row]:
    """Compare ranks with recometrics, on two threads each."""
    import recometrics

    rows = []
    for n_columns in MOST_RANKS:
        case = make_case(n_columns, options)
        test = make_matrix(case)
        train = sparse.csr_matrix(test.shape, dtype="f4")
        model = fn.Embeddings(case.users, case.items)
        ours = partial(fn.evaluate, case.liked, model, "p@10, recall@10, ap, ndcg@10, auc", convention="recometrics")
        peer = partial(
            recometrics.calc_reco_metrics, train, test, case.users, case.items, k=10, precision=True, recall=True,
            average_precision=True, ndcg=True, roc_auc=True, nthreads=-1,
        )  # fmt: skip
        check_close("recometrics", ours().mean()["AUC"], float(np.nanmean(peer()["ROC_AUC"])))
        rows.append(make_peer_row("recometrics", n_columns, {"ours": ours, "peer": peer}, options))
    return rows


def compare_with_implicit(options: Options) -> list[Row]:
    """Compare ranks with the evaluation of implicit."""
    from implicit.cpu.matrix_factorization_base import MatrixFactorizationBase
    from implicit.evaluation import ranking_metrics_at_k

    rows = []
    for n_columns in MOST_RANKS:
        case = make_case(n_columns, options)
        test = make_matrix(case)
        train = sparse.csr_matrix(test.shape, dtype="f4")
        factors: Any = type("Factors", (MatrixFactorizationBase,), {"fit": None, "save": None})()
        factors.user_factors = case.users
        factors.item_factors = case.items
        ours = partial(fn.evaluate, case.liked, fn.Embeddings(case.users, case.items), METRICS)
        peer = partial(ranking_metrics_at_k, factors, train, test, K=10, show_progress=False, num_threads=0)
        check_close("implicit", ours().mean()["nDCG@10"], peer()["ndcg"])
        rows.append(make_peer_row("implicit", n_columns, {"ours": ours, "peer": peer}, options))
    return rows


def compare_with_sentence_transformers(options: Options) -> list[Row]:
    """Compare ranks with the evaluator of sentence-transformers, after encoding."""
    from sentence_transformers.evaluation import InformationRetrievalEvaluator
    from sentence_transformers.util import dot_score

    rows = []
    for n_columns in MOST_RANKS:
        case = make_case(n_columns, options)
        rows_of_items = case.liked.items.reshape(-1, N_RELEVANT).tolist()
        evaluator = InformationRetrievalEvaluator(
            {str(user): str(user) for user in range(len(case.users))},
            {str(item): str(item) for item in range(N_ITEMS)},
            {str(user): set(map(str, items)) for user, items in enumerate(rows_of_items)},
            score_functions={"dot": dot_score}, main_score_function="dot", show_progress_bar=False,
        )  # fmt: skip
        encoder: Any = Encoder(case)
        ours = partial(fn.evaluate, case.liked, fn.Embeddings(case.users, case.items), METRICS)
        peer = partial(evaluator.compute_metrices, encoder)
        check_close("sentence-transformers", ours().mean()["nDCG@10"], peer()["dot"]["ndcg@k"][10])
        rows.append(make_peer_row("sentence-transformers", n_columns, {"ours": ours, "peer": peer}, options))
    return rows


class Encoder:
    """A model whose texts are the numbers of vectors, so that encoding takes next to nothing."""

    def __init__(self, case: Case) -> None:
        import torch

        self._users = torch.from_numpy(case.users)
        self._items = torch.from_numpy(case.items)

    def encode_query(self, texts: list[str], **options: Any) -> Any:
        """Return the vectors of users."""
        del options
        return self._users[list(map(int, texts))]

    def encode_document(self, texts: list[str], **options: Any) -> Any:
        """Return the vectors of items."""
        del options
        return self._items[list(map(int, texts))]


def make_matrix(case: Case) -> Any:
    """Return the truth as a sparse matrix."""
    likes = np.ones(len(case.liked.items), "f4")
    return sparse.csr_matrix((likes, case.liked.items, case.liked.offsets), shape=(len(case.users), N_ITEMS))


def make_peer_row(name: str, n_columns: int, calls: dict[str, Callable[[], Any]], options: Options) -> Row:
    """Time our call and a peer's."""
    seconds = time_alternately(calls, options.repeat)
    ratio = seconds["peer"] / seconds["ours"]
    return make_row(f"d = {n_columns}: ranks against {name}", ratio, "× as fast", at_least=LEAST_PEERS[name])


def verify(case: Case) -> None:
    """Raise SystemExit if the values of some users differ from those of the reference."""
    users = case.users[:N_VERIFIED]
    liked = fn.Interactions(case.liked.items[: N_VERIFIED * N_RELEVANT], offsets=case.liked.offsets[: N_VERIFIED + 1])
    ours = fn.evaluate(liked, fn.Embeddings(users, case.items), METRICS).values
    scores = users.astype("f8") @ case.items.T.astype("f8")
    if not np.allclose(ours, fn.evaluate(liked, scores, METRICS).values, rtol=1e-3, atol=1e-4):
        raise SystemExit("values must equal those of the score matrix before they are timed, but differ")


def verify_best(case: Case) -> None:
    """Raise SystemExit if the best items of some users differ from those that `argpartition` finds."""
    users = case.users[:N_VERIFIED]
    best = np.argpartition(users @ case.items.T, -N_TOP, axis=1)[:, -N_TOP:]
    own = fn.Embeddings(users, case.items).top(N_TOP).items
    if np.count_nonzero(np.sort(best) != np.sort(own)) > N_VERIFIED:  # rounding may exchange an item at the cut
        raise SystemExit("the best items must equal those of argpartition before they are timed, but differ")


def check_close(name: str, ours: float, theirs: float) -> None:
    """Raise SystemExit if the mean of a metric differs from a peer's."""
    if not np.isclose(ours, theirs, rtol=1e-4, atol=1e-7):
        raise SystemExit(f"values must equal those of {name} before they are timed, but are {ours} and {theirs}")


PARTS: dict[str, Callable[[Options], list[Row]]] = {
    "product": compare_with_product,
    "formats": compare_formats,
    "memory": measure_memory,
    "sorting": compare_with_sorting,
    "recometrics": compare_with_recometrics,
    "implicit": compare_with_implicit,
    "sentence_transformers": compare_with_sentence_transformers,
}
SUITE = Suite(
    partial(measure_parts, PARTS), tuple(PARTS), packages=("torch", "recometrics", "implicit", "sentence-transformers")
)
