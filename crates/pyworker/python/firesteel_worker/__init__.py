"""Prepares an interpreter for PySpark's daemon and workers.

The modules, the protocol and what user code sees stay those of the Spark distribution. What is added never changes an answer;
where something here does not fit the interpreter, it stays away."""

import runpy

from . import collector


def prepare(module):
    """What to call with the module's name to run it as `python -m` does."""
    if "daemon" in module:
        collector.stand_in()
    return runpy._run_module_as_main
