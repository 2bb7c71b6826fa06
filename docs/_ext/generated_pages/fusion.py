"""The page about fusion: tables of methods, normalisations and conventions, from their records."""

from __future__ import annotations

import fastndcg as fn
from fastndcg.fusion.catalog import FAMILIES, NORMALIZATIONS
from fastndcg.fusion.conventions import CHOICES, FIELDS
from fastndcg.parsing import format_value
from generated_pages import fill
from generated_pages.metrics import MATHEMATICS

TITLES = {"scores": "Methods of scores", "ranks": "Methods of ranks", "training": "Methods that learn"}


def make_pages() -> dict[str, str | bytes]:
    """Return the page of fusion."""
    conventions = fn.fusion_conventions
    choices = {
        field: [format_value(convention.choices()[field]) for convention in conventions.values()] for field in FIELDS
    }
    values = {"families": FAMILIES, "titles": TITLES, "normalizations": NORMALIZATIONS.values(), "allowed": CHOICES}
    formulas = MATHEMATICS["fusion"]["formulas"]
    page = fill("fusion", formulas=formulas, conventions=conventions, fields=FIELDS, choices=choices, **values)
    return {"reference/fusion.md": page}
