"""Applications on YARN, in client and in cluster mode.

usage: yarn.py RESULT SCRATCH KIND

KIND `native`: what runs without a JVM, and containers that are killed; `shared`: executors that come and go, beside the node manager's
shuffle service. Needs `--files early.txt --archives early.tgz#tree --py-files support.py,containers.py,early_module.zip`."""

import os
import re
import sys
import time

from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from containers import ask_sales, end_of, harm_executor, kill_executor, of_columns, sales, words
from support import Themes, digest, mask, rows, wait_for

# What differs between two containers.
OF_CONTAINERS = [
    (re.compile(r"(container|application|appattempt)_\d+(_\d+)+"), r"\1"),
    (re.compile(r"\d\d:\d\d|\d+-\d+-\d+ \d+:\d+:\d+(\.\d+)?"), "time"),
    (re.compile(r"on host: \S+?\.? "), "on host: "),
    (re.compile(r"/\S*?/(usercache|nm-local-dir\S*?)/\S*"), "<local>"),
]


def masked(text):
    text = mask(text)
    for pattern, replacement in OF_CONTAINERS:
        text = pattern.sub(replacement, text)
    return text


def resources(run):
    """Files that came with the application, and one that comes later."""
    late = f"{run.scratch}/late.txt"
    with open(late, "w") as out:
        out.write("late file")
    run.sc.addFile(late)

    def look(_):
        import early_module

        def text(name):
            with open(name) as source:
                return source.read()

        return (early_module.answer(), text("early.txt"), text(SparkFiles.get("early.txt")), text("tree/inner.txt"),
                text(SparkFiles.get("late.txt")))

    return sorted(set(run.sc.parallelize(range(8), 8).map(look).collect()))


def surroundings(run):
    """The working directory and the environment of workers: variables by name, and those that YARN expands by value."""
    def look(_):
        variables = os.environ
        expanded = variables["E2E_EXPANDED"]
        return {
            "files": sorted(name for name in os.listdir(".") if not name.endswith(".crc")),
            "variables": sorted(name for name in variables if not name.startswith("FIRESTEEL")),
            "expanded": expanded.replace(os.getcwd(), "<container>").replace(variables["JAVA_HOME"], "<java>"),
            "in its container": os.path.basename(os.getcwd()) == variables["CONTAINER_ID"],
            "local": len(variables["SPARK_LOCAL_DIRS"].split(",")) if "SPARK_LOCAL_DIRS" in variables else None,
        }

    return run.sc.parallelize([0], 1).map(look).collect()


def upload(run, path, data):
    jvm = run.sc._jvm
    path = jvm.org.apache.hadoop.fs.Path(path)
    out = path.getFileSystem(run.sc._jsc.hadoopConfiguration()).create(path, True)
    out.write(bytearray(data))
    out.close()


def query(run):
    """Parquet on the cluster's HDFS."""
    for part in range(3):
        upload(run, f"/data/sales/part-{part}.parquet", sales(part))
    return ask_sales(run, "/data/sales")


def logs(run):
    """What the UI links to, and what custom links are made of."""
    found = {}
    for executor in run.rest.executors():
        links = executor["executorLogs"]
        status, text = run.rest.fetch(links["stderr"].split("?")[0] + "?start=0")
        found[executor["id"]] = {
            "links": {name: masked(re.sub(r"//[^/]*/", "//node/", link)) for name, link in links.items()},
            "status": status,
            "log": "uccessfully registered with driver" in text,
            "attributes": {name: masked(value) if name in ["HTTP_SCHEME", "CONTAINER_ID", "LOG_FILES", "CLUSTER_ID"] else bool(value)
                           for name, value in executor["attributes"].items()},
        }
    return found


def secret(run):
    """The secret that YARN hands to containers is in nobody's environment or command line. Whoever started this looks for it in logs."""
    hadoop = run.sc._jvm.org.apache.hadoop
    credentials = hadoop.security.UserGroupInformation.getCurrentUser().getCredentials()
    found = credentials.getSecretKey(hadoop.io.Text("sparkCookie")).decode()
    with open(f"{run.scratch}/secret.txt", "w") as out:
        out.write(found)

    def look(_):
        return sum(found in value for value in os.environ.values()) + sum(found in of for of in commands())

    def commands():
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as source:
                    yield source.read().decode(errors="replace")
            except OSError:
                pass

    return [len(found), sum(run.sc.parallelize(range(2), 2).map(look).collect())]


def killed(run):
    return [harm_executor(run, "2", kill_executor), masked(end_of(run, "2"))]


def too_large(run):
    """YARN kills containers that take more memory than they asked for."""
    def harm(_):
        ballast = bytearray(os.urandom(1 << 20)) * 1500
        time.sleep(60)
        return ballast

    return [harm_executor(run, "3", harm), re.sub(r"[\d.]+ [MG]B", "n GB", masked(end_of(run, "3")))]


def come_and_go(run):
    """Executors end when they are idle, and the node manager serves what they wrote."""
    def count():
        return run.sc._jsc.sc().getExecutorMemoryStatus().size() - 1

    first = run.sc.parallelize(range(20_000), 6).map(lambda n: (n % 50, n)).reduceByKey(lambda a, b: a + b, 6)
    before = digest(sorted(first.collect()))
    run.sc.parallelize(range(6), 6).map(lambda _: time.sleep(1.5)).count()
    wait_for("no executor", lambda: count() == 0)
    after = digest(sorted(first.collect()))
    run.rest.drain()
    dead = [e for e in run.rest.executors(all_of_them=True) if not e["isActive"]]
    return {"same": before == after, "answer": before, "dead": len(dead) > 0,
            "reasons": sorted({masked(executor["removeReason"]) for executor in dead})}


def delegated(run):
    """A UDF, and files that are written."""
    spark = run.spark
    numbers = spark.range(0, 20_000, numPartitions=3).selectExpr("id", "id % 7 AS k")
    numbers.write.mode("overwrite").parquet("/data/written")
    written = spark.read.parquet("/data/written")
    doubled = numbers.where("id < 100").select(udf(lambda n: n * 2, "bigint")("id").alias("twice"))
    return {"written": rows(written.groupBy("k").count().orderBy("k")), "udf": rows(doubled.selectExpr("sum(twice)"))}


def main(result, scratch, kind):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    run.scratch, run.gone = scratch, []
    run.other_compressor = True
    if kind == "native":
        wait_for("two executors", lambda: len(run.rest.executors()) == 2, 200)
        for body in [words, resources, surroundings, query, logs]:
            run.run(body.__name__, body, "none" if body is logs else "unordered")
        run.result["metrics"]["query"] = of_columns(run.result["metrics"]["query"])
        for body in [secret, killed, too_large]:
            run.run(body.__name__, body, "none")
    else:
        for body in [secret, come_and_go, delegated]:
            run.run(body.__name__, body, "none")
    run.count_tasks()
    run.result |= {"version": spark.version, "lost": run.gone, "mode": run.sc.getConf().get("spark.submit.deployMode")}
    # Before the context ends: in cluster mode nobody waits for the driver after that.
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
