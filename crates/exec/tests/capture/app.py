"""Runs TPC-H and queries for what TPC-H lacks, and leaves Spark's own text of every plan beside the captured tasks.

usage: spark-submit app.py QUERIES DATA OUT [NAMES], where QUERIES has q01.sql to q22.sql and DATA a directory of Parquet files for each table. With NAMES,
joined by commas, only these queries. Each is run without generated code ("off") and with it ("on"), or, where the session extension CarriedPlans is
there, with generated code that carries its operators ("carried")."""

import os
import pathlib
import sys

from pyspark.sql import SparkSession

queries, data, out = map(pathlib.Path, sys.argv[1:4])
only = sys.argv[4].split(",") if len(sys.argv) > 4 else None
spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext
formatted = context._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
explained = out / "explain"
explained.mkdir(parents=True)

BASE = {"spark.sql.shuffle.partitions": "4", "spark.sql.session.timeZone": "Europe/Zurich"}
SORT_MERGE = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1"}
SHUFFLED_HASH = SORT_MERGE | {"spark.sql.join.preferSortMergeJoin": "false", "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "1g"}
SKEW = SORT_MERGE | {
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1k",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.01",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "2k",
    "spark.sql.adaptive.forceOptimizeSkewedJoin": "true",
}
BLOOM = SORT_MERGE | {
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "1g",
}

EXTRA = {
    "limit": "select * from nation limit 5",
    "limit_filter": "select n_name from nation where n_regionkey = 1 limit 3",
    "limit_inside": "select count(*) from (select * from orders limit 10)",
    "limit_offset": "select o_orderkey from orders order by o_orderkey limit 10 offset 5",
    "offset": "select count(*) from (select * from orders offset 7)",
    "union": "select n_name, n_nationkey from nation union all select r_name, r_regionkey + 100 from region",
    "union_agg": "select k, count(*) from (select n_regionkey k from nation union all select r_regionkey from region) group by k",
    "cross": "select count(*), max(n_name) from nation, region",
    "nested_outer": "select n_name, r_name from nation left join region on n_regionkey > r_regionkey + 1",
    "nested_exists": "select n_name from nation where exists (select 1 from region where r_regionkey > n_regionkey + 1)",
    "nested_not_exists": "select n_name from nation where not exists (select 1 from region where r_regionkey > n_regionkey + 1)",
    "existence": "select n_name from nation where n_nationkey < 3 or exists (select 1 from region where r_regionkey = n_nationkey)",
    "anti_null_aware": "select n_name from nation where n_nationkey not in (select nullif(r_regionkey, 9) from region)",
    "join_left": "select n_name, r_name from nation left join region on n_regionkey = r_regionkey and n_name > r_name",
    "join_right": "select n_name, r_name from nation right join region on n_regionkey = r_regionkey",
    "join_semi": "select n_name from nation left semi join region on n_regionkey = r_regionkey",
    "join_anti": "select n_name from nation left anti join region on n_regionkey = r_regionkey and n_name > r_name",
    "join_string": "select a.n_name from nation a join nation b on a.n_name = b.n_name",
    "join_full": "select a.n_name, r_name from nation a full join region on n_regionkey = r_regionkey and n_name > r_name",
    "distinct": "select count(distinct l_suppkey), sum(l_quantity), avg(l_extendedprice) from lineitem",
    "distinct_keyed": "select l_returnflag, count(distinct l_suppkey), max(l_shipdate) from lineitem group by l_returnflag",
    "distinct_two": "select l_returnflag, count(distinct l_suppkey), count(distinct l_partkey) from lineitem group by l_returnflag",
    "distinct_rows": "select distinct l_returnflag, l_linestatus from lineitem",
    "filtered": "select count(*) filter (where l_quantity > 10), sum(l_quantity) filter (where l_tax > 0.02) from lineitem",
    "rollup": "select l_returnflag, l_linestatus, sum(l_quantity) from lineitem group by rollup(l_returnflag, l_linestatus)",
    "having": "select o_custkey, sum(o_totalprice) s from orders group by o_custkey having sum(o_totalprice) > 1000000",
    "window_rank": "select n_name, rank() over (partition by n_regionkey order by n_name) r from nation",
    "window_sum": "select n_name, sum(n_nationkey) over (partition by n_regionkey) s from nation",
    "window_running": "select n_name, sum(n_nationkey) over (partition by n_regionkey order by n_name rows between unbounded preceding and current row) s from nation",
    "window_limit": "select * from (select n_name, rank() over (partition by n_regionkey order by n_name) r from nation) where r <= 2",
    "stats": "select stddev_samp(cast(l_quantity as double)), stddev_pop(l_tax), var_samp(l_tax), min(l_shipdate), max(l_comment), avg(l_linenumber), sum(l_linenumber), avg(cast(l_tax as double)), sum(cast(l_tax as double)) from lineitem",
    "first_last": "select first(n_name), last(n_name, true) from nation group by n_regionkey",
    "collect_list": "select n_regionkey, collect_list(n_name) from nation group by n_regionkey",
    "in_set": "select count(*) from lineitem where l_suppkey in (1,2,3,4,5,6,7,8,9,10,11,12,13) and l_shipmode in ('AIR', 'RAIL') and l_comment not in ('a','b','c','d','e','f','g','h','i','j','k','l')",
    "decimals": "select l_quantity * l_extendedprice, l_quantity / l_tax, l_quantity + l_tax, l_quantity - l_discount, l_quantity % 3, abs(l_tax - 1), round(l_extendedprice, 1), -l_tax, cast(l_tax as decimal(5,1)), l_orderkey * l_tax, l_linenumber / l_quantity from lineitem where l_orderkey < 10",
    "numbers": "select l_orderkey + l_linenumber, l_orderkey - 1, l_orderkey * 2, l_orderkey / 3, l_orderkey div 3, l_orderkey % 7, pmod(l_orderkey, 7), l_linenumber & 3, l_linenumber | 8, l_linenumber ^ 5, ~l_linenumber, shiftright(l_orderkey, 2), shiftleft(l_linenumber, 3), shiftrightunsigned(l_linenumber, 1), abs(l_linenumber), round(cast(l_tax as double), 1), bround(cast(l_tax as double), 1) from lineitem where l_orderkey < 10",
    "try_mode": "select try_add(l_orderkey, 1L), try_subtract(l_linenumber, 1), try_multiply(l_orderkey, 2L), try_divide(l_tax, l_discount), try_cast(l_comment as int), try_sum(l_orderkey), try_avg(l_tax) from lineitem where l_orderkey < 10 group by 1, 2, 3, 4, 5",
    "casts": "select cast(l_orderkey as int), cast(l_orderkey as tinyint), cast(l_linenumber as smallint), cast(l_orderkey as double), cast(l_orderkey as float), cast(l_orderkey as decimal(20,2)), cast(l_tax as int), cast(l_tax as double), cast(l_tax as bigint), cast(l_tax as string), cast(l_shipdate as string), cast(l_orderkey as string), cast('1' || l_linenumber as int), cast('1.5' || l_linenumber as double), cast('1.5' || l_linenumber as decimal(10,3)), cast('2020-01-0' || (l_linenumber % 9 + 1) as date), cast(l_shipdate as timestamp), cast(cast(l_shipdate as timestamp) as date), cast(l_linenumber as boolean), cast('2020-01-01 00:00:0' || l_linenumber as timestamp), cast(cast(l_shipdate as timestamp) as bigint), cast(l_comment as binary), cast(l_shipdate as timestamp_ntz) from lineitem where l_orderkey < 3",
    "strings": "select substring(p_name, 2, 3), upper(p_name), lower(p_name), concat(p_name, '-', p_brand), p_name || p_brand, length(p_name), trim(p_name), ltrim(p_name), rtrim(p_name), replace(p_name, 'a', 'b'), startswith(p_name, 'a'), endswith(p_name, 'b'), contains(p_name, 'c'), p_name like 'a%b_c', p_name like '%x/%y' escape '/', p_name rlike 'a.*b', concat_ws(',', p_name, p_brand), left(p_name, 2), right(p_name, 2), lpad(p_name, 5, '*'), rpad(p_name, 5, '*') from part where p_partkey < 10 and p_brand like 'Brand#1%' and p_type like '%BRASS' and p_name like '%e%'",
    "dates": "select year(o_orderdate), month(o_orderdate), day(o_orderdate), quarter(o_orderdate), dayofweek(o_orderdate), dayofyear(o_orderdate), weekofyear(o_orderdate), date_add(o_orderdate, 3), date_sub(o_orderdate, 3), datediff(o_orderdate, date'1995-01-01'), add_months(o_orderdate, 1), trunc(o_orderdate, 'MM'), last_day(o_orderdate), o_orderdate + interval 3 days, o_orderdate + interval 2 months, hour(cast(o_orderdate as timestamp)), date_trunc('hour', cast(o_orderdate as timestamp)), cast(o_orderdate as timestamp) + interval '1 02:03:04' day to second from orders where o_orderkey < 10 and o_orderdate between date'1992-01-01' and date'1998-01-01'",
    "conditions": "select case when l_tax > 0.05 then 'high' when l_tax > 0.02 then 'mid' else null end, if(l_tax > 0.01, 1, 2), coalesce(nullif(l_linenumber, 1), 5), nvl(l_comment, ''), greatest(l_linenumber, 3), least(l_tax, 0.03), l_comment is null, l_comment is not null, l_linenumber <=> 3, not (l_linenumber = 2), isnan(cast(l_tax as double)), nanvl(cast(l_tax as double), 1d) from lineitem where l_orderkey < 10 and (l_tax = 0.02 or l_linenumber != 3)",
    "structs": "select named_struct('a', l_tax, 'b', l_linenumber).b, named_struct('a', max(l_tax), 'b', min(l_linenumber)) from lineitem group by 1, l_linenumber",
    "scalar_subqueries": "select (select max(l_tax) from lineitem), (select count(*) from lineitem), (select min(l_comment) from lineitem), (select max(l_shipdate) from lineitem where l_orderkey < 0), n_name from nation where n_nationkey < (select avg(n_nationkey) from nation)",
    "merged_subqueries": "select (select max(l_tax) from lineitem), (select min(l_quantity) from lineitem), n_name from nation",
    "literals": "select n_name, 1, 1L, cast(1 as smallint), cast(1 as tinyint), 1.5, 1.5d, 1.5f, true, null, 'text', date'2020-01-01', timestamp'2020-01-01 00:00:00', timestamp_ntz'2020-01-01 00:00:00', interval 1 month, interval 2 days, x'abcd', 12345678901234567890123.45, array(1, 2), map('a', 1) from nation",
    "hashes": "select hash(n_name, n_nationkey), xxhash64(n_name, n_nationkey), md5(n_name) from nation",
    "normalized": "select cast(l_tax as double) d, count(*) from lineitem group by cast(l_tax as double)",
    "join_double": "select count(*) from (select cast(n_nationkey as double) d from nation) a join (select cast(r_regionkey as float) f from region) b on a.d = b.f",
    "values": "select * from values (1, 'a', 1.5), (2, 'b', null) t(a, b, c) where a + rand(1) > 0",
    "range": "select id, id % 3 from range(0, 10, 1, 2) where id > 2",
    "one_row": "select (select max(n_name) from nation), (select min(n_name) from nation where n_nationkey < 9) where (select count(*) from nation) > 3",
    "sort": "select n_name, n_regionkey from nation order by n_regionkey desc nulls last, n_name",
    "sort_within": "select n_name, n_regionkey from nation sort by n_regionkey",
    "cluster": "select n_name, n_regionkey from nation distribute by n_regionkey, n_name",
    "repartition": "select /*+ repartition(3) */ n_name from nation",
    "repartition_range": "select /*+ repartition_by_range(3, n_name, n_nationkey) */ n_name, n_nationkey from nation",
    "coalesce": "select /*+ coalesce(2) */ o_orderkey from orders",
    "rebalance": "select /*+ rebalance(n_regionkey) */ n_name, n_regionkey from nation",
    "partitioned": "select p, sum(v), max(s) from partitioned where p > 1 and v < 500 group by p",
    "partitioned_dpp": "select s, v from partitioned join region on p = r_regionkey where r_name like 'A%'",
    "monotonic": "select n_name, monotonically_increasing_id(), spark_partition_id() from nation",
    "explode": "select explode(array(n_name, n_comment)) from nation",
    "missing_columns": "select * from evolved where extra is null",
}
WITH_JOINS = ["join_left", "join_right", "join_semi", "join_anti", "join_string", "join_full", "join_double", "existence", "anti_null_aware"]


def conf(settings):
    for name, value in settings.items():
        spark.conf.set(name, value)


def run(setting, name, frame):
    if only and name not in only:
        return
    label = f"{setting}.{name}"
    context.setJobDescription(label)
    try:
        frame = frame() if callable(frame) else spark.sql(frame)
        count = len(frame.collect())
    except Exception as error:
        print(label, "failed:", str(error)[:200].replace("\n", " "), flush=True)
        return
    (explained / label).write_text(frame._jdf.queryExecution().explainString(formatted))
    print(label, count, flush=True)


conf(BASE)
context.setJobDescription("setup")
for table in sorted(os.listdir(data)):
    spark.read.parquet(f"{data}/{table}").createOrReplaceTempView(table)
(spark.sql("select l_orderkey v, l_comment s, l_linenumber p from lineitem where l_orderkey < 1000")
 .write.partitionBy("p").parquet(f"{out}/tables/partitioned"))
spark.read.parquet(f"{out}/tables/partitioned").createOrReplaceTempView("partitioned")
spark.read.schema("n_name string, extra int, N_REGIONKEY bigint").parquet(f"{data}/nation").createOrReplaceTempView("evolved")

tpch = {f"q{number:02}": (queries / f"q{number:02}.sql").read_text() for number in range(1, 23)}
extended = "CarriedPlans" in spark.conf.get("spark.sql.extensions", "")
# One setting, or as it is shipped.
for setting, whole_stage in [("carried", "true")] if extended else [("off", "false"), ("on", "true")]:
    conf({"spark.sql.codegen.wholeStage": whole_stage})
    for name, text in (tpch | EXTRA).items():
        run(setting, name, text)
    run(setting, "take", lambda: spark.createDataFrame([(len(spark.sql("select * from orders where o_orderkey > 5").take(3)),)]))
    run(setting, "metadata", lambda: spark.read.parquet(f"{data}/nation").select("n_name", "_metadata.file_name"))
    run(setting, "row_index", lambda: spark.read.parquet(f"{data}/nation").select("n_name", "_metadata.row_index"))
    run(setting, "collect_shuffle", lambda: spark.sql("select n_name, n_nationkey from nation").repartition("n_nationkey"))
    for mode, settings in [("sort_merge", SORT_MERGE), ("shuffled_hash", SHUFFLED_HASH)]:
        conf(settings)
        for name in ["q03", "q13", "q16", "q18", "q21", "q22"]:
            run(setting, f"{mode}.{name}", tpch[name])
        for name in WITH_JOINS:
            run(setting, f"{mode}.{name}", EXTRA[name])
        for key in settings:
            spark.conf.unset(key)
    conf(SKEW)
    run(setting, "skew", "select count(*), max(o_comment) from orders join lineitem on o_orderkey = l_orderkey and l_orderkey < 3000")
    run(setting, "skew_join", "select o_comment, l_comment from orders join lineitem on o_custkey % 2 = l_orderkey % 2 and l_orderkey = o_orderkey where l_orderkey < 500")
    run(setting, "skew_keys", "select o_comment, l_comment from orders join lineitem on o_custkey % 2 = l_linenumber where o_orderkey < 200 and l_orderkey < 200")
    for key in SKEW:
        spark.conf.unset(key)
    conf(BLOOM)
    run(setting, "bloom", "select count(*) from lineitem join orders on l_orderkey = o_orderkey where o_custkey = 10")
    for key in BLOOM:
        spark.conf.unset(key)
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    other = "false" if ansi == "true" else "true"
    conf({"spark.sql.ansi.enabled": other})
    for name in ["decimals", "numbers", "casts", "stats", "dates", "distinct"]:
        run(setting, f"ansi_{other}.{name}", EXTRA[name])
    conf({"spark.sql.ansi.enabled": ansi})
    conf({"spark.sql.adaptive.enabled": "false"})
    for name in ["q03", "q11", "q13", "q18"]:
        run(setting, f"no_aqe.{name}", tpch[name])
    conf({"spark.sql.adaptive.enabled": "true"})
    conf({"spark.sql.execution.usePartitionEvaluator": "true"})
    for name in ["q13", "window_rank"]:
        run(setting, f"evaluator.{name}", (tpch | EXTRA)[name])
    conf({"spark.sql.execution.usePartitionEvaluator": "false"})
spark.stop()
