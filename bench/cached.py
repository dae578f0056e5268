#!/usr/bin/env python3
"""Cached tables, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns:

* making a cached table of numbers, texts and flags (`cache().count()`);
* grouping it by a number, and by a text;
* looking for rows that few of its batches have;
* the largest resident memory of the executor process.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, measure_jobs, parse, parser


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="rows of the table (default: %(default)s)")
    return parse(arguments)


def measure(chosen, work, samples):
    jobs = [(step, dict(do="cached_steps", step=step, rows=chosen.rows), float) for step in ["make", "numbers", "texts", "few"]]
    measure_jobs(chosen, work, samples, "cached", jobs, "sql", lambda side: carried(chosen, side))


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("make", "making the table", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("numbers", "groups by a number", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("texts", "groups by a text", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("few", "few batches", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 1"),
]


compare(options(), MEASURES, measure)
