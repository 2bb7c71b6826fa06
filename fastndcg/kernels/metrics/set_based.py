"""
Compute metrics of sets of documents: counts, metrics of the retrieved set, and metrics of a classifier.

The classifier takes the first k ranks as relevant and all other documents as not relevant.

a, b, c, d   worth of a document: relevant and retrieved, other and retrieved, relevant and not retrieved, other
documents    number of documents of the collection
"""

import math

from fastndcg.kernels.jit import kernel


@kernel
def n_retrieved(sizes, k, out):
    """Count the documents in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = min(sizes[q], k)


@kernel
def n_relevant(n_relevant, k, out):
    """Count the relevant documents, at most k."""
    for q in range(out.shape[0]):
        out[q] = min(n_relevant[q], float(k))


@kernel
def n_relevant_retrieved(n_relevant_found, out):
    """Write the expected number of relevant documents in the first k ranks."""
    for q in range(out.shape[0]):
        out[q] = n_relevant_found[q]


@kernel
def precision_times_recall(n_relevant_found, n_relevant, sizes, out):
    """Compute precision times recall of the retrieved set, 0 if it is empty."""
    for q in range(out.shape[0]):
        value = n_relevant_found[q] * n_relevant_found[q] / max(sizes[q] * n_relevant[q], 1.0)
        out[q] = value if n_relevant[q] > 0 else math.nan


@kernel
def utility(n_relevant_found, n_relevant, sizes, a, b, c, d, documents, out):
    """Compute the utility of the retrieved set: the worth of the four parts of the collection."""
    for q in range(out.shape[0]):
        n_others = documents + n_relevant_found[q] - sizes[q] - n_relevant[q]
        out[q] = (
            a * n_relevant_found[q]
            + b * (sizes[q] - n_relevant_found[q])
            + c * (n_relevant[q] - n_relevant_found[q])
            + d * n_others
        )


@kernel
def classification_accuracy(n_relevant_found, n_relevant, n_relevant_ranked, sizes, k, out):
    """Compute the accuracy of the classifier: the share of documents, ranked or relevant, that it classifies right."""
    for q in range(out.shape[0]):
        n_negative = sizes[q] - n_relevant_ranked[q]
        n = n_negative + n_relevant[q]
        n_false_positive = min(sizes[q], k) - n_relevant_found[q]
        out[q] = (n_relevant_found[q] + (n_negative - n_false_positive)) / n if n > 0 else math.nan


@kernel
def fall_out(n_relevant_found, n_relevant_ranked, sizes, k, out):
    """Compute fall-out: the share of the documents that are not relevant in the first k ranks."""
    for q in range(out.shape[0]):
        n_negative = sizes[q] - n_relevant_ranked[q]
        out[q] = (min(sizes[q], k) - n_relevant_found[q]) / n_negative if n_negative > 0 else math.nan
