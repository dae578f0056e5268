"""Tables of lakes: Delta's and Iceberg's, in all the ways in which their files differ from their tables; Avro's files; files whose columns are found by ids.

usage: spark-submit sql_lakes.py RESULT [all | THEME...]"""

import datetime
import decimal
import math
import os
import sys

from asking import exact, failure
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType
from support import Themes

VALUES = [
    (1, 1.5, "a", b"\x00\xff", decimal.Decimal("1.50"), datetime.date(2024, 2, 29), datetime.datetime(2024, 7, 1, 12, 30, 45, 123456), [1, None, 3], {"a": 1.5, "b": None}, (1, "p", [(1,), None])),
    (2, -0.0, "", b"", decimal.Decimal("-99999999.99"), datetime.date(1969, 12, 31), datetime.datetime(1950, 1, 1), [], {}, (-2, "", [])),
    (3, None, None, None, None, None, None, None, None, None),
    (4, math.nan, "ä𝄞\n", b"x" * 300, decimal.Decimal("0"), datetime.date(9999, 12, 30), datetime.datetime(2199, 12, 31, 23, 59, 59, 999999), list(range(30)), {"": -0.0}, (7, "ä𝄞", None)),
]  # fmt: skip
SCHEMA = "k long, x double, s string, bin binary, d decimal(10,2), day date, moment timestamp, a array<int>, m map<string,double>, part struct<n:int,text:string,inner:array<struct<deep:int>>>"
# Metrics of Delta's operations that depend on nothing but rows.
COUNTED = ["numOutputRows", "numCopiedRows", "numDeletedRows", "numUpdatedRows", "numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted", "numTargetRowsCopied"]  # fmt: skip


def sorted_rows(frame):
    return sorted((exact(list(row)) for row in frame.collect()), key=str)


class Lakes:
    """Tables in a directory, asked one after the other."""

    def __init__(self, spark, out):
        self.spark, self.out = spark, out
        self.answers = []
        spark.range(0, 3000, 1, 3).selectExpr(
            "id",
            "if(id % 11 = 0, null, concat('n', id % 7)) name",
            "id / 4 v",
            "struct(id % 5 as first, concat('t', id % 3) as text) part",
            "array(id % 2, null, id) a",
            "map(concat('k', id % 2), struct(id as inner)) m",
            "cast(id % 3 as int) p",
        ).createOrReplaceTempView("source")

    def path(self, name):
        return os.path.join(self.out, name)

    def sql(self, text):
        return self.spark.sql(text)

    def do(self, text):
        """A statement, whose answer is how it fails."""
        try:
            self.sql(text).collect()
        except Exception as error:
            print(text, str(error).split("\n")[0], sep="\n", flush=True)
            self.answers.append(failure(error))

    def ask(self, *texts):
        for text in texts:
            try:
                frame = self.sql(text) if isinstance(text, str) else text()
                self.answers.append(sorted_rows(frame))
            except Exception as error:
                self.answers.append(failure(error))

    def about(self, table, more=""):
        """What is asked of each table with columns as `source` has them."""
        self.ask(
            f"select * from {table} {more} where id % 50 < 3",
            f"select p, name, count(*), sum(id), max(v), count(part.first) from {table} {more} group by p, name",
            f"select l.part.text, r.name, count(*), max(l.a[2]), count(l.m['k1'].inner) from {table} {more} l join source r on l.id = r.id + 1 where r.v < 300 and l.p <> 1 group by l.part.text, r.name",
        )

    def done(self):
        answers, self.answers = self.answers, []
        return answers


def history(lakes, table):
    """What was done to a table of Delta's, with the rows that it says it touched."""
    rows = lakes.sql(f"describe history {table}").collect()
    return [[row.version, row.operation, sorted((key, value) for key, value in row.operationMetrics.items() if key in COUNTED)] for row in rows]


def delta(lakes, name, properties, mode):
    """A table's life: what is written, changed, merged and read in between, under names of columns that change."""
    table = f"delta.`{lakes.path(name)}`"
    settings = ", ".join(f"'delta.{key}' = '{value}'" for key, value in properties.items())
    lakes.do(f"create table {table} (id long, name string, v double, part struct<first:long,text:string>, a array<long>, m map<string,struct<inner:long>>, p int) using delta partitioned by (p) tblproperties ({settings})")
    lakes.do(f"insert into {table} select * from source")
    lakes.about(table)
    lakes.do(f"delete from {table} where id % 10 = 3")
    lakes.do(f"update {table} set v = v + 1, name = upper(name) where id % 10 = 4 or p = 2 and id < 50")
    lakes.about(table)
    if mode != "none":
        lakes.do(f"alter table {table} rename column name to title")
        lakes.do(f"alter table {table} rename column part.text to words")
        lakes.ask(f"select title, part.words, count(*), sum(v), max(part.first) from {table} where title > 'n1' group by title, part.words")
        lakes.do(f"alter table {table} rename column title to name")
        lakes.do(f"alter table {table} rename column part.words to text")
    lakes.do(f"""merge into {table} t using (select id * 3 as id, concat('m', id) as n from source where id < 1200) u on t.id = u.id
        when matched and t.id % 2 = 0 then delete when matched and t.id < 900 then update set v = -1, name = u.n
        when not matched then insert (id, name, p) values (u.id, u.n, 9)
        when not matched by source and t.id % 7 = 0 then update set v = null""")
    lakes.about(table)
    lakes.do(f"alter table {table} add columns (later string, part.more double)")
    lakes.ask(f"select later, part.more, count(*) from {table} group by later, part.more")
    lakes.do(f"insert into {table} (id, later, p) select id, concat('l', id % 2), 0 from source where id < 100")
    lakes.ask(f"select later, p, count(*), sum(id), max(name) from {table} group by later, p")
    if mode != "none":
        lakes.do(f"alter table {table} drop column v")
        lakes.ask(f"select name, count(*), sum(id) from {table} where later is null group by name")
        lakes.do(f"alter table {table} add columns (v int)")
        lakes.ask(f"select v, count(*), sum(id) from {table} group by v")
    lakes.ask(f"select p, count(*), sum(v) from {table} version as of 1 group by p")
    lakes.do(f"optimize {table} zorder by (id)")
    lakes.ask(f"select p, count(*), sum(id), min(name) from {table} where id between 500 and 700 group by p")
    lakes.answers.append(history(lakes, table))
    return lakes.done()


def upgraded(lakes):
    """A table whose columns get other names than its older files have; then with deletion vectors."""
    table = f"delta.`{lakes.path('upgraded')}`"
    lakes.do(f"create table {table} using delta as select * from source")
    lakes.do(f"alter table {table} set tblproperties ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')")
    lakes.do(f"alter table {table} rename column id to number")
    lakes.do(f"alter table {table} rename column v to id")
    lakes.ask(f"select name, sum(number), sum(id) from {table} where number > 10 and id < 500 group by name")
    lakes.do(f"insert into {table} select * from source where id < 10")
    lakes.ask(f"select name, sum(number), sum(id), count(*) from {table} where id < 500 group by name")
    lakes.do(f"alter table {table} set tblproperties ('delta.enableDeletionVectors' = 'true')")
    lakes.do(f"delete from {table} where number % 3 = 1")
    lakes.ask(f"select name, sum(number), sum(id), count(*) from {table} group by name")
    return lakes.done()


def values(lakes, mode):
    """All types, in three time zones."""
    table = f"delta.`{lakes.path('values_' + mode)}`"
    lakes.spark.createDataFrame(VALUES, SCHEMA).createOrReplaceTempView("everything")
    lakes.do(f"create table {table} ({SCHEMA}) using delta tblproperties ('delta.columnMapping.mode' = '{mode}', 'delta.enableDeletionVectors' = 'true')")
    lakes.do(f"insert into {table} select * from everything")
    lakes.do(f"insert into {table} select k + 10, x, s, bin, d, day, moment, a, m, part from everything")
    lakes.do(f"delete from {table} where k = 12")
    for zone in ["UTC", "America/New_York", "Asia/Kathmandu"]:
        lakes.spark.conf.set("spark.sql.session.timeZone", zone)
        lakes.ask(f"select * from {table}", f"select s, count(*), max(moment), max(day), max(d), max(part.n) from {table} where day > '1900-01-01' group by s")
        lakes.ask(f"select hour(moment), get(part.inner, 0).deep, get(a, 0), m['a'], count(*) from {table} group by all")
    lakes.spark.conf.set("spark.sql.session.timeZone", "UTC")
    return lakes.done()


def changes(lakes):
    """Feeds of changes, streams in and out, other versions, clones and constraints."""
    path = lakes.path("changes")
    table = f"delta.`{path}`"
    lakes.do(f"create table {table} (id long, name string, p long) using delta partitioned by (p) tblproperties ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')")
    lakes.do(f"insert into {table} select id, name, id % 4 from source")
    lakes.do(f"alter table {table} add constraint positive check (id >= 0)")
    lakes.do(f"insert into {table} values (-1, 'x', 0)")
    lakes.do(f"update {table} set name = 'z' where id < 20")
    lakes.do(f"delete from {table} where id between 5 and 700 and p = 1")
    feed = lakes.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1).load(path)
    lakes.ask(lambda: feed.groupBy("_change_type", "_commit_version", "p").agg(F.count("*"), F.sum("id"), F.max("name")))
    lakes.ask(f"select p, count(*), sum(id) from {table} version as of 1 group by p", f"select p, count(*), sum(id) from {table} where id > 3 group by p")
    lakes.do(f"create table delta.`{lakes.path('clone')}` shallow clone {table}")
    lakes.ask(f"select p, count(*), max(name) from delta.`{lakes.path('clone')}` group by p")
    lakes.do(f"restore table {table} to version as of 1")
    lakes.ask(f"select p, count(*), sum(id), max(name) from {table} group by p")
    stream = lakes.spark.readStream.format("delta").load(lakes.path("clone")).groupBy("name").count()
    writer = stream.writeStream.format("delta").outputMode("complete").trigger(availableNow=True)
    writer.option("checkpointLocation", lakes.path("stream-state")).start(lakes.path("streamed")).awaitTermination()
    lakes.ask(lambda: lakes.spark.read.format("delta").load(lakes.path("streamed")))
    frame = lakes.spark.table("source").select("id", "name")
    frame.where("id < 1000").write.format("delta").mode("overwrite").option("replaceWhere", "id < 1000").save(lakes.path("streamed-no"))
    lakes.ask(lambda: lakes.spark.read.format("delta").load(lakes.path("streamed-no")).groupBy("name").agg(F.sum("id")))
    return lakes.done()


def iceberg(lakes, name, properties):
    """The same life of a table of Iceberg's."""
    table = f"ice.db.{name}"
    settings = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    lakes.do(f"create table {table} (id bigint, name string, v double, part struct<first:bigint,text:string>, a array<bigint>, m map<string,struct<inner:bigint>>, p int) using iceberg partitioned by (bucket(2, id), p) tblproperties ({settings})")
    lakes.do(f"insert into {table} select * from source")
    lakes.about(table)
    lakes.do(f"delete from {table} where id % 10 = 3")
    lakes.do(f"update {table} set v = v + 1, name = upper(name) where id % 10 = 4")
    lakes.about(table)
    lakes.do(f"alter table {table} rename column name to title")
    lakes.do(f"alter table {table} add column later string")
    lakes.ask(f"select title, later, count(*), sum(v) from {table} where title > 'n1' group by title, later")
    lakes.do(f"alter table {table} rename column title to name")
    lakes.do(f"alter table {table} drop column later")
    lakes.do(f"""merge into {table} t using (select id * 3 as id, concat('m', id) as n from source where id < 1200) u on t.id = u.id
        when matched and t.id % 2 = 0 then delete when matched then update set t.v = -1, t.name = u.n
        when not matched then insert (id, name, v, part, a, m, p) values (u.id, u.n, 0, null, null, null, 9)""")
    lakes.about(table)
    lakes.ask(f"select content, sum(record_count) from {table}.files group by content", f"select operation, count(*) from {table}.snapshots group by operation")
    lakes.do(f"call ice.system.rewrite_data_files(table => 'db.{name}')")
    lakes.ask(f"select p, count(*), sum(id), max(name) from {table} where id > 200 group by p")
    return lakes.done()


def avro(lakes):
    """Files of Avro's, and its values in columns."""
    path = lakes.path("avro")
    lakes.spark.table("source").write.format("avro").partitionBy("p").save(path)
    lakes.spark.read.format("avro").load(path).select("id", "name", "v", "part", "a", "m", "p").createOrReplaceTempView("avro")
    lakes.about("avro")
    lakes.sql("select name, count(*) as n, sum(v) as v from source group by name").write.format("avro").save(lakes.path("avro-groups"))
    lakes.ask(lambda: lakes.spark.read.format("avro").load(lakes.path("avro-groups")))
    return lakes.done()


def found_by_ids(lakes, kinds):
    """Files of Parquet whose columns are found by the ids in them; which kinds of files."""
    spark = lakes.spark

    def field(name, of, number):
        return StructField(name, of, True, {} if number is None else {"parquet.field.id": number})

    def files(name, *fields):
        rows = [(number, f"s{number % 5}", (number * 2, f"t{number % 3}")) for number in range(200)]
        frame = spark.createDataFrame(rows, StructType(list(fields)))
        frame.repartition(2).write.mode("overwrite").parquet(lakes.path(name))

    def part(*ids):
        return StructType([field("n", LongType(), ids[0]), field("text", StringType(), ids[1])])

    files("with-ids", field("id", LongType(), 1), field("s", StringType(), 2), field("part", part(4, 5), 3))
    files("some-ids", field("id", LongType(), 1), field("s", StringType(), None), field("part", part(None, None), None))
    files("twice", field("id", LongType(), 1), field("s", StringType(), 1), field("part", part(4, 5), 3))
    files("no-ids", field("id", LongType(), None), field("s", StringType(), None), field("part", part(None, None), None))
    wanted = {
        "the same": [field("id", LongType(), 1), field("s", StringType(), 2), field("part", part(4, 5), 3)],
        "other names": [field("s", LongType(), 1), field("id", StringType(), 2), field("x", part(4, 5), 3)],
        "fields turned": [field("id", LongType(), 1), field("part", StructType([field("text", LongType(), 4), field("n", StringType(), 5)]), 3)],
        "a field that is not there": [field("id", LongType(), 1), field("part", part(4, 9), 3)],
        "a column that is not there": [field("id", LongType(), 1), field("s", StringType(), 9)],
        "some by name": [field("ID", LongType(), None), field("y", StringType(), 2)],
        "none by id": [field("id", LongType(), None), field("s", StringType(), None)],
    }
    enabled, ignored = "spark.sql.parquet.fieldId.read.enabled", "spark.sql.parquet.fieldId.read.ignoreMissing"
    # Delta sets one of them.
    before = {key: spark.conf.get(key) for key in [enabled, ignored]}
    for by_id, missing in [("true", "true"), ("true", "false"), ("false", "false")]:
        spark.conf.set(enabled, by_id)
        spark.conf.set(ignored, missing)
        for name in kinds:
            for fields in wanted.values():
                frame = spark.read.schema(StructType(fields)).parquet(lakes.path(name))
                lakes.ask(lambda frame=frame: frame)
                if name == "with-ids":
                    lakes.ask(lambda frame=frame: frame.where(frame[0] == 17).select(frame[0]))
    for key, value in before.items():
        spark.conf.set(key, value)
    return lakes.done()


def main():
    result, asked = sys.argv[1], sys.argv[2:]
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    lakes = Lakes(spark, os.path.dirname(result))
    run = Themes(spark)
    vectors = {"enableDeletionVectors": "true"}
    on_read = {f"write.{of}.mode": "merge-on-read" for of in ["delete", "update", "merge"]}
    themes = {
        "ids": lambda: found_by_ids(lakes, ["with-ids", "no-ids"]),
        "delta, names and vectors": lambda: delta(lakes, "named", {"columnMapping.mode": "name", **vectors}, "name"),
        "delta, values by id": lambda: values(lakes, "id"),
        "iceberg, merge on read": lambda: iceberg(lakes, "merged", {"format-version": "2", **on_read}),
        "avro": lambda: avro(lakes),
    }
    if asked:
        themes |= {
            "other ids": lambda: found_by_ids(lakes, ["some-ids", "twice"]),
            "delta": lambda: delta(lakes, "plain", {"checkpointInterval": "3"}, "none"),
            "delta, vectors": lambda: delta(lakes, "vectors", vectors, "none"),
            "delta, ids": lambda: delta(lakes, "by_id", {"columnMapping.mode": "id"}, "id"),
            "delta, ids and vectors": lambda: delta(lakes, "ids_vectors", {"columnMapping.mode": "id", **vectors}, "id"),
            "delta, names": lambda: delta(lakes, "only_names", {"columnMapping.mode": "name"}, "name"),
            "delta, upgraded": lambda: upgraded(lakes),
            "delta, changes": lambda: changes(lakes),
            "delta, values": lambda: values(lakes, "none"),
            "delta, values by name": lambda: values(lakes, "name"),
            "iceberg, copy on write": lambda: iceberg(lakes, "copied", {"format-version": "2"}),
            "iceberg, ORC": lambda: iceberg(lakes, "orc", {"write.format.default": "orc"}),
        }
    for name, theme in themes.items():
        if asked not in ([], ["all"]) and name not in asked:
            continue
        run.run(name, lambda _, theme=theme: theme(), "none")
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main()
