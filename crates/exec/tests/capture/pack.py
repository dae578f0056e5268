"""Packs captured tasks for the tests: one line of JSON for each stage, with its binary and some of its tasks.

usage: pack.py OUT/tasks FIXTURE.jsonl.zst [CORE]; with CORE only the queries whose names start with one of these, joined by commas."""

import json
import pathlib
import subprocess
import sys

tasks, fixture = pathlib.Path(sys.argv[1]), sys.argv[2]
core = tuple(sys.argv[3].split(",")) if len(sys.argv) > 3 else ("",)
# What the decoder reads of a session.
PROPERTIES = ("spark.sql.decimalOperations.allowPrecisionLoss",)
lines = []
for stage in sorted(tasks.iterdir(), key=lambda path: path.name.rsplit(".", 1)[1]):
    name, number = stage.name.rsplit(".", 1)
    if name.startswith("setup") or not name.startswith(core):
        continue
    properties = dict(line.split("\t", 1) for line in (stage / "properties").read_text().split("\n") if "\t" in line)
    parts = sorted(stage.glob("task-*"))
    # The first and the last show how partitions differ.
    chosen = {parts[0], parts[-1]}
    # Behind the metrics of a task there are zeros, which compress well.
    lines.append(json.dumps({
        "name": name,
        "stage": int(number),
        "properties": {key: properties[key] for key in PROPERTIES if key in properties},
        "binary": (stage / "binary").read_bytes().hex(),
        "tasks": [part.read_bytes().hex() for part in sorted(chosen)],
    }) + "\n")
data = "".join(lines).encode()
packed = subprocess.run(["zstd", "-q", "-17", "--long=27", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
pathlib.Path(fixture).write_bytes(packed)
print(f"{fixture}: {len(lines)} stages, {len(data)} bytes, {len(packed)} packed")
