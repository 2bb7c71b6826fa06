"""Hypothesis strategy for judgments and runs that pytrec_eval takes."""

import math

from hypothesis import strategies as st

LABELS = {"graded": st.integers(-1, 3), "beyond bytes": st.sampled_from([0, 1, 300, -2])}
SCORES = st.sampled_from([0, 1, 2, 1.0 + 1e-9, -0.5, 3e38, 1e300, -math.inf]) | st.floats(-5, 5)


@st.composite
def dicts(draw):
    """Draw judgments and a run, with ties, unjudged and unretrieved documents, and queries on one side only."""
    ids = st.sampled_from(["d1", "d10", "d9", "D", "é", "z", "𝒹"])
    labels = LABELS[draw(st.sampled_from(list(LABELS)))]
    queries = st.sampled_from(["q1", "q2", "q3"])
    qrels = draw(st.dictionaries(queries, st.dictionaries(ids, labels, max_size=6), max_size=3))
    qrels = {query: row for query, row in qrels.items() if max(row.values(), default=0) >= 0}  # or pytrec_eval crashes
    run = draw(st.dictionaries(queries, st.dictionaries(ids, SCORES, min_size=1, max_size=7), max_size=3))
    return qrels, run  # pytrec_eval crashes on a query without documents, or counts the documents of another query
