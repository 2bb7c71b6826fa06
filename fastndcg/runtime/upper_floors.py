"""
What methods call in modules that import their own, such as `Run(…)`, which reads data of every form.

It is looked up by name when it is called. All other imports go from upper packages down to lower ones.
"""

from __future__ import annotations

import importlib
from typing import Any

MODULES = {
    "settle_closed": "inputs.duplicates",
    "read_groups": "inputs.diversity",
    "read_table": "forms.dispatch",
    "read_of_tool": "forms.dispatch",
    "Settings": "statistics.settings",
    "compare": "statistics.compare",
    "compute_interval": "statistics.one_system",
    "summarize_segments": "statistics.one_system",
    "explain_change": "explaining.change",
    "draw": "reports.figure",
    "make_change": "reports.plots",
    "make_distribution": "reports.plots",
    "make_leaderboard": "reports.plots",
    "plot": "reports.plots",
    "page": "reports.page",
    "as_csv": "reports.text",
    "as_json": "reports.text",
}


def find(name: str) -> Any:
    """Return a function or class of a module above."""
    return getattr(importlib.import_module(f"fastndcg.{MODULES[name]}"), name)
