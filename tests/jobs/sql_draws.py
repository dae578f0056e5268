"""What depends on the partition, and on which of its rows it is for: random numbers, ids of rows, numbers of partitions, metadata of files.

usage: spark-submit sql_draws.py RESULT SCRATCH KIND. KIND is `native` for what is computed without a JVM, `left` for what Spark alone knows."""

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

DRAWS = ["rand(7) r", "randn(7) n", "monotonically_increasing_id() m", "spark_partition_id() p", "rand(-9223372036854775808) q", "randn(3) o"]
MADE = ["case when rand(1) < 0.5 then id else -id end c", "floor(rand(2) * 10) f", "round(rand(3), 2) d", "cast(randn(4) * 100 as int) i", "rand(5) + rand(5) s", "if(rand(6) > 0.25, 'more', 'less') t", "named_struct('a', rand(8), 'b', monotonically_increasing_id()) b",
        "0 / rand(9) z", "-randn(10) u", "monotonically_increasing_id() % 7 v"]


def text(value):
    return value.hex() if isinstance(value, float) else [text(item) for item in value] if isinstance(value, tuple) else str(value)


def in_order(frame):
    return [[text(cell) for cell in row] for row in frame.collect()]


def sorted_rows(frame):
    return sorted(in_order(frame))


def uuid(spark, seed):
    """The column that `uuid()` is, with a seed, which SQL has no word for."""
    expression = spark._jvm.org.apache.spark.sql.catalyst.expressions.Uuid(spark._jvm.scala.Some(seed))
    if spark.version.startswith("3."):
        from pyspark.sql.column import Column
        return Column(spark._jvm.org.apache.spark.sql.Column(expression))
    from pyspark.sql.classic.column import Column
    return Column(spark._jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))


FACTS = ["input_file_name() f", "input_file_block_start() s", "input_file_block_length() l"]


def of_files(spark, scratch):
    """What is asked of the files that rows are of, with names that URLs write in another way."""
    folder = os.path.join(scratch, "names")
    os.makedirs(folder, exist_ok=True)
    names = ["first.txt", "a b%20+é#1=,;.txt", "empty.txt"]
    for name in names:
        with open(os.path.join(folder, name), "w") as file:
            file.writelines(f"{name[0]} {line}\n" for line in range(0 if name[0] == "e" else 9))
    lines, parts = spark.read.text(folder), spark.read.option("header", "true").csv(folder)

    def rows(frame):
        return sorted([cell.replace(scratch, "SCRATCH") if isinstance(cell, str) else text(cell) for cell in row] for row in frame.collect())

    yield "files of rows", rows(lines.selectExpr("value", *FACTS))
    yield "files, none of which is missing", rows(spark.read.option("ignoreMissingFiles", "true").text(folder).selectExpr("value", "length(input_file_name()) > 0"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "30")
    yield "parts of files", rows(spark.read.text(folder).selectExpr("value", *FACTS, "spark_partition_id() >= 0 p"))
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    yield "files that are filtered", rows(lines.where("input_file_name() like '%/first%' and value <> 'f 3'"))
    yield "files behind filters", rows(lines.where("value < 'f 4'").where("value like '%1' or value like '%3'").selectExpr("concat(value, '!') v", *FACTS).where("s = 0").selectExpr("v", "length(f) - length(regexp_replace(f, '%', '')) n"))
    yield "files that are counted", rows(lines.groupBy(F.input_file_name().alias("f")).agg(F.count("*"), F.max("value")))
    yield "files of both", rows(lines.selectExpr("value", *FACTS).union(spark.read.text(os.path.join(folder, "first.txt")).selectExpr("upper(value)", *FACTS)))
    yield "files of records", rows(parts.selectExpr("*", *FACTS).withColumnRenamed(parts.columns[0], "c").selectExpr("c", "f", "s"))


def of_metadata(spark, scratch):
    """The hidden column `_metadata` of files of all formats, in folders with names that URLs write in another way."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = os.path.join(scratch, "metadata")
    for part in ["k=1%2F2 3+a", "k=__HIVE_DEFAULT_PARTITION__"]:
        for form in ["text", "csv", "json", "parquet"]:
            os.makedirs(os.path.join(folder, form, part))
            path = os.path.join(folder, form, part, f"it's, (one)#;~&@.{form}")
            if form == "parquet":
                columns = {"id": list(range(1000)), "s": [f"s{row % 50}" for row in range(1000)], "n": [None if row % 3 else row for row in range(1000)]}
                pq.write_table(pa.table(columns), path, row_group_size=170)
            else:
                with open(path, "w") as file:
                    file.writelines('{"a": %d}\n' % line if form == "json" else f"{line}\n" for line in range(12))
            os.utime(path, (1_700_000_000, 1_700_000_000.123))

    def rows(frame):
        return sorted(json.dumps([text(cell) for cell in row]).replace(scratch, "SCRATCH") for row in frame.collect())

    def of(form):
        return spark.read.schema({"text": "value string", "csv": "c int", "json": "a int", "parquet": "id bigint, n bigint, s string"}[form] + ", k string").format(form).load(os.path.join(folder, form))

    for form in ["text", "csv", "json", "parquet"]:
        yield f"fields of {form}", rows(of(form).selectExpr("*", "_metadata.file_path p", "_metadata.file_name n1", "_metadata.file_size z", "_metadata.file_block_start b", "_metadata.file_block_length l", "_metadata.file_modification_time m").where("k is null or hash(n1) <> 0"))
        yield f"one field of {form}", rows(of(form).selectExpr("_metadata.file_name"))
        yield f"whole metadata of {form}", rows(of(form).selectExpr("_metadata m", "k").distinct())
        yield f"filtered {form}", rows(of(form).where("_metadata.file_path like '%HIVE%' and _metadata.file_size > 3").selectExpr("*", "_metadata.file_size + 1"))
        yield f"counted {form}", rows(of(form).groupBy("_metadata.file_path").agg(F.count("*"), F.max("_metadata.file_modification_time")))
    table = of("parquet")
    for size in ["128m", "2000"]:
        spark.conf.set("spark.sql.files.maxPartitionBytes", size)
        yield f"places of rows in parts of {size}", rows(table.selectExpr("id", "_metadata.row_index - id d", "_metadata.row_index", "k", "_metadata.file_block_start >= 0"))
        yield f"places alone in parts of {size}", rows(table.selectExpr("_metadata.row_index"))
        yield f"places of some rows in parts of {size}", rows(table.where("id > 600 and n is not null and _metadata.row_index < 700").selectExpr("s", "_metadata.row_index"))
        yield f"places by place in parts of {size}", rows(table.where("_metadata.row_index in (0, 169, 170, 999)").selectExpr("id", "_metadata.row_index", "_metadata.file_name"))
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    yield "joined by places", rows(table.selectExpr("id", "_metadata.row_index r", "_metadata.file_path f").alias("a").join(table.selectExpr("_metadata.row_index + 1 r", "_metadata.file_path f", "s").alias("b"), ["r", "f"]).groupBy("f").agg(F.sum("id"), F.max("s")))


def native(spark, files):
    folder = os.path.dirname(files[0])
    yield from of_files(spark, folder)
    yield from of_metadata(spark, folder)
    table, numbers = spark.read.parquet(*files), spark.range(0, 3000, 1, 4)
    yield "range", in_order(numbers.selectExpr("id", *DRAWS))
    yield "files", in_order(table.selectExpr("id", *DRAWS))
    ids = [uuid(spark, seed).alias(f"u{place}") for place, seed in enumerate([7, -9223372036854775808, 1 << 33])]
    yield "random ids", [in_order(frame.select("id", *ids)) for frame in (numbers, table.where("x > 50"))]
    made = [F.concat(F.lit("a"), uuid(spark, 1), F.col("id")), F.upper(F.substring(uuid(spark, 2), 2, 5)), F.concat(uuid(spark, 3), F.when(F.col("id") > 9, "b")), F.length(uuid(spark, 4))]
    yield "made of random ids", in_order(numbers.select("id", *made))
    if not spark.version.startswith("3."):
        yield "random texts", in_order(numbers.selectExpr("randstr(7, 3) a", "randstr(0, 4) b", "uniform(1, 10, 5) c", "uniform(-1.5, 2.5F, 6) d", "uniform(cast(1 as decimal(5,2)), 3.5, 7) e"))
    yield "made", in_order(table.selectExpr("id", *MADE))
    yield "filtered", in_order(table.where("x > 10 and k <> 3").selectExpr("id", "x", *DRAWS))
    yield "above", in_order(table.selectExpr("id", "x", *DRAWS).where("r < 0.3 and x < 80"))
    yield "by chance", in_order(table.where("rand(11) < 0.2").selectExpr("id"))
    yield "by chance again", in_order(table.where("x > 5").where("id % 3 = 0").selectExpr("id").where("rand(12) >= 0.5"))
    yield "some columns", in_order(table.selectExpr("id", "rand(1) a", "rand(2) b", "rand(3) c").selectExpr("b", "id"))
    yield "sorted", in_order(table.orderBy(F.rand(13), "id").select("id"))
    yield "grouped", sorted_rows(table.selectExpr("floor(rand(14) * 5) g", "x").groupBy("g").agg(F.count("*"), F.sum("x")))
    yield "sampled", in_order(table.sample(fraction=0.3, seed=16))
    yield "sampled twice", in_order(table.where("x > 20").sample(0.9, 17).select("id", "s").sample(0.05, 18))
    yield "sampled, none and all", [in_order(numbers.sample(fraction=share, seed=19)) for share in [0.0, 1.0]]
    yield "sampled above", sorted_rows(numbers.sample(fraction=0.5, seed=-20).groupBy(F.col("id") % 7).count())
    yield "split", [in_order(part) for part in numbers.selectExpr("id", "cast(id % 9 as string) s").randomSplit([1.0, 2.0, 0.5], seed=21)]
    yield "split behind a shuffle", [in_order(part) for part in table.select("id", "k", "s").repartition(3, "k").randomSplit([3.0, 1.0], seed=22)]
    yield "values", in_order(spark.sql("select *, rand(15) r, monotonically_increasing_id() m from values (1, 'a'), (2, 'b'), (3, 'c') as t(k, s)"))
    shuffled = table.repartition(5, "k").selectExpr("id", "spark_partition_id() p", "case when x > 50 then spark_partition_id() end q")
    yield "shuffled", sorted_rows(shuffled)
    joined = table.join(F.broadcast(spark.range(10).withColumnRenamed("id", "k")), "k").selectExpr("id", "spark_partition_id() p")
    yield "joined", sorted_rows(joined)
    yield "counted", sorted_rows(numbers.groupBy(F.spark_partition_id()).count())


def without_files(spark, files):
    """What is asked of files where rows do not come from them one by one."""
    table = spark.read.parquet(*files).selectExpr("id", "k")
    joined = table.join(F.broadcast(spark.range(10).withColumnRenamed("id", "k")), "k")
    for name, frame in {"joined": joined, "sorted": table.repartition(2, "k"), "range": spark.range(9)}.items():
        yield f"files of what is {name}", len(frame.selectExpr("id", "input_file_name() f").distinct().collect())


def missing(spark, folder):
    """Files that go after they were listed."""
    os.makedirs(folder)
    for name in ["a", "b", "c"]:
        with open(os.path.join(folder, name), "w") as file:
            file.writelines(f"{name} {line}\n" for line in range(5))
    lines = spark.read.option("ignoreMissingFiles", "true").text(folder)
    yield "all files", sorted_rows(lines)
    os.remove(os.path.join(folder, "b"))
    yield "a file less", sorted_rows(lines)


def left(spark, files):
    table = spark.read.parquet(*files)
    ids = table.selectExpr("id", "monotonically_increasing_id() m", "rand(1) r")
    yield "union", in_order(ids.union(spark.range(0, 100, 1, 2).selectExpr("id", "monotonically_increasing_id()", "rand(1)")))
    yield "coalesced", in_order(ids.coalesce(2))
    yield "perhaps", in_order(table.selectExpr("id", "nullif(k, 3) + rand(1) r", "coalesce(nullif(x, 7), rand(2) * 100) c"))
    yield "behind and", in_order(table.where("x > 50 and rand(3) < 0.5").select("id"))
    yield "cached", in_order(ids.cache())
    yield "sample behind a shuffle", [len(table.repartition(3, "k").sample(fraction=1.0, seed=4).collect())]
    yield "sample of the same row again", [len(spark.range(0, 10, 1, 1).sample(True, 50.0, 5).distinct().collect())]
    yield "sorted", [len(table.sortWithinPartitions("k").selectExpr("id", "monotonically_increasing_id() m").distinct().collect())]
    yield from without_files(spark, files)
    yield "perhaps an id", in_order(table.select("id", F.concat(F.expr("nullif(x, 3)"), uuid(spark, 3))))
    yield from missing(spark, os.path.join(os.path.dirname(files[0]), "missing"))
    # The folder's name is not ASCII: whether its letters are encoded, and once or twice, depends on who says it.
    table.limit(9).write.json(os.path.join(os.path.dirname(files[0]), "é"))
    yield "metadata", [row.p.rsplit("/", 2)[-2] for row in spark.read.json(os.path.join(os.path.dirname(files[0]), "é")).selectExpr("_metadata.file_path p").collect()]
    yield "shuffled", [len({row.m for row in table.repartition(3).selectExpr("monotonically_increasing_id() m").collect()})]


def main():
    result, scratch, kind = sys.argv[1:4]
    builder = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.adaptive.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.files.openCostInBytes", "128m").config("spark.sql.shuffle.partitions", "3").getOrCreate()
    # A partition of each file, the largest first: the same on both sides, whoever writes them.
    files = [os.path.join(scratch, f"draws-{kind}-{count}") for count in [12000, 3000, 7000]]
    for path in files:
        rows = spark.range(0, int(path.rsplit("-")[-1]), 1, 1).selectExpr("id", "id % 10 k", "hash(id) % 100 x", "sha2(cast(cast(id as string) as binary), 256) s")
        rows.write.option("parquet.block.size", 100000).parquet(path)
    answers = dict((native if kind == "native" else left)(spark, files))
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}}, file, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
