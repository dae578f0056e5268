"""SQL that Firesteel's sql lane leaves to the JVM, wholly or in part: functions of the user's, of Hive's, expressions and operators that it does not know, and
everything that fails."""

from pyspark.sql import Window
from pyspark.sql import functions as F

from support import rows, thrown


def numbers(run):
    return run.spark.range(0, 600, 1, 4).select("id", (F.col("id") % 7).alias("g"), F.col("id").cast("string").alias("s"))


def hive_functions(run):
    for name, function in [("hive_upper", "generic.GenericUDFUpper"), ("hive_abs", "generic.GenericUDFAbs"), ("hive_hex", "UDFHex"), ("hive_rand", "UDFRand")]:
        run.spark.sql(f"create temporary function {name} as 'org.apache.hadoop.hive.ql.udf.{function}'")
    numbers(run).createOrReplaceTempView("numbers")
    return {
        "generic": rows(run.spark.sql("select g, sum(hive_abs(g - id)) as n from numbers group by g order by g")),
        "texts": rows(run.spark.sql("select id, hive_upper(concat('n', s)) as u from numbers where id < 9 order by id")),
        "simple": rows(run.spark.sql("select hive_hex(max(id)), count(*) from numbers")),
        # That it gives another number each time only its class says.
        "chance": rows(run.spark.sql("select count(*), count_if(r > 0 and r < 1) > 0 from (select hive_rand(7) r from numbers)")),
    }


def scala_function(run):
    run.spark.udf.registerJavaFunction("backwards", "probe.Backwards")
    numbers(run).createOrReplaceTempView("numbers")
    return rows(run.spark.sql("select backwards(concat('n', g)) as b, count(*), sum(id) from numbers group by 1 order by 1"))


def json_values(run):
    texts = numbers(run).select("g", F.to_json(F.struct("id", "s")).alias("j"))
    parsed = texts.select("g", F.from_json("j", "id long, s string").alias("v"))
    return rows(parsed.groupBy("g").agg(F.sum("v.id"), F.max("v.s")).orderBy("g"))


def windows(run):
    window = Window.partitionBy("g").orderBy(F.col("id").desc())
    ranked = numbers(run).select("g", "id", F.rank().over(window).alias("r"), F.sum("id").over(window).alias("s"))
    return rows(ranked.where("r < 4").orderBy("g", "r"))


def arrays(run):
    pieces = numbers(run).select("g", F.explode(F.array("id", F.col("id") + 1)).alias("n"))
    return rows(pieces.groupBy("g").agg(F.sum("n"), F.size(F.collect_set("n"))).orderBy("g"))


def failures(run):
    """Errors in Spark's own words, with the executor's stack."""
    numbers(run).createOrReplaceTempView("numbers")
    run.spark.conf.set("spark.sql.ansi.enabled", "true")
    found = {
        name: thrown(lambda: run.spark.sql(query).collect())
        for name, query in {
            "division": "select g, id / (id - 77) from numbers",
            "cast": "select cast(concat(s, case when id = 401 then 'x' else '' end) as int) from numbers",
            "overflow": "select sum(id * 9000000000000000) from numbers",
            "assertion": "select assert_true(id < 599) from numbers",
        }.items()
    }
    run.spark.conf.unset("spark.sql.ansi.enabled")
    return found


THEMES = [
    ("hive functions", hive_functions, "unordered"),
    ("scala function", scala_function, "unordered"),
    ("json values", json_values, "unordered"),
    ("windows", windows, "unordered"),
    ("arrays", arrays, "unordered"),
    ("failures", failures, "none"),
]
