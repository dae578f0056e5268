"""An application whose pods come when there is work for them and go when there is none.

usage: kubernetes_allocation.py RESULT. Needs `--py-files support.py`."""

import gc
import json
import os
import sys
import time
import urllib.request

from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

from support import Themes, digest, wait_for

# Longer than executors may be idle.
IDLE = 6


def pods(run):
    """(number of the executor, resource profile) of all pods."""
    api = run.sc.master.removeprefix("k8s://")
    with urllib.request.urlopen(f"{api}/api/v1/namespaces/default/pods") as reply:
        labels = [pod["metadata"]["labels"] for pod in json.load(reply)["items"]]
    return sorted((int(of["spark-exec-id"]), of["spark-exec-resourceprofile-id"]) for of in labels)


def gone(run):
    """Waits until no executor is left, and no pod: with what Python and the driver refer to no more, their shuffles go."""
    def none():
        gc.collect()
        run.sc._jvm.System.gc()
        return not run.rest.executors()

    wait_for("the end of all executors", none, 120, every=1)
    wait_for("the end of all pods", lambda: not pods(run), 120)
    run.rest.drain()
    dead = [executor for executor in run.rest.executors(all_of_them=True) if not executor["isActive"]]
    return sorted({executor["removeReason"].split(".")[0] for executor in dead})


def stages(run):
    run.rest.drain()
    return sorted(stage["status"] for stage in run.rest.get("stages"))


def kept(run):
    """Executors whose shuffle files may be read again stay although they are idle, and those without leave; nothing is computed again."""
    pairs = run.sc.parallelize(range(20_000), 4).map(lambda n: (time.sleep(0.0002), (n % 50, n))[1]).reduceByKey(lambda a, b: a + b, 4)
    before = digest(sorted(pairs.collect()))
    many = pods(run)
    time.sleep(IDLE)
    writers = {task["executorId"] for task in run.rest.get("stages/0/0/taskList")}
    wait_for("those alone that wrote", lambda: {executor["id"] for executor in run.rest.executors()} == writers)
    after = digest(sorted(pairs.collect()))
    return {"same": before == after, "answer": before, "pods": len(many) > 0, "stages": stages(run)}


def cleaned(run):
    """When the driver has no use for the shuffle any more, executors that have nothing else leave."""
    return gone(run)


def again(run):
    """Executors come again, and stages whose files left are computed again."""
    frame = run.spark.range(0, 30_000, numPartitions=4).selectExpr("id % 9 AS k", "id").groupBy("k").sum("id").orderBy("k")
    return [[tuple(row) for row in frame.collect()], len(pods(run)) > 0]


def profile(run):
    """Tasks that ask for executors of another kind get them: their own are left alone."""
    other = ResourceProfileBuilder()
    other.require(ExecutorResourceRequests().cores(1).memory("500m")).require(TaskResourceRequests().cpus(1))

    def look(part):
        time.sleep(0.3)
        return [(os.environ["SPARK_RESOURCE_PROFILE_ID"], os.environ["SPARK_EXECUTOR_CORES"], os.environ["SPARK_EXECUTOR_MEMORY"], sum(part))]

    def sums(part):
        return [(os.environ["SPARK_RESOURCE_PROFILE_ID"], sum(part))]

    own = other.build
    found = run.sc.parallelize(range(100), 4).withResources(own).mapPartitions(look).collect()
    return [own.id, found, sorted({of for _, of in pods(run) if of != "0"}), run.sc.parallelize(range(100), 2).mapPartitions(sums).collect()]


def main(result):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    run.other_compressor = True
    for body in [kept, cleaned, again, profile]:
        run.run(body.__name__, body, "none")
    run.result["answers"]["end"] = gone(run)
    run.count_tasks()
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
