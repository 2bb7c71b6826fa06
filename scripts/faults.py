"""
Put faults into a copy of the package, one at a time, and run the tests that must find each of them.

Usage: scripts/test --faults [--only TEXT] [--jobs N]

A fault is a replacement in one file. It is caught if one of its tests fails or crashes. All named tests are run without
a fault first: they must pass. Tests of a fault in a kernel run without the JIT, so that nothing is compiled. The exit
code is 1 if a fault escapes, or if its text is not once in its file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 1200  # seconds for one run of tests
IGNORED = shutil.ignore_patterns(".*", "__pycache__", "_build", "_generated")


class Fault(NamedTuple):
    """A wrong text in place of a right one, in a file of fastndcg/ or tests/, and tests in tests/ that find it."""

    subject: str
    file: str
    right: str
    wrong: str
    tests: str

    @property
    def has_jit(self) -> bool:
        """False for a kernel, which would be compiled."""
        return not self.file.startswith("kernels/")


DEFINITIONS = "definitions/test_{}.py"
RECORDED = "peers/test_recorded_values.py::test_recorded_values_are_reproduced_or_listed[kernels]"
CHOICES = "definitions/test_textbook.py::test_convention_choices_change_values_as_defined"
METRICS = "definitions/test_metrics.py"
TIES = "definitions/test_metrics.py::test_tie_policy_places_the_relevant_document"
ONE_SIDE = "definitions/test_textbook.py::test_queries_on_one_side_only"
LISTS = "peers/test_recorded_lists.py::test_"
TUNING = "fusion/test_tune_fusion.py::test_"
SIGNIFICANCE = "statistics/test_significance.py::test_"
DIRECTION = "properties/test_direction.py::test_"
PARAMETERS = "properties/test_catalogue.py::test_"
TOLD = f"{DIRECTION}training_tools_are_told_the_direction"
FAULTS = (
    # a kernel of each family of metrics
    Fault("DCG: the discount of the rank above", "kernels/metrics/gains.py",
          "hit_gains[h] * discounts[above + np.uint32(1)]", "hit_gains[h] * discounts[above + np.uint32(0)]", METRICS),
    Fault("nDCG: above 1", "kernels/metrics/gains.py",
          "min(dcg[q] / idcg[q], highest_ndcg)", "dcg[q] / idcg[q] * 2", METRICS),
    Fault("DCG at ties: another size", "kernels/metrics/gains.py",
          "discount = group_discount(all_discounts, above, stop, size)",
          "discount = group_discount(all_discounts, above, stop, size + 1)", METRICS),
    Fault("P: a cutoff that is not the last counts its next rank", "kernels/metrics/counts.py",
          "is_relevant * (above < cutoffs[i])", "is_relevant * (above <= cutoffs[i])",
          f"{PARAMETERS}values_of_a_parameter_in_one_call_are_those_alone"),
    Fault("DCG: a cutoff that is not the last counts its next rank", "kernels/metrics/gains.py",
          "+= gain * (above < cutoffs[i])", "+= gain * (above <= cutoffs[i])",
          f"{PARAMETERS}values_of_a_parameter_in_one_call_are_those_alone"),
    Fault("AP at ties: not the document itself", "kernels/metrics/counts.py",
          "total += (n_before + 1 + n_tied_above) / r", "total += (n_before + n_tied_above) / r", METRICS),
    Fault("F: beta is not squared", "kernels/metrics/counts.py",
          "1.0 / (1.0 + beta * beta)", "1.0 / (1.0 + beta)", METRICS),
    Fault("RR: the tie group of the first relevant document is cut", "kernels/ranking/candidates.py",
          "return max(end, find_group_end_in_query(hits.above, h, stop))", "return max(end, h)",
          "kernels/test_many_candidates.py"),
    Fault("RR at ties: the next rank", "kernels/metrics/first_relevant.py",
          "total += probability / r", "total += probability / (r + 1)", METRICS),
    Fault("fall-out counts relevant documents", "kernels/metrics/counts.py",
          "(min(sizes[q], k) - n_relevant_found[q]) / n_negative if", "min(sizes[q], k) / n_negative if",
          METRICS),
    Fault("AUC at ties: the document itself", "kernels/metrics/pairs.py",
          "(hit_ties[h] - 1)\n        twice_above", "hit_ties[h]\n        twice_above",
          METRICS),
    Fault("Q: the last gain alone", "kernels/metrics/gains.py",
          "gain_before += hit_gains[h]", "gain_before = hit_gains[h]", METRICS),
    Fault("PFound: one rank later", "kernels/metrics/cascades.py",
          "decay ** (r - 1)\n\n", "decay ** r\n\n", METRICS),
    Fault("bpref: more wrong pairs than preferences", "kernels/metrics/judgments.py",
          "n_wrong = min(float(above), n_preferences)", "n_wrong = float(above)", METRICS),
    Fault("alpha-nDCG: nothing is redundant", "kernels/metrics/subtopics.py",
          "gain += powers[n_before[s]]", "gain += powers[0]", DEFINITIONS.format("diversity")),
    Fault("all evidence: sets of subtopics all have one sign", "kernels/metrics/subtopics.py",
          "sign = -sign", "sign = sign", DEFINITIONS.format("diversity")),
    Fault("spans: text of a chunk above counts again", "kernels/metrics/spans.py",
          "parts.ahead[stop] = last", "parts.ahead[stop] = stop", DEFINITIONS.format("spans")),
    Fault("coverage error: one rank too high", "kernels/metrics/pairs.py",
          "out[query] = hit_above[h] + 1.0 if", "out[query] = hit_above[h] + 0.0 if",
          METRICS),
    Fault("INST: half the goal", "kernels/metrics/cascades.py", "x = 2.0 * goal + i", "x = goal + i",
          METRICS),
    Fault("IPrec: the precision there, not the highest below", "kernels/metrics/pairs.py",
          "highest_precision = max(highest_precision if query == last_query else 0.0, precision)",
          "highest_precision = precision", METRICS),
    Fault("Compat is not normalised", "kernels/metrics/cascades.py",
          "out[q] = min(out[q] / ideal_overlaps[n_ideal], 1.0) if", "out[q] = min(out[q], 1.0) if",
          METRICS),
    Fault("nDCG_rel: unretrieved documents count 0", "kernels/metrics/gains.py",
          "total = out[q] + (n_unranked * (out_dcg[q] / best) if n_unranked > 0.0 else 0.0)", "total = out[q]",
          METRICS),
    Fault("mean rank of tied documents", "kernels/metrics/first_relevant.py",
          "rank = hit_above[h] + (hit_ties[h] + 1) / (n_relevant + 1)", "rank = hit_above[h] + (hit_ties[h] + 1) / 2",
          DEFINITIONS.format("mean_rank")),
    Fault("tau_b: discordant pairs do not count", "kernels/metrics/agreement.py",
          "(n_concordant - n_discordant) / np.sqrt(product)", "n_concordant / np.sqrt(product)",
          DEFINITIONS.format("rank_correlation")),
    Fault("RBO: all depths weigh the same", "kernels/metrics/agreement.py",
          "weight *= p\n", "weight *= 1.0\n", DEFINITIONS.format("rank_correlation")),
    Fault("Gini: another middle", "kernels/metrics/beyond_accuracy.py",
          "(2 * i + 1 - n) * sorted_counts[i]", "(2 * i - n) * sorted_counts[i]",
          DEFINITIONS.format("beyond_accuracy")),
    Fault("Jaccard: categories of the first item alone", "kernels/metrics/beyond_accuracy.py",
          "n_all += popcount(x | y)", "n_all += popcount(x)", DEFINITIONS.format("beyond_accuracy")),
    # ranking and tie policies
    Fault("ranks: a score above is not counted in the last block", "kernels/ranking/rank.py",
          "return above + popcount(higher & tail.lanes), ties", "return above, ties", METRICS),
    Fault("ties=average: ordered", "engine/chunk.py",
          'if n_tied and self.policy.orders != "group":', "if n_tied:", TIES),
    Fault("ties=best: as worst", "kernels/ranking/candidates.py",
          "is_behind_zeros = hits.labels[i] < 0.0 if falls", "is_behind_zeros = hits.labels[i] > 0.0 if falls", TIES),
    Fault("ties=worst: documents without a label are forgotten", "kernels/ranking/candidates.py",
          "hits.above[i] += i - h + (n_zeros if is_behind_zeros else 0)", "hits.above[i] += i - h", TIES),
    Fault("ties=id_ascending: as id_descending", "engine/chunk.py",
          "keys = ~keys  #", "keys = keys  #", TIES),
    Fault("ties=id_descending: as given", "kernels/ranking/candidates.py",
          "    if keys.shape[0] > 0:\n", "    if False:\n", TIES),
    Fault("ties=input: by key", "engine/chunk.py",
          "input=rankings.tie_keys if policy.falls else None", "input=rankings.tie_keys", TIES),
    Fault("ties=input_reversed: as given", "engine/apply.py",
          "tie_keys=np.arange(rankings.n_documents)", "tie_keys=-np.arange(rankings.n_documents)", RECORDED),
    Fault("ties=mean_rank: the highest rank", "kernels/metrics/first_relevant.py",
          "rank = hit_above[h] + 0.5 * (hit_ties[h] + 1)\n            value",
          "rank = hit_above[h] + 1\n            value",
          DEFINITIONS.format("mean_rank")),
    # fields of a convention
    Fault("gain: always linear", "engine/plan.py",
          'else convention.gain', 'else "linear"', CHOICES),
    Fault("label_fractions: always kept", "engine/chunk.py",
          'truncates_labels = convention.label_fractions == "cut off" and (', "truncates_labels = False and (",
          RECORDED),
    Fault("discount: always log2", "engine/plan.py",
          "compute_discounts(convention.discount,", 'compute_discounts("log2",', CHOICES),
    Fault("discount: log2 for deep ranks", "engine/run.py",
          "discounts = make_discounts(plan.convention.discount,", 'discounts = make_discounts("log2",',
          "engine/test_chunks.py::test_the_discount_is_that_of_a_deep_rank"),
    Fault("ideal: always the judged documents", "engine/compute/gains.py",
          'if labels.convention.ideal == "k best":', "if False:", RECORDED),
    Fault("ideal: never as long as the run", "engine/compute/gains.py",
          'elif labels.convention.ideal == "min(k, n_retrieved)":', "elif False:",
          "conventions/test_conventions.py::test_convention_ideal_of_a_short_run"),
    Fault("pool: always the judged documents", "engine/apply.py",
          'if convention.pool == "retrieved" and rankings.pool is not None:', "if False:",
          "definitions/test_textbook.py::test_documents_that_were_not_retrieved_count_or_not"),
    Fault("relevant: above 0 as at least 1", "engine/plan.py",
          '"above 0": sys.float_info.min,', '"above 0": 1.0,', RECORDED),
    Fault("relevant: 0.5 is above 0.5", "engine/plan.py",
          '"above 0.5": math.nextafter(0.5, 1),', '"above 0.5": 0.5,', RECORDED),
    Fault("default_k: never", "metrics/resolve.py", "if not isinstance(default, int):", "if True:", RECORDED),
    Fault("undefined: always NaN", "engine/plan.py",
          'return convention.undefined if policy ==', 'return "nan" if policy ==', CHOICES),
    Fault("undefined_ap: as undefined", "engine/plan.py",
          "getattr(convention, metric.record.undefined_choice)", "convention.undefined", RECORDED),
    Fault("no_relevant: never skipped", "engine/plan.py",
          'return convention.no_relevant == "skipped"', "return False", RECORDED),
    Fault("no_relevant: skipped by the limit of gains", "engine/plan.py",
          "find_rel(metric, convention) if skips", "rel if skips", CHOICES),
    Fault("Evaluator: kernels follow the places of documents that were removed before", "engine/chunk.py",
          "if not np.array_equal(offsets[start:stop], self.document_offsets[start:stop]):",
          "if offsets[-1] != self.document_offsets[-1]:",
          "host/test_changing_arrays.py::"
          "test_evaluator_refuses_labels_that_remove_other_documents"),
    Fault("a run writes rows that do not count", "inputs/table.py",
          "write_table(self._settled(), path, format, tag)", "write_table(self, path, format, tag)",
          "inputs/test_duplicates.py::test_what_a_run_writes_are_the_documents_that_count"),
    Fault("excluded columns of a model whose ids are not in order", "recommenders/item_selection.py",
          "else renumber_items(fit_lists(items, name, shape, threads), item_places)",
          "else fit_lists(items, name, shape, threads)",
          "scoring/test_model_truth.py::"
          "test_columns_that_are_excluded_are_those_of_the_model_whatever_the_order_of_ids"),
    Fault("a named column that is absent is ignored", "inputs/frames.py",
          "        for role in self.given.by_role:\n", "        for role in ():\n",
          "inputs/test_frames.py::test_ranks_and_weights_count_where_there_is_nothing_else"),
    Fault("unjudged: never removed", "engine/apply.py",
          'if convention.unjudged == "removed" and', 'if convention.unjudged == "never" and',
          "definitions/test_textbook.py::test_unjudged_documents_keep_their_rank_or_lose_it"),
    Fault("negative_labels: kept under every choice", "engine/chunk.py",
          'floor = 0.0 if context.convention.negative_labels == "keep" else -math.inf', "floor = 0.0", CHOICES),
    Fault("missing_in_run: never skipped", "inputs/join.py",
          'judged = common if convention.missing_in_run == "skip" else', "judged =", ONE_SIDE),
    Fault("missing_in_qrels: always skipped", "inputs/join.py",
          'extra = unjudged if convention.missing_in_qrels == "undefined" else unjudged[:0]', "extra = unjudged[:0]",
          ONE_SIDE),
    Fault("nan_scores: never last", "engine/apply.py",
          'if convention.nan_scores == "last" and', "if False and", CHOICES),
    Fault("score_dtype: as given", "engine/apply.py",
          'if convention.score_dtype == "float32" and scores.dtype', "if False and scores.dtype", CHOICES),
    Fault("ap_denominator: all relevant documents", "engine/compute/counts.py",
          'if choice == "n_relevant":\n        return', "if True:\n        return", CHOICES),
    Fault("precision_denominator: always k", "engine/compute/counts.py",
          'if choice == "k" and m.metric.k is not None:', "if m.metric.k is not None:", CHOICES),
    Fault("recall_denominator: always all", "engine/compute/counts.py",
          'if labels.convention.recall_denominator == "n_relevant":', "if True:", RECORDED),
    Fault("recall_rounding: nearest as up from a tenth", "engine/compute/pairs.py",
          '"nearest": 0.5', '"nearest": 0.9', f"{METRICS}::test_recall_is_rounded_as_the_convention_says"),
    Fault("rbp_gain: always the gain", "engine/plan.py",
          'getattr(convention, metric.record.gain_choice) == "binary"', "False", METRICS),
    Fault("residual_of_nothing: always 1", "metrics/families/judgments.py",
          'variants=(("residual_of_nothing", 0, "judgments.rbp_residual_if_ranked"),),', "",
          "peers/test_recorded_trec_eval.py cli/test_trec_format.py"),
    Fault("precision_mean: always macro", "metrics/resolve.py",
          'and convention.precision_mean == "micro"', "and False",
          "conventions/test_conventions.py::test_micro_mean"),
    # join and readers
    Fault("join: runs by position", "inputs/join.py",
          "pairs[: len(judged), 1] = in_run[judged]", "pairs[: len(judged), 1] = np.arange(len(judged))",
          "inputs/test_join.py"),
    Fault("duplicates: empty places keep their judgment", "inputs/join.py",
          "judged[is_empty] = False", "judged[is_empty] |= False", "inputs/test_duplicates.py"),
    Fault("chunks: a document has the lowest label", "inputs/duplicates.py",
          "len(first_pairs), qrels.values,", "len(first_pairs), -qrels.values,",
          "inputs/test_duplicates.py"),
    Fault("chunks: ties are ordered by documents", "inputs/duplicates.py",
          "keys = _order_ids(run)  # of chunks", "keys = None  # of chunks", "inputs/test_duplicates.py"),
    Fault("join: unjudged documents are judged", "kernels/inputs/ids.py",
          "out.judged[offsets[q] : offsets[q + 1]] = False", "out.judged[offsets[q] : offsets[q + 1]] = True",
          "inputs/test_join.py::test_unjudged_and_unretrieved_documents"),
    Fault("TREC files: decimals move the wrong way", "kernels/inputs/text_lines.py",
          "power = first - place", "power = place - first",
          "inputs/test_text_lines.py::test_numbers_are_rounded_as_python_does"),
    Fault("svmlight: the prefix stays in the query", "inputs/formats.py",
          "names[query] = name.removeprefix(QUERY)", "names[query] = name", "inputs/test_formats.py"),
    Fault("CSV: 0x10 is a number", "inputs/text_lines.py",
          "if value and not DECIMAL.fullmatch(value):", "if False:", "inputs/test_formats.py"),
    Fault("JSON: the last of repeated keys counts", "inputs/records.py",
          "if len(parsed) < len(pairs):", "if False:",
          "inputs/test_damaged_files.py::test_damaged_text_names_the_place"),
    Fault("frames: a null is a number", "inputs/frames.py",
          "        if column.null_count:\n            place", "        if False:\n            place",
          "inputs/test_frames.py"),
    Fault("Parquet: any order of queries is sorted", "inputs/streams.py",
          "if not (self._rises or self._falls):", "if False:", "inputs/test_parquet.py::test_order_that_breaks_late"),
    Fault("Arrow: views of lists are not checked", "inputs/arrays.py",
          "    check_column(column, what)\n    refuse_nulls(column)", "    refuse_nulls(column)",
          "inputs/test_arrow_data.py::test_views_of_lists"),
    Fault("queries of one batch stay in the order of ids", "partitions.py",
          "if np.all(first_rows[1:] > first_rows[:-1]):", "if True:", "inputs/test_parquet.py"),
    Fault("damaged files: all are refused after the first ones", "inputs/table_sources.py",
          "def open_dataset(name: str) -> Any:\n",
          "def open_dataset(name: str, calls=[]) -> Any:\n    calls.append(name)\n    if len(calls) > 2:\n"
          "        raise InvalidInputError('refused')\n",
          "inputs/test_damaged_files.py::test_mutated_files_are_read_or_refused[parquet-parquet-plain-40]"),
    # statistics
    Fault("randomisation: p may be 0", "statistics/significance.py",
          "outcomes[place] = Significance((1 + n_extreme) / (1 + settings.replicates))",
          "outcomes[place] = Significance(n_extreme / settings.replicates)",
          f"{SIGNIFICANCE}sampled_p_is_never_0"),
    Fault("randomisation: equal sums are not extreme", "kernels/statistics.py",
          "abs(total) >= abs(observed) - rounding", "abs(total) > abs(observed) + rounding",
          f"{SIGNIFICANCE}exact_randomisation_counts_every_sign"),
    Fault("Wilcoxon: noise has ranks", "statistics/significance.py",
          "nonzero = differences[np.abs(differences) > threshold]", "nonzero = differences[np.abs(differences) >= 0]",
          f"{SIGNIFICANCE}rounding_has_no_sign_and_no_rank"),
    Fault("t test: one tail", "statistics/significance.py",
          "float(2 * special.stdtr(moments.degrees_of_freedom, -abs(t)))",
          "float(special.stdtr(moments.degrees_of_freedom, -abs(t)))", f"{SIGNIFICANCE}classical_tests_are_scipys"),
    Fault("bootstrap interval: not expanded", "statistics/intervals.py",
          "return quantile * math.sqrt(moments", "return quantile * bool(moments", "statistics/test_intervals.py"),
    Fault("Holm: as Bonferroni", "statistics/significance.py",
          "np.maximum.accumulate(ascending * np.arange(n, 0, -1))", "np.maximum.accumulate(ascending * n)",
          f"{SIGNIFICANCE}corrections_are_statsmodels"),
    Fault("power: one tail", "statistics/significance.py",
          "stdtrit(degrees_of_freedom, 1 - alpha /", "stdtrit(degrees_of_freedom, 1 - 2 * alpha /",
          f"{SIGNIFICANCE}smallest_difference_is_statsmodels"),
    Fault("Tukey: the level of the tests of the table", "statistics/significance.py",
          "n_tests[:] = n_systems * (n_systems - 1) / 2", "n_tests[:] = n_systems - 1",
          f"{SIGNIFICANCE}smallest_difference_of_tukey_is_at_the_level_of_one_of_all_pairs"),
    Fault("standard error of clusters: twice the variance", "statistics/moments.py",
          "(unit_sums**2", "(2 * unit_sums**2", "statistics/test_intervals.py"),
    Fault("digest of a truth: labels do not count", "forms/digests.py",
          "return _mix(table.documents, _as_column(table.values), start=hashes)",
          "return _mix(table.documents, start=hashes)", "results/test_saved.py::test_digests"),
    Fault("gate: results of two truths", "statistics/gate.py",
          "    if len(digests - {\"\"}) > 1:", "    if truth is not None and len(digests - {\"\"}) > 1:",
          "cli/test_gate.py::test_changed_truth_is_seen_however_it_is_given[dict]"),
    Fault("betting: a bet is of its own value, too", "statistics/intervals.py",
          "before = np.concatenate([np.full_like(variances[..., :1], PRIOR_VARIANCE), variances[..., :-1]], -1)",
          "before = variances",
          "statistics/test_gate.py::test_betting_bound_is_where_the_mean_stake_of_all_orders_is_enough"),
    Fault("exact bounds: of the smallest share of differing queries alone", "statistics/intervals.py",
          "    most = max(least, most)\n", "    most = least\n",
          "statistics/test_gate.py::test_exact_bounds_are_rarely_wrong"),
    Fault("gate: Tango's score as it is", "statistics/gate.py", 'if interval.method == "tango":', "if False:",
          "statistics/test_gate.py::test_gate_has_exact_bounds_and_bounds_have_exact_p_values"),
    Fault("bootstrap: draws of the next counters", "kernels/statistics.py",
          "words[i] = draw(stream, np.uint64(start // PARTS + i))",
          "words[i] = draw(stream, np.uint64(start // PARTS + i + 1))",
          "statistics/test_resampling.py::test_bootstrap_counts_are_those_of_the_seed_replicate_and_query"),
    Fault("gate: higher values are always better", "statistics/gate.py",
          "Quantity(*(1, place, 0)[:: metric.sign])", "Quantity(1, place, 0)", f"{DIRECTION}gate_is_mirrored"),
    Fault("gate: queries with larger values are never worse", "statistics/gate.py",
          "(columns[1] - columns[0]) * [metric.sign for metric in parsed]", "columns[1] - columns[0]",
          f"{DIRECTION}gate_is_mirrored"),
    Fault("gate: a ceiling is a floor", "statistics/gate.py",
          "if sign * value >= sign * row.floor:", "if value >= row.floor:", f"{DIRECTION}gate_is_mirrored"),
    Fault("leaderboard: the highest mean is always first", "statistics/leaderboard.py",
          "gains = board.sign * means", "gains = means", f"{DIRECTION}leaderboard_is_mirrored"),
    Fault("leaderboard: a higher mean is always surely better", "statistics/leaderboard.py",
          "np.nan_to_num(sign * (means", "np.nan_to_num((means", f"{DIRECTION}leaderboard_is_mirrored"),
    Fault("leaderboard: the first pair that is not sure is taken for sure", "statistics/leaderboard.py",
          "n_open = 1 + int(", "n_open = int(", "statistics/test_leaderboard.py::test_sure_pairs_are_those_of_steps"),
    Fault("compare: larger values are always won", "statistics/result_rows.py",
          "(system, metric, baseline)[:: signs[metric] or 1]", "(system, metric, baseline)",
          f"{DIRECTION}comparison_is_mirrored"),
    Fault("report and terminal: larger values are always better", "statistics/result_rows.py",
          "return describe_gain(Metric.parse(self.metric).sign * self.difference)",
          "return describe_gain(self.difference)", f"{DIRECTION}texts_and_pages_are_mirrored"),
    Fault("sentences: the better system and the other change places", "statistics/result_rows.py",
          "system, other = show_name(row.system), show_name(baseline)",
          "other, system = show_name(row.system), show_name(baseline)",
          "reports/test_reports.py::test_a_sentence_says_which_system_is_better_by_how_much_and_how_sure"),
    Fault("side files: a header counts as a row", "inputs/side_files.py",
          "lines[has_header:]", "lines[:]", "cli/test_side_files.py::test_each_option_reads_each_format"),
    Fault("report: another sentence comes first", "reports/templates/page.html",
          "in sentences %}", "in sentences[::-1] %}",
          "reports/test_reports.py::TestPage::test_the_sentences_are_first"),
    Fault("report: the highest mean is always best", "reports/page.py",
          "-metric.sign * row.mean)", "-row.mean)", f"{DIRECTION}texts_and_pages_are_mirrored"),
    Fault("report: queries with larger values are always won", "reports/queries.py",
          "self.sign = comparison.metrics[place].sign", "self.sign = 1", f"{DIRECTION}texts_and_pages_are_mirrored"),
    Fault("forest: the largest difference is always on top", "reports/plots.py",
          "else metric.sign * row.difference)", "else row.difference)", f"{DIRECTION}plots_are_mirrored"),
    Fault("histogram: larger values are always blue", "reports/plots.py",
          "colours[1 + metric.sign * (", "colours[1 + (", f"{DIRECTION}plots_are_mirrored"),
    Fault("Spark's compare: larger values are always better", "integrations/spark/compare.py",
          "        if sign < 0:\n            moments = moments.turn()\n", "",
          f"{DIRECTION}spark_comparison_is_mirrored"),
    Fault("tuning: higher means are always better", "fusion/tuning/line_search.py",
          "        metric.sign,\n", "        1,\n", f"{DIRECTION}tuning_takes_the_best_mean_of_every_metric"),
    Fault("tuning: the highest mean is always the rival", "fusion/tuning/result.py",
          "key=lambda row: self.metric.sign * row.mean", "key=lambda row: row.mean", f"{DIRECTION}tuning_is_mirrored"),
    Fault("LightGBM: higher values are always better", "integrations/lightgbm.py",
          "(str(metric), mean, metric.sign > 0)", "(str(metric), mean, True)", f"{TOLD}[lightgbm]"),
    Fault("MLflow: as the record of the metric, whatever the aggregate", "integrations/mlflow.py",
          "greater_is_better=first.sign > 0", "greater_is_better=first.record.higher_is_better",
          f"{TOLD}[mlflow]"),
    Fault("a sum loses its low bits", "kernels/statistics.py",
          "out_limbs[limb] += sign * (lower & LOW)", "out_limbs[limb] += sign * 0", "results/test_aggregates.py"),
    # fusion
    Fault("mnz: a sum", "kernels/fusion/points.py",
          "        out[d] = total * weight\n", "        out[d] = total\n",
          "fusion/test_definitions.py::test_method_gives_the_score_of_its_definition"),
    Fault("min_max, z_score: the shift is forgotten", "kernels/fusion/points.py",
          "(scores[r, d] * unit - shift) / divisor", "scores[r, d] * unit / divisor",
          "fusion/test_definitions.py::test_normalisation_gives_the_score_of_its_definition"),
    Fault("rrf: a rank too high", "kernels/fusion/points.py",
          "out[r, d] = points[rank - 1]", "out[r, d] = points[max(rank - 2, 0)]",
          "fusion/test_definitions.py::test_method_gives_the_score_of_its_definition"),
    Fault("line search: crossings turn the wrong way", "kernels/fusion/line_search.py",
          "above += 1 if buffers.crossing_bits[i] & 1 else -1", "above += -1 if buffers.crossing_bits[i] & 1 else 1",
          "fusion/test_line_search.py::test_step_function_equals_the_twin"),
    Fault("tuning: the first interval, not the best", "kernels/fusion/line_search.py",
          "is_better = value > out_best[s, 2] or", "is_better = out_best[s, 2] == -np.inf or",
          "fusion/test_line_search.py::test_best_interval_is_not_below_10_001_weights"),
    Fault("tuning: the comparison forgets clusters", "fusion/tuning/result.py",
          "clusters=origin.clusters,", "clusters=None,", f"{TUNING}clusters_are_units_of_the_comparison"),
    Fault("tuning: standard errors forget clusters", "fusion/tuning/result.py",
          "    if clusters is not None:\n", "    if False:\n", f"{TUNING}clusters_are_units_of_the_standard_error"),
    Fault("tuning: random starts forget the seed", "fusion/tuning/search.py",
          "draw_numbers(seed, STARTS,", "draw_numbers(0, STARTS,",
          f"{TUNING}random_starts_depend_on_the_seed"),
    Fault("tuning: a crossing is a plateau", "fusion/tuning/search.py",
          "            low = high = weight\n", "            pass\n",
          f"{TUNING}a_crossing_is_a_plateau_of_one_weight"),
    Fault("tuning: the first run for the best run", "fusion/tuning/search.py",
          "singles[int(np.argmax(means))]", "singles[0]", f"{TUNING}an_ascent_begins_at_the_best_run"),
    Fault("tuning: every fold has the curve of all", "fusion/tuning/result.py",
          "defined[fold_numbers == fold].mean(axis=0)", "defined.mean(axis=0)",
          f"{TUNING}curves_of_folds_are_those_of_evaluate"),
    Fault("tuning: simple weights are not tried", "fusion/tuning/search.py",
          "        for weight in SIMPLE_WEIGHTS:\n            weights = np",
          "        for weight in ():\n            weights = np",
          f"{TUNING}notes_say_what_the_interval_means"),
    Fault("tuning: the best mean is not that of the engine", "fusion/tuning/validate.py",
          "value = mean(grid.evaluate(chosen)[mask])", "value = best.mean",
          f"{TUNING}training_means_are_those_of_the_engine"),
    Fault("tuning: held-out values are those of all queries", "fusion/tuning/validate.py",
          "for s in range(1, 1 + folds.n)]", "for s in [0] * folds.n]",
          f"{TUNING}held_out_values_come_from_the_other_folds"),
    # conventions
    Fault("trulens: a query without relevant documents has a precision", "named_conventions/search.py",
          'no_relevant="skipped",\n        peer="TruLens"', 'no_relevant="undefined",\n        peer="TruLens"',
          f"{LISTS}lists_are_reproduced_or_listed[kernels]"),
    Fault("llama_index: a query without relevant documents has a precision", "named_conventions/search.py",
          'no_relevant="skipped",\n        missing_in_run', 'no_relevant="undefined",\n        missing_in_run',
          f"{LISTS}lists_that_both_refuse[kernels]"),
    Fault("mlflow: the ideal is as long as the truth", "named_conventions/search.py",
          'ideal="min(k, n_retrieved)",\n        undefined=0,\n        peer="MLflow"',
          'undefined=0,\n        peer="MLflow"',
          f"{LISTS}mlflow_takes_a_document_again_for_another_one"),
    Fault("elasticsearch: labels above 0 are relevant", "named_conventions/search.py",
          '**(ENGINE | {"relevant": "at least 1"}),', "**ENGINE,",
          "conventions/test_conventions.py::test_values_are_recorded[elasticsearch]"),
    Fault("documents that tie with a candidate are located above it", "kernels/ranking/sort.py",
          "            if keys[first] == key:\n", "            if keys[first] == key and key != lowest:\n",
          "kernels/test_many_candidates.py::test_rank_matches_brute_force_with_many_candidates"),
    # nouns
    Fault("a run gives the documents of a query as they came", "inputs/table.py",
          "return next(self.top(max(1, len(self))).iterate_dicts())[1]", "return next(self.iterate_dicts())[1]",
          "inputs/test_nouns.py::test_queries_and_one_query"),
    Fault("lists of whole numbers are runs of fuse", "forms/named_systems.py",
          "        refuse_item_lists(run, name)\n", "        return rank_items(Recommendations(run), name)\n",
          "inputs/test_what_people_bring.py::test_lists_of_whole_numbers_are_labels_and_scores_or_an_error"),
    Fault("convert writes all rows of a run", "cli/convert.py",
          "table = table._settled()", "pass",
          "cli/test_convert.py::test_documents_that_count_are_written"),
    # nothing in silence
    Fault("a query with an empty dict is dropped", "inputs/table.py",
          "        offsets = count_offsets(copied_rows.values())\n        items = read_items(",
          "        copied_rows = {query: row for query, row in copied_rows.items() if row}\n"
          "        offsets = count_offsets(copied_rows.values())\n        items = read_items(",
          "test_silence.py::test_an_empty_list_counts_0_in_every_form"),
    Fault("a leaderboard forgets the judged queries that runs lack", "statistics/leaderboard.py",
          "return [*notes_on_systems(missing), *judged,", "return [*judged,",
          "test_silence.py::test_every_function_that_joins_has_the_notes_of_evaluate"),
    # under attack
    Fault("saved results: a field of another kind is taken", "results/saved.py",
          "    if type(value) is not kind:\n", "    if False:\n",
          "results/test_saved.py::test_fields_of_another_kind_are_refused"),
    Fault("a temporary file that another process writes is removed", "exports.py",
          "'[0-9a-f]'}\"), DAY)", "'[0-9a-f]'}\"), 0)",
          "exports/test_exports.py::test_files_that_killed_processes_left_are_removed"),
    Fault("side files name queries by texts alone", "cli/files.py",
          "return int(text) if is_number else text", "return text", "cli/test_attacks.py::test_ids_that_are_numbers"),
    # models
    Fault("embeddings: equal scores are above", "kernels/scoring/consume.py",
          "above += popcount(higher)", "above += popcount(higher | same)",
          "scoring/test_ranks.py::test_values_are_those_of_the_score_matrix"),
    Fault("hamming: equal bits are counted", "kernels/scoring/panels.py",
          "(user ^ item)", "(user & item)",
          "scoring/test_number_formats.py::test_hamming_distance_of_packed_bits"),
    # results
    Fault("bounds of AP: documents beyond the cutoff are never relevant", "kernels/judging.py",
          "for n in (fewest, most):", "for n in (fewest, fewest):",
          "judging/test_bounds.py::test_bounds_are_those_of_every_labelling"),
    Fault("bounds of nDCG: a query without any gain has a value", "kernels/judging.py",
          "n_needed = 1 if ideal <= 0 else 0", "n_needed = 0",
          "judging/test_bounds.py::test_bounds_are_those_of_every_labelling"),
    Fault("bounds of RR: relevant documents of a tie group are those that the other system ranks first",
          "judging/metric_bounds.py", "falling = -np.where(", "falling = np.where(",
          "judging/test_bounds.py::test_bounds_are_those_of_every_labelling"),
    Fault("bounds: means never lack queries that labels make undefined", "judging/bounds.py",
          "mean(np.concatenate([needed, optional[:n]]))", "mean(np.concatenate([needed, optional]))",
          "judging/test_bounds.py::test_mean_bounds_leave_out_queries_that_labels_make_undefined"),
    Fault("recall of an index: ties at the edge are lost", "vector_index.py",
          "scores >= level[found.users]", "scores > level[found.users]", "scoring/test_index_recall.py"),
    Fault("recall of an index: a document found again counts twice", "vector_index.py",
          "| (np.diff(items[order]) != 0)", "| (np.diff(ranks[order]) != 0)", "scoring/test_index_recall.py"),
    Fault("recall of an index: the scores of settings are exchanged", "vector_index.py",
          "raw[order] = pairs.levels", "raw = pairs.levels", "scoring/test_index_recall.py"),
    Fault("recall of an index: numbers are rows although documents have numbers as ids", "vector_index.py",
          "model.document_ids.are_texts:\n", "True:\n", "scoring/test_index_recall.py"),
    Fault("judge: a weight is fitted with the query that it serves", "statistics/prediction_powered.py",
          "products = products - own * theirs * n / (n - 1)", "products = products + 0", "judging/test_judges.py"),
    Fault("judge: the queries of the judge alone have human ones among them", "judging/judges.py",
          "is_other[both.common[:, 1]] = False", "is_other[:0] = False", "judging/test_judges.py"),
    Fault("judge: its errors name the qrels", "judging/judges.py",
          'with reworded(lambda part: re.sub(', 'with reworded(lambda part: str(part) or re.sub(',
          "judging/test_judges.py::test_bad_input_is_named"),
    Fault("table: a copy has no cells", "statistics/table.py",
          "self.cells() if columns else None}", "None}", "properties/test_copies.py::test_copies_give_the_same"),
    Fault("judge: undefined values stand at 0, not at the mean", "statistics/prediction_powered.py",
          "(values - values[is_defined].mean()) / is_defined.mean(), 0.0)", "values, 0.0)",
          "judging/test_judges.py::test_undefined_queries_are_left_out_of_the_mean"),
    Fault("judge: labels of other documents are taken", "judging/judges.py",
          "    if is_shared.all():\n        return\n", "    if True:\n        return\n",
          "judging/test_judges.py::test_bad_input_is_named"),
    Fault("judge: rare failures that it misses are forgotten", "statistics/prediction_powered.py",
          "END_WEIGHT * ((mean - low)", "0 * ((mean - low)",
          "judging/test_judges.py::test_failures_too_rare_to_be_seen_widen_the_error"),
    Fault("counts of vectors that change are indices", "engine/chunk.py",
          "if out.counts.item(3):\n            refuse_changed(\"predictions\")", "if False:\n            pass",
          "scoring/test_model_errors.py"),
    Fault("the mean: a step counts from the first value", "explaining/__init__.py",
          "Fraction(found.value) - Fraction(known), found.value", "Fraction(found.value) - Fraction(known), known",
          "explain/test_explain.py::test_what_fields_add_is_the_difference_of_the_means"),
    Fault("saved results of spans are read as others", "results/kinds.py",
          '"evaluate_spans": SpanResults', '"evaluate_spans": Results',
          "results/test_kinds.py::test_every_use_has_the_values_or_says_why_not"),
    # an option in one of several paths
    Fault("leaderboard: pairs of other data sets count data sets alike", "statistics/leaderboard.py",
          "shares[:, None] * (data_means - means)", "(data_means - means) / len(shares)",
          "statistics/test_leaderboard.py::test_pairs_of_other_data_sets"),
    Fault("plan: the differences of a gate are those of its first metric", "statistics/planning.py",
          "source.differences(metric)", "source.differences()", "statistics/test_gate.py::test_plan_from_results"),
    Fault("digests: the shape of labels is left out", "forms/digests.py",
          " {_digest(_mix(sizes, _as_column(shape)))}", "", "results/test_saved.py::test_digests"),
    Fault("duplicates: scores are not rounded to float32", "inputs/duplicates.py",
          'convention.score_dtype == "float32"', "False", "inputs/test_duplicates.py::test_single_precision_ties"),
    Fault("-M: scores are not rounded to float32", "inputs/join.py",
          'if convention.score_dtype == "float32" else', "if False else",
          "cli/test_flags.py::test_first_documents_are_those_of_the_conventions_scores"),
    Fault("models: exclude is lost beside leave_query_out", "recommenders/item_selection.py",
          "own if exclude is None else unite_lists(exclude, own)", "own",
          "scoring/test_exact_ranks.py::test_query_is_left_out_by_its_id"),
    Fault("nuggets: the share of partial support is kept without its value", "engine/compute/subtopics.py",
          'partial = m.numbers["partial"]', 'partial = chunk.memo.setdefault(("partial", m.rel), m.numbers["partial"])',
          f"{PARAMETERS}values_of_a_parameter_in_one_call_are_those_alone"),
    Fault("memo: the last argument is not in the key", "engine/compute/memo.py",
          "key = compute, arguments", "key = compute, arguments[:-1]",
          f"{PARAMETERS}values_of_a_parameter_in_one_call_are_those_alone"),
    Fault("GAUC: weights count labels of 1", "metrics/resolve.py",
          'return Metric("num_rel", rel=metric.get("rel"))', 'return Metric("num_rel")',
          f"{PARAMETERS}labels_below_a_threshold_are_as_if_they_were_0"),
    Fault("fusion: the mean of z-scores is 0 under a lowest score", "fusion/normalization.py",
          ' and not convention.lowest_score:', ":",
          "fusion/test_equals_reference.py::test_absent_documents_equal_the_reference_under_each_convention"),
    Fault("tuning: a grid takes the highest mean", "fusion/tuning/search.py",
          "self.judged.sign * value > self.judged.sign * best[place].mean", "value > best[place].mean",
          f"{DIRECTION}tuning_takes_the_best_mean_of_every_metric"),
    Fault("curves of a plot lose the parameters of the metric", "cli/compare.py",
          "Metric(metric.name)(**dict(metric.parameters))", "Metric(metric.name)",
          "cli/test_flags.py::test_plots_are_of_the_metric_with_its_parameters"),
    Fault("change: all orders of the four settings weigh the same", "explaining/change.py",
          "Fraction(1, n * math.comb(n - 1, sum(there)))", "Fraction(1, 2 ** (n - 1))",
          "explain/test_change.py::test_shapley_values_of_a_game"),
    Fault("change: a query of one mean changes with the judgments", "explaining/change.py",
          "known = np.where(np.isnan(ends), ends[::-1], ends)", "known = np.nan_to_num(ends)",
          "explain/test_change.py::test_queries_that_one_mean_counts_are_the_part_of_queries"),
    Fault("change: a tie group has the rank of its first document", "explaining/moves.py",
          "above, ties = rows.first[own] - 1, rows.last", "above, ties = rows.last[own] - 1, rows.last",
          "explain/test_change.py::test_documents_by_hand"),
    Fault("change: a document of one side has no other label", "explaining/moves.py",
          "there = _read(_read(other_sides[place].labels, found), row)", "there = labels[place]",
          "explain/test_change.py::test_a_document_of_one_side_has_both_labels"),
    Fault("change: other judgments are read above the cutoff alone", "explaining/change.py",
          "rank_rows(system, numbers, None if by_label else metric.k)", "rank_rows(system, numbers, metric.k)",
          "explain/test_change.py::test_labels_after_of_documents_that_other_judgments_place_below_the_cutoff"),
    Fault("change: values by the convention are not noted", "explaining/change.py",
          "has_sum = np.bincount(side.queries, side.adds != 0", "has_sum = np.bincount(side.queries, None",
          "explain/test_change.py::test_values_that_the_convention_gives_are_noted"),
    Fault("change: slices are compared with zero, not with the rest", "explaining/change.py",
          "centred = differences - mean(differences)", "centred = differences",
          "explain/test_change.py::test_p_values_are_those_of_scipy"),
    Fault("explain: undefined_ap raises", "explaining/contributions.py",
          'for field in ("undefined", "undefined_ap") if', 'for field in ("undefined",) if',
          "explain/test_explain.py::test_undefined"),
    # proofs of the tables
    Fault("a convention claims a metric without a proof", "tests/helpers/factor_cases.py",
          '"precision_at_k@{k}": "P@{k}", ', "",
          "conventions/test_peer_metrics.py::test_equal_metrics_are_proven"),
)  # fmt: skip


def run_tests(folder: Path, tests: str, *, has_jit: bool) -> tuple[int, str]:
    """Return pytest's exit code and its summary, for tests in a copy of the repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("FASTNDCG_", "PYTEST_"))}
    environment |= {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "NUMBA_DISABLE_JIT": "0" if has_jit else "1"}
    names = [f"tests/{test}" for test in tests.split()]
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--hypothesis-profile=unshrunk"]
    command = [sys.executable, "-m", "pytest", *options, *names]
    try:
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return -1, f"not done after {LIMIT} s"
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return ended.returncode, (failed or ended.stdout.splitlines() or ["no output"])[-1]


def find_problem(fault: Fault, folder: Path) -> str:
    """Return why a fault was not caught, or an empty text if it was."""
    path = folder / fault.file if fault.file.startswith("tests/") else folder / "fastndcg" / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.right) != 1:
        return f"does not apply: its text is {text.count(fault.right)} times in {fault.file}"
    path.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
    try:
        code, summary = run_tests(folder, fault.tests, has_jit=fault.has_jit)
    finally:
        path.write_text(text, encoding="utf-8")
    return "" if code in (1, -signal.SIGSEGV) else f"ESCAPES: {summary}"


def main() -> int:
    """Run the tests of all faults, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="faults with this text in their subject or file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    faults = [fault for fault in FAULTS if arguments.only in f"{fault.subject} {fault.file}"]
    if not faults:
        parser.error(f"no fault has {arguments.only!r} in its subject or file")
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        own = threading.local()

        def find_copy() -> Path:
            if not hasattr(own, "copy"):
                own.copy = shutil.copytree(ROOT, Path(scratch) / str(threading.get_ident()), ignore=IGNORED)
            return own.copy  # type: ignore[no-any-return]

        def run_clean(has_jit: bool) -> str:
            tests = dict.fromkeys(fault.tests for fault in faults if fault.has_jit == has_jit)
            code, summary = run_tests(find_copy(), " ".join(tests), has_jit=has_jit)
            return "" if code == 0 else f"FAILS WITHOUT A FAULT: {summary}"

        def run_fault(fault: Fault) -> tuple[str, float]:
            copy, begin = find_copy(), time.monotonic()
            return find_problem(fault, copy), time.monotonic() - begin

        problems = list(pool.map(run_clean, {fault.has_jit for fault in faults}))
        print(*(problem or "the tests pass without a fault" for problem in problems), sep="\n", flush=True)
        for fault, (problem, seconds) in zip(faults, pool.map(run_fault, faults), strict=True):
            problems.append(problem)
            print(f"{seconds:5.0f} s  {fault.subject:60}  {problem or 'caught'}", flush=True)
    n_bad = sum(map(bool, problems))
    print(f"{len(faults)} faults, {n_bad} problems")
    return int(n_bad > 0)


if __name__ == "__main__":
    sys.exit(main())
