#!/usr/bin/env python3
"""A function of Java in queries, on Firesteel's executor, whose JVM evaluates it, and on plain Spark's, as ratios, in one run.

* the sum of the function over numbers, with nothing else to do;
* the same among what queries do: files of Parquet are read, filtered, joined with a group of theirs, and summed up by texts;
* both as a function of a typed data set (`map`), and one of its groups (`groupByKey`, `mapGroups`).

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one executor, take turns. `--whole` has Firesteel leave such
stages to its JVM as a whole. Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

from side_by_side import carried, compare, jar_of_java, measure_jobs, parse, parser

FORMS = {
    "alone": "a function of Java, alone",
    "among others": "a function of Java, among what queries do",
    "typed alone": "a function of a typed data set, alone",
    "typed among others": "a function of a typed data set, among what queries do",
    "typed groups": "a function of groups of a typed data set",
}


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=20_000_000, help="rows of each query (default: %(default)s)")
    arguments.add_argument("--whole", action="store_true", help="spark.firesteel.sql.jvmExpressions=false")
    return parse(arguments)


def same(one, other):
    """Sums of floats depend on the order of what comes."""
    return abs(one - other) <= 1e-9 * abs(one) if isinstance(one, float) else one == other


def measure(chosen, work, samples):
    jar = jar_of_java(chosen, work)

    def command(form):
        return lambda _: dict(do="java_functions", form=form, rows=chosen.rows)

    def settings(side):
        whole = f"spark.firesteel.sql.jvmExpressions={str(not chosen.whole).lower()}"
        return [f"spark.jars={jar}", whole, *carried(chosen, side)]

    jobs = [(form, command(form), float) for form in FORMS]
    measure_jobs(chosen, work, samples, "java", jobs, None if chosen.whole else "sql", settings, same)


MEASURES = [(form, title, lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1") for form, title in FORMS.items()]
MEASURES.append(("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), ""))


compare(options(), MEASURES, measure)
