"""Captures expressions: the stage of each group of tests/jobs/sql_expressions.py, and what Spark made of the inputs.

usage: spark-submit expressions.py JOBS OUT [GROUP...], with Capture.java as the executors' plugin. JOBS is tests/jobs; all groups but those of arrays and maps if none is named. Inputs come to OUT/in, results to OUT/results, and OUT/manifest.json says which expressions each
stage has and whether Spark failed."""

import json
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import sql_expressions as jobs

out = pathlib.Path(sys.argv[2])
spark = jobs.session()
context = spark.sparkContext
context.setJobDescription("setup")
jobs.inputs(spark, str(out))
spark.conf.set("spark.sql.parquet.compression.codec", "uncompressed")
manifest = {}
only = sys.argv[3:]
# Fixtures of their own: scripts/capture has the kinds.
OTHERS = ["arrays", "elements", "maps", "lambdas", "ordering", *jobs.FUNCTIONS, *jobs.MATHS, *jobs.TEXTS_AND_TIMES, "windows"]
FAILING = ["elements", "arithmetic", "cast_i64", "cast_f64", "cast_d20", "cast_num", "cast_dec", "cast_day", "try_cast_num", "odd", "read", "malformed", "unproven", "left_texts"]


def run(label, data, expressions):
    """Whether Spark has results."""
    frame = data.selectExpr(*[f"{e} as c{n}" for n, e in enumerate(expressions)])
    context.setJobDescription(label)
    failed = False
    try:
        frame._jdf.queryExecution().executedPlan().executeCollect()
    except Exception:
        failed = True
    finally:
        context.setJobDescription("setup")
    if not failed:
        frame.coalesce(1).write.parquet(str(out / "results" / label))
    return not failed


for mode, table in [("legacy", "wild"), ("ansi", "safe"), ("ansi", "wild")]:
    spark.conf.set("spark.sql.ansi.enabled", "true" if mode == "ansi" else "false")
    data = spark.read.parquet(str(out / "in" / table))
    for name, expressions in jobs.groups().items():
        if name not in only if only else name in OTHERS:
            continue
        # What fails: some of each kind will do.
        if mode == "ansi" and table == "wild" and name not in FAILING:
            continue
        spark.conf.set("spark.sql.session.timeZone", jobs.zone_of(name))
        allowed = []
        for expression in expressions:
            try:
                data.selectExpr(expression)
                allowed.append(expression)
            except Exception:
                pass
        if not allowed:
            continue
        label = f"{mode}.{table}.{name}"
        # What Spark refuses to analyze is refused in either mode and no business of executors.
        if run(label, data, allowed):
            manifest[label] = {"table": table, "expressions": allowed, "failed": False}
            continue
        for number, expression in enumerate(allowed):
            single = f"{label}.{number}"
            failed = not run(single, data, [expression])
            manifest[single] = {"table": table, "expressions": [expression], "failed": failed}
    (out / "manifest.json").write_text(json.dumps(manifest, indent=0))
    print(mode, table, len(manifest), flush=True)
spark.stop()
