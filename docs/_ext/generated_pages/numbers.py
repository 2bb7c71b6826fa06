"""The pages "Why is my number different?": tables of all programs, and a page for each program."""

from __future__ import annotations

import fastndcg as fn
from fastndcg.named_conventions import FIELDS, Convention, conventions
from fastndcg.named_conventions.convention import Bug, relation, short
from fastndcg.parsing import Value
from generated_pages import TEMPLATES, fill

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
    ("ties", "mean_rank"): (
        "Equal scores all have the mean of their ranks. Only Rank, RR, Success and counts have values there."
    ),
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
TITLES = {
    "trec_eval, pytrec_eval, ir_measures": "pytrec_eval, ir_measures and trec_eval 9",
    "ndeval, pyndeval": "ndeval and pyndeval",
    "MS MARCO's script for RR@10": "MS MARCO's script",
}


def make_pages() -> dict[str, str | bytes]:
    """Return the page of each program, the page of all fields, and the table of programs for the overview."""
    programs: dict[str, list[Convention]] = {}
    for convention in conventions.values():
        if convention.peer:
            programs.setdefault(TITLES.get(convention.peer, convention.peer), []).append(convention)
    pages: dict[str, str | bytes] = {
        f"numbers/{records[0].name}.md": write_program(title, records) for title, records in programs.items()
    }
    pages["numbers/fields.md"] = fill("fields", fields=FIELDS, conventions=conventions)
    pages["_generated/parts/programs.md"] = fill("programs", programs=programs)
    return pages


def write_program(title: str, records: list[Convention]) -> str:
    """Return the page of a program with its conventions."""
    first = records[0]
    names = [name for name in CHECKED if name in {metric.name for metric in first.metrics}]
    checks = [fn.explain(QRELS, RUN, f"{name}@3", against=first.name) for name in names or ["nDCG"]]
    different = [check for check in checks if check.against and check.value != check.against.value]
    bugs: dict[Bug, Convention] = {}
    for record in records:
        bugs |= {bug: record for bug in record.bugs if bug not in bugs}
    return fill(
        "program",
        title=title,
        records=records,
        base=conventions["default"],
        usual=f"{names[0]}@10" if names else "alpha_nDCG@10",
        check=[*different, checks[0]][0],
        qrels=QRELS,
        run=RUN,
        options=list(dict.fromkeys(option for record in records for option in record.options)),
        most=max(records, key=lambda record: len(record.metrics)),
        bugs=bugs,
    )


def show_case(bug: Bug, convention: Convention) -> str:
    """Return the minimal case of a bug as a Python example with our value."""
    labels = [int(label) if label == int(label) else label for row in bug.labels for label in row]
    scores = [float(score) for row in bug.scores for score in row]
    groups = [len(row) for row in bug.labels]
    by_id = convention.ties.startswith("id")  # the cases have no ids, and no equal scores
    name = convention.replace(ties="input").name if by_id else convention.name
    result = fn.evaluate(labels, scores, bug.metric, groups=groups, convention=name)
    labels_text, scores_text = str(labels), str(scores).replace("inf", 'float("inf")')
    if len(labels) > 10 and len(set(scores)) == 1 and set(labels[1:]) == {0}:
        labels_text = f"[{labels[0]}] + [0] * {len(labels) - 1}"
        scores_text = f"[{scores[0]:g}] * {len(scores)}"
    means = "means()" if bug.weights is None else f"mean(weights={list(bug.weights)})"
    value = result.means() if bug.weights is None else result.mean(weights=bug.weights)
    call = f'fn.evaluate(labels, scores, "{bug.metric}", groups={groups}, convention="{name}").{means}'
    return f"```pycon\n>>> labels, scores = {labels_text}, {scores_text}\n>>> {call}\n{value!r}\n```"


def describe_choice(field: str, choice: Value) -> str:
    """Return a sentence about a choice."""
    if (field, str(choice)) in WORDS:
        return WORDS[field, str(choice)]
    if field == "default_k":
        return f"A metric without a cutoff counts the first {choice} ranks."
    if isinstance(choice, tuple) and choice == tuple(2.0**label - 1 for label in range(len(choice))):
        return f"The gain of a label is 2^label − 1. The highest label is {len(choice) - 1}."
    return f"A table of {len(choice)} values." if isinstance(choice, tuple) else f"{FIELDS[field].text}: {choice}."


TEMPLATES.globals |= {"describe_choice": describe_choice, "relation": relation, "show_case": show_case, "short": short}
TEMPLATES.filters |= {
    "start": lambda text: text[0].upper() + text[1:] if text.split()[0].isalpha() else text,
    "value": lambda value: value if isinstance(value, str) else f"{value:.4g}",
}
