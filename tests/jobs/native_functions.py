"""Functions of shared libraries in queries: by their names in SQL and as columns, of every type, in every place, and with every mistake.

usage: spark-submit native_functions.py RESULT SCRATCH KIND. KIND is `right` for what no JVM is needed for, `wrong` for calls that fail."""

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import firesteel_everything as everything
import firesteel_geo as geo
import firesteel_lines as lines
import firesteel_text as text
from native_values import TEXTS, TYPES, WORDS, cell, in_any_order, in_file, in_order, points
from support import mask


def scalars(spark, scratch):
    frame = points(spark, scratch)
    frame.createOrReplaceTempView("points")
    yield "by name", in_any_order(spark.sql("select lat, lon, haversine(lat, lon, 48.8566D, 2.3522D) km from points where lat < 10 or lat is null or isnan(lat)"))
    yield "as a column", in_any_order(frame.select(geo.haversine("lat", "lon", F.lit(0.0), F.lit(0.0)).alias("km"), geo.haversine_miles("lat", "lon", "lon", "lat")).limit(5000))
    yield "decimals for doubles", in_any_order(spark.sql("select haversine(48.8566, 2.3522, lat, lon), haversine(1.1, 2, -3.30, 123456789012345678.123) from points where lon > 100"))
    yield "narrower types", in_any_order(spark.sql("select haversine(cast(lat as float), cast(lon as int), 1Y, 2S), twice_1(cast(lat as int)), twice_1(cast(lat as tinyint)), twice_2(cast(lat as bigint)), twice_2(cast(lon as float)) from points where lat between -90 and 90 and lon between -180 and 180"))
    yield "nulls", in_any_order(spark.sql("select haversine(null, lat, lon, 1D), same_int(null), same_string(null) from points limit 7"))
    yield "in conditions", in_any_order(spark.sql("select lat, count(*), max(haversine(lat, lon, 0D, 0D)) from points where haversine(lat, lon, 0D, 0D) < 5000 group by lat having max(haversine(lat, 1D, 2D, 3D)) > 100"))
    yield "in an order", in_order(spark.sql("select lat, lon from points where lat is not null and lon is not null and not isnan(lat) order by haversine(lat, lon, 10D, 10D), lat, lon limit 50"))
    yield "in a join", in_any_order(spark.sql("select a.id, b.id, haversine(a.id, a.id, b.id, b.id) km from range(40) a join range(40) b on a.id % 7 = b.id % 5 and haversine(a.id, a.id, b.id, b.id) < 900"))
    yield "no rows", in_any_order(spark.sql("select haversine(lat, lon, 1D, 2D), answer() from points where lat > 1e301"))
    yield "of no arguments", in_any_order(spark.sql("select answer() + id, answer() from range(0, 9, 1, 3)"))
    yield "of local tables", in_any_order(spark.sql("select word_count(v), reverse_words(v), tokens(v) from values " + ", ".join(f"({value})" for value in TEXTS) + " t(v) union all select word_count(v), v, tokens(v) from values ('x y') t(v)"))
    yield "in each other", in_any_order(spark.sql("select reverse_words(reverse_words(v)), word_count(reverse_words(v)), haversine(twice_2(1D), haversine(1D, 2D, 3D, 4D) / 1000, 5D, 6D) from values ('a b c'), (null), ('') t(v)"))
    shouted = F.udf(lambda value: value and value.upper(), "string")
    beside = in_file(spark, scratch, "beside", "string", TEXTS).select("id", text.reverse_words("v").alias("r"), shouted("v").alias("s"), text.word_count("v").alias("c"), shouted(text.reverse_words("v")).alias("rs"), text.reverse_words(shouted("v")).alias("sr"))
    yield "beside Python", in_any_order(beside)
    cached = frame.select("lat", geo.haversine("lat", "lon", F.lit(1.0), F.lit(2.0)).alias("km")).cache()
    yield "of a cached table", in_any_order(cached.where("km < 3000").select("km", text.word_count(F.col("km").cast("string"))))
    yield "above a shuffle", in_any_order(frame.repartition(3, "lat").select(geo.haversine("lat", "lon", "lon", "lat")).groupBy().count())


def types(spark, scratch):
    for of, values in TYPES.items():
        frame = in_file(spark, scratch, f"type-{of}", WORDS.get(of, of), values)
        for zone in ["UTC", "America/New_York"] if "timestamp" in of else ["UTC"]:
            spark.conf.set("spark.sql.session.timeZone", zone)
            function = getattr(everything, f"same_{of}")
            yield f"{of} in {zone}", in_any_order(frame.select("id", function("v").alias("same"), F.col("v").eqNullSafe(function("v")) if of != "map" else F.lit(True)))
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    yield "task", in_any_order(spark.sql("select task_of() from range(0, 8, 1, 2)").selectExpr(r"regexp_replace(`task_of()`, 'stage=\\d+|id=\\d+', '')"))
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def partitions(spark, scratch):
    path = os.path.join(scratch, "pairs")
    spark.range(0, 2000, 1, 2).selectExpr("case when id % 50 = 0 then '' else concat('k', id, '=', id * id, ';x=', repeat('y', id % 9)) end value").write.mode("overwrite").text(path)
    frame = spark.read.text(path)
    yield "lines", in_any_order(lines.parse_pairs(frame))
    yield "columns of rows", in_any_order(lines.parse_pairs(frame).groupBy("key").agg(F.count("*"), F.max("line")))
    yield "a limit", len(lines.parse_pairs(frame).limit(7).collect())
    yield "partitions without rows", in_any_order(lines.parse_pairs(frame.where("value = 'x=1'").repartition(3)))
    some = spark.range(0, 10, 1, 3).selectExpr("id", "case when id % 3 > 0 then concat('v', id) end value")
    yield "the same rows", in_any_order(everything.pass_through(some))


def groups(spark, scratch):
    frame = spark.range(0, 5000, 1, 3).selectExpr("id", "id % 37 k", "case when id % 5 = 0 then null else id * 1000003 end v", "case when id % 7 > 0 then repeat(cast(id as string), cast(id % 4 as int)) end s", "case when id % 3 = 0 then cast('NaN' as double) when id % 3 = 1 then -0.0D end d")
    path = os.path.join(scratch, "groups")
    frame.write.mode("overwrite").parquet(path)
    frame = spark.read.parquet(path)
    frame.createOrReplaceTempView("grouped")
    yield "groups", in_any_order(spark.sql("select k, sum_of(v), longest(s) from grouped group by k"))
    yield "one group", in_any_order(spark.sql("select sum_of(v), longest(s) from grouped"))
    yield "groups of one row", in_any_order(spark.sql("select id, sum_of(v), longest(s) from grouped group by id"))
    yield "groups of odd keys", in_any_order(spark.sql("select d, id % 2, sum_of(k) + 1 from grouped group by d, id % 2"))
    yield "groups of no rows", in_any_order(spark.sql("select k, sum_of(v) from grouped where id < 0 group by k"))
    yield "nothing", in_any_order(spark.sql("select sum_of(v), longest(s) from grouped where id < 0"))
    yield "narrow sums", in_any_order(frame.groupBy(F.col("k") % 3).agg(everything.sum_of(F.col("k").cast("int")), everything.sum_of(F.lit(None))))


def tables(spark, scratch):
    yield "a table", in_any_order(spark.sql("select * from sequence_of(5)"))
    yield "tables of rows", in_any_order(spark.sql("select id, n from range(4), lateral sequence_of(id)"))


def right(spark, scratch):
    for theme in [scalars, types, partitions, *([groups] if spark.version >= "4.1" else [])]:
        yield from theme(spark, scratch)


def beside_a_jvm(spark):
    """A library that is loaded when there is a JVM already, which knows by signals that something is null."""
    yield "a JVM", in_any_order(spark.sql("select id, reflect('java.lang.Long', 'toHexString', id) h from range(0, 6, 1, 2)"))
    yield "a library", in_any_order(spark.sql("select haversine(id, id, 1D, 2D) from range(0, 6, 1, 2)"))
    for _ in range(3):
        try:
            yield "null", cell(spark.sql("select reflect('java.net.URLDecoder', 'decode', cast(null as string)) from range(0, 6, 1, 2)").collect())
        except Exception as error:
            yield "null", ["NullPointerException" in str(error), type(error).__name__]
    yield "and both", in_any_order(spark.sql("select reflect('java.lang.Long', 'toHexString', id) h, haversine(id, id, 3D, 4D) from range(0, 6, 1, 2)"))


def wrong(spark, scratch):
    yield from beside_a_jvm(spark)
    frame = spark.range(0, 10, 1, 2).selectExpr("id", "cast(id - 4 as int) v", "cast(id as string) s")
    tries = {
        "a value": lambda: frame.select(everything.no_negatives("v")).collect(),
        "a type": lambda: frame.select(everything.same_int("s")).collect(),
        "arguments": lambda: frame.select(everything.same_int("v", "v")).collect(),
        "columns": lambda: lines.parse_pairs(frame).collect(),
    }
    for name, call in tries.items():
        try:
            yield name, cell(call())
        except Exception as error:
            told = mask(str(error)).splitlines()
            # Of the traceback, what the library has said.
            yield name, [type(error).__name__, [line for line in told if "Native function" in line or "ative function" in line][:1]]
    yield "and then", in_any_order(frame.select(everything.no_negatives(F.abs("v"))))
    yield from tables(spark, scratch)


def main():
    result, scratch, kind = sys.argv[1:4]
    builder = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.ansi.enabled", "false").config("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED").config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "3").getOrCreate()
    for module in [geo, text, lines, everything]:
        module.register(spark)
    answers = dict((right if kind == "right" else wrong)(spark, scratch))
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}}, file, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
