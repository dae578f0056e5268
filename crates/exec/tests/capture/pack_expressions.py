"""Packs what expressions.py captured: one line of JSON for each table of inputs and for each stage, with its binary and its results as Parquet.

usage: pack_expressions.py OUT FIXTURE.jsonl.zst"""

import json
import pathlib
import subprocess
import sys

out, fixture = pathlib.Path(sys.argv[1]), sys.argv[2]


def parquet(directory):
    (file,) = directory.glob("part-*.parquet")
    return file.read_bytes().hex()


lines = [json.dumps({"table": name, "parquet": parquet(out / "in" / name)}) for name in ["wild", "safe"]]
stages = {path.name.rsplit(".", 1)[0]: path for path in sorted((out / "tasks").iterdir())}
for label, entry in json.loads((out / "manifest.json").read_text()).items():
    if label not in stages:
        continue
    properties = dict(line.split("\t", 1) for line in (stages[label] / "properties").read_text().split("\n") if "\t" in line)
    name = "spark.sql.decimalOperations.allowPrecisionLoss"
    lines.append(json.dumps(entry | {
        "label": label,
        "properties": {name: properties[name]} if name in properties else {},
        "binary": (stages[label] / "binary").read_bytes().hex(),
        "results": None if entry["failed"] else parquet(out / "results" / label),
    }))
data = "".join(line + "\n" for line in lines).encode()
packed = subprocess.run(["zstd", "-q", "-17", "--long=27", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
pathlib.Path(fixture).write_bytes(packed)
print(f"{fixture}: {len(lines)} lines, {len(data)} bytes, {len(packed)} packed")
