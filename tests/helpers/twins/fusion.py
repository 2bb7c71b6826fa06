"""Fuse runs query by query, with plain loops over dicts: the twin of `fastndcg.fusion`."""

import functools
import math
import statistics
from typing import NamedTuple

import numpy as np


class Norm(NamedTuple):
    name: str
    lower: float | None = None
    upper: float | None = None


SEGFUSE_ENDS = [10 * 2 ** (j - 1) - 5 for j in range(1, 11)]
UNSEEN = math.log(0.001 / 0.999)
LARGEST = 2.0**480  # the squares of larger scores may overflow
SHRINK = 2.0**-600


def fuse(runs, method, convention, weights=None, absent=None, tables=(), norms=None):
    """Return {query: {document: fused score}}, by falling score, of runs that have the same queries."""
    fused = {}
    own_norms = norms or [Norm(method.get("norm") or "none")] * len(runs)
    for query in runs[0]:
        rows = [{document: rounds(score, convention) for document, score in run[query].items()} for run in runs]
        documents = list(dict.fromkeys(document for row in rows for document in row))
        if not documents:
            fused[query] = {}
            continue
        scores = fuse_query(rows, documents, (method, convention, own_norms), weights, absent, tables)
        fused[query] = order_documents(scores, rows, convention.fused_ties)
    return fused


def fuse_query(rows, documents, settings, weights, absent, tables):
    method, convention, norms = settings
    factors = [1.0] * len(rows) if weights is None else [rounds(weight, convention) for weight in weights]
    places = [find_places(row, convention.ties) for row in rows]
    if method.record.points == "ranks":
        return condorcet(places, documents, factors)
    values = [
        value_documents(row, place, documents, settings, (weights, tables), number)
        for number, (row, place) in enumerate(zip(rows, places, strict=True))
    ]
    treatments = [find_treatment(method, convention, norm.name, absent) for norm in norms]
    is_mean = method.record.kernel == "arithmetic_mean"
    is_sum = method.record.is_linear and not (is_mean and "skip" in treatments)  # a constant of all documents may stay
    columns = []
    for row, value, norm, treatment in zip(rows, values, norms, treatments, strict=True):
        own = "skip" if not row and not is_sum else treatment
        column = fill_absent(row, value, documents, own, (method, norm.name, len(documents)))
        columns.append({d: None if x is None else rounds(x, convention) for d, x in column.items()})
    if method.name == "rrf" and convention.rrf_weights == "divisor":
        factors = [1.0] * len(rows)
    combine = COMBINATIONS[method.record.kernel]
    number = {"mixed": 0.5, "gmnz": method.get("gamma"), "logn_isr": method.get("sigma")}.get(method.name, 0.0)
    if convention.precision != "float64" and method.record.kernel in IN_FLOAT32:
        combine = functools.partial(combine, single=single)
    scores = {document: combine([column[document] for column in columns], factors, number) for document in documents}
    return {document: rounds(score, convention) for document, score in scores.items()}


def find_treatment(method, convention, norm, absent):
    """Return what a run gives to documents that it lacks."""
    reads_normalised = method.record.points == "scores"
    treatment = str(absent or (method.record.absent if convention.absent == "method" else convention.absent))
    if reads_normalised and norm == "borda" and absent is None and convention.absent == "method":
        treatment = "own"
    if reads_normalised and treatment == "mean" and norm == "z_score" and not convention.lowest_score:
        treatment = "zero"  # the mean of z-scores
    return treatment


def single(number):
    return float(np.float32(number))


def rounds(number, convention):
    return float(number) if convention.precision == "float64" else single(number)


def find_places(row, ties):
    """Return the places from 0 that each document of a run may have: several if equal scores share them."""
    documents = list(row)
    if ties == "id_ascending":
        documents.sort()
    elif ties == "id_descending":
        documents.sort(reverse=True)
    documents.sort(key=lambda document: -row[document])
    places = {document: [place] for place, document in enumerate(documents)}
    if ties == "average":
        for document in documents:
            places[document] = [place for place, other in enumerate(documents) if row[other] == row[document]]
    return places


def value_documents(row, places, documents, settings, learned, number):
    """Return what one run gives to each document that it has."""
    method, convention, norms = settings
    weights, tables = learned
    name = method.record.points
    norm = norms[number]
    if name == "scores" and norm.name not in ("rank", "borda"):
        return normalize(row, norm, convention)
    table = tables[number] if tables else ()
    rule = make_rule((method, norm.name), convention, len(row), len(documents), table)
    if name == "rrf" and convention.rrf_weights == "divisor" and weights is not None:
        k = convention.rrf_k if method.get("k") is None else method.get("k")
        weight = weights[number]
        shift = k + convention.first_rank - 1
        rule = (lambda place: 1 / ((place + 1) / weight + shift)) if weight else (lambda place: 0.0)
    points = {document: statistics.fmean(map(rule, several)) for document, several in places.items()}
    if name == "segfuse":
        scores = normalize_any(row, places, documents, norm, convention)
        return {document: points[document] * (scores[document] + 1) for document in row}
    return points


def normalize_any(row, places, documents, norm, convention):
    if norm.name not in ("rank", "borda"):
        return normalize(row, norm, convention)
    n = len(row) if norm.name == "rank" else len(documents)
    return {document: statistics.fmean(1 - place / n for place in places[document]) for document in row}


def make_rule(method_and_norm, convention, n, n_union, table):
    method, norm = method_and_norm
    name = method.record.points if method.record.points != "scores" else norm
    k = convention.rrf_k if method.get("k") is None else method.get("k")
    segment = math.ceil(n / len(table)) if table and n else 1
    decimals = "" if convention.rrf_decimals == "all" else f".{convention.rrf_decimals}f"
    w = method.get("w")
    rules = {
        "rank": lambda place: 1 - place / n,
        "borda": lambda place: 1 - place / n_union if norm == "borda" else float(n_union - place),
        "rrf": lambda place: float(format(1 / (k + convention.first_rank + place), decimals)),
        "isr": lambda place: 1 / (place + 1) ** 2,
        "rbc": lambda place: (1 - method.get("phi")) * method.get("phi") ** place,
        "bayesfuse": lambda place: table[place] if place < len(table) else UNSEEN,
        "probfuse": lambda place: table[place // segment] / (place // segment + 1),
        "segfuse": lambda place: next((x for x, end in zip(table, SEGFUSE_ENDS, strict=False) if place < end), 0.0),
        "slidefuse": lambda place: average_window(table, max(place - w, 0), min(place + w, n - 1)),
        "posfuse": lambda place: table[place] if place < len(table) else 0.0,
        "mapfuse": lambda place: table[0] / (place + 1),
    }
    return rules[name]


def average_window(table, begin, end):
    return sum(table[begin : end + 1]) / (end - begin + 1)


def normalize(row, norm, convention):
    if not row:
        return {}
    scores = list(row.values())
    unit = SHRINK if norm.name not in ("none", "max") and max(map(abs, scores)) > LARGEST else 1.0
    if unit != 1.0:  # normalised scores have no unit
        scores = [score * unit for score in scores]
        convention = convention.replace(
            equal_within=convention.equal_within * unit, smallest_divisor=convention.smallest_divisor * unit
        )
    values = NORMALIZATIONS[norm.name](scores, convention)
    is_varied = len(scores) > 1 and max(scores) - min(scores) > convention.equal_within
    if is_varied and (norm.lower is not None or norm.upper is not None):
        values = [scale_within_bounds(score, scores, norm, unit, convention) for score in scores]
    if convention.lowest_score and norm.name in ("min_max", "min_max_inverted", "z_score"):
        values = [value if value > 0 else convention.lowest_score for value in values]
    return dict(zip(row, values, strict=True))


def scale(scores, shift, divisor, convention):
    shift, divisor = rounds(shift, convention), rounds(divisor, convention)
    return [rounds(rounds(score - shift, convention) / divisor, convention) if divisor else 0.0 for score in scores]


def scale_within_bounds(score, scores, norm, unit, convention):
    bottom, top = low, high = min(scores), max(scores)
    if norm.lower is not None:
        bound = norm.lower * unit
        counts = high > bound and score > bound if norm.lower_mode == "apply" else high >= bound
        bottom = bound if counts else low
        if norm.lower_mode == "clip" and score < bottom:
            return 0.0
    if norm.upper is not None:
        bound = norm.upper * unit
        counts = low < bound and score < bound if norm.upper_mode == "apply" else low <= bound
        top = bound if counts else high
        if norm.upper_mode == "clip" and score > top:
            return 1.0
    if top == bottom:
        return float(convention.equal_scores)
    return scale([score], bottom, max(top - bottom, convention.smallest_divisor), convention)[0]


def min_max(scores, convention):
    spread = max(scores) - min(scores)
    if len(scores) == 1 and convention.single_document != "equal_scores":
        return [float(convention.single_document)]
    if spread <= convention.equal_within or len(scores) == 1:
        return [float(convention.equal_scores)] * len(scores)
    return scale(scores, min(scores), max(spread, convention.smallest_divisor), convention)


def max_norm(scores, convention):
    highest = max(scores)
    divisor = max(highest, convention.smallest_divisor) if convention.smallest_divisor else abs(highest)
    return scale(scores, 0.0, divisor, convention)


def sum_norm(scores, convention):
    low = min(scores)
    return scale(scores, low, max(sum(score - low for score in scores), convention.smallest_divisor), convention)


def z_score(scores, convention):
    if max(scores) == min(scores):
        return [0.0] * len(scores)
    compute = statistics.stdev if convention.deviation == "sample" else statistics.pstdev
    mean = statistics.fmean(scores)
    rounding = len(scores) * 2.0**-52 * max(map(abs, scores)) if convention.precision == "float64" else -1.0
    values = scale(scores, mean, max(compute(scores), convention.smallest_divisor), convention)
    return [x if abs(score - mean) > rounding else 0.0 for score, x in zip(scores, values, strict=True)]


def l2(scores, convention):
    if convention.precision == "float64":
        length = math.hypot(*scores)
    else:
        total = 0.0
        for score in sorted(scores, reverse=True):  # the order of a run
            total += single(score * score)
            total = single(total) if convention.precision == "float32_sums" else total
        length = math.sqrt(total)
    if length <= convention.equal_within:
        return scores
    if convention.precision == "float32":  # the norm stays in float64
        return [single(score / length) for score in scores]
    return scale(scores, 0.0, length, convention)


def dbsf(scores, convention):
    if max(scores) == min(scores):
        return [0.5] * len(scores)
    deviation = statistics.stdev(scores)
    return scale(scores, statistics.fmean(scores) - 3 * deviation, 6 * deviation, convention)


NORMALIZATIONS = {
    "none": lambda scores, convention: scores, "min_max": min_max,
    "min_max_inverted": lambda scores, convention: min_max([-score for score in scores], convention),
    "max": max_norm, "sum": sum_norm,
    "z_score": z_score, "l2": l2, "dbsf": dbsf,
}  # fmt: skip


def fill_absent(row, values, documents, treatment, union):
    """Return what a run gives to each document of the union."""
    method, norm, n_union = union
    share = 0.0
    if treatment == "skip":
        share = None
    elif treatment == "own" and method.record.points == "scores" and norm == "borda":
        share = 0.5 - (len(row) - 1) / (2 * n_union)
    elif treatment == "own":
        share = UNSEEN if method.name == "bayesfuse" else (n_union - len(row) + 1) / 2
    elif treatment == "minimum":
        share = min(values.values(), default=None)
    elif treatment == "mean":
        share = statistics.fmean(values.values()) if values else None
    return {document: values.get(document, share) for document in documents}


def order_documents(scores, rows, ties):
    """Return documents by falling fused score."""
    documents = list(scores)
    if ties == "id_ascending":
        documents.sort()
    elif ties == "id_descending":
        documents.sort(reverse=True)
    elif ties == "last_score":
        documents.sort(key=lambda document: -[row[document] for row in rows if document in row][-1])
    documents.sort(key=lambda document: -scores[document])
    return {document: scores[document] for document in documents}


def list_counted(points):
    return [value for value in points if value is not None]


def weighted_sum(points, weights, number=0.0, single=float):
    total = 0.0
    for weight, value in zip(weights, points, strict=True):
        if value is not None:
            total = single(total + single(weight * value))
    return total


def sum_weights(points, weights, single=float):
    return weighted_sum([None if value is None else 1.0 for value in points], weights, single=single)


def comb_gmnz(points, weights, number):
    return weighted_sum(points, weights) * float(len(list_counted(points)) ** number)


def arithmetic_mean(points, weights, number, single=float):
    weight = sum_weights(points, weights, single)
    return single(weighted_sum(points, weights, single=single) / weight) if weight else 0.0


def mean_above_0(points, weights, number, single=float, *, is_harmonic=False):
    """Return the weighted geometric, or harmonic, mean of the points above 0."""
    above = [value if value and value > 0 else None for value in points]
    total = 0.0
    for weight, value in zip(weights, above, strict=True):
        if value:
            total = single(total + (single(weight / value) if is_harmonic else weight * math.log(value)))
    weight = sum_weights(above, weights, single)
    if is_harmonic:
        return single(weight / total) if total else 0.0
    return single(math.exp(single(total / weight))) if weight else 0.0


def condorcet(places, documents, weights):
    """Return 1 + the number of majorities + half the number of draws of each document."""
    scores = dict.fromkeys(documents, 1.0)
    for document in documents:
        for other in documents:
            if other == document:
                continue
            margin = 0.0
            for place, weight in zip(places, weights, strict=True):
                mine = place.get(document, [math.inf])[0]
                rival = place.get(other, [math.inf])[0]
                margin += weight * ((mine < rival) - (mine > rival))
            scores[document] += 1.0 if margin > 0 else 0.5 if margin == 0 else 0.0
    return scores


COMBINATIONS = {
    "comb_min": lambda points, weights, number: min(list_counted(points)),
    "comb_max": lambda points, weights, number: max(list_counted(points)),
    "comb_med": lambda points, weights, number: statistics.median(list_counted(points)),
    "comb_anz": lambda points, weights, number: sum(list_counted(points)) / len(list_counted(points)),
    "comb_mnz": lambda points, weights, number: sum(list_counted(points)) * len(list_counted(points)),
    "wmnz": lambda points, weights, number: sum(list_counted(points)) * sum_weights(points, weights),
    "log_mnz": lambda points, weights, number: sum(list_counted(points)) * math.log(len(list_counted(points)) + number),
    "comb_gmnz": comb_gmnz, "weighted_sum": weighted_sum, "arithmetic_mean": arithmetic_mean,
    "geometric_mean": mean_above_0, "harmonic_mean": functools.partial(mean_above_0, is_harmonic=True),
}  # fmt: skip
IN_FLOAT32 = ("weighted_sum", "arithmetic_mean", "geometric_mean", "harmonic_mean")
