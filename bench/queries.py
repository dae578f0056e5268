"""What the benchmarks of queries share: each query on each side in one run, seconds query by query, processor seconds, tasks by lane.

* `plain`: Spark's own executor, Spark's default settings;
* `firesteel`: the same driver settings but `spark.sql.codegen.wholeStage=false`;
* `rows`: the same with `spark.firesteel.shuffle.format=rows`;
* `default`: Firesteel with Spark's default settings;
* `jar`: the same with the jar by which generated code carries its operators;
* `comet`: Spark's own executor with Comet's newest release of Maven Central, half of the memory as heap and half off heap.

One executor of two cores and the same total memory on each side. Sides take turns; the first round is not counted, unless `--warm-up 0` says that there is
none, for scales at which what a JVM compiles first no longer matters. Answers of all sides of Spark must be the same."""

import json
import os
import pathlib
import re
import statistics
import sys
import time
import urllib.request

from side_by_side import CACHE, Driver, carried, end, parse, parser, scratch, show_progress

COMET = "https://repo1.maven.org/maven2/org/apache/datafusion"
SIDES = ["plain", "firesteel", "rows", "default", "jar", "comet"]


def options(description, more_sides=()):
    """What the command line says: the scale, the sides and which of the queries."""
    arguments = parser(description)
    arguments.add_argument("--scale", default="1", help="scale of the tables (default: %(default)s)")
    arguments.add_argument("--memory", type=int, default=4096, help="MB of each side (default: %(default)s)")
    arguments.add_argument("--sides", nargs="+", default=["plain", "firesteel"], choices=[*SIDES, *more_sides])
    arguments.add_argument("--queries", nargs="+", help="such as q01 q06 (default: all)")
    arguments.add_argument("--warm-up", type=int, default=1, help="rounds that are not counted (default: %(default)s)")
    chosen = parse(arguments)
    if "comet" in chosen.sides and not chosen.spark.startswith("3.5"):
        arguments.error("Comet's newest release is for Spark 3.5: use --spark 3.5.9")
    return chosen


def fetch(url, path):
    """Downloads a file into the cache, once."""
    if not path.exists():
        print(f"fetching {path.name}", file=sys.stderr)
        unfinished = path.with_suffix(".unfinished")
        urllib.request.urlretrieve(url, unfinished)
        unfinished.rename(path)
    return path


def comet_jar():
    """The newest release of Comet for Spark 3.5."""
    name = "comet-spark-spark3.5_2.12"
    with urllib.request.urlopen(f"{COMET}/{name}/maven-metadata.xml") as answer:
        version = re.search("<release>(.*?)</release>", answer.read().decode())[1]
    return fetch(f"{COMET}/{name}/{version}/{name}-{version}.jar", CACHE / f"{name}-{version}.jar")


def processor_seconds(pid):
    """Of a process and all that it has started, as far as they live or were waited for."""
    children, used = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(map(int, fields[11:15]))
    total, waiting = 0, [pid]
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0)
        waiting += children.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


class Spark:
    """A driver with one executor."""

    def __init__(self, chosen, work, side, tables):
        self.side, self.work = side, work
        # Broadcast tables are made in the driver.
        conf, class_path, heap = ["spark.driver.memory=2g"], "", chosen.memory
        if side in ("firesteel", "rows") or (side == "plain" and chosen.before):
            conf += ["spark.sql.codegen.wholeStage=false"]
        if side == "rows":
            conf += ["spark.firesteel.shuffle.format=rows"]
        if side == "jar":
            conf += carried(chosen, "firesteel")
        if side == "comet":
            jar = comet_jar()
            heap = chosen.memory // 2
            class_path = f"{jar}:"
            # What Comet's installation guide says.
            conf += ["spark.plugins=org.apache.spark.CometPlugin", f"spark.driver.extraClassPath={jar}",
                     "spark.shuffle.manager=org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
                     "spark.memory.offHeap.enabled=true", f"spark.memory.offHeap.size={heap}m"]
        self.driver = Driver(chosen, work, f"queries-{side}", conf=conf)
        self.executor, _ = self.driver.launch("firesteel" if side in ("rows", "default", "jar") else side, 0, f"{heap}M", class_path)
        self.driver.ask(do="tables", directory=tables)

    def run(self, query):
        return self.driver.ask(do="query", query=query)

    def used(self):
        """Processor seconds of driver and executor so far."""
        return [processor_seconds(process.pid) for process in (self.driver.process, self.executor)]

    def close(self):
        self.driver.close()
        end(self.executor)

    def report(self):
        """Tasks by lane of Firesteel's executor, and why some were the JVM's."""
        path = self.work / f"queries-{self.side}" / "executor-0" / "report.json"
        if not path.exists():
            return None
        found = json.loads(path.read_text())
        lanes = {lane: sum(ends.values()) for lane, ends in found["tasks"].items() if sum(ends.values())}
        return {**lanes, "delegated": found["delegated"], "bailed out": found["bailed_out"]}


def measure(chosen, make, queries):
    """Seconds of each query on each side, one for each counted round; and what else is known of each side. `make` starts one."""
    samples = {side: {name: [] for name in queries} for side in chosen.sides}
    digests, sides, before = {}, {}, {}
    try:
        for side in chosen.sides:
            sides[side] = make(side)
        for round_number in range(1 - chosen.warm_up, chosen.runs + 1):
            if round_number == 1:
                before = {name: side.used() for name, side in sides.items()}
            for place, (name, query) in enumerate(queries.items()):
                # Whoever comes first finds colder caches: the order changes from query to query and from round to round.
                order = chosen.sides[:: 1 if (round_number + place) % 2 == 0 else -1]
                for side in order:
                    found = sides[side].run(query)
                    if "error" in found:
                        print(f"{side} {name}: {found['error']}", file=sys.stderr)
                        continue
                    print(f"{name} {side}: {found['seconds']:.2f} s", file=sys.stderr, flush=True)
                    if round_number > 0:
                        samples[side][name].append(found["seconds"])
                    if "digest" in found and digests.setdefault(name, found["digest"]) != found["digest"]:
                        raise RuntimeError(f"{name}: the answer of {side} differs")
            show_progress("queries", round_number, chosen.runs)
        used = {name: [after - first for after, first in zip(side.used(), before[name])] for name, side in sides.items()}
    finally:
        for side in sides.values():
            side.close()
    lanes = {name: side.report() for name, side in sides.items()}
    return samples, used, {name: found for name, found in lanes.items() if found}


def table(chosen, title, samples, names):
    """Medians in seconds, and how many times faster than the first side the others are."""
    first = chosen.sides[0]
    print(f"Spark {chosen.spark}, {title} scale {chosen.scale}, {chosen.memory} MB on each side, medians of {chosen.runs}")
    others = chosen.sides[1:]
    print(f"{'':7}" + "".join(f"{side:>12}" for side in chosen.sides) + "".join(f"{first + '/' + side:>18}" for side in others))
    totals = dict.fromkeys(chosen.sides, 0.0)
    for name in names:
        middle = {side: statistics.median(samples[side][name]) if samples[side][name] else None for side in chosen.sides}
        for side, seconds in middle.items():
            totals[side] += seconds or float("nan")
        line(name, middle, first, others)
    line("total", totals, first, others)


def line(name, seconds, first, others):
    shown = "".join(f"{'-' if value is None else f'{value:.2f} s':>12}" for value in seconds.values())
    ratios = (None if None in (seconds[first], seconds[side]) else seconds[first] / seconds[side] for side in others)
    print(f"{name:7}{shown}" + "".join(f"{'-' if ratio is None else f'{ratio:.2f}':>18}" for ratio in ratios))


def compare(chosen, title, tables, paths, alone=None):
    """The benchmark, over the texts of queries in files: prints the table, processor seconds and lanes. `alone` starts a side that is not Spark's."""
    queries = {path.stem: path.read_text() for path in sorted(paths) if chosen.queries is None or path.stem in chosen.queries}
    started = time.monotonic()
    with scratch() as work:
        make = lambda side: Spark(chosen, work, side, tables) if side in SIDES else alone(side)
        samples, used, lanes = measure(chosen, make, queries)
    table(chosen, title, samples, list(queries))
    for side, seconds in used.items():
        if len(seconds) == 2:
            print(f"processor seconds of {side}: driver {seconds[0]:.0f}, executor {seconds[1]:.0f}")
    for side, found in lanes.items():
        print(f"tasks of {side} by lane: {found}")
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    if chosen.json:
        chosen.json.write_text(json.dumps({"spark": chosen.spark, "scale": chosen.scale, "samples": samples,
                                           "processor_seconds": used, "lanes": lanes}, indent=1))
