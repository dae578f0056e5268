"""The jobs of the Python lane. `rdd`: themes of which every task is Python's; `mixed`: themes that need several lanes.

usage: spark-submit ... python_lane.py RESULT SCRATCH LOCAL rdd|mixed [THEME...]"""

import sys

from pyspark.sql import SparkSession

import cluster_themes
import failure_themes
import mixed_themes
import rdd_themes
from support import Themes, wait_for


def chosen(kind):
    if kind == "mixed":
        return mixed_themes.THEMES + [theme for theme in rdd_themes.THEMES if theme[0] == "rdd files"]
    surroundings = [theme for theme in cluster_themes.THEMES if theme[0] in ["dependencies", "cancel python tasks"]]
    return [theme for theme in rdd_themes.THEMES if theme[0] != "rdd files"] + surroundings + failure_themes.THEMES


def main(result, scratch, local, kind, *only):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    run.scratch, run.local, run.lost = scratch, local, []
    run.other_compressor = True
    # Both executors before the first job, so that placement is alike on both sides.
    wait_for("two executors", lambda: len(run.rest.executors()) == 2)
    for name, body, metrics in chosen(kind):
        if not only or any(name.startswith(prefix) for prefix in only):
            run.run(name, body, metrics)
    run.count_tasks()
    run.result["version"] = spark.version
    run.result["lost"] = run.lost
    run.write(result)
    spark.stop()


main(*sys.argv[1:])
