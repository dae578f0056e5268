"""A driver without executors of its own, told what to do by lines on standard input; answers are lines on standard
output that begin with `hold> `. Tests start executors by hand against it.

usage: hold.py NAME SCRATCH"""

import json
import os
import re
import sys
import threading
import time
import zlib
from collections import Counter

from pyspark import SparkContext, StorageLevel
from pyspark.serializers import CPickleSerializer
from pyspark.shuffle import Aggregator, ExternalMerger
from pyspark.sql import SparkSession

from executor_rules import ExecutorRules
from failure_themes import told
from sql_faults import SqlFaults
from support import Rest, digest, mask, wait_for


class Hold(SqlFaults, ExecutorRules):
    def __init__(self, name, scratch):
        self.name, self.scratch = name, scratch
        self.jobs = {}
        self.start()

    def start(self):
        self.sc = SparkContext(appName=self.name)
        self.rest = Rest(self.sc)

    def hello(self, _):
        return {
            "driver_url": f"spark://CoarseGrainedScheduler@localhost:{self.sc.getConf().get('spark.driver.port')}",
            "app_id": self.sc.applicationId,
            "pid": self.sc._jvm.java.lang.ProcessHandle.current().pid(),
        }

    def executors(self, _):
        self.rest.drain()
        return {
            e["id"]: {"active": e["isActive"], "host_port": e["hostPort"], "cores": e["totalCores"],
                      "finished": e["completedTasks"], "failed": e["failedTasks"], "added": e["addTime"], "max_memory": e["maxMemory"],
                      "reason": mask(e.get("removeReason", ""))}
            for e in self.rest.executors(all_of_them=True)
        }

    def variable(self, command):
        """The values that an environment variable has in Python workers."""
        name = command["name"]
        return sorted(set(self.sc.parallelize(range(4), 4).map(lambda _: os.environ.get(name, "")).collect()))

    def threads(self, command):
        """HTTP status of an executor's thread dump, and how many threads it shows."""
        status, body = self.rest.fetch(f"{self.rest.api}/executors/{command['id']}/threads")
        return {"status": status, "threads": len(json.loads(body)) if status == 200 else 0}

    def wait(self, command):
        """Waits until exactly the executors named in `ids` are active."""
        ids = set(command["ids"])

        def active():
            # The block manager registers after the executor.
            return {i for i, e in self.executors(None).items() if e["active"] and e["max_memory"]} == ids

        return wait_for(f"executors {sorted(ids)}", active, command.get("seconds", 60), every=0.02)

    def squares(self, command):
        return self.sc._jvm.probe.Probe.squares(self.sc._jsc, command.get("count", 1000))

    def begin(self, command):
        """Starts `squares` and does not wait for it."""
        outcome = []
        thread = threading.Thread(target=lambda: outcome.append(self.squares(command)), daemon=True)
        thread.start()
        self.jobs[command["name"]] = (thread, None, outcome)

    def finish(self, command):
        thread, _, outcome = self.jobs[command["name"]]
        thread.join(60)
        return outcome[0] if outcome else "still running after 60 s"

    def tiny(self, command):
        """Seconds for a JVM job of many tasks that do nothing."""
        started = time.monotonic()
        count = self.sc._jvm.probe.Probe.tiny(self.sc._jsc, command["tasks"])
        assert count == command["tasks"], count
        return time.monotonic() - started

    def timed(self, job):
        started = time.monotonic()
        answer = job()
        return {"seconds": time.monotonic() - started, "answer": answer}

    def py_tiny(self, command):
        """A PySpark job of many tasks that do nothing."""
        tasks = command["tasks"]
        return self.timed(lambda: self.sc.parallelize(range(tasks), tasks).map(lambda i: 1).count())

    def py_words(self, command):
        """Word count: how many words, and the most frequent ones."""
        lines = self.sc.textFile(command["directory"], 8)
        counted = lines.flatMap(lambda line: line.split(" ")).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b, 4)
        return self.timed(lambda: counted.top(5, key=lambda pair: (pair[1], pair[0])))

    def py_pairs(self, command):
        """Sums of many pairs by a thousand keys."""
        pairs = self.sc.parallelize(range(command["pairs"]), 8).map(lambda i: (i % 1000, i))
        return self.timed(lambda: pairs.reduceByKey(lambda a, b: a + b, 4).values().sum())

    def py_blocks(self, command):
        """A shuffle that stays: so many maps and reduces, with a block of so many bytes that do not compress for each pair."""
        reduces, size = command["reduces"], command["bytes"]
        records = self.sc.parallelize(range(command["maps"]), command["maps"]).flatMap(
            lambda _: ((reduce, os.urandom(size)) for reduce in range(reduces)))
        self.blocks = records.partitionBy(reduces, lambda key: key)
        return self.blocks.mapValues(len).values().sum()

    def tables(self, command):
        """Names the Parquet tables below a directory."""
        self.spark = SparkSession(self.sc)
        for table in os.listdir(command["directory"]):
            self.spark.read.parquet(os.path.join(command["directory"], table)).createOrReplaceTempView(table)

    def sql(self, command):
        """Seconds and rows of each query."""
        found = []
        for query in command["queries"]:
            started = time.monotonic()
            rows = self.spark.sql(query).collect()
            found.append({"seconds": time.monotonic() - started, "digest": digest([list(map(str, row)) for row in rows])})
        return found

    def far_blocks(self, command):
        return sorted(set(self.sc._jvm.probe.Probe.farBlocks(self.sc._jsc, command["level"], command["size"])))

    def counts(self, command):
        return self.sc.parallelize(range(100), command["tasks"]).map(lambda i: (i % 3, 1)).reduceByKey(
            lambda a, b: a + b, 2).collect()

    def exchange(self, _):
        """Python jobs in which every executor needs blocks of the others: shuffles, cached partitions, broadcasts, results
        that travel as blocks. Says which of their answers are wrong."""
        sc, wrong = self.sc, []

        def check(name, found, expected):
            if found != expected:
                wrong.append(f"{name}: {str(found)[:300]} instead of {str(expected)[:300]}")

        pairs = sc.parallelize(range(20_000), 8).map(lambda i: (i % 500, i)).persist(StorageLevel.MEMORY_AND_DISK)
        expected = {key: sum(range(key, 20_000, 500)) for key in range(500)}
        check("count", pairs.count(), 20_000)
        # Nothing waits for the executor that has a partition: the other one reads it from there.
        check("far partitions", pairs.values().sum(), sum(range(20_000)))
        self.kept = pairs.reduceByKey(lambda a, b: a + b, 6), expected
        check("sums", dict(self.kept[0].collect()), expected)
        check("groups", sorted(pairs.groupByKey(5).mapValues(len).collect()), [(key, 40) for key in range(500)])
        names = sc.parallelize(range(500), 3).map(lambda key: (key, f"name {key}"))
        check("join", pairs.join(names, 4).map(lambda found: found[1][1]).distinct().count(), 500)
        check("sort", pairs.keys().sortBy(lambda key: -key, numPartitions=5).take(50), [499] * 40 + [498] * 10)
        payload = os.urandom(5 << 20)
        table, seen = sc.broadcast(payload), sc.accumulator(0)

        def look(part):
            seen.add(len(part))
            return zlib.crc32(table.value)

        check("broadcast", set(sc.parallelize(range(80), 8).glom().map(look).collect()), {zlib.crc32(payload)})
        check("accumulator", seen.value, 80)
        large = sc.parallelize(range(6), 6).map(lambda i: bytes([i]) * 2_000_000).collect()
        check("large results", [(part[0], len(part)) for part in large], [(i, 2_000_000) for i in range(6)])
        pairs.unpersist(blocking=True)
        return wrong

    def exchange_again(self, _):
        """The answer of a shuffle of `exchange`, whose files may be gone with an executor."""
        rdd, expected = self.kept
        return dict(rdd.collect()) == expected

    def tasks_of(self, action):
        """An answer, and how many tasks it took."""
        def finished():
            self.rest.drain()
            return sum(stage["numCompleteTasks"] for stage in self.rest.get("stages"))

        before = finished()
        answer = action()
        return {"answer": answer, "tasks": finished() - before}

    def keep(self, command):
        """Begins RDDs of which others than their makers may have to serve the files: shuffles and cached partitions of Python, and a shuffle of Java."""
        made = self.sc.accumulator(0)
        pairs = self.sc.parallelize(range(20_000), 8).map(lambda i: (i % 500, i))
        squares = self.sc.parallelize(range(1000), 4).map(lambda i: (made.add(1), i * i)[1])
        lines = os.path.join(self.scratch, "lines")
        with open(lines, "w") as out:
            out.writelines(f"line {i}\n" for i in range(1000))
        self.files = pairs.reduceByKey(lambda a, b: a + b, 6)
        self.parts = squares.persist(getattr(StorageLevel, command["level"])), made
        self.java = self.sc._jsc.textFile(lines).repartition(3) if command["java"] else None
        return self.kept_answers(None)

    def kept_answers(self, _):
        """Answers of what `keep` began, with the tasks that it took."""
        parts, made = self.parts
        found = {
            "files": self.tasks_of(lambda: digest(sorted(self.files.collect()))),
            "parts": self.tasks_of(lambda: [parts.sum(), made.value]),
        }
        if self.java:
            found["java"] = self.tasks_of(self.java.count)
        return found

    def decommission(self, command):
        """Lets the driver ask an executor to leave."""
        info = self.sc._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("a test", self.sc._jvm.scala.Option.empty())
        return self.sc._jsc.sc().schedulerBackend().decommissionExecutor(command["id"], info, False, False)

    def results(self, _):
        """Results of many kinds: a digest of each."""
        sc, directory = self.sc, os.path.join(self.scratch, "texts")
        os.makedirs(directory, exist_ok=True)
        for name in ["a", "b"]:
            with open(os.path.join(directory, name), "w") as out:
                out.writelines(f"{name} line {i} \u00e4\U0001f980\n" for i in range(500))
        words = sc.textFile(directory, 4)
        pairs = sc.parallelize(range(20_000), 4).map(lambda i: (i % 97 if i % 3 else 5, i))
        seen = sc.accumulator(0)
        words.foreach(lambda line: seen.add(1))
        table = sc.broadcast({i: str(i) * 100 for i in range(10_000)})
        found = {
            "lines": sorted(words.collect()),
            "files": sorted(text for _, text in sc.wholeTextFiles(directory).collect()),
            "count": words.count(),
            "take": [words.take(3), sc.parallelize([], 2).take(1)],
            "one by one": sorted(words.toLocalIterator()),
            "numbered": words.map(len).zipWithIndex().collect(),
            "seen": seen.value,
            "sums": sorted(pairs.reduceByKey(lambda a, b: a + b, 7).collect()),
            "joined": pairs.join(pairs.mapValues(lambda i: -i).sample(False, 0.01, 3), 5).count(),
            "looked up": sorted(pairs.keys().map(lambda i: table.value[i][:2]).distinct(3).collect()),
            "large": [len(part) for part in sc.parallelize(range(3), 3).map(lambda i: bytes([i]) * 2_000_000).collect()],
            "repartitioned": sorted(pairs.values().repartition(6).glom().map(len).collect()),
        }
        return {name: digest(value) for name, value in found.items()}

    def spill(self, _):
        """Shuffles and cached partitions that need more memory than there is: counts, and what the driver says of their memory. Partitions
        of 4 MB are cached, as far as they fit; each of the four tasks of two shuffles writes 24 MB."""
        cached = self.sc.parallelize(range(24), 24).flatMap(lambda i: ((j % 97, os.urandom(1000)) for j in range(4000)))
        cached.persist(StorageLevel.MEMORY_ONLY)
        records = cached.coalesce(4)
        answers = [cached.count(), records.partitionBy(5).count(), sum(records.groupByKey(3).mapValues(len).values().collect())]
        self.rest.drain()
        stages = self.rest.get("stages")
        total = lambda name: sum(stage[name] for stage in stages)
        return {
            "answers": answers,
            "memory_spilled": total("memoryBytesSpilled"),
            "disk_spilled": total("diskBytesSpilled"),
            "peak": max(stage["peakExecutionMemory"] for stage in stages),
            "cached_in_memory": sum(executor["memoryUsed"] for executor in self.rest.executors()),
        }

    def pipelines(self, _):
        """Words counted and numbers summed up by simple functions: whether the answers are right, and for each task how
        many pipelines native code began, and how many of them it left to the interpreter before their end. Squares are
        summed up by functions that are not simple: whether that answer is right."""
        path = os.path.join(self.scratch, "words")
        lines = [" ".join(f"w{i * j % 977}" for j in range(12)) + "ä" * (i % 3) for i in range(30_000)]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))

        def merged(pairs):
            """What `reduceByKey` does first."""
            merger = ExternalMerger(Aggregator(lambda v: v, lambda a, b: a + b, lambda a, b: a + b), 512, CPickleSerializer())
            module = sys.modules.get("firesteel_worker.pipelines")
            before = module and (module.Counts.began, module.Counts.left)
            merger.mergeValues(pairs)
            return [(module and (module.Counts.began - before[0], module.Counts.left - before[1]), list(merger.items()))]

        words = self.sc.textFile(path, 3).flatMap(lambda line: line.split(" ")).map(lambda word: (word, 1))
        sums = self.sc.parallelize(range(100_000), 3).map(lambda i: (i % 1000, i))
        found = {}
        for name, pairs, expected in [
            ("words", words, Counter(word for line in lines for word in line.split(" "))),
            ("sums", sums, Counter({key: sum(range(key, 100_000, 1000)) for key in range(1000)})),
        ]:
            tasks, total = pairs.mapPartitions(merged).collect(), Counter()
            for _, items in tasks:
                total.update(dict(items))
            reduced = Counter(dict(pairs.reduceByKey(lambda a, b: a + b).collect()))
            found[name] = {"right": total == reduced == expected, "native": [counts for counts, _ in tasks]}
        squares = self.sc.parallelize(range(1000), 3).map(lambda i: (i % 10, i.__pow__(2))).reduceByKey(lambda a, b: a + b)
        expected = {key: sum(i**2 for i in range(key, 1000, 10)) for key in range(10)}
        found["squares"] = {"right": dict(squares.collect()) == expected}
        return found

    def overfill(self, _):
        """Shuffles and caches more than fits on a small disk, then what does fit: whether the user reads why it failed, and
        an answer."""
        data = self.sc.parallelize(range(40), 4).map(lambda i: (i % 7, os.urandom(400_000)))

        def failure(action):
            found = told(action)
            return {"type": found["type"], "reason": "No space left on device" in found["message"],
                    "attempts": re.findall(r"failed \d+ times", found["message"])}

        found = {"shuffle": failure(lambda: data.groupByKey(3).count())}
        cached = data.persist(StorageLevel.DISK_ONLY)
        found["cache"] = failure(cached.count)
        cached.unpersist(blocking=True)
        found["after"] = sorted(self.counts({"tasks": 4}))
        return found

    def gated(self, command):
        """Starts a job whose tasks wait for `ungate`."""
        directory = os.path.join(self.scratch, command["name"])
        os.makedirs(directory)
        outcome = []

        def work():
            try:
                outcome.append(self.sc._jvm.probe.Probe.gated(self.sc._jsc, directory))
            except Exception as error:
                outcome.append(mask(str(error)))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.jobs[command["name"]] = (thread, directory, outcome)
        wait_for("tasks at the gate", lambda: len(os.listdir(directory)) >= command.get("tasks", 4))
        return "at the gate"

    def ungate(self, command):
        thread, directory, outcome = self.jobs[command["name"]]
        open(os.path.join(directory, "gate"), "w").close()
        thread.join(60)
        return outcome[0] if outcome else "still running after 60 s"

    def restart(self, _):
        """Stops the context (and with it the executors), and starts another one in the same process."""
        self.sc.stop()
        self.start()
        return self.hello(None)

    def stop(self, _):
        self.sc.stop()
        return "stopped"


def main(hold):
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": getattr(hold, command["do"])(command)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print("hold> " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Hold(*sys.argv[1:]))
