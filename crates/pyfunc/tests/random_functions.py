"""Functions at random, compiled and called: prints for each a line of JSON with its source, its encoded
expression or why it has none, and what it returns for unusual arguments.

usage: random_functions.py DIRECTORY_OF_FIRESTEEL_PYFUNC SEED COUNT"""

import copy
import json
import math
import random
import resource
import struct
import sys
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from firesteel_pyfunc import NotSimple, compile_function  # noqa: E402

warnings.simplefilter("ignore", SyntaxWarning)
# Products of texts and large numbers raise an error.
resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
# Larger values (characters, elements) are no products of expressions.
LARGE = 100_000
source = random.Random(int(sys.argv[2]))
pick = source.choice

INTS = [0, 1, -1, 2, 3, 7, -7, 10, 255, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 0.5, -1.5, 1e300, 5e-324, float(2**53), 9007199254740993.0, math.inf, -math.inf, math.nan]
TEXTS = [
    "",
    " ",
    "a",
    "b",
    "ab",
    "a b",
    " a\tb ",
    "0",
    "-7",
    "1_000",
    " 12 ",
    "1e5",
    "nan",
    "ä",
    "ÄÖ",
    "ß",
    "İ",
    "\U0001f600",
    "a,b,c",
    ",",
    "\x1c",
    "\u2003x",
    "\0",
]
SINGLES = [*INTS, *FLOATS, *TEXTS, True, False, None]
KINDS = {"int": INTS, "float": FLOATS, "str": TEXTS, "bool": [True, False], "any": SINGLES}


def sequence(depth=2):
    """A list or tuple, which may have such in it."""
    inner = [
        sequence(depth - 1) if depth and source.random() < 0.2 else pick(SINGLES) for _ in range(source.randrange(5))
    ]
    return inner if source.random() < 0.5 else tuple(inner)


def argument(kind):
    if kind == "sequence" or source.random() < 0.05:
        return sequence()
    return pick(SINGLES if source.random() < 0.1 else KINDS[kind])


def constant(kind):
    found = sequence() if kind == "sequence" else pick(KINDS[kind])
    return (
        "0.25"
        if type(found) is float and not math.isfinite(found)
        else "None"
        if "nan" in repr(found) or "inf" in repr(found)
        else f"({found!r})"
    )


def expression(depth, kind, names):
    """An expression of variables, mostly of that kind."""
    if source.random() < 0.05:
        kind = pick(list(KINDS))
    if depth == 0 or source.random() < 0.1:
        fitting = [name for name, of in names if of == kind] or [name for name, _ in names]
        return pick(fitting) if source.random() < 0.7 else constant(kind)

    def inner(*kinds):
        return expression(depth - 1, pick(kinds), names)

    if source.random() < 0.15:
        return pick(
            [
                f"({inner(kind)} if {inner('bool')} else {inner(kind)})",
                f"({inner(kind)} {pick(['and', 'or'])} {inner(kind)})",
            ]
        )
    index = pick(["0", "-1", "1", "2", "9"])
    part = pick([index, "1:", ":2", "-3:-1", "5:2", ":", f"-{2**63}:{2**63 - 1}"])
    return {
        "int": lambda: pick(
            [
                f"({inner('int')} {pick(['+', '-', '*', '//', '%'])} {inner('int', 'int', 'bool')})",
                f"len({inner('str', 'sequence')})",
                f"abs({inner('int')})",
                f"(-{inner('int')})",
                f"int({inner('str', 'float', 'int', 'bool')})",
                f"{pick(['max', 'min'])}({inner('int')}, {inner('int', 'float')})",
            ]
        ),
        "float": lambda: pick(
            [
                f"({inner('int')} / {inner('int')})",
                f"({inner('int', 'float')} {pick(['+', '-', '*', '/'])} {inner('float')})",
                f"float({inner('str', 'float', 'int')})",
                f"(-{inner('float')})",
                f"abs({inner('float')})",
                f"{pick(['max', 'min'])}({inner('float')}, {inner('float')})",
            ]
        ),
        "str": lambda: pick(
            [
                f"({inner('str')} + {inner('str')})",
                f"{inner('str')}.{pick(['strip', 'lower', 'upper', 'lstrip', 'rstrip'])}()",
                f"{inner('str')}.{pick(['strip', 'lstrip', 'rstrip'])}({inner('str', 'any')})",
                f"str({inner('int', 'any')})",
                f"{inner('str')}.split({pick(['', repr(' '), 'None', inner('str')])})[{index}]",
                f"{inner('str')}.replace({inner('str')}, {inner('str')})",
                f"{inner('str')}[{part}]",
                pick(["f'{x}-{y}'", "f'{x!s}'"]),
            ]
        ),
        "bool": lambda: pick(
            [
                f"({inner('int', 'float')} {pick(['<', '<=', '>', '>=', '==', '!='])} {inner('int', 'float', 'any')})",
                f"({inner('any')} is {pick(['', 'not '])}None)",
                f"(not {inner('any', 'sequence')})",
                f"({inner('str')} {pick(['<', '==', '!=', 'in', 'not in'])} {inner('str')})",
                f"({inner('int', 'str')} {pick(['in', 'not in'])} {inner('sequence')})",
                f"{inner('str')}.{pick(['startswith', 'endswith'])}({inner('str')})",
                f"({inner('int')} < {inner('int')} <= {inner('float')})",
            ]
        ),
        "sequence": lambda: pick(
            [
                f"({inner('any')}, {inner('int')})",
                f"[{inner('any')}, {inner('str')}]",
                f"{inner('str')}.split({pick(['', repr(',')])})",
                f"({inner('sequence')} + {inner('sequence')})",
                f"{inner('sequence')}[{part}]",
                "()",
            ]
        ),
        "any": lambda: pick(
            [f"{inner('sequence')}[{index}]", inner("int", "float", "str", "bool", "sequence"), "None"]
        ),
    }[kind]()


def function():
    """The text of a function of two arguments, and the arguments' kinds."""
    kinds = [pick([*KINDS, "sequence"]) for _ in range(2)]
    names = list(zip("xy", kinds))
    lines = []
    for number in range(source.randrange(3)):
        kind = pick([*KINDS, "sequence"])
        shape = source.random()
        if shape < 0.5:
            lines.append(f"v{number} = {expression(2, kind, names)}")
            names.append((f"v{number}", kind))
        elif shape < 0.7:
            lines.append(f"if {expression(2, 'bool', names)}: return {expression(1, kind, names)}")
        elif shape < 0.85:
            lines.append(f"a{number}, b{number} = {expression(2, 'sequence', names)}")
            names += [(f"a{number}", "any"), (f"b{number}", "any")]
        else:
            changed, kind = pick(names)
            lines.append(f"{changed} {pick(['+=', '+=', '-=', '*=', '//=', '%='])} {expression(1, kind, names)}")
    # Variables that are not used are not simple.
    used = [name for name, _ in names[2:]]
    result = expression(source.randrange(1, 4), pick([*KINDS, "sequence"]), names)
    lines.append(f"return ({', '.join([result, *used])})" if used and source.random() < 0.8 else f"return {result}")
    return "def function(x, y):\n    " + "\n    ".join(lines), kinds


class Unencodable(Exception):
    pass


def encoded(value):
    """A value as `pyfunc::Value::decode` reads it."""
    kind = type(value)
    if kind in (str, list, tuple) and len(value) > LARGE:
        raise Unencodable
    if value is None or kind is bool or (kind is int and -(2**63) <= value < 2**63):
        return value
    if kind is float:
        return {"float": struct.pack(">d", value).hex()}
    if kind is str and not any("\ud800" <= one <= "\udfff" for one in value):
        return value
    if kind in (list, tuple):
        return {kind.__name__: [encoded(one) for one in value]}
    raise Unencodable


def case(called, arguments):
    given = copy.deepcopy(arguments)
    try:
        returned = {"value": encoded(called(*given))}
    except Unencodable:
        returned = {"other": True}
    except Exception as error:
        returned = {"raised": type(error).__name__}
    # An expression has no effects.
    if repr(given) != repr(arguments):
        returned = {"changed": True}
    return {"arguments": [encoded(one) for one in arguments], **returned}


def main():
    for _ in range(int(sys.argv[3])):
        text, kinds = function()
        found, scope = {"source": text}, {}
        exec(text, scope)
        called = scope["function"]
        try:
            found["expression"] = compile_function(called, 2)
        except NotSimple as error:
            found["reason"] = error.reason
        else:
            found["cases"] = [case(called, [argument(kind) for kind in kinds]) for _ in range(10)]
        print(json.dumps(found))


main()
