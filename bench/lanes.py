#!/usr/bin/env python3
"""TPC-H with Spark's default settings: how many of each query's tasks run natively, as the lines of a table of Markdown.

Each query has a Firesteel executor of its own, whose report is read. Needs a built distribution of Firesteel and a Spark distribution
(scripts/test installs both)."""

import json
import subprocess
import sys

from side_by_side import JOBS, Driver, end, parse, parser, scratch

QUERIES = sorted((JOBS / "tpch").glob("q*.sql"))


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="0.01", help="scale of TPC-H (default: %(default)s)")
    arguments.add_argument("--queries", nargs="+", default=[path.stem for path in QUERIES], help="such as q01 q06 (default: all)")
    arguments.add_argument("--conf", nargs="+", default=[], help="settings of the driver, such as spark.sql.codegen.wholeStage=false")
    return parse(arguments)


def tasks(report):
    """Tasks of native lanes, all tasks, and the reasons for which tasks were left to the JVM."""
    found = json.loads(report.read_text())
    finished = {lane: ends["finished"] for lane, ends in found["tasks"].items()}
    reasons = {**found["delegated"], **found["bailed_out"]}
    return sum(finished.values()) - finished["jvm"], sum(finished.values()), reasons


def count(chosen, work, tables):
    counted = {}
    driver = Driver(chosen, work, "lanes", conf=chosen.conf)
    try:
        executor, _ = driver.launch("firesteel", 0)
        # Finding out the columns is a job, too.
        driver.ask(do="tables", directory=tables)
        for number, path in enumerate(QUERIES, 1):
            if path.stem not in chosen.queries:
                continue
            end(executor)
            executor, _ = driver.launch("firesteel", number)
            driver.ask(do="sql", queries=[path.read_text()])
            end(executor)
            counted[path.stem] = tasks(driver.work / f"executor-{number}" / "report.json")
            print(f"{path.stem}: {counted[path.stem]}", file=sys.stderr, flush=True)
    finally:
        driver.close()
        end(executor)
    return counted


def main():
    chosen = options()
    made = subprocess.run([chosen.python, JOBS / "make_tpch.py", chosen.scale, "4"], check=True, stdout=subprocess.PIPE, text=True)
    with scratch() as work:
        counted = count(chosen, work, made.stdout.strip())
    native, everything = (sum(found[place] for found in counted.values()) for place in range(2))
    print("| |" + "".join(f" {name} |" for name in counted) + " all |")
    print("|---|" + "---|" * (len(counted) + 1))
    print(f"| {chosen.spark} |" + "".join(f" {own}/{all_} |" for own, all_, _ in counted.values())
          + f" {native}/{everything} ({native / everything:.0%}) |")
    if chosen.json:
        chosen.json.write_text(json.dumps(counted, indent=1))


main()
