"""Makes programs that ask for a `local[...]` master run on a local cluster, without a change to them: imported first, it
patches `SparkContext`. Every context gets a directory of its own for the reports of its executors, and what the driver
counted is kept when it stops.

Reads E2E_REPORTS: a directory; absent on plain Spark's side."""

import json
import os
import re
import time

from pyspark import SparkContext

TWO, ONE = "local-cluster[2,2,1024]", "local-cluster[1,4,1024]"

# The cluster of the next contexts, what the program being run calls itself, and one entry per context.
cluster = TWO
label = ""
contexts = []

_initialize = SparkContext._initialize_context
_stop = SparkContext.stop


def _clustered(master):
    """(master, attempts per task or None) for a master that was asked for."""
    asked = re.fullmatch(r"local(?:\[\s*(?:\d+|\*)\s*(?:,\s*(\d+)\s*)?\])?", master)
    if asked is None:
        return master, None
    # A local master gives a task one attempt unless told otherwise, so that nothing is hidden by a second.
    return cluster, asked.group(1) or "1"


def _executors(jsc):
    found = jsc.sc().statusStore().executorList(False)
    return [found.apply(i) for i in range(found.size()) if found.apply(i).id() != "driver"]


def _initialize_context(self, jconf):
    self.master, attempts = _clustered(jconf.get("spark.master"))
    jconf.setMaster(self.master)
    if attempts is not None:
        jconf.setIfMissing("spark.task.maxFailures", attempts)
    entry = {"label": label, "master": self.master, "executors": {}}
    if os.environ.get("E2E_REPORTS"):
        entry["reports"] = f"{len(contexts):03d}"
        directory = os.path.join(os.environ["E2E_REPORTS"], entry["reports"])
        # A context that could not start has left one.
        os.makedirs(directory, exist_ok=True)
        jconf.set("spark.executorEnv.FIRESTEEL_REPORT", f"{directory}/{{id}}.json")
    jsc = _initialize(self, jconf)
    self._e2e_entry = entry
    contexts.append(entry)
    # A barrier stage asks for all its slots at once, and what runs where should not depend on who came first.
    size = re.match(r"local-cluster\[\s*(\d+)", self.master)
    deadline = time.monotonic() + 60
    while size and jsc.sc().getExecutorMemoryStatus().size() <= int(size.group(1)):
        if time.monotonic() > deadline:
            jsc.stop()
            raise TimeoutError(f"no {size.group(1)} executors after 60 s")
        time.sleep(0.02)
    return jsc


def _counted_stop(self):
    entry, jsc = getattr(self, "_e2e_entry", None), getattr(self, "_jsc", None)
    if entry is not None and jsc is not None:
        self._e2e_entry = None
        try:
            jsc.sc().listenerBus().waitUntilEmpty()
            for executor in _executors(jsc):
                entry["executors"][executor.id()] = {
                    "active": executor.isActive(), "running": executor.activeTasks(),
                    "finished": executor.completedTasks(), "failed": executor.failedTasks()}
        except Exception as error:
            entry["error"] = str(error)[-500:]
    _stop(self)


SparkContext._initialize_context = _initialize_context
SparkContext.stop = _counted_stop


def write(path, result):
    """Writes a result file with the contexts in it; done after every step, so that a killed run tells how far it came."""
    result["contexts"] = contexts
    with open(f"{path}.new", "w") as out:
        json.dump(result, out, indent=1, sort_keys=True)
    os.replace(f"{path}.new", path)
