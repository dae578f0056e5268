"""Values of all types of native functions, as text, in files, and as they come back."""

import os

DOUBLES = ["0", "-0.0", "1.5", "48.8566", "-179.99", "90", "double('NaN')", "double('Infinity')", "double('-Infinity')", "1e300", "null"]
TEXTS = ["''", "' '", "'a b  c'", "'word'", "'ünï cödé \U0001f525'", "'a\\tb\\nc'", "null"]
TYPES = {
    "boolean": ["true", "false", "null"],
    "tinyint": ["127Y", "-128Y", "null"],
    "smallint": ["32767S", "-32768S", "null"],
    "int": ["2147483647", "-2147483648", "null"],
    "bigint": ["9223372036854775807L", "9007199254740993L", "-9223372036854775808L", "null"],
    "float": ["float('NaN')", "float('-0.0')", "float('3.4028235e38')", "1.1f", "null"],
    "double": ["double('NaN')", "double('-0.0')", "1.7976931348623157e308d", "0.1d", "null"],
    "decimal": ["cast('999999999999999999.99' as decimal(20,2))", "cast(-1 as decimal(20,2))", "null"],
    "string": TEXTS,
    "binary": ["X'00ff'", "X''", "null"],
    "date": ["date'0001-01-01'", "date'9999-12-31'", "date'1582-10-15'", "date'2024-02-29'", "null"],
    "timestamp": ["timestamp'2024-11-03 01:30:00-04:00'", "timestamp'2024-11-03 01:30:00-05:00'", "timestamp'1900-01-01 00:00:00.000001'", "timestamp'9998-12-31 23:59:59.999999'", "null"],
    "timestamp_ntz": ["timestamp_ntz'2024-03-10 02:30:00'", "timestamp_ntz'1900-01-01 00:00:00.000001'", "null"],
    "array": ["array(1, null, 3)", "array()", "null"],
    "map": ["map('a', 1L, 'b', null)", "map()", "null"],
    "struct": ["named_struct('a', 1, 'b', 'x')", "named_struct('a', null, 'b', '')", "null"],
}
WORDS = {"decimal": "decimal(20,2)", "array": "array<int>", "map": "map<string,bigint>", "struct": "struct<a:int,b:string>"}


def cell(value):
    return value.hex() if isinstance(value, float) else [cell(item) for item in value] if isinstance(value, (list, tuple)) else {str(key): cell(item) for key, item in value.items()} if isinstance(value, dict) else repr(value)


def in_order(frame):
    return [cell(row) for row in frame.collect()]


def in_any_order(frame):
    return sorted(in_order(frame), key=str)


def points(spark, scratch):
    """Pairs of odd doubles, in files."""
    path = os.path.join(scratch, "points")
    values = ", ".join(f"(cast({value} as double))" for value in DOUBLES)
    frame = spark.sql(f"select a.v lat, b.v lon from values {values} a(v) cross join values {values} b(v)")
    more = spark.range(3000).selectExpr("cast(id % 181 - 90 as double) lat", "cast(id % 361 - 180 as double) lon")
    # Two files, of which each is a partition.
    frame.union(more).coalesce(1).write.mode("overwrite").parquet(path)
    more.coalesce(1).write.mode("append").parquet(path)
    return spark.read.parquet(path)


def in_file(spark, scratch, name, of, values):
    path = os.path.join(scratch, name)
    rows = ", ".join(f"({number}, cast({value} as {of}))" for number, value in enumerate(values * 3))
    spark.sql(f"select * from values {rows} t(id, v)").coalesce(1).write.mode("overwrite").parquet(path)
    return spark.read.parquet(path)
