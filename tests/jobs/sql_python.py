"""Functions of Python in Spark SQL that are called with pickled rows: arguments and results of every type, and of types that they should not have.

usage: spark-submit sql_python.py RESULT [short]. With `short`, without the results of every type."""

import datetime
import decimal
import math
import random
import re
import sys

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support import Themes, digest, rows, thrown

ARGUMENTS = {
    "boolean": ["true", "false", "NULL"],
    "tinyint": ["0Y", "127Y", "-128Y", "NULL"],
    "smallint": ["255S", "256S", "-1S", "NULL"],
    "int": ["2147483647", "-2147483648", "65535", "NULL"],
    "bigint": ["2147483648L", "-9223372036854775808L", "9223372036854775807L", "7L", "NULL"],
    "float": ["float(1.1)", "-float(0)", "float('NaN')", "float('-Infinity')", "NULL"],
    "double": ["1.1D", "-0D", "double('NaN')", "double('Infinity')", "4.9E-324D", "NULL"],
    "decimal(10,2)": ["1.20BD", "-99999999.99BD", "0BD", "NULL"],
    "decimal(38,18)": ["0.000000000000000001BD", "-99999999999999999999.999999999999999999BD", "0BD", "NULL"],
    "string": ["''", "'a'", "'äöü€𝄞'", "repeat('long ', 100)", "'\\u0000'", "NULL"],
    "date": ["DATE'0001-01-01'", "DATE'1582-10-04'", "DATE'1970-01-01'", "DATE'9999-12-31'", "NULL"],
    "timestamp": ["TIMESTAMP'1970-01-01 00:00:00'", "TIMESTAMP'2020-03-29 02:30:00.123456'", "TIMESTAMP'1900-01-01 12:00:00'", "NULL"],
    "timestamp_ntz": ["TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", "TIMESTAMP_NTZ'2020-03-29 02:30:00'", "NULL"],
    "array<int>": ["array(1, NULL, 3)", "array()", "NULL"],
    "array<array<string>>": ["array(array('a', NULL), NULL, array())", "NULL"],
    "array<date>": ["array(DATE'2020-02-29', NULL)", "NULL"],
    "binary": ["X''", "X'00ff41'", "NULL"],
    "map<string,int>": ["map('k', 1, 'b', NULL, 'a', 3)", "map()", "NULL"],
    "map<bigint,array<date>>": ["map(7L, array(DATE'2020-02-29'), -1L, NULL)", "NULL"],
    "struct<a:int,b:date>": ["named_struct('a', 1, 'b', DATE'2020-01-01')", "NULL"],
    "array<struct<x:timestamp,y:binary>>": ["array(named_struct('x', TIMESTAMP'2020-01-01 00:00:00', 'y', X'41'), NULL)", "array()", "NULL"],
    "void": ["NULL"],
}
# Declared types, those together that have their say for the same values.
TYPES = [["boolean", "tinyint", "smallint", "int", "bigint", "float", "double"], ["binary", "array<int>"], ["decimal(10,2)"], ["string"], ["date"], ["timestamp"],
         ["array<array<string>>", "array<struct<a:double>>"], ["struct<a:int,b:string>"], ["map<string,int>", "map<int,string>"]]
# What functions return, whatever they were declared with. Some are left to Spark, which knows what Java makes of them.
RESULTS = [None, True, 0, 1, -1, 300, 70_000, 2**31, -(2**63), 2**63, 2**70, 1.5, -0.0, math.nan, "", "text", "é", "12", b"bytes", bytearray(b"more"), decimal.Decimal("1.25"),
           decimal.Decimal("-0.05"), decimal.Decimal("1E+2"), decimal.Decimal("0E-12"), decimal.Decimal("NaN"), decimal.Decimal("-Infinity"), decimal.Decimal("sNaN"), decimal.Decimal("1E+3000"), decimal.Decimal(10) ** 30, datetime.date(2020, 2, 29),
           datetime.datetime(2020, 3, 29, 2, 30, 0, 5), [], [1, None, 2], (1, "x"), [(1.5,), None], ["a", ["b"]], {"a": 1}, {1, 2}, 1j, range(2),
           {}, {"z": 1, "a": 2, "k": None}, {f"k{n}": n for n in range(40)}, {n * 7919: str(n) for n in range(30)}, {None: 1}, {1.5: 2, "x": 3}, {str(n): n for n in range(1100)}]


def shown(value):
    return f"{type(value).__name__}: {value!r}"


def arguments(run):
    """Each with its type and value as the function sees it, and as it comes back."""
    found = {}
    for of, values in ARGUMENTS.items():
        table = run.spark.sql(f"SELECT CAST(v AS {of}) AS v FROM VALUES {', '.join(f'({value})' for value in values)} AS t(v)")
        back = F.udf(lambda value: value, of)
        found[of] = rows(table.select(F.udf(shown)("v"), "v", back("v")))
        found[f"{of} of many"] = rows(table.repartition(2).select(F.udf(lambda *all: str(all))("v", F.lit(1), "v", F.lit("x"))).orderBy(F.col("<lambda>(v, 1, v, x)")))
    return found


def results(run):
    """Everything for every declared type; as errors are the whole query's, one at a time."""
    found, rows_of_one = {}, run.spark.range(0, 1, 1, 1)
    for types in TYPES:
        for place in range(len(RESULTS)):
            columns = [F.udf(lambda _, place=place: RESULTS[place], of)("id").alias(of) for of in types]
            answer = thrown_or(lambda columns=columns: rows(rows_of_one.select(*columns)))
            # Without addresses of Java's objects.
            found[f"{types[0]} {place}"] = re.sub("@[0-9a-f]+", "@", str(answer)) if "string" in types else answer
    return found


def kinds(run):
    """Functions that are simple, and give values of other kinds than they are declared with; as errors are the whole query's, one at a time."""
    functions = {"n": lambda n: n, "n / 2": lambda n: n / 2, "n > 1": lambda n: n > 1, "str(n)": lambda n: str(n), "[n]": lambda n: [n, None], "(n, n)": lambda n: (n, n), "some": lambda n: n if n > 1 else n > 0}
    found, few = {}, run.spark.range(0, 3, 1, 1)
    for of in ["boolean", "tinyint", "bigint", "float", "double", "string", "array<int>"]:
        for name, function in functions.items():
            column = F.udf(function, of)("id")
            answer = thrown_or(lambda column=column: rows(few.select("id", column)))
            # Without addresses of Java's objects.
            found[f"{name} as {of}"] = re.sub("@[0-9a-f]+", "@", str(answer)) if of == "string" else answer
    return found


def thrown_or(body):
    try:
        return body()
    except Exception as error:
        return type(error).__name__


def table(run, count, parts):
    return run.spark.range(0, count, 1, parts).select("id", (F.col("id") % 7).alias("k"), F.concat(F.lit("s"), F.col("id") % 13).alias("s"), F.col("id").cast("double").alias("x"))


def forms(run):
    """Functions where queries may have them."""
    twice, text, pair = F.udf(lambda n: n * 2, "bigint"), F.udf(lambda n, s: f"{s}{n}"), F.udf(lambda n, s: (n, s), "struct<n:bigint,s:string>")
    even, none = F.udf(lambda n: n % 2 == 0, "boolean"), F.udf(lambda: "none")
    large, small = table(run, 20_000, 3), table(run, 50, 2)
    small.createOrReplaceTempView("small")
    run.spark.udf.register("twice", twice)
    joined = large.join(small.withColumnRenamed("id", "other"), even("id") & (F.col("id") == F.col("other")))
    return {
        "one": digest(rows(large.select("id", twice("id")))),
        "several": digest(rows(large.select(twice("id"), text("id", "s"), pair("k", "s"), none()))),
        "chained": digest(rows(large.select(twice(twice(twice("id"))), text(twice("k"), text("id", "s"))))),
        "expressions": digest(rows(large.select(twice(F.col("id") + 1) + twice(F.col("k") * F.col("id")), F.upper(text("id", F.lower("s")))))),
        "filter": digest(rows(large.filter(even("id") & (twice("k") > 4)).select("s", "x"))),
        "group": rows(large.groupBy(twice("k").alias("g")).agg(F.sum(twice("id")), F.max(text("k", "s")), F.count("*")).orderBy("g")),
        "join": rows(joined.orderBy("other")),
        "order": rows(small.orderBy(text("k", "s").desc(), "id").limit(7)),
        "window": rows(run.spark.sql("SELECT id, sum(twice(id)) OVER (PARTITION BY twice(k) ORDER BY id) FROM small ORDER BY id")),
        "union": digest(rows(large.select(twice("id").alias("n")).union(small.select(twice("k").alias("n"))).groupBy("n").count().orderBy("n"))),
        "subquery": rows(run.spark.sql("SELECT id FROM small WHERE twice(id) = (SELECT max(twice(id)) FROM small)")),
        "values": rows(run.spark.sql("SELECT twice(n), n FROM VALUES (1L), (NULL), (3L) AS t(n) WHERE n IS NOT NULL")),
        "no rows": rows(large.filter("id < 0").select(twice("id"), none())),
        "some empty partitions": rows(large.filter("id < 3").select(twice("id"), none())),
        "not all columns": digest(rows(large.select("*", twice("id").alias("t")).select("s", "t"))),
        "not the result": large.select(text("id", "s").alias("t"), "id").groupBy().sum("id").first()[0],
        "long texts": digest(rows(large.select(F.udf(lambda s: s * 500)("s").alias("t")).groupBy("t").count().orderBy("t"))),
        "long lists": rows(small.filter("id > 0").select(F.udf(lambda n: list(range(n * 100)), "array<int>")("id").alias("a")).select(F.sum(F.size("a")), F.max(F.element_at("a", -1)))),
        "rows of rows": digest(rows(small.select(F.udf(lambda n: [(i, str(i)) for i in range(n)], "array<struct<i:int,s:string>>")("k")))),
        "arrays": digest(rows(large.groupBy("k").agg(F.sort_array(F.collect_list("id")).alias("a")).select("k", F.udf(lambda a: sum(a), "bigint")("a")).orderBy("k"))),
    }


def limits(run):
    """Of which Spark asks for a few rows only."""
    large, twice, even = table(run, 20_000, 3), F.udf(lambda n: n * 2, "bigint"), F.udf(lambda n: n % 2 == 0, "boolean")
    return {
        "limit": rows(large.select(twice("id"), "s").limit(3)),
        "first": rows(large.filter(even("id")).limit(1)),
        "some": len(large.filter(even("id")).take(3_500)),
        "ordered": rows(large.select(twice("id").alias("n"), "s").orderBy(F.desc("n")).limit(3)),
    }


def surroundings(run):
    """What functions find around them."""
    factors, seen = run.sc.broadcast({n: n * n for n in range(10)}), run.sc.accumulator(0)

    def look(n):
        seen.add(1)
        return factors.value[n]

    def place():
        context = TaskContext.get()
        return context.partitionId() if context.attemptNumber() == 0 else -1

    frame = table(run, 1_000, 4)
    other = run.sc.broadcast("other")
    both = frame.select(F.udf(look, "int")("k"), F.udf(lambda: other.value)()).distinct()
    dice = F.udf(lambda: random.random(), "double").asNondeterministic()
    found = {
        "broadcasts": rows(both.orderBy("look(k)")),
        "accumulator": seen.value,
        "partitions": rows(frame.select(F.udf(place, "int")().alias("p")).groupBy("p").count().orderBy("p")),
        "not deterministic": frame.select(dice().alias("d")).filter("d >= 0 AND d < 1").count(),
    }
    if run.spark.version >= "4":
        named = F.udf(lambda a, b=5, c=7: f"{a} {b} {c}")
        found["named"] = rows(frame.filter("id < 20").select(named("id", c=F.col("k")), named(b="k", a=F.lit(1))))
    return found


def failures(run):
    frame = table(run, 10, 2)

    def stops(n):
        raise StopIteration("enough")

    return {
        "raises": thrown(lambda: frame.select(F.udf(lambda n: 1 // (n - 3), "int")("id")).collect()),
        "stops": thrown(lambda: frame.select(F.udf(stops)("id")).collect()),
        "exits": type_of(lambda: frame.select(F.udf(lambda n: __import__("os")._exit(3))("id")).collect()),
        "fields": type_of(lambda: frame.select(F.udf(lambda n: (1, 2, 3), "struct<a:int,b:int>")("id")).collect()),
    }


def type_of(body):
    try:
        body()
        return None
    except Exception as error:
        return type(error).__name__


def main(result, short=None):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    run.other_compressor = True
    for body, metrics in [(arguments, "exact"), (results, "none"), (kinds, "none"), (forms, "unordered"), (limits, "none"), (surroundings, "exact"), (failures, "none")]:
        if body is not results or not short:
            run.run(body.__name__, body, metrics)
    run.count_tasks()
    run.result |= {"version": spark.version}
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
