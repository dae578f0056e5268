"""What `org.firesteel.CarriedPlans` leaves as it is: each query is run without and with it in sessions of one application, and its rows, its plans, the code that
was generated, the number of its stages and of newly compiled classes must be equal. Ends with an error if one is not.

usage: spark-submit --master local[2] --jars firesteel-plan.jar --conf spark.sql.extensions=org.firesteel.CarriedPlans carried_plans.py SCRATCH"""

import difflib
import re
import sys
import uuid

from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udf

CARRY = "spark.firesteel.plan.carry"
NAME = "org.firesteel.plan"
ADAPTIVE = "spark.sql.adaptive.enabled"
QUERIES = {
    "no table": "SELECT 1 AS a, 'x' AS b",
    "range": "SELECT id + 1 AS a FROM range(10) WHERE id > 2",
    "local table": "SELECT * FROM VALUES (1, 'x'), (2, 'y') t(a, b) WHERE a > 1",
    "aggregate": "SELECT k, sum(v), count(*) FROM fact GROUP BY k",
    "order": "SELECT * FROM fact ORDER BY v DESC LIMIT 5",
    "sort": "SELECT * FROM fact ORDER BY v, k",
    "broadcast join": "SELECT f.v, d.name FROM fact f JOIN dimension d ON f.k = d.k",
    "merge join": "SELECT /*+ MERGE(d) */ f.v, d.name FROM fact f JOIN dimension d ON f.k = d.k",
    "hash join": "SELECT /*+ SHUFFLE_HASH(d) */ f.v, d.name FROM fact f LEFT JOIN dimension d ON f.k = d.k",
    "nested loop": "SELECT count(*) FROM fact f JOIN dimension d ON f.k < d.k",
    "scalar subquery": "SELECT v, (SELECT max(k) FROM dimension) AS most FROM fact WHERE v > (SELECT avg(v) FROM fact)",
    "exists": "SELECT * FROM fact f WHERE EXISTS (SELECT 1 FROM dimension d WHERE d.k = f.k AND d.name > 'b')",
    "dynamic pruning": "SELECT p.v FROM parts p JOIN dimension d ON p.k = d.k WHERE d.name = 'b'",
    "reuse": "WITH w AS (SELECT k, sum(v) AS s FROM fact GROUP BY k) SELECT * FROM w a JOIN w b ON a.k = b.k AND a.s >= b.s",
    "union": "SELECT k FROM fact UNION ALL SELECT k FROM dimension UNION ALL SELECT * FROM VALUES (7L)",
    "window": "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM fact",
    "explode": "SELECT k, x FROM fact LATERAL VIEW explode(array(k, v)) e AS x",
    "cached": "SELECT k, sum(v) FROM kept GROUP BY k",
    "python": "SELECT plus_one(v) AS w FROM fact WHERE plus_one(k) > 1",
    "pandas": "SELECT twice(v) AS w FROM fact",
    "nothing": "SELECT k, count(*) FROM fact WHERE v < 0 GROUP BY k",
}


def masked(text):
    """Without the numbers of expressions, plans and query stages."""
    for pattern, replacement in [
        (r"#\d+L?", "#n"), (r"plan_id=\d+", "plan_id=n"), (r"QueryStage \d+", "QueryStage n"), (r"\$Lambda[$/0-9a-fx.]+", "lambda"),
        (r"@[0-9a-f]{5,8}\b", "@n"), (r"subquery#\d+", "subquery#n"), (r"(Statistics\(|sizeInBytes=).*", ""), (r"id=#?\d+", "id=n"), (r"\*\(\d+\)", "*(n)"), (r"(CodegenStage|codegenStageId=|codegen id : )\d+", r"\1n"),
    ]:
        text = re.sub(pattern, replacement, text)
    return text


def compiled(spark):
    return spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME().getCount()


def stages(spark, group):
    """How many stages the jobs of a group have, by job."""
    context = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    return sorted(len(tracker.getJobInfo(job).stageIds) for job in tracker.getJobIdsForGroup(group))


def seen(spark, query):
    """All that is to be equal."""
    modes = spark._jvm.org.apache.spark.sql.execution.ExplainMode
    group = str(uuid.uuid4())
    spark.sparkContext.setJobGroup(group, "")
    frame = spark.sql(query)
    first = masked(frame._jdf.queryExecution().explainString(modes.fromString("formatted")))
    rows = sorted(map(str, frame.collect()))
    execution = frame._jdf.queryExecution()
    found = {"rows": rows, "first plan": first, "stages": stages(spark, group)}
    for mode in ["simple", "formatted"]:
        found[mode] = masked(execution.explainString(modes.fromString(mode)))
    # Adaptive execution numbers stages of code by which query stage comes first.
    code = execution.explainString(modes.fromString("codegen")).split("Generated code:")[1:]
    found["code"] = "\n".join(sorted({masked(part.split("== Subtree")[0]) for part in code}))
    return found


def carries(spark, query):
    """Whether the references of the code that is made for a query have operators. The first stage of code is looked at."""
    plan = spark.sql(query)._jdf.queryExecution().executedPlan()
    while plan.getClass().getSimpleName() not in ("CarryingStage", "WholeStageCodegenExec"):
        if plan.children().isEmpty():
            return False
        plan = plan.children().apply(0)
    references = plan.doCodeGen()._1().references()
    return any(NAME in str(references.apply(at)) for at in range(references.size()))


def main(scratch):
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").config("spark.ui.retainedStages", "10000").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(100).selectExpr("id % 7 AS k", "id AS v").write.parquet(f"{scratch}/fact")
    spark.range(100).selectExpr("id % 7 AS k", "id AS v").write.partitionBy("k").parquet(f"{scratch}/parts")
    spark.sql("SELECT * FROM VALUES (0L, 'a'), (1L, 'b'), (2L, NULL) t(k, name)").write.parquet(f"{scratch}/dimension")
    for table in ["fact", "parts", "dimension"]:
        spark.read.parquet(f"{scratch}/{table}").createOrReplaceTempView(table)
    spark.udf.register("plus_one", udf(lambda x: x + 1, "bigint"))
    spark.udf.register("twice", pandas_udf(lambda x: x * 2, "bigint"))
    spark.read.parquet(f"{scratch}/fact").selectExpr("k", "v * 2 AS v").cache().createOrReplaceTempView("kept")
    different = []
    for adaptive in ["true", "false"]:
        spark.conf.set(ADAPTIVE, adaptive)
        for name, query in QUERIES.items():
            spark.conf.set(CARRY, "false")
            if name == "cached":
                seen(spark, query)
            without = seen(spark, query)
            spark.conf.set(CARRY, "true")
            classes = compiled(spark)
            carried = seen(spark, query)
            if adaptive == "false":
                carried["classes"], without["classes"] = compiled(spark), classes
            for what, expected in without.items():
                if carried[what] != expected:
                    lines = difflib.unified_diff(str(expected).splitlines(), str(carried[what]).splitlines(), "without", "with", n=1, lineterm="")
                    different.append("\n".join([f"{what} of {name}, adaptive {adaptive}:", *lines]))
    spark.conf.set(ADAPTIVE, "false")
    for carry, expected in [("true", True), ("false", False)]:
        spark.conf.set(CARRY, carry)
        if carries(spark, QUERIES["range"]) != expected:
            different.append(f"with {CARRY}={carry} operators are carried: {not expected}")
    # A variable of the session that is not folded.
    if not spark.version.startswith("3."):
        spark.conf.set(CARRY, "true")
        spark.sql("DECLARE VARIABLE more BIGINT DEFAULT 5")
        spark.conf.set("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.ConstantFolding")
        if not carries(spark, "SELECT v + more AS w FROM fact"):
            different.append("operators with a variable are not carried")
        spark.conf.unset("spark.sql.optimizer.excludedRules")
    # What is written, and what a stream gives.
    for carry in ["false", "true"]:
        spark.conf.set(CARRY, carry)
        spark.sql("SELECT k, v FROM fact WHERE v > 50").write.partitionBy("k").parquet(f"{scratch}/written-{carry}")
        source = spark.readStream.schema("k bigint, v bigint").parquet(f"{scratch}/fact")
        stream = source.groupBy("k").count().writeStream.format("memory").queryName(f"stream_{carry}").outputMode("complete").trigger(availableNow=True).start()
        stream.awaitTermination()
    for what in ["written", "stream"]:
        sides = [sorted(map(str, (spark.read.parquet(f"{scratch}/written-{carry}") if what == "written" else spark.table(f"stream_{carry}")).collect()))
                 for carry in ["false", "true"]]
        if sides[0] != sides[1] or not sides[0]:
            different.append(f"{what}: {sides}")
    spark.stop()
    for text in different:
        print(text, flush=True)
    if different:
        sys.exit(f"{len(different)} differences")
    print(f"{2 * len(QUERIES)} queries are as without", flush=True)


main(*sys.argv[1:])
