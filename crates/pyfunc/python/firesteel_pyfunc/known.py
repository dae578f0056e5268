"""Functions, methods, modules and types that are known, and the operations that they are.

`pyfunc::Operation::named` has the same operations, with the same numbers of arguments."""

import builtins
import math
import operator
import string
import sys
import types

# Operators, by their own names. Lists can be changed by `+=` and `*=`, under other names, too.
OPERATORS = {
    "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "+=", "*=", "==", "!=", "<", "<=", ">", ">=", "in",
    "not in",
}  # fmt: skip
# Methods of texts, and how few and how many arguments they have behind the text.
METHODS = {
    "split": (0, 2), "rsplit": (0, 2), "splitlines": (0, 0), "partition": (1, 1), "rpartition": (1, 1), "join": (1, 1),
    "strip": (0, 1), "lstrip": (0, 1), "rstrip": (0, 1), "removeprefix": (1, 1), "removesuffix": (1, 1),
    "lower": (0, 0), "upper": (0, 0), "title": (0, 0), "capitalize": (0, 0), "swapcase": (0, 0), "casefold": (0, 0),
    "startswith": (1, 1), "endswith": (1, 1), "find": (1, 1), "rfind": (1, 1), "index": (1, 1), "rindex": (1, 1),
    "count": (1, 1), "replace": (2, 3), "zfill": (1, 1), "ljust": (1, 2), "rjust": (1, 2), "center": (1, 2),
    "isalnum": (0, 0), "isalpha": (0, 0), "isascii": (0, 0), "isdecimal": (0, 0), "isdigit": (0, 0),
    "isnumeric": (0, 0), "islower": (0, 0), "isupper": (0, 0), "isspace": (0, 0),
}  # fmt: skip
MATH = {
    "floor": (1, 1), "ceil": (1, 1), "trunc": (1, 1), "fabs": (1, 1), "sqrt": (1, 1), "isnan": (1, 1), "isinf": (1, 1),
    "isfinite": (1, 1), "radians": (1, 1), "degrees": (1, 1), "sin": (1, 1), "cos": (1, 1), "tan": (1, 1),
    "asin": (1, 1), "acos": (1, 1), "atan": (1, 1), "sinh": (1, 1), "cosh": (1, 1), "tanh": (1, 1), "exp": (1, 1),
    "expm1": (1, 1), "log": (1, 2), "log2": (1, 1), "log10": (1, 1), "log1p": (1, 1), "pow": (2, 2), "atan2": (2, 2),
    "fmod": (2, 2), "copysign": (2, 2), "gcd": (2, 2),
}  # fmt: skip
# The C library computes powers and most functions of `math`, for this interpreter and for `pyfunc`. They differ between
# C libraries, and some compilers bring one of their own.
SAME_LIBRARY = getattr(sys.implementation, "_multiarch", "").endswith("-linux-gnu") and (
    "[GCC" in sys.version or "[Clang" in sys.version
)
EXACT = {
    "floor", "ceil", "trunc", "fabs", "sqrt", "isnan", "isinf", "isfinite", "radians", "degrees", "fmod", "copysign",
    "gcd",
}  # fmt: skip
# How few and how many arguments operations have.
COUNTS = {
    **dict.fromkeys(OPERATORS, (2, 2)),
    **dict.fromkeys(("divmod", "is", "is of", "max", "min", "item", "format"), (2, 2)),
    **dict.fromkeys(("invert", "positive", "negative", "not", "is None", "abs", "len", "int", "float", "str"), (1, 1)),
    **dict.fromkeys(("repr", "ord", "chr", "sum", "sorted", "all", "any", "list of", "tuple of"), (1, 1)),
    **dict.fromkeys(("max of", "min of", "%d"), (1, 1)),
    "leave": (0, 0),
    "round": (1, 2),
    "slice": (4, 4),
    **{"." + name: (fewest + 1, most + 1) for name, (fewest, most) in METHODS.items()},
    **{"math." + name: counts for name, counts in MATH.items()},
}
# Names that arguments may be given by, from the first one on.
NAMES = {
    "round": ("number", "ndigits"),
    ".split": (None, "sep", "maxsplit"),
    ".rsplit": (None, "sep", "maxsplit"),
}
# What an argument is that is not given, while one behind it is.
LEFT_OUT = {".split": None, ".rsplit": None}
# Functions that are operations.
FUNCTIONS = [
    (builtins.abs, "abs"), (builtins.len, "len"), (builtins.int, "int"), (builtins.float, "float"),
    (builtins.str, "str"), (builtins.repr, "repr"), (builtins.ord, "ord"), (builtins.chr, "chr"),
    (builtins.round, "round"), (builtins.divmod, "divmod"), (builtins.sum, "sum"),
    (builtins.sorted, "sorted"), (builtins.all, "all"), (builtins.any, "any"), (builtins.list, "list of"),
    (builtins.tuple, "tuple of"), (builtins.format, "format"), (operator.add, "+"), (operator.sub, "-"),
    (operator.mul, "*"), (operator.truediv, "/"), (operator.floordiv, "//"), (operator.mod, "%"),
    (operator.and_, "&"), (operator.or_, "|"), (operator.xor, "^"), (operator.neg, "negative"),
    (operator.pos, "positive"), (operator.not_, "not"), (operator.eq, "=="), (operator.ne, "!="), (operator.lt, "<"),
    (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">="),
    *([(builtins.pow, "**"), (operator.pow, "**")] if SAME_LIBRARY else []),
    # Not what somebody may have put in the place of one, and none that this version does not have.
    *((found, "math." + name) for name in MATH for found in [getattr(math, name, None)]
      if (SAME_LIBRARY or name in EXACT)
      and type(found) is types.BuiltinFunctionType and found.__self__ is math and found.__name__ == name),
]  # fmt: skip
# Those of one or more values.
EXTREMES = [(builtins.max, "max"), (builtins.min, "min")]
# Modules whose variables are looked at.
MODULES = {"math": math, "operator": operator, "string": string}
# The types of values that are instances of a type; other classes may say themselves what is.
INSTANCES = {
    int: "int bool", bool: "bool", float: "float", str: "str", list: "list", tuple: "tuple", type(None): "NoneType",
    dict: "", set: "", frozenset: "", bytes: "", bytearray: "", complex: "",
}  # fmt: skip
