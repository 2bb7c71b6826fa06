"""The options of the command line: each is declared once, in a table that commands pick from, and read in one place."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

from fastndcg import choices
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import DEFAULT_METRICS
from fastndcg.parsing import split_list

PAIR_METRICS = "mean_rank,mrr,hits_at@1,hits_at@10"
AGREEMENT_METRICS = "tau_b,tau_ap,rbo"
INDEX_METRICS = "recall@10"
SPAN_METRICS = "span_recall@5,span_precision@5,span_iou@5,span_ndcg@5"
QRELS = "relevance judgments, one per line: query iteration document label"
RUN = "a ranking, one document per line: query Q0 document rank score tag"
EMBEDDINGS = "or vectors: USERS.npy,ITEMS.npy or MODEL.safetensors"
SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".xml": "junit",
    ".html": "html",
}  # and the format of such an output


class Argument(NamedTuple):
    """
    An option or a positional argument.

    Attributes
    ----------
    flags : str
        Its spellings, separated by blanks.
    metavar : str or None
        The name of its value in the help. None: it has no value, or fixed choices.
    text : str
        The help.
    settings : dict
        The other keywords of argparse.
    completer : Any
        What a shell completes it with: the name of a list of `parser`, or a type of choices.
    """

    flags: str
    metavar: str | None
    text: str
    settings: dict[str, Any]
    completer: Any = None


class ColumnList(NamedTuple):
    """The names of columns by role: of the judgments, and of runs. None: usual names."""

    truth: dict[str, str] | None = None
    predictions: dict[str, str] | None = None


def _option(flags: str, metavar: str | None, text: str, completer: Any = None, **settings: Any) -> Argument:
    return Argument(flags, metavar, text, settings, completer)


def _flag(flags: str, text: str, **settings: Any) -> Argument:
    return Argument(flags, None, text, {"action": "store_true", **settings})


def _choice(flags: str, values: Any, text: str, **settings: Any) -> Argument:
    """Return an option with the values of a type of `choices`."""
    return Argument(flags, None, text, {"choices": get_args(values), **settings})


def _first(flags: str, values: Any, text: str) -> Argument:
    """Return an option with the values of a type of `choices`, of which the first is the usual one."""
    return _choice(flags, values, f"{text} (default: {get_args(values)[0]})".strip(), default=get_args(values)[0])


def _metrics(text: str, default: str, end: str = "") -> Argument:
    text = f"metrics, separated by commas{text}; may be repeated{end} (default: {default})"
    return _option("-m --metrics", "METRICS", text, "metrics", action="append")


def _metric(text: str) -> Argument:
    text = f"{text} (default: ndcg@10)"
    return _option("-m --metric --metrics", "METRIC", text, "metrics", default="ndcg@10")


def _convention(usual: str, **settings: Any) -> Argument:
    text = "rules for ties, gains and missing queries, such as 'trec_eval', 'sklearn' or "
    text += f"'trec_eval(missing_in_run=zero)'; `fastndcg conventions` lists them (default: {usual})"
    return _option("--convention", "NAME", text, "conventions", **settings)


def _columns(example: str, end: str = "") -> Argument:
    return _option(
        "--columns", "ROLE=NAME,…",
        f"names of columns of Parquet, Arrow, CSV and JSON files, such as {example}; roles are query, document, label, "
        f"score, rank and subtopic{end} (default: usual names)", action="append",
    )  # fmt: skip


LEVEL = _option("--level", "X", "the confidence level (default: 0.95)", type=float, default=0.95)
PER_QUERY = "also print the values of each query"

# By the name that commands have for an option. A word in brackets tells options of one spelling apart.
OPTIONS = {
    "qrels": _option("qrels", "QRELS", QRELS),
    "qrels (none)": _option("qrels", "QRELS", QRELS, nargs="?"),
    "qrels (table)": _option("qrels", "TABLE|QRELS", "published means in a table or JSON, or relevance judgments"),
    "human": _option("human", "HUMAN", f"human labels of a random sample of queries; {QRELS}"),
    "judge": _option("judge", "JUDGE", "the judge's labels of all queries, in a format of HUMAN"),
    "judge (report)": _option("--judge", "FILE", "the report also has estimates with the labels of a judge, such as a "
        "language model, of more queries"),
    "gold": _option("gold", "GOLD", "the text that answers each query: JSON, CSV, Parquet or Arrow"),
    "model": _option("model", "MODEL", "the vectors of the index: QUERIES.npy,DOCUMENTS.npy or MODEL.safetensors"),
    "runs (found)": _option("runs", "FOUND", "what the index found: a run in any format, or FOUND.npy with a row of "
        "whole numbers a query, padded with -1", nargs="+"),
    "chunks": _option("chunks", "CHUNKS", "the retrieved chunks in rank order, or with ranks or scores"),
    "run": _option("runs", "RUN", f"{RUN}, {EMBEDDINGS}", nargs=1),
    "runs": _option("runs", "RUN", f"{RUN}, {EMBEDDINGS}", nargs="+"),
    "runs (none)": _option("runs", "RUN", f"{RUN}, {EMBEDDINGS}", nargs="*"),
    "runs (compared)": _option("runs", "RUN", f"two or more; {RUN}, {EMBEDDINGS}", nargs="+"),
    "runs (judged)": _option("runs", "RUN", f"one or more; {RUN}", nargs="+"),
    "runs (tuned)": _option("runs", "RUN", f"two or more; {RUN}", nargs="+"),
    "runs (fused)": _option("runs", "RUN", RUN, nargs="*"),
    "runs (two)": _option("runs", "RUN", RUN, nargs=2),
    "runs (changed)": _option("runs", "RUN", f"BEFORE and AFTER: {RUN}, {EMBEDDINGS}", nargs=2),
    "file": _option("path", "IN", "judgments, or a run, in any format, packed or not; - is standard input"),
    "file (written)": _option("output", "OUT", "the file to write, packed by .gz, .bz2 or .zst (default: standard "
        "output)", nargs="?", default=argparse.SUPPRESS),  # so that it does not overwrite -o
    "as": Argument("--as", None, "what IN holds, where its rows could be either (default: as they show)",
        {"choices": ("qrels", "run"), "dest": "kind"}),
    "query": _option("query", "QUERY", "the id of the query (default: the only one, or with --against the mean of all)",
        nargs="?"),
    "metric name": _option("name", "METRIC", "a metric by its name or an alias, such as nDCG or recip_rank",
        "every metric", nargs="?"),
    "first": _option("first", "A", "a convention, with other choices in brackets: 'lightgbm(ties=average)'",
        "conventions", nargs="?"),
    "second": _option("second", "B", "a second convention; only the differences are shown", "conventions", nargs="?"),
    # what is computed
    "metrics": _metrics(", such as 'ndcg@10,P(rel=2)@5', or trec_eval's names, such as 'map', 'P.5,10' and 'all_trec'",
        DEFAULT_METRICS, "; `fastndcg metrics` lists all"),
    "metrics (compared)": _metrics(", such as 'ndcg@10,P(rel=2)@5'", DEFAULT_METRICS),
    "metrics (pairs)": _metrics(", such as 'mrr,hits_at@10'", PAIR_METRICS),
    "metrics (agreement)": _metrics(", such as 'tau_b,rbo(p=0.9)@100'", AGREEMENT_METRICS),
    "metrics (spans)": _metrics(", such as 'span_recall@5,span_iou@5'", SPAN_METRICS),
    "metrics (index)": _metrics(", such as 'recall@10,recall@100'", INDEX_METRICS),
    "metrics (bounds)": _metrics(" of nDCG, DCG, CG, RBP, P, R, AP, RR and Success", DEFAULT_METRICS),
    "metrics (gate)": _metrics("", f"those of a saved baseline, else {DEFAULT_METRICS}"),
    "metric (one)": _metric("one metric"),
    "metric (bounds)": _metric("the metric whose differences become certain"),
    "labels": _option("--labels", "L,L", "all labels that a judge may choose (default: 0,1)", default="0,1"),
    "labels (report)": _option("--labels", "L,L", "all labels that a judge may choose: the report shows what unjudged "
        "documents could do"),
    "n (judged)": _option("-n", "N", "how many documents to choose", type=int, required=True),
    "method (judged)": _first("--method", choices.JudgingMethod, "by what documents are chosen"),
    "metric (tuned)": _metric("the metric to improve"),
    "metric (ranked)": _option("-m --metric --metrics", "METRIC", "the metric (default: ndcg@10, none of a TABLE)",
        "metrics"),
    "metric (plan)": _option("-m --metric --metrics", "METRIC", "a metric of the files (default: the first)"),
    "convention": _convention("default", default="default"),
    "convention (gate)": _convention("that of a saved baseline, else default"),
    "qrels-after": _option("--qrels-after", "FILE", "the judgments of AFTER (default: QRELS)"),
    "convention-after": _option("--convention-after", "NAME", "the convention of AFTER (default: that of BEFORE)",
        "conventions"),
    "query (one)": _option("--query", "QUERY", "in place of the account, print what each document of QUERY added "
        "before and after"),
    "against": _option("--against", "NAME", "a second convention to compare with, such as 'sklearn'"),
    "tolerance": _option("--tolerance", "X", "also count a document whose score is at most X below that of the last of "
        "the best ones (default: 0)", type=float, default=0.0),
    "judged": _option("--qrels", "FILE", "relevance judgments: also show nDCG of what was found, and of exact search"),
    "interval (means)": _flag("--interval", "print the 95 %% confidence interval of each mean in a table"),
    "rows": _choice("--rows", choices.ResultRows, "what has a row: each pair, or each query, with the mean over its "
        "pairs (default: pair)", default="pair"),
    "competitors": _first("--competitors", choices.Competitors, "the documents that a relevant one is ranked among: "
        "those that are not relevant, or all"),
    "names": _option("--names", "NAMES", "names of the RUNs in their order, separated by commas; may be repeated "
        "(default: TREC's sixth column where runs differ in it, else file names without suffixes)", action="append"),
    "baseline": _option("--baseline", "NAME", "the run that the others are compared with, by its name or file "
        "(default: the first)"),
    "segments": _option("--segments", "FILE", "compare by segment too; FILE has a query id and a segment on each line"),
    "threads": _option("--threads", "N", "number of threads (default: one per available CPU)", type=int),
    "memory": _option("--memory", "SIZE", "limit the memory for a Parquet or Arrow file that has labels and scores, "
        "such as 500MB (default: 2GiB), or for scores of embeddings (default: 64MiB)"),
    # how files are read
    "columns": _columns("'query=member,label=stars'", "; 'qrels.ROLE=NAME' and 'run.ROLE=NAME' are of one side"),
    "columns (spans)": _option("--columns", "ROLE=NAME,…", "names of columns, such as 'document=file,start=from'; "
        "roles are query, document, start, end, weight, rank and score (default: usual names)", action="append"),
    "overlap": _first("--overlap", choices.SpanOverlap, "how characters of several chunks count: once, or each time"),
    "columns (ranked)": _columns("'query=member,label=stars'", "; of a TABLE system, dataset and value"),
    "columns (runs)": _columns("'query=member,score=model'"),
    "qrels-format": _option("--qrels-format", "NAME", "the format of QRELS if it cannot be detected, such as "
        "'trec_diversity' (query subtopic document label)"),
    "run-format": _option("--run-format", "NAME", "the format of each RUN if it cannot be detected, such as 'msmarco' "
        "(query document rank)"),
    "duplicates": _choice("--duplicates", choices.DuplicateChoice, "an error, the row that ranks first kept, the best "
        "score kept, their scores added up, or each row counted (default: raise)"),
    "ranks": _choice("--ranks", choices.DuplicateRanks, "whether a dropped row leaves its rank empty, or later "
        "documents move up (default: kept)"),
    "parents": _option("--parents", "RULE|FILE", "RUN has chunks, which count for their documents: a rule such as "
        "'before #' or 'before last _', or a FILE with a chunk and its document on each line"),
    # embeddings
    "similarity": _first("--similarity", choices.Similarity, "how vectors become scores"),
    "query-ids": _option("--query-ids", "FILE", "the ids of queries, one per line (default: numbers from 0)"),
    "document-ids": _option("--document-ids", "FILE", "the ids of documents, one per line (default: numbers from 0)"),
    "exclude": _option("--exclude", "FILE", "documents that are not ranked, such as those seen in training, in the "
        "formats of QRELS"),
    "candidates": _option("--candidates", "FILE", "the only documents that are ranked: ids, one per line, for all "
        "queries, or a file in the formats of QRELS"),
    "missing-truth": _first("--missing-truth", choices.MissingTruth, "judged documents that are excluded, no "
        "candidates or without a vector: an error, skipped, or not retrieved"),
    # output
    "json": _flag("--json", "same as --format json"),
    "json (plot)": _flag("--json", "same as --format json: the numbers of the picture, in place of it"),
    "output": _option("-o --output", "FILE", "write to FILE; if an error occurs, an older FILE is kept as it is"),
    "output (plot)": _option("-o --output", "FILE", "the picture's file, such as plot.png"),
    "per-query": _flag("--per-query", PER_QUERY),
    "per-query (rows)": _flag("--per-query", "also print the values of each row"),
    "html": _option("--html", "FILE", "also write a report as one HTML page that works offline"),
    "queries": _option("--queries", "FILE", "texts of the queries for the report; FILE has a query id, a tab and a "
        "text on each line"),
    "documents": _flag("--documents", "the report also lists the documents of the queries won and lost most"),
    "title": _option("--title", "TEXT", "the title of the report", default=""),
    "kind": _first("--kind", choices.PlotKind, "the kind of plot"),
    "system": _option("--system", "NAME", "the run that a histogram shows (default: the first run but the baseline)"),
    # statistics
    "test": _option("--test", "NAME", "the significance test: randomization, t, wilcoxon, sign, mcnemar, bootstrap or "
        "tukey (default: randomization)", choices.TestName),
    "correction": _option("--correction", "NAME", "the correction for multiple tests: holm, bonferroni, bh or none "
        "(default: holm)", choices.Correction),
    "family": _option("--family", "NAME", "the tests that are corrected together: those of the table, or of each "
        "metric (default: table)", choices.Family),
    "alternative": _option("--alternative", "NAME", "the alternative hypothesis: two-sided, greater or less (default: "
        "two-sided)", choices.Alternative),
    "alternative (plan)": _first("--alternative", choices.Alternative, ""),
    "interval": _option("--interval", "NAME", "the confidence interval: auto, the method that holds for the values, t, "
        "percentile or betting (default: auto)", choices.IntervalMethod),
    "interval (gate)": _first("--interval", choices.GateInterval, "the bounds: those that hold for the values, "
        "Student's, or betting, which holds for any values in a known range"),
    "margin": _option("--margin", "X", "also test whether differences are within ±X (default: no such test)",
        type=float),
    "level": LEVEL,
    "level (compared)": _option("--level", "X", "the confidence level, such as 0.99 (default: 0.95)", type=float),
    "replicates": _option("--replicates", "N", "(default: 10000)", type=int, default=10_000),
    "replicates (compared)": _option("--replicates", "N", "replicates of the bootstrap and the randomization (default: "
        "10000)", type=int),
    "seed": _option("--seed", "N", "(default: 0)", type=int, default=0),
    "seed (compared)": _option("--seed", "N", "the seed of the random numbers (default: 0)", type=int),
    "seed (folds)": _option("--seed", "N", "the seed of the folds (default: 0)", type=int, default=0),
    # decisions
    "fail-under": _option("--fail-under", "METRIC=X", "fail, with exit code 1, if the mean of METRIC is below X, or "
        "above it where lower values are better; separated by commas, or repeated", action="append", default=[]),
    "fail-by": _first("--fail-by", choices.FloorBy, "what must reach X: the mean, or the worse end of its one-sided "
        "interval"),
    "save-baseline": _option("--save-baseline", "FILE", "also write the values of all queries, for `fastndcg gate`"),
    "old": _option("baseline", "OLD", "the run that NEW replaces, or its results (--save-baseline)"),
    "new": _option("runs", "NEW", f"{RUN}, {EMBEDDINGS}", nargs=1),
    "margin (gate)": _option("--margin", "X", "how much worse the mean may be: a number, a share of the baseline "
        "such as 2%%, or METRIC=X for the only metrics that are gated; may be repeated (default: 0)",
        action="append", default=[]),
    "sequential": _flag("--sequential", "bounds that hold however often queries are added and looked at"),
    "clusters": _option("--clusters", "FILE", "FILE has a query id and a cluster on each line"),
    "strata": _option("--strata", "FILE", "FILE has a query id and a stratum on each line"),
    "weights": _option("--weights", "FILE", "FILE has a query id and a weight on each line"),
    "difference": _option("--difference", "X", "the mean difference to detect", type=float),
    "n": _option("-n", "N", "the number of queries", type=int),
    "std": _option("--std", "X", "the standard deviation of the differences", type=float),
    "from": _option("--from", "FILE[,FILE]", "results of one system, or of two", dest="source"),
    "power": _option("--power", "X", "the power (default: 0.8)", type=float, default=0.8),
    "clusters (plan)": _option("--clusters", "SIZE,R", "mean queries in a cluster, and correlation within it"),
    "audit": _option("--audit", "MEAN", "show what a published mean of N values that are 0 or 1 can show", type=float),
    "other": _option("--other", "MEAN", "with --audit: that of a second system on the same queries", type=float),
    # fusion
    "method": _option("--method", "TEXT", "the method with its parameters (default: rrf)", "fusion methods",
        default="rrf"),
    "methods": _option("--method", "METHOD", "a method to tune, such as 'rrf' or 'wsum(norm=z_score)'; may be repeated "
        "(default: rrf, wsum(norm=min_max) and wsum(norm=z_score))", "fusion methods", action="append"),
    "weights (fused)": _option("--weights", "W,W", "the weight of each RUN in their order, or NAME=W,NAME=W (default: "
        "1 each)"),
    "depth": _option("--depth", "N", "how many documents of each RUN and query count (default: all)", type=int),
    "absent": _choice("--absent", choices.AbsentTreatment, "what a RUN gives to documents that it lacks (default: what "
        "the method's definition says)"),
    "fusion-convention": _option("--fusion-convention", "NAME", "what a method's name means, such as 'weaviate' or "
        "'default(queries=raise)' (default: default)", "fusion conventions", default="default"),
    "train": _option("--train", "FILE", "judgments, and a run of each system in the order of the RUNs, for methods "
        "that learn, such as mapfuse", nargs="+"),
    "list (fusion)": _flag("--list", "list methods, normalisations and conventions", dest="lists"),
    "top": _option("--top", "N", "write only the first N documents of each query", type=int),
    "explain": _option("--explain", "QUERY", "in place of the run, print what each RUN gives to the first documents of "
        "QUERY (10, or those of --top)"),
    "tag": _option("--tag", "NAME", "the name of the system in the last column (default: fastndcg)",
        default="fastndcg"),
    "plot (parts)": _option("--plot", "FILE", "also draw one bar for each part, such as parts.svg"),
    "plot": _option("--plot", "FILE", "also draw the metric against the weight, such as curve.png"),
    "fused": _option("--run", "FILE", "also write the runs, fused by the best fusion", dest="fused"),
    "folds": _option("--folds", "N", "the number of folds (default: 5)", type=int, default=5),
    "repeats": _option("--repeats", "N", "how many times the queries are divided (default: 1)", type=int, default=1),
    "clusters (folds)": _option("--clusters", "FILE", "queries that stay in one fold; FILE has a query id and a "
        "cluster on each line"),
    # kernels
    "list": _flag("--list", "list each kernel and where its machine code comes from"),
    "clear": _flag("--clear", "delete the machine code in the cache and stop"),
    # trec_eval's options
    "q": _flag("-q", "same as --per-query", dest="per_query"),
    "n (trec_eval)": _flag("-n", "print no lines over all queries", dest="no_summary"),
    "c": _flag("-c", "score judged queries missing in a run as 0", dest="complete"),
    "J": _flag("-J", "remove unjudged documents from the runs before ranking", dest="judged_only"),
    "l": _option("-l", "LABEL", "the smallest relevant label (default: 1)", type=int, dest="relevance_level"),
    "M": _option("-M", "N", "evaluate only the first N documents of each query; needs a convention with trec_eval's "
        "ties", type=int, dest="max_documents"),
    "N": _option("-N", "N", "the number of documents in the collection, for the measure utility", type=int, default=0,
        dest="n_documents"),
}  # fmt: skip # an entry ends where its text does


def pick(arguments: argparse.Namespace, names: str) -> dict[str, Any]:
    """Return the arguments of some names, which a function has as well, without those that are left out."""
    given = ((name, getattr(arguments, name)) for name in names.split())
    return {name: value for name, value in given if value is not None}


def read_columns(texts: Sequence[str] | None) -> ColumnList:
    """
    Read the texts of ``--columns`` as names by role.

    >>> read_columns(["query=member, qrels.label=stars"])
    ColumnList(truth={'query': 'member', 'label': 'stars'}, predictions={'query': 'member'})
    """
    sides: dict[str, dict[str, str]] = {"qrels": {}, "run": {}}
    for part in ",".join(texts or ()).split(",") if texts else ():
        role, _, name = (piece.strip() for piece in part.partition("="))
        side, dot, own_role = role.partition(".")
        own_sides = [side] if dot else list(sides)
        role = own_role if dot else role
        if not role or not name or any(key not in sides or role in sides[key] for key in own_sides):
            raise InvalidInputError(
                f"--columns must have a name for each role, such as 'query=member,label=stars', not "
                f"{shorten(','.join(texts or ()))}. Give each role once, or once as qrels.ROLE and once as run.ROLE."
            )
        for key in own_sides:
            sides[key][role] = name
    return ColumnList(sides["qrels"] or None, sides["run"] or None)


def read_names(arguments: argparse.Namespace) -> list[str]:
    """Return the names of ``--names``, none without the option. Raise an error if there is not one per run."""
    names = [name.strip() for text in arguments.names or () for name in text.split(",")]
    if arguments.names and len(names) != len(arguments.runs):
        raise InvalidInputError(
            f"--names must have a name for each of the {len(arguments.runs)} runs, got {len(names)}: "
            f"{shorten(', '.join(names))}. Separate the names by commas."
        )
    return names


def read_values(option: str, texts: Sequence[str], rule: str, read: Callable[[str], Any] = float) -> Any:
    """
    Return the values of texts NAME=VALUE by name, or those of texts without a name as a list. Commas divide a text.

    `rule` says what the option must be. `read` returns a value, or raises ValueError.

    >>> read_values("--weights", ["0.3", "0.7"], ""), read_values("--margin", ["ndcg@10=1%,map=3", "rr=2"], "", str)
    ([0.3, 0.7], {'ndcg@10': '1%', 'map': '3', 'rr': '2'})
    """
    texts = [part for text in texts for part in split_list(text) or [text]]
    pairs = [text.rpartition("=") for text in texts]
    names = [name.strip() for name, _, _ in pairs]
    if not any(names) or (all(names) and len(set(names)) == len(names)):
        with contextlib.suppress(ValueError):
            values = [read(value.strip()) for _, _, value in pairs]
            return dict(zip(names, values, strict=True)) if any(names) else values
    raise InvalidInputError(f"{option} must be {rule}, not {shorten(','.join(texts))}. Correct it.")


def read_labels(text: str) -> list[float]:
    """Return the labels of ``--labels``."""
    return read_values("--labels", [text], "numbers of 0 or more, such as 0,1,2,3")  # type: ignore[no-any-return]


def read_floors(texts: Sequence[str]) -> dict[str, float]:
    """Return the numbers of ``--fail-under`` by metric."""
    rule = "a metric and a number, such as 'ndcg@10=0.45'"
    floors = read_values("--fail-under", texts, rule)
    if floors and not (isinstance(floors, dict) and all(map(math.isfinite, floors.values()))):
        raise InvalidInputError(f"--fail-under must be {rule}, not {shorten(','.join(texts))}. Correct it.")
    return dict(floors)
