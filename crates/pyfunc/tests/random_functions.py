"""Functions at random, compiled and called: prints for each a line of JSON with its source, its encoded
expression or why it has none, and what it returns for unusual arguments.

usage: random_functions.py DIRECTORY_OF_FIRESTEEL_PYFUNC SEED COUNT"""

import copy
import json
import math
import random
import re
import resource
import signal
import struct
import sys
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from firesteel_pyfunc import NotSimple, compile_function  # noqa: E402

warnings.simplefilter("ignore", SyntaxWarning)
# Products of texts and large numbers raise an error.
resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
# Larger values (characters, elements) are not printed.
LARGE = 100_000
source = random.Random(int(sys.argv[2]))
pick = source.choice

INTS = [0, 1, -1, 2, 3, 7, -7, 10, 255, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [
    0.0, -0.0, 0.5, -1.5, 2.5, 0.125, 2.675, -7.0, 1e300, 1e308, 5e-324, 1e16, 123456.789, -1e-5, float(2**53),
    9007199254740993.0, math.inf, -math.inf, math.nan,
]  # fmt: skip
TEXTS = [
    "", " ", "a", "b", "ab", "a b", " a\tb ", "0", "-7", "1_000", " 12 ", "1e5", "nan", "ä", "ÄÖ", "ß", "İ", "²",
    "e\u0301", "\U0001f600", "a,b,c", ",", ",a,,b,", "\x1c", "\u2003x", "\0", "it's A", "aaa", "ABC", "a\r\nb\n\rc",
    "a\u2028b", "%s", "{}", "\\", "5.2f", "x\U0001f600y",
]  # fmt: skip
SINGLES = [*INTS, *FLOATS, *TEXTS, True, False, None]
KINDS = {"int": INTS, "float": FLOATS, "str": TEXTS, "bool": [True, False], "any": SINGLES}
# What functions see outside of them.
OUTSIDE = """
import math, operator, string
from math import floor, sqrt
MAP = {1: "one", "a": 1, None: None, 0.5: (1, "x"), "b": -0.0, (1, "a"): "pair", 2.0: 2, "ab": 3.5, False: "zero"}
SET = {1, "a", 2.5, (1, 2), "ß", None, 2**62}
FROZEN = frozenset(SET)
LIST = [1, "a", 2.5, None, "ab", True]
LONG = (0, 1, 2, 3, "a", "b", -0.5, None, "ä", 2**53)
NUMBERS = (int, float)

def helper(a, b="b", *, c=0.5):
    return a if a == b else c

def imported(a):
    import math
    from operator import add as plus

    known = (None, True, False)
    root = math.sqrt
    return plus(root(a), math.pi) if a not in known else [a, 1, "x", 2.5]

def checked(a):
    names = {"a": 1, 2: "two", None: 0.5}
    kind = type(a)
    if a in ("b", 7):
        raise ValueError(f"not {a}")
    assert a != -1, "less"
    if kind is float:
        raise TypeError from None
    return names.get(a, {"x": 1}.get(a))

def place(a, /, at=1, of=LIST, known=MAP):
    return of[at] if a in known else (a, known.get(at))
"""
# Expressions of each kind; in « » are kinds of others, or texts, of which one is taken.
EXPRESSIONS = {
    "int": """
        («int» «+|-|*|//|%» «int|int|bool»)
        («int|bool» «&|BAR|^|+|-|*» «int|bool»)
        («int|bool» «LEFT|RIGHT» «0|1|5|62|63|64|-1|(x if x == 3 else 2)»)
        («int|bool» ** «0|1|2|3|-1|63|True»)
        («0|1|-1|2|3» ** («int» % 70))
        len(«str|sequence|str»)
        abs(«int|bool|float»)
        («-|+|~» «int|int|bool»)
        int(«str|float|int|bool»)
        round(«float|float|int|bool»)
        round(«int», «int|0|-1|-2|-18|-19|None»)
        round(«int», ndigits=-1)
        «max|min»(«int», «int|float», «int»)
        «max|min»(«sequence|str»)
        ord(«str»)
        sum(«sequence»)
        sum((«int», «int|bool», «int|float»))
        divmod(«int», «int»)[«0|1»]
        math.«floor|ceil|trunc»(«float|float|int|bool»)
        floor(«float»)
        math.gcd(«int», «int|bool»)
        operator.«add|sub|mul|floordiv|mod|and_|or_|xor»(«int|bool», «int»)
        «str».«find|rfind|index|rindex|count»(«str»)
        len(«MAP|LIST|SET»)
    """,
    "float": """
        («int|bool» / «int|bool»)
        («int|float» «+|-|*|/|//|%» «float»)
        («float» «//|%» «float|int|bool»)
        («float» ** «0|1|2|3|-1|0.5|-0.5|2.5|1e308|True»)
        («float» ** «float»)
        divmod(«float», «float»)[«0|1»]
        float(«str|float|int|bool»)
        («-|+» «float»)
        abs(«float»)
        round(«float», «0|1|2|3|5|15|16|17|30|-1|-2|-5|-308|323|324»)
        round(«float», «int|bool|None»)
        round(«float» * 1000, 2)
        «max|min»(«float», «float|int|bool»)
        math.«fabs|sqrt|radians|degrees|sin|cos|tan|asin|acos|atan|sinh|cosh|tanh»(«float|float|int|bool»)
        math.«exp|expm1|log|log2|log10|log1p»(«float|float|int|bool»)
        math.log(«float|int», «float|int|10|2»)
        math.«pow|atan2|fmod|copysign»(«float|int», «float|int»)
        sqrt(«float|int»)
        («float» + math.«pi|e|tau»)
        pow(«float», «2|0.5»)
    """,
    "str": """
        («str» + «str»)
        («str» * «int|bool|3»)
        «str».«strip|lower|upper|lstrip|rstrip|title|capitalize|swapcase|casefold»()
        «str».«strip|lstrip|rstrip»(«str|any|None»)
        «str».«removeprefix|removesuffix»(«str»)
        str(«int|any|float|bool»)
        repr(«int|any|float|bool|str»)
        chr(«int|97|300|0xd800»)
        «str».split(«NONE|' '|None|','»)[«INDEX»]
        «str».split(«str»)[«INDEX»]
        «str».replace(«str», «str»)
        «str».replace(«str», «str», «int|1|0»)
        «str»[«PART»]
        «str»[«int|bool»]
        «str»[«int|0|-1»:«int|3»]
        «str»[«int|None»:«int|None»:«-1|2|-2|int»]
        «str».join(«sequence|str»)
        «str».join((«str», «str», «any»))
        «str».zfill(«int|5|2»)
        «str».«ljust|rjust|center»(«int|4|7»)
        «str».«ljust|rjust|center»(«4|7», «'*'|str»)
        «str».«partition|rpartition»(«str|','»)[«0|1|2»]
        f'{«NAME»}-{«NAME»}'
        f'{«NAME»!«s|r»}'
        f'{«NAME»:«FORMAT»}'
        f'{«NAME»!s:«>5|<4|^7|.2|*^9.1»}'
        f'{«NAME»:{«NAME»}}'
        format(«int|float|str|any», «'.3f'|',d'|'>8'|'+.1e'|'%'|''|str»)
        format(«any»)
        ('«%s|%d|%5d|%-5d|%05d|%+d|% d|%x|%i»|%s' % («int|any|float», «any»))
        ('«%.2f|%f|%8.3f|%-8.1f|%e|%.3g|%g|%+.1f|%06.1f»%%' % («float|int|bool»))
        ('«%5s|%-5s|%.2s|%r|%s»' % «str|any»)
        '{}-{«:FORMAT»}'.format(«any», «int|float|str»)
        '{1}{0:>4}{{}}'.format(«str|int», «any»)
        '{a}-{0}'.format(«any», a=«str»)
        (string.ascii_lowercase + «str»)
        MAP[«any|1|2|None|'b'»]
    """,
    "bool": """
        («int|float» «LESS|<=|>|>=|==|!=» «int|float|any»)
        («any» «==|!=» «any»)
        («sequence» «LESS|<=|>|>=|==|!=» «sequence»)
        («any» is «NONE|not» «None|True|False»)
        (not «any|sequence»)
        («str» «LESS|==|!=|in|not in» «str»)
        («int|str|any» «in|not in» «sequence»)
        («any|sequence» «in|not in» «MAP|SET|FROZEN|LIST|LONG|{1, 2.5, 'a', None}|(1, 'a', 2, 3, 4, 5, 'b')|[1, 'a']»)
        «str».«startswith|endswith»(«str|('a', 'ä')|sequence»)
        («int» LESS «int» <= «float»)
        «str».«isalnum|isalpha|isascii|isdecimal|isdigit|isnumeric|islower|isupper|isspace»()
        isinstance(«any|sequence», «int|float|str|bool|(int, float)|(str, list)|NUMBERS|type(None)|dict»)
        (type(«any|sequence») «is|==|!=|is not» «int|float|str|bool|list|tuple»)
        (type(«any») in (int, str))
        bool(«any|sequence»)
        math.«isnan|isinf|isfinite»(«float|int|bool»)
        «all|ANY»(«sequence|str»)
        («bool» «&|BAR|^» «bool»)
        operator.«eq|lt|ge|not_»(«NOTHING»)
    """,
    "sequence": """
        («any», «int»)
        [«any», «str»]
        «str».«split|rsplit»(«NONE|','|None»)
        «str».«split|rsplit»(«str|None|' '», «int|1|0|2»)
        «str».«split|rsplit»(maxsplit=1)
        «str».«split|rsplit»(',', maxsplit=«1|2»)
        «str».«partition|rpartition»(«str»)
        «str».splitlines()
        («sequence» + «sequence»)
        («sequence» * «int|2|bool»)
        «sequence»[«PART»]
        «sequence»[«int|None»:«int|None»:«-1|2|-2|int|None»]
        sorted(«sequence|str»)
        sorted((«int», «int», «int»))
        «list|tuple»(«sequence|str»)
        divmod(«int|float|bool», «int|float»)
        ()
        LIST[«PART»]
    """,
    "any": """
        «sequence»[«INDEX»]
        «sequence»[«int|bool»]
        «int|float|str|bool|sequence»
        MAP.get(«any»)
        MAP.get(«any|1|2.0|True|'a'», «any»)
        MAP[«int|str|2|1.0»]
        LIST[«INDEX»]
        LIST[«int»]
        LONG[«int»]
        helper(«any», «any»)
        helper(«any», c=«any»)
        helper(b=«any», a=«any»)
        place(«any», of=LONG)
        imported(«float|any»)
        checked(«any|'a'|2|7»)
        {1: 'one', 'a': 2.5, (1, 2): None}[«any|1|True»]
        [1, "a", 2.5, None][«int|INDEX»]
        place(«any», at=«int|2»)
        None
    """,
}
EXPRESSIONS = {kind: [one.strip() for one in text.strip().split("\n")] for kind, text in EXPRESSIONS.items()}
INDEX = ["0", "-1", "1", "2", "9"]
PART = ["1:", ":2", "-3:-1", "5:2", ":", f"-{2**63}:{2**63 - 1}", "::-1", "::2"]
FORMATS = [
    ".2f", "d", "5", "05d", ",", ">10", "<6", "^9", "+d", "x", ".1%", "08.3f", ",.2f", "e", "g", ".0f", "=+7", "_d",
    "s",
]  # fmt: skip
SPELLED = {"BAR": "|", "LEFT": "<<", "RIGHT": ">>", "LESS": "<", "NONE": "", "NOTHING": "x, y", "ANY": "any"}


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

    def inner(kind):
        return expression(depth - 1, kind, names)

    def filled(alternatives):
        chosen = pick(alternatives[1].split("|"))
        if chosen in EXPRESSIONS:
            return inner(chosen)
        if chosen == "NAME":
            return pick(names)[0]
        if chosen.endswith("FORMAT"):
            return chosen[:-6] + pick(FORMATS)
        of = {"INDEX": INDEX, "PART": [*INDEX, *PART]}.get(chosen)
        return pick(of) if of else SPELLED.get(chosen, chosen)

    if source.random() < 0.15:
        return pick(
            [
                lambda: f"({inner(kind)} if {inner('bool')} else {inner(kind)})",
                lambda: f"({inner(kind)} {pick(['and', 'or'])} {inner(kind)})",
            ]
        )()
    return re.sub("«(.*?)»", filled, pick(EXPRESSIONS[kind])).replace(" LESS ", " < ")


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
            operator = pick(["+=", "+=", "-=", "*=", "//=", "%=", "|=", ">>="])
            lines.append(f"{changed} {operator} {expression(1, kind, names)}")
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
        raise TooLong
    if value is None or kind is bool or (kind is int and -(2**63) <= value < 2**63):
        return value
    if kind is float:
        return {"float": struct.pack(">d", value).hex()}
    if kind is str and not any("\ud800" <= one <= "\udfff" for one in value):
        return value
    if kind in (list, tuple):
        return {kind.__name__: [encoded(one) for one in value]}
    raise Unencodable


class TooLong(BaseException):
    """To compute, as some powers of integers, or to print."""


def give_up(*_):
    raise TooLong


signal.signal(signal.SIGALRM, give_up)


def case(called, arguments):
    """What is returned; None if that takes too long."""
    given = copy.deepcopy(arguments)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            returned = called(*given)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        returned = {"value": encoded(returned)}
    except TooLong:
        return None
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
        exec(OUTSIDE + text, scope)
        called = scope["function"]
        try:
            found["expression"] = compile_function(called, 2)
        except NotSimple as error:
            found["reason"] = error.reason
        else:
            cases = (case(called, [argument(kind) for kind in kinds]) for _ in range(10))
            found["cases"] = list(filter(None, cases))
        print(json.dumps(found))


if __name__ == "__main__":
    main()
