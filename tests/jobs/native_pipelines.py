"""Compares pipelines of simple functions, run by native code, with PySpark's own, in one interpreter: answers, order, what is left in the
stream, and tracebacks to the letter; and which of them native code has run.

usage: native_pipelines.py DIRECTORY_OF_FIRESTEEL_WORKER"""

import contextlib
import io
import itertools
import math
import operator
import os
import pickle
import random
import re
import socket
import struct
import sys
import tempfile
import threading
import traceback
import warnings

import pyspark.shuffle
from pyspark import cloudpickle
from pyspark.serializers import CPickleSerializer, UTF8Deserializer
from pyspark.shuffle import Aggregator, ExternalMerger
from pyspark.util import fail_on_stopiteration

own = ExternalMerger.mergeValues
sys.path.insert(0, sys.argv[1])
from firesteel_worker import loops  # noqa: E402

loops.shuffle(pyspark.shuffle)
native = ExternalMerger.mergeValues
assert own is not native
from firesteel_pyfunc import reasons  # noqa: E402
from firesteel_worker import reports  # noqa: E402
from firesteel_worker.pipelines import Counts  # noqa: E402

END = struct.pack("!i", -1)
BEHIND = b"what is behind the texts"
compared, spilled = 0, []


def frame(text):
    content = text if type(text) is bytes else text.encode("utf-8", "surrogatepass")
    return struct.pack("!i", len(content)) + content


def texts(lines, buffer=65536, end=END, use_unicode=True):
    """A source of texts as they come from an executor, and what is left of their stream."""
    content = b"".join(map(frame, lines)) + end + BEHIND

    def source():
        # Read in pieces, as from a socket.
        stream = io.BufferedReader(Pieces(content), buffer)
        return UTF8Deserializer(use_unicode).load_stream(stream), stream.read

    return source


class Pieces(io.RawIOBase):
    def __init__(self, content):
        self.content, self.source = memoryview(content), random.Random(5)

    def readable(self):
        return True

    def readinto(self, buffer):
        count = min(len(buffer), self.source.choice([1, 3, 10, 1000, 100_000]), len(self.content))
        buffer[:count], self.content = self.content[:count], self.content[count:]
        return count


def numbers(*edges):
    return lambda: (range(*edges), lambda: None)


def applied(iterator, steps):
    """What PySpark makes of `map`, `filter` and `flatMap`."""
    for kind, function in steps:
        function = fail_on_stopiteration(function)
        if kind == "filter":
            iterator = filter(function, iterator)
        else:
            iterator = map(function, iterator)
            if kind == "flatmap":
                iterator = itertools.chain.from_iterable(iterator)
    return iterator


def difference(one, other):
    at = len(os.path.commonprefix([one, other]))
    return f"...{one[max(at - 50, 0) : at + 500]}\nbut natively\n...{other[max(at - 50, 0) : at + 500]}"


def both(title, expected, source, steps, create=lambda v: v, merge=lambda a, b: a + b, limit=1 << 20, reason=None):
    """What PySpark gives or raises, the same natively. `expected`: whether native code has it `all`, `some` or `none` of
    it, and with `none` the reason."""
    global compared
    outcomes, Counts.reason = [], None
    for function in (own, native):
        before = (Counts.began, Counts.left)
        # Comes from the driver, pickled.
        aggregator = pickle.loads(cloudpickle.dumps(Aggregator(create, merge, merge)))
        merger = ExternalMerger(aggregator, limit, CPickleSerializer(), localdirs=[tempfile.mkdtemp()])
        merger._seed = 7
        iterator, behind = source()
        try:
            function(merger, applied(iterator, steps))
            outcomes.append(("returned", repr(list(merger.items())), repr(behind())))
        except Exception:
            outcomes.append(("raised", traceback.format_exc()))
    assert outcomes[0] == outcomes[1], f"{title}:\n{difference(*map(repr, outcomes))}"
    began, left = Counts.began - before[0], Counts.left - before[1]
    assert {(0, 0): "none", (1, 0): "all", (1, 1): "some"}[began, left] == expected, f"{title}: began {began}, left {left}"
    assert Counts.reason == reason, f"{title}: not compiled because of {Counts.reason}"
    compared += 1
    # How often depends on what else there is in memory.
    spilled[:] = [merger.spills]
    return outcomes[0]


def returns(*arguments, **more):
    outcome = both(*arguments, **more)
    assert outcome[0] == "returned", outcome
    return outcome


def raises(error, *arguments, **more):
    outcome = both(*arguments, **more)
    assert outcome[0] == "raised" and error in outcome[1], outcome
    return outcome


def one(word):
    return (word, 1)


def key_and_length(line):
    key, _, rest = line.split(",")
    length = len(rest)
    return key, length


def helped(number):
    return number % SEVEN, twice(number)


def twice(number):
    return number * 2


def generator(number):
    yield number


def endless(number):
    return endless(number)


def careless(number):
    unused = 1 // number
    return number, 1


def careful(number):
    ignore = lambda given: 1
    return number, ignore(1 // number)


def with_default(number, more=1):
    return number, more


def graded(row):
    key, _, rest = row.split(",")
    amount = float(rest)
    if amount < -400:
        return "low", 1
    elif key == "a" or key == "b" and amount > 0:
        return f"high {key}", 2
    key = key + "!"
    if not -100 < amount <= 100:
        return key, 3
    return ("none" if key is None else key), 4


def smallest(one, other):
    if other < one:
        return other
    return one


def looped(number):
    while number > 5:
        number = number - 1
    return number, 1


def looped_for(number):
    for one in (1, 2):
        number = number + one
    return number, 1


def careless_on_a_way(number):
    found = 1 // number
    return (found if number > 5 else 3), 1


def careful_on_a_way(number):
    choose = lambda condition, value: value if condition else 3
    return number, choose(number > 5, 1 // number)


def shared(row):
    parts = row.split(",")
    others = parts
    others += ["x"]
    return len(parts), len(others)


def added(row):
    number = 0.5
    text = row[0]
    text += "!"
    number += len(row)
    number *= 2
    return text, number


SEVEN = 7
outside = 3
counter = [0]
LETTERS, SIZES = {"a": "first", "b": "second"}, {15, 20, 23}
source = random.Random(2026)
words = ["", "a", "bb", "ä", "ß", "\U0001f600x", "ccc", " ", "the", "İ", "\x1c", "\u2003"]
lines = [" ".join(source.choices(words, k=source.randrange(12))) for _ in range(3000)]
rows = [f"{source.choice('abcd')},{source.randrange(1000)},{source.random() * 1000 - 500}" for _ in range(2000)]
split = ("flatmap", lambda line: line.split(" "))
count = ("map", lambda word: (word, 1))

# Simple pipelines, of texts of all sorts of lengths in buffers of all sorts of sizes.
for buffer in (1, 5, 64, 4096, 65536):
    returns(f"word count, buffers of {buffer}", "all", texts(lines, buffer), [split, count])
returns("long lines", "all", texts([" ".join(lines), "x" * 100_000, ""] * 3), [split, count])
returns("no lines", "all", texts([]), [split, count])
returns("words at white space", "all", texts(lines), [("flatmap", lambda line: line.split()), ("map", one)])
returns("words in small letters", "all", texts(lines), [("flatmap", lambda line: line.lower().split()), count])
returns("words in capitals", "all", texts(lines), [("flatmap", lambda line: line.strip().upper().split("S")), count])
returns("some words", "all", texts(lines), [split, ("filter", lambda word: word), ("filter", lambda word: "a" not in word), count])
returns("added by the operator module", "all", texts(lines), [split, count], merge=operator.add)
returns("largest", "all", texts(rows), [("map", lambda row: (row.split(",")[0], float(row.split(",")[2])))], merge=max)
returns("columns", "all", texts(rows), [("map", lambda row: row.split(",")), ("map", lambda row: (row[0], int(row[1]))), ("filter", lambda pair: pair[1] > 10)])
returns("sums of floats", "all", texts(rows), [("map", lambda row: (row.split(",")[0], float(row.split(",")[-1])))])
returns("averages", "all", texts(rows), [("map", lambda row: (row.split(",")[0], (int(row.split(",")[1]), 1)))], merge=lambda a, b: (a[0] + b[0], a[1] + b[1]))
returns("a function with variables", "all", texts(rows), [("map", key_and_length)])
returns("choices", "all", texts(rows), [("map", graded)])
returns("choices in merging", "all", texts(rows), [("map", lambda row: (row[0], row[-3:]))], merge=smallest)
returns("filters with and, or", "all", texts(rows), [("filter", lambda row: "1" in row and "2" in row or row.startswith("c")), ("map", lambda row: (row[0], 1))])
returns("slices of texts", "all", texts(lines), [("map", lambda line: (line[1:4] + "|" + line[-2:], line[:-7][-1:] + line[3:1]))], merge=max)
returns("slices of lists", "all", texts(rows), [("map", lambda row: (row.split(",")[0:1][0], len(row.split(",")[-2:])))])
returns("formatted keys", "all", texts(rows), [("map", lambda row: (f"{row[0]}-{len(row)}:{row[2]}", 1))])
returns("a default", "all", numbers(10), [("map", with_default)])
returns("a formatted number", "all", numbers(-50, 50), [("map", lambda i: (f"{i / 7:.1f}|{i:03d}", round(i / 3, 1) ** 2))])
returns("none or not", "all", numbers(100), [("map", lambda i: (None if i % 3 else i, i)), ("map", lambda pair: ("none" if pair[0] is None else "some" if pair[0] is not None else "?", pair[1]))])
returns("keys of two", "all", texts(rows), [("map", lambda row: row.split(",")), ("map", lambda row: ((row[0], len(row[1])), 1))])
returns("keys of all kinds", "all", texts(rows), [("flatmap", lambda row: [row.split(",")[1], int(row.split(",")[1]), None, (1, "1")]), count])
returns("by key", "all", texts(lines), [split, ("map", lambda word: (len(word), word)), ("map", lambda pair: (pair[0], 1))])
returns("longest texts", "all", texts(lines), [split, ("map", lambda word: (len(word), word))], merge=lambda a, b: max(a, b))
returns("smallest numbers", "all", numbers(-500, 700), [("map", lambda i: (i % 7, i * i))], merge=min)
returns("sums", "all", numbers(100_000), [("map", lambda i: (i % 1003, i))])
returns("a range with steps", "all", numbers(1000, -777, -3), [("map", lambda i: (i % -7, i // -4))])
returns("an empty range", "all", numbers(0), [("map", lambda i: (i, i))])
returns("a range at the end of numbers", "all", numbers(2**63 - 5, 2**63 - 1), [("map", lambda i: (i, 1))])
returns("quotients", "all", numbers(1, 3000), [("map", lambda i: (i % 10, i / 7))])
returns("functions of functions", "all", numbers(5000), [("map", helped)])
returns("variables from outside", "all", numbers(5000), [("map", (lambda n, f: lambda i: (i % n + outside, f(i)))(7, twice))])
returns("keyBy and mapValues", "all", numbers(500), [("map", (lambda f: lambda x: (f(x), x))(lambda x: x % 3)), ("map", (lambda f: lambda kv: (kv[0], f(kv[1])))(lambda x: x * 2))])
returns("negative, abs and not", "all", numbers(-50, 50), [("filter", lambda i: not i == 5), ("map", lambda i: (abs(i), -i))])
returns("a value made of the first", "all", numbers(500), [("map", lambda i: (i % 9, i))], create=lambda v: (v, 1), merge=lambda c, v: (c[0] + v, c[1] + 1))
returns("a wrapper from the driver", "all", numbers(500), [("map", pickle.loads(cloudpickle.dumps(fail_on_stopiteration(lambda i: (i % 9, i)))))])

returns("numbers and texts that are changed", "all", texts(rows), [("map", added)])
# Lists are not copied by `+=`.
returns("look-ups", "all", texts(rows), [("map", lambda row: (LETTERS.get(row[:1], "other"), len(row) in SIZES))], create=int)
changed = returns("lists that are changed", "some", texts(rows), [("map", shared)])
assert "[(4, 8000)]" in changed[1], changed

# Characters, all below 0x3100 and some of the others: white space, letters of both kinds.
characters = [chr(code) for code in [*range(0x3100), *range(0x3100, 0xD800, 97), *range(0xE000, 0x110000, 997)]]
returns("characters between texts", "all", texts(f"a{one}b" for one in characters), [("map", lambda line: (line.split()[0], 1))])
returns("characters around texts", "all", texts(f"{one}b{one}" for one in characters), [("map", lambda line: (line.strip(), line.lstrip() + line.rstrip()))], merge=lambda a, b: b)
returns("letters", "all", texts(characters), [("map", lambda line: (line.lower(), line.upper()))], merge=lambda a, b: b)

# What is out of the ordinary is the interpreter's, and so is everything after it.
more = lines[:100]
big = numbers(2**62, 2**62 + 10)
for at, buffer in itertools.product((0, 7, 99, 100), (1, 64, 65536)):
    def with_line(line, at=at, buffer=buffer):
        return texts(more[:at] + [line] + more[at:], buffer)

    where = f"{at}, buffers of {buffer}"
    raises("UnicodeDecodeError", f"broken text {where}", "some", with_line(b"a \xff b"), [split, count])
    raises("UnicodeDecodeError", f"half a character {where}", "some", with_line("a \ud800 b"), [split, count])
    returns(f"a text that is none {where}", "some", texts(more[:at], buffer, END[:0] + struct.pack("!i", -5) + END), [("map", lambda line: (line, 1))])
    raises("IndexError", f"missing pieces {where}", "some", with_line("x"), [("filter", lambda line: "x" in line), ("map", lambda line: (line.split("x")[2], 1))])
    raises("ValueError", f"no number {where}", "some", with_line("xx"), [("filter", lambda line: "x" in line), ("map", lambda line: (int(line), 1))])
    raises("not enough values", f"too few to unpack {where}", "some", with_line("x,"), [("filter", lambda line: "x," in line), ("map", key_and_length)])
    returns(f"the middle of a line {where}", "some", with_line("4 5 9223372036854775807 6"), [split, ("filter", lambda word: word in ("4", "5", "6", str(2**63 - 1))), ("map", lambda word: (1, int(word)))])
    returns(f"the stream breaks off {where}", "some", texts(more[:at], buffer, b"\0\0"), [split, count])
    returns(f"the stream breaks off in a text {where}", "some", texts(more[:at], buffer, struct.pack("!i", 1000) + b"a b a"), [split, count])
returns("larger than numbers of processors", "some", big, [("map", lambda i: (i % 2, i))])
returns("larger products", "some", numbers(2**31, 2**33, 2**29), [("map", lambda i: (i % 2, i * i))])
raises("ZeroDivisionError", "division by zero", "some", numbers(-5, 5), [("map", lambda i: (i, 10 // i))])
raises("ZeroDivisionError", "remainder of zero", "some", numbers(-5, 5), [("map", lambda i: (i, 10 % i))])
raises("ZeroDivisionError", "quotient of zero", "some", numbers(-5, 5), [("map", lambda i: (i, 10 / i))])
raises("unhashable", "lists as keys", "some", numbers(5), [("map", lambda i: ([i], 1))])
returns("floats as keys", "some", numbers(-5, 5), [("map", lambda i: (i / 2, i))])
returns("truths as keys", "some", numbers(5), [("map", lambda i: (i > 2, i))])
returns("the same key of several types", "some", numbers(3), [("flatmap", lambda i: [i, i > 0, i * 1.0]), count])
raises("unsupported operand", "values that do not add up", "some", numbers(9), [("map", lambda i: (i % 2, None))])
raises("unsupported operand", "texts and numbers", "some", texts(rows), [("flatmap", lambda row: [(row.split(",")[0], 1), (row.split(",")[0], row)])])
returns("texts that grow", "some", texts(rows), [("map", lambda row: (row.split(",")[0], row))])
returns("lists that grow", "some", texts(rows), [("map", lambda row: (row.split(",")[0], [row]))])
returns("values that nest", "some", numbers(60), [("map", lambda i: (i % 2, i))], merge=lambda a, b: (a, b))
returns("spilled", "none", numbers(10_000), [("map", lambda i: (i, i))], limit=0.001, reason=reports.MEMORY)
assert spilled[0] > 0

# What is not simple.
NOT_SIMPLE = {
    "a loop": (reasons.LOOP, looped),
    "a loop that may end": (reasons.LOOP, looped_for),
    "a result that is used on one way only": (reasons.UNUSED, careless_on_a_way),
    "an argument that is used on one way only": (reasons.INNER_FUNCTION, careful_on_a_way),
    "an escaped representation": (reasons.OPERATION, lambda i: (f"{i!a}", 1)),
    "identity": (reasons.OPERATION, lambda i: (i is i, 1)),
    "a comprehension with a condition": (reasons.INNER_FUNCTION, lambda i: (tuple(x for x in (1, 2) if x), 1)),
    "a comprehension": (reasons.INNER_FUNCTION, lambda i: (sum(x for x in range(i)), 1)),
    "effects": (reasons.ATTRIBUTE, lambda i: (counter.append(i), 1)),
    "an unknown method": (reasons.ATTRIBUTE, lambda i: (i.bit_length(), 1)),
    "an unknown function": (reasons.CALLABLE, lambda i: (math.hypot(i, i), 1)),
    "text as index": (reasons.OPERATION, lambda i: ({"a": i}["a"], i)),
    "endless calls": (reasons.SIZE, endless),
    "a result that is not used": (reasons.UNUSED, careless),
    "an argument that is not used": (reasons.INNER_FUNCTION, careful),
    "any number of arguments": (reasons.ARGUMENTS, lambda *i: (i[0], 1)),
    "named arguments": (reasons.ARGUMENTS, lambda i: (str(object=i), 1)),
    "a product of matrices": (reasons.OPERATION, lambda i: (i @ i, 1)),
    "a set of bytes": (reasons.CONSTANT, lambda i: (i in {b"1", b"2"}, 1)),
    "a partial function": (reasons.CALLABLE, operator.itemgetter(0)),
    "large": (reasons.SIZE, lambda i: (i, i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i
                        + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i
                        + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i
                        + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i
                        + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i)),
    "a generator": (reasons.GENERATOR, generator),
    "a builtin function": (reasons.CALLABLE, lambda i: (hash(i), 1)),
    "an object": (reasons.OBJECT, lambda i: (counter, 1)),
    "a name that is not there": (reasons.OBJECT, lambda i: (not_there, i)),  # noqa: F821
    "a number of more bits": (reasons.CONSTANT, lambda i: (i, 2**63)),
    "a surrogate": (reasons.CONSTANT, lambda i: (i, "\ud800")),
    "too many separators": (reasons.ARGUMENTS, lambda i: (str(i).split("a", 1, 2), i)),
}  # fmt: skip
for title, (reason, function) in NOT_SIMPLE.items():
    # The depth of calls is not the same for that one.
    both(title, "none", numbers(0 if function is endless else 10), [("map", function)], reason=reason)
both("no pairs at all", "some", numbers(3), [("map", lambda i: i)])
both("not a pair", "none", numbers(3), [("map", lambda i: (i, i, i))], reason=reports.NO_PAIRS)
both("bytes", "none", texts(lines, use_unicode=False), [("map", lambda line: (line, 1))], reason=reports.SOURCE)
both("another source", "none", lambda: (iter(lines), lambda: None), [split, count], reason=reports.SOURCE)
both("a text has been read", "none", lambda: (lambda iterator: (next(iterator), (iterator, lambda: None))[1])(texts(lines)()[0]), [split, count], reason=reports.SOURCE)
both("a merging that is not simple", "none", numbers(10), [("map", lambda i: (i % 2, [i]))], merge=lambda a, b: a.extend(b) or a, reason=reasons.ATTRIBUTE)
both("another len", "none", texts(lines), [("map", eval("lambda line: (len(line), 1)", {"len": lambda _: os.getpid()}))], reason=reasons.ATTRIBUTE)
both("another simple len", "all", texts(rows), [("map", eval("lambda line: (len(line), 1)", {"len": lambda found: found + found}))])
both("another builtin len", "all", texts(rows), [("map", eval("lambda line: (len(line), 1)", {"__builtins__": {"len": lambda found: found + "!"}}))])
both("no builtin len", "none", texts([]), [("map", eval("lambda line: (len(line), 1)", {"__builtins__": {}}))], reason=reasons.OBJECT)
sys.setprofile(lambda *_: None)
both("somebody watches", "none", numbers(10), [("map", lambda i: (i % 2, i))], reason=reports.WATCHED)
sys.setprofile(None)

# What the executor is told.
told, executors = os.pipe()
reports.Executor.pipe = f"/proc/{os.getpid()}/fd/{executors}"
both("what is told of a pipeline", "all", numbers(10), [("map", lambda i: (i % 2, i))])
both("what is told of one that is left", "some", numbers(3), [("map", lambda i: i)])
both("what is told of one that is not simple", "none", numbers(3), [("map", looped)], reason=reasons.LOOP)
assert os.read(told, 1000) == b"compiled 3\ncompiled 3\nleft to Python\nnot simple: a loop\n"
# A pipe that is full or closed, or none, is no error.
os.set_blocking(executors, False)
with contextlib.suppress(BlockingIOError):
    while os.write(executors, b"x" * 4096):
        pass
both("a full pipe", "all", numbers(10), [("map", lambda i: (i % 2, i))])
assert b"compiled" not in os.read(told, 1 << 20)
os.close(executors)
both("a closed pipe", "all", numbers(10), [("map", lambda i: (i % 2, i))])
with tempfile.NamedTemporaryFile() as none:
    reports.Executor.pipe = none.name
    both("no pipe", "all", numbers(10), [("map", lambda i: (i % 2, i))])
    assert os.path.getsize(none.name) == 0
reports.Executor.pipe = None

# More than there is memory for: PySpark's loop goes on, and spills.
before = (Counts.began, Counts.left)
merger = ExternalMerger(Aggregator(lambda v: v, max, max), pyspark.shuffle.get_used_memory() + 15, CPickleSerializer(), localdirs=[tempfile.mkdtemp()])
merger.mergeValues(applied(range(300_000), [("map", lambda i: (i, i))]))
assert merger.spills > 0 and (Counts.began, Counts.left) == (before[0] + 1, before[1] + 1)
assert sorted(merger.items()) == [(i, i) for i in range(300_000)]
compared += 1

# A socket, as workers have it.
here, there = socket.socketpair()
file = here.makefile("rwb", 65536)
content = b"".join(map(frame, lines)) + END
for function in (own, native):
    sender = threading.Thread(target=there.sendall, args=(content + b"next",))
    sender.start()
    merger = ExternalMerger(Aggregator(lambda v: v, lambda a, b: a + b, lambda a, b: a + b), 1 << 20, CPickleSerializer(), localdirs=[tempfile.mkdtemp()])
    before = Counts.began
    function(merger, applied(UTF8Deserializer().load_stream(file), [split, count]))
    found = list(merger.items())
    assert file.read(4) == b"next"
    sender.join()
    if function is own:
        expected = found
assert found == expected and Counts.began == before + 1
compared += 1


def random_expression(depth, kind):
    """An expression of x, mostly of that kind."""
    inner = lambda kind: random_expression(depth - 1, kind)
    pick = source.choice
    if depth == 0 or source.random() < 0.1:
        return {"int": pick(["x", "x", "number", "3", "(-2)", "0", "1000003"]), "float": pick(["real", "0.5", "1e300", "(-0.0)"]), "str": pick(["str(x)", "text", "'a b'", "'0'", "''", "'-7'"]), "bool": pick(["x > 3", "True"])}[kind]
    if source.random() < 0.04:
        kind = pick(["int", "float", "str", "bool"])
    if source.random() < 0.15:
        return pick([f"({inner(kind)} if {inner('bool')} else {inner(kind)})", f"({inner(kind)} {pick(['and', 'or'])} {inner(kind)})"])
    if kind == "int":
        return pick([f"({inner('int')} {pick(['+', '-', '*', '//', '%'])} {inner('int')})", f"len({inner('str')})", f"abs({inner('int')})", f"(-{inner('int')})",
                     f"int({inner(pick(['str', 'float', 'int']))})", f"{pick(['max', 'min'])}({inner('int')}, {inner('int')})", f"({inner('int')}, {inner('str')})[0]"])  # fmt: skip
    if kind == "float":
        return pick([f"({inner('int')} / {inner('int')})", f"({inner(pick(['int', 'float']))} {pick(['+', '-', '*', '/'])} {inner('float')})", f"float({inner(pick(['str', 'float', 'int']))})", f"(-{inner('float')})"])
    if kind == "str":
        return pick([f"({inner('str')} + {inner('str')})", f"{inner('str')}.{pick(['strip', 'lower', 'upper', 'lstrip', 'rstrip'])}()", f"{inner('str')}.strip({inner('str')})", f"str({inner('int')})",
                     f"{inner('str')}.split({pick(['', repr(' '), repr('0'), inner('str')])})[{pick([0, 0, -1, 1])}]", f"{inner('str')}.replace('0', {inner('str')})",
                     f"{inner('str')}[{pick(['0', '-1', '1:', ':2', '-3:-1', '5:2', ':'])}]", pick(["f'{x}-{x % 3}'", "f'{number}{text}'"])])  # fmt: skip
    return pick([f"({inner('int')} {pick(['<', '<=', '=='])} {inner('int')} < {inner('int')})", f"({inner(pick(['int', 'str']))} is {pick(['', 'not '])}None)",
                 f"({inner('int')} {pick(['<', '<=', '>', '>=', '==', '!='])} {inner(pick(['int', 'int', 'float']))})", f"({inner('str')} {pick(['<', '==', '!=', 'in', 'not in'])} {inner('str')})",
                 f"(not {inner(pick(['int', 'float', 'str', 'bool']))})", f"{inner('str')}.{pick(['startswith', 'endswith'])}({inner('str')})"])  # fmt: skip


def outcome_of(function, merger, iterator):
    try:
        function(merger, iterator)
        return "returned", repr(list(merger.items()))
    except Exception:
        return "raised", traceback.format_exc()


def random_function():
    """The text of a function of x that gives a pair."""
    pair = f"(x % 5, {random_expression(source.randrange(1, 5), source.choice(['int', 'float', 'str', 'bool']))})"
    values = {"number": ("int", "x"), "real": ("float", "0.5"), "text": ("str", "str(x)")}
    without = lambda made: re.sub("number|real|text", lambda found: values[found[0]][1], made)
    # Variables that are not used are not simple.
    used = [name for name in values if re.search(rf"\b{name}\b", pair)]
    # The values of variables do not use variables.
    made = {name: without(random_expression(source.randrange(3), values[name][0])) for name in used}
    steps = [f"{name} = {made[name]}" for name in used]
    if source.random() < 0.3:
        steps.insert(0, f"if {without(random_expression(1, 'bool'))}: return (-1, x)")
    if len(used) > 1 and source.random() < 0.3:
        steps[-len(used) :] = [f"{', '.join(used)} = {', '.join(made.values())}"]
    return "def function(x):\n    " + "\n    ".join([*steps, f"return {pair}"])


# Functions at random: mostly they have values for all numbers, or for some.
warnings.simplefilter("ignore", SyntaxWarning)
tried = {"all": 0, "some": 0, "none": 0}
for _ in range(1500):
    text, found = random_function(), {}
    merge = re.sub(r"\b(x|number|real|text)\b", lambda _: source.choice("ab"), f"({random_expression(2, 'int')})") if source.random() < 0.3 else "b"
    # Otherwise numbers may grow without end.
    text += f"\nmerge = lambda a, b: {merge}" + (" % 10007" if merge != "b" else "")
    exec(text, {}, found)
    outcomes = []
    for merge_values in (own, native):
        before = (Counts.began, Counts.left)
        merger = ExternalMerger(Aggregator(lambda v: v, found["merge"], found["merge"]), 1 << 20, CPickleSerializer(), localdirs=[os.devnull])
        outcomes.append(outcome_of(merge_values, merger, applied(range(-9, 40), [("map", found["function"])])))
    assert outcomes[0] == outcomes[1], f"{text}:\n{difference(*map(repr, outcomes))}"
    tried[{(0, 0): "none", (1, 0): "all", (1, 1): "some"}[Counts.began - before[0], Counts.left - before[1]]] += 1
assert tried["some"] > 200 and tried["all"] > 400, tried

print(f"{compared} compared")
