"""
Scenarios of Spark in separate processes: tasks and executors that die on a cluster, and a Spark Connect server.

Usage: python spark_scenarios.py cluster|speculation|connect FOLDER. The folder has `rows.parquet`. The
last line printed is JSON.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from spark_sessions import CONFIGURATION

METRICS = "ndcg@10, ap, rr"
FORMS = ("pairs", "compare", "lists")  # evaluated while a task fails
BY_ORDER = "default(ties=input)"
ROWS_PER_BATCH = 500  # so that a task dies between two batches
SPECULATION = {
    "spark.speculation": "true", "spark.speculation.multiplier": "1.2", "spark.speculation.quantile": "0.5",
    "spark.speculation.interval": "100ms", "spark.speculation.minTaskRuntime": "100ms",
}  # fmt: skip


def die_once(batches, kind, mark):
    """
    Pass batches on. The first attempt of the second partition fails, in one of three ways.

    Of rows it fails in the middle. Other forms have one batch a partition.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    for number, batch in enumerate(batches):
        if number == (kind not in FORMS) and context.partitionId() == 1 and not os.path.exists(mark):
            Path(mark).touch()
            if kind in ("task", *FORMS):
                os._exit(1)
            if kind == "executor":
                os.kill(find_executor(), signal.SIGKILL)
            time.sleep(60 if kind == "speculation" else 5)
        yield batch


def find_executor():
    """Return the process id of the JVM above this worker."""
    process = os.getpid()
    while True:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        if Path(f"/proc/{process}/comm").read_text().strip() == "java":
            return process


def describe(result):
    """Return what must be equal to the bit."""
    intervals = [
        result.confidence_interval(metric, method=method) for metric in result.metrics for method in ("auto", "t")
    ]
    return {
        "means": [value.hex() for value in result.means()],
        "counts": [len(result), result.n_tied, *result.n_undefined().tolist()],
        "intervals": [[interval.low.hex(), interval.high.hex()] for interval in intervals],
    }


def run_cluster(folder):
    import pyspark

    home = Path(folder) / "home"  # which gets Spark's folder `work`
    home.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        (home / path.name).symlink_to(path)
    os.environ["SPARK_HOME"] = str(home)
    return evaluate_while_dying("local-cluster[2,1,1024]", folder, ("none", "task", "executor", *FORMS))


def run_speculation(folder):
    """Evaluate on two executors while a task is slow. Spark starts its copy on another host, so each has an address."""
    import pyspark

    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    environment = os.environ | {
        "SPARK_LOG_DIR": folder, "SPARK_WORKER_DIR": folder, "SPARK_HOME": str(Path(program).parents[1]),
    }  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    commands = [["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]]
    for host in ("127.0.0.1", "127.0.0.2"):
        commands.append(["worker.Worker", "--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g"])
        commands[-1].append(f"spark://127.0.0.1:{port}")
    with open(f"{folder}/log", "w", encoding="utf-8") as log, contextlib.ExitStack() as stack:
        for place, (name, *arguments) in enumerate(commands):
            command = [program, f"org.apache.spark.deploy.{name}", *arguments]
            host = "127.0.0.2" if place == 2 else "127.0.0.1"
            own = environment | {"SPARK_LOCAL_IP": host, "SPARK_LOCAL_HOSTNAME": host}
            stack.callback(subprocess.Popen(command, env=own, stdout=log, stderr=log).terminate)
        return evaluate_while_dying(f"spark://127.0.0.1:{port}", folder, ("speculation",))


def evaluate_while_dying(master, folder, kinds):
    """Return the results of a cluster for each way in which a task dies."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    own = {"spark.executor.memory": "512m", "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH)}
    own["spark.executor.extraJavaOptions"] = f"-Djava.io.tmpdir={folder}"  # for files of executors that are killed
    for name, value in {**CONFIGURATION, **SPECULATION, **own}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(f"{folder}/rows.parquet")
    results = {}
    for kind in kinds:
        mark = f"{folder}/{kind}"
        if kind == "none":
            Path(mark).touch()
        with die_in_tasks(frame, kind, mark):
            started = time.monotonic()
            found = evaluate_form(frame, kind)
            seconds = time.monotonic() - started
        results[kind] = {"result": found, "died": os.path.exists(mark), "seconds": seconds}
    session.stop()
    return results


@contextlib.contextmanager
def die_in_tasks(frame, kind, mark):
    frames = type(frame)
    map_in_arrow = frames.mapInArrow

    def make_dying(task):
        return lambda batches: task(die_once(batches, kind, mark))

    frames.mapInArrow = lambda data, task, schema: map_in_arrow(data, make_dying(task), schema)
    yield
    frames.mapInArrow = map_in_arrow


def evaluate_form(frame, form):
    """Return the results of rows in a form of data. All forms must give the same, compare its means."""
    from fastndcg.integrations import spark

    qrels, run = frame.select("query", "document", "label"), frame.select("query", "document", "score")
    if form == "compare":
        rows = spark.compare(qrels, {"a": run, "b": run}, METRICS, partitions=4)
        return [row.mean.hex() for row in rows if row.system == "b"]
    if form == "pairs":
        return describe(spark.evaluate(qrels, run, METRICS, partitions=4))
    if form == "lists":
        columns = "query", "collect_list(label) AS label", "collect_list(score) AS score"
        frame.createOrReplaceTempView("rows")
        lists = frame.sparkSession.sql(f"SELECT {', '.join(columns)} FROM rows GROUP BY query").repartition(4)
        return describe(spark.evaluate(lists, METRICS))
    if form == "order":
        return describe(spark.evaluate(frame, METRICS, order="document", convention=BY_ORDER))
    return describe(spark.evaluate(frame, METRICS, partitions=4))


def run_connect(folder):
    from pyspark.sql import SparkSession

    import fastndcg as fn
    from fastndcg.integrations import spark

    builder = SparkSession.builder.remote("local[2]")
    for name, value in CONFIGURATION.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    frame = session.read.parquet(f"{folder}/rows.parquet")
    result = spark.evaluate(frame, METRICS)
    per_query = spark.evaluate(frame, METRICS, per_query=True).orderBy("query").collect()
    pairs = frame.select("query", "document", "label"), frame.select("query", "document", "score")
    rows = spark.compare(pairs[0], {"a": pairs[1], "b": pairs[1]}, "rr")
    try:
        spark.evaluate(frame.selectExpr("query", "label", "float('nan') AS score"), METRICS)
        error = ""
    except fn.InvalidInputError as raised:
        error = str(raised)
    forms = {form: evaluate_form(frame, form) for form in ("pairs", "lists", "order")}
    session.stop()
    return {
        "result": describe(result), "forms": forms, "module": type(frame).__module__,
        "per_query": [list(row) for row in per_query], "differences": [row.difference for row in rows], "error": error,
    }  # fmt: skip


SCENARIOS = {"cluster": run_cluster, "speculation": run_speculation, "connect": run_connect}

if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    outcome = SCENARIOS[sys.argv[1]](sys.argv[2])
    sys.stdout.write(f"{json.dumps(outcome)}\n")
