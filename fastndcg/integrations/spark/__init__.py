"""
Spark: metrics of DataFrames, evaluated where the rows are, with the same bits as on one machine.

Tasks evaluate whole queries by `DataFrame.mapInArrow`, and send back exact sums. The driver adds them up.

>>> from pyspark.sql import SparkSession
>>> from fastndcg.integrations import spark
>>> session = SparkSession.builder.master("local[1]").getOrCreate()
>>> frame = session.createDataFrame([("a", 1, 0.3), ("a", 0, 0.7), ("b", 2, 0.1)], ["query", "label", "score"])
>>> spark.evaluate(frame, "rr").mean()
{'RR': 0.75}
"""

from fastndcg.integrations.spark.compare import SparkComparison, compare
from fastndcg.integrations.spark.evaluate import evaluate

__all__ = ["SparkComparison", "compare", "evaluate"]
