"""What `firesteel qualify` is tried on: queries of which some are native, some are not and some in parts, and RDDs of PySpark. Each is a job of its
description.

usage: spark-submit ... qualify.py RESULT SCRATCH [LOGS]; with LOGS, where event logs are written, the result has the application's own"""

import base64
import json
import pathlib
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from support import Themes, digest, rows

MERGED = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
HASHED = {"spark.sql.autoBroadcastJoinThreshold": "20k", "spark.sql.join.preferSortMergeJoin": "false"}
LEGACY_CODE = {"spark.sql.codegen.wholeStage": "false"}
QUERIES = {
    "aggregate": ("SELECT k, sum(v), avg(price), count(DISTINCT v % 10) FROM fact WHERE v > 10 GROUP BY k", {}),
    "no keys": ("SELECT sum(price * (1 - discount)) FROM fact WHERE day >= DATE'2024-01-10' AND v BETWEEN 5 AND 50000", {}),
    "broadcast join": ("SELECT f.v, upper(d.name) FROM fact f JOIN dimension d ON f.k = d.k ORDER BY f.v DESC, d.name LIMIT 10", {}),
    "merge join": ("SELECT d.name, max(f.v) FROM fact f LEFT JOIN dimension d ON f.k = d.k AND f.v > 100 GROUP BY d.name", MERGED),
    "hash join": ("SELECT count(*) FROM fact a JOIN (SELECT v AS w FROM fact WHERE v < 900) b ON a.v = b.w", HASHED),
    "without generated code": ("SELECT k, substring(cast(v AS string), 1, 2) AS s, count(*) FROM fact GROUP BY ALL", LEGACY_CODE),
    "order": ("SELECT k, v FROM fact ORDER BY price, v", {}),
    "window": ("SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r, sum(v) OVER (PARTITION BY k ORDER BY v ROWS 3 PRECEDING) AS s FROM fact", {}),
    "subquery": ("SELECT k, v FROM fact WHERE v > (SELECT avg(v) FROM fact) AND k IN (SELECT k FROM dimension WHERE name LIKE 'b%')", {}),
    "union": ("SELECT k, v FROM fact WHERE v < 5 UNION ALL SELECT k, length(name) FROM dimension UNION ALL SELECT * FROM VALUES (7L, 8L)", {}),
    "regular expression": ("SELECT regexp_extract(name, '(.)(.)', 1) AS c, count(*) FROM dimension GROUP BY 1", {}),
    "sine": ("SELECT count(*) FROM fact WHERE sin(v) > 0.5", {}),
    "in parts": ("SELECT h, count(*) FROM (SELECT k, soundex(d.name) AS h FROM fact f JOIN dimension d USING (k)) GROUP BY h", MERGED),
    "nested": ("SELECT k, collect_list(v) FROM fact WHERE v < 100 GROUP BY k", {}),
    "columns of lists": ("SELECT count(*), max(size(list)) FROM lists", {}),
    "json": ("SELECT get_json_object(text, '$.k') AS j, count(*) FROM texts GROUP BY 1", {}),
    "text files": ("SELECT count(*) FROM csv WHERE _c0 > '5'", {}),
    "python": ("SELECT plus_one(v) AS w FROM fact WHERE v < 1000", {}),
    "many columns": ("SELECT " + ", ".join(f"v + {n} AS c{n}" for n in range(40)) + " FROM fact WHERE v < 1000", {}),
}


def prepare(spark, scratch):
    spark.range(0, 60000, 1, 4).selectExpr(
        "id % 7 AS k", "id AS v", "cast(id % 100 AS decimal(10, 2)) AS price", "cast(0.05 AS decimal(4, 2)) AS discount", "date_add(DATE'2024-01-01', cast(id % 30 AS int)) AS day"
    ).write.mode("overwrite").parquet(f"{scratch}/fact")
    spark.sql("SELECT id AS k, concat(chr(97 + cast(id AS int)), 'x') AS name FROM range(0, 10, 1, 1)").write.mode("overwrite").parquet(f"{scratch}/dimension")
    spark.sql("SELECT id AS k, array(id, id) AS list FROM range(0, 1000, 1, 2)").write.mode("overwrite").parquet(f"{scratch}/lists")
    spark.sql("""SELECT concat('{"k": ', id % 3, '}') AS text FROM range(0, 1000, 1, 2)""").write.mode("overwrite").parquet(f"{scratch}/texts")
    spark.range(0, 1000, 1, 2).write.mode("overwrite").csv(f"{scratch}/csv")


def rdd_jobs(context, scratch):
    """PySpark's RDDs; the last one is written by Java's code."""
    with open(f"{scratch}/words.txt", "w") as text:
        text.writelines(f"line {n} of words\n" for n in range(2000))
    lines = context.textFile(f"{scratch}/words.txt", 4)
    yield "word count", lambda: sorted(lines.flatMap(lambda line: line.split(" ")).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b, 3).collect())[:5]
    numbers = context.parallelize(range(2000), 4)
    yield "repartition", lambda: numbers.map(lambda n: n * 2).repartition(3).sum()
    yield "join of pairs", lambda: numbers.map(lambda n: (n % 10, n)).join(numbers.map(lambda n: (n % 10, -n)), 2).count()
    kept = numbers.map(lambda n: n + 1).setName("numbers").cache()
    yield "cached", lambda: kept.union(numbers).count() + kept.zipWithIndex().count()
    yield "written", lambda: lines.map(lambda line: line[:6]).saveAsTextFile(f"{scratch}/written")
    yield "pickled", lambda: numbers.saveAsPickleFile(f"{scratch}/pickled")


def main(result, scratch, logs=None):
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    context.setLogLevel("ERROR")
    run = Themes(spark)
    spark.udf.register("plus_one", udf(lambda x: x + 1, "bigint"))
    context.setJobDescription("preparation")
    prepare(spark, scratch)
    for table in ["fact", "dimension", "lists", "texts"]:
        spark.read.parquet(f"{scratch}/{table}").createOrReplaceTempView(table)
    spark.read.schema("_c0 string").csv(f"{scratch}/csv").createOrReplaceTempView("csv")

    def asked(text, settings):
        def body(_):
            for key, value in settings.items():
                spark.conf.set(key, value)
            try:
                return digest(sorted(rows(spark.sql(text))))
            finally:
                for key in settings:
                    spark.conf.unset(key)

        return body

    for name, (text, settings) in QUERIES.items():
        run.run(name, asked(text, settings), "unordered")
    for name, body in rdd_jobs(context, scratch):
        run.run(name, lambda _, body=body: digest(json.dumps(body())), "unordered")
    run.result["metrics"] = {}
    run.count_tasks()
    run.result["version"] = spark.version
    spark.stop()
    if logs:
        files = [path for path in pathlib.Path(logs).rglob("*") if path.is_file() and path.suffix != ".crc"]
        run.result["log"] = {str(path.relative_to(logs)): base64.b64encode(path.read_bytes()).decode() for path in files}
    run.write(result)


main(*sys.argv[1:])
