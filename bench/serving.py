#!/usr/bin/env python3
"""Shuffle blocks served from the page cache: Firesteel's executor next to plain Spark's and a bare `sendfile` loop, as ratios, in one run.

Each executor writes the map outputs of the same job. A reader then fetches all blocks over one connection, as a reducer does, many times. What counts is what a
processor of the server can serve: bytes by the seconds of processor time, user and system, that the server's process took for them.

Needs a built distribution of Firesteel and a Spark distribution (scripts/test installs both). Standard library only."""

import itertools
import multiprocessing
import os
import re
import socket
import statistics
import struct
import sys

from side_by_side import SIDES, Driver, end, in_turn, parse, parser, report, scratch, show_progress

MAPS = 4
SIZES = {"4 MiB": 4 << 20, "64 KiB": 64 << 10}
# As a reducer asks (`spark.reducer.maxSizeInFlight`): all chunks of a request at once, five requests before the first is there.
IN_FLIGHT = 48 << 20
REQUEST = IN_FLIGHT // 5
RPC_REQUEST, RPC_RESPONSE, CHUNK_REQUEST, CHUNK_SUCCESS = 3, 4, 0, 1
OPEN_BLOCKS, STREAM_HANDLE = 0, 3


def options():
    arguments = parser(__doc__)
    arguments.add_argument("--gigabytes", type=int, default=4, help="served in each run (default: %(default)s)")
    arguments.add_argument("--output", type=int, default=256, help="MB of map outputs (default: %(default)s)")
    return parse(arguments)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def map_outputs(directory):
    """Data files of the shuffle in an executor's directories, with the offsets of their blocks."""
    for root, _, names in os.walk(directory):
        for name in names:
            found = re.fullmatch(r"shuffle_(\d+)_(\d+)_0\.index", name)
            if found:
                with open(os.path.join(root, name), "rb") as file:
                    index = file.read()
                data = name.replace(".index", ".data")
                # Both files are found by the hash of their names.
                yield int(found[1]), int(found[2]), data, struct.unpack(f">{len(index) // 8}q", index)


class Reader:
    """A reducer's connection to a block server."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = memoryview(bytearray(1 << 20))
        self.requests = itertools.count(1)

    def exactly(self, count):
        found = bytearray(count)
        view = memoryview(found)
        while view:
            view = view[self.socket.recv_into(view) or sys.exit("the server has closed the connection"):]
        return bytes(found)

    def open(self, app, executor, blocks):
        """Gives the stream of blocks."""
        def text(value):
            return struct.pack(">i", len(value)) + value.encode()

        body = bytes([OPEN_BLOCKS]) + text(app) + text(executor) + struct.pack(">i", len(blocks)) + b"".join(map(text, blocks))
        self.socket.sendall(struct.pack(">qbqi", 21 + len(body), RPC_REQUEST, next(self.requests), len(body)) + body)
        length, kind = struct.unpack(">qb", self.exactly(9))
        answer = self.exactly(length - 9)
        if kind != RPC_RESPONSE or answer[12] != STREAM_HANDLE:
            raise RuntimeError(f"blocks cannot be opened: {answer!r}")
        stream, chunks = struct.unpack_from(">qi", answer, 13)
        assert chunks == len(blocks), (chunks, len(blocks))
        return stream

    def fetch(self, app, executor, blocks, size):
        """Fetches blocks of about a size and throws them away. Gives the number of their bytes."""
        stream, asked, total = self.open(app, executor, blocks), 0, 0
        at_once, ahead = max(1, REQUEST // size), max(1, IN_FLIGHT // size)
        for done in range(len(blocks)):
            while asked < len(blocks) and asked + at_once <= done + ahead:
                chunks = range(asked, min(len(blocks), asked + at_once))
                self.socket.sendall(b"".join(struct.pack(">qbqi", 21, CHUNK_REQUEST, stream, chunk) for chunk in chunks))
                asked = chunks.stop
            length, kind, _, index = struct.unpack(">qbqi", self.exactly(21))
            if kind != CHUNK_SUCCESS:
                raise RuntimeError(f"frame {kind} instead of chunk {index}")
            left = length - 21
            total += left
            while left:
                left -= self.socket.recv_into(self.buffer[:left])
        return total


def send(listener, path, times, piece):
    """A bare server: a file, so many times, whenever it is asked for, with at least a call for each piece of it."""
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while connection.recv(1):
            for _ in range(times):
                for start in range(0, size, piece):
                    offset, end = start, min(start + piece, size)
                    while offset < end:
                        offset += os.sendfile(connection.fileno(), file.fileno(), offset, end - offset)


class Bare:
    """A process with a `sendfile` loop that sends such pieces, and a connection to it."""

    def __init__(self, path, gigabytes, piece):
        size = os.path.getsize(path)
        times = max(1, (gigabytes << 30) // size)
        self.total, self.buffer = times * size, bytearray(1 << 20)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.process = multiprocessing.get_context("fork").Process(target=send, args=(listener, path, times, piece), daemon=True)
            self.process.start()
            self.connection = socket.create_connection(listener.getsockname())

    def rate(self):
        """Bytes by second of processor time."""
        before, left = processor_seconds(self.process.pid), self.total
        self.connection.sendall(b"x")
        while left:
            left -= self.connection.recv_into(self.buffer) or sys.exit("the bare server has ended")
        return self.total / (processor_seconds(self.process.pid) - before)


def measure(chosen, work, samples):
    for title, size in SIZES.items():
        drivers, executors, readers, blocks, bare = {}, {}, {}, {}, None
        try:
            for side in SIDES:
                driver = drivers[side] = Driver(chosen, work, f"serving-{side}-{size}")
                executors[side] = driver.launch(side, 0, "2g")[0]
                reduces = (chosen.output << 20) // MAPS // size
                driver.ask(do="py_blocks", maps=MAPS, reduces=reduces, bytes=size)
                readers[side] = Reader(driver.ask(do="executors")["0"]["host_port"])
                outputs = list(map_outputs(driver.work / "executor-0"))
                assert len(outputs) == MAPS, outputs
                blocks[side] = [f"shuffle_{shuffle}_{number}_{reduce}"
                                for shuffle, number, _, offsets in outputs for reduce in range(len(offsets) - 1)]
            data = next((drivers["plain"].work / "executor-0").rglob("shuffle_*.data"))
            bare = Bare(data, chosen.gigabytes, size)
            # One more round than asked for: the first warms up.
            for number in range(chosen.runs + 1):
                rates = {"sendfile": bare.rate()}
                for side in in_turn(number):
                    before, total = processor_seconds(executors[side].pid), 0
                    while total < chosen.gigabytes << 30:
                        total += readers[side].fetch(drivers[side].hello["app_id"], "0", blocks[side], size)
                    rates[side] = total / (processor_seconds(executors[side].pid) - before)
                if number:
                    for side, rate in rates.items():
                        samples[title].setdefault(side, []).append(rate)
                show_progress(f"blocks of {title}", number, chosen.runs)
        finally:
            for driver in drivers.values():
                driver.close()
            for process in executors.values():
                end(process)
            if bare:
                bare.connection.close()


def congestion_control():
    """The system's algorithm. Those that pace what they send (bbr) cost much within a machine."""
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        return file.read().strip()


def main():
    chosen = options()
    samples = {title: {side: [] for side in SIDES} for title in SIZES}
    with scratch() as work:
        measure(chosen, work, samples)
    report(chosen, [(title, f"GB per processor second, {title}", lambda v: f"{v / 1e9:.2f}", ("firesteel", "plain"), ">= 2")
                    for title in SIZES], samples)
    print(f"congestion control of the system: {congestion_control()}")
    for title, found in samples.items():
        bare, ours = (statistics.median(found[side]) for side in ("sendfile", "firesteel"))
        print(f"{title}: a bare sendfile loop, a call for each block, gives {bare / 1e9:.2f}; Firesteel / bare {ours / bare:.3g}  goal >= 0.8")


main()
