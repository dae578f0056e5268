"""Commands as PySpark's drivers pickle them, one file each: python commands.py DIRECTORY

Functions take texts and return bytes, so that the test needs no pickles of its own.
"""
import os
import sys

from pyspark import cloudpickle
from pyspark.accumulators import Accumulator, AddingAccumulatorParam
from pyspark.serializers import NoOpSerializer, UTF8Deserializer

accumulator = Accumulator(7, 0, AddingAccumulatorParam(0))


def upper(_, texts):
    for text in texts:
        yield b"(null)" if text is None else text.upper().encode()


def context(index, texts):
    import json
    from pyspark import SparkFiles, TaskContext

    task = TaskContext.get()
    list(texts)
    yield json.dumps(
        {
            "index": index,
            "stage": task.stageId(),
            "partition": task.partitionId(),
            "attempt": task.attemptNumber(),
            "task": task.taskAttemptId(),
            "cpus": task.cpus(),
            "resources": {k: [v.name, v.addresses] for k, v in task.resources().items()},
            "property": task.getLocalProperty("spark.jobGroup.id"),
            "files": SparkFiles.getRootDirectory(),
            "path": [p for p in sys.path if "include" in p],
            "environment": {k: v for k, v in os.environ.items() if "P" in k},
        }
    ).encode()


def pid(_, texts):
    list(texts)
    yield str(os.getpid()).encode()


def raises(_, texts):
    for text in texts:
        if text == "bad":
            raise ValueError("boom: \u00e9")
        yield text.encode()


def accumulates(_, texts):
    for text in texts:
        accumulator.add(len(text))
    return iter([])


def broadcasts(_, texts):
    list(texts)
    try:
        from pyspark.core.broadcast import _broadcastRegistry
    except ImportError:
        from pyspark.broadcast import _broadcastRegistry
    yield repr(sorted((k, v.value) for k, v in _broadcastRegistry.items())).encode()


def endless(_, texts):
    while True:
        yield b"x" * 10000


def sleeps(_, texts):
    import time

    yield str(os.getpid()).encode()
    yield b" " * 100000
    while True:
        time.sleep(1)


def commits(_, texts):
    import time

    for path in list(texts):
        # More than a buffer, so that the reader sees it.
        yield b" " * 100000
        time.sleep(0.3)
        open(path, "w").close()
        while True:
            yield b" " * 100000


def exits(_, texts):
    list(texts)
    os._exit(3)


def faults(_, texts):
    import ctypes

    list(texts)
    ctypes.string_at(0)


def takes_one(_, texts):
    yield next(texts).encode()


def barrier(_, texts):
    from pyspark import BarrierTaskContext

    list(texts)
    task = BarrierTaskContext.get()
    task.barrier()
    yield repr(task.allGather("from %d" % task.partitionId())).encode()


def prints(_, texts):
    list(texts)
    print("said by a worker", flush=True)
    return iter([])


FUNCTIONS = [upper, context, pid, raises, accumulates, broadcasts, endless, sleeps, commits, exits, faults, takes_one, barrier, prints]

for function in FUNCTIONS:
    command = (function, None, UTF8Deserializer(), NoOpSerializer())
    with open(os.path.join(sys.argv[1], function.__name__), "wb") as out:
        out.write(cloudpickle.dumps(command))
