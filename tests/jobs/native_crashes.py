"""Functions of a shared library that crash and that never end, each in a process of its own, beside a job that has nothing to do with them.

usage: spark-submit native_crashes.py RESULT"""

import json
import sys
import threading
import time

from pyspark import InheritableThread
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import firesteel_bad_calls as bad

# How long a cancelled job may take to give its cores back, in seconds.
SOON = 60


def executors(spark):
    found = spark.sparkContext._jsc.sc().getExecutorIds()
    return sorted(found.apply(place) for place in range(found.size()))


def failing(call):
    try:
        return str(call())
    except Exception as error:
        return str(error)


def beside(spark):
    frame = spark.range(0, 400000, 1, 16).select((F.col("id") % 1000).alias("k"), F.col("id").alias("v"))
    return [tuple(row) for row in frame.groupBy("k").agg(F.sum("v").alias("s")).groupBy().agg(F.sum("s"), F.count("*")).collect()]


def runs(tracker, group):
    """Whether a job of the group has a task that runs."""
    jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)))
    stages = filter(None, (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds))
    return any(stage.numActiveTasks > 0 for stage in stages)


def cancelled(spark, frame):
    """A job that never ends, cancelled when it runs."""
    context, said = spark.sparkContext, []

    def run():
        context.setJobGroup("spin", "never ends", interruptOnCancel=True)
        said.append(failing(lambda: frame.select(bad.spin("v")).collect()))

    thread = InheritableThread(target=run)
    thread.start()
    while not runs(context.statusTracker(), "spin"):
        time.sleep(0.1)
    # The function runs by now, or soon.
    time.sleep(2)
    context.cancelJobGroup("spin")
    thread.join(SOON)
    return said[0] if said else "runs still"


def main():
    spark = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.ansi.enabled", "false").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    bad.register(spark)
    answers = {"errors": {}, "beside, alone": beside(spark), "executors": executors(spark)}
    frame = spark.range(0, 4, 1, 2).select(F.col("id").cast("int").alias("v"))
    side = []
    ends = threading.Event()

    def run_beside():
        while not side or not ends.is_set():
            side.append(beside(spark))

    thread = InheritableThread(target=run_beside)
    thread.start()
    for name in ["crash", "abort_me"]:
        answers[name] = failing(lambda: frame.select(getattr(bad, name)("v")).collect())
    answers["spin"] = cancelled(spark, frame)
    ends.set()
    thread.join()
    assert all(answer == side[0] for answer in side), side
    answers["beside"] = side[0]
    answers["after"] = [row[0] for row in frame.select(bad.with_offset("v")).collect()]
    answers["executors after"] = executors(spark)
    with open(sys.argv[1], "w") as file:
        json.dump(answers, file, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
