"""Cached tables of every type, on odd data, with every storage level: how they are made, read, left out by statistics, dropped and made again.

usage: spark-submit sql_cached.py RESULT DIRECTORY"""

import json
import sys

from pyspark import StorageLevel
from pyspark.sql import SparkSession
from sql_random import counters
from sql_windows import text

# Values of each type, of which some are odd.
VALUES = {
    "bo": ("boolean", ["true", "false", "true", "NULL"]),
    "ti": ("tinyint", ["0", "127", "-128", "5", "NULL"]),
    "sm": ("smallint", ["0", "32767", "-32768", "NULL", "7", "7"]),
    "it": ("int", ["1", "2", "3", "NULL", "2147483647", "-2147483648", "0"]),
    "lo": ("bigint", ["1", "2", "NULL", "9223372036854775807", "-9223372036854775808", "100"]),
    "fl": ("float", ["0", "-0.0", "float('NaN')", "NULL", "float('Infinity')", "1.5"]),
    "do": ("double", ["0", "-0.0D", "double('NaN')", "NULL", "double('-Infinity')", "2.25D"]),
    "de": ("decimal(10,2)", ["0.00", "-99999999.99", "12.50", "NULL"]),
    "wi": ("decimal(38,10)", ["0", "-1234567890123456789012345678.0123456789", "9999999999999999999999999999.9999999999", "NULL", "5.5"]),
    "st": ("string", ["''", "'a'", "'äöü€𐍈'", "NULL", "'a longer text that is not kept in a view'", "'a'"]),
    "bi": ("binary", ["X''", "X'00FF'", "NULL", "cast('some bytes that are many' AS binary)"]),
    "da": ("date", ["DATE'0001-01-01'", "DATE'1582-10-04'", "DATE'9999-12-31'", "NULL", "DATE'2020-02-29'"]),
    "ts": ("timestamp", ["TIMESTAMP'0002-01-01 00:00:00'", "TIMESTAMP'2020-03-29 01:30:00.123456'", "NULL"]),
    "nt": ("timestamp_ntz", ["TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", "NULL", "TIMESTAMP_NTZ'9999-12-31 00:00:00'"]),
    "ym": ("interval year to month", ["INTERVAL '1-2' YEAR TO MONTH", "NULL", "INTERVAL '-9' YEAR"]),
    "ds": ("interval day to second", ["INTERVAL '1 02:03:04.5' DAY TO SECOND", "NULL", "INTERVAL '-3' DAY"]),
    "ar": ("array<int>", ["array(1, NULL, 3)", "array()", "NULL"]),
    "aa": ("array<array<string>>", ["array(array('x', NULL), NULL, array())", "NULL"]),
    "ma": ("map<string,int>", ["map('a', 1, 'b', NULL)", "map()", "NULL"]),
    "ro": ("struct<a:int,b:string>", ["named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', NULL)", "NULL"]),
    "no": ("void", ["NULL"]),
}


def table(spark, rows, parts=3):
    """Rows with a number of their own, of all types; every seventh value of each type is the one before it."""
    columns = []
    for place, (name, (of, values)) in enumerate(VALUES.items()):
        # Each value comes after each other one, and some of them many times over.
        pick = f"array({', '.join(f'CAST({value} AS {of})' for value in values)})[CAST(pmod(id * {place + 1} + id DIV {5 + place}, {len(values)}) AS int)]"
        columns.append(f"{'NULL' if of == 'void' else pick} AS {name}")
    return spark.range(0, rows, 1, parts).selectExpr("id", *columns)


def answer(frame):
    """The rows, without what Python has no values for."""
    frame = frame.drop("ym")
    return sorted(json.dumps([text(value) for value in row]) for row in frame.collect())


def size(spark, frame):
    """What the driver knows of a cached table's size and rows: by that it plans joins."""
    stats = frame._jdf.queryExecution().optimizedPlan().stats()
    rows = stats.rowCount()
    return {"bytes": str(stats.sizeInBytes()), "rows": str(rows.get()) if rows.isDefined() else None}


def kept(spark):
    """Names and partitions of the RDDs that are kept."""
    found = spark._jsparkSession.sparkContext().getRDDStorageInfo()
    return sorted([rdd.numCachedPartitions(), rdd.storageLevel().description()] for rdd in found)


def types(spark, answers):
    """Every column alone, all of them, none of them."""
    frame = table(spark, 1000).cache()
    answers["size before"] = size(spark, frame)
    answers["count"] = frame.count()
    answers["size"] = size(spark, frame)
    answers["kept"] = kept(spark)
    answers["all"] = answer(frame)
    for name in VALUES:
        # Maps are no keys, and nulls no native ones.
        answers[f"column {name}"] = answer(frame.select("id", name) if name in ("ma", "no") else frame.groupBy(name).count())
    answers["again"] = frame.where("id % 2 = 0").count()
    frame.unpersist(blocking=True)
    answers["kept no more"] = kept(spark)


def statistics(spark, answers):
    """Small batches that are left out by what is known of them, rightly or, with NaN, as Spark does it."""
    spark.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", "10")
    frame = table(spark, 500).cache()
    frame.count()
    conditions = ["id > 490", "id BETWEEN 100 AND 120 OR id = 3", "id IN (1, 250, 499)", "id < 0", "it > 3", "it <= -2147483648", "st = 'a'", "st LIKE 'a lon%'", "st > 'b'",
                  "do > 2", "do = double('NaN')", "do < 0", "fl >= 1", "de < -5", "de = 12.5", "wi > 10", "wi = 5.5", "da < DATE'1600-01-01'", "ts > TIMESTAMP'2000-01-01 00:00:00'",
                  "nt = TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", "bo", "NOT bo", "ti = 5", "sm IS NULL", "sm IS NOT NULL", "ar IS NULL", "bi IS NULL", "no IS NULL", "no IS NOT NULL",
                  "lo <=> NULL", "it <=> 2", "ym > INTERVAL '0' YEAR", "ds < INTERVAL '0' DAY", "id > 480 AND st IS NOT NULL AND it < 10", "bi = X'00FF'"]
    for condition in conditions:
        answers[f"where {condition}"] = answer(frame.where(condition).select("id"))
    answers["size of small batches"] = size(spark, frame)
    frame.unpersist(blocking=True)
    # Every batch has its own values: all but a few are left out.
    spark.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", "7")
    ordered = spark.range(0, 1000, 1, 4).selectExpr("id", "CAST(id DIV 10 AS string) AS s", "IF(id % 50 = 7, NULL, id / 3) AS d").cache()
    for condition in ["id = 555", "d > 300", "s = '42'", "d IS NULL", "id >= 10 AND id < 20"]:
        answers[f"ordered where {condition}"] = answer(ordered.where(condition))
    ordered.unpersist(blocking=True)
    spark.conf.unset("spark.sql.inMemoryColumnarStorage.batchSize")


def plans(spark, answers):
    """What is cached, and what reads it."""
    rows = table(spark, 300)
    empty = rows.where("id < 0").cache()
    answers["no rows"] = [empty.count(), answer(empty.groupBy("it").count())]
    nothing = spark.range(0, 100, 1, 3).select().cache()
    answers["no columns"] = [nothing.count(), nothing.crossJoin(spark.range(2)).count()]
    local = spark.sql("SELECT * FROM VALUES (1, 'a'), (2, NULL), (NULL, 'c') AS v(x, y)").cache()
    answers["local"] = answer(local)
    one = spark.sql("SELECT 1 AS x, 'one' AS y").cache()
    answers["one row"] = answer(one.union(local))
    grouped = rows.groupBy("it", "st").agg({"id": "sum", "de": "max"}).cache()
    answers["groups"] = answer(grouped)
    answers["groups of groups"] = answer(grouped.groupBy("st").count())
    # What reads it relies on the order and the partitioning that the cached plan has.
    sorted_rows = rows.select("id", "it", "st").repartition(3, "it").sortWithinPartitions("it", "id").cache()
    answers["merged with itself"] = answer(sorted_rows.alias("a").hint("merge").join(sorted_rows.alias("b"), "it").selectExpr("it", "a.id", "b.st").where("a.id < 40"))
    answers["first"] = answer(sorted_rows.orderBy("id").limit(7))
    answers["hash join"] = answer(rows.alias("a").hint("shuffle_hash").join(sorted_rows.alias("b"), "id").select("id", "b.st"))
    answers["broadcast"] = answer(rows.where("id > 200").alias("a").join(grouped.alias("b").hint("broadcast"), "it").select("id", "b.st"))
    answers["union"] = answer(sorted_rows.union(sorted_rows.where("id < 20")).groupBy("it").count())
    answers["coalesced"] = answer(sorted_rows.coalesce(2).selectExpr("max(id)", "count(st)"))
    answers["windows"] = answer(sorted_rows.selectExpr("id", "row_number() OVER (PARTITION BY it ORDER BY id) AS r"))
    answers["subquery"] = answer(rows.where("id < 50").join(sorted_rows, "id", "left_anti").union(rows.where("id < 3")).select("id"))
    twice = sorted_rows.selectExpr("id * 2 AS twice", "st").cache()
    answers["a cached table of a cached table"] = [twice.count(), answer(twice.where("twice > 500"))]
    limited = rows.orderBy("id").limit(5).select("id", "st").cache()
    answers["limited"] = answer(limited)
    answers["exists"] = answer(rows.select("id").where("id IN (SELECT id FROM VALUES (1L), (299L), (NULL) AS v(id))").cache())
    rows.select("id", "st").createOrReplaceTempView("named")
    spark.sql("CACHE TABLE named")
    spark.sql("CACHE LAZY TABLE lazy OPTIONS ('storageLevel' 'DISK_ONLY') AS SELECT st, count(*) AS n FROM named GROUP BY st")
    answers["tables"] = [answer(spark.sql("SELECT * FROM lazy")), answer(spark.sql("SELECT n FROM lazy JOIN named USING (st)")), kept(spark)]
    spark.sql("UNCACHE TABLE named")
    spark.catalog.clearCache()
    answers["cleared"] = kept(spark)
    spark.sql("DROP VIEW lazy")
    answers["made anew"] = answer(spark.sql("SELECT count(id), max(st) FROM named"))


def levels(spark, answers):
    for name in ["MEMORY_ONLY", "MEMORY_AND_DISK", "DISK_ONLY", "MEMORY_AND_DISK_2", "MEMORY_AND_DISK_DESER", "DISK_ONLY_3"]:
        frame = table(spark, 200, 2).persist(getattr(StorageLevel, name))
        answers[f"level {name}"] = [frame.count(), answer(frame.select("id", "st", "wi", "ro")), [level for _, level in kept(spark)]]
        frame.unpersist(blocking=True)
    for compressed in ["true", "false"]:
        spark.conf.set("spark.sql.inMemoryColumnarStorage.compressed", compressed)
        frame = spark.range(0, 20000, 1, 2).selectExpr("id", "id DIV 1000 AS runs", "CAST(id % 7 AS int) AS few", "CAST(id % 7 AS string) AS words", "id % 3 = 0 AS flag").cache()
        answers[f"compressed {compressed}"] = [frame.count(), answer(frame.groupBy("few", "flag").agg({"runs": "sum", "words": "max", "id": "max"})), size(spark, frame)]
        frame.unpersist(blocking=True)
    spark.conf.unset("spark.sql.inMemoryColumnarStorage.compressed")


def main():
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").config("spark.sql.session.timeZone", "Europe/Zurich")
    spark = builder.config("spark.sql.leafNodeDefaultParallelism", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    answers = {}
    for adaptive, themes in [("true", [types, statistics, plans, levels]), ("false", [plans])]:
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for theme in themes:
            found = {}
            theme(spark, found)
            answers |= {f"{theme.__name__}, adaptive {adaptive}: {name}": value for name, value in found.items()}
            spark.catalog.clearCache()
    with open(sys.argv[1], "w") as out:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": counters(spark)}, out, indent=0, sort_keys=True)
    print(f"{len(answers)} answers")
    spark.stop()


if __name__ == "__main__":
    main()
