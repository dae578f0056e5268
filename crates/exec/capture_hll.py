"""Writes `src/aggregate/hll.txt`: the tables of HyperLogLog++ as Spark has them, of each precision the raw estimates and their biases. Fails if versions differ.

usage: python capture_hll.py VERSION... (their environments are in the cache directory)"""

import os
import pathlib
import subprocess
import sys

PROGRAM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
helper = spark._jvm.org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper
for precision, (estimates, biases) in enumerate(zip(helper.RAW_ESTIMATE_DATA(), helper.BIAS_DATA()), 4):
    for name, numbers in ("estimates", estimates), ("biases", biases):
        print("TABLE", precision, name, *(repr(number).removesuffix(".0") for number in numbers))
spark.stop()
"""


def main(*versions):
    cache = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or pathlib.Path.home() / ".cache" / "firesteel")
    found = set()
    for version in versions:
        python = cache / f"spark-{version}" / "bin" / "python"
        said = subprocess.run([python, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
        found.add("".join(line.removeprefix("TABLE ") + "\n" for line in said.splitlines() if line.startswith("TABLE ")))
    (tables,) = found
    (pathlib.Path(__file__).parent / "src" / "aggregate" / "hll.txt").write_text(tables)


main(*sys.argv[1:])
