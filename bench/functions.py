#!/usr/bin/env python3
"""Functions of Python in Spark SQL, called with pickled rows and over Arrow streams, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns:

* a function of a number, `n + 1`, and the sum of its results;
* a function of a number and a text;
* `n + 1` over Arrow streams, and as a function of series (`pandas_udf`);
* the largest resident memory of the executor process itself, without its Python workers.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import SIDES, Driver, ask_in_turn, check_native, end, parse, parser, peak_bytes, report, scratch

PICKLED = "spark.sql.execution.pythonUDF.arrow.enabled=false"


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="rows of each query (default: %(default)s)")
    return parse(arguments)


def measure(chosen, work, samples):
    drivers, executors = {}, {}
    jar = chosen.firesteel / "jars" / "firesteel-plan.jar"
    carried = [f"spark.driver.extraClassPath={jar}", "spark.sql.extensions=org.firesteel.CarriedPlans"]
    try:
        for side in SIDES:
            conf = [PICKLED, *(carried if side == "firesteel" else [])]
            drivers[side] = Driver(chosen, work, f"functions-{side}", conf=conf)
            executors[side] = drivers[side].launch(side, 0, "2g")[0]
        for function in ["number", "text", "arrow number", "series"]:
            command = dict(do="py_functions", function=function, rows=chosen.rows)
            ask_in_turn(chosen, function, drivers, command, samples[function])
        for side in SIDES:
            samples["peak_rss_bytes"][side].append(peak_bytes(executors[side]))
    finally:
        for driver in drivers.values():
            driver.close()
        for process in executors.values():
            end(process)
    check_native(work / "functions-firesteel" / "executor-0" / "report.json", "sql")


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("number", "n + 1", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("text", "a number and a text", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("arrow number", "n + 1 over Arrow", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("series", "series + 1", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1.5"),
    ("peak_rss_bytes", "peak memory without workers", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 0.2"),
]


def main():
    chosen = options()
    samples = {key: {side: [] for side in SIDES} for key, *_ in MEASURES}
    with scratch() as work:
        measure(chosen, work, samples)
    report(chosen, MEASURES, samples)


main()
