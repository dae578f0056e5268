"""Tells the executor what became of pipelines: lines of text into a pipe of its.

A line is written at once or not at all, and nothing waits for it: a pipe that is full or gone costs counts, no time."""

import os
import stat

# Why a pipeline is not compiled, beside the reasons of `firesteel_pyfunc`; the executor knows the same texts
# (`src/python/worker/compiled.rs`) and counts no others.
SOURCE = "records of another source"
WATCHED = "a profiler or tracer"
MEMORY = "no memory left"
NO_PAIRS = "tuples that are no pairs"
UNEXPECTED = "an unexpected structure"


class Executor:
    """The executor's pipe."""

    # Its path, if there is one.
    pipe = None

    @classmethod
    def compiled(cls, functions):
        """A pipeline of so many functions begins natively."""
        cls.tell(f"compiled {functions}")

    @classmethod
    def left_to_python(cls):
        """A pipeline that has begun natively goes on in the interpreter."""
        cls.tell("left to Python")

    @classmethod
    def not_simple(cls, reason):
        """A pipeline is the interpreter's."""
        cls.tell(f"not simple: {reason}")

    @classmethod
    def tell(cls, line):
        if cls.pipe is None:
            return
        try:
            pipe = os.open(cls.pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        try:
            # The executor is gone if it is something else.
            if stat.S_ISFIFO(os.fstat(pipe).st_mode):
                os.write(pipe, f"{line}\n".encode("ascii", "replace"))
        except OSError:
            pass
        finally:
            os.close(pipe)
