#!/usr/bin/env python3
"""Functions of Python in Spark SQL, called with pickled rows, on Firesteel's executor and on plain Spark's, as ratios, in one run.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns:

* a function of a number, `n + 1`, and the sum of its results;
* a function of a number and a text;
* the largest resident memory of the executor process itself, without its Python workers.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

import json
import sys

from side_by_side import SIDES, Driver, end, in_turn, parse, parser, report, scratch, show_progress

PICKLED = "spark.sql.execution.pythonUDF.arrow.enabled=false"


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="rows of each query (default: %(default)s)")
    return parse(arguments)


def peak_bytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("no VmHWM")


def measure(chosen, work, samples):
    drivers, executors = {}, {}
    jar = chosen.firesteel / "jars" / "firesteel-plan.jar"
    carried = [f"spark.driver.extraClassPath={jar}", "spark.sql.extensions=org.firesteel.CarriedPlans"]
    try:
        for side in SIDES:
            conf = [PICKLED, *(carried if side == "firesteel" else [])]
            drivers[side] = Driver(chosen, work, f"functions-{side}", conf=conf)
            executors[side] = drivers[side].launch(side, 0, "2g")[0]
        for function in ["number", "text"]:
            answers = {}
            # One more round than asked for: the first warms up.
            for round_number in range(chosen.runs + 1):
                for side in in_turn(round_number):
                    found = drivers[side].ask(do="py_functions", function=function, rows=chosen.rows)
                    answers.setdefault(side, found["answer"])
                    if round_number:
                        samples[function][side].append(found["seconds"])
                show_progress(function, round_number, chosen.runs)
            if answers["plain"] != answers["firesteel"]:
                raise RuntimeError(f"{function}: the answers of the two sides differ: {answers}")
        for side in SIDES:
            samples["peak_rss_bytes"][side].append(peak_bytes(executors[side]))
    finally:
        for driver in drivers.values():
            driver.close()
        for process in executors.values():
            end(process)
    counters = json.loads((work / "functions-firesteel" / "executor-0" / "report.json").read_text())
    if counters["jvm_started"] or counters["delegated"] or counters["bailed_out"]:
        raise RuntimeError(f"not every task was native: {counters}")
    print(f"tasks of Firesteel's executor, all native: {counters['tasks']['sql']}", file=sys.stderr)


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("number", "n + 1", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("text", "a number and a text", lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 2"),
    ("peak_rss_bytes", "peak memory without workers", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 0.2"),
]


def main():
    chosen = options()
    samples = {key: {side: [] for side in SIDES} for key, *_ in MEASURES}
    with scratch() as work:
        measure(chosen, work, samples)
    report(chosen, MEASURES, samples)


main()
