"""Shared by the jobs: running named themes, reading the driver's REST API, and making answers comparable between two runs."""

import hashlib
import json
import os
import re
import time
import traceback
import urllib.error
import urllib.request

MASKS = [
    (re.compile(r"TID \d+"), "TID n"),
    (re.compile(r"\(\d+\.\d+\.\d+\.\d+ executor (driver|\d+)\)"), "(host executor n)"),
    (re.compile(r"executor (driver|\d+)"), "executor n"),
    (re.compile(r"stage \d+\.\d+"), "stage n"),
    (re.compile(r"localhost:\d+"), "localhost:port"),
    (re.compile(r"127\.0\.0\.1:\d+"), "localhost:port"),
    (re.compile(r"\$Lambda[$/0-9a-fx.]+"), "$Lambda"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0xn"),
    (re.compile(r"@[0-9a-f]{5,8}\b"), "@hash"),
    (re.compile(r"app-\d{14}-\d{4}"), "app"),
    (re.compile(r"(GeneratedMethodAccessor|GeneratedConstructorAccessor)\d+"), r"\1"),
]


def mask(text):
    """Replaces what differs between any two runs (task ids, ports, placement, directories) in a message."""
    for variable in ["E2E_ROOT", "E2E_JOBS"]:
        if os.environ.get(variable):
            text = text.replace(os.environ[variable], f"<{variable}>")
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    return text


def digest(value):
    """A short fingerprint of a JSON-able value or of bytes."""
    if not isinstance(value, (bytes, bytearray)):
        value = json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.sha256(value).hexdigest()[:24]


def rows(frame):
    """The rows of a DataFrame in order, as lists of strings."""
    return [[str(cell) for cell in row] for row in frame.collect()]


def wait_for(what, condition, seconds=60, every=0.1):
    """Polls `condition` until it gives something true, and returns that; fails with `what` at the deadline."""
    deadline = time.monotonic() + seconds * int(os.environ.get("FIRESTEEL_E2E_PATIENCE", "1"))
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}; last value: {value!r}")
        time.sleep(every)


class Rest:
    """The driver's REST API (and pages of its web UI)."""

    def __init__(self, sc):
        self.sc = sc
        self.web = sc.uiWebUrl
        self.api = f"{self.web}/api/v1/applications/{sc.applicationId}"

    def drain(self):
        """Waits until the driver's listeners have seen every event so far."""
        self.sc._jsc.sc().listenerBus().waitUntilEmpty()

    def fetch(self, url):
        """(status, body) of a GET."""
        try:
            with urllib.request.urlopen(url, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def get(self, path):
        status, body = self.fetch(f"{self.api}/{path}")
        if status != 200:
            raise RuntimeError(f"{path}: HTTP {status}: {body[:500]}")
        return json.loads(body)

    def executors(self, all_of_them=False):
        found = self.get("allexecutors" if all_of_them else "executors")
        return [executor for executor in found if executor["id"] != "driver"]


def task_row(task):
    """What a finished task read and wrote."""
    metrics = task.get("taskMetrics", {})
    read, write = metrics.get("shuffleReadMetrics", {}), metrics.get("shuffleWriteMetrics", {})
    source, sink = metrics.get("inputMetrics", {}), metrics.get("outputMetrics", {})
    return {
        "index": task["index"],
        "in_records": source.get("recordsRead", 0),
        "in_bytes": source.get("bytesRead", 0),
        "out_records": sink.get("recordsWritten", 0),
        "out_bytes": sink.get("bytesWritten", 0),
        "read_records": read.get("recordsRead", 0),
        "read_bytes": read.get("localBytesRead", 0) + read.get("remoteBytesRead", 0),
        "read_blocks": read.get("localBlocksFetched", 0) + read.get("remoteBlocksFetched", 0),
        "write_records": write.get("recordsWritten", 0),
        "write_bytes": write.get("bytesWritten", 0),
        "spilled": metrics.get("diskBytesSpilled", 0) + metrics.get("memoryBytesSpilled", 0),
    }


def about(size):
    """A size in bytes of something compressed: another compressor of the same format may need some more or fewer of them, so
    the comparison allows for a fiftieth."""
    return {"about": size}


def without_sizes(value):
    """The same without what is only `about` a size: what to sort by, for such numbers may put two things in either order."""
    if isinstance(value, dict):
        return {key: without_sizes(part) for key, part in value.items() if key != "about"}
    return [without_sizes(part) for part in value] if isinstance(value, list) else value


# Sizes of blocks depend on the compressor.
BLOCK_SIZES = ["read_bytes", "read_blocks", "write_bytes", "spilled"]


def without_numbers(stages, names):
    """Stages as `Themes` has them, without these numbers of their tasks, in an order that is made of what is left: stages that run side by
    side have their places by chance."""
    for stage in stages:
        for row in stage["rows"]:
            for name in names:
                row.pop(name, None)
        stage["rows"].sort(key=str)
    return sorted(stages, key=str)


def native_tasks(rest):
    """How many tasks ran natively, as the SQL page shows it of each stage of generated code."""
    rest.drain()
    executions = rest.get("sql?length=100000&details=true")
    metrics = [metric for execution in executions for node in execution["nodes"] for metric in node["metrics"]]
    return sum(int(metric["value"].replace(",", "")) for metric in metrics if metric["name"] == "native tasks")


class Themes:
    """Runs themes one after the other, and collects their answers and the task metrics of their stages."""

    def __init__(self, spark):
        self.spark = spark
        self.sc = spark.sparkContext
        self.rest = Rest(self.sc)
        self.seen = set()
        # Set where tasks of Firesteel's own compress blocks: `read_bytes` and `write_bytes` are compared roughly then.
        self.other_compressor = False
        self.result = {"answers": {}, "metrics": {}, "errors": {}, "seconds": {}, "counters": {}}

    def run(self, name, body, metrics="exact"):
        """`metrics`: "exact" compares records and bytes of every task; "unordered" does not ask which task did what, nor
        for the size of shuffle blocks, where rows come in an order that differs between runs (files listed by random
        names); "cached" is exact for themes whose input is cached blocks, which are compressed; "none" for themes that kill
        things."""
        started = time.monotonic()
        self.sc.setJobGroup(name, name)
        try:
            self.result["answers"][name] = body(self)
        except Exception:
            self.result["errors"][name] = traceback.format_exc()[-6000:]
        self.rest.drain()
        stages = [stage for stage in self.rest.get("stages") if (stage["stageId"], stage["attemptId"]) not in self.seen]
        self.seen |= {(stage["stageId"], stage["attemptId"]) for stage in stages}
        if metrics != "none":
            self.result["metrics"][name] = self.stage_rows(stages, metrics)
        self.result["seconds"][name] = round(time.monotonic() - started, 2)
        print(f"{name}: {self.result['seconds'][name]} s", flush=True)

    def stage_rows(self, stages, metrics):
        found = []
        for stage in stages:
            if stage["status"] == "SKIPPED":
                continue
            tasks = self.rest.get(f"stages/{stage['stageId']}/{stage['attemptId']}/taskList?length=100000")
            done = [task_row(task) for task in tasks if task["status"] == "SUCCESS"]
            # Map outputs of a stage that itself reads a shuffle are compressed in order of arrival.
            arrival = any(row["read_records"] for row in done)
            for row in done:
                if arrival or metrics == "unordered":
                    for key in ["read_bytes", "write_bytes", "spilled"]:
                        row.pop(key)
                if arrival:
                    row.pop("out_bytes")
                if metrics == "unordered":
                    row.pop("index")
                sizes = ["read_bytes", "write_bytes"] + (["in_bytes"] if metrics == "cached" else [])
                for key in sizes if self.other_compressor else []:
                    if key in row:
                        row[key] = about(row[key])
            done.sort(key=lambda row: row.get("index", json.dumps(without_sizes(row))))
            statuses = {}
            for task in tasks:
                statuses[task["status"]] = statuses.get(task["status"], 0) + 1
            found.append({"status": stage["status"], "tasks": statuses, "rows": done})
        # Stages of one query may be submitted in any order.
        return sorted(found, key=lambda stage: json.dumps(without_sizes(stage)))

    def count_tasks(self):
        """Tasks per executor as the driver counted them, to be held against the executors' own reports."""
        self.rest.drain()
        self.result["counters"] = {
            executor["id"]: {
                "finished": executor["completedTasks"],
                "failed": executor["failedTasks"],
                "active": executor["activeTasks"],
            }
            for executor in self.rest.executors(all_of_them=True)
        }

    def write(self, path):
        with open(path, "w") as out:
            json.dump(self.result, out, indent=1, sort_keys=True, default=str)


def flip(file):
    """Changes a byte in the middle of a file."""
    with open(file, "r+b") as data:
        data.seek(os.path.getsize(file) // 2)
        byte = data.read(1)[0]
        data.seek(-1, os.SEEK_CUR)
        data.write(bytes([byte ^ 0xFF]))


def thrown(action):
    """Runs `action`, which must throw, and describes the exception as user code sees it: class, message, and the
    executor-side causes with their stacks."""
    try:
        action()
    except Exception as error:
        found = {"type": type(error).__name__}
        origin = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        if origin is None:
            found["message"] = mask(str(error))
            return found
        message = origin.getMessage() or ""
        found["message"] = mask(message.split("\nDriver stacktrace:")[0])
        found["causes"] = []
        cause = origin.getCause()
        while cause is not None:
            found["causes"].append(
                {
                    "class": cause.getClass().getName(),
                    "message": mask(cause.getMessage() or ""),
                    "stack": [mask(frame.toString()) for frame in cause.getStackTrace()],
                }
            )
            cause = cause.getCause()
        return found
    raise AssertionError("the action did not throw")
