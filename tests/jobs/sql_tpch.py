"""TPC-H in Spark SQL, each query with and without generated code. Run once on plain Spark's executors and once on Firesteel's; answers, the records
that tasks read and wrote, and the rows that each operator counted must be equal.

`six`: queries that have every operator of TPC-H between them.

usage: spark-submit ... sql_tpch.py RESULT TPCH QUERIES six|[MODE|QUERY|MODE:QUERY...]"""

import os
import re
import sys

from pyspark.sql import SparkSession

from support import BLOCK_SIZES, Themes, digest, native_tasks, rows, wait_for, without_numbers

# With types: finding them out would be a job of its own.
TABLES = {
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string, "
    "c_acctbal decimal(15, 2), c_mktsegment string, c_comment string",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity decimal(15, 2), "
    "l_extendedprice decimal(15, 2), l_discount decimal(15, 2), l_tax decimal(15, 2), l_returnflag string, "
    "l_linestatus string, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, "
    "l_shipmode string, l_comment string",
    "nation": "n_nationkey bigint, n_name string, n_regionkey bigint, n_comment string",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice decimal(15, 2), "
    "o_orderdate date, o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
    "part": "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int, "
    "p_container string, p_retailprice decimal(15, 2), p_comment string",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost decimal(15, 2), ps_comment string",
    "region": "r_regionkey bigint, r_name string, r_comment string",
    "supplier": "s_suppkey bigint, s_name string, s_address string, s_nationkey bigint, s_phone string, "
    "s_acctbal decimal(15, 2), s_comment string",
}
QUERIES = [f"q{number:02}" for number in range(1, 23)]
MODES = {"interpreted": "false", "generated": "true"}
# Adaptive execution changes their plans by which of two stages ends first.
ANY_PLAN = ["q02", "q17"]
COUNTED = ["number of output rows", "number of input batches", "records read", "shuffle records written", "data size"]
MERGED = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
HASHED = {"spark.sql.autoBroadcastJoinThreshold": "50k", "spark.sql.join.preferSortMergeJoin": "false"}
SIX = [
    # Sums, averages, counts; a range shuffle and its sort.
    ("q01", {}),
    # Sort-merge joins; the first rows of an order.
    ("q03", MERGED),
    # A left outer join; groups of groups.
    ("q13", {}),
    # NOT IN; distinct counts, which merge in several steps.
    ("q16", {}),
    # Semi and anti joins with conditions; shuffled hash joins.
    ("q21", HASHED),
    # A scalar subquery; an anti join.
    ("q22", {}),
]


def query(text, generated, settings):
    def body(run):
        conf = run.spark.conf
        conf.set("spark.sql.codegen.wholeStage", generated)
        for key, value in settings.items():
            conf.set(key, value)
        try:
            found = rows(run.spark.sql(text))
        finally:
            for key in settings:
                conf.unset(key)
        return {"rows": len(found), "first": found[:3], "digest": digest(found)}

    return body


def chosen(only):
    """Names, queries, whether code is generated, and settings."""
    if only == ("six",):
        for name, settings in SIX:
            yield f"six {name}", name, "false", settings
        return
    for mode, generated in MODES.items():
        for name in QUERIES:
            if only and f"{mode}:{name}" not in only and mode not in only and name not in only:
                continue
            yield f"{mode} {name}", name, generated, {}


def operator_rows(run, seen):
    """The rows that operators counted, for the executions that are new."""
    found = []
    for execution in run.rest.get("sql?length=100000&details=true"):
        if execution["id"] in seen:
            continue
        seen.add(execution["id"])
        for node in execution["nodes"]:
            for metric in node["metrics"]:
                if node["nodeName"] == "Sort":
                    # Times and sizes are what they are, but they are there.
                    found.append([node["nodeName"], metric["name"], ""])
                elif metric["name"] in COUNTED:
                    number = re.sub(r" \(.*", "", metric["value"].split("\n")[-1])
                    found.append([node["nodeName"], metric["name"], number])
    return sorted(found)


def main(result, tpch, queries, *only):
    spark = SparkSession.builder.getOrCreate()
    run = Themes(spark)
    if spark.sparkContext.master.startswith("local-cluster"):
        wait_for("two executors", lambda: len(run.rest.executors()) == 2)
    for table, columns in TABLES.items():
        spark.read.schema(columns).parquet(f"{tpch}/{table}").createOrReplaceTempView(table)
    seen = set()
    operator_rows(run, seen)
    for theme, name, generated, settings in chosen(only):
        with open(os.path.join(queries, f"{name}.sql")) as text:
            body = query(text.read(), generated, settings)
        run.run(theme, body, "unordered")
        # Which bytes of a file are read is the reader's choice.
        stages = without_numbers(run.result["metrics"].pop(theme), [*BLOCK_SIZES, "in_bytes"])
        operators = operator_rows(run, seen)
        if name not in ANY_PLAN:
            run.result["metrics"][theme] = {"stages": stages, "operators": operators}
    run.count_tasks()
    run.result["native tasks"] = native_tasks(run.rest)
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


main(*sys.argv[1:])
