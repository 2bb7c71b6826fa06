"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    r"""
    The lines of a table; a | in a cell is kept from ending it.

    >>> print(*table(["a", "b"], [["1", "x|y"]]), sep="", end="")
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    """
    yield f"| {' | '.join(head)} |\n|{' --- |' * len(head)}\n"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n"
