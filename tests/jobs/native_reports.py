"""Starts a daemon that merges with pipelines in a forked worker, as the executor starts it: whether the worker compiles
them, and what it tells of them.

usage: native_reports.py DIRECTORY_OF_FIRESTEEL_WORKER"""

import contextlib
import os
import subprocess
import sys
import tempfile

DAEMON = """
import os, sys

pid = os.fork()
if pid:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

from pyspark.serializers import CPickleSerializer
from pyspark.shuffle import Aggregator, ExternalMerger

for function in (lambda i: (i % 3, i), lambda i: (i % 3, i.__pow__(2))):
    add = lambda a, b: a + b
    merger = ExternalMerger(Aggregator(lambda v: v, add, add), 512, CPickleSerializer())
    merger.mergeValues(map(function, range(100)))
    expected = {}
    for key, value in map(function, range(100)):
        expected[key] = expected.get(key, 0) + value
    assert dict(merger.items()) == expected
assert "firesteel_worker.loops" in sys.modules
print("firesteel_worker.pipelines" in sys.modules, end="")
"""

compared = 0
told, executors = os.pipe()
os.set_blocking(told, False)
with tempfile.TemporaryDirectory() as directory:
    os.mkdir(os.path.join(directory, "lane"))
    for name, text in (("__init__", ""), ("daemon", DAEMON)):
        with open(os.path.join(directory, "lane", f"{name}.py"), "w") as file:
            file.write(text)
    paths = [directory, *filter(None, [os.environ.get("PYTHONPATH")])]
    for compiles, lines in [
        ("true", b"compiled 3\nnot simple: an unknown method or attribute\n"),
        ("false", b""),
        (None, b"compiled 3\nnot simple: an unknown method or attribute\n"),
    ]:
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), PYTHONDONTWRITEBYTECODE="1")
        environment["FIRESTEEL_PYTHON_REPORTS"] = f"/proc/{os.getpid()}/fd/{executors}"
        if compiles:
            environment["FIRESTEEL_PYTHON_COMPILE"] = compiles
        launcher = os.path.join(sys.argv[1], "run_worker.py")
        daemon = subprocess.run([sys.executable, launcher, "lane.daemon"], env=environment, stdout=subprocess.PIPE)
        assert (daemon.returncode, daemon.stdout) == (0, b"%r" % bool(lines)), daemon
        found = b""
        with contextlib.suppress(BlockingIOError):
            found = os.read(told, 1000)
        assert found == lines, found
        compared += 1

print(f"{compared} compared")
