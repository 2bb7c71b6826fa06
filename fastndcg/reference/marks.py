"""Labels of documents without a judgment: 0 to metrics of labels, and told apart by metrics of judgments."""

from __future__ import annotations


class Mark(float):
    """A label of 0 that equals nothing but itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


UNJUDGED = Mark()
POOLED = Mark()  # it was to be judged, and was not
