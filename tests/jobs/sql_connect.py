"""A server of Spark Connect in the driver, and a client in a process of its own, which asks for rows of every kind.

usage: spark-submit sql_connect.py RESULT SCRATCH"""

import json
import os
import socket
import subprocess
import sys

from sql_cached import VALUES, table
from sql_random import counters
from sql_windows import text


def rows(found):
    return [[text(value) for value in row] for row in found]


def arrow(found):
    """A table of Arrow: its columns as they are, and its rows."""
    return [str(found.schema).replace("\n", ", "), sorted(json.dumps([text(value) for value in row.values()]) for row in found.to_pylist())]


def thrown(action):
    try:
        action()
    except Exception as error:
        of = getattr(error, "getErrorClass", None) or getattr(error, "getCondition", None)
        return [type(error).__name__, of() if of else None]
    raise AssertionError("did not fail")


def queries(spark, scratch):
    from pyspark.sql import functions as F

    path = os.path.join(scratch, "rows")
    data = spark.read.parquet(path)
    names = [name for name in VALUES if name not in ("no", "ym", "ds")]
    yield "rows", rows(data.select("id", *names).orderBy("id").limit(50).collect())
    yield "all rows", arrow(data.select("id", *[name for name in names if name != "ma"]).toArrow())
    yield "maps", arrow(data.select("id", "ma").toArrow())
    yield "groups", rows(data.groupBy("it", "st").agg(F.sum("id"), F.max("de")).orderBy("it", "st").collect())
    yield "joined", arrow(data.alias("a").join(data.alias("b"), F.col("a.it") == F.col("b.id")).select("a.id", "b.st").toArrow())
    yield "sorted", rows(data.orderBy(F.desc("st"), "id").select("id", "st").collect())
    yield "first", rows(data.orderBy("id").select("id", "wi").take(3))
    yield "last", rows(data.orderBy("id").select("id", "wi").tail(3))
    yield "count", data.where("it > 0").count()
    yield "none", arrow(data.where("id < 0").select("id", "st", "ar").toArrow())
    yield "no columns", data.select().count()
    yield "constants", rows(spark.sql("SELECT 1 AS one, 'x' AS x, NULL AS n").collect())
    yield "pandas", [str(value) for value in data.where("id % 50 = 0").orderBy("id").selectExpr("id", "st", "timestamp_seconds(id * 1000000) AS t", "de", "bo").toPandas().to_dict("records")]
    yield "iterated", rows(data.orderBy("id").select("id", "da").toLocalIterator())
    yield "long", [len(found) for found in [spark.range(0, 50000, 1, 3).selectExpr("id", "repeat(concat('text ', id), 40) AS t").toArrow()]]
    yield "long rows", sum(len(row.t) for row in spark.range(0, 5, 1, 2).selectExpr("concat(repeat(id, 400000), repeat(id + 1, 400000 + CAST(id AS int)), repeat(id + 2, 400000), repeat(id + 3, 400000)) AS t").collect())
    yield "two columns of a name", rows(data.selectExpr("id AS a", "id + 1 AS a").orderBy("id").limit(3).collect())
    yield "local", arrow(spark.createDataFrame([(1, "a"), (2, None)], "n int, s string").join(data.select(F.col("id").cast("int").alias("n"), "st"), "n").toArrow())
    plus = F.udf(lambda n: None if n is None else n + 1, "bigint")
    yield "function", rows(data.orderBy("id").select(plus("id"), plus("it")).collect())
    kept = data.select("id", "it", "do").cache()
    yield "cached", [kept.count(), rows(kept.where("it = 1").orderBy("id").collect())]
    kept.unpersist()
    data.createOrReplaceTempView("data")
    yield "SQL", rows(spark.sql("SELECT it, count(*), collect_list(id) FROM (SELECT * FROM data ORDER BY id) WHERE id < 90 GROUP BY it ORDER BY it").collect())
    spark.conf.set("spark.sql.session.timeZone", "America/Sao_Paulo")
    yield "zone", arrow(data.selectExpr("id", "ts", "CAST(ts AS string) AS s").toArrow())
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    yield "short batches", arrow(data.select("id", "st").toArrow())
    spark.conf.set("spark.sql.ansi.enabled", "true")
    yield "failure", thrown(lambda: data.selectExpr("id DIV (id - 7)").collect())
    written = os.path.join(scratch, "written")
    data.select("id", "st").write.mode("overwrite").parquet(written)
    yield "written", spark.read.parquet(written).count()


def client(url, scratch, result):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).getOrCreate()
    with open(result, "w") as out:
        json.dump(dict(queries(spark, scratch)), out)
    spark.stop()


def main(result, scratch):
    from pyspark.sql import SparkSession

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    builder = SparkSession.builder.config("spark.sql.session.timeZone", "Europe/Zurich").config("spark.sql.shuffle.partitions", "3").config("spark.connect.grpc.binding.port", str(port))
    for kind in ["datetime", "int96"]:
        builder = builder.config(f"spark.sql.parquet.{kind}RebaseModeInWrite", "CORRECTED")
    spark = builder.getOrCreate()
    table(spark, 300).drop("no", "ym", "ds").write.parquet(os.path.join(scratch, "rows"))
    service = spark._jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(spark._jsc.sc())
    asked = os.path.join(scratch, "asked.json")
    environment = {name: value for name, value in os.environ.items() if name not in ("MASTER", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_SUBMIT_ARGS")}
    try:
        subprocess.run([sys.executable, __file__, "client", f"sc://127.0.0.1:{port}", scratch, asked], check=True, env=environment, timeout=400)
        with open(asked) as answers, open(result, "w") as out:
            json.dump({"version": spark.version, "answers": json.load(answers), "metrics": {}, "errors": {}, "counters": counters(spark)}, out, indent=0, sort_keys=True)
    finally:
        service.stop(spark._jvm.scala.Option.empty(), spark._jvm.scala.Option.empty())
    spark.stop()


if __name__ == "__main__":
    if sys.argv[1] == "client":
        client(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
