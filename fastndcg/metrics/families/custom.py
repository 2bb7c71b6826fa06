"""Custom metrics: the function of the user, called as plain Python on one order of a query's documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.kernels.limits import MAX_RANK
from fastndcg.metrics.families.counts import n_relevant
from fastndcg.metrics.families.definition import Definition


def evaluate_custom_metric(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the value of the user's function for an order without ties."""
    record = definition.metric.record
    function: Any = getattr(record.function, "py_func", record.function)
    hits = [(label, above) for above, label in enumerate(labels[: definition.k]) if label != 0]
    ideal = [label for label in sorted(judged, reverse=True)[: definition.k] if label != 0]
    return float(
        function(
            np.array([label for label, _ in hits], "f8"),
            np.array([above for _, above in hits], "i4"),
            np.ones(len(hits), "i4"),
            np.array(ideal, "f8"),
            float(n_relevant(labels, judged, definition._replace(k=None))),
            len(labels),
            MAX_RANK if definition.k is None else min(definition.k, MAX_RANK),
            *(definition.get(parameter.name) for parameter in record.parameters),
        )
    )
