"""
The catalogue of metrics. Each module of this package is a family: its records, and below them their reference twins.

A twin is the definition in plain Python, for one order of a query's documents: see `fastndcg.reference`. Lists of
metrics and the pages of the documentation have the families in the order of `FAMILIES`, and the metrics of a family in
the order of their records.
"""

from dataclasses import replace
from importlib import import_module

from fastndcg.metrics.families.aggregates import AGGREGATES as AGGREGATES
from fastndcg.metrics.families.record import Parameter as Parameter
from fastndcg.metrics.families.record import Record as Record
from fastndcg.metrics.trec_eval import find_names

FAMILIES = (
    "gains", "counts", "first_relevant", "cascades", "pairs", "judgments", "subtopics", "agreement", "beyond_accuracy",
    "spans",
)  # fmt: skip

CATALOG: dict[str, Record] = {  # custom metrics follow when they are registered
    record.name: replace(record, family=family, **find_names(record.name))
    for family in FAMILIES
    for record in import_module(f"{__name__}.{family}").RECORDS
}
REGISTERED: list[Record] = []  # custom metrics in the order of registration, the replaced ones included


def records_of(function_name: str) -> list[Record]:
    """Return the records of the metrics that a function takes, such as 'evaluate'."""
    return [record for record in CATALOG.values() if record.function_name == function_name]
