"""Tables of Iceberg's, in all the ways in which their files differ from them: columns that were renamed, moved,
dropped, added and made longer, partitions of all kinds, rows that are deleted, columns about files, and files of others.

usage: spark-submit sql_iceberg.py RESULT [all | THEME...]"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_lakes import SCHEMA, VALUES, Lakes
from support import Themes

# Values of partitions, with what is written unusually in paths.
PARTITIONS = "cast(id % 3 as int) i, if(id % 4 = 0, null, id % 2) l, if(id % 5 = 0, null, concat('ä b/%', id % 2, '=?#')) s, date_add(date'1969-12-30', cast(id % 3 as int)) d, timestamp'1901-02-03 04:05:06.789' + make_dt_interval(cast(id % 2 as int)) t, id % 2 = 0 b, cast(id % 2 as decimal(9,2)) n"
ON_READ = ", ".join(f"'write.{of}.mode' = 'merge-on-read'" for of in ["delete", "update", "merge"])
LEAVES = ["i", "l", "s", "d", "t", "b"]


class Tables(Lakes):
    """Tables of a catalog."""

    def where(self, table, *filters, columns="count(*), sum(id), max(name)"):
        self.ask(*(f"select {columns} from {table} where {condition}" for condition in filters))


def evolution(lakes, version):
    """Columns that are not what they were when files were written."""
    table = f"ice.db.evolved_{version}"
    lakes.do(f"create table {table} (id int, name string, x float, n decimal(5,2), part struct<a:int,b:string>, l array<struct<u:int,v:string>>) using iceberg tblproperties ('format-version' = '{version}')")
    values = "select cast(id as int), name, cast(v as float), cast(id % 900 as decimal(5,2)), struct(cast(id as int), name), array(struct(cast(id as int), name)) from source where id < 500"
    lakes.do(f"insert into {table} {values}")
    lakes.do(f"alter table {table} alter column id type bigint")
    lakes.do(f"alter table {table} alter column x type double")
    lakes.do(f"alter table {table} alter column n type decimal(12,2)")
    asked = ["id > 20 and id < 300", "x >= 10.25 and n > 30.5", "name = 'n3'", "id in (3, 400, 10000000000) or id is null"]
    lakes.where(table, *asked, columns="count(*), sum(id), max(name), sum(x), sum(n)")
    lakes.do(f"insert into {table} select id + 10000000000, name, v, 1234567890.12, struct(1, name), null from source where id < 100")
    lakes.where(table, *asked, columns="count(*), sum(id), max(name), sum(x), sum(n)")
    # Names go around.
    for old, new in [("name", "old"), ("x", "name"), ("old", "x"), ("part.a", "c")]:
        lakes.do(f"alter table {table} rename column {old} to {new}")
    lakes.ask(f"select x, sum(name), sum(part.c), count(part) from {table} group by x", f"select x, name from {table} where name > 120 and x < 'n4'")
    lakes.do(f"alter table {table} add column part.a bigint first")
    lakes.do(f"alter table {table} add columns (later string, more struct<q:int>)")
    lakes.do(f"alter table {table} alter column x first")
    lakes.do(f"alter table {table} add column l.element.w double")
    lakes.ask(f"select * from {table} where id % 97 = 1", f"select later, more.q, part.a, part.b, count(*) from {table} group by all", f"select l[0].u, l[0].w from {table} where id < 5")
    lakes.do(f"insert into {table} select 'y', id, 0.5, 7.25, struct(id, 1, 'b'), array(struct(1, 'u', 2.5D)), 'now', struct(3) from source where id < 10")
    lakes.ask(f"select later, part.a, count(*), sum(id) from {table} group by later, part.a", f"select * from {table} where later is not null")
    lakes.do(f"alter table {table} drop column name")
    lakes.do(f"alter table {table} add column name double")
    lakes.ask(f"select name, count(*), sum(id) from {table} group by name", f"select count(*) from {table}", f"select count(*) from {table} where name is null")
    first = lakes.sql(f"select snapshot_id from {table}.snapshots order by committed_at limit 1").first()[0]
    lakes.ask(f"select name, sum(id), max(x) from {table} version as of {first} group by name")
    return lakes.done()


def partitions(lakes):
    """Values of partitions of all types, of specs that change."""
    for name, by in [("leaves", LEAVES), ("decimals", ["n"]), ("hidden", ["bucket(3, id)", "truncate(4, s)", "days(t)", "years(d)"])]:
        table = f"ice.db.by_{name}"
        lakes.do(f"create table {table} using iceberg partitioned by ({', '.join(by)}) as select id, name, {PARTITIONS} from source where id < 400")
        lakes.ask(f"select * from {table} where id % 41 = 7", f"select i, l, s, d, b, count(*), sum(id), min(t), max(n) from {table} group by i, l, s, d, b")
        lakes.where(table, "s is null and i > 0", "s = 'ä b/%1=?#' and id > 17", "d < date'1970-01-01' or t > timestamp'1901-02-04'", "l = 1 and not b and n = 1", "i in (1, 2) and id between 50 and 60")
        # Files of several specs are in one task.
        lakes.do(f"alter table {table} add partition field truncate(2, name)")
        lakes.do(f"alter table {table} drop partition field {by[0]}")
        lakes.do(f"insert into {table} select id + 1000, name, {PARTITIONS} from source where id < 100")
        lakes.do(f"alter table {table} add partition field name")
        lakes.do(f"insert into {table} select id + 2000, name, {PARTITIONS} from source where id < 50")
        lakes.ask(f"select i, l, s, d, b, name, count(*), sum(id), min(t), max(n) from {table} group by all", f"select i, count(*) from {table} where name = 'n2' or i = 0 group by i")
    lakes.do("alter table ice.db.by_leaves rename column i to j")
    lakes.do("alter table ice.db.by_leaves alter column j type bigint")
    lakes.ask("select j, count(*), sum(id) from ice.db.by_leaves where j > 0 group by j")
    nested = "ice.db.by_nested"
    lakes.do(f"create table {nested} (id bigint, part struct<a:bigint,b:string>) using iceberg partitioned by (part.b)")
    lakes.do(f"insert into {nested} select id, struct(id, name) from source")
    lakes.ask(f"select part.b, sum(part.a), count(*) from {nested} group by part.b", f"select part from {nested} where id = 4")
    return lakes.done()


def deleted(lakes, version, split):
    """Rows that are deleted at their places, by files of deletes or by vectors."""
    table = f"ice.db.deleted_{version}_{len(split)}"
    lakes.do(f"create table {table} (id bigint, name string, v double, p int, l array<bigint>) using iceberg partitioned by (p) tblproperties ('format-version' = '{version}', {ON_READ}, {split} 'write.parquet.row-group-size-bytes' = '4096', 'write.parquet.page-row-limit' = '100')")
    lakes.do(f"insert into {table} select id, name, v, p, a from source")
    columns = "count(*), sum(id), max(name), sum(v), count(l)"
    asked = ["true", "id % 7 = 2", "v > 300 and name < 'n4'", "id between 700 and 720", "p = 1 and id > 2000"]
    for change in ["delete from {} where id % 10 = 3", "delete from {} where id between 100 and 1300 and p <> 2", "update {} set v = -v where id % 100 = 4", "delete from {} where p = 2", "delete from {} where id = 5"]:
        lakes.do(change.format(table))
        lakes.where(table, *asked, columns=columns)
    lakes.ask(f"select l[2], name from {table} where id < 30", f"select p, count(distinct _pos) = count(*), min(_pos) >= 0, count(distinct _file) from {table} where id > 20 group by p", f"select count(*) from {table}")
    lakes.do(f"""merge into {table} t using (select id * 3 as id, name from source where id < 1200) u on t.id = u.id
        when matched and t.id % 2 = 0 then delete when matched then update set t.v = -1, t.name = u.name
        when not matched then insert (id, name, v, p, l) values (u.id, u.name, 0, 9, null)""")
    lakes.where(table, *asked, columns=columns)
    lakes.ask(f"select content, file_format, sum(record_count) from {table}.files group by content, file_format")
    lakes.do(f"call ice.system.rewrite_position_delete_files(table => '{table[4:]}', options => map('rewrite-all', 'true'))")
    lakes.where(table, *asked, columns=columns)
    return lakes.done()


def values(lakes):
    """All types, in three time zones."""
    lakes.spark.createDataFrame(VALUES, SCHEMA).createOrReplaceTempView("everything")
    table = "ice.db.everything"
    lakes.do(f"create table {table} ({SCHEMA}, plain timestamp_ntz, flag boolean, wide decimal(38,10), single float) using iceberg tblproperties ('read.parquet.vectorization.batch-size' = '3')")
    lakes.do(f"insert into {table} select *, cast(moment as timestamp_ntz), k = 1, cast(d as decimal(38,10)) / 3, cast(x as float) from everything")
    lakes.do(f"insert into {table} select k + 10, x, s, bin, d, date'1000-06-01', timestamp'1000-06-01 00:00:00', a, m, part, timestamp_ntz'1000-06-01 00:00:00', null, -d, 1e30 from everything")
    flat = "k, x, s, bin, d, day, moment, plain, flag, wide, single"
    for zone in ["UTC", "America/New_York", "Asia/Kathmandu"]:
        lakes.spark.conf.set("spark.sql.session.timeZone", zone)
        lakes.ask(f"select * from {table}", f"select {flat} from {table}", f"select s, count(*), max(moment), max(day), max(d), max(part.n), min(plain), sum(single) from {table} where day > '1900-01-01' group by s")
        lakes.ask(f"select {flat} from {table} where moment < '1960-01-01' or x <> x", f"select hour(moment), hour(plain), get(part.inner, 0).deep, get(a, 0), m['a'], count(*) from {table} group by all")
    lakes.spark.conf.set("spark.sql.session.timeZone", "UTC")
    return lakes.done()


def about_files(lakes):
    """Columns about files, files whose names Spark asks for, plans of other shapes."""
    table, other = "ice.db.about", "ice.db.beside"
    lakes.do(f"create table {table} using iceberg partitioned by (p) as select id, name, v, p from source")
    lakes.do(f"create table {other} using iceberg partitioned by (p) as select id, upper(name) as name, p from source where id % 2 = 0")
    lakes.do(f"alter table {table} add column later int")
    lakes.ask(f"select _spec_id, p, count(*), sum(_pos), count(distinct _file), min(regexp_extract(_file, 'data/(p=[0-9])', 1)) from {table} group by _spec_id, p")
    lakes.ask(f"select _partition.p, _deleted, count(*) from {table} group by all", f"select p, count(distinct file), sum(start) from (select p, input_file_name() file, input_file_block_start() start from {table} where name > 'n1') group by p")
    lakes.ask(f"select count(*), min(_pos) from {table} where _pos < 2 and v >= 0", f"select count(*) from {table} where false", f"select count(*), count(later) from {table}")
    lakes.ask(f"select l.name, r.name, count(*) from {table} l join {other} r on l.id = r.id and l.p = r.p group by all", f"select count(*) from {table} l where exists (select 1 from {other} r where r.id = l.id and r.name is null)")
    # Partitions that are read together.
    joined = {"spark.sql.sources.v2.bucketing.enabled": "true", "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true", "spark.sql.iceberg.planning.preserve-data-grouping": "true", "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.requireAllClusterKeysForCoPartition": "false"}
    for key, value in joined.items():
        lakes.spark.conf.set(key, value)
    lakes.ask(f"select l.p, count(*), sum(r.id) from {table} l join {other} r on l.p = r.p and l.id = r.id group by l.p", f"select p, sum(id) from {table} group by p")
    for key in joined:
        lakes.spark.conf.unset(key)
    lakes.ask(f"select * from (select id, name from {table} where id < 3 union all select id, name from {other} where id < 5 union all select 1, 'x')", f"select id from {table} order by id desc limit 5", f"select p, rank() over (partition by p order by v desc) r, id from {table} where id > 2980")
    frame = lakes.spark.table(table).cache()
    lakes.ask(lambda: frame.groupBy("p").agg(F.sum("v")), lambda: frame.where("name = 'n1'").groupBy("p").count())
    frame.unpersist()
    lakes.ask(f"select count(*), sum(file_size_in_bytes) > 0 from {table}.files", f"select partition.p, record_count from {table}.partitions", f"select operation from {table}.snapshots")
    stream = lakes.spark.readStream.format("iceberg").load(table).groupBy("name").count()
    stream.writeStream.format("memory").queryName("streamed").outputMode("complete").trigger(availableNow=True).start().awaitTermination()
    lakes.ask("select * from streamed")
    lakes.do("create table ice.db.nothing (id bigint, name string) using iceberg")
    lakes.ask("select * from ice.db.nothing", "select count(*), max(name) from ice.db.nothing")
    return lakes.done()


def others(lakes):
    """Files that others wrote, without ids or of other formats."""
    path = lakes.path("others")
    lakes.spark.table("source").select("id", "name", "v", "p").write.partitionBy("p").parquet(path)
    table = "ice.db.others"
    lakes.do(f"create table {table} (id bigint, name string, v double, p int) using iceberg partitioned by (p)")
    lakes.do(f"call ice.system.add_files(table => '{table[4:]}', source_table => '`parquet`.`{path}`')")
    lakes.do(f"insert into {table} select id, name, v, 1 from source where id < 50")
    lakes.ask(f"select p, count(*), sum(id), max(name), sum(v) from {table} group by p", f"select id, p from {table} where id < 3")
    for form in ["avro", "orc"]:
        mixed = f"ice.db.mixed_{form}"
        lakes.do(f"create table {mixed} using iceberg tblproperties ('write.format.default' = 'parquet') as select id, name, v from source")
        lakes.do(f"alter table {mixed} set tblproperties ('write.format.default' = '{form}')")
        lakes.do(f"insert into {mixed} select id + 5000, name, v from source where id < 100")
        lakes.ask(f"select name, count(*), sum(id), sum(v) from {mixed} group by name", f"select id from {mixed} where id > 5090 or id = 3")
    return lakes.done()


def main():
    result, asked = sys.argv[1], sys.argv[2:]
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    lakes = Tables(spark, os.path.dirname(result))
    run = Themes(spark)
    by_file = "'write.delete.granularity' = 'partition', "
    themes = {
        "evolution": lambda: evolution(lakes, 2),
        "deletes": lambda: deleted(lakes, 2, by_file),
        "about files": lambda: about_files(lakes),
        "partitions": lambda: partitions(lakes),
    }
    if asked:
        themes |= {
            "evolution 3": lambda: evolution(lakes, 3),
            "deletes 2": lambda: deleted(lakes, 2, ""),
            "deletes 3": lambda: deleted(lakes, 3, ""),
            "values": lambda: values(lakes),
            "others": lambda: others(lakes),
        }
    for name, theme in themes.items():
        if asked not in ([], ["all"]) and name not in asked:
            continue
        run.run(name, lambda _, theme=theme: theme(), "none")
    run.result["version"] = spark.version
    run.write(result)
    spark.stop()


if __name__ == "__main__":
    main()
