"""RDD jobs: shuffles, accumulators, broadcast, cache, large results, retries, barrier stages."""

import bz2
import glob
import gzip
import os
import zlib

from pyspark import AccumulatorParam, BarrierTaskContext, StorageLevel, TaskContext

from support import about, digest, wait_for


def word_count(run):
    words = run.sc.parallelize(range(4000), 8).flatMap(lambda i: [f"w{i % 97}", f"w{i % 13}"])
    return sorted(words.map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b, 3).collect())


def shuffles(run):
    sc = run.sc
    left = sc.parallelize([(i % 50, i) for i in range(600)], 4)
    right = sc.parallelize([(i % 70, -i) for i in range(300)], 3)
    return {
        "join": digest(sorted(left.join(right, 5).collect())),
        "cogroup": sorted((k, sorted(a), sorted(b)) for k, (a, b) in left.cogroup(right, 4).collect()),
        "sort": left.sortByKey(numPartitions=3).keys().glom().map(len).collect(),
        "distinct": sorted(left.keys().union(right.keys()).distinct(4).collect()),
        "aggregate": sorted(left.aggregateByKey((0, 0), lambda a, v: (a[0] + v, a[1] + 1),
                                                lambda a, b: (a[0] + b[0], a[1] + b[1]), 3).collect()),
        "repartition": sorted(left.repartition(7).values().collect())[-3:],
        "index": left.zipWithIndex().filter(lambda p: p[1] % 100 == 0).collect(),
        "sample": left.sample(False, 0.05, seed=7).collect(),
        "cartesian": left.cartesian(right).count(),
        "top": left.values().top(5),
    }


def files(run):
    """Text, pickle and sequence files written and read back."""
    sc, root = run.sc, run.scratch
    lines = sc.parallelize([f"line {i} " + "x" * (i % 40) for i in range(3000)], 4)
    lines.saveAsTextFile(f"{root}/text")
    lines.map(lambda l: (len(l), l)).saveAsSequenceFile(f"{root}/sequence")
    lines.saveAsPickleFile(f"{root}/pickle", 50)
    return {
        "text": sc.textFile(f"{root}/text", 6).map(len).sum(),
        "sequence": sc.sequenceFile(f"{root}/sequence").keys().sum(),
        "pickle": digest(sorted(sc.pickleFile(f"{root}/pickle").collect())),
        "whole": sc.wholeTextFiles(f"{root}/text").values().map(len).sum(),
        "written": sorted(name for name in os.listdir(f"{root}/text") if not name.endswith(".crc")),
    }


class Longest(AccumulatorParam):
    """Keeps the longest string."""

    def zero(self, value):
        return ""

    def addInPlace(self, a, b):
        return max(a, b, key=lambda s: (len(s), s))


def accumulators(run):
    total, longest = run.sc.accumulator(0), run.sc.accumulator("", Longest())

    def visit(i):
        nonlocal total, longest
        total += i
        longest += "x" * (i % 31)

    run.sc.parallelize(range(1000), 6).foreach(visit)

    # A failed attempt must not count.
    def flaky(index, items):
        nonlocal total
        seen = sum(1 for _ in items)
        total += seen
        if index == 2 and TaskContext.get().attemptNumber() == 0:
            raise ValueError("first attempt fails on purpose")
        yield seen

    counts = run.sc.parallelize(range(100), 4).mapPartitionsWithIndex(flaky).collect()
    return {"sum": total.value, "longest": longest.value, "counts": counts}


def broadcast(run):
    # Three blocks of at most 4 MiB; random bytes so that compression cannot make it one.
    payload = os.urandom(9 * 1024 * 1024)
    large, small = run.sc.broadcast(payload), run.sc.broadcast({"k": [1, 2, 3]})
    sums = run.sc.parallelize(range(8), 8).map(lambda i: (zlib.crc32(large.value), small.value["k"][i % 3])).collect()
    large.destroy(blocking=True)
    small.destroy(blocking=True)
    return {"same": {s for s, _ in sums} == {zlib.crc32(payload)}, "small": [v for _, v in sums]}


def storage(run, level, name):
    """The storage tab for one cached RDD."""
    data = run.sc.parallelize(range(40000), 4).map(lambda i: (i, "v" * (i % 50))).setName(name).persist(level)
    first, second = data.count(), data.values().map(len).sum()
    copies = level.replication

    def shown():
        run.rest.drain()
        found = [rdd for rdd in run.rest.get("storage/rdd") if rdd["name"] == name]
        if not found:
            return None
        detail = run.rest.get(f"storage/rdd/{found[0]['id']}")
        return detail if all(len(p["executors"]) == copies for p in detail["partitions"]) else None

    detail = wait_for(f"{copies} copies of {name}", shown, 30)
    answer = {
        "first": first,
        "second": second,
        "level": detail["storageLevel"],
        "partitions": detail["numPartitions"],
        "cached": detail["numCachedPartitions"],
        "memory": about(detail["memoryUsed"]),
        "disk": about(detail["diskUsed"]),
        "per_partition": [
            {"block": p["blockName"].split("_", 2)[2], "level": p["storageLevel"], "memory": about(p["memoryUsed"]),
             "disk": about(p["diskUsed"]), "copies": len(p["executors"])}
            for p in sorted(detail["partitions"], key=lambda p: int(p["blockName"].split("_")[2]))
        ],
    }
    data.unpersist(blocking=True)

    def gone():
        run.rest.drain()
        return not [rdd for rdd in run.rest.get("storage/rdd") if rdd["name"] == name]

    wait_for(f"{name} to leave the storage tab", gone, 30)
    return answer


def cache_memory(run):
    return storage(run, StorageLevel.MEMORY_ONLY, "in memory")


def cache_disk(run):
    return storage(run, StorageLevel.DISK_ONLY, "on disk")


def cache_replicated(run):
    return {
        "memory": storage(run, StorageLevel.MEMORY_AND_DISK_2, "twice in memory"),
        "disk": storage(run, StorageLevel.DISK_ONLY_2, "twice on disk"),
    }


def checkpoint(run):
    run.sc.setCheckpointDir(f"{run.scratch}/checkpoint")
    data = run.sc.parallelize(range(500), 3).map(lambda i: i * i)
    data.checkpoint()
    return {"sum": data.sum(), "done": data.isCheckpointed(), "again": data.sum()}


def in_files(run, name):
    """What is in the files of a directory, unpacked, and who may read them."""
    unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress}
    found = {}
    for path in sorted(glob.glob(f"{run.scratch}/{name}/*/*") + glob.glob(f"{run.scratch}/{name}/*/.*")):
        with open(path, "rb") as file:
            content = file.read()
        end = os.path.splitext(path)[1]
        # Others pack the same otherwise.
        of_packed = end == ".crc" and os.path.splitext(path[: -len(end)])[1] in unpack
        found[os.path.relpath(path, run.scratch)] = [None if of_packed else digest(unpack.get(end, bytes)(content)), os.stat(path).st_mode & 0o777]
    return found


def saved(run):
    """Lines of text in files, with what Hadoop puts beside them."""
    numbers = run.sc.parallelize(range(5000), 3)
    jobs = {
        "mixed": numbers.map(lambda n: f"{n} ä€\U0001f600" if n % 5 else n),
        # Sorted, for keys come in the order in which blocks are fetched.
        "shuffled": numbers.map(lambda n: (n % 11, n)).reduceByKey(lambda a, b: a + b, 2).sortByKey(numPartitions=2),
        "none": run.sc.parallelize([], 2),
        "bytes": numbers.map(lambda n: str(n).encode()),
    }
    for name, rdd in jobs.items():
        rdd.saveAsTextFile(f"{run.scratch}/saved/{name}")
    # Tasks move their files to the directory themselves.
    conf = run.sc._jsc.hadoopConfiguration()
    conf.set("mapreduce.fileoutputcommitter.algorithm.version", "2")
    numbers.map(lambda n: n * n).saveAsTextFile(f"{run.scratch}/saved/merged")
    conf.set("mapreduce.fileoutputcommitter.algorithm.version", "1")
    return [in_files(run, "saved"), run.sc.textFile(f"{run.scratch}/saved/mixed").count()]


def packed(run):
    words = run.sc.parallelize(range(5000), 2).map(lambda n: f"{n} words")
    for codec in ["GzipCodec", "BZip2Codec"]:
        words.saveAsTextFile(f"{run.scratch}/packed/{codec}", f"org.apache.hadoop.io.compress.{codec}")
    return in_files(run, "packed")


def large_results(run):
    """Each task's result is above `spark.task.maxDirectResultSize`: it travels as a block."""
    parts = run.sc.parallelize(range(4), 4).map(lambda i: bytes([i]) * (300_000 + i)).collect()
    return [(len(part), part[0]) for part in parts]


def task_context(run):
    run.sc.setLocalProperty("e2e.colour", "green")

    def describe(index, _):
        context = TaskContext.get()
        yield {
            "partition": (index, context.partitionId()),
            "attempt": context.attemptNumber(),
            "cpus": context.cpus(),
            "resources": len(context.resources()),
            "colour": context.getLocalProperty("e2e.colour"),
            "group": context.getLocalProperty("spark.jobGroup.id"),
        }

    return run.sc.parallelize(range(4), 4).mapPartitionsWithIndex(describe).collect()


def retries(run):
    def flaky(index, items):
        attempt = TaskContext.get().attemptNumber()
        if index % 2 == 1 and attempt < 2:
            raise RuntimeError(f"attempt {attempt}")
        yield index, attempt, sum(items)

    return run.sc.parallelize(range(40), 4).mapPartitionsWithIndex(flaky).collect()


def barrier(run):
    def meet(items):
        context = BarrierTaskContext.get()
        context.barrier()
        yield context.partitionId(), sum(items), context.allGather(f"task {context.partitionId()}"), len(context.getTaskInfos())

    return run.sc.parallelize(range(20), 4).barrier().mapPartitions(meet).collect()


THEMES = [
    ("rdd word count", word_count, "exact"),
    ("rdd shuffles", shuffles, "exact"),
    ("rdd files", files, "exact"),
    ("accumulators", accumulators, "exact"),
    ("broadcast", broadcast, "exact"),
    ("cache in memory", cache_memory, "cached"),
    ("cache on disk", cache_disk, "cached"),
    ("cache replicated", cache_replicated, "cached"),
    ("checkpoint", checkpoint, "exact"),
    ("saved as text", saved, "exact"),
    ("saved as packed text", packed, "none"),
    ("large results", large_results, "exact"),
    ("task context", task_context, "exact"),
    ("retries", retries, "exact"),
    ("barrier stage", barrier, "exact"),
]
