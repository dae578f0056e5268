"""Data frames of PySpark made of RDDs of Python objects, and RDDs of the rows of data frames, for capture. Argument: a scratch directory."""
import datetime
import decimal
import sys

from pyspark.sql import Row, SparkSession

directory = sys.argv[1]
spark = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").getOrCreate()
sc = spark.sparkContext
frame = spark.range(0, 8, 1, 2).selectExpr("id", "cast(id AS string) s", "date'2020-01-01' d")
frame.write.mode("overwrite").parquet(f"{directory}/table")
frame.select("s").write.mode("overwrite").text(f"{directory}/text")
table = spark.read.parquet(f"{directory}/table")
text = spark.read.text(f"{directory}/text")
ROWS = [(1, "a", 1.5, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), decimal.Decimal("1.50"), [1, 2], {"k": 1}, Row(x=1, y="z")), (2, None, None, None, None, None, None, None, None)]
SCHEMA = "i int, s string, f double, d date, t timestamp, n decimal(10,2), a array<int>, m map<string,int>, r struct<x:int,y:string>"


def run(name, act):
    sc.setLocalProperty("capture.name", name)
    act()


local = spark.createDataFrame(ROWS, SCHEMA)
run("local.collect", local.collect)
run("local.pruned", local.select("i", "s").collect)
run("local.count", local.count)
run("local.filter", local.filter("i > 1").select("s").collect)
run("local.group", local.groupBy("s").count().collect)
run("local.join", local.join(table, local.i == table.id).collect)
run("pipeline.collect", sc.parallelize(range(10), 2).map(lambda i: (i, str(i))).toDF("a int, b string").collect)
run("shuffled.collect", sc.parallelize(range(10), 2).map(lambda i: (i % 3, i)).reduceByKey(lambda a, b: a + b).toDF("a int, b int").filter("a = 1").collect)
run("inferred.collect", sc.parallelize([Row(a=1, b="x")], 1).toDF().collect)
run("single.collect", spark.createDataFrame([1, 2, 3], "int").collect)
run("rdd.collect", table.rdd.collect)
run("rdd.map", table.rdd.map(lambda row: row.id + 1).collect)
run("rdd.text", lambda: text.rdd.map(lambda row: (row[0], 1)).reduceByKey(lambda a, b: a + b).collect())
run("rdd.shuffle", table.groupBy("s").count().rdd.map(tuple).collect)
run("rdd.take", lambda: table.rdd.take(2))
run("rdd.count", table.rdd.count)
run("rdd.foreach", lambda: table.foreach(lambda row: None))
run("rdd.iterator", lambda: list(table.rdd.toLocalIterator()))
run("frame.iterator", lambda: list(table.toLocalIterator()))
