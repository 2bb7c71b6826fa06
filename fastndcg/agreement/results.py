"""What `agreement` gives."""

from __future__ import annotations

from fastndcg.conventions import conventions
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.results import Results


class Agreement(Results):
    """
    How far two rankings of each query agree: `Results` that say how ties were taken.

    `n_tied` counts the queries in which either ranking has equal scores.

    Examples
    --------
    >>> result = fn.agreement([[2, 1, 1]], [[3, 2, 1]], "tau_ap")
    >>> result["tau_ap"], result.n_tied
    (array([0.75]), 1)
    """

    __slots__ = ()

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        *,
        n_tied: int,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(values, metrics, query_ids, conventions["default"], n_tied=n_tied, notes=notes)

    def _footer(self) -> list[str]:
        averaged = [metric.name for metric in self.metrics if metric.name in ("RBO", "tau_ap")]
        ties = f"which {self.n_tied} of {len(self)} queries have"
        what = " and ".join(dict.fromkeys(averaged))
        first = f"{what}: means over all orders of equal scores, {ties}" if averaged else f"equal scores, {ties}"
        return [first, *self.notes]
