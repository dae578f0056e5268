"""Functions of Python in Spark SQL that are given series or arrays instead of values: arguments and results of every type, and how long batches are.

usage: spark-submit sql_pandas.py RESULT DIRECTORY"""

import sys
from typing import Iterator, Tuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sql_python import ARGUMENTS, table, type_of
from support import Themes, digest, rows, thrown

# Types of functions are read by a session.
spark = SparkSession.builder.getOrCreate()

MORE = {
    "binary": ["X''", "X'00FF'", "NULL"],
    "struct<a:int,b:string>": ["named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', NULL)", "NULL"],
    "map<string,int>": ["map('a', 1, 'b', NULL)", "map()", "NULL"],
    "array<struct<a:double>>": ["array(named_struct('a', 1.5D), NULL)", "array()", "NULL"],
}


def shown(values):
    return pd.Series([repr((str(values.dtype) if hasattr(values, "dtype") else "rows", value)) for value in (values.itertuples(index=False) if isinstance(values, pd.DataFrame) else values)])


def tables(run):
    for of, values in (ARGUMENTS | MORE).items():
        yield of, run.spark.sql(f"SELECT CAST(v AS {of}) AS v FROM VALUES {', '.join(f'({value})' for value in values)} AS t(v)")


def series(run):
    """Each type as the function sees it, and as it comes back."""
    found = {}
    for of, frame in tables(run):
        found[of] = answer_or_error(lambda frame=frame: rows(frame.coalesce(1).select(F.pandas_udf(shown, "string")("v"), "v")))
        back = F.pandas_udf(lambda values: values, of)
        found[f"{of} back"] = answer_or_error(lambda frame=frame, back=back: rows(frame.coalesce(1).select(back("v"))))
    return found


def arrays(run):
    """The same of functions of arrays, which are there from 4.1 on."""
    if not hasattr(F, "arrow_udf"):
        return None
    found = {}
    for of, frame in tables(run):
        seen = F.arrow_udf(lambda values: pa.array([f"{values.type} {value}" for value in values.to_pylist()]), "string")
        back = F.arrow_udf(lambda values: values, of)
        found[of] = answer_or_error(lambda frame=frame, seen=seen, back=back: rows(frame.coalesce(1).select(seen("v"), back("v"))))

    @F.arrow_udf("bigint")
    def sums(batches: Iterator[Tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        for one, other in batches:
            yield pc.add(one, other)

    found["iterator"] = digest(rows(table(run, 30_000, 2).select(sums("id", "k"))))
    return found


def answer_or_error(body):
    try:
        return body()
    except Exception as error:
        return type(error).__name__


@F.pandas_udf("bigint")
def length(values: pd.Series) -> pd.Series:
    return values * 0 + len(values)


@F.pandas_udf("double")
def centred(values: pd.Series, by: pd.Series) -> pd.Series:
    return values - values.mean() + by


@F.pandas_udf("string")
def joined(one: pd.Series, other: pd.Series) -> pd.Series:
    return one.astype(str) + "/" + other.astype(str)


@F.pandas_udf("n bigint, s string")
def pair(one: pd.Series, other: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"n": one * 2, "s": other})


@F.pandas_udf("bigint")
def counted(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    """Batches of other lengths than those that come."""
    left = pd.Series([], dtype="int64")
    for at, batch in enumerate(batches):
        whole = pd.concat([left, batch + at])
        yield whole[:7]
        left = whole[7:]
    yield left


def batches(run):
    """What depends on how long batches are."""
    large = table(run, 45_000, 3)
    found = {
        "lengths": rows(large.groupBy(length("id").alias("n")).count().orderBy("n")),
        "within": digest(rows(large.select(centred("x", "k")))),
        "after a filter": rows(large.filter("id % 3 = 0").groupBy(length("id").alias("n")).count().orderBy("n")),
        "after a shuffle": rows(large.repartition(2).groupBy(length("k").alias("n")).count().orderBy("n")),
    }
    run.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 777)
    found["shorter"] = rows(large.groupBy(length("id").alias("n")).count().orderBy("n"))
    run.spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    return found


def forms(run):
    large, small = table(run, 20_000, 3), table(run, 50, 2)
    joins = large.join(small.select(F.col("id").alias("other")), (length("id") > 3) & (F.col("id") == F.col("other")))
    value = F.udf(lambda n: n + 1, "bigint", useArrow=True)
    pickled = F.udf(lambda n: n + 1, "bigint", useArrow=False)
    return {
        "several": digest(rows(large.select(joined("id", "s"), pair("id", "s"), centred("x", "k")))),
        "chained": digest(rows(large.select(joined(joined("id", "s"), joined("k", "s"))))),
        "fields": digest(rows(large.select(pair("id", "s").alias("p")).select("p.n", F.upper("p.s")))),
        "kinds": digest(rows(large.select(value("id"), joined("id", "s"), pickled("id"), joined(pickled("id"), value("k"))))),
        "join": rows(joins.select("other", "s").orderBy("other")),
        "no rows": rows(large.filter("id < 0").select(joined("id", "s"))),
        "limit": len(large.select(joined("id", "s")).limit(3).collect()),
        "iterator": digest(rows(large.select(counted("id").alias("n"), "s"))),
        "iterator without rows": rows(large.filter("id < 0").select(counted("id"))),
        "not the result": large.select(joined("id", "s"), "id").groupBy().sum("id").first()[0],
    }


def failures(run):
    frame = table(run, 10, 2)
    return {
        "raises": thrown(lambda: frame.select(F.pandas_udf(lambda values: [][len(values)], "bigint")("id")).collect()),
        "too short": type_of(lambda: frame.select(F.pandas_udf(lambda values: values[1:], "bigint")("id")).collect()),
        "no series": type_of(lambda: frame.select(F.pandas_udf(lambda values: 1, "bigint")("id")).collect()),
        "another type": type_of(lambda: frame.select(F.pandas_udf(lambda values: values.astype(str) + "x", "bigint")("id")).collect()),
    }


def scans(run):
    """Columns of files, which from 4.2 on are given to functions as they are read."""
    frame = run.spark.read.parquet(run.directory)
    value, text = F.udf(lambda n: n * 2, "bigint", useArrow=True), F.udf(lambda n, s: f"{s}{n}", useArrow=True)
    return {
        "values": digest(rows(frame.select(value("id"), text("id", "s"), "x"))),
        "kinds of values": digest(rows(frame.select(value("id"), "s").select(value(F.col("<lambda>(id)") + 1).alias("n"), "s"))),
        "filter": digest(rows(frame.filter("id % 2 = 0").select(value("id"), "s"))),
        "expressions": digest(rows(frame.select(joined(F.col("id") + 1, "s"), "x"))),
        "lengths": rows(frame.groupBy(length("id").alias("n")).count().orderBy("n")),
    }


def main(result, directory):
    run = Themes(spark)
    run.other_compressor, run.directory = True, directory
    table(run, 30_000, 2).write.mode("overwrite").parquet(directory)
    for body, metrics in [(series, "exact"), (arrays, "none"), (batches, "unordered"), (forms, "none"), (scans, "none"), (failures, "none")]:
        run.run(body.__name__, body, metrics)
    run.count_tasks()
    run.result |= {"version": spark.version}
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
