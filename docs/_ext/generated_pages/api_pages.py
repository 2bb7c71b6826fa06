"""The table of metrics as values of the package, which the page about the API includes."""

from __future__ import annotations

from fastndcg.metrics.families import records_of
from generated_pages.markdown import table


def make_pages() -> dict[str, str | bytes]:
    """Return the table of metrics as a part of a page."""
    rows = ([f"`fn.{record.name}`", record.title] for record in records_of("evaluate"))
    return {"_generated/parts/metric_values.md": "".join(table(["value", "metric"], rows))}
