#!/usr/bin/env python3
"""Fills fuzz/corpus so that each target starts with valid input: from recorded frames, tasks, files and rows of real drivers and executors
in this repository's tests, and with what is made here where nothing was recorded."""
import base64
import decimal
import gzip
import hashlib
import io
import json
import pathlib
import pickle
import struct
import subprocess
import tarfile
import zipfile
import zlib

fuzz = pathlib.Path(__file__).resolve().parent
tests = fuzz.parent / "tests/fixtures"
sql = fuzz.parent / "crates/exec/tests"
header = bytes.fromhex("aced0005")
zstd_magic = bytes.fromhex("28b52ffd")

# Large inputs teach the fuzzer nothing that small ones do not.
LARGEST = 16384


# Arrow streams that `pyarrow` wrote, deflated: two batches each of numbers, texts, bytes, timestamps, decimals, lists, and of two columns.
PYTHON_STREAMS = [
    "eNqtTskNwzAMoxXnQOFHHkGRR4foANkla3SELl2olKI6aV59lIBMyaJpqqo+AIwwXFDQocXAjkiZMzgNPHOcvGZN/mbiXYfeVWN4JDG+hdYgrPVuPoXVu48Jjfm9PsPPUHCNBMVd0WTMNd+WceYmR8Yldg12yKFPwfHnly4d5o+urfPL+V/55Md8552cdHW/xfN8xm8tAxfK",
    "eNqVTzsOwjAMddq0VFWGDBXqaG7AyMgBuAMqUhADUAQRn5tw22BHBqoshSc5L3aeHb8QQjgBgAVGDQZKKKCiG0FpyoGyik4tJ5UpmtjTUK2ESVRZmaEK5la0jIxiPedcf2r0bXjKHIaBqfxs4jTIdZyxhDdqyk3cgndbyc45fDG8K+FK2Aq3wrNEmyd9RfKupKfr0Lu7x36Lh/7s0O+6I/qb218dbh7eXf70txjxl/3ozyT+MNFmSd9w7lA/Zo99se4FEpcvEg==",
    "eNqVTkkOwjAMnCwtUZVDDhXKsU/gIfyhX+DIU/htGEcOVBYSMJI93j2ttXYDUCBYkDFjQmJEuMgczBJ9VM8ybe07K2szTn2q6A0XhavOCjxtv0geXzW+bQ+9I8g46+fcryHEfmPDwMI8dxWi7aqaA944xk45KRflavojDqY+mf6w+5/66xf9/kf92eiHmfVmz+MzRLfwEwpCFro=",
    "eNqNTzkOwjAQHB8JluXCRYRcpOAJeQAdX4Car1DyazNrNgJZKGSk3dnLo3GttT4AZAgiEkYMCKwI49mDXWD2mjlmTO3NxNmIQ7vKqmGi8Ky3Asu4L6Ij6m81mcreMW7XC2ijPlVXkHBUJ6mpw3kU0gkrIvvUXInXs/7B4QP7VRvloFy6nevuBvzGOt/rt/zxa3f6zd3Odnd2w6fwC4krFw8=",
    "eNqVTzkOwjAQHNs5rMhIUWRFFBRUiDIlBX/hG0h8gO/xIjPrLIfcYEbanb083k0ppSuAEYIBAR1aeEaEaZiDmadv1LNMi/lNZK1Dn6dG1TC98E5nBZZ2WUQnZBXROdAmGr9Pd9UTBMy6QciqcA22pBNeGJivOrLjWXd3+MB+xUbZKy9FzxVz7bs73zbTI6IStXccf9xhK+/YFz1bzNk/9hZ+AkKiGCA=",
    "eNqNUjsOwjAMfUk/VFWGDhViZOzYkY2jMHUDJkYOxHEYOARHYAsvwYXUUgFLjv3y/ImteO/9FUCDIDUcShSo6FFMTgyiimcuJ6/FXphL5Fr6q4QLtSx11wO3UD+JWydxHXVBHfbDYTieeJ9HrkHLXiU5F9HrbSZrknyoXDA+5JSRsWBLf6fXSqzDUiZzsSqyPL55g1FqYhenDLOfZY4MHykT34itxDZiV4pfv/u/pMdUelUH0jNTdazCRtUpEt8matSbp3mP7b976n7syf65J6f2BIVHvlO8xuOe7Mw+5sR+4dL9+PhngSdwfSwT",
    "eNqVUjsOwjAMfQktIJShA0IMDGFjhBswMnIDVKQgBqASRHxuxFE4ApdBwYlcUSJQwVJiP9f2c57qnHNXABm8daDQRIo2RWQiIQxCbboTvgFJZ8rxnfqpMPX9fc6BaxYTj5OQy9Cl/iZaYWLGfEJ6P4j7xp5T0WkFTl/IHkTnbuS7jBV6vLEKk9FIwh5zlNYhrML2/k0bfmsDL0srsWBf8pV1WfS9H+VH7IeVWbLSL6J5IuIWeHzcRfDMPNfWnK0uVnpb7I2263yn7clsjkYvL9Yc/tRnVqOP/FEfWaOPivTRkT4y6vuGWZ63varz6uRx4T8Fnm03N48=",
]


def seed(target, data, largest=LARGEST):
    if len(data) > largest:
        return
    directory = fuzz / "corpus" / target
    directory.mkdir(parents=True, exist_ok=True)
    (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def zstd(*options, data):
    return subprocess.run(["zstd", "-cq", *options], input=data, stdout=subprocess.PIPE, check=True).stdout


def lines(path):
    """The lines of a text file, which may be compressed."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstd("-d", "--long=27", data=data)
    return data.decode().splitlines()


def i32(*numbers):
    return struct.pack(f">{len(numbers)}i", *numbers)


def i64(*numbers):
    return struct.pack(f">{len(numbers)}q", *numbers)


def text16(text):
    return struct.pack(">H", len(text)) + text.encode()


def text32(text):
    return i32(len(text)) + text.encode()


def utf8(text):
    return b"\1" + text16(text)


def class_file():
    """class a.B implements java.io.Serializable { private long c; }"""
    pool = [
        utf8("a/B"), b"\x07\0\1", utf8("java/lang/Object"), b"\x07\0\3",
        utf8("java/io/Serializable"), b"\x07\0\5", utf8("c"), utf8("J"),
    ]
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 61, len(pool) + 1)
    body = struct.pack(">HHHHH", 0x21, 2, 4, 1, 6) + struct.pack(">HHHHH", 1, 2, 7, 8, 0)
    return head + b"".join(pool) + body + struct.pack(">HH", 0, 0)


def nested(stream):
    """Streams inside of a stream's byte arrays, which have their lengths before them."""
    at = stream.find(header, 4)
    while at >= 0:
        (length,) = struct.unpack(">i", stream[at - 4:at])
        if 4 < length <= len(stream) - at:
            yield stream[at:at + length]
        at = stream.find(header, at + 4)


def custom_object(name, data, fields=b"\0\0"):
    """An object of a class that writes itself."""
    block = b"\x77" + bytes([len(data)]) + data
    return header + b"\x73\x72" + text16(name) + bytes(8) + b"\3" + fields + b"\x78\x70" + block + b"\x78"


def external_bodies(stream, name):
    """What objects of an Externalizable class wrote, if it is one block."""
    at = stream.find(text16(name))
    begin = stream.find(b"\x78\x70\x77", at) if at >= 0 else -1
    if begin >= 0:
        yield stream[begin + 4:begin + 4 + stream[begin + 3]]
    begin = stream.find(b"\x78\x70\x7a", at) if at >= 0 else -1
    body = b""
    # Longer ones are in several blocks.
    while begin >= 0 and stream[begin + 2:begin + 3] == b"\x7a":
        (length,) = struct.unpack(">i", stream[begin + 3:begin + 7])
        body += stream[begin + 7:begin + 7 + length]
        begin += 5 + length
        if stream[begin + 2:begin + 3] == b"\x77":
            body += stream[begin + 4:begin + 4 + stream[begin + 3]]
    if body:
        yield body


def seed_stream(stream):
    """A Java object stream of any class."""
    for target in ("java_graph", "java_serde", "messages", "accumulators", "task_result", "torrent_broadcast", "map_statuses"):
        seed(target, stream)
    for inner in nested(stream):
        seed("accumulators", inner)
        seed("task_result", inner)
        seed("messages", inner)
    for name in ("CompressedMapStatus", "HighlyCompressedMapStatus", "MergeStatus"):
        for body in external_bodies(stream, f"org.apache.spark.scheduler.{name}"):
            seed("map_statuses", body)
            seed("block_id", body)
    at = stream.find(zstd_magic)
    if at >= 0:
        statuses = subprocess.run(["zstd", "-dcq"], input=stream[at:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        seed("map_statuses", statuses)
        seed("map_statuses", stream[at - 1:])


def recorded_frames():
    for vectors in sorted((tests / "vectors").glob("*.jsonl")):
        for line in lines(vectors):
            frame = bytes.fromhex(json.loads(line)["hex"])
            seed("frame_split", b"\x07" + frame)
            seed("frame_reader", b"\x21" + frame)
            # Behind the length, the type and, in a request, the id and the size.
            body = frame[21:] if frame[8] in (3, 4) else frame[13:]
            seed("block_transfer", body)
            at = frame.find(header)
            if at >= 0 and len(frame) - at <= LARGEST:
                seed("frame_json", frame)
                seed("envelope", body)
                seed_stream(frame[at:])
    for vectors in sorted((tests / "wire").glob("*.jsonl")):
        for line in lines(vectors):
            sample = json.loads(line)
            data = bytes.fromhex(sample["hex"])
            if sample["name"] == "TaskDescription":
                seed("task_description", data)
            elif data.startswith(header):
                seed_stream(data)
                if sample["name"].startswith("RemoveBlock/"):
                    seed("block_id", sample["name"].partition("/")[2].encode())
            else:
                seed("map_statuses", data)


def made_frames():
    def frame(kind, data):
        return i64(9 + len(data)) + bytes([kind]) + data

    stream = frame(7, text32("1_0") + i64(5)) + b"bytes" + frame(9, i32(3) + b"one")
    upload = frame(10, i64(7) + text32("meta") + i64(2)) + b"up" + frame(6, text32("/jars/x.jar"))
    merged = frame(11, i64(1) + text32("app") + i32(0, 0, 3)) + frame(12, i64(1) + i32(2) + b"bitmaps")
    chunks = frame(0, i64(3) + i32(0)) + frame(1, i64(3) + i32(0) + b"chunk") + frame(2, i64(3) + i32(1) + text32("gone"))
    for frames in (stream, upload, merged, chunks, stream + upload + merged + chunks):
        for cut in (3, 40):
            seed("frame_split", bytes([cut]) + frames)
            seed("frame_reader", bytes([cut]) + frames)


def block_names():
    names = (
        "rdd_3_14 shuffle_1_2_3 shuffle_1_2_3_4 shuffle_1_2_0.data shuffle_1_2_0.index shuffle_1_2_0.checksum shuffleChunk_1_2_3_4 "
        "shufflePush_1_2_3_4 shuffleMerged_1_2_3 shuffleMerged_app_1_2_3.data shuffleMerged_app_1_2_3.index shuffleMerged_app_1_2_3.meta "
        "broadcast_1 broadcast_1_piece0 broadcast_1_python taskresult_7 input-1-2 python-stream-1-2 python_worker_log_1_2_a-b_3 "
        "temp_local_00000000-0000-0001-0000-000000000002 temp_shuffle_00000000-0000-0001-0000-000000000002 test_a test_log_1_2 "
        "/abs/path test_/a test_/../b broadcast_1_/x shuffleMerged_/x/../y_1_2_3.data rdd_-1_-1"
    ).split()
    for name in names:
        seed("block_path", name.encode())
        seed("block_id", name.encode())


def block_messages():
    both = text32("app-1") + text32("2")
    names = i32(2) + text32("rdd_1_0") + text32("broadcast_1_piece0")
    ints = i32(2, 0, 1)
    for message in (
        b"\0" + both + names,
        b"\1" + both + text32("test_1") + text32("meta") + text32("data"),
        b"\2" + both + i32(1) + text32("/tmp/blockmgr-1") + i32(64) + text32("sort"),
        b"\3" + i64(5) + i32(2),
        b"\6" + text32("test_1") + text32("meta"),
        b"\7" + both + names,
        b"\x08" + i32(2),
        b"\x09" + both + i32(1) + i32(1) + i64(7) + i32(1) + ints + b"\0",
        b"\x0a" + text32("app-1") + i32(1) + text32("2"),
        b"\x0b" + i32(1) + text32("2") + i32(1, 1, 1) + text32("/tmp"),
        b"\x0c" + text32("app-1") + i32(1, 2, 3, 4, 5, 6),
        b"\x0d" + text32("app-1") + i32(1, 2, 3),
        b"\x0e" + i32(1, 2, 1) + text32("bits") + i32(1, 0) + i32(1) + i64(9),
        b"\x0f" + both + i32(1, 2) + ints + i32(1) + ints,
        b"\x10" + both + i32(1) + i64(7) + i32(0) + i64(99) + text32("ADLER32"),
        b"\x11\1",
        b"\x12\0" + text32("shuffle_1_2_3"),
        b"\x13" + text32("app-1") + i32(1, 2, 3),
    ):
        seed("block_transfer", message)
    for metadata in json.loads((tests / "upload-metadata.json").read_text()).values():
        for stream in metadata.values() if isinstance(metadata, dict) else [metadata]:
            seed("upload_metadata", bytes.fromhex(stream))


def shuffles():
    for directory in sorted((tests / "shuffle").iterdir()):
        codec = directory.name.split("-")[1]
        data = (directory / "shuffle_0_0_0.data").read_bytes()
        index = (directory / "shuffle_0_0_0.index").read_bytes()
        offsets = struct.unpack(f">{len(index) // 8}q", index)
        segments = [data[start:end] for start, end in zip(offsets, offsets[1:])]
        for first, last, long in ((0, 1, 0), (0, len(offsets) - 1, 1), (1, 3, 0)):
            seed("shuffle_index", i32(first, last) + struct.pack(">BHB", long, len(data), 0) + index)
        if directory.name.endswith("encrypted"):
            continue
        for segment in segments:
            seed("kryo" if codec == "none" else codec, segment)
    plain = b"some text some text some text " * 20 + bytes(3000)
    for data in (b"", plain, plain[:10]):
        seed("zstd", zstd(data=data))
        seed("zstd", zstd("--ultra", "-22", "--no-check", data=data) * 2)
    for values in (b"\x09" + bytes(8), b"\x15\1\4abc\0", b"\3\1a\xe2", b"\3\1\x84abc", b"\2\1\0\0\0\4\1\5\0\0\0\0\6\1\7a\0\x08\1\0"):
        seed("kryo", values)
    byte_arrays = b"\x22\1\3\1\3ab\1\2c"
    seed("kryo", byte_arrays)
    seed("kryo", b"\x30\1" + byte_arrays)


def broadcasts():
    byte_array = bytes.fromhex("7572") + text16("[B") + bytes.fromhex("acf317f8060854e00200007870")
    seed("broadcast_value", header + byte_array + i32(5) + b"value")
    seed("broadcast_value", b"\x15\1\6value")
    fields = b"\0\2J" + text16("broadcastId") + b"L" + text16("path") + b"\x74" + text16("Ljava/lang/String;")
    python = custom_object("org.apache.spark.api.python.PythonBroadcast", i64(3) + b"\x80\5pickle", fields)
    seed("broadcast_value", python)
    seed("broadcast_value", b"\x21\1" + python)
    chunks = header + bytes.fromhex("7572") + text16("[[B") + bytes.fromhex("4bfd19156767db370200007870") + i32(2)
    seed("map_statuses", chunks + byte_array + i32(2) + b"ab" + bytes.fromhex("7571007e0002") + i32(1) + b"c")
    elements = byte_array + i32(3) + b"abc" + bytes.fromhex("7571007e0000") + i32(1) + b"d" + b"\x70\x71\x00\x7e\0\1"
    seed("checkpoint", header + elements + b"\x79" + elements)
    seed("checkpoint", header + b"\x74" + text16("text") + b"\x71\x00\x7e\0\0" + b"\x7c" + i64(2) + b"\xc0\x80")


def python_workers():
    times = i32(-3) + i64(1, 2, 3)
    end = i32(-1, 1) + text32("update") + i32(-4)
    for spilled in (i64(0, 0), i64(4, 0, 0)):
        seed("python_output", text32("batch") + text32("") + times + spilled + end)
    seed("python_output", text32("batch") + i32(-2) + text32("Traceback"))
    seed("python_output", i32(-1, 0, -4))
    for protocol in (2, 5):
        for batch in ([1, None, 300, 1 << 40, 1 << 70, -5], ["a", "a", True, 1.5, b"b", bytearray(b"c")], [(1, "a"), (2, None)], [[[1.5], [], None], ([2.5],)],
                      [decimal.Decimal("1.20"), decimal.Decimal("NaN")], [(3, [True])], []):
            seed("python_results", pickle.dumps(batch, protocol))
    for stream in PYTHON_STREAMS:
        seed("python_stream", zlib.decompress(base64.b64decode(stream)))
        seed("isolated_replies", zlib.decompress(base64.b64decode(stream)))
    for reply in ['"Done"', '{"Columns":{"rows":3}}', '{"Failed":{"how":"Refused","words":"w"}}', '{"Reserve":{"instance":1,"bytes":9}}',
                  '{"Bound":{"kind":"scalar","signature":{"arguments":"int","result":"int"},"title":"t"}}']:
        seed("isolated_replies", struct.pack("<IQ", len(reply), 0) + reply.encode())
    seed("python_handshake", text32("secret"))
    seed("python_compiled", b"compiled 4\nleft to Python\nnot simple: a loop\nnot simple: an unknown version of Python: 3.15\n")
    for words in ["double, double", "id:bigint, tags:array<string>, of:map<string,struct<a:decimal(38,18),b:timestamp>>", "Struct < a : int >"]:
        seed("function_types", words.encode())
    marker = 'firesteel-function:{"function":"haversine","library":"libgeo.so","module":"geo","signature":0,"version":"1.0"}'
    call = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() + b"\x94" for text in ["firesteel_geo", "_native_function_v1"]) + b"\x93\x94\x8c" + bytes([len(marker)]) + marker.encode() + b"\x94\x85\x94R\x94"
    seed("function_marker", b"\x80\x05" + call + b"\x8c\x11pyspark.sql.types\x94\x8c\nDoubleType\x94\x93\x94)R\x94\x86\x94.")
    seed("python_expression", b'[["argument",1],["constant",{"float":"3ff8000000000000"}],["call",".split",[0]],["element",2,-1,null],["tuple",[1,3]]]')
    seed("python_expression", b'[["argument",0],["constant",2],["call","//",[0,1]],["call","<",[0,1]],["slice",2,null,3],["if",3,2,4],["list",[5]]]')
    for fixture in sorted((tests / "python_tasks").glob("*.jsonl.zst")):
        for line in lines(fixture):
            sample = json.loads(line)
            task, binary = bytes.fromhex(sample["task"]), bytes.fromhex(sample["binary"])
            seed("python_stage", i32(len(task)) + task + binary, 24000)
            seed("torrent_broadcast", binary)
            seed("torrent_broadcast", task)
            for stream in nested(task):
                seed("accumulators", stream)


def hadoop():
    settings = b"\x02\x01a\x02bc\0\0\0\x02\0\0\0\x03gz!\xff\xff\xff\xff\x01d\x04${a}\xff\xff\xff\xff"
    seed("hadoop_conf", settings)
    conf = custom_object("org.apache.spark.util.SerializableConfiguration", settings)
    seed("hadoop_conf", conf)
    seed("hadoop_conf", b"\x21\1" + conf)
    for file_io in (fuzz.parent / "src/files/fixtures").glob("file-io-*.bin"):
        seed("hadoop_conf", file_io.read_bytes())
    properties = '<property><name>a</name><value>1</value><final>true</final></property><property name="b" value="&lt;"/>'
    seed("hadoop_site", f'<?xml version="1.0"?><!-- x --><configuration>{properties}</configuration>'.encode())
    seed("hadoop_site", b'<!DOCTYPE c [<!ENTITY a "b">]><configuration>&a;</configuration>')
    token = b"".join(bytes([len(field)]) + field for field in (b"alias", b"id", b"pw", b"KIND", b"host:1"))
    seed("hadoop_credentials", b"HDTS\0\x01" + token + b"\x02\x0bsparkCookie\x8f\x80" + b"a" * 128 + b"\0\x01b")
    for store in (fuzz.parent / "crates/tls/fixtures").glob("*.jks"):
        seed("java_key_store", store.read_bytes())


def handshakes():
    def sasl(payload):
        return b"\xea" + text32("app") + i32(len(payload)) + payload

    for fixture in sorted((fuzz.parent / "crates/auth/tests/fixtures").glob("*.txt")):
        for line in lines(fixture):
            version, cipher, _, challenge, answer, sealed = line.split()
            choice = (version == "2") + 2 * (cipher == "GCM")
            challenge, answer = bytes.fromhex(challenge), bytes.fromhex(answer)
            seed("handshake", bytes([choice, len(challenge)]) + challenge + answer)
            if cipher == "GCM":
                sealed = bytes.fromhex(sealed)[:LARGEST - 2]
                seed("sealed_messages", bytes([version == "1", 3]) + sealed)
    challenge = b'realm="default",nonce="abc",qop="auth-conf,auth",charset=utf-8,algorithm=md5-sess'
    answer = b'charset=utf-8,username="eA==",realm="default",nonce="abc",nc=00000001,cnonce="def",digest-uri="null/default",'
    answer = sasl(answer + b"maxbuf=65536,response=00000000000000000000000000000000,qop=auth")
    for one, two in ((sasl(b""), answer), (challenge, b"rspauth=00000000000000000000000000000000")):
        seed("handshake", bytes([4, len(one)]) + one + two)


def aggregation_buffers():
    """Counted values, a digest, a list and sketches, as Spark keeps them."""
    row = lambda value, count: struct.pack(">i", 24) + struct.pack("<qdq", 0, value, count)
    counted = row(1.5, 2) + row(-7.0, 1) + struct.pack(">i", -1)
    sample = lambda value: struct.pack(">dqq", value, 1, 0)
    digest = struct.pack(">idqi", 10_000, 0.01, 3, 3) + sample(1.0) + sample(2.0) + sample(4.5)
    numbers = struct.pack("<qqq", 3, 0b010, 5) + struct.pack("<qq", 0, 9)
    text = struct.pack("<qqq", 1, 0, (24 << 32) | 5) + b"words\0\0\0"
    of_lists = [struct.pack("<qq", 0, (16 << 32) | len(of)) + of for of in (numbers, text)]
    coupons = [struct.pack("<I", value) for value in (5 << 26 | 7, 1 << 26 | 0x3ffffff, 9 << 26)]
    header = lambda words, lg_k, lg_places, flags, count, mode: bytes([words, 1, 7, lg_k, lg_places, flags, count, mode])
    empty = header(2, 12, 3, 4, 0, 8) + bytes(32)
    few = header(2, 12, 3, 0, 3, 8) + b"".join(coupons) + bytes(20)
    table = b"".join(struct.pack("<I", place | 1 << 26 if place < 9 else 0) for place in range(32))
    some = header(3, 10, 5, 0, 0, 9) + struct.pack("<I", 9) + table
    many = header(10, 4, 0, 0, 0, 10) + struct.pack("<dddii", 20.5, 5.5, 0.0, 4, 0) + bytes([0, 0, 0, 0] + [1, 2, 3, 4] * 3)
    disordered = header(10, 4, 0, 16, 1, 10) + struct.pack("<dddii", 0.0, 4.5, 0.0, 4, 0) + bytes([1, 2, 3, 4] * 4)
    for sketch in [empty, few, some, many, disordered]:
        for other in [few, some, many, disordered]:
            seed("hll_sketches", struct.pack("<H", len(sketch)) + sketch + other)
        seed("aggregation_buffers", sketch)
    counts = struct.pack(">iqii", 1, 3, 1, 4) + struct.pack(">5q", 0x5D8D6AB9, 0, 2, 1, 0)
    for buffer in [counts, counted, digest, numbers, text, *of_lists, struct.pack("<54q", *range(1, 55))]:
        seed("aggregation_buffers", buffer)


def record_lines():
    """Lines of CSV with quotes, of JSON with values of all kinds."""
    lines = ['a,1,2,3.5,4.25,true,2020-01-02,2020-01-02 03:04:05Z,2020-01-02 03:04:05', '"a\\"b","",,"1,2",-Inf', '"a""b", x ,#', "#comment"]
    names = ["string", "tinyint", "bigint", "float", "decimal(20,3)", "boolean", "date", "timestamp"]
    values = ["a\u00e4\n", 1, -5, 1.5e3, 4.25, True, "2020-01-02", "2020-01-02 03:04:05+01:00"]
    lines += [json.dumps(dict(zip(names, values))), json.dumps({"array<double>": [1.5, None], "map<string,array<double>>": {"k": [2]}}), '{"bigint":"x","float":"NaN"}']
    for line in lines:
        seed("record_line", line.encode())


def variants():
    """Values of all kinds as rows have them, and texts of JSON."""
    names = bytes([1, 2, 0, 1, 2]) + b"ba"
    values = [[0], [0x0C, 1], [0x10, 127, 255], [0x20, 2, 150, 0, 0, 0], [0x2C, 1, 0, 0, 0], [0x30, *range(8)], [0x38, 0, 0, 192, 127], [0x3C, 1, 0, 0, 0, 255], [0x40, 1, 0, 0, 0, 97], [9, 97, 98], [3, 2, 0, 2, 3, 12, 1, 0], [2, 2, 1, 0, 2, 0, 4, 12, 1, 12, 2], [0x50, *range(16)]]
    for value in values:
        seed("variants", struct.pack("<i", len(value)) + bytes(value) + names)
    for text in ['{"a":[1,2.5e3,"x\\u00e4",null,true],"b":{"a":-0.10}}', '[{"b":1},{"b":99999999999999999999}]', '"\\ud83d\\ude00" x']:
        seed("variants", text.encode())


def cached_batches():
    forms = {"kryo-3.5.9-fixed": 0, "kryo-3.5.9-least": 1, "kryo-4.3.0-fixed": 2, "kryo-4.3.0-variable": 3}
    for block in (fuzz.parent / "crates/rows/src/cached/fixtures").glob("*.bin"):
        for first in range(12):
            seed("cached_batches", bytes([forms.get(block.stem, 4) << 4 | first]) + block.read_bytes(), largest=32768)


def row_objects():
    """Rows of two columns: one as we write them, with others behind a reset, and one in pieces."""
    def described(name, flags):
        return b"\x72" + len(name).to_bytes(2, "big") + name + bytes(range(8)) + bytes([flags, 0, 0, 0x78])

    first = b"\x73" + described(b"org.apache.spark.sql.catalyst.expressions.UnsafeRow", 0x0C) + described(b"org.apache.spark.sql.catalyst.InternalRow", 2) + b"\x70"
    next = b"\x73\x71\0\x7e\0\0"

    def own(length):
        return length.to_bytes(4, "big") + b"\0\0\0\2" + bytes(at % 256 for at in range(length))

    short, long = b"\x77\x20" + own(24) + b"\x78", b"\x7a\0\0\1\x38" + own(304) + b"\x78"
    pieces = b"\x77\x10" + own(24)[:16] + b"\x77\x10" + own(24)[16:] + b"\x78"
    header = b"\xac\xed\0\5"
    seed("row_objects", header)
    seed("row_objects", header + first + short + next + long + next + pieces)
    seed("row_objects", header + first + pieces + b"\x79" + first + long)


def kryo_rows():
    for fixture in (fuzz.parent / "crates/rows/src/relation/fixtures").glob("kryo-*.txt"):
        for line in fixture.read_text().splitlines():
            value = bytes.fromhex(line.split(" ")[2])
            seed("relation", value)
            seed("kryo", value)


def columns():
    """Frames of three rows: every type, every form of values."""
    text = bytes.fromhex("000000020003616263")
    parts = {
        "long, packed": (b"\5", bytes.fromhex("000000020224")),
        "int, runs": (b"\4", bytes.fromhex("000002020a0102020101")),
        "date, differences": (b"\13", bytes.fromhex("000001000200")),
        "double, dictionary": (b"\7", bytes.fromhex("0000030200080102000105")),
        "text": (b"\11", b"\0" + text),
        "text in LZ4": (b"\11", b"\1\11\x90" + text),
        "text, dictionary, a null": (b"\11", bytes.fromhex("0002050102000200027879000102")),
        "short decimals": (b"\10\x26\2", bytes.fromhex("000000000200")),
        "long decimals": (b"\10\x26\2", b"\0\0\1" + bytes(range(48))),
        "flags": (b"\1", bytes.fromhex("000000000105")),
        "nulls": (b"\0", b"\0\1"),
    }
    found = [of + bytes([len(payload)]) + payload for of, payload in parts.values()]
    frames = [b"\3\1" + column for column in found] + [bytes([3, len(found)]) + b"".join(found)]
    segment = b""
    for frame in frames:
        seed("column_frames", frame)
        segment += b"\xf5COL" + struct.pack("<IIQ", 3, len(frame), 0) + frame
    seed("shuffle_frames", segment)


def rows():
    for fixture in sorted((sql / "formats/fixtures").glob("*.tsv.zst")):
        of_kind = {}
        for line in lines(fixture):
            kind, *values = line.split("\t")
            of_kind.setdefault(kind, []).append(values)
        found = [bytes.fromhex(values[0]) for values in of_kind["row"]]
        stream = [i32(len(row)) + row for row in found]
        for count in (1, 3, 20):
            seed("unsafe_rows", b"\x40" + b"".join(stream[:count]))
            seed("row_blocks", bytes([len(stream[0]) & 0xFF]) + b"".join(stream[:count]))
            seed("result_rows", b"".join(stream[:count]))
        for row in found[:20]:
            seed("plan_row", row)
        for _, relation in of_kind["relation"]:
            data = bytes.fromhex(relation)
            seed("relation", data)
            for body in external_bodies(data, "org.apache.spark.sql.execution.joins.LongToUnsafeRowMap"):
                seed("relation_page", body)
        for values in of_kind["result"]:
            seed("result_rows", bytes.fromhex(values[-1]))
    slots = struct.pack("<qqqqqqqq", 7, 72 << 32 | 4, 5, 80 << 32 | 2, 88 << 32 | 3, 1, 0, 9)
    seed("plan_row", bytes(8) + slots + b"text\0\0\0\0" + b"\x12\x34" + bytes(6) + b"abc" + bytes(5))
    for fixture in sorted((sql / "fixtures").glob("[0-9]*.jsonl.zst")):
        for line in lines(fixture):
            # The smallest stages have most of the classes.
            seed("sql_stage", bytes.fromhex(json.loads(line)["binary"]), 24000)


def parquet():
    """Footers in Thrift's compact protocol: columns of Parquet's own types, and such as Spark wrote down."""
    def varint(number):
        more = b""
        while number > 127:
            more += bytes([number & 127 | 128])
            number >>= 7
        return more + bytes([number])

    def number(value):
        return varint(value << 1)

    def binary(data):
        return varint(len(data)) + data

    def element(name, kind=None, children=None, converted=None):
        out, last = b"", 0
        for field, code, data in (
            (1, 5, None if kind is None else number(kind)),
            (3, 5, None if kind is None else number(1)),
            (4, 8, binary(name)),
            (5, 5, None if children is None else number(children)),
            (6, 5, None if converted is None else number(converted)),
        ):
            if data is not None:
                out += bytes([(field - last) << 4 | code]) + data
                last = field
        return out + b"\0"

    columns = [element(b"a", 1), element(b"b", 2), element(b"c", 6, converted=0), element(b"d", 5), element(b"e", 3)]
    schema = bytes([(len(columns) + 1) << 4 | 12]) + element(b"schema", children=len(columns)) + b"".join(columns)
    json_columns = b'{"type":"struct","fields":[{"name":"a","type":"decimal(7,2)","nullable":true,"metadata":{}}]}'
    pair = b"\x19\x1c\x18" + binary(b"org.apache.spark.sql.parquet.row.metadata") + b"\x18" + binary(json_columns) + b"\0"
    for metadata in (b"", pair):
        footer = b"\x15\x02\x19" + schema + b"\x16\x00\x19\x0c" + metadata + b"\0"
        seed("parquet_schema", b"PAR1" + footer + struct.pack("<i", len(footer)) + b"PAR1")


def time_zones():
    """Tables of one region each, out of a JDK's."""
    for table in sorted(pathlib.Path("/usr/lib/jvm").glob("*/lib/tzdb.dat")):
        data, at = table.read_bytes(), 7
        def number():
            nonlocal at
            at += 2
            return struct.unpack(">H", data[at - 2:at])[0]

        def block():
            nonlocal at
            length = number()
            at += length
            return data[at - length:at]

        versions = [block() for _ in range(number())]
        names = [block() for _ in range(number())]
        rules = [block() for _ in range(number())]
        for _ in range(number()):
            name, rule = names[number()], rules[number()]
            texts = b"".join(struct.pack(">H", len(part)) + part for part in (b"TZDB",))
            one = struct.pack(">H", 1)
            parts = [struct.pack(">H", len(part)) + part for part in (versions[0], name, rule)]
            seed("time_zones", b"\1" + texts + one + one.join(parts) + one + struct.pack(">HH", 0, 0))
        return


def archives():
    seed("class_file", class_file())
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        jar = io.BytesIO()
        with zipfile.ZipFile(jar, "w", method) as archive:
            archive.writestr("a/B.class", class_file())
            archive.writestr("spark-version-info.properties", "version=4.3.0\n")
        seed("jar", jar.getvalue())
        for names in (["a/b", "c/"], ["../../outside/file"], ["/outside/file", "a", "a/b"]):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", method) as archive:
                for name in names:
                    archive.writestr(name, "content " * 10)
            seed("archive", b"\0" + packed.getvalue())
            seed("archive", b"\1" + packed.getvalue())
    link = {"type": tarfile.SYMTYPE}
    hard = {"type": tarfile.LNKTYPE}
    directory = {"type": tarfile.DIRTYPE, "mode": 0o700}
    for entries in (
        [("a/b", {}), ("c", directory), ("c/d", {}), ("long" * 40, {})],
        [("l", link | {"linkname": "a"}), ("a", {}), ("h", hard | {"linkname": "a"}), ("./", {})],
        [("l", link | {"linkname": "../../outside"}), ("l/file", {}), ("h", hard | {"linkname": "../../outside/file"})],
        [("l", link | {"linkname": "../../outside/file"}), ("l", {}), ("h", hard | {"linkname": "l"})],
        [("../../outside/file", {})],
    ):
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
                for name, attributes in entries:
                    info = tarfile.TarInfo(name)
                    for key, value in attributes.items():
                        setattr(info, key, value)
                    content = b"" if attributes else b"content"
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
            seed("archive", b"\2" + packed.getvalue())
            seed("archive", b"\3" + gzip.compress(packed.getvalue(), mtime=0))
    seed("archive", b"\2" + sparse(8192))


def sparse(size):
    """A tar file with a file of so many bytes, all but five of which are a hole."""
    block = bytearray(512)
    block[0:6] = b"sparse"
    block[100:108] = b"0000644\0"
    block[124:136] = b"00000000005\0"
    block[136:148] = b"00000000000\0"
    block[156:157] = b"S"
    block[257:265] = b"ustar  \0"
    block[386:398] = b"%011o\0" % (size - 5)
    block[398:410] = b"00000000005\0"
    block[483:495] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + b"bytes".ljust(512, b"\0") + bytes(1024)


def texts():
    for cut, step, kind in ((5, 3, 0), (3, 0, 1), (4, 1, 2)):
        seed("lines", bytes([cut, step, kind]) + b"one\ntwo\r\nthree\rabfour\n\n\xef\xbb\xbf")


def event_logs():
    """Each kind of event by itself, and the events of stages together."""
    seen = set()
    for version in ("3.5.9", "4.3.0"):
        stages = {}
        for line in lines(fuzz.parent / f"crates/qualify/tests/fixtures/{version}.jsonl.zst"):
            event = json.loads(line)
            kind = event["Event"].split(".")[-1]
            stage = event.get("Stage Info", event).get("Stage ID")
            if stage is not None:
                stages.setdefault(stage, []).append(line)
            if kind not in seen and len(line) <= LARGEST:
                seen.add(kind)
                seed("event_log", line.encode())
        for parts in sorted(stages.values(), key=len)[:40]:
            seed("event_log", "\n".join(parts).encode())
    plan = {"nodeName": "Project", "simpleString": "Project [cast(a#1 as string) AS b#2, hour(c#3), ... 2 more fields]", "children": [
        {"nodeName": "Scan parquet ", "simpleString": "FileScan parquet [a#1,c#3]", "metadata": {"ReadSchema": "struct<a:bigint,c:timestamp>", "Location": "X[file:/a]"},
         "metrics": [{"name": "number of output rows", "accumulatorId": 7}]}]}
    start = {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": 1, "description": "q", "sparkPlanInfo": plan,
             "physicalPlanDescription": "(2) Project\nOutput [3]: [cast(a#1 as string) AS b#2, hour(c#3), d#4]\n", "modifiedConfigs": {"spark.sql.session.timeZone": "UTC"}}
    stage = {"Stage ID": 1, "Stage Name": "collect", "RDD Info": [], "Accumulables": [{"ID": 7}]}
    events = [start, {"Event": "SparkListenerStageSubmitted", "Stage Info": stage, "Properties": {"spark.sql.execution.id": "1"}},
              {"Event": "SparkListenerTaskEnd", "Stage ID": 1, "Task Metrics": {"Executor Run Time": 5}}, {"Event": "SparkListenerStageCompleted", "Stage Info": stage},
              {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd", "executionId": 1}]
    seed("event_log", "\n".join(map(json.dumps, events)).encode())


def table_files():
    """Tasks that read tables of Iceberg's, and what is text in them."""
    for partition in (fuzz.parent / "crates/catalyst/tests/fixtures/iceberg").glob("*.bin"):
        seed("table_files", partition.read_bytes())
    columns = [{"id": 1, "name": "a", "required": True, "type": "decimal(9, 2)"}, {"id": 2, "name": "b", "required": False, "type": {"type": "list", "element-id": 3, "element": "date", "element-required": False}}]
    spec = [{"name": "a", "transform": "identity", "source-id": 1, "field-id": 1000}]
    for text in [json.dumps({"type": "struct", "fields": columns}), json.dumps({"spec-id": 0, "fields": spec}), "s3a://bucket/a%2Fb/x y.parquet", "/w/t/a"]:
        seed("table_files", text.encode())


def deletion_vectors():
    """Rows 3, 4, 7, 11, 18 and 29."""
    places = struct.pack("<6H", 3, 4, 7, 11, 18, 29)
    bitmap = struct.pack("<IQIIIHHI", 1681511377, 1, 0, 12346, 1, 0, 5, 16) + places
    seed("deletion_vector", bitmap)
    for kind, at, text in [(b"u", b"\0\0\0\1", b"ab^-aqEH.-t@S}K{vb[*k^"), (b"i", b"", b"^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"), (b"p", b"\0\0\0\1", b"file:/table/vector.bin")]:
        seed("deletion_vector", base64.b64encode(struct.pack(">qi", 6, 44) + kind + at + struct.pack(">H", len(text)) + text))


recorded_frames()
made_frames()
block_names()
block_messages()
shuffles()
broadcasts()
python_workers()
hadoop()
handshakes()
columns()
rows()
aggregation_buffers()
record_lines()
kryo_rows()
row_objects()
cached_batches()
variants()
parquet()
table_files()
deletion_vectors()
time_zones()
archives()
texts()
event_logs()
