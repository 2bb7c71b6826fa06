"""The catalogue of metrics. Each module of this package describes one family of metrics as `Record` values."""

from collections import ChainMap
from importlib import import_module
from operator import itemgetter
from pkgutil import iter_modules

from fastndcg.metrics.catalog.aggregates import AGGREGATES as AGGREGATES
from fastndcg.metrics.catalog.record import Parameter as Parameter
from fastndcg.metrics.catalog.record import Record as Record

NOT_FAMILIES = ("aggregates", "record")


def find_sections() -> dict[str, dict[int, tuple[Record, ...]]]:
    """
    Return the sections of each family, by the name of its module.

    Every family module has `SECTIONS`, a dict from a section's number to its records. Lists of metrics
    and the pages of the documentation have the sections in the order of these numbers.
    """
    names = sorted(module.name for module in iter_modules(__path__) if module.name not in NOT_FAMILIES)
    return {name: import_module(f"{__name__}.{name}").SECTIONS for name in names}


_SECTIONS = find_sections()
_RECORDS = tuple(
    record
    for _, records in sorted(
        (section for sections in _SECTIONS.values() for section in sections.items()), key=itemgetter(0)
    )
    for record in records
)
FAMILIES = {
    record.name: family for family, sections in _SECTIONS.items() for records in sections.values() for record in records
}  # by the names of metrics
RECORDS = tuple(record for record in _RECORDS if record.function_name == "evaluate")
OTHER_RECORDS = tuple(record for record in _RECORDS if record.function_name != "evaluate")
CATALOG = {record.name: record for record in RECORDS}
OTHER_CATALOG = {record.name: record for record in OTHER_RECORDS}
REGISTERED: list[Record] = []  # custom metrics in the order of registration, the replaced ones included
EVERY = ChainMap(CATALOG, OTHER_CATALOG)
