"""Typed data sets: functions in Java on objects of all types, on partitions and groups, in stages whose other operators are native; what fails, what is killed, accumulators.

usage: spark-submit sql_objects.py RESULT [all]"""

import datetime
import decimal
import json
import math
import os
import sys

from asking import Asked, killed
from pyspark.sql import DataFrame, SparkSession

VALUES = [
    (0, 1, 2, True, 1.5, 0.5, "a", b"\x00\xff\x01", decimal.Decimal("1.500000000000000000"), datetime.date(2024, 2, 29), datetime.datetime(2024, 7, 1, 12, 30, 45, 123456), [1, None, 3], {"a": 1.5, "b": None}, (1, "p")),
    (1, -128, -32768, False, -0.0, math.nan, "", b"", decimal.Decimal("-12345678901234567890.123456789012345678"), datetime.date(1900, 1, 3), datetime.datetime(1970, 1, 1), [], {}, (-2, "")),
    (2, None, None, None, None, None, None, None, None, None, None, None, None, (0, None)),
    (3, 127, 32767, True, math.inf, -math.inf, "ä𝄞\n", b"x" * 300, decimal.Decimal("0E-18"), datetime.date(9999, 12, 30), datetime.datetime(2199, 12, 31, 23, 59, 59, 999999), list(range(300)), {"": -0.0}, (7, "ä𝄞")),
    (4, 0, 0, False, math.nan, 1e-45, "x" * 500, b"abc", decimal.Decimal("99999999999999999999.999999999999999999"), datetime.date(1969, 12, 31), datetime.datetime(2024, 3, 10, 7, 0), [None], {"k": math.nan}, (9, "q")),
]  # fmt: skip
SCHEMA = "id long, b byte, h short, t boolean, x double, f float, s string, bin binary, d decimal(38,18), day date, moment timestamp, a array<int>, m map<string,double>, part struct<n:int,text:string>"
ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"]


# What depends on the time zone.
OF_ZONES = ["beans", "rows", "dates", "instants"]
# What is much like something else: asked for if all is.
ALIKE = ["parts of beans", "texts of beans", "ints", "shorts", "bytes", "floats", "binaries", "java objects", "windows", "sorted", "distinct", "in one task", "limited", "counted groups", "below a broadcast"]


def ask(asked, spark, sets, names=None):
    """Asks for sets, all or some, in an order that is no matter of theirs."""
    for name in names or sets.keySet().toArray():
        asked.ask(name, lambda: DataFrame(sets.get(name).toDF(), spark))
        if isinstance(asked.answers[name], list):
            asked.answers[name].sort(key=str)


def main():
    result, all_of = sys.argv[1], sys.argv[2:] == ["all"]
    out = os.path.dirname(result)
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    of_jar = spark._jvm.probe.Typed
    added = of_jar.register(spark._jsparkSession)
    spark.sparkContext.setLocalProperty("probe.property", "known")
    at = os.path.join(out, "values")
    spark.createDataFrame(VALUES, SCHEMA).coalesce(2).write.parquet(at)
    values = spark.read.parquet(at)
    many = spark.range(0, 20_000, 1, 3).selectExpr("id", "concat('s', id % 100) s")
    answers = {}
    for zone in ZONES:
        spark.conf.set("spark.sql.session.timeZone", zone)
        asked = Asked()
        sets = of_jar.all(spark._jsparkSession, values._jdf, many._jdf, added)
        names = OF_ZONES if zone != "UTC" else [name for name in sets.keySet().toArray() if name not in ALIKE]
        ask(asked, spark, sets, None if all_of else names)
        answers[zone] = asked.answers
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    asked = Asked()
    ask(asked, spark, of_jar.faults(spark._jsparkSession, values._jdf, many._jdf, added))
    answers["faults"] = asked.answers
    asked = Asked()
    sums = {}
    sets = of_jar.adding(spark._jsparkSession, values._jdf, many._jdf, added)
    for name in sets.keySet().toArray():
        asked.ask(name, lambda: DataFrame(sets.get(name).toDF(), spark))
        sums[name] = added.value()
    answers["adding"] = asked.answers
    answers["accumulator"] = sums
    answers["killed"] = killed(spark, lambda: DataFrame(of_jar.slow(many._jdf).toDF(), spark).groupBy().sum())
    asked = Asked()
    asked.ask("after that", lambda: DataFrame(of_jar.all(spark._jsparkSession, values._jdf, many._jdf, added).get("deep").toDF(), spark))
    answers["after that"] = asked.answers
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}}, file, indent=1, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
