"""Functions of Python over windows: which rows of which frames they are given, in which order, and what comes back.

usage: spark-submit sql_python_windows.py RESULT KIND. KIND is `native` for what is computed without a JVM, `left` for what is left to Spark, with functions that raise."""

import datetime
import decimal
import hashlib
import json
import sys

import pandas as pd
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from support import mask

# Types of functions are read by a session.
spark = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.session.timeZone", "America/Los_Angeles").config("spark.sql.adaptive.enabled", "false").config("spark.sql.shuffle.partitions", "3").getOrCreate()
FIRST, LAST, HERE = Window.unboundedPreceding, Window.unboundedFollowing, Window.currentRow


@F.pandas_udf("double")
def mean(values: pd.Series) -> float:
    return values.mean()


@F.pandas_udf("string")
def seen(values: pd.Series) -> str:
    """What a function can see: types, places in the partition, values in their order."""
    return f"{values.dtype} {list(values.index)} {[text(value) for value in values.tolist()]}"


@F.pandas_udf("string")
def two(values: pd.Series, others: pd.Series) -> str:
    return f"{values.tolist()} {others.tolist()} {others.dtype}"


@F.pandas_udf("bigint")
def total(values: pd.Series) -> int:
    return int(values.sum())


@F.pandas_udf("bigint")
def length(values: pd.Series) -> int:
    return len(values)


@F.pandas_udf("string")
def members(values: pd.Series) -> str:
    """Whatever the order of peers."""
    return str(sorted(values.tolist()))


def text(value):
    return value.hex() if isinstance(value, float) else [text(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def rows(frame):
    """In no order: which executor's rows come first is chance where nothing is sorted."""
    return sorted(([text(cell) for cell in row] for row in frame.collect()), key=str)


def digest(frame):
    return hashlib.sha256(json.dumps(rows(frame)).encode()).hexdigest()


def answer_or_error(compute):
    try:
        return compute()
    except Exception as error:  # noqa: BLE001: any is an answer
        lines = [line for line in mask(str(error)).split("\n") if "Error" in line]
        return [type(error).__name__, sorted(set(lines))[:6]]


def ordered(*order, by="k"):
    return Window.partitionBy(by).orderBy(*order)


# Frames by rows, and by ranges of an int.
ROWS = [(FIRST, HERE), (FIRST, LAST), (HERE, LAST), (-1, 1), (-2, -1), (1, 2), (FIRST, -2), (2, LAST), (0, 0), (3, 5), (-7, 2), (-1000, 1000), (5, LAST), (FIRST, 4)]
RANGES = [(FIRST, HERE), (HERE, LAST), (HERE, HERE), (-1, 1), (-3, -2), (2, 3), (FIRST, -1), (1, LAST), (-4, HERE), (HERE, 6)]


def frames(table):
    """All kinds of frames, many in one operator; the names say which."""
    by_rows = [seen("i").over(ordered("id").rowsBetween(*bounds)).alias(f"rows {bounds}") for bounds in ROWS]
    yield "rows", rows(table.select("id", *by_rows))
    for name, order in [("ascending", F.col("i")), ("descending", F.desc("i")), ("nulls last", F.asc_nulls_last("i")), ("nulls first", F.desc_nulls_first("i"))]:
        by_range = [members("id").over(ordered(order).rangeBetween(*bounds)).alias(f"range {bounds}") for bounds in RANGES]
        yield f"ranges, {name}", rows(table.select("id", "i", *by_range))
    yield "default", rows(table.select("id", seen("i").over(ordered("id")), members("id").over(Window.partitionBy("k"))))


def orders(table):
    """Keys of every type: where peers begin and end, with ranges by numbers where there are such."""
    for key in ["x", "f", "s", "d", "t", "b", "n"]:
        specs = [ordered(order) for order in [F.col(key), F.desc(key), F.asc_nulls_last(key)]]
        yield key, rows(table.select("id", key, *[members("id").over(spec) for spec in specs], *[members("id").over(spec.rangeBetween(HERE, HERE)) for spec in specs], *[length("id").over(spec.rangeBetween(HERE, LAST)) for spec in specs]))
    offsets = {"x": "1.5", "f": "0.25", "id": "3", "i": "2", "n": "1.50", "d": "4"}
    for key, offset in offsets.items():
        between = [f"over (partition by k order by {key}{way} range between {offset} preceding and {end})" for way in ["", " desc"] for end in [f"{offset} following", f"{float(offset) / 2 if '.' in offset else 1} preceding"]]
        yield f"range of {key}", rows(table.selectExpr("id", key, *[f"members_of(id) {frame}" for frame in between]))
    yield "several keys", rows(table.select("id", members("id").over(ordered("i", F.desc("s"))), seen("id").over(ordered("i", F.desc("s"), "id").rowsBetween(-1, 0))))


def results(table):
    """Results of many types, null ones too."""
    spec = ordered("id").rowsBetween(-1, 1)
    functions = {
        "double": lambda values: values.mean(),
        "float": lambda values: float(values.iloc[0]) if len(values) > 2 else None,
        "bigint": lambda values: int(values.sum()),
        "int": lambda values: int(values.max()) % 1000,
        "boolean": lambda values: bool(len(values) % 2),
        "string": lambda values: None if len(values) == 2 else "ä" * len(values),
        "decimal(20,3)": lambda values: decimal.Decimal(int(values.sum())) / 8,
        "date": lambda values: datetime.date(2020, 1, 1 + int(values.iloc[0]) % 28),
        "timestamp": lambda values: datetime.datetime(2020, 3, 8, 1, 59, int(values.min()) % 60),
        "array<bigint>": lambda values: [int(value) for value in sorted(values)],
        "array<double>": lambda values: None if len(values) < 3 else [1.5, float("nan")],
    }
    called = {of: F.pandas_udf(function, of, F.PandasUDFType.GROUPED_AGG) for of, function in functions.items()}
    found = rows(table.select("id", *[function("id").over(spec).alias(of) for of, function in called.items()], *[function("id").over(ordered("id").rowsBetween(FIRST, LAST)).alias(f"all {of}") for of, function in called.items()]))
    yield "all types", found


def arguments(table):
    """What functions are given of each type."""
    small = table.filter("id < 40")
    spec, keys = ordered("id").rowsBetween(-1, 0), Window.partitionBy("k")
    yield "all types", rows(small.select("id", *[seen(column).over(spec) for column in ["x", "f", "s", "d", "t", "b", "n", "i", "a"]]))
    structs = F.pandas_udf(lambda values: str(values.values.tolist()), "string", F.PandasUDFType.GROUPED_AGG)
    yield "structs", rows(small.select("id", structs("o").over(spec)))
    yield "two", rows(small.select("id", two("id", "s").over(spec), two("s", "id").over(spec), two("i", "i").over(ordered("id").rowsBetween(FIRST, LAST))))
    yield "expressions", rows(small.select("id", two(F.col("id") + 1, F.upper("s")).over(spec), seen(F.lit(7)).over(spec)))
    if spark.version >= "4":
        yield "named", rows(small.select("id", two(others=F.col("s"), values=F.col("id")).over(spec), two(F.col("i"), others=F.col("id")).over(spec)))
    yield "in the order in which they come", rows(small.select("id", seen("id").over(keys)))


def forms(table):
    """Functions among other operators, and tables of other shapes."""
    keys, growing = Window.partitionBy("k"), ordered("id").rowsBetween(FIRST, HERE)
    yield "without partition", rows(table.select("id", mean("x").over(Window.partitionBy())))
    yield "without partition, in order", rows(table.select("id", length("x").over(Window.orderBy("id"))))
    yield "of two keys", rows(table.select("id", seen("id").over(Window.partitionBy("k", "s").orderBy("id").rowsBetween(-1, 1))))
    yield "of strange keys", rows(table.select("id", "x", length("id").over(Window.partitionBy("x")), length("id").over(Window.partitionBy("f").orderBy("id").rowsBetween(-2, 0))))
    yield "no rows", rows(table.filter("id < 0").select("id", mean("x").over(keys)))
    yield "an empty table", rows(spark.createDataFrame([], "id bigint, k int, x double").select("id", mean("x").over(keys)))
    yield "one row", rows(table.filter("id = 7").select("id", mean("x").over(keys), seen("x").over(growing)))
    yield "expressions over results", rows(table.select("id", (mean("x").over(keys) * 2 + F.col("id")).alias("m"), F.when(length("id").over(growing) > 3, seen("i").over(growing.rowsBetween(-1, 0))).alias("w"), F.length(members("id").over(keys))))
    yield "with native windows", rows(table.select("id", total("i").over(keys), F.sum("i").over(keys), F.row_number().over(ordered("id")), (total("id").over(growing) - F.sum("id").over(growing)).alias("z")))
    yield "only results", rows(table.select(total("id").over(growing)))
    yield "not the results", rows(table.select("id", total("id").over(growing).alias("t"), members("id").over(keys).alias("u")).select("id", "t"))
    yield "none of the results", table.select("id", total("id").over(growing).alias("t")).groupBy("id").count().count()
    yield "filtered", rows(table.select("id", length("id").over(growing).alias("l")).filter("l % 3 = 0"))
    yield "below", rows(table.select("k", total("id").over(growing).alias("t")).groupBy("k").agg(F.sum("t"), F.max("t")))
    yield "above", rows(table.groupBy("k", "s").agg(F.sum("id").alias("id")).select("k", "s", seen("id").over(ordered("id").rowsBetween(-1, 1))))
    yield "one above another", rows(table.select("k", "id", total("i").over(growing).alias("t")).select("id", mean("t").over(keys), length("t").over(Window.partitionBy("t"))))
    yield "scalar functions around", answer_or_error(lambda: rows(table.select("id", F.pandas_udf(lambda values: values * 2, "bigint")(total("id").over(keys)), total(F.pandas_udf(lambda values: values + 1, "bigint")("id")).over(keys))))
    yield "joined", rows(table.select("id", "k", total("id").over(keys).alias("t")).join(F.broadcast(spark.range(5).withColumnRenamed("id", "k")), "k").select("id", "t"))


def sizes(large):
    """Partitions that are longer than batches."""
    whole = Window.partitionBy("one").orderBy("id")
    yield "whole", digest(large.select("id", "s", total("id").over(whole.rowsBetween(FIRST, LAST)), length("id").over(Window.partitionBy("one"))))
    some = large.filter("id < 20000")
    yield "sliding", digest(some.filter("id % 5 = 0").select("id", "s", total("id").over(whole.rowsBetween(-3, 3)), length("id").over(whole.rangeBetween(-2, 4))))
    yield "many partitions", digest(some.select("id", total("m").over(Window.partitionBy("m"))))
    for batch in ["1000", "7"]:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
        yield f"batches of {batch}", digest(some.filter("id < 1500").select("id", seen("m").over(whole.rowsBetween(-1, 1)), total("id").over(Window.partitionBy("m"))))
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def of_arrays(table):
    """Functions of arrays, which are there from 4.1 on."""
    if not hasattr(F, "arrow_udf"):
        return
    import pyarrow as pa
    import pyarrow.compute as pc

    @F.arrow_udf("string")
    def listed(values: pa.Array) -> str:
        return f"{values.type} {values.to_pylist()}"

    @F.arrow_udf("bigint")
    def sums(values: pa.Array) -> int:
        return pc.sum(values)

    @F.arrow_udf("string")
    def pairs(values: pa.Array, others: pa.Array) -> str:
        return str(list(zip(values.to_pylist(), others.to_pylist())))

    spec, keys = ordered("id").rowsBetween(-2, 1), Window.partitionBy("k")
    yield "frames", rows(table.select("id", listed("i").over(spec), listed("x").over(ordered("id").rangeBetween(-3, HERE)), sums("id").over(keys)))
    yield "named", rows(table.select("id", pairs(others=F.col("s"), values=F.col("id")).over(spec)))
    yield "all types", rows(table.filter("id < 40").select("id", *[listed(column).over(spec) for column in ["x", "f", "s", "d", "t", "b", "n", "a", "o"]]))


def left(table):
    """What Spark computes, and what fails."""
    keys = Window.partitionBy("k")
    raising = lambda message: F.pandas_udf(lambda values: [][0] if values.iloc[0] > 20 and message else 1 // 0, "double", F.PandasUDFType.GROUPED_AGG)
    yield "raises", answer_or_error(lambda: rows(table.select("id", raising("x")("id").over(keys))))
    yield "raises for a frame", answer_or_error(lambda: rows(table.select("id", raising("")("id").over(ordered("id").rowsBetween(-1, 1)))))
    yield "of another type", answer_or_error(lambda: rows(table.select("id", F.pandas_udf(lambda values: "x", "int", F.PandasUDFType.GROUPED_AGG)("id").over(keys))))
    between = "range between interval 3 days preceding and interval 1 day following"
    spark.conf.set("spark.sql.legacy.interval.enabled", "true")
    calendar = "range between interval 1 month 3 days preceding and current row"
    yield "range of calendar intervals", rows(table.selectExpr("id", f"members_of(id) over (partition by k order by t {calendar}) AS l"))
    spark.conf.unset("spark.sql.legacy.interval.enabled")
    yield "range of timestamps", rows(table.selectExpr("id", f"members_of(id) over (partition by k order by t {between}) AS l"))
    yield "range of intervals and dates", answer_or_error(lambda: rows(table.selectExpr("id", f"members_of(id) over (partition by k order by d {between}) AS l")))


def main(result, kind):
    strange = "case id % 7 when 0 then double('NaN') when 1 then -0D when 2 then 0D when 3 then null when 4 then double('-Infinity') else id * 0.5 end x"
    made = spark.range(0, 90, 1, 1).selectExpr("id", "cast(id % 4 as int) k", strange, "cast(case when id % 5 = 0 then null else id % 6 / 4 end as float) f", "cast(if(id % 11 = 3, null, id * 7 % 13) as int) i", "if(id % 8 = 0, null, concat('s', id % 3)) s",
                                            "if(id % 9 = 2, null, date_add(date'2020-02-25', cast(id % 12 as int))) d", "if(id % 10 = 4, null, timestamp'2020-03-07 23:30:00' + make_dt_interval(0, cast(id * 5 % 40 as int))) t", "id % 3 = 1 b",
                                            "cast(if(id % 13 = 6, null, id * 0.25 % 4) as decimal(10,2)) n", "if(id % 6 = 5, null, array(id, null, id * 2)) a", "named_struct('p', id, 'q', cast(id as string)) o")
    # From one map task: functions see the order of peers.
    table = made.repartition(3, "k")
    large = spark.range(0, 100_000, 1, 4).selectExpr("id", "1 one", "id % 300 m", "cast(id as string) s")
    spark.udf.register("members_of", members)
    themes = {"native": [(frames, table), (orders, table), (results, table), (arguments, table), (forms, table), (sizes, large), (of_arrays, table)], "left": [(left, table)]}
    answers = {f"{body.__name__}: {name}": answer for body, of in themes[kind] for name, answer in body(of)}
    with open(result, "w") as file:
        json.dump({"answers": answers, "metrics": {}, "errors": {}, "version": spark.version}, file, indent=1)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
