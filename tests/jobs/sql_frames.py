"""Data frames that PySpark makes of Python's objects, and RDDs of data frames' rows.

usage: spark-submit sql_frames.py RESULT SCRATCH KIND. KIND is `native` for what needs no JVM, `left` for what has values that only Spark knows."""

import datetime
import decimal
import math
import sys

from pyspark import StorageLevel
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StructField, StructType

from sql_python import ARGUMENTS, RESULTS, TYPES, thrown_or
from support import Themes, digest, rows, thrown, wait_for

D, T = datetime.date, datetime.datetime
# A value of each type, twice what is odd of it.
VALUES = {
    "boolean": [True, False, None],
    "tinyint": [0, 127, -128, None],
    "smallint": [255, -32768, None],
    "int": [2**31 - 1, -(2**31), 0, 65535, 65536, None],
    "bigint": [2**63 - 1, -(2**63), 2**31, -1, None],
    "float": [1.5, -0.0, math.nan, math.inf, 1e300, None],
    "double": [1.1, -0.0, math.nan, -math.inf, 5e-324, None],
    "decimal(10,2)": [decimal.Decimal("1.20"), decimal.Decimal("-99999999.99"), decimal.Decimal("1E+3"), decimal.Decimal("0.005"), None],
    "decimal(38,18)": [decimal.Decimal("0.000000000000000001"), decimal.Decimal("-99999999999999999999.999999999999999999"), None],
    "string": ["", "a", "äöü€𝄞", "long " * 100, "\0", "a", None],
    "binary": [b"", b"a\0\xff", bytearray(b"more"), b"x" * 300, None],
    "date": [D(1, 1, 1), D(1582, 10, 4), D(1970, 1, 1), D(9999, 12, 31), None],
    "timestamp": [T(1970, 1, 1), T(2020, 3, 29, 2, 30, 0, 123456), T(1900, 1, 1, 12), None],
    "timestamp_ntz": [T(1969, 12, 31, 23, 59, 59, 999999), T(2020, 3, 29, 2, 30), None],
    "array<int>": [[1, None, 3], [], (1, 2), None],
    "array<array<string>>": [[["a", None], None, []], [], None],
    "array<date>": [[D(2020, 2, 29), None], None],
    "struct<a:int,b:string>": [(1, "x"), Row(a=2, b=None), {"a": 3, "b": "y"}, [4, "z"], None],
    "struct<a:struct<b:date,c:array<double>>,d:binary>": [((D(2020, 1, 1), [1.5, math.nan]), b"z"), (None, None), None],
    "array<struct<a:decimal(5,1),b:timestamp>>": [[(decimal.Decimal("1.5"), T(2000, 1, 1)), None, (None, None)], [], None],
    "map<string,int>": [{"z": 1, "a": 2, "k": None}, {}, {"x": 7}, {f"k{n}": n for n in range(40)}, None],
    "map<bigint,array<struct<x:date>>>": [{n * 7919: [(D(2020, 1, 1),), None] for n in range(13)}, {2**40: None, -1: []}, None],
    "array<map<int,string>>": [[{3: "c", 1: "a", 2: None}, None, {}], None],
}


def shown(value):
    return f"{type(value).__name__}: {value!r}"


def made(run):
    """A data frame of each type, of lists and of RDDs."""
    found = {}
    for of, values in VALUES.items():
        local = run.spark.createDataFrame([(place, value) for place, value in enumerate(values)], f"n int, v {of}")
        rdd = run.sc.parallelize(values, 2).map(lambda value: (value, 7)).toDF(f"v {of}, n bigint")
        found[of] = [rows(local), rows(rdd.where("v IS NOT NULL").select("n", "v"))]
        if not of.startswith(("array", "map", "struct")):
            found[f"{of} grouped"] = sorted(map(str, rows(local.groupBy("v").agg(F.sum("n"), F.count("*")))))
    everything = run.spark.createDataFrame([tuple(values[place % len(values)] for of, values in VALUES.items()) for place in range(40)],
                                           ", ".join(f"c{place} {of}" for place, of in enumerate(VALUES)))
    found["everything"] = digest(rows(everything))
    found["some columns"] = digest(rows(everything.select("c3", "c9", "c17")))
    return found


def shapes(run):
    """What lists, dictionaries, rows and single values become."""
    spark, sc = run.spark, run.sc
    people = [Row(name="Ann", age=30), Row(name="Bob", age=None), Row(name="Ä", age=2**40)]
    schema = StructType([StructField("a", IntegerType(), False), StructField("b", ArrayType(IntegerType(), False), False)])
    frames = {
        "inferred": spark.createDataFrame(people),
        "inferred of an RDD": sc.parallelize(people, 2).toDF(),
        "names only": spark.createDataFrame([(1, "x"), (2, "y")], ["n", "s"]),
        "names of an RDD": sc.parallelize([(1, "x"), (2, "y")], 3).toDF(["n", "s"]),
        "dictionaries": spark.createDataFrame([{"b": 1, "a": "x"}, {"b": 2, "a": None}]),
        "single values": spark.createDataFrame([1, 2, None], "int"),
        "without nulls": spark.createDataFrame([(1, [1, 2]), (2, [])], schema),
        "no rows": spark.createDataFrame([], "a int, b string"),
        "no rows in many parts": spark.createDataFrame(sc.parallelize([], 3), "a int, b string"),
        "many parts": spark.createDataFrame(sc.parallelize(range(10), 7).map(lambda n: (n, str(n))), "a int, b string"),
        "many rows": sc.parallelize(range(30_000), 3).map(lambda n: (n, f"text {n % 17}", n * 0.5)).toDF("a int, b string, c double"),
        "long rows": sc.parallelize(range(30), 2).map(lambda n: (n, "x" * 100_000 * (n % 3))).toDF("a int, b string"),
        "no columns": spark.createDataFrame([(), ()], StructType([])),
    }
    found = {name: [frame.schema.simpleString(), digest(rows(frame)), frame.count()] for name, frame in frames.items()}
    frames["many rows"].createOrReplaceTempView("many")
    return found | {
        "queries": [rows(spark.sql(query)) for query in [
            "SELECT b, count(*), sum(a), avg(c) FROM many WHERE a % 3 = 0 GROUP BY b ORDER BY b",
            "SELECT a, b, row_number() OVER (PARTITION BY b ORDER BY c DESC) AS r FROM many ORDER BY r, b LIMIT 20",
            "SELECT l.b, count(*) FROM many l JOIN many r ON l.a = r.a + 1 GROUP BY 1 ORDER BY 1",
            "SELECT max(b) FROM many WHERE a IN (SELECT a + 1 FROM many WHERE c > 14000)",
        ]],
        "limit": len(frames["many rows"].limit(11).collect()),
        "take": [str(row) for row in frames["many rows"].take(3)],
        "union": sorted(map(str, frames["many parts"].union(frames["no rows"]).union(frames["many parts"]).collect())),
        "cached": [frames["many rows"].cache().count(), digest(rows(frames["many rows"].orderBy("a"))), str(frames["many rows"].unpersist(True) is None)],
        "coalesced": digest(rows(frames["many rows"].coalesce(2))),
        "of commands": [rows(frame) for frame in [
            spark.sql("SHOW VIEWS").groupBy("isTemporary").agg(F.count("*"), F.max("viewName")),
            spark.sql("DESCRIBE many").repartition(2).selectExpr("upper(col_name) n", "data_type").orderBy("n"),
            spark.sql("DESCRIBE many").alias("d").join(frames["names only"].alias("n"), F.col("d.comment").isNull() & (F.col("n.n") > 1)).selectExpr("col_name", "s").orderBy("col_name"),
            spark.sql("SHOW TABLES LIKE 'none'").distinct(),
        ]],
        "Python's functions": digest(rows(frames["many rows"].select(F.udf(lambda n, s: f"{n}{s}")("a", "b")))),
    }


def taken(run):
    """The rows of a data frame with each type, as Python has them."""
    found = {}
    for of, values in (ARGUMENTS | {"interval day to second": ["INTERVAL '1 02:03:04.5' DAY TO SECOND", "NULL"]}).items():
        table = run.spark.sql(f"SELECT CAST(v AS {of}) AS v, n FROM VALUES {', '.join(f'({value}, {place})' for place, value in enumerate(values))} AS t(v, n)")
        found[of] = [[shown(row), shown(row.v)] for row in table.rdd.collect()]
        found[f"{of} mapped"] = sorted(table.repartition(2).rdd.map(lambda row: (row.n, shown(row["v"]), len(row))).collect())
    return found


def table(run, scratch, rows_of=20_000, parts=3):
    frame = run.spark.range(0, rows_of, 1, parts).select("id", (F.col("id") % 7).alias("k"), F.concat(F.lit("s"), F.col("id") % 13).alias("s"))
    path = f"{scratch}/table"
    frame.write.mode("overwrite").parquet(path)
    return run.spark.read.parquet(path)


def pipelines(run, scratch):
    """RDDs of rows where pipelines may have them."""
    spark, sc = run.spark, run.sc
    frame = table(run, scratch)
    small = spark.range(0, 50, 1, 4).select("id", (F.col("id") % 3).alias("k"))
    few = spark.range(0, 9, 1, 2).select("id", (F.col("id") % 3).alias("k"))
    seen, wanted = sc.accumulator(0), sc.broadcast({n: n * n for n in range(100)})
    frame.select("s").write.mode("overwrite").text(f"{scratch}/text")
    text = spark.read.text(f"{scratch}/text")

    def count(row):
        seen.add(1)

    frame.foreach(count)
    small.foreachPartition(lambda part: seen.add(sum(1 for _ in part) * 1000))
    cached = small.rdd.map(lambda row: row.id).persist(StorageLevel.MEMORY_ONLY)
    rows_cached = small.rdd.cache()
    again = frame.rdd.map(lambda row: (row.k, row.id)).toDF("k bigint, n bigint").where("n % 5 = 0")
    return {
        "accumulator": seen.value,
        "all": digest([str(row) for row in frame.rdd.collect()]),
        "ordered": [str(row) for row in frame.orderBy(F.col("id").desc()).rdd.map(lambda row: row.id).take(5)],
        "sums": sorted(frame.rdd.map(lambda row: (row.k, row.id)).reduceByKey(lambda a, b: a + b, 3).collect()),
        "words": sorted(text.rdd.flatMap(lambda row: row.value.split("1")).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b).collect()),
        "lines": text.rdd.map(lambda row: row[0]).count(),
        "count": [frame.rdd.count(), small.rdd.isEmpty(), spark.range(0).rdd.isEmpty()],
        "take": [str(small.rdd.first()), str(frame.rdd.take(3)), str(small.rdd.filter(lambda row: row.id > 30).take(2))],
        "iterator": [sum(row.id for row in frame.toLocalIterator()), [row.id for row in small.toLocalIterator(prefetchPartitions=True)][:7], sum(row.id for row in small.rdd.toLocalIterator())],
        "broadcast": sum(small.rdd.map(lambda row: wanted.value[row.id]).collect()),
        "joined": sorted(small.rdd.map(lambda row: (row.k, row.id)).join(few.rdd.map(lambda row: (row.k, -row.id)), 2).collect())[:20],
        "rows of a join": digest(sorted(map(str, frame.join(small, "id").groupBy("s").agg(F.sum("id").alias("t")).rdd.map(tuple).collect()))),
        "union": sorted(small.rdd.union(few.rdd).map(lambda row: row.id).collect())[:10],
        "zipped": small.rdd.zip(small.rdd).map(lambda pair: pair[0].id - pair[1].id).sum(),
        "product": small.rdd.cartesian(few.rdd).map(lambda pair: pair[0].id * pair[1].id).sum(),
        "indexed": small.rdd.zipWithIndex().map(lambda pair: pair[0].id - pair[1]).sum(),
        "grouped": sorted((key, len(list(of))) for key, of in small.rdd.groupBy(lambda row: row.k).collect()),
        "sorted": [row.id for row in small.rdd.sortBy(lambda row: -row.id).take(3)],
        "repartitioned": sorted(row.id for row in small.rdd.repartition(3).collect())[:3],
        "coalesced": digest([row.id for row in frame.rdd.coalesce(2).collect()]),
        "distinct": small.select("k").rdd.distinct().count(),
        "sampled": frame.rdd.sample(False, 0.01, 7).count(),
        "cached": [cached.count(), cached.sum(), rows_cached.count(), len(rows_cached.collect()), rows_cached.map(lambda row: row.id).sum()],
        "and back": rows(again.groupBy("k").agg(F.sum("n")).orderBy("k")),
        "and back again": again.rdd.map(lambda row: row.n).sum(),
        "back with another schema": rows(spark.createDataFrame(small.rdd, small.schema).groupBy("k").count().orderBy("k")),
        "functions": sorted(small.select(F.udf(lambda n: n * 2, "bigint")("id").alias("d")).rdd.map(lambda row: row.d).collect())[:5],
        "limits": [small.limit(7).rdd.count(), frame.limit(0).rdd.count()],
        "no columns": spark.range(3).select().rdd.collect() == [Row()] * 3,
        "same names": [shown(row) for row in spark.sql("SELECT 1 AS a, 2 AS a, named_struct('a', 3) AS `odd \"name\"`").rdd.collect()],
        "table of the session": sorted(row.id for row in small.cache().rdd.filter(lambda row: row.k == 1).collect()),
    }


def session(run):
    """Settings of the session when the RDD was made count."""
    spark = run.spark
    found = {}
    for zone in ["UTC", "America/New_York"]:
        spark.conf.set("spark.sql.session.timeZone", zone)
        frame = spark.sql("SELECT id, date_format(timestamp_seconds(id * 10000000), 'yyyy-MM-dd HH:mm') AS t, CAST(timestamp_seconds(id * 7777777) AS string) AS s, hour(timestamp_seconds(id * 9999)) AS h FROM range(0, 30, 1, 2)")
        rdd = frame.rdd
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
        found[zone] = rdd.map(tuple).collect()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    strict = spark.sql("SELECT CAST(CAST(id AS string) AS int) + 1 AS n FROM range(0, 5, 1, 2)").rdd
    spark.conf.set("spark.sql.ansi.enabled", "false")
    loose = spark.sql("SELECT CAST(concat(id, IF(id = 3, 'x', '')) AS int) AS n, 1 / (id - 2) AS q FROM range(0, 5, 1, 2)").rdd
    found["modes"] = [strict.map(lambda row: row.n).collect(), loose.map(tuple).collect()]
    spark.conf.unset("spark.sql.ansi.enabled")
    return found


def pandas(run, scratch):
    """What drivers get as Arrow batches."""
    spark = run.spark
    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    frame = table(run, scratch)
    values = {of: spark.sql(f"SELECT n, CAST(v AS {of}) AS v FROM VALUES {', '.join(f'({value}, {place})' for place, value in enumerate(values))} AS t(v, n)").repartition(2)
              for of, values in ARGUMENTS.items()}
    queries = {
        "rows": frame,
        "ordered": frame.orderBy(F.col("id").desc()).limit(15_000),
        "groups": frame.groupBy("k").agg(F.sum("id").alias("t"), F.sort_array(F.collect_set("s")).alias("c")).orderBy("k"),
        "no rows": frame.where("id < 0"),
        "some empty parts": frame.where("id < 3"),
        "no columns": spark.range(3).select(),
        "same names": spark.sql("SELECT id AS a, id + 1 AS a FROM range(0, 5, 1, 2)"),
        "shuffled": frame.repartition(3, "k").select("k"),
    } | values

    def told(frame):
        found = frame.toPandas()
        cells = [[shown(cell) if not hasattr(cell, "tolist") or isinstance(cell, (int, float)) else str(cell.tolist()) for cell in row] for row in found.itertuples(index=False)]
        cells = cells if frame is queries["ordered"] or frame is queries["groups"] else sorted(cells)
        return [[str(kind) for kind in found.dtypes], list(found.columns), digest(cells) if len(cells) > 20 else cells]

    found = {name: told(frame) for name, frame in queries.items()}
    for name, value in [("maxRecordsPerBatch", "7"), ("maxRecordsPerBatch", "0"), ("pyspark.selfDestruct.enabled", "true")]:
        spark.conf.set(f"spark.sql.execution.arrow.{name}", value)
        found[f"{name} {value}"] = told(queries["rows"])
        spark.conf.unset(f"spark.sql.execution.arrow.{name}")
    if hasattr(frame, "toArrow"):
        found["arrow"] = [str(frame.toArrow().schema), frame.toArrow().num_rows, str(values["timestamp"].toArrow().schema)]
    made = frame.where("id < 50").toPandas()
    found["and back"] = [rows(spark.createDataFrame(made).groupBy("k").count().orderBy("k")), rows(spark.createDataFrame(made.iloc[:0], "id bigint, k bigint, s string"))]
    spark.conf.unset("spark.sql.execution.arrow.pyspark.enabled")
    return found


def thrown_by(body):
    """Without the stack, which is Java's, and nobody's of tasks of the python lane."""
    error = thrown(body)
    return [error["type"], error["message"].split("\n\tat ")[0].strip()]


def failures(run):
    """What Python's functions throw."""
    frame = run.spark.range(0, 20, 1, 1)

    def refuse(row):
        raise ValueError(f"no {row.id}")

    return {
        "rows": thrown_by(lambda: frame.rdd.map(refuse).collect()),
        "frame": thrown_by(lambda: run.sc.parallelize(range(4), 1).map(lambda n: (1 // (n - 2),)).toDF("n int").collect()),
        "schema": thrown_by(lambda: run.sc.parallelize([(1,), ("x",)], 1).toDF("n int").collect()),
    }


def odd_values(run):
    """Everything for every declared type, without a look at it before."""
    found = {}
    for types in TYPES:
        for place, value in enumerate(RESULTS):
            for of in types:
                def frame(of=of, value=value):
                    kind = run.spark.sql(f"SELECT CAST(NULL AS {of}) AS v").schema
                    return rows(run.spark.createDataFrame(run.sc.parallelize([value], 1).map(lambda one: (one,)), kind, verifySchema=False))

                answer = thrown_or(frame)
                found[f"{of} {place}"] = str(answer) if of != "string" else str(answer).split("@")[0]
    return found


def odd_rows(run):
    """Rows of other lengths, nulls where there are none, values that only Java knows."""
    def frame(values, schema):
        return thrown_or(lambda: rows(run.spark.createDataFrame(run.sc.parallelize(values, 1), schema, verifySchema=False)))

    strict = StructType([StructField("a", IntegerType(), False), StructField("b", BinaryType(), True)])
    return {
        "too short": frame([(1,)], "a int, b int"),
        "too long": frame([(1, 2, 3)], "a int, b int"),
        "null": frame([(1, b"x"), (2, None)], strict),
        "lists": frame([[1, b"x"], [2, None]], strict),
        "maps of other keys": frame([({b"x": 1, b"y": 2},), ({None: 1},)], "m map<binary,int>"),
        "large maps": frame([({str(n): n for n in range(1100)},)], "m map<string,int>"),
        "texts of other values": frame([(1.5,), (None,), (True,), (7,), ("x",)], "s string"),
        "rows with maps by other keys": [shown(row) for row in run.spark.sql("SELECT map(X'01', 1, X'02', 2) AS m FROM range(0, 2, 1, 1)").rdd.map(lambda row: len(row.m)).collect()],
        "rows with months": thrown_or(lambda: run.spark.sql("SELECT INTERVAL '1' YEAR AS m FROM range(0, 2, 1, 1)").rdd.map(str).collect()),
    }


def overflow(run):
    """What ANSI refuses, within an RDD of rows."""
    run.spark.conf.set("spark.sql.ansi.enabled", "true")
    found = {
        "division": thrown_by(lambda: run.spark.sql("SELECT 1 / (id - 3) AS q FROM range(0, 5, 1, 2)").rdd.map(tuple).collect()),
        "cast": thrown_by(lambda: run.spark.sql("SELECT CAST(concat(id, IF(id = 3, 'x', '')) AS int) AS n FROM range(0, 5, 1, 2)").rdd.map(tuple).collect()),
    }
    run.spark.conf.unset("spark.sql.ansi.enabled")
    return found


KINDS = {
    "native": [(made, "unordered"), (shapes, "none"), (taken, "unordered"), (pipelines, "none"), (session, "exact"), (pandas, "none"), (failures, "none")],
    "left": [(odd_values, "none"), (odd_rows, "none"), (overflow, "none")],
}


def main(result, scratch, kind):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    run.other_compressor = True
    wait_for("two executors", lambda: len(run.rest.executors()) == 2, 200)
    for body, metrics in KINDS[kind]:
        call = (lambda run, body=body: body(run, scratch)) if body in (pipelines, pandas) else body
        run.run(body.__name__, call, metrics)
    run.count_tasks()
    run.result |= {"version": spark.version}
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
