#!/usr/bin/env python3
"""TPC-DS: Firesteel next to plain Spark and to Apache DataFusion Comet (Spark 3.5 only), query by query, in one run.

Tables and queries are those of tests/jobs/make_tpcds.py, sides those of queries.py.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both); fetches what else it needs."""

import pathlib
import subprocess
import sys

import queries
from side_by_side import JOBS


def main():
    chosen = queries.options(__doc__)
    made = subprocess.run([sys.executable, JOBS / "make_tpcds.py", chosen.scale], check=True, stdout=subprocess.PIPE, text=True)
    directory = pathlib.Path(made.stdout.strip())
    queries.compare(chosen, "TPC-DS", str(directory / "tables"), (directory / "queries").iterdir())


main()
