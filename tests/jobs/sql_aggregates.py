"""Aggregate functions on odd data of every type: of few groups and of so many that Spark sorts what is left, of one partition, in which the order of rows is known, and of several.

usage: spark-submit sql_aggregates.py RESULT"""

import datetime
import json
import sys
from decimal import Decimal

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_cached import table
from sql_random import counters
from sql_windows import text

NUMBERS = ["ti", "sm", "it", "lo", "fl", "do"]
DECIMALS = ["de", "wi"]
INTEGERS = ["ti", "sm", "it", "lo"]
# What Scala's sets have an order of here.
IN_SETS = ["bo", "ti", "sm", "it", "lo", "st", "da", "ts", "nt"]
HASHED = ["bo", "ti", "sm", "it", "lo", "fl", "do", "de", "wi", "st", "bi", "da", "ts", "nt", "ds"]
PLACES = "array(0D, 0.1D, 0.5D, 0.77D, 1D)"
# Percentiles of both zeros depend on the order of a hash table, approximate ones of these and of NaN on that of rows.
NO_ZEROS = {"fl": "IF(fl = 0, 0F, fl)", "do": "IF(do = 0, 0D, do)"}

# By name, columns of an aggregation: such as do not depend on the order of rows, and such as do.
ANYHOW = {
    "bits": [f"{function}({of})" for of in INTEGERS for function in ("bit_and", "bit_or", "bit_xor")],
    "bits of some": ["bit_and(it) FILTER (WHERE it > 5)", "bit_or(DISTINCT sm)", "bit_xor(CAST(NULL AS int))", "bool_and(bo)", "some(bo)", "count_if(bo)"],
    "different": [f"approx_count_distinct({of})" for of in HASHED],
    "different, otherwise exact": ["approx_count_distinct(id, 0.3)", "approx_count_distinct(id, 0.01)", "approx_count_distinct(id % 90, 0.39)", "approx_count_distinct(id) FILTER (WHERE id % 3 = 0)", "approx_count_distinct(st, 0.2)"],
    "percentiles": [f"percentile({NO_ZEROS.get(of, of)}, {PLACES})" for of in NUMBERS + DECIMALS],
    "percentiles of some": ["median(it)", "percentile(id, 0.3, id % 4)", "percentile(id, array(0.3D, 0.9D), it % 2 * it % 2) FILTER (WHERE it < 100 OR it IS NULL)", "percentile(DISTINCT sm, 0.5)", "median(CAST(NULL AS double))"],
    "percentiles in order": [f"percentile_cont({place}) WITHIN GROUP (ORDER BY {of}{way})" for place in ("0.25", "0.9") for of in ("it", "de", NO_ZEROS["do"]) for way in ("", " DESC")],
    "percentiles among values": [f"percentile_disc({place}) WITHIN GROUP (ORDER BY {of}{way})" for place in ("0", "0.25", "0.9", "1") for of in ("it", "wi", NO_ZEROS["fl"]) for way in ("", " DESC")],
    "about percentiles": [f"percentile_approx({'IF(isnan(do) OR do = 0, 0D, do)' if of == 'do' else NO_ZEROS.get(of, of)}, {PLACES})" for of in NUMBERS + ["da", "nt", "ts"] if of != "fl"],
    "about percentiles, otherwise exact": ["approx_percentile(id, 0.5D)", "percentile_approx(id, array(0.9D, 0.1D, 0.5D), 1)", "percentile_approx(CAST(NULL AS int), 0.5D)", "percentile_approx(it, 0D) FILTER (WHERE it > 0)"],
    "sets": [f"sort_array(collect_set({of}))" for of in IN_SETS],
    "intervals": [f"{function}({of})" for of in ("ds", "(ts - TIMESTAMP'2000-01-01') / 1000", "ds * (id % 13 - 6)", "IF(id < 0, ds, NULL)") for function in ("sum", "avg", "min", "max")],
    "intervals of months": [f"extract({unit} FROM {function}({of}))" for of in ("ym", "ym * (id % 7 - 3)") for function in ("sum", "avg", "min", "max") for unit in ("YEAR", "MONTH")],
    "intervals of some": ["sum(DISTINCT ds)", "avg(ds) FILTER (WHERE id % 3 = 0)", "sum(make_dt_interval(0, 0, 0, id / 7D))", "avg(make_dt_interval(0, 0, 0, id / -7D))"],
    "intervals as numbers": [f"sum(CAST(CAST(ds AS INTERVAL {unit}) AS {of}))" for unit in ("DAY", "HOUR", "MINUTE", "SECOND") for of in ("bigint", "decimal(20,6)", "decimal(18,2)")] + ["max(CAST(CAST(ds AS INTERVAL SECOND) AS decimal(30,9)))", "min(CAST(CAST(ym AS INTERVAL YEAR) AS int))", "max(CAST(CAST(ym AS INTERVAL MONTH) AS decimal(12,1)))", "sum(CAST(CAST(ym AS INTERVAL MONTH) AS bigint))", "max(CAST(INTERVAL '-7' HOUR AS tinyint) + id)"],
    "numbers as intervals": [f"{function}(CAST({of} AS INTERVAL {unit}))" for function in ("sum", "max") for of, unit in (("id", "DAY"), ("-id", "SECOND"), ("sm", "MINUTE"), ("ti", "HOUR"), ("CAST(id AS decimal(20,9)) / 7", "MINUTE"), ("CAST(-id AS decimal(20,9)) / 3", "SECOND"), ("CAST(id % 9 AS decimal(10,1)) / 2", "DAY"))] + [f"extract({unit} FROM max(CAST({of} AS INTERVAL {unit})))" for of, unit in (("ti", "YEAR"), ("sm", "MONTH"), ("CAST(id AS decimal(10,2)) / 8", "MONTH"), ("CAST(id AS decimal(10,2)) / -3", "YEAR"))],
    # So many registers that there are only coupons, of which the number counts.
    "sketches": [f"hll_sketch_estimate(hll_sketch_agg({of}, 17))" for of in ("it", "lo", "st", "bi", "id", "CAST(NULL AS int)")] + ["hll_sketch_estimate(hll_sketch_agg(id, 21) FILTER (WHERE id % 3 = 0))"],
    "counts of values": [f"count_min_sketch({of}, 0.1D, 0.9D, {seed})" for of, seed in zip(INTEGERS + ["st", "bi"], (1, -7, 42, 0, 11, 2147483647))] + ["count_min_sketch(id, 0.5D, 0.5D, 1)", "count_min_sketch(st, 0.05D, 0.99D, 3) FILTER (WHERE id % 2 = 0)", "count_min_sketch(CAST(NULL AS string), 0.9D, 0.875D, 5)"],
    "intervals tried": [f"{function}({of})" for of in ("ds", "IF(id < 0, ds, NULL)", "(ts - TIMESTAMP'2000-01-01') / 1000") for function in ("try_sum", "try_avg")] + [f"extract(MONTH FROM {function}(ym))" for function in ("try_sum", "try_avg")],
    "counts of pairs": ["regr_count(id, it)", "round(regr_avgx(id, id % 11), 9)", "round(regr_avgy(id % 7, sm), 9)"],
}
ORDERED = {
    "sets in order": [f"collect_set({of})" for of in IN_SETS],
    "sets of many": ["collect_set(id * 977 % 4001)", "collect_set(concat('k', id * 31 % 977))", "collect_set(id * 3000000007 - 7)", "collect_set(IF(id % 5 = 0, NULL, id))", "collect_set(it) FILTER (WHERE id % 2 = 1)"],
    "about percentiles of zeros": [f"percentile_approx(do, {PLACES})", "percentile_approx(do, array(0.3D, 0.5D))", "percentile_approx(fl, 0.4D, 7)"],
    "lists": ["collect_list(id)", "collect_list(st)", "first(id)", "last(id)", "max_by(id, sm)", "sum(id / 7D)", "avg(do)"],
    "bytes of sketches": [f"hll_sketch_agg({of}, {size})" for of, size in (("id", 4), ("id", 8), ("it", 10), ("lo", 12), ("st", 5), ("st", 12), ("bi", 9), ("lo % 50", 21), ("CAST(NULL AS binary)", 7))] + ["hll_sketch_agg(id)", "hll_sketch_agg(st) FILTER (WHERE id % 3 = 1)", "hll_sketch_estimate(hll_sketch_agg(id, 4))", "hll_sketch_estimate(hll_sketch_agg(it, 11))"],
    "modes": [f"mode({of})" for of in IN_SETS + ["ds"]] + ["extract(MONTH FROM mode(ym))"],
    "modes of many": ["mode(id)", "mode(id * 3000000007 - 7)", "mode(concat('k', id))", "mode(id * 977 % 401)", "mode(IF(id % 5 = 0, NULL, id % 90))", "mode(st) FILTER (WHERE id % 2 = 1)", "mode(CAST(NULL AS int))"],
    "histograms": [f"histogram_numeric({of}, {bins})" for of in NUMBERS + ["da", "nt", "ds"] for bins in (2, 5)] + ["histogram_numeric(id * 7919 % 1009, 7)", "histogram_numeric(id / 7D, 40)", "histogram_numeric(id % 10, 20)", "histogram_numeric(CAST(NULL AS double), 3)"],
    "moments": ["skewness(id)", "kurtosis(id)", "skewness(sm)", "kurtosis(it)", "stddev(id)", "skewness(IF(id < 0, 1, NULL))", "kurtosis(7)", "skewness(id % 2)"],
    "pairs": [f"{function}(id % 13, id % 7 / 3D)" for function in ("corr", "covar_pop", "covar_samp", "regr_r2", "regr_sxx", "regr_sxy", "regr_syy")],
    "pairs with nulls": [f"{function}(IF(id % 5 = 1, NULL, id * id), IF(id % 3 = 1, NULL, id))" for function in ("corr", "covar_pop", "covar_samp", "regr_r2", "regr_sxx", "regr_sxy", "regr_syy")],
}
# Early releases of Spark 3.5 count pairs without a dependent variable, so these stay with its JVM.
LINES = [f"{function}(id * 2 - id % 3, id % 17)" for function in ("regr_slope", "regr_intercept")] + [f"{function}(IF(id % 5 = 1, NULL, id * id), IF(id % 3 = 1, NULL, id))" for function in ("regr_slope", "regr_intercept")]

# Of Spark 4: texts in orders that are asked for, of which the last depend on the order of rows.
TEXTS = [f"listagg(st, ', ') WITHIN GROUP (ORDER BY {by})" for by in ("st", "st DESC", "id", "id DESC")] + ["string_agg(CAST(id AS string), '') WITHIN GROUP (ORDER BY id) FILTER (WHERE id % 3 = 0)", "listagg(CAST(NULL AS string), ';')", "listagg(st, NULL) WITHIN GROUP (ORDER BY st)"]
MODES = [f"mode() WITHIN GROUP (ORDER BY {of}{way})" for of in IN_SETS + ["ds", "de", "wi"] for way in ("", " DESC")] + ["mode(id, true)", "mode(id % 90, true) FILTER (WHERE id % 3 = 0)", "extract(MONTH FROM mode(ym, true))"]
TEXTS_AS_THEY_COME = ["listagg(st)", "listagg(it, '-')", "listagg(st, ',') WITHIN GROUP (ORDER BY it)", "listagg(st, ',') WITHIN GROUP (ORDER BY da DESC NULLS FIRST)", "listagg(CAST(id AS string), '|') WITHIN GROUP (ORDER BY wi)"]

# Of Spark 4.2 and later.
SEVERAL = [f"{function}(id, {by}, {rows})" for function in ("max_by", "min_by") for by in ("it", "do", "st", "id % 11", "de", "da") for rows in (1, 3, 40)] + ["max_by(st, id, 5) FILTER (WHERE id % 3 = 0)", "min_by(IF(id % 5 = 0, NULL, it), id * 977 % 401, 9)", "max_by(id, CAST(NULL AS int), 2)", "max_by(struct(id, st), id % 90, 4)"]

# Over windows.
FRAMES = ["PARTITION BY id % 7", "PARTITION BY id % 7 ORDER BY id", "PARTITION BY id % 300 ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING", "ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 4 FOLLOWING"]
SPANS = ["sum(ds)", "avg(ds)", "min(ds)", "max(ds)", "extract(MONTH FROM sum(ym))", "extract(MONTH FROM avg(ym))"]

# Keys of groups: none, few, and as many as Spark takes into its table, or more.
KEYS = {"all": None, "few": "id % 7", "the most": "id % 128", "one more": "id % 129", "many": "id % 300", "many texts": "concat('key ', id * 7 % 401)"}


def grouped(frame, key, columns):
    """The rows of an aggregation."""
    columns = [f"{column} AS c{place}" for place, column in enumerate(columns)]
    name = f"aggregated_{id(columns)}"
    frame.createOrReplaceTempView(name)
    keys = f"{key} AS g, " if key else ""
    by = f" GROUP BY {key}" if key else ""
    rows = frame.sparkSession.sql(f"SELECT {keys}{', '.join(columns)} FROM {name}{by}").collect()
    return sorted(json.dumps([text(value) for value in row]) for row in rows)


def pivoted(frame, by, values, columns):
    """The rows of a pivot, which is grouped by key and by value first."""
    rows = frame.selectExpr("*", "id % 7 AS g").groupBy("g").pivot(by, values).agg(*[F.expr(f"{column} AS c{place}") for place, column in enumerate(columns)]).collect()
    return sorted(json.dumps([text(value) for value in row]) for row in rows)


# By column values that there are, null and one that there is not.
PIVOTS = {"bo": [True, False], "ti": [0, 1, 7, None, 111], "it": [5, -1, 100], "lo": [1, 2], "st": ["", "a", "ä", None], "da": [datetime.date(2020, 2, 29), datetime.date(1970, 1, 1)], "de": [Decimal("1.50"), Decimal("0.00")], "id % 3": [2, 1]}


def main(result):
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").config("spark.sql.session.timeZone", "Europe/Zurich")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    newer = not spark.version.startswith("3.")
    answers = {}

    def ask(about, frame, key, columns):
        answers[about] = grouped(frame, key, columns)

    one, several, none = (table(spark, 3000, 1), table(spark, 3000, 4), table(spark, 0, 2))
    latest = not spark.version.startswith(("3.", "4.0", "4.1"))
    ordered = {**ORDERED, **({"several": SEVERAL} if latest else {}), **({"lines": LINES, "texts": TEXTS_AS_THEY_COME} if newer else {})}
    anyhow = {**ANYHOW, **({"texts in order": TEXTS, "modes in order": MODES, "different texts": ["listagg(DISTINCT st, ';') WITHIN GROUP (ORDER BY st)"]} if newer else {})}
    for keys, key in KEYS.items():
        for name, columns in {**anyhow, **ordered}.items():
            ask(f"{name} of {keys} in one partition", one, key, columns)
    for keys in ("all", "few", "many"):
        for name, columns in anyhow.items():
            ask(f"{name} of {keys}", several, KEYS[keys], columns)
            ask(f"{name} of {keys} of nothing", none, KEYS[keys], columns)
    for name, frame in {"one partition": one, "several": several, "nothing": none}.items():
        for by, values in PIVOTS.items():
            answers[f"pivot by {by} in {name}"] = pivoted(frame.withColumn("by", F.expr(by)), "by", values, ["sum(id)", "max(it)", "count(st)", "avg(de)", "min(sm)", "bool_or(bo)", "sum(double(ti))"])
    for name, frame in {"several": several, "nothing": none}.items():
        frame.createOrReplaceTempView("spans")
        for place, over in enumerate(FRAMES):
            columns = ", ".join(f"{span.replace(')', f') OVER ({over})', 1)} AS c{at}" for at, span in enumerate(SPANS))
            rows = spark.sql(f"SELECT id, {columns} FROM spans").collect()
            answers[f"intervals over window {place} of {name}"] = sorted(json.dumps([text(value) for value in row]) for row in rows)
    # Summaries that are compressed, and digests of many values.
    large = spark.range(0, 260_000, 1, 1).selectExpr("id", "CAST(id * 7919 % 260003 AS int) AS it", "id * 104729 % 1000003 / 7D AS do")
    for keys, key in {"all": None, "two": "id % 2", "many": "id % 200"}.items():
        ask(f"large summaries of {keys}", large, key, [f"percentile_approx({of}, {PLACES}, {accuracy})" for of in ("it", "do") for accuracy in (10, 100, 10000)])
        ask(f"large sets of {keys}", large, key, ["approx_count_distinct(id)", "approx_count_distinct(do, 0.01)", "size(collect_set(it))", "percentile(it, 0.999)", "hash(collect_set(id % 50021))"])
    # Sketches of every form, the same ones on both sides, and of nothing.
    some = spark.range(0, 60_000, 1, 1).selectExpr("id", "id % 59 % 40 AS n").groupBy("n").agg(*[F.expr(f"hll_sketch_agg(IF(id % 59 < 40 AND id < n * n * 40, id, NULL), {size}) AS s{size}") for size in (4, 10, 12)])
    rows = sorted((row.n, bytes(row.s4), bytes(row.s10), bytes(row.s12)) for row in some.collect())
    rows += [(n, None, None, None) for n in (40, 41)]
    sketches = spark.createDataFrame(rows, "n int, s4 binary, s10 binary, s12 binary").coalesce(1)
    united = [f"hll_union_agg({of})" for of in ("s4", "s10", "s12")] + ["hll_union_agg(IF(n % 2 = 0, s12, s10), true) FILTER (WHERE n > 0)", "hll_union_agg(s12, true) FILTER (WHERE n < 15)", "hll_sketch_estimate(hll_union_agg(s12))", "hll_sketch_estimate(hll_union_agg(s4))", "hll_union_agg(CAST(NULL AS binary))"]
    for keys, key in {"all": None, "few": "n % 3", "the most": "n", "nothing": "n"}.items():
        ask(f"unions of sketches of {keys}", sketches.where("n < 0") if keys == "nothing" else sketches, key, united)
    sketches.createOrReplaceTempView("sketches")
    pairs = "hll_sketch_estimate(a.s4), hll_sketch_estimate(a.s12), hll_union(a.s12, b.s12), hll_union(b.s4, a.s4), hll_union(a.s10, b.s10, b.n % 2 = 0), hll_sketch_estimate(hll_union(a.s10, b.s10))"
    different = "IF(a.n * b.n > 0, hll_union(a.s12, b.s10, true), NULL), IF(a.n * b.n > 0, hll_union(a.s4, b.s12, true), NULL)"
    beside = spark.sql(f"SELECT a.n, b.n, {pairs}, {different} FROM sketches a JOIN sketches b ON a.n % 7 = b.n % 7").collect()
    answers["unions of two sketches"] = sorted(json.dumps([text(value) for value in row]) for row in beside)
    # All at once, the buffers of which are in one row.
    everything = [columns[0] for columns in {**ANYHOW, **ordered}.values()]
    ask("everything", one, "id % 150", everything)
    ask("everything, one partition after the other", several, "id % 150", [columns[0] for columns in ANYHOW.values()])
    # Values that are distinct first.
    ask("sets beside distinct values", one, "id % 20", ["count(DISTINCT it)", "sort_array(collect_set(sm))", "sum(DISTINCT lo % 10)", "approx_count_distinct(st)", "bit_or(ti)"])
    with open(result, "w") as out:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": counters(spark)}, out, indent=0, sort_keys=True)
    print(f"{len(answers)} answers")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
