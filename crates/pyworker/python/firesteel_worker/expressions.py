"""What simple functions compute, read off their bytecode.

A function without loops, effects and unknown calls is an expression of its arguments: operators on numbers and texts, methods of texts,
tuples, lists and their elements, choices. `_native.Pipeline` computes such expressions; everything else raises `Unknown` here.

Expressions are tuples: `("argument", index)`, `("constant", value)`, `("tuple", [expressions])`, `("list", [expressions])`,
`("element", expression, index, length or None)`, `("slice", expression, start or None, stop or None)`, `("call", name, [expressions])`,
`("if", condition, expression, expression)`."""

import builtins
import copy
import dis
import functools
import inspect
import operator
import sys
import types

# Functions within functions, and instructions on all ways through them.
MAX_DEPTH = 8
MAX_INSTRUCTIONS = 400

# Operators, as 3.9 and 3.10 name their instructions.
OPERATORS = {"ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "TRUE_DIVIDE": "/", "FLOOR_DIVIDE": "//", "MODULO": "%"}
# Lists can be changed by `+=`, under other names, too.
BINARY = {*OPERATORS.values(), "+=", "==", "!=", "<", "<=", ">", ">=", "in", "not in"}
METHODS = {"split", "strip", "lstrip", "rstrip", "lower", "upper", "startswith", "endswith", "replace"}
FUNCTIONS = [
    (builtins.abs, "abs"), (builtins.max, "max"), (builtins.min, "min"), (builtins.len, "len"), (builtins.int, "int"),
    (builtins.float, "float"), (builtins.str, "str"), (operator.add, "+"), (operator.mul, "*"), (operator.sub, "-"),
]  # fmt: skip
IGNORED = {"RESUME", "COPY_FREE_VARS", "PRECALL", "CACHE", "NOP", "EXTENDED_ARG"}
BRANCHES = {"POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"}
# What a function's flags say of its arguments and of generators, and what is simple: variables of its own, nested or not.
FLAGS, SIMPLE = 0xFFF, inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | inspect.CO_NESTED | inspect.CO_NOFREE
# Since CPython 3.11 a callable takes two places on the stack, since 3.12 methods are attributes.
TWO_PLACES, ATTRIBUTES = sys.version_info >= (3, 11), sys.version_info >= (3, 12)
# Instructions change from version to version.
KNOWN = (3, 9) <= sys.version_info < (3, 14) and sys.implementation.name == "cpython"
# The other of the two places.
NULL = object()


class Unknown(Exception):
    """The function is not known to be simple."""


class Callable:
    """Something on the stack that is only there to be called, with expressions."""

    def __init__(self, call):
        self.call = call


def expression(function, arguments):
    """The expression of a function's value; `arguments` are those of its arguments."""
    if not KNOWN:
        raise Unknown
    return Expressions().of(function, arguments, 0)


def inner(found):
    """The expressions that are computed in any case for an expression."""
    kind = found[0]
    if kind in ("tuple", "list"):
        return found[1]
    if kind in ("element", "slice", "if"):
        return found[1:2]
    return found[2] if kind == "call" else []


class Expressions:
    """Expressions of a function and of those that it calls."""

    def __init__(self):
        self.instructions = 0

    def count(self):
        self.instructions += 1
        if self.instructions > MAX_INSTRUCTIONS:
            raise Unknown

    def of(self, function, arguments, depth):
        for known, name in FUNCTIONS:
            if function is known:
                return ("call", name, arguments)
        if type(function) is not types.FunctionType or depth > MAX_DEPTH:
            raise Unknown
        code = function.__code__
        if code.co_flags & FLAGS & ~SIMPLE or code.co_cellvars or code.co_kwonlyargcount or code.co_argcount != len(arguments):
            raise Unknown
        instructions = {one.offset: one for one in dis.get_instructions(function)}
        following = dict(zip(instructions, list(instructions)[1:]))

        def follow(reader, at):
            """The value on a way through the function."""
            while True:
                self.count()
                name, value = instructions[at].opname, instructions[at].argval
                if name in ("RETURN_VALUE", "RETURN_CONST"):
                    found = ("constant", value) if name == "RETURN_CONST" else reader.pop()
                    check(found, reader.computed, reader.conditions)
                    return found
                if "JUMP" in name and value <= at:
                    raise Unknown
                if name.replace("_FORWARD", "") in BRANCHES:
                    condition, jumping = reader.branch(name.replace("_FORWARD", ""))
                    return ("if", condition, follow(reader, following[at]), follow(jumping, value))
                if name in ("JUMP_FORWARD", "JUMP_ABSOLUTE"):
                    at = value
                    continue
                if name not in IGNORED:
                    reader.step(name, instructions[at])
                at = following[at]

        return follow(Reader(function, arguments, lambda called, arguments: self.of(called, arguments, depth + 1)), 0)


def check(found, computed, conditions):
    """What a function computes on the way must be part of what it returns, or such that no error is missed without it."""
    reached, left = [], [found, *conditions]
    while left:
        reached.append(left.pop())
        left.extend(inner(reached[-1]))
        if len(reached) > MAX_INSTRUCTIONS:
            raise Unknown
    for one in computed:
        if one[0] in ("argument", "constant") or any(one is other for other in reached):
            continue
        # Of a sequence that is unpacked some elements may not be used.
        same = [other for other in reached if one[0] == other[0] == "element" and one[1] is other[1] and one[3] == other[3]]
        if not same or one[3] is None:
            raise Unknown


class Reader:
    """Follows the instructions of a function, with expressions in the place of values."""

    def __init__(self, function, arguments, call):
        self.function, self.call_function = function, call
        self.variables = dict(zip(function.__code__.co_varnames, arguments))
        # What was computed and may not be part of what is returned, and what decided on the way.
        self.stack, self.computed, self.conditions = [], list(arguments), []

    def branch(self, name):
        """The condition for going on here, and a reader for the other way."""
        value = self.pop()
        condition = ("call", "is None", [value]) if name.endswith("NONE") else value
        if name.endswith(("_TRUE", "_TRUE_OR_POP", "_IF_NONE")):
            condition = ("call", "not", [condition])
        self.conditions.append(condition)
        jumping = copy.copy(self)
        jumping.variables = dict(self.variables)
        jumping.stack, jumping.computed, jumping.conditions = self.stack[:], self.computed[:], self.conditions[:]
        if name.endswith("_OR_POP"):
            jumping.stack.append(value)
        return condition, jumping

    def step(self, name, instruction):
        argument, value = instruction.arg, instruction.argval
        if name in ("LOAD_FAST", "LOAD_FAST_CHECK"):
            self.load(value)
        elif name == "LOAD_FAST_LOAD_FAST":
            self.load(*value)
        elif name == "STORE_FAST":
            self.store(value)
        elif name == "STORE_FAST_STORE_FAST":
            self.store(*value)
        elif name == "STORE_FAST_LOAD_FAST":
            self.store(value[0])
            self.load(value[1])
        elif name == "LOAD_CONST":
            self.stack.append(("constant", value))
        elif name == "LOAD_GLOBAL":
            self.load_global(value)
            if TWO_PLACES and argument & 1:
                self.stack.append(NULL)
        elif name == "LOAD_DEREF":
            self.load_free(value)
        elif name == "POP_TOP":
            self.computed.append(self.pop())
        elif name in ("COPY", "DUP_TOP"):
            self.stack.append(self.stack[-(argument or 1)])
        elif name in ("SWAP", "ROT_TWO"):
            other = -(argument or 2)
            self.stack[-1], self.stack[other] = self.stack[other], self.stack[-1]
        elif name == "ROT_THREE":
            self.stack.insert(-2, self.stack.pop())
        elif name == "PUSH_NULL":
            self.stack.append(NULL)
        elif name == "LOAD_METHOD" or (ATTRIBUTES and name == "LOAD_ATTR" and argument & 1):
            self.load_method(value)
        elif name in ("CALL", "CALL_METHOD", "CALL_FUNCTION"):
            self.call(argument)
        elif name in ("BUILD_TUPLE", "BUILD_LIST"):
            self.stack.append((name[len("BUILD_") :].lower(), self.pop_all(argument)))
        elif name == "UNPACK_SEQUENCE":
            whole = self.pop()
            self.stack.extend(("element", whole, at, argument) for at in reversed(range(argument)))
        elif name == "COMPARE_OP":
            self.operate(value)
        elif name == "CONTAINS_OP":
            self.operate("not in" if argument else "in")
        elif name == "UNARY_NOT":
            self.stack.append(("call", "not", [self.pop()]))
        elif name == "TO_BOOL":
            self.stack.append(("call", "not", [("call", "not", [self.pop()])]))
        elif name == "UNARY_NEGATIVE":
            self.stack.append(("call", "negative", [self.pop()]))
        elif name == "BINARY_SUBSCR":
            at = self.stack.pop()
            self.stack.append(self.part(self.pop(), at))
        elif name == "BUILD_SLICE":
            self.stack.append(self.edges(argument))
        elif name == "BINARY_SLICE":
            edges = self.edges(2)
            self.stack.append(self.part(self.pop(), edges))
        elif name == "IS_OP":
            one, other = self.pop_all(2)
            if other != ("constant", None):
                raise Unknown
            found = ("call", "is None", [one])
            self.stack.append(("call", "not", [found]) if argument else found)
        elif name == "FORMAT_SIMPLE" or (name == "FORMAT_VALUE" and argument in (0, 1)):
            self.stack.append(("call", "str", [self.pop()]))
        elif name == "BUILD_STRING":
            self.stack.append(functools.reduce(lambda one, other: ("call", "+", [one, other]), self.pop_all(argument)))
        elif name == "BINARY_OP":
            self.operate(instruction.argrepr if instruction.argrepr == "+=" else instruction.argrepr.rstrip("="))
        elif name == "INPLACE_ADD":
            self.operate("+=")
        elif name.startswith(("BINARY_", "INPLACE_")):
            self.operate(OPERATORS.get(name.split("_", 1)[1]))
        else:
            raise Unknown

    def edges(self, count):
        """The edges of a slice."""
        edges = [value if kind == "constant" else self for kind, value, *_ in self.pop_all(count)]
        if len(edges) != 2 or not all(edge is None or type(edge) is int for edge in edges):
            raise Unknown
        return slice(*edges)

    @staticmethod
    def part(whole, at):
        """An element or a slice of a sequence."""
        if type(at) is slice:
            return ("slice", whole, at.start, at.stop)
        if at[0] != "constant" or type(at[1]) is not int:
            raise Unknown
        return ("element", whole, at[1], None)

    def pop(self):
        return self.pop_all(1)[0]

    def pop_all(self, count):
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        if not all(type(one) is tuple for one in found):
            raise Unknown
        return found

    def load(self, *names):
        for name in names:
            if name not in self.variables:
                raise Unknown
            self.stack.append(self.variables[name])

    def store(self, *names):
        # What was loaded before stays what it was.
        for name in names:
            self.variables[name] = self.pop()
            self.computed.append(self.variables[name])

    def load_global(self, name):
        try:
            self.load_object(self.function.__globals__[name])
        except KeyError:
            self.load_object(getattr(builtins, name, NULL))

    def load_free(self, name):
        try:
            cell = self.function.__closure__[self.function.__code__.co_freevars.index(name)]
            found = cell.cell_contents
        except ValueError:  # It is empty.
            raise Unknown from None
        self.load_object(found)

    def load_object(self, found):
        if type(found) in (int, float, str, bool, type(None)):
            self.stack.append(("constant", found))
        else:
            self.stack.append(Callable(lambda arguments: self.call_function(found, arguments)))

    def load_method(self, name):
        receiver = self.pop()
        if name not in METHODS:
            raise Unknown
        self.stack.append(Callable(lambda arguments: ("call", "." + name, [receiver, *arguments])))
        if TWO_PLACES:
            self.stack.append(NULL)

    def call(self, count):
        arguments = self.pop_all(count)
        places = [self.stack.pop() for _ in range(1 + TWO_PLACES)]
        called = [one for one in places if isinstance(one, Callable)]
        if len(called) != 1 or (TWO_PLACES and NULL not in places):
            raise Unknown
        self.stack.append(called[0].call(arguments))

    def operate(self, name):
        if name not in BINARY:
            raise Unknown
        self.stack.append(("call", name, self.pop_all(2)))
