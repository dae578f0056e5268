"""Checkpoints of data frames, local and reliable, at once and with the first query, and what is read of them.

usage: spark-submit sql_checkpoints.py RESULT SCRATCH KIND. With KIND `native` no task needs a JVM; with `mixed` one lane reads what the other has kept."""

import json
import os
import sys

from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_cached import table
from sql_random import counters
from sql_windows import text


def answer(frame):
    return sorted(in_order(frame))


def in_order(frame):
    return [json.dumps([text(value) for value in row]) for row in frame.collect()]


def kept(frame, reliable, eager):
    return frame.checkpoint(eager) if reliable else frame.localCheckpoint(eager)


def queries(spark, scratch, kept):
    """Everything that may be done with a checkpoint that `kept` makes."""
    wide = table(spark, 300)
    numbers = spark.range(0, 500, 1, 3).selectExpr("id", "id % 7 AS k", "CAST(id AS string) AS s")
    of_all_types = kept(wide)
    # Of these Python has no values.
    yield "all types", answer(of_all_types.drop("no", "ym", "ds"))
    yield "some columns", answer(of_all_types.selectExpr("st", "id + 1").where("id % 3 = 0"))
    yield "count", [of_all_types.count(), of_all_types.isEmpty(), len(of_all_types.select("st").take(5)), of_all_types.limit(7).count()]
    yield "groups", answer(of_all_types.groupBy("it").agg(F.count("st"), F.max("de"), F.sum("id")))
    yield "of a shuffle", answer(kept(numbers.repartition(5, "k")).groupBy("k").count())
    yield "of whole rows", answer(kept(numbers.repartition(4)))
    yield "sorted", in_order(kept(numbers.orderBy(F.desc("k"), "id")))
    yield "aggregated", answer(kept(numbers.groupBy("k").agg(F.sum("id").alias("n"), F.collect_set("k"))))
    left, right = kept(numbers.where("k < 3")), kept(numbers.where("k > 1"))
    yield "joined", answer(left.alias("a").join(right.alias("b"), "id").selectExpr("id", "a.s", "b.k"))
    yield "broadcast", answer(numbers.join(F.broadcast(left.select("id")), "id"))
    yield "united", answer(kept(left.union(right)).groupBy("k").count())
    yield "windows", answer(left.selectExpr("id", "row_number() OVER (PARTITION BY k ORDER BY id DESC) AS r").where("r < 3"))
    yield "no rows", [kept(numbers.where("id < 0")).collect(), kept(numbers.limit(0)).count()]
    yield "no columns", [kept(numbers.select()).count(), len(kept(numbers.select()).collect())]
    yield "of a local table", answer(kept(spark.createDataFrame([(1, "a"), (2, None)], "n int, s string").union(spark.createDataFrame([(3, "")], "n int, s string"))))
    yield "cached", [left.cache().count(), answer(left.where("k = 1"))]
    left.unpersist()
    step = kept(numbers)
    for _ in range(4):
        step = kept(step.selectExpr("id + k AS id", "(k + 1) % 5 AS k", "s").where("id % 11 > 0"))
    yield "steps", answer(step)
    path = os.path.join(scratch, "written")
    kept(wide.select("id", "st", "de")).write.mode("overwrite").parquet(path)
    yield "written", answer(spark.read.schema("id bigint, st string, de decimal(10,2)").parquet(path).select("id", "st"))
    yield "rows in Python", sorted(kept(numbers.where("k = 2")).rdd.map(lambda row: [row.id, row.s]).collect())


def native(spark, scratch):
    for reliable in [False, True]:
        for eager in [True, False]:
            for name, found in queries(spark, scratch, lambda frame: kept(frame, reliable, eager)):
                yield f"{name}, {'reliable' if reliable else 'local'}, {'eager' if eager else 'lazy'}", found
    if spark.version >= "4.":
        for level in [StorageLevel.DISK_ONLY, StorageLevel.MEMORY_ONLY, StorageLevel.MEMORY_AND_DISK_2]:
            frame = table(spark, 100).localCheckpoint(True, level)
            yield f"{level}", [answer(frame.drop("no", "ym", "ds")), frame.where("id > 50").count()]


def mixed(spark):
    """Calls of Java's methods, which the JVM alone makes, of what was kept natively, and the other way round."""
    numbers = spark.range(0, 400, 1, 2).selectExpr("id", "id % 7 AS k", "repeat(CAST(id AS string), CAST(id % 300 AS int)) AS s")
    called = "reflect('java.lang.Integer', 'toHexString', CAST({} AS int))"
    for reliable in [False, True]:
        name = "reliable" if reliable else "local"
        by_us = kept(numbers, reliable, True)
        yield f"read by the JVM, {name}", answer(by_us.selectExpr("k", f"{called.format('id')} AS m", "s").groupBy("k").agg(F.max("m"), F.max("s")))
        of_groups = numbers.groupBy("k").agg(F.max("id").alias("id"), F.max("s").alias("s"))
        by_it = kept(of_groups.selectExpr("k", f"{called.format('id')} AS m", "s"), reliable, True)
        yield f"kept by the JVM, {name}", answer(by_it.selectExpr("k + 1", "m", "s"))


def main():
    result, scratch, kind = sys.argv[1:4]
    builder = SparkSession.builder.config("spark.sql.session.timeZone", "Europe/Zurich").config("spark.sql.shuffle.partitions", "3").config("spark.sql.leafNodeDefaultParallelism", "2")
    for kind_of_time in ["datetime", "int96"]:
        builder = builder.config(f"spark.sql.parquet.{kind_of_time}RebaseModeInWrite", "CORRECTED")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.sparkContext.setCheckpointDir(os.path.join(scratch, "checkpoints"))
    answers = dict(native(spark, scratch) if kind == "native" else mixed(spark))
    found = counters(spark)
    with open(result, "w") as out:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": found}, out, indent=0, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
