"""Every metric as one record: what it is called, computes, needs, and where it comes from. Pure data."""

from fastndcg.catalog import cascade, counts, gain, interpolated, judgments, precision, relative, sets
from fastndcg.catalog.aggregates import AGGREGATES as AGGREGATES
from fastndcg.catalog.record import Parameter as Parameter
from fastndcg.catalog.record import Record as Record

RECORDS = (
    *gain.RECORDS,
    *precision.RECORDS,
    *cascade.RECORDS,
    *counts.RECORDS,
    *interpolated.RECORDS,
    *relative.RECORDS,
    *sets.RECORDS,
    *judgments.RECORDS,
)
CATALOG = {record.name: record for record in RECORDS}
REGISTERED: list[Record] = []  # by users, all that ever were
