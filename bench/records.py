#!/usr/bin/env python3
"""Reads of files of CSV and JSON by Spark SQL, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns at aggregates of records of eight columns, with a schema that is given:

* all columns of CSV, and one of them;
* all columns of JSON, and one of them;
* JSON that a query takes out of texts, with `from_json`;
* the largest resident memory of the executor process.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, measure_jobs, parse, parser


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000, help="records of a file (default: %(default)s)")
    return parse(arguments)


READS = [("csv", "csv", "all", "CSV, all columns"), ("csv_one", "csv", "one", "CSV, one column"), ("json", "json", "all", "JSON, all columns"), ("json_one", "json", "one", "JSON, one column"), ("texts", "json", "texts", "JSON, out of texts")]


def measure(chosen, work, samples):
    jobs = [(key, dict(do="read_records", form=form, columns=columns, rows=chosen.rows), float) for key, form, columns, _ in READS]
    measure_jobs(chosen, work, samples, "records", jobs, "sql", lambda side: carried(chosen, side))


MEASURES = [(key, title, lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1") for key, _, _, title in READS] + [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 1"),
]


compare(options(), MEASURES, measure)
