"""The main job: every theme in one application. Run once on plain Spark's executors and once on Firesteel's; the two
result files must be equal.

usage: spark-submit ... parity.py RESULT SCRATCH INPUTS TPCH QUERIES [THEME...]"""

import sys

from pyspark.sql import SparkSession

import cluster_themes
import rdd_themes
import sql_themes
from support import Themes, wait_for


def main(result, scratch, inputs, tpch, queries, *only):
    spark = SparkSession.builder.getOrCreate()
    sc = spark.sparkContext
    run = Themes(spark)
    run.scratch, run.inputs, run.tpch, run.queries, run.version = scratch, inputs, tpch, queries, spark.version
    run.lost = []
    # Both executors before the first job, so that placement is alike on both sides.
    wait_for("two executors", lambda: len(run.rest.executors()) == 2)
    for name, body, metrics in rdd_themes.THEMES + sql_themes.THEMES + cluster_themes.THEMES:
        if not only or any(name.startswith(prefix) for prefix in only):
            run.run(name, body, metrics)
    run.count_tasks()
    run.result["version"] = spark.version
    run.result["lost"] = run.lost
    run.write(result)
    spark.stop()


main(*sys.argv[1:])
