"""Tables of Parquet files that are written in every way: which files there are, what is in them, what the driver is told of them, and what Spark's own readers find there.

usage: spark-submit sql_writes.py RESULT DIRECTORY"""

import glob
import json
import os
import re
import subprocess
import sys

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from sql_cached import VALUES
from sql_random import counters
from support import Rest, digest, mask, thrown, wait_for

ATTEMPT = re.compile(r"attempt_\d+_")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
REBASE = ["datetimeRebaseModeInWrite", "int96RebaseModeInWrite"]


def files(directory):
    """All files and directories below a directory, without what differs between two runs."""
    found = []
    for path, _, names in os.walk(directory):
        below = os.path.relpath(path, directory)
        found += [UUID.sub("uuid", os.path.join(below, name)) for name in names] or [f"{below}/"]
    return sorted(found)


def footer(path):
    """What a file says of itself, as far as both sides are to say the same."""
    of = pq.ParquetFile(path)
    pairs = {key.decode(): value.decode() for key, value in (of.metadata.metadata or {}).items()}
    group = of.metadata.row_group(0) if of.metadata.num_row_groups else None
    columns = [group.column(at) for at in range(group.num_columns)] if group else []
    return {
        "schema": str(of.metadata.schema).split("\n", 1)[1],
        "rows": of.metadata.num_rows,
        "pairs": {key: value for key, value in pairs.items() if key.startswith("org.apache.spark")},
        "codecs": sorted({column.compression for column in columns}),
        "by a library that Spark knows": of.metadata.created_by.startswith("parquet-mr"),
        "bounds": {column.path_in_schema: bounds(column) for column in columns},
        "values": digest([str(row) for row in of.read().to_pylist()]) if "INT96" not in str(of.metadata.schema) else None,
    }


def bounds(column):
    """The least and the greatest value, where readers rely on them."""
    if not column.is_stats_set or column.physical_type == "INT96" or not column.statistics.has_min_max:
        return None
    # Readers take both zeros for one.
    least, greatest = [0.0 if value == 0.0 and isinstance(value, float) else value for value in (column.statistics.min, column.statistics.max)]
    # An undefined one is no bound.
    return None if greatest != greatest else [str(least), str(greatest), column.statistics.null_count]


class Writes:
    def __init__(self, spark, directory):
        self.spark, self.directory, self.answers, self.tables = spark, directory, {}, []
        self.rest = Rest(spark.sparkContext)

    def path(self, name):
        return os.path.join(self.directory, re.sub(r"\W+", "-", name))

    def told(self):
        """What the driver was told of the last query: its SQL metrics but for sizes and times, and its tasks' numbers."""
        self.rest.drain()
        metrics = wait_for("the metrics of a query", self.metrics)
        stage = self.rest.get("stages?length=100000")[0]
        query = self.rest.get("sql?length=100000&planDescription=false")[-1]
        return {"metrics": metrics, "records": stage["outputRecords"], "bytes": stage["outputBytes"], "status": query["status"]}

    def metrics(self):
        """Those of the last write, once they have been added up."""
        metrics = {}
        for node in self.rest.get("sql?length=100000&planDescription=false")[-1]["nodes"]:
            if node["nodeName"].startswith(("Execute", "WriteFiles")):
                metrics |= {metric["name"]: metric["value"] for metric in node["metrics"] if "time" not in metric["name"] and metric["name"] != "written output"}
        return metrics

    def write(self, name, frame, partitions=(), mode="errorifexists", path=None, **options):
        """Writes a table, and looks at what is there."""
        path = path or self.path(name)
        writer = frame.write.mode(mode).options(**options)
        if partitions:
            writer = writer.partitionBy(*partitions)
        writer.parquet(path)
        # Of a table that is there already, the driver runs nothing.
        told = self.told() if mode != "ignore" else {"bytes": 0}
        parts = sorted(glob.glob(f"{path}/**/*.parquet", recursive=True))
        if mode == "errorifexists":
            # Of tables that nothing was in.
            size = sum(os.path.getsize(part) for part in parts)
            told["bytes are those of the files"] = told.pop("bytes") == size or [told, size]
        else:
            del told["bytes"]
        self.answers[name] = {"files": files(path), "told": told, "footers": sorted(json.dumps([UUID.sub("uuid", os.path.relpath(part, path)), footer(part)], sort_keys=True) for part in parts[:12])}
        if path not in self.tables:
            self.tables.append(path)

    def thrown(self, name, what):
        """An error, and what is left of the table."""
        error = thrown(what)
        self.answers[name] = {"error": ATTEMPT.sub("attempt_n_", mask(UUID.sub("uuid", json.dumps(error, default=str))))[:400], "left": files(self.path(name)) if os.path.isdir(self.path(name)) else None}


def typed(spark, rows, parts):
    """Rows of all types that files have."""
    columns = []
    for place, (name, (of, values)) in enumerate(VALUES.items()):
        if of == "void":
            continue
        pick = f"array({', '.join(f'CAST({value} AS {of})' for value in values)})[CAST(pmod(id * {place + 1} + id DIV {5 + place}, {len(values)}) AS int)]"
        columns.append(f"{pick} AS {name}")
    columns.append("array(named_struct('t', TIMESTAMP'2020-01-01 00:00:00', 'm', map(id, named_struct('d', CAST(id AS decimal(20,3)), 'n', CAST(NULL AS date))))) AS deep")
    return spark.range(0, rows, 1, parts).selectExpr("id", *columns)


def types(run):
    """Every type, in every format that there is for it."""
    spark = run.spark
    frame = typed(spark, 200, 2)
    for mode in REBASE:
        spark.conf.set(f"spark.sql.parquet.{mode}", "CORRECTED")
    for kept in ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"]:
        spark.conf.set("spark.sql.parquet.outputTimestampType", kept)
        run.write(f"types with {kept}", frame)
    spark.conf.unset("spark.sql.parquet.outputTimestampType")
    run.write("types without dictionaries", frame, **{"parquet.enable.dictionary": "false"})
    run.write("types in small groups", frame, **{"parquet.block.size": "4096"})
    for codec in ["none", "snappy", "gzip", "zstd", "lz4_raw"]:
        run.write(f"codec {codec}", spark.range(0, 5000, 1, 1).selectExpr("id", "CAST(id % 10 AS string) AS s", "id / 7 AS d"), compression=codec)
    run.write("numbers with nothing undefined", spark.range(0, 100, 1, 1).selectExpr("id - 50 AS n", "CAST(id - 50 AS double) AS d", "CAST(-0.0 AS float) AS z"))
    run.write("numbers, some of them undefined", spark.range(0, 100, 1, 1).selectExpr("IF(id % 9 = 0, double('NaN'), id - 50) AS d", "array(IF(id = 3, float('NaN'), 1)) AS a"))
    run.write("names", spark.range(3).selectExpr("id AS `a b`", "id AS `ä€`", "named_struct('x.y', id, 'z', id) AS `s.t`").coalesce(1))
    for mode in REBASE:
        spark.conf.unset(f"spark.sql.parquet.{mode}")


def shapes(run):
    """Tables without rows, of driver's rows, of unions; rows in an order; few rows in a file."""
    spark = run.spark
    rows = spark.range(0, 1000, 1, 4).selectExpr("id", "id % 7 AS k", "CAST(id AS string) AS s")
    run.write("no rows", rows.where("id < 0"))
    run.write("rows in the last part only", rows.where("id > 990"))
    run.write("no rows of a local table", spark.sql("SELECT 1 AS a, 'x' AS b WHERE false"))
    run.write("limit 0", rows.limit(0))
    run.write("local table", spark.sql("SELECT * FROM VALUES (1, 'a'), (2, NULL), (NULL, '') AS v(x, y)"))
    run.write("one row", spark.sql("SELECT 1 AS a"))
    run.write("union", rows.where("id < 10").union(rows.where("id > 995")).union(spark.sql("SELECT 1L, 2L, NULL")))
    run.write("groups", rows.groupBy("k").agg({"id": "sum", "s": "max"}).coalesce(1).sortWithinPartitions("k"))
    run.write("joined", rows.join(spark.range(0, 7).selectExpr("id AS k", "id * 2 AS twice").hint("broadcast"), "k").coalesce(2))
    run.write("in an order", rows.repartition(1).sortWithinPartitions("k", "s"))
    run.write("in a whole order", rows.orderBy("s").coalesce(1))
    for most in [1, 10, 100, 250, 1000]:
        run.write(f"{most} rows in a file", rows.where(f"id % {1000 // most if most < 100 else 1} = 0"), maxRecordsPerFile=str(most))
    cached = rows.where("k < 3").cache()
    run.write("of a cached table", cached)
    cached.unpersist(blocking=True)
    run.write("read and written", spark.read.parquet(run.path("in an order")))


def partitions(run):
    """Rows that are divided by the values of columns of every type, odd ones among them."""
    spark = run.spark
    texts = ["'a'", "''", "NULL", "'a/b'", "'ä€'", "'x=y%z'", "'{b}[c]^d'", "' '", "'..'", "'a:b'", "'q''r\"'", "'\\\\\\\\'", "'\\t\\n'", "'__HIVE_DEFAULT_PARTITION__x'", "'*?#'"]
    rows = spark.range(0, 300, 1, 3)
    run.write("by texts", rows.selectExpr("id", f"array({', '.join(texts)})[CAST(id % {len(texts)} AS int)] AS p"), ["p"])
    run.write("by numbers", rows.selectExpr("id", "CAST(id % 3 AS tinyint) AS a", "IF(id % 5 = 0, NULL, id % 2 - 1) AS b"), ["a", "b"])
    run.write("by dates", rows.selectExpr("id", "date_add(DATE'2020-02-28', CAST(id % 3 AS int)) AS d", "id % 2 = 0 AS f"), ["d", "f"])
    run.write("by old dates", rows.selectExpr("id", "array(DATE'0001-01-01', DATE'1582-10-04', DATE'9999-12-31')[CAST(id % 3 AS int)] AS d"), ["d"])
    run.write("by timestamps", rows.selectExpr("id", "timestamp_micros(1600000000000000 + id % 4 * 1800123456) AS t"), ["t"])
    run.write("by local timestamps", rows.selectExpr("id", "TIMESTAMP_NTZ'2020-03-29 02:30:00' AS t"), ["t"])
    run.write("by decimals", rows.selectExpr("id", "CAST(id % 3 / 2 AS decimal(10,2)) AS p", "CAST(id % 2 AS decimal(30,5)) AS w"), ["p", "w"])
    run.write("by a column with an odd name", rows.selectExpr("id", "id % 2 AS `a=b c`"), ["a=b c"])
    run.write("without rows", rows.where("id < 0").selectExpr("id", "id % 3 AS p"), ["p"])
    run.write("few rows in a file of a partition", rows.coalesce(1).selectExpr("id", "id % 3 AS p"), ["p"], maxRecordsPerFile="40")
    run.write("in an order in partitions", rows.coalesce(1).selectExpr("id", "id % 3 AS p", "hash(id) AS h").sortWithinPartitions("p", "h"), ["p"])
    run.write("in the time zone of an option", rows.selectExpr("id", "timestamp_seconds(1600000000) AS t"), ["t"], timeZone="Asia/Tokyo")


def modes(run):
    """Tables that are there already."""
    spark = run.spark
    path = run.path("modes")
    rows = spark.range(0, 40, 1, 2).selectExpr("id", "id % 4 AS p")
    run.write("first", rows, path=path)
    run.write("appended", rows.where("id < 5"), mode="append", path=path)
    run.write("ignored", rows, mode="ignore", path=path)
    run.write("over it", rows.where("id >= 30"), mode="overwrite", path=path)
    path = run.path("modes of partitions")
    run.write("first partitions", rows, ["p"], path=path)
    run.write("appended partitions", rows.selectExpr("id + 100 AS id", "p + 2 AS p"), ["p"], mode="append", path=path)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    run.write("over some partitions", rows.where("p < 2").selectExpr("-id AS id", "p"), ["p"], mode="overwrite", path=path)
    run.write("over many partitions", spark.range(0, 60, 1, 2).selectExpr("id", "id % 12 AS p"), ["p"], mode="overwrite", path=path)
    run.write("over none", rows.where("id < 0"), ["p"], mode="overwrite", path=path)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    run.write("over all partitions", rows.where("p = 3"), ["p"], mode="overwrite", path=path)
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def tables(run):
    """Tables of the catalog."""
    spark = run.spark
    spark.sql("CREATE TABLE plain USING parquet AS SELECT id, id * 2 AS twice, CAST(id AS string) AS s FROM range(0, 50, 1, 2)")
    spark.sql("INSERT INTO plain SELECT id, NULL, 'new' FROM range(3)")
    spark.sql("CREATE TABLE parted (id bigint, s string, p int, q string) USING parquet PARTITIONED BY (p, q)")
    spark.sql("INSERT INTO parted SELECT id, 's', CAST(id % 3 AS int), IF(id % 2 = 0, '', 'odd') FROM range(0, 30, 1, 2)")
    spark.sql("INSERT OVERWRITE TABLE parted PARTITION (p = 1, q) SELECT id, 'over', 'new' FROM range(4)")
    spark.sql("INSERT INTO parted PARTITION (p = 7, q = 'static') SELECT id, 'x' FROM range(2)")
    spark.sql("INSERT OVERWRITE plain SELECT id, id, 'all' FROM range(0, 9, 1, 1)")
    spark.sql("CREATE TABLE narrow (a tinyint, b int, c decimal(8,1), d string, e float, f array<int>, g map<string,smallint>, h struct<x:int,y:string>) USING parquet")
    narrow = "INSERT INTO narrow SELECT CAST(id AS int), id, id * 1.25, id, id / 3D, array(id, NULL), map('k', id), named_struct('x', id, 'y', id) FROM range({}, {}, 1, 2)"
    spark.sql(narrow.format(0, 100))
    run.thrown("a value that a column has no room for", lambda: spark.sql(narrow.format(126, 130)))
    warehouse = spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    for name in ["plain", "parted", "narrow"]:
        run.answers[f"table {name}"] = [files(f"{warehouse}/{name}"), sorted(str(list(row)) for row in spark.table(name).collect())]
        run.tables.append(f"{warehouse}/{name}")
    run.answers["partitions"] = sorted(row[0] for row in spark.sql("SHOW PARTITIONS parted").collect())


def merged(run):
    """Files that tasks move to the table themselves."""
    spark = run.spark
    rows = spark.range(0, 40, 1, 2).selectExpr("id", "id % 4 AS p")
    second = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}
    path, parts = run.path("merged"), run.path("merged partitions")
    run.write("merged", rows, path=path, **second)
    run.write("merged and appended", rows.where("id < 5"), mode="append", path=path, **second)
    run.write("merged over it", rows.where("id >= 30"), mode="overwrite", path=path, **second)
    run.write("merged partitions", rows, ["p"], path=parts, **second)
    run.write("merged and appended partitions", rows.selectExpr("id + 100 AS id", "p + 2 AS p"), ["p"], mode="append", path=parts, **second)
    run.write("merged, no rows", rows.where("id < 0"), **second)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    run.write("merged over some partitions", rows.where("p < 2").selectExpr("-id AS id", "p"), ["p"], mode="overwrite", path=parts, **second)
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def buckets(run):
    """Tables with files of the rows of one bucket each."""
    spark = run.spark
    rows = typed(spark, 300, 3).selectExpr("*", "id % 3 AS p", "IF(id % 50 = 0, NULL, concat('k', id % 20)) AS k")
    warehouse = spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")

    def write(name, frame, count, by, sorted_by=(), partitions=(), form="parquet", mode="errorifexists", **options):
        writer = frame.write.format(form).mode(mode).options(**options).bucketBy(count, *by)
        writer = writer.sortBy(*sorted_by) if sorted_by else writer
        (writer.partitionBy(*partitions) if partitions else writer).saveAsTable(name)
        metrics = run.told()["metrics"] if mode == "errorifexists" else None
        table = spark.table(name)
        in_files = table.selectExpr("*", "input_file_name() AS f").selectExpr("*", "regexp_extract(f, '_([0-9]+)[.]c[0-9]+[.]', 1) AS bucket", "regexp_extract(f, '[.]c([0-9]+)[.]', 1) AS c")
        found = sorted(str([row.id, row.bucket, row.c]) for row in in_files.select("id", "bucket", "c").collect())
        run.answers[f"buckets {name} {mode}"] = [files(f"{warehouse}/{name}"), digest(found), digest(sorted(str(list(row)) for row in table.drop("no", "ym", "ds").collect())), metrics]
        # Spark reads no columns where there are no files.
        if form == "parquet" and found and f"{warehouse}/{name}" not in run.tables:
            run.tables.append(f"{warehouse}/{name}")

    for mode in REBASE:
        spark.conf.set(f"spark.sql.parquet.{mode}", "CORRECTED")
    few = rows.select("id", "p", "k")
    write("by_id", few, 4, ["id"])
    write("by_texts", few.coalesce(1), 5, ["k", "id"], ["id"])
    write("by_text_of_parts", few, 3, ["k"], ["k", "id"], ["p"])
    write("by_text_of_parts", few.where("p <> 1").selectExpr("id + 1000 AS id", "k", "p"), 3, ["k"], ["k", "id"], ["p"], mode="append")
    write("in_small_files", few.coalesce(1), 2, ["id"], maxRecordsPerFile="40")
    write("of_no_rows", few.where("id < 0"), 2, ["id"])
    write("of_lines", few, 2, ["k"], form="json")
    for name in ["ti", "do", "wi", "st", "bi", "ts", "ro"]:
        write(f"by_type_{name}", rows.select("id", name), 3, [name])
    for mode in REBASE:
        spark.conf.unset(f"spark.sql.parquet.{mode}")
    run.answers["joined by buckets"] = sorted(str(list(row)) for row in spark.sql("SELECT a.id, b.p FROM by_id a JOIN by_id b ON a.id = b.id WHERE a.p = 1").collect())
    spark.sql("CREATE TABLE clustered USING parquet CLUSTERED BY (id) SORTED BY (s) INTO 3 BUCKETS AS SELECT id, CAST(id AS string) AS s FROM range(0, 20, 1, 1)")
    run.answers["clustered"] = [files(f"{warehouse}/clustered"), sorted(map(str, spark.table("clustered").collect()))]
    spark.conf.set("spark.sql.optimizer.plannedWrite.enabled", "false")
    write("unplanned_buckets", few, 3, ["k"], ["id"], ["p"])
    spark.conf.unset("spark.sql.optimizer.plannedWrite.enabled")


def unplanned(run):
    """Writes whose sorts are not part of the query's plan."""
    spark = run.spark
    spark.conf.set("spark.sql.optimizer.plannedWrite.enabled", "false")
    rows = spark.range(0, 100, 1, 2).selectExpr("id", "id % 3 AS p", "IF(id % 4 = 0, '', 'x') AS q")
    run.write("unplanned", rows)
    run.write("unplanned partitions", rows, ["p", "q"])
    run.write("unplanned, no rows", rows.limit(0))
    spark.conf.unset("spark.sql.optimizer.plannedWrite.enabled")


def others(run):
    """What is left to the JVM, and what fails."""
    spark = run.spark
    rows = spark.range(0, 40, 1, 2).selectExpr("id", "CAST(id AS string) AS s")
    path = run.path("orc")
    rows.write.orc(path)
    run.answers["orc"] = files(path)
    run.write("Bloom filters", rows, **{"parquet.bloom.filter.enabled#id": "true"})
    run.write("legacy", spark.range(0, 10, 1, 1).selectExpr("id", "array(id) AS a", "CAST(id AS decimal(5,2)) AS d"), **{})
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
    run.write("legacy format", spark.range(0, 10, 1, 1).selectExpr("id", "array(id) AS a", "CAST(id AS decimal(5,2)) AS d"))
    spark.conf.unset("spark.sql.parquet.writeLegacyFormat")
    spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "3")
    run.write("several open files", rows.selectExpr("id", "id % 5 AS p"), ["p"])
    spark.conf.unset("spark.sql.maxConcurrentOutputFileWriters")
    run.write("by a double", rows.selectExpr("id", "array(0D, double('NaN'), 1.5D)[CAST(id % 3 AS int)] AS p"), ["p"])
    for mode in REBASE:
        spark.conf.set(f"spark.sql.parquet.{mode}", "EXCEPTION")
    old = spark.range(0, 2, 1, 1).selectExpr("array(DATE'1500-01-01', DATE'2000-01-01')[CAST(id AS int)] AS d", "timestamp_seconds(-3000000000 * id) AS t")
    run.thrown("old dates", lambda: old.select("d").write.parquet(run.path("old dates")))
    run.thrown("old timestamps", lambda: old.select("t").write.parquet(run.path("old timestamps")))
    for mode in REBASE:
        spark.conf.set(f"spark.sql.parquet.{mode}", "LEGACY")
    run.write("calendar of long ago", old)
    for mode in REBASE:
        spark.conf.unset(f"spark.sql.parquet.{mode}")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    run.thrown("division by zero", lambda: rows.selectExpr("id DIV (id - 30) AS d").write.parquet(run.path("division by zero")))
    run.thrown("an error after many rows", lambda: spark.range(0, 100000, 1, 2).selectExpr("id", "id DIV (id - 99990) AS d").write.parquet(run.path("an error after many rows")))
    spark.conf.unset("spark.sql.ansi.enabled")
    os.makedirs(run.path("no room"))
    open(os.path.join(run.path("no room"), "a file"), "w").close()
    run.thrown("below a file", lambda: rows.write.parquet(os.path.join(run.path("no room"), "a file", "x")))


THEMES = [types, shapes, partitions, modes, tables, merged, buckets, unplanned, others]


def main():
    result, directory = sys.argv[1:3]
    only = sys.argv[3:]
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").config("spark.sql.session.timeZone", "Europe/Zurich")
    spark = builder.config("spark.sql.leafNodeDefaultParallelism", "2").config("spark.ui.retainedStages", "100000").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    run = Writes(spark, directory)
    for theme in THEMES:
        if not only or theme.__name__ in only:
            theme(run)
    counted = counters(spark)
    version = spark.version
    spark.stop()
    # Spark's own readers, in a JVM that has no other executors.
    submit = os.path.join(os.environ["SPARK_HOME"], "bin", "spark-submit")
    read = os.path.join(directory, "read.json")
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sql_writes_read.py")
    subprocess.run([submit, "--master", "local[2]", "--conf", "spark.ui.enabled=false", reader, read, directory, *run.tables], check=True)
    with open(read) as found:
        run.answers["read by plain Spark"] = json.load(found)
    with open(result, "w") as out:
        json.dump({"version": version, "answers": run.answers, "metrics": {}, "errors": {}, "counters": counted}, out, indent=0, sort_keys=True)
    print(f"{len(run.answers)} answers")


if __name__ == "__main__":
    main()
