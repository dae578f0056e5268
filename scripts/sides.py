"""What scripts share that ask the same of plain Spark and of Firesteel: where things are, an application on a cluster
of each side, and the reports of Firesteel's executors. Standard library only."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or pathlib.Path.home() / ".cache" / "firesteel")
SIDES = ["plain", "firesteel"]
# Short stages on few cores: the second compiler would take more time than it saves.
CHEAP = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = ["spark.ui.enabled=false", "spark.driver.host=localhost", "spark.driver.bindAddress=127.0.0.1"]


def parser(description):
    """Options of every such script."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--conf", action="append", default=[], help="a setting of both sides")
    options.add_argument("--firesteel-conf", action="append", default=[], help="a setting of Firesteel's side")
    options.add_argument("--firesteel", "--dist", type=pathlib.Path, metavar="DIR",
                         default=pathlib.Path(os.environ.get("FIRESTEEL_DIST") or REPOSITORY / "dist" / "firesteel"))
    options.add_argument("--jdk", type=pathlib.Path, default=os.environ.get("FIRESTEEL_JAVA_HOME") or os.environ.get("JAVA_HOME"))
    return options


def parse(options):
    chosen = options.parse_args()
    if chosen.jdk is None:
        options.error("set --jdk, FIRESTEEL_JAVA_HOME or JAVA_HOME")
    return chosen


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
        # Somebody may have run a cluster from there.
        if part.name != "work":
            (home / part.name).symlink_to(part)
    return home


def submit(chosen, side, work, job, *arguments, java_options=CHEAP, settings=()):
    """Runs a job on a cluster with executors of a side, and gives their reports. Everything is in `work`, a new directory."""
    installed, python = spark_home(chosen.version)
    work.mkdir()
    home = home_of_links(installed, work)
    settings = [*SETTINGS, f"spark.sql.warehouse.dir={work}/warehouse", f"spark.executor.extraJavaOptions={java_options}",
                *settings, *chosen.conf]
    if side == "firesteel":
        settings += [*chosen.firesteel_conf, f"spark.executorEnv.JAVA_HOME={chosen.firesteel}",
                     f"spark.executorEnv.FIRESTEEL_REPORT={work}/report-{{id}}.json"]
    environment = {
        **os.environ, "JAVA_HOME": str(chosen.jdk), "FIRESTEEL_JAVA_HOME": str(chosen.jdk), "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(work / "local"), "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python), "SPARK_SUBMIT_OPTS": java_options, "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [home / "bin" / "spark-submit", "--master", "local-cluster[1,2,1536]", "--driver-memory", "2g"]
    for setting in settings:
        command += ["--conf", setting]
    command += [job, *arguments]
    with open(work / "driver.log", "w") as log:
        done = subprocess.run([str(word) for word in command], env=environment, cwd=work, stdin=subprocess.DEVNULL,
                              stdout=log, stderr=log, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{side} failed with {done.returncode}: {work}/driver.log")
    return [json.loads(report.read_text()) for report in work.glob("report-*.json")]


def count_lanes(reports, totals):
    for report in reports:
        for lane, ends in report["tasks"].items():
            totals[f"tasks in {lane}"] += sum(ends.values())
        for what in ["delegated", "bailed_out"]:
            for reason, number in report[what].items():
                totals[f"{what}: {reason}"] += number
