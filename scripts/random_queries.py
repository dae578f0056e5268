#!/usr/bin/env python3
"""Asks random queries (tests/jobs/sql_random.py) of plain Spark and of Firesteel, and shows where their answers differ.

    scripts/random_queries.py SPARK_VERSION COUNT [--seed N] [--first N] [--batch N] [--conf KEY=VALUE]... [--firesteel-conf KEY=VALUE]...

Each batch is an application of its own on each side. Needs what `scripts/run SPARK_VERSION` installs and builds. Ends
with 1 if an answer differs."""

import collections
import concurrent.futures
import json
import pathlib
import shutil
import sys
import tempfile
import time

from sides import REPOSITORY, SIDES, count_lanes, parse, parser, submit

JOB = REPOSITORY / "tests" / "jobs" / "sql_random.py"


def ask(chosen, side, first, count, work):
    """Answers of one side to a batch, and the reports of its executors."""
    reports = submit(chosen, side, work, JOB, work / "result.json", chosen.seed, first, count, 3)
    return json.loads((work / "result.json").read_text())["answers"], reports


def main():
    options = parser(__doc__)
    options.add_argument("version")
    options.add_argument("count", type=int)
    options.add_argument("--seed", default="1")
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--batch", type=int, default=2500)
    chosen = parse(options)
    work = pathlib.Path(tempfile.mkdtemp(prefix="firesteel-random-"))
    totals, different, errors = collections.Counter(), 0, 0
    started = time.monotonic()
    for first in range(chosen.first, chosen.first + chosen.count, chosen.batch):
        count = min(chosen.batch, chosen.first + chosen.count - first)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = [pool.submit(ask, chosen, side, first, count, work / f"{first}-{side}") for side in SIDES]
            (plain, _), (native, reports) = (side.result() for side in asked)
        count_lanes(reports, totals)
        for number, expected in plain.items():
            errors += "error" in expected
            if native.get(number) != expected:
                different += 1
                print(f"query {number} differs\n  plain     {expected}\n  firesteel {native.get(number)}", flush=True)
        for side in SIDES:
            shutil.rmtree(work / f"{first}-{side}" / "local", ignore_errors=True)
        seconds = time.monotonic() - started
        print(f"{first + count - chosen.first} of {chosen.count} queries, {different} differ, {errors} with an error on both "
              f"sides, {seconds:.0f} s", flush=True)
    for what, number in sorted(totals.items()):
        print(f"{number:10} {what}")
    if different:
        sys.exit(f"{different} of {chosen.count} answers differ (logs: {work})")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
