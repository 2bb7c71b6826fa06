"""The candidates of a score matrix, listed user by user in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.recommendations.interactions import Interactions
from fastndcg.inputs.recommendations.item_selection import ItemLists, ItemSelection
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array


def list_candidates(liked: Interactions, scores: Array, selection: ItemSelection | None) -> Rankings:
    """Return rankings of the candidates of each user, in the order of their numbers."""
    selection = selection or ItemSelection()
    n_users, n_items = scores.shape
    exclude, candidates = selection.read_lists((n_users, n_items))
    columns: dict[str, list[Any]] = {name: [] for name in ("labels", "scores", "judged", "tie_keys", "pool")}
    offsets = [0]
    pool_offsets = [0]
    for user in range(n_users):
        start, stop = liked.offsets[user : user + 2].tolist()
        own_items = liked.items[start:stop].tolist()
        own_labels = dict(zip(own_items, liked.labels[start:stop].tolist(), strict=True))
        excluded_items = set() if exclude is None else set(list_items(exclude, user))
        items = range(n_items) if candidates is None else list_items(candidates, user)
        items = [item for item in items if item not in excluded_items]
        missing = own_labels.keys() - set(items)
        if missing and selection.missing_truth == "raise":
            raise InvalidInputError(
                f"items of `truth` must be candidates, but {min(missing)} of user {user} is not one"
            )
        for item in items:
            columns["labels"].append(own_labels.get(item, 0))
            columns["scores"].append(scores[user, item])
            columns["judged"].append(item in own_labels)
            columns["tie_keys"].append(item)
        is_counted = selection.missing_truth == "unretrieved"
        columns["pool"] += [label for item, label in own_labels.items() if is_counted or item not in missing]
        offsets.append(len(columns["labels"]))
        pool_offsets.append(len(columns["pool"]))
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Rankings(
        arrays["labels"].astype("f8"), arrays["scores"].astype("f8"), offsets, judged=arrays["judged"].astype(bool),
        tie_keys=arrays["tie_keys"].astype("i8"), pool=(arrays["pool"].astype("f8"), pool_offsets),
    )  # fmt: skip


def list_items(lists: ItemLists, user: int) -> list[int]:
    """Return the items of a user."""
    place = user * lists.step
    return lists.items[lists.offsets[place] : lists.offsets[place + 1]].tolist()  # type: ignore[no-any-return]
