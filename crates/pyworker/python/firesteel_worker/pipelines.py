"""Simple pipelines of users' functions, run by native code up to where their results are merged by key.

What PySpark has put together (`map`, `filter`, `chain` around a source of records) is looked through. If all functions
in it are simple and the source is one known here, `_native.Pipeline` does the whole. With the first record that is out
of the ordinary the rest is left to the iterators as they are, so that errors come from where they always come from."""

import gc
import inspect
import io
import itertools

from firesteel_pyfunc import NotSimple, compile_function
from pyspark import serializers

from . import _native, reports
from .callables import is_watched, own_function
from .reports import Executor

# Of the memory (MB) that may be used before values are spilled.
SHARE = 0.75
INT64 = range(-(2**63), 2**63)


class Counts:
    """What was done in this process, for tests: pipelines that began natively, and that were left to the interpreter
    before their end; why the last one did not begin."""

    began = left = 0
    reason = None


def inside(iterator):
    """What an iterator refers to, in the order of its C structure, without its type."""
    return [one for one in gc.get_referents(iterator) if one is not type(iterator)]


def look_through(iterator):
    """The source in an iterator, and the steps from it, innermost first: a kind and PySpark's function."""
    steps = []
    while True:
        kind = type(iterator)
        if kind is itertools.chain:
            # One that has begun has another iterator, too.
            (iterator,) = inside(iterator)
            if type(iterator) is not map:
                raise NotSimple(reports.SOURCE)
        if type(iterator) is map:
            (iterator,), function = inside(iterator)
            steps.append(("map" if kind is map else "flatmap", function))
        elif kind is filter:
            iterator, function = inside(iterator)
            steps.append(("filter", function))
        else:
            return iterator, steps[::-1]


def again(steps, iterator):
    """The iterator that PySpark makes of another source."""
    for kind, function in steps:
        if kind == "filter":
            iterator = filter(function, iterator)
        else:
            iterator = map(function, iterator)
            if kind == "flatmap":
                iterator = itertools.chain.from_iterable(iterator)
    return iterator


class Texts:
    """`UTF8Deserializer.load_stream` before its first text."""

    def __init__(self, generator):
        known = serializers.UTF8Deserializer
        if (
            generator.gi_code is not known.load_stream.__code__
            or inspect.getgeneratorstate(generator) != inspect.GEN_CREATED
        ):
            raise NotSimple(reports.SOURCE)
        self.generator, variables = generator, generator.gi_frame.f_locals
        self.deserializer, self.stream = variables["self"], variables["stream"]
        if type(self.deserializer) is not known or self.deserializer.use_unicode is not True:
            raise NotSimple(reports.SOURCE)
        if type(self.stream) not in (io.BufferedReader, io.BufferedRWPair):
            raise NotSimple(reports.SOURCE)

    def merge(self, pipeline):
        """Whether all was merged, and otherwise what is left of a record that has been read."""
        while True:
            state, rest = pipeline.texts(self.stream)
            if state == _native.EXHAUSTED:
                # Nobody may read on.
                self.generator.close()
            if state != _native.PAUSED:
                return state == _native.EXHAUSTED, rest and self.deserializer.load_stream(io.BytesIO(rest))

    def after(self, steps, iterator, rest):
        return itertools.chain(again(steps, rest), iterator) if rest else iterator


class Numbers:
    """The iterator of a range."""

    def __init__(self, iterator):
        _, (left,), *state = iterator.__reduce__()
        self.left = left[state[0] :] if state and state[0] else left
        if type(left) is not range or not all(
            edge in INT64 for edge in (self.left.start, self.left.stop, self.left.step)
        ):
            raise NotSimple(reports.SOURCE)

    def merge(self, pipeline):
        while True:
            left = self.left
            state, count = pipeline.numbers(left.start, left.step, len(left))
            self.left = left[count:]
            if state != _native.PAUSED:
                return state == _native.EXHAUSTED, None

    def after(self, steps, _iterator, _rest):
        return again(steps, iter(self.left))


def planned(iterator, create, merge, limit, used):
    """The source of an iterator, the steps from it, the native pipeline, and how many functions are in it."""
    if is_watched():
        raise NotSimple(reports.WATCHED)
    source, steps = look_through(iterator)
    if type(source) is type(iter(range(0))):
        source = Numbers(source)
    elif inspect.isgenerator(source):
        source = Texts(source)
    else:
        raise NotSimple(reports.SOURCE)
    compiled = [(kind, compile_function(own_function(function), 1)) for kind, function in steps]
    create, merge = compile_function(own_function(create), 1), compile_function(own_function(merge), 2)
    allowed = int((limit - used()) * SHARE * 2**20)
    if allowed <= 0:
        raise NotSimple(reports.MEMORY)
    try:
        pipeline = _native.Pipeline(compiled, create, merge, allowed)
    except TypeError:
        raise NotSimple(reports.NO_PAIRS) from None
    return source, steps, pipeline, len(compiled) + 2


def merge_ahead(iterator, create, merge, data, limit, used):
    """Merges what it can of an iterator's pairs into an empty dictionary, and returns an iterator of those that are
    left.

    `limit` is memory in MB, `used` says how much of it is used, as `pyspark.shuffle` counts it."""
    try:
        source, steps, pipeline, functions = planned(iterator, create, merge, limit, used)
    except Exception as error:  # PySpark's loop does it, and finds out what is wrong if anything is.
        Counts.reason = error.reason if isinstance(error, NotSimple) else reports.UNEXPECTED
        Executor.not_simple(Counts.reason)
        return iterator
    Counts.began += 1
    Executor.compiled(functions)
    done, rest = source.merge(pipeline)
    pipeline.drain(data)
    if done:
        return iter(())
    Counts.left += 1
    Executor.left_to_python()
    return source.after(steps, iterator, rest)
