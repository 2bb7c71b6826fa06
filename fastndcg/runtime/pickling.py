"""Pickles of classes with slots, at every protocol."""

from __future__ import annotations

from typing import Any, SupportsIndex

FIRST_WITH_SLOTS = 2  # protocols 0 and 1 refuse an object whose class has slots


class Picklable:
    """Base class for classes with slots. Protocols 0 and 1 write the state like protocol 2."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        return super().__reduce_ex__(max(protocol.__index__(), FIRST_WITH_SLOTS))
