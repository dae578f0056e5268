"""Reads of CSV and JSON with options and conditions, and functions of JSON, for Capture.java.

usage: records.py DIRECTORY"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").getOrCreate()
directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
for name, text in [("records.csv", "a,b,c\n1,x,2020-01-02\n2,y,2021-01-02\n"), ("records.json", '{"a":1,"b":"x","c":"2020-01-02"}\n')]:
    with open(f"{directory}/{name}", "w") as out:
        out.write(text)
SCHEMA = "a int, b string, c date, d timestamp"


def reader(**options):
    found = spark.read.schema(SCHEMA)
    for name, value in options.items():
        found = found.option(name, value)
    return found


def run(name, frame):
    spark.sparkContext.setJobDescription(name)
    try:
        frame.collect()
    except Exception as error:
        print(name, type(error).__name__)


csv, json, texts = f"{directory}/records.csv", f"{directory}/records.json", spark.read.text(f"{directory}/records.json")
run("csv", reader(header=True, timeZone="Europe/Berlin").csv(csv).where("a > 1 AND (b LIKE 'y%' OR c IS NULL) AND NOT (a IN (7, 8))"))
run("csv.options", reader(header=True, sep="|", quote="'", escape="", comment="#", nullValue="-", emptyValue="e", mode="DROPMALFORMED", timestampFormat="yyyy-MM-dd HH:mm", lineSep="\n", timeZone="+05:30").csv(csv).select("a"))
run("csv.more", reader(enforceSchema=False, ignoreLeadingWhiteSpace=True, ignoreTrailingWhiteSpace=True, maxCharsPerColumn=100, columnPruning=False, columnNameOfCorruptRecord="b", charToEscapeQuoteEscaping="\\").csv(csv))
run("csv.counted", reader().csv(csv).groupBy().count())
for name, options in [("lines", {"multiLine": True}), ("separator", {"sep": "||"}), ("encoding", {"encoding": "ISO-8859-1"}), ("locale", {"locale": "de"}), ("fallback", {"enableDateTimeParsingFallback": True})]:
    run(f"csv.{name}", reader(**options).csv(csv))
run("json", reader(dateFormat="dd/MM/yyyy").json(json).where("a > 1 AND b <=> 'x'"))
run("json.options", reader(mode="FAILFAST", allowNonNumericNumbers=False, encoding="UTF-8", maxStringLen=1000).json(json).select("b", "d"))
for name, options in [("lines", {"multiLine": True}), ("encoding", {"encoding": "ISO-8859-1", "lineSep": "\n"})]:
    run(f"json.{name}", reader(**options).json(json))
run("from_json", texts.select(F.from_json("value", SCHEMA), F.from_json("value", "map<string,string>", {"dateFormat": "yyyy", "allowComments": "true"}), F.from_json("value", "array<struct<a:int>>", {"mode": "FAILFAST"})))
run("from_json.told", texts.select(F.from_json("value", f"{SCHEMA}, _corrupt_record string")))
run("from_json.prefers", texts.select(F.from_json("value", SCHEMA, {"prefersDecimal": "true"})))
run("to_json", texts.select(F.to_json(F.struct("value", F.lit(1).alias("n"))), F.to_json(F.array("value"), {"ignoreNullFields": "false", "timestampFormat": "yyyy"})))
run("to_json.pretty", texts.select(F.to_json(F.struct("value"), {"pretty": "true"})))
run("get_json_object", texts.select(F.get_json_object("value", "$.a[0]")))


def look(name, read):
    """The job that finds out columns."""
    spark.sparkContext.setJobDescription(name)
    read()


look("json.columns", lambda: spark.read.json(json))
look("json.columns.options", lambda: spark.read.json(json, primitivesAsString=True, mode="DROPMALFORMED", columnNameOfCorruptRecord="bad"))
look("json.columns.decimals", lambda: spark.read.json(json, prefersDecimal=True))
look("csv.columns", lambda: spark.read.csv(csv, inferSchema=True))
look("csv.columns.options", lambda: spark.read.csv(csv, inferSchema=True, header=True, sep="|", nullValue="-", comment="#", dateFormat="dd/MM/yyyy"))
look("csv.columns.timestamps", lambda: spark.read.csv(csv, inferSchema=True, timestampFormat="yyyy"))
look("csv.columns.sample", lambda: spark.read.csv(csv, inferSchema=True, samplingRatio=0.5))
for name, form, options in [("csv", "csv", {"header": True, "sep": ";", "quoteAll": True, "nullValue": "-", "dateFormat": "dd.MM.yyyy", "lineSep": "\r\n"}), ("json", "json", {"ignoreNullFields": False}), ("text", "text", {"lineSep": "|"}), ("csv.strange", "csv", {"encoding": "UTF-16"}), ("json.pretty", "json", {"pretty": True})]:
    spark.sparkContext.setJobDescription(f"write.{name}")
    frame = reader().json(json) if form != "text" else texts
    frame.write.format(form).options(**options).mode("overwrite").save(f"{directory}/written")
