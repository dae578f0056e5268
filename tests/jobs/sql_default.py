"""DataFrame jobs with all of Firesteel's lanes: those of a user with Spark's default settings, and those that are not native without generated code, where the
reasons are the operators' own. Run once on plain Spark's executors and once on Firesteel's; answers and the records that tasks read and wrote must be equal.

usage: spark-submit ... sql_default.py RESULT SCRATCH INPUTS TPCH QUERIES [THEME...]"""

import json
import os
import re
import sys

from pyspark.sql import SparkSession

import cluster_themes
import delegated_themes
import sql_themes
from support import BLOCK_SIZES, Themes, wait_for, without_numbers

# Sizes of files, too, depend on the compressor, and on what a reader skips.
SIZES = [*BLOCK_SIZES, "in_bytes", "out_bytes"]


def main(result, scratch, inputs, tpch, queries, *only):
    spark = SparkSession.builder.enableHiveSupport().getOrCreate()
    run = Themes(spark)
    run.inputs, run.tpch, run.queries, run.version = inputs, tpch, queries, spark.version
    if spark.sparkContext.master.startswith("local-cluster"):
        wait_for("two executors", lambda: len(run.rest.executors()) == 2)
    errors = [theme for theme in cluster_themes.THEMES if theme[0] == "udf exceptions"]
    nested = [theme for theme in sql_themes.THEMES if theme[0] == "nested order"]
    parts = {
        "interpreted": ("false", delegated_themes.THEMES + errors + nested),
        "generated": ("true", sql_themes.THEMES),
    }
    for mode, (generated, themes) in parts.items():
        spark.conf.set("spark.sql.codegen.wholeStage", generated)
        run.scratch = os.path.join(scratch, mode)
        for name, body, metrics in themes:
            if only and not any(name.startswith(prefix) for prefix in only):
                continue
            theme = f"{mode} {name}"
            run.run(theme, body, "none" if metrics == "none" else "unordered")
            if theme in run.result["answers"]:
                # Which of the tasks that fail is the first to fail for good is chance.
                text = json.dumps(run.result["answers"][theme])
                run.result["answers"][theme] = json.loads(re.sub(r"Task \d+ in stage|Lost task \d+", "Task n", text))
            if theme in run.result["metrics"]:
                run.result["metrics"][theme] = without_numbers(run.result["metrics"][theme], SIZES)
    run.count_tasks()
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


main(*sys.argv[1:])
