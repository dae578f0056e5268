"""Functions of Python over windows, for capture. Argument: a scratch directory, which nothing is written to."""
import sys

import pandas as pd
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.config("spark.sql.session.timeZone", "Asia/Kolkata").getOrCreate()
sc = spark.sparkContext
table = spark.range(0, 8, 1, 2).selectExpr("id", "id % 3 AS k", "cast(id AS string) s", "id / 4 AS x")


@F.pandas_udf("double")
def mean(values: pd.Series) -> float:
    return values.mean()


@F.pandas_udf("string")
def both(values: pd.Series, others: pd.Series) -> str:
    return f"{len(values)} {others.tolist()}"


def run(name, frame):
    for generated in ["false", "true"]:
        spark.conf.set("spark.sql.codegen.wholeStage", generated)
        sc.setLocalProperty("capture.name", f"{'on' if generated == 'true' else 'off'}.{name}")
        frame.collect()


keys, ordered = Window.partitionBy("k"), Window.partitionBy("k").orderBy(F.desc("id"))
rows, unbounded = ordered.rowsBetween(-1, 1), ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
run("whole", table.select("id", mean("x").over(keys)))
run("growing", table.select("id", mean("x").over(ordered)))
run("frames", table.select("*", mean("x").over(rows), both("x", "s").over(rows), mean("id").over(unbounded), (mean("x").over(ordered.rangeBetween(-2, Window.currentRow)) * 2).alias("d")))
run("plain", table.select("id", mean(F.col("x") + 1).over(Window.partitionBy())))
run("mixed", table.select("id", mean("x").over(keys), F.sum("id").over(keys)))
if spark.version >= "4":
    run("named", table.select("id", both(others=F.col("s"), values=F.col("x")).over(keys), both(F.col("x"), others=F.col("s")).over(rows)))
if hasattr(F, "arrow_udf"):
    import pyarrow as pa

    @F.arrow_udf("bigint")
    def count(values: pa.Array) -> int:
        return len(values)

    run("arrays", table.select("id", count("x").over(rows), count("id").over(keys)))
