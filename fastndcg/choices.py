"""Choices of arguments as types. Generated: scripts/generate."""

from typing import Literal, TypeAlias

AbsentTreatment: TypeAlias = Literal["zero", "minimum", "mean", "skip"]
AggregateName: TypeAlias = Literal["gm", "hm", "median", "quantile", "worst", "micro", "adjusted", "over_chance"]
Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
BoardMean: TypeAlias = Literal["datasets", "queries"]
BoardUnit: TypeAlias = Literal["queries", "datasets"]
Competitors: TypeAlias = Literal["nonrelevant", "all"]
ConventionKind: TypeAlias = Literal["default", "search", "learning_to_rank", "recommenders", "retrieval"]
ConventionName: TypeAlias = Literal[
    "default", "trec_eval", "trec_eval_c", "trec_eval_9", "trec_eval_9_c", "ranx", "ndeval", "ms_marco",
    "sentence_transformers", "sklearn", "sklearn_ignore_ties", "lightgbm", "xgboost", "xgboost_minus", "catboost",
    "ranklib", "torchmetrics", "rax", "tf_ranking", "allrank", "rectools", "replay", "recommenders", "lenskit",
    "implicit", "recbole", "pykeen", "recometrics", "lightfm", "mlflow", "haystack", "llama_index", "trulens", "ragas",
    "azure_ai", "elasticsearch", "opensearch", "rcp_ndcg"
]  # fmt: skip
Correction: TypeAlias = Literal["holm", "bonferroni", "bh", "none"]
DuplicateChoice: TypeAlias = Literal["raise", "first", "best", "sum", "counted"]
DuplicateRanks: TypeAlias = Literal["kept", "closed"]
Family: TypeAlias = Literal["table", "metric"]
FloorBy: TypeAlias = Literal["value", "limit"]
Format: TypeAlias = Literal["parquet", "arrow", "json", "csv", "msmarco", "trec", "jsonl", "trec_diversity"]
FusionKind: TypeAlias = Literal["scores", "ranks", "training", "normalization"]
GateInterval: TypeAlias = Literal["auto", "t", "betting"]
IntervalMethod: TypeAlias = Literal["auto", "t", "percentile", "betting"]
JudgingMethod: TypeAlias = Literal["difference", "move_to_front", "max_mean", "depth"]
MetricFamily: TypeAlias = Literal[
    "gains", "counts", "first_relevant", "cascades", "pairs", "judgments", "subtopics", "agreement", "beyond_accuracy",
    "spans", "custom"
]  # fmt: skip
MetricFunction: TypeAlias = Literal["evaluate", "agreement", "beyond_accuracy", "evaluate_spans"]
MissingTruth: TypeAlias = Literal["raise", "skip", "unretrieved"]
PartInterval: TypeAlias = Literal["auto", "t"]
PlotKind: TypeAlias = Literal["forest", "curve", "histogram"]
RanxKind: TypeAlias = Literal["json", "trec", "gz", "parquet"]
RanxTest: TypeAlias = Literal["student", "fisher", "tukey"]
ResponseMethod: TypeAlias = Literal["predict", "predict_proba", "decision_function"]
ResultRows: TypeAlias = Literal["pair", "query"]
Similarity: TypeAlias = Literal["dot", "cosine", "euclidean", "hamming"]
SpanOverlap: TypeAlias = Literal["union", "counted"]
TestName: TypeAlias = Literal["randomization", "t", "wilcoxon", "sign", "mcnemar", "bootstrap", "tukey"]
TiePolicy: TypeAlias = Literal[
    "average", "input", "id_descending", "id_ascending", "best", "worst", "input_reversed", "mean_rank"
]  # fmt: skip
Verdict: TypeAlias = Literal["fail", "not comparable", "undecided", "pass"]
WrittenFormat: TypeAlias = Literal["trec", "json", "jsonl", "csv", "parquet"]
