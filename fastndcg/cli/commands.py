"""The commands of the command line: a table with the texts, the options and the function of each."""

from __future__ import annotations

from typing import NamedTuple

TABLE_FORMATS = ("table", "markdown", "latex", "json", "csv")
READING = {"how files are read": "columns, qrels-format, run-format"}
READING_RUNS = {"how files are read": "columns (runs), run-format"}
AGAIN = "chunks, and documents that a query of a RUN has again"
CHUNKS = {AGAIN: "duplicates, ranks, parents"}
OUTPUT = {"output": "format, json, output"}
EMBEDDINGS = {
    "embeddings, where RUN is USERS.npy,ITEMS.npy or MODEL.safetensors": "similarity, query-ids, document-ids, "
    "exclude, candidates, missing-truth"
}
THREADS = {"threads": "threads"}
VECTORS = {"vectors": "similarity, query-ids, document-ids, exclude, candidates"}
COMPARED = {
    "": "qrels, runs (compared)",
    "what is computed": "metrics (compared), names, baseline, convention",
    **READING,
    **CHUNKS,
}
COMPARED_BY_EXPERTS = {
    "statistics, which the documentation of fastndcg.compare explains": "test, correction, family, alternative, "
    "interval, margin, level (compared), replicates (compared), seed (compared)",
    **EMBEDDINGS,
    **THREADS,
}
STATISTICS = ("comparing runs", "statistics")


class Command(NamedTuple):
    """
    A command.

    Attributes
    ----------
    run : str
        The module and the function that does the work.
    positionals, summary, description, examples : str
        The texts of the help.
    groups : {title: options}
        The options that each group of the help has, by their names in `OPTIONS` with commas between them. One of two
        with | between them can be given, and must be with ! behind them.
    experts : str
        What the options of `expert_groups` are for, which only ``--help-all`` shows.
    expert_groups : {title: options}
        Those groups.
    formats : tuple of str
        The formats of the output. The first is the usual one.
    inputs : str
        The arguments that are files to read.
    package : (str, str) or None
        What needs packages that may be absent, and the name of their extra.
    """

    run: str
    positionals: str
    summary: str
    description: str
    examples: str
    groups: dict[str, str]
    experts: str = ""
    expert_groups: dict[str, str] = {}  # noqa: RUF012 # is never changed
    formats: tuple[str, ...] = TABLE_FORMATS
    inputs: str = "qrels runs"
    package: tuple[str, str] | None = None

    @property
    def draws(self) -> bool:
        """True if the output is a picture."""
        return "png" in self.formats

    @property
    def writes_run(self) -> bool:
        """True if the output is a run."""
        return "parquet" in self.formats


COMMANDS = {
    "evaluate": Command(
        "evaluate:run", "QRELS RUN [RUN ...]", "compute metrics of runs from judgments",
        """\
Compute metrics of one or more runs from relevance judgments.

Files may be in the formats of TREC, MS MARCO or BEIR, JSON, CSV, Parquet, Arrow or Feather, compressed by gzip, bzip2
or zstd, or - for standard input. Addresses such as s3://bucket/run.txt are read by fsspec. A Parquet or Arrow file that
has queries, labels and scores needs no RUN. Without files, the demo data that comes with the package is evaluated.
""",
        """\
  fastndcg evaluate
  fastndcg evaluate qrels.txt run.txt -m ndcg@10,map
  fastndcg evaluate qrels.txt a.run b.run --convention trec_eval --per-query
  fastndcg evaluate qrels.txt run.txt -m all_trec --convention trec_eval --format trec
  fastndcg evaluate qrels.txt users.npy,items.npy -m ndcg@10,auc --exclude seen.txt
""",
        {
            "": "qrels (none), runs (none)",
            "what is computed": "metrics, convention, interval (means)",
            **READING,
            **CHUNKS,
            "output": "format, json, output, per-query",
            "in CI": "fail-under, fail-by, save-baseline",
        },
        "embeddings, threads and memory, and those of trec_eval",
        {
            **EMBEDDINGS,
            "threads and memory": "threads, memory",
            "trec_eval's options": "q, n (trec_eval), c, J, l, M, N",
        },
        (*TABLE_FORMATS, "trec"),
    ),
    "evaluate-pairs": Command(
        "evaluate:run_pairs", "QRELS RUN [RUN ...]", "compute metrics of link prediction, for each relevant document",
        """\
Rank each relevant document on its own, as link prediction does: one row for each pair of a query and a relevant
document, ranked among the documents that are not relevant.
""",
        """\
  fastndcg evaluate-pairs true.tsv ranks.run --convention pykeen
  fastndcg evaluate-pairs true.tsv a.run b.run -m mrr,hit_rate@10,amri --competitors all
  fastndcg evaluate-pairs true.tsv heads.npy,tails.npy -m amri --rows query --per-query
""",
        {
            "": "qrels, runs",
            "what is computed": "metrics (pairs), rows, competitors, convention",
            **READING,
            "output": "format, json, output, per-query (rows)",
        },
        "embeddings and threads", EMBEDDINGS | THREADS,
    ),
    "spans": Command(
        "evaluate:run_spans", "GOLD CHUNKS", "compute how much of the gold text retrieved chunks cover",
        """\
Compute how much of the gold text of each query the retrieved chunks cover. Each row of both files has a query, a
document, the first character, and the one after the last.
""",
        """\
  fastndcg spans gold.json chunks.json
  fastndcg spans gold.csv chunks.csv -m span_recall@5,span_ndcg@5 --per-query
  fastndcg spans gold.csv chunks.parquet --columns document=file,start=from --overlap counted
  fastndcg spans gold.json chunks.json --save-baseline base.json
""",
        {
            "": "gold, chunks",
            "what is computed": "metrics (spans), overlap, threads",
            "how files are read": "columns (spans)",
            "output": "format, json, output, per-query",
            "in CI": "save-baseline",
        },
        inputs="gold chunks",
    ),
    "index-recall": Command(
        "evaluate:run_index_recall", "MODEL FOUND [FOUND ...]",
        "compute how much of what exact search finds a vector index finds",
        """\
Compute the recall of a vector index: the share of the best documents of exact search over all vectors that are among
those that the index found. Several FOUND are compared, such as those of several settings of an index.
""",
        """\
  fastndcg index-recall queries.npy,documents.npy found.npy -m recall@10,recall@100 --similarity cosine
  fastndcg index-recall queries.npy,documents.npy ef16.npy ef64.npy --html report.html
  fastndcg index-recall queries.npy,documents.npy found.run --query-ids q.txt --document-ids d.txt --qrels qrels.txt
""",
        {
            "": "model, runs (found)",
            "what is computed": "metrics (index), tolerance, judged, names, threads",
            **VECTORS,
            **READING,
            "output": "format, json, output, per-query",
            "report": "html, title",
            "in CI": "save-baseline",
        },
        inputs="model runs qrels",
    ),
    "compare": Command(
        "compare:run_compare", "QRELS RUN RUN [RUN ...]",
        "compare runs with a baseline: differences, intervals, tests, a report",
        """\
Compare two or more runs query by query with a baseline run. The result has the difference of each run from the
baseline, its confidence interval, its p-value, and the numbers of queries won, tied and lost.
""",
        """\
  fastndcg compare qrels.txt baseline.run new.run -m ndcg@10,map
  fastndcg compare qrels.txt a.run b.run c.run --baseline b --test t --correction holm
  fastndcg compare qrels.txt baseline.run new.run --html report.html --queries topics.tsv
  fastndcg compare qrels.txt als/users.npy,als/items.npy bpr.safetensors --exclude seen.txt
  fastndcg compare qrels.txt runs/*.res.gz --names BM25,ANCE,SPLADE --family metric
""",
        {
            **COMPARED,
            "what is computed": f"{COMPARED['what is computed']}, segments",
            **OUTPUT,
            "report": "html, queries, documents, judge (report), labels (report), title",
        },
        "statistics, embeddings and threads", COMPARED_BY_EXPERTS, (*TABLE_FORMATS, "html"),
        inputs="qrels runs segments queries judge", package=STATISTICS,
    ),
    "estimate-with-judge": Command(
        "judging:run_estimate_with_judge", "HUMAN JUDGE RUN [RUN ...]",
        "estimate means from few human labels and a judge's labels of many queries",
        """\
Estimate means and differences of runs from human labels of few queries, which must be a random sample, and the labels
of a judge, such as a language model, of all. No interval is wider than that of the human labels alone.
""",
        """\
  fastndcg estimate-with-judge human.txt judge.txt a.run b.run -m ndcg@10
  fastndcg estimate-with-judge human.txt judge.txt a.run b.run -m ndcg@10,rr --json
""",
        {
            "": "human, judge, runs (judged)",
            "what is computed": "metrics (compared), names, baseline, convention, level, threads",
            **READING,
            **CHUNKS,
            **OUTPUT,
        },
        inputs="human judge runs", package=("a confidence interval", "statistics"),
    ),
    "compare-judges": Command(
        "judging:run_compare_judges", "HUMAN JUDGE RUN RUN [RUN ...]",
        "compare a judge's labels with human ones: by label and by ranks of runs",
        """\
Compare the labels of a judge, such as a language model, with human labels of the same documents: kappa, alpha, the
order of runs, and how many significant differences keep their sign.
""",
        """\
  fastndcg compare-judges human.txt judge.txt runs/*.run -m ndcg@10
  fastndcg compare-judges human.txt judge.txt runs/*.run -m ndcg@10 --json
""",
        {
            "": "human, judge, runs (tuned)",
            "what is computed": "metrics (compared), names, convention",
            **READING,
            **CHUNKS,
            **OUTPUT,
        },
        "statistics and threads",
        {"statistics": "test, correction, level, replicates (compared), seed (compared)", **THREADS},
        inputs="human judge runs",
    ),
    "plot": Command(
        "compare:run_plot", "QRELS RUN RUN [RUN ...] -o FILE",
        "draw a comparison of runs as a forest plot, a curve or a histogram",
        """\
Draw a comparison of runs with matplotlib.
  forest     the difference of each run from the baseline, with its confidence interval
  curve      a metric at each cutoff
  histogram  the differences of one run from the baseline, query by query
The first metric of -m is drawn, by a curve at each cutoff.
""",
        """\
  fastndcg plot QRELS BASELINE RUN -m ndcg@10 -o differences.png
  fastndcg plot QRELS BASELINE RUN --kind curve -m precision@10 -o curve.svg
""",
        {**COMPARED, "picture": "kind, system, format, json (plot), output (plot)"},
        "statistics, embeddings and threads", COMPARED_BY_EXPERTS,
        ("png", "svg", "pdf", "json"), package=STATISTICS,
    ),
    "gate": Command(
        "gate:run_gate", "QRELS OLD NEW",
        "decide whether a run may replace a baseline: an exit code for CI",
        """\
Decide whether NEW may replace the baseline OLD. A metric passes if the lower bound of the difference lies above the
margin, and fails if the upper one lies below it. Otherwise there are too few queries to tell, and the gate says how
many would do. OLD is a run, or a file that --save-baseline wrote. Where `fastndcg spans` wrote it, QRELS and NEW are
GOLD and CHUNKS.

exit codes: 0 pass, 1 fail, 3 undecided, 4 not comparable, 2 wrong use
""",
        """\
  fastndcg gate qrels.txt old.run new.run -m ndcg@10,recall@50 --margin 0.01
  fastndcg evaluate qrels.txt old.run -m ndcg@10 --save-baseline base.json
  fastndcg gate qrels.txt base.json new.run --margin ndcg@10=2% --fail-under ndcg@10=0.45
  fastndcg gate qrels.txt base.json new.run --format markdown >> "$GITHUB_STEP_SUMMARY"
""",
        {
            "": "qrels, old, new",
            "what is decided": "metrics (gate), margin (gate), fail-under, fail-by, "
            "interval (gate), level, sequential, convention (gate)",
            **READING,
            **CHUNKS,
            **OUTPUT,
        },
        "clusters, strata and weights, embeddings and threads",
        {"clusters, strata and weights": "clusters, strata, weights", **EMBEDDINGS, **THREADS},
        ("text", "markdown", "json", "junit", "github"),
        inputs="qrels runs baseline clusters strata weights", package=("a gate", "statistics"),
    ),
    "plan": Command(
        "gate:run_plan", "(--difference X | -n N) (--std X | --from FILE | --audit MEAN)",
        "compute how many queries you need, or what published means can show",
        """\
Compute the number of queries with which a paired test detects a difference, or the difference that a number of queries
can show. The spread of the differences is a number, or comes from one or two files of results (--save-baseline). With
--audit, show the exact confidence interval of a published mean of hits over -n queries, and the best p-value that two
means on the same queries can have.
""",
        """\
  fastndcg plan --difference 0.02 --std 0.25
  fastndcg plan -n 50 --from base.json -m ndcg@10
  fastndcg plan --difference 0.02 --from base.json,new.json -m ndcg@10 --power 0.9
  fastndcg plan --difference 0.02 --std 0.25 --clusters 5,0.3
  fastndcg plan -n 10 --audit 1.00 --other 0.70
""",
        {
            "": "difference|n!, std|from|audit!, other, metric (plan), power, level, alternative (plan), "
            "clusters (plan)",
            **OUTPUT,
        },
        inputs="",
    ),
    "leaderboard": Command(
        "gate:run_leaderboard", "(TABLE | QRELS RUN RUN ...)", "rank systems, with the ranks that the data allow",
        """\
Rank systems, with the ranks that the data allow. TABLE has published means, as CSV, Parquet, Arrow or JSON: ranks are
about other data sets. Its columns are system, dataset and value; or system and each data set; or dataset and each
system. JSON may be {system: {dataset: value}}. An empty cell is missing. QRELS with two runs or more is one data set:
ranks are about other queries.
""",
        """\
  fastndcg leaderboard published.csv -m ndcg@10
  fastndcg leaderboard published.csv --columns system=encoder,dataset=corpus,value=ndcg
  fastndcg leaderboard qrels.txt a.run b.run c.run -m ndcg@10
""",
        {
            "": "qrels (table), runs (none), names",
            "what is ranked": "metric (ranked), level, replicates, seed, convention",
            **READING | {"how files are read": "columns (ranked), qrels-format, run-format"},
            **CHUNKS,
            **OUTPUT,
        },
        "embeddings and threads", EMBEDDINGS | THREADS,
    ),
    "explain": Command(
        "compare:run_explain", "QRELS RUN [QUERY]", "explain the value of a metric for one query, or of its mean",
        """\
Explain the value of one metric for one query: the rank, score, label and contribution of each document, the ideal
ranking, and the sum. With --against, also explain the difference from another convention. Without QUERY that is the
difference of the means: what each choice adds to it, and the queries that differ most.
""",
        """\
  fastndcg explain qrels.txt run.txt q17 -m ndcg@10
  fastndcg explain qrels.txt run.txt q17 -m ndcg@10 --against lightgbm
  fastndcg explain qrels.txt run.txt -m ndcg@10 --against lightgbm
""",
        {
            "": "qrels, run, query",
            "what is computed": "metric (one), convention, against",
            **READING,
            **CHUNKS,
            **OUTPUT,
        },
        "embeddings", EMBEDDINGS,
    ),
    "diff": Command(
        "compare:run_diff", "QRELS BEFORE AFTER", "account for the difference of two runs: why did the mean change?",
        """\
Account for the difference of the means of two runs: what queries, judgments, convention and ranking add to it, which
documents moved, and which queries changed most. What is not given for AFTER is as for BEFORE.
""",
        """\
  fastndcg diff qrels.txt old.run new.run -m ndcg@10
  fastndcg diff old_qrels.txt old.run new.run -m ndcg@10 --qrels-after new_qrels.txt --plot parts.svg
  fastndcg diff qrels.txt run.txt run.txt -m ndcg@10 --convention-after lightgbm
  fastndcg diff qrels.txt old.run new.run -m ndcg@10 --query q17
""",
        {
            "": "qrels, runs (changed)",
            "what is computed": "metric (one), qrels-after, convention, convention-after, query (one), threads",
            **READING,
            **CHUNKS,
            "output": "format, json, output, plot (parts)",
        },
        "embeddings", EMBEDDINGS,
        inputs="qrels runs qrels_after",
    ),
    "bounds": Command(
        "judging:run_bounds", "QRELS RUN [RUN ...]", "bound what unjudged documents could make of means",
        """\
Bound the means of runs, and their differences from the first run: the lowest and the highest value over all labels of
the unjudged documents that a run has. The bounds need no assumption. A difference is certain if its sign holds
whatever is judged.
""",
        """\
  fastndcg bounds qrels.txt a.run b.run -m ndcg@10 --labels 0,1,2,3
  fastndcg bounds qrels.txt a.run b.run -m p@10,rbp,map --json
""",
        {
            "": "qrels, runs (judged)",
            "what is computed": "metrics (bounds), labels, names, convention, threads",
            **READING,
            **CHUNKS,
            **OUTPUT,
        },
    ),
    "judge-next": Command(
        "judging:run_judge_next", "QRELS RUN [RUN ...] -n N", "choose the unjudged documents to judge first",
        """\
Choose the unjudged documents to judge first, with the reason: those whose labels narrow the bounds of the differences
of two or more runs most, or those that pooling chooses: by depth, by move-to-front, or by max-mean.
""",
        """\
  fastndcg judge-next qrels.txt a.run b.run -m ndcg@10 -n 50 --labels 0,1,2,3
  fastndcg judge-next qrels.txt a.run b.run c.run -n 100 --method move_to_front --format csv -o judge.csv
""",
        {
            "": "qrels, runs (judged), n (judged)",
            "what is computed": "metric (bounds), method (judged), labels, names, convention, threads",
            **READING,
            **CHUNKS,
            **OUTPUT,
        },
    ),
    "agreement": Command(
        "compare:run_agreement", "RUN RUN", "compare the rankings of two runs by rank correlation and overlap",
        """\
Compare the rankings of two runs query by query, without judgments: Kendall's tau (tau_b), AP correlation (tau_ap) and
rank-biased overlap (rbo). AP correlation is not symmetric; it takes the first run as the true ranking.
""",
        """\
  fastndcg agreement first.run second.run
  fastndcg agreement first.run second.run -m 'tau_b,rbo(p=0.9)@100' --per-query
""",
        {
            "": "runs (two)",
            "what is computed": "metrics (agreement), threads",
            **READING_RUNS,
            AGAIN: "duplicates, parents",
            "output": "format, json, output, per-query",
        },
        inputs="runs",
    ),
    "fuse": Command(
        "fuse:run_fuse", "RUN RUN [RUN ...]", "fuse runs to one run",
        """\
Fuse two or more runs to one run, such as those of keyword search and vector search, and write it. Methods combine
scores, which a normalisation makes comparable, or ranks. `fastndcg fuse --list` lists methods, normalisations and the
conventions of search engines.
""",
        """\
  fastndcg fuse bm25.run dense.run --method 'rrf(k=60)' -o fused.run
  fastndcg fuse bm25.run dense.run --method 'wsum(norm=min_max)' --weights 0.3,0.7 --depth 100
  fastndcg fuse bm25.run dense.run --fusion-convention weaviate --method 'wsum(norm=min_max)' --weights dense=3,bm25=1
  fastndcg fuse bm25.run dense.run --method 'wsum(norms={bm25:min_max,dense:none})' --explain q7
  fastndcg fuse bm25.run dense.run --method mapfuse --train qrels.txt old_bm25.run old_dense.run
""",
        {
            "": "runs (fused)",
            "how runs are fused": "method, weights (fused), names, depth, absent, fusion-convention, train, threads, "
            "list (fusion)",
            **READING_RUNS,
            AGAIN: "duplicates, parents",
            "output": "format, json, output, top, explain, tag",
        },
        formats=("trec", "json", "jsonl", "csv", "parquet"), inputs="runs train",
    ),
    "tune-fusion": Command(
        "fuse:run_tune_fusion", "QRELS RUN RUN [RUN ...]",
        "find the best weights of a fusion of runs, checked on held-out queries",
        """\
Tune the fusion of two or more runs: the method, its parameters and the weights of the runs. The reported mean is that
of queries that were not used for tuning, compared with each run, equal weights and rrf(k=60).
""",
        """\
  fastndcg tune-fusion qrels.txt bm25.run dense.run -m ndcg@10 --folds 5
  fastndcg tune-fusion qrels.txt bm25.run dense.run --method 'wsum(norm=min_max)' --run tuned.run
  fastndcg tune-fusion qrels.txt a.run b.run c.run -m map --repeats 3 --html report.html
""",
        {
            "": "qrels, runs (tuned)",
            "what is tuned": "metric (tuned), convention, methods, names, depth, absent, fusion-convention",
            **READING,
            AGAIN: "duplicates, parents",
            "output": "format, json, output, html, plot, fused",
        },
        "folds and threads", {"folds and threads": "folds, repeats, seed (folds), clusters (folds), threads"},
        inputs="qrels runs clusters", package=("tuning", "statistics"),
    ),
    "convert": Command(
        "convert:run_convert", "IN [OUT]", "write judgments or a run in another format",
        """\
Write judgments or a run in another format. The suffix of OUT is that of the format: .json, .jsonl, .csv or .parquet,
and TREC's lines otherwise. Of a run with chunks, or documents that come again, the documents that count are written.
""",
        """\
  fastndcg convert run.txt run.parquet
  fastndcg convert qrels.tsv qrels.txt --columns document=passage,label=grade
  fastndcg convert chunks.run documents.run --parents 'before #' --tag bm25
  zstdcat run.zst | fastndcg convert - --as run --format csv
""",
        {
            "": "file, file (written), as",
            **READING,
            **CHUNKS,
            "output": "format, json, output, tag, threads",
        },
        formats=("trec", "json", "jsonl", "csv", "parquet"), inputs="path",
    ),
    "metrics": Command(
        "lists:run_metrics", "[METRIC]", "list the metrics, or describe one",
        """\
List all metrics with their names in other programs, or describe one metric: its formula, parameters, range and source.
""",
        """\
  fastndcg metrics
  fastndcg metrics nDCG
  fastndcg metrics recip_rank --format json
""",
        {"": "metric name", **OUTPUT}, inputs="",
    ),
    "conventions": Command(
        "lists:run_conventions", "[A [B]]", "list the conventions, show one, or compare two",
        """\
List the named conventions, show one of them, or list the choices in which two of them differ. A convention decides what
a number means: how ties are ranked, which gains labels have, what a missing query counts.
""",
        """\
  fastndcg conventions
  fastndcg conventions lightgbm
  fastndcg conventions lightgbm sklearn
  fastndcg conventions 'lightgbm(ties=average)' --format json
""",
        {"": "first, second", **OUTPUT}, inputs="",
    ),
    "warmup": Command(
        "lists:run_warmup", "", "build all kernels, or clear the cache",
        """\
Build the machine code of all kernels and store it in the cache. A built wheel has it, and needs no warm-up. Elsewhere,
run this when you build a container image, or before a server starts. It takes minutes, and a C compiler: `cc`, or
`pip install ziglang`. Without one, Numba caches each kernel by itself.

The cache belongs to the user: ~/.cache/fastndcg on Linux, ~/Library/Caches/fastndcg on macOS,
%LOCALAPPDATA%\\fastndcg on Windows. Two environment variables change this command:
  FASTNDCG_CACHE_DIR  another folder for the cache
  FASTNDCG_QUIET=1    print no progress lines on standard error
""",
        """\
  fastndcg warmup
  FASTNDCG_CACHE_DIR=/opt/fastndcg fastndcg warmup
  fastndcg warmup --list
  fastndcg warmup --clear
""",
        {"": "list|clear", **OUTPUT}, inputs="",
    ),
}  # fmt: skip
