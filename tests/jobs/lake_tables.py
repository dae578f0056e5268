"""Tables of Delta Lake and of Apache Iceberg: made, read, changed row by row and file by file, merged into, looked at as they were.

usage: spark-submit lake_tables.py RESULT SCRATCH KIND. KIND is `delta` or `iceberg`."""

import json
import os
import sys

from pyspark.sql import SparkSession
from sql_random import counters

COLUMNS = ["id", "id % 7 AS k", "concat('name', id % 100) AS s", "CAST(id AS decimal(12,2)) / 3 AS d", "date_add(DATE'2024-01-01', CAST(id % 40 AS int)) AS day",
           "IF(id % 11 = 0, NULL, named_struct('a', id, 'b', array(id, id + 1))) AS st", "timestamp_seconds(1700000000 + id) AS ts"]
OF_KINDS = {
    "delta": {
        "catalog": {"spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
        "files": "'delta.enableDeletionVectors' = 'false', 'delta.enableChangeDataFeed' = 'true'",
        "rows": "'delta.enableDeletionVectors' = 'true'",
        "prefix": "",
    },
    "iceberg": {
        "catalog": {"lake": "org.apache.iceberg.spark.SparkCatalog", "lake.type": "hadoop", "lake.warehouse": "SCRATCH/warehouse"},
        "files": "'write.delete.mode' = 'copy-on-write', 'write.update.mode' = 'copy-on-write', 'write.merge.mode' = 'copy-on-write'",
        "rows": "'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read'",
        "prefix": "lake.db.",
    },
}


def rows(frame):
    return sorted(map(str, frame.collect()))


def of_both(spark, scratch, kind):
    """What both kinds of tables can do, where changes write files anew and where they write which rows have gone."""
    about = OF_KINDS[kind]
    for way, partitions in [("files", ""), ("rows", "PARTITIONED BY (k)")]:
        name = f"{about['prefix']}by_{way}"
        place = f"LOCATION '{scratch}/{name}'" if kind == "delta" else ""
        spark.sql(f"CREATE TABLE {name} USING {kind} {partitions} {place} TBLPROPERTIES ({about[way]}) AS SELECT * FROM numbers")

        def look(when):
            yield f"{way}, {when}", rows(spark.sql(f"SELECT k, count(*), sum(hash(s, ts)), sum(d), max(day), sum(st.a), max(st.b[1]) FROM {name} GROUP BY k"))

        yield from look("made")
        yield f"{way}, some rows", rows(spark.sql(f"SELECT * FROM {name} WHERE id BETWEEN 100 AND 120 OR day = DATE'2024-02-01' AND k = 3"))
        spark.sql(f"INSERT INTO {name} SELECT id + 100000, k, s, d, day, st, ts FROM numbers WHERE id < 100")
        spark.sql(f"DELETE FROM {name} WHERE id % 97 = 3 AND k < 5")
        yield from look("after DELETE")
        spark.sql(f"UPDATE {name} SET s = concat(s, '!') WHERE k = 2 AND id < 700")
        yield from look("after UPDATE")
        spark.sql(f"MERGE INTO {name} t USING (SELECT id * 3 AS id, k, s, d, day, st, ts FROM numbers WHERE id < 900) u ON t.id = u.id WHEN MATCHED AND u.k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET s = u.s WHEN NOT MATCHED THEN INSERT *")
        yield from look("after MERGE")
        yield f"{way}, joined", rows(spark.sql(f"SELECT a.k, count(*) FROM {name} a JOIN {name} b ON a.id = b.id + 1 GROUP BY a.k"))
        yield f"{way}, files of rows", [spark.sql(f"SELECT count(DISTINCT input_file_name()) > 1 FROM {name}").first()[0]]


def delta(spark):
    yield "sizes", spark.sql("OPTIMIZE by_files ZORDER BY (id)").count()
    yield "as it was", rows(spark.sql("SELECT count(*), sum(d) FROM by_files VERSION AS OF 1"))
    yield "what changed", rows(spark.sql("SELECT _change_type, count(*), sum(id) FROM table_changes('by_files', 2) GROUP BY _change_type"))
    spark.sql("ALTER TABLE by_files ADD CONSTRAINT positive CHECK (id >= 0)")
    try:
        spark.sql("INSERT INTO by_files SELECT -1, k, s, d, day, st, ts FROM numbers WHERE id = 5")
    except Exception as error:
        yield "constraint", "CHECK constraint positive (id >= 0) violated" in str(error)


def iceberg(spark):
    yield "sizes", spark.sql("CALL lake.system.rewrite_data_files(table => 'db.by_files', options => map('min-input-files', '2'))").count()
    yield "snapshots", rows(spark.sql("SELECT operation, count(*) FROM lake.db.by_files.snapshots GROUP BY operation"))
    yield "files", rows(spark.sql("SELECT content, sum(record_count) FROM lake.db.by_rows.files GROUP BY content"))
    yield "places", rows(spark.sql("SELECT count(*), count(DISTINCT _file), max(_pos) < 2000 FROM lake.db.by_files"))
    first = spark.sql("SELECT snapshot_id FROM lake.db.by_rows.snapshots ORDER BY committed_at LIMIT 1").first()[0]
    yield "as it was", rows(spark.sql(f"SELECT count(*), sum(d) FROM lake.db.by_rows VERSION AS OF {first}"))


def main():
    result, scratch, kind = sys.argv[1:4]
    builder = SparkSession.builder.config("spark.sql.session.timeZone", "Europe/Zurich").config("spark.sql.warehouse.dir", f"{scratch}/managed")
    # Delta keeps what it knows of a table in so many partitions.
    builder = builder.config("spark.databricks.delta.snapshotPartitions", "2").config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    for key, value in OF_KINDS[kind]["catalog"].items():
        builder = builder.config(f"spark.sql.catalog.{key}", value.replace("SCRATCH", scratch))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(0, 2000, 1, 2).selectExpr(*COLUMNS).createOrReplaceTempView("numbers")
    answers = dict(of_both(spark, os.path.abspath(scratch), kind))
    answers.update(delta(spark) if kind == "delta" else iceberg(spark))
    found = counters(spark)
    with open(result, "w") as out:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}, "counters": found}, out, indent=0, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
