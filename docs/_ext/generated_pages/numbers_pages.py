"""The pages "Why is my number different?": tables of all programs, and a page for each program."""

from __future__ import annotations

from collections.abc import Iterator

import fastndcg as fn
from fastndcg.named_conventions import FIELDS, Convention, conventions
from fastndcg.named_conventions.convention import Bug, relation, short
from fastndcg.parsing import Value
from fastndcg.runtime.escapes import markdown_line
from generated_pages.markdown import table

# a field and a choice in words; other choices, such as tables, are described by `FIELDS`
WORDS: dict[tuple[str, str], str] = {
    ("gain", "linear"): "The gain of a label is the label.",
    ("gain", "exp2"): "The gain of a label is 2^label − 1.",
    ("gain", "binary"): "The gain is 1 for a relevant document and 0 for others.",
    ("label_fractions", "kept"): "A gain uses the whole label, with its fraction.",
    ("label_fractions", "cut off"): "A gain uses the label without its fraction.",
    ("discount", "log2"): "The discount of rank r is 1/log2(r + 1).",
    ("discount", "log2(max(r, 2))"): "The discount of rank r is 1/log2(max(r, 2)): ranks 1 and 2 count fully.",
    ("discount", "1/r"): "The discount of rank r is 1/r.",
    ("discount", "none"): "The discount of every rank is 1.",
    ("ideal", "judged"): "The ideal ranking has the judged documents by falling gain.",
    ("ideal", "k best"): "The ideal ranking has k documents of the query's highest gain, even if fewer are judged.",
    ("ideal", "min(k, n_retrieved)"): "The ideal ranking ends where the run ends: one document can be a perfect run.",
    ("pool", "judged"): "Judged documents that were not retrieved count in the ideal ranking and in recall.",
    ("pool", "retrieved"): "Only retrieved documents count in the ideal ranking and in recall.",
    ("relevant", "at least 1"): "Labels of 1 and more are relevant.",
    ("relevant", "above 0"): "Labels above 0 are relevant.",
    ("relevant", "above 0.5"): "Labels above 0.5 are relevant.",
    ("default_k", "all"): "A metric without a cutoff counts all ranks.",
    ("ties", "average"): "The value is the mean over all orders of equal scores.",
    ("ties", "input"): "Equal scores keep the order of the input.",
    ("ties", "id_descending"): "Equal scores are ranked by document id, the highest id first.",
    ("ties", "id_ascending"): "Equal scores are ranked by document id, the lowest id first.",
    ("ties", "best"): "Of equal scores, higher labels are ranked first.",
    ("ties", "worst"): "Of equal scores, lower labels are ranked first.",
    ("ties", "input_reversed"): "Of equal scores, the last document of the input is ranked first.",
    (
        "ties",
        "mean_rank",
    ): "Equal scores all have the mean of their ranks. Only Rank, RR, Success and counts have values there.",
    ("undefined", "nan"): "A query without a value is NaN, and means exclude it.",
    ("undefined", "0"): "A query without a value counts 0.",
    ("undefined", "1"): "A query without a value counts 1.",
    ("undefined", "raise"): "A query without a value raises an error.",
    ("undefined_ap", "as undefined"): "For AP the field `undefined` decides.",
    ("undefined_ap", "nan"): "AP of a query without a value is NaN, and means exclude it.",
    ("undefined_ap", "0"): "AP of a query without a value is 0.",
    ("undefined_ap", "1"): "AP of a query without a value is 1.",
    ("undefined_ap", "raise"): "AP of a query without a value raises an error.",
    ("no_relevant", "defined"): "RR and Success of a query without relevant documents are 0.",
    ("no_relevant", "undefined"): "RR and Success of a query without relevant documents are undefined, as AP is.",
    ("no_relevant", "skipped"): "A query without relevant documents is undefined for every metric.",
    ("unjudged", "nonrelevant"): "Documents without a judgment keep their ranks and are not relevant.",
    ("unjudged", "removed"): "Documents without a judgment are removed before ranking.",
    ("negative_labels", "raise_in_arrays"): "Negative labels are an error in arrays, and have no gain in qrels.",
    ("negative_labels", "zero"): "Negative labels have no gain and are not relevant.",
    ("negative_labels", "raise"): "Negative labels are an error.",
    ("negative_labels", "keep"): "Negative labels have a negative gain.",
    ("negative_labels", "removed"): "Documents with a negative label are removed before ranking.",
    ("missing_in_run", "zero"): "A judged query that is missing in the run ranks no documents.",
    ("missing_in_run", "skip"): "A judged query that is missing in the run is skipped.",
    ("missing_in_run", "raise"): "A judged query that is missing in the run is an error.",
    ("missing_in_qrels", "skip"): "A query of the run without judgments is skipped.",
    ("missing_in_qrels", "undefined"): "A query of the run without judgments is undefined.",
    ("missing_in_qrels", "raise"): "A query of the run without judgments is an error.",
    ("nan_scores", "raise"): "NaN scores are an error.",
    ("nan_scores", "last"): "NaN scores rank below all others and are equal to one another.",
    ("score_dtype", "as given"): "Scores are compared as they are.",
    ("score_dtype", "float32"): "Scores are rounded to float32 before they are compared, which makes ties.",
    ("ap_denominator", "n_relevant"): "AP is divided by the number of relevant documents.",
    ("ap_denominator", "min(k, n_relevant)"): "AP is divided by k or the number of relevant documents, the smaller.",
    ("ap_denominator", "n_hits"): "AP is divided by the number of relevant documents in the first k ranks.",
    ("ap_denominator", "k"): "AP is divided by k.",
    ("ap_denominator", "min(k, n_relevant, n_retrieved)"): (
        "AP is divided by the smallest of k, the number of relevant and the number of retrieved documents."
    ),
    ("precision_denominator", "k"): "P is divided by k.",
    ("precision_denominator", "min(k, n_retrieved)"): "P is divided by k or the number retrieved, the smaller.",
    ("precision_denominator", "min(k, n_relevant)"): "P is divided by k or the number relevant, the smaller.",
    ("recall_denominator", "n_relevant"): "R is divided by the number of relevant documents.",
    ("recall_denominator", "min(k, n_relevant)"): "R is divided by k or the number of relevant documents, the smaller.",
    ("recall_rounding", "up"): "IPrec rounds recall times R up.",
    ("recall_rounding", "nearest"): "IPrec rounds recall times R to the nearest whole number.",
    ("recall_rounding", "up from a tenth"): "IPrec rounds recall times R up if its fraction is a tenth or more.",
    ("rbp_gain", "binary"): "RBP has the gain 1 for a relevant document.",
    ("rbp_gain", "share of highest"): "RBP divides gains by the query's highest gain if that is above 1.",
    ("residual_of_nothing", "1"): "RBP_resid of a query without documents is 1.",
    ("residual_of_nothing", "0"): "RBP_resid of a query without documents is 0.",
    ("precision_mean", "macro"): "The mean of P is the mean of the queries' values.",
    ("precision_mean", "micro"): "The mean of P is the sum of numerators over the sum of denominators.",
}
CHECKED = ("nDCG", "AP", "RR", "P", "R")  # metrics of the examples, the first one whose value differs
QRELS = {"q1": {"d1": 3, "d3": 1, "d4": 2, "d6": 1}}
RUN = {"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7, "d4": 0.7, "d5": 0.4}}


def make_pages() -> dict[str, str | bytes]:
    """Return the page of each program, the page of all fields, and the table of programs for the overview."""
    programs = group_programs()
    pages: dict[str, str | bytes] = {
        f"numbers/{records[0].name}.md": "".join(write_program(title, records)) for title, records in programs.items()
    }
    pages["numbers/fields.md"] = "".join(write_fields())
    links = [f"{title} <{records[0].name}>\n" for title, records in programs.items()]
    start = "```{toctree}\n:hidden:\n\nThe fields of a convention <fields>\n"
    pages["_generated/parts/programs_toctree.md"] = start + "".join(links) + "```\n"
    pages["_generated/parts/programs.md"] = "".join(write_programs(programs))
    return pages


def group_programs() -> dict[str, list[Convention]]:
    """Return the conventions that follow a program, by the program's name."""
    programs: dict[str, list[Convention]] = {}
    for convention in conventions.values():
        if convention.peer:
            programs.setdefault(convention.peer, []).append(convention)
    titles = {"trec_eval, pytrec_eval, ir_measures": "pytrec_eval, ir_measures and trec_eval 9"}
    titles |= {"ndeval, pyndeval": "ndeval and pyndeval", "MS MARCO's script for RR@10": "MS MARCO's script"}
    return {titles.get(peer, peer): records for peer, records in programs.items()}


def write_programs(programs: dict[str, list[Convention]]) -> Iterator[str]:
    """Yield the table of programs with links, relative to `docs/numbers`."""
    rows = []
    for title, records in programs.items():
        names = "<br>".join(f'`"{record.name}"`' for record in records)
        n_bugs = len({bug for record in records for bug in record.bugs})
        link = f"[{title}]({records[0].name}.md)"
        rows.append([link, records[0].versions, names, str(n_bugs or "")])
    yield from table(["program", "versions", "`convention=`", "bugs not copied"], rows)


def write_program(title: str, records: list[Convention]) -> Iterator[str]:
    """Yield the lines of the page of one program."""
    first = records[0]
    yield f"# {title}: why is my number different?\n\n"
    yield f'`convention="{first.name}"` gives the numbers of {title}. Versions: {first.versions}.\n\n'
    yield f'```python\nfn.evaluate(truth, predictions, "{_usual_metric(first)}", convention="{first.name}")\n```\n'
    yield "\n## How to check\n\n"
    yield from _write_check(first)
    base = conventions["default"]
    for record in records:
        yield f"\n## What `{record.name}` does differently from `{base.name}`\n\n"
        yield f"Source: {markdown_line(record.source)}.\n\n"
        rows = [
            [f"`{name}`", _show(choice), _describe(name, choice)] for name, choice in record.difference(base).items()
        ]
        yield from table(["field", "choice", "in words"], rows)
        base = first
    yield "\nThe other fields are equal. [The fields](fields.md) explains all of them.\n"
    if options := list(dict.fromkeys(option for record in records for option in record.options)):
        yield f"\n## Options of {title}\n\n"
        yield "The second column is the convention, or the metric, that gives the number of the option.\n\n"
        yield from table(["option", "here"], ([f"`{theirs}`", f"`{ours}`"] for theirs, ours in options))
    yield from _write_metrics(title, max(records, key=lambda record: len(record.metrics)))
    yield from _write_bugs(title, records)


def _usual_metric(convention: Convention) -> str:
    names = {metric.name for metric in convention.metrics}
    return next((f"{name}@10" for name in CHECKED if name in names), "alpha_nDCG@10")


def _write_check(convention: Convention) -> Iterator[str]:
    """Yield an explanation of a small ranking under the default and under the convention."""
    yield "Pass your own query to `explain` to see which field changes its value, and by how much. For a mean, see\n"
    yield "[a mean over many queries](index.md#a-mean-over-many-queries).\n\n"
    names = {metric.name for metric in convention.metrics}
    candidates = [f"{name}@3" for name in CHECKED if name in names] or ["nDCG@3"]
    explanations = {metric: fn.explain(QRELS, RUN, metric, against=convention.name) for metric in candidates}
    metrics = [metric for metric in candidates if _has_two_values(explanations[metric])]
    metric = next(iter(metrics), candidates[0])
    yield f"```pycon\n>>> qrels = {QRELS}\n>>> run = {RUN}\n"
    yield f'>>> fn.explain(qrels, run, "{metric}", against="{convention.name}")\n{explanations[metric]}\n```\n'
    yield (
        "\nIf your number still differs, compare the inputs: which queries were evaluated, which documents were judged,"
        "\nand whether scores were rounded when they were written to a file.\n"
    )


def _has_two_values(explanation: fn.Explanation) -> bool:
    return explanation.against is not None and explanation.value != explanation.against.value


def _write_metrics(title: str, convention: Convention) -> Iterator[str]:
    """Yield the tables of metrics with the same number, with the same number otherwise, and with another number."""
    metrics = convention.metrics
    equal = [metric for metric in metrics if not (metric.by or metric.differs or metric.tie_difference)]
    otherwise = [metric for metric in metrics if metric.by or metric.tie_difference]
    other = [metric for metric in metrics if metric.differs]
    if equal:
        yield f"\n## Metrics that agree\n\nUnder the convention `{convention.name}`, the value is that of {title}.\n\n"
        yield from table(["there", "here"], ([f"`{metric.theirs}`", f"`{metric.ours}`"] for metric in equal))
    if otherwise:
        yield "\n## Metrics that agree under other settings\n\n"
        yield from table(["there", "relation"], ([f"`{metric.theirs}`", relation(metric)] for metric in otherwise))
    if other:
        yield "\n## Metrics that differ\n\nNo choice gives these numbers. Results have a note on them.\n\n"
        yield from table(["here", "there"], ([f"`{m.ours}`", f"{m.theirs} {m.differs}"] for m in other))


def _write_bugs(title: str, records: list[Convention]) -> Iterator[str]:
    """Yield a section for each bug, with its minimal case."""
    conventions_by_bug: dict[Bug, Convention] = {}
    for record in records:
        for bug in record.bugs:
            conventions_by_bug.setdefault(bug, record)
    if not conventions_by_bug:
        return
    yield f"\n## Bugs that are not copied\n\nThe convention gives the number that {title} means to give.\n"
    for number, (bug, convention) in enumerate(conventions_by_bug.items(), 1):
        mark = f"{number}. "
        pad = " " * len(mark)
        is_word = bug.what.partition(" ")[0].isalpha()
        what = bug.what[0].upper() + bug.what[1:] if is_word else bug.what
        yield f"\n{mark}{markdown_line(what)}.\n\n"
        values = f"{title}: {_format_value(bug.theirs)}. fastndcg: {_format_value(bug.ours)}."
        yield f"{pad}{values} Place: `{bug.source}`.\n\n"
        if bug.case:
            yield f"{pad}Case: {markdown_line(bug.case)}.\n"
        if bug.labels:
            yield pad + "".join(_write_case(bug, convention)).strip().replace("\n", f"\n{pad}") + "\n"


def _write_case(bug: Bug, convention: Convention) -> Iterator[str]:
    """Yield the minimal case of a bug as a Python example with our value."""
    labels = [int(label) if label == int(label) else label for row in bug.labels for label in row]
    scores = [float(score) for row in bug.scores for score in row]
    groups = [len(row) for row in bug.labels]
    by_id = convention.ties.startswith("id")  # the cases have no ids, and no equal scores
    name = convention.replace(ties="input").name if by_id else convention.name
    result = fn.evaluate(labels, scores, bug.metric, groups=groups, convention=name)
    scores_text = str(scores).replace("inf", 'float("inf")')
    if len(labels) > 10 and len(set(scores)) == 1:
        assert set(labels[1:]) == {0}, bug
        labels_text = f"[{labels[0]}] + [0] * {len(labels) - 1}"
        scores_text = f"[{scores[0]:g}] * {len(scores)}"
    else:
        labels_text = str(labels)
    yield f"```pycon\n>>> labels, scores = {labels_text}, {scores_text}\n"
    arguments = f'"{bug.metric}", groups={groups}, convention="{name}"'
    call = f"fn.evaluate(labels, scores, {arguments})"
    if bug.weights is None:
        yield f">>> {call}.means()\n{result.means()!r}\n```\n"
    else:
        weights = list(bug.weights)
        yield f">>> {call}.mean(weights={weights})\n{result.mean(weights=weights)!r}\n```\n"


def write_fields() -> Iterator[str]:
    """Yield the page of what each field decides, and of the choices of each convention."""
    yield "# The fields of a convention\n\n"
    yield (
        "A convention has one choice for each of these fields. The first choice is the default.\n"
        'Change one with `convention="default(ties=input)"`, or with {py:meth}`fastndcg.Convention.replace`.\n'
    )
    default = conventions["default"]
    for name, field in FIELDS.items():
        yield f"\n## {name}\n\n{field.text[0].upper() + field.text[1:]}.\n\n"
        rows = []
        for choice in field.choices:
            users = [f"`{c.name}`" for c in conventions.values() if c.peer and getattr(c, name) == choice]
            is_default = getattr(default, name) == choice
            text = _describe(name, choice)
            rows.append([_show(choice), text, "default" if is_default else ", ".join(users)])
        other_choices = [
            f"`{c.name}` ({short(getattr(c, name))})"
            for c in conventions.values()
            if getattr(c, name) not in field.choices
        ]
        if field.rule:
            rows.append(["other", f"A value{field.rule.removeprefix(' or')}.", ", ".join(other_choices)])
        yield from table(["choice", "in words", "conventions"], rows)


def _describe(field: str, choice: Value) -> str:
    """Return a sentence about a choice."""
    if (field, str(choice)) in WORDS:
        return WORDS[field, str(choice)]
    if field == "default_k":
        return f"A metric without a cutoff counts the first {choice} ranks."
    if isinstance(choice, tuple) and choice == tuple(2.0**label - 1 for label in range(len(choice))):
        return f"The gain of a label is 2^label − 1. The highest label is {len(choice) - 1}."
    return f"A table of {len(choice)} values." if isinstance(choice, tuple) else f"{FIELDS[field].text}: {choice}."


def _show(choice: Value) -> str:
    return f"`{short(choice)}`"


def _format_value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
