"""TPC-DS in Spark SQL with Spark's default settings. Run once on plain Spark's executors and once on Firesteel's, whose drivers have the jar by which
generated code carries its operators; answers must be equal.

usage: spark-submit ... sql_tpcds.py RESULT TPCDS [QUERY...], where TPCDS has `tables` and `queries` (make_tpcds.py)"""

import pathlib
import sys

from pyspark.sql import SparkSession

from support import Themes, digest, native_tasks, wait_for


def cell(value):
    """Sums of floating-point numbers depend on the order in which rows come."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def query(text):
    def body(run):
        found = sorted([cell(value) for value in row] for row in run.spark.sql(text).collect())
        return {"rows": len(found), "first": found[:3], "digest": digest(found)}

    return body


def main(result, tpcds, *only):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    if spark.sparkContext.master.startswith("local-cluster"):
        wait_for("two executors", lambda: len(run.rest.executors()) == 2)
    tpcds = pathlib.Path(tpcds)
    for table in (tpcds / "tables").iterdir():
        spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
    for path in sorted((tpcds / "queries").iterdir()):
        if not only or path.stem in only:
            # Adaptive execution plans by which of two stages ends first: numbers of tasks are not the same twice.
            run.run(path.stem, query(path.read_text()), "none")
    run.count_tasks()
    run.result["native tasks"] = native_tasks(run.rest)
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


main(*sys.argv[1:])
