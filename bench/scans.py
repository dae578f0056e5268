#!/usr/bin/env python3
"""Queries over what only Spark's own code reads, on Firesteel's executor, whose JVM gives the rows, and on plain Spark's, as ratios, in one run.

* files of ORC, and rows of an RDD, a tenth as many;
* of each what a filter leaves by texts, sums of groups, a join of two scans with windows.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns. `--whole` has Firesteel leave such
stages to its JVM as a whole. Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, jar_of_java, measure_jobs, parse, parser

FORMS = [f"{source}, {form}" for source in ["ORC", "RDD"] for form in ["filter", "groups", "join and windows"]]


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=20_000_000, help="rows of ORC (default: %(default)s)")
    arguments.add_argument("--whole", action="store_true", help="spark.firesteel.sql.jvmExpressions=false")
    return parse(arguments)


def measure(chosen, work, samples):
    jar = jar_of_java(chosen, work)

    def settings(side):
        whole = f"spark.firesteel.sql.jvmExpressions={str(not chosen.whole).lower()}"
        return [f"spark.jars={jar}", whole, *carried(chosen, side)]

    jobs = [(form, dict(do="other_scans", form=form, rows=chosen.rows), float) for form in FORMS]
    # Files are written first, by whoever can.
    measure_jobs(chosen, work, samples, "scans", jobs, None, settings)


MEASURES = [(form, form, lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1") for form in FORMS]
MEASURES.append(("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), ""))


compare(options(), MEASURES, measure)
