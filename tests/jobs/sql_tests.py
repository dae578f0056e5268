"""Asks the queries of Spark's own `SQLQueryTestSuite`, as the suite does, and writes down what comes.

usage: spark-submit sql_tests.py RESULT OPTIONS. OPTIONS is JSON: `inputs`, the directory with `sql-tests` and
`test-data`; `files` below `sql-tests/inputs` (names, directories, patterns; all but functions of Python if there are
none); `sample`, the part of the SELECTs that is asked; `combinations` of a file's settings that are asked; `parquet`,
whether temporary views of literals become tables of Parquet; `one_row`, whether a SELECT without FROM reads a table of
one row; `seconds` after which no other file is begun.

RESULT has a line of JSON for each query: file, number of the combination, number of the query, text, answer
(sqltests.SqlTests), stages with the number of their tasks, seconds."""

import fnmatch
import itertools
import json
import os
import re
import sys
import threading
import time
import zlib

from pyspark.sql import SparkSession

# Spark's own test class, too, leaves these out or needs functions of Scala and Python for them.
NOT_ASKED = ["udf/*", "udtf/*", "udaf/*", "udaf.sql", "ignored.sql", "postgreSQL/ignored.sql", "transform.sql", "*udtf*", "*python*"]
# How code is generated is up to who starts this.
NOT_SET = ["spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"]
SECONDS_FOR_A_QUERY = 90
TENK = ("unique1 int, unique2 int, two int, four int, ten int, twenty int, hundred int, thousand int, twothousand int, fivethous int, "
        "tenthous int, odd int, even int, stringu1 string, stringu2 string, string4 string")
TABLES = {
    "testdata": "SELECT CAST(id AS int) AS key, CAST(id AS string) AS value FROM range(1, 101, 1, 1)",
    "arraydata": "SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))), (array(2, 3, 4), array(array(2, 3, 4))) t(arraycol, nestedarraycol)",
    "mapdata": "SELECT * FROM VALUES (map(1, 'a1', 2, 'b1', 3, 'c1', 4, 'd1', 5, 'e1')), (map(1, 'a2', 2, 'b2', 3, 'c2', 4, 'd2')), "
               "(map(1, 'a3', 2, 'b3', 3, 'c3')), (map(1, 'a4', 2, 'b4')), (map(1, 'a5')) t(mapcol)",
    "one_row": "SELECT 1 AS nothing",
}
FILES = {"aggtest": ("agg", "a int, b float"), "onek": ("onek", TENK), "tenk1": ("tenk", TENK)}
# A SELECT without FROM and without anything that stands behind it.
BARE = re.compile(r"\s*select\b(?!.*(\b(from|union|except|intersect|minus|where|group|order|limit|offset|having|lateral|qualify|cluster|"
                  r"distribute|sort|window)\b|\|>|;|--|/\*))", re.I | re.S)
VIEW = re.compile(r"\s*create\s+(or\s+replace\s+)?temp(orary)?\s+view\s+(`?\w+`?)", re.I)


def without_comments(path):
    """Comments and other lines of a file."""
    comments, code = [], []
    with open(path, newline="", encoding="utf-8") as file:
        for line in file.read().replace("\r\n", "\n").split("\n"):
            is_comment = line.strip().startswith("--") and not line.strip().startswith("--QUERY-DELIMITER")
            (comments if is_comment else code).append(line)
    return comments, code


def cut(lines):
    return re.split(r"(?<=[^\\]);", "\n".join(lines))


def queries_of(inputs, comments, code):
    """The queries of a file, cut as the suite cuts them."""
    lines = []
    for comment in comments:
        if comment.startswith("--IMPORT "):
            lines += without_comments(os.path.join(inputs, comment[9:].strip()))[1]
    found, others, within = [], [], None
    for line in lines + code:
        if line.strip().startswith("--QUERY-DELIMITER-START"):
            found, others, within = found + cut(others), [], []
        elif line.strip().startswith("--QUERY-DELIMITER-END"):
            found.append("\n".join(within).rstrip(";"))
            within = None
        else:
            (others if within is None else within).append(line)
    found += cut(others)
    found = ["\n".join(line for line in query.strip().split("\n") if not line.startswith("--")).strip() for query in found]
    return [query for query in found if query]


def pairs(text):
    return tuple(tuple(part.strip() for part in pair.partition("=")[::2]) for pair in text.split(","))


def combinations(comments):
    """The settings with which a file is asked; those that only change how code is generated are one."""
    dimensions = {}
    for comment in comments:
        found = re.match(r"--CONFIG_DIM(\d*) (.*)", comment)
        if found:
            values = dimensions.setdefault(found[1], {})
            values[tuple(pair for pair in pairs(found[2]) if pair[0] not in NOT_SET)] = True
    return [sum(chosen, ()) for chosen in itertools.product(*dimensions.values())]


def fixed_settings(name, comments):
    settings = {"spark.sql.ansi.enabled": "false" if name.startswith("nonansi/") else "true"}
    if name.startswith("postgreSQL/"):
        settings["spark.sql.legacy.interval.enabled"] = "true"
    if name.startswith("timestampNTZ/"):
        settings["spark.sql.timestampType"] = "TIMESTAMP_NTZ"
    for comment in comments:
        if comment.startswith("--SET "):
            settings.update(pair for pair in pairs(comment[6:]) if pair[0] not in NOT_SET)
    return settings


class Asking:
    def __init__(self, result, options):
        self.options, self.result = options, result
        self.inputs = os.path.join(options["inputs"], "sql-tests", "inputs")
        self.spark = SparkSession.builder.getOrCreate()
        self.sc = self.spark.sparkContext
        self.sc.setLogLevel("ERROR")
        self.helper = self.sc._jvm.sqltests.SqlTests
        self.asked = 0

    def tables(self):
        """The tables that files expect to be there."""
        data = os.path.join(self.options["inputs"], "test-data", "postgresql")
        for name, query in TABLES.items():
            self.spark.sql(query).coalesce(1).write.format("parquet").saveAsTable(name)
        for name, (file, schema) in FILES.items():
            rows = self.spark.read.csv(os.path.join(data, f"{file}.data"), schema, "\t")
            rows.coalesce(1).write.format("parquet").saveAsTable(name)

    def answer(self, session, query, tag):
        """An answer, and the stages that it took."""
        self.sc.setJobGroup(tag, tag)
        guard = threading.Timer(SECONDS_FOR_A_QUERY, self.sc.cancelAllJobs)
        guard.start()
        try:
            answer = list(self.helper.run(session, query))
        finally:
            guard.cancel()
        tracker, stages = self.sc.statusTracker(), {}
        for job in tracker.getJobIdsForGroup(tag):
            for stage in tracker.getJobInfo(job).stageIds:
                info = tracker.getStageInfo(stage)
                if info and info.numCompletedTasks + info.numFailedTasks:
                    stages[stage] = info.numCompletedTasks + info.numFailedTasks
        self.sc.setJobGroup("setup", "setup")
        return answer, stages

    def as_parquet(self, session, query):
        """Replaces a temporary view of literals by a table of the same rows."""
        named = VIEW.match(query)
        if not named or re.search(r"\bfrom\s+(?!values)", query, re.I):
            return
        name = named[3].strip("`")
        path = os.path.join(os.getcwd(), "views", f"{self.asked}-{name}")
        try:
            view = session.table(name)
            view.coalesce(1).write().option("compression", "none").parquet(path)
            session.read().schema(view.schema()).parquet(path).createOrReplaceTempView(name)
        except Exception as error:  # Columns that Parquet does not have: the view stays.
            print("no table:", name, str(error)[:200].replace("\n", " "), flush=True)

    def is_asked(self, query):
        part = self.options["sample"]
        return part >= 1 or not re.match(r"\s*\(?(select|with|values)\b", query, re.I) or zlib.crc32(query.encode()) % 1000 < part * 1000

    def ask_file(self, name, number, settings, queries, out):
        session = self.spark._jsparkSession.newSession()
        for key, value in settings.items():
            try:
                session.conf().set(key, value)
            except Exception as error:  # Settings of other versions.
                print("no setting:", key, str(error)[:200].replace("\n", " "), flush=True)
        for place, query in enumerate(queries):
            if not self.is_asked(query):
                continue
            text = query + " FROM default.one_row" if self.options["one_row"] and BARE.match(query) else query
            started = time.monotonic()
            answer, stages = self.answer(session, text, f"{name}|{number}|{place}")
            self.asked += 1
            out.write(json.dumps({"file": name, "combination": number, "place": place, "sql": text, "answer": answer, "stages": stages,
                                  "seconds": round(time.monotonic() - started, 3)}) + "\n")
            if self.options["parquet"] and answer[0] != "error":
                self.as_parquet(session, query)
        out.flush()
        self.clean(session)

    def clean(self, session):
        """Leaves the catalog as the next file expects it."""
        try:
            session.sql("USE spark_catalog.default")
            for row in session.sql("SHOW TABLES").collect():
                if row.getString(0) and row.getString(1) not in [*TABLES, *FILES]:
                    for kind in ["TABLE", "VIEW"]:
                        try:
                            session.sql(f"DROP {kind} IF EXISTS default.`{row.getString(1)}`")
                        except Exception:  # A view is no table.
                            continue
            session.catalog().clearCache()
        except Exception as error:
            print("not cleaned:", str(error)[:300].replace("\n", " "), flush=True)

    def names(self):
        found = []
        for directory, _, files in os.walk(self.inputs):
            found += [os.path.relpath(os.path.join(directory, file), self.inputs) for file in files if file.endswith(".sql")]
        if self.options["files"]:
            return sorted(name for name in found if any(
                fnmatch.fnmatch(name, wanted) or name.startswith(wanted.rstrip("/") + "/") for wanted in self.options["files"]))
        return sorted(name for name in found if not any(fnmatch.fnmatch(name, left_out) for left_out in NOT_ASKED))

    def run(self):
        self.sc.setJobGroup("setup", "setup")
        self.tables()
        started = time.monotonic()
        with open(self.result, "w", encoding="utf-8") as out:
            for name in self.names():
                if time.monotonic() - started > self.options["seconds"]:
                    print(f"out of time before {name}", flush=True)
                    break
                comments, code = without_comments(os.path.join(self.inputs, name))
                queries = queries_of(self.inputs, comments, code)
                for number, chosen in enumerate(combinations(comments)[:self.options["combinations"]]):
                    self.ask_file(name, number, {**fixed_settings(name, comments), **dict(chosen)}, queries, out)
                print(f"{time.monotonic() - started:.0f} s, {self.asked} queries, {name}", flush=True)
        self.spark.stop()


if __name__ == "__main__":
    Asking(sys.argv[1], json.loads(sys.argv[2])).run()
