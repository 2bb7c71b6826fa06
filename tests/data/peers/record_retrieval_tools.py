"""
Record what tools for retrieval print, for `tests/peers/test_recorded_values.py`.

Each tool is recorded where it is installed, with the version that is found. Other tools and versions keep theirs:

    pip install haystack-ai==3.4.1 && python tests/data/peers/record_retrieval_tools.py haystack

`PYTHONPATH` may name the unpacked wheel of an older version. `python tests/data/peers/record_retrieval_tools.py engines` records
what the unit tests of Elasticsearch, OpenSearch and rcp-ndcg expect. These numbers were copied by hand, with the place.
`reports TOOL` records the cases of public reports, and `lists TOOL` 300 random lists with repeats and empty lists.
"""

import asyncio
import gzip
import json
import math
import random
import sys
from importlib.metadata import version
from pathlib import Path

PATH = Path(__file__).resolve().parent / "retrieval_tools.json.gz"
REPORTS = PATH.with_name("retrieval_reports.json")
LISTS = PATH.with_name("retrieval_lists.json.gz")
XDCG = "DCG(gain=[0,25,50,75,100],discount=[{},{},{}])@3".format(*(0.6**r / 1.96 for r in range(3)))
FIDELITY = "nDCG(gain=[0,3,7,15,31],discount=none)"
PACKAGES = {
    "mlflow": "mlflow", "haystack": "haystack-ai", "llama_index": "llama-index-core", "trulens": "trulens-feedback",
    "ragas": "ragas", "azure_ai": "azure-ai-evaluation",
}  # fmt: skip


def draw_cases(*, graded=False):
    """Return cases: {name: (labels, retrieved)}, each with labels by document and documents by query."""
    random_numbers = random.Random(7)
    cases = {
        "short_run": ({"q1": {"d1": 3, "d2": 2, "d3": 2, "d4": 1, "d5": 1}}, {"q1": ["d1"]}),
        "run_of_all_relevant": ({"q1": {"d1": 1, "d2": 1}}, {"q1": ["d2", "d1"]}),
        "nothing_relevant_retrieved": ({"q1": {"d1": 1, "d2": 3}}, {"q1": ["d3", "d4"]}),
        "empty_ranking": ({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d1", "d2"], "q2": []}),
        "nothing_judged": ({"q1": {"d1": 1}, "q2": {}}, {"q1": ["d2", "d1"], "q2": ["d1"]}),
    }
    for n in range(8):
        labels, retrieved = {}, {}
        for query in ("q1", "q2", "q3"):
            documents = [f"d{i:02}" for i in range(14)]
            judged = random_numbers.sample(documents, random_numbers.randint(1, 8))
            labels[query] = {document: random_numbers.randint(1, 4) for document in judged}
            retrieved[query] = random_numbers.sample(documents, random_numbers.randint(1, 12))
        cases[f"drawn_{n}"] = (labels, retrieved)
    if not graded:
        binary = {name: {q: dict.fromkeys(one, 1) for q, one in labels.items()} for name, (labels, _) in cases.items()}
        cases = {name: (binary[name], retrieved) for name, (_, retrieved) in cases.items()}
    return cases


def make_record(peer, peer_version, case, theirs, ours, call, values, mean=None, scores=None):
    """Return the record of one metric: `values` by query, or an error."""
    name, labels, retrieved = case
    is_error = isinstance(values, Exception)
    return {
        "name": name,
        "labels": labels,
        "docids": retrieved,
        "scores": scores or {query: [float(-i) for i in range(len(ids))] for query, ids in retrieved.items()},
        "metric": theirs,
        "ours": ours,
        "k": None,
        "peer": peer,
        "peer_version": peer_version,
        "call": call,
        "value": None if is_error or mean is None else plain(mean),
        "per_query": None if is_error else {query: plain(value) for query, value in values.items()},
        "error": f"{type(values).__name__}: {values}"[:200] if is_error else None,
    }


def plain(value):
    """Return a number as JSON has it, with "nan" as a text."""
    value = float(value)
    return "nan" if math.isnan(value) else value


def name_peer(tool):
    """Return the peer's name in the records, with the version if it gave other numbers, and the installed version."""
    found = version(PACKAGES[tool])
    return (tool if tool in sys.argv else next(one for one in sys.argv if one.startswith(f"{tool}-"))), found


def record_mlflow():
    """Record `mlflow.metrics.precision_at_k`, `recall_at_k` and `ndcg_at_k`."""
    import pandas as pd
    from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

    peer, found = name_peer("mlflow")
    for name, (labels, retrieved) in draw_cases().items():
        columns = (pd.Series(list(retrieved.values())), pd.Series([list(one) for one in labels.values()]))
        for make, ours in ((ndcg_at_k, "nDCG"), (precision_at_k, "P"), (recall_at_k, "R")):
            for k in (1, 3, 5, 10):
                result = make(k).eval_fn(*columns)
                values = dict(zip(labels, result.scores, strict=True))
                call = f"mlflow.metrics.{make.__name__}({k}).eval_fn(predictions, targets)"
                mean = result.aggregate_results["mean"]
                yield make_record(
                    peer, found, (name, labels, retrieved), make.__name__, f"{ours}@{k}", call, values, mean
                )


def record_haystack():
    """Record Haystack's document evaluators, which compare documents by their content or id."""
    from haystack import Document
    from haystack.components import evaluators as module

    peer, found = name_peer("haystack")
    multi_hit = {"mode": "multi_hit"}
    for graded in (False, True):
        for name, (labels, retrieved) in draw_cases(graded=graded).items():
            truth = [
                [Document(id=d, content=d, score=float(label) if graded else None) for d, label in one.items()]
                for one in labels.values()
            ]
            documents = [[Document(id=d, content=d) for d in one] for one in retrieved.values()]
            for evaluator, arguments, ours in (
                ("DocumentNDCGEvaluator", {}, "nDCG"), ("DocumentMAPEvaluator", {}, "AP"),
                ("DocumentMRREvaluator", {}, "RR"), ("DocumentRecallEvaluator", {}, "Success"),
                ("DocumentRecallEvaluator", multi_hit, "R"),
            ):  # fmt: skip
                if (graded and ours != "nDCG") or ("-" in peer and ours != "AP"):
                    continue
                result = getattr(module, evaluator)(**arguments).run(truth, documents)
                values = dict(zip(labels, result["individual_scores"], strict=True))
                call = f"{evaluator}({', '.join(arguments.values())}).run(truth, retrieved)"
                case = (name, labels, retrieved)
                yield make_record(peer, found, case, evaluator, ours, call, values, result["score"])


def record_llama_index():
    """Record LlamaIndex's retrieval metrics, one query at a time."""
    from llama_index.core.evaluation.retrieval import metrics as module

    peer, found = name_peer("llama_index")
    pairs = {
        "NDCG": "nDCG", "AveragePrecision": "AP", "MRR": "RR", "HitRate": "Success", "Precision": "P", "Recall": "R",
    }  # fmt: skip
    for name, (labels, retrieved) in draw_cases().items():
        for theirs, ours in pairs.items():
            if "-" in peer and ours != "nDCG":
                continue
            if peer.endswith("0.12.2") and ours == "nDCG":
                ours = f"nDCG@{len(retrieved['q1'])}"  # its ideal has as many documents as were retrieved
            queries = ["q1"] if "@" in ours else list(labels)
            case = (name, {q: labels[q] for q in queries}, {q: retrieved[q] for q in queries})
            values = {}
            try:
                for query in queries:
                    metric = getattr(module, theirs)()
                    given = {"expected_ids": list(labels[query]), "retrieved_ids": retrieved[query]}
                    values[query] = metric.compute(**given).score
            except ValueError as error:
                values = error
            call = f"{theirs}().compute(expected_ids, retrieved_ids)"
            yield make_record(peer, found, case, theirs, ours, call, values)
        granular = module.HitRate(use_granular_hit_rate=True)
        if name.startswith("drawn") and "-" not in peer:
            values = {
                q: granular.compute(expected_ids=list(labels[q]), retrieved_ids=retrieved[q]).score for q in labels
            }
            call = "HitRate(use_granular_hit_rate=True).compute(expected_ids, retrieved_ids)"
            yield make_record(peer, found, (name, labels, retrieved), "HitRate", "R", call, values)


def record_trulens():
    """Record TruLens's `GroundTruthAgreement`, whose ground truth holds chunks with scores."""
    from trulens.feedback.dummy.provider import DummyProvider
    from trulens.feedback.groundtruth import GroundTruthAgreement

    peer, found = name_peer("trulens")
    for name, (labels, retrieved) in draw_cases(graded=True).items():
        golden = [
            {
                "query": query,
                "expected_response": "",
                "expected_chunks": [{"text": d, "expect_score": label} for d, label in one.items()],
            }
            for query, one in labels.items()
        ]
        agreement = GroundTruthAgreement(golden, provider=DummyProvider(name="dummy", delay=0.0))
        case = (name, labels, retrieved)
        pairs = {"ndcg_at_k": "nDCG", "precision_at_k": "P", "recall_at_k": "R", "ir_hit_rate": "Success"}
        if "-" in peer:  # up to 2.13.0 nDCG has other numbers, the other metrics have the same
            if name not in ("short_run", "nothing_relevant_retrieved", "drawn_5"):
                continue
            pairs = {"ndcg_at_k": "nDCG"}
        for theirs, ours in pairs.items():
            for k in (3,) if "-" in peer else (1, 3, 5):
                values = {}
                for query, ids in retrieved.items():
                    try:
                        values[query] = getattr(agreement, theirs)(query, ids, k=k)
                    except ValueError as error:
                        values = error
                        break
                yield make_record(peer, found, case, theirs, f"{ours}@{k}", f"{theirs}(query, chunks, k={k})", values)
        if "-" not in peer:
            values = {query: agreement.mrr(query, ids) for query, ids in retrieved.items()}
            yield make_record(peer, found, case, "mrr", "RR", "mrr(query, chunks)", values)


def record_ragas():
    """Record ragas's metrics of ids."""
    from ragas import SingleTurnSample
    from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall

    peer, found = name_peer("ragas")
    for name, (labels, retrieved) in draw_cases().items():
        for make, ours in ((IDBasedContextPrecision, "P"), (IDBasedContextRecall, "R")):
            values = {}
            for query, ids in retrieved.items():
                sample = SingleTurnSample(retrieved_context_ids=ids, reference_context_ids=list(labels[query]))
                values[query] = asyncio.run(make().single_turn_ascore(sample))
            call = f"{make.__name__}().single_turn_ascore(sample)"
            yield make_record(peer, found, (name, labels, retrieved), make.__name__, ours, call, values)


def record_azure_ai():
    """Record `DocumentRetrievalEvaluator`, also of equal scores."""
    from azure.ai.evaluation import DocumentRetrievalEvaluator

    peer, found = name_peer("azure_ai")
    pairs = {"ndcg@3": "nDCG@3", "xdcg@3": XDCG, "fidelity": FIDELITY, "top1_relevance": "CG(gain=linear)@1",
             "holes_ratio": "Unjudged"}  # fmt: skip
    cases = draw_cases(graded=True)
    cases["ties_all_equal"] = ({"q1": {"d1": 1, "d2": 3, "d3": 2}}, {"q1": ["d1", "d4", "d2", "d3"]})
    for name, (labels, retrieved) in cases.items():
        found_values = {}
        scores = {q: [0.5 if "ties" in name else -float(i) for i in range(len(ids))] for q, ids in retrieved.items()}
        for query, ids in retrieved.items():
            if not labels[query]:
                continue  # refused there
            result = DocumentRetrievalEvaluator()(
                retrieval_ground_truth=[
                    {"document_id": d, "query_relevance_label": label} for d, label in labels[query].items()
                ],
                retrieved_documents=[
                    {"document_id": d, "relevance_score": score} for d, score in zip(ids, scores[query], strict=True)
                ],
            )
            found_values[query] = result.get("document_retrieval_properties", result)
        kept = {query: labels[query] for query in found_values}
        case = (name, kept, {query: retrieved[query] for query in kept})
        for theirs, ours in pairs.items():
            values = {query: one[theirs] for query, one in found_values.items()}
            call = f"DocumentRetrievalEvaluator()(ground_truth, retrieved)['{theirs}']"
            yield make_record(
                peer, found, case, theirs, ours, call, values, scores={query: scores[query] for query in kept}
            )


def record_engines():
    """Return numbers that unit tests of engines expect, copied by hand: none of them was run."""
    letters = [chr(97 + i) for i in range(20)]

    def one(peer, found, name, graded, retrieved, ours, value, call, scores=None):
        case = (name, {"q1": graded}, {"q1": retrieved})
        return make_record(peer, found, case, ours, ours, call, {"q1": value}, None, scores and {"q1": scores})

    ratings = dict(zip(letters, (3, 2, 3, 0, 1, 2), strict=False))
    missing = {letter: rating for letter, rating in ratings.items() if letter not in "df"}
    place = "DiscountedCumulativeGainTests.java"
    for name, graded, n, dcg, idcg in (
        ("DCGAt", ratings, 6, 13.84826362927298, 14.595390756454922),
        ("DCGAtSixMissingRatings", missing, 6, 12.779642067948913, 13.347184833073591),
        ("DCGAtFourMoreRatings", missing, 4, 12.392789260714371, 13.347184833073591),
    ):
        yield one("elasticsearch", "main, 2026-07", name, graded, letters[:n], "DCG", dcg, f"{place}, test{name}")
        yield one(
            "elasticsearch", "main, 2026-07", name, graded, letters[:n], "nDCG", dcg / idcg, f"{place}, test{name}"
        )
    report = dict.fromkeys(letters[:5], 3)
    yield one(
        "elasticsearch",
        "main, 2026-07",
        "pull_request_154362_one",
        report,
        ["a"],
        "nDCG@10",
        1.0,
        "pull request 154362",
    )
    others = letters[10:15]
    yield one(
        "elasticsearch", "main, 2026-07", "pull_request_154362_all", report, others + letters[:5], "nDCG@10",
        sum(1 / math.log2(r + 1) for r in range(6, 11)) / sum(1 / math.log2(r + 1) for r in range(1, 6)),
        "pull request 154362, given as 0.54",
    )  # fmt: skip
    for name, graded, k, value in (
        ("ERRAt", dict(zip("abcd", (3, 2, 0, 1), strict=True)), 3, 0.8984375),
        ("ERRAt", dict(zip("abcd", (3, 2, 0, 1), strict=True)), 4, 0.8984375 + 0.00244140625),
        ("ERRMissingRatings", {"a": 3, "c": 0, "d": 1}, 4, 0.875 + 0.00390625),
    ):
        call = f"ExpectedReciprocalRankTests.java, test{name}"
        ours = f"ERR(max_grade=3)@{k}"
        yield one("elasticsearch", "main, 2026-07", name, graded, list("abcd"), ours, value, call)
    five = dict(zip("abcde", (0, 1, 2, 3, 4), strict=True))
    ones = (1, 1, 1, 1, 0)
    for name, graded, retrieved, ours, value, file in (
        ("IgnoreOneResult", dict(zip("abcde", ones, strict=True)), "abcde", "P", 4 / 5, "PrecisionAtK"),
        ("RelevanceThreshold", five, "abcde", "P(rel=2)@5", 3 / 5, "PrecisionAtK"),
        ("PrecisionAtFiveCorrectIndex", dict(zip("vwabc", ones, strict=True)), "abc", "P@5", 2 / 3, "PrecisionAtK"),
        ("IgnoreUnlabeled", {"a": 1, "b": 1}, "abc", "P", 2 / 3, "PrecisionAtK"),
        ("RelevanceThreshold", five, "abc", "R(rel=2)@5", 1 / 3, "RecallAtK"),
        ("CorrectIndex", dict(zip("vwabc", ones, strict=True)), "abc", "R@5", 2 / 4, "RecallAtK"),
        ("PrecisionAtFiveRelevanceThreshold", five, "abcde", "RR(rel=2)@10", 1 / 3, "MeanReciprocalRank"),
    ):  # fmt: skip
        call = f"{file}Tests.java, test{name}"
        yield one("elasticsearch", "main, 2026-07", name, graded, list(retrieved), ours, value, call)

    # OpenSearch rounds to two digits, which `tests/peers/test_retrieval_tools.py` allows for
    graded = {letter: (i + 1) % 3 for i, letter in enumerate(letters)}
    place = "EvaluationTests.java"
    for n, k, ndcg, recall, rr, precision, ap, dcg in (
        (20, 20, 0.76, 1.0, 0.5, 0.35, 0.39, None), (5, 5, 0.51, 0.29, None, 0.4, 0.13, 4.48),
        (5, 8, 0.40, None, None, 0.4, 0.13, None), (8, 5, 0.51, None, None, 0.4, 0.13, None),
    ):  # fmt: skip
        pairs = (
            ("nDCG", ndcg), ("R(rel=2)", recall), ("RR(rel=2)", rr), ("P(rel=2)", precision), ("AP(rel=2)", ap),
            ("DCG", dcg),
        )  # fmt: skip
        for ours, value in pairs:
            if value is not None:
                yield one("opensearch", "0b75cf8", f"{n}_hits", graded, letters[:n], f"{ours}@{k}", value, place)
    for k, precision, ap in ((20, 0.7, 0.76), (5, 0.8, None)):
        yield one("opensearch", "0b75cf8", "threshold_0", graded, letters, f"P@{k}", precision, f"{place}, threshold 0")
        if ap:
            yield one("opensearch", "0b75cf8", "threshold_0", graded, letters, f"AP@{k}", ap, f"{place}, threshold 0")

    log2_3, gains = math.log2(3), {"d1": 0.9, "d2": 0.1, "d3": 0.5}
    ideal = 0.9 + 0.5 / log2_3 + 0.1 / 2
    for name, graded, retrieved, k, value, scores in (
        ("float_gains", gains, ["d1", "d3", "d2"], 3, 1.0, None),
        ("float_gains", gains, ["d2", "d3", "d1"], 3, (0.1 + 0.5 / log2_3 + 0.9 / 2) / ideal, None),
        ("unknown", {"d1": 1.0}, ["unknown", "d1"], 2, 1 / log2_3, None),
        ("larger_ideal", {"a": 1.0, "other": 1.0}, ["a"], 2, 1 / (1 + 1 / log2_3), None),
        ("ties", {"a": 1.0, "b": 0.0, "c": 0.0}, ["a", "b", "c"], 2, 0.5 + 0.5 / log2_3, [1.0, 1.0, 0.0]),
    ):
        call = "tests/core/test_metric.py: rcp_ndcg_core.ndcg(scores, gains, k)"
        yield one("rcp_ndcg", "7803a4e", name, graded, retrieved, f"nDCG@{k}", value, call, scores)


def report_mlflow():
    """Yield what MLflow prints for the cases of its issues 24541 and 25965."""
    import pandas as pd
    from mlflow.metrics import ndcg_at_k

    for report, relevant, retrieved, k in (
        ("mlflow#24541", ["d1", "d2", "d3", "d4", "d5"], ["d1"], 5),
        ("mlflow#25965", ["a_bc574ae_2"], ["a", "a", "z"], 3),
        ("mlflow#25965, relevant twice", ["a"], ["a", "a"], 2),
    ):
        (value,) = ndcg_at_k(k).eval_fn(pd.Series([retrieved]), pd.Series([relevant])).scores
        yield report, relevant, retrieved, f"nDCG@{k}", f"ndcg_at_k({k})", value


def report_haystack():
    """Yield what Haystack prints for the case of pull request 11959."""
    from haystack import Document
    from haystack.components.evaluators import DocumentNDCGEvaluator

    truth, retrieved = [[Document(content="A", score=1.0)]], [[Document(content="A"), Document(content="A")]]
    value = DocumentNDCGEvaluator().run(truth, retrieved)["score"]
    yield "haystack PR 11959", ["A"], ["A", "A"], "nDCG", "DocumentNDCGEvaluator().run", value


def report_llama_index():
    """Yield what LlamaIndex prints for the cases of pull request 22683."""
    from llama_index.core.evaluation.retrieval.metrics import NDCG, AveragePrecision, HitRate

    granular = HitRate()
    granular.use_granular_hit_rate = True
    for metric, ours in ((granular, "R"), (AveragePrecision(), "AP"), (NDCG(), "nDCG")):
        value = metric.compute(expected_ids=["id1"], retrieved_ids=["id1", "id1"]).score
        yield "llama_index PR 22683", ["id1"], ["id1", "id1"], ours, type(metric).__name__, value
    value = NDCG().compute(expected_ids=["id1", "id1"], retrieved_ids=["id1"]).score
    yield "llama_index PR 22683, expected twice", ["id1", "id1"], ["id1"], "nDCG", "NDCG", value


def report_trulens():
    """Yield what TruLens prints for the cases of its issue 2746."""
    from trulens.feedback.dummy.provider import DummyProvider
    from trulens.feedback.groundtruth import GroundTruthAgreement

    for relevant, retrieved, name, ours, k in (
        (["A"], ["A", "A", "X"], "recall_at_k", "R", 3), (["A", "B"], ["A", "A"], "recall_at_k", "R", 2),
        (["A"], ["A", "A"], "ndcg_at_k", "nDCG", 2),
    ):  # fmt: skip
        golden = [{"query": "q", "expected_response": "", "expected_chunks": [{"text": text} for text in relevant]}]
        agreement = GroundTruthAgreement(golden, provider=DummyProvider(name="dummy", delay=0.0))
        try:
            value = getattr(agreement, name)("q", retrieved, k=k)
        except ValueError as error:
            value = f"{type(error).__name__}: {error}"
        yield "trulens#2746", relevant, retrieved, f"{ours}@{k}", f"{name}(k={k})", value


def record_reports(tool):
    """Replace what the installed version of a tool prints for the cases of public reports."""
    old = json.loads(REPORTS.read_text(encoding="utf-8"))
    found = version(PACKAGES[tool])
    fields = ("report", "relevant", "retrieved", "metric", "call", "printed")
    new = [
        {"tool": tool, "version": found} | dict(zip(fields, row, strict=True)) for row in globals()[f"report_{tool}"]()
    ]
    kept = [one for one in old if (one["tool"], one["version"]) != (tool, found)]
    rows = sorted(kept + new, key=lambda one: (one["tool"], one["version"]))
    REPORTS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    print(f"{len(new)} reports of {tool} {found}")


def draw_lists(n=300):
    """
    Return random lists of documents with scores, and labels by document.

    A third of the lists have no repeats. One in eight has no documents, one in eight no labels above 0.
    """
    numbers = random.Random(45)
    lists = []
    for i in range(n):
        n_retrieved, n_judged = (0 if numbers.random() < 1 / 8 else numbers.randint(1, most) for most in (10, 5))
        draw = numbers.choices if i % 3 else numbers.sample
        retrieved = draw("abcdefghijkl", k=n_retrieved)
        labels = {document: numbers.choice((0, 1, 1, 1, 2, 3)) for document in numbers.sample("abcdefgh", n_judged)}
        scores = [numbers.randint(1, 12) / 8 for _ in retrieved]
        lists.append({"labels": labels, "retrieved": retrieved, "scores": scores})
    return lists


def lists_mlflow(lists):
    """Yield MLflow's values of all lists, for each metric and cutoff."""
    import pandas as pd
    from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

    relevant = pd.Series([[document for document, label in one["labels"].items() if label] for one in lists])
    retrieved = pd.Series([one["retrieved"] for one in lists])
    for make, ours in ((ndcg_at_k, "nDCG"), (precision_at_k, "P"), (recall_at_k, "R")):
        for k in (1, 3, 5, 10):
            yield f"{make.__name__}({k})", f"{ours}@{k}", make(k).eval_fn(retrieved, relevant).scores


def lists_llama_index(lists):
    """Yield LlamaIndex's values of all lists, for each metric and mode. An error has its name as the value."""
    from llama_index.core.evaluation.retrieval import metrics as module

    for theirs, mode, ours in (
        ("NDCG", {}, "nDCG"), ("NDCG", {"mode": "exponential"}, "nDCG"), ("AveragePrecision", {}, "AP"),
        ("MRR", {}, "RR"), ("MRR", {"use_granular_mrr": True}, ""), ("HitRate", {}, "Success"),
        ("HitRate", {"use_granular_hit_rate": True}, "R"), ("Precision", {}, "P"), ("Recall", {}, "R"),
    ):  # fmt: skip
        values = []
        for one in lists:
            given = [document for document, label in one["labels"].items() if label]
            try:
                found = getattr(module, theirs)(**mode).compute(expected_ids=given, retrieved_ids=one["retrieved"])
                values.append(found.score)
            except ValueError as error:
                values.append(type(error).__name__)
        yield f"{theirs}({', '.join(f'{name}={value}' for name, value in mode.items())})", ours, values


def lists_trulens(lists):
    """Yield TruLens's values of all lists, for each metric and cutoff, with and without scores."""
    from trulens.feedback.dummy.provider import DummyProvider
    from trulens.feedback.groundtruth import GroundTruthAgreement

    golden = [
        {
            "query": str(i),
            "expected_response": "",
            "expected_chunks": [{"text": d, "expect_score": label} for d, label in one["labels"].items()],
        }
        for i, one in enumerate(lists)
    ]
    agreement = GroundTruthAgreement(golden, provider=DummyProvider(name="dummy", delay=0.0))
    for theirs, ours in (
        ("ndcg_at_k", "nDCG"), ("precision_at_k", "P"), ("recall_at_k", "R"), ("mrr", "RR"), ("ir_hit_rate", "Success"),
    ):  # fmt: skip
        for k in (None,) if theirs == "mrr" else (None, 1, 3, 5):
            for is_scored in (False,) if theirs == "ir_hit_rate" else (False, True):
                cutoff = {} if k is None else {"k": k}
                values = [
                    getattr(agreement, theirs)(
                        str(i), one["retrieved"], **cutoff, **({"relevance_scores": one["scores"]} if is_scored else {})
                    )
                    for i, one in enumerate(lists)
                ]
                shown = [f"k={k}"] * bool(cutoff) + ["relevance_scores"] * is_scored
                yield f"{theirs}({', '.join(shown)})", ours + f"@{k}" * bool(cutoff), values


def record_lists(tool):
    """Replace a tool's values of random lists by those of the installed version."""
    old = json.loads(gzip.decompress(LISTS.read_bytes())) if LISTS.exists() else {"lists": draw_lists()}
    command = f"pip install {PACKAGES[tool]}=={version(PACKAGES[tool])} && python {sys.argv[0]} lists {tool}"
    rows = [
        {"call": call, "ours": ours, "values": [one if isinstance(one, str) else plain(one) for one in values]}
        for call, ours, values in globals()[f"lists_{tool}"](old["lists"])
    ]
    new = old | {tool: {"version": version(PACKAGES[tool]), "command": command, "rows": rows}}
    LISTS.write_bytes(gzip.compress(json.dumps(new, separators=(",", ":")).encode(), mtime=0))
    print(f"{sum(len(one['values']) for one in rows)} values of {tool} {new[tool]['version']}")


RECORDERS = {
    "mlflow": record_mlflow, "haystack": record_haystack, "llama_index": record_llama_index,
    "trulens": record_trulens, "ragas": record_ragas, "azure_ai": record_azure_ai, "engines": record_engines,
}  # fmt: skip


def main():
    """Replace the records of the peers that are named, and keep the others."""
    if sys.argv[1] in ("reports", "lists"):
        (record_reports if sys.argv[1] == "reports" else record_lists)(sys.argv[2])
        return
    old = json.loads(gzip.decompress(PATH.read_bytes())) if PATH.exists() else []
    new = [one for asked in sys.argv[1:] for one in RECORDERS[asked.partition("-")[0]]()]
    peers = {one["peer"] for one in new}
    records = sorted([one for one in old if one["peer"] not in peers] + new, key=lambda one: one["peer"])
    lines = ",\n".join(json.dumps(one) for one in records)
    PATH.write_bytes(gzip.compress(f"[\n{lines}\n]\n".encode(), mtime=0))
    print(f"{len(new)} values of {', '.join(sorted(peers))}")


if __name__ == "__main__":
    main()
