#!/usr/bin/env python3
"""Firesteel's executor next to plain Spark's, as ratios, in one run.

Both kinds are started by hand with the command line of a Standalone worker, against real drivers, in alternating order:

* launch to registered: from the start of the process to the driver's own time stamp of the new executor;
* resident memory of the idle process, some seconds after that;
* the 22 queries of TPC-H: two drivers, each with one executor of one kind, take turns; the first round (cold) stands apart;
* tiny tasks per second: JVM jobs of many tasks that do nothing, on the same two drivers.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

import json
import subprocess
import sys
import time

from side_by_side import JOBS, SIDES, Driver, end, in_turn, parse, parser, report, resident_bytes, scratch, show_progress

# This measures the jvm lane: Firesteel delegates everything.
DELEGATED = ["spark.firesteel.lanes=jvm"]


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--idle", type=float, default=10,
                           help="seconds before resident memory is read (default: %(default)s)")
    arguments.add_argument("--scale", default="1", help="scale of TPC-H (default: %(default)s)")
    arguments.add_argument("--tasks", type=int, default=2000, help="tasks of a tiny job (default: %(default)s)")
    arguments.add_argument("--only", nargs="+", choices=["launch", "tpch", "tiny"], default=["launch", "tpch", "tiny"])
    return parse(arguments)


def launches(chosen, work, probe, samples):
    driver = Driver(chosen, work, "launch", probe, DELEGATED)
    try:
        number = 0
        # One more round than asked for: the first fills the page cache.
        for round_number in range(chosen.runs + 1):
            for side in in_turn(round_number):
                process, started = driver.launch(side, number)
                try:
                    milliseconds = (driver.registered(number) - started) * 1000
                    if round_number:
                        time.sleep(chosen.idle)
                        samples["registered_ms"][side].append(milliseconds)
                        samples["idle_rss_bytes"][side].append(resident_bytes(process))
                finally:
                    end(process)
                driver.ask(do="wait", ids=[], seconds=60)
                number += 1
            show_progress("launch", round_number, chosen.runs)
    finally:
        driver.close()


def jobs(chosen, work, probe, samples):
    drivers, executors = {}, []
    try:
        for side in SIDES:
            drivers[side] = Driver(chosen, work, f"jobs-{side}", probe, DELEGATED)
            executors.append(drivers[side].launch(side, 0, "2g")[0])
        if "tpch" in chosen.only:
            made = subprocess.run([chosen.python, JOBS / "make_tpch.py", chosen.scale, "8"], check=True, stdout=subprocess.PIPE,
                                  text=True)
            queries = [path.read_text() for path in sorted((JOBS / "tpch").glob("q*.sql"))]
            digests = {}
            for side in SIDES:
                drivers[side].ask(do="tables", directory=made.stdout.strip())
            for round_number in range(chosen.runs + 1):
                for side in in_turn(round_number):
                    found = drivers[side].ask(do="sql", queries=queries)
                    total = sum(query["seconds"] for query in found)
                    samples["tpch_seconds" if round_number else "tpch_cold_seconds"][side].append(total)
                    digests.setdefault(side, [query["digest"] for query in found])
                show_progress("TPC-H", round_number, chosen.runs)
            if digests["plain"] != digests["firesteel"]:
                raise RuntimeError("the answers of the two sides differ")
        if "tiny" in chosen.only:
            for round_number in range(chosen.runs + 1):
                for side in in_turn(round_number):
                    seconds = drivers[side].ask(do="tiny", tasks=chosen.tasks)
                    if round_number:
                        samples["tiny_tasks_per_second"][side].append(chosen.tasks / seconds)
                show_progress("tiny tasks", round_number, chosen.runs)
    finally:
        for driver in drivers.values():
            driver.close()
        for process in executors:
            end(process)
    counters = json.loads((work / "jobs-firesteel" / "executor-0" / "report.json").read_text())
    lanes = {lane: sum(ends.values()) for lane, ends in counters["tasks"].items() if sum(ends.values())}
    if set(lanes) != {"jvm"}:
        raise RuntimeError(f"not every task was delegated: {lanes}")
    print(f"tasks of Firesteel's executor, all delegated: {lanes['jvm']}", file=sys.stderr)


MEASURES = [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("registered_ms", "launch to registered", lambda v: f"{v:.0f} ms", ("plain", "firesteel"), ">= 15"),
    ("idle_rss_bytes", "resident memory when idle", lambda v: f"{v / 2**20:.1f} MiB", ("firesteel", "plain"), "< 0.1"),
    ("tpch_seconds", "TPC-H, all tasks delegated", lambda v: f"{v:.2f} s", ("firesteel", "plain"), "<= 1.03"),
    ("tpch_cold_seconds", "TPC-H, first round (one sample)", lambda v: f"{v:.2f} s", ("firesteel", "plain"), ""),
    ("tiny_tasks_per_second", "tiny tasks per second", lambda v: f"{v:.0f}", ("firesteel", "plain"), ">= 1"),
]


def main():
    chosen = options()
    samples = {key: {side: [] for side in SIDES} for key, *_ in MEASURES}
    with scratch() as work:
        probe = work / "probe.jar"
        (work / "classes").mkdir()
        subprocess.run([chosen.jdk / "bin" / "javac", "-d", work / "classes", "-cp", f"{chosen.home}/jars/*",
                        *(JOBS / "jar" / "probe").glob("*.java")], check=True)
        subprocess.run([chosen.jdk / "bin" / "jar", "cf", probe, "-C", work / "classes", "."], check=True)
        if "launch" in chosen.only:
            launches(chosen, work, probe, samples)
        if {"tpch", "tiny"} & set(chosen.only):
            jobs(chosen, work, probe, samples)
    report(chosen, MEASURES, samples)


main()
