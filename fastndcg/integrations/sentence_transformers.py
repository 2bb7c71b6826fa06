"""
Evaluators for sentence-transformers that compute their metrics by fastndcg.

They are subclasses of sentence-transformers' evaluators of the same names. So they take the same arguments, return and
write the same keys and values, and can be given to a `SentenceTransformerTrainer`.

>>> from fastndcg.integrations.sentence_transformers import InformationRetrievalEvaluator
>>> evaluator = InformationRetrievalEvaluator(
...     queries={"q1": "cheap flights"}, corpus={"d1": "low fares", "d2": "bus tours"}, relevant_docs={"q1": {"d1"}}
... )
>>> evaluator.compute_metrics([[{"corpus_id": "d2", "score": 0.9}, {"corpus_id": "d1", "score": 0.4}]])["mrr@k"]
{10: 0.5}
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastndcg.compat.sklearn import label_ranking_average_precision_score
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.evaluation import evaluate
from fastndcg.forms.dispatch import read_run_form
from fastndcg.fusion.fuse import fuse
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Qrels, Run
from fastndcg.integrations.torch_tensors import to_arrays
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import conventions
from fastndcg.rankings.validation import Array
from fastndcg.results.results import Results
from fastndcg.runtime.imports import optional_import
from fastndcg.statistics.compare import compare
from fastndcg.statistics.comparison import Comparison

LOGGER = logging.getLogger(__name__)
CONVENTION = conventions["sentence_transformers"]
AS_GIVEN = CONVENTION.replace(ties="input")


def _import_evaluation() -> Any:
    """Return sentence-transformers' module of evaluators, which has another name before version 6."""
    package = optional_import("sentence_transformers", "this evaluator", "sentence_transformers").__name__
    parent = f"{package}.sentence_transformer"
    return importlib.import_module(f"{parent if find_spec(parent) else package}.evaluation")


evaluation: Any = _import_evaluation()
torch: Any = optional_import("torch", "this evaluator", "sentence_transformers")


class TopDocuments:
    """The k highest-scored documents of each query so far. Of equal scores, the lower number is first."""

    def __init__(self, n_queries: int, k: int) -> None:
        self._k = k
        self.scores: Array = np.empty((n_queries, 0), "f4")  # at most k columns, from the highest
        self.documents: Array = np.empty((n_queries, 0), "i8")  # their numbers

    def add(self, scores: Array, documents: Array) -> None:
        """Add documents: (n_queries, n) scores and numbers in any order."""
        all_scores = np.concatenate([self.scores, scores], axis=1)
        all_documents = np.concatenate([self.documents, documents], axis=1)
        order = np.lexsort((all_documents, -all_scores), axis=1)[:, : self._k]
        self.scores = np.take_along_axis(all_scores, order, axis=1)
        self.documents = np.take_along_axis(all_documents, order, axis=1)


class Cutoffs(NamedTuple):
    """The cutoffs of each metric."""

    accuracy: Sequence[int]
    precision_recall: Sequence[int]
    mrr: Sequence[int]
    ndcg: Sequence[int]
    map: Sequence[int]

    @property
    def deepest(self) -> int:
        """The largest cutoff."""
        return max(max(cutoffs, default=1) for cutoffs in self)

    def list_metrics(self) -> dict[str, list[Metric]]:
        """Return the metrics by the names and in the order of sentence-transformers."""
        return {
            "accuracy@k": [Metric("Success", k) for k in self.accuracy],
            "precision@k": [Metric("P", k) for k in self.precision_recall],
            "recall@k": [Metric("R", k) for k in self.precision_recall],
            "ndcg@k": [Metric("nDCG", k) for k in self.ndcg],
            "mrr@k": [Metric("RR", k) for k in self.mrr],
            "map@k": [Metric("AP", k) for k in self.map],
        }

    def tabulate(self, results: Results) -> dict[str, dict[int, float]]:
        """Return means as sentence-transformers has them: {"accuracy@k": {k: value}, …}."""
        means = dict(zip(results.metrics, results.means(), strict=True))
        return {
            name: {int(metric.k or 0): means[metric] for metric in group} for name, group in self.list_metrics().items()
        }


class InformationRetrievalEvaluator(evaluation.InformationRetrievalEvaluator):  # type: ignore[misc]
    """
    The metrics of a search for each query among all documents.

    Each chunk of the corpus is encoded and scored once. Only the highest scores of each query are kept, up to the
    deepest cutoff. Documents with equal scores are ordered by their ids. Accuracy@k is the hit rate, which fastndcg
    calls ``Success @ k``.

    Parameters
    ----------
    *arguments, **options
        Those of sentence-transformers' `InformationRetrievalEvaluator`: queries, corpus, relevant_docs,
        corpus_chunk_size, mrr_at_k, ndcg_at_k, accuracy_at_k, precision_recall_at_k, map_at_k, show_progress_bar,
        batch_size, name, write_csv, truncate_dim, score_functions, main_score_function, query_prompt,
        query_prompt_name, corpus_prompt, corpus_prompt_name, write_predictions. Queries without relevant documents are
        left out.

    Raises
    ------
    InvalidInputError
        If no query has relevant documents, or a document is listed twice for a query.
    InvalidTypeError
        If the ids of `corpus` cannot be ordered.

    Examples
    --------
    >>> evaluator = InformationRetrievalEvaluator({"q": "cheap"}, {"a": "low", "b": "bus"}, {"q": {"a"}}, ndcg_at_k=[3])
    >>> evaluator.compute_metrics([[{"corpus_id": "a", "score": 0.9}]])["ndcg@k"]
    {3: 1.0}
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if not self.queries_ids:
            raise InvalidInputError("`relevant_docs` must have documents for a query, but has none. Check the ids.")
        for query in self.queries_ids:
            documents = self.relevant_docs[query]
            if len(set(documents)) < len(documents):
                raise InvalidInputError(
                    f"`relevant_docs` must list a document once, but query {shorten(query)} has one twice. Pass sets."
                )
        try:
            order = sorted(range(len(self.corpus_ids)), key=self.corpus_ids.__getitem__)
        except TypeError as error:
            raise InvalidTypeError(f"ids of `corpus` must be of one type: {error}. Convert them by str().") from error
        self._ids = [self.corpus_ids[place] for place in order]
        self._numbers = np.empty(len(order), "i8")
        self._numbers[order] = np.arange(len(order))
        self._qrels = Qrels({query: dict.fromkeys(self.relevant_docs[query], 1) for query in self.queries_ids})

    @property
    def cutoffs(self) -> Cutoffs:
        """The cutoffs of each metric."""
        return Cutoffs(self.accuracy_at_k, self.precision_recall_at_k, self.mrr_at_k, self.ndcg_at_k, self.map_at_k)

    def compute_all_metrics(
        self, model: Any, corpus_model: Any = None, corpus_embeddings: Any = None, output_path: str | None = None
    ) -> dict[str, dict[str, dict[int, float]]]:
        """
        Search the corpus, and compute the metrics: {name of the score function: {"ndcg@k": {k: value}, …}}.

        `corpus_embeddings` are those of `corpus` in its order, in place of encoding it. A NaN score is an error.
        """
        searches = self._search(model, corpus_model or model, corpus_embeddings)
        if output_path is not None and getattr(self, "write_predictions", False):
            for name, documents in searches.items():
                self._write_predictions(Path(output_path), name, documents)
        LOGGER.info("Queries: %d", len(self.queries))
        LOGGER.info("Corpus: %d\n", len(self.corpus))
        scores = self._evaluate_searches(searches)
        for name in self.score_function_names:
            LOGGER.info("Score-Function: %s", name)
            self.output_scores(scores[name])
        return scores

    compute_metrices = compute_all_metrics  # the name before version 6

    def compute_metrics(self, queries_result_list: Sequence[Iterable[dict[str, Any]]]) -> dict[str, dict[int, float]]:
        """
        Compute the metrics of a search, such as the hits that `util.semantic_search` returns with ids in place.

        Each query, in the order of `queries_ids`, has its hits as {"corpus_id": id, "score": score}.
        """
        if len(queries_result_list) != len(self.queries_ids):
            raise InvalidInputError(
                f"`queries_result_list` must have length {len(self.queries_ids)} (one list per query), got "
                f"{len(queries_result_list)}. Pass an empty list for a query without hits."
            )
        hits = zip(self.queries_ids, queries_result_list, strict=True)
        rows = {query: {hit["corpus_id"]: hit["score"] for hit in own} for query, own in hits}
        return self._evaluate(Run(rows))

    def _search(self, model: Any, corpus_model: Any, corpus_embeddings: Any) -> dict[str, TopDocuments]:
        """Return the highest-scored documents for each score function."""
        queries = self.embed_inputs(
            model, self.queries, encode_fn_name="query", prompt_name=self.query_prompt_name, prompt=self.query_prompt
        )
        searches = {name: TopDocuments(len(self.queries), self._n_found) for name in self.score_functions}
        for first in self._show_progress(range(0, len(self.corpus), self.corpus_chunk_size)):
            stop = min(first + self.corpus_chunk_size, len(self.corpus))
            if corpus_embeddings is None:
                chunk = self.embed_inputs(
                    corpus_model,
                    self.corpus[first:stop],
                    encode_fn_name="document",
                    prompt_name=self.corpus_prompt_name,
                    prompt=self.corpus_prompt,
                )
            elif getattr(corpus_embeddings, "is_sparse", False):
                places = torch.arange(first, stop, device=corpus_embeddings.device)
                chunk = corpus_embeddings.index_select(0, places)
            else:
                chunk = corpus_embeddings[first:stop]
            for name, score_function in self.score_functions.items():
                scores = torch.as_tensor(score_function(queries, chunk)).detach()
                searches[name].add(*self._select(scores, self._numbers[first:stop], name))
        return searches

    def _select(self, scores: Any, numbers: Array, name: str) -> tuple[Array, Array]:
        """Return the highest scores of each query in a chunk, and the numbers of their documents."""
        values, places = select_top(scores, self._n_found, numbers)
        top_scores, top_places = to_arrays([values, places])
        if np.isnan(top_scores).any():
            row, column = np.argwhere(np.isnan(top_scores))[0].tolist()
            document = self._ids[int(numbers[top_places[row, column]])]
            raise InvalidInputError(
                f"scores must not be NaN, but score function {shorten(name)} gives it for query "
                f"{shorten(self.queries_ids[row])} and document {shorten(document)}. Check the embeddings."
            )
        return top_scores, numbers[top_places]

    @property
    def _n_found(self) -> int:
        """The number of documents that are kept for each query."""
        return self.cutoffs.deepest

    def _evaluate_searches(self, searches: dict[str, TopDocuments]) -> dict[str, dict[str, dict[int, float]]]:
        """Return the metrics of the documents that each score function found."""
        return {name: self._evaluate(self._make_run(top)) for name, top in searches.items()}

    def _make_run(self, top: TopDocuments) -> Run:
        """Return the documents that were found as a run."""
        documents = [self._ids[document] for document in top.documents.ravel().tolist()]
        return Run(np.repeat(self.queries_ids, top.documents.shape[1]), documents, top.scores.ravel())

    def _evaluate(self, run: Run) -> dict[str, dict[int, float]]:
        """Return the metrics of a run."""
        metrics = list(chain.from_iterable(self.cutoffs.list_metrics().values()))
        return self.cutoffs.tabulate(evaluate(self._qrels, run, metrics, convention=CONVENTION, progress=False))

    def _show_progress(self, chunks: Iterable[int]) -> Iterable[int]:
        """Return the chunks with a bar if `show_progress_bar` is set. sentence-transformers depends on tqdm."""
        if not self.show_progress_bar:
            return chunks
        bar: Iterable[int] = optional_import("tqdm", "progress", "progress").tqdm(chunks, desc="Corpus Chunks")
        return bar

    def _write_predictions(self, folder: Path, name: str, top: TopDocuments) -> None:
        """Write the hits of each query as a line of JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.predictions_file.replace(".jsonl", f"_{name}.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for query_id, query, scores, documents in zip(
                self.queries_ids, self.queries, top.scores.tolist(), top.documents.tolist(), strict=True
            ):
                hits = [
                    {"corpus_id": self._ids[document], "score": score}
                    for score, document in zip(scores, documents, strict=True)
                ]
                file.write(json.dumps({"query_id": query_id, "query": query, "results": hits}) + "\n")


class HybridRetrievalEvaluator(InformationRetrievalEvaluator):
    """
    The metrics of a model, of a fixed run such as BM25's, and of both fused.

    The fixed run and the fusion have keys beside those of the model, such as "bm25_ndcg@10" and "bm25+cosine_ndcg@10".
    The primary metric is that of the fusion: training then selects the model that helps the hybrid search most.

    Parameters
    ----------
    *arguments, **options
        Those of `InformationRetrievalEvaluator`.
    run : Run, path, dict, frame or records
        The fixed run, with the ids of queries and documents, in a form that `fastndcg.evaluate` takes.
    run_name : str, default "run"
        The name of the fixed run in keys, such as "bm25".
    method : str, default "rrf(k=60)"
        The fusion method with its parameters, as in `fastndcg.fuse`.
    weights : sequence of two floats, optional
        The weights of the fixed run and of the model. By default 1 each.
    depth : int, default 100
        How many documents of each query count in the fusion.

    Attributes
    ----------
    comparisons : dict of Comparison
        After a call: for each score function a comparison of the fixed run, which is the baseline, of the model and of
        the fusion by all metrics, with intervals and p-values of the differences.

    Raises
    ------
    InvalidInputError
        If the run has none of the queries, or its name is that of a score function. If `method` is not known.

    Examples
    --------
    >>> evaluator = HybridRetrievalEvaluator(
    ...     {"q": "cheap"}, {"a": "low", "b": "bus"}, {"q": {"a"}}, run={"q": {"b": 7.1, "a": 3.2}}, run_name="bm25"
    ... )
    >>> evaluator.method, evaluator.depth
    ('rrf(k=60)', 100)
    """

    score_function_names: Any

    def __init__(
        self,
        *arguments: Any,
        run: Any,
        run_name: str = "run",
        method: str = "rrf(k=60)",
        weights: Sequence[float] | None = None,
        depth: int = 100,
        **options: Any,
    ) -> None:
        self.run_name = run_name
        self.method = method
        self.weights = weights
        self.depth = depth
        self.comparisons: dict[str, Comparison] = {}
        super().__init__(*arguments, **options)
        if run_name in (self.score_functions or ()):
            raise InvalidInputError(
                f"`run_name` must not be that of a score function, {shorten(run_name)}. Take another."
            )
        self._run = read_run_form(run, "run", Options())
        if not set(self._run.queries.names().tolist()) & set(self.queries_ids):
            raise InvalidInputError(
                f"`run` must have a query of `queries`, but has none, such as {shorten(self.queries_ids[0])}. Write ids"
                " alike."
            )
        self._fuse("model", self._run)  # raises for a wrong method, weight or depth

    def __call__(self, *arguments: Any, **options: Any) -> dict[str, float]:  # noqa: D102  as the parent
        own_names: list[str] = self.score_function_names or []
        self.score_function_names = [name for name in own_names if name in (self.score_functions or ())]
        return super().__call__(*arguments, **options)  # type: ignore[no-any-return]

    @property
    def _n_found(self) -> int:
        """The number of documents that are kept for each query, for metrics and for the fusion."""
        return max(self.cutoffs.deepest, self.depth)

    def _fuse(self, name: str, run: Run) -> Run:
        """Return the fusion with the run of a score function. A query that one of both lacks is that of the other."""
        runs = {self.run_name: self._run, name: run}
        return fuse(runs, self.method, weights=self.weights, depth=self.depth)

    def _evaluate_searches(self, searches: dict[str, TopDocuments]) -> dict[str, dict[str, dict[int, float]]]:
        """Return the metrics of each score function, of the fixed run and of the fusions, and compare them."""
        metrics = list(chain.from_iterable(self.cutoffs.list_metrics().values()))
        scores: dict[str, dict[str, dict[int, float]]] = {}
        for name, top in searches.items():
            run = self._make_run(top)
            systems = {self.run_name: self._run, name: run, f"{self.run_name}+{name}": self._fuse(name, run)}
            table = compare(
                self._qrels, systems, metrics, baseline=self.run_name, convention=CONVENTION, progress=False
            )
            self.comparisons[name] = table
            scores |= {system: self.cutoffs.tabulate(results) for system, results in table.results.items()}
        self._list_names(list(searches))
        return scores

    def _list_names(self, names: list[str]) -> None:
        """Set the names whose metrics are logged and written, and the primary metric: that of the fusion."""
        self.score_function_names = [*names, self.run_name, *(f"{self.run_name}+{name}" for name in names)]
        self.csv_headers = ["epoch", "steps"]
        self._append_csv_headers(self.score_function_names)
        main = names[0] if self.main_score_function is None else self.main_score_function
        self.primary_metric = f"{self.run_name}+{getattr(main, 'value', main)}_ndcg@{max(self.ndcg_at_k)}"


class RerankingEvaluator(evaluation.RerankingEvaluator):  # type: ignore[misc]
    """
    The metrics of models that order positive and negative documents of each query.

    nDCG is the mean over the orders of equal scores. AP counts all documents with an equal score as ranked above. Both
    are so in scikit-learn, which sentence-transformers calls. RR takes equal scores as given.

    Parameters
    ----------
    *arguments, **options
        Those of sentence-transformers' `RerankingEvaluator`: samples, at_k, name, write_csv, similarity_fct,
        batch_size, show_progress_bar, use_batched_encoding, truncate_dim. Samples without positive or without negative
        documents are left out.

    Raises
    ------
    InvalidInputError
        If no sample has positive and negative documents.

    Examples
    --------
    >>> samples = [{"query": "cheap flights", "positive": ["low fares"], "negative": ["bus tours", "hotels"]}]
    >>> RerankingEvaluator(samples, at_k=5).primary_metric
    'ndcg@5'
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if not self.samples:
            raise InvalidInputError(
                "`samples` must have positive and negative documents, but no sample has both. Check the samples."
            )

    def compute_metrics_batched(self, model: Any) -> dict[str, float]:
        """Compute the means "map", "mrr" and "ndcg" after encoding all queries at once, and all documents at once."""
        queries = self._embed(model, [sample["query"] for sample in self.samples], "query")
        documents = self._embed(model, [text for sample in self.samples for text in list_documents(sample)], "document")
        scores = []
        first = 0
        for query, sample in zip(queries, self.samples, strict=True):
            stop = first + len(list_documents(sample))
            scores.append(self.similarity_fct(query, documents[first:stop]))
            first = stop
        return self._evaluate(scores)

    def compute_metrics_individual(self, model: Any) -> dict[str, float]:
        """Compute these means after encoding each sample by itself, which takes less memory."""
        return self._evaluate(
            [
                self.similarity_fct(
                    self._embed(model, [sample["query"]], "query"),
                    self._embed(model, list_documents(sample), "document"),
                )
                for sample in self.samples
            ]
        )

    compute_metrices_batched = compute_metrics_batched  # the names before version 6
    compute_metrices_individual = compute_metrics_individual

    def _embed(self, model: Any, texts: list[Any], kind: str) -> Any:
        """Return the embeddings of texts."""
        return self.embed_inputs(model, texts, encode_fn_name=kind, show_progress_bar=self.show_progress_bar)

    def _evaluate(self, scores: list[Any]) -> dict[str, float]:
        """Return the means for the scores of each sample: those of positive documents, then of negative ones."""
        rows = to_arrays([torch.as_tensor(row).flatten() for row in scores])
        labels = [
            np.repeat(np.array([1, 0], "u1"), [len(sample["positive"]), len(sample["negative"])])
            for sample in self.samples
        ]
        groups = [len(row) for row in rows]
        all_labels = np.concatenate(labels)
        all_scores = np.concatenate(rows)
        ndcg = evaluate(all_labels, all_scores, Metric("nDCG", self.at_k), groups=groups, convention="sklearn")
        metrics = [Metric("RR", self.at_k), Metric("AP")]
        ranked = evaluate(all_labels, all_scores, metrics, groups=groups, convention=AS_GIVEN)
        precisions = ranked.values[:, 1].copy()
        for place, (row, row_labels) in enumerate(zip(rows, labels, strict=True)):
            if len(np.unique(row)) < len(row):
                precisions[place] = label_ranking_average_precision_score(row_labels[None], row[None])
        return {
            "map": float(precisions.mean()),
            "mrr": float(ranked.values[:, 0].mean()),
            "ndcg": float(ndcg.values[:, 0].mean()),
        }


def select_top(scores: Any, k: int, numbers: Array) -> tuple[Any, Any]:
    """
    Return the k highest scores of each row of a tensor on any device, and their columns, in any order.

    Of equal scores, those with the lowest numbers are selected. Fewer columns than k are selected all.
    """
    values, columns = scores.topk(min(k, scores.shape[1]), dim=1, sorted=False)
    lowest = values.min(dim=1, keepdim=True).values
    rows = ((scores >= lowest).sum(dim=1) > values.shape[1]).nonzero().flatten()
    if len(rows):  # equal scores at the end: topk takes any of them
        order = torch.as_tensor(numbers, device=scores.device)
        beyond = int(numbers.max()) + 1
        keys = order + beyond * (scores[rows] <= lowest[rows]) + beyond * (scores[rows] < lowest[rows])
        columns[rows] = keys.topk(values.shape[1], dim=1, largest=False).indices
        values[rows] = scores[rows].gather(1, columns[rows])
    return values, columns


def list_documents(sample: dict[str, Any]) -> list[Any]:
    """Return the positive and then the negative documents of a sample."""
    return [*sample["positive"], *sample["negative"]]
