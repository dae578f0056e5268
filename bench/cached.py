#!/usr/bin/env python3
"""Cached tables, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns:

* making a cached table of numbers, texts and flags (`cache().count()`);
* grouping it by a number, and by a text;
* looking for rows that few of its batches have;
* the largest resident memory of the executor process.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import SIDES, Driver, ask_in_turn, check_native, end, parse, parser, peak_bytes, report, scratch


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="rows of the table (default: %(default)s)")
    return parse(arguments)


def measure(chosen, work, samples):
    drivers, executors = {}, {}
    jar = chosen.firesteel / "jars" / "firesteel-plan.jar"
    carried = [f"spark.driver.extraClassPath={jar}", "spark.sql.extensions=org.firesteel.CarriedPlans"]
    try:
        for side in SIDES:
            drivers[side] = Driver(chosen, work, f"cached-{side}", conf=carried if side == "firesteel" else [])
            executors[side] = drivers[side].launch(side, 0, "2g")[0]
        for step in ["make", "numbers", "texts", "few"]:
            ask_in_turn(chosen, step, drivers, dict(do="cached_steps", step=step, rows=chosen.rows), samples[step])
        for side in SIDES:
            samples["peak_rss_bytes"][side].append(peak_bytes(executors[side]))
    finally:
        for driver in drivers.values():
            driver.close()
        for process in executors.values():
            end(process)
    check_native(work / "cached-firesteel" / "executor-0" / "report.json", "sql")


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("make", "making the table", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("numbers", "groups by a number", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("texts", "groups by a text", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("few", "few batches", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1"),
    ("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 1"),
]


def main():
    chosen = options()
    samples = {key: {side: [] for side in SIDES} for key, *_ in MEASURES}
    with scratch() as work:
        measure(chosen, work, samples)
    report(chosen, MEASURES, samples)


main()
