"""DataFrame jobs: TPC-H queries, joins, windows, writers and readers, Python and pandas UDFs."""

import glob
import os

from pyspark.sql import Window
from pyspark.sql import functions as F

from support import digest, rows

QUERIES = ["q01", "q03", "q13", "q16", "q18", "q21"]
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]


def tables(run):
    for table in TABLES:
        run.spark.read.parquet(f"{run.tpch}/{table}").createOrReplaceTempView(table)
    return {table: run.spark.table(table).count() for table in TABLES}


def tpch_query(name):
    def body(run):
        with open(os.path.join(run.queries, f"{name}.sql")) as text:
            found = rows(run.spark.sql(text.read()))
        return {"rows": len(found), "first": found[:3], "digest": digest(found)}

    return body


def joins(run):
    left = run.spark.range(0, 2000, 1, 4).withColumn("k", F.col("id") % 101)
    right = run.spark.range(0, 300, 1, 3).withColumn("k", F.col("id") % 137).withColumnRenamed("id", "r")
    answers = {}
    for hint in ["broadcast", "merge", "shuffle_hash", "shuffle_replicate_nl"]:
        joined = left.join(right.hint(hint), "k").groupBy("k").agg(F.count("*").alias("n"), F.sum("r").alias("s"))
        answers[hint] = digest(rows(joined.orderBy("k")))
    for kind in ["left_outer", "right_outer", "full_outer", "left_semi", "left_anti"]:
        answers[kind] = left.join(right.hint("merge"), "k", kind).count()
    return answers


def windows_and_sorts(run):
    frame = run.spark.range(0, 1500, 1, 4).select(
        "id", (F.col("id") % 17).alias("g"), F.when(F.col("id") % 11 != 0, F.col("id") * 7 % 501).alias("v"))
    window = Window.partitionBy("g").orderBy(F.col("v").desc_nulls_last(), "id")
    ranked = frame.select("g", "id", F.row_number().over(window).alias("n"), F.lag("v").over(window).alias("lag"))
    return {
        "window": digest(rows(ranked.orderBy("g", "n"))),
        "sort": digest(rows(frame.orderBy(F.col("v").asc_nulls_first(), F.col("id").desc()))),
        "rollup": digest(rows(frame.rollup("g").agg(F.sum("v"), F.approx_count_distinct("v"), F.collect_set("g"))
                              .orderBy("g"))),
        "pivot": rows(frame.groupBy((F.col("id") % 2).alias("odd")).pivot("g", [1, 2, 3]).count().orderBy("odd")),
    }


def nested_order(run):
    """Arrays and structs in order: the latest of a group, sorts, ranges, merges, ranks, comparisons."""
    frame = run.spark.range(0, 1500, 1, 4).selectExpr(
        "id", "id % 17 as g", "named_struct('ts', if(id % 11 != 0, id * 7 % 51, null), 'x', concat('n', id % 3)) as s",
        "if(id % 29 != 0, array(id % 5, if(id % 3 = 0, null, id % 7)), array()) as a",
        "if(id % 31 != 0, array(if(id % 2 = 0, 0.0D, -0.0D), if(id % 7 = 0, double('NaN'), id % 4)), null) as d")
    best = frame.groupBy("g").agg(F.max("s"), F.min("s"), F.max("a"), F.min("a"), F.max(F.struct("a", "id")), F.max(F.struct("d", "id")).alias("d"))
    window = Window.partitionBy("g").orderBy(F.col("s").desc(), "a")
    ranked = frame.select("g", "s", "a", F.rank().over(window).alias("n"), F.max("a").over(window).alias("most"), F.min(F.struct("a", "s")).over(Window.partitionBy("g")).alias("least"))
    answers = {
        "best": digest(rows(best.selectExpr("*", "d.id as d_id").drop("d").orderBy("g"))),
        "all": rows(frame.agg(F.max("s"), F.min("a"), F.max(F.struct("a", "s", "id")))),
        "first": rows(frame.orderBy(F.col("s").desc_nulls_last(), "id").limit(7).select("s", "id")),
        "ranked": digest(rows(ranked.orderBy("g", "n", "s", "a"))),
        "compared": rows(frame.where("s > named_struct('ts', 40L, 'x', 'n1') and a in (array(1L, null), array(2L, 3L)) or d <=> array(0.0D, 1.0D) or a >= array(4L, 6L)").agg(F.count("*"), F.sum("id"))),
        "functions": digest(rows(frame.selectExpr("greatest(a, array(g)) as x", "array_max(array(s, named_struct('ts', g, 'x', 'n1'))) as y", "sort_array(array(a, array(g), null)) as z").orderBy("x", "y", "z"))),
        "ranges": digest(rows(frame.repartitionByRange(5, F.col("a").desc(), "s").sortWithinPartitions(F.col("a").desc(), "s").select("a", "s"))),
    }
    for name, order in {"struct": ["s", "id"], "array": [F.col("a").desc_nulls_first(), "id"], "floats": [F.col("d").asc_nulls_last(), "id"]}.items():
        answers[f"sorted by {name}"] = digest(rows(frame.select("id", "s", "a", "d").orderBy(*order)))
    other = frame.where("id < 300").select("s", "a", F.col("id").alias("r"))
    for hint in ["broadcast", "merge", "shuffle_hash"]:
        joined = frame.join(other.hint(hint), ["s", "a"]).groupBy("a").agg(F.count("*").alias("n"), F.sum("r").alias("sum"))
        answers[hint] = digest(rows(joined.orderBy("a")))
    return answers


def writers(run):
    """Files of three formats, partitioned, read back; output metrics are compared."""
    frame = run.spark.range(0, 2000, 1, 3).select("id", (F.col("id") % 3).alias("p"), F.concat(F.lit("s"), "id").alias("s"))
    answers = {}
    for kind in ["parquet", "json", "csv", "orc"]:
        path = f"{run.scratch}/{kind}"
        frame.write.partitionBy("p").format(kind).save(path)
        back = run.spark.read.schema("id long, s string, p int").format(kind).load(path)
        files = glob.glob(f"{path}/p=*/part-*")
        answers[kind] = {"rows": digest(rows(back.orderBy("id"))), "files": len(files), "success": os.path.exists(f"{path}/_SUCCESS")}
    return answers


def cached_frame(run):
    frame = run.spark.range(0, 5000, 1, 4).withColumn("v", F.col("id") * 2).cache()
    answer = [frame.count(), frame.agg(F.sum("v")).first()[0], frame.filter("id < 10").count()]
    frame.unpersist(blocking=True)
    return answer


def python_udfs(run):
    from pyspark.sql.types import LongType

    @F.udf(LongType())
    def squared(value):
        return None if value is None else value * value

    frame = run.spark.range(0, 1000, 1, 4).select(F.when(F.col("id") % 7 != 0, F.col("id")).alias("v"))
    return {
        "sum": frame.agg(F.sum(squared("v"))).first()[0],
        "group": rows(frame.groupBy(squared(F.col("v") % 4).alias("k")).count().orderBy("k")),
        "mixed": digest(rows(frame.select(squared("v").alias("a"), (squared("v") + 1).alias("b")).orderBy("a"))),
    }


def pandas_udfs(run):
    import pandas as pd

    @F.pandas_udf("long")
    def plus_one(values: pd.Series) -> pd.Series:
        return values + 1

    @F.pandas_udf("double")
    def mean(values: pd.Series) -> float:
        return float(values.mean())

    def centred(group):
        return group.assign(v=group.v - group.v.mean())

    def batches(iterator):
        for batch in iterator:
            yield batch

    frame = run.spark.range(0, 1000, 1, 4).select("id", (F.col("id") % 5).alias("g"), F.col("id").cast("double").alias("v"))
    return {
        "scalar": frame.agg(F.sum(plus_one("id"))).first()[0],
        "aggregate": rows(frame.groupBy("g").agg(mean("v").alias("m")).orderBy("g")),
        "grouped": rows(frame.groupBy("g").applyInPandas(centred, frame.schema).groupBy("g").agg(F.sum("v")).orderBy("g")),
        "arrow": frame.mapInArrow(batches, frame.schema).count(),
    }


def java_udf(run):
    """A function of the jar given by --jars, called by SQL on the executors."""
    run.spark.udf.registerJavaFunction("backwards", "probe.Backwards")
    return rows(run.spark.sql("select backwards(concat('n', id)) from range(0, 6, 1, 3) order by id"))


THEMES = (
    [("tables", tables, "exact")]
    + [(f"tpch {name}", tpch_query(name), "exact") for name in QUERIES]
    + [
        ("joins", joins, "exact"),
        ("windows and sorts", windows_and_sorts, "exact"),
        ("nested order", nested_order, "exact"),
        ("writers and readers", writers, "unordered"),
        ("cached frame", cached_frame, "exact"),
        ("python udfs", python_udfs, "exact"),
        ("pandas udfs", pandas_udfs, "exact"),
        ("java udf", java_udf, "exact"),
    ]
)
