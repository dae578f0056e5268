#!/usr/bin/env python3
"""Asks random queries (tests/jobs/sql_random.py) of plain Spark and of Firesteel, and shows where their answers differ.

    scripts/random_queries.py SPARK_VERSION COUNT [--seed N] [--first N] [--batch N] [--conf KEY=VALUE]... [--firesteel-conf KEY=VALUE]...

Each batch is an application of its own on each side. Needs what `scripts/run SPARK_VERSION` installs and builds. Ends
with 1 if an answer differs."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or pathlib.Path.home() / ".cache" / "firesteel")
JOB = REPOSITORY / "tests" / "jobs" / "sql_random.py"
SIDES = ["plain", "firesteel"]
# Short stages on few cores: the second compiler would take more time than it saves.
CHEAP = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = ["spark.ui.enabled=false", "spark.driver.host=localhost", "spark.driver.bindAddress=127.0.0.1",
            f"spark.executor.extraJavaOptions={CHEAP}"]


def spark_home(version):
    """The installed distribution of a version, and its interpreter."""
    variable = f"FIRESTEEL_SPARK_DIR_{version.replace('.', '_')}"
    environment = pathlib.Path(os.environ.get(variable) or CACHE / f"spark-{version}")
    homes = list(environment.glob("lib/python3*/site-packages/pyspark"))
    if not homes:
        sys.exit(f"no Spark {version} in {environment}: run `scripts/run {version}` first")
    return homes[0], environment / "bin" / "python"


def home_of_links(installed, work):
    """The distribution under a name of its own, so that logs of executors do not land in the installed package."""
    home = work / "spark"
    home.mkdir()
    for part in installed.iterdir():
        (home / part.name).symlink_to(part)
    return home


def ask(chosen, side, first, count, work):
    """Answers of one side to a batch, and the reports of its executors."""
    installed, python = spark_home(chosen.version)
    work.mkdir()
    home = home_of_links(installed, work)
    settings = [*SETTINGS, f"spark.sql.warehouse.dir={work}/warehouse", *chosen.conf]
    if side == "firesteel":
        settings += [*chosen.firesteel_conf, f"spark.executorEnv.JAVA_HOME={chosen.firesteel}",
                     f"spark.executorEnv.FIRESTEEL_REPORT={work}/report-{{id}}.json"]
    environment = {
        **os.environ, "JAVA_HOME": str(chosen.jdk), "FIRESTEEL_JAVA_HOME": str(chosen.jdk), "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(work / "local"), "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python), "SPARK_SUBMIT_OPTS": CHEAP, "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [home / "bin" / "spark-submit", "--master", "local-cluster[1,2,1536]", "--driver-memory", "2g"]
    for setting in settings:
        command += ["--conf", setting]
    command += [JOB, work / "result.json", chosen.seed, first, count, 3]
    with open(work / "driver.log", "w") as log:
        done = subprocess.run([str(word) for word in command], env=environment, cwd=work, stdin=subprocess.DEVNULL,
                              stdout=log, stderr=log, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{side} failed with {done.returncode}: {work}/driver.log")
    answers = json.loads((work / "result.json").read_text())["answers"]
    return answers, [json.loads(report.read_text()) for report in work.glob("report-*.json")]


def count_lanes(reports, totals):
    for report in reports:
        for lane, ends in report["tasks"].items():
            totals[f"tasks in {lane}"] += sum(ends.values())
        for what in ["delegated", "bailed_out"]:
            for reason, number in report[what].items():
                totals[f"{what}: {reason}"] += number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batch", type=int, default=2500)
    parser.add_argument("--conf", action="append", default=[], help="a setting of both sides")
    parser.add_argument("--firesteel-conf", action="append", default=[], help="a setting of Firesteel's side")
    parser.add_argument("--firesteel", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FIRESTEEL_DIST") or REPOSITORY / "dist" / "firesteel"))
    parser.add_argument("--jdk", type=pathlib.Path, default=os.environ.get("FIRESTEEL_JAVA_HOME") or os.environ.get("JAVA_HOME"))
    chosen = parser.parse_args()
    if chosen.jdk is None:
        parser.error("set --jdk, FIRESTEEL_JAVA_HOME or JAVA_HOME")
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
