"""What goes wrong around Python tasks: exceptions, dead workers and executors, wrong interpreters, damaged shuffle files."""

import glob
import os
import re
import signal
import stat
import sys

from pyspark import TaskContext

from support import flip, thrown, wait_for


def told(action):
    """What the user reads when `action` fails, without the frames of the JVM, which differ between versions of Spark and
    between lanes."""
    found = thrown(action)
    found["message"] = without_frames(found["message"])
    for cause in found.get("causes", []):
        cause["message"] = without_frames(cause["message"])
        del cause["stack"]
    return found


def without_frames(text):
    kept = [line for line in text.splitlines() if not re.match(r"\s+at \S+\(|\s+\.\.\. \d+ more", line)]
    # Spark looks whether a daemon has ended just when its output has, which is sooner or later at random.
    return re.sub(r" and terminated with code: \d+\.(?=\.)", "", "\n".join(kept).strip())


def once(run, name):
    """True in the first task that asks, and never again in this run."""
    try:
        os.close(os.open(f"{run}/once-{name}", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def user_exception(run):
    class Refused(Exception):
        pass

    def fails(i):
        if i == 5:
            raise Refused("no such thing: é\nsecond line")
        return i

    def chained(i):
        try:
            return 1 // (i - 3)
        except ZeroDivisionError as error:
            raise ValueError("while dividing") from error

    # One partition where every task fails, so that the same one is named every time.
    numbers, single = run.sc.parallelize(range(8), 2), run.sc.parallelize(range(8), 1)
    return {
        "own class": told(lambda: numbers.map(fails).count()),
        "with a cause": told(lambda: numbers.map(chained).collect()),
        "in a shuffle": told(lambda: numbers.map(lambda i: (fails(i), 1)).reduceByKey(max).collect()),
        "exit": told(lambda: single.foreach(lambda i: sys.exit(3))),
        "not picklable": told(lambda: single.map(lambda i: (x for x in [i])).collect()),
        "stop iteration": told(lambda: single.map(lambda i: next(iter([]))).collect()),
    }


def dead_worker(run):
    """A worker that a signal ends: once, which a retry makes good, and always."""
    scratch = run.scratch

    def once_dead(i):
        if i == 13 and once(scratch, "dead-worker"):
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    def always_dead(i):
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    numbers = run.sc.parallelize(range(40), 4)
    return {
        "once": numbers.map(once_dead).sum(),
        "always": told(lambda: numbers.map(always_dead).collect()),
        "after": numbers.map(lambda i: i + 1).sum(),
    }


def dead_daemon(run):
    """The daemon, from which workers are forked, dies between two jobs."""
    numbers = run.sc.parallelize(range(8), 4)
    daemons = sorted(set(numbers.map(lambda i: os.getppid()).collect()))
    for daemon in daemons:
        os.kill(daemon, signal.SIGKILL)
    return {"daemons": len(daemons), "after": numbers.map(lambda i: i * i).sum()}


def wrong_python(run):
    """Interpreters that cannot be: another version than the driver's, none at all, one that talks, one that fails."""
    sc, found = run.sc, {}
    version, program = sc.pythonVer, sc.pythonExec
    numbers = sc.parallelize(range(4), 1)
    try:
        sc.pythonVer = "3.7"
        found["version"] = told(lambda: numbers.map(lambda i: i).collect())
        sc.pythonVer = version
        sc.pythonExec = "/nowhere/bin/python"
        found["missing"] = told(lambda: numbers.map(lambda i: i).collect())
        for name, body in [("talking", "echo hello from the wrapper; sleep 0.3"), ("failing", "echo I cannot >&2; exit 7")]:
            script = f"{run.scratch}/{name}-python"
            with open(script, "w") as out:
                out.write(f"#!/bin/sh\n{body}\n")
            os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)
            sc.pythonExec = script
            found[name] = told(lambda: numbers.map(lambda i: i).collect())
    finally:
        sc.pythonVer, sc.pythonExec = version, program
    found["after"] = numbers.map(lambda i: i).sum()
    return found


def shuffled(run):
    """An RDD behind a shuffle whose map outputs are there, and the answer that it must give."""
    pairs = run.sc.parallelize(range(20_000), 4).map(lambda i: (i % 1000, f"value {i} " + "x" * (i % 90)))
    groups = pairs.groupByKey(3).mapValues(lambda values: sum(map(len, values)))
    answer = groups.values().sum()
    return groups, answer


def damage(run, change):
    """Damages every data file of a finished shuffle, and asks for its answer again."""
    before = set(glob.glob(f"{run.local}/**/shuffle_*.data", recursive=True))
    groups, answer = shuffled(run)
    files = sorted(set(glob.glob(f"{run.local}/**/shuffle_*.data", recursive=True)) - before)
    for file in files:
        change(file)
    again = groups.values().sum()
    return {"files": len(files), "same": again == answer, "answer": answer}


def corrupt_shuffle(run):
    return damage(run, flip)


def lost_shuffle(run):
    return damage(run, os.remove)


def lost_executor(run):
    """SIGKILL for an executor by its own task, after the map stage: lost outputs are made again."""
    scratch = run.scratch
    groups, answer = shuffled(run)

    def executor_of_worker():
        """By what they share, the directory that the Worker made for the executor: a worker may have outlived its daemon."""
        here = os.getcwd()
        for process in os.listdir("/proc"):
            try:
                if os.readlink(f"/proc/{process}/cwd") == here:
                    with open(f"/proc/{process}/cmdline", "rb") as arguments:
                        if b"--executor-id" in arguments.read().split(b"\0"):
                            return int(process)
            except OSError:
                pass
        raise ProcessLookupError(f"no executor in {here}")

    def kill(part):
        if TaskContext.get().partitionId() == 0 and once(scratch, "dead-executor"):
            os.kill(executor_of_worker(), signal.SIGKILL)
        return sum(size for _, size in part),

    before = {executor["id"] for executor in run.rest.executors()}
    again = sum(groups.mapPartitions(kill).collect())

    def replaced():
        run.rest.drain()
        now = {executor["id"] for executor in run.rest.executors()}
        return len(now) == len(before) and now != before and before - now

    run.lost.extend(wait_for("a new executor", replaced))
    return {"same": again == answer}


THEMES = [
    ("user exceptions", user_exception, "none"),
    ("dead worker", dead_worker, "none"),
    ("dead daemon", dead_daemon, "none"),
    ("wrong python", wrong_python, "none"),
    ("corrupt shuffle", corrupt_shuffle, "none"),
    ("lost shuffle files", lost_shuffle, "none"),
    ("lost executor", lost_executor, "none"),
]
