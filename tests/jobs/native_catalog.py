"""Functions of shared libraries by their names in SQL, from modules of Python or from the driver's jar: with the same rows.

usage: spark-submit native_catalog.py RESULT SCRATCH KIND BY. KIND is `right` for what no JVM is needed for, `delegated` for stages that a JVM runs, `wrong` for what fails, `missing` for a library that was not sent. BY is `python` or `jar`."""

import json
import sys

from pyspark.sql import SparkSession

from native_values import TEXTS, TYPES, WORDS, in_any_order, in_file, in_order, points


def scalars(spark, scratch, by):
    points(spark, scratch).createOrReplaceTempView("points")
    ask = lambda text: in_any_order(spark.sql(text))
    yield "by name", ask("select lat, lon, haversine(lat, lon, 48.8566D, 2.3522D) km from points where lat < 10 or lat is null or isnan(lat)")
    yield "decimals for doubles", ask("select haversine(48.8566, 2.3522, lat, lon), haversine(1.1, 2, -3.30, 123456789012345678.123) from points where lon > 100")
    yield "narrower types", ask("select haversine(cast(lat as float), cast(lon as int), 1Y, 2S), twice_1(cast(lat as int)), twice_1(cast(lat as tinyint)), twice_2(cast(lat as bigint)), twice_2(cast(lon as float)), twice(cast(lat as smallint)) from points where lat between -90 and 90 and lon between -180 and 180")
    yield "nulls", ask("select haversine(null, lat, lon, 1D), same_int(null), same_string(null) from points limit 7")
    yield "in conditions", ask("select lat, count(*), max(haversine(lat, lon, 0D, 0D)) from points where haversine(lat, lon, 0D, 0D) < 5000 group by lat having max(haversine(lat, 1D, 2D, 3D)) > 100")
    yield "of aggregates", ask("select word_count(concat('a ', cast(lat as int))) w, haversine(lat, 0D, 0D, 0D) h, count(*), sum(haversine(lat, lon, 1D, 1D)) from points where lat between -3 and 3 group by word_count(concat('a ', cast(lat as int))), haversine(lat, 0D, 0D, 0D)")
    yield "of windows", ask("select lat, lon, rank() over (partition by word_count(cast(cast(lat as int) as string)) order by haversine(lat, lon, 10D, 10D), lat, lon) from points where lat > 80 and lon > 0")
    yield "in an order", in_order(spark.sql("select lat, lon from points where lat is not null and lon is not null and not isnan(lat) order by haversine(lat, lon, 10D, 10D), lat, lon limit 50"))
    yield "in an order of all", in_order(spark.sql("select lat, lon from points where lat > 85 and lon is not null order by haversine(lat, lon, 10D, 10D), lat, lon"))
    yield "in a join", ask("select a.id, b.id, haversine(a.id, a.id, b.id, b.id) km from range(40) a join range(40) b on a.id % 7 = b.id % 5 and haversine(a.id, a.id, b.id, b.id) < 900")
    yield "in keys of a join", ask("select a.id, b.id from range(0, 40, 1, 2) a join range(0, 40, 1, 3) b on twice_1(a.id) = b.id")
    yield "by a function", ask("select count(*) from (select lat from points distribute by twice_2(lat))")
    yield "no rows", ask("select haversine(lat, lon, 1D, 2D), answer() from points where lat > 1e301")
    yield "of no arguments", ask("select answer() + id, answer() from range(0, 9, 1, 3)")
    yield "in branches", ask("select case when lat > 0 then haversine(lat, lon, 1D, 1D) when lat < -80 then twice_2(lat) end, coalesce(twice_2(lat), -1D), if(lat is null, answer(), 0) from points where lon > 150")
    yield "of constants", ask("select haversine(1D, 2D, 3D, 4D), word_count('a b'), answer(), reverse_words(null)")
    yield "of local tables", ask("select word_count(v), reverse_words(v), tokens(v) from values " + ", ".join(f"({value})" for value in TEXTS) + " t(v) union all select word_count(v), v, tokens(v) from values ('x y') t(v)")
    in_file(spark, scratch, "texts", "string", TEXTS).createOrReplaceTempView("texts")
    yield "in each other", ask("select id, reverse_words(reverse_words(v)), word_count(reverse_words(v)), haversine(twice_2(1D), haversine(1D, 2D, 3D, 4D) / 1000, 5D, 6D) from texts")
    # Functions of Python are not called in lambdas.
    lists = "transform(array(v, 'x y', null), w -> word_count(w))" if by == "jar" else "array(word_count(v), word_count('x y'), word_count(null))"
    yield "in a lambda", ask(f"select id, {lists} from texts")
    spark.udf.register("shouted", lambda value: value and value.upper())
    yield "beside Python", ask("select id, reverse_words(v) r, shouted(v) s, word_count(v) c, shouted(reverse_words(v)) rs, reverse_words(shouted(v)) sr from texts")
    cached = spark.sql("select lat, haversine(lat, lon, 1D, 2D) km from points").cache()
    yield "of a cached table", in_any_order(cached.where("km < 3000").selectExpr("km", "word_count(cast(cast(km as int) as string))"))


def types(spark, scratch, beside=""):
    """All types, with something in the same stage that may be none of the sql lane."""
    for of, values in TYPES.items():
        name = f"type_{of}"
        in_file(spark, scratch, name, WORDS.get(of, of), values).createOrReplaceTempView(name)
        for zone in ["UTC", "America/New_York"] if "timestamp" in of else ["UTC"]:
            spark.conf.set("spark.sql.session.timeZone", zone)
            same = "true" if of == "map" else f"v <=> same_{of}(v)"
            yield f"{of} in {zone}", in_any_order(spark.sql(f"select id{beside}, same_{of}(v) same, {same} from {name}"))
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def right(spark, scratch, by):
    yield from scalars(spark, scratch, by)
    yield from types(spark, scratch)


def delegated(spark, scratch, by):
    hexadecimal = ", reflect('java.lang.Long', 'toHexString', cast(id as bigint)) h"
    yield from types(spark, scratch, hexadecimal)
    points(spark, scratch).createOrReplaceTempView("points")
    yield "doubles", in_any_order(spark.sql("select reflect('java.lang.Double', 'toString', coalesce(lat, 0D)) t, haversine(lat, lon, 1D, 2.5), twice_2(lat), answer() from points where lat < 10 or lat is null or isnan(lat)"))
    in_file(spark, scratch, "texts", "string", TEXTS).createOrReplaceTempView("texts")
    yield "texts", in_any_order(spark.sql(f"select word_count(v), reverse_words(v), tokens(v), word_count(reverse_words(v)){hexadecimal} from texts"))
    yield "groups", in_any_order(spark.sql("select reflect('java.lang.Double', 'toString', coalesce(lat, 0D)) t, max(haversine(lat, lon, 0D, 0D)) from points where haversine(lat, lon, 0D, 0D) < 5000 group by lat"))


def wrong(spark, scratch, by):
    """What is said of what fails: by the jar only, as Python has words of its own."""
    in_file(spark, scratch, "numbers", "int", ["1", "-1", "null"]).createOrReplaceTempView("numbers")
    yield "and then", in_any_order(spark.sql("select no_negatives(abs(v)) from numbers"))
    if by != "jar":
        return
    tries = {
        "a value": "select no_negatives(v) from numbers",
        "a value, delegated": "select no_negatives(v), reflect('java.lang.Long', 'toHexString', cast(id as bigint)) from numbers",
        "a value of the driver": "select no_negatives(-1)",
        "a type": "select same_int('x') from numbers",
        "a type of three": "select twice('x') from numbers",
        "a type of the fourth": "select haversine(1D, 2D, 3D, '4') from numbers",
        "arguments": "select same_int(v, v) from numbers",
        "a name": "select same_int(x => v) from numbers",
        "a column": "select same_int(nothing) from numbers",
        "an aggregate": "select sum_of(v) from numbers",
    }
    for name, text in tries.items():
        try:
            yield f"said of {name}", repr(spark.sql(text).collect())
        except Exception as error:
            yield f"said of {name}", [type(error).__name__, str(error)]
    yield "said of overloads", repr(spark.sql("select typeof(twice(1Y)), typeof(twice(1)), typeof(twice(1L)), typeof(twice(1.5)), typeof(twice_2(1))").collect())
    yield "said of a description", spark.sql("describe function haversine").collect()[-1][0]
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    yield "said of a task", spark.sql("select task_of()").collect()[0][0]
    yield "said of counting", [row[0] for row in spark.sql("select counter() from range(0, 4, 1, 1)").collect()]


def missing(spark, scratch, by):
    in_file(spark, scratch, "numbers", "int", ["1", "-1", "null"]).createOrReplaceTempView("numbers")
    try:
        yield "said of a library", repr(spark.sql("select same_int(v) from numbers").collect())
    except Exception as error:
        yield "said of a library", [type(error).__name__, str(error)]


def main():
    result, scratch, kind, by = sys.argv[1:5]
    builder = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.ansi.enabled", "false").config("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED").config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "3").getOrCreate()
    if by == "python":
        import firesteel_everything as everything
        import firesteel_geo as geo
        import firesteel_text as text

        for module in [geo, text, everything]:
            module.register(spark)
    answers = dict({"right": right, "delegated": delegated, "wrong": wrong, "missing": missing}[kind](spark, scratch, by))
    said = {name: answers.pop(name) for name in list(answers) if name.startswith("said of ")}
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "said": said}, file, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
