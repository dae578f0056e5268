"""Every operation of all values at hand, or of that many pairs of them: prints what random_functions.py prints.

usage: all_values.py DIRECTORY_OF_FIRESTEEL_PYFUNC SEED PAIRS"""

import json
import sys

from random_functions import FORMATS, OUTSIDE, SINGLES, NotSimple, case, compile_function, source

from firesteel_pyfunc import known

SEQUENCES = [[], (), [1, 2.0, True], ("a", "ä"), ["b", "a", ""], (0, -0.0), [None, [1]], (1, "a"), [1, 2], ["é"] * 3]
VALUES = [*SINGLES, *SEQUENCES]
MATH = [name for name, counts in known.MATH.items() if counts[0] == 1]
CONVERSIONS = "%d %5d %-5d %05d %+d %x %X %o %i %u %s %r %5s %-5s %.2s %f %.2f %8.3f %-8.1f %e %.3g %g %+.1f %06.1f %E"
CONVERSIONS = [*CONVERSIONS.split(), "%F", "% d", "%-06d", "%+05d", "%.0f", "%%%d"]
ONE = [
    *(f"x.{name}()" for name, (fewest, _) in known.METHODS.items() if fewest == 0),
    *(f"{name}(x)" for name in ("abs", "len", "int", "float", "str", "repr", "ord", "chr", "bool", "round", "sum")),
    *(f"{name}(x)" for name in ("all", "any", "list", "tuple", "max", "min", "format", "sorted")),
    *(f"math.{name}(x)" for name in MATH),
    *(f"f'{{x:{one}}}'" for one in FORMATS),
    *(f"f'{{x!s:{one}}}'" for one in FORMATS),
    *(f"'{one}' % x" for one in CONVERSIONS),
    *(f"{sign}x" for sign in ("-", "+", "~", "not ")),
    *(f"x in {one}" for one in ("MAP", "SET", "FROZEN", "LIST", "LONG", "{1, 'a', 0.5}", "(1, 'a', None, 2.5, 'ä')")),
    *(f"x {one}" for one in ("is None", "is not None", "is True", "is False", "== None", "!= None")),
    *(f"isinstance(x, {one})" for one in ("int", "float", "str", "bool", "list", "(tuple, str)", "NUMBERS", "dict")),
    *(f"type(x) is {one}" for one in ("int", "float", "str", "bool", "list", "tuple", "type(None)")),
    *(f"x[{one}]" for one in ("0", "-1", "1:", ":-1", "::-1", "::2", "5:0:-2", "-2::-1", ":")),
    *("MAP.get(x)", "MAP.get(x, 7)", "MAP[x]", "LIST[x]", "LONG[x]", "checked(x)", "imported(x)", "{1: 2, 'a': 3}[x]",),
    *("'abc'[x]", "x.split(maxsplit=1)", "x.rsplit(None, 1)", "helper(x)", "place(x)"),
]  # fmt: skip
TWO = [
    *(f"x {one} y" for one in ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "**")),
    *(f"x {one} y" for one in ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or")),
    *(f"x.{name}(y)" for name, (fewest, most) in known.METHODS.items() if fewest <= 1 <= most),
    *(f"{name}(x, y)" for name in ("divmod", "max", "min", "round", "format")),
    *(f"math.{name}(x, y)" for name, (_, most) in known.MATH.items() if most == 2),
    *("x[y]", "x[y:]", "x[:y]", "x[::y]", "x[y::-1]", "x.replace(y, '-')", "x.replace('a', y, 1)"),
    *("x.replace('a', '+', y)", "x.center(y, '*')", "x.ljust(7, y)", "x.split(y, 1)", "x.rsplit(y, 1)"),
    *("x.split(',', y)", "x.rsplit(None, y)"),
    *("f'{x}{y}'", "f'{x:{y}}'", "'%s-%d' % (x, y)", "'{1}{0:>5}'.format(x, y)", "y.join([x, x])"),
    *("sum([x, y])", "sorted([x, y])", "x.isdigit() if y else -x"),
    *("(x, 1) == (y, 1)", "[x] < [y]", "x == y or x is None", "x in (y, 1, 2)", "max([x, y, 1])"),
]  # fmt: skip


def allowed(text, one, other):
    """Powers of large integers are not computed, nor what they would not fit into."""
    numbers = isinstance(one, int) and isinstance(other, int) and (abs(one) > 1 and other > 500)
    return not (numbers and ("**" in text or "<<" in text))


def main():
    pairs = [(one, other) for one in VALUES for other in VALUES]
    count = min(int(sys.argv[3]), len(pairs))
    for texts, some in ((ONE, lambda: [(one, None) for one in VALUES]), (TWO, lambda: source.sample(pairs, count))):
        for text in texts:
            found, scope = {"source": text}, {}
            exec(f"{OUTSIDE}\ndef function(x, y): return {text}", scope)
            try:
                found["expression"] = compile_function(scope["function"], 2)
            except NotSimple as error:
                raise AssertionError(f"{text}: {error.reason}") from error
            cases = (case(scope["function"], pair) for pair in some() if allowed(text, *pair))
            found["cases"] = list(filter(None, cases))
            print(json.dumps(found))


main()
