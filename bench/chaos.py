#!/usr/bin/env python3
"""An hour of chaos: one driver and a fleet of executors, Firesteel's and Spark's own, at mixed jobs (TPC-H, PySpark, functions of Python, writes, streams), while
executors and Python workers are killed and stopped, links cut and slowed, disks filled, shuffle files damaged, and memory squeezed. Every answer is compared with that of
plain Spark on a quiet machine. Fails if an answer is wrong, a job fails or hangs, or an executor is lost that nobody harmed.

Harms that need root (name spaces, disks and control groups of executors) are left out without it."""

import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import threading
import time

from side_by_side import JOBS, Driver, end, parse, parser, scratch

QUERIES = ["q01", "q03", "q05", "q07", "q09", "q13", "q16", "q17", "q18", "q21"]
HARMS = ["kill", "stop", "workers", "cut", "slow", "disk", "damage", "squeeze"]
NEED_ROOT = {"cut", "slow", "disk", "squeeze"}
BRIDGE, NETWORK = "fschaos", "10.77.9"
HEARTBEAT = 0.5
# After so many seconds without a heartbeat the driver gives an executor up.
GIVEN_UP = 20
CONF = [
    "spark.task.maxFailures=1000", "spark.stage.maxConsecutiveAttempts=1000", f"spark.network.timeout={GIVEN_UP}s", "spark.network.timeoutInterval=5s",
    f"spark.executor.heartbeatInterval={int(HEARTBEAT * 1000)}ms", "spark.shuffle.io.maxRetries=2", "spark.shuffle.io.retryWait=500ms",
    "spark.rpc.askTimeout=15s", "spark.sql.codegen.wholeStage=false", "spark.driver.memory=2g", "spark.python.worker.faulthandler.enabled=false",
]


def shell(*command, check=True):
    return subprocess.run([str(part) for part in command], check=check, capture_output=True, text=True)


class Place:
    """Where an executor lives: an address, a disk and a control group of its own, if we may make them."""

    def __init__(self, number, work, memory, isolated):
        self.isolated = isolated
        self.name = f"fschaos{number}"
        self.host = f"{NETWORK}.{number + 10}" if isolated else "localhost"
        self.disk = work / f"disk-{number}"
        self.disk.mkdir()
        self.group = pathlib.Path("/sys/fs/cgroup/memory") / self.name
        self.limit = (memory + 1024) << 20
        if isolated:
            shell("ip", "netns", "add", self.name)
            shell("ip", "link", "add", f"{self.name}h", "type", "veth", "peer", "name", "eth0", "netns", self.name)
            shell("ip", "link", "set", f"{self.name}h", "master", BRIDGE, "up")
            for command in (["addr", "add", f"{self.host}/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
                shell("ip", "-n", self.name, *command)
            shell("mount", "-t", "tmpfs", "-o", "size=1500m", "tmpfs", self.disk)
            self.group.mkdir(exist_ok=True)
            (self.group / "memory.limit_in_bytes").write_text(str(self.limit))

    def command(self):
        """Puts a process into the place."""
        if not self.isolated:
            return []
        # Control groups are not seen from within.
        enter = f'echo $$ > {self.group}/cgroup.procs && exec ip netns exec {self.name} "$0" "$@"'
        return ["sh", "-c", enter]

    def out_of_memory(self):
        """How often the kernel killed something here for memory."""
        if not self.isolated:
            return 0
        lines = (self.group / "memory.oom_control").read_text().split()
        return int(lines[lines.index("oom_kill") + 1]) if "oom_kill" in lines else 0

    def remove(self):
        if self.isolated:
            shell("ip", "netns", "del", self.name, check=False)
            shell("ip", "link", "del", f"{self.name}h", check=False)
            shell("umount", "-l", self.disk, check=False)
            with contextlib.suppress(OSError):
                self.group.rmdir()


@contextlib.contextmanager
def bridge(isolated):
    """A network between the driver and the places. Gives the driver's address in it, if there is one."""
    if not isolated:
        yield None
        return
    shell("ip", "link", "del", BRIDGE, check=False)
    shell("ip", "link", "add", "name", BRIDGE, "type", "bridge")
    try:
        shell("ip", "addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        shell("ip", "link", "set", BRIDGE, "up")
        yield f"{NETWORK}.1"
    finally:
        shell("ip", "link", "del", BRIDGE, check=False)


class Executor:
    """One executor in a place, and what was done to it."""

    def __init__(self, fleet, identity, side, place):
        self.identity, self.side, self.place = str(identity), side, place
        # When something was done to it, in seconds since 1970.
        self.harms, self.killed = [], False
        driver, chosen = fleet.driver, fleet.chosen
        self.directory = driver.work / f"executor-{identity}"
        self.directory.mkdir()
        environment = {**driver.environment, "SPARK_LOCAL_IP": place.host, "SPARK_LOCAL_HOSTNAME": place.host,
                       "SPARK_EXECUTOR_DIRS": str(place.disk / f"local-{identity}"), "FIRESTEEL_REPORT": str(self.directory / "report.json")}
        command = driver.command(side, self.identity, f"{chosen.memory}M", place.host)
        self.log = open(self.directory / "stderr", "w")
        self.process = subprocess.Popen([*place.command(), *command], cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)

    def harmed(self, start, end):
        """Whether something was done to it in that time."""
        return any(start <= last and first <= end for first, last in self.harms)

    def alive(self):
        return self.process.poll() is None

    def workers(self):
        """Its Python workers."""
        found, waiting = [], [self.process.pid]
        while waiting:
            children = pathlib.Path(f"/proc/{waiting.pop()}/task").glob("*/children")
            for child in children:
                with contextlib.suppress(OSError):
                    pids = [int(pid) for pid in child.read_text().split()]
                    waiting += pids
                    found += pids
        return found

    def signal(self, which):
        with contextlib.suppress(OSError):
            os.kill(self.process.pid, which)

    def end(self):
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()


class Fleet:
    """The executors of a driver. One that is gone is replaced by one of its side in its place."""

    def __init__(self, chosen, driver, places):
        self.chosen, self.driver = chosen, driver
        self.next, self.losses, self.past = 0, [], []
        self.executors = [self.launch(side, place) for side, place in zip(chosen.fleet, places, strict=True)]

    def launch(self, side, place):
        executor = Executor(self, self.next, side, place)
        self.next += 1
        return executor

    def renew(self):
        """Replaces executors that are gone, and notes those that nobody had harmed."""
        for index, executor in enumerate(self.executors):
            if executor.alive():
                continue
            code = executor.process.returncode
            # The driver gives up what it does not hear from for a while, some time after it was harmed.
            now = time.time()
            if not executor.killed and not executor.harmed(now - 3 * GIVEN_UP, now):
                self.losses.append(f"executor {executor.identity} ({executor.side}) ended with {code} (log: {executor.directory}/stderr)")
            executor.end()
            self.past.append(executor)
            subprocess.run(["rm", "-rf", executor.place.disk / f"local-{executor.identity}"], check=False)
            self.executors[index] = self.launch(executor.side, executor.place)

    def close(self):
        for executor in self.executors:
            executor.process.terminate()
        for executor in self.executors:
            with contextlib.suppress(subprocess.TimeoutExpired):
                executor.process.wait(20)
            executor.end()

    def reports(self):
        """Tasks by lane of Firesteel's executors, of those that could still say so."""
        lanes = collections.Counter()
        for executor in [*self.past, *self.executors]:
            path = executor.directory / "report.json"
            if path.exists():
                with contextlib.suppress(ValueError):
                    for lane, ends in json.loads(path.read_text())["tasks"].items():
                        lanes[lane] += sum(ends.values())
        return dict(lanes)


class Chaos(threading.Thread):
    """Does harm, one after the other, until it is told to stop."""

    def __init__(self, fleet, harms, seed, pause):
        super().__init__(daemon=True)
        self.fleet, self.harms, self.pause = fleet, harms, pause
        self.random = random.Random(seed)
        self.over = threading.Event()
        self.done = collections.Counter()
        self.failed = None

    def run(self):
        try:
            while not self.over.wait(self.random.expovariate(1 / self.pause)):
                self.fleet.renew()
                executor = self.random.choice(self.fleet.executors)
                harm = self.random.choice(self.harms)
                if executor.alive() and getattr(self, harm)(executor) is not False:
                    self.done[harm] += 1
                self.fleet.renew()
        except Exception as error:
            self.failed = error
            raise

    def stop_doing_harm(self):
        self.over.set()
        self.join()

    def for_some_time(self, executor, most):
        """Waits, for less than the driver's patience mostly."""
        seconds, start = self.random.uniform(0.5, most), time.time()
        executor.harms.append((start, start + seconds + 1))
        time.sleep(seconds)
        # It has what it missed to do at first.
        executor.harms[-1] = (start, time.time() + 2)

    def kill(self, executor):
        executor.killed = True
        executor.signal(signal.SIGKILL)
        executor.process.wait()

    def stop(self, executor):
        executor.signal(signal.SIGSTOP)
        self.for_some_time(executor, self.random.choice([3, 10, GIVEN_UP * 1.5]))
        executor.signal(signal.SIGCONT)

    def workers(self, executor):
        workers = executor.workers()
        if not workers:
            return False
        with contextlib.suppress(OSError):
            os.kill(self.random.choice(workers), signal.SIGKILL)

    def cut(self, executor):
        link = f"{executor.place.name}h"
        shell("ip", "link", "set", link, "down")
        self.for_some_time(executor, self.random.choice([2, 8, GIVEN_UP * 1.2]))
        shell("ip", "link", "set", link, "up")

    def slow(self, executor):
        link = f"{executor.place.name}h"
        shell("tc", "qdisc", "replace", "dev", link, "root", "tbf", "rate", "2mbit", "burst", "32kbit", "latency", "400ms")
        self.for_some_time(executor, 15)
        shell("tc", "qdisc", "del", "dev", link, "root", check=False)

    def disk(self, executor):
        full = executor.place.disk / "full"
        shell("dd", "if=/dev/zero", f"of={full}", "bs=1M", check=False)
        self.for_some_time(executor, 10)
        full.unlink(missing_ok=True)

    def damage(self, executor):
        """Changes or cuts off bytes of a map output. Of cached partitions Spark has no checksums."""
        files = [*executor.place.disk.glob("local-*/**/shuffle_*.data"), *executor.place.disk.glob("local-*/**/shuffle_*.columns")]
        if not files:
            return False
        with contextlib.suppress(OSError):
            size = (path := self.random.choice(files)).stat().st_size
            if not size:
                return False
            with open(path, "r+b") as file:
                if self.random.random() < 0.3:
                    file.truncate(self.random.randrange(size))
                else:
                    file.seek(self.random.randrange(size))
                    file.write(self.random.randbytes(4))

    def squeeze(self, executor):
        """Takes memory that an executor has no pages in, and its cached pages."""
        limit = executor.place.group / "memory.limit_in_bytes"
        used = int((executor.place.group / "memory.usage_in_bytes").read_text())
        with contextlib.suppress(OSError):
            limit.write_text(str(min(executor.place.limit, used + (128 << 20))))
        self.for_some_time(executor, 5)
        limit.write_text(str(executor.place.limit))


def gaps(fleet, heard):
    """By side, the seconds between heartbeats of executors that nobody harmed meanwhile."""
    found = collections.defaultdict(list)
    for executor in [*fleet.past, *fleet.executors]:
        times = heard.get(executor.identity, [])
        for last, at in zip(times, times[1:]):
            if not executor.harmed(last, at):
                found[executor.side].append(at - last)
    return found


def jobs(seconds):
    """Commands for the driver by name."""
    named = {name: {"do": "query", "query": (JOBS / "tpch" / f"{name}.sql").read_text()} for name in QUERIES}
    named["delegated"] = {"do": "query", "query": "SELECT to_char(l_quantity, '9999.99') AS q, count(*) AS n FROM lineitem GROUP BY 1"}
    named["pairs"] = {"do": "py_pairs", "pairs": 2_000_000}
    named["exchange"] = {"do": "exchange"}
    for function in ["number", "text in workers", "arrow number", "series"]:
        named[f"function {function}"] = {"do": "py_functions", "rows": 500_000, "function": function}
    named["groups"] = {"do": "py_groups", "rows": 200_000, "groups": 300, "function": "frames"}
    for name in ["writes", "cached", "stream"]:
        named[name] = {"do": f"chaos_{name}"}
    return {name: {**command, "seconds": seconds} for name, command in named.items()}


def answer(found):
    """What is the same each time."""
    return {key: value for key, value in found.items() if key != "seconds"} if isinstance(found, dict) else found


def expected(chosen, work, tables, todo):
    """The answers of one plain executor that nobody harms."""
    driver = Driver(chosen, work, "quiet", conf=CONF)
    executor = None
    try:
        executor, _ = driver.launch("plain", 0, f"{chosen.memory}M")
        driver.ask(do="tables", directory=str(tables))
        return {name: answer(driver.ask(**command)) for name, command in todo.items()}
    finally:
        driver.close()
        if executor:
            end(executor)


def rounds(chosen, driver, todo, answers, over):
    """Asks jobs in random order until the time is over. Gives how many were right, and what was wrong."""
    order, right, wrong = random.Random(chosen.seed), collections.Counter(), []
    while time.monotonic() < over:
        for name in order.sample(sorted(todo), len(todo)):
            if time.monotonic() > over:
                break
            started = time.monotonic()
            try:
                found = answer(driver.ask(**todo[name]))
            except RuntimeError as error:
                wrong.append(f"{name}: {str(error)[:2000]}")
                if driver.process.poll() is not None:
                    return right, wrong
                continue
            if found == answers[name]:
                right[name] += 1
            else:
                wrong.append(f"{name}: another answer: {str(found)[:500]} instead of {str(answers[name])[:500]}")
            print(f"{name}: {time.monotonic() - started:.1f} s{'' if found == answers[name] else ' WRONG'}", file=sys.stderr, flush=True)
    return right, wrong


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--minutes", type=float, default=60, help="of chaos (default: %(default)s)")
    arguments.add_argument("--fleet", nargs="+", default=["firesteel", "firesteel", "plain"], choices=["firesteel", "plain"])
    arguments.add_argument("--harm", nargs="+", default=HARMS, choices=HARMS, help="what is done (default: all of it)")
    arguments.add_argument("--pause", type=float, default=6, help="seconds between harms, on average (default: %(default)s)")
    arguments.add_argument("--memory", type=int, default=1024, help="MB of each executor (default: %(default)s)")
    arguments.add_argument("--scale", default="1", help="of TPC-H's tables (default: %(default)s)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--limit", type=int, default=900, help="seconds after which a job hangs (default: %(default)s)")
    chosen = parse(arguments)
    chosen.isolated = os.geteuid() == 0
    if not chosen.isolated:
        chosen.harm = [harm for harm in chosen.harm if harm not in NEED_ROOT]
        print(f"without root only {', '.join(chosen.harm)}", file=sys.stderr)
    return chosen


def main():
    chosen = options()
    made = subprocess.run([chosen.python, JOBS / "make_tpch.py", chosen.scale, "8"], check=True, stdout=subprocess.PIPE, text=True)
    tables, todo = pathlib.Path(made.stdout.strip()), jobs(chosen.limit)
    with scratch() as work, contextlib.ExitStack() as stack:
        answers = expected(chosen, work, tables, todo)
        address = stack.enter_context(bridge(chosen.isolated))
        places = []
        for number in range(len(chosen.fleet)):
            places.append(Place(number, work, chosen.memory, chosen.isolated))
            stack.callback(places[-1].remove)
        driver = Driver(chosen, work, "chaos", conf=CONF, address=address)
        stack.callback(driver.close)
        fleet = Fleet(chosen, driver, places)
        stack.callback(fleet.close)
        driver.ask(do="wait", ids=[executor.identity for executor in fleet.executors], seconds=60)
        driver.ask(do="tables", directory=str(tables))
        driver.ask(do="heartbeats_begin")
        chaos = Chaos(fleet, chosen.harm, chosen.seed, chosen.pause)
        chaos.start()
        right, wrong = rounds(chosen, driver, todo, answers, time.monotonic() + chosen.minutes * 60)
        chaos.stop_doing_harm()
        heard = driver.ask(do="heartbeats")
        for side, found in sorted(gaps(fleet, heard).items()):
            found.sort()
            most = found[int(len(found) * 0.99)]
            print(f"heartbeats of {side}: {len(found)}, gaps p50 {statistics.median(found):.2f} s, p99 {most:.2f} s, max {found[-1]:.2f} s")
        fleet.close()
        print(f"Spark {chosen.spark}, {chosen.minutes:g} minutes, {' '.join(chosen.fleet)}, seed {chosen.seed}")
        print(f"harm: {dict(chaos.done)}; killed for memory: {[place.out_of_memory() for place in places]}")
        print(f"right answers: {sum(right.values())}, to {len(right)} jobs; tasks of those of Firesteel's executors that were not killed: {fleet.reports()}")
        problems = [*wrong, *fleet.losses, *([f"chaos ended: {chaos.failed}"] if chaos.failed else [])]
        for problem in problems:
            print(f"PROBLEM {problem}")
        if problems:
            raise SystemExit(1)


main()
