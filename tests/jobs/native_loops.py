"""Compares PySpark's own loops with their native companions, in one interpreter: answers, order, spills, and tracebacks to the letter.

usage: native_loops.py DIRECTORY_OF_FIRESTEEL_WORKER"""

import math
import operator
import random
import sys
import tempfile
import traceback

import pyspark.shuffle
from pyspark.serializers import CPickleSerializer
from pyspark.shuffle import Aggregator, ExternalGroupBy, ExternalMerger

LOOPS = [(ExternalMerger, "mergeValues"), (ExternalMerger, "mergeCombiners")]
own = [vars(owner)[name] for owner, name in LOOPS]

sys.path.insert(0, sys.argv[1])
from firesteel_worker import loops  # noqa: E402

loops.shuffle(pyspark.shuffle)
native = [vars(owner)[name] for owner, name in LOOPS]
for before, after in zip(own, native):
    assert before is not after, f"{before.__qualname__} is still PySpark's"
    assert (before.__qualname__, before.__doc__, before.__defaults__) == (after.__qualname__, after.__doc__, after.__defaults__)
    assert before.__code__.co_filename == after.__code__.co_filename
    assert before.__code__.co_firstlineno == after.__code__.co_firstlineno


def use(functions):
    for (owner, name), function in zip(LOOPS, functions):
        setattr(owner, name, function)


compared = 0


def both(title, attempt):
    """What `attempt` gives or raises, the same with either loops."""
    global compared
    found = []
    for functions in (own, native):
        use(functions)
        try:
            found.append(("returned", attempt()))
        except BaseException:
            found.append(("raised", traceback.format_exc()))
    assert repr(found[0]) == repr(found[1]), f"{title}:\n{found[0][0]} {found[0][1]}\nbut natively\n{found[1][0]} {found[1][1]}"
    compared += 1
    return found[0]


def merger(aggregator, limit=1 << 20, batch=7, kind=ExternalMerger):
    made = kind(aggregator, limit, CPickleSerializer(), localdirs=[tempfile.mkdtemp()], batch=batch)
    # Otherwise its own address.
    made._seed = 7
    return made


def merged(method, aggregator, pairs, limit=1 << 20, batch=7, kind=ExternalMerger, **more):
    def attempt():
        made = merger(aggregator, limit, batch, kind)
        getattr(made, method)(pairs(), **more)
        found = list(made.items())
        return made.spills, list(made.data), [(key, list(value) if kind is ExternalGroupBy else value) for key, value in found]

    return attempt


source = random.Random(2026)
adding = Aggregator(lambda v: v, operator.add, operator.add)
lambdas = Aggregator(lambda v: [v], lambda c, v: c + [v], lambda a, b: a + b)
KEYS = {
    "ints": lambda: source.randrange(50),
    "texts": lambda: source.choice(["", "a", "b", "ä" * source.randrange(4), "\U0001f600"]),
    "floats": lambda: source.choice([0.0, -0.0, 1.5, math.inf, float(source.randrange(9))]),
    "mixed": lambda: source.choice([1, 1.0, True, "1", (1, "a"), None, frozenset([2]), b"1"]),
}
for title, key in KEYS.items():
    pairs = [(key(), source.randrange(1000)) for _ in range(3000)]
    lists = [(k, [v]) for k, v in pairs]
    for limit in (1 << 20, 0.001):
        assert both(f"{title} added", merged("mergeValues", adding, lambda: iter(pairs), limit))[0] == "returned"
        both(f"{title} listed", merged("mergeValues", lambdas, lambda: pairs, limit))
        both(f"{title} combined", merged("mergeCombiners", lambdas, lambda: iter(lists), limit))
        both(f"{title} grouped", merged("mergeCombiners", lambdas, lambda: iter(lists), limit, kind=ExternalGroupBy))
    both(f"{title} without a limit", merged("mergeCombiners", lambdas, lambda: iter(lists), limit=0))
    both(f"{title} with no limit for once", merged("mergeCombiners", adding, lambda: iter(pairs), **{"batch": 3}))

# More than one turn of the native loop, and batches that grow.
many = [(i % 1003, i) for i in range(60_000)]
both("many", merged("mergeValues", adding, lambda: iter(many), batch=1000))
spilled = both("many spilled", merged("mergeValues", adding, lambda: iter(many), limit=0.001, batch=1000))
assert spilled[1][0] > 0, "nothing was spilled"


def stops_at(n, error):
    for i in range(n):
        yield i % 5, i
    raise error


class Key:
    """A key that fails when it is looked at for the n-th time."""

    def __init__(self, hashes=10**9, compares=10**9):
        self.hashes, self.compares = hashes, compares

    def __hash__(self):
        self.hashes -= 1
        if self.hashes < 0:
            raise KeyError("no hash")
        return 1

    def __eq__(self, other):
        self.compares -= 1
        if self.compares < 0:
            raise ArithmeticError("not comparable")
        return self is other

    def __repr__(self):
        return "Key"


class Sized(ExternalMerger):
    def _object_size(self, v):
        return 1 // (v - 500)


def fails(c, v=0):
    if v == 77:
        raise RuntimeError(f"no {v}")
    return c


class Pair(tuple):
    pass


def nested(_, v):
    return {}["missing"] if v == 30 else v


failing = Aggregator(fails, fails, fails)
UNUSUAL = {
    "an iterator that raises": lambda: stops_at(20, ValueError("enough")),
    "an iterator that ends the program": lambda: stops_at(9, SystemExit(3)),
    "an iterator that is interrupted": lambda: stops_at(9, KeyboardInterrupt()),
    "one element": lambda: iter([(1, 2), (1,), (2, 3)]),
    "three elements": lambda: iter([(1, 2), (1, 2, 3)]),
    "no sequence": lambda: iter([(1, 2), 5]),
    "none": lambda: iter([None]),
    "lists, texts and kinds of tuples": lambda: iter([[1, 2], Pair((1, 3)), (1, 4), {5: 0, 6: 0}.keys()]),
    "an unhashable key": lambda: iter([(1, 2), ([], 3)]),
    "a key whose hash fails": lambda: iter([(1, 2), (Key(hashes=0), 3)]),
    "a key that cannot be compared": lambda: iter([(Key(compares=0), 2), (Key(compares=0), 3)]),
    "no iterator": lambda: 5,
    "nothing": lambda: iter([]),
}
for method in ("mergeValues", "mergeCombiners"):
    for title, pairs in UNUSUAL.items():
        for batch in (1, 2, 1000):
            both(f"{method}: {title}", merged(method, adding, pairs, batch=batch))
    both(f"{method}: values that do not add up", merged(method, adding, lambda: iter([(1, 2), (1, "a")])))
    both(f"{method}: a function that raises", merged(method, failing, lambda: ((i % 10, i) for i in range(100))))
    both(f"{method}: a function that raises deep down", merged(method, Aggregator(str, nested, nested), lambda: ((0, i) for i in range(99))))
    both(f"{method}: sizes that fail", merged(method, adding, lambda: ((i, i) for i in range(990)), kind=Sized))
both("a creator that raises", merged("mergeValues", Aggregator(lambda v: 1 // (v - 3), operator.add, operator.add), lambda: ((i, i) for i in range(9))))

print(f"{compared} compared")
