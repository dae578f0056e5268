"""Commands of `hold.py` about what executors do besides running tasks."""

import json
import os
import threading

from pyspark import InheritableThread, TaskContext

from support import mask, wait_for


class ExecutorRules:
    def begin_marked(self, command):
        """Starts a job of `probe.Executors` with two tasks, and waits until both run."""
        name = command["job"]
        directory = os.path.join(self.scratch, f"{name}-{len(self.jobs)}")
        os.makedirs(directory)
        outcome = []

        def work():
            self.sc.setJobGroup(name, name, interruptOnCancel=True)
            try:
                outcome.append(getattr(self.sc._jvm.probe.Executors, name)(self.sc._jsc, directory))
            except Exception as error:
                outcome.append(mask(str(error)))

        thread = InheritableThread(target=work)
        thread.daemon = True
        thread.start()
        self.jobs[name] = (thread, directory, outcome)
        wait_for("two running tasks", lambda: len(os.listdir(directory)) == 2)
        return "both run"

    def cancel(self, command):
        """Cancels a job of `begin_marked`, and says whether it ends as a cancelled one."""
        self.sc.cancelJobGroup(command["job"])
        return "cancelled" in str(self.finish({"name": command["job"]}))

    def threads_of_python(self, _):
        """What thread dumps of executor 0 show while it runs two Python tasks: names of all threads of tasks, and of the
        thread of one task, which versions from 4.0 on can be asked for."""
        directory = os.path.join(self.scratch, "threads-of-python")
        os.makedirs(directory)
        gate = os.path.join(directory, "gate")

        def wait(part):
            import time

            open(os.path.join(directory, str(part)), "w").close()
            while not os.path.exists(gate):
                time.sleep(0.05)
            return part

        outcome = []
        job = threading.Thread(target=lambda: outcome.append(self.sc.parallelize(range(2), 2).map(wait).collect()), daemon=True)
        job.start()
        try:
            wait_for("two running tasks", lambda: len(os.listdir(directory)) == 2)
            threads = self.rest.get("executors/0/threads")
            status, body = self.rest.fetch(f"{self.rest.api}/threads?taskId=1&executorId=0")
        finally:
            open(gate, "w").close()
        job.join(60)
        names = [thread["threadName"] for thread in threads]
        return {
            "tasks": sorted(name for name in names if "task launch worker" in name),
            "others": any("task launch worker" not in name for name in names),
            "stacks": all(thread["stackTrace"]["elems"] for thread in threads if "task launch worker" in thread["threadName"]),
            "one": json.loads(body)["threadName"] if status == 200 else status,
            "outcome": outcome,
        }

    def resources(self, _):
        """Custom resources: what the driver knows of executors, and which addresses tasks are given."""
        self.rest.drain()
        known = {e["id"]: {name: found["addresses"] for name, found in e["resources"].items()}
                 for e in self.rest.executors() if e["id"] != "driver"}

        def given(_):
            return [f"{name} {address}" for name, found in TaskContext.get().resources().items() for address in found.addresses]

        return {"known": known, "given": sorted(set(self.sc.parallelize(range(16), 16).flatMap(given).collect()))}
