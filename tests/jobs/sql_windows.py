"""Windows of every function over every frame, on odd data. Rows are ordered by a key that is their own where the answer depends on it, so that it is one.

usage: spark-submit sql_windows.py RESULT [all]. Without `all`, orders and frames take turns."""

import itertools
import json
import random
import sys

from pyspark.sql import SparkSession
from sql_random import counters

SESSIONS = [
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.ansi.enabled": "false"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.ansi.enabled": "true", "spark.sql.adaptive.enabled": "false", "spark.sql.session.timeZone": "America/Los_Angeles"},
]
# Keys that are the same in many rows.
KEYS = {
    "i": ["1", "2", "2", "3", "7", "-2147483000", "2147483000", "NULL"],
    "n": ["0S", "1S", "-5S", "32000S", "NULL"],
    "x": ["0D", "-0D", "0.5D", "1.25D", "-1e300D", "double('NaN')", "double('Infinity')", "double('-Infinity')", "NULL"],
    "f": ["float(0)", "-float(0)", "float(2.5)", "float('NaN')", "NULL"],
    "m": ["0.00BD", "1.25BD", "-3.10BD", "99999999.99BD", "NULL"],
    "w": ["0.0000000001BD", "1.0000000000BD", "-77.5000000000BD", "NULL"],
    "s": ["''", "'a'", "'ab'", "'äöü€'", "'a longer text that is not kept in a view'", "NULL"],
    "d": ["DATE'0001-01-01'", "DATE'1582-10-04'", "DATE'1970-01-01'", "DATE'2020-02-28'", "DATE'2020-02-29'", "DATE'9999-12-31'", "NULL"],
    "t": ["TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", "TIMESTAMP_NTZ'2020-03-29 01:30:00'", "NULL"],
    "b": ["true", "false", "NULL"],
    # Around the hours that a day in spring does not have, and a day in autumn has twice.
    "z": ["TIMESTAMP'2020-03-07 02:15:00'", "TIMESTAMP'2020-03-07 02:45:00'", "TIMESTAMP'2020-03-08 01:59:59'", "TIMESTAMP'2020-03-08 03:05:00'", "TIMESTAMP'2020-10-31 01:30:00'",
          "TIMESTAMP'2020-11-01 01:30:00'", "TIMESTAMP'2020-11-02 00:30:00'", "TIMESTAMP'0001-01-01 00:00:00'", "NULL"],
}
TYPES = {"i": "int", "n": "smallint", "x": "double", "f": "float", "m": "decimal(10,2)", "w": "decimal(38,10)", "s": "string", "d": "date", "t": "timestamp_ntz",
         "b": "boolean", "z": "timestamp"}
PARTITIONS = ["'p'", "'q'", "'p'", "'a partition with a long name'", "''", "NULL"]
ROWS = ["UNBOUNDED PRECEDING AND CURRENT ROW", "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "CURRENT ROW AND UNBOUNDED FOLLOWING", "CURRENT ROW AND CURRENT ROW",
        "2 PRECEDING AND 1 FOLLOWING", "3 PRECEDING AND 2 PRECEDING", "1 FOLLOWING AND 2 FOLLOWING", "UNBOUNDED PRECEDING AND 1 FOLLOWING", "100 PRECEDING AND 100 FOLLOWING",
        "UNBOUNDED PRECEDING AND 2 PRECEDING", "1 PRECEDING AND UNBOUNDED FOLLOWING", "3 FOLLOWING AND UNBOUNDED FOLLOWING"]
RANGES = ["UNBOUNDED PRECEDING AND CURRENT ROW", "CURRENT ROW AND UNBOUNDED FOLLOWING", "CURRENT ROW AND CURRENT ROW"]
OFFSETS = {"i": ("1", "5"), "n": ("1S", "40S"), "x": ("0.5D", "1e300D"), "f": ("2.5F", "0F"), "m": ("1.25BD", "99999999.99BD"), "w": ("78BD", "1BD"), "d": ("1", "400", "INTERVAL '3' DAY", "INTERVAL '1' MONTH"),
           "t": ("INTERVAL '1' DAY", "INTERVAL '2' YEAR", "INTERVAL '3:30' MINUTE TO SECOND"), "z": ("INTERVAL '1' DAY", "INTERVAL '1 00:30' DAY TO MINUTE", "INTERVAL '2' HOUR", "INTERVAL '1' MONTH")}
ORDERS = ["ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"]
# The same whatever the order of peers: numbers are few digits long, and there is one zero.
EXACT = ["count(*)", "count(s)", "count(x, s)", "sum(CAST(n AS int))", "sum(n)", "sum(m)", "sum(w)", "avg(n)", "avg(m)", "avg(w)", "min(i)", "max(i)", "min(x + 0D)", "max(f + 0F)",
         "min(s)", "max(s)", "min(d)", "max(t)", "min(w)", "max(m)"]
# Those that need one order of rows.
ORDERED = ["first(s)", "last(s)", "first(i, true)", "last(i, true)", "first_value(x)", "nth_value(s, 2)", "nth_value(i, 2) IGNORE NULLS", "last_value(b) IGNORE NULLS", "sum(x)",
           "avg(x)", "sum(f)", "avg(f)", "min(x)", "max(f)", "stddev(n)", "stddev_pop(x)", "var_samp(f)", "variance(n)", "try_sum(n)", "try_avg(m)"]
# Those that are gathered as for groups.
GATHERED = ["collect_list(s)", "collect_list(struct(i, s))", "collect_set(n)", "collect_set(s)", "max_by(s, i)", "min_by(x, s)", "max_by(i, x)", "min_by(b, w)",
            "approx_count_distinct(s)", "approx_count_distinct(m, 0.2)", "percentile_approx(i, 0.5)", "approx_percentile(i, array(0.1, 0.9), 50)", "corr(n, i)", "covar_samp(i, n)", "covar_pop(n, x)", "bit_and(i)", "bit_or(n)", "bit_xor(i)", "bool_and(b)", "bool_or(b)",
            "count_if(b)", "any_value(s)", "skewness(n)", "kurtosis(i)", "max(struct(i, s))", "min(array(i, n))", "array_agg(d)"]
# Those that have no order.
WHOLE = ["median(n)", "percentile(i, 0.5)", "percentile(n, array(0.25, 0.75))", "percentile_cont(0.5) WITHIN GROUP (ORDER BY m)"]
# Those that are there from 4.0 on, or are computed natively.
LATER = ["listagg(s, ', ')", "listagg(s)", "regr_slope(n, i)", "regr_count(n, i)"]
RANKS = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
PLACES = ["row_number()", "ntile(1)", "ntile(3)", "ntile(100)", "lead(s)", "lag(i)", "lead(i, 2, -1)", "lag(m, 1, m)", "lead(x, -1)", "lag(s, 0)", "lead(d, 100, DATE'2000-01-01')",
          "lag(x, 2) IGNORE NULLS", "lead(s, 1, 'none') IGNORE NULLS", "lead(i, 2) IGNORE NULLS", "lag(b, 1) IGNORE NULLS", "lead(t, 1)", "lag(w, 3, 0BD)"]


def table(rows):
    """Rows with an id of their own and random others."""
    dice = random.Random(7)
    lines = []
    for number in range(rows):
        values = [dice.choice(of) for of in KEYS.values()]
        # One large partition, which is several batches long.
        partition = "'large'" if number % 3 == 0 else dice.choice(PARTITIONS)
        lines.append(f"({number}, {partition}, {', '.join(values)})")
    columns = ", ".join(f"CAST({name} AS {TYPES[name]}) AS {name}" for name in KEYS)
    return f"SELECT id, p, {columns} FROM VALUES {', '.join(lines)} AS v(id, p, {', '.join(KEYS)})"


def select(functions, over, more=""):
    columns = ", ".join(f"{function} OVER w AS c{place}" for place, function in enumerate(functions))
    return f"SELECT id, {columns} FROM t {more} WINDOW w AS ({over})"


def queries(every):
    turn = itertools.count()
    some = (lambda of, number: of) if every else (lambda of, number: [of[(next(turn) + at) % len(of)] for at in range(number)])
    for frame in ROWS:
        yield select(EXACT + ORDERED, f"PARTITION BY p ORDER BY i, id ROWS BETWEEN {frame}")
        yield select(EXACT + ORDERED, f"ORDER BY id ROWS BETWEEN {frame}", "WHERE id % 20 = 0")
        yield select(GATHERED, f"PARTITION BY p ORDER BY i, id ROWS BETWEEN {frame}")
    for key in KEYS:
        for order in some(ORDERS, 1):
            yield select(RANKS, f"PARTITION BY p ORDER BY {key} {order}")
            for frame in some(RANGES, 2):
                yield select(EXACT, f"PARTITION BY p ORDER BY {key} {order} RANGE BETWEEN {frame}", "WHERE id % 4 = 0")
        yield select(PLACES, f"PARTITION BY p ORDER BY {key} DESC, id")
        yield select(RANKS + EXACT, f"PARTITION BY {key} ORDER BY p")
    for key, offsets in OFFSETS.items():
        for order in some(ORDERS, 2):
            for offset in some(offsets, 1 if len(offsets) < 3 else 2):
                for frame in some([f"{offset} PRECEDING AND CURRENT ROW", f"CURRENT ROW AND {offset} FOLLOWING", f"{offset} PRECEDING AND {offset} FOLLOWING",
                              f"UNBOUNDED PRECEDING AND {offset} PRECEDING", f"{offset} FOLLOWING AND UNBOUNDED FOLLOWING"], 3):
                    # Keys to which an offset can be added.
                    far = "WHERE abs(i) < 1000 OR i IS NULL" if key == "i" else "WHERE n < 30000 OR n IS NULL" if key == "n" else ""
                    yield select(EXACT[:8] + ["min(s)", "max(x + 0D)"], f"PARTITION BY p ORDER BY {key} {order} RANGE BETWEEN {frame}", far)
    for order in ["", "ORDER BY id", "ORDER BY id RANGE BETWEEN CURRENT ROW AND 40 FOLLOWING", "ORDER BY id RANGE BETWEEN 60 PRECEDING AND 30 PRECEDING"]:
        yield select(GATHERED, f"{order}", "" if order else "WHERE id < 0")
    yield select(["collect_set(n)", "collect_set(s)", "approx_count_distinct(w)", "bit_or(i)"] + WHOLE, "PARTITION BY p")
    yield select(WHOLE, "")
    yield select(["collect_list(id)"], "PARTITION BY p, b ORDER BY id ROWS BETWEEN 200 PRECEDING AND 200 FOLLOWING")
    # No partition, no order, neither, no rows.
    yield select(EXACT, "PARTITION BY p")
    yield select(EXACT, "")
    yield select(EXACT + RANKS + PLACES, "ORDER BY id")
    yield select(EXACT + RANKS + PLACES, "PARTITION BY p ORDER BY id", "WHERE id < 0")
    yield select(["count(*)", "max(id)"], "PARTITION BY p, b, n")
    yield "SELECT id, sum(n) OVER (PARTITION BY p) AS a, row_number() OVER (PARTITION BY p ORDER BY id) AS b, max(i) OVER (ORDER BY id) AS c FROM t"
    yield "SELECT id, lag(c) OVER (ORDER BY id) AS d FROM (SELECT id, count(*) OVER (PARTITION BY p) AS c FROM t)"
    yield "SELECT p, sum(n) AS s, rank() OVER (ORDER BY sum(n) DESC, p) AS r FROM t GROUP BY p"
    yield "SELECT p, sum(sum(n)) OVER (ORDER BY p ROWS UNBOUNDED PRECEDING) AS r FROM t GROUP BY p"
    yield "SELECT id FROM (SELECT id, i, avg(i) OVER (PARTITION BY p) AS a FROM t WHERE abs(i) < 1000) WHERE i > a"
    # Limits of the rows of a partition.
    for limit in [1, 3]:
        for function, order in [("row_number()", "i, id"), ("rank()", "i"), ("dense_rank()", "i"), ("rank()", "s DESC"), ("dense_rank()", "x DESC NULLS LAST")]:
            yield f"SELECT id, r FROM (SELECT id, {function} OVER (PARTITION BY p ORDER BY {order}) AS r FROM t) WHERE r <= {limit}"
            yield f"SELECT id, r FROM (SELECT id, {function} OVER (ORDER BY {order}) AS r FROM t) WHERE r <= {limit}"
    yield "SELECT /*+ MERGE(b) */ a.id, b.id, row_number() OVER (PARTITION BY a.p ORDER BY a.id, b.id) AS r FROM t a JOIN t b ON a.p = b.p WHERE a.id < 30 AND b.id < 30"


def queries_since_4():
    for frame in ROWS:
        yield select(LATER, f"PARTITION BY p ORDER BY id ROWS BETWEEN {frame}")


def text(value):
    if isinstance(value, float):
        return value.hex()
    return None if value is None else f"{type(value).__name__} {value}"


def answer(session, query):
    try:
        return sorted(json.dumps([text(value) for value in row]) for row in session.sql(query).collect())
    except Exception as error:
        print(f"{query}: {str(error)[:300]}", file=sys.stderr)
        return {"error": type(error).__name__}


def main():
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.sql.leafNodeDefaultParallelism", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    answers = {}
    for at, settings in enumerate(SESSIONS):
        session = spark.newSession()
        for key, value in settings.items():
            session.conf.set(key, value)
        session.sql(table(400)).createOrReplaceTempView("t")
        # The modes of arithmetic differ in few of them.
        lists = list(queries_since_4()) if spark.version >= "4" else []
        for query in (list(queries("all" in sys.argv)) + lists)[:: 1 + 2 * at]:
            answers[f"{at}: {query}"] = answer(session, query)
    errors = sum(isinstance(rows, dict) for rows in answers.values())
    assert errors == 0, f"{errors} of {len(answers)} queries failed"
    with open(sys.argv[1], "w") as out:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": counters(spark)}, out, indent=0, sort_keys=True)
    print(f"{len(answers)} queries")
    spark.stop()


if __name__ == "__main__":
    main()
