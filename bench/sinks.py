#!/usr/bin/env python3
"""Queries whose last stage ends in what only Spark's own code does, on Firesteel's executor, whose JVM gets the rows of native operators, and on plain Spark's, as ratios, in one run.

* rows go to a file of ORC, to a data source V2 that forgets them, or to a function of Java, row by row, outside of queries;
* of each what groups come to, a join of two tables with windows over its groups, and a sort.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns. `--whole` has Firesteel leave such
stages to its JVM as a whole. Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, jar_of_java, measure_jobs, parse, parser

FORMS = [f"{query} to {sink}" for query in ["groups", "join and windows", "sort"] for sink in ["ORC", "nowhere", "a function"]]


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=20_000_000, help="rows of the table (default: %(default)s)")
    arguments.add_argument("--whole", action="store_true", help="spark.firesteel.sql.jvmExpressions=false")
    return parse(arguments)


def measure(chosen, work, samples):
    jar = jar_of_java(chosen, work)

    def settings(side):
        whole = f"spark.firesteel.sql.jvmExpressions={str(not chosen.whole).lower()}"
        return [f"spark.jars={jar}", whole, *carried(chosen, side)]

    jobs = [(form, dict(do="other_sinks", form=form, rows=chosen.rows), float) for form in FORMS]
    measure_jobs(chosen, work, samples, "sinks", jobs, None if chosen.whole else "sql", settings)


MEASURES = [(form, form, lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1") for form in FORMS]
MEASURES.append(("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), ""))


compare(options(), MEASURES, measure)
