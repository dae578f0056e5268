"""Expressions of simple functions, read off their bytecode.

A function without loops, effects and unknown calls is an expression of its arguments: operators on numbers and texts,
methods of texts, tuples, lists and their elements, choices. Everything else raises `NotSimple` here.

Expressions are tuples: `("argument", index)`, `("constant", value)`, `("tuple", [expressions])`,
`("list", [expressions])`, `("element", expression, index, length or None)`,
`("slice", expression, start or None, stop or None)`, `("call", operation, [expressions])`,
`("if", condition, expression, expression)`."""

import builtins
import copy
import dis
import functools
import inspect
import operator
import types

from . import reasons, versions
from .reasons import NotSimple

# Functions within functions, and instructions on all ways through them.
MAX_DEPTH = 8
MAX_INSTRUCTIONS = 400

# Lists can be changed by `+=`, under other names, too.
BINARY = {"+", "-", "*", "/", "//", "%", "+=", "==", "!=", "<", "<=", ">", ">=", "in", "not in"}
METHODS = {"split", "strip", "lstrip", "rstrip", "lower", "upper", "startswith", "endswith", "replace"}
FUNCTIONS = [
    (builtins.abs, "abs"), (builtins.max, "max"), (builtins.min, "min"), (builtins.len, "len"), (builtins.int, "int"),
    (builtins.float, "float"), (builtins.str, "str"), (operator.add, "+"), (operator.mul, "*"), (operator.sub, "-"),
]  # fmt: skip
# How few and how many arguments operations have, if not two; `pyfunc::Operation::named` has the same.
COUNTS = {
    "abs": (1, 1), "len": (1, 1), "int": (1, 1), "float": (1, 1), "str": (1, 1), ".split": (1, 2), ".strip": (1, 2),
    ".lstrip": (1, 2), ".rstrip": (1, 2), ".lower": (1, 1), ".upper": (1, 1), ".replace": (3, 3),
}  # fmt: skip
# A function's flags about its arguments and generators; simple ones have variables of their own, nested or not.
FLAGS = 0xFFF
SIMPLE = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | inspect.CO_NESTED | inspect.CO_NOFREE
VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# What takes a place on the stack beside a callable.
NULL = object()


class Callable:
    """Something on the stack that is only there to be called, with expressions."""

    def __init__(self, call):
        self.call = call


def tree(function, count):
    """The expression of a function's value; the function has `count` arguments."""
    arguments = [("argument", index) for index in range(count)]
    return Compiler(versions.instructions()).expression(function, arguments, 0)


def applied(operation, arguments):
    """The expression of an operation."""
    fewest, most = COUNTS.get(operation, (2, 2))
    if not fewest <= len(arguments) <= most:
        raise NotSimple(reasons.ARGUMENTS)
    return ("call", operation, arguments)


def computed_with(expression):
    """The expressions that are computed in any case for an expression."""
    kind = expression[0]
    if kind in ("tuple", "list"):
        return expression[1]
    if kind in ("element", "slice", "if"):
        return expression[1:2]
    return expression[2] if kind == "call" else []


class Compiler:
    """Expressions of a function and of those that it calls."""

    def __init__(self, table):
        self.table, self.count = table, 0

    def expression(self, function, arguments, depth):
        for known, operation in FUNCTIONS:
            if function is known:
                return applied(operation, arguments)
        if type(function) is not types.FunctionType:
            raise NotSimple(reasons.CALLABLE)
        if depth > MAX_DEPTH:
            raise NotSimple(reasons.SIZE)
        check_code(function.__code__, len(arguments))
        instructions = {one.offset: one for one in dis.get_instructions(function)}
        following = dict(zip(instructions, list(instructions)[1:]))
        called = functools.partial(self.expression, depth=depth + 1)
        return self.follow(Reader(function, arguments, called), instructions, following, 0)

    def follow(self, reader, instructions, following, at):
        """The value on a way through the function."""
        while True:
            self.count += 1
            if self.count > MAX_INSTRUCTIONS:
                raise NotSimple(reasons.SIZE)
            instruction = instructions[at]
            step, *details = self.table.get(instruction.opname, ("refuse", reasons.OPERATION))
            if step in ("return_value", "return_constant"):
                found = ("constant", instruction.argval) if step == "return_constant" else reader.pop()
                check_used(found, reader.computed, reader.conditions)
                return found
            if step == "jump" or step.startswith("branch_"):
                if instruction.argval <= at:
                    raise NotSimple(reasons.LOOP)
            if step == "jump":
                at = instruction.argval
                continue
            if step.startswith("branch_"):
                condition, jumping = reader.branch(step, bool(details))
                stays = self.follow(reader, instructions, following, following[at])
                return ("if", condition, stays, self.follow(jumping, instructions, following, instruction.argval))
            getattr(reader, step)(instruction, *details)
            at = following[at]


def check_code(code, count):
    """Whether a function is called with `count` arguments and computes a value when it is."""
    flags = code.co_flags & FLAGS & ~SIMPLE
    if flags & VARIABLE or code.co_kwonlyargcount or code.co_argcount != count:
        raise NotSimple(reasons.ARGUMENTS)
    if flags:
        raise NotSimple(reasons.GENERATOR)
    if code.co_cellvars:
        raise NotSimple(reasons.INNER_FUNCTION)


def check_used(found, computed, conditions):
    """What is computed on the way must be part of what is returned, or such that no error is missed without it."""
    reached, left = [], [found, *conditions]
    while left:
        reached.append(left.pop())
        left.extend(computed_with(reached[-1]))
        if len(reached) > MAX_INSTRUCTIONS:
            raise NotSimple(reasons.SIZE)
    for one in computed:
        if one[0] in ("argument", "constant") or any(one is other for other in reached):
            continue
        # Of a sequence that is unpacked some elements may not be used.
        if one[0] != "element" or one[3] is None or not any(same_sequence(one, other) for other in reached):
            raise NotSimple(reasons.UNUSED)


def same_sequence(one, other):
    """Whether two expressions are elements of a sequence that is unpacked."""
    return one[0] == other[0] == "element" and one[1] is other[1] and one[3] == other[3]


class Reader:
    """Follows the instructions of a function, with expressions in the place of values.

    Its operations are those that the tables of `versions` name."""

    def __init__(self, function, arguments, called):
        self.function, self.called = function, called
        self.variables = dict(zip(function.__code__.co_varnames, arguments))
        # Expressions that may not be part of what is returned, and those that decided on the way.
        self.stack, self.computed, self.conditions = [], list(arguments), []

    def pop(self):
        return self.pop_all(1)[0]

    def pop_all(self, count):
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        if not all(type(one) is tuple for one in found):
            raise NotSimple(reasons.OBJECT)
        return found

    def branch(self, step, keep):
        """The condition for going on here, and a reader for the other way, on which the value may be kept."""
        value = self.pop()
        condition = ("call", "is None", [value]) if step.endswith("_none") else value
        if step in ("branch_if_true", "branch_if_none"):
            condition = ("call", "not", [condition])
        self.conditions.append(condition)
        jumping = copy.copy(self)
        jumping.variables = dict(self.variables)
        jumping.stack, jumping.computed, jumping.conditions = self.stack[:], self.computed[:], self.conditions[:]
        if keep:
            jumping.stack.append(value)
        return condition, jumping

    def refuse(self, _, reason):
        raise NotSimple(reason)

    def ignore(self, _):
        pass

    def load(self, instruction):
        self.load_names(instruction.argval)

    def load_two(self, instruction):
        self.load_names(*instruction.argval)

    def store(self, instruction):
        self.store_names(instruction.argval)

    def store_two(self, instruction):
        self.store_names(*instruction.argval)

    def store_and_load(self, instruction):
        stored, loaded = instruction.argval
        self.store_names(stored)
        self.load_names(loaded)

    def load_names(self, *names):
        for name in names:
            if name not in self.variables:
                raise NotSimple(reasons.OPERATION)
            self.stack.append(self.variables[name])

    def store_names(self, *names):
        # What was loaded before stays what it was.
        for name in names:
            self.variables[name] = self.pop()
            self.computed.append(self.variables[name])

    def constant(self, instruction):
        self.stack.append(("constant", instruction.argval))

    def load_global(self, instruction):
        function, name = self.function, instruction.argval
        if name in function.__globals__:
            self.load_object(function.__globals__[name])
            return
        # CPython 3.10 and newer remember them; those of the globals are asked otherwise.
        found = getattr(function, "__builtins__", None) or function.__globals__.get("__builtins__", builtins)
        found = vars(found) if isinstance(found, types.ModuleType) else found
        if name not in found:
            raise NotSimple(reasons.OBJECT)
        self.load_object(found[name])

    def load_global_and_null(self, instruction):
        self.load_global(instruction)
        if instruction.arg & 1:
            self.stack.append(NULL)

    def load_free(self, instruction):
        code = self.function.__code__
        try:
            found = self.function.__closure__[code.co_freevars.index(instruction.argval)].cell_contents
        except ValueError:  # It is empty.
            raise NotSimple(reasons.OBJECT) from None
        self.load_object(found)

    def load_object(self, found):
        if type(found) in (int, float, str, bool, type(None)):
            self.stack.append(("constant", found))
        else:
            self.stack.append(Callable(lambda arguments: self.called(found, arguments)))

    def push_null(self, _):
        self.stack.append(NULL)

    def discard(self, _):
        self.computed.append(self.pop())

    def copy(self, instruction, depth=None):
        self.stack.append(self.stack[-(depth or instruction.arg)])

    def swap(self, instruction, depth=None):
        other = -(depth or instruction.arg)
        self.stack[-1], self.stack[other] = self.stack[other], self.stack[-1]

    def rotate_three(self, _):
        self.stack.insert(-2, self.stack.pop())

    def load_method(self, instruction):
        name = instruction.argval
        if name not in METHODS:
            raise NotSimple(reasons.ATTRIBUTE)
        receiver = self.pop()
        self.stack.append(Callable(lambda arguments: applied("." + name, [receiver, *arguments])))

    def load_method_and_null(self, instruction):
        self.load_method(instruction)
        self.stack.append(NULL)

    def load_attribute_or_method(self, instruction):
        if not instruction.arg & 1:
            raise NotSimple(reasons.ATTRIBUTE)
        self.load_method_and_null(instruction)

    def call(self, instruction):
        arguments = self.pop_all(instruction.arg)
        self.call_one_of([self.stack.pop()], arguments)

    def call_with_null(self, instruction):
        arguments = self.pop_all(instruction.arg)
        places = [self.stack.pop(), self.stack.pop()]
        if NULL not in places:
            raise NotSimple(reasons.OPERATION)
        self.call_one_of(places, arguments)

    def call_one_of(self, places, arguments):
        found = [one for one in places if isinstance(one, Callable)]
        if len(found) != 1:
            raise NotSimple(reasons.CALLABLE)
        self.stack.append(found[0].call(arguments))

    def build(self, instruction, kind):
        self.stack.append((kind, self.pop_all(instruction.arg)))

    def unpack(self, instruction):
        whole, count = self.pop(), instruction.arg
        self.stack.extend(("element", whole, at, count) for at in reversed(range(count)))

    def compare(self, instruction):
        self.operate(instruction, instruction.argval)

    def contains(self, instruction):
        self.operate(instruction, "not in" if instruction.arg else "in")

    def is_none(self, instruction):
        one, other = self.pop_all(2)
        if other != ("constant", None):
            raise NotSimple(reasons.OPERATION)
        found = ("call", "is None", [one])
        self.stack.append(("call", "not", [found]) if instruction.arg else found)

    def binary_operator(self, instruction):
        # Numbers and texts are not changed in place, lists are.
        name = instruction.argrepr
        self.operate(instruction, name if name == "+=" else name.rstrip("="))

    def operate(self, _, name):
        if name not in BINARY:
            raise NotSimple(reasons.OPERATION)
        self.stack.append(("call", name, self.pop_all(2)))

    def unary(self, _, name):
        self.stack.append(("call", name, [self.pop()]))

    def to_bool(self, instruction):
        self.unary(instruction, "not")
        self.unary(instruction, "not")

    def build_string(self, instruction):
        added = functools.reduce(lambda one, other: ("call", "+", [one, other]), self.pop_all(instruction.arg))
        self.stack.append(added)

    def format_value(self, instruction):
        # Without a format, as it is or by `str`.
        if instruction.arg not in (0, 1):
            raise NotSimple(reasons.OPERATION)
        self.unary(instruction, "str")

    def subscript(self, _):
        at = self.stack.pop()
        self.stack.append(part_of(self.pop(), at))

    def build_slice(self, instruction):
        self.stack.append(slice_between(self.pop_all(instruction.arg)))

    def binary_slice(self, _):
        edges = slice_between(self.pop_all(2))
        self.stack.append(part_of(self.pop(), edges))


def slice_between(edges):
    """The slice between two constants."""
    if len(edges) != 2 or not all(one[0] == "constant" and (one[1] is None or type(one[1]) is int) for one in edges):
        raise NotSimple(reasons.OPERATION)
    return slice(*(value for _, value in edges))


def part_of(whole, at):
    """An element or a slice of a sequence."""
    if type(at) is slice:
        return ("slice", whole, at.start, at.stop)
    if type(at) is not tuple or at[0] != "constant" or type(at[1]) is not int:
        raise NotSimple(reasons.OPERATION)
    return ("element", whole, at[1], None)
