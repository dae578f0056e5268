#!/usr/bin/env python3
"""A native function in a query, on Firesteel's executor, against what else computes the same on plain Spark's, as ratios, in one run.

The sum of the great-circle distances of many points (examples/functions/c/haversine.c), by

* the function of C, called by the executor;
* on plain Spark the same function of C (called by Python), a pickled function of Python, a function of series (pandas, numpy), and one of Java.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns. Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both), and a C compiler. Standard library only."""

import subprocess

from side_by_side import REPOSITORY, carried, compare, measure_jobs, parse, parser

RIVALS = ["c in python", "pickled", "series", "java"]


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=20_000_000, help="rows of each query (default: %(default)s)")
    arguments.add_argument("--rivals", nargs="+", choices=RIVALS, default=RIVALS, help="what the function is measured against (default: all)")
    arguments.add_argument("--isolate", action="store_true", help="Firesteel calls the function in processes of its own")
    return parse(arguments)


def make_library(chosen, work):
    """The library, its module of Python, and a jar with the function of Java."""
    library = work / "libgeo.so"
    source = REPOSITORY / "examples" / "functions" / "c" / "haversine.c"
    subprocess.run(["cc", "-std=c11", "-O2", "-shared", "-fPIC", "-I", REPOSITORY / "include", source, "-lm", "-o", library], check=True)
    subprocess.run([chosen.firesteel / "bin" / "firesteel", "functions", "python", library, "--output", work / "firesteel_geo.py"], check=True)
    classes = work / "classes"
    subprocess.run([chosen.jdk / "bin" / "javac", "-cp", f"{chosen.home}/jars/*", "-d", classes, REPOSITORY / "bench" / "java" / "Haversine.java"], check=True)
    subprocess.run([chosen.jdk / "bin" / "jar", "--create", "--file", work / "haversine.jar", "-C", classes, "."], check=True)


def close(one, other):
    """Sums of values that differ in their last digits: each language has its own sine."""
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def measure(chosen, work, samples):
    make_library(chosen, work)

    def command(rival):
        return lambda side: dict(do="haversine", function=rival if side == "plain" else "c", rows=chosen.rows, modules=str(work))

    def settings(side):
        isolate = f"spark.firesteel.functions.isolate={str(chosen.isolate).lower()}"
        return [f"spark.jars={work}/haversine.jar", "spark.firesteel.functions=libgeo.so", isolate, *carried(chosen, side)]

    jobs = [(rival, command(rival), float) for rival in chosen.rivals]
    measure_jobs(chosen, work, samples, "native", jobs, "sql", settings, close)


GOALS = {"pickled": ">= 10", "series": ">= 3", "java": ">= 1"}
TITLES = {"c in python": "the same function, called by Python", "pickled": "a pickled function of Python", "series": "a function of series", "java": "a function of Java"}
MEASURES = [(rival, TITLES[rival], lambda v: f"{v:.2f} s", ("plain", "firesteel"), GOALS.get(rival, "")) for rival in RIVALS]
MEASURES.append(("peak_rss_bytes", "peak memory without workers", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 0.2"))


compare(options(), MEASURES, measure)
