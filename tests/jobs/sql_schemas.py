"""Which columns Parquet files have, for `spark.read.parquet` without a schema: the job that Spark runs to find out.

usage: spark-submit sql_schemas.py RESULT SCRATCH KIND. KIND is `native` for files that need no JVM, `left` for those that do."""

import datetime
import decimal
import json
import os
import sys

import pyarrow
import pyarrow.parquet
from pyspark.sql import SparkSession
from support import Themes, mask, wait_for

BY_SPARK = b"org.apache.spark.sql.parquet.row.metadata"


def field(name, kind, nullable=True, metadata=None):
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata or {}}


SIMPLE = ["boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz", "decimal(9,2)",
          "decimal(38,38)"]
ARRAY = {"type": "array", "elementType": "integer", "containsNull": False}
MAP = {"type": "map", "keyType": "string", "valueType": "decimal(20,0)", "valueContainsNull": True}
STRUCT = {"type": "struct", "fields": [field("x", "long", False), field("y", ARRAY)]}

FLAT = pyarrow.schema([
    ("flag", pyarrow.bool_()), ("i8", pyarrow.int8()), ("i16", pyarrow.int16()), pyarrow.field("i32", pyarrow.int32(), nullable=False),
    ("i64", pyarrow.int64()), ("u8", pyarrow.uint8()), ("u16", pyarrow.uint16()), ("u32", pyarrow.uint32()), ("u64", pyarrow.uint64()),
    ("f32", pyarrow.float32()), ("f64", pyarrow.float64()), ("text", pyarrow.string()), ("bytes", pyarrow.binary()),
    ("fixed", pyarrow.binary(5)), ("day", pyarrow.date32()), ("milliseconds", pyarrow.timestamp("ms")), ("microseconds", pyarrow.timestamp("us")),
    ("instant", pyarrow.timestamp("us", tz="UTC")), ("d5", pyarrow.decimal128(5, 2)), ("d18", pyarrow.decimal128(18, 0)),
    ("d38", pyarrow.decimal128(38, 10)), ("Flag 2", pyarrow.bool_()), ("ä", pyarrow.string())])


def write(path, schema, **options):
    pyarrow.parquet.write_table(schema.empty_table(), path, **options)
    return path


def as_spark(path, *fields):
    text = json.dumps({"type": "struct", "fields": list(fields)})
    # What the file itself says does not matter then.
    return write(path, pyarrow.schema([("a", pyarrow.int32())], metadata={BY_SPARK: text.encode()}))


def columns(run, path, **options):
    frame = run.spark.read.options(**options).parquet(path)
    return [json.loads(frame.schema.json()), frame.columns]


def by_spark(run, scratch):
    fields = [field(f"c{place}", kind, place % 2 == 0) for place, kind in enumerate(SIMPLE)]
    return columns(run, as_spark(f"{scratch}/by spark %20.parquet", *fields, field("nested", STRUCT), field("map", MAP)))


def by_others(run, scratch):
    found = [columns(run, write(f"{scratch}/others-{version}.parquet", FLAT, version=version, store_schema=False))
             for version in ["1.0", "2.6"]]
    for setting, value in [("binaryAsString", "true"), ("inferTimestampNTZ.enabled", "false")]:
        name = f"spark.sql.parquet.{setting}"
        before = run.spark.conf.get(name)
        run.spark.conf.set(name, value)
        found.append(columns(run, f"{scratch}/others-2.6.parquet"))
        run.spark.conf.set(name, before)
    return found


def instants(run, scratch):
    path = f"{scratch}/instants.parquet"
    table = pyarrow.table({"t": pyarrow.array([datetime.datetime(2020, 1, 1)], pyarrow.timestamp("ns"))})
    pyarrow.parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    return columns(run, path)


def merged(run, scratch):
    os.makedirs(f"{scratch}/same")
    for number in range(9):
        write(f"{scratch}/same/{number}.parquet", FLAT)
    return columns(run, f"{scratch}/same", mergeSchema="true")


def nested(run, scratch):
    return columns(run, write(f"{scratch}/nested.parquet", pyarrow.schema([("a", pyarrow.list_(pyarrow.int32()))])))


def listed(run, scratch):
    """Jobs that list the files of many directories, and of many files."""
    import glob
    import shutil

    spark, table = run.spark, f"{scratch}/listed"
    values = ["a b", "1%2", "ä", "x=y", "{z}", "+&?#", "__HIVE_DEFAULT_PARTITION__"]
    for number in range(40):
        directory = f"{table}/p={values[number % 7] if number % 7 < 6 else values[6]}{number}/q={number % 3}"
        os.makedirs(directory)
        # As Java escapes them, so that they stand for values.
        write(f"{directory}/part {number}-ü%20.parquet", FLAT)
    for name in ["_SUCCESS", ".hidden.parquet", "p=1/_temporary/0/x.parquet", "p=1/.spark-staging/x.parquet", "p=1/x._COPYING_"]:
        path = f"{table}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"nobody reads this")
    os.symlink(f"{scratch}/nothing", f"{table}/p=1/gone.parquet")
    os.makedirs(f"{table}/p=empty")
    deep = f"{scratch}/deep"
    for name in ["_p=3", "_q", "a/b/c", "a/.d", "e"]:
        shutil.copytree(f"{table}/p=ä2/q=2", f"{deep}/{name}")
    os.symlink(f"{table}/p=ä2/q=2", f"{deep}/linked")

    def found(frame):
        names = sorted(name.replace(scratch, "<scratch>") for name in frame.inputFiles())
        return [names, json.loads(frame.schema.json())]

    results = []
    threshold, parallelism = (f"spark.sql.sources.parallelPartitionDiscovery.{name}" for name in ["threshold", "parallelism"])
    spark.conf.set(parallelism, "6")
    # Roots with other signs are patterns.
    files = [name for name in sorted(glob.glob(f"{table}/p=*/q=*/*.parquet")) if not set(name) & set("{?")]
    for roots, options in [([table], {}), ([f"{table}/p=a b0", f"{table}/p=ä2"], {"basePath": table}), (files, {}),
                           ([table], {"ignoreMissingFiles": "true"}), ([table], {"pathGlobFilter": "*1*"}), ([table], {"recursiveFileLookup": "true"}),
                           ([deep], {"recursiveFileLookup": "true"})]:
        for limit in ["0", "20", "1000"]:
            spark.conf.set(threshold, limit)
            results.append(found(spark.read.options(**options).parquet(*roots)))
    spark.conf.set(threshold, "0")
    spark.conf.set("spark.sql.sources.ignoreDataLocality", "true")
    results.append(found(spark.read.parquet(table)))
    for name in [threshold, parallelism, "spark.sql.sources.ignoreDataLocality"]:
        spark.conf.unset(name)
    return results


def different(run, scratch):
    os.makedirs(f"{scratch}/different")
    # More than one of them in each task.
    for number in range(16):
        write(f"{scratch}/different/{number:02}.parquet", pyarrow.schema([("ab"[number % 2], pyarrow.int32())]))
    return columns(run, f"{scratch}/different", mergeSchema="true")


def commented(run, scratch):
    return columns(run, as_spark(f"{scratch}/commented.parquet", field("a", "long", True, {"comment": "a number"})))


def broken(run, scratch):
    path = f"{scratch}/broken.parquet"
    with open(path, "wb") as file:
        file.write(b"PAR1 this is no file of columns PAR1")
    try:
        return columns(run, path)
    except Exception as error:
        # Behind the first line, which has a number of the driver's, and the stack traces.
        return [type(error).__name__] + [mask(line) for line in str(error).splitlines() if line.startswith("Caused by: ")]


KINDS = {
    "native": [("by spark", by_spark), ("by others", by_others), ("instants", instants), ("merged", merged), ("listed", listed)],
    "left": [("nested", nested), ("different", different), ("commented", commented), ("broken", broken)],
}


def main(result, scratch, kind):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    wait_for("two executors", lambda: len(run.rest.executors()) == 2, 200)
    for name, body in KINDS[kind]:
        run.run(name, lambda themes, body=body: body(themes, scratch), "none" if kind == "left" else "exact")
    run.count_tasks()
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


main(*sys.argv[1:])
