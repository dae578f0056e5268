"""Expressions of simple functions, read off their bytecode.

A function without loops, effects and unknown calls is an expression of its arguments: operators on numbers and texts,
methods of texts, tuples, lists and their elements, choices. Everything else raises `NotSimple` here.

Expressions are tuples: `("argument", index)`, `("constant", value)`, `("tuple", [expressions])`,
`("list", [expressions])`, `("element", expression, index, length or None)`,
`("slice", expression, start or None, stop or None)`, `("call", operation, [expressions])`,
`("read", "item", "get" or "in", dictionary or set, [expressions])`, `("if", condition, expression, expression)`."""

import builtins
import copy
import dis
import functools
import inspect
import sys
import types

from . import known, outside, reasons, texts, versions
from .outside import Object, Outside, Slice, TypeOf, applied, attribute, expressions, loaded
from .reasons import NotSimple

# Functions within functions, and instructions on all ways through them.
MAX_DEPTH = 8
MAX_INSTRUCTIONS = 400

# A function's flags about its arguments and generators; simple ones have variables of their own, nested or not.
FLAGS = 0xFFF
SIMPLE = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | inspect.CO_NESTED | inspect.CO_NOFREE
VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# The value on a way that ends with an error: Python raises it.
LEFT_TO_PYTHON = ("call", "leave", [])
# What takes a place on the stack beside a callable.
NULL = object()


def tree(function, count):
    """The expression of a function's value; the function has `count` arguments."""
    arguments = [("argument", index) for index in range(count)]
    return Compiler(versions.instructions()).expression(function, arguments, 0)


def computed_with(expression):
    """The expressions that are computed in any case for an expression."""
    kind = expression[0]
    if kind in ("tuple", "list"):
        return expression[1]
    if kind in ("element", "slice", "if"):
        return expression[1:2]
    if kind == "read":
        return expression[3]
    return expression[2] if kind == "call" else []


class Compiler:
    """Expressions of a function and of those that it calls."""

    def __init__(self, table):
        self.table, self.count = table, 0

    def expression(self, function, arguments, depth, names=()):
        """The expression of a call; the last arguments have names."""
        builtin = built_in(function, arguments, names)
        if builtin is not None:
            return builtin
        if type(function) is not types.FunctionType:
            raise NotSimple(reasons.CALLABLE)
        if depth > MAX_DEPTH:
            raise NotSimple(reasons.SIZE)
        check_code(function.__code__)

        def called(found, arguments, names):
            return self.expression(found, arguments, depth + 1, names)

        parameters = outside.bound(function, arguments, names, called)
        instructions = {one.offset: one for one in dis.get_instructions(function)}
        following = dict(zip(instructions, list(instructions)[1:]))
        return self.follow(Reader(function, parameters, called), instructions, following, 0)

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
            if step == "leave":
                return LEFT_TO_PYTHON
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


def built_in(function, arguments, names):
    """The expression of a call of a function that is an operation, if it is one."""
    for found, operation in known.EXTREMES:
        if function is found and not names and arguments:
            if len(arguments) == 1:
                return ("call", operation + " of", arguments)
            return functools.reduce(lambda one, other: ("call", operation, [one, other]), arguments)
    if function is builtins.bool and len(arguments) == 1 and not names:
        return ("call", "not", [("call", "not", arguments)])
    if function is builtins.format and len(arguments) == 1 and not names:
        return texts.formatted(arguments[0])
    for found, operation in known.FUNCTIONS:
        if function is found:
            return applied(operation, arguments, names)
    return None


def check_code(code):
    """Whether a function has parameters that are known and computes a value when it is called."""
    flags = code.co_flags & FLAGS & ~SIMPLE
    if flags & VARIABLE:
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

    def __init__(self, function, parameters, called):
        self.function, self.called, self.variables = function, called, parameters
        # Expressions that may not be part of what is returned, and those that decided on the way.
        self.stack, self.conditions = [], []
        self.computed = [one for one in parameters.values() if type(one) is tuple]
        # Names of the last arguments of the next call.
        self.names = ()

    def pop(self):
        return expressions(self.pop_any(1))[0]

    def pop_all(self, count):
        return expressions(self.pop_any(count))

    def pop_any(self, count):
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
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

    def not_lost(self, found):
        """An error in computing it must not be missed."""
        if type(found) is TypeOf:
            found = found.value
        if type(found) is tuple:
            self.computed.append(found)
        elif type(found) is not Object:
            raise NotSimple(reasons.OBJECT)

    def store_names(self, *names):
        # What was loaded before stays what it was.
        for name in names:
            (self.variables[name],) = self.pop_any(1)
            self.not_lost(self.variables[name])

    def constant(self, instruction):
        self.stack.append(("constant", instruction.argval))

    def load_global(self, instruction):
        function, name = self.function, instruction.argval
        if name in function.__globals__:
            self.load_object(function.__globals__[name])
            return
        if name not in self.builtins():
            raise NotSimple(reasons.OBJECT)
        self.load_object(self.builtins()[name])

    def builtins(self):
        function = self.function
        # CPython 3.10 and newer remember them; those of the globals are asked otherwise.
        found = getattr(function, "__builtins__", None) or function.__globals__.get("__builtins__", builtins)
        return vars(found) if isinstance(found, types.ModuleType) else found

    def load_global_and_null(self, instruction):
        # In this order before CPython 3.13, where it matters for attributes of the object.
        if instruction.arg & 1:
            self.stack.append(NULL)
        self.load_global(instruction)

    def load_free(self, instruction):
        code = self.function.__code__
        try:
            found = self.function.__closure__[code.co_freevars.index(instruction.argval)].cell_contents
        except ValueError:  # It is empty.
            raise NotSimple(reasons.OBJECT) from None
        self.load_object(found)

    def load_object(self, found):
        self.stack.append(loaded(found, self.called))

    def import_module(self, instruction):
        level, _ = self.pop_all(2)
        name, by = instruction.argval, self.builtins().get("__import__")
        found = known.MODULES.get(name)
        known_way = level == ("constant", 0) and type(by) is types.BuiltinFunctionType
        if not known_way or found is None or sys.modules.get(name) is not found:
            raise NotSimple(reasons.OBJECT)
        self.stack.append(Object(found, self.called))

    def import_from(self, instruction):
        self.stack.append(attribute(self.stack[-1], instruction.argval))

    def push_null(self, _):
        self.stack.append(NULL)

    def discard(self, _):
        self.not_lost(self.pop_any(1)[0])

    def copy(self, instruction, depth=None):
        self.stack.append(self.stack[-(depth or instruction.arg)])

    def swap(self, instruction, depth=None):
        other = -(depth or instruction.arg)
        self.stack[-1], self.stack[other] = self.stack[other], self.stack[-1]

    def rotate_three(self, _):
        self.stack.insert(-2, self.stack.pop())

    def load_attribute(self, instruction):
        (of,) = self.pop_any(1)
        self.stack.append(attribute(of, instruction.argval))

    def load_method_and_null(self, instruction):
        self.load_attribute(instruction)
        self.stack.append(NULL)

    def load_attribute_or_method(self, instruction):
        self.load_attribute(instruction)
        if instruction.arg & 1:
            self.stack.append(NULL)

    def named(self, instruction):
        self.names = self.function.__code__.co_consts[instruction.arg]

    def call(self, instruction):
        arguments = self.pop_any(instruction.arg)
        self.call_one_of(self.pop_any(1), arguments)

    def call_named(self, instruction):
        _, self.names = self.pop()
        self.call(instruction)

    def call_with_null(self, instruction):
        arguments = self.pop_any(instruction.arg)
        places = self.pop_any(2)
        if NULL not in places:
            raise NotSimple(reasons.OPERATION)
        self.call_one_of(places, arguments)

    def call_named_with_null(self, instruction):
        _, self.names = self.pop()
        self.call_with_null(instruction)

    def call_one_of(self, places, arguments):
        names, self.names = self.names, ()
        found = [one for one in places if isinstance(one, Outside)]
        if len(found) != 1:
            raise NotSimple(reasons.CALLABLE)
        if type(found[0]) is Object and found[0].is_error():
            for one in arguments:
                self.not_lost(one)
        self.stack.append(found[0].call(arguments, names))

    def build(self, instruction, kind):
        found = self.pop_any(instruction.arg)
        # Of classes.
        if kind == "tuple" and found and all(type(one) is Object for one in found):
            self.stack.append(Object(tuple(one.found for one in found), self.called))
        else:
            self.stack.append((kind, expressions(found)))

    def extend_list(self, instruction):
        # Three and more constants are a tuple that a list is made of.
        begun, added = self.pop_all(2)
        if instruction.arg != 1 or begun[0] != "list" or added[0] != "constant" or type(added[1]) is not tuple:
            raise NotSimple(reasons.OPERATION)
        self.stack.append(("list", [*begun[1], *(("constant", one) for one in added[1])]))

    def build_dictionary(self, instruction):
        found = self.pop_all(2 * instruction.arg)
        self.push_dictionary({}, zip(found[::2], found[1::2]))

    def build_dictionary_of_keys(self, instruction):
        *values, keys = self.pop_all(instruction.arg + 1)
        self.push_dictionary({}, zip([("constant", key) for key in keys[1]], values))

    def add_to_dictionary(self, instruction):
        if instruction.arg != 1:
            raise NotSimple(reasons.LOOP)
        before, key, value = self.pop_any(3)
        self.push_dictionary(before.found, [expressions([key, value])])

    def update_dictionary(self, instruction):
        before, more = self.pop_any(2)
        if instruction.arg != 1 or type(more) is not Object or type(more.found) is not dict:
            raise NotSimple(reasons.OPERATION)
        self.push_dictionary({**before.found, **more.found}, [])

    def push_dictionary(self, before, entries):
        """A dictionary of constants, which is only read as one from outside is."""
        entries = list(entries)
        if not all(one[0] == "constant" and outside.is_constant(one[1]) for entry in entries for one in entry):
            raise NotSimple(reasons.OPERATION)
        self.stack.append(Object({**before, **{key[1]: value[1] for key, value in entries}}, self.called))

    def unpack(self, instruction):
        whole, count = self.pop(), instruction.arg
        self.stack.extend(("element", whole, at, count) for at in reversed(range(count)))

    def compare(self, instruction):
        self.operate(instruction, instruction.argval)

    def contains(self, instruction):
        found = outside.contained(*self.pop_any(2))
        self.stack.append(("call", "not", [found]) if instruction.arg else found)

    def identity(self, instruction):
        found = outside.is_same(*self.pop_any(2))
        self.stack.append(("call", "not", [found]) if instruction.arg else found)

    def binary_operator(self, instruction):
        # Numbers and texts are not changed in place, lists are.
        name = instruction.argrepr
        self.operate(instruction, name if name in known.OPERATORS else name.rstrip("="))

    def operate(self, _, name):
        if name not in known.OPERATORS or (name == "**" and not known.SAME_LIBRARY):
            raise NotSimple(reasons.OPERATION)
        self.stack.append(outside.compared(name, *self.pop_any(2)))

    def unary(self, _, name):
        self.stack.append(("call", name, [self.pop()]))

    def intrinsic(self, instruction):
        # `INTRINSIC_UNARY_POSITIVE`
        if instruction.arg != 5:
            raise NotSimple(reasons.OPERATION)
        self.unary(instruction, "positive")

    def to_bool(self, instruction):
        self.unary(instruction, "not")
        self.unary(instruction, "not")

    def build_string(self, instruction):
        self.stack.append(texts.concatenated(self.pop_all(instruction.arg)))

    def format_value(self, instruction):
        """A value with a conversion, and with a format on top of it if there is one."""
        specification = self.pop() if instruction.arg & 4 else ("constant", "")
        conversion = {0: None, 1: "s", 2: "r"}.get(instruction.arg & 3, "a")
        self.stack.append(texts.formatted(self.pop(), specification, conversion))

    def format_with(self, _):
        value, specification = self.pop_all(2)
        self.stack.append(texts.formatted(value, specification))

    def subscript(self, _):
        self.stack.append(outside.part_of(*self.pop_any(2)))

    def build_slice(self, instruction):
        edges = self.pop_all(instruction.arg)
        self.stack.append(Slice([*edges, ("constant", None)][:3]))

    def binary_slice(self, instruction):
        self.stack.append(Slice([*self.pop_all(2), ("constant", None)]))
        self.subscript(instruction)
