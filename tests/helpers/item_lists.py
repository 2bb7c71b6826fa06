"""Stand-ins for LensKit's collections of item lists, with the methods that are read."""

from typing import NamedTuple

import numpy as np


class UserKey(NamedTuple):
    """A key of one field, as LensKit's."""

    user_id: object


class Items:
    """An item list with the methods of LensKit's `ItemList`."""

    def __init__(self, ids, *, ordered=False, **fields):
        self._ids = None if ids is None else np.array(ids)
        self._fields = {name: np.array(values) for name, values in fields.items()}
        self.ordered = ordered

    def __len__(self):
        """Return the number of items."""
        return 2 if self._ids is None else len(self._ids)

    def ids(self):
        """Return the ids, as an array."""
        if self._ids is None:
            raise RuntimeError("item IDs not available")
        return self._ids

    def field(self, name):
        """Return a field, or None."""
        return self._fields.get(name)

    def scores(self):
        """Return the scores, or None."""
        return self.field("score")

    def numbers(self):
        """Return nothing: only its presence counts."""

    ranks = numbers


class Collection:
    """A collection with the methods of LensKit's `ItemListCollection`."""

    key_type = UserKey
    lists = None

    def __init__(self, lists, fields=("user_id",)):
        self.key_fields = fields
        self._lists = lists

    def items(self):
        """Yield keys and lists."""
        for user, items in self._lists.items():
            yield UserKey(user), items
