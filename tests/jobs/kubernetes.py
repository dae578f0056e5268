"""An application whose executors are pods of Kubernetes.

usage: kubernetes.py RESULT SCRATCH. Needs `--py-files support.py,containers.py`."""

import json
import os
import re
import sys
import time
import urllib.request

from pyspark import StorageLevel
from pyspark.sql import SparkSession

from containers import ask_sales, end_of, harm_executor, kill_executor, of_columns, sales, words
from support import Themes, digest, mask, wait_for

# What differs between two pods.
OF_PODS = [
    (re.compile(r"[a-z0-9-]*-exec-\d+"), "pod"),
    (re.compile(r"127\.0\.1\.\d+(:\d+)?"), "address"),
    (re.compile(r"\d+-\d+-\d+T\d+:\d+:\d+Z"), "time"),
    (re.compile(r"finishedAt=[^,]*|startedAt=[^,]*|containerID=[^,]*"), "when"),
]


def masked(text):
    text = mask(text)
    for pattern, replacement in OF_PODS:
        text = pattern.sub(replacement, text)
    return text


def surroundings(run):
    """The environment of workers, by name, and what they have of their pod."""
    def look(_):
        variables = os.environ
        return {
            # Workers of the native lane do not have the secret.
            "variables": sorted(name for name in variables if not name.startswith("FIRESTEEL") and name != "_SPARK_AUTH_SECRET"),
            "pod": variables["HOSTNAME"] == variables["SPARK_EXECUTOR_POD_NAME"],
            "profile": variables["SPARK_RESOURCE_PROFILE_ID"],
            "directory": os.path.basename(os.getcwd()),
        }

    found = run.sc.parallelize([0], 1).map(look).collect()
    hosts = sorted(executor["hostPort"].split(":")[0] for executor in run.rest.executors())
    return [found, len(set(hosts)), masked(hosts[0])]


def query(run):
    os.makedirs(f"{run.scratch}/sales", exist_ok=True)
    for part in range(3):
        with open(f"{run.scratch}/sales/part-{part}.parquet", "wb") as out:
            out.write(sales(part))
    return ask_sales(run, f"{run.scratch}/sales")


def killed(run):
    """The process of a pod is killed during a job."""
    return [harm_executor(run, "2", kill_executor), masked(end_of(run, "2"))]


def deleted(run):
    """A pod is deleted: its hook decommissions the executor, and what it has moves to others before it ends."""
    numbers = run.sc.parallelize(range(4000), 4).map(lambda n: (time.sleep(0.0002), n * 2)[1]).persist(StorageLevel.MEMORY_AND_DISK)
    pairs = run.sc.parallelize(range(20_000), 4).map(lambda n: (n % 40, n)).reduceByKey(lambda a, b: a + b, 4)
    before = [numbers.sum(), digest(sorted(pairs.collect()))]
    blocks = {executor["id"]: executor["rddBlocks"] for executor in run.rest.executors()}
    assert blocks["3"] > 0, blocks
    api = run.sc.master.removeprefix("k8s://")
    with urllib.request.urlopen(f"{api}/api/v1/namespaces/default/pods") as reply:
        names = [pod["metadata"]["name"] for pod in json.load(reply)["items"]]
    name = next(name for name in names if name.endswith("-exec-3"))
    urllib.request.urlopen(urllib.request.Request(f"{api}/api/v1/namespaces/default/pods/{name}", method="DELETE")).close()
    reason = masked(end_of(run, "3"))
    after = [numbers.sum(), digest(sorted(pairs.collect()))]
    run.rest.drain()
    kept = sum(executor["rddBlocks"] for executor in run.rest.executors())
    return {"same": before == after, "before": before, "reason": reason, "blocks": kept}


def main(result, scratch):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    run.scratch, run.gone = scratch, []
    run.other_compressor = True
    wait_for("two executors", lambda: len(run.rest.executors()) == 2, 200)
    for body in [words, surroundings, query]:
        run.run(body.__name__, body, "unordered")
    run.result["metrics"]["query"] = of_columns(run.result["metrics"]["query"])
    for body in [killed, deleted]:
        run.run(body.__name__, body, "none")
    run.count_tasks()
    run.result |= {"version": spark.version, "lost": run.gone}
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
