"""The catalogue of fusion: methods and normalisations as records, by their names."""

from fastndcg.fusion.catalog import normalizations, rank_methods, score_methods, trained_methods
from fastndcg.fusion.catalog.record import FusionRecord as FusionRecord
from fastndcg.fusion.catalog.record import NormalizationRecord as NormalizationRecord

FAMILIES = {
    "scores": score_methods.RECORDS,
    "ranks": rank_methods.RECORDS,
    "training": trained_methods.RECORDS,
}
FUSION_METHODS = {record.name: record for records in FAMILIES.values() for record in records}
NORMALIZATIONS = {record.name: record for record in normalizations.RECORDS}
