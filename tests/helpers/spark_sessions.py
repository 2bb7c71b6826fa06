"""Sessions of Spark for tests: one per process, on two cores, with this Python in all tasks."""

import functools
import os
import sys

CONFIGURATION = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "4",
}  # fmt: skip
# PySpark warns of pandas 3 and of its RankingMetrics, and leaves sockets to the garbage collector. Spark 3.5 calls a
# function that pandas 3 deprecates. JAX warns of the process that PySpark starts, if an earlier test has imported JAX
PYSPARK_WARNINGS = (
    r"ignore:os\.fork\(\) was called:RuntimeWarning", r"ignore:Deprecated in 3\.0\.0\. Use SparkSession:FutureWarning",
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    r"ignore:is_(datetime64tz|categorical)_dtype is deprecated", r"ignore:unclosed <socket\.socket:ResourceWarning",
)  # fmt: skip


@functools.cache
def start_session(master="local[2]", **configuration):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for name, value in {**CONFIGURATION, **configuration}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
