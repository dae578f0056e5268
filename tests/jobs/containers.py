"""Shared by the jobs whose executors are containers (yarn.py, kubernetes.py)."""

import datetime
import io
import os
import time

from support import BLOCK_SIZES, digest, rows, wait_for, without_numbers


def words(run):
    """A shuffle between two containers."""
    lines = run.sc.parallelize(["the quick brown fox jumps over the lazy dog"] * 400, 6)
    counted = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b, 3)
    return sorted(counted.collect())


def sales(part):
    """A small file of Parquet."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({
        "id": pyarrow.array(range(part * 1000, part * 1000 + 1000), pyarrow.int64()),
        "name": pyarrow.array([None if i % 11 == 0 else f"näme {i % 17}" for i in range(1000)]),
        "day": pyarrow.array([datetime.date(2024, 1, 1) + datetime.timedelta(i % 40) for i in range(1000)]),
    })
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


def ask_sales(run, directory):
    """Queries of files that `sales` made."""
    # With types: finding those of other machines' files out is a job of the driver's that only a JVM runs.
    run.spark.read.schema("id bigint, name string, day date").parquet(directory).createOrReplaceTempView("sales")
    grouped = run.spark.sql("SELECT name, count(*), sum(id), min(day) FROM sales WHERE id % 3 = 1 GROUP BY name ORDER BY name")
    joined = run.spark.sql("SELECT a.id, b.name FROM sales a JOIN sales b ON a.id = b.id + 1000 WHERE b.day > DATE'2024-02-01' ORDER BY a.id")
    return {"grouped": rows(grouped), "joined": digest(rows(joined))}


def of_columns(stages):
    """Which bytes of a file with columns are read, and how often its footer, is the reader's choice."""
    for stage in stages:
        for row in stage["rows"]:
            row["in_bytes"] = row["in_bytes"] > 0
    return without_numbers(stages, BLOCK_SIZES)


def executor_of_this_worker():
    """Process and id of the nearest ancestor that is an executor, and not a shell that started it."""
    pid = os.getpid()
    while pid > 1:
        with open(f"/proc/{pid}/cmdline") as source:
            words = source.read().split("\0")
        if "--executor-id" in words:
            return pid, words[words.index("--executor-id") + 1]
        with open(f"/proc/{pid}/stat") as source:
            pid = int(source.read().rsplit(")", 1)[1].split()[1])
    raise RuntimeError("no executor")


def harm_executor(run, victim, harm):
    """The sum of a job in which one task of the executor `victim` does `harm`, which is given the executor's process."""
    mark = f"{run.scratch}/harmed-{victim}"

    def work(part):
        pid, executor = executor_of_this_worker()
        if executor == victim:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                harm(pid)
            except FileExistsError:
                pass
        time.sleep(0.5)
        return [sum(part)]

    total = run.sc.parallelize(range(1000), 8).mapPartitions(work).sum()
    assert os.path.exists(mark), f"no task ran on executor {victim}"
    return total


def kill_executor(pid):
    os.kill(pid, 9)
    time.sleep(60)


def end_of(run, victim):
    """What the driver says of an executor's end; waits until another one is there and has registered its block manager,
    without which it is given no tasks."""
    def reason():
        run.rest.drain()
        found = [executor for executor in run.rest.executors(all_of_them=True) if executor["id"] == victim]
        return found[0].get("removeReason")

    found = wait_for("the executor's end", reason)
    run.gone.append(victim)

    def another():
        executors = run.rest.executors()
        return len(executors) == 2 and all(executor["maxMemory"] > 0 for executor in executors)

    wait_for("another executor", another)
    return found
