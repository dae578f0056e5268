"""Expressions of texts that are put together: `"…" % values`, `"…".format(…)`, `f"…"`."""

import functools
import re
import string

from . import reasons
from .reasons import NotSimple

CONVERSION = re.compile(r"%(?:(?P<percent>%)|(?P<flags>[-+ 0]*)(?P<width>\d*)(?:\.(?P<precision>\d+))?(?P<kind>\w))")
INTEGERS, FLOATS = set("diuxXo"), set("fFeEg")


def concatenated(pieces):
    """The texts one behind the other."""
    pieces = [piece for piece in pieces if piece != ("constant", "")] or [("constant", "")]
    return functools.reduce(lambda one, other: ("call", "+", [one, other]), pieces)


def formatted(value, specification=("constant", ""), conversion=None):
    """`format(value, specification)`, of what a conversion (`s` or `r`) makes of the value."""
    if conversion not in (None, "s", "r"):
        raise NotSimple(reasons.OPERATION)
    if conversion:
        value = ("call", "str" if conversion == "s" else "repr", [value])
    if specification == ("constant", ""):
        return value if conversion else ("call", "str", [value])
    return ("call", "format", [value, specification])


def interpolated(template, values):
    """`template % values`"""
    kind, *fields = values
    if kind == "tuple":
        values = fields[0]
    elif kind == "constant" and type(fields[0]) is tuple:
        values = [("constant", value) for value in fields[0]]
    else:
        # A tuple when it is computed is left to Python, which knows how many values it has.
        values = [values]
    left, pieces, at = list(values), [], 0
    for found in CONVERSION.finditer(template):
        pieces.append(("constant", literal(template[at : found.start()])))
        at = found.end()
        if found["percent"]:
            pieces.append(("constant", "%"))
        elif not left:
            raise NotSimple(reasons.OPERATION)
        else:
            pieces.append(converted(left.pop(0), **found.groupdict()))
    if left or not values:
        raise NotSimple(reasons.OPERATION)
    return concatenated([*pieces, ("constant", literal(template[at:]))])


def literal(text):
    if "%" in text:
        raise NotSimple(reasons.OPERATION)
    return text


def converted(value, flags, width, precision, kind, percent):
    """The text of a value by a conversion such as `%-5s`."""
    align, sign = "<" if "-" in flags else "", "+" if "+" in flags else " " if " " in flags else ""
    digits = "." + precision if precision else ""
    if kind in "sr":
        if set(flags) - {"-"}:
            raise NotSimple(reasons.OPERATION)
        # Numbers have their place at the end of the width, and so have texts here.
        width = (align or ">") + width if width else ""
        return formatted(value, ("constant", width + digits), kind)
    if kind not in INTEGERS | FLOATS or (digits and kind in INTEGERS):
        raise NotSimple(reasons.OPERATION)
    zero = "0" if "0" in flags and not align else ""
    specification = align + sign + zero + width + digits
    if kind in "diu":
        return formatted(("call", "%d", [value]), ("constant", specification))
    return formatted(value, ("constant", specification + kind))


def filled(template, values, names):
    """`template.format(*values)`, of which the last ones have names."""
    unnamed = len(values) - len(names)
    by_name = dict(zip(names, values[unnamed:]))
    used, pieces = set(), []
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError:
        raise NotSimple(reasons.OPERATION) from None
    fields = [field for _, field, _, _ in parsed if field is not None]
    counted = [str(number) for number in range(len(fields))] if fields == [""] * len(fields) else fields
    positions = iter(counted)
    for text, field, specification, conversion in parsed:
        pieces.append(("constant", text))
        if field is None:
            continue
        field = next(positions)
        if field in by_name:
            value = by_name[field]
        elif re.fullmatch("[0-9]{1,3}", field) and int(field) < unnamed:
            value = values[int(field)]
        else:
            raise NotSimple(reasons.OPERATION)
        if "{" in specification or "}" in specification:
            raise NotSimple(reasons.OPERATION)
        used.add(id(value))
        pieces.append(formatted(value, ("constant", specification), conversion))
    # An error in computing it would be missed.
    if any(id(value) not in used for value in values):
        raise NotSimple(reasons.UNUSED)
    return concatenated(pieces)
