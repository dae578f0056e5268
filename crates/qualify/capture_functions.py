"""Writes `src/functions.txt`: the functions of Spark SQL whose classes have other names, as each version's own registry says.

usage: python capture_functions.py VERSION... (their environments are in the cache directory)"""

import os
import pathlib
import subprocess
import sys

PROGRAM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
    if row[0][0].isalpha():
        for line in spark.sql(f"DESCRIBE FUNCTION {row[0]}").collect():
            if line[0].startswith("Class: org.apache.spark.sql.catalyst.expressions."):
                print("FUNCTION", row[0], line[0].split(".")[-1])
spark.stop()
"""


def main(*versions):
    cache = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or pathlib.Path.home() / ".cache" / "firesteel")
    found = set()
    for version in versions:
        python = cache / f"spark-{version}" / "bin" / "python"
        said = subprocess.run([python, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
        for line in said.splitlines():
            if line.startswith("FUNCTION "):
                _, name, of = line.split()
                if name.replace("_", "") != of.lower():
                    found.add(f"{name} {of}\n")
    (pathlib.Path(__file__).parent / "src" / "functions.txt").write_text("".join(sorted(found)))


main(*sys.argv[1:])
