"""Tensors of torch: the same ranks as NumPy's path on whole numbers to the bit, by operations of torch alone."""

import numpy as np
import pytest
from model_options import choose
from refusals import refuses

import fastndcg as fn
from fastndcg.scoring import torch_source

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch")

METRICS = "ndcg@10, rank, auc, ap"
N_USERS, N_ITEMS, N_LIKED = 20, 205, 3
RNG = np.random.default_rng(7)
SIZES = RNG.integers(0, 2 * N_LIKED, N_USERS)
LIKED = fn.Interactions(
    np.concatenate([RNG.choice(N_ITEMS, size, replace=False) for size in SIZES]),
    RNG.integers(0, 4, SIZES.sum()),
    np.concatenate([[0], np.cumsum(SIZES)]),
    n_items=N_ITEMS,
)
OWN = [set(LIKED.items[LIKED.offsets[u] : LIKED.offsets[u + 1]].tolist()) for u in range(N_USERS)]
SEEN = [set(RNG.choice(N_ITEMS, 30).tolist()) - own for own in OWN]
SELECTIONS = {
    "all": {},
    "exclude": {"exclude": SEEN},
    "own candidates": {"candidates": [set(RNG.choice(N_ITEMS, 50).tolist()) | own for own in OWN], "exclude": SEEN},
    "candidates": {"candidates": set(range(0, N_ITEMS, 3)) | set(LIKED.items.tolist())},
}
KINDS = [
    ("f4", "dot"), ("f4", "euclidean"), ("f8", "dot"), ("f8", "euclidean"), ("f2", "dot"), ("i1", "dot"),
    ("i1", "euclidean"), ("u1", "hamming"),
]  # fmt: skip
LAYOUTS = {
    "rows": lambda tensor: tensor,
    "columns": lambda tensor: tensor.T.contiguous().T,
    "every other row": lambda tensor: tensor.repeat_interleave(2, 0)[::2],
    "offset": lambda tensor: torch.cat([tensor[:, :1], tensor], 1)[:, 1:],
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setitem(torch_source.SHAPES, "cpu", (8, 64))


def make_vectors(dtype):
    rng = np.random.default_rng(8)
    lowest = 0 if dtype == "u1" else -2
    return tuple(rng.integers(lowest, 3, (n, 5)).astype(dtype) for n in (N_USERS, N_ITEMS))  # type: ignore[return-value]


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
@pytest.mark.parametrize(("dtype", "similarity"), KINDS)
def test_values_are_those_of_arrays(dtype, similarity, selection):
    arrays = make_vectors(dtype)
    models = [fn.Embeddings(*own, similarity=similarity) for own in (arrays, map(torch.from_numpy, arrays))]
    for ties in ("average", "input", "input_reversed", "worst"):
        convention = f"default(ties={ties})"
        results = [
            fn.evaluate(LIKED, choose(model, missing_truth="unretrieved", **selection), METRICS, convention=convention)
            for model in models
        ]
        assert results[0].values.tobytes() == results[1].values.tobytes()
    tops = [choose(model, **selection).top(9) for model in models]
    assert tops[0].items.tobytes() == tops[1].items.tobytes()
    np.testing.assert_allclose(tops[0].scores, tops[1].scores, rtol=1e-6)


def test_biases_whole_rows_and_bfloat16():
    users, items = make_vectors("f4")
    biases = {"user_biases": np.arange(N_USERS), "item_biases": np.arange(N_ITEMS) % 7}
    array = fn.Embeddings(users, items, **biases)
    halves = {name: torch.from_numpy(values).bfloat16() for name, values in biases.items()}
    tensor = fn.Embeddings(torch.from_numpy(users).bfloat16(), torch.from_numpy(items).bfloat16(), **halves)
    for metrics in (METRICS, "judged@10, bpref"):
        values = [
            fn.evaluate(LIKED, choose(own, missing_truth="unretrieved"), metrics).values for own in (array, tensor)
        ]
        assert values[0].tobytes() == values[1].tobytes()
    assert np.array_equal(array.top(4).scores, tensor.top(4).scores)


@pytest.mark.parametrize("n_columns", [33, 100])
@pytest.mark.parametrize("similarity", ["dot", "cosine", "euclidean"])
def test_tensors_of_any_layout_tie_and_rank_alike(similarity, n_columns):
    """Copies of a vector tie, and ranks are those of float64, whatever the strides of the tensors."""
    generator = torch.Generator().manual_seed(2)
    users, items = (torch.randn(n, n_columns, generator=generator) for n in (N_USERS, N_ITEMS))
    copies = RNG.choice(N_ITEMS, 60, replace=False)
    items[copies] = items[copies[0]].clone()
    liked = fn.Interactions(RNG.choice(copies, N_USERS), offsets=np.arange(N_USERS + 1), n_items=N_ITEMS)
    double = fn.Embeddings(users.double().numpy(), items.double().numpy(), similarity=similarity)
    expected = fn.evaluate(liked, double, "rank", convention="default(ties=best)")["rank"]
    for layout in LAYOUTS.values():
        model = fn.Embeddings(layout(users), layout(items), similarity=similarity)
        for ties, shift in (("best", 0), ("worst", 59)):
            ranks = fn.evaluate(liked, model, "rank", convention=f"default(ties={ties})")["rank"]
            assert (ranks - shift).tolist() == expected.tolist()
        np.testing.assert_allclose(model.top(5).scores, double.top(5).scores, rtol=1e-4, atol=1e-6)
        # bits do not depend on the batch
        part = fn.Interactions(liked.items[5:9], offsets=np.arange(5), n_items=N_ITEMS)
        some = fn.Embeddings(layout(users)[5:9], layout(items), similarity=similarity)
        found = fn.evaluate(part, some, "rank", convention="default(ties=best)")["rank"]
        assert found.tolist() == expected[5:9].tolist()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_cosines_of_one_direction_tie_in_large_tiles(monkeypatch, layout):
    """A vector has one length in a tile of the usual size and in a pair, whatever its strides."""
    monkeypatch.setitem(torch_source.SHAPES, "cpu", (256, 4096))
    generator = torch.Generator().manual_seed(1)
    items = torch.randn(1, 100, generator=generator).repeat(5000, 1)
    model = fn.Embeddings(torch.randn(20, 100, generator=generator), layout(items), similarity="cosine")
    liked = fn.Interactions(np.arange(20), offsets=np.arange(21), n_items=5000)
    for ties, rank in (("best", 1), ("worst", 5000)):
        assert (fn.evaluate(liked, model, "rank", convention=f"default(ties={ties})").values == rank).all()


def test_best_of_many_equal_scores_take_bounded_memory(noted):
    sizes = noted(torch, "sort", len)
    users, items = torch.ones(8, 3), torch.ones(N_ITEMS, 3)
    items[150] = 2
    best = fn.Embeddings(users, items).top(4)
    assert best.items.tolist() == [[150, 0, 1, 2]] * 8
    assert max(sizes) <= 8 * (4 + 4)


def test_precision_of_the_user_is_set_back(noted):
    """float32 is multiplied as float32 under any precision and autocast of the user, which stay as they were."""
    users, items = make_vectors("f4")
    calls = noted(torch_source.TorchOperands, "take_items", lambda *_: (
        torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu"), torch.is_grad_enabled()
    ))  # fmt: skip
    model = fn.Embeddings(torch.from_numpy(users).requires_grad_(), torch.from_numpy(items))
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu"):
            fn.evaluate(LIKED, choose(model, missing_truth="unretrieved"), "rank")
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert set(calls) == {("highest", False, False)}


def test_vectors_stay_on_their_device(noted):
    users, items = map(torch.from_numpy, make_vectors("f4"))
    sizes = noted(torch.Tensor, "numpy", lambda tensor: tensor.numel())
    fn.evaluate(LIKED, fn.Embeddings(users, items, missing_truth="unretrieved"), METRICS)
    assert sizes
    assert max(sizes) <= N_ITEMS  # the largest number of each vector


TENSORS = tuple(map(torch.from_numpy, make_vectors("f4")))
test_wrong_tensors = refuses(lambda change, options: fn.Embeddings(*change(*TENSORS), **options), {
    "an array and a tensor": (lambda u, v: (u.numpy(), v), {}, "must both be tensors"),
    "NaN": (lambda u, v: (u, torch.where(v == 2, torch.nan, v)), {}, r"items\[\d+, \d\] is nan"),
    "zero vector": (lambda u, v: (u * 0, v), {"similarity": "cosine"}, "`users` .* row 0 has the length 0"),
    "overflow": (lambda u, v: (u * 1e30, v * 1e30), {}, "could be infinite"),
    "dtype": (lambda u, v: (u.to(torch.int32), v), {}, "must be of dtype"),
    "shape": (lambda u, v: (u[0], v), {}, "one row per vector"),
    "layout": (lambda u, v: (u.to_sparse(), v), {}, "dense tensor"),
}, error=fn.FastndcgError)  # fmt: skip


def test_memory_below_a_tile_is_an_error():
    model = fn.Embeddings(*map(torch.from_numpy, make_vectors("f4")))
    with pytest.raises(fn.InvalidInputError, match="`memory` must be at least"):
        fn.evaluate(LIKED, choose(model, memory=1000, missing_truth="unretrieved"), "rank")
