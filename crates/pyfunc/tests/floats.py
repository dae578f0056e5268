"""Floats at random and what CPython makes of them: lines of an operation, the number of its arguments, these, and its
value, with a space between two. Floats are their 64 bits in hexadecimal digits with an `f` in front, other values are
as they are written; what raises an error has no value. Before them is a line of JSON with how few and how many
arguments operations have.

usage: floats.py DIRECTORY_OF_FIRESTEEL_PYFUNC SEED COUNT"""

import json
import math
import operator
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from firesteel_pyfunc import known  # noqa: E402

source = random.Random(int(sys.argv[2]))
FORMATS = [".0f", ".1f", ".2f", ".3f", ".10f", "f", ".2%", "e", ".0e", ".3e", "g", ".3g", ".15g", ",.2f", ",", "+",
           "010.3f"]  # fmt: skip
ONE = {"math." + name: getattr(math, name) for name, (fewest, _) in known.MATH.items() if fewest == 1}
TWO = {"math." + name: getattr(math, name) for name in ("log", "pow", "atan2", "fmod", "copysign")}
OPERATORS = {"**": operator.pow, "//": operator.floordiv, "%": operator.mod, "<": operator.lt, "==": operator.eq}


def random_float():
    shape = source.randrange(6)
    if shape == 0:
        return struct.unpack("<d", source.randbytes(8) if hasattr(source, "randbytes") else bytes(8))[0]
    if shape == 1:
        return source.uniform(-1, 1)
    if shape == 2:
        # Among them are those in the middle between two decimal numbers.
        return source.randrange(-(2**20), 2**20) / 2 ** source.randrange(12)
    if shape == 3:
        return round(source.uniform(-1000, 1000), source.randrange(6))
    if shape == 4:
        return math.ldexp(1, source.randrange(-1074, 1024)) * source.choice([1, -1])
    return source.uniform(-1, 1) * 10.0 ** source.randrange(-20, 25)


def random_int():
    return source.randrange(-(2**63), 2**63) >> source.randrange(64)


def written(value):
    return "f" + struct.pack(">d", value).hex() if type(value) is float else str(value)


def line(name, function, *arguments):
    try:
        value = function(*arguments)
    except (ArithmeticError, ValueError):
        value = None
    # Powers may be complex numbers.
    found = [] if type(value) is complex or value is None else [written(value)]
    print(name, len(arguments), *map(written, arguments), *found)


print(json.dumps(known.COUNTS))
for _ in range(int(sys.argv[3])):
    one, other = random_float(), random_float()
    for name, function in ONE.items():
        line(name, function, one)
    for name, function in TWO.items():
        line(name, function, one, other)
    for name, function in OPERATORS.items():
        line(name, function, one, other)
        line(name, function, one, float(source.randrange(-5, 6)))
    line("repr", repr, one)
    line("round", round, one, source.randrange(-5, 20))
    line("round", round, one * 10 ** source.randrange(-3, 8), source.randrange(4))
    line("round", round, random_int(), source.randrange(-19, 2))
    line("format", format, one, source.choice(FORMATS))
    line("/", operator.truediv, random_int(), random_int())
    # Integers beside floats that are near.
    number = random_int()
    near = math.nextafter(float(number), source.choice([-1e300, 1e300])) if source.random() < 0.5 else float(number)
    line("<", operator.lt, number, near)
    line("==", operator.eq, near, number)
