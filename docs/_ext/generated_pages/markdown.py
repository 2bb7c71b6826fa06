"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fastndcg.runtime.escapes import markdown_row


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    r"""
    Yield the lines of a table. Vertical bars in cells are escaped.

    >>> print(*table(["a", "b"], [["1", "x|y"]]), sep="", end="")
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    """
    yield f"{markdown_row(head)}\n|{' --- |' * len(head)}\n"
    for row in rows:
        yield f"{markdown_row(row)}\n"
