"""Tiles of scores: blocks of users times blocks of items, of one constant shape."""

from __future__ import annotations

USER_ROWS = 256  # of a tile
ITEM_ROWS = 4096
