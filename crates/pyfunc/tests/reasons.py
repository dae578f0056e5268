"""Checks the reasons for which functions are not simple, and the tables of versions; prints all reasons, one a line.

usage: reasons.py DIRECTORY_OF_FIRESTEEL_PYFUNC"""

import dis
import math
import operator
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from firesteel_pyfunc import NotSimple, compile_function, known, reasons, versions  # noqa: E402


def looped(number):
    while number > 5:
        number = number - 1
    return number


def careless(number):
    unused = 1 // number  # noqa: F841
    return number


def with_default(number, more=1):
    return number + more


def with_two(number, more):
    return number + more


def storing_method(number):
    method = str(1 / number).split  # noqa: F841
    return number


def storing_type(number):
    kind = type(1 / number)  # noqa: F841
    return number


def storing_error(number):
    error = ValueError(1 / number)  # noqa: F841
    return number


def importing(number):
    import sys

    return sys.maxsize + number


def unbound(number):
    if number:
        return found  # noqa: F821
    found = 1
    return found


def endless(number):
    return endless(number)


def generator(number):
    yield number


async def coroutine(number):
    return number


def nested(number):
    inner = lambda: number
    return inner()


def large(number):
    return number


for _ in range(9):
    large = (lambda inner: lambda number: inner(number) + inner(number))(large)

class Known:
    pass


objects, nested_objects, table, nested_table = [1], [[1]], {1: 2}, {1: [2]}
not_numbers, bytes_table, huge = {math.nan}, {b"1"}, dict.fromkeys(range(10_001))
NOT_SIMPLE = [
    (reasons.CALLABLE, operator.itemgetter(0)),
    (reasons.CALLABLE, "text"),
    (reasons.CALLABLE, str.upper),
    (reasons.CALLABLE, lambda i: reversed(i)),
    (reasons.CALLABLE, lambda i: math.hypot(i, i)),
    (reasons.CALLABLE, lambda i: objects(i)),
    (reasons.ARGUMENTS, with_two),
    (reasons.ARGUMENTS, lambda i: with_default(i, mor=i)),
    (reasons.ARGUMENTS, lambda i: with_default(i, number=i)),
    (reasons.ARGUMENTS, lambda i: with_default(i, i, i)),
    (reasons.ARGUMENTS, lambda i: with_default(more=i)),
    (reasons.ARGUMENTS, lambda i: i.split(separator=",")),
    (reasons.ARGUMENTS, lambda i: sorted(i, reverse=True)),
    (reasons.ARGUMENTS, lambda i: table.get(i, 1, 2)),
    (reasons.ARGUMENTS, lambda: 1),
    (reasons.ARGUMENTS, lambda *i: i),
    (reasons.ARGUMENTS, lambda i, *, j: i),
    (reasons.ARGUMENTS, lambda i, **more: i),
    (reasons.ARGUMENTS, lambda i: str(object=i)),
    (reasons.ARGUMENTS, lambda i: max(*i)),
    (reasons.ARGUMENTS, lambda i: int(i, 16)),
    (reasons.GENERATOR, generator),
    (reasons.GENERATOR, coroutine),
    (reasons.INNER_FUNCTION, nested),
    (reasons.LOOP, looped),
    (reasons.ATTRIBUTE, lambda i: i.real),
    (reasons.ATTRIBUTE, lambda i: i.encode()),
    (reasons.ATTRIBUTE, lambda i: math.not_there(i)),
    (reasons.ATTRIBUTE, lambda i: sys.maxsize + i),
    (reasons.ATTRIBUTE, lambda i: table.pop(i)),
    (reasons.ATTRIBUTE, lambda i: type(i).__name__),
    (reasons.ATTRIBUTE, lambda i: objects.append(i)),
    (reasons.OBJECT, lambda i: objects),
    (reasons.OBJECT, lambda i: objects + [i]),
    (reasons.OBJECT, lambda i: i in nested_objects),
    (reasons.OBJECT, lambda i: i or table),
    (reasons.OBJECT, lambda i: str(table)),
    (reasons.OBJECT, lambda i: table == i),
    (reasons.OBJECT, lambda i: len(sys)),
    (reasons.OBJECT, lambda i: isinstance(i, Known)),
    (reasons.OBJECT, lambda i: type(i) is Known),
    (reasons.OBJECT, importing),
    (reasons.OBJECT, lambda i: not_there),  # noqa: F821
    (reasons.CONSTANT, lambda i: 2**63),
    (reasons.CONSTANT, lambda i: (i, (1, (2**63,)))[1]),
    (reasons.CONSTANT, lambda i: b"bytes"),
    (reasons.CONSTANT, lambda i: "\ud800"),
    (reasons.CONSTANT, lambda i: i[: 2**63]),
    (reasons.CONSTANT, eval("lambda i: " + "(" * 20 + "1" + ",)" * 20)),
    (reasons.CONSTANT, lambda i: huge.get(i)),
    (reasons.CONSTANT, lambda i: i in not_numbers),
    (reasons.CONSTANT, lambda i: nested_table[i]),
    (reasons.CONSTANT, lambda i: i in bytes_table),
    (reasons.OPERATION, lambda i: i @ i),
    (reasons.OPERATION, lambda i: i["a"]),
    (reasons.OPERATION, lambda i: "%s %s" % i),
    (reasons.OPERATION, lambda i: "%*d" % i),
    (reasons.OPERATION, lambda i: "%(a)s" % i),
    (reasons.OPERATION, lambda i: "%.3d" % i),
    (reasons.OPERATION, lambda i: "%" % i),
    (reasons.OPERATION, lambda i: "a%%" % i),
    (reasons.OPERATION, lambda i: "{0} {}".format(i)),
    (reasons.OPERATION, lambda i: "{".format(i)),
    (reasons.OPERATION, lambda i: "{0.real}".format(i)),
    (reasons.OPERATION, lambda i: "{:{}}".format(i, 1)),
    (reasons.OPERATION, lambda i: "{1}".format(i)),
    (reasons.OPERATION, lambda i: f"{i!a}"),
    (reasons.UNUSED, lambda i: "{0}".format(i, 1 / i)),
    (reasons.OPERATION, lambda i: i is i),
    (reasons.OPERATION, lambda i: {1: i}[1]),
    (reasons.OPERATION, lambda i: {1: 2, **table, "a": i}[1]),
    (reasons.OBJECT, lambda i: {1: 2}),
    (reasons.OBJECT, storing_method),
    (reasons.UNUSED, storing_type),
    (reasons.UNUSED, storing_error),
    (reasons.OPERATION, unbound),
    (reasons.UNUSED, careless),
    (reasons.SIZE, endless),
    (reasons.SIZE, large),
]


def reason_of(function, count):
    try:
        compile_function(function, count)
    except NotSimple as error:
        return error.reason
    return None


def reason_of_version(*version):
    try:
        versions.instructions(*version)
    except NotSimple as error:
        return error.reason
    return None


for number, (reason, function) in enumerate(NOT_SIMPLE):
    found = reason_of(function, 1)
    # Comprehensions and functions within functions have changed.
    assert found == reason, f"{number}, {function}: {found}, not {reason}"
assert reason_of(lambda i: [one for one in i], 1) in (reasons.LOOP, reasons.INNER_FUNCTION)
assert reason_of(lambda i, j: (i, j), 2) is None
assert reason_of(with_default, 1) is None
assert reason_of(with_default, 3) == reasons.ARGUMENTS

# All of its instructions are this interpreter's.
table = versions.instructions()
assert table is versions.TABLES[sys.version_info[:2]]
unknown = [name for name in table if name not in dis.opmap]
assert not unknown, unknown
assert reason_of_version("pypy", (3, 11)) == reasons.INTERPRETER
for version in [(2, 7), (3, 8), (3, 14), (4, 0)]:
    assert reason_of_version("cpython", version) == reasons.VERSION + "%d.%d" % version

# Another C library may compute other powers.
known.SAME_LIBRARY = False
assert reason_of(lambda i: i**2, 1) == reasons.OPERATION
known.SAME_LIBRARY = True
assert reason_of(lambda i: i**2, 1) is None

# What is left of a module's when somebody has put another function into it.
original, math.sqrt = math.sqrt, lambda i: i
assert reason_of(lambda i: math.sqrt(i), 1) is None
math.sqrt = original
print(reasons.VERSION + "3.15")
print("\n".join(text for name, text in vars(reasons).items() if name.isupper() and name != "VERSION"))
