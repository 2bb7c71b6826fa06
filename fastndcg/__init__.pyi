"""Public names, for type checkers and for `__init__.py`, which loads each when it is first used."""

from fastndcg.discovery import list_conventions as list_conventions
from fastndcg.discovery import list_fusion_methods as list_fusion_methods
from fastndcg.discovery import list_metrics as list_metrics
from fastndcg.errors import FastndcgError as FastndcgError
from fastndcg.errors import InvalidInputError as InvalidInputError
from fastndcg.errors import InvalidTypeError as InvalidTypeError
from fastndcg.errors import MissingPackageError as MissingPackageError
from fastndcg.errors import RegisteredMetricError as RegisteredMetricError
from fastndcg.errors import UndefinedMetricError as UndefinedMetricError
from fastndcg.errors import UnknownConventionError as UnknownConventionError
from fastndcg.errors import UnknownFusionError as UnknownFusionError
from fastndcg.errors import UnknownIdError as UnknownIdError
from fastndcg.errors import UnknownMetricError as UnknownMetricError
from fastndcg.evaluation import Evaluator as Evaluator
from fastndcg.evaluation import evaluate as evaluate
from fastndcg.explaining import Explanation as Explanation
from fastndcg.explaining import explain as explain
from fastndcg.explaining.change import Change as Change
from fastndcg.explaining.change import explain_change as explain_change
from fastndcg.functions import average_precision as average_precision
from fastndcg.functions import dcg as dcg
from fastndcg.functions import f_score as f_score
from fastndcg.functions import ndcg as ndcg
from fastndcg.functions import precision as precision
from fastndcg.functions import r_precision as r_precision
from fastndcg.functions import recall as recall
from fastndcg.functions import reciprocal_rank as reciprocal_rank
from fastndcg.functions import success as success
from fastndcg.fusion.conventions import FusionConvention as FusionConvention
from fastndcg.fusion.conventions import fusion_conventions as fusion_conventions
from fastndcg.fusion.fuse import FusedRun as FusedRun
from fastndcg.fusion.fuse import fuse as fuse
from fastndcg.fusion.tuning.result import FusionCurve as FusionCurve
from fastndcg.fusion.tuning.result import TunedFusion as TunedFusion
from fastndcg.fusion.tuning.tune import tune_fusion as tune_fusion
from fastndcg.inputs.diversity import DiversityQrels as DiversityQrels
from fastndcg.inputs.spans import Spans as Spans
from fastndcg.inputs.streams import Rows as Rows
from fastndcg.inputs.table import Qrels as Qrels
from fastndcg.inputs.table import Run as Run
from fastndcg.installation import show_versions as show_versions
from fastndcg.installation import warmup as warmup
from fastndcg.judging.bounds import Bounds as Bounds
from fastndcg.judging.bounds import bounds as bounds
from fastndcg.judging.judges import JudgeComparison as JudgeComparison
from fastndcg.judging.judges import compare_judges as compare_judges
from fastndcg.judging.judges import estimate_with_judge as estimate_with_judge
from fastndcg.judging.next_judgments import judge_next as judge_next
from fastndcg.link_prediction import evaluate_pairs as evaluate_pairs
from fastndcg.metrics.custom import register as register
from fastndcg.metrics.families import CATALOG as CATALOG
from fastndcg.metrics.families import Parameter as Parameter
from fastndcg.metrics.metric import Metric as Metric
from fastndcg.named_conventions import Convention as Convention
from fastndcg.named_conventions import conventions as conventions
from fastndcg.rank_agreement import agreement as agreement
from fastndcg.rankings.rankings import Rankings as Rankings
from fastndcg.recommended_items import beyond_accuracy as beyond_accuracy
from fastndcg.recommenders.interactions import Interactions as Interactions
from fastndcg.recommenders.interactions import Recommendations as Recommendations
from fastndcg.results.kinds import Agreement as Agreement
from fastndcg.results.kinds import BeyondAccuracy as BeyondAccuracy
from fastndcg.results.kinds import IndexRecall as IndexRecall
from fastndcg.results.kinds import PairResults as PairResults
from fastndcg.results.kinds import SpanResults as SpanResults
from fastndcg.results.kinds import load_result as load_result
from fastndcg.results.results import Results as Results
from fastndcg.scoring.embeddings import Embeddings as Embeddings
from fastndcg.scoring.embeddings import TopItems as TopItems
from fastndcg.scoring.scorer import Scorer as Scorer
from fastndcg.scoring.scores import Scores as Scores
from fastndcg.span_retrieval import evaluate_spans as evaluate_spans
from fastndcg.statistics.compare import compare as compare
from fastndcg.statistics.comparison import Comparison as Comparison
from fastndcg.statistics.gate import Gate as Gate
from fastndcg.statistics.gate import gate as gate
from fastndcg.statistics.leaderboard import Leaderboard as Leaderboard
from fastndcg.statistics.leaderboard import leaderboard as leaderboard
from fastndcg.statistics.planning import Audit as Audit
from fastndcg.statistics.planning import Plan as Plan
from fastndcg.statistics.planning import audit as audit
from fastndcg.statistics.planning import plan as plan
from fastndcg.streaming import StreamingEvaluator as StreamingEvaluator
from fastndcg.streaming import Summary as Summary
from fastndcg.vector_index import index_recall as index_recall

from . import reference as reference

__version__: str
# metrics, generated: scripts/generate
AP: Metric
AP_IA: Metric
AUC: Metric
BPM: Metric
CG: Metric
ClassificationAccuracy: Metric
Compat: Metric
CoverageError: Metric
DCG: Metric
ERR: Metric
ERR_IA: Metric
F: Metric
FallOut: Metric
G: Metric
GAUC: Metric
IAP: Metric
IDCG: Metric
INST: Metric
IPrec: Metric
Judged: Metric
LRAP: Metric
NRBP: Metric
OPA: Metric
P: Metric
PFound: Metric
P_IA: Metric
PatR: Metric
Q: Metric
R: Metric
RBP: Metric
RBP_resid: Metric
RR: Metric
Rank: Metric
RankingLoss: Metric
RelP: Metric
Rndcg: Metric
Rprec: Metric
S_recall: Metric
SetAP: Metric
Success: Metric
TBG: Metric
Unjudged: Metric
Utility: Metric
all_evidence: Metric
alpha_DCG: Metric
alpha_nDCG: Metric
binG: Metric
bpref: Metric
chance_RR: Metric
chance_Rank: Metric
chance_Success: Metric
infAP: Metric
nDCG: Metric
nDCG_rel: Metric
nERR: Metric
nERR_IA: Metric
nNRBP: Metric
nugget_recall: Metric
num_nonrel_judged_ret: Metric
num_rel: Metric
num_rel_ret: Metric
num_ret: Metric
pAUC: Metric
