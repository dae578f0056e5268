"""Functions of Python that are given all rows of a partition, as data frames and as record batches: what they see, what comes back of every type, how many rows that are, and how long batches are.

usage: spark-submit sql_map_in_batch.py RESULT DIRECTORY"""

import sys

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from sql_pandas import answer_or_error, tables
from sql_python import table, type_of
from support import Themes, digest, rows, thrown


def same(batches):
    yield from batches


def shown_frames(frames):
    for frame in frames:
        yield pd.DataFrame({"s": [repr((str(of), value)) for of, value in zip(frame.dtypes.tolist() * len(frame), frame.itertuples(index=False))]})


def shown_batches(batches):
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([f"{batch.schema} {batch.num_columns}"] + [str(row) for row in batch.to_pylist()])], ["s"])


def types(run):
    """Each type as functions see it, alone and beside others, and as it comes back."""
    found = {}
    for of, frame in tables(run):
        one = frame.coalesce(1)
        two = one.select("v", F.lit(1).alias("i"), F.col("v").alias("w"))
        found[f"{of} in frames"] = answer_or_error(lambda: rows(one.mapInPandas(shown_frames, "s string")))
        found[f"{of} in batches"] = answer_or_error(lambda: rows(two.mapInArrow(shown_batches, "s string")))
        found[f"{of} back from frames"] = answer_or_error(lambda: rows(two.mapInPandas(same, two.schema)))
        found[f"{of} back from batches"] = answer_or_error(lambda: rows(two.mapInArrow(same, two.schema)))
        found[f"{of} back, nulls allowed"] = answer_or_error(lambda: rows(one.mapInArrow(same, f"v {of}").select("v", "v")))
    return found


def doubled(batches):
    for batch in batches:
        yield pa.Table.from_batches([batch, batch]).combine_chunks().to_batches()[0] if batch.num_rows else batch


def thinned(frames):
    for frame in frames:
        yield frame[frame.id % 5 == 0]
        yield frame[:0]


def counted(frames):
    """A row for each partition, also for those without rows."""
    count, total = 0, 0
    for frame in frames:
        count, total = count + len(frame), total + int(frame.id.sum())
    yield pd.DataFrame({"rows": [count], "total": [total], "partition": [TaskContext.get().partitionId()]})


def counted_batches(batches):
    yield pa.RecordBatch.from_pydict({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


def numbered(frames):
    """Depends on the order of rows."""
    at = 0
    for frame in frames:
        yield frame.assign(at=range(at, at + len(frame)))
        at += len(frame)


def first_only(frames):
    for frame in frames:
        yield frame[["id"]]
        return


def many(batches):
    for batch in batches:
        for start in range(0, batch.num_rows, 1000):
            yield batch.slice(start, 1000)


def widened(frames):
    for frame in frames:
        yield pd.DataFrame({"n": [n for n in frame.id for _ in range(int(n) % 3)], "s": [f"x{n}" for n in frame.id for _ in range(int(n) % 3)]})


def none(batches):
    for _ in batches:
        pass
    return iter([])


COUNTS = "rows bigint, total bigint, partition int"


def forms(run):
    large, small = table(run, 20_000, 3), table(run, 50, 2)
    of_small = small.schema
    joined = large.join(F.broadcast(small.select(F.col("id").alias("other"))), F.col("id") == F.col("other"))
    return {
        "same frames": digest(rows(large.mapInPandas(same, large.schema))),
        "same batches": digest(rows(large.mapInArrow(same, large.schema))),
        "more rows": digest(rows(large.mapInArrow(doubled, large.schema).groupBy("k").agg(F.count("*"), F.sum("id")).orderBy("k"))),
        "fewer rows": digest(rows(large.mapInPandas(thinned, large.schema))),
        "other columns": digest(rows(large.mapInPandas(widened, "n bigint, s string"))),
        "not all columns": digest(rows(large.mapInPandas(widened, "n bigint, s string").select("s"))),
        "no columns": large.mapInPandas(widened, "n bigint, s string").count(),
        "one row": rows(large.mapInPandas(counted, COUNTS).orderBy("partition")),
        "one row of batches": rows(large.mapInArrow(counted_batches, "rows bigint")),
        "small batches": digest(rows(large.mapInArrow(many, large.schema))),
        "first only": digest(rows(large.mapInPandas(first_only, "id bigint"))),
        "no result": rows(large.mapInArrow(none, "a int, b string")),
        "no rows": rows(large.filter("id < 0").mapInPandas(same, large.schema)),
        "counts of no rows": rows(large.filter("id < 0").mapInPandas(counted, COUNTS).orderBy("partition")),
        "some empty partitions": rows(large.filter("id < 3").mapInPandas(counted, COUNTS).orderBy("partition")),
        "chained": digest(rows(large.mapInArrow(doubled, large.schema).mapInPandas(thinned, large.schema).mapInArrow(same, large.schema))),
        "chained with others": digest(rows(large.filter("k > 2").mapInPandas(thinned, large.schema).filter("id % 2 = 0").select("id", F.upper("s").alias("s")).mapInArrow(same, "id bigint, s string"))),
        "function above": digest(rows(large.mapInPandas(thinned, large.schema).select(F.udf(lambda n: n * 2, "bigint")("id")))),
        "function below": digest(rows(large.select(F.udf(lambda n: n * 2, "bigint")("id").alias("id")).mapInPandas(thinned, "id bigint"))),
        "after a sort": digest(rows(large.repartition(2, "k").sortWithinPartitions(F.desc("id")).mapInPandas(numbered, "id bigint, k bigint, s string, x double, at bigint").orderBy("id"))),
        "before a sort": digest(rows(large.mapInPandas(thinned, large.schema).orderBy(F.desc("id")))),
        "after a shuffle": rows(large.repartition(3, "k").mapInPandas(counted, COUNTS).orderBy("partition")),
        "after an aggregate": rows(large.groupBy("k").count().mapInPandas(same, "k bigint, count bigint").orderBy("k")),
        "before an aggregate": rows(large.mapInArrow(same, large.schema).groupBy("k").agg(F.sum("x"), F.max("s")).orderBy("k")),
        "after a join": digest(rows(joined.mapInArrow(same, joined.schema).orderBy("id"))),
        "in a join": digest(rows(large.mapInPandas(thinned, large.schema).alias("a").join(small.mapInArrow(same, of_small).alias("b"), F.col("a.id") == F.col("b.id")).select("a.id", "b.s").orderBy("a.id"))),
        "union": digest(rows(large.mapInPandas(thinned, large.schema).union(small.mapInArrow(same, of_small)).groupBy("k").count().orderBy("k"))),
        "over a union": digest(rows(large.union(small).mapInPandas(thinned, large.schema).groupBy("k").count().orderBy("k"))),
        "over values": rows(run.spark.sql("SELECT * FROM VALUES (1L, 'a'), (NULL, NULL) AS t(n, s)").mapInArrow(same, "n bigint, s string")),
        "over an empty table": rows(run.spark.createDataFrame([], "id bigint").mapInPandas(counted, COUNTS)),
        "limit": rows(large.mapInPandas(same, large.schema).limit(3)),
        "over a limit": rows(large.limit(5).mapInPandas(counted, COUNTS).select("rows")),
        "take": len(large.mapInArrow(same, large.schema).take(9_000)),
        "coalesce": rows(large.coalesce(1).mapInPandas(counted, COUNTS)),
        "window": digest(rows(small.mapInPandas(same, of_small).selectExpr("id", "row_number() OVER (PARTITION BY k ORDER BY id) AS r").orderBy("id"))),
        "names in quotes": rows(small.select(F.col("id").alias('a "b" c'), F.col("k").alias("é")).mapInArrow(same, '`a "b" c` bigint, `é` bigint').limit(2)),
    }


def cached(run):
    """Tables that are cached before and behind functions."""
    frame = table(run, 5_000, 2).cache()
    frame.count()
    mapped = frame.mapInPandas(thinned, frame.schema).cache()
    found = {
        "over a cached table": digest(rows(frame.mapInArrow(doubled, frame.schema))),
        "cached": digest(rows(mapped.orderBy("id"))),
        "again": rows(mapped.groupBy("k").count().orderBy("k")),
    }
    mapped.unpersist()
    frame.unpersist()
    return found


def lengths(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"n": pa.array([batch.num_rows], pa.int64())})


def wide(frames):
    for frame in frames:
        yield pd.DataFrame({"s": frame.s * 1_000})


def batches(run):
    """How long batches are."""
    large, conf = table(run, 45_000, 3), run.spark.conf
    count = lambda frame: rows(frame.mapInArrow(lengths, "n bigint").groupBy("n").count().orderBy("n"))
    found = {
        "lengths": count(large),
        "after a filter": count(large.filter("id % 3 = 0")),
        "after a shuffle": count(large.repartition(2)),
        "after a map": count(large.mapInArrow(many, large.schema)),
        "wide": count(table(run, 9_000, 1).mapInPandas(wide, "s string")),
    }
    for size in [777, 1, 100_000, 0]:
        conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", size)
        found[f"of {size}"] = count(large if size != 1 else table(run, 50, 2))
    conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    conf.set("spark.sql.execution.arrow.maxBytesPerBatch", "10k")
    found["of few bytes"] = count(table(run, 2_000, 2))
    conf.unset("spark.sql.execution.arrow.maxBytesPerBatch")
    return found


def surroundings(run):
    """What functions find around them."""
    factors, seen = run.sc.broadcast({n: n * n for n in range(10)}), run.sc.accumulator(0)

    def look(frames):
        for frame in frames:
            seen.add(len(frame))
            yield frame.assign(k=frame.k.map(factors.value))

    frame = table(run, 1_000, 4)
    found = {"broadcasts": rows(frame.mapInPandas(look, frame.schema).groupBy("k").count().orderBy("k")), "accumulator": seen.value}
    found["barrier"] = rows(table(run, 100, 2).mapInPandas(counted, COUNTS, barrier=True).orderBy("partition"))
    return found


# Columns without nulls.
STRICT = StructType([StructField("id", LongType(), False), StructField("s", StringType(), True)])


def types_of_results(run):
    """What is declared and what comes."""
    frame = table(run, 20, 2)
    pandas = lambda make, schema: type_or_rows(lambda: frame.mapInPandas(lambda frames: (make(frame) for frame in frames), schema))
    arrow = lambda make, schema: type_or_rows(lambda: frame.mapInArrow(lambda batches: (make(batch) for batch in batches), schema))
    ids = lambda batch, of=pa.int64(): batch.column(0).cast(of)
    batch_of = lambda columns, fields: pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
    of_two = lambda batch, nullable: batch_of([ids(batch), batch.column(2)], [pa.field("id", pa.int64(), nullable), pa.field("s", pa.string())])
    return {
        "by name": pandas(lambda of: of[["s", "id"]], "id bigint, s string"),
        "by place": pandas(lambda of: pd.DataFrame({0: of.id, 1: of.s}), "id bigint, s string"),
        "more columns": pandas(lambda of: of, "id bigint, k bigint"),
        "missing columns": pandas(lambda of: of[["id"]], "id bigint, s string"),
        "converted": pandas(lambda of: of[["id", "k"]], "id int, k double"),
        "not converted": pandas(lambda of: of[["s"]], "s bigint"),
        "too large": pandas(lambda of: of[["id"]] * 1_000_000_000_000, "id int"),
        "strict": pandas(lambda of: of[["id", "s"]], STRICT),
        "strict with nulls": pandas(lambda of: of[["id", "s"]].assign(id=None), STRICT),
        "strict texts with nulls": pandas(lambda of: of[["id", "s"]].assign(s=None), StructType([STRICT["id"], StructField("s", StringType(), False)])),
        "nested": pandas(lambda of: pd.DataFrame({"a": [[n, None] for n in of.id], "m": [{"x": n} for n in of.id]}), "a array<bigint>, m map<string,bigint>"),
        "structs": pandas(lambda of: pd.DataFrame({"p": [{"n": n, "s": None} for n in of.id]}), "p struct<n:bigint,s:string>"),
        "empty": pandas(lambda of: pd.DataFrame(), "id bigint"),
        "empty with columns": pandas(lambda of: of[["id"]][:0], "id bigint"),
        "of one name": pandas(lambda of: of[["id"]], "id bigint, id bigint"),
        "a series": pandas(lambda of: of.id, "id bigint"),
        "batches": arrow(lambda of: of_two(of, True), "id bigint, s string"),
        "batches without nulls": arrow(lambda of: of_two(of, False), "id bigint, s string"),
        "strict batches": arrow(lambda of: of_two(of, False), STRICT),
        "strict batches with nulls allowed": arrow(lambda of: of_two(of, True), STRICT),
        "other names": arrow(lambda of: pa.RecordBatch.from_arrays([ids(of)], ["other"]), "id bigint"),
        "other order": arrow(lambda of: pa.RecordBatch.from_arrays([of.column(2), ids(of)], ["s", "id"]), "id bigint, s string"),
        "some of them": arrow(lambda of: of, "id bigint"),
        "more of batches": arrow(lambda of: of, "id bigint, k bigint"),
        "other type": arrow(lambda of: pa.RecordBatch.from_arrays([ids(of, pa.int32())], ["id"]), "id bigint"),
        "large texts": arrow(lambda of: pa.RecordBatch.from_arrays([of.column(2).cast(pa.large_string())], ["s"]), "s string"),
        "dictionary": arrow(lambda of: pa.RecordBatch.from_arrays([of.column(2).dictionary_encode()], ["s"]), "s string"),
        "nanoseconds": arrow(lambda of: pa.RecordBatch.from_arrays([ids(of, pa.timestamp("ns"))], ["t"]), "t timestamp_ntz"),
        "other zone": arrow(lambda of: pa.RecordBatch.from_arrays([ids(of, pa.timestamp("us", "Asia/Tokyo"))], ["t"]), "t timestamp"),
        "digits": arrow(lambda of: pa.RecordBatch.from_arrays([ids(of, pa.decimal128(38, 0)).cast(pa.decimal128(20, 0))], ["d"]), "d decimal(20,0)"),
        "fewer digits": arrow(lambda of: pa.RecordBatch.from_arrays([ids(of, pa.decimal128(38, 0))], ["d"]), "d decimal(20,0)"),
        "nothing": arrow(lambda of: pa.RecordBatch.from_arrays([pa.nulls(of.num_rows)], ["v"]), "v void"),
        "a table": arrow(lambda of: pa.Table.from_batches([of]), "id bigint"),
    }


def validated(run):
    """The same where Spark looks at the types of what comes."""
    run.spark.conf.set("spark.sql.execution.arrow.pyspark.validateSchema.enabled", True)
    found = types_of_results(run)
    run.spark.conf.unset("spark.sql.execution.arrow.pyspark.validateSchema.enabled")
    return found


def type_or_rows(make):
    return answer_or_error(lambda: rows(make()))


def failures(run):
    frame = table(run, 10, 2)

    def late(frames):
        for frame in frames:
            yield frame[["id"]]
        raise ValueError("at the end")

    def stops(frames):
        for frame in frames:
            raise StopIteration("enough")
            yield frame

    return {
        "raises": thrown(lambda: frame.mapInPandas(lambda frames: ([][len(frame)] for frame in frames), "id bigint").collect()),
        "raises for batches": thrown(lambda: frame.mapInArrow(lambda batches: ([][batch.num_rows] for batch in batches), "id bigint").collect()),
        "raises at the end": thrown(lambda: frame.mapInPandas(late, "id bigint").collect()),
        "stops": type_of(lambda: frame.mapInPandas(stops, frame.schema).collect()),
        "exits": type_of(lambda: frame.mapInPandas(lambda frames: __import__("os")._exit(3), frame.schema).collect()),
        "no iterator": type_of(lambda: frame.mapInPandas(lambda frames: 1, frame.schema).collect()),
        "a list": type_or_rows(lambda: frame.mapInPandas(lambda frames: list(frames), frame.schema)),
        "a list of batches": type_or_rows(lambda: frame.mapInArrow(lambda batches: list(batches), frame.schema)),
        "an inner one": thrown(lambda: frame.mapInArrow(lambda batches: ([][batch.num_rows] for batch in batches), "id bigint").mapInPandas(same, "id bigint").collect()),
    }


def scans(run):
    frame = run.spark.read.parquet(run.directory)
    return {
        "frames": digest(rows(frame.mapInPandas(thinned, frame.schema).orderBy("id"))),
        "batches": digest(rows(frame.filter("id % 2 = 0").mapInArrow(doubled, frame.schema).orderBy("id", "s"))),
        "counts": rows(frame.mapInArrow(counted_batches, "rows bigint").groupBy().sum("rows")),
    }


def main(result, directory):
    run = Themes(SparkSession.builder.getOrCreate())
    run.other_compressor, run.directory = True, directory
    table(run, 30_000, 2).write.mode("overwrite").parquet(directory)
    for body, metrics in [(types, "exact"), (forms, "none"), (cached, "none"), (batches, "none"), (surroundings, "none"), (types_of_results, "none"), (validated, "none"), (scans, "none"), (failures, "none")]:
        run.run(body.__name__, body, metrics)
    run.count_tasks()
    run.result |= {"version": run.spark.version}
    run.write(result)
    run.spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
