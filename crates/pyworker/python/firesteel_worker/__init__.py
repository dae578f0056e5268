"""Prepares an interpreter for PySpark's daemon and workers.

The modules, the protocol and what user code sees stay those of the Spark distribution. What is added never changes an answer;
where something here does not fit the interpreter or the distribution, it stays away."""

import runpy
import sys

from . import archives, collector


def prepare(module):
    """What to call with the module's name to run it as `python -m` does."""
    if "daemon" in module:
        collector.stand_in()
    archives.install()
    # The native module is for CPython's stable interface of 3.9.
    if sys.implementation.name == "cpython" and sys.version_info >= (3, 9):
        try:
            from . import loops
        except ImportError:  # Built for another machine.
            pass
        else:
            loops.install()
    return runpy._run_module_as_main
