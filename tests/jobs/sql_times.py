"""Times of a day on both sides: in every operator, every cast and function, from and to Parquet, in several time zones and modes.

usage: spark-submit sql_times.py OUT RESULT [more], of which `more` is every mode in every time zone. Tables come to OUT."""

import json
import os
import re
import sys

from pyspark.sql import SparkSession
from sql_random import counters
from sql_windows import text

# What is a time to some version and what is none.
TEXTS = [
    "00:00", "23:59:59.999999", "23:59:59.999999999", "1:2", "01:02:03", "12:34:56.7", "T12", "T1:2:3.4", " 12:00 ", "12:00:00.", "12:00:00.1234567891", "12:00 AM", "12:00pm", "1:30 Pm", "11:59:59.5  PM", "00:00:00.000000001",
    "", " ", "24:00", "12:60", "12:00:60", "12", "1:", ":1", "1:2:", "001:02", "-1:02", "+1:02", "T", " T1", "12:00:00Z", "12:00:00+01:00", "12:00:00 Europe/Paris", "12:00:00.5x", "2020-01-01 12:00:00", "2020-01-01", "13:00 AM", "0:00 PM", "PM", "12:00 XM", "12:00M",
    "x", "１２:00", "12:00\\n", "12:00 AM\\n", "1:2:3:4", "12:00:00.5.5", "12.30", "9:9:9 am",
]
GOOD = 16
PLAIN = ["00:00", "00:00:00", "23:59:59.999999", "01:02:03", "12:34:56.7", "1:2", "T1:2:3.4", "12:00 AM", "12:00:00.123", " 5:06 pm"]
CLOCKS = ["12:34:56", "00:00:00", "23:59:59", "07:08:09"]

BASE = """
    CASE WHEN id % 11 = 0 THEN NULL WHEN id % 13 = 0 THEN TIME'00:00' WHEN id % 17 = 0 THEN TIME'23:59:59.999999' WHEN id % 19 = 0 THEN TIME'12:00:00.5' ELSE make_time(CAST(id * 7 % 24 AS int), CAST(id * 13 % 60 AS int), CAST(id * 7919 % 60000000 * 0.000001 AS decimal(16,6))) END"""
OTHER = """
    CASE WHEN id % 23 = 0 THEN NULL WHEN id % 7 = 0 THEN TIME'23:59:59.999999' WHEN id % 29 = 0 THEN TIME'00:00:00.000001' ELSE make_time(CAST(id * 5 % 24 AS int), CAST(id * 17 % 60 AS int), CAST(id % 60 AS decimal(16,6))) END"""


def array(texts):
    return "array(" + ", ".join(f"'{of}'" for of in texts) + ")"


def columns(nanos):
    """Those of the table that all is asked of."""
    found = {
        "id": "CAST(id AS int)", "t6": BASE, "u6": OTHER, "t3": f"CAST({BASE} AS time(3))", "t0": f"CAST({BASE} AS time(0))", "few": "IF(id % 6 = 0, NULL, CAST(make_time(CAST(id % 5 AS int), 0, 0) AS time(0)))",
        "s": f"element_at({array(PLAIN)}, CAST(id % {len(PLAIN)} AS int) + 1)", "clock": f"element_at({array(CLOCKS)}, CAST(id % {len(CLOCKS)} AS int) + 1)", "odd": f"element_at({array(TEXTS)}, CAST(id % {len(TEXTS)} AS int) + 1)",
        "h": "CAST(id % 24 AS int)", "mi": "CAST(id * 3 % 60 AS int)", "sec": "CAST(id * 13 % 600 * 0.1 AS decimal(16,6))", "ts": "timestamp_micros(id * 5003399999977 - 900000000000000)", "ntz": "CAST(timestamp_micros(id * 5003399999977 - 900000000000000) AS timestamp_ntz)",
        "dt": "date_add(DATE'1969-12-30', CAST(id * 37 AS int))", "iv": "IF(id % 31 = 0, NULL, make_dt_interval(0, 0, CAST(id % 49 - 24 AS int), CAST(id * 7 % 600 * 0.1 AS decimal(18,6))))", "n": "id * 1009 % 86400",
    }
    if nanos:
        found["t9"] = "IF(id % 11 = 0, NULL, CAST(concat(lpad(CAST(id * 7 % 24 AS string), 2, '0'), ':', lpad(CAST(id * 13 % 60 AS string), 2, '0'), ':', lpad(CAST(id % 60 AS string), 2, '0'), '.', lpad(CAST(id * 104729 * 7919 % 1000000000 AS string), 9, '0')) AS time(9)))"
    return found


def times(nanos):
    return ["t6", "t3", "t0"] + (["t9"] if nanos else [])


def functions(version):
    nanos, newer = version >= (4, 3), version >= (4, 2)
    found = [f"{function}({of})" for of in times(nanos) for function in ("hour", "minute", "second", "hash", "xxhash64", "string", "typeof")]
    found += [f"extract({unit} FROM {of})" for of in times(nanos) for unit in ("HOUR", "MINUTE", "SECOND")]
    found += [f"{of} {op} {other}" for of, other in (("t6", "u6"), ("t3", "u6"), ("t0", "t3"), ("t6", "TIME'12:00:00.5'")) for op in ("=", "<", ">=", "<=>")]
    found += [f"time_diff('{unit}', t6, u6)" for unit in ("HOUR", "minute", "Second", "MILLISECOND", "MICROSECOND")] + ["time_diff('HOUR', t3, t0)", "time_diff('HOUR', NULL, t3)"]
    found += [f"time_trunc('{unit}', {of})" for of in ("t6", "t3") for unit in ("HOUR", "minute", "Second", "MILLISECOND", "MICROSECOND")]
    found += ["t6 - u6", "u6 - t3", "t0 - t6", "t6 - TIME'12:00'", "string(t6 - u6)", "make_time(h, mi, sec)", "make_time(h, 5, 59.999999)", "make_time(NULL, 5, 1)"]
    found += ["IF(t6 < TIME'11:00', t6 + INTERVAL '12:30' HOUR TO MINUTE, t6)", "IF(hour(t6) BETWEEN 2 AND 20, t6 + iv, NULL)", "IF(hour(t3) BETWEEN 2 AND 20, t3 - iv, NULL)", "IF(hour(t0) BETWEEN 2 AND 20, t0 + INTERVAL '1' HOUR, t0)", "IF(hour(t0) BETWEEN 2 AND 20, t0 + INTERVAL '1.5' SECOND, t0)"]
    found += ["coalesce(t6, u6)", "coalesce(t0, t3, u6)", "greatest(t6, u6)", "least(t6, u6, TIME'12:00')", "nullif(t0, few)", "t6 IN (TIME'00:00', TIME'23:59:59.999999', NULL)", "few IN (TIME'01:00', TIME'02:00', TIME'03:00', TIME'04:00', TIME'05:00', TIME'06:00', TIME'07:00', TIME'08:00', TIME'09:00', TIME'10:00', TIME'11:00', TIME'12:00')", "t6 BETWEEN TIME'06:00' AND TIME'18:00'", "CASE WHEN t6 > u6 THEN t6 WHEN t3 IS NULL THEN TIME'00:00' END"]
    found += ["array(t6, u6)", "sort_array(array(t6, u6, TIME'12:00'))", "array_contains(array(t6, u6), TIME'00:00')", "array_max(array(t6, u6))", "array_distinct(array(t6, u6, t6))", "map(id, t6)", "struct(t6, t3)", "struct(t6, id) < struct(u6, id)", "array_join(array(string(t6), string(u6)), '|')", "string(array(t6, u6))", "string(struct(t3, t0))", "transform(array(t0, few), x -> hour(x))", "array_union(array(t6), array(u6))", "element_at(map('a', t6), 'a')"]
    found += ["to_time(clock, 'HH:mm:ss')", "to_time(s)", "try_to_time(odd)", "to_time(concat(h, '.', mi), 'H.m')", "try_to_time(s)", "to_time('12:30 PM', 'hh:mm a')", "to_time(concat('07:08:09.', lpad(CAST(id AS string), 6, '0')), 'HH:mm:ss.SSSSSS')"]
    found += ["make_timestamp_ntz(dt, t6)", "make_timestamp_ntz(dt, t0)"]
    if newer:
        found += [f"time_to_{unit}({of})" for unit in ("seconds", "millis", "micros") for of in ("t6", "t3")]
        found += ["time_from_seconds(n)", "time_from_seconds(CAST(n AS int))", "time_from_seconds(h)", "time_from_seconds(CAST(h AS tinyint))", "time_from_seconds(sec)", "time_from_seconds(CAST(n AS decimal(9,2)))", "time_from_seconds(n + 0.25D)", "time_from_seconds(CAST(n AS float))", "time_from_millis(n * 7)", "time_from_micros(n * 1009)", "time_from_millis(h)"]
    if nanos:
        found += [f"date_format({of}, '{pattern}')" for of in ("t6", "t9") for pattern in ("HH:mm:ss.SSS", "h:m a", "K.k.s", "SSSSSS")] + ["hour(CAST(t6 AS timestamp_ntz))", "minute(CAST(t0 AS timestamp_ntz))"]
        found += ["t9 - t6", "t9 < t6", "time_trunc('MICROSECOND', t9)", "time_diff('MICROSECOND', t9, t6)", "time_to_seconds(t9)", "time_to_micros(t9)", "IF(hour(t9) < 20, t9 + INTERVAL '1.000001' SECOND, NULL)", "make_timestamp_ntz(dt, t9)", "TIME'12:00:00.123456789' > t9"]
    return found


def buckets():
    """Of Spark 4.2 and later."""
    lengths = ["INTERVAL '15' MINUTE", "INTERVAL '7:30:00.5' HOUR TO SECOND", "INTERVAL '1' DAY", "INTERVAL '3 05' DAY TO HOUR", "INTERVAL '1' MONTH", "INTERVAL '7' MONTH", "INTERVAL '2' YEAR"]
    found = [f"time_bucket({length}, {of})" for length in lengths for of in ("ts", "ntz")]
    return found + [f"time_bucket({length}, ts, TIMESTAMP'2024-01-31 02:30:00')" for length in lengths] + [f"time_bucket({length}, ntz, TIMESTAMP_NTZ'2023-03-31 02:30:00')" for length in lengths]


def casts(version):
    nanos = version >= (4, 3)
    found = []
    for mode in ("CAST", "TRY_CAST"):
        found += [f"{mode}({of} AS {to})" for of in times(nanos) for to in ["string", "time(0)", "time(2)", "time(6)", "bigint", "int", "decimal(14,9)", "decimal(10,3)", "decimal(5,0)"] + (["time(9)", "time(7)"] if nanos else [])]
        found += [f"{mode}(s AS time({precision}))" for precision in ([0, 1, 3, 5, 6, 7, 9] if nanos else [6])]
        if nanos:
            found += [f"{mode}({of} AS time({precision}))" for of in ("ts", "ntz") for precision in (0, 3, 6, 9)]
    found += ["CAST(array(s, clock) AS array<time(6)>)", "CAST(struct(t6, t3) AS struct<a: time(3), b: time(0)>)", "CAST(array(t6, u6) AS array<string>)", "TRY_CAST(odd AS time(6))"]
    found += [f"TRY_CAST(CAST(make_time(0, CAST(id % 10 AS int), 3) AS time(0)) AS {of})" for of in ("tinyint", "smallint")] + ["TRY_CAST(t6 AS decimal(3,1))"]
    return found


# What fails or is null, by the mode, and is left to Spark where it fails.
FAILING = ["CAST(odd AS time(6))", "CAST(t6 AS tinyint)", "CAST(t6 AS decimal(3,1))", "to_time(odd)", "t6 + INTERVAL '23' HOUR", "make_time(h + 1, mi, sec)", "make_time(h, mi, sec + 1)", "try_to_time(odd, 'HH:mm:ss')", "to_time(clock, 'HH:mm')", "time_trunc('DAY', t6)", "time_diff('DAYS', t6, u6)"]
NEWER_FAILING = ["time_from_seconds(n + 1000)", "time_from_seconds(-n)", "time_from_millis(n * 86400000000000)", "time_from_seconds(CAST(0.0000000001 AS decimal(11,10)))", "time_from_seconds(double('NaN'))"]

AGGREGATES = ["count(t6)", "count(DISTINCT t3)", "min(t6)", "max(t6)", "min(t0)", "max(t3)", "min(struct(t6, id))", "max_by(t6, id)", "min_by(id, struct(t6, id))", "approx_count_distinct(t6)", "sort_array(collect_list(t3))", "sort_array(collect_set(t0))", "count_if(t6 < u6)", "bool_or(t6 = u6)", "max(t6) FILTER (WHERE id % 3 = 0)", "sum(time_diff('MILLISECOND', t0, t6))", "max(array(t6, u6))"]
ORDERED = ["first(t6)", "last(t6, true)", "collect_list(t6)", "collect_set(few)", "mode(few)", "collect_set(t6)"]
OVER = ["min(t6)", "max(t3)", "first_value(t6)", "last_value(u6)", "nth_value(t6, 2)", "count(t6)", "collect_list(t0)"]
NEIGHBOURS = ["lag(t6)", "lead(t6, 2, TIME'00:00')", "lag(t3) IGNORE NULLS"]
FRAMES = ["PARTITION BY few ORDER BY id", "PARTITION BY id % 7 ORDER BY t6 NULLS LAST, id", "PARTITION BY few ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING"]
JOINS = ["", "/*+ BROADCAST(b) */", "/*+ MERGE(b) */", "/*+ SHUFFLE_HASH(b) */"]


def has_time(of):
    return "time(" in re.sub(r"\w*timestamp\w*", "", of.simpleString())


def shown(frame):
    """Columns that PySpark has values of: of times their texts."""
    fields = frame.schema.fields
    return frame.selectExpr(*[f"string(`{field.name}`) AS `{field.name}`" if has_time(field.dataType) else f"`{field.name}`" for field in fields])


def lines(frame):
    return [json.dumps([text(value) for value in row]) for row in shown(frame).collect()]


def error_class(error):
    """Such as DIVIDE_BY_ZERO."""
    found = re.search(r"\[([A-Z_.]+)\]", str(error))
    return found[1] if found else type(error).__name__


def asked(data, expressions):
    """The rows of each expression; or the class of the error, where one fails."""
    allowed, found = [], {}
    for expression in expressions:
        try:
            data.selectExpr(expression)
            allowed.append(expression)
        except Exception as error:
            found[expression] = f"refused {error_class(error)}"
    try:
        rows = shown(data.selectExpr(*[f"{e} AS c{place}" for place, e in enumerate(allowed)])).collect()
        found |= {expression: [text(row[place]) for row in rows] for place, expression in enumerate(allowed)}
    except Exception:
        for expression in allowed:
            try:
                found[expression] = [text(row[0]) for row in shown(data.selectExpr(f"{expression} AS c")).collect()]
            except Exception as error:
                found[expression] = f"error {error_class(error)}"
    return found


def operators(spark, data, answers):
    """Groups, windows, joins, orders, exchanges and sets."""
    data.createOrReplaceTempView("a")
    data.where("id % 3 < 2").createOrReplaceTempView("b")
    for key in (None, "few", "t3", "t6, few"):
        keys, by = (f"{key}, ", f" GROUP BY {key}") if key else ("", "")
        answers[f"groups by {key}"] = sorted(lines(spark.sql(f"SELECT {keys}{', '.join(f'{of} AS c{place}' for place, of in enumerate(AGGREGATES))} FROM a{by}")))
    data.coalesce(1).sortWithinPartitions("id").createOrReplaceTempView("one")
    for key in (None, "few"):
        keys, by = (f"{key}, ", f" GROUP BY {key}") if key else ("", "")
        answers[f"ordered by {key}"] = sorted(lines(spark.sql(f"SELECT {keys}{', '.join(f'{of} AS c{place}' for place, of in enumerate(ORDERED))} FROM one{by}")))
    for frame in FRAMES:
        over = OVER + ([] if "ROWS" in frame else NEIGHBOURS)
        answers[f"windows {frame}"] = sorted(lines(spark.sql(f"SELECT id, {', '.join(f'{of} OVER ({frame}) AS c{place}' for place, of in enumerate(over))} FROM a")))
    for ranks in ("t6", "few DESC"):
        answers[f"ranks by {ranks}"] = sorted(lines(spark.sql(f"SELECT id, rank() OVER (ORDER BY {ranks}) r, dense_rank() OVER (PARTITION BY id % 5 ORDER BY {ranks}) d FROM a")))
    for hint in JOINS:
        for kind in ("JOIN", "LEFT JOIN", "FULL JOIN", "LEFT ANTI JOIN"):
            right = "" if "ANTI" in kind else ", b.id AS bid, b.t0 AS bt"
            answers[f"{hint} {kind}"] = sorted(lines(spark.sql(f"SELECT {hint} a.id, a.t6{right} FROM a {kind} b ON a.t6 = b.u6")))
    answers["joins by less"] = sorted(lines(spark.sql("SELECT a.id, b.id AS bid FROM a JOIN b ON a.t6 > b.u6 AND a.few = b.few WHERE a.id < 60 AND b.id < 60")))
    for order in ("t6, id", "t3 DESC NULLS FIRST, id DESC", "few NULLS LAST, u6 DESC, id"):
        answers[f"order by {order}"] = lines(spark.sql(f"SELECT id, t6, t3 FROM a ORDER BY {order}"))
        answers[f"first by {order}"] = lines(spark.sql(f"SELECT id, t6, t3 FROM a ORDER BY {order} LIMIT 9"))
    answers["by range"] = sorted(lines(data.repartitionByRange(4, "t6").selectExpr("t6", "id").sortWithinPartitions("t6", "id")))
    answers["by hash"] = sorted(lines(data.repartition(5, "t6", "t0").selectExpr("spark_partition_id() p", "t6", "id", "array(t6, u6) x", "struct(t3, id) y", "map(id, t0) z")))
    answers["distinct"] = sorted(lines(spark.sql("SELECT DISTINCT few, t0 FROM a")))
    answers["union"] = sorted(lines(spark.sql("SELECT few FROM a UNION SELECT t0 FROM b")))
    answers["except"] = sorted(lines(spark.sql("SELECT t0 FROM a EXCEPT SELECT few FROM b")))
    answers["subquery"] = lines(spark.sql("SELECT id, t6 FROM a WHERE t6 = (SELECT max(t6) FROM b) ORDER BY id")) + lines(spark.sql("SELECT id FROM a WHERE t3 IN (SELECT t3 FROM b WHERE id < 50) ORDER BY id"))
    answers["exploded"] = lines(spark.sql("SELECT id, x FROM a LATERAL VIEW explode(array(t6, u6)) e AS x ORDER BY id, x"))
    answers["pivot"] = sorted(lines(spark.sql("SELECT * FROM (SELECT few, h % 3 AS g, id FROM a) PIVOT (sum(id) FOR few IN (TIME'01:00', TIME'02:00', NULL))")))
    cached = data.selectExpr("id", "t6", "t3", "array(t0) x").cache()
    answers["cached"] = sorted(lines(cached.where("t6 > TIME'06:00'"))) + lines(cached.selectExpr("count(t6) c", "max(t3) m"))
    cached.unpersist()


def files(spark, data, out, answers, nanos):
    """Parquet: values, nested ones, dictionaries, partitions, filters, other precisions."""
    path = lambda name: os.path.join(out, name)
    more = ["t9"] if nanos else []
    data.selectExpr("id", "t6", "t3", "t0", "few", *more, "array(t6, u6) x", "map(id, t3) y", "struct(t0, id) z").write.parquet(path("nested"))
    read = spark.read.parquet(path("nested"))
    answers["types of files"] = [read.schema.simpleString()]
    answers["files"] = sorted(lines(read))
    # Early versions compare times of one precision only.
    zero = lambda of: f"CAST(TIME'{of}' AS time(0))"
    for where in ("t6 > TIME'12:00'", "t3 = CAST(TIME'00:00' AS time(3))", f"few IN ({zero('01:00')}, {zero('02:00')})", "t6 IS NULL", f"z.t0 < {zero('06:00')}"):
        answers[f"files where {where}"] = sorted(lines(read.where(where).select("id", "t6")))
    answers["files with a schema"] = sorted(lines(spark.read.schema("id int, t6 time(6), t3 time(3), z struct<t0: time(0)>, missing time(6)").parquet(path("nested"))))
    data.selectExpr("id", "t6", "few").write.partitionBy("few").parquet(path("parts"))
    answers["partitions"] = sorted(name for name in os.listdir(path("parts")) if "=" in name)
    answers["partitions read"] = sorted(lines(spark.read.schema("id int, t6 time(6), few time(0)").parquet(path("parts")).selectExpr("id", "t6", "few", "hour(few) h")))
    answers["partitions where"] = sorted(lines(spark.read.schema("id int, t6 time(6), few time(0)").parquet(path("parts")).where(f"few > {zero('02:00')}").selectExpr("id", "t6", "few")))


def main(out, result, more):
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").config("spark.sql.timeType.enabled", "true").config("spark.sql.leafNodeDefaultParallelism", "2")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    nanos = version >= (4, 3)
    answers = {}
    made = spark.range(0, 400, 1, 3).selectExpr(*[f"{of} AS {name}" for name, of in columns(nanos).items()])
    made.write.parquet(os.path.join(out, "in"))
    data = spark.read.schema(made.schema).parquet(os.path.join(out, "in"))
    operators(spark, data, answers)
    files(spark, data, out, answers, nanos)
    zones = ["America/New_York", "UTC", "Asia/Kathmandu", "Australia/Lord_Howe"]
    failing = FAILING + (NEWER_FAILING if version >= (4, 2) else [])
    # Which file is read first is the writer's doing.
    ordered = data.coalesce(1).sortWithinPartitions("id")
    for mode in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", mode)
        for zone in zones if more else zones[:1]:
            spark.conf.set("spark.sql.session.timeZone", zone)
            about = f"ansi {mode} in {zone}"
            answers[f"functions, {about}"] = asked(ordered, functions(version))
            answers[f"casts, {about}"] = asked(ordered, casts(version))
            if version >= (4, 2):
                answers[f"buckets, {about}"] = asked(ordered, buckets())
        answers[f"failing, ansi {mode}"] = {of: found for one in failing for of, found in asked(ordered, [one]).items()}
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": counters(spark)}, file, indent=0, sort_keys=True)
    print(f"{len(answers)} answers")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["more"])
