"""Variants: made of JSON and of values, read at paths as every type, shown, exploded, shuffled, and read from Parquet files.

usage: spark-submit sql_variants.py RESULT [all]"""

import datetime
import decimal
import hashlib
import json
import math
import os
import re
import sys

from pyspark.sql import SparkSession
from pyspark.sql.types import VariantVal

# Texts that are JSON for Jackson, or are not.
TEXTS = [
    "null", "true", "false", "0", "-0", "1", "127", "128", "-128", "-129", "32767", "32768", "2147483647", "-2147483649", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "99999999999999999999999999999999999999", 
    "-99999999999999999999999999999999999999", "123456789.123456789", "0.0", "-0.0", "0.10", "1.50", "100.00", "1e5", "1E5", "-1.5E+3", "1e400", "-1e400", "1e-400", "0.00000000000000000000000000000000000001",
    "1.0000000000000000000000000000000000000", "1.00000000000000000000000000000000000000", "12345678901234567890.123456789012345678", "0.123456789", "0.1234567890", "999999999", "9999999999.9", "3.14159", "1.7976931348623157e308",
    '""', '"a"', '"true"', '"12"', '" 12 "', '"1.5"', '"1e3"', '"2024-02-29"', '"2024-02-30"', '"2024-03-10 02:30:00"', '"2024-03-10T12:34:56.789Z"', '"1970-01-01 00:00:00"', '"NaN"', '"Infinity"', '"null"', '"y"', '"\\u0041\\n\\t\\"\\\\\\/\\b\\f\\r"', '"\\ud83d\\ude00"', '"\\uD83D"', '"\\ude00"', '"\\ud83d\\ud83d\\ude00"', '"\\ud83dx"', '"ÄÖ ß İ 𝄞"',
    '"' + "a" * 63 + '"', '"' + "a" * 64 + '"', '"' + "ä" * 32 + '"', '"' + "b" * 300 + '"', '"\u2028\u007f"', '"\\u0000"', '"a\tb"', '"a\\xb"', '"a\\u12g4"', '"abc', '"abc\\', "'a'",
    "[]", "{}", "[1]", "[1,2,3]", "[null]", "[[]]", "[[],{},null,\"\"]", "[1, 2.5, \"x\", null, true, {\"a\": 1}, [2]]", "[1,]", "[,1]", "[1 2]", "[1", "]", "[1}", '{"a":1}', '{"a": 1, "b": 2}', '{"b": 1, "a": 2}', '{"a":{"b":{"c":[1,{"d":"x"}]}}}', '{"a":1,"a":2}', '{"a":1,"b":2,"a":3}', '{"b":[1,2,3],"a":{"x":1,"x":2},"b":"last"}', '{"":1}', '{"":{"":""}}', '{"a.b":1,"a":{"b":2}}',
    '{"ä":1,"z":2,"Z":3,"𝄞":4,"\uffee":5}', '{"a":1,}', '{,"a":1}', '{"a"}', '{"a":}', '{a:1}', "{'a':1}", '{"a":1 "b":2}', '{"a" : 1\n,\t"b"\r:2 }', '{"a":null}', '{"a":[]}', '{"a":[10,20,30]}', '{"a":"2024-01-31"}', '{"a":"12"}', '{"a":1.25}', '{"a":true}', '{"a":"x","b":[{"a":1},{"a":"2"},{"c":3}]}', '{"k1":1,"k 2":2,"1k":3,"k`":4,"_k":5}',
    "", " ", "\n1", " 1 ", "1 2", "1,2", "1a", "01", "-01", "00", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "-a", "NaN", "Infinity", "-Infinity", "nul", "nulll", "null1", "null_", "null$", "null ", "null,", "null:", "true]", "true}", 'true"a"', "tru", "True", "TRUE", "truefalse", "[true1]", '{"a":nulls}', "/* c */ 1", "1 // c", "# c", "\u00a01", "\ufeff1", "\u00001", "\u000b1", '{"a":1} garbage', "[1]]", '"a" "b"', "undefined",
    "[" * 100 + "]" * 100, '{"a":' * 60 + "1" + "}" * 60, "[" * 100, "1" * 500, "0." + "1" * 400, "-" + "9" * 38, "[" + ",".join(str(n) for n in range(300)) + "]", "{" + ",".join(f'"k{n}":{n}' for n in range(40)) + "}", "{" + ",".join(f'"k{n % 20}":{n}' for n in range(300)) + "}", "{" + ",".join(f'"key{n:05}":"{n}"' for n in range(300)) + "}", "[" + ",".join(['"' + "x" * 200 + '"'] * 400) + "]",
    '{"a":1577836800}', "1577836800", "1577836800.5", "1e9", "-62135596800", "253402300800", "9223372036855", "1577836800.1234567", "[1.5, 2]", "[1, 2.50, 3e2]", "[true, null]", '[{"a":1},{"a":1.5,"b":2}]', '[1, "a"]', "[[1],[2.5]]", "[0.1, 12345678901234567890]", "[12345678901234567890123456789012345678, 0.1]",
]  # fmt: skip
# Texts that only Jackson can judge: they are bailed out of.
ODD = ["1" * 1001, "nullä", "[" * 600 + "]" * 600, '{"\\ud83d":1}', '{"' + "k" * 45_000 + '":1}', "[" * 1100 + "]" * 1100]
# Numbers that Javas write differently: as texts they are bailed out of.
UNSURE = [
    "100000000000000000000000000000000000000", "170141183460469231731687303715884105728", "1e-5", "4.9e-324", "2.2250738585072012e-308", "0.000000000000000000000000000000000000001", "12345678901234567890.1234567890123456789", '{"a":1e300}', "1e300", "2e23", "-5e-324", "1.1125369292536007e-308", "9007199254740993.0", "179769313486231580000" + "0" * 280 + ".0",
]  # fmt: skip
PATHS = ["$", "$.a", "$.b", "$['a']", '$["a"]', "$[0]", "$[1]", "$.a.b", "$.a[1]", "$.a.b.c[1].d", "$['']", "$['a.b']", "$.b[0].a", "$.k39", "$.key00123", "$[299]", "$.k5"]
TYPES = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(20,4)", "decimal(38,0)", "decimal(38,18)", "string", "binary", "date", "timestamp", "timestamp_ntz", "variant", "array<int>", "array<string>", "array<variant>", "array<array<double>>", "map<string,string>", "map<string,variant>",
    "map<string,int>", "struct<a:int>", "struct<a:string,b:variant>", "struct<b:array<struct<a:int>>,zz:string>", "array<struct<a:double>>",
]  # fmt: skip
ZONES = ["UTC", "America/New_York", "Asia/Kathmandu"]
LONG = 2**63 - 1


def columns():
    """Values that become variants."""
    day, moment = datetime.date, datetime.datetime
    return [
        (0, True, 1, 1, 1, 1, 1.5, 1.5, decimal.Decimal("1.50"), decimal.Decimal("123456789012345678.12"), "x", b"\x00\xff", day(2024, 2, 29), moment(2024, 7, 1, 12, 30, 45, 123456), moment(2024, 7, 1, 12, 30, 45, 120000), [1, None, 3], {"k": 1, "a": None}, ("t", [(1, "x"), None])),
        (1, False, -128, -32768, -(2**31), -LONG - 1, -0.0, math.nan, decimal.Decimal("-0.01"), decimal.Decimal("-9999999999999999.99"), "", b"", day(1, 1, 1), moment(1900, 1, 1), moment(1883, 11, 18, 12, 0), [], {}, (None, [])),
        (2, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None, None),
        (3, True, 127, 32767, 2**31 - 1, LONG, math.inf, -math.inf, decimal.Decimal("999.99"), decimal.Decimal("0.00"), "ä𝄞\n\"", b"x" * 300, day(9999, 12, 31), moment(9999, 1, 1, 0, 0, 0, 1), moment(1970, 1, 1), list(range(300)), {"ä": 1, "z": 2, "Z": 3}, ("x" * 70, None)),
        (4, False, 0, 0, 0, 0, math.nan, 0.1, decimal.Decimal("0.10"), decimal.Decimal("100.00"), "2024-02-29", b"abc", day(1969, 12, 31), moment(2024, 3, 10, 7, 0), moment(2024, 3, 10, 2, 30), [None], {"": 0}, ("", [(None, None)])),
    ]  # fmt: skip


SCHEMA = "id int, b boolean, y tinyint, h smallint, i int, l bigint, f float, x double, d5 decimal(5,2), d20 decimal(20,2), s string, bin binary, dt date, ts timestamp, ntz timestamp_ntz, a array<int>, m map<string,int>, st struct<n:string,v:array<struct<i:int,s:string>>>"
SCALARS = ["b", "y", "h", "i", "l", "f", "x", "d5", "d20", "s", "bin", "dt", "ts", "ntz"]
NESTED = ["a", "m", "st", "array(st)", "struct(id, ts, ntz, dt, f, x, d20)", "array(x)", "map('v', parse_json('{\"q\":[1,{\"r\":2}]}'))", "struct(cast(i as variant) as v, s)"]


def exact(value):
    """A value such that equal ones are equal to the last bit."""
    if isinstance(value, VariantVal):
        return ["variant", bytes(value.value).hex(), bytes(value.metadata).hex()]
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    if isinstance(value, (bytes, bytearray)):
        return "x" + bytes(value).hex()
    if isinstance(value, (tuple, list)):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return [[exact(key), exact(of)] for key, of in value.items()]
    return None if value is None else str(value)


class Asked:
    """Answers by what was asked. Few rows come as they are, of many there are digests."""

    def __init__(self, out):
        self.answers, self.out = {}, out

    def ask(self, name, frame):
        try:
            found = [exact(row) for row in frame().collect()]
        except Exception as error:
            self.answers[name] = f"error {error_class(error)}"
            return
        with open(os.path.join(self.out, "answers.txt"), "a") as file:
            file.write("".join(f"{name}\t{json.dumps(row)}\n" for row in found))
        at = range(0, len(found), 50)
        self.answers[name] = [hashlib.md5(json.dumps(found[n : n + 50]).encode()).hexdigest()[:12] for n in at]


def error_class(error):
    """Such as DIVIDE_BY_ZERO."""
    found = re.search(r"\[([A-Z_.]+)\]", str(error))
    return found[1] if found else type(error).__name__


def instant(of, column):
    """Times as numbers: Python has none beyond the year 9999, and its own zone."""
    return {"timestamp": f"unix_micros({column})", "timestamp_ntz": f"cast({column} as string)", "date": f"cast({column} as string)"}.get(of, column)


def made(asked, spark, texts):
    """Variants of texts."""
    for repeated in ["true", "false"]:
        spark.conf.set("spark.sql.variant.allowDuplicateKeys", repeated)
        for unicode in ["true", "false"]:
            spark.conf.set("spark.sql.variant.validateUnicodeInJsonParsing", unicode)
            asked.ask(f"try_parse_json {repeated} {unicode}", lambda: texts.selectExpr("id", "try_parse_json(j) v"))
    spark.conf.set("spark.sql.variant.validateUnicodeInJsonParsing", "true")
    good = texts.where("try_parse_json(j) is not null")
    asked.ask("parse_json", lambda: good.selectExpr("id", "parse_json(j) v", "is_variant_null(parse_json(j)) n", "schema_of_variant(parse_json(j)) s"))
    asked.ask("of nulls", lambda: texts.selectExpr("id", "is_variant_null(try_parse_json(j)) n", "try_parse_json(j) is null", "coalesce(try_parse_json(j), parse_json('[0]')) c"))


def read(asked, spark, variants, all_of):
    """What variants have at paths, as all types."""
    for zone in ZONES if all_of else ZONES[1:2]:
        spark.conf.set("spark.sql.session.timeZone", zone)
        for path in PATHS:
            few = TYPES if all_of or path in ("$", "$.a") else ["int", "string", "variant", "double"]
            quoted = path.replace("'", "\\'")
            chosen = [instant(of, f"try_variant_get(v, '{quoted}', '{of}')") + f" c{n}" for n, of in enumerate(few)]
            asked.ask(f"{zone} {path}", lambda: variants.selectExpr("id", *chosen))
        casts = [instant(of, f"try_cast(v as {of})") + f" c{n}" for n, of in enumerate(TYPES)]
        asked.ask(f"{zone} try_cast", lambda: variants.selectExpr("id", *casts))
        asked.ask(f"{zone} to_json", lambda: variants.selectExpr("id", "to_json(v) a", "to_json(struct(v, id)) b", "to_json(array(v)) c", "cast(v as string) d", "cast(struct(v) as string) e", "schema_of_variant(v) f"))
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    numbers = variants.where("schema_of_variant(v) = 'BIGINT'")
    asked.ask("variant_get", lambda: numbers.selectExpr("id", "variant_get(v, '$', 'bigint') a", "variant_get(v, '$', 'string') b", "variant_get(v, '$.x', 'int') c", "cast(v as decimal(38,2)) d"))
    for of in ["int", "boolean", "struct<a:int>", "array<int>"]:
        asked.ask(f"fails as {of}", lambda: variants.selectExpr(f"variant_get(v, '$', '{of}')"))


def passed_on(asked, spark, variants):
    """Variants in rows that are shuffled, joined, grouped by others, collected and exploded."""
    asked.ask("shuffled", lambda: variants.selectExpr("id", "v", "array(v, null) a", "map('k', v) m", "named_struct('v', v, 'i', id) s").repartition(3, "id").orderBy("id"))
    asked.ask("joined", lambda: variants.alias("a").join(variants.selectExpr("id + 1 id", "v w"), "id").orderBy("id"))
    asked.ask("grouped", lambda: variants.groupBy("id").agg({"v": "first"}).orderBy("id"))
    asked.ask("counted", lambda: variants.selectExpr("count(v)", "count(*)", "count(try_variant_get(v, '$.a', 'int'))"))
    asked.ask("lists", lambda: variants.groupBy("id").agg({"v": "collect_list"}).orderBy("id"))
    asked.ask("cases", lambda: variants.selectExpr("id", "if(id % 2 = 0, v, null) a", "case when id % 3 = 0 then v when id % 3 = 1 then parse_json('1') end b", "named_struct('x', v).x c", "array(v)[0] d", "map('a', v)['a'] e", "size(array(v)) f"))
    for outer in ["", "_outer"]:
        asked.ask(f"exploded{outer}", lambda: variants.selectExpr("id", "v").createOrReplaceTempView("t") or spark.sql(f"select id, e.* from t, lateral variant_explode{outer}(v) e"))
    asked.ask("limited", lambda: variants.orderBy("id").limit(20))
    asked.ask("united", lambda: variants.union(variants.selectExpr("-id - 1", "v")).orderBy("id"))
    asked.ask("alike names", lambda: spark.sql("select id, schema_of_variant(parse_json(if(id = 0, '[{\"b\":1},{\"B\":2}]', '1'))) from range(2)"))
    try:
        shown = variants.orderBy("id").limit(30)._jdf.showString(30, 0, False)
    except Exception as error:
        shown = f"error {error_class(error)}"
    asked.answers["shown"] = shown


def cast(asked, spark, values, all_of):
    """Variants of values, and what comes of them again."""
    asked.ask("cast to variant", lambda: values.selectExpr("id", *[f"cast({of} as variant) c{n}" for n, of in enumerate([*SCALARS, "a", "array(x)", "array(ts)"])]))
    asked.ask("to_variant_object", lambda: values.selectExpr("id", *[f"to_variant_object({of}) c{n}" for n, of in enumerate(NESTED)]))
    for zone in ZONES if all_of else ZONES[1:2]:
        spark.conf.set("spark.sql.session.timeZone", zone)
        for column in SCALARS:
            # Exact or through a double, by the version.
            types = [of for of in TYPES[:17] if column != "ts" or "decimal" not in of]
            back = [instant(of, f"try_cast(cast({column} as variant) as {of})") + f" c{n}" for n, of in enumerate(types)]
            asked.ask(f"{zone} {column} as variant and back", lambda: values.selectExpr("id", *back))
        asked.ask(f"{zone} texts of values", lambda: values.selectExpr("id", *[f"to_json(cast({of} as variant)) c{n}" for n, of in enumerate(SCALARS) if of not in ("f", "x")]))
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    asked.ask("schemas of values", lambda: values.selectExpr("id", *[f"schema_of_variant(to_variant_object(array({of}))) c{n}" for n, of in enumerate(SCALARS)], "schema_of_variant(to_variant_object(st))"))
    asked.ask("casts of parts", lambda: values.selectExpr("id", "cast(a as array<variant>) a", "cast(st as struct<n:variant,v:array<struct<i:variant,s:string>>>) b", "cast(map('k', i) as map<string,variant>) c"))


def main():
    result, all_of = sys.argv[1], sys.argv[2:] == ["all"]
    out = os.path.dirname(result)
    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    asked = Asked(out)
    at = {name: os.path.join(out, name) for name in ["texts", "values", "variants", "shredded", "nested", "odd", "unsure"]}
    spark.createDataFrame(list(enumerate([*TEXTS, None])), "id int, j string").coalesce(1).write.parquet(at["texts"])
    spark.createDataFrame(list(enumerate([*ODD, "1"])), "id int, j string").coalesce(1).write.parquet(at["odd"])
    spark.createDataFrame(list(enumerate(UNSURE)), "id int, j string").coalesce(1).write.parquet(at["unsure"])
    spark.createDataFrame(columns(), SCHEMA).coalesce(1).write.parquet(at["values"])
    texts, values = spark.read.parquet(at["texts"]), spark.read.parquet(at["values"])
    spark.conf.set("spark.sql.variant.allowDuplicateKeys", "true")
    # Files have whole variants, or their parts in columns of their own.
    spark.conf.set("spark.sql.variant.writeShredding.enabled", "false")
    texts.selectExpr("id", "try_parse_json(j) v").coalesce(1).write.parquet(at["variants"])
    texts.where("id < 100").selectExpr("id", "struct(try_parse_json(j) v, id) s", "array(try_parse_json(j)) a", "map('k', try_parse_json(j)) m").coalesce(1).write.parquet(at["nested"])
    spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
    spark.conf.set("spark.sql.variant.inferShreddingSchema", "false")
    spark.conf.set("spark.sql.variant.forceShreddingSchemaForTest", "a bigint, b string")
    texts.where("id > 90").selectExpr("id", "try_parse_json(j) v").coalesce(1).write.parquet(at["shredded"])
    spark.conf.unset("spark.sql.variant.forceShreddingSchemaForTest")
    variants = spark.read.parquet(at["variants"])
    for ansi in ["true", "false"] if all_of else ["true"]:
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        answers, asked.answers = asked.answers, {}
        made(asked, spark, texts)
        spark.conf.set("spark.sql.variant.allowDuplicateKeys", "true")
        for pushed in ["true", "false"]:
            spark.conf.set("spark.sql.variant.pushVariantIntoScan", pushed)
            own, asked.answers = asked.answers, {}
            read(asked, spark, variants, all_of)
            asked.ask("nested", lambda: spark.read.parquet(at["nested"]).selectExpr("id", "s", "a", "m", "try_variant_get(s.v, '$.a', 'int') x").orderBy("id"))
            asked.ask("filtered", lambda: variants.where("try_variant_get(v, '$.a', 'int') > 0 and v is not null").selectExpr("id", "v"))
            asked.ask("shredded", lambda: spark.read.parquet(at["shredded"]).selectExpr("id", "v", "try_variant_get(v, '$.a', 'int') a").orderBy("id"))
            asked.answers = own | {f"pushed {pushed} {name}": answer for name, answer in asked.answers.items()}
        passed_on(asked, spark, variants)
        cast(asked, spark, values, all_of)
        unsure = spark.read.parquet(at["unsure"]).selectExpr("id", "parse_json(j) v")
        asked.ask("unsure numbers", lambda: unsure.selectExpr("id", "v", *[f"try_cast(v as {of}) c{n}" for n, of in enumerate(["double", "float", "int", "bigint", "boolean", "decimal(38,0)", "variant"])]))
        asked.ask("unsure texts", lambda: unsure.selectExpr("id", "cast(v as string)"))
        asked.ask("odd texts", lambda: spark.read.parquet(at["odd"]).selectExpr("id", "try_parse_json(j) v"))
        asked.answers = answers | {f"ansi {ansi} {name}": answer for name, answer in asked.answers.items()}
    with open(result, "w") as file:
        json.dump({"version": spark.version, "answers": asked.answers, "metrics": {}, "errors": {}}, file, sort_keys=True)
    spark.stop()


if __name__ == "__main__":
    main()
