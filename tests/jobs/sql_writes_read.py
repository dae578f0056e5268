"""What Spark's own readers find in tables: their columns, their rows, and how many of them there are with conditions by which readers leave parts of files out.

usage: spark-submit --master local sql_writes_read.py RESULT ROOT TABLE..."""

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.types import ByteType, DateType, DecimalType, DoubleType, FloatType, IntegerType, LongType, ShortType, StringType, TimestampNTZType, TimestampType
from support import digest

BOUNDS = {
    ByteType: ["0", "5"], ShortType: ["0", "7"], IntegerType: ["0", "2"], LongType: ["0", "10", "500"], FloatType: ["0", "1", "float('NaN')"], DoubleType: ["0", "40", "double('NaN')"],
    DecimalType: ["0", "12.5"], StringType: ["'a'", "''", "'b'"], DateType: ["DATE'1582-10-10'", "DATE'2020-02-29'"], TimestampType: ["TIMESTAMP'2000-01-01 00:00:00'"],
    TimestampNTZType: ["TIMESTAMP_NTZ'2000-01-01 00:00:00'"],
}


def found(spark, table, conditions):
    frame = spark.read.parquet(table)
    if not frame.columns:
        return "no columns"
    shown = frame.selectExpr("to_json(struct(*)) AS row", *[f"CAST(`{name}` AS string) AS c{place}" for place, name in enumerate(frame.columns)])
    rows = shown.collect()
    answers = {"schema": frame.schema.jsonValue(), "rows": len(rows), "values": digest(sorted(str(list(row)) for row in rows))}
    for field in frame.schema.fields if conditions else []:
        for bound in BOUNDS.get(type(field.dataType), []):
            for sign in ["<", ">", "="]:
                answers[f"{field.name} {sign} {bound}"] = frame.where(f"`{field.name}` {sign} {bound}").count()
    return answers


def main():
    result, root, *tables = sys.argv[1:]
    builder = SparkSession.builder.config("spark.sql.session.timeZone", "Europe/Zurich").config("spark.sql.shuffle.partitions", "1")
    spark = builder.config("spark.sql.files.openCostInBytes", "134217728").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    answers = {}
    for vectorized in ["true", "false"]:
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        for table in tables:
            # All readers read all types, and what is known of a part's values lets them leave out the same parts.
            name = os.path.basename(table)
            if vectorized == "false" and not name.startswith(("types-with-", "numbers")):
                continue
            conditions = vectorized == "true" and name.startswith(("types-with-INT96", "types-in-small", "numbers"))
            name = f"{name}, vectorized {vectorized}"
            try:
                answers[name] = found(spark, table, conditions)
            except Exception as error:
                answers[name] = str(error).replace(root, "<root>")[:300]
    with open(result, "w") as out:
        json.dump(answers, out)
    spark.stop()


if __name__ == "__main__":
    main()
