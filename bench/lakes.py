#!/usr/bin/env python3
"""Queries over tables of lakes, on Firesteel's executor and on plain Spark's, as ratios, in one run.

* tables of Delta's and of Iceberg's as they were written, and with a column that got another name and a tenth of the
  rows deleted since (deletion vectors, position deletes);
* of each what a filter leaves by texts, sums of groups, a join of two scans with windows.

Two drivers with Spark's defaults, Firesteel's with the jar that lets generated code carry its operators, each with one
executor, take turns. Needs a built distribution of Firesteel, and a Spark distribution and jars of the lakes for it
(`--spark 3.5.9` or `4.1.4`; scripts/test installs all). Standard library only."""

from side_by_side import CACHE, carried, compare, measure_jobs, parse, parser

FORMS = [f"{table}, {form}" for table in ["Iceberg", "Iceberg changed", "Delta", "Delta changed"] for form in ["filter", "groups", "join and windows"]]
EXTENSIONS = "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def options():
    arguments = parser(__doc__)
    arguments.set_defaults(spark="4.1.4")
    arguments.add_argument("--rows", type=int, default=20_000_000, help="rows of each table (default: %(default)s)")
    arguments.add_argument("--forms", default="", help="only forms with this in their names")
    return parse(arguments)


def measure(chosen, work, samples):
    series = chosen.spark.rsplit(".", 1)[0]
    jars = sorted(map(str, (CACHE / "services" / f"lakes-{series}").glob("*.jar")))

    def settings(side):
        more = carried(chosen, side)
        names = [EXTENSIONS] + [setting.split("=", 1)[1] for setting in more if "extensions" in setting]
        return [setting for setting in more if "extensions" not in setting] + [
            f"spark.jars={','.join(jars)}",
            f"spark.sql.extensions={','.join(names)}",
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.catalog.ice=org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type=hadoop",
            f"spark.sql.catalog.ice.warehouse={work}/ice-{side}",
            "spark.databricks.delta.snapshotPartitions=1",
        ]

    # Tables are made first, by whoever can.
    jobs = [(form, dict(do="lakes", form=form, rows=chosen.rows), float) for form in FORMS if chosen.forms in form]
    measure_jobs(chosen, work, samples, "lakes", jobs, None, settings)


MEASURES = [(form, form, lambda v: f"{v:.2f} s", ("plain", "firesteel"), ">= 1") for form in FORMS] + [
    # key, title, how to print a value, ratio as (numerator, denominator), goal
    ("peak_rss_bytes", "peak memory", lambda v: f"{v / 2**20:.0f} MiB", ("firesteel", "plain"), "< 1"),
]


compare(options(), MEASURES, measure)
