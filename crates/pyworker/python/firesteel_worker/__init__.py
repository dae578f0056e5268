"""Prepares an interpreter for PySpark's daemon and workers.

The modules, the protocol and what user code sees stay those of the Spark distribution. What is added never changes an
answer; where something here does not fit the interpreter or the distribution, it stays away."""

import contextlib
import os
import runpy
import sys

from . import archives, collector, reports

# It is beside this package, where nothing is looked for any more when pipelines need it. Without it there are none.
with contextlib.suppress(ImportError):
    import firesteel_pyfunc  # noqa: F401

# Environment variables of the executor's, which user code does not see: whether pipelines of simple functions are
# compiled, and the path of the pipe for what became of them.
COMPILE = "FIRESTEEL_PYTHON_COMPILE"
REPORTS = "FIRESTEEL_PYTHON_REPORTS"


def prepare(module):
    """What to call with the module's name to run it as `python -m` does."""
    if "daemon" in module:
        collector.stand_in()
    archives.install()
    compiles = os.environ.pop(COMPILE, "true") == "true"
    reports.Executor.pipe = os.environ.pop(REPORTS, None)
    # The native module is for CPython's stable interface of 3.9.
    if sys.implementation.name == "cpython" and sys.version_info >= (3, 9):
        try:
            from . import loops
        except ImportError:  # Built for another machine.
            pass
        else:
            loops.install(compiles)
    return runpy._run_module_as_main
