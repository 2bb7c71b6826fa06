"""Metrics that users register: their function in plain Python, on one order of a query's documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.metric import UNLIMITED
from fastndcg.reference.asked import Asked
from fastndcg.reference.counts import n_relevant


def of_user(labels: list[float], judged: list[float], asked: Asked) -> float:
    """What the function says of an order without ties."""
    record = asked.metric.record
    function: Any = getattr(record.function, "py_func", record.function)
    hits = [(label, above) for above, label in enumerate(labels[: asked.k]) if label != 0]
    ideal = [label for label in sorted(judged, reverse=True)[: asked.k] if label != 0]
    return float(
        function(
            np.array([label for label, _ in hits], "f8"),
            np.array([above for _, above in hits], "i4"),
            np.ones(len(hits), "i4"),
            np.array(ideal, "f8"),
            float(n_relevant(labels, judged, asked._replace(k=None))),
            len(labels),
            UNLIMITED if asked.k is None else min(asked.k, UNLIMITED),
            *(asked.get(parameter.name) for parameter in record.parameters),
        )
    )
