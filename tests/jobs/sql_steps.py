"""Queries whose rows other queries read: recursive ones, step by step, and batches of streams. And queries whose generated code is too long, which Spark interprets
over columns.

usage: spark-submit sql_steps.py RESULT SCRATCH KIND. KIND is `steps` (recursive queries are for Spark from 4.1 on), or `long` for code that is too long."""

import json
import os
import sys

from pyspark.sql import SparkSession
from sql_cached import VALUES, table
from sql_random import counters
from sql_windows import text

# A tree of names.
TREE = "SELECT CAST(id AS int) AS id, CAST(IF(id = 0, NULL, (id - 1) DIV 3) AS int) AS above, concat('n', id) AS name, CAST(id * 1.25 AS decimal(10,2)) AS price FROM range(0, 200, 1, 3)"
RECURSIVE = {
    "numbers": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 60) SELECT n, n * n FROM t",
    "sum": "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 40) SELECT sum(n), count(*), max(n) FROM t",
    "tree": "WITH RECURSIVE t AS (SELECT id, above, name, 0 AS depth FROM tree WHERE above IS NULL UNION ALL SELECT c.id, c.above, concat(t.name, '/', c.name), depth + 1 FROM tree c JOIN t ON c.above = t.id) SELECT * FROM t",
    "branches": "WITH RECURSIVE t AS (SELECT id, price, 0 AS depth FROM tree WHERE id IN (1, 3) UNION ALL SELECT c.id, CAST(c.price + t.price AS decimal(10,2)), depth + 1 FROM tree c JOIN t ON c.above = t.id) SELECT depth, count(*), sum(price), min(id) FROM t GROUP BY depth",
    "many rows": "WITH RECURSIVE t AS (SELECT id, id AS start FROM tree UNION ALL SELECT t.id - 50, start FROM t WHERE t.id >= 50) SELECT start, count(*), sum(id) FROM t GROUP BY start",
    "twice": "WITH RECURSIVE t(n, s) AS (SELECT id, name FROM tree WHERE id < 3 UNION ALL SELECT n + 3, concat(s, '+') FROM t WHERE n < 20) SELECT a.n, b.s FROM t a JOIN t b ON a.n = b.n + 1",
    "no rows": "WITH RECURSIVE t AS (SELECT id FROM tree WHERE id < 0 UNION ALL SELECT id + 1 FROM t WHERE id < 5) SELECT count(*) FROM t",
    "values": "WITH RECURSIVE t AS (SELECT id, wide.* EXCEPT (id) FROM wide WHERE id < 12 UNION ALL SELECT t.id + 100, t.* EXCEPT (id) FROM t WHERE t.id < 100) SELECT * FROM t",
    "subquery": "SELECT name FROM tree WHERE id IN (WITH RECURSIVE t(n) AS (SELECT id FROM tree WHERE id < 2 UNION ALL SELECT n * 2 + 1 FROM t WHERE n < 90) SELECT n FROM t)",
    "aggregated": "WITH RECURSIVE t(n, total) AS (SELECT id, 0D FROM tree WHERE id < 5 UNION ALL SELECT n + 5, total + n / 4D FROM t WHERE n < 80) SELECT n % 5, collect_list(total) FROM (SELECT * FROM t ORDER BY n) GROUP BY n % 5",
}
# Steps of so many rows become local tables.
SETTING = "spark.sql.cteRecursionAnchorRowsLimitToConvertToLocalRelation"


def answer(frame):
    return sorted(json.dumps([text(value) for value in row]) for row in frame.collect())


def recursive(spark):
    for rows in ["100", "0"]:
        spark.conf.set(SETTING, rows)
        for name, query in RECURSIVE.items():
            yield f"{name}, {rows} rows become local", answer(spark.sql(query))
    spark.conf.unset(SETTING)


def streams(spark, scratch):
    """Each batch is read by queries."""
    found = {}

    def batch(frame, number):
        spark = frame.sparkSession
        found[f"batch {number}"] = answer(frame.selectExpr("id % 7 AS k", "price").groupBy("k").sum("price"))
        frame.createOrReplaceGlobalTempView("batch")
        found[f"join of batch {number}"] = answer(spark.sql("SELECT count(*), max(b.name) FROM global_temp.batch b JOIN parquet.`%s` t ON b.above = t.id" % os.path.join(scratch, "tree")))

    source = spark.readStream.schema(spark.read.parquet(os.path.join(scratch, "tree")).schema).option("maxFilesPerTrigger", 2).parquet(os.path.join(scratch, "tree"))
    for name, frame in [("rows", source), ("projected", source.where("id > 20").selectExpr("id + 1 AS id", "above", "upper(name) AS name", "price"))]:
        found.clear()
        frame.writeStream.foreachBatch(batch).option("checkpointLocation", os.path.join(scratch, f"checkpoint-{name}")).trigger(availableNow=True).start().awaitTermination()
        # Which files a batch has depends on their times.
        yield f"{name} of a stream", sorted(found)


def counted(plan):
    """What the operators of a plan say of their rows."""
    found = {name: plan.metrics().get(name).get().value() for name in ["numOutputRows", "numInputBatches"] if plan.metrics().contains(name)}
    return [plan.nodeName().split(" ")[0], found, [counted(plan.children().apply(at)) for at in range(plan.children().size())]]


def too_long(spark):
    """Queries over columns of files and of cached tables without generated code."""
    wide = spark.table("wide")
    names = [name for name in VALUES if name not in ("no", "ym", "ds")]
    yield "columns", answer(wide.select("id", *names))
    few = wide.where("it > 0").select("id", "st")
    yield "rows of operators", [len(few.collect()), counted(few._jdf.queryExecution().executedPlan())]
    yield "filtered", answer(wide.where("it > 0 OR st = 'a'").selectExpr("id + 1 AS id", "concat(st, '!') AS s"))
    yield "groups", answer(wide.groupBy("it", "st").agg({"id": "sum", "de": "max", "do": "min"}))
    yield "joined", answer(wide.alias("a").join(spark.table("tree").alias("b"), "id").where("price > 20").selectExpr("id", "name", "a.ro.b", "get(a.ar, 0)"))
    yield "merged", answer(wide.alias("a").hint("merge").join(spark.table("tree").alias("b"), "id").selectExpr("id", "b.name", "a.lo"))
    yield "exploded", answer(wide.selectExpr("id", "explode(ar) AS e"))
    yield "windows", answer(wide.selectExpr("id", "row_number() OVER (PARTITION BY it ORDER BY id) AS r"))
    yield "sorted", answer(wide.orderBy("st", "id").limit(20).select("id", "st"))
    yield "no columns", [wide.count(), wide.where("ti IS NULL").count()]
    yield "union", answer(wide.select("id", "st").union(spark.table("tree").select("id", "name")).groupBy("id").count())
    kept = wide.select("id", "it", "st", "do").cache()
    yield "cached", [kept.count(), answer(kept.where("it > 1").selectExpr("id", "st", "do * 2"))]


def main():
    result, scratch, kind = sys.argv[1:4]
    builder = SparkSession.builder.config("spark.sql.session.timeZone", "Europe/Zurich").config("spark.sql.shuffle.partitions", "3").config("spark.sql.leafNodeDefaultParallelism", "2")
    for kind_of_time in ["datetime", "int96"]:
        builder = builder.config(f"spark.sql.parquet.{kind_of_time}RebaseModeInWrite", "CORRECTED")
    if kind == "long":
        builder = builder.config("spark.sql.codegen.hugeMethodLimit", "1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name, rows in [("tree", spark.sql(TREE)), ("wide", table(spark, 300).drop("no", "ym", "ds") if kind == "long" else table(spark, 300).drop("ds"))]:
        path = os.path.join(scratch, name)
        rows.drop("no", "ym").write.parquet(path)
        spark.read.schema(rows.drop("no", "ym").schema).parquet(path).createOrReplaceTempView(name)
    answers = {}
    if kind == "long":
        answers |= too_long(spark)
    else:
        answers |= streams(spark, scratch)
        if spark.version >= "4.1":
            answers |= recursive(spark)
    counted = counters(spark)
    with open(result, "w") as out:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": counted}, out, indent=0, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
