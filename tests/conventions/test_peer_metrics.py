"""Tests of the tables of metrics of other programs: equal metrics are proven, and differences are noted."""

import ast
import contextlib
import functools
import re
from pathlib import Path

import golden_records
import pytest
from known_differences import DIFFERENCES

import fastndcg as fn
from fastndcg.metrics.families import records_of
from fastndcg.named_conventions import parse_convention
from fastndcg.results.notes import note_on

TESTS = Path(__file__).resolve().parents[1]
NAMED = [(name, convention) for name, convention in fn.conventions.items() if convention.peer]
TABLE = [
    pytest.param(convention, one, id=f"{name}-{one.theirs}") for name, convention in NAMED for one in convention.metrics
]
READ_NOT_RUN = {"tf_ranking", "recbole"}
LIBRARIES = {
    "ir_measures": "trec_eval_9_c", "scikit-learn": "sklearn", "TorchMetrics": "torchmetrics", "CatBoost": "catboost",
    "RankLib": "ranklib", "Rax": "rax", "TF-Ranking": "tf_ranking", "RecBole": "recbole",
}  # fmt: skip
# tables and tests that hold a program's number against ours, beside the recorded cases of tests/peers/
LIVE = "peers/test_live_libraries.py"
PROVEN = {
    "trec_eval": {"peers/test_recorded_trec_eval.py": ["every metric"],
        "cli/test_trec_format.py": ["every metric"]},
    "trec_eval_9": {"peers/test_recorded_trec_eval.py": ["every metric"],
        "cli/test_trec_format.py": ["every metric"]},
    "trec_eval_9_c": {"cli/test_trec_format.py": ["every metric"],
        "peers/test_pyndeval.py::test_cwl_eval": ["INST", "BPM"], f"{LIVE}::ACCURACY": ["AUC"],
        "peers/test_pyndeval.py": ["by subtopic"]},
    "trec_eval_c": {"cli/test_trec_format.py": ["every metric"]},
    "sklearn": {f"{LIVE}::SKLEARN_ROWS": ["pAUC", "RankingLoss", "CoverageError", "LRAP", "AUC"],
        f"{LIVE}::SKLEARN_CURVE": ["PatR"]},
    "ranx": {f"{LIVE}::RANX": ["RBP", "num_rel_ret"]},
    "torchmetrics": {f"{LIVE}::TORCHMETRICS_TIED": ["AUC"], f"{LIVE}::TORCHMETRICS": ["FallOut"],
        f"{LIVE}::TORCHMETRICS_ROWS": ["LRAP", "RankingLoss", "CoverageError"]},
    "rax": {f"{LIVE}::RAX": ["OPA"]},
    "catboost": {f"{LIVE}::CATBOOST": ["ERR", "PFound", "AUC", "OPA"]},
    "rectools": {"peers/test_live_recommenders.py::RECTOOLS": ["F"]},
    "lenskit": {"peers/test_live_recommenders.py::LENSKIT": ["RBP", "DCG"]},
    "ndeval": {"peers/test_pyndeval.py": ["by subtopic"]},
    "ms_marco": {f"{LIVE}::IR_MEASURES": ["RR"]},
    "pykeen": {"peers/test_recorded_factors.py::NAMES": ["Rank", "RR", "Success"]},
    "recometrics": {"helpers/factor_cases.py::RECOMETRICS": ["nDCG", "AP", "P", "R", "Success", "RR", "AUC"]},
    "lightfm": {"helpers/factor_cases.py::LIGHTFM": ["P", "R", "RR", "AUC"]},
    "sentence_transformers": {
        "helpers/factor_cases.py::SENTENCE_TRANSFORMERS": ["Success", "P", "R", "nDCG", "RR", "AP"]},
}  # fmt: skip


def metric_of(record):
    return golden_records.METRICS.get(record["metric"]) or golden_records.metric_of(record).name


@pytest.mark.parametrize(("convention", "one"), TABLE)
def test_entries_read(convention, one):
    assert fn.Metric.parse(one.ours).name == one.name
    assert not one.by or parse_convention(one.by) != convention
    assert not (one.by and one.differs)


@pytest.mark.parametrize(("name", "convention"), NAMED)
def test_peer_metrics_have_a_table_for_every_program(name, convention):
    ours = [one.ours for one in convention.metrics]
    assert ours
    assert len(set(ours)) == len(ours)


def test_peer_metrics_classify_every_recorded_metric():
    recorded = {
        (golden_records.CONVENTIONS[one["peer"]], metric_of(one))
        for one in golden_records.records()
        if golden_records.has_metric(one) and golden_records.has_input(one) and one["error"] is None
    }
    classified = {(name, one.name) for name, convention in NAMED for one in convention.metrics}
    assert recorded - classified == set()


@pytest.mark.parametrize("record", records_of("evaluate"), ids=lambda record: record.name)
def test_names_elsewhere_are_classified(record):
    for library, name in record.peers:
        if library in LIBRARIES and "=True" not in name:
            table = fn.conventions[LIBRARIES[library]].metrics
            assert record.name in {one.name for one in table}, (library, name)


def proven():
    """Conventions and metrics whose numbers a test holds against the program's: recorded ones that are reproduced."""
    found = set()
    for one in golden_records.records():
        if (
            golden_records.has_metric(one)
            and golden_records.has_input(one)
            and not any(entry.matches(one) for entry in DIFFERENCES)
        ):
            found.add((golden_records.CONVENTIONS[one["peer"]], metric_of(one)))
    return found


@functools.cache
def name_of(text):
    """Return the name of the metric that a text gives, if it gives one."""
    with contextlib.suppress(fn.FastndcgError):
        return fn.Metric.parse(text.replace("{k}", "").rstrip("@")).name


def list_metrics(place):
    """Return the names of the metrics in the texts of a table or a test, from 'file::name'. Without a name: none."""
    file, _, name = place.partition("::")
    found = set()
    for one in ast.parse((TESTS / file).read_text(encoding="utf-8")).body:
        targets = [getattr(target, "id", "") for target in getattr(one, "targets", ())]
        if name in (getattr(one, "name", ""), *targets):
            found |= {name_of(str(part.value)) for part in ast.walk(one) if isinstance(part, ast.Constant)}
    return found


def test_equal_metrics_are_proven():
    """Every metric that is classified as equal has a recorded case or a test of the installed program."""
    known = proven()
    for name, convention in NAMED:
        base = name.removesuffix("_ignore_ties").removesuffix("_minus")
        elsewhere = PROVEN.get(base, {})
        for place, metrics in elsewhere.items():
            assert {metric for metric in metrics if " " not in metric} <= list_metrics(place), place
        listed = {metric for metrics in elsewhere.values() for metric in metrics}
        for one in convention.metrics:
            if one.differs or base in READ_NOT_RUN or "every metric" in listed:
                continue
            is_listed = one.name in listed or ("by subtopic" in listed and fn.CATALOG[one.name].by_subtopic)
            assert is_listed or (base, one.name) in known, (name, one)


@pytest.mark.parametrize(("convention", "one"), TABLE)
def test_notes_follow_the_table(convention, one):
    metric = fn.Metric.parse(one.ours)
    chosen = parse_convention(one.by) if one.by else convention
    if one.differs:
        assert one.differs in note_on(metric, convention, False)
        return
    if chosen.name.partition("(")[0] == convention.name:
        assert note_on(metric, chosen, False) == ""
        note = note_on(metric, chosen, True)
        assert one.tie_difference in note if one.tie_difference else note == ""
    if one.by:
        assert f"under the convention {one.by}" in note_on(metric, convention, False)


def test_results_have_notes():
    """The table and `notes` name each metric whose number differs from the program's number."""
    given = ({"q": {"a": 1, "b": 0}}, {"q": {"a": 2, "b": 1}}, "AUC, nDCG@2")
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        result = evaluate(*given, convention="implicit")
        (note,) = result.notes
        assert note.startswith("AUC is not Implicit's AUC_at_k, which counts all items of the catalogue")
        assert str(result).splitlines()[-1] == note
        assert evaluate(*given).notes == ()
    assert fn.evaluate(*given, convention="sklearn(undefined=nan)").notes == ()
    assert "sklearn(undefined=nan)" in fn.evaluate(*given, convention="sklearn").notes[0]


def test_parameters_decide_notes():
    """A different default parameter of the program makes a note, unless the metric sets the parameter."""
    given = ({"q": {"a": 1}}, {"q": {"a": 2}})
    assert "that is RBP(p=0.85)" in fn.evaluate(*given, "RBP@3", convention="lenskit").notes[0]
    assert fn.evaluate(*given, "RBP(p=0.85)@3", convention="lenskit").notes == ()


def test_comparisons_have_notes():
    judged, run = {f"q{i}": {"a": 1, "b": 0} for i in range(3)}, {f"q{i}": {"a": 1, "b": i} for i in range(3)}
    found = fn.compare(judged, {"one": run, "other": run}, "AUC", convention="implicit", replicates=10)
    assert str(found).count("AUC is not Implicit's AUC_at_k") == 1


@pytest.mark.parametrize("entry", DIFFERENCES, ids=lambda entry: f"{entry.peers[0]}-{entry.names[0]}-{entry.why[:30]}")
def test_differences_of_recorded_cases_are_listed(entry):
    if entry.kind not in ("bug", "another definition"):
        return
    matched = [one for one in golden_records.records() if golden_records.has_metric(one) and entry.matches(one)]
    metrics = {metric_of(one) for one in matched}
    for peer in entry.peers:
        convention = fn.conventions[golden_records.CONVENTIONS[peer]]
        bugs = [bug for one in fn.conventions.values() if one.name.startswith(convention.name) for bug in one.bugs]
        names = {name for one in DIFFERENCES if one.why == entry.why for name in one.names}
        listed = [bug for bug in bugs if bug.golden in names]
        listed += [one for one in convention.metrics if one.name in metrics and (one.differs or one.tie_difference)]
        assert listed, peer


# names in a library's list that are no metrics of ours, or that have another name here
NOT_HERE = {
    "torchmetrics": {"retrieval_precision_recall_curve"},
    "rax": set(),
    "pytrec_eval": {"num_q", "relstring", "runid", "gm_map", "gm_bpref", "ndcg_cut", "map_cut", "Rprec_mult", "set_P",
                    "set_recall", "set_relative_P"},
    "rectools": {"MCC", "PAP", "CatalogCoverage", "MeanInvUserFreq", "IntraListDiversity", "AvgRecPopularity",
                 "Serendipity", "Intersection", "SufficientReco", "UnrepeatedReco", "CoveredUsers"},
    "replay": {"CategoricalDiversity", "Coverage", "Novelty", "Surprisal", "Unexpectedness"},
    "lenskit": {"ExposureGini", "ListGini", "MeanPopRank", "GeometricRankWeight", "LogRankWeight", "RankWeight",
                "RankingMetricBase"},
}  # fmt: skip


def names_of(library):
    if library == "torchmetrics":
        return set(pytest.importorskip("torchmetrics.functional.retrieval").__all__)
    if library == "rax":
        return {name for name in dir(pytest.importorskip("rax")) if name.endswith("_metric")}
    if library == "pytrec_eval":
        return set(pytest.importorskip("pytrec_eval").supported_measures)
    if library == "rectools":
        names = pytest.importorskip("rectools.metrics").__all__
        return {name for name in names if name[0].isupper() and not re.search("Distance|Debias", name)}
    if library == "replay":
        metrics = pytest.importorskip("replay.metrics")
        return {
            name
            for name, one in vars(metrics).items()
            if isinstance(one, type) and issubclass(one, metrics.base_metric.Metric)
        } - {"Metric"}
    return {name for name in dir(pytest.importorskip("lenskit.metrics.ranking")) if name[0].isupper()}


@pytest.mark.parametrize(
    ("library", "convention"),
    [("torchmetrics", "torchmetrics"), ("rax", "rax"), ("pytrec_eval", "trec_eval_9"), ("rectools", "rectools"),
     ("replay", "replay"), ("lenskit", "lenskit")],
)  # fmt: skip
@pytest.mark.peers
def test_peer_metrics_classify_every_library_metric(library, convention):
    theirs = {one.theirs for one in fn.conventions[convention].metrics}
    assert names_of(library) - theirs == NOT_HERE[library]


def test_peer_metrics_classify_ir_measures():
    module = pytest.importorskip("ir_measures")
    table = {one.name for one in fn.conventions["trec_eval_9_c"].metrics}
    others = {"Accuracy", "SDCG", "INSQ", "NumQ"}
    for name in module.measures.registry:
        family = module.measures.registry[name].NAME
        family = {"SetP": "P", "SetR": "R", "SetRelP": "RelP", "StRecall": "S_recall"}.get(family, family)
        if family not in others and not family.startswith("NERR"):
            assert fn.Metric.parse(family).name in table, family
