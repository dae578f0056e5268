#!/usr/bin/env python3
"""Functions of Python in Spark SQL, called with pickled rows and over Arrow streams, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns:

* a function of a number, `n + 1`, and the sum of its results;
* a function of a number and a text;
* `n + 1` over Arrow streams, and as a function of series (`pandas_udf`);
* functions of groups of rows: `applyInPandas` of one table and of two, and two values of each group (`pandas_udf` in `agg`);
* the largest resident memory of the executor process itself, without its Python workers.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, measure_jobs, parse, parser

PICKLED = "spark.sql.execution.pythonUDF.arrow.enabled=false"


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="rows of each query (default: %(default)s)")
    arguments.add_argument("--group-rows", type=int, default=500_000, help="rows of each query of groups (default: %(default)s)")
    arguments.add_argument("--groups", type=int, default=10_000, help="groups of each (default: %(default)s)")
    return parse(arguments)


def measure(chosen, work, samples):
    functions = ["number", "text", "arrow number", "series"]
    jobs = [(function, dict(do="py_functions", function=function, rows=chosen.rows), float) for function in functions]
    groups = dict(do="py_groups", rows=chosen.group_rows, groups=chosen.groups)
    jobs += [(function, dict(groups, function=function), float) for function in ["frames", "two frames", "values"]]
    measure_jobs(chosen, work, samples, "functions", jobs, "sql", lambda side: [PICKLED, *carried(chosen, side)])


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("number", "n + 1", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("text", "a number and a text", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("arrow number", "n + 1 over Arrow", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("series", "series + 1", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("frames", "applyInPandas", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("two frames", "applyInPandas of two", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("values", "two values of groups", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("peak_rss_bytes", "peak memory without workers", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 0.2"),
]


compare(options(), MEASURES, measure)
