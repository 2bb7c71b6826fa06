"""Every metric as one record: what it is called, computes, needs, and where it comes from. Pure data."""

from collections import ChainMap

from fastndcg.catalog import (
    adaptive,
    agreement,
    beyond,
    blended,
    cascade,
    classes,
    counts,
    diversity,
    gain,
    interpolated,
    judgments,
    precision,
    reaching,
    relative,
    roc,
    sets,
    similarity,
    stopping,
)
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
    *similarity.RECORDS,
    *stopping.RECORDS,
    *adaptive.RECORDS,
    *blended.RECORDS,
    *roc.RECORDS,
    *reaching.RECORDS,
    *classes.RECORDS,
    *diversity.RECORDS,
)
OTHER_RECORDS = (*agreement.RECORDS, *beyond.RECORDS)  # of two rankings, and of recommended items: not for `evaluate`
CATALOG = {record.name: record for record in RECORDS}
OTHERS = {record.name: record for record in OTHER_RECORDS}
REGISTERED: list[Record] = []  # by users, all that ever were
EVERY = ChainMap(CATALOG, OTHERS)
