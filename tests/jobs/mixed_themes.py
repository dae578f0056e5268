"""Jobs whose tasks belong to different lanes: Python RDDs and DataFrames that share shuffles, cached RDDs, broadcasts and
accumulators in both directions."""

from pyspark import StorageLevel
from pyspark.sql import functions as F

from support import digest, rows


def pairs(run):
    return run.sc.parallelize(range(6000), 4).map(lambda i: (i % 37, i))


def shuffle_of_python(run):
    """Map outputs of Python tasks, read by tasks that make rows of them."""
    sums = pairs(run).reduceByKey(lambda a, b: a + b, 3)
    frame = run.spark.createDataFrame(sums, "key int, total long")
    return rows(frame.where("total % 2 = 1").groupBy(F.col("key") % 5).agg(F.sum("total")).orderBy(F.col("(key % 5)")))


def shuffle_of_rows(run):
    """Map outputs of tasks that make pairs of rows, read by Python tasks."""
    frame = run.spark.range(0, 6000, 1, 4).select((F.col("id") % 41).alias("key"), "id")
    sums = frame.rdd.map(lambda row: (row.key, row.id)).reduceByKey(lambda a, b: a + b, 3)
    return sorted(sums.collect())


def join_of_both(run):
    left = run.spark.range(0, 900, 1, 3).rdd.map(lambda row: (row.id % 30, "row"))
    right = run.sc.parallelize(range(300), 2).map(lambda i: (i % 45, "number"))
    return digest(sorted(left.join(right, 4).collect()))


def cached(run, level):
    """Cached by one lane and read by the other, first one way and then the other."""
    first = pairs(run).map(lambda p: (p[0], p[1] + 1)).persist(level)
    found = {"python first": [first.count(), rows(run.spark.createDataFrame(first, "k int, v long").agg(F.sum("v")))]}
    second = pairs(run).map(lambda p: (p[0], p[1] + 2)).persist(level)
    found["rows first"] = [rows(run.spark.createDataFrame(second, "k int, v long").agg(F.sum("v"))), second.values().sum()]
    first.unpersist(blocking=True)
    second.unpersist(blocking=True)
    return found


def cached_in_memory(run):
    return cached(run, StorageLevel.MEMORY_ONLY)


def cached_on_disk(run):
    return cached(run, StorageLevel.DISK_ONLY)


def broadcasts(run):
    table, seen = run.sc.broadcast({i: f"name {i}" for i in range(5000)}), run.sc.accumulator(0)

    def look(i):
        seen.add(1)
        return table.value[i % 5000]

    by_rdd = run.sc.parallelize(range(700), 4).map(look).collect()
    by_function = run.spark.range(0, 700, 1, 4).select(F.udf(look)("id").alias("name")).collect()
    return {"same": by_rdd == [row.name for row in by_function], "seen": seen.value, "digest": digest(by_rdd)}


def union_of_both(run):
    numbers = run.sc.parallelize(range(500), 3).map(str)
    rows_too = run.spark.range(0, 500, 1, 2).rdd.map(lambda row: str(row.id))
    both = numbers.union(rows_too)
    return {"count": both.count(), "distinct": both.distinct(4).count(), "some": both.repartition(3).sortBy(int).take(5)}


THEMES = [
    ("shuffle of python tasks", shuffle_of_python, "unordered"),
    ("shuffle of rows", shuffle_of_rows, "unordered"),
    ("join of both", join_of_both, "unordered"),
    ("cached in memory by both", cached_in_memory, "cached"),
    ("cached on disk by both", cached_on_disk, "cached"),
    ("broadcasts of both", broadcasts, "exact"),
    ("union of both", union_of_both, "none"),
]
