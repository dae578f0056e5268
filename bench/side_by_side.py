"""What the benchmarks of executors share: drivers without executors of their own, executors of both kinds started by hand with the command line of a
Standalone worker, and the table of ratios. Standard library only."""

import argparse
import contextlib
import datetime
import json
import operator
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


def parser(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", default="4.3.0", help="version of the Spark distribution (default: %(default)s)")
    parser.add_argument("--before", type=pathlib.Path,
                        help="another build of Firesteel, as a distribution, in the place of plain Spark's executor")
    parser.add_argument("--firesteel", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FIRESTEEL_DIST") or REPOSITORY / "dist" / "firesteel"))
    parser.add_argument("--jdk", type=pathlib.Path,
                        default=os.environ.get("FIRESTEEL_JAVA_HOME") or os.environ.get("JAVA_HOME"))
    parser.add_argument("--runs", type=int, default=10, help="runs per side (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, help="write all samples to this file")
    return parser


def parse(parser):
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
    """A driver without executors of its own (held.py)."""

    def __init__(self, chosen, work, name, probe=None, conf=(), address=None):
        """`address` is where executors of other machines find it."""
        host, address = address or "localhost", address or "127.0.0.1"
        self.chosen, self.work = chosen, work / name
        self.work.mkdir()
        (self.work / "scratch").mkdir()
        submit = ["--master", "local-cluster[0,1,1024]"]
        if probe:
            submit += ["--jars", str(probe)]
        for entry in ["spark.ui.port=0", "spark.ui.liveUpdate.period=0", f"spark.driver.bindAddress={address}",
                      f"spark.driver.host={host}", "spark.sql.shuffle.partitions=8",
                      f"spark.sql.warehouse.dir={self.work}/warehouse", *conf]:
            submit += ["--conf", entry]
        self.environment = {
            **os.environ, "JAVA_HOME": str(chosen.jdk), "FIRESTEEL_JAVA_HOME": str(chosen.jdk), "SPARK_HOME": str(chosen.home),
            "SPARK_LOCAL_IP": address, "SPARK_LOCAL_HOSTNAME": host, "SPARK_LOCAL_DIRS": str(self.work / "local"),
            "PYSPARK_PYTHON": str(chosen.python), "PYTHONDONTWRITEBYTECODE": "1",
            "PYSPARK_SUBMIT_ARGS": " ".join([*submit, "pyspark-shell"]),
        }
        self.process = subprocess.Popen(
            [chosen.python, REPOSITORY / "bench" / "held.py", name, self.work / "scratch"], env=self.environment, cwd=self.work,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.work / "driver.err", "w"), text=True)
        self.hello = self.ask(do="hello")
        self.hello["driver_url"] = self.hello["driver_url"].replace("localhost", host)

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

    def command(self, side, identity, memory, host="localhost", class_path=""):
        """The command line of an executor. Every side but Firesteel's is Spark's own executor."""
        chosen = self.chosen
        java = (chosen.firesteel if side == "firesteel" else chosen.before or chosen.jdk) / "bin" / "java"
        return [java, "-cp", f"{class_path}{chosen.home}/jars/*", f"-Xmx{memory}", "-Djava.net.preferIPv6Addresses=false",
                "-XX:+IgnoreUnrecognizedVMOptions", *MODULE_OPTIONS,
                "org.apache.spark.executor.CoarseGrainedExecutorBackend", "--driver-url", self.hello["driver_url"],
                "--executor-id", str(identity), "--hostname", host, "--cores", "2",
                "--app-id", self.hello["app_id"], "--resourceProfileId", "0"]

    def launch(self, side, number, memory="1024M", class_path=""):
        """Starts an executor and gives the process and its start time."""
        directory = self.work / f"executor-{number}"
        directory.mkdir()
        command = self.command(side, number, memory, class_path=class_path)
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


def peak_bytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("no VmHWM")


def ask_in_turn(chosen, what, drivers, command, samples, value=lambda seconds: seconds, same=operator.eq):
    """Gives both drivers a command, or what it is for a side, again and again, and keeps what is made of the seconds. The first round warms up.
    Their first answers are to be the same."""
    answers = {}
    for round_number in range(chosen.runs + 1):
        for side in in_turn(round_number):
            found = drivers[side].ask(**(command(side) if callable(command) else command))
            answers.setdefault(side, found["answer"])
            if round_number:
                samples[side].append(value(found["seconds"]))
        show_progress(what, round_number, chosen.runs)
    if not same(answers["plain"], answers["firesteel"]):
        raise RuntimeError(f"{what}: the answers of the two sides differ: {answers}")


def measure_jobs(chosen, work, samples, name, jobs, lane, conf=None, same=operator.eq):
    """Two drivers, each with one executor of its side, take turns at jobs: key of the samples, command, what is made of the seconds. Every task of
    Firesteel's executor is to be native, in this lane. `conf` gives the settings of a side. Keeps the peak memory of the executors as well."""
    drivers, executors = {}, {}
    try:
        for side in SIDES:
            drivers[side] = Driver(chosen, work, f"{name}-{side}", conf=conf(side) if conf else [])
            executors[side] = drivers[side].launch(side, 0, "2g")[0]
        for key, command, value in jobs:
            ask_in_turn(chosen, key, drivers, command, samples[key], value, same)
        for side in SIDES:
            samples["peak_rss_bytes"][side].append(peak_bytes(executors[side]))
    finally:
        for driver in drivers.values():
            driver.close()
        for process in executors.values():
            end(process)
    check_native(work / f"{name}-firesteel" / "executor-0" / "report.json", lane)


def jar_of_java(chosen, work):
    """A jar of what benchmarks have in Java."""
    classes, jar = work / "classes", work / "benchmarks.jar"
    sources = sorted((REPOSITORY / "bench" / "java").glob("*.java"))
    subprocess.run([chosen.jdk / "bin" / "javac", "-cp", f"{chosen.home}/jars/*", "-d", classes, *sources], check=True)
    subprocess.run([chosen.jdk / "bin" / "jar", "--create", "--file", jar, "-C", classes, "."], check=True)
    return jar


def carried(chosen, side):
    """Settings by which generated code carries its operators to Firesteel's executor."""
    jar = chosen.firesteel / "jars" / "firesteel-plan.jar"
    settings = [f"spark.driver.extraClassPath={jar}", "spark.sql.extensions=org.firesteel.CarriedPlans"]
    return settings if side == "firesteel" else []


def compare_forms(description, name, do, forms, rows, lane):
    """Prints the seconds that the command `do` takes in each of its forms, of which the JVM does parts beside native tasks, with Spark's defaults and, for Firesteel, with the jar
    of carried plans. `rows` says what there are so many of; `lane` is that of all tasks, if they are native."""
    arguments = parser(description)
    arguments.add_argument("--rows", type=int, default=20_000_000, help=f"{rows} (default: %(default)s)")
    arguments.add_argument("--whole", action="store_true", help="spark.firesteel.sql.jvmExpressions=false")

    def measure(chosen, work, samples):
        jar = jar_of_java(chosen, work)

        def settings(side):
            whole = f"spark.firesteel.sql.jvmExpressions={str(not chosen.whole).lower()}"
            return [f"spark.jars={jar}", whole, *carried(chosen, side)]

        jobs = [(form, dict(do=do, form=form, rows=chosen.rows), float) for form in forms]
        measure_jobs(chosen, work, samples, name, jobs, None if chosen.whole else lane, settings)

    measures = [(form, form, lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1") for form in forms]
    measures.append(("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), ""))
    compare(parse(arguments), measures, measure)


def compare(chosen, measures, measure):
    """Lets `measure` fill samples, and prints the table."""
    samples = {key: {side: [] for side in SIDES} for key, *_ in measures}
    with scratch() as work:
        measure(chosen, work, samples)
    report(chosen, measures, samples)


def check_native(report, lane):
    """Fails if the executor that left this report ran a task in its JVM, or had one without expressions for it. No lane is none of its business."""
    counters = json.loads(report.read_text())
    evaluates = counters.get("jvm_expressions", {}).get("tasks")
    if not lane:
        return
    if (counters["jvm_started"] and not evaluates) or counters["delegated"] or counters["bailed_out"]:
        raise RuntimeError(f"not every task was native: {counters}")
    print(f"tasks of Firesteel's executor, all native: {counters['tasks'][lane]}", file=sys.stderr)


def in_turn(round_number):
    """The side that goes first changes from round to round."""
    return SIDES if round_number % 2 == 0 else SIDES[::-1]


def show_progress(what, done, runs):
    print(f"{what}: round {done} of {runs}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def scratch():
    """A directory that goes if all went well, and is named if not."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="firesteel-bench-"))
    try:
        yield work
    except BaseException:
        print(f"logs: {work}", file=sys.stderr)
        raise
    shutil.rmtree(work)


def report(chosen, measures, samples):
    """Prints medians and ratios. A measure is: key, title, how to print a value, ratio as (numerator, denominator), goal."""
    print(f"Spark {chosen.spark}, medians of {chosen.runs}, {os.cpu_count()} processors")
    print(f"{'':34}{'plain':>14}{'Firesteel':>14}{'ratio':>10}  goal")
    for key, title, shown, (top, bottom), goal in measures:
        if samples[key]["plain"]:
            middle = {side: statistics.median(values) for side, values in samples[key].items()}
            ratio = f"{middle[top] / middle[bottom]:.3g}"
            print(f"{title:34}{shown(middle['plain']):>14}{shown(middle['firesteel']):>14}{ratio:>10}  {goal}")
    if chosen.json:
        chosen.json.write_text(json.dumps({"spark": chosen.spark, "samples": samples}, indent=1))
