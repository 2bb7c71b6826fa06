"""
Documents of equal score and different kind: the only ones whose ids a tie policy has to look at.

scores   (n_documents,)    float32
kinds    (n_documents,)    float64, one number for each label, and one for unjudged documents
offsets  (n_queries + 1,)  int64
out      (n_documents,)    bool, given as all False
"""

from fastndcg.kernels.jit import kernel, part


@kernel
def mark_mixed(scores, kinds, offsets, out):
    """Whether a document ties with one of another kind."""
    for q in range(offsets.shape[0] - 1):
        start = offsets[q]
        stop = offsets[q + 1]
        if start == stop:
            continue
        usual = most_frequent(kinds, start, stop)
        for d in range(start, stop):
            if kinds[d] == usual:  # of two that differ, one is not
                continue
            score = scores[d]
            kind = kinds[d]
            n_mixed = 0
            for other in range(start, stop):
                n_mixed += (scores[other] == score) & (kinds[other] != kind)
            if n_mixed > 0:
                for other in range(start, stop):
                    if scores[other] == score:
                        out[other] = True


@part
def most_frequent(kinds, start, stop):
    """The kind of more than half of a query's documents, if there is one; else any."""
    usual = kinds[start]
    lead = 1
    for d in range(start + 1, stop):
        if lead == 0:
            usual = kinds[d]
        lead += 1 if kinds[d] == usual else -1
    return usual
