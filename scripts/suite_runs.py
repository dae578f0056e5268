"""One of Spark's suites with executors of one side, in a JVM of its own, and what is kept of it."""

import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from sides import CHEAP, REPOSITORY, count_lanes, home_of_links, spark_home
from suite_jars import SUITES, class_path, scala_of

PREFIX = "org.apache.spark."
PACKAGES = ["java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent",
            "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"]
# What Spark's build gives to the JVMs of its tests.
JVM = [*(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in PACKAGES), "--add-opens=jdk.internal.jvmstat/sun.jvmstat.monitor=ALL-UNNAMED",
       "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED", "-Xmx2g", "-Xss4m", "-XX:ReservedCodeCacheSize=128m",
       "-Dio.netty.tryReflectionSetAccessible=true", "-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true",
       "-Dderby.system.durability=test", "-Dtest.src.tables=src"]
SETTINGS = ["spark.testing=1", "spark.master.rest.enabled=false", "spark.ui.enabled=false", "spark.ui.showConsoleProgress=false",
            "spark.unsafe.exceptionOnMemoryLeak=true", "spark.memory.debugFill=true", "spark.hadoop.hadoop.security.key.provider.path=test:///"]
# Without generated code, plans travel as operators, which the sql lane knows.
SQL_SETTINGS = ["spark.sql.codegen.wholeStage=false"]
# A `java` for executors. It comes by JAVA_HOME of the suite's JVM, since some suites make settings of their own: it counts executors, keeps
# their logs, whose directories tests remove, and has a report of each, since ids are the same in every application of a suite.
JAVA = """#!/bin/bash
for argument in "$@"; do
    case $argument in *CoarseGrainedExecutorBackend)
        echo $$ >>'{work}/executors'
        touch stderr && ln -f stderr '{work}/stderr/'$$ ;;
    esac
done
export FIRESTEEL_JAVA_HOME='{jdk}' FIRESTEEL_REPORT='{work}/reports/'$$-{{id}}.json
export FIRESTEEL_LOG=${{FIRESTEEL_LOG:-info,CoarseGrainedExecutorBackend=debug}}
exec '{home}/bin/java' "$@"
"""
ENDED = re.compile(r"^- (.*?)(?: (?:\*\*\*|!!!) (FAILED|IGNORED|CANCELED) (?:\*\*\*|!!!))?(?: \(([0-9a-z, ]+)\))?$")
STARTED = re.compile(r"===== TEST OUTPUT FOR \S+: '(.*)' =====$")
# Limits of time without the end of a test that a whole suite may take.
LONGEST = 6
UNITS = {"hour": 3600, "minute": 60, "second": 1, "millisecond": 0.001}


@dataclasses.dataclass
class Item:
    """A suite without its package's first part, and parts of the names of the tests that are wanted, all if there are none."""

    suite: str
    tests: tuple = ()

    @classmethod
    def of(cls, text):
        suite, _, tests = text.partition("=")
        return cls(suite.removeprefix(PREFIX), tuple(filter(None, tests.split("|"))))

    def __str__(self):
        return self.suite + ("=" + "|".join(self.tests) if self.tests else "")


def seconds_of(text):
    """The length of a duration such as `1 minute, 2 seconds`."""
    words = (text or "").replace(",", "").split()
    return sum(int(number) * UNITS[unit.removesuffix("s")] for number, unit in zip(words[::2], words[1::2]))


def read_console(console, driver_log):
    """What became of each test: `passed`, `failed`, `ignored`, `canceled`, or `unfinished`, with seconds and the first lines of a message."""
    tests, last = {}, None
    for line in console.read_text(errors="replace").splitlines():
        if found := ENDED.match(line):
            last = tests[found[1]] = {"end": (found[2] or "passed").lower(), "seconds": round(seconds_of(found[3]), 3), "message": []}
        elif last and last["end"] in ("failed", "canceled") and line.startswith("  ") and len(last["message"]) < 4:
            last["message"].append(line.strip()[:400])
        elif not line.startswith("  "):
            last = None
    if driver_log.exists():
        with open(driver_log, errors="replace") as lines:
            for line in lines:
                if (found := STARTED.search(line)) and found[1] not in tests:
                    tests[found[1]] = {"end": "unfinished", "seconds": 0, "message": []}
    return tests


def expected(console):
    """How many tests the suite was to run."""
    found = re.search(r"Expected test count is: (\d+)", console.read_text(errors="replace"))
    return int(found[1]) if found else 0


def identity(chosen, side):
    """What a result depends on besides the suite: the executor's program."""
    if side == "plain":
        return "plain"
    with open(chosen.firesteel / "bin" / "firesteel", "rb") as program:
        return hashlib.file_digest(program, "sha256").hexdigest()[:12]


def place_of(chosen, side, item):
    selection = "" if not item.tests else "-" + hashlib.sha256("|".join(item.tests).encode()).hexdigest()[:8]
    return SUITES / "runs" / chosen.version / side / f"{item.suite}{selection}"


def kept(chosen, side, item):
    """The result of an earlier run that is still true, or None."""
    try:
        found = json.loads((place_of(chosen, side, item) / "result.json").read_text())
    except FileNotFoundError:
        return None
    same = found["program"] == identity(chosen, side) and found["conf"] == settings_of(chosen, side, item)
    return found if same else None


def settings_of(chosen, side, item):
    """Those that are not of Spark's build."""
    return [*(SQL_SETTINGS if item.suite.startswith("sql.") else []), *chosen.conf, *(chosen.firesteel_conf if side == "firesteel" else [])]


def command(chosen, directory, agent, side, item, work):
    settings = [*SETTINGS, *settings_of(chosen, side, item)]
    selected = [word for test in item.tests for word in ("-z", test)]
    return [chosen.jdk / "bin" / "java", *CHEAP.split(), *JVM, f"-javaagent:{agent}", f"-Dsuites.patience={chosen.patience}",
            f"-Dsuites.log={work}/driver.log", f"-Dlog4j2.configurationFile=file:{REPOSITORY}/tests/suites/log4j2.properties",
            f"-Djava.io.tmpdir={work}/tmp", f"-Dspark.test.home={work}/spark", *(f"-D{setting}" for setting in settings),
            "-cp", class_path(chosen.version, directory), "org.scalatest.tools.Runner", "-oDFW", "-R", work / "tmp",
            "-s", PREFIX + item.suite, *selected]


def lay_out(chosen, directory, side, work):
    """A new directory to run in: a home of Spark's, a module's sources, a home of Java's for executors."""
    shutil.rmtree(work, ignore_errors=True)
    for part in ["stderr", "reports", "tmp", "target/tmp", "java/bin"]:
        (work / part).mkdir(parents=True)
    home = home_of_links(spark_home(chosen.version)[0], work)
    (home / "conf").mkdir(exist_ok=True)
    (work / "src").symlink_to(directory / "src")
    java = work / "java" / "bin" / "java"
    java.write_text(JAVA.format(work=work, jdk=chosen.jdk, home=chosen.jdk if side == "plain" else chosen.firesteel))
    java.chmod(0o755)
    return {**os.environ, "JAVA_HOME": str(work / "java"), "JAVA_TOOL_OPTIONS": CHEAP, "SPARK_HOME": str(home), "SPARK_TESTING": "1",
            "SPARK_SCALA_VERSION": scala_of(chosen.version), "SPARK_DIST_CLASSPATH": class_path(chosen.version, directory),
            "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}


def has_members(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def wait(process, chosen, work):
    """How the suite ended. Executors that it leaves behind have a while to write their reports."""
    started = time.time()
    # The console has a line of each test that has ended.
    silent = lambda: time.time() - max(started, (work / "console.log").stat().st_mtime)
    while process.poll() is None and silent() < chosen.limit and time.time() - started < LONGEST * chosen.limit:
        time.sleep(0.2)
    if process.returncode is not None:
        end = "whole" if process.returncode in (0, 1) else f"exit code {process.returncode}"
    else:
        with open(work / "threads.txt", "w") as threads:
            subprocess.run([chosen.jdk / "bin" / "jcmd", str(process.pid), "Thread.print"], stdout=threads, stderr=threads, timeout=60, check=False)
        end = "limit"
        process.kill()
        process.wait()
    deadline = time.monotonic() + 15
    while has_members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    return end


def run(chosen, directory, agent, side, item):
    """Runs a suite, keeps its result, and gives it."""
    work = place_of(chosen, side, item)
    environment = lay_out(chosen, directory, side, work)
    started = time.time()
    with open(work / "console.log", "w") as console:
        words = [str(word) for word in command(chosen, directory, agent, side, item, work)]
        # A group of its own: all that it starts can be ended with it.
        process = subprocess.Popen(words, env=environment, cwd=work, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)
        try:
            end = wait(process, chosen, work)
        finally:
            if has_members(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
    reports = []
    for report in work.glob("reports/*.json"):
        try:
            reports.append(json.loads(report.read_text()))
        except json.JSONDecodeError:
            # The executor was killed while it wrote.
            continue
    totals = collections.Counter()
    count_lanes(reports, totals)
    executors = work / "executors"
    result = {
        "suite": item.suite, "wanted": item.tests, "version": chosen.version, "side": side, "program": identity(chosen, side), "end": end,
        "started": started, "seconds": round(time.time() - started), "patience": chosen.patience, "conf": settings_of(chosen, side, item),
        "executors": len(executors.read_text().split()) if executors.exists() else 0, "reports": len(reports),
        "jvms": sum(bool(report["jvm_started"]) for report in reports), "totals": dict(totals),
        "expected": expected(work / "console.log"), "tests": read_console(work / "console.log", work / "driver.log"),
    }
    for part in ["tmp", "target", "spark"]:
        shutil.rmtree(work / part, ignore_errors=True)
    (work / "result.json").write_text(json.dumps(result, indent=1))
    return result
