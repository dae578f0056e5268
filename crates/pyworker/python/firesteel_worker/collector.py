"""Cheap garbage collections between tasks.

PySpark's daemon collects garbage in every worker after every task. With all that a worker imports (PySpark, often pandas and
PyArrow) that takes tens of milliseconds: nearly all the time of a small task. Here objects that have survived a collection are
put aside, and looked at again when enough time has passed for that not to matter."""

import gc
import os
import sys
import time
import types

# A full collection may take one part in so many of a worker's time.
SHARE = 50
# Survivors of a collection that took longer than this (seconds) are put aside too.
QUICK = 0.001


class Collector:
    """The daemon's `gc.collect`."""

    def __init__(self):
        self.due = 0.0

    def collect(self, generation=2):
        """Collects, and returns the number of unreachable objects found, like the function it stands for."""
        started = time.monotonic()
        full = started >= self.due
        if full:
            gc.unfreeze()
        found = gc.collect(generation)
        ended = time.monotonic()
        if full:
            self.due = ended + SHARE * (ended - started)
        if full or ended - started > QUICK:
            gc.freeze()
        return found


def stand_in():
    """Gives modules imported from now on, in this process, a `gc` whose `collect` is ours; forked workers import the real one."""
    if not (hasattr(gc, "freeze") and hasattr(os, "register_at_fork")):
        return
    ours = types.ModuleType("gc", gc.__doc__)
    ours.__dict__.update(vars(gc))
    ours.collect = Collector().collect
    sys.modules["gc"] = ours
    os.register_at_fork(after_in_child=lambda: sys.modules.__setitem__("gc", gc))
