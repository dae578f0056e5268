"""Tables of files of text, CSV and JSON that are written in every way: which files there are, every byte of them, what the driver is told of them.

usage: spark-submit sql_lines.py RESULT DIRECTORY"""

import bz2
import glob
import gzip
import json
import os
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from sql_cached import VALUES
from sql_random import counters
from sql_writes import UUID, Writes, files
from support import digest

UNPACKED = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".deflate": zlib.decompress}
# Texts that a line of values must be careful with.
TEXTS = [
    "plain", "", " ", "   ", "\t", "a,b", ",", ",,", '"', '""', '"a"', 'a"b', 'a,"b"', '"a,b', "\\", "a\\b", "a\\,b", '\\"', 'a\\"b', "\\\\", "a\nb", "\n", "a\r\nb", "\r", "  a", "a  ", " a ", " a,b ", "\ta\t",
    "#", "#a", "a#", " #a", "x", "xa", "|", "a|b", "'", "'a'", "a'b", ";", "a;b", "!", "a!b", 'a!"b', "NULL", "null", "-", "e", "\u00e4", "\u20ac,\u00e4", "\U0001f600", '\U0001f600"', "\u00a0a\u00a0", "\u2028", "a\u0001b", "\u0000", "a\u0000,",
    "{", "}", "[1]", "NaN", "1", "-0", "true", "2020-01-01", '"\n"', '\\\n', " \" ", ' , ', '"" ', ' ""', "a\tb,c", "\u007f", "\b\f", "/", "</script>",
]
CSV = [
    {}, {"header": "true"}, {"sep": "|"}, {"sep": "\t", "header": "true"}, {"sep": ";"}, {"quote": "'"}, {"escape": '"'}, {"escape": "!"}, {"quoteAll": "true"}, {"quoteAll": "true", "nullValue": "NULL", "header": "true"}, {"escapeQuotes": "false"},
    {"escapeQuotes": "false", "quoteAll": "true"}, {"nullValue": "NULL"}, {"nullValue": "-", "emptyValue": "e"}, {"emptyValue": ""}, {"emptyValue": "", "quoteAll": "true"}, {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
    {"ignoreLeadingWhiteSpace": "false"}, {"ignoreTrailingWhiteSpace": "false"}, {"comment": "x"}, {"comment": " "}, {"charToEscapeQuoteEscaping": "!"}, {"charToEscapeQuoteEscaping": "!", "escape": '"'}, {"lineSep": "\r\n"}, {"lineSep": ";"},
    {"lineSep": "x", "quoteAll": "true"}, {"quote": ""}, {"quote": "", "escape": ""}, {"escape": ""}, {"nullValue": '"n"'}, {"nullValue": "a,b"}, {"emptyValue": '"'}, {"sep": " "}, {"encoding": "UTF-8", "compression": "none"},
]
JSON = [{}, {"ignoreNullFields": "false"}, {"lineSep": "\r\n"}, {"lineSep": "|"}, {"dateFormat": "dd/MM/yyyy", "timestampFormat": "yyyy-MM-dd HH:mm:ss", "timestampNTZFormat": "HH:mm dd.MM.yyyy"}, {"timeZone": "America/New_York"}]
TIMES = [{}, {"dateFormat": "dd.MM.yyyy"}, {"timestampFormat": "yyyy/MM/dd HH-mm"}, {"timestampNTZFormat": "yyyyMMdd'T'HHmmss"}, {"timeZone": "Asia/Kolkata"}, {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}]
ATOMS = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(20,10)", "decimal(38,0)", "string"]


class Lines(Writes):
    def save(self, name, frame, form, partitions=(), mode="errorifexists", path=None, **options):
        """Writes a table, and looks at what is there."""
        path = path or self.path(f"{form} {name}")
        writer = frame.write.mode(mode).options(**options).format(form)
        if partitions:
            writer = writer.partitionBy(*partitions)
        writer.save(path)
        told = self.told()
        parts = sorted(glob.glob(f"{path}/**/part-*", recursive=True), key=lambda part: UUID.sub("uuid", part))
        size = sum(os.path.getsize(part) for part in parts)
        total = told.pop("bytes")
        if mode == "errorifexists":
            told["bytes are those of the files"] = total == size or [total, size]
        self.answers[f"{form}: {name}"] = {"files": files(path), "told": told, "parts": [self.part(part) for part in parts]}

    def part(self, path):
        """What is in a file."""
        with open(path, "rb") as file:
            data = file.read()
        data = UNPACKED.get(os.path.splitext(path)[1], bytes)(data)
        return {"bytes": len(data), "digest": digest(data), "begins": repr(data[:300])}


def texts(run):
    """Odd texts as first and as later values, beside each other and beside nothing. Of a file: the driver's own rows are not read natively."""
    path = run.path("odd texts")
    if os.path.exists(path):
        return run.spark.read.parquet(path)
    later = TEXTS[7:] + TEXTS[:7]
    rows = [{"a": text, "n": at, "b": later[at], "c": text if at % 3 else None} for at, text in enumerate(TEXTS)]
    rows += [{"a": None, "n": None, "b": None, "c": None}, {"a": None, "n": 1, "b": "x", "c": None}]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema([("a", pa.string()), ("n", pa.int32()), ("b", pa.string()), ("c", pa.string())])), path)
    return run.spark.read.parquet(path)


def csv(run):
    """Every option over odd texts."""
    rows = texts(run)
    for number, options in enumerate(CSV):
        run.save(f"texts {number} {options}", rows, "csv", **options)
        run.save(f"one column {number}", rows.select("a").where("n < 30 OR n IS NULL"), "csv", **options)
    run.save("nothing but nulls", run.spark.range(0, 9, 1, 2).selectExpr("CAST(NULL AS string) AS s"), "csv", header="true")
    run.save("nulls between texts", run.spark.range(0, 9, 1, 2).selectExpr("IF(id % 2 = 0, NULL, 'x') AS s"), "csv")


def values(run):
    """Values of every type, ordinary ones and those whose texts are not sure, in parts of their own."""
    spark = run.spark
    columns, deep = [], []
    for place, of in enumerate(ATOMS):
        known = next((values for name, (kind, values) in VALUES.items() if kind == of), ["0", "NULL", "1"])
        columns.append(f"array({', '.join(f'CAST({value} AS {of})' for value in known)})[CAST(pmod(id * {place + 1} + id DIV {5 + place}, {len(known)}) AS int)] AS c{place}")
    times = ["date_add(DATE'1582-10-15', CAST(id * 1499 AS int)) AS d", "timestamp_micros(id * 7919123456789 - 900000000000000) AS t", "CAST(timestamp_micros(id * 6012345678912) AS timestamp_ntz) AS l", "IF(id % 3 = 0, NULL, TIMESTAMP'2020-03-29 01:59:59.5') AS u"]
    deep = ["array(id, NULL, id + 1) AS l", "map('k', id, 'NULL', NULL) AS m", "named_struct('x', id, 'y', IF(id % 2 = 0, NULL, 'y'), 'z', array(named_struct('q', CAST(id AS double)))) AS s", "map(id, array(DATE'2020-01-01')) AS i", "CAST(NULL AS struct<a:int>) AS n"]
    rows = spark.range(0, 120, 1, 2)
    run.save("values", rows.selectExpr("id", *columns), "csv", header="true")
    for number, options in enumerate(TIMES):
        run.save(f"times {number}", rows.selectExpr("id", *times), "csv", **options)
    for number, options in enumerate(JSON):
        run.save(f"values {number}", rows.selectExpr("id", *columns, *times), "json", **options)
        run.save(f"deep {number}", rows.selectExpr(*deep), "json", **options)
    run.save("texts", texts(run), "json")
    run.save("no columns but nulls", rows.selectExpr("CAST(NULL AS int) AS n"), "json")
    run.save("names", spark.range(3).selectExpr("id AS `a b`", "id AS `\u00e4\"\\\\`", "named_struct('x.y', id) AS `s.t`").coalesce(1), "json")
    for form in ["csv", "json"]:
        run.save("years of five digits", spark.range(0, 4, 1, 4).selectExpr("date_add(DATE'9999-12-30', CAST(id AS int)) AS d"), form)
        run.save("times of long ago", spark.range(0, 4, 1, 4).selectExpr("timestamp_seconds(-3000000000 + id * 700000000) AS t", "array(DATE'0001-01-01', DATE'1582-10-04', DATE'1582-10-15', DATE'-0044-03-15')[CAST(id AS int)] AS d"), form)
        run.save("least and most", spark.range(0, 2, 1, 2).selectExpr("IF(id = 0, timestamp_micros(-9223372036854775808), timestamp_micros(9223372036854775807)) AS t"), form)
    run.save("floats", spark.range(0, 500, 1, 2).selectExpr("CAST(hash(id) AS float) / 1000 AS f", "xxhash64(id) / 1e15 AS d", "CAST(concat('1.7e', id - 250) AS double) AS p", "CAST(id - 250 AS decimal(38,20)) / 1000000 AS e"), "csv")


def shapes(run):
    """Tables without rows, with few rows in a file, packed, in parts, over others."""
    spark = run.spark
    rows = spark.range(0, 400, 1, 4).selectExpr("id", "id % 7 AS k", "concat('text ', id) AS s")
    for form in ["csv", "json", "text"]:
        own = rows if form != "text" else rows.select("s")
        by = rows if form != "text" else rows.select("s", "k")
        options = {"header": "true"} if form == "csv" else {}
        run.save("no rows", own.where("s = ''"), form, **options)
        run.save("rows in the last part only", own.where("s > 'text 95'"), form, **options)
        run.save("local table", spark.sql("SELECT * FROM VALUES ('a'), (NULL), ('') AS v(x)"), form, **options)
        run.save("union", own.where("s < 'text 11'").union(own.where("s > 'text 98'")), form)
        run.save("few rows in a file", own, form, maxRecordsPerFile="30", **options)
        run.save("by numbers", by, form, ["k"], **options)
        run.save("by texts", by.selectExpr("*", "array('a/b', '', NULL, 'x=y')[CAST(k % 4 AS int)] AS p").drop("k"), form, ["p"], maxRecordsPerFile="25", **options)
        for codec in ["gzip", "bzip2", "deflate"]:
            run.save(f"packed by {codec}", own, form, compression=codec, **options)
        run.save("line ends", own.where("s < 'text 2'"), form, lineSep="|")
        path = run.path(f"{form} modes")
        run.save("first", by, form, ["k"], path=path)
        run.save("appended", by.where("k < 2"), form, ["k"], mode="append", path=path)
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        run.save("over some", by.where("k = 3"), form, ["k"], mode="overwrite", path=path)
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
        name = f"lines_{form}"
        spark.sql(f"CREATE TABLE {name} USING {form} AS SELECT {'s' if form == 'text' else '*'} FROM {{rows}}", rows=rows)
        spark.sql(f"INSERT INTO {name} SELECT {'s' if form == 'text' else '*'} FROM {{rows}} WHERE k = 1", rows=rows)
        run.answers[f"{form}: table"] = sorted(str(list(row)) for row in spark.table(name).collect())
    run.save("odd lines", texts(run).select("a"), "text")


def others(run):
    """What is left to the JVM."""
    spark = run.spark
    rows = spark.range(0, 20, 1, 2).selectExpr("id", "concat('\u00e4', id) AS s")
    run.save("another encoding", rows, "csv", encoding="ISO-8859-1")
    run.save("another encoding", rows, "json", encoding="UTF-16BE")
    run.save("long separators", rows, "csv", sep="||")
    run.save("odd names", rows.selectExpr("id AS ` id `", "s AS `'s'`"), "csv", header="true")
    run.save("pretty", rows, "json", pretty="true")
    run.save("packed by snappy", rows, "json", compression="snappy")
    run.save("a pattern of letters", rows.selectExpr("DATE'2020-01-02' AS d"), "csv", dateFormat="EEEE d MMMM")
    run.save("intervals", rows.selectExpr("IF(id > 3, INTERVAL '1' DAY, NULL) AS i"), "csv")
    run.save("intervals", rows.selectExpr("IF(id > 3, INTERVAL '1' DAY, NULL) AS i"), "json")
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    run.save("times of Spark 2", rows.selectExpr("id", "DATE'2020-01-02' AS d"), "json")
    spark.conf.unset("spark.sql.legacy.timeParserPolicy")
    spark.conf.set("spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv", "true")
    run.save("nulls of Spark 2", rows.selectExpr("id", "IF(id % 2 = 0, NULL, s) AS s"), "csv")
    spark.conf.unset("spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv")
    spark.sql("CREATE TABLE with_defaults (id bigint, s string DEFAULT 'x', n int) USING json")
    spark.sql("INSERT INTO with_defaults SELECT id, NULL, NULL FROM range(0, 3, 1, 1)")
    warehouse = spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    run.answers["with defaults"] = [run.part(part) for part in glob.glob(f"{warehouse}/with_defaults/part-*")]


THEMES = [csv, values, shapes, others]


def main():
    result, directory = sys.argv[1:3]
    os.makedirs(directory, exist_ok=True)
    only = sys.argv[3:]
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").config("spark.sql.session.timeZone", "Europe/Zurich")
    spark = builder.config("spark.sql.leafNodeDefaultParallelism", "2").config("spark.ui.retainedStages", "100000").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    run = Lines(spark, directory)
    for theme in THEMES:
        if not only or theme.__name__ in only:
            theme(run)
    counted = counters(spark)
    version = spark.version
    spark.stop()
    with open(result, "w") as out:
        json.dump({"version": version, "answers": run.answers, "metrics": {}, "errors": {}, "counters": counted}, out, indent=0, sort_keys=True)
    print(f"{len(run.answers)} answers")


if __name__ == "__main__":
    main()
