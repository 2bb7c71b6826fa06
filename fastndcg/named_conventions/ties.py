"""The table of tie policies: what orders equal scores under each, for every part of the package that orders them."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastndcg.errors import shorten


class TiePolicy(NamedTuple):
    """
    What orders the documents of a tie group.

    `orders` is "group" where nothing orders them and they share the ranks of the group, "label", "input" for their
    places, or "id". `falls` is True if they come by falling label, place or id.
    """

    orders: str
    falls: bool = False

    def choose(self, **values: Any) -> Any:
        """
        Return the value for what this policy orders by.

        Code that orders ties names every order that it knows, so that a new one cannot get the values of another.

        Raises
        ------
        NotImplementedError
            If no value is for this order.
        """
        if self.orders not in values:
            raise NotImplementedError(
                f"this code orders ties by {', '.join(values)}, not by {shorten(self.orders)}. Add the order here, and "
                "to the reference."
            )
        return values[self.orders]


TIES = {
    "average": TiePolicy("group"),
    "input": TiePolicy("input"),
    "id_descending": TiePolicy("id", falls=True),
    "id_ascending": TiePolicy("id"),
    "best": TiePolicy("label", falls=True),
    "worst": TiePolicy("label"),
    "input_reversed": TiePolicy("input", falls=True),
    "mean_rank": TiePolicy("group"),
}
