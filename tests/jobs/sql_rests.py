"""What only Spark's own code does with the rows of native operators: functions of RDDs, writes to sinks of others, operators without a native form.

usage: spark-submit sql_rests.py RESULT [all]"""

import os
import sys

from asking import exact, failure, killed
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sql_scans import SCHEMA, VALUES, ZONES, asked, sorted_rows
from support import Themes, wait_for, without_numbers

# What has native operators of each kind on top. The first columns are a text and a number.
FRAMES = {
    "groups": lambda t: t.groupBy("s").agg(F.sum("id").alias("n"), F.max("x")),
    "join": lambda t: t.alias("l").join(t.alias("r"), F.expr("l.id = r.id + 1")).selectExpr("l.s", "r.id", "r.x"),
    "broadcast": lambda t: t.alias("l").join(F.broadcast(t.where("id % 5 = 0").alias("r")), F.expr("l.id = r.id"), "left").selectExpr("r.s", "l.id"),
    "window": lambda t: t.selectExpr("s", "id", "sum(x) over (partition by s order by id) w"),
    "sorted": lambda t: t.select("s", "id").repartition(3, "s").sortWithinPartitions("s", "id"),
    "distinct": lambda t: t.select("s", F.expr("id % 7 id")).distinct(),
    "none": lambda t: t.where("id < 0").groupBy("s").agg(F.sum("id").alias("n")),
    "generated": lambda t: t.groupBy("s").agg(F.sum("id").alias("n")).selectExpr("s", "explode(array(n, null, n + 1)) n"),
    "union": lambda t: t.groupBy("s").agg(F.sum("id").alias("n")).union(t.select("s", "id").distinct()),
    "cached": lambda t: t.groupBy("s").agg(F.sum("id").alias("n")).cache(),
}  # fmt: skip


# Native operators compute their first rows where they are given, Spark's generated code where they are asked for;
# samples see rows in an order of each side's own.
UNCOUNTED = ["checkpoint", "ids", "in order", "some"]


class Rests:
    def __init__(self, spark, out):
        self.spark, self.out = spark, out
        self.java = spark._jvm.probe.Rests
        self.session = spark._jsparkSession
        self.number = 0
        many = spark.range(0, 20_000, 1, 4).selectExpr("id", "if(id % 11 = 0, null, concat('s', id % 100)) s", "id / 7 x")
        many.write.parquet(self.path("many"))
        for kind in ["datetime", "int96"]:
            spark.conf.set(f"spark.sql.parquet.{kind}RebaseModeInWrite", "CORRECTED")
        spark.createDataFrame(VALUES, SCHEMA).coalesce(2).write.parquet(self.path("values"))

    def path(self, name):
        return os.path.join(self.out, name)

    def new_path(self):
        self.number += 1
        return self.path(f"written-{self.number}")

    def frame(self, name):
        return FRAMES[name](self.spark.read.parquet(self.path("many")))

    def functions(self):
        """What is asked of an RDD, by the name of the question."""
        java, session = self.java, self.session
        return {
            "collected": lambda f: list(java.collected(f._jdf)),
            "counted": lambda f: java.counted(f._jdf),
            "local": lambda f: list(java.local(f._jdf)),
            "by key": lambda f: list(java.byKey(f._jdf)),
            "in order": lambda f: list(java.inOrder(f._jdf)),
            "added": lambda f: java.added(session, f._jdf),
            "tasks": lambda f: list(java.tasks(f._jdf)),
            "ids": lambda f: java.ids(f._jdf),
            "some": lambda f: java.some(f._jdf, 0),
            "kept": lambda f: java.kept(f._jdf),
            "texts": self.texts,
            "orc": self.orc,
            "parts": self.parts,
            "nowhere": lambda f: f.write.format("noop").mode("overwrite").save(),
            "observed": self.observed,
            "checkpoint": lambda f: sorted_rows(f.observe("o", F.count(F.lit(1)).alias("n")).localCheckpoint()),
        }

    def texts(self, frame):
        path = self.new_path()
        self.java.texts(frame._jdf, path)
        return sorted(row.value for row in self.spark.read.text(path).collect())

    def orc(self, frame):
        path = self.new_path()
        frame.write.orc(path)
        return sorted_rows(self.spark.read.schema(frame.schema).orc(path))

    def parts(self, frame):
        path = self.new_path()
        frame.toDF("s", *[f"c{n}" for n in range(1, len(frame.columns))]).write.partitionBy("s").orc(path)
        return sorted(name for name in os.listdir(path) if name.startswith("s="))

    def observed(self, frame):
        from pyspark.sql import Observation

        seen = Observation("seen")
        first = frame.columns[0]
        rows = frame.observe(seen, F.count(F.lit(1)).alias("n"), F.max(first).alias("m"), F.min(first).alias("l"))
        return [sorted_rows(rows), exact(list(seen.get.values()))]


def failures(rests):
    """How jobs fail: in functions, in native operators, at their ends."""
    spark, java = rests.spark, rests.java
    groups = rests.frame("groups")
    overflowing = spark.read.parquet(rests.path("many")).groupBy("s").agg(F.expr("sum(id + 9223372036854775000) n"))
    return {
        "function": asked_of(lambda: java.failing(rests.frame("join")._jdf, 7000)),
        "none asked for": asked_of(lambda: java.refusing(groups._jdf)),
        "second time": asked_of(lambda: java.secondTime(rests.frame("join")._jdf)),
        "at the end": asked_of(lambda: java.endingBadly(groups._jdf)),
        "operator": asked_of(lambda: java.collected(overflowing._jdf)),
        "operator below a write": asked_of(lambda: overflowing.write.format("noop").mode("overwrite").save()),
        "path": asked_of(lambda: java.texts(groups._jdf, rests.path("many"))),
    }


def asked_of(question):
    try:
        return question()
    except Exception as error:
        return failure(error)


def values(rests, zone):
    """Values of all types."""
    spark = rests.spark
    spark.conf.set("spark.sql.session.timeZone", zone)
    table = spark.read.parquet(rests.path("values"))
    columns = [column for column in table.columns if column != "id"]
    first = table.groupBy("id").agg(*[F.first(column).alias(column) for column in columns])
    joined = table.alias("l").join(F.broadcast(table.alias("r")), F.expr("l.id = r.id")).select("r.*")
    written = rests.new_path()
    joined.write.orc(written)
    found = {
        "rows": [list(rests.java.collected(frame.drop("bin")._jdf)) for frame in [first, joined]],
        "orc": asked(lambda: spark.read.orc(written)),
        "sorted": list(rests.java.collected(table.drop("bin").orderBy(F.desc("moment"), "id")._jdf)),
        "no columns": rests.java.counted(joined.select()._jdf),
    }
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    return found


def operators(rests):
    """Operators without a native form, above and below native ones."""
    spark = rests.spark
    rests.java.register(rests.session)
    table = spark.read.parquet(rests.path("many"))
    table.createOrReplaceTempView("many")
    return {
        "typed aggregate": asked(lambda: spark.sql("SELECT id % 3 k, longest(s), count(*) FROM many GROUP BY 1")),
        "above a join": asked(lambda: spark.sql("SELECT l.id % 3 k, longest(r.s) FROM many l JOIN many r ON l.id = r.id + 1 GROUP BY 1")),
        "above a window": asked(lambda: spark.sql("SELECT k, longest(s) FROM (SELECT id % 3 k, s, row_number() over (partition by s order by id) r FROM many) WHERE r < 9 GROUP BY k")),
        "observed": asked(lambda: table.groupBy("s").count().observe("o", F.count(F.lit(1)).alias("n")).where("count > 181")),
        "files": asked(lambda: table.join(F.broadcast(table.where("id % 9 = 0").selectExpr("id i")), F.expr("id = i")).observe("o", F.count(F.lit(1)).alias("n")).selectExpr("length(input_file_name()) > 9 f").groupBy("f").count()),
        "observed twice": asked(lambda: table.groupBy("s").count().observe("o", F.count(F.lit(1)).alias("n")).observe("p", F.max("s").alias("n")).orderBy("s")),
    }


def streams(rests):
    """Batches of streams with state."""
    spark = rests.spark
    spark.conf.set("spark.sql.shuffle.partitions", "2")

    def of(frame, mode, name):
        found = {}

        def take(batch, number):
            found[number] = sorted_rows(batch)

        query = frame.writeStream.foreachBatch(take).outputMode(mode).trigger(processingTime="1 second").option("checkpointLocation", rests.new_path()).start()
        wait_for(f"batches of {name}", lambda: len(found) >= 3, 120)
        query.stop()
        return [found[number] for number in range(3)]

    def source():
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 50).option("numPartitions", 3).option("startTimestamp", 1000).load()
        return rows.selectExpr("concat('k', value % 7) s", "value", "timestamp")

    remembered = DataFrame(rests.java.remembered(source()._jdf).toDF(), spark)
    found = {
        "groups": of(source().groupBy("s").agg(F.sum("value"), F.count("*")), "complete", "groups"),
        "updates": of(source().groupBy("s").agg(F.max("value")), "update", "updates"),
        "distinct": of(source().select("s").distinct(), "append", "distinct"),
        "state": of(remembered, "update", "state"),
    }
    spark.conf.unset("spark.sql.shuffle.partitions")
    return found


def main():
    result, everything = sys.argv[1], sys.argv[2:] == ["all"]
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "3").getOrCreate()
    rests = Rests(spark, os.path.dirname(result))
    run = Themes(spark)
    # What comes before is not compared.
    run.rest.drain()
    run.seen = {(stage["stageId"], stage["attemptId"]) for stage in run.rest.get("stages")}
    for number, frame in enumerate(FRAMES):
        for place, (name, question) in enumerate(rests.functions().items()):
            # All of some operators, and some of all.
            if everything or number == 0 or place % 4 == number % 4:
                metrics = "none" if frame == "cached" or name in UNCOUNTED else "unordered"
                run.run(f"{frame}: {name}", lambda _: asked_of(lambda: question(rests.frame(frame))), metrics)
    for zone in ZONES:
        run.run(f"values in {zone}", lambda _: values(rests, zone), "unordered")
    run.run("operators", lambda _: operators(rests), "none")
    run.run("failures", lambda _: failures(rests), "none")
    run.run("streams", lambda _: streams(rests), "none")
    slow = lambda: DataFrame(rests.java.slow(rests.frame("groups")._jdf), spark)
    run.run("killed", lambda _: killed(spark, slow), "none")
    run.run("after that", lambda _: rests.functions()["by key"](rests.frame("join")), "unordered")
    for name, stages in run.result["metrics"].items():
        run.result["metrics"][name] = without_numbers(stages, ["read_blocks", "write_bytes", "in_bytes"])
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main()
