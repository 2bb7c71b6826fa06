"""Ranks over all items from vectors, against NumPy's product alone and against what others do with it."""

from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.data import Array
from benchmarks.proof import equals
from benchmarks.race import measure_peak

N_USERS = 1_000
N_ITEMS = 100_000
N_RELEVANT = 10
N_TOP = 100
N_VERIFIED = 4
BLOCK = 256  # users of one product
LENGTHS = [64, 128, 768]
METRICS = "ndcg@10, ndcg@100, recall@10, recall@100, p@10, rr, ap, auc, rank, success@10, f1@10, rprec"
MEMORY = """
from benchmarks.bench_scoring import METRICS, make_case
import fastndcg as fn
case = make_case({length}, {users}, {items})
"""


class Case(NamedTuple):
    """Vectors of users and items, and the items that users like."""

    users: Array
    items: Array
    liked: fn.Interactions

    @property
    def model(self):
        """Return the vectors as a model."""
        return fn.Embeddings(self.users, self.items)


def make_case(length, n_users, n_items):
    """Make random vectors, and random items that users like."""
    rng = np.random.default_rng(22)
    users, items = (rng.standard_normal((n, length), "f4") for n in (n_users, n_items))
    liked = np.stack([np.sort(rng.choice(n_items, N_RELEVANT, replace=False)) for _ in range(n_users)])
    offsets = np.arange(n_users + 1) * N_RELEVANT
    return Case(users, items, fn.Interactions(liked.reshape(-1), offsets=offsets, n_items=n_items))


def make_scaled_case(race, length):
    """Make vectors at the scale of a run."""
    return make_case(length, race.size(N_USERS, 64), race.size(N_ITEMS, 1_000))


def multiply(case, use=None):
    """Multiply users and items in blocks of users, and pass the scores of each block on."""
    out = np.empty((BLOCK, len(case.items)), "f4")
    for start in range(0, len(case.users), BLOCK):
        own = case.users[start : start + BLOCK]
        scores = np.matmul(own, case.items.T, out=out[: len(own)])
        if use is not None:
            use(scores)


def select_best(scores):
    """Find the best items of a block as NumPy's users do: the cut by `argpartition`, then their order."""
    best = np.argpartition(scores, -N_TOP, axis=1)[:, -N_TOP:]
    np.argsort(np.take_along_axis(scores, best, axis=1), axis=1)


def check_ranks(case, result, evaluate=fn.reference.evaluate):
    """Raise AssertionError if the values of some users differ from those of the score matrix in float64."""
    scores = case.users[:N_VERIFIED].astype("f8") @ case.items.T.astype("f8")
    liked, offsets = case.liked.items[: N_VERIFIED * N_RELEVANT], case.liked.offsets[: N_VERIFIED + 1]
    some = fn.Interactions(liked, offsets=offsets, n_items=len(case.items))
    expected = evaluate(some, scores, METRICS).values
    np.testing.assert_allclose(result.values[:N_VERIFIED], expected, rtol=2e-3, atol=1e-3)


def check_top(case, top):
    """Raise AssertionError if the best items of some users differ from those that `argpartition` finds."""
    best = np.argpartition(case.users[:N_VERIFIED] @ case.items.T, -N_TOP, axis=1)[:, -N_TOP:]
    different = np.count_nonzero(np.sort(best) != np.sort(top.items[:N_VERIFIED]))
    assert different <= N_VERIFIED  # rounding may exchange an item at the cut


@pytest.mark.parametrize("length", LENGTHS)
def test_ranks(race, length):
    """Time twelve metrics of ranks among all items, in multiples of NumPy's product."""
    case = make_scaled_case(race, length)
    code = MEMORY.format(length=length, users=race.size(N_USERS, 64), items=race.size(N_ITEMS, 1_000))
    race.info["peak_mib"] = measure_peak(code + "fn.evaluate(case.liked, case.model, METRICS)")
    race.info["peak_mib_of_vectors"] = measure_peak(code)
    race(
        partial(fn.evaluate, case.liked, case.model, METRICS),
        partial(check_ranks, case),
        floors={"NumPy's product": partial(multiply, case)},
        peers={"NumPy's product and argpartition": partial(multiply, case, select_best)} | prepare_torch(case),
    )


@pytest.mark.parametrize("length", LENGTHS)
def test_top(race, length):
    """Time the best hundred items of each user, in multiples of NumPy's product."""
    case = make_scaled_case(race, length)
    race(
        partial(case.model.top, N_TOP),
        partial(check_top, case),
        floors={"NumPy's product": partial(multiply, case)},
        peers={"NumPy's product and argpartition": partial(multiply, case, select_best)} | prepare_torch(case),
    )


def find_some(case):
    """Return what a poor index found: the best hundred of every second item."""
    return 2 * fn.Embeddings(case.users, case.items[::2]).top(N_TOP).items


def check_recall(case, found, recall):
    """Raise AssertionError if the recall of some users differs from that of sets."""
    best = np.argpartition(case.users[:N_VERIFIED] @ case.items.T, -N_TOP, axis=1)[:, -N_TOP:]
    shares = [len(set(own) & set(exact)) / N_TOP for own, exact in zip(found.tolist(), best.tolist(), strict=False)]
    np.testing.assert_allclose(recall[f"recall@{N_TOP}"][:N_VERIFIED], shares, atol=1.5 / N_TOP)


@pytest.mark.parametrize("length", LENGTHS)
def test_index_recall(race, length):
    """Time the recall of an index at 100, in multiples of NumPy's product."""
    case = make_scaled_case(race, length)
    found = find_some(case)

    def search_faiss():
        index = pytest.importorskip("faiss").IndexFlatIP(length)
        index.add(case.items)
        return index.search(case.users, N_TOP)

    race(
        partial(fn.index_recall, case.model, found, f"recall@{N_TOP}"),
        partial(check_recall, case, found),
        floors={"NumPy's product": partial(multiply, case)},
        peers={"NumPy's product and argpartition": partial(multiply, case, select_best)}
        | ({"the exact search of FAISS": search_faiss} if find_spec("faiss") else {}),
    )


def prepare_torch(case):
    """Return torch's product with `topk` in blocks, if torch is installed."""
    try:
        import torch
    except ImportError:
        return {}
    users, items = torch.from_numpy(case.users), torch.from_numpy(case.items)
    return {"torch's product and topk": lambda: [(own @ items.T).topk(N_TOP) for own in torch.split(users, BLOCK)]}


@pytest.mark.parametrize("form", ["int8", "uint8", "packed bits", "a function of users"])
def test_formats(race, form):
    """Time whole numbers, packed bits and a function against vectors of float32."""
    case = make_scaled_case(race, 128)
    sides = (case.users, case.items)
    whole = [np.clip(np.round(40 * vectors), -127, 127).astype("i1") for vectors in sides]
    if form == "packed bits":
        model = fn.Embeddings(*(np.packbits(vectors > 0, axis=1) for vectors in sides), similarity="hamming")
        compared = case._replace(users=np.sign(case.users), items=np.sign(case.items))
    elif form == "a function of users":
        model, compared = fn.Scorer(lambda rows: case.users[rows] @ case.items.T, n_items=len(case.items)), case
    else:
        typed = [vectors.view("u1") if form == "uint8" else vectors for vectors in whole]
        model, compared = fn.Embeddings(*typed), case._replace(users=typed[0].astype("f4"), items=typed[1].astype("f4"))
    race(
        partial(fn.evaluate, case.liked, model, METRICS),
        partial(check_ranks, compared, evaluate=fn.evaluate),  # whole numbers tie too often for the reference
        floors={"float32": partial(fn.evaluate, case.liked, case.model, METRICS)},
    )


def prepare_recometrics(case, liked, seen):
    """Return the mean AUC of recometrics."""
    compute = pytest.importorskip("recometrics").calc_reco_metrics
    options = dict.fromkeys(["precision", "recall", "average_precision", "ndcg", "roc_auc"], True)
    return lambda: compute(seen, liked, case.users, case.items, k=10, nthreads=-1, **options)["ROC_AUC"].mean()


def prepare_implicit(case, liked, seen):
    """Return the mean nDCG of implicit's evaluation."""
    base = pytest.importorskip("implicit.cpu.matrix_factorization_base").MatrixFactorizationBase
    from implicit.evaluation import ranking_metrics_at_k

    factors = type("Factors", (base,), {"fit": None, "save": None})()
    factors.user_factors, factors.item_factors = case.users, case.items
    options = {"K": 10, "show_progress": False, "num_threads": 0}
    return lambda: ranking_metrics_at_k(factors, seen, liked, **options)["ndcg"]


def prepare_sentence_transformers(case, *_):
    """Return the mean nDCG of the evaluator of sentence-transformers, after encoding."""
    evaluation = pytest.importorskip("sentence_transformers.evaluation")
    import torch
    from sentence_transformers.util import dot_score

    encoder = type("Encoder", (), {
        "encode_query": lambda self, texts, **_: torch.from_numpy(case.users)[list(map(int, texts))],
        "encode_document": lambda self, texts, **_: torch.from_numpy(case.items)[list(map(int, texts))],
    })()  # fmt: skip
    liked = case.liked.items.reshape(-1, N_RELEVANT).tolist()
    evaluator = evaluation.InformationRetrievalEvaluator(
        *({str(number): str(number) for number in range(len(side))} for side in (case.users, case.items)),
        {str(user): set(map(str, items)) for user, items in enumerate(liked)},
        score_functions={"dot": dot_score}, main_score_function="dot", show_progress_bar=False,
    )  # fmt: skip
    return lambda: evaluator.compute_metrices(encoder)["dot"]["ndcg@k"][10]


FIVE = "p@10, recall@10, ap, ndcg@10, auc"
PEERS = {
    "recometrics": (prepare_recometrics, FIVE, "AUC"),
    "implicit": (prepare_implicit, METRICS, "nDCG@10"),
    "sentence-transformers": (prepare_sentence_transformers, METRICS, "nDCG@10"),
}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("length", [64, 768])
def test_evaluators(race, length, name):
    """Time ranks against the evaluators of other libraries, on as many threads."""
    sparse = pytest.importorskip("scipy.sparse")
    case = make_case(length, race.size(500, 64), race.size(N_ITEMS, 1_000))
    shape = (len(case.users), len(case.items))
    likes = np.ones(len(case.liked.items), "f4")
    liked = sparse.csr_matrix((likes, case.liked.items, case.liked.offsets), shape=shape)
    prepare, metrics, compared = PEERS[name]
    theirs = prepare(case, liked, sparse.csr_matrix(shape, dtype="f4"))
    race(
        partial(fn.evaluate, case.liked, case.model, metrics),
        equals(theirs(), 1e-3, read=lambda result: result.mean()[compared]),
        peers={name: theirs},
    )
