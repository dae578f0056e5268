"""Writes expressions as `pyfunc::Expression::decode` reads them: JSON, an array of parts that refer to earlier ones."""

import json
import struct

from . import reasons
from .reasons import NotSimple

# Parts of an expression, counted as often as they are used; `MAX_PARTS` of the reader.
MAX_PARTS = 256
# Bytes of all of it, and about those of its constants, counted as often as they are used, with what a value needs
# beside its text; the reader's limits.
MAX_ENCODED = 1 << 20
MAX_CONSTANTS = 8 << 20
VALUE = 64
# Entries of a dictionary, set, list or tuple, and depth of tuples.
MAX_ENTRIES = 10_000
MAX_DEPTH = 16
INT64 = range(-(2**63), 2**63)


def encode(expression):
    return Encoder().encode(expression)


class Encoder:
    def __init__(self):
        # Bytes of constants so far.
        self.parts, self.bytes = [], 0
        # By identity: the index of an expression's part, how many parts it stands for, and bytes of their constants.
        self.known = {}

    def encode(self, expression):
        self.part(expression)
        encoded = json.dumps(self.parts, separators=(",", ":"), allow_nan=False)
        if len(encoded) > MAX_ENCODED:
            raise NotSimple(reasons.CONSTANT)
        return encoded

    def part(self, expression):
        found = self.known.get(id(expression))
        if found is None:
            found = self.known[id(expression)] = self.new_part(expression)
        return found

    def new_part(self, expression):
        kind, *fields = expression
        sizes = [(1, 0)]

        def inner(one):
            index, *size = self.part(one)
            sizes.append(size)
            return index

        if kind in ("tuple", "list"):
            part = [kind, [inner(one) for one in fields[0]]]
        elif kind in ("element", "slice"):
            part = [kind, inner(fields[0]), *map(self.number, fields[1:])]
        elif kind == "call":
            part = [kind, fields[0], [inner(one) for one in fields[1]]]
        elif kind == "if":
            part = [kind, *map(inner, fields)]
        elif kind == "constant":
            part, size = self.counted(lambda: [kind, self.value(fields[0], 0, True)])
            sizes.append((0, size))
        elif kind == "read":
            part = [kind, fields[0], self.table(fields[1]), [inner(one) for one in fields[2]]]
        else:
            part = [kind, *fields]
        count, size = map(sum, zip(*sizes))
        if count > MAX_PARTS:
            raise NotSimple(reasons.SIZE)
        if size + self.bytes > MAX_CONSTANTS:
            raise NotSimple(reasons.CONSTANT)
        self.parts.append(part)
        return len(self.parts) - 1, count, size

    def counted(self, written):
        """What is written, and the bytes of constants in it."""
        before = self.bytes
        return written(), self.bytes - before

    def table(self, found):
        """The index of the part of a dictionary or set, which is read once."""
        key = ("table", id(found))
        if key not in self.known:
            if len(found) > MAX_ENTRIES:
                raise NotSimple(reasons.CONSTANT)
            entries = found.items() if type(found) is dict else dict.fromkeys(found).items()
            written = [[self.value(one, 1), self.value(other, 1)] for one, other in entries]
            if not all(is_equal_to_itself(one) for one, _ in entries):
                raise NotSimple(reasons.CONSTANT)
            self.parts.append(["table", written])
            self.known[key] = len(self.parts) - 1
        return self.known[key]

    @staticmethod
    def number(found):
        """An index, or None."""
        if found is not None and found not in INT64:
            raise NotSimple(reasons.CONSTANT)
        return found

    def value(self, found, depth, is_list=False):
        """A constant; a list if it is only read."""
        kind = type(found)
        self.bytes += VALUE + (4 * len(found) if kind is str else 0)
        if self.bytes > MAX_CONSTANTS:
            raise NotSimple(reasons.CONSTANT)
        if found is None or kind is bool:
            return found
        if kind is int and found in INT64:
            return found
        if kind is float:
            return {"float": struct.pack(">d", found).hex()}
        # Surrogates are no characters of UTF-8.
        if kind is str and not any("\ud800" <= one <= "\udfff" for one in found):
            return found
        if (kind is tuple or (kind is list and is_list)) and depth < MAX_DEPTH and len(found) <= MAX_ENTRIES:
            return {kind.__name__: [self.value(one, depth + 1) for one in found]}
        raise NotSimple(reasons.CONSTANT)


def is_equal_to_itself(key):
    """What is not a number is found by identity only."""
    return all(map(is_equal_to_itself, key)) if type(key) is tuple else key == key
