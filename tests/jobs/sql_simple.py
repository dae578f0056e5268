"""Functions of Python that are simple enough to be computed without it, over odd values, and where queries may have them.

usage: spark-submit sql_simple.py RESULT"""

import json
import math
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support import digest, rows, thrown

OFFSET, NAME = 7, "näme"
TYPES = "b boolean, y tinyint, h smallint, i int, l bigint, f float, x double, s string"
ODD = [
    (True, 127, -32768, 2**31 - 1, 2**62, 1.1, math.nan, "  Some Text\t"), (False, -128, 32767, -(2**31), -(2**62), -0.0, -0.0, ""),
    (None, None, None, None, None, None, None, None), (True, 0, 1, -1, 3, math.inf, 4.9e-324, "ÄÖ ß İ 𝄞"), (False, 7, 255, 65535, 2**53 + 1, 1e-45, -math.inf, "a,b,,c"),
    (True, 1, 2, 3, -7, 3.4e38, 1.7976931348623157e308, "12"), (False, -1, -2, -3, 7, 0.1, 0.1, " -12 "), (True, 2, 3, 5, 8, 2.5, -2.5, "a" * 300), (None, 3, 0, 0, 0, 0.0, 0.0, "NaN\u0000x"),
]  # fmt: skip


def sign(n):
    if n is None:
        return "none"
    if n > 0:
        return "positive"
    return "zero" if n == 0 else "negative"


def initials(text):
    if not text:
        return None
    first, rest = text[0], text[1:].strip()
    return f"{first}.{rest[-1:]}" if rest else first


def twice(n):
    return n * 2


def scaled(n):
    result = twice(n) + OFFSET
    return result if result < 100 else -1


def guarded(function):
    """A function for all but None; the wrapper is simple, too."""
    return lambda value: None if value is None else function(value)


# Functions that have a value for everything, with a declared type and the columns that they are given.
TOTAL = [
    (sign, "string", "i l f x y h"), (lambda n: n is None, "boolean", "b y h i l f x s"), (initials, "string", "s"), (lambda a: a, "bigint", "y h i l"), (lambda a: a, "double", "x f"), (lambda a: a, "string", "s"), (lambda a: a, "boolean", "b"),
    (guarded(scaled), "bigint", "y h i"), (guarded(scaled), "int", "y h"), (guarded(lambda x: x / 4 + 1.5), "double", "f x i"), (guarded(lambda x: x * x), "float", "f y"), (guarded(lambda x: -x if x < 0 else x), "double", "x f"),
    (guarded(lambda n: n // 7 * 7 + n % 7 == n), "boolean", "y h i l"), (guarded(lambda s: len(s)), "int", "s"), (guarded(lambda s: s.strip().lower().replace("a", "bb")), "string", "s"), (guarded(lambda s: s.upper() + NAME), "string", "s"),
    (guarded(lambda s: s.split(",")), "array<string>", "s"), (guarded(lambda s: s.split()[:1]), "array<string>", "s"), (guarded(lambda s: s.startswith("a") or s.endswith("x")), "boolean", "s"), (guarded(lambda s: "," in s and "b" in s), "boolean", "s"),
    (guarded(lambda n: [n, n + 1]), "array<int>", "y h"), (guarded(lambda n: str(n) + "!"), "string", "y h i l b"), (guarded(lambda n: n if n > 0 else None), "int", "i y"), (guarded(lambda x: x == x), "boolean", "x f i s"), (lambda: 5, "int", ""),
    (lambda: None, "string", ""), (guarded(lambda x: abs(x) if x != 0 else max(x, 1)), "double", "x f"), (guarded(lambda n: n > 1 and n < 6), "boolean", "y h i l x f"), (guarded(lambda a: not a), "boolean", "b i s"),
]  # fmt: skip
TWO = [
    (lambda a, b: a + b if a is not None and b is not None else -1, "bigint", "y h", "i y"), (lambda a, b: f"{a}-{b}", "string", "s b", "s i"), (lambda a, b: a / b if a is not None and b else 0.0, "double", "x i", "f y"), (lambda s, n: s * 2 if s is not None and n is None else s, "string", "s", "i"),
    (lambda a, b: a if b else b, "boolean", "b", "b"), (lambda a, b: None if a is None or b is None else max(a, b), "bigint", "l i", "y i"), (lambda s, t: s is not None and t is not None and s < t, "boolean", "s", "s"),
]  # fmt: skip


def total(spark, odd):
    """Every function for every one of its columns, in few queries, as each is a function of its own in them."""
    for place, (function, of, columns) in enumerate(TOTAL):
        udf = F.udf(function, of)
        values = [udf(column) for column in columns.split()] or [udf()]
        yield f"{place}", rows(odd.select("id", *(value.alias(f"c{at}") for at, value in enumerate(values))).orderBy("id"))


def two(spark, odd):
    for place, (function, of, first, second) in enumerate(TWO):
        udf = F.udf(function, of)
        values = [udf(one, other).alias(one + other) for one in first.split() for other in second.split()]
        yield f"{place}", rows(odd.select("id", *values).orderBy("id"))


def forms(spark, odd):
    """Where queries may have functions."""
    many = spark.range(0, 30_000, 1, 3).select("id", (F.col("id") % 7).alias("k"), F.concat(F.lit("s"), F.col("id") % 13).alias("s"))
    small = spark.range(0, 50, 1, 2).select("id", (F.col("id") % 7).alias("k"), F.concat(F.lit("s"), F.col("id") % 13).alias("s"))
    small.createOrReplaceTempView("small")
    double, text, even = F.udf(lambda n: n * 2, "bigint"), F.udf(lambda n, s: f"{s}{n}"), F.udf(lambda n: n % 2 == 0, "boolean")
    spark.udf.register("double_of", double)
    yield "several", digest(rows(many.select(double("id"), text("id", "s"), even("k"))))
    yield "chained", digest(rows(many.select(double(double(double("id"))), text(double("k"), text("id", "s")))))
    yield "expressions", digest(rows(many.select(double(F.col("id") + 1) + double(F.col("k") * F.col("id")), F.upper(text("id", F.lower("s"))))))
    yield "filter", digest(rows(many.filter(even("id") & (double("k") > 4)).select("s")))
    yield "group", rows(many.groupBy(double("k").alias("g")).agg(F.sum(double("id")), F.max(text("k", "s")), F.count("*")).orderBy("g"))
    yield "join", rows(many.join(small.withColumnRenamed("id", "other"), even("id") & (F.col("id") == F.col("other"))).select("id", "other").orderBy("other"))
    yield "union", digest(rows(many.select(double("id").alias("n")).union(small.select(double("k").alias("n"))).groupBy("n").count().orderBy("n")))
    yield "subquery", rows(spark.sql("SELECT id FROM small WHERE double_of(id) = (SELECT max(double_of(id)) FROM small)"))
    yield "values", rows(spark.sql("SELECT double_of(n), n FROM VALUES (1L), (3L) AS t(n)"))
    yield "no rows", rows(many.filter("id < 0").select(double("id"), text("id", "s")))
    yield "empty partitions", rows(many.filter("id < 3").select(double("id")))
    yield "not the result", many.select(text("id", "s").alias("t"), "id").groupBy().sum("id").first()[0]
    yield "limit", rows(many.select(double("id"), "s").limit(3))
    yield "some", len(many.filter(even("id")).take(3_500))
    kept = many.select(double("id").alias("d"), text("id", "s").alias("t")).cache()
    yield "cached", [rows(kept.agg(F.sum("d"), F.max("t"))), digest(rows(kept.filter("d % 100 = 0").orderBy("d")))]
    kept.unpersist()


def unusual(spark, odd):
    """Values that Python has to see: of some batches, of rows in the middle of many, of every batch of a function."""
    large = spark.range(0, 60_000, 1, 2).select("id", F.expr("if(id % 29000 = 17, 'É', concat('e', id))").alias("s"), F.expr("if(id = 41000, 9223372036854775807, id)").alias("l"))
    lower, over, never = F.udf(lambda s: s.lower()), F.udf(lambda n: (n * 4) // 4, "bigint"), F.udf(lambda s: ("é" + s).upper())
    yield "some batches", digest(rows(large.select("id", lower("s"), over("l"))))
    yield "all batches", digest(rows(large.select("id", never("s"))))
    yield "besides others", digest(rows(large.select("id", lower("s"), F.udf(lambda s: "".join(reversed(s)))("s"), over("id"))))


def left(spark, odd):
    """Functions that are not simple."""
    table, words = spark.range(0, 20, 1, 2).selectExpr("id", "date_add(date'2020-02-28', cast(id as int)) d", "cast(id / 4 as decimal(10,2)) n"), {"a": [1], "b": 2}

    def loop(n):
        found = 0
        while found < n:
            found += 3
        return found

    yield "loop", rows(table.select(F.udf(loop, "bigint")("id")))
    yield "object", rows(table.select(F.udf(lambda n: len(words) + n, "bigint")("id")))
    yield "comprehension", rows(table.select(F.udf(lambda n: [one for one in range(n)], "array<bigint>")("id")))
    yield "types", rows(table.select(F.udf(lambda d: str(d))("d"), F.udf(lambda n: n * 2, "decimal(12,2)")("n"), F.udf(lambda n: (n, n), "struct<a:bigint,b:bigint>")("id")))
    long = "x" * 3_000_000
    yield "a command in a broadcast", rows(table.select(F.udf(lambda n: len(long) + n, "bigint")("id")))
    if spark.version >= "4":
        yield "named", rows(table.select(F.udf(lambda a, b: a - b, "bigint")(b="id", a=F.lit(1))))


def failures(spark, odd):
    """Errors are Python's, with its tracebacks."""
    table = spark.range(0, 2_000, 1, 2).selectExpr("id", "if(id = 1500, null, id) AS l", "concat('t', id) AS s")
    for name, function, of, column in [("zero", lambda n: 10 // (n - 1_300), "bigint", "id"), ("none", lambda n: n + 1, "bigint", "l"), ("text", lambda s: s + 1, "string", "s"), ("place", lambda s: s.split("1")[1], "string", "s")]:
        yield name, thrown(lambda: table.select(F.udf(function, of)(column)).collect())


def main(result):
    spark = SparkSession.builder.getOrCreate()
    answers = {}
    odd = spark.createDataFrame([(place, *row) for place, row in enumerate(ODD)], f"id int, {TYPES}").repartition(2, "id")
    ways = ["false", "true"] if spark.version >= "4.1" else ["false"]
    for arrow in ways:
        spark.conf.set("spark.sql.execution.pythonUDF.arrow.enabled", arrow)
        for body in [total, two, forms, unusual, left, failures]:
            answers |= {f"{body.__name__} over Arrow {arrow}: {name}": answer for name, answer in body(spark, odd)}
    with open(result, "w") as file:
        json.dump({"answers": answers, "metrics": {}, "errors": {}, "version": spark.version}, file, indent=1)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
