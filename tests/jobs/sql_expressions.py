"""Expressions and casts of Spark SQL over generated inputs: nulls, extremes, NaN, -0.0, old dates, text of all sorts.

usage: spark-submit sql_expressions.py OUT RESULT [GROUP ...], or functions for all groups of FUNCTIONS and MATHS that are native throughout, left for the others, or texts_and_times for those of TEXTS_AND_TIMES; without groups all but these. Inputs come to OUT/in, results to OUT/MODE.json for each of the modes legacy and ansi: for each expression a list of texts in the
order of the rows, or the class of the error. RESULT has digests of them. All expressions of a group are one query; if that fails each is a query of its own."""

import hashlib
import json
import math
import os
import random
import re
import struct
import sys

ROWS = 1200

SCHEMA = """id int, b boolean, b2 boolean, i8 tinyint, i8b tinyint, i16 smallint, i16b smallint, i32 int, i32b int, small int, i64 bigint, i64b bigint,
f32 float, f32b float, f64 double, f64b double, d5 decimal(5,2), d10 decimal(10,0), d15 decimal(15,2), d15b decimal(15,2), d18 decimal(18,6), d20 decimal(20,4), d38 decimal(38,10),
d38i decimal(38,0), d38f decimal(38,38), s string, s2 string, part string, num string, dec string, flag string, day string, time string, bin binary, dt_days int, dt2_days int, ts_us bigint, ts2_us bigint, zone_us bigint, clock_us bigint, stamp string"""


ZONES = ["America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo"]
# Seconds at which clocks were or will be changed in these zones, and how far those are from UTC.
CHANGES = [
    -2717650800, -2445424384, -2422054408, -1767214412, -1633280400, -1615140000, -1577943676, -880218000, -781052400, -776563200, -765936000, -761180400, 323830800, 338950800, 352216800, 372785400, 478621800, 499188600,
    504901800, 1173596400, 1194156000, 1301752800, 1316872800, 1325239200, 1518919200, 1541300400, 1550368800, 1710054000, 1711846800, 1712415600, 1728142200, 1729990800, 1730613600, 2215062000, 2235621600, 2532524400,
    2548251000, 4109878800, 4128627600, 13575625200, 13596184800,
]
OFFSETS = [-39600, -36000, -18000, -17762, -14400, -10800, -7200, 3208, 3600, 7200, 10800, 19800, 20476, 20700, 37800, 39600, 46800, 50400]


def rows(safe):
    """Rows of random values. Safe ones are such that most expressions have a proper result."""
    rng = random.Random(42)

    def null(value, share=0.08):
        return None if rng.random() < share else value

    def integer(bits):
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if safe:
            return null(rng.randint(1, 9))
        kind = rng.random()
        if kind < 0.15:
            return null(rng.choice([low, high, low + 1, high - 1, 0, -1, 1]))
        if kind < 0.6:
            return null(rng.randint(-20, 20))
        return null(rng.randint(low, high))

    def floating(width):
        if safe:
            value = rng.choice([rng.randint(1, 9), round(rng.uniform(1, 100), 2)])
        else:
            value = rng.choice([
                lambda: rng.choice([0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, -1.0, 0.5, 2.5, -2.5, 1e7, 9999999.0, 1e-3, 0.00099, 1e22, 2.0**31, 2.0**63, 127.5, 128.0, -129.0]),
                lambda: round(rng.uniform(-1000, 1000), rng.randint(0, 4)),
                lambda: rng.uniform(-1, 1) * 10.0 ** rng.randint(-30, 30),
                lambda: float(rng.randint(-100, 100)),
                lambda: struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0],
            ])()
        if width == 32:
            try:
                value = struct.unpack("f", struct.pack("f", value))[0]
            except OverflowError:
                value = math.copysign(math.inf, value)
        return null(float(value))

    def decimal(precision, scale):
        import decimal as module
        with module.localcontext(module.Context(prec=60)):
            kind = rng.random()
            if safe:
                digits = rng.randint(1, 9) * 10**max(scale - 1, 0) if scale < precision else rng.randint(1, 9)
            elif kind < 0.1:
                digits = rng.choice([0, 1, -1, 10**precision - 1, -(10**precision - 1), 5 * 10**max(scale - 1, 0)])
            elif kind < 0.5:
                digits = rng.randint(-(10**min(precision, 6)), 10**min(precision, 6))
            else:
                digits = rng.randint(-(10**precision) + 1, 10**precision - 1) // 10**rng.randint(0, precision - 1)
            return null(module.Decimal(digits).scaleb(-scale))

    words = ["", "a", "b", "ab", "abc", "Spark", " spark ", "SQL", "special packages requests", "  two  blanks  ", "ÄÖÜ", "straße", "日本語", "e\u0301", "😀x", "a%b", "a_c", "tab\tx", "new\nline", "x" * 40,
             "forest green", "PROMO BRUSHED", "Ünïcödé", "ЖЗ", "\\", "a\\b", "0", "aaa", "aXbXc"]
    parts = ["", "a", "b", "ab", "X", "s", " ", "ö", "本", "%", "😀", "pack", "xxxxxxxxxxxxxxxx"]

    def number():
        if safe:
            return null(str(rng.randint(1, 99)))
        return null(rng.choice([
            lambda: str(rng.randint(-300, 300)), lambda: str(rng.randint(-(2**64), 2**64)), lambda: f" {rng.randint(0, 99)} ", lambda: f"+{rng.randint(0, 99)}",
            lambda: rng.choice(["", " ", "-", "+", ".", "1.", ".5", "1.5", "-0.9", "12a", "1 2", "127", "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648", "-2147483648", "-2147483649",
                                "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0012", "\t7\n", "7\x7f", "１２", "1e3", "0x1A", "1_000", "--1", "1.5.2", "+.", "-.5"]),
        ])())

    def real():
        if safe:
            return null(f"{rng.uniform(1, 9):.2f}")
        return null(rng.choice([
            lambda: repr(rng.uniform(-1000, 1000)), lambda: f"{rng.uniform(-1, 1):e}", lambda: f" {rng.uniform(0, 10):.3f} ", lambda: str(rng.randint(-10**20, 10**20)),
            lambda: rng.choice(["", " ", ".", "1.", ".5", "-.5", "+1.5", "1e5", "1E-5", "1e", "e5", "1e+3", "1.5d", "2f", "3D", "inf", "-inf", "Infinity", "-INFINITY", "nan", "NaN", "+inf", "1e400", "-1e400", "1e-400",
                                "0.005", "0.015", "-0.005", "12345678901234567890.123456789", "99999999999.995", "1.2.3", "abc", "1e38", "1e39", "0e50", "-0", "0.0000000000000000000000000000000000000001"]),
        ])())

    def date():
        if safe:
            return null(f"20{rng.randint(10, 30)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}")
        return null(rng.choice([
            lambda: f"{rng.randint(1, 9999):04}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}", lambda: f"{rng.randint(1900, 2100)}-{rng.randint(1, 13)}-{rng.randint(1, 31)}", lambda: f"{rng.randint(1900, 2100)}-{rng.randint(1, 12)}",
            lambda: rng.choice(["", "1999", "199", "1999-", "1999-1", "1999-01-", "1999-02-29", "2000-02-29", "1999-01-01T", "1999-01-01 anything", "1999-01-01Tx", " 1999-01-01 ", "+1999-01-01", "-1999-01-01", "12345-01-01", "0000-01-01",
                                "1999-01-01-01", "1999/01/01", "x", "1999-001-01", "1582-10-10", "99999999-01-01"]),
        ])())

    def moment():
        # What else there is is for Spark alone.
        day = f"{rng.randint(1, 9999):04}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
        return null(rng.choice([day, f"{day} {clock}", f"{day}T{clock}.{rng.randint(0, 999999)}", f" {day} {clock}.5 "]))

    def days():
        if safe:
            return null(rng.randint(10000, 20000))
        return null(rng.choice([rng.randint(-719162, 2932896), rng.randint(0, 25000), rng.choice([0, -1, -719162, 2932896, -141428, -141427, 11016, 19782])]))

    def micros():
        if safe:
            return null(rng.randint(10**15, 2 * 10**15))
        return null(rng.choice([rng.randint(-62135596800 * 10**6, 253402300799 * 10**6), rng.randint(0, 2 * 10**15), rng.choice([0, -1, 1, 999999, 10**6, -(10**6), 127 * 10**6, 128 * 10**6, 2**31 * 10**6])]))

    # Its own numbers: the other columns stay as they are.
    clocks = random.Random(43)

    def change():
        """An instant near a change of clocks, and a local time near one."""
        near = clocks.choice(CHANGES) * 10**6 + clocks.choice([-1, 0, 1, clocks.randint(-3 * 3600 * 10**6, 3 * 3600 * 10**6), clocks.randint(-10, 10) * 900 * 10**6])
        local = clocks.choice(CHANGES) * 10**6 + clocks.choice(OFFSETS) * 10**6 + clocks.choice([-1, 0, 1, clocks.randint(-2 * 3600 * 10**6, 2 * 3600 * 10**6), clocks.randint(-10, 10) * 900 * 10**6])
        return [None if clocks.random() < 0.05 else value for value in (near, local)]

    odd = ["", " ", "T", "x", "T1:2:3", "12:30:00", "2020-01-01T", "2020-1-1 1", "2020-01-01 24:00:00", "2020-13-01 00:00:00", "2020-02-30", "0000-01-01 00:00:00", "12345-01-01 00:00:00", "1234567-01-01", "+2020-01-01 00:00:00",
           "-0001-01-01 00:00:00", "-2020-01-01", "2020-01-01 00:00:00.1.2", "2020-01-01 00:00", "2020-01-01 1:2", "2020-01-01 00:00:60", "2020-01-01  00:00:00", "2020", "2020-5", "20200101", "2020-01-01 00:00:00 x", "2020-01-01 000:00:00", "2020-01-01-01",
           "\t2020-01-01 00:00:00\n", "2020-01-01 00:00:00+", "2020-01-01 00:00:00+19:00", "2020-01-01 00:00:00 Europe/Paris", "2020-01-01 00:00:00 PST", "2020-01-01 00:00:00 EST", "2020-01-01 12:-1:00", "999999-12-31 23:59:59", "294247-01-10 04:00:54.775808"]

    def stamp():
        """A timestamp as text, in any of the forms that there are."""
        if clocks.random() < (0 if safe else 0.25):
            return clocks.choice(odd)
        day = f"{clocks.randint(1900, 2100)}-{clocks.randint(1, 12)}-{clocks.randint(1, 28)}" if clocks.random() < 0.5 else f"{clocks.randint(1, 9999):04}-{clocks.randint(1, 12):02}-{clocks.randint(1, 28):02}"
        time = f"{clocks.randint(0, 23)}:{clocks.randint(0, 59)}:{clocks.randint(0, 59)}" if clocks.random() < 0.5 else f"{clocks.randint(0, 23):02}:{clocks.randint(0, 59):02}:{clocks.randint(0, 59):02}"
        fraction = clocks.choice(["", "", ".", ".1", ".12", ".123456", ".1234567", ".999999999", ".000001"])
        zone = clocks.choice(["", "", "Z", " Z", "+01:00", "-8:00", "+01:3", "+0130", "-03", " GMT+2", "UTC", " UTC-03:30", "UT+1", "+01:30:15", "-18:00"])
        return day + clocks.choice([" ", "T"]) + time + fraction + zone

    for index in range(ROWS):
        yield (index, null(rng.random() < 0.5), null(rng.random() < 0.5), integer(8), integer(8), integer(16), integer(16), integer(32), integer(32), null(rng.randint(-5, 8)), integer(64), integer(64),
               floating(32), floating(32), floating(64), floating(64), decimal(5, 2), decimal(10, 0), decimal(15, 2), decimal(15, 2), decimal(18, 6), decimal(20, 4), decimal(38, 10),
               decimal(38, 0), decimal(38, 38), null(rng.choice(words)), null(rng.choice(words)), null(rng.choice(parts)), number(), real(),
               null(rng.choice(["t", "true", "TRUE", "y", "yes", "1", "f", "false", "n", "No", "0", " true "] + ([] if safe else ["", "x", "tru", "01", "on"]))), date(), moment(),
               null(bytes(rng.getrandbits(8) for _ in range(rng.choice([0, 1, 3, 8, 20])))), days(), days(), micros(), micros(), *change(), stamp())


COLUMNS = ["*", "date_add(date'1970-01-01', dt_days) dt", "date_add(date'1970-01-01', dt2_days) dt2", "timestamp_micros(ts_us) ts", "timestamp_micros(ts2_us) ts2", "cast(timestamp_micros(ts_us) as timestamp_ntz) ntz",
           "timestamp_micros(zone_us) zts", "cast(timestamp_micros(clock_us) as timestamp_ntz) zntz", "cast(timestamp_micros(clock_us) as date) zdt", "cast(timestamp_micros(clock_us) as string) ztime",
           "make_dt_interval(small, i8, i16, cast(d5 as decimal(18,6))) span", "cast(make_dt_interval(0, small, i8) as interval hour to minute) clock", "make_ym_interval(small, i8) months", "cast(make_ym_interval(i8, small) as interval year) years"]

PAIRS = [("b", "b2"), ("i8", "i8b"), ("i16", "i16b"), ("i32", "i32b"), ("i64", "i64b"), ("f32", "f32b"), ("f64", "f64b"), ("d15", "d15b"), ("d38", "d38"), ("s", "s2"), ("bin", "bin"), ("dt", "dt2"), ("ts", "ts2"), ("ntz", "ntz")]
NUMBERS = [("i8", "i8b"), ("i16", "i16b"), ("i32", "i32b"), ("i64", "i64b"), ("f32", "f32b"), ("f64", "f64b")]
DECIMALS = [("d5", "d5"), ("d15", "d15b"), ("d15", "d5"), ("d18", "d20"), ("d20", "d15"), ("d38", "d15"), ("d15", "d38"), ("d38", "d38"), ("d38i", "d38"), ("d38i", "d38i"), ("d38f", "d38"), ("d10", "d38f"), ("d20", "d10"), ("d5", "d38i")]
FROM = {
    "b": "boolean", "i8": "tinyint", "i16": "smallint", "i32": "int", "i64": "bigint", "f32": "float", "f64": "double", "d5": "decimal(5,2)", "d15": "decimal(15,2)", "d20": "decimal(20,4)", "d38": "decimal(38,10)",
    "d38i": "decimal(38,0)", "num": "string", "dec": "string", "flag": "string", "day": "string", "time": "string", "bin": "binary", "dt": "date", "ts": "timestamp", "ntz": "timestamp_ntz",
}
TO = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(3,1)", "decimal(10,0)", "decimal(15,2)", "decimal(38,18)", "string", "binary", "date", "timestamp", "timestamp_ntz"]
# What a string is cast to: the other strings hold nothing of that type.
TEXTS = {"num": ["tinyint", "smallint", "int", "bigint"], "dec": ["float", "double", "decimal(3,1)", "decimal(15,2)", "decimal(38,18)"], "flag": ["boolean"], "day": ["date"], "time": ["timestamp", "timestamp_ntz"]}


# Arrays of columns: with nulls in them, null themselves, and empty.
ARRAYS = ["array(i32, i32b, small)", "if(b, array(i32, null, i32b, 0, i32), null)", "if(b2, array(s, s2, part, null, s), cast(array() as array<string>))", "array(d15, null, d15b, d15)", "if(b, array(d38, d38), if(b2, array(d38), null))", "array(dt, dt2, null)", "array(ts, null)",
          "array(b, b2, null, b)", "array(bin, null, bin)", "array(i64, i64b)", "array(i8, i8b, null)", "array(f64, f64b, null)", "array(f32, f32b)", "array(array(i32, null), null, if(b, array(i32b), null))", "array(named_struct('x', i32, 'y', s), null)", "cast(array() as array<int>)"]
ELEMENTS = [(ARRAYS[0], "small"), (ARRAYS[1], "i32"), (ARRAYS[2], "part"), (ARRAYS[3], "d15b"), (ARRAYS[4], "d38"), (ARRAYS[5], "dt"), (ARRAYS[7], "b2"), (ARRAYS[8], "bin"), (ARRAYS[11], "f64b"), (ARRAYS[11], "0.0D"), (ARRAYS[11], "double('NaN')"), (ARRAYS[12], "f32b")]
MAPS = ["map(1, i32, 2, i32b)", "if(b, map('a', s, 'b', s2, 'c', null), null)", "map(date'2000-02-29', array(i32, null), date'1970-01-01', null)", "if(b2, map(i64, named_struct('x', s)), cast(map() as map<bigint,struct<x:string>>))", "map('k', map(1, f64))"]


def lambdas():
    """Functions of lambdas: of every type of element, with what is around them, within each other."""
    ints, maybe, texts = ARRAYS[0], ARRAYS[1], ARRAYS[2]
    found = [f"transform({a}, e -> e)" for a in ARRAYS] + [f"filter({a}, e -> e is not null)" for a in ARRAYS] + [f"transform({a}, (e, n) -> if(n = 1, null, e))" for a in ARRAYS[:6]]
    found += [f"transform({a}, e -> {of})" for a in [ints, maybe] for of in ["e + 1", "e * i32b", "coalesce(e, small)", "cast(e as string)", "named_struct('e', e, 'b', b)", "array(e, i32)", "e > 0 and b", "case when e > 0 then s when e < 0 then s2 end"]]
    found += ["transform(array(), e -> 1)", "transform(array(1, 2), e -> e + i32)", "transform(array(1, null), e -> e)", "transform(cast(null as array<int>), e -> e + i32)", f"transform({texts}, (e, n) -> concat(e, s, n))", f"transform({texts}, e -> length(e) + small)", f"transform({ARRAYS[3]}, e -> e * d15b)", f"transform({ARRAYS[5]}, e -> date_add(e, small))",
              f"transform({ARRAYS[11]}, e -> e + f64b)", f"transform({ARRAYS[12]}, e -> -e)"]
    found += [f"filter({ints}, e -> e > small)", f"filter({maybe}, (e, n) -> n > 0)", f"filter({texts}, e -> e like 'a%' or e = part)", f"filter({ints}, e -> b)", f"filter({ints}, e -> null)", f"filter({ARRAYS[14]}, e -> e.x > small)", f"filter({ARRAYS[13]}, e -> size(e) > 1)"]
    found += [f"{function}({a}, e -> {of})" for function in ["exists", "forall"] for a, of in [(ints, "e > small"), (maybe, "e > small"), (maybe, "e is null"), (texts, "e = part"), (texts, "b"), (ints, "null"), (ARRAYS[7], "e"), (ARRAYS[15], "e > 0"), (ARRAYS[11], "e > f64b"), (ARRAYS[9], "e = i64")]]
    found += [f"aggregate({ints}, 0L, (acc, e) -> acc + e)", f"aggregate({maybe}, 0L, (acc, e) -> acc + coalesce(e, small))", f"aggregate({maybe}, cast(small as bigint), (acc, e) -> if(e is null, acc, acc - e), acc -> acc * 2)", f"aggregate({texts}, '', (acc, e) -> concat(acc, coalesce(e, '?'), '|'))", f"aggregate({texts}, s, (acc, e) -> e)",
              f"aggregate({maybe}, true, (acc, e) -> acc and e > small)", f"aggregate({ARRAYS[11]}, 0.0D, (acc, e) -> acc + e, acc -> acc / 3)", f"aggregate({ints}, cast(null as int), (acc, e) -> coalesce(acc, e))", "aggregate(array(1, 2, 3), i32, (acc, e) -> acc + e)", f"aggregate({ARRAYS[5]}, dt2, (acc, e) -> greatest(acc, e), acc -> year(acc))",
              "aggregate(cast(array() as array<int>), i32, (acc, e) -> acc + e, acc -> acc + small)", f"aggregate({ints}, named_struct('n', 0, 'sum', 0L), (acc, e) -> named_struct('n', acc.n + 1, 'sum', acc.sum + e), acc -> acc.sum / acc.n)", f"aggregate({maybe}, array(small), (acc, e) -> concat(acc, array(cast(e as tinyint))))"]
    found += [f"zip_with({ints}, {maybe}, (x, y) -> coalesce(x, 0) + coalesce(y, 1))", f"zip_with({maybe}, {texts}, (x, y) -> named_struct('x', x, 'y', y))", f"zip_with({texts}, array(s, s2), (x, y) -> concat_ws(part, x, y))", f"zip_with({ARRAYS[15]}, {ints}, (x, y) -> y)", f"zip_with({ARRAYS[3]}, {ARRAYS[5]}, (x, y) -> y is null)"]
    found += [f"map_filter({m}, (k, v) -> {of})" for m, of in [(MAPS[0], "v > small"), (MAPS[1], "v is null or k = 'a'"), (MAPS[1], "b"), (MAPS[2], "size(v) > 1"), (MAPS[3], "k > 0"), (MAPS[4], "true")]]
    found += [f"transform_values({m}, (k, v) -> {of})" for m, of in [(MAPS[0], "k + v"), (MAPS[1], "concat(k, v, s)"), (MAPS[2], "datediff(k, dt)"), (MAPS[3], "v.x"), (MAPS[4], "map_values(v)[0] + f64b")]]
    found += [f"transform({ARRAYS[13]}, inner -> transform(inner, e -> e + i32))", f"transform({ints}, e -> size(filter({maybe}, x -> x > e)))", f"transform({texts}, e -> exists({texts}, x -> x = e and length(x) > small))", f"filter(transform({ints}, e -> if(b, e, null)), e -> e > 0)", f"size(filter({texts}, e -> e is null)) + small",
              f"transform({ints}, e -> aggregate({maybe}, e, (acc, x) -> coalesce(x, acc)))", f"array_max(transform({texts}, e -> length(e)))", f"transform(map_entries({MAPS[1]}), e -> e.value)", f"if(b2, transform({ints}, e -> e), {ints})"]
    return found


# Arrays and structs that are compared: often equal, or so but for their last part, zeros and NaNs among them, null and with nulls in them, one longer than the other.
NESTED = [("array(small, i32)", "array(small, i32b)"), ("if(b, array(small, null), null)", "array(small, null)"), ("array(small)", "if(b2, array(small, i8), cast(array() as array<int>))"), ("array(s, s2)", "array(s, part)"), ("array(f64, null, f64b)", "array(f64, f64b)"),
          ("array(f64 * 0, small)", "array(0.0D, small, null)"), ("array(f32 * 0)", "array(-float(0))"), ("array(b, b2)", "array(b2, b)"), ("array(bin, null)", "array(bin)"), ("array(d15, d15b)", "array(d15b, d15)"), ("array(d38)", "array(cast(small as decimal(38,10)))"),
          ("array(dt, dt2)", "array(dt)"), ("array(ts)", "array(ts2, null)"), ("array(ntz)", "array(cast(ts2 as timestamp_ntz))"), ("array(i64, i16, i8)", "array(i64b, i16b)"), ("array(dt - dt2)", "array(dt2 - dt)"), ("array(array(small, null), null)", "array(array(small), array(i32))"),
          ("array(named_struct('x', f64, 'y', array(s)), null)", "array(named_struct('x', f64, 'y', array(s2)))"), ("named_struct('x', small, 'y', s)", "named_struct('x', small, 'y', s2)"), ("if(b, named_struct('x', f64 * 0, 'y', small), null)", "named_struct('x', -0.0D, 'y', small)"),
          ("named_struct('x', b, 'y', array(f32, null), 'z', i32)", "named_struct('x', b, 'y', array(f32), 'z', i32b)"), ("named_struct('x', named_struct('y', f64), 'z', bin)", "named_struct('x', named_struct('y', f64b), 'z', bin)")]


def ordering():
    """What compares arrays and structs."""
    found = [f"{a} {op} {b}" for a, b in NESTED for op in ["=", "<=>", "<", "<=", ">", ">=", "!="]] + [f"{function}({a}, {b})" for a, b in NESTED for function in ["greatest", "least", "nullif"]] + [f"{a} in ({b}, null, {a})" for a, b in NESTED[::2]] + [f"{a} not in ({b})" for a, b in NESTED[1::2]]
    found += [f"{function}(array({b}, null, {a}, {b}))" for a, b in NESTED for function in ["sort_array", "array_min", "array_max", "array_distinct"]] + [f"sort_array(array({a}, {b}, null), false)" for a, b in NESTED] + [f"{function}(array({b}, null), {a})" for a, b in NESTED for function in ["array_contains", "array_position"]]
    structs = [f"named_struct('a', {n}, 'b', {'null' if n % 5 == 3 else 'true' if n % 2 else 'false'})" for n in range(-5, 9)]
    found += [f"named_struct('a', small, 'b', b) in ({', '.join(items)})" for items in [structs, structs[3:7], structs[:2] + ["null"]]] + ["(small, b) in ((1, true), (2, false), (3, null))", "(small, s) not in ((1, 'a'), (2, s2))", "named_struct('a', small, 'b', b) = named_struct('a', 2, 'b', false)"]
    found += [f"array(small, null) in ({', '.join(f'array({n}, null)' for n in range(1, count))})" for count in [3, 14]] + ["array(f64 * 0) in (array(0.0D), array(double('NaN')))", f"array(f64 * 0) in (array(double('NaN')), {', '.join(f'array({n}.0D)' for n in range(12))})", "array(s) > array('a', null)", "named_struct('x', f64) <= named_struct('x', double('NaN'))",
              "array(small) = cast(null as array<int>)", "array(small) <=> cast(null as array<int>)", "greatest(array(small), array(i32), null, array(3))", "case array(small) when array(1) then 'one' when array(cast(null as int)) then 'null' else s end", "if(array(i32) < array(small), s, s2)", "array(1, 2) < array(1, 2, null)"]
    found += ["map(array(small), s, array(small, 1), s2)[array(small)]", "element_at(map(named_struct('a', small), s), named_struct('a', i32))", "map(named_struct('a', small), s, named_struct('a', i32b), s2)", "coalesce(array(small) = array(i32), b)", "not (array(s) >= array(s2))", "transform(array(array(small), array(i32), null), e -> e > array(i32b))",
              "filter(array(named_struct('x', small), null, named_struct('x', i32)), e -> e >= named_struct('x', 3))", "aggregate(array(array(small), array(i32, null)), array(i32b), (acc, e) -> greatest(acc, e))"]
    return found


# What comes to a text that has something that is like a pattern, so that not everything is found at once.
WORDS = ["s", "concat(s, part, s2)", "concat(s, ',', s2, ',', part)"]


def texts():
    """Functions that look for texts in texts, and of their characters."""
    found = [f"substring_index({s}, {d}, {n})" for s in WORDS for d in ["part", "'a'", "' '", "','", "'aa'", "'ö'", "''"] for n in ["1", "2", "-1", "-2", "small", "0"]]
    found += [f"find_in_set({w}, {s})" for w in ["s", "part", "'a'", "''", "','"] for s in ["concat(s, ',', s2, ',', part)", "s2", "'a,b,ab,,ä'"]]
    found += [f"{function}({s}, {p})" for function in ["instr", "levenshtein"] for s in WORDS for p in ["part", "s2", "'a'", "''"]] + ["levenshtein(s2, s)", "levenshtein(num, dec)"]
    found += [f"locate({p}, {s}, {n})" for p in ["part", "'a'", "''", "'b'"] for s in WORDS[:2] for n in ["1", "2", "small", "i32", "0", "-1"]] + ["locate(part, s)", "position(part in s)", "locate('a', s, cast(null as int))"]
    many = ["'a%', '%b'", "'a%', null", "'_', '__', 'a_c', '%special%'", "null, null", "'%', 'x'", "'', 'a\\\\%b'", "'%b%', '%a%'"]
    found += [f"s {negated}like {how} ({patterns})" for negated in ["", "not "] for how in ["any", "all"] for patterns in many]
    found += [f"{function}({s})" for function in ["ascii", "octet_length", "bit_length", "soundex"] for s in WORDS + ["part", "num", "concat(part, s)"]] + ["octet_length(bin)", "bit_length(bin)", "ascii('')", "soundex('Tymczak')", "soundex(concat('h', s, 'wh', s2))"]
    found += ["chr(i64)", "chr(i32)", "chr(small)", "chr(i16)", "chr(65)", "ascii(chr(i32))", "repeat(s, 3)", "repeat(s, small)", "repeat(part, 0)", "repeat('ä', i8)", "space(small)", "space(i8)", "concat(space(2), s)"]
    found += [f"translate({s}, {a}, {b})" for s in WORDS for a, b in [("'abc'", "'12'"), ("part", "s2"), ("s2", "part"), ("'aab'", "'xyz'"), ("''", "'x'"), ("'ö本😀'", "'o'")]]
    found += [f"overlay({s} placing {r} from {p})" for s in WORDS[:2] for r in ["'_'", "part"] for p in ["1", "3", "small", "-1"]] + [f"overlay({s} placing part from {p} for {n})" for s in WORDS[:2] for p, n in [("2", "0"), ("small", "i8"), ("i16", "small"), ("3", "-1"), ("1", "99"), ("i16", "i16b")]]
    found += [f"initcap({s})" for s in ["part", "flag", "'sPARK sql  x-y it''s _a 1b'", "concat(flag, ' ', day, '-', flag)", "upper(concat(part, ' ', part))"]]
    return found


def numerals():
    """Functions of numbers and of their digits."""
    found = [f"bit_count({n})" for n in ["b", "i8", "i16", "i32", "i64"]] + [f"getbit({n}, {p})" for n in ["i8", "i16", "i32", "i64"] for p in ["0", "3", "7", "pmod(small, 7)"]] + ["getbit(i64, 63)", "getbit(i32, 31)"]
    found += ["rint(f64)", "rint(f32)", "rint(i32)", "signum(f64)", "sign(i32)", "sign(f32)", "factorial(small)", "factorial(i32)", "factorial(20)", "factorial(i8)"]
    found += [f"width_bucket({v}, {a}, {b}, {n})" for v in ["f64", "f32", "small"] for a, b, n in [("0", "10", "5"), ("10", "-10", "7"), ("f64b", "10", "3"), ("0", "f64b", "i32"), ("-1000", "1000", "i64"), ("1", "1", "2"), ("-5", "8", "small")]]
    found += [f"elt({n}, {', '.join(of)})" for n in ["1", "2", "pmod(small, 2) + 1"] for of in [["s", "s2", "part"], ["bin", "bin"], ["null", "s"]]]
    found += [f"unhex({s})" for s in ["s", "num", "part", "day", "hex(i64)", "concat('0', hex(bin))", "substring(hex(i64), 2)", "lower(hex(s))", "flag", "hex(i8)"]]
    found += [f"conv({n}, {a}, {b})" for n in ["num", "dec", "flag", "cast(i64 as string)", "hex(i64)"] for a, b in [(10, 16), (10, 2), (16, 10), (10, -16), (16, -10), (36, 7), (2, 36), (1, 10), (10, 37), (10, -10)]] + ["conv(num, small, 10)", "conv(i64, 10, i8)", "conv('', 10, 2)", "conv('-', 10, 2)"]
    found += [f"format_number({n}, {d})" for n in ["i8", "i16", "i32", "i64", "d5", "d10", "d15", "d18", "d38", "d38i", "d38f"] for d in ["0", "2", "5", "small"]] + ["format_number(d38f, 40)", "format_number(i64, 12)"]
    return found


# A double that Javas write alike, and a URL.
PLAIN = "if(abs(f64) < 1e15D and abs(f64) > 1e-3D, f64, 1.005D)"
URL = "concat('https://user@host', pmod(i32, 9), '.example.com:80/p/', regexp_replace(s, '[^a-z]', ''), '?k=', regexp_replace(part, '[^a-z]', '%20'), '&n=', small, '&k=2#r/', i8)"


def formats():
    """Texts by formats, parts of URLs, and numbers out of texts."""
    found = [f"format_string('[%s|%5s|%-7s|%.3s]', {of}, {of}, {of}, {of})" for of in ["s", "num", "b", "i8", "i64", "d15", "d18", "dt", "ts", "cast(null as string)"]] + [f"format_string('%b', {of})" for of in ["b", "s", "f64", "null"]]
    found += [f"format_string('%d|%06d|%,d|%-9d|%+d|%,015d', {of}, {of}, {of}, {of}, {of}, {of})" for of in ["i8", "i16", "i32", "i64"]] + [f"format_string('%x %08x', {of}, {of})" for of in ["i8", "i16", "i32", "i64"]] + ["printf('%d', dt)", "printf('%d', cast(null as int))"]
    found += [f"format_string('%f|%.2f|%,.1f|%010.3f|%+.0f|%-9.1f|', {of}, {of}, {of}, {of}, {of}, {of})" for of in [PLAIN, "round(d15 / 7D, 3)", "if(b, 0D, -0D)", "if(b, double('NaN'), if(b2, double('-inf'), double('inf')))", "float(2.5)", "cast(small as double) / 8"]]
    found += ["format_string('%2$s %1$s %s %%%n', s, small)", "format_string('%c', small + 70)", "format_string(null, s)", "format_string('x')", "format_string('%s', 1e-5D)"]
    found += [f"parse_url({URL}, '{part}')" for part in ["HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "host"]] + [f"parse_url({URL}, 'QUERY', {key})" for key in ["'k'", "'n'", "'zz'", "regexp_replace(part, '[^a-z]', '')"]] + [f"parse_url({URL}, 'HOST', 'k')", f"try_parse_url({URL}, 'HOST')"]
    found += [f"parse_url({url}, '{part}')" for url in ["'file:///tmp/x'", "'a/b?c'", "''", "'http://1.2.3.4/'", "'//h/p#'", "if(b, 'http://h?', null)"] for part in ["HOST", "PATH", "QUERY", "REF", "FILE"]]
    found += [f"to_number(concat(abs(small), '.5'), '{form}')" for form in ["9.9", "99.0", "999,999.999", "S9D99"]] + [f"try_to_number({of}, '{form}')" for of in ["concat(i16, '.', abs(small))", "concat('$', abs(i32))", "cast(i8 as string)", "concat(small, ',', lpad(abs(i8), 3, '0'))", "concat(abs(i8), '-')"] for form in ["S99999.99", "$9999999999", "MI999", "000", "S9,999", "999S", "999MI"]]
    return found


def spans(zone=""):
    """Functions that count units of the calendar. In time zones of near changes of clocks."""
    if zone:
        moments = ["zts", "ts", "zntz"]
        pairs = [("zts", "ts"), ("zts", "timestamp_micros(zone_us + 86400000000 * small)"), ("zntz", "ntz")]
    else:
        moments = ["ts", "ntz"]
        pairs = [("ts", "ts2"), ("ts2", "ts"), ("ntz", "cast(ts2 as timestamp_ntz)"), ("ts", "timestamp_micros(ts_us + 86400000000 * 31 * small)"), ("timestamp_micros(ts_us + 86399000000 * small)", "ts"), ("ts", "ts")]
    units = ["MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DAYOFYEAR", "WEEK", "MONTH", "QUARTER", "YEAR"]
    found = [f"timestampadd({unit}, {n}, {of})" for unit in units for of in moments for n in ["small", "cast(i8 as int)", "-25"]] + [f"timestampdiff({unit}, {a}, {b})" for unit in units if unit != "DAYOFYEAR" for a, b in pairs]
    found += [f"months_between({a}, {b}{flag})" for a, b in pairs if "ntz" not in a for flag in ["", ", false"]] + ["months_between(dt, dt2)", "months_between(last_day(dt), dt2, b)", "months_between(zdt, ts)"]
    if not zone:
        found += [f"next_day({d}, {n})" for d in ["dt", "dt2"] for n in ["'MON'", "'tu'", "'Wednesday'", "'th'", "'FRIDAY'", "'sat'", "'SU'", "elt(pmod(small, 6) + 1, 'mo', 'TUE', 'we', 'Thu', 'su', 'fRidaY')"]]
        found += ["timestampadd(SECOND, i32, ntz)", "dateadd(MONTH, small, dt)", "datediff(WEEK, dt, dt2)", "date_diff(YEAR, dt, ts)"]
    return found


# Arrays, maps and structs whose texts have nothing in them that Javas write differently.
SHOWN = [a for a in ARRAYS if "bin" not in a and "f64" not in a and "f32" not in a] + MAPS[:3]
SHOWN += ["named_struct('a', i32, 'b', s)", "struct(d15, dt, ts, b, null)", "if(b, named_struct('x', i32, 'y', array(s, null)), null)", "array(ntz, null)", "array(d38f, d18)", "array(i16, i8)", "map('', i64, 'x', small)", "array(null)", "array()", "map()", "array(array(null, null), array())", "struct(struct(s, null), map(coalesce(s, ''), part))",
          "array(f64 * 0, double('NaN'), -0.0D, 1.5D)", "named_struct('x', float('inf'), 'y', float(small))", "map(id, map(coalesce(s, ''), array(dt)))"]


def complex_texts():
    """Arrays, maps and structs as texts."""
    return [f"cast({of} as string)" for of in SHOWN] + [f"try_cast({of} as string)" for of in SHOWN[::3]] + [f"length(cast({of} as string))" for of in SHOWN[:4]] + ["concat(cast(array(s) as string), ' ', cast(map(id, i32) as string))"]


# Arrays, maps and structs, and the types that they are cast to.
SHAPES = [("array(small, i32, null)", ["array<bigint>", "array<double>", "array<float>", "array<string>", "array<boolean>", "array<decimal(20,3)>"]), ("if(b, array(small, null), null)", ["array<tinyint>", "array<string>", "array<timestamp>"]),
          ("array(array(small, null), null, array())", ["array<array<string>>", "array<array<bigint>>"]), ("array(d15, null, d15b)", ["array<decimal(30,5)>", "array<double>", "array<string>"]), ("array(dt, null, dt2)", ["array<string>", "array<timestamp_ntz>"]),
          ("array(cast(small as string), null, '7')", ["array<int>", "array<double>", "array<decimal(5,1)>", "array<binary>"]), ("array(b, null, b2)", ["array<int>", "array<string>"]), ("array(ts, null)", ["array<date>", "array<timestamp_ntz>"]), ("array()", ["array<int>"]),
          ("map(id, small, -id - 1, null)", ["map<bigint,string>", "map<string,double>", "map<int,decimal(9,1)>"]), ("if(b2, map('a', array(small)), map())", ["map<string,array<bigint>>", "map<binary,array<string>>"]), ("map(coalesce(dt, dt2, date'2000-02-29'), s)", ["map<string,binary>"]),
          ("named_struct('a', i32, 'b', s)", ["struct<x:bigint,y:binary>", "struct<a:string,b:string>"]), ("if(b, named_struct('a', small, 'b', array(dt, null)), null)", ["struct<a:tinyint,b:array<string>>", "struct<a:double,b:array<date>>"]),
          ("array(named_struct('a', small), null)", ["array<struct<a:bigint>>", "array<struct<b:string>>"]), ("struct(struct(d15, ts), map(id, i16))", ["struct<a:struct<b:string,c:date>,d:map<string,int>>"])]


def shapes():
    """Arrays, maps and structs as others, bytes as texts, and decimals that are rounded up or down to some digits."""
    found = [f"cast({of} as {to})" for of, types in SHAPES for to in types] + [f"try_cast({of} as {to})" for of, types in SHAPES for to in types[::2]]
    found += ["try_cast(array(i32, small) as array<tinyint>)", "cast(slice(array(i32, small, i16), 2, 1) as array<string>)", "element_at(cast(array(small, i16) as array<bigint>), 2)", "cast(map(id, small) as map<bigint,string>)[id]"]
    found += [f"cast({of} as string)" for of in ["cast(s as binary)", "cast(concat(s, part) as binary)", "cast('' as binary)", "array(cast(s as binary), null)", "map(id, cast(part as binary))"]] + ["length(cast(cast(s2 as binary) as string))", "cast(unhex(hex(s)) as string)"]
    numbers = [("d15", [1, 0, -2, 2]), ("d38f", [3, 20, -1]), ("d5", [5, 0, -1]), ("d38", [0, 4]), ("d18", [3, -4, 0]), ("d10", [0, -3]), ("small", [0, -1]), ("f32 % 1000", [2])]
    found += [f"{function}({of}, {n})" for function in ["ceil", "floor"] for of, places in numbers for n in places] + ["ceil(cast(small as decimal(20,10)), -30)", "floor(cast(small as decimal(20,10)), -30)"]
    return found


SETS = [("array(small, i32, null)", "array(i32b, small)"), ("array(i8, i16, small)", "array(small, cast(2 as smallint))"), ("if(b, array(s, s2, s), null)", "array(part, s2, null)"), ("array(dt, dt2)", "if(b2, array(dt2, null), array(dt))"), ("array(d15, d15b, null)", "array(d15b)"), ("array(b, null)", "array(b2)"),
        ("array(array(small), null)", "array(array(small, null), array(small))"), ("array(named_struct('x', small, 'y', s))", "array(named_struct('x', small, 'y', s2), null)"), ("cast(array() as array<int>)", "array(small)"), ("array(small)", "cast(array() as array<int>)"), ("array(bin)", "array(bin, null)"), ("array(ts, ts)", "array(ts2)")]


def collections():
    """Arrays as sets, arrays with elements put in or left out, maps of other things, and parts of texts."""
    found = [f"{function}({a}, {b})" for a, b in SETS for function in ["array_union", "array_intersect", "array_except", "arrays_overlap"]] + [f"{function}({b}, {a})" for a, b in SETS[:5] for function in ["array_except", "arrays_overlap"]]
    found += [f"array_remove({a}, {of})" for a, of in ELEMENTS] + [f"array_append({a}, {of})" for a, of in ELEMENTS] + [f"array_prepend({a}, {of})" for a, of in ELEMENTS] + ["array_append(array(1), null)", "array_append(array(array(small)), array(i32))", "array_compact(array(small, null, i32))", "array_append(cast(null as array<int>), 1)"]
    found += [f"array_insert({a}, {n}, {of})" for a, of in ELEMENTS[:6] for n in ["1", "2", "4", "7", "-1", "-2", "-4", "-5", "-9", "coalesce(nullif(small, 0), 3)", "cast(null as int)"]]
    found += ["map_from_arrays(array(id, id + 1), array(s, s2))", "map_from_arrays(if(b, array(concat('a', id), 'b'), null), array(dt, null))", "cast(map_from_arrays(array(), array()) as string)", "map_from_arrays(array(array(id), array(id, id)), array(d15, d15b))"]
    found += [f"map_from_entries({of})" for of in ["array(struct(id, s), struct(-id - 1, s2))", "array(struct(id, i32), if(b, null, struct(-id - 1, i32b)))", "map_entries(map('a', i64, 'b', i64b))", "if(b2, array(struct('x', array(small))), null)", "array(named_struct('k', dt2, 'v', null)) "] if "dt2" not in of]
    found += ["map_concat(map(id, s), map(-id - 1, s2))", "map_concat(map('a', i32), if(b, map('b', small), null))", "map_concat(map(1, null), map(2, i32), map())", "map_concat(map('k', array(s)))"]
    found += [f"split_part({s}, {d}, {n})" for s in ["s", "concat(s, ',', s2, ',', part)", "part"] for d in ["','", "part", "'a'", "''", "'.'"] for n in ["1", "2", "-1", "-3", "coalesce(nullif(small, 0), 2)"]] + ["luhn_check(num)", "luhn_check('79927398713')", "luhn_check(cast(abs(i32) as string))"]
    return found


# How dates and times are written, and the patterns that those are read by.
WRITTEN = ["yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd", "yyyyMMdd", "dd.MM.yyyy", "yyyy/M/d H:m:s", "yyyy-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd HH:mm:ss.SSSSSS", "yyyyMM", "yyyy", "d/M/yyyy", "yyyy_MM_dd HH", "yyyyMMddHHmmss"]
WRITTEN += ["MM/dd/yy", "yyMMdd", "dd MMM yyyy hh:mm:ss a", "MMMM d, yyyy h:mm a", "dd-MMM-yyyy", "dd/MMM/yyyy:HH:mm:ss Z", "yyyy-MM-dd HH:mm:ssX", "yyyy-MM-dd HH:mm:ssxx", "yyyy-MM-dd (XXX)"]
# The quotes are SQL's.
WRITTEN += ["yyyy-MM-dd\\'T\\'HH:mm:ss.SSSXXX", "yyyy-MM-dd\\'T\\'HH:mm:ssxxx"]
# Patterns that are written only.
ONLY_WRITTEN = ["E EE EEE EEEE", "D DD DDD", "Q QQ QQQ QQQQ", "q qq qqq qqqq", "L LL LLL LLLL", "MMMM y", "h hh a", "K KK k kk", "X XX XXX XXXX XXXXX", "x xx xxx xxxx xxxxx", "Z ZZ ZZZ ZZZZ ZZZZZ", "O OOOO", "yyy yyyyy yyyyyy", "yyyy年M月d日 (H|m);s@", "SSSSSSS SSSSSSSSS", "EEE, d MMM yyyy HH:mm:ss Z"]


def reading(moment):
    """Texts as times by patterns, and seconds as texts."""
    found = [f"{function}(date_format({moment}, '{pattern}'), '{pattern}')" for pattern in WRITTEN for function in ["to_timestamp", "to_date", "unix_timestamp", "to_unix_timestamp"]]
    found += [f"date_format({of}, '{pattern}')" for of in [moment, "dt"] for pattern in ONLY_WRITTEN]
    found += [f"from_unixtime({n}, '{pattern}')" for n in ["small", "i16", "dt_days * 86400L + small", "unix_seconds(zts)"] for pattern in WRITTEN] + ["from_unixtime(i16)", "from_unixtime(null)", "from_unixtime(small, null)", "to_timestamp(s, null)"]
    found += [f"unix_timestamp({of})" for of in ["dt", "ts", "ts2", "zts", "zdt"]] + ["to_unix_timestamp(ts, 'x')", "to_unix_timestamp(dt)", f"unix_timestamp(date_format({moment}, 'yyyy-MM-dd HH:mm:ss'))", f"to_timestamp_ntz(date_format({moment}, 'yyyy-MM-dd HH:mm'), 'yyyy-MM-dd HH:mm')"]
    return found


# Texts that may be times, or not: some of them are left to Spark.
READ = [f"{function}({of}, '{pattern}')" for function in ["to_timestamp", "to_date", "unix_timestamp"] for of in ["day", "stamp", "time", "num"] for pattern in ["yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-M-d", "yyyyMMdd", "yyyy-MM-dd HH:mm:ssXXX", "d MMM yy"]]


# What fails for some rows, always or in ANSI mode, or is left to Spark for some.
ODD = ["overlay(s placing part from i32 for small)", "overlay(s placing part from i32 for i32b)", "translate(s, 'ab', concat(chr(0), 'z'))", "conv(concat('-', hex(i64)), 16, -2)", "initcap(num)", "substring(s, i32, i32b)", "substring(bin, i32, i32b)", "substring_index(s, part, i32)", "initcap(s)", "getbit(i8, small)", "getbit(i64, i32)", "timestampadd(YEAR, i32, ts)", "timestampadd(WEEK, i32, ts)", "timestampadd(MONTH, i32, ts)", "timestampadd(DAY, i32, ts)", "conv(s, 36, -36)", "conv(num, 10, -2)", "format_number(d15, 200)"]
ODD += [f"elt({n}, {of})" for n in ["small", "i32"] for of in ["s, s2, part", "bin, bin", "s", "null, s"]] + [f"next_day(dt, {n})" for n in ["'x'", "upper(part)", "elt(small, 'mo', 'TUE', 'we', 'Thu', 'xx', 'su', '', ' MO')", "s"]]
ODD += [f"{function}(elt(small, '', 'abc', 'x-01-01', 'T', null, date_format(ts, 'yyyy-MM-dd')), 'yyyy-MM-dd')" for function in ["to_timestamp", "try_to_timestamp", "to_date", "unix_timestamp", "to_unix_timestamp"]]
ODD += ["cast(bin as string)", "cast(array(bin, null) as string)", "cast(array(s, num) as array<int>)", "try_cast(array(s, num) as array<int>)", "cast(array(i32, i64) as array<smallint>)", "cast(map(id, day) as map<bigint,date>)", "cast(named_struct('a', f64) as struct<a:int>)"]
ODD += ["cast(array(f64, f32) as string)", "from_unixtime(i64)", "to_timestamp(date_format(dt, 'yyyy-MM-dd'), 'yyyy-MM-dd HH:mm:ss')"]


ODD += ["format_string('%s %.1f', d38f, f64)", "format_string('%.1s', concat('😀', s))", "format_string('%c', i32)", "parse_url(s, 'HOST')", "parse_url(concat('http://', part), 'PATH')", "parse_url('http://h?a=1', 'QUERY', part)", "try_parse_url(stamp, 'HOST')", "try_to_number(num, '999')", "try_to_number(dec, 'S9999.99')", "to_number(num, '99')"]


# Functions that only new versions have.
NEW = ["dayname(dt)", "monthname(dt)", "dayname(dt2)", "monthname(ts)"]
# Groups that are a fixture and a test of their own.
FUNCTIONS = ["texts", "numerals", "formats", "spans", "new", "complex", "shapes", "collections", "reading", "read", "odd"] + [f"reading_{zone.split('/')[1]}" for zone in ZONES[:3]] + [f"spans_{zone.split('/')[1]}" for zone in ZONES[:4]]
# Those of regular expressions, JSON, URLs and intervals: a fixture of their own.
TEXTS_AND_TIMES = ["patterns", "parts", "intervals", "tried", "left_texts"] + [f"intervals_{zone.split('/')[1]}" for zone in ZONES[:4]]
# Those of which Spark is left some rows.
LEFT = ["read", "odd"]

# Numbers of all sizes, of those that logarithms and arcs are made for, and near those where exponentials overflow.
REALS = ["f64", "f64b", "f64 % 1", "f64b % 800", "1 / f64", "1 + f64 % 0.001", "small", "i32", "d15", "f32"]


def maths():
    """Functions of real numbers."""
    of_one = ["exp", "expm1", "ln", "log1p", "log2", "log10", "acos", "asin", "atan", "cbrt", "cosh", "sinh", "tanh", "atanh", "degrees", "radians"]
    of_two = [("f64", "f64b"), ("f64", "small"), ("abs(f64)", "f64b % 10"), ("small", "small"), ("f64", "0.5D"), ("f64", "2"), ("small", "f64b"), ("-1.0D", "i8"), ("1 + f64 % 0.0001", "f64b"), ("f64", "f64 * 0"), ("-abs(f64)", "cast(i8 as double)"), ("f64 / 0.3D", "double('infinity')"), ("abs(f64)", "abs(f64b)"), ("10", "f64"), ("f64", "-f64")]
    return [f"{function}({n})" for function in of_one for n in REALS] + [f"{function}({a}, {b})" for function in ["pow", "atan2", "hypot", "log"] for a, b in of_two] + ["power(f64, 3)", "e() * f64", "pi() + f64", "degrees(radians(f64))", "if(b, exp(f64), ln(f64b))"]


CHARSETS = ["US-ASCII", "ISO-8859-1", "UTF-8", "utf-8", "UTF-16BE", "UTF-16LE", "UTF-16"]


def digests():
    """Sums of bytes, and bytes as texts."""
    found = [f"{function}({of})" for function in ["sha1", "crc32", "base64", "md5"] for of in ["bin", "cast(s as binary)", "cast(repeat(concat(s, part), 9) as binary)", "cast('' as binary)"]]
    found += [f"sha2({of}, {n})" for of in ["bin", "cast(s as binary)", "cast(repeat(s, 20) as binary)"] for n in ["0", "224", "256", "384", "512", "100", "-1", "small", "224 + 32 * pmod(i32, 11)", "null"]]
    found += ["unbase64(base64(bin))", "unbase64(base64(cast(repeat(s, 30) as binary)))", "to_binary(base64(bin), 'base64')", "unbase64(replace(base64(cast(concat(s, s2, part) as binary)), '=', ''))", "base64(cast(rpad(s, 57, 'x') as binary))", "base64(cast(rpad(s, 58, 'x') as binary))", "base64(cast(rpad(s, 114, s2) as binary))"]
    found += ["unbase64(elt(pmod(i32, 14) + 1, 'YQ', 'YQ==', 'Y Q==', 'YWI', 'YWI=', '', '?', 'U3Bh cmsg\\r\\nU1FM', 'YWJj!ZGVm', 'é', 'YW\u00e9I=', '-_-_', 'YWI=??', '////'))"]
    found += [f"decode(encode(s, '{c}'), '{c}')" for c in ["UTF-8", "UTF-16BE", "UTF-16LE", "UTF-16"]] + [f"encode({of}, '{c}')" for of in ["part", "num", "s"] for c in CHARSETS[2:]] + [f"encode({of}, '{c}')" for of in ["day", "cast(i64 as string)", "null"] for c in CHARSETS[:2]]
    found += ["decode(bin, 'ISO-8859-1')", "decode(cast(s as binary), 'ISO-8859-1')", "decode(cast(s as binary), 'utf-8')", "decode(cast(day as binary), 'US-ASCII')", "decode(encode(concat('a', s), 'UTF-16LE'), 'UTF-16LE')", "decode(concat(x'FFFE', encode(s, 'UTF-16LE')), 'UTF-16')", "decode(encode(s, 'UTF-16BE'), 'UTF-16')"]
    return found


# Of which some texts or bytes are left to Spark, or fail in new versions.
MALFORMED = [f"encode(s, '{c}')" for c in CHARSETS[:2]] + [f"decode(bin, '{c}')" for c in CHARSETS] + ["encode(s, 'latin1')", "encode(s, part)", "unbase64(s)", "unbase64(num)", "to_binary(part, 'base64')", "decode(bin, 'UTF-32')"]


def combined():
    """Arrays that are sorted or zipped, and maps of other keys, of two maps and of texts."""
    found = [f"array_sort({a})" for a in ARRAYS + ["array(f64, f64b, f64 * 0, -f64 * 0, null)", "array(s, s2, part, concat(s, part), null)", "array(small, i8, i16, null, small, null, i32)"]]
    found += [f"array_sort({a}, (x, y) -> {by})" for a in [ARRAYS[0], "array(small, i8, i16, i32, small, i32b)"] for by in ["x - y", "if(x < y, 1, if(x > y, -1, 0))", "case when x is null and y is null then 0 when x is null then -1 when y is null then 1 else cast(signum(y) - signum(x) as int) end", "0", "pmod(coalesce(x, 0), 3) - pmod(coalesce(y, 0), 3)"]]
    found += ["array_sort(array(s, s2, part), (x, y) -> coalesce(length(x), 0) - coalesce(length(y), 0))", "array_sort(array(named_struct('x', small, 'y', s), named_struct('x', i8, 'y', s2), named_struct('x', small, 'y', part)), (a, b) -> coalesce(a.x - b.x, 0))"]
    found += [f"arrays_zip({a})" for a in ["array(i32, small), array(s, s2, part)", f"{ARRAYS[1]}, {ARRAYS[2]}", f"{ARRAYS[0]}", f"{ARRAYS[5]}, {ARRAYS[11]}, {ARRAYS[13]}", f"{ARRAYS[4]}, {ARRAYS[8]}", f"{ARRAYS[14]}, cast(array() as array<int>)", "array(1, 2), array(i32)"]]
    found += [f"transform_keys({m}, (k, v) -> {of})" for m, of in [(MAPS[0], "k + 1"), (MAPS[0], "k * 10 + coalesce(small, 0)"), (MAPS[1], "concat(k, '!')"), (MAPS[1], "named_struct('k', k, 'b', b2)"), (MAPS[2], "date_add(k, 3)"), ("map('a', small, 'b', i8)", "concat(k, coalesce(v, 0))"), ("map(id, s, -id - 1, s2)", "array(k)"), ("map(1, 2)", "k + id")]]
    found += [f"map_zip_with({a}, {b}, (k, x, y) -> {of})" for a, b, of in [(MAPS[0], "map(2, small, 3, i8)", "coalesce(x, 0L) + coalesce(y, k)"), (MAPS[1], "map('c', small, 'a', i8)", "concat_ws('-', k, x, cast(y as string))"), (MAPS[2], "map(date'1970-01-01', s)", "named_struct('x', x, 'y', y)"), ("map(id, s)", "map(id, s2, -id - 1, part)", "x = y"), ("map(id, s)", "if(b, map(7, small), null)", "y"),
              ("map(array(id), 1)", "map(array(id), 2, array(id, id), 3)", "x"), ("map(cast(id as decimal(10,2)), s)", "map(cast(3 as decimal(10,2)), s2)", "concat(x, y)"), ("map(cast(id as string), s)", "map('5', s2)", "coalesce(y, x)"), ("cast(map() as map<int,int>)", "map(1, i32)", "y")]]
    found += [f"str_to_map({of})" for of in ["'a:1,b:2,c'", "concat('a:', s)", "concat('k', id, ':', s, ',x', id, ':', coalesce(part, 'p'))", "concat('a', s, '-b', s2), '-', 'c'", "s, 'zz', part", "num, '|'", "'', ',', ':'", "concat('x=', i32, ';y=', small), ';', '='", "null"]]
    return found


# Of which some rows are left to Spark, or fail.
UNPROVEN = ["array_sort(array(small, i8, i16, i32), (x, y) -> null)", "array_sort(array(small, i8, i16, i32), (x, y) -> 1)", "array_sort(array(i32, i32b, small), (x, y) -> x - y)", "array_sort(array(array(small), array(i32)))", "transform_keys(map(1, i32, 2, i32b), (k, v) -> v)", "transform_keys(map('a', s), (k, v) -> v)", "str_to_map(concat(s, ',', s2))", "str_to_map(s, part)", "str_to_map(s, '', '')",
            "transform_keys(map(1, i32), (k, v) -> f64)", "map_zip_with(map(f64, 1), map(f64b, 2), (k, x, y) -> x)"]
# Groups that are a fixture of their own. Of all but the first two, much is left to Spark.
MATHS = {"maths": maths(), "digests": digests(), "inverses": [f"{function}({n})" for function in ["acosh", "asinh"] for n in REALS], "malformed": MALFORMED, "combined": combined(), "unproven": UNPROVEN}


# Texts, of lines, of words, of letters of all sorts, and patterns that are looked for in them.
SEARCHED = ["s", "s2", "concat(s, ' ', part, ',', s2)", "day", "stamp", "concat(num, '=', dec, ';', flag)"]
PATTERNS = ["a", "", "a*", "[a-c]+", "(a)(b)?", "(.)(.)", "(\\\\d+)-(\\\\d+)", "\\\\s+", "^\\\\s*(\\\\S+)", "([^=;]*)=([^=;]*)", "(?i)([a-m]+)", "(.+?)( |,|\\\\z)", "(x|y)?", "\\\\D", "(\\\\w+)", "[^\\\\x00-\\\\x7f]", "ö|本|é", "(?<first>.)(?<rest>.*)", "(?s).", "e.?", "((a)|(b))c?", "\\\\.", "\\\\Q%\\\\E", "a{2,3}", "[[:alpha:]]", "\\\\p{Alpha}+?"]


def patterns():
    """What regular expressions find."""
    found = [f"regexp_replace({s}, '{p}', '{by}')" for s in SEARCHED for p in PATTERNS if p not in ["", "a*", "(x|y)?", "[[:alpha:]]"] for by in ["", "<$0>", "-"]]
    found += [f"regexp_extract({s}, '{p}', {n})" for s in SEARCHED for p in PATTERNS for n in [0, 1] if n == 0 or ("(" in p and "(?" not in p)] + [f"regexp_extract_all({s}, '{p}', {n})" for s in SEARCHED[:4] for p in PATTERNS if p not in ["", "a*", "(x|y)?", "[[:alpha:]]"] for n in [0, 1, 2] if n <= p.count("(") - p.count("(?")]
    found += [f"{function}({s}, '{p}')" for s in SEARCHED for p in PATTERNS if p not in ["", "a*", "(x|y)?", "[[:alpha:]]"] for function in ["regexp_count", "regexp_substr"]] + [f"regexp_instr({s}, '{p}')" for s in SEARCHED for p in PATTERNS] + [f"{s} rlike '{p}'" for s in SEARCHED for p in PATTERNS]
    # Each with some of the texts.
    found = found[::5]
    found += [f"split({s}, '{p}', {n})" for s in SEARCHED for p in ["[, ]", "\\\\s+", "[a-c]+", "\\\\d", "a|b", "(?=x)|y", ".", "a", "=|;"] if "?=" not in p for n in [-1, 0, 1, 2, 3]][::5]
    found += [f"regexp_replace({s}, '(.)(a)?', '{by}')" for s in SEARCHED[:3] for by in ["$1", "$2$1", "[$12]", "\\\\$1", "$1x", "\\\\\\\\"]] + [f"regexp_replace({s}, '(?<l>[a-z])', '${{l}}${{l}}')" for s in SEARCHED[:3]]
    found += [f"regexp_replace(s, 'a', part, {n})" for n in [1, 2, 3]] + [f"regexp_replace(day, '\\\\d', '#', {n})" for n in [1, 3, 6, 11, 99]] + [f"regexp_replace(day, '^.', '#', {n})" for n in [1, 3]] + ["regexp_replace(s, 'a', null)", "regexp_extract(day, '(\\\\d)(\\\\d)', pmod(small, 2))", "regexp_instr(day, '-', small)", "regexp_extract(day, '\\\\b(\\\\d+)\\\\b', 1)", "day rlike '^\\\\d{4}-\\\\d{2}-\\\\d{2}\\\\z'", "num rlike '^[+-]?\\\\d+\\\\Z'"]
    return found


# Texts of JSON.
JSON = ["'[1, \"a\", [2, 3], {\"x\": 4}, null]'", "concat('{\"k\": ', small, ', \"n\": \"', regexp_replace(part, '[^a-z]', ''), '\", \"a\": [', i32, ', ', i64, '], \"k\": null}')", "to_json(struct(i32, s2, b, dt, array(small, null) as l, d15))", "to_json(array(i32, small))", "s", "part", "day", "num", "''", "' '", "'[]'", "'{}'", "'{\"a\":{\"b\":[1,{\"c\":2.50}]},\"\":1,\"a\":\"x\"}'", "cast(null as string)"]


def texts_of_parts():
    """Lengths and names of JSON, parts of URLs, masks."""
    found = [f"{function}({of})" for of in JSON for function in ["json_array_length", "json_object_keys"]]
    found += [f"{function}({of})" for of in ["s", "s2", "part", "day", "num", "dec", "stamp", "concat(s, '/', part, '~*')"] for function in ["url_encode"]] + [f"url_decode(url_encode({of}))" for of in ["s", "part", "stamp", "concat(s, '+', part)"]] + ["url_decode(day)", "url_decode('a%20b+c%C3%A9')"]
    found += [f"mask({of})" for of in ["day", "dec", "flag", "hex(i64)", "stamp"]] + ["mask(day, 'Q', 'q', 'd', 'o')", "mask(flag, null, '*')", "mask(stamp, 'X', 'x', null, '-')", "mask(null)"]
    return found


def intervals(zone=""):
    """Timestamps and intervals that are made of numbers, and taken apart."""
    found = [f"make_timestamp({y}, {m}, {d}, {h}, {n}, {s})" for y in ["2000 + small", "dt_days div 366 + 1970"] for m in ["small + 1", "pmod(i8, 14)"] for d in ["pmod(i32, 33)", "28"] for h in ["pmod(i8, 26)", "2"] for n in ["30", "pmod(i16, 62)"] for s in ["0", "60", "cast(pmod(i16, 62) as int)", "cast(pmod(d18, 62) as decimal(16,6))"]][:: 3 if zone else 1]
    found += [f"make_timestamp(year(z{t}), month(z{t}), day(z{t}), hour(z{t}), minute(z{t}), extract(second from z{t}))" for t in ["ts", "ntz"]] + [f"make_timestamp(2024, small + 1, pmod(i32, 28) + 1, 2, 30, 0, '{z}')" for z in ZONES[:3] + ["+01:30", "UTC"]] + ["make_timestamp(2000 + small, 1, 1, 1, 1, d18)", "make_timestamp_ntz(2000 + small, 1, 2, 3, 4, 5.5)", "make_timestamp_ltz(2000 + small, 1, 2, 3, 4, 5.5, 'Asia/Kathmandu')"]
    if zone:
        return found
    shown = []
    months, micros = "make_ym_interval(small, small)", "make_dt_interval(i16, i8, small, d18)"
    shorter = "make_dt_interval(small, i8, i16, cast(d5 as decimal(18,6)))"
    for n in ["small", "i8", "i16", "i32 div 1000000", "cast(small as bigint)", "1.5", "2", "if(abs(f64) < 1e4D, f64, 1.5D)", "if(abs(f32) < 1e4D, f32, float(0.7))", "d5", "0.5D", "-3"]:
        shown += [f"extract({unit} from {of} * ({n}))" for unit, of in [("year", months), ("month", months), ("second", shorter), ("day", shorter)]]
    for n in ["if(abs(f64) > 1e-2D and abs(f64) < 1e300D, f64, 3D)", "if(abs(f32) > 1e-2D, f32, float(-7))", "7", "-2", "nullif(small, 0)", "nullif(i8, 0)", "nullif(i64, 0)", "2.5D"]:
        shown += [f"extract(year from {months} / {n})", f"extract(month from {months} / {n})", f"extract(second from {micros} / {n})", f"extract(hour from {micros} / {n})"]
    for unit in ["day", "hour", "minute", "second"]:
        shown += [f"extract({unit} from {of})" for of in [micros, "ts - ts2", "dt - dt2", "make_dt_interval(i16)", "make_dt_interval(i16, i16, i16, i16)", "make_dt_interval(small, -small)", "interval '-1 02:03:04.5' day to second"]]
    for unit in ["year", "month"]:
        shown += [f"extract({unit} from {of})" for of in [months, "make_ym_interval(i16, i32 div 1000)", "make_ym_interval(-small)", "interval '-1-5' year to month"]]
    shown += ["extract(yearofweek from dt)", "extract(yearofweek from ts)", "date_part('YEAROFWEEK', dt2)", "ts + make_dt_interval(small, i8)", "ntz - make_dt_interval(small)", "dt + make_ym_interval(small, i8)"]
    shown += [f"cast({micros} as interval day)", f"extract(hour from cast({micros} as interval day))", f"extract(second from cast({micros} as interval minute to second))"]
    return found + shown


# Intervals from small ones to such as nothing can be added to, and decimals that some of them are multiplied with.
SPANS = ["make_dt_interval(small, i8, i16, cast(d5 as decimal(18,6)))", "if(b, interval '106751991 04:00:54.775807' day to second, make_dt_interval(i16))", "if(b2, interval '-106751990' day, interval '1 02:03:04.005006' day to second)"]
YEARS = ["make_ym_interval(small, i8)", "if(b, interval '178956970-7' year to month, interval '-2' month)"]
BY = ["small", "i64", "f64", "f32", "d5", "0", "1.5BD", "-0.3BD", "if(abs(f64) < 1e4D, f64, 0D)"]


def tried():
    """What is null where it overflows, arithmetic of intervals, intervals as text."""
    found = [f"try_{name}({a}, {b})" for a in ["ts", "ntz", "dt"] for b in SPANS for name in ["add", "subtract"]] + [f"try_subtract({a}, {b})" for a, b in [("ts", "ts2"), ("ntz", "ntz"), ("dt", "dt2")]]
    found += [f"try_add({a}, {b})" for a in ["ts", "ntz", "dt"] for b in YEARS[:1]] + ["try_add(dt, small)", "try_subtract(dt, i8)", "try_to_binary(hex(s), 'hex')", "try_to_binary(num, 'hex')", "try_to_binary(s, 'utf-8')"]
    found += [f"try_{name}({a}, {b})" for a in SPANS for b in SPANS[1:] for name in ["add", "subtract"]] + [f"try_{name}({a}, {n})" for a in SPANS for n in BY for name in ["multiply", "divide"] if n not in ["f64", "f32"] or name == "divide"]
    found += [f"extract(month from try_{name}({a}, {b}))" for a in YEARS for b in YEARS for name in ["add", "subtract"]] + [f"extract(year from try_{name}({a}, {n}))" for a in YEARS for n in BY[:1] + BY[4:] for name in ["multiply", "divide"]]
    found += [f"{SPANS[0]} {op} interval '1 02:03:04.005006' day to second" for op in ["+", "-", "<", "="]] + [f"-{SPANS[0]}", f"abs({SPANS[2]})", f"extract(month from -{YEARS[0]})", f"extract(year from abs({YEARS[0]}) + {YEARS[0]})", f"{SPANS[0]} / 1.5BD", f"{SPANS[0]} / 7BD"]
    # As text by their fields, and cut off.
    fields = ["day", "hour", "minute", "second"]
    types = [first if first == last else f"{first} to {last}" for at, first in enumerate(fields) for last in fields[at:]]
    found += [f"cast({a} as interval {of})" for a in SPANS for of in types] + [f"cast(cast({a} as interval {of}) as string)" for a in SPANS for of in types] + [f"cast(cast({a} as interval {of}) as string)" for a in YEARS for of in ["year", "month", "year to month"]]
    found += [f"cast({of} as string)" for of in ["span", "clock", "months", "years", "-clock", "clock + clock"]] + ["span", "clock", "span < clock", "ts + span", "dt + months", "extract(month from months)", "hash(span, months)", "cast(months + years as string)", "typeof(span + clock)"]
    found += ["cast(ts - ts2 as string)", "cast(dt - dt2 as string)", f"cast(-{SPANS[0]} as string)", f"cast({SPANS[0]} + interval '1' hour as string)", f"cast({YEARS[0]} * 2 as string)", f"cast(if(b, {SPANS[0]}, null) as string)"]
    return found + [f"{pad}(bin, {n}, {by})" for pad in ["lpad", "rpad"] for n in ["5", "0", "abs(small)", "300"] for by in ["x'00ff'", "cast('ab' as binary)"]] + ["lpad(bin, 3)", "rpad(bin, 7)"]


# What only the driver makes of a text: a pattern of Java's own, or replacements and groups that fail.
LEFT_TEXTS = ["extract(day from make_dt_interval(i32, i8, small, d18) * i64)", "extract(month from make_ym_interval(small, small) / f64)", "extract(month from make_ym_interval(i32, small))", "extract(day from make_dt_interval(1) / 1.5)", "regexp_replace(day, '-', s2)", "regexp_replace(s, '(?=a)', '-')", "regexp_replace(s, '(a*)*', '-')", "regexp_replace(s, '(.)\\\\1', '-')", "s rlike '\\\\p{L}'", "regexp_replace(s, 'a*', '-')", "regexp_replace(s, '', '-')", "regexp_extract_all(s, '(x|y)?', 0)", "regexp_count(s, 'a*')", "regexp_replace(s, '\\\\b', '|')", "regexp_replace(s, 'x$', '')", "regexp_extract(s, '((a)b?)+', 2)", "s rlike part", "regexp_replace(s, 'a', '-', 2)",
              "regexp_replace(s, part, '-')", "split(s, '')", "split(s, 'a*')", "mask(s)", "make_timestamp(i32, i32b, small, 1, 1, 1)", "regexp_extract(s, '(a)', small)", "make_timestamp(2000 + small, small, small, small, small, cast(d38 / 1e20 as decimal(16,6)))", "json_array_length(concat('[', s, ']'))", "json_object_keys(concat('{', s, '}'))"]


def groups():
    """Expressions by group. Those of casts may be refused by the analyzer."""
    found = {
        "compare": [f"{a} {op} {b}" for a, b in PAIRS for op in ["=", "<=>", "<", "<=", ">", ">=", "!="]],
        "constants": ["i32 > 3", "i64 <= 100", "f64 > 0", "f64 = 0", "f32 < 1.5", "d15 between 1 and 100", "d15 >= 0.05", "s = 'a'", "s < 'b'", "dt >= date'1994-01-01'", "dt < date'1995-01-01'", "ts > timestamp'2000-01-01 00:00:00'", "b = true", "d38 > 1.5", "f64 > double('NaN')", "f64 = double('NaN')", "f64 < -0.0D"],
        "logic": ["b and b2", "b or b2", "not b", "not (b and b2)", "b is null", "i32 is not null", "isnan(f64)", "isnan(f32)", "b and i32 > 0", "(i32 > 0 and b) or i64 < 0", "nanvl(f64, f64b)", "nanvl(f32, 1)", "b and (i32 / small > 1)", "small = 0 or i32 / small > 1",
                  "coalesce(i32, i32b, 7)", "coalesce(s, s2)", "coalesce(d15, 0)", "coalesce(f64, i32 / small)", "nullif(i32, i32b)", "nvl(s, '')", "ifnull(dt, dt2)"],
        "conditional": ["case when i32 > 0 then 'p' when i32 < 0 then 'n' else 'z' end", "case when b then i64 end", "case when b then d15 * d15b when b2 then 0 else null end", "if(b, s, s2)", "if(i32 > 0, f64, f64b)", "case when small <> 0 then i32 / small else -1 end",
                        "case s when 'a' then 1 when 'ab' then 2 else 3 end", "if(b, dt, dt2)", "case when b then bin end", "case when i32 > 0 then named_struct('x', i32, 'y', s) else named_struct('x', i32b, 'y', s2) end", "greatest(i32, i32b, 0)", "least(i32, i32b)", "greatest(f64, f64b)",
                        "least(f64, f64b)", "greatest(s, s2)", "least(d15, d15b)", "greatest(dt, dt2)", "greatest(b, b2)", "least(f32, f32b)", "greatest(ts, ts2)"],
        "in": ["i32 in (1, 2, 3)", "i32 in (1, null, 3)", "i8 in (cast(1 as tinyint), cast(5 as tinyint))", "i64 not in (1, 2)", "s in ('a', 'abc', '日本語')", "s in ('a', null)", "d15 in (0, 1, 0.01)", "dt in (date'1970-01-01', date'2000-02-29')", "f64 in (0.0D, double('NaN'), 1.0D)", "i32 in (i32b, 5)", "s in (s2, part)",
               "i32 in (1,2,3,4,5,6,7,8,9,10,11,12,13)", "s in ('a','b','c','d','e','f','g','h','i','j','k','l','Spark')", "f32 in (float(0), float(1), float(2.5))", "f64 in (0.0D,1.0D,2.0D,3.0D,4.0D,5.0D,6.0D,7.0D,8.0D,9.0D,10.0D,double('NaN'))",
               "bin in (x'00', x'')", "b in (true)", "d38 in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)"],
        "arithmetic": [f"{a} {op} {b}" for a, b in NUMBERS for op in ["+", "-", "*", "/", "%"]] + [f"pmod({a}, {b})" for a, b in NUMBERS] + [f"{a} div {b}" for a, b in NUMBERS[:4]]
                      + [f"-{a}" for a, _ in NUMBERS] + [f"abs({a})" for a, _ in NUMBERS] + ["i32 + 1", "100 - i64", "f64 * 2", "1 - f64", "+i32", "sqrt(f64)", "sqrt(i32)"],
        "try": [f"try_{name}({a}, {b})" for a, b in [("i32", "i32b"), ("i64", "i64b"), ("d15", "d15b"), ("d38", "d38")] for name in ["add", "subtract", "multiply"]] + ["try_divide(f64, f64b)", "try_divide(d15, d15b)", "try_divide(i32, i32b)"],
        "bits": ["i32 & i32b", "i64 | i64b", "i16 ^ i16b", "~i32", "~i8", "i8 & i8b", "i64 & i64b", "shiftleft(i32, small)", "shiftright(i32, small)", "shiftrightunsigned(i32, small)", "shiftleft(i64, i32b)", "shiftright(i64, i32b)", "shiftrightunsigned(i64, i32b)"],
        "decimals": [f"{a} {op} {b}" for a, b in DECIMALS for op in ["+", "-", "*", "/", "%"]] + [f"pmod({a}, {b})" for a, b in DECIMALS[:5]] + ["d15 div d15b", "d5 div d15", "-d15", "abs(d38)", "d15 * (1 - d5)", "d15 * (1 - d5) * (1 + d15b)",
                     "100.00 * d15", "d15 / 7.0", "d15 = d15b", "d15 < d5", "d38i > d38", "d15 + 1", "i32 * d15", "d20 - i64"],
        "rounding": [f"{name}({a}, {n})" for name in ["round", "bround"] for a, n in [("d15", 1), ("d15", 0), ("d15", -2), ("d38", 3), ("d38", -5), ("d5", 5), ("f64", 0), ("f64", 2), ("f64", -2), ("f32", 1), ("i32", 0), ("i32", 2), ("small", -1)]] + ["round(i64, -3)", "round(i16, -1)"]
                    + [f"{name}({a})" for name in ["ceil", "floor"] for a in ["f64", "f32", "i64", "i32", "d15", "d38", "d38f", "d10", "d20", "small"]],
        "strings": ["substring(s, 2, 3)", "substring(s, 0, 2)", "substring(s, -3, 2)", "substring(s, small, i32)", "substring(s, 3)", "substr(bin, 2, 2)", "left(s, 2)", "right(s, 2)", "upper(s)", "lower(s)", "concat(s, '-', s2)", "s || part", "concat(bin, bin)", "concat_ws(',', s, s2, part)", "concat_ws(part, s, s2)",
                    "length(s)", "length(bin)", "startswith(s, part)", "endswith(s, part)", "contains(s, part)", "startswith(s, 'a')", "contains(s, 'pack')", "replace(s, part, '<>')", "replace(s, 'a', 'bb')", "replace(s, 'a')", "lpad(s, 5, '*')", "rpad(s, 5, part)", "lpad(s, small, 'öx')", "trim(s)", "ltrim(s)", "rtrim(s)",
                    "trim(both part from s)", "trim(leading 'ab' from s)", "trim(trailing part from s)"],
        "like": [f"s like '{p}'" for p in ["a%", "%b", "%a%", "a_c", "%special%requests%", "_", "__", "%", "", "a%b%c", "%X%X%", "forest%", "%BRUSHED%", "%\\\\%%", "a\\\\_c", "_本%", "%_x", "x%"]] + ["s like 'a/%b' escape '/'", "s like part", "s not like '%a%'"],
        "dates": [f"{name}(dt)" for name in ["year", "quarter", "month", "weekofyear", "day", "dayofweek", "weekday", "dayofyear", "last_day"]] + ["date_add(dt, small)", "date_sub(dt, small)", "date_add(dt, 10)", "date_add(dt, i8)", "datediff(dt, dt2)", "add_months(dt, small)", "add_months(dt, 13)", "dt + interval 3 months", "dt + interval 2 years",
                  "dt + interval 5 days", "trunc(dt, 'year')", "trunc(dt, 'quarter')", "trunc(dt, 'mm')", "trunc(dt, 'week')", "trunc(dt, 'x')"],
        "times": ["hour(ts)", "minute(ts)", "second(ts)", "hour(ntz)", "year(ts)", "month(ts)"] + [f"date_trunc('{u}', ts)" for u in ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond", "x"]]
                 + ["ts + interval '1 02:03:04' day to second", "ts - interval 10 hours", "ntz + interval '3' second"],
        "structs": ["named_struct('a', i32, 'b', s).b", "named_struct('a', i32, 'b', s)", "struct(d15, dt)", "if(b, named_struct('x', i32, 'y', s), null).y"],
        "hashes": ["hash(i32)", "hash(i64, s)", "hash(f64, f32)", "hash(d15, d38)", "hash(b, i8, i16, dt, ts, bin)", "xxhash64(i32)", "xxhash64(i64, s)", "xxhash64(f64, f32)", "xxhash64(d15, d38)", "xxhash64(b, i8, i16, dt, ts, bin)", "xxhash64(s, part)", "md5(bin)", "md5(cast(s as binary))"],
        "normal": ["struct(f64 + 0, -f64)"],
        "arrays": ARRAYS + [f"{function}({a})" for a in ARRAYS for function in ["size", "sort_array", "array_distinct", "array_min", "array_max"]] + [f"sort_array({a}, false)" for a in ARRAYS]
                  + [f"array_contains({a}, {of})" for a, of in ELEMENTS] + [f"concat({a}, array({of}), {a})" for a, of in ELEMENTS] + [f"flatten(array({a}, {a}))" for a in ARRAYS[:4]] + [f"{a} is null" for a in ARRAYS[:2]]
                  + [f"slice({a}, {n}, {m})" for a in ARRAYS[:3] for n, m in [(1, 2), (2, 9), (-1, 1), (-2, 5), (4, 1), (-9, 3), (1, 0)]] + [f"slice({ARRAYS[0]}, small, i8)", f"hash({ARRAYS[1]}, {ARRAYS[2]}, {ARRAYS[5]})", "hash(array(f64, f32), array(d15, null), array(named_struct('x', dt, 'y', array(ts))))"]
                  + [f"array_position({a}, {of})" for a, of in ELEMENTS] + [f"reverse({a})" for a in ARRAYS] + ["array_repeat(s, 2)", "array_repeat(i32, small)", "array_repeat(array(dt, null), i8)", "split(s, 'a')", "split(s, ' ')", "split(concat(s, '|', s2, '||'), '\\\\|')", "split(s, 'b', -1)", "sequence(small, 3)", "sequence(i8, i8b)", "sequence(7, 1, -2)",
                     "sequence(5, cast(small as int), 3)", "sequence(1L, 9L, 4L)", "sequence(i16, i16, i16b)"]
                  + [f"array_join({ARRAYS[2]}, '-')", f"array_join({ARRAYS[2]}, part)", "array_join(array(s, null, s2), ', ')", "if(b, array(i32), array(i32b, null))", "coalesce(if(b, array(s), null), array(s2))", "case when b then array(array(i32), null) end"],
        "elements": [f"{a}[{n}]" for a in ARRAYS for n in ["0", "1", "2"]] + [f"{ARRAYS[0]}[{n}]" for n in ["small", "i8", "i16", "-1", "7"]] + [f"element_at({a}, {n})" for a in ARRAYS for n in ["1", "-1", "3"]] + [f"element_at({ARRAYS[2]}, small)", f"element_at({ARRAYS[1]}, 0)"]
                    + [f"try_element_at({a}, {n})" for a in ARRAYS[:4] for n in ["2", "-3", "9", "small"]] + ["array(named_struct('x', i32, 'y', s), null, named_struct('x', i32b, 'y', s2)).y", "if(b, array(named_struct('x', i32)), null).x", "array(named_struct('x', i32))[0].x"],
        "maps": MAPS + [f"{function}({m})" for m in MAPS for function in ["size", "map_keys", "map_values", "map_entries"]] + [f"{MAPS[0]}[{k}]" for k in ["1", "2", "small"]] + [f"element_at({MAPS[1]}, {k})" for k in ["'a'", "part", "'x'"]] + [f"{MAPS[1]}['b']", f"element_at({MAPS[2]}, dt)", f"{MAPS[3]}[i64]", "map(s, 1, s2, 2)", "map(i32, s, i32b, s2)['x']"],
    }
    found |= {"texts": texts(), "numerals": numerals(), "formats": formats(), "spans": spans(), "new": NEW}
    found |= {"complex": complex_texts(), "shapes": shapes(), "collections": collections(), "odd": ODD, "reading": reading("ts"), "read": READ}
    found |= {"patterns": patterns(), "parts": texts_of_parts(), "intervals": intervals(), "tried": tried(), "left_texts": LEFT_TEXTS}
    found["windows"] = [f"window({of}, {how}).{end}" for of in ["ts", "ts2", "zts", "ntz"] for how in ["'10 minutes'", "'1 day'", "'1 hour', '1 hour', '15 minutes'", "'7 days'"] for end in ["start", "end"]]
    for zone in ZONES[:4]:
        found[f"intervals_{zone.split('/')[1]}"] = intervals(zone)
    for zone in ZONES[:3]:
        found[f"reading_{zone.split('/')[1]}"] = reading("zts")
    for zone in ZONES[:4]:
        found[f"spans_{zone.split('/')[1]}"] = spans(zone)
    found |= MATHS
    found["lambdas"] = lambdas()
    found["ordering"] = ordering()
    found["moments"] = [f"unix_{unit}(ts)" for unit in ["micros", "millis", "seconds"]] + ["unix_date(dt)", "date_from_unix_date(small)", "timestamp_millis(i32)", "timestamp_seconds(i32)", "timestamp_micros(small)", "make_date(2000 + small, small + 5, small + 20)"]
    found["moments"] += ["ts - ts2", "ntz - ntz", "dt - dt2", "ts + interval 1 month", "ntz - interval 13 months", "extract(second from ts)", "extract(second from ntz)", "from_utc_timestamp(ts, 'Europe/Berlin')", "to_utc_timestamp(ts, '+01:30')", "from_utc_timestamp(ts, null)"]
    found["moments"] += [f"date_format(ts, '{pattern}')" for pattern in ["yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "yyyy/M/d H:m:s", "HH:mm:ss.SSS", "ss.SSSSSS", "yyyy-MM", "dd.MM.yyyy"]] + ["date_format(dt, 'yyyy-MM')"]
    found["stamps"] = ["unix_micros(cast(stamp as timestamp))", "unix_micros(try_cast(stamp as timestamp))", "hour(cast(stamp as timestamp_ntz))", "datediff(cast(try_cast(stamp as timestamp_ntz) as date), dt)"]
    found["numbers"] = ["hex(i64)", "hex(i32)", "hex(s)", "hex(bin)", "bin(i64)", "bin(small)"]
    clock = ["hour(zts)", "minute(zts)", "second(zts)", "hour(ts)", "minute(ts)", "cast(zts as date)", "cast(zts as string)", "cast(cast(zts as timestamp_ntz) as string)", "cast(cast(zntz as timestamp) as string)", "cast(zntz as timestamp)", "cast(zdt as timestamp)", "cast(ztime as timestamp)", "unix_micros(cast(stamp as timestamp))",
             "year(zts)", "year(ts)", "cast(ts as string)", "datediff(cast(ts as date), dt)", "unix_seconds(cast(dt as timestamp))", "unix_seconds(cast(ntz as timestamp))", "extract(second from zts)", "date_format(zts, 'yyyy-MM-dd HH:mm:ss')"]
    clock += [f"date_trunc('{unit}', zts)" for unit in ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]] + ["unix_seconds(date_trunc('month', ts))"]
    clock += ["zts + interval '1 02:03:04' day to second", "zts - interval '1' day", "zts + interval '-1 23' day to hour", "zts - interval '25' hour", "zts + interval '1' month", "zts - interval '13' month", "zts - ts", "date_add(zts, 1)", "zts = timestamp'2024-11-03 01:30:00'", "zts < timestamp'1945-05-24 02:30:00'"]
    clock += [f"from_utc_timestamp(zts, '{zone}')" for zone in ZONES[:3]] + [f"to_utc_timestamp(zts, '{zone}')" for zone in ZONES[3:]]
    for zone in ZONES:
        found[f"zone_{zone.split('/')[1]}"] = clock
    for name, mode in [("cast", "cast"), ("try_cast", "try_cast")]:
        for column, of in FROM.items():
            for to in TEXTS.get(column, TO):
                # Text that is not UTF-8 is a test of its own.
                if to != of and (column, to) != ("bin", "string"):
                    found.setdefault(f"{name}_{column}", []).append(f"{mode}({column} as {to})")
    return found


def zone_of(group):
    """The session's time zone for a group."""
    return next((zone for zone in ZONES if group.endswith(f"_{zone.split('/')[1]}")), "UTC")


# Text that is not UTF-8: computed nowhere but in a JVM.
BAD = ["length(bad)", "upper(bad)", "bad = s", "bad < s", "substring(bad, 1, 2)", "concat(bad, s)", "bad like '%a%'", "cast(bad as int)", "cast(bad as binary)", "bad is null", "bad"]


def session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.session.timeZone", "UTC")
    return builder.config("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED").config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS").config("spark.sql.parquet.int96RebaseModeInWrite", "CORRECTED").getOrCreate()


def inputs(spark, out):
    """The two tables, in one file each."""
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    for name in ["wild", "safe"]:
        path = os.path.join(out, "in", name)
        if not os.path.exists(path):
            data = spark.createDataFrame(list(rows(name == "safe")), SCHEMA).coalesce(1).selectExpr(*COLUMNS)
            data.write.parquet(path)
    spark.conf.set("spark.sql.ansi.enabled", ansi)


def text(value):
    """A value with its type, such that equal texts are equal values to the last bit."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    if isinstance(value, (bytes, bytearray)):
        return "x" + bytes(value).hex()
    if isinstance(value, (tuple, list)):
        return [text(item) for item in value]
    if isinstance(value, dict):
        return [[text(key), text(of)] for key, of in value.items()]
    return None if value is None else str(value)


def digests(values):
    """Of each hundred rows: enough to find what differs, in OUT."""
    if not isinstance(values, list):
        return values
    return [hashlib.md5(json.dumps(values[at : at + 100]).encode()).hexdigest()[:12] for at in range(0, len(values), 100)]


def frames(spark, out, data, mode):
    """What only data frames and tables ask for: rows that are shown, rows without nulls, columns of type CHAR and VARCHAR."""
    path = os.path.join(out, f"char-{mode}")
    tuples = {of: [text(tuple(row)) for row in data.selectExpr("id", f"json_tuple({of}, 'a', 'k', 'n', cast(null as string), 'a')").collect()] for of in JSON}
    shown = data.selectExpr("id", "i32", "s", "dt", "ts", "b", "d38", "d38f", *[f"{of} as c{n}" for n, of in enumerate(SHOWN)])
    found = {f"json_tuple({of})": rows for of, rows in tuples.items()} | {"show": shown._jdf.showString(ROWS, 0, False).split("\n")}
    columns = data.selectExpr("id", "i32", "s", "f64", "f32 * 0 as f32", "dt")
    for least in [1, 3, 5, 6]:
        found[f"dropna {least}"] = [text(row.id) for row in columns.dropna(thresh=least).collect()]
    spark.sql(f"create table chars_{mode} (id int, c char(5), v varchar(5), w char(3)) using parquet location '{path}'")
    data.selectExpr("id", "substring(s, 1, 5) c", "concat(substring(s, 1, 5), '   ') v", "part w").where("length(w) <= 3 and length(rtrim(v)) <= 5").createOrReplaceTempView("written")
    spark.sql(f"insert into chars_{mode} select * from written")
    rows = spark.sql(f"select id, c, v, w, c = 'ab' x, length(v) n from chars_{mode} order by id").collect()
    for name in ["c", "v", "w", "x", "n"]:
        found[f"chars {name}"] = [text(row[name]) for row in rows]
    return found


# Dates and times as numbers.
NUMBER_OF = {"date": "unix_date({})", "timestamp": "unix_micros({})", "timestamp_ntz": "unix_micros(cast({} as timestamp))"}


def main():
    out, result, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    if only == ["functions"]:
        only = [name for name in FUNCTIONS if name not in LEFT] + ["maths", "digests", "frames"]
    if only == ["texts_and_times"]:
        only = TEXTS_AND_TIMES + ["windows"]
    if only == ["left"]:
        only = LEFT
    spark = session()
    inputs(spark, out)
    wild = spark.read.parquet(os.path.join(out, "in", "wild"))
    wild.selectExpr("cast(bin as string) bad", "s").write.parquet(os.path.join(out, "in", "bad"))
    answers = {}
    for mode, table in [("legacy", "wild"), ("ansi", "safe")]:
        spark.conf.set("spark.sql.ansi.enabled", "true" if mode == "ansi" else "false")
        data = spark.read.parquet(os.path.join(out, "in", table))
        results = {}

        def run(expressions):
            frame = data.selectExpr(*[f"{e} as c{n}" for n, e in enumerate(expressions)])
            if only:
                # Python has no times after the year 9999.
                frame = frame.selectExpr(*[NUMBER_OF.get(field.dataType.typeName(), "{}").format(field.name) for field in frame.schema])
            collected = frame.collect()
            for n, expression in enumerate(expressions):
                results[expression] = [text(row[n]) for row in collected]

        bad = spark.read.parquet(os.path.join(out, "in", "bad"))
        for name, expressions in (groups() | {"bad": BAD}).items():
            if name not in only if only else name in [*FUNCTIONS, *MATHS, *TEXTS_AND_TIMES, "windows"]:
                continue
            if name == "bad":
                data = bad
            spark.conf.set("spark.sql.session.timeZone", zone_of(name))
            allowed = []
            for expression in expressions:
                try:
                    data.selectExpr(expression)
                    allowed.append(expression)
                except Exception:
                    results[expression] = "refused"
            try:
                run(allowed)
            except Exception:
                for expression in allowed:
                    try:
                        run([expression])
                    except Exception as error:
                        results[expression] = f"error {error_class(error)}"
        if "frames" in only:
            spark.conf.set("spark.sql.session.timeZone", "UTC")
            results |= frames(spark, out, spark.read.parquet(os.path.join(out, "in", table)), mode)
        with open(os.path.join(out, f"{mode}.json"), "w") as file:
            json.dump(results, file, sort_keys=True)
        answers[mode] = {expression: digests(values) for expression, values in results.items()}
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": answers, "metrics": {}, "errors": {}}, file, sort_keys=True)
    spark.stop()


def error_class(error):
    """Such as DIVIDE_BY_ZERO."""
    found = re.search(r"\[([A-Z_.]+)\]", str(error))
    return found[1] if found else type(error).__name__


if __name__ == "__main__":
    main()
