#!/usr/bin/env python3
"""Functions of Python in Spark SQL, called with pickled rows and over Arrow streams, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns:

* simple functions, which Firesteel computes without Python, and the sum of their results: `n + 1` of a number, a price with a choice in it, a number and
  a text; the number and the price over Arrow streams as well;
* functions that workers call: of the same number and text, pickled and over Arrow, and of series (`pandas_udf`);
* functions of groups of rows: `applyInPandas` of one table and of two, and two values of each group (`pandas_udf` in `agg`);
* the largest resident memory of the executor process itself, without its Python workers.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, measure_jobs, parse, parser

SIMPLE = ["number", "price", "text", "arrow number", "arrow price"]
IN_WORKERS = {"number in workers": ">= 2", "text in workers": ">= 2", "arrow number in workers": ">= 1.5", "series": ">= 1.5"}
PICKLED = "spark.sql.execution.pythonUDF.arrow.enabled=false"


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="rows of each query (default: %(default)s)")
    arguments.add_argument("--group-rows", type=int, default=500_000, help="rows of each query of groups (default: %(default)s)")
    arguments.add_argument("--groups", type=int, default=10_000, help="groups of each (default: %(default)s)")
    return parse(arguments)


def measure(chosen, work, samples):
    functions = [*SIMPLE, *IN_WORKERS]
    jobs = [(function, dict(do="py_functions", function=function, rows=chosen.rows), float) for function in functions]
    groups = dict(do="py_groups", rows=chosen.group_rows, groups=chosen.groups)
    jobs += [(function, dict(groups, function=function), float) for function in ["frames", "two frames", "values"]]
    measure_jobs(chosen, work, samples, "functions", jobs, "sql", lambda side: [PICKLED, *carried(chosen, side)])


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    *((name, f"simple: {name}", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 10") for name in SIMPLE),
    *((name, name, lambda v: f"{v:.2f} s", ("plain", "firesteel"), goal) for name, goal in IN_WORKERS.items()),
    ("frames", "applyInPandas", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("two frames", "applyInPandas of two", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("values", "two values of groups", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("peak_rss_bytes", "peak memory without workers", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 0.2"),
]


compare(options(), MEASURES, measure)
