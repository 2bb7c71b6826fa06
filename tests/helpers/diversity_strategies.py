"""Metrics by subtopic, and Hypothesis strategies for rankings with a label for each subtopic of a document."""

from itertools import chain, pairwise

import numpy as np
from hypothesis import strategies as st
from strategies import BY_SUBTOPIC, SCORES, TIED_SCORES, Case, with_cutoff

import fastndcg as fn
from fastndcg.inputs.arrays import encode_matrix
from fastndcg.rankings.rankings import Rankings

METRICS = tuple(with_cutoff(name, k) for name in BY_SUBTOPIC for k in (None, 1, 5))
METRICS = (*dict.fromkeys(METRICS), fn.alpha_nDCG(alpha=0.3) @ 10, fn.P_IA(rel=2) @ 3, fn.nNRBP(beta=0.8, alpha=1))
LABELS = {
    "binary": st.sampled_from([0, 0, 1]), "graded": st.integers(0, 3),
    "float": st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 2.0]), "negative": st.integers(-2, 2),
}  # fmt: skip


@st.composite
def diverse_cases(draw, max_queries=3, max_documents=5):
    """
    Draw rankings of short queries of up to four subtopics, often tied.

    Some rankings have a pool, unjudged documents or NaN scores.
    """
    kind = draw(st.sampled_from(list(LABELS)))
    n_subtopics = draw(st.integers(0, 4))
    labels = st.lists(LABELS[kind], min_size=n_subtopics, max_size=n_subtopics)
    score = draw(st.sampled_from([TIED_SCORES, SCORES, SCORES | st.just(np.nan)]))
    document = st.tuples(labels, score, st.booleans(), st.integers(-2, 2))
    queries = draw(st.lists(st.lists(document, max_size=max_documents), max_size=max_queries))
    documents = [document for query in queries for document in query]
    offsets = np.cumsum([0, *map(len, queries)])
    matrix = matrix_of([labels for labels, *_ in documents], n_subtopics)
    judged = np.array([was_judged for *_, was_judged, _ in documents], bool) | (matrix != 0).any(axis=1)
    unretrieved = draw(st.lists(st.lists(labels, max_size=2), min_size=len(queries), max_size=len(queries)))
    pools = [
        draw(st.permutations([*range(start, stop), *range(len(documents) + q * 2, len(documents) + q * 2 + len(more))]))
        for q, ((start, stop), more) in enumerate(zip(pairwise(offsets), unretrieved, strict=True))
    ]
    spare = [(more + [[0] * n_subtopics] * 2)[:2] for more in unretrieved]
    codes, patterns = encode_matrix(np.concatenate([matrix, matrix_of([*chain.from_iterable(spare)], n_subtopics)]))
    if draw(st.booleans()):
        weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n_subtopics, max_size=n_subtopics))
        bounds = np.arange(len(queries) + 1) * n_subtopics
        patterns = patterns.weighed((np.tile(np.array(weights, "f8"), len(queries)), bounds))
    pools = [[place for place in pool if place >= len(documents) or judged[place]] for pool in pools]
    pool = codes[np.array([*chain.from_iterable(pools)], int)], np.cumsum([0, *map(len, pools)])
    rankings = Rankings(
        codes[: len(documents)], np.array([score for _, score, *_ in documents], "f8"), offsets, judged=judged,
        pool=pool if draw(st.booleans()) else None, tie_keys=np.array([key for *_, key in documents], "i8"),
        patterns=patterns,
    )  # fmt: skip
    return Case(rankings, kind)


def matrix_of(rows, n_subtopics):
    return np.array(rows, "f8").reshape(len(rows), n_subtopics)


def random_matrices(n_queries=60, most=40, n_subtopics=6, seed=5):
    """Return seeded labels by subtopic, scores with tie groups of many sizes, and offsets."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, most, n_queries) * (random.random(n_queries) < 0.95)
    n = int(sizes.sum())
    share = np.repeat(random.choice([0.02, 0.2, 0.6], n_queries), sizes)
    labels = random.integers(1, 4, (n, n_subtopics)) * (random.random((n, n_subtopics)) < share[:, None])
    n_scores = np.repeat(random.choice([1, 9, 10 * most], n_queries), sizes)
    scores = np.floor(random.random(n) * n_scores) / 8
    return labels, scores, np.cumsum([0, *sizes])
