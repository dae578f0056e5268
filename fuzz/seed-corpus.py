#!/usr/bin/env python3
"""Fills fuzz/corpus from the recorded frames of real drivers and executors, and from the compiled classes of a small jar."""
import hashlib
import io
import json
import pathlib
import struct
import subprocess
import zipfile

fuzz = pathlib.Path(__file__).resolve().parent
header = bytes.fromhex("aced0005")


def seed(target, data):
    directory = fuzz / "corpus" / target
    directory.mkdir(parents=True, exist_ok=True)
    (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def utf8(text):
    return struct.pack(">BH", 1, len(text)) + text.encode()


def class_file():
    """class a.B implements java.io.Serializable { private long c; }"""
    pool = [
        utf8("a/B"), b"\x07\0\1", utf8("java/lang/Object"), b"\x07\0\3",
        utf8("java/io/Serializable"), b"\x07\0\5", utf8("c"), utf8("J"),
    ]
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 61, len(pool) + 1)
    body = struct.pack(">HHHHH", 0x21, 2, 4, 1, 6) + struct.pack(">HHHHH", 1, 2, 7, 8, 0)
    return head + b"".join(pool) + body + struct.pack(">HH", 0, 0)


for vectors in sorted((fuzz.parent / "tests/fixtures/vectors").glob("*.jsonl")):
    for line in vectors.read_text().splitlines():
        frame = bytes.fromhex(json.loads(line)["hex"])
        at = frame.find(header)
        if at >= 0:
            # Large frames teach the fuzzer nothing that small ones do not.
            stream = frame[at:]
            if len(stream) <= 16384:
                seed("java_graph", stream)
                seed("java_serde", stream)
                seed("messages", stream)
                seed("frame_json", frame)
                # Behind the length, the type and, in a request, the id: the envelope.
                seed("envelope", frame[21:] if frame[8] == 3 else frame[13:])

for vectors in sorted((fuzz.parent / "tests/fixtures/wire").glob("*.jsonl")):
    for line in vectors.read_text().splitlines():
        sample = json.loads(line)
        data = bytes.fromhex(sample["hex"])
        if sample["name"] == "TaskDescription":
            seed("task_description", data)
        elif data.startswith(header):
            seed("messages", data)
            if sample["name"].startswith("RemoveBlock/"):
                seed("block_id", sample["name"].partition("/")[2].encode())

for fixture in sorted((fuzz.parent / "crates/sql/tests/fixtures").glob("*.jsonl.zst")):
    unpacked = subprocess.run(["zstd", "-dcq", "--long=27", fixture], stdout=subprocess.PIPE, check=True).stdout
    for line in unpacked.decode().splitlines():
        binary = json.loads(line)["binary"]
        # The smallest stages have most of the classes.
        if len(binary) <= 48000:
            seed("sql_stage", bytes.fromhex(binary))

seed("class_file", class_file())
for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w", method) as z:
        z.writestr("a/B.class", class_file())
        z.writestr("spark-version-info.properties", "version=4.3.0\n")
    seed("jar", jar.getvalue())
