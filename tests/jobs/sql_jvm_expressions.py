"""Functions in Java of all types, and expressions that only Spark's own code evaluates, in stages whose other operators are native: in projections, filters, joins, groups,
sorts and lambdas, on odd values; what fails, what is killed, and what must not be evaluated there.

usage: spark-submit sql_jvm_expressions.py RESULT [all]"""

import datetime
import decimal
import json
import math
import os
import sys

from asking import Asked, killed
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

VALUES = [
    (0, 1, 2, True, 1.5, 0.5, "a", b"\x00\xff\x01", decimal.Decimal("1.500000000000000000"), datetime.date(2024, 2, 29), datetime.datetime(2024, 7, 1, 12, 30, 45, 123456), [1, None, 3]),
    (1, -128, -32768, False, -0.0, math.nan, "", b"", decimal.Decimal("-12345678901234567890.123456789012345678"), datetime.date(1, 1, 3), datetime.datetime(1900, 1, 1), []),
    (2, None, None, None, None, None, None, None, None, None, None, None),
    (3, 127, 32767, True, math.inf, -math.inf, "ä𝄞\n", b"x" * 300, decimal.Decimal("0E-18"), datetime.date(9999, 12, 30), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), list(range(300))),
    (4, 0, 0, False, math.nan, 1e-45, "x" * 500, b"abc", decimal.Decimal("99999999999999999999.999999999999999999"), datetime.date(1969, 12, 31), datetime.datetime(2024, 3, 10, 7, 0), [None]),
]  # fmt: skip
SCHEMA = "id long, b byte, h short, t boolean, x double, f float, s string, bin binary, d decimal(38,18), day date, moment timestamp, a array<int>"
ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"]
# Of Spark's own code only: each has a class or a form that the lane does not know.
EXPRESSIONS = [
    "regexp_replace(s, '(?<=a)b*+', 'x')", "regexp_extract(s, '(?i)(?:(A)|(x))+?', 1)", "s rlike '(?<!a)x{2,}+$'", "date_format(moment, 'yyyy-MM-dd[ HH:mm]')", "to_csv(named_struct('i', id, 's', s))",
    "from_csv(concat(id, ',', s), 'i long, s string')", "to_number(concat(id, '.5'), '99.9')", "to_char(d, 'S99999999999999999999D99')", "xpath_string(concat('<a>', id, '</a>'), 'a')", "schema_of_csv('1,x')", "sentences(s)",
    "format_string('%s|%05d|%s', s, id, b)", "soundex(s)", "parse_url(concat('http://h/', id, '?q=', id), 'QUERY', 'q')",
]  # fmt: skip


def functions(asked, spark, values):
    """Functions by the types of what they are given and give."""
    calls = {
        "numbers": ["j_seven()", "j_twice(id)", "j_twice(b)", "j_mean(x, f)", "j_small(b, h)", "j_not(t)", "j_decimal(d)"],
        "texts": ["j_text(s)", "j_text(concat(s, id))", "j_bytes(bin)", "j_array(a)"],
        "days": ["j_date(if(year(day) > 1900, day, null))"],
        "records": ["j_record(id, s)", "j_record(id, s).texts", "j_record(id + 1, 'k').numbers['k']", "j_of_record(j_record(id, s))", "j_of_record(named_struct('i', id, 'a', a, 'd', d))", "j_pair(moment, d)"],
        "within each other": ["j_twice(j_twice(id) + j_seven())", "upper(j_text(s)) || length(j_text(id))", "coalesce(j_not(t), id > 1)"],
        "in lambdas": ["transform(a, i -> j_twice(i + id))", "filter(a, i -> j_twice(i) > 4)", "aggregate(a, 0L, (x, y) -> x + j_twice(coalesce(y, 0)))"],
        "where it is": ["j_where(id)"],
        "sent": ["j_sent(id)"],
    }
    for name, of in calls.items():
        asked.ask(name, lambda: values.selectExpr("id", *[f"{call} c{n}" for n, call in enumerate(of)]).orderBy("id"))
    for zone in ZONES:
        spark.conf.set("spark.sql.session.timeZone", zone)
        asked.ask(f"times {zone}", lambda: values.selectExpr("id", "unix_micros(j_time(if(id = 1, null, moment))) a", "unix_micros(j_pair(moment, null).t) b").orderBy("id"))
        spark.conf.set("spark.sql.datetime.java8API.enabled", "true")
        asked.ask(f"instants {zone}", lambda: values.selectExpr("id", "j_instant(moment) a", "j_local_date(day) b", "j_text(moment) c", "j_text(day) d").orderBy("id"))
        spark.conf.set("spark.sql.datetime.java8API.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def places(asked, spark, values, many):
    """Functions in operators."""
    asked.ask("filter", lambda: values.where("j_twice(id) > 3 and j_text(s) <> ''").orderBy("id"))
    asked.ask("filter and limit", lambda: values.where("j_not(t)").select("id").orderBy("id").limit(2))
    asked.ask("groups", lambda: many.selectExpr("j_twice(id % 7) k", "id").groupBy("k").agg({"id": "sum", "*": "count"}).orderBy("k"))
    asked.ask("aggregates", lambda: many.selectExpr("sum(j_twice(id)) a", "max(j_text(id)) b", "count(j_record(id, s)) c", "count_if(j_twice(id) % 3 = 0) d"))
    asked.ask("joins", lambda: many.alias("l").join(values.alias("r"), F.expr("j_twice(l.id % 5) = j_twice(r.id)")).selectExpr("count(*)", "sum(l.id + r.id)"))
    asked.ask("join condition", lambda: values.alias("l").join(values.alias("r"), F.expr("l.id < r.id and j_twice(l.id) + r.id > 3"), "left").selectExpr("l.id a", "r.id b").orderBy("a", "b"))
    asked.ask("sorts", lambda: many.where("id < 300").selectExpr("id", "j_text(id) t").orderBy("t", "id"))
    asked.ask("windows", lambda: many.where("id < 50").selectExpr("id", "sum(j_twice(id)) over (partition by j_twice(id % 4) order by id) w").orderBy("id"))
    asked.ask("unions", lambda: values.selectExpr("j_twice(id) v").union(many.selectExpr("j_twice(id)")).groupBy().sum("v"))
    asked.ask("no rows", lambda: values.where("id > 100").selectExpr("j_twice(id)", "j_record(id, s)"))
    asked.ask("local", lambda: spark.sql("select j_twice(x), j_text(x) from values (1L), (null), (3L) t(x)"))
    asked.ask("subquery", lambda: values.where("j_twice(id) > (select min(j_twice(id)) from v)").select("id").orderBy("id"))
    asked.ask("exploded", lambda: values.selectExpr("id", "explode(j_array(a)) e").groupBy("id").count().orderBy("id"))
    asked.ask("typed", lambda: DataFrame(spark._jvm.probe.Functions.typed(many._jdf), spark).selectExpr("count(*)", "sum(id)"))
    asked.ask("wide", lambda: many.selectExpr("max(length(j_text(repeat(s, 200)))) m", "count(distinct j_text(repeat(s, 50))) n"))


def expressions(asked, values):
    """Expressions of Spark's."""
    for expression in EXPRESSIONS:
        asked.ask(expression, lambda: values.selectExpr("id", f"{expression} v").orderBy("id"))


def faults(asked, values, many):
    """What fails: in Spark's words. What is not needed is not evaluated."""
    asked.ask("fails", lambda: values.selectExpr("j_odd(id)"))
    asked.ask("fails late", lambda: many.selectExpr("sum(j_odd(if(id = 19998, id, id * 2 + 1)))"))
    asked.ask("not needed", lambda: values.selectExpr("id", "case when id % 2 = 1 then j_odd(id) end v", "if(id % 2 = 0, -1, j_odd(id)) w", "id % 2 = 1 and j_odd(id) > 1 a").orderBy("id"))
    asked.ask("filtered before", lambda: values.where("id % 2 = 1 and j_odd(id) > 0").select("id").orderBy("id"))
    asked.ask("a class that is not there", lambda: values.selectExpr("j_of_record(id)"))


def left_to_the_jvm(asked, many, added):
    """What must see all rows in their order, and once."""
    asked.ask("counted", lambda: many.where("id < 10").coalesce(1).selectExpr("id", "j_counted(id) c"))
    asked.ask("added", lambda: many.selectExpr("sum(j_adds(id)) s"))
    asked.answers["accumulator"] = added.value()


def main():
    result, all_of = sys.argv[1], sys.argv[2:] == ["all"]
    out = os.path.dirname(result)
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    of_jar = spark._jvm.probe.Functions
    of_jar.register(spark._jsparkSession)
    added = of_jar.registerShared(spark._jsparkSession)
    spark.sparkContext.setLocalProperty("probe.property", "known")
    at = os.path.join(out, "values")
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    spark.createDataFrame(VALUES, SCHEMA).coalesce(2).write.parquet(at)
    values = spark.read.parquet(at)
    values.createOrReplaceTempView("v")
    many = spark.range(0, 20_000, 1, 3).selectExpr("id", "concat('s', id % 100) s")
    asked, answers = Asked(), {}
    for ansi in ["true", "false"] if all_of else ["false"]:
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        asked.answers = {}
        functions(asked, spark, values)
        places(asked, spark, values, many)
        expressions(asked, values)
        faults(asked, values, many)
        left_to_the_jvm(asked, many, added)
        answers[f"ansi {ansi}"] = asked.answers
    answers["killed"] = killed(spark, lambda: spark.range(0, 100_000, 1, 2).selectExpr("sum(j_slow(id))"))
    asked.answers = {}
    asked.ask("after that", lambda: values.selectExpr("sum(j_twice(id))"))
    answers["after that"] = asked.answers
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}}, file, indent=1, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
