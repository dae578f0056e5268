

# Types of native functions, in Spark's words, and values of them.

import ctypes as _ctypes
import datetime as _datetime
import decimal as _decimal
import re as _re
import time as _time

#
# A type is a tuple of its word and its parameters: ("double",), ("decimal", 10, 2), ("array", type),
# ("map", type, type), ("struct", (name, type), …).


def _types(text):
    return _parsed(text, _Parser.type)


def _columns(text):
    return ("struct",) + _parsed(text, _Parser.field)


def _type(text):
    types = _types(text)
    if len(types) != 1:
        raise ValueError(f"{_LIBRARY}: '{text}' is not one type")
    return types[0]


def _parsed(text, item):
    if not text.strip():
        return ()
    parser = _Parser(text)
    items = parser.several(item)
    if parser.tokens:
        raise parser.error()
    return items


class _Parser:
    def __init__(self, text):
        self.text = text
        self.tokens = _re.findall(r"[<>(),:]|[^<>(),:\s]+", text)

    def error(self):
        return ValueError(f"{_LIBRARY}: '{self.text}' is wrong before '{' '.join(self.tokens)}'")

    def take(self, pattern):
        if not self.tokens or not _re.fullmatch(pattern, self.tokens[0]):
            raise self.error()
        return self.tokens.pop(0)

    def several(self, item):
        items = [item(self)]
        while self.tokens and self.tokens[0] == ",":
            self.tokens.pop(0)
            items.append(item(self))
        return tuple(items)

    def field(self):
        name = self.take(r"[^<>(),:]+")
        self.take(":")
        return name, self.type()

    def type(self):
        word = self.take("|".join([*_SIMPLE, "decimal", "array", "map", "struct"]))
        if word in _SIMPLE:
            return (word,)
        self.take(r"\(" if word == "decimal" else "<")
        if word == "decimal":
            precision, _, scale = int(self.take("[0-9]{1,2}")), self.take(","), int(self.take("[0-9]{1,2}"))
            if not 1 <= precision <= 38 or scale > precision:
                raise self.error()
            made = (word, precision, scale)
        elif word == "map":
            made = (word, self.type(), self.take(",") and self.type())
        else:
            made = (word, self.type()) if word == "array" else (word, *self.several(_Parser.field))
        self.take(r"\)" if word == "decimal" else ">")
        return made


# Words of types without parameters: names of pyarrow's functions and PySpark's classes.
_SIMPLE = {
    "boolean": ("bool_", "BooleanType"),
    "tinyint": ("int8", "ByteType"),
    "smallint": ("int16", "ShortType"),
    "int": ("int32", "IntegerType"),
    "bigint": ("int64", "LongType"),
    "float": ("float32", "FloatType"),
    "double": ("float64", "DoubleType"),
    "string": ("string", "StringType"),
    "binary": ("binary", "BinaryType"),
    "date": ("date32", "DateType"),
    "timestamp": (None, "TimestampType"),
    "timestamp_ntz": (None, "TimestampNTZType"),
}


def _word(t):
    if t[0] == "decimal":
        return f"decimal({t[1]},{t[2]})"
    if t[0] == "struct":
        return f"struct<{','.join(f'{name}:{_word(field)}' for name, field in t[1:])}>"
    return t[0] + (f"<{','.join(_word(part) for part in t[1:])}>" if t[1:] else "")


def _arrow_type(t, zone):
    """The Arrow type; without a zone, one of the same layout that Python reads and writes without loss."""
    import pyarrow as pa

    word = t[0]
    if word in ("timestamp", "timestamp_ntz"):
        return pa.timestamp("us", zone if word == "timestamp" else None) if zone else pa.int64()
    if word == "date" and not zone:
        return pa.int32()
    if word == "decimal":
        return pa.decimal128(t[1], t[2])
    if word == "array":
        return pa.list_(pa.field("element", _arrow_type(t[1], zone)))
    if word == "map":
        return pa.map_(_arrow_type(t[1], zone), _arrow_type(t[2], zone))
    if word == "struct":
        # Two fields may have the same name, but not two values of a dict.
        names = [name if zone else str(place) for place, (name, _) in enumerate(t[1:])]
        return pa.struct([pa.field(name, _arrow_type(part, zone)) for name, (_, part) in zip(names, t[1:])])
    return getattr(pa, _SIMPLE[word][0])()


def _spark_type(t):
    from pyspark.sql import types

    word = t[0]
    if word == "decimal":
        return types.DecimalType(t[1], t[2])
    if word == "array":
        return types.ArrayType(_spark_type(t[1]))
    if word == "map":
        return types.MapType(_spark_type(t[1]), _spark_type(t[2]))
    if word == "struct":
        return types.StructType([types.StructField(name, _spark_type(part)) for name, part in t[1:]])
    return getattr(types, _SIMPLE[word][1])()


def _same_type(arrow, t):
    """Whether an Arrow type is this type, whatever is nullable and whatever its parts are called outside of structs."""
    import pyarrow.types as is_

    word = t[0]
    if word in ("timestamp", "timestamp_ntz"):
        return is_.is_timestamp(arrow) and arrow.unit == "us" and bool(arrow.tz) == (word == "timestamp")
    if word == "array":
        return is_.is_list(arrow) and _same_type(arrow.value_type, t[1])
    if word == "map":
        return is_.is_map(arrow) and _same_type(arrow.key_type, t[1]) and _same_type(arrow.item_type, t[2])
    if word == "struct":
        fields = [arrow[i] for i in range(arrow.num_fields)] if is_.is_struct(arrow) else []
        same = [field.name == name and _same_type(field.type, part) for field, (name, part) in zip(fields, t[1:])]
        return is_.is_struct(arrow) and len(fields) == len(t) - 1 and all(same)
    if word in ("string", "binary"):
        # With spark.sql.execution.arrow.useLargeVarTypes.
        return str(arrow) in (word, f"large_{word}")
    return arrow.equals(_arrow_type(t, "UTC"))


def _zone_of(arrow_types):
    """The time zone of the first timestamp that has one."""
    import pyarrow.types as is_

    for arrow in arrow_types:
        zone = arrow.tz if is_.is_timestamp(arrow) else None
        if is_.is_map(arrow):
            zone = _zone_of([arrow.key_type, arrow.item_type])
        elif is_.is_list(arrow):
            zone = _zone_of([arrow.value_type])
        elif is_.is_struct(arrow):
            zone = _zone_of(arrow[i].type for i in range(arrow.num_fields))
        if zone:
            return zone
    return None


_INTEGERS = ["tinyint", "smallint", "int", "bigint"]


def _widened(column, t, wanted):
    """A column as the type that a signature wants; None if there is no way that loses nothing."""
    import pyarrow as pa
    import pyarrow.types as is_

    given = column.type
    if _same_type(given, t):
        return column.cast(wanted) if "large_" in str(given) else column
    if is_.is_null(given):
        return pa.nulls(len(column), wanted)
    narrower = _INTEGERS[: _INTEGERS.index(t[0])] if t[0] in _INTEGERS else []
    if t[0] == "double":
        narrower = [*_INTEGERS, "float"]
    if any(_same_type(given, (word,)) for word in narrower):
        # Beyond 2^53 doubles round, as Spark's casts do.
        return column.cast(wanted, safe=False)
    if t[0] == "double" and is_.is_decimal(given):
        # pyarrow's own cast does not round correctly.
        return pa.array([None if value is None else float(value) for value in column.to_pylist()], wanted)
    return None


_CLASSES = {
    "boolean": bool,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "float": float,
    "double": float,
    "decimal": _decimal.Decimal,
    "string": str,
    "binary": (bytes, bytearray),
    "date": _datetime.date,
    "timestamp": _datetime.datetime,
    "timestamp_ntz": _datetime.datetime,
    "array": (list, tuple),
    "map": dict,
    "struct": tuple,
}


def _taker(t, widening=False):
    """A function that makes of a value of PySpark's what pyarrow takes for the type of the same layout."""
    word, wanted = t[0], _CLASSES[t[0]]
    others = (int, _decimal.Decimal) if widening and word == "double" else ()

    def plain(value):
        kind = type(value)
        if kind is wanted:
            return value
        if kind in others:
            return float(value)
        # Classes derived from others are numbers and times as well, but a bool is no int and a datetime no date.
        if isinstance(value, wanted) and kind is not bool and (word != "date" or kind is not _datetime.datetime):
            return value
        raise TypeError(kind.__name__)

    parts = [_taker(part[1] if word == "struct" else part) for part in t[1:] if word in ("array", "map", "struct")]
    shape = {"array": _take_array, "map": _take_map, "struct": _take_struct}.get(word)
    if shape:
        return lambda value: shape(plain(value), *parts)
    number = _NUMBERS.get(word)
    return plain if number is None else lambda value: number(plain(value))


def _take_array(value, part):
    return [item if item is None else part(item) for item in value]


def _take_map(value, key, item):
    return [(key(k), v if v is None else item(v)) for k, v in value.items()]


def _take_struct(value, *parts):
    if len(value) != len(parts):
        raise TypeError(f"of {len(value)} fields")
    return {str(i): v if v is None else part(v) for i, (v, part) in enumerate(zip(value, parts))}


def _single_precision(value):
    # PySpark gives floats and doubles as the same class.
    if value == value and _ctypes.c_float(value).value != value:
        raise ValueError("not a single-precision number")
    return value


_EPOCH = _datetime.datetime(1970, 1, 1, tzinfo=_datetime.timezone.utc)
_WALL_EPOCH = _datetime.datetime(1970, 1, 1)
_MICROSECOND = _datetime.timedelta(microseconds=1)
_DAY = 86400


def _wall_microseconds(value):
    if value.tzinfo is not None:
        raise TypeError("with a time zone")
    return (value - _WALL_EPOCH) // _MICROSECOND


def _microseconds(value):
    if value.tzinfo is not None:
        return (value - _EPOCH) // _MICROSECOND
    # PySpark gives times of the process's zone. datetime.timestamp() is a double, and fails next to years 1 and 9999.
    wall, rest = divmod(_wall_microseconds(value), 1000000)
    before, after = (_time.localtime(wall + day).tm_gmtoff for day in (-_DAY, _DAY))
    offset = after if value.fold else before
    if before != after:
        fitting = sorted(wall - o for o in (before, after) if _time.localtime(wall - o).tm_gmtoff == o)
        if fitting:
            return fitting[-1 if value.fold else 0] * 1000000 + rest
    return (wall - offset) * 1000000 + rest


_NUMBERS = {
    "float": _single_precision,
    "date": lambda value: value.toordinal() - _EPOCH.toordinal(),
    "timestamp": _microseconds,
    "timestamp_ntz": _wall_microseconds,
}


def _giver(t):
    """A function that makes of what pyarrow gives for the type of the same layout what PySpark takes."""
    word = t[0]
    if word == "date":
        return lambda value: value if value is None else _datetime.date.fromordinal(value + _EPOCH.toordinal())
    if word == "timestamp":
        return lambda value: value if value is None else _EPOCH + value * _MICROSECOND
    if word == "timestamp_ntz":
        return lambda value: value if value is None else _WALL_EPOCH + value * _MICROSECOND
    if word == "array":
        part = _giver(t[1])
        return lambda value: value if value is None else [part(item) for item in value]
    if word == "map":
        key, item = _giver(t[1]), _giver(t[2])
        return lambda value: value if value is None else {key(k): item(v) for k, v in value}
    if word == "struct":
        parts = [(str(place), _giver(part)) for place, (_, part) in enumerate(t[1:])]
        return lambda value: value if value is None else tuple(part(value[name]) for name, part in parts)
    return lambda value: value
