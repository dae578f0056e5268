#!/usr/bin/env python3
"""TPC-H: Firesteel next to plain Spark, to Apache DataFusion Comet (Spark 3.5 only) and to DataFusion alone, query by query, in one run.

* `plain`: Spark's own executor, Spark's default settings;
* `firesteel`: the same driver settings but `spark.sql.codegen.wholeStage=false`;
* `default`: Firesteel with Spark's default settings;
* `comet`: Spark's own executor with Comet's newest release of Maven Central, half of the memory as heap and half off heap;
* `datafusion`: DataFusion's Python package alone in one process: the ceiling.

One executor of two cores and the same total memory on each side. Sides take turns; the first round is not counted, unless `--warm-up 0` says that there is
none, for scales at which what a JVM compiles first no longer matters. Answers of all sides of Spark must be the same.
Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both); fetches what else it needs."""

import json
import re
import statistics
import subprocess
import sys
import time
import urllib.request
import venv

from side_by_side import CACHE, JOBS, Driver, end, parse, parser, scratch, show_progress

MAVEN = "https://repo1.maven.org/maven2/org/apache/datafusion"
DATAFUSION = "datafusion==55.0.0"
QUERIES = sorted((JOBS / "tpch").glob("q*.sql"))

ALONE = """
import json, pathlib, sys, time
import datafusion
tables, memory = pathlib.Path(sys.argv[1]), int(sys.argv[2])
runtime = datafusion.RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(memory)
context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(2), runtime)
for table in tables.iterdir():
    context.register_parquet(table.name, str(table))
for line in sys.stdin:
    found = []
    for query in json.loads(line):
        started = time.monotonic()
        try:
            rows = sum(batch.num_rows for batch in context.sql(query).collect())
            found.append({"seconds": time.monotonic() - started, "rows": rows})
        except Exception as error:
            found.append({"error": str(error)[:200]})
    print(json.dumps(found), flush=True)
"""


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--scale", default="1", help="scale of TPC-H (default: %(default)s)")
    arguments.add_argument("--memory", type=int, default=4096, help="MB of each side (default: %(default)s)")
    arguments.add_argument("--sides", nargs="+", default=["plain", "firesteel"],
                           choices=["plain", "firesteel", "default", "comet", "datafusion"])
    arguments.add_argument("--queries", nargs="+", default=[path.stem for path in QUERIES], help="such as q01 q06 (default: all)")
    arguments.add_argument("--warm-up", type=int, default=1, help="rounds that are not counted (default: %(default)s)")
    chosen = parse(arguments)
    if "comet" in chosen.sides and not chosen.spark.startswith("3.5"):
        arguments.error("Comet's newest release is for Spark 3.5: use --spark 3.5.9")
    return chosen


def comet_jar():
    """The newest release of Comet for Spark 3.5."""
    name = "comet-spark-spark3.5_2.12"
    with urllib.request.urlopen(f"{MAVEN}/{name}/maven-metadata.xml") as answer:
        version = re.search("<release>(.*?)</release>", answer.read().decode())[1]
    jar = CACHE / f"{name}-{version}.jar"
    if not jar.exists():
        print(f"fetching Comet {version}", file=sys.stderr)
        unfinished = jar.with_suffix(".unfinished")
        urllib.request.urlretrieve(f"{MAVEN}/{name}/{version}/{jar.name}", unfinished)
        unfinished.rename(jar)
    return jar


def datafusion_python():
    home = CACHE / DATAFUSION.replace("==", "-")
    if not (home / "ready").exists():
        print(f"installing {DATAFUSION}", file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", DATAFUSION], check=True,
                       stdout=sys.stderr)
        (home / "ready").touch()
    return home / "bin" / "python"


class Spark:
    """A driver with one executor."""

    def __init__(self, chosen, work, side, tables):
        self.side, self.work = side, work
        conf, class_path, heap = [], "", chosen.memory
        if side == "firesteel" or (side == "plain" and chosen.before):
            conf = ["spark.sql.codegen.wholeStage=false"]
        if side == "comet":
            jar = comet_jar()
            heap = chosen.memory // 2
            class_path = f"{jar}:"
            # What Comet's installation guide says.
            conf = ["spark.plugins=org.apache.spark.CometPlugin", f"spark.driver.extraClassPath={jar}",
                    "spark.shuffle.manager=org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
                    "spark.memory.offHeap.enabled=true", f"spark.memory.offHeap.size={heap}m"]
        self.driver = Driver(chosen, work, f"tpch-{side}", conf=conf)
        self.executor, _ = self.driver.launch("firesteel" if side == "default" else side, 0, f"{heap}M", class_path)
        self.driver.ask(do="tables", directory=tables)

    def run(self, query):
        return self.driver.ask(do="sql", queries=[query])[0]

    def close(self):
        self.driver.close()
        end(self.executor)

    def lanes(self):
        """Tasks by lane, of Firesteel's executor, and why some were the JVM's."""
        path = self.work / f"tpch-{self.side}" / "executor-0" / "report.json"
        if not path.exists():
            return None
        found = json.loads(path.read_text())
        lanes = {lane: sum(ends.values()) for lane, ends in found["tasks"].items() if sum(ends.values())}
        return {**lanes, "delegated": found["delegated"], "bailed out": found["bailed_out"]}


class Alone:
    """DataFusion without Spark."""

    def __init__(self, chosen, tables):
        command = [datafusion_python(), "-c", ALONE, tables, str(chosen.memory << 20)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, query):
        # DataFusion has no function of that name.
        query = re.sub(r"\byear\(", "date_part('year', ", query)
        self.process.stdin.write(json.dumps([query]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def lanes(self):
        return None


def measure(chosen, work, tables, queries):
    """Seconds of each query on each side, one for each counted round."""
    samples = {side: {name: [] for name in queries} for side in chosen.sides}
    digests = {}
    sides = {}
    try:
        for side in chosen.sides:
            sides[side] = Alone(chosen, tables) if side == "datafusion" else Spark(chosen, work, side, tables)
        for round_number in range(1 - chosen.warm_up, chosen.runs + 1):
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
            show_progress("TPC-H", round_number, chosen.runs)
    finally:
        for side in sides.values():
            side.close()
    lanes = {name: side.lanes() for name, side in sides.items()}
    return samples, {name: found for name, found in lanes.items() if found}


def table(chosen, samples):
    """Medians in seconds, and how many times faster than the first side the others are."""
    first = chosen.sides[0]
    print(f"Spark {chosen.spark}, TPC-H scale {chosen.scale}, {chosen.memory} MB on each side, medians of {chosen.runs}")
    others = chosen.sides[1:]
    print(f"{'':7}" + "".join(f"{side:>12}" for side in chosen.sides) + "".join(f"{first + '/' + side:>18}" for side in others))
    totals = dict.fromkeys(chosen.sides, 0.0)
    for name in chosen.queries:
        middle = {side: statistics.median(samples[side][name]) if samples[side][name] else None for side in chosen.sides}
        for side, seconds in middle.items():
            totals[side] += seconds or float("nan")
        line(name, middle, first, others)
    line("total", totals, first, others)


def line(name, seconds, first, others):
    shown = "".join(f"{'-' if value is None else f'{value:.2f} s':>12}" for value in seconds.values())
    ratios = (None if None in (seconds[first], seconds[side]) else seconds[first] / seconds[side] for side in others)
    print(f"{name:7}{shown}" + "".join(f"{'-' if ratio is None else f'{ratio:.2f}':>18}" for ratio in ratios))


def main():
    chosen = options()
    made = subprocess.run([chosen.python, JOBS / "make_tpch.py", chosen.scale, "8"], check=True, stdout=subprocess.PIPE, text=True)
    queries = {path.stem: path.read_text() for path in QUERIES if path.stem in chosen.queries}
    started = time.monotonic()
    with scratch() as work:
        samples, lanes = measure(chosen, work, made.stdout.strip(), queries)
    table(chosen, samples)
    for side, found in lanes.items():
        print(f"tasks of {side} by lane: {found}")
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    if chosen.json:
        chosen.json.write_text(json.dumps({"spark": chosen.spark, "scale": chosen.scale, "samples": samples, "lanes": lanes}, indent=1))


main()
