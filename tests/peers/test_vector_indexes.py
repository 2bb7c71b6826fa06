"""The recall of FAISS, hnswlib and usearch, from what they return: exact ones lose nothing, poor ones what sets say."""

import numpy as np
import pytest

import fastndcg as fn

pytestmark = pytest.mark.peers
N_QUERIES, N_DOCUMENTS, N_COLUMNS, K = 200, 3000, 16, 20
METRICS = "recall@1, recall@5, recall@20"
CLOSE = 1e-4  # scores of other programs differ in the last digits


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(3)
    documents = rng.standard_normal((N_DOCUMENTS, N_COLUMNS)).astype("f4")
    documents[500:520] = documents[:20]  # duplicates
    return rng.standard_normal((N_QUERIES, N_COLUMNS)).astype("f4"), documents


def measure_by_sets(found, best):
    """Return recall at each cutoff by sets, as tools for indexes count it, for documents without ties."""
    return [
        np.mean([len(set(own[:k]) & set(exact[:k])) / k for own, exact in zip(found.tolist(), best.tolist(),
                strict=True)]) for k in (1, 5, 20)
    ]  # fmt: skip


def test_exact_search_of_faiss(vectors):
    faiss = pytest.importorskip("faiss")
    queries, documents = vectors
    for similarity, index in (("dot", faiss.IndexFlatIP(N_COLUMNS)), ("euclidean", faiss.IndexFlatL2(N_COLUMNS))):
        index.add(documents)
        recall = fn.index_recall(
            fn.Embeddings(queries, documents, similarity=similarity), index.search(queries, K), METRICS, tolerance=CLOSE
        )
        assert (recall.values == 1).all()
        assert not recall.first_lost.any()


def test_poor_search_of_faiss(vectors):
    faiss = pytest.importorskip("faiss")
    queries, documents = vectors
    documents = np.delete(documents, np.arange(500, 520), axis=0)
    coarse = faiss.IndexFlatL2(N_COLUMNS)
    index = faiss.IndexIVFFlat(coarse, N_COLUMNS, 200)
    index.train(documents)
    index.add(documents)
    model = fn.Embeddings(queries, documents, similarity="euclidean")
    best = model.top(K).items
    means = []
    for nprobe in (1, 4, 200):
        index.nprobe = nprobe
        distances, found = index.search(queries, K)
        recall = fn.index_recall(model, (distances, found), METRICS, tolerance=CLOSE)
        n_short = int((found < 0).any(axis=1).sum())
        assert (f"documents found, the others are lost: {n_short}" in str(recall)) == (n_short > 0)
        assert list(recall.mean().values()) == pytest.approx(measure_by_sets(found, best))
        means.append(recall.mean()["R@20"])
    assert means[0] < means[1] < means[2] == 1


def test_ids_of_faiss(vectors):
    faiss = pytest.importorskip("faiss")
    queries, documents = vectors
    ids = np.random.default_rng(4).permutation(N_DOCUMENTS).astype("i8") + 7
    index = faiss.IndexIDMap(faiss.IndexFlatIP(N_COLUMNS))
    index.add_with_ids(documents, ids)
    model = fn.Embeddings(queries, documents, document_ids=ids)
    assert (fn.index_recall(model, index.search(queries, K), METRICS, tolerance=CLOSE).values == 1).all()


def test_hnswlib(vectors):
    hnswlib = pytest.importorskip("hnswlib")
    queries, documents = vectors
    index = hnswlib.Index(space="cosine", dim=N_COLUMNS)
    index.init_index(max_elements=N_DOCUMENTS, M=4, ef_construction=20, random_seed=1)
    index.add_items(documents, num_threads=1)
    model = fn.Embeddings(queries, documents, similarity="cosine")
    found = {}
    for ef in (20, 2000):
        index.set_ef(ef)
        found[f"ef={ef}"] = index.knn_query(queries, K)
    poor, good = fn.compare(model, found, "recall@20").rows
    assert poor.mean < 0.9 < good.mean
    exact = hnswlib.BFIndex(space="cosine", dim=N_COLUMNS)
    exact.init_index(max_elements=N_DOCUMENTS)
    exact.add_items(documents)
    recall = fn.index_recall(model, exact.knn_query(queries, K), METRICS, tolerance=CLOSE)
    assert (recall.values == 1).all()


def test_usearch(vectors):
    index_module = pytest.importorskip("usearch.index")
    queries, documents = vectors
    index = index_module.Index(ndim=N_COLUMNS, metric="cos", dtype="f32")
    index.add(np.arange(N_DOCUMENTS), documents)
    model = fn.Embeddings(queries, documents, similarity="cosine")
    exact = fn.index_recall(model, index.search(queries, K, exact=True), METRICS, tolerance=CLOSE)
    assert (exact.values == 1).all()
    approximate = fn.index_recall(model, index.search(queries, K), METRICS, tolerance=CLOSE)
    assert 0.8 < approximate.mean()["R@20"] <= 1
