"""Labels of unjudged documents. Metrics of labels read them as 0, metrics of judgments recognise them."""

from __future__ import annotations


class Mark(float):
    """A label of 0 that is equal to itself only."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


UNJUDGED = Mark()
POOLED = Mark()  # in the pool, and not judged
