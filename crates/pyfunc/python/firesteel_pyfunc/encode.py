"""Writes expressions as `pyfunc::Expression::decode` reads them: JSON, an array of parts that refer to earlier ones."""

import json
import struct

from . import reasons
from .reasons import NotSimple

# Parts of an expression, counted as often as they are used; `MAX_PARTS` of the reader.
MAX_PARTS = 256
# Characters of all texts of an expression, and depth of tuples.
MAX_TEXT = 1 << 16
MAX_DEPTH = 16
INT64 = range(-(2**63), 2**63)


def encode(expression):
    return Encoder().encode(expression)


class Encoder:
    def __init__(self):
        self.parts, self.text = [], 0
        # By identity: the index of an expression's part, and how many parts it stands for.
        self.known = {}

    def encode(self, expression):
        self.part(expression)
        return json.dumps(self.parts, separators=(",", ":"), allow_nan=False)

    def part(self, expression):
        """The index of the part for an expression, and how many parts are computed for it."""
        found = self.known.get(id(expression))
        if found is None:
            found = self.known[id(expression)] = self.new_part(expression)
        return found

    def new_part(self, expression):
        kind, *fields = expression
        sizes = []

        def inner(one):
            index, size = self.part(one)
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
            part = [kind, self.value(fields[0], 0)]
        else:
            part = [kind, *fields]
        size = 1 + sum(sizes)
        if size > MAX_PARTS:
            raise NotSimple(reasons.SIZE)
        self.parts.append(part)
        return len(self.parts) - 1, size

    @staticmethod
    def number(found):
        """An index, or None."""
        if found is not None and found not in INT64:
            raise NotSimple(reasons.CONSTANT)
        return found

    def value(self, found, depth):
        kind = type(found)
        if found is None or kind is bool:
            return found
        if kind is int and found in INT64:
            return found
        if kind is float:
            return {"float": struct.pack(">d", found).hex()}
        if kind is str:
            self.text += len(found)
            # Surrogates are no characters of UTF-8.
            if self.text <= MAX_TEXT and not any("\ud800" <= one <= "\udfff" for one in found):
                return found
        if kind is tuple and depth < MAX_DEPTH and len(found) <= MAX_PARTS:
            return {"tuple": [self.value(one, depth + 1) for one in found]}
        raise NotSimple(reasons.CONSTANT)
