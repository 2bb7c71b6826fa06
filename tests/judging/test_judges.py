"""What a judge is worth: against the twins, other programs, definitions by hand, and simulation."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_data import DATA
from refusals import refused

import fastndcg as fn
from fastndcg.judging.judges import Confusion, compute_alpha, compute_kappa
from fastndcg.statistics.prediction_powered import compute_powered_mean, shrink_bounds, widen_error

pytest.importorskip("scipy.special")
RECORDED = json.loads((DATA / "judges" / "recorded.json").read_text())
N_QUERIES, N_HUMAN = 200, 40
METRIC = "ndcg@10"


def draw_labels(seed=1, n_documents=12):
    """Return labels of all queries by a human, and by a judge who is kinder, and wrong in every third document."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(4, (N_QUERIES, n_documents), p=[0.5, 0.25, 0.15, 0.1])
    wrong = rng.choice([-1, 0, 1], labels.shape, p=[0.1, 0.67, 0.23])
    documents = [f"d{number}" for number in range(n_documents)]
    return [
        {f"q{query}": dict(zip(documents, row.tolist(), strict=True)) for query, row in enumerate(own)}
        for own in (labels, np.clip(labels + wrong, 0, 3))
    ]


def draw_runs(truth, noise=(2.0, 1.5, 3.0)):
    rng = np.random.default_rng(2)
    return {
        f"noise {size}": {q: {d: label + rng.normal(0, size) for d, label in row.items()} for q, row in truth.items()}
        for size in noise
    }


TRUTH, JUDGE = draw_labels()
SAMPLE = np.random.default_rng(3).choice(list(TRUTH), N_HUMAN, replace=False).tolist()
HUMAN = {query: TRUTH[query] for query in SAMPLE}
RUNS = draw_runs(TRUTH)
NAMES = list(RUNS)


def values_of(truth, run, metric=METRIC, **options):
    result = fn.evaluate(truth, run, metric, **options)
    return dict(zip(result.query_ids.tolist(), result.values[:, 0].tolist(), strict=True))


def parts_of(run, human=HUMAN, judge=JUDGE, metric=METRIC):
    """Return a system's values of the human queries by both, and by the judge of the others."""
    by_human, by_judge = values_of(human, run, metric), values_of(judge, run, metric)
    return [list(by_human.values()), [by_judge[q] for q in by_human],
            [value for q, value in by_judge.items() if q not in by_human]]  # fmt: skip


# estimates


@pytest.mark.parametrize("n_human", [N_HUMAN, 49, 50, 80])
def test_estimates_are_those_of_the_twin(n_human):
    """Means and paired differences, with and without cross-fitting."""
    human = {query: TRUTH[query] for query in list(TRUTH)[:n_human]}
    rows = list(fn.estimate_with_judge(human, JUDGE, RUNS, METRIC))
    assert [(row.system, row.against) for row in rows] == [
        *((name, "") for name in NAMES), *((name, NAMES[0]) for name in NAMES[1:])
    ]  # fmt: skip
    for row in rows:
        parts = parts_of(RUNS[row.system], human)
        if row.against:
            parts = [
                np.subtract(*both).tolist() for both in zip(parts, parts_of(RUNS[row.against], human), strict=True)
            ]
        mean, _, weight = fn.reference.estimate_with_judge(*parts)
        assert row.weight > 0.3
        assert (row.estimate, row.weight) == pytest.approx((mean, weight), rel=1e-9)
        assert (row.human, row.judge) == pytest.approx((np.mean(parts[0]), np.mean(parts[1] + parts[2])), rel=1e-12)
        assert (row.n_human, row.n_judge) == (n_human, N_QUERIES - n_human)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=70),
    st.lists(st.integers(0, 8), min_size=2, max_size=9),
)
def test_means_are_those_of_the_twin(pairs, others):
    """Values with many ties, judges that say the same of all but one query, and both sides of 50 queries."""
    human, judge = (np.array(own) / 8 for own in zip(*pairs, strict=True))
    others = np.array(others) / 8
    found = compute_powered_mean(human, judge, others)
    expected = fn.reference.estimate_with_judge(human.tolist(), judge.tolist(), others.tolist())
    assert (found.mean, found.standard_error, found.weight) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert 0 <= found.weight <= 1


def test_human_side_is_that_of_the_interval_of_results():
    rows = fn.estimate_with_judge(HUMAN, JUDGE, RUNS, "ndcg@10, success@1, dcg@5", level=0.9)
    for row in rows:
        if not row.against:
            own = fn.evaluate(HUMAN, RUNS[row.system], row.metric).confidence_interval(row.metric, level=0.9)
            assert (row.human, row.human_low, row.human_high) == (own.mean, own.low, own.high)


def test_differences_of_humans_are_those_of_compare():
    rows = {row.system: row for row in fn.estimate_with_judge(HUMAN, JUDGE, RUNS, METRIC, baseline=NAMES[1])
            if row.against}  # fmt: skip
    for own in fn.compare(HUMAN, RUNS, METRIC, baseline=NAMES[1]).rows:
        if own.system != NAMES[1]:
            row = rows[own.system]
            assert row.human == own.difference
            assert (row.human_low, row.human_high) == (own.difference_low, own.difference_high)


@pytest.mark.parametrize("case", RECORDED["means"])
def test_weights_and_means_of_ppi_python(case):
    """The estimate with our weight lies between theirs with 0 and 1; their weight has the variance of all queries."""
    human, judge, others = (np.array(case[name]) for name in ("human", "judge", "others"))
    found = compute_powered_mean(human, judge, others)
    weight = float(found.weight)
    assert float(found.mean) == pytest.approx((1 - weight) * case["without"] + weight * case["with"], rel=1e-12)
    theirs = (case["fitted"] - case["without"]) / (case["with"] - case["without"])
    n, pooled = len(human), np.concatenate([judge, others]).var(ddof=1)
    assert theirs == pytest.approx(weight * judge.var(ddof=1) * (n - 1) / n / pooled, rel=1e-6)
    width = 2 * 1.959964 * float(found.standard_error)
    assert width == pytest.approx(case["interval"][1] - case["interval"][0], rel=0.06 if n < 100 else 0.01)


def test_bounds_of_binary_differences_keep_the_shape_of_human_ones():
    assert shrink_bounds((0.1, 0.7), 0.3, 0.4, 0.5) == pytest.approx((0.4 - 0.1, 0.4 + 0.2))


def test_a_useless_judge_has_no_weight():
    """A judge against the human, one whose labels are those of other queries, and one who says the same of all."""
    flipped = {q: {d: 3 - label for d, label in row.items()} for q, row in TRUTH.items()}
    other = draw_labels(4)[0]
    same = {q: dict.fromkeys(row, 1) for q, row in TRUTH.items()}
    for judge, most in ((flipped, 0), (other, 0.35), (same, 0)):
        for row in fn.estimate_with_judge(HUMAN, judge, RUNS, "ndcg@10, p@3"):
            assert row.weight <= most
            if not row.weight:
                assert (row.estimate, row.low, row.high) == (row.human, row.human_low, row.human_high)


@pytest.mark.parametrize("n_human", [1, 2, 3, 5, 30, 60])
def test_never_wider_than_humans_alone(n_human):
    for seed in range(10):
        sample = np.random.default_rng(seed).choice(list(TRUTH), n_human, replace=False).tolist()
        human = {query: TRUTH[query] for query in sample}
        for row in fn.estimate_with_judge(human, JUDGE, RUNS, "ndcg@10, success@1, dcg@5, rr"):
            if not math.isnan(row.human_low):
                assert row.high - row.low <= row.human_high - row.human_low
                assert row.narrower == pytest.approx(
                    1 - (row.high - row.low) / (row.human_high - row.human_low), abs=1e-12
                )
            if n_human < 3:
                assert row.weight == 0


def test_no_other_queries():
    table = fn.estimate_with_judge(HUMAN, {q: JUDGE[q] for q in HUMAN}, RUNS, METRIC)
    assert {(row.weight, row.n_judge) for row in table} == {(0.0, 0)}
    two = fn.estimate_with_judge({query: HUMAN[query] for query in SAMPLE[:2]}, JUDGE, RUNS, METRIC)
    for few in (table, two):
        assert "narrower than that of human labels alone, which takes 3 human queries and 2 others" in str(few)


def test_undefined_queries_are_left_out_of_the_mean():
    """The mean is over queries with a human value. The others stand at it, so that they do not bias the estimate."""
    rng = np.random.default_rng(5)
    dropped = set(rng.choice(list(TRUTH), N_QUERIES // 4, replace=False).tolist())
    human = {q: dict.fromkeys(row, 0) if q in dropped else row for q, row in TRUTH.items()}
    estimates, humans = [], []
    full = fn.evaluate(human, RUNS[NAMES[0]], METRIC).means()[0]
    for seed in range(60):
        sample = np.random.default_rng(seed).choice(list(TRUTH), 60, replace=False).tolist()
        row = fn.estimate_with_judge({q: human[q] for q in sample}, JUDGE, {"a": RUNS[NAMES[0]]}, METRIC).rows[0]
        assert row.n_human == sum(q not in dropped for q in sample)
        estimates.append(row.estimate)
        humans.append(row.human)
    assert np.mean(estimates) == pytest.approx(full, abs=0.006)
    assert np.std(estimates) < 0.9 * np.std(humans)


def test_the_order_of_queries_and_their_ids_do_not_matter():
    numbers = {query: place for place, query in enumerate(TRUTH)}

    def renamed(rows):
        return {numbers[query]: row for query, row in reversed(rows.items())}

    own = fn.estimate_with_judge(HUMAN, JUDGE, RUNS, METRIC)
    other = fn.estimate_with_judge(renamed(HUMAN), renamed(JUDGE), {n: renamed(run) for n, run in RUNS.items()}, METRIC)
    for first, second in zip(own, other, strict=True):
        assert first[3:12] == pytest.approx(second[3:12], rel=1e-12)


def test_forms_of_judgments(tmp_path):
    fn.Qrels(HUMAN).write(tmp_path / "human.txt")
    fn.Qrels(JUDGE).write(tmp_path / "judge.parquet")
    expected = fn.estimate_with_judge(HUMAN, JUDGE, RUNS, METRIC).rows
    for human, judge in ((fn.Qrels(HUMAN), fn.Qrels(JUDGE)), (tmp_path / "human.txt", tmp_path / "judge.parquet")):
        for systems in (RUNS, list(RUNS.items()), {name: fn.Run(run) for name, run in RUNS.items()}):
            assert fn.estimate_with_judge(human, judge, systems, METRIC).rows == expected


def test_notes_say_what_is_assumed():
    """Notes have the sample, the assumption, what was saved, and what was left out."""
    judge = {query: JUDGE[query] for query in JUDGE if query != SAMPLE[0]}
    del (judge := {query: dict(row) for query, row in judge.items()})[SAMPLE[1]]["d3"]
    text = str(fn.estimate_with_judge(HUMAN, judge, RUNS, METRIC))
    for part in (
        "39 queries with human labels, 160 more with those of the judge alone; convention default",
        "assumed: the human queries are a random sample of all 199, and the judge labels all of them in the same way",
        "5 of 5 intervals are narrower than those of human labels alone, by ",
        "weights are cross-fitted",
        "human queries without labels of the judge, left out: 1",
        "documents of common queries that the human alone labels, unjudged for the judge: 1",
    ):
        assert part in text
    text = str(fn.estimate_with_judge(HUMAN, JUDGE, RUNS, "dcg@5, ndcg@10, cg@5"))
    assert "in the same way; of DCG@5, CG@5, without a known range, it misses no rare large values" in text
    copied = fn.estimate_with_judge(HUMAN, JUDGE | HUMAN, RUNS, METRIC)
    assert "if human labels were copied into those of the judge" in str(copied)


# agreement


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), min_size=1, max_size=25))
def test_agreement_of_labels_is_that_of_the_twin(pairs):
    human, judge = (np.array(own, "f8") for own in zip(*pairs, strict=True))
    expected = fn.reference.compare_judges(human.tolist(), judge.tolist())
    assert (compute_kappa(human, judge), compute_alpha(human, judge)) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("case", RECORDED["labels"])
def test_agreement_of_labels_is_that_of_other_programs(case):
    human, judge = (np.array(case[name], "f8") for name in ("human", "judge"))
    assert (compute_kappa(human, judge), compute_alpha(human, judge)) == pytest.approx((case["kappa"], case["alpha"]))


@pytest.mark.parametrize("case", RECORDED["orders"])
def test_orders_of_systems_are_those_of_other_programs(case):
    found = fn.agreement([case["human"]], [case["judge"]], "tau_b, tau_ap_b").means()
    assert found == pytest.approx([case["tau_b"], case["tau_ap_b"]])


def test_confusion_and_counts():
    few = {query: HUMAN[query] for query in SAMPLE[:6]}
    found = fn.compare_judges(few, JUDGE, RUNS, METRIC)
    pairs = [(label, JUDGE[q][d]) for q, row in few.items() for d, label in row.items()]
    assert found.n_documents == len(pairs) == sum(row.n for row in found.confusion)
    assert all(row.n == pairs.count((row.human, row.judge)) for row in found.confusion)
    assert (found.kappa, found.alpha) == pytest.approx(fn.reference.compare_judges(*zip(*pairs, strict=True)))
    assert f"kappa {found.kappa:.4f} (quadratic weights), alpha {found.alpha:.4f}" in str(found)


def test_confusion_of_many_labels_is_a_list_of_the_most_frequent():
    scores = {query: {d: label + number / 100 for number, (d, label) in enumerate(row.items())}
              for query, row in JUDGE.items()}  # fmt: skip
    found = fn.compare_judges(HUMAN, scores, RUNS, METRIC).confusion
    assert isinstance(found, Confusion)
    heading, *rows, note = str(found).splitlines()
    assert heading.split() == ["human", "judge", "n"]
    assert [int(row.split()[2]) for row in rows] == sorted((row.n for row in found), reverse=True)[:20]
    assert note == f"the 20 most frequent of {len(found)} pairs of labels: to_pandas() has all"


def test_ranks_and_signs_by_hand():
    """Three systems whose order turns, with two that tie for the human, and a metric whose lower values are better."""
    human = {q: {"a": 1, "b": 0} for q in range(30)}
    judge = {q: {"a": 0, "b": 1} if q < 25 else {"a": 1, "b": 0} for q in range(30)}
    runs = {
        "x": {q: ["a", "b"] for q in human}, "y": {q: ["a", "b"] for q in human}, "z": {q: ["b", "a"] for q in human},
    }  # fmt: skip
    found = fn.compare_judges(human, judge, runs, "rr")
    (row,) = found.rows
    assert (row.n_queries, row.n_systems, row.tau_b) == (30, 3, -1.0)
    assert (row.n_significant, row.n_kept, row.n_confirmed, row.kept) == (2, 0, 0, 0.0)
    assert (row.largest_drop, row.dropped) == (1, "x")
    assert [own[1:] for own in found.ranks] == [
        ("x", 1.0, (25 / 2 + 5) / 30, 1, 2), ("y", 1.0, (25 / 2 + 5) / 30, 1, 2), ("z", 0.5, (25 + 5 / 2) / 30, 3, 1)
    ]  # fmt: skip
    assert fn.compare_judges(human, human, runs, "rr").rows[0][5:10] == (1.0, 2, 2, 2, 1.0)
    lower = fn.compare_judges(human, judge, runs, "rr, unjudged@1")
    assert [own.human_rank for own in lower.ranks][3:] == [1, 1, 1]


def test_pairs_are_those_of_compare():
    few = {q: HUMAN[q] for q in SAMPLE[:25]}
    noisy = draw_runs(TRUTH, (0.1, 0.5, 4.0))
    row = fn.compare_judges(few, JUDGE, noisy, METRIC, test="t", correction="bonferroni", level=0.9).rows[0]
    options = {"test": "t", "correction": "bonferroni", "level": 0.9, "family": "metric"}
    both = [
        fn.compare({q: truth[q] for q in few}, noisy, METRIC, **options).all_pairs(test="t") for truth in (few, JUDGE)
    ]
    pairs = [own for own in zip(*both, strict=True) if own[0].significant]
    assert 0 < row.n_significant == len(pairs)
    assert row.n_kept == sum(first.difference * second.difference > 0 for first, second in pairs)
    assert row.n_confirmed == sum(first.difference * second.difference > 0 and second.significant
                                  for first, second in pairs)  # fmt: skip


def test_json_has_all_parts():
    facts = json.loads(fn.compare_judges(HUMAN, JUDGE, RUNS, METRIC).to_json())
    assert set(facts) == {"kappa", "alpha", "n_documents", "metrics", "systems", "confusion"}
    assert [row["system"] for row in facts["systems"]] == NAMES


# bad input


def with_label(rows, query, document, label):
    return {q: row | {document: label} if q == query else row for q, row in rows.items()}


@pytest.mark.parametrize("function", [fn.estimate_with_judge, fn.compare_judges])
@pytest.mark.parametrize(("change", "message"), [
    ({"judge": {f"other {q}": row for q, row in JUDGE.items()}}, "human and judge must have a query in common"),
    ({"judge": {}}, "the judge must have a query"),
    ({"judge": with_label(JUDGE, SAMPLE[3], "new", 1)},
        f"`judge` must label no other documents .* but labels 'new' of query '{SAMPLE[3]}' .in all 1 "),
    ({"judge": dict(enumerate(JUDGE.values()))}, "queries"),
    ({"metrics": "ndcg@10, num_ret"}, "must have metrics of which higher or lower .* num_ret"),
    ({"metrics": "gm(map)"}, "intervals and tests are of means over queries, but gm"),
    ({"systems": {}}, "`systems` must have (one system|two systems) or more, got 0. Add a system"),
    ({"systems": 5}, "not 5. Give each system a name, such as "),
    ({"systems": {SAMPLE[0]: ["d1", "d2"]}}, "`systems` must be {name: run}, but looks like one run"),
    ({"judge": with_label(JUDGE, SAMPLE[3], "d1", np.nan)}, "^the judge: label of document d1 of query "),
    ({"human": with_label(HUMAN, SAMPLE[3], "d1", "x")}, "^`human` must give numbers, but label of document 'd1'"),
    ({"systems": None}, "`systems` must be {name: predictions}"),
    ({"systems": {"a": fn.evaluate(HUMAN, RUNS[NAMES[0]], METRIC), "b": RUNS[NAMES[1]]}},
        "`systems` must be predictions, .* 'a' is Results"),
    ({"level": 2}, "`level`"), ({"systems": RUNS[NAMES[0]]}, "`systems` must be {name: run}, but looks like one run"),
    ({"human": fn.Run(RUNS[NAMES[0]])}, "`human` must be judgments with ids, .* not Run"),
    ({"human": [[1, 0]]}, "`human` must be judgments with ids"),
    ({"human": fn.DiversityQrels({"q1": {"1": {"d1": 1}}})}, "`human` must have one label for each document"),
])  # fmt: skip
def test_bad_input_is_named(function, change, message):
    given = {"human": HUMAN, "judge": JUDGE, "systems": RUNS, "metrics": METRIC} | change
    refused(message, function, error=fn.FastndcgError, **given)


def test_one_system():
    assert len(fn.estimate_with_judge(HUMAN, JUDGE, {"a": RUNS[NAMES[0]]}, METRIC)) == 1
    with pytest.raises(fn.InvalidInputError, match="`systems` must have two systems or more, got 1"):
        fn.compare_judges(HUMAN, JUDGE, {"a": RUNS[NAMES[0]]}, METRIC)


# report and command line


def test_report_has_the_tables(tmp_path):
    pytest.importorskip("jinja2")
    path = tmp_path / "report.html"
    named = {"<b>": RUNS[NAMES[0]], "new": RUNS[NAMES[1]]}
    comparison = fn.compare(HUMAN, named, METRIC)
    comparison.to_html(path, judge=JUDGE)
    page = path.read_text(encoding="utf-8")
    assert "<td>&lt;b&gt;</td>" in page
    for row in fn.estimate_with_judge(HUMAN, JUDGE, named, METRIC):
        assert f">{row.estimate:{'+' * bool(row.against)}.4f}</td>" in page
    assert f"kappa {fn.compare_judges(HUMAN, JUDGE, named, METRIC).kappa:.4f}" in page
    assert "assumed: the human queries are a random sample of all 200" in page
    comparison.to_html(path)
    assert "A judge beside human labels" not in path.read_text(encoding="utf-8")


def test_report_refuses_a_judge_of_other_comparisons(tmp_path):
    pytest.importorskip("jinja2")
    weighted = fn.compare(HUMAN, RUNS, METRIC, weights=dict.fromkeys(HUMAN, 1.0) | {SAMPLE[0]: 2.0})
    finished = fn.compare({name: fn.evaluate(HUMAN, run, METRIC) for name, run in RUNS.items()})
    for comparison in (weighted, finished):
        with pytest.raises(fn.InvalidInputError, match="`judge` needs a comparison of runs by human labels"):
            comparison.to_html(tmp_path / "report.html", judge=JUDGE)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fn.Qrels(HUMAN).write("human.txt")
    fn.Qrels(JUDGE).write("judge.json")
    for place, run in enumerate(RUNS.values()):
        fn.Run(run).write(f"run{place}.txt")
    return ["human.txt", "judge.json", "run0.txt", "run1.txt", "run2.txt", "--names", ",".join(NAMES)]


def test_commands_print_what_the_functions_return(files, shown):
    printed = shown("estimate-with-judge", *files, "-m", METRIC, "--baseline", NAMES[1], "--level", "0.9")
    expected = fn.estimate_with_judge(HUMAN, JUDGE, RUNS, METRIC, baseline=NAMES[1], level=0.9)
    assert printed == f"{expected}\n"
    facts = json.loads(shown("compare-judges", *files, "-m", METRIC, "--test", "t", "--json"))
    assert facts == json.loads(fn.compare_judges(HUMAN, JUDGE, RUNS, METRIC, test="t").to_json())


def test_compare_command_writes_the_section(files, run, wrong):
    pytest.importorskip("jinja2")
    human, judge, *others = files
    assert run("compare", human, *others, "-m", METRIC, "--html", "report.html", "--judge", judge)[0] == 0
    assert "A judge beside human labels" in Path("report.html").read_text(encoding="utf-8")
    message = "--judge is for the report. Add --html FILE"
    wrong(message, "compare", human, *others, "-m", METRIC, "--judge", judge)


def test_failures_too_rare_to_be_seen_widen_the_error():
    """A quarter of an observation stands at either end of the range, as its share of the variance of a mean of 30."""
    variance = 0.03**2 + ((0.9 - 0) ** 2 + (1 - 0.9) ** 2) / 4 / (30 * 29)
    assert widen_error(0.03, 0.9, 30, (0.0, 1.0)) == pytest.approx(math.sqrt(variance), rel=1e-15)
