#!/usr/bin/env python3
"""Firesteel's executor next to plain Spark's, as ratios, in one run.

Both kinds are started by hand with the command line of a Standalone worker, against real drivers, in alternating order:

* launch to registered: from the start of the process to the driver's own time stamp of the new executor;
* resident memory of the idle process, some seconds after that;
* the 22 queries of TPC-H: two drivers, each with one executor of one kind, take turns; the first round (cold) stands apart;
* tiny tasks per second: JVM jobs of many tasks that do nothing, on the same two drivers.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
JOBS = REPOSITORY / "tests" / "jobs"
CACHE = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or pathlib.Path.home() / ".cache" / "firesteel")
SIDES = ["plain", "firesteel"]
OPENED = ["lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent", "util.concurrent.atomic"]
MODULE_OPTIONS = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED] + [
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.cs=ALL-UNNAMED",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
    "--add-opens=java.base/sun.util.calendar=ALL-UNNAMED",
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", default="4.3.0", help="version of the Spark distribution (default: %(default)s)")
    parser.add_argument("--firesteel", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FIRESTEEL_DIST") or REPOSITORY / "dist" / "firesteel"))
    parser.add_argument("--jdk", type=pathlib.Path,
                        default=os.environ.get("FIRESTEEL_JAVA_HOME") or os.environ.get("JAVA_HOME"))
    parser.add_argument("--runs", type=int, default=10, help="runs per side (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=10, help="seconds before resident memory is read (default: %(default)s)")
    parser.add_argument("--scale", default="1", help="scale of TPC-H (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=2000, help="tasks of a tiny job (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=["launch", "tpch", "tiny"], default=["launch", "tpch", "tiny"])
    parser.add_argument("--json", type=pathlib.Path, help="write all samples to this file")
    chosen = parser.parse_args()
    if chosen.jdk is None:
        parser.error("set --jdk, FIRESTEEL_JAVA_HOME or JAVA_HOME to the JDK of the plain side")
    chosen.jdk = pathlib.Path(chosen.jdk)
    environment = pathlib.Path(os.environ.get(f"FIRESTEEL_SPARK_DIR_{chosen.spark.replace('.', '_')}")
                               or CACHE / f"spark-{chosen.spark}")
    homes = list(environment.glob("lib/python3*/site-packages/pyspark"))
    if not homes:
        parser.error(f"no Spark {chosen.spark} under {environment}")
    if not (chosen.firesteel / "bin" / "java").exists():
        parser.error(f"{chosen.firesteel} is not a built distribution of Firesteel")
    chosen.home, chosen.python = homes[0], environment / "bin" / "python"
    return chosen


class Driver:
    """A driver without executors of its own (tests/jobs/hold.py)."""

    def __init__(self, chosen, work, name, probe):
        self.chosen, self.work = chosen, work / name
        self.work.mkdir()
        (self.work / "scratch").mkdir()
        submit = ["--master", "local-cluster[0,1,1024]", "--jars", str(probe)]
        for entry in ["spark.ui.port=0", "spark.ui.liveUpdate.period=0", "spark.driver.bindAddress=127.0.0.1",
                      "spark.driver.host=localhost", "spark.sql.shuffle.partitions=8",
                      # This measures the jvm lane: Firesteel delegates everything.
                      "spark.firesteel.lanes=jvm",
                      f"spark.sql.warehouse.dir={self.work}/warehouse"]:
            submit += ["--conf", entry]
        self.environment = {
            **os.environ, "JAVA_HOME": str(chosen.jdk), "FIRESTEEL_JAVA_HOME": str(chosen.jdk), "SPARK_HOME": str(chosen.home),
            "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_LOCAL_DIRS": str(self.work / "local"),
            "PYSPARK_PYTHON": str(chosen.python), "PYTHONDONTWRITEBYTECODE": "1",
            "PYSPARK_SUBMIT_ARGS": " ".join([*submit, "pyspark-shell"]),
        }
        self.process = subprocess.Popen(
            [chosen.python, JOBS / "hold.py", name, self.work / "scratch"], env=self.environment, cwd=self.work,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.work / "driver.err", "w"), text=True)
        self.hello = self.ask(do="hello")

    def ask(self, seconds=1800, **command):
        # A driver that does not answer in time is killed, which ends the reading below.
        guard = threading.Timer(seconds, self.process.kill)
        guard.start()
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.startswith("hold> "):
                    answer = json.loads(line[6:])
                    if "error" in answer:
                        raise RuntimeError(f"{command['do']}: {answer['error']} (log: {self.work}/driver.err)")
                    return answer["ok"]
        finally:
            guard.cancel()
        raise RuntimeError(f"the driver ended during {command['do']} (log: {self.work}/driver.err)")

    def launch(self, side, number, memory="1024M"):
        """Starts an executor and gives the process and its start time."""
        chosen = self.chosen
        java = (chosen.jdk if side == "plain" else chosen.firesteel) / "bin" / "java"
        directory = self.work / f"executor-{number}"
        directory.mkdir()
        command = [java, "-cp", f"{chosen.home}/jars/*", f"-Xmx{memory}", "-Djava.net.preferIPv6Addresses=false",
                   "-XX:+IgnoreUnrecognizedVMOptions", *MODULE_OPTIONS,
                   "org.apache.spark.executor.CoarseGrainedExecutorBackend", "--driver-url", self.hello["driver_url"],
                   "--executor-id", str(number), "--hostname", "localhost", "--cores", "2",
                   "--app-id", self.hello["app_id"], "--resourceProfileId", "0"]
        log = open(directory / "stderr", "w")
        environment = {**self.environment, "SPARK_EXECUTOR_DIRS": str(directory / "local"),
                       "FIRESTEEL_REPORT": str(directory / "report.json")}
        started = time.time()
        process = subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.ask(do="wait", ids=[str(number)], seconds=60)
        return process, started

    def registered(self, number):
        """The driver's time stamp of an executor, in seconds."""
        text = self.ask(do="executors")[str(number)]["added"].replace("GMT", "+0000")
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()

    def close(self):
        try:
            self.ask(seconds=30, do="stop")
        except (RuntimeError, OSError):
            pass
        self.process.kill()
        self.process.wait()


def end(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS")


def in_turn(round_number):
    """The side that goes first changes from round to round."""
    return SIDES if round_number % 2 == 0 else SIDES[::-1]


def launches(chosen, work, probe, samples):
    driver = Driver(chosen, work, "launch", probe)
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
            drivers[side] = Driver(chosen, work, f"jobs-{side}", probe)
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
    report = json.loads((work / "jobs-firesteel" / "executor-0" / "report.json").read_text())
    lanes = {lane: sum(ends.values()) for lane, ends in report["tasks"].items() if sum(ends.values())}
    if set(lanes) != {"jvm"}:
        raise RuntimeError(f"not every task was delegated: {lanes}")
    print(f"tasks of Firesteel's executor, all delegated: {lanes['jvm']}", file=sys.stderr)


def show_progress(what, done, runs):
    print(f"{what}: round {done} of {runs}", file=sys.stderr, flush=True)


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
    work = pathlib.Path(tempfile.mkdtemp(prefix="firesteel-bench-"))
    try:
        probe = work / "probe.jar"
        (work / "classes").mkdir()
        subprocess.run([chosen.jdk / "bin" / "javac", "-d", work / "classes", "-cp", f"{chosen.home}/jars/*",
                        *(JOBS / "jar" / "probe").glob("*.java")], check=True)
        subprocess.run([chosen.jdk / "bin" / "jar", "cf", probe, "-C", work / "classes", "."], check=True)
        if "launch" in chosen.only:
            launches(chosen, work, probe, samples)
        if {"tpch", "tiny"} & set(chosen.only):
            jobs(chosen, work, probe, samples)
    except BaseException:
        print(f"logs: {work}", file=sys.stderr)
        raise
    shutil.rmtree(work)
    print(f"Spark {chosen.spark}, medians of {chosen.runs}, {os.cpu_count()} processors")
    print(f"{'':34}{'plain':>14}{'Firesteel':>14}{'ratio':>10}  goal")
    for key, title, shown, (top, bottom), goal in MEASURES:
        if samples[key]["plain"]:
            middle = {side: statistics.median(values) for side, values in samples[key].items()}
            ratio = f"{middle[top] / middle[bottom]:.3g}"
            print(f"{title:34}{shown(middle['plain']):>14}{shown(middle['firesteel']):>14}{ratio:>10}  {goal}")
    if chosen.json:
        chosen.json.write_text(json.dumps({"spark": chosen.spark, "samples": samples}, indent=1))


main()
