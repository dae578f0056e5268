"""What surrounds the tasks: dependencies, exceptions, cancellation, web UI, lost executors."""

import os
import signal
import tarfile
import threading
import time
import zipfile

from pyspark import SparkFiles, TaskContext
from pyspark.sql import functions as F

from support import mask, rows, thrown, wait_for


def probe(run):
    return run.spark._jvm.probe.Probe


def jar(run):
    return {
        "squares": probe(run).squares(run.sc._jsc, 1000),
        "surroundings": [mask(line) for line in probe(run).surroundings(run.sc._jsc)],
    }


def far_blocks(run):
    """Blocks of other executors: small ones in memory, ones large enough to be streamed to disk, serialised ones."""
    found = {}
    for level, size in [("MEMORY_ONLY", 1000), ("MEMORY_ONLY_SER", 900_000), ("DISK_ONLY", 700_000), ("DISK_ONLY", 10)]:
        lines = set(probe(run).farBlocks(run.sc._jsc, level, size))
        found[f"{level} {size}"] = sorted(lines)
    return found


def dependencies(run):
    """--py-files, --files, --archives, and the same three added while the application runs."""
    sc, root = run.sc, run.scratch
    with open(f"{root}/late.txt", "w") as out:
        out.write("late file")
    with zipfile.ZipFile(f"{root}/late_module.zip", "w") as out:
        out.writestr("late_module.py", "def answer():\n    return 'late module'\n")
    os.makedirs(f"{root}/archive", exist_ok=True)
    with open(f"{root}/archive/inner.txt", "w") as out:
        out.write("late archive")
    with tarfile.open(f"{root}/late.tgz", "w:gz") as out:
        out.add(f"{root}/archive/inner.txt", "inner.txt")
    sc.addFile(f"{root}/late.txt")
    sc.addPyFile(f"{root}/late_module.zip")
    sc.addArchive(f"{root}/late.tgz#unpacked")

    def look(_):
        import early_module
        import late_module

        def text(name):
            with open(SparkFiles.get(name)) as source:
                return source.read()

        return (early_module.answer(), late_module.answer(), text("early.txt"), text("late.txt"),
                text("early.tgz/inner.txt"), text("unpacked/inner.txt"))

    return sorted(set(sc.parallelize(range(8), 8).map(look).collect()))


def late_jar(run):
    """A jar added after the executors started: its class must be found by tasks."""
    run.sc._jsc.addJar(f"{run.inputs}/late.jar")
    return list(run.spark._jvm.probe.Late.run(run.sc._jsc))


def python_exception(run):
    def fails(i):
        if i == 5:
            raise KeyError("no such key: é")
        return i

    return thrown(lambda: run.sc.parallelize(range(8), 2).map(fails).count())


def jvm_exception(run):
    return thrown(lambda: probe(run).fails(run.sc._jsc))


def udf_exceptions(run):
    run.spark.udf.registerJavaFunction("backwards", "probe.Backwards")

    @F.udf("long")
    def fails(value):
        return 1 // (value - 3)

    frame = run.spark.range(0, 5, 1, 2)
    return {
        "python": thrown(lambda: frame.select(fails("id")).collect()),
        "jvm": thrown(lambda: run.spark.sql("select backwards('refuse')").repartition(1).rdd.count()),
        "sql": thrown(lambda: run.spark.sql("select assert_true(id < 3) from range(0, 5, 1, 1)").collect()),
    }


def cancelled(run, name, job):
    """Starts `job` in a group of its own, cancels it once every task ticks, and watches the ticks stop."""
    directory = f"{run.scratch}/{name}"
    os.makedirs(directory)
    outcome = []

    def work():
        run.sc.setJobGroup(f"{name} group", name, interruptOnCancel=True)
        outcome.append(thrown(lambda: job(directory)))

    from pyspark import InheritableThread

    thread = InheritableThread(target=work)
    thread.start()
    wait_for("four ticking tasks", lambda: len(os.listdir(directory)) == 4)
    run.sc.cancelJobGroup(f"{name} group")
    thread.join(60)
    assert not thread.is_alive(), "the cancelled job did not end"

    def idle():
        run.rest.drain()
        return sum(e["activeTasks"] for e in run.rest.executors()) == 0

    wait_for("tasks to stop", idle, 30)

    def sizes():
        return [os.path.getsize(f"{directory}/{file}") for file in sorted(os.listdir(directory))]

    before = sizes()
    time.sleep(0.5)
    assert sizes() == before, "a killed task still works"
    last = set()
    for file in os.listdir(directory):
        with open(f"{directory}/{file}") as text:
            last.add(text.read().splitlines()[-1])
    message = outcome[0]["message"]
    return {"type": outcome[0]["type"], "cancelled": "cancelled" in message.lower(), "last": sorted(last)}


def cancel_jvm(run):
    return cancelled(run, "cancel-jvm", lambda directory: probe(run).endless(run.sc._jsc, directory))


def cancel_python(run):
    def endless(directory):
        def tick(i):
            while True:
                with open(f"{directory}/python-{i}", "a") as out:
                    out.write("tick\n")
                time.sleep(0.02)

        run.sc.parallelize(range(4), 4).foreach(tick)

    return cancelled(run, "cancel-python", endless)


def web_ui(run):
    """What the driver's UI and REST API tell about the executors, while a task runs on each."""
    directory = f"{run.scratch}/ui"
    os.makedirs(directory)
    from pyspark import InheritableThread

    thread = InheritableThread(target=lambda: probe(run).gated(run.sc._jsc, directory))
    thread.start()
    wait_for("tasks at the gate", lambda: len(os.listdir(directory)) == 4)
    run.rest.drain()
    answer = {}
    for executor in run.rest.executors():
        threads = run.rest.get(f"executors/{executor['id']}/threads")
        names = [thread["threadName"] for thread in threads]
        stacks = [str(thread["stackTrace"]) for thread in threads if "task launch worker" in thread["threadName"]]
        pages = {
            page: run.rest.fetch(f"{run.rest.web}/{page}/?executorId={executor['id']}")[0]
            for page in ["executors/threadDump"] + ([] if run.version.startswith("3.") else ["executors/heapHistogram"])
        }
        logs = {kind: run.rest.fetch(url)[0] for kind, url in executor["executorLogs"].items()}
        started = wait_for("a heartbeat with memory peaks", lambda: memory_peak(run, executor["id"]), 40)
        answer[executor["id"]] = {
            "task threads": sum("Executor task launch worker" in name for name in names) >= 2,
            "stacks show user code": sum("probe.Probe" in stack for stack in stacks),
            "pages": pages,
            "logs": logs,
            "memory peak known": started,
            "cores": executor["totalCores"],
            "max tasks": executor["maxTasks"],
            "max memory": executor["maxMemory"],
            "on heap": executor["memoryMetrics"]["totalOnHeapStorageMemory"],
            "off heap": executor["memoryMetrics"]["totalOffHeapStorageMemory"],
            "host": executor["hostPort"].split(":")[0],
            "active": executor["isActive"],
            "tasks": executor["activeTasks"],
            "attributes": executor["attributes"],
            "resources": executor["resources"],
            "profile": executor["resourceProfileId"],
            "excluded": executor["isExcluded"],
        }
    open(f"{directory}/gate", "w").close()
    thread.join(60)
    assert not thread.is_alive(), "the gated job did not end"
    return answer


def memory_peak(run, executor):
    peaks = [e.get("peakMemoryMetrics", {}) for e in run.rest.executors() if e["id"] == executor]
    return bool(peaks and peaks[0].get("JVMHeapMemory", 0) > 0)


def killed_executor(run):
    """SIGKILL for one executor after the map stage: its outputs are lost, and the answer is right all the same."""
    directory = f"{run.scratch}/killed"
    os.makedirs(directory)
    processes = dict(line.split() for line in probe(run).processes(run.sc._jsc))
    outcome = []
    thread = threading.Thread(target=lambda: outcome.append(probe(run).gated(run.sc._jsc, directory)))
    thread.start()
    wait_for("tasks at the gate", lambda: len(os.listdir(directory)) == 4)
    victim = sorted(processes)[0]
    os.kill(int(processes[victim]), signal.SIGKILL)
    run.lost.append(victim)

    def replaced():
        run.rest.drain()
        return len(run.rest.executors()) == len(processes) and victim not in [e["id"] for e in run.rest.executors()]

    wait_for("a new executor", replaced)
    open(f"{directory}/gate", "w").close()
    thread.join(120)
    assert not thread.is_alive(), "the job did not survive the loss"
    run.rest.drain()
    lost = [e for e in run.rest.executors(all_of_them=True) if e["id"] == victim][0]
    return {"answer": outcome, "active": lost["isActive"], "reason": mask(lost.get("removeReason", ""))}


THEMES = [
    ("jar", jar, "exact"),
    ("far blocks", far_blocks, "unordered"),
    ("dependencies", dependencies, "exact"),
    ("late jar", late_jar, "exact"),
    ("python exception", python_exception, "exact"),
    ("jvm exception", jvm_exception, "exact"),
    ("udf exceptions", udf_exceptions, "none"),
    ("cancel jvm tasks", cancel_jvm, "none"),
    ("cancel python tasks", cancel_python, "none"),
    ("web ui", web_ui, "none"),
    ("killed executor", killed_executor, "none"),
]
