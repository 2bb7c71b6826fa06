"""Combinations of parameters in which every pair of values comes up."""

from itertools import combinations, product


def pairs(*values):
    """Return few combinations of values such that any two values of two parameters are together in one of them."""

    def parts(row):
        return {(i, row[i], j, row[j]) for i, j in combinations(range(len(values)), 2)}

    rows = list(product(*values))
    missing, chosen = set().union(*map(parts, rows)), []
    while missing:
        chosen.append(max(rows, key=lambda row: len(parts(row) & missing)))
        missing -= parts(chosen[-1])
    return chosen
