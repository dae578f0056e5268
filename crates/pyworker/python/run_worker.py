"""Runs a module of PySpark's workers (`pyspark.daemon`, `pyspark.worker`, or what the settings name instead) as
`python -m MODULE ARGUMENTS` would, after the package beside this file has prepared the interpreter.

What is imported here must not stay in the namespace: it becomes the module's own, as with `-m`."""

import os.path
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import firesteel_worker  # noqa: E402

del sys.path[0]
del sys.argv[0]
# With `-m`, modules are looked for in the working directory first, not where the program's file is.
if not getattr(sys.flags, "safe_path", False):
    sys.path[0] = os.getcwd()
run = firesteel_worker.prepare(sys.argv[0])
module = sys.argv[0]
del os, sys, firesteel_worker
globals().pop("run")(globals().pop("module"))
