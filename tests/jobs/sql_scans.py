"""What only Spark's own code reads, below native operators: files of other formats, data sources of both kinds, tables of Hive's, databases, RDDs of any objects.

usage: spark-submit sql_scans.py RESULT [all]"""

import datetime
import decimal
import glob
import math
import os
import shutil
import sys
import tempfile
import zipfile

from asking import exact, failure, killed
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support import Themes, flip, wait_for, without_numbers

VALUES = [
    (0, 1, 2, True, 1.5, 0.5, "a", b"\x00\xff\x01", decimal.Decimal("1.500000000000000000"), datetime.date(2024, 2, 29), datetime.datetime(2024, 7, 1, 12, 30, 45, 123456), [1, None, 3], {"a": 1.5, "b": None}, (1, "p", [(1,), None])),
    (1, -128, -32768, False, -0.0, math.nan, "", b"", decimal.Decimal("-12345678901234567890.123456789012345678"), datetime.date(1, 1, 3), datetime.datetime(1900, 1, 1), [], {}, (-2, "", [])),
    (2, None, None, None, None, None, None, None, None, None, None, None, None, None),
    (3, 127, 32767, True, math.inf, -math.inf, "ä𝄞\n", b"x" * 300, decimal.Decimal("0E-18"), datetime.date(9999, 12, 30), datetime.datetime(2199, 12, 31, 23, 59, 59, 999999), list(range(300)), {"": -0.0}, (7, "ä𝄞", None)),
    (4, 0, 0, False, math.nan, 1e-45, "x" * 500, b"abc", decimal.Decimal("99999999999999999999.999999999999999999"), datetime.date(1500, 2, 28), datetime.datetime(1500, 3, 10, 7, 0), [None], {"k": math.nan}, (None, "q", [(None,)])),
    (5, 1, 1, True, 2.0, 2.0, "b", b"b", decimal.Decimal("2"), datetime.date(1582, 10, 15), datetime.datetime(2024, 3, 10, 2, 30), [5], {"z": 1.0}, (5, "r", [(5,)])),
]  # fmt: skip
SCHEMA = "id long, b byte, h short, t boolean, x double, f float, s string, bin binary, d decimal(38,18), day date, moment timestamp, a array<int>, m map<string,double>, part struct<n:int,text:string,inner:array<struct<k:int>>>"
ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"]
# Whole stages that read nothing else are the same ones of another source.
QUERIES = {
    "all": lambda t: t,
    "some": lambda t: t.select("s", "id"),
    "number": lambda t: t.groupBy().count(),
    "filter": lambda t: t.where("id > 1 and s <> ''").select("id", "s", F.expr("x + 1")),
    "groups": lambda t: t.groupBy("s").agg({"id": "sum", "x": "max"}),
    "join": lambda t: t.alias("l").join(t.alias("r"), F.expr("l.id = r.id")).selectExpr("l.id", "r.s"),
    "broadcast": lambda t: t.alias("l").join(F.broadcast(t.alias("r")), F.expr("l.id = r.id + 1"), "left").selectExpr("l.id", "r.s"),
    "union": lambda t: t.select("id", "s").union(t.select("id", F.expr("upper(s)"))),
    "window": lambda t: t.selectExpr("id", "row_number() over (partition by s order by id) r"),
    "sorted": lambda t: t.orderBy(F.desc("id")).select("id", "s").limit(3),
    "limited": lambda t: t.select("s").limit(2).groupBy().count(),
    "python": lambda t: t.select("id", F.udf(lambda s: s and s * 2)("s")),
    "coalesced": lambda t: t.coalesce(2).groupBy("s").agg({"x": "min"}),
    "cached": lambda t: kept(t.select("id", "s").where("id % 3 = 0")).groupBy("s").count(),
    "written": lambda t: written(t.selectExpr("id", "s", "x * 2 x")),
}  # fmt: skip
# Tasks under a limit stop where they have enough, each kind of executor after other rows.
UNCOUNTED = ["limited", "cached", "written", "coalesced"]


def kept(frame):
    """The same as a cached table, which is let go of when it was read once."""
    frame.cache()
    KEPT.append(frame)
    return frame


def written(frame):
    """The same out of files that are made of it."""
    directory = tempfile.mkdtemp()
    KEPT.append(directory)
    frame.write.mode("overwrite").parquet(directory)
    return frame.sparkSession.read.parquet(directory)


# What is let go of after each question.
KEPT = []


def sorted_rows(frame):
    return sorted((exact(list(row)) for row in frame.collect()), key=str)


def asked(frame):
    """Rows without regard to their order, or how it fails."""
    try:
        return sorted_rows(frame())
    except Exception as error:
        return failure(error)
    finally:
        while KEPT:
            last = KEPT.pop()
            if isinstance(last, str):
                shutil.rmtree(last)
            else:
                last.unpersist(blocking=True)


class Sources:
    """Where rows come from: each gives a data frame with columns `id`, `s` and `x` among others."""

    def __init__(self, spark, out):
        self.spark, self.out = spark, out
        self.java = spark._jvm.probe.Scans
        self.session = spark._jsparkSession
        spark.createDataFrame(VALUES, SCHEMA).coalesce(2).write.orc(self.path("values"))
        many = spark.range(0, 30_000, 1, 4).selectExpr("id", "concat('s', id % 100) s", "id / 7 x", "id % 3 p")
        many.write.orc(self.path("many"), compression="zstd")
        many.write.partitionBy("p").orc(self.path("parts"), compression="zlib")
        many.write.parquet(self.path("parquet"))
        many.coalesce(1).write.csv(self.path("csv"))

    def path(self, name):
        return os.path.join(self.out, name)

    def of_java(self, frame):
        return DataFrame(frame.toDF(), self.spark)

    def v2(self, kind, name, schema=None):
        """Through the second kind of data sources."""
        self.spark.conf.set("spark.sql.sources.useV1SourceList", "")
        reader = self.spark.read if schema is None else self.spark.read.schema(schema)
        frame = reader.format(kind).load(self.path(name))
        # It is resolved already.
        self.spark.conf.unset("spark.sql.sources.useV1SourceList")
        return frame

    def all(self):
        return {
            "orc": lambda: self.spark.read.orc(self.path("many")),
            "orc in parts": lambda: self.spark.read.orc(self.path("parts")),
            "orc v2": lambda: self.v2("orc", "parts"),
            "parquet v2": lambda: self.v2("parquet", "parquet"),
            "csv v2": lambda: self.v2("csv", "csv", "id long, s string, x double, p int"),
            "rows": lambda: self.of_java(self.java.mapped(self.session, 5000)),
            "sorted rows": lambda: self.of_java(self.java.sorted(self.session, 5000)),
            "kept rows": lambda: self.of_java(self.java.kept(self.session, 5000)),
            "objects": lambda: self.of_java(self.java.objects(self.session, 5000)).selectExpr("_1 id", "_2 s", "_1 / 4 x"),
            "numbers": lambda: self.of_java(self.java.plain(self.session, 5000)).selectExpr("value id", "concat('s', value % 9) s", "value / 4 x"),
            "database": self.database,
            "hive": self.hive,
        }

    def database(self):
        """A table in a database that is one file, for several processes may not write to it."""
        archive = self.path("things.jar")
        if not os.path.exists(archive):
            self.java.database(self.path("things"), 50)
            with zipfile.ZipFile(archive, "w") as file:
                for path in glob.glob(self.path("things") + "/**", recursive=True):
                    file.write(path, os.path.relpath(path, self.out))
        url = f"jdbc:derby:jar:({archive})things"
        table = self.spark.read.jdbc(url, "things", column="id", lowerBound=0, upperBound=50, numPartitions=3)
        return table.selectExpr("ID id", "NAME s", "cast(PRICE as double) x", "DAY day")

    def hive(self):
        self.spark.sql("CREATE TABLE IF NOT EXISTS texts (id bigint, s string, x double, a array<string>) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' COLLECTION ITEMS TERMINATED BY ',' STORED AS TEXTFILE")
        table = self.spark.table("texts")
        if table.isEmpty():
            self.spark.range(0, 300, 1, 2).selectExpr("id", "if(id % 4 = 0, null, concat('h', id % 6)) s", "id / 2 x", "array('u', string(id)) a").write.insertInto("texts")
        return table


def values(sources, zone):
    """Values of all types, whole and in parts."""
    sources.spark.conf.set("spark.sql.session.timeZone", zone)
    table = sources.spark.read.orc(sources.path("values"))
    found = {
        "orc": asked(lambda: table),
        "texts": asked(lambda: table.selectExpr("id", "cast(moment as string) m", "cast(day as string) d", "hour(moment) h")),
        "parts": asked(lambda: table.selectExpr("part.n", "part.inner.k", "get(a, 1)", "m['k']", "try_element_at(a, -1)")),
        "v2": asked(lambda: sources.v2("orc", "values").drop("bin")),
        "again": asked(lambda: sources.of_java(sources.java.again(sources.session, table._jdf)).drop("bin")),
        "groups": asked(lambda: table.groupBy("x", "f").agg(F.count("*"), F.min("d"), F.max("moment"))),
    }
    sources.spark.conf.set("spark.sql.session.timeZone", "UTC")
    return found


def odd(sources):
    """Files that are empty, other than the table, gone or damaged, and what only a scan of one's own knows."""
    spark, path = sources.spark, sources.path
    spark.range(0).selectExpr("id", "'x' s").write.orc(path("empty"))
    many = spark.read.orc(path("many"))
    shutil.copytree(path("many"), path("damaged"))
    for file in glob.glob(path("damaged") + "/*.orc"):
        flip(file)
    shutil.copytree(path("many"), path("gone"))
    gone = spark.read.orc(path("gone"))
    for file in glob.glob(path("gone") + "/*.orc"):
        os.remove(file)
    spark.sql("CREATE TABLE fixed (id int, c char(5), v varchar(4)) USING orc")
    spark.sql("INSERT INTO fixed VALUES (1, 'a', 'b '), (2, 'abcde', ''), (3, null, 'wxyz')")
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    ignored = {kind: asked(lambda: spark.read.schema("id long, s string").format(kind).load(path(name)).groupBy("s").agg({"id": "sum"})) for kind, name in [("orc", "damaged"), ("parquet", "parquet")]}
    spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    return {
        "ignored": ignored,
        "fixed lengths": asked(lambda: spark.table("fixed").where("c = 'a' or id > 1").selectExpr("id", "c", "length(c)", "v", "length(v)")),
        "no rows": asked(lambda: spark.read.orc(path("empty")).groupBy("s").count()),
        "no columns": asked(lambda: many.select().groupBy().count()),
        "more columns": asked(lambda: spark.read.schema("p int, nothing string, id long").orc(path("many")).where("id < 50")),
        "other types": asked(lambda: spark.read.schema("id string, s int").orc(path("many")).where("s is null").groupBy().count()),
        "metadata": asked(lambda: many.where("id < 9").select("id", "_metadata.file_size")),
        "names of files": asked(lambda: many.where("id < 9").select(F.expr("length(input_file_name()) > 9"))),
        "binary files": asked(lambda: spark.read.format("binaryFile").load(path("many")).selectExpr("length(content) = length", "length > 0")),
        "damaged": asked(lambda: spark.read.schema("id long, s string").orc(path("damaged")).groupBy("s").agg({"id": "sum"})),
        "gone": asked(lambda: gone.groupBy("s").agg({"id": "sum"})),
        "a row fails": asked(lambda: sources.of_java(sources.java.failing(sources.session)).groupBy("s").count()),
    }


def counted(sources):
    """How many rows somebody has seen."""
    counter = sources.java.counter(sources.session)
    rows = sources.of_java(sources.java.counted(sources.session, 600, counter))
    found = [asked(lambda: rows.groupBy().count()), counter.value()]
    found += [asked(lambda: rows.select("id").limit(5).groupBy().count()), counter.value()]
    return found


def stream(spark):
    """Batches of a stream."""
    found = []
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 50).option("numPartitions", 3).load()
    rows = rows.where("value % 2 = 0").selectExpr("value", "value % 7 k")

    def take(batch, number):
        found.append([number, asked(lambda: batch.groupBy("k").sum("value"))])

    query = rows.writeStream.foreachBatch(take).trigger(processingTime="1 second").start()
    wait_for("three batches", lambda: len(found) >= 3)
    query.stop()
    return sorted(found)[:3]


def python_source(spark):
    """A data source in Python, where there are some."""
    if spark.version < "4":
        return None
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Reader(DataSourceReader):
        def partitions(self):
            return [InputPartition(n) for n in range(3)]

        def read(self, partition):
            for n in range(10):
                yield (partition.value * 10 + n, None if n % 3 == 0 else f"p{n}")

    class Source(DataSource):
        @classmethod
        def name(cls):
            return "probe"

        def schema(self):
            return "id bigint, s string"

        def reader(self, schema):
            return Reader()

    spark.dataSource.register(Source)
    return asked(lambda: spark.read.format("probe").load().groupBy("s").agg({"id": "sum"}))


def main():
    result, everything = sys.argv[1], sys.argv[2:] == ["all"]
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    sources = Sources(spark, os.path.dirname(result))
    run = Themes(spark)
    # What comes before is not compared.
    run.rest.drain()
    run.seen = {(stage["stageId"], stage["attemptId"]) for stage in run.rest.get("stages")}
    for number, (name, frame) in enumerate(sources.all().items()):
        for place, (query, of) in enumerate(QUERIES.items()):
            # All of some sources, and some of all.
            if everything or number == 0 or place % 4 == number % 4:
                metrics = "none" if query in UNCOUNTED or name == "hive" else "unordered"
                run.run(f"{name}: {query}", lambda _: asked(lambda: of(frame())), metrics)
    for zone in ZONES:
        run.run(f"values in {zone}", lambda _: values(sources, zone), "unordered")
    run.run("odd", lambda _: odd(sources), "none")
    run.run("counted", lambda _: counted(sources), "none")
    run.run("python", lambda _: python_source(spark), "none")
    run.run("stream", lambda _: stream(spark), "none")
    run.run("killed", lambda _: killed(spark, lambda: sources.of_java(sources.java.slow(sources.session)).groupBy().count()), "none")
    run.run("after that", lambda _: asked(lambda: QUERIES["groups"](sources.all()["rows"]())), "unordered")
    for name, stages in run.result["metrics"].items():
        # Each side has files of its own, in which rows have an order of their own.
        sizes = ["in_bytes"] if "v2" in name or "in parts" in name else []
        run.result["metrics"][name] = without_numbers(stages, ["read_blocks", "write_bytes", *sizes])
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main()
