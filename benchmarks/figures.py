"""
Write the figures of the saved results: sections of README.md and of the pages in docs/, and the chart of libraries.

A section stands between the markers `<!-- NAME -->` and `<!-- /NAME -->`, where a name is a key of `SECTIONS`. One
comparison has one figure: a ratio is nowhere computed from two others.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable
from typing import Any

from benchmarks.record import RESULTS, ROOT, load_results

CHART = RESULTS / "peers.png"
SHOWN = ("LightGBM", "scikit-learn", "pytrec_eval-terrier", "ranx", "torchmetrics")  # in the README
HEADLINE = "scikit-learn"
PLAN_ROWS, PLAN_CORES = 10**11, 400  # of the plan in docs/guides/spark.md
OURS, TEXT = "#e8590c", "#7d7d7d"  # legible on light and on dark pages

Result = dict[str, Any]


def write_figures(*, is_check: bool) -> int:
    """Write all figures, or return 1 if one is out of date."""
    results = load_results()
    documents = [
        ROOT / "README.md",
        *(path for path in (ROOT / "docs").rglob("*.md") if "_generated" not in path.parts),
    ]
    old = {path: path.read_text(encoding="utf-8") for path in documents}
    new = {path: fill_document(text, results) for path, text in old.items()}
    if is_check:
        return int(new != old)
    for path, text in new.items():
        if text != old[path]:
            path.write_text(text, encoding="utf-8")
    if "peers" in results:
        CHART.write_bytes(draw_libraries(results["peers"]))
    return 0


def fill_document(text: str, results: dict[str, Result]) -> str:
    """Return a document with the figures of the results that there are."""
    for name, (suite, write) in SECTIONS.items():
        if suite in results and f"<!-- {name} -->" in text:
            text = fill_section(text, name, write(results[suite]))
    return text


def fill_section(text: str, name: str, content: str) -> str:
    """Return a document with this text between the markers of a section, indented as they are."""

    def fill(match: re.Match[str]) -> str:
        return f"{match[1]}<!-- {name} -->\n{textwrap.indent(content, match[1])}\n{match[1]}<!-- /{name} -->"

    return re.sub(rf"^( *)<!-- {name} -->\n.*?^ *<!-- /{name} -->$", fill, text, flags=re.DOTALL | re.MULTILINE)


def format_ratio(value: float) -> str:
    """Return a ratio with three digits."""
    return f"{value:.3g}" if value < 1000 else f"{float(f'{value:.3g}'):,.0f}"


def list_libraries(result: Result) -> list[tuple[str, Result, Result]]:
    """Return name, facts and ratio of each library, the slowest first."""
    rows = []
    for benchmark in result["benchmarks"]:
        facts = benchmark["extra_info"]
        if benchmark["name"].startswith("test_library["):
            ((name, ratio),) = facts["against"].items()
            rows.append((name, facts, ratio))
    return sorted(rows, key=lambda row: -row[2]["median"])


def describe_library(name: str, facts: Result, versions: dict[str, str]) -> str:
    """Return a library with its version and the marks of what it takes."""
    base, comma, rest = name.partition(",")
    marks = " ¹" * facts["binary"] + " ²" * facts["ranked_before"]
    return f"{base} {versions.get(facts['package'], '')}".strip() + comma + rest + marks


def write_headline(result: Result) -> str:
    """Return the sentence on the best known library."""
    (_, facts, ratio) = next(row for row in list_libraries(result) if row[0] == HEADLINE)
    return wrap(
        f"nDCG@10 of {facts['queries']:,} queries with {facts['documents']} documents each is "
        f"**{format_ratio(ratio['median'])} times as fast** as {HEADLINE} on {count_cpus(result)} CPUs, with equal "
        "numbers."
    )


def write_fusion(result: Result) -> str:
    """Return the sentence on fusing against ranx, by kind of ids."""
    kinds: dict[str, list[float]] = {}
    for benchmark in result["benchmarks"]:
        found = re.fullmatch(r"test_fuse_against_ranx\[(.+)-\w+\(.*\)\]", benchmark["name"])
        if found:
            kinds.setdefault(found[1], []).append(benchmark["extra_info"]["against"]["ranx"]["median"])
    texts = [
        f"{format_ratio(min(values))} to {format_ratio(max(values))} with {kind.replace(', ', ' and ')}"
        for kind, values in kinds.items()
    ]
    return wrap(f"Fusing two runs by `rrf` or `wsum` is so many times as fast as in ranx: {', '.join(texts)}.")


def write_ranking_metrics(result: Result) -> str:
    """Return the paragraph on Spark's RankingMetrics, and on a job that does nothing."""
    ten, one = (get_facts(result, f"test_ranking_metrics[{metrics}]") for metrics in ("ten metrics", "one metric"))
    return wrap(
        f"From {ten['lists']:,} lists of {ten['documents']} documents in memory on {ten['cores']} cores, "
        f"RankingMetrics takes {format_interval(ten, 'RankingMetrics')} times as long as fastndcg for ten metrics, and "
        f"{format_interval(one, 'RankingMetrics')} times for one. The means are equal. In fastndcg, ten metrics take "
        f"{format_interval(ten, 'a job of two rows')} times as long as a job that passes two rows through Python, and "
        f"one takes {format_interval(one, 'a job of two rows')} times. {describe_conditions(result, 'pyspark')}"
    )


def write_spark_rows(result: Result) -> str:
    """Return the paragraph on rows in Spark: their number a second, moving them alone, and the time of the plan."""
    facts = get_facts(result, "test_rows")
    seconds = get_benchmark(result, "test_rows")["stats"]["median"]
    rate = facts["rows"] / seconds / facts["cores"]
    return wrap(
        f"nDCG@10 and AP of {facts['rows']:,} rows of Parquet on {facts['cores']} cores: {rate / 1e6:.3g} million "
        f"rows a second and core. That takes {format_interval(facts, 'moving the rows')} times as long as the same "
        "read, shuffle and sort without an evaluation: fastndcg needs no sort. At this rate, 10¹¹ rows take "
        f"{PLAN_ROWS / rate / PLAN_CORES / 60:.2g} minutes on {PLAN_CORES} cores, if disks and network keep up. "
        f"{describe_conditions(result, 'pyspark')}"
    )


def write_first_call(result: Result) -> str:
    """Return the sentence on processes with one evaluation, with an empty and with a filled cache."""
    empty, filled, empty_twelve, filled_twelve = (
        f"{get_benchmark(result, f'test_first_call[{cache} cache-{metrics}]')['stats']['median']:.2g} s"
        for metrics in ("nDCG@10", "twelve metrics")
        for cache in ("empty", "filled")
    )
    return wrap(
        f"A process that evaluates nDCG@10 once takes {empty} with an empty cache and {filled} with a filled one. With "
        f"twelve metrics, it takes {empty_twelve} and {filled_twelve}. {describe_conditions(result)}"
    )


def get_benchmark(result: Result, name: str) -> Result:
    """Return one benchmark of a result."""
    benchmarks: dict[str, Result] = {benchmark["name"]: benchmark for benchmark in result["benchmarks"]}
    return benchmarks[name]


def get_facts(result: Result, name: str) -> Result:
    """Return what one benchmark of a result has stored."""
    facts: Result = get_benchmark(result, name)["extra_info"]
    return facts


def format_interval(facts: Result, other: str) -> str:
    """Return the ratio to another call with its 95 % interval."""
    ratio = facts["against"][other]
    return f"{format_ratio(ratio['median'])} ({format_ratio(ratio['low'])} to {format_ratio(ratio['high'])})"


def wrap(text: str) -> str:
    """Return a paragraph in lines of the documents' length."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def write_libraries(result: Result, shown: tuple[str, ...] | None = SHOWN) -> str:
    """Return the table of libraries with our speed as a multiple of theirs, and its conditions."""
    versions = result["machine_info"]["versions"]
    rows = ["| library | fastndcg is … times as fast | 95 % interval | with ties |", "| :-- | --: | --: | --: |"]
    for name, facts, ratio in list_libraries(result):
        if shown is None or name in shown:
            bounds = f"{format_ratio(ratio['low'])} to {format_ratio(ratio['high'])}" if "low" in ratio else ""
            difference = facts["difference_on_ties"]
            agrees = "equal" if difference <= facts["tolerance"] else f"differs by {difference:.2g}"
            label = describe_library(name, facts, versions)
            rows.append(f"| {label} | {format_ratio(ratio['median'])} | {bounds} | {agrees} |")
    facts = list_libraries(result)[0][1]
    marks = " ¹ binary labels. ² takes ranked lists." if shown is None else ""
    text = (
        f"nDCG@10 of {facts['queries']:,} queries with {facts['documents']} documents each, timed in alternation, from "
        f"prepared inputs, with equal values. *With ties*: the largest difference of a query.{marks} "
        f"{describe_conditions(result)}"
    )
    return "\n".join(rows) + f"\n\n{wrap(text)}"


SECTIONS: dict[str, tuple[str, Callable[[Result], str]]] = {
    "headline": ("peers", write_headline), "libraries": ("peers", write_libraries), "fusion": ("fusion", write_fusion),
    "ranking_metrics": ("spark", write_ranking_metrics), "spark_rows": ("spark", write_spark_rows),
    "first_call": ("startup", write_first_call),
}  # fmt: skip


def count_cpus(result: Result) -> int:
    """Return the number of CPUs of a result."""
    return int(result["machine_info"]["cpu"]["count"])


def describe_conditions(result: Result, *packages: str) -> str:
    """Return the sentence that names date, machine, versions, also of some more packages, and commit."""
    machine = result["machine_info"]
    names = ("fastndcg", "numba", "numpy", *packages)
    versions = ", ".join(f"{name} {machine['versions'][name]}" for name in names if name in machine["versions"])
    return (
        f"Measured on {result['datetime'][:10]} on {count_cpus(result)} CPUs ({machine['cpu']['brand']}, "
        f"{machine['system']}), Python {machine['python_version']}, {versions}, commit {result['commit_info']['id']}."
    )


def draw_libraries(result: Result) -> bytes:
    """Return the chart of our speed as a multiple of each library's, hatched if values differ with ties, as PNG."""
    figure, axes = make_figure(0.34 * len(list_libraries(result)))
    versions = result["machine_info"]["versions"]
    for place, (name, facts, ratio) in enumerate(reversed(list_libraries(result))):
        is_equal = facts["difference_on_ties"] <= facts["tolerance"]
        style = {} if is_equal else {"hatch": "///", "fill": False, "edgecolor": OURS}
        axes.barh(place, ratio["median"], color=OURS, height=0.72, **style)
        axes.annotate(format_ratio(ratio["median"]), (ratio["median"], place), (4, 0), textcoords="offset points",
                      va="center", color=TEXT, fontsize=9)  # fmt: skip
        axes.text(-0.01, place, describe_library(name, facts, versions), transform=axes.get_yaxis_transform(),
                  ha="right", va="center", color=TEXT)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(left=1)
    axes.set_yticks([])
    axes.set_title(
        "fastndcg is so many times as fast, log scale; hatched: values differ with ties", color=TEXT, loc="left"
    )
    return finish_figure(figure, axes)


def make_figure(height: float) -> tuple[Any, Any]:
    """Return an empty figure without a background."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(9, 1.0 + height), layout="constrained")


def finish_figure(figure: Any, axes: Any) -> bytes:
    """Return a figure as PNG, in colours that are legible on light and on dark pages."""
    from matplotlib import pyplot as plt

    axes.tick_params(which="both", colors=TEXT)
    axes.grid(color=TEXT, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=130, transparent=True, metadata={"Software": None})
    plt.close(figure)
    return file.getvalue()
