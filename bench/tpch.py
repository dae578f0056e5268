#!/usr/bin/env python3
"""TPC-H: Firesteel next to plain Spark, to Apache DataFusion Comet (Spark 3.5 only) and to DataFusion alone, query by query, in one run.

Sides are those of queries.py, and `datafusion`: DataFusion's Python package alone in one process, the ceiling.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both); fetches what else it needs."""

import json
import re
import subprocess
import sys
import venv

import queries
from side_by_side import CACHE, JOBS

DATAFUSION = "datafusion==55.0.0"

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


def datafusion_python():
    home = CACHE / DATAFUSION.replace("==", "-")
    if not (home / "ready").exists():
        print(f"installing {DATAFUSION}", file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", DATAFUSION], check=True,
                       stdout=sys.stderr)
        (home / "ready").touch()
    return home / "bin" / "python"


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

    def used(self):
        return [queries.processor_seconds(self.process.pid)]

    def report(self):
        return None


def main():
    chosen = queries.options(__doc__, ["datafusion"])
    made = subprocess.run([chosen.python, JOBS / "make_tpch.py", chosen.scale, "8"], check=True, stdout=subprocess.PIPE, text=True)
    tables = made.stdout.strip()
    queries.compare(chosen, "TPC-H", tables, (JOBS / "tpch").glob("q*.sql"), lambda _: Alone(chosen, tables))


main()
