"""
The catalogue of metrics. Each module of this package is a family: its records, and below them their reference twins.

A twin is the definition in plain Python, for one order of a query's documents: see `fastndcg.reference`. Lists of
metrics and the pages of the documentation have the families in the order of `FAMILIES`, and the metrics of a family in
the order of their records.
"""

from dataclasses import replace
from importlib import import_module

from fastndcg.metrics.families.record import AGGREGATES as AGGREGATES
from fastndcg.metrics.families.record import Parameter as Parameter
from fastndcg.metrics.families.record import Record as Record
from fastndcg.metrics.trec_eval import find_names
from fastndcg.named_conventions import conventions

FAMILIES = (
    "gains", "counts", "first_relevant", "cascades", "pairs", "judgments", "subtopics", "agreement", "beyond_accuracy",
    "spans",
)  # fmt: skip

PROGRAMS = {  # whose convention names each metric that they have
    "ranx": "ranx", "RecTools": "rectools", "RePlay": "replay", "TorchMetrics": "torchmetrics", "PyKEEN": "pykeen",
    "pyndeval": "ndeval",
}  # fmt: skip


def find_peers(record: Record) -> tuple[tuple[str, str], ...]:
    """Return the programs that have a metric with its names there: those of conventions, then those of the record."""
    from_conventions = (
        (program, one.theirs)
        for program, name in PROGRAMS.items()
        for one in conventions[name].metrics
        if one.ours == record.name and not one.by and not one.differs and program not in dict(record.peers)
    )
    return (*from_conventions, *record.peers)


CATALOG: dict[str, Record] = {  # custom metrics follow when they are registered
    record.name: replace(record, family=family, peers=find_peers(record), **find_names(record.name))
    for family in FAMILIES
    for record in import_module(f"{__name__}.{family}").RECORDS
}
REGISTERED: list[Record] = []  # custom metrics in the order of registration, the replaced ones included


def records_of(function_name: str) -> list[Record]:
    """Return the records of the metrics that a function takes, such as 'evaluate'."""
    return [record for record in CATALOG.values() if record.function_name == function_name]
