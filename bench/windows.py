#!/usr/bin/env python3
"""Windows of Spark SQL on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns at queries over a
range of numbers in partitions of a thousand rows: ranks, rows before, sums of growing frames, of sliding frames of rows and of values, of whole partitions,
lists, and the largest and the most frequent values of frames. What each gives is added up.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, measure_jobs, parse, parser

# What is computed of each row, by its name.
WINDOWS = {
    "ranks": "row_number() OVER w + rank() OVER w + dense_rank() OVER w",
    "rows before and behind": "lag(v, 3) OVER w + lead(v) OVER w",
    "growing sums": "sum(v) OVER w + count(v) OVER w",
    # A whole number: doubles are added up in no fixed order.
    "growing averages": "CAST(1000 * avg(v / 3D) OVER (w ROWS UNBOUNDED PRECEDING) AS bigint)",
    "sliding sums": "sum(v) OVER (w ROWS BETWEEN 50 PRECEDING AND 50 FOLLOWING)",
    "sliding maxima": "max(v) OVER (w ROWS BETWEEN 50 PRECEDING AND CURRENT ROW)",
    "ranges of values": "sum(v) OVER (w RANGE BETWEEN 100 PRECEDING AND 100 FOLLOWING)",
    "partitions": "sum(v) OVER (PARTITION BY p) + max(v) OVER (PARTITION BY p)",
    "lists": "size(collect_list(v) OVER (w ROWS 20 PRECEDING))",
    "first values": "first_value(v) OVER w + nth_value(v, 2) OVER w",
}


def query(expression, rows):
    if "OVER (w " in expression:
        return query(expression.replace("OVER (w ", "OVER (PARTITION BY p ORDER BY o "), rows)
    named = " WINDOW w AS (PARTITION BY p ORDER BY o)" if "OVER w" in expression else ""
    table = f"SELECT id DIV 1000 AS p, id * 7919 % 10007 AS o, id % 1000 AS v FROM range(0, {rows}, 1, 4)"
    return f"SELECT sum(x), count(*) FROM (SELECT {expression} AS x FROM ({table}){named})"


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=4_000_000, help="rows of each query (default: %(default)s)")
    return parse(arguments)


def measure(chosen, work, samples):
    jobs = [(name, dict(do="sql_query", query=query(of, chosen.rows)), float) for name, of in WINDOWS.items()]
    measure_jobs(chosen, work, samples, "windows", jobs, "sql", lambda side: carried(chosen, side))


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    *((name, name, lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1") for name in WINDOWS),
    ("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 1"),
]


compare(options(), MEASURES, measure)
