#!/usr/bin/env python3
"""Writes of Parquet files by Spark SQL, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns at writing rows of seven columns:

* one table;
* by eight partitions, for which rows are sorted;
* the largest resident memory of the executor process.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, measure_jobs, parse, parser


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="rows of the table (default: %(default)s)")
    return parse(arguments)


def measure(chosen, work, samples):
    jobs = [(key, dict(do="write_rows", partitioned=key == "partitioned", rows=chosen.rows), float) for key in ["table", "partitioned"]]
    measure_jobs(chosen, work, samples, "writes", jobs, "sql", lambda side: carried(chosen, side))


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("table", "a table", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("partitioned", "by partitions", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 1"),
]


compare(options(), MEASURES, measure)
