"""Functions of Python that are given rows of the same keys, of one table and of two, as data frames and as tables of Arrow: what they see, what comes back, and where groups begin.

usage: spark-submit sql_groups.py RESULT DIRECTORY"""

import sys
from typing import Iterator, Tuple

import pandas as pd
import pyarrow as pa
from pyspark.sql import GroupedData, SparkSession
from pyspark.sql import functions as F

from sql_pandas import answer_or_error, tables
from sql_python import table, type_of
from support import Themes, digest, rows, thrown

# Types of functions are read by a session.
spark = SparkSession.builder.getOrCreate()

# What has groups: keys that are not equal in Python, or that are equal though they do not look so.
KEYS = {
    "double": ["0D", "-0D", "double('NaN')", "-double('NaN')", "1.5D", "double('-Infinity')", "NULL"],
    "float": ["float(0)", "-float(0)", "float('NaN')", "NULL"],
    "string": ["''", "'a'", "'A'", "'ä'", "'a '", "NULL"],
    "decimal(20,2)": ["1.20BD", "1.2BD", "-0.00BD", "0BD", "NULL"],
    "boolean": ["true", "false", "NULL"],
    "date": ["DATE'0001-01-01'", "DATE'1970-01-01'", "NULL"],
    "timestamp": ["TIMESTAMP'2020-10-25 02:30:00'", "TIMESTAMP'1900-01-01 12:00:00'", "NULL"],
    "binary": ["X''", "X'00'", "X'00FF'", "NULL"],
    "struct<a:double,b:string>": ["named_struct('a', 0D, 'b', 'x')", "named_struct('a', -0D, 'b', 'x')", "named_struct('a', NULL, 'b', NULL)", "NULL"],
    "array<double>": ["array(0D, NULL)", "array(-0D, NULL)", "array()", "NULL"],
}


def text(value):
    return repr(value) if not isinstance(value, float) else value.hex()


def seen(key, frame):
    """A row of what the function sees."""
    types = [str(of) for of in frame.dtypes]
    values = sorted(repr(tuple(row)) for row in frame.itertuples(index=False))
    return pd.DataFrame({"s": [f"{tuple(text(part) for part in key)} {list(frame.columns)} {types} {values}"]})


def seen_table(key, group):
    return pa.table({"s": [f"{tuple(text(part.as_py()) for part in key)} {group.schema} {sorted(str(row) for row in group.to_pylist())}"]})


def same(frame):
    return frame


# Functions of tables are there from 4.0 on, of iterators from 4.1 on.
IN_ARROW, ITERATORS = hasattr(GroupedData, "applyInArrow"), hasattr(F, "arrow_udf")


def types(run):
    """Each type as functions see it, and as it comes back."""
    found = {}
    for of, frame in tables(run):
        two = frame.coalesce(1).select("v", F.lit(1).alias("i"), F.col("v").alias("w"))
        found[f"{of} in frames"] = answer_or_error(lambda: rows(two.groupBy("i").applyInPandas(seen, "s string")))
        found[f"{of} back from frames"] = answer_or_error(lambda: rows(two.groupBy("i").applyInPandas(same, two.schema)))
        if IN_ARROW:
            found[f"{of} in tables"] = answer_or_error(lambda: rows(two.groupBy("i").applyInArrow(seen_table, "s string")))
            found[f"{of} back from tables"] = answer_or_error(lambda: rows(two.groupBy("i").applyInArrow(same, two.schema)))
    return found


def keys(run):
    """What is one group, and what the function is told of its keys; in the order in which groups come."""
    found = {}
    for of, values in KEYS.items():
        frame = run.spark.sql(f"SELECT CAST(k AS {of}) AS k, n FROM VALUES {', '.join(f'({value}, {n})' for n, value in enumerate(values * 2))} AS t(k, n)")
        found[of] = answer_or_error(lambda: rows(frame.coalesce(1).groupBy("k").applyInPandas(lambda key, of: seen(key, of[["n"]]), "s string")))
        found[f"{of} and another"] = answer_or_error(lambda: rows(frame.coalesce(1).groupBy(F.col("n") % 2, "k").applyInPandas(lambda key, of: seen(key, of[["n"]]), "s string")))
        other = frame.filter("n % 3 <> 0").withColumnRenamed("n", "m")
        together = frame.coalesce(1).groupBy("k").cogroup(other.coalesce(1).groupBy("k"))
        found[f"{of} of two"] = answer_or_error(lambda: rows(together.applyInPandas(both, "s string")))
    return found


def both(key, left, right):
    """The first rows say what the group is: keys may be of either side."""
    return pd.DataFrame({"s": [f"{len(key)} {sorted(left.get('n', []))} {sorted(right.get('m', []))} {list(left.columns)} {list(right.columns)}"]})


def both_tables(key, left, right):
    return pa.table({"s": [f"{len(key)} {sorted(left['n'].to_pylist())} {sorted(right['m'].to_pylist())} {left.schema} {right.schema}"]})


def total(key, frame):
    return pd.DataFrame([key + (int(frame.id.sum()), len(frame))])


def total_table(key, group):
    return pa.table({"k": [key[0].as_py()], "total": pa.array([sum(group["id"].to_pylist())], pa.int64()), "n": pa.array([group.num_rows], pa.int64())})


def centred(frame):
    return frame.assign(x=frame.x - frame.x.mean())


def first_rows(frame):
    """Depends on the order of rows."""
    return frame.head(3)


def nothing(frame):
    return frame[:0]


def some(frame):
    return frame[frame.id % 5 == 0] if len(frame) % 2 else frame[:0]


def merged(left, right):
    return pd.merge(left[["k", "id"]], right, on="k") if len(left) and len(right) else pd.DataFrame({"k": [], "id": [], "other": []})


TOTAL = "k bigint, total bigint, n bigint"


def forms(run):
    large, small = table(run, 20_000, 3), table(run, 50, 2)
    by_k = large.groupBy("k")
    twice = F.udf(lambda n: n * 2, "bigint")
    of_all = lambda of: pd.DataFrame([[int(of.id.sum()), len(of)]])
    return {
        "totals": rows(by_k.applyInPandas(total, TOTAL).orderBy("k")),
        "many groups": digest(rows(table(run, 1_000, 3).groupBy("id").applyInPandas(total, TOTAL).orderBy("k"))),
        "two keys": digest(rows(large.groupBy("k", "s").applyInPandas(total, "k bigint, s string, total bigint, n bigint").orderBy("k", "s"))),
        "an expression": rows(large.groupBy((F.col("id") % 4).alias("m")).applyInPandas(total, "m bigint, total bigint, n bigint").orderBy("m")),
        "without keys": rows(large.groupBy().applyInPandas(of_all, "total bigint, n bigint")),
        "without keys or rows": rows(large.filter("id < 0").groupBy().applyInPandas(of_all, "total bigint, n bigint")),
        "no rows": rows(large.filter("id < 0").groupBy("k").applyInPandas(total, TOTAL)),
        "one group": digest(rows(large.groupBy(F.lit("one")).applyInPandas(centred, large.schema).orderBy("id"))),
        "all columns": digest(rows(by_k.applyInPandas(centred, large.schema).orderBy("id"))),
        "not all columns": digest(rows(by_k.applyInPandas(centred, large.schema).select("x", "s").orderBy("x"))),
        "no columns": by_k.applyInPandas(some, large.schema).count(),
        "no results": rows(by_k.applyInPandas(nothing, large.schema)),
        "some results": digest(rows(large.groupBy("s").applyInPandas(some, large.schema).orderBy("id"))),
        "keys only": digest(rows(large.select("k").groupBy("k").applyInPandas(lambda of: of.head(1), "k bigint").orderBy("k"))),
        "of one name": answer_or_error(lambda: rows(small.select("k", F.col("id").alias("k2"), F.col("x").alias("k2")).groupBy("k").applyInPandas(lambda of: pd.DataFrame({"n": [len(of.columns)]}), "n bigint"))),
        "chained": digest(rows(by_k.applyInPandas(centred, large.schema).groupBy("s").applyInPandas(centred, large.schema).orderBy("id"))),
        "same keys again": digest(rows(by_k.applyInPandas(total, TOTAL).groupBy("k").applyInPandas(same, TOTAL).orderBy("k"))),
        "function below": rows(large.groupBy(twice("k").alias("k")).applyInPandas(total, TOTAL).orderBy("k")),
        "function above": rows(by_k.applyInPandas(total, TOTAL).select(twice("total").alias("t")).orderBy("t")),
        "ordered within": digest(rows(large.repartition(2, "k").sortWithinPartitions("k", F.desc("id")).groupBy("k").applyInPandas(first_rows, large.schema).orderBy("k", "id"))),
        "after an aggregate": rows(large.groupBy("k").agg(F.count("*").alias("n"), F.max("x").alias("x")).groupBy((F.col("k") % 2).alias("m")).applyInPandas(lambda of: of[["n", "x"]].sum().to_frame().T, "n double, x double").orderBy("x")),
        "before an aggregate": rows(by_k.applyInPandas(centred, large.schema).groupBy("s").agg(F.count("*"), F.max("id")).orderBy("s")),
        "after a join": digest(rows(large.join(F.broadcast(small.select(F.col("id").alias("other"))), F.col("id") == F.col("other")).groupBy("k").applyInPandas(lambda of: of[["id", "other"]], "id bigint, other bigint").orderBy("id"))),
        "in a join": rows(by_k.applyInPandas(total, TOTAL).join(small.groupBy("k").applyInPandas(total, "k bigint, t bigint, m bigint"), "k").orderBy("k")),
        "union": rows(by_k.applyInPandas(total, TOTAL).union(small.groupBy("k").applyInPandas(total, TOTAL)).orderBy("k", "n")),
        "over a union": rows(large.union(small).groupBy("k").applyInPandas(total, TOTAL).orderBy("k")),
        "over values": rows(run.spark.sql("SELECT * FROM VALUES (1L, 2L), (NULL, 3L), (1L, NULL) AS t(k, id)").groupBy("k").applyInPandas(lambda key, of: pd.DataFrame([[str(key), len(of)]]), "k string, n bigint").orderBy("k")),
        "over an empty table": rows(run.spark.createDataFrame([], "k bigint, id bigint").groupBy("k").applyInPandas(total, TOTAL)),
        "limit": len(rows(by_k.applyInPandas(centred, large.schema).limit(3))),
        "in map": rows(by_k.applyInPandas(total, TOTAL).mapInPandas(lambda frames: (of[of.k > 3] for of in frames), TOTAL).orderBy("k")),
        "fat group": digest(rows(large.select("id", F.lit(1).alias("k"), F.repeat("s", 100).alias("s")).groupBy("k").applyInPandas(lambda of: of.nlargest(5, "id"), "id bigint, k int, s string"))),
    }


def in_tables(run):
    """The same of functions of tables."""
    if not IN_ARROW:
        return None
    large, small = table(run, 20_000, 3), table(run, 50, 2)
    other = small.select("k", F.col("id").alias("m"))
    return {
        "totals": rows(large.groupBy("k").applyInArrow(total_table, TOTAL).orderBy("k")),
        "many groups": digest(rows(table(run, 1_000, 3).groupBy("id").applyInArrow(total_table, TOTAL).orderBy("k"))),
        "all columns": digest(rows(large.groupBy("k").applyInArrow(same, large.schema).orderBy("id"))),
        "no rows": rows(large.filter("id < 0").groupBy("k").applyInArrow(total_table, TOTAL)),
        "no results": rows(large.groupBy("k").applyInArrow(lambda group: group.slice(0, 0), large.schema)),
        "two": rows(small.withColumnRenamed("id", "n").groupBy("k").cogroup(other.filter("k > 2").groupBy("k")).applyInArrow(both_tables, "s string").orderBy("s")),
        "two without rows": rows(small.withColumnRenamed("id", "n").groupBy("k").cogroup(other.filter("k > 99").groupBy("k")).applyInArrow(both_tables, "s string").orderBy("s")),
    }


def in_iterators(run):
    """Of functions of iterators, which see how long batches are."""
    if not ITERATORS:
        return None
    # The order of rows of several maps is that in which they arrive.
    large, conf = table(run, 45_000, 1), run.spark.conf

    def lengths(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"s": [str([batch.num_rows for batch in batches])]})

    def lengths_of_frames(key: Tuple[int], frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"s": [f"{key[0]} {len(frame)} {frame.id.sum()}"]})

    def first_only(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield next(frames)[["id"]]

    def all_of(frame):
        found = {"batches": answer_or_error(lambda: rows(frame.applyInArrow(lengths, "s string").orderBy("s")))}
        found["frames"] = answer_or_error(lambda: rows(frame.applyInPandas(lengths_of_frames, "s string").orderBy("s")))
        return found

    found = {"default": all_of(large.groupBy("k")), "first only": answer_or_error(lambda: len(rows(large.groupBy(F.lit("one")).applyInPandas(first_only, "id bigint"))))}
    for size in [1_000, 6_429, 100_000, 0]:
        conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", size)
        found[f"of {size}"] = all_of(large.groupBy("k"))
        found[f"frames, of {size}"] = rows(large.groupBy("k").applyInPandas(total, TOTAL).orderBy("k"))
    conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    return found


def cogroups(run):
    large, small = table(run, 20_000, 3), table(run, 50, 2)
    other = small.select((F.col("k") + 3).alias("k"), F.col("id").alias("other"))
    counts = lambda key, left, right: pd.DataFrame([[key[0], len(left), len(right)]])
    two = large.groupBy("k").cogroup(other.groupBy("k"))
    counted = lambda left, right: rows(left.groupBy("k").cogroup(right.groupBy("k")).applyInPandas(counts, "k bigint, l bigint, r bigint").orderBy("k"))
    return {
        "counts": counted(large, other),
        "merged": digest(rows(two.applyInPandas(merged, "k bigint, id bigint, other bigint").orderBy("id", "other"))),
        "without left": counted(large.filter("id < 0"), other),
        "without right": counted(large, other.filter("k < 0")),
        "without both": counted(large.filter("id < 0"), other.filter("k < 0")),
        "many groups": digest(rows(small.groupBy("id").cogroup(small.filter("id % 3 = 0").groupBy("id")).applyInPandas(lambda left, right: pd.DataFrame([[len(left), len(right)]]), "l bigint, r bigint").groupBy("l", "r").count().orderBy("l", "r"))),
        "itself": counted(large, large),
        "two keys": rows(large.groupBy("k", "s").cogroup(small.groupBy("k", "s")).applyInPandas(lambda key, left, right: pd.DataFrame([[*key, len(left), len(right)]]), "k bigint, s string, l bigint, r bigint").orderBy("k", "s")),
        "other names": rows(large.groupBy("k").cogroup(other.withColumnRenamed("k", "j").groupBy("j")).applyInPandas(counts, "k bigint, l bigint, r bigint").orderBy("k")),
        "other types": answer_or_error(lambda: rows(large.groupBy("k").cogroup(other.withColumn("k", F.col("k").cast("int")).groupBy("k")).applyInPandas(counts, "k bigint, l bigint, r bigint").orderBy("k"))),
        "without keys": answer_or_error(lambda: rows(large.groupBy().cogroup(other.groupBy()).applyInPandas(lambda left, right: pd.DataFrame([[len(left), len(right)]]), "l bigint, r bigint"))),
        "chained": rows(two.applyInPandas(counts, "k bigint, l bigint, r bigint").groupBy("r").applyInPandas(lambda of: of[["l", "r"]].sum().to_frame().T, "l bigint, r bigint").orderBy("r")),
    }


@F.pandas_udf("double")
def mean(values: pd.Series) -> float:
    return values.mean()


@F.pandas_udf("string")
def listed(values: pd.Series, others: pd.Series) -> str:
    """Depends on types and on the order of rows."""
    return f"{values.dtype} {others.dtype} {values.tolist()[:5]} {others.tolist()[-5:]} {len(values)}"


@F.pandas_udf("array<bigint>")
def ends(values: pd.Series) -> list:
    return [int(values.min()), int(values.max())]


def aggregates(run):
    """Functions that compute a value of a group."""
    large, small = table(run, 20_000, 3), table(run, 50, 2)
    found = {
        "one": rows(large.groupBy("k").agg(mean("x")).orderBy("k")),
        "several": rows(large.groupBy("k").agg(mean("x"), ends("id"), mean(F.col("id") * 2).alias("m"), mean("id")).orderBy("k")),
        "expressions": rows(large.groupBy((F.col("id") % 4).alias("m"), F.upper("s").alias("u")).agg((mean(F.col("x") + 1) * 2).alias("d"), F.col("m") + 1).orderBy("m", "u")),
        "many groups": digest(rows(table(run, 1_000, 3).groupBy("id").agg(mean("x")).orderBy("id"))),
        "without keys": rows(large.agg(mean("x"), ends("id"))),
        "without keys or rows": rows(large.filter("id < 0").agg(mean("x"))),
        "no rows": rows(large.filter("id < 0").groupBy("k").agg(mean("x"))),
        "not the keys": rows(large.groupBy("k").agg(mean("x").alias("m")).select("m").orderBy("m")),
        "only keys": rows(large.groupBy("k").agg(mean("x").alias("m")).select("k").orderBy("k")),
        "ordered": rows(large.repartition(2, "k").sortWithinPartitions("k", F.desc("id")).groupBy("k").agg(listed("id", "s")).orderBy("k")),
        "having": rows(large.groupBy("k").agg(mean("x").alias("m")).filter("m > 9999").orderBy("k")),
        "named": answer_or_error(lambda: rows(small.coalesce(1).groupBy("k").agg(listed(others=F.col("s"), values=F.col("id"))).orderBy("k"))),
        "chained": rows(large.groupBy("k", "s").agg(mean("x").alias("m")).groupBy("k").agg(mean("m")).orderBy("k")),
        "with others": answer_or_error(lambda: rows(large.groupBy("k").agg(mean("x"), F.sum("id")).orderBy("k"))),
        "in a join": rows(large.groupBy("k").agg(mean("x").alias("m")).join(small.groupBy("k").agg(ends("id").alias("e")), "k").orderBy("k")),
        "rolled up": answer_or_error(lambda: rows(small.rollup("k").agg(mean("x")).orderBy("k"))),
        "strange keys": rows(small.select(F.when(F.col("id") % 3 == 0, F.lit(-0.0)).when(F.col("id") % 3 == 1, 0.0).otherwise(float("nan")).alias("d"), "x").coalesce(1).groupBy("d").agg(mean("x")).orderBy("d")),
        "raises": type_of(lambda: small.groupBy("k").agg(F.pandas_udf(raises, "double")("x")).collect()),
        "of another type": answer_or_error(lambda: rows(small.groupBy("k").agg(F.pandas_udf(textual, "int")("x")).orderBy("k"))),
        "nulls": rows(small.groupBy("k").agg(F.pandas_udf(nothing_of, "double")("x")).orderBy("k")),
    }
    for of, frame in tables(run):
        two = frame.coalesce(1).select("v", F.lit(1).alias("i"))
        found[of] = answer_or_error(lambda: rows(two.groupBy("i").agg(listed("v", "i"))))
    return found | (of_arrays(run) if ITERATORS else {})


def raises(values: pd.Series) -> float:
    return [][len(values)]


def textual(values: pd.Series) -> str:
    return "x"


def nothing_of(values: pd.Series) -> float:
    return None


def of_arrays(run):
    large, conf = table(run, 20_000, 3), run.spark.conf
    total_of = F.arrow_udf(array_total, "bigint")
    found = {
        "of arrays": rows(large.groupBy("k").agg(total_of("id"), total_of("k")).orderBy("k")),
        "of arrays, without keys": rows(large.agg(total_of("id"))),
        "of iterators": answer_or_error(lambda: rows(large.groupBy("k").agg(F.pandas_udf(lengths_of_series, "string")("id")).orderBy("k"))),
        "of iterators of arrays": answer_or_error(lambda: rows(large.groupBy("k").agg(F.arrow_udf(lengths_of_arrays, "string")("id")).orderBy("k"))),
    }
    conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 1_000)
    found["of short iterators"] = answer_or_error(lambda: rows(large.groupBy("k").agg(F.pandas_udf(lengths_of_series, "string")("id")).orderBy("k")))
    found["in short batches"] = rows(large.groupBy("k").agg(mean("x")).orderBy("k"))
    conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    return found


def array_total(values: pa.Array) -> int:
    return sum(values.to_pylist())


def lengths_of_series(batches: Iterator[pd.Series]) -> str:
    return str([len(batch) for batch in batches])


def lengths_of_arrays(batches: Iterator[pa.Array]) -> str:
    return str([len(batch) for batch in batches])


def surroundings(run):
    """What functions find around them."""
    factors, called = run.sc.broadcast({n: n * n for n in range(10)}), run.sc.accumulator(0)

    def look(frame):
        called.add(1)
        return frame.assign(k=frame.k.map(factors.value))

    frame = table(run, 1_000, 4)
    found = {"broadcasts": rows(frame.groupBy("k").applyInPandas(look, frame.schema).groupBy("k").count().orderBy("k")), "accumulator": called.value}
    cached = frame.groupBy("k").applyInPandas(centred, frame.schema).cache()
    found["cached"] = [digest(rows(cached.orderBy("id"))), rows(cached.groupBy("k").count().orderBy("k"))]
    cached.unpersist()
    return found


def results(run):
    """What is declared and what comes."""
    frame = table(run, 20, 2)
    by = lambda make, schema: answer_or_error(lambda: rows(frame.groupBy("k").applyInPandas(make, schema).orderBy(F.col("id") if "id" in schema else F.lit(1))))
    return {
        "by name": by(lambda of: of[["s", "id"]], "id bigint, s string"),
        "by place": by(lambda of: pd.DataFrame({0: of.id, 1: of.s}), "id bigint, s string"),
        "more columns": by(lambda of: of, "id bigint, k bigint"),
        "missing columns": by(lambda of: of[["id"]], "id bigint, s string"),
        "converted": by(lambda of: of[["id", "k"]], "id int, k double"),
        "not converted": by(lambda of: of[["s"]], "s bigint"),
        "nulls": by(lambda of: of[["id", "s"]].assign(s=None), "id bigint, s string"),
        "nested": by(lambda of: pd.DataFrame({"id": of.id, "a": [[n, None] for n in of.id], "m": [{"x": n} for n in of.id]}), "id bigint, a array<bigint>, m map<string,bigint>"),
        "empty": by(lambda of: pd.DataFrame(), "id bigint"),
        "a series": by(lambda of: of.id, "id bigint"),
        "a number": by(lambda of: 1, "id bigint"),
    }


def failures(run):
    frame = table(run, 10, 2)
    by_k = frame.groupBy("k")

    def late(frame):
        if int(frame.k.iloc[0]) > 2:
            raise ValueError("at last")
        return frame

    return {
        "raises": thrown(lambda: by_k.applyInPandas(lambda of: [][len(of)], "id bigint").collect()),
        "raises late": thrown(lambda: frame.coalesce(1).groupBy("k").applyInPandas(late, frame.schema).collect()),
        "raises for two": thrown(lambda: by_k.cogroup(frame.groupBy("k")).applyInPandas(lambda left, right: [][len(left)], "id bigint").collect()),
        "exits": type_of(lambda: by_k.applyInPandas(lambda of: __import__("os")._exit(3), frame.schema).collect()),
        "stops": type_of(lambda: by_k.applyInPandas(lambda of: next(iter([])), frame.schema).collect()),
    }


def scans(run):
    frame = run.spark.read.parquet(run.directory)
    return {
        "totals": rows(frame.groupBy("k").applyInPandas(total, TOTAL).orderBy("k")),
        "filtered": digest(rows(frame.filter("id % 2 = 0").groupBy("s").applyInPandas(centred, frame.schema).orderBy("id"))),
    }


def main(result, directory):
    run = Themes(SparkSession.builder.getOrCreate())
    run.other_compressor, run.directory = True, directory
    table(run, 30_000, 2).write.mode("overwrite").parquet(directory)
    for body in [types, keys, forms, in_tables, in_iterators, cogroups, aggregates, surroundings, results, scans, failures]:
        run.run(body.__name__, body, "none")
    run.count_tasks()
    run.result |= {"version": run.spark.version}
    run.write(result)
    run.spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
