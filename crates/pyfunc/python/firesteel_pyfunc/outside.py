"""What is on the stack beside expressions: objects from outside of the function, what is only there to be called."""

from . import known, reasons, texts
from .reasons import NotSimple

# What a dictionary, set or list from outside may have in it.
SINGLES = (int, float, str, bool, type(None))
# Longer tuples are searched as sets are.
FEW = 4


class Outside:
    """What is on the stack and has no value in an expression."""

    def call(self, _arguments, _names):
        """The expression of a call; the last arguments have names."""
        raise NotSimple(reasons.CALLABLE)

    def attribute(self, _name):
        """What is on the stack for an attribute."""
        raise NotSimple(reasons.ATTRIBUTE)


class Callable(Outside):
    """Something to be called, with expressions."""

    def __init__(self, called):
        self.called = called

    def call(self, arguments, names):
        return self.called(expressions(arguments), names)


class TypeOf(Outside):
    """`type(value)`"""

    def __init__(self, value):
        self.value = value


class Slice(Outside):
    """A slice between expressions."""

    def __init__(self, edges):
        self.edges = edges


class Object(Outside):
    """An object: a function, module or class, or a dictionary, set or list that is only read.

    `called` gives the expression of its call."""

    def __init__(self, found, called):
        self.found, self.called = found, called

    def call(self, arguments, names):
        if self.found is isinstance and not names and len(arguments) == 2 and type(arguments[1]) is Object:
            return ("call", "is of", [expressions(arguments[:1])[0], ("constant", arguments[1].instances())])
        if self.found is type and not names and len(arguments) == 1:
            (value,) = expressions(arguments)
            return Object(type(value[1]), self.called) if value[0] == "constant" else TypeOf(value)
        if self.found is len and not names and len(arguments) == 1 and type(arguments[0]) is Object:
            return ("constant", arguments[0].length())
        if self.is_error():
            return self
        return self.called(self.found, expressions(arguments), names)

    def is_error(self):
        """Whether it is a class of errors, of which one is only there to be raised."""
        return type(self.found) is type and issubclass(self.found, BaseException)

    def attribute(self, name):
        found = self.found
        if any(found is module for module in known.MODULES.values()) and name in vars(found):
            return loaded(vars(found)[name], self.called)
        if type(found) is dict and name == "get":
            return Callable(self.get)
        raise NotSimple(reasons.ATTRIBUTE)

    def get(self, arguments, names):
        """`dictionary.get(*arguments)`"""
        if names or len(arguments) not in (1, 2):
            raise NotSimple(reasons.ARGUMENTS)
        return ("read", "get", self.found, arguments)

    def item(self, at):
        """`found[at]`"""
        if type(self.found) is dict:
            return ("read", "item", self.found, [at])
        return part_of(self.sequence(), at)

    def sequence(self):
        """A list as a constant, for what does not keep it."""
        if type(self.found) is not list or not all(is_constant(one) for one in self.found):
            raise NotSimple(reasons.OBJECT)
        return ("constant", self.found)

    def length(self):
        if type(self.found) not in (dict, set, frozenset, list):
            raise NotSimple(reasons.OBJECT)
        return len(self.found)

    def instances(self):
        """The names of the types of values that are instances of a class or of one of a tuple of classes."""
        return " ".join(filter(None, (known.INSTANCES[one] for one in self.classes())))

    def classes(self):
        found = self.found if type(self.found) is tuple else (self.found,)
        if not all(type(one) is type and one in known.INSTANCES for one in found):
            raise NotSimple(reasons.OBJECT)
        return found


def loaded(found, called):
    """What is on the stack for an object."""
    return ("constant", found) if is_constant(found) else Object(found, called)


def is_constant(found):
    """Whether an object is a number or text, or a tuple of such."""
    return type(found) in SINGLES or (type(found) is tuple and all(type(one) in SINGLES for one in found))


def expressions(found):
    """What is on the stack, all of which must be values."""
    if not all(type(one) is tuple for one in found):
        raise NotSimple(reasons.OBJECT)
    return list(found)


def attribute(of, name):
    """What is on the stack for an attribute, which may be a method."""
    if isinstance(of, Outside):
        return of.attribute(name)
    if name == "format" and of[0] == "constant" and type(of[1]) is str:
        return Callable(lambda arguments, names: texts.filled(of[1], arguments, names))
    if name not in known.METHODS:
        raise NotSimple(reasons.ATTRIBUTE)
    return Callable(lambda arguments, names: applied("." + name, [of, *arguments], names))


def applied(operation, arguments, names=()):
    """The expression of an operation, of which the last arguments have names."""
    if names:
        known_names = known.NAMES.get(operation, ())
        count = len(arguments) - len(names)
        by_name = dict(zip(names, arguments[count:]))
        arguments = arguments[:count]
        if not all(name in known_names[count:] for name in by_name):
            raise NotSimple(reasons.ARGUMENTS)
        for name in known_names[count:]:
            if not by_name:
                break
            if name not in by_name and operation not in known.LEFT_OUT:
                raise NotSimple(reasons.ARGUMENTS)
            arguments.append(by_name.pop(name) if name in by_name else ("constant", known.LEFT_OUT[operation]))
    fewest, most = known.COUNTS[operation]
    if not fewest <= len(arguments) <= most:
        raise NotSimple(reasons.ARGUMENTS)
    return ("call", operation, arguments)


def part_of(whole, at):
    """An element or a slice of a sequence or dictionary."""
    if isinstance(whole, Object):
        return whole.item(at)
    if type(at) is not Slice:
        (at,) = expressions([at])
        if at[0] != "constant":
            return ("call", "item", [whole, at])
        if type(at[1]) is not int:
            raise NotSimple(reasons.OPERATION)
        return ("element", whole, at[1], None)
    start, stop, step = at.edges
    constants = [edge[1] for edge in (start, stop) if edge[0] == "constant"]
    if step == ("constant", None) and len(constants) == 2 and all(type(one) in (int, type(None)) for one in constants):
        return ("slice", whole, *constants)
    return ("call", "slice", [whole, start, stop, step])


def contained(one, within):
    """`one in within`"""
    if isinstance(within, Object):
        if type(one) is TypeOf:
            return is_of(one, within)
        if type(within.found) in (dict, set, frozenset):
            return ("read", "in", within.found, expressions([one]))
        within = within.sequence()
    one, within = expressions([one, within])
    kind, found = within if within[0] == "constant" else (None, None)
    if kind and (type(found) is frozenset or (type(found) in (tuple, list) and len(found) > FEW and is_table(found))):
        return ("read", "in", found, [one])
    return ("call", "in", [one, within])


def is_table(found):
    """Whether a sequence is searched as a set is: all in it is equal to itself."""
    return all(type(one) in SINGLES and one == one for one in found)


def is_of(one, other):
    """Whether the type of a value is one of a class or tuple of classes."""
    names = " ".join(each.__name__ for each in other.classes() if known.INSTANCES[each])
    return ("call", "is of", [one.value, ("constant", names)])


def is_same(one, other):
    """`one is other`, of which one is `None`, a truth or a class."""
    if type(one) is TypeOf and isinstance(other, Object) and type(other.found) is not tuple:
        return is_of(one, other)
    one, other = expressions([one, other])
    if other[0] == "constant" and other[1] is None:
        return ("call", "is None", [one])
    if not any(each[0] == "constant" and type(each[1]) in (bool, type(None)) for each in (one, other)):
        raise NotSimple(reasons.OPERATION)
    return ("call", "is", [one, other])


def compared(name, one, other):
    """`one == other` and other operators; classes are compared as `is` does."""
    if name in ("==", "!=") and type(one) is TypeOf and isinstance(other, Object) and type(other.found) is not tuple:
        found = is_of(one, other)
        return found if name == "==" else ("call", "not", [found])
    one, other = expressions([one, other])
    if name == "%" and one[0] == "constant" and type(one[1]) is str:
        return texts.interpolated(one[1], other)
    return ("call", name, [one, other])


def bound(function, arguments, names, called):
    """What a function's parameters are, as a dictionary; the last arguments have names."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    count = len(arguments) - len(names)
    if count > code.co_argcount:
        raise NotSimple(reasons.ARGUMENTS)
    found = dict(zip(parameters, arguments[:count]))
    for name, value in zip(names, arguments[count:]):
        if name in found or name not in parameters[code.co_posonlyargcount :]:
            raise NotSimple(reasons.ARGUMENTS)
        found[name] = value
    values = function.__defaults__ or ()
    defaults = dict(zip(parameters[code.co_argcount - len(values) : code.co_argcount], values))
    defaults.update(function.__kwdefaults__ or {})
    for name in parameters:
        if name not in found and name not in defaults:
            raise NotSimple(reasons.ARGUMENTS)
        if name not in found:
            found[name] = loaded(defaults[name], called)
    return found
