"""Files of CSV and JSON: values of every type, lines as strangers write them, options, parts of files, conditions, and what malformed records are.

usage: spark-submit sql_records.py RESULT DIRECTORY"""

import gzip
import json
import os
import random
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support import Themes, digest, mask, rows

# What is written for values, of each type by which it is read. Every text has a file, and so a task, of its own.
NUMBERS = ["0", "1", "-1", "+7", "007", "127", "128", "-128", "-129", "255", "32767", "32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.0", "1.", ".5", "-0", "-0.0", "1e3", "1E-3", "1e400", "0x1F", "1,234", "1_000", " 1", "1 ", "--1", "-", "+", "1L", "1f", "1.5d", "NaN", "nan", "Inf", "-Inf", "Infinity", "-Infinity", "+Infinity", "inf", "123456789012345678901234567890", "0.1234567890123456789", "1.005", "99999.995", "٣", "abc", "null", "NULL", "true", "0.1", "3.4028236e38", "4.9e-324", "16777217", "9007199254740993"]
TIMES = ["2020-01-02", "2020-1-2", "2020-01", "2020", "20200102", "1582-10-10", "1900-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "-0001-01-01", "2020-02-30", "2020-13-01", "2020-01-02T03:04:05", "2020-01-02 03:04:05", "2020-01-02 03:04:05.123456789", "2020-01-02 03:04:05.1", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.123+05:30", "2020-01-02 03:04:05 Europe/Berlin", "2020-01-02 03:04", "2020-01-02 3:4:5", "2020-03-29 02:30:00", "2020-10-25 02:30:00", "1883-11-18 12:00:00", "02/01/2020", "GMT2020-01-02", "2020-01-02GMT", "now", "epoch", "abc", "n/a", " 2020-01-02 ", "18264", "1577934245", "03:04:05", "T03:04:05", "0000-00-00"]
TEXTS = ["", "a", " a ", "äöü€\U0001f600", "null", "NA", "E", '""', "x" * 300, "\\", "'", "é\u0301"]
CSV_TYPES = {
    "boolean": ["true", "false", "TRUE", "False", "t", "1", "0", "yes", "", " true", "falſe", "NaN"],
    "tinyint": NUMBERS, "smallint": NUMBERS, "int": NUMBERS, "bigint": NUMBERS, "float": NUMBERS, "double": NUMBERS, "decimal(10,2)": NUMBERS, "decimal(38,10)": NUMBERS,
    "date": TIMES, "timestamp": TIMES, "timestamp_ntz": TIMES, "string": TEXTS + NUMBERS[:3],
}
TOKENS = ["null", "true", "false", "0", "1", "-1", "-0", "127", "128", "200", "255", "256", "-129", "32768", "2147483648", "9223372036854775807", "9223372036854775808", "123456789012345678901234567890", "1.0", "1.5", "-0.0", "1e3", "1E-2", "1e400", "0.1", "1.005", "99999999.995", "3.4028236e38", "16777217", "01", "+1", ".5", "1.", "NaN", "Infinity", '""', '"a"', '"1"', '"1.5"', '"true"', '"NaN"', '"+INF"', '"-Infinity"', '"INF"', '" 1"', '"1,234.5"', '"\\u00e9\\n\\"\\\\\\/"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\x"', "'a'", "a", "[]", "[1,2]", '["a",null]', '[[1],[],null]', "{}", '{"a":1}', '{"a":1,"b":"x"}', '{"a":null}', '{"b":"x","a":2,"c":[1]}', '{"a":"x"}', '{"a":1,"a":2}', '[{"a":1},{"b":"y"}]', '{"k":{"a":3}}', "[1,]", '{"a":1,}', '"a\tb"']
JSON_TYPES = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,10)", "string", "array<int>", "array<array<int>>", "array<string>", "map<string,int>", "map<string,struct<a:int>>", "struct<a:int,b:string>", "array<struct<a:int,b:string>>"]
JSON_TIMES = ["date", "timestamp", "timestamp_ntz"]

# Lines whose values are odd, of three columns.
LINES = [
    "a,b,c", "a,b", "a,b,c,d", "a", ",,", ",", "a,,c", '"a","b","c"', '"a,x",b,c', '"a""x",b,c', '"a\\"x",b,c', '"a\\\\",b,c', '"a\\\\x",b,c', '"a\\x",b,c', '"","",""', 'a"b,c"d,e"', '"a" ,b,c', ' "a",b,c', '"a"x,b,c', '"a,b,c', 'a,"b', 'a,b,"c"', 'a,b,""', '"",b,c', '"""a""",b,c', '"a""",b,c', '"""",b,c',
    " a , b , c ", "\ta\t,b,c", "   ", "#a,b,c", "a,#b,c", "a|b|c", "a;b;c", "a\tb\tc", "é,ü,\U0001f600", "a,NA,E", "NA,NA,NA", "'a,b',c,d", '"a\'b",c,d', "\\a,\\b,\\,", '\\"a,b\\",c', '"",x,","', '"",x,"","y"', '"x""",","', ",,,", "a,b,c,", '"a","b",', "x" * 400 + ",b,c",
]
OBJECTS = [
    '{"a":"x","b":1,"c":[1]}', '{"a":"x"}', "{}", "", "   ", "[]", '[{"a":"x"},{"a":"y"}]', "null", "1", '"x"', '{"a":"x"} ', '{"a":"x"} {"a":"y"}', '{"a":"x"}x', '{"a":"x"', '{"a":"x",}', "{'a':'x'}", '{a:"x"}', '{"A":"x","a":"y"}', '{"a":"x","a":"y"}', '{"b":"x","a":"y"}', '{"b":"x","b":3}', '{"d":{"e":[1,{"f":null}]},"a":"z"}', '{"a":1.5,"b":1.5}', '{"a":{"x": 1.50},"b":2}', '{"a":[1, 2],"b":2}', '{"a":true,"b":true}', '{"a":null,"b":null,"c":null}', '\ufeff{"a":"x"}', '{"a":"\\u0000"}', '{"":"x","a":"y"}', '{"a.b":"x"}', '{"c":["x"],"b":7}', '{"c":[1,"x",2],"b":7}', '/*c*/{"a":"x"}', '{"a":"' + "y" * 400 + '"}',
]
# No objects: one that ends everywhere, and others.
WHOLE = '{"a":"x\\u00e4\u20ac","b":12,"c":[1,{"z":null}],"d":{"e":[true,-1.5e3],"f":{"g":"h","i":1,"j":{}}},"m":{"k":{"l":2},"n":"o"}}'
BROKEN = [WHOLE[:end] for end in range(1, len(WHOLE))] + ["hello", "hello {}", "x", "12 {", "-", "-x", '"{"', '"', "true", "tru", "nul", "None", "NaN", "Infinity", "-Infinity", "9" * 1200, "\u0000{", "{\u0000", "a\u0000b", "{'a':'x'", "{a:1", "{//", "/", '{"a":"\t', '{"a":01', '{"a":"\\x', "\ufeff{", "\u00e9", "{" * 50, '{"a":' * 300, "["]


def directory(name, texts, extension):
    """A file for each text, by its number. Gives the directory."""
    path = f"{sys.argv[2]}/{name}"
    os.makedirs(path)
    for number, text in enumerate(texts):
        with open(f"{path}/{number:04}.{extension}", "w", newline="") as out:
            out.write(text)
    return path


def answer(frame):
    """Rows in an order of their own, or what was thrown."""
    try:
        return sorted(rows(frame), key=repr)
    except Exception as error:
        # What task came first is chance.
        return [type(error).__name__, sorted(set(condition(error)))]


def condition(error):
    found = [getattr(error, "getCondition", getattr(error, "getErrorClass", lambda: None))() or ""]
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None:
        found.append(cause.getClass().getName())
        cause = cause.getCause()
    return [mask(part) for part in found]


def reader(run, schema, **options):
    found = run.spark.read.schema(schema)
    for name, value in options.items():
        found = found.option(name, value)
    return found


def csv_values(run):
    """Each text as each type, beside its number."""
    found = {}
    for of, texts in CSV_TYPES.items():
        lines = [f'"{text}",{number}\n' if "," in text else f"{text},{number}\n" for number, text in enumerate(texts)]
        path = directory(f"values-{of}", lines, "csv")
        found[of] = answer(reader(run, f"v {of}, n int").csv(path))
        if of in ["double", "string"]:
            found[f"{of}, other nulls"] = answer(reader(run, f"v {of}, n int", nullValue="NA", emptyValue="E", nanValue="nan", positiveInf="+Infinity").csv(path).select("v", "n"))
        if of in ["int", "date"]:
            found[f"{of}, dropped"] = answer(reader(run, f"v {of}, n int", mode="DROPMALFORMED").csv(path).select("n"))
        found[f"{of}, told"] = answer(reader(run, f"v {of}, n int, _corrupt_record string").csv(path))
    for of, formats in [("date", ["yyyy-MM-dd", "dd/MM/yyyy", "yyyyMMdd"]), ("timestamp", ["yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ssXXX"]), ("timestamp_ntz", ["yyyy-MM-dd HH:mm"])]:
        for form in formats:
            options = {"dateFormat": form, "timestampFormat": form, "timestampNTZFormat": form}
            found[f"{of} as {form}"] = answer(reader(run, f"v {of}, n int", **options).csv(f"{sys.argv[2]}/values-{of}"))
    for zone in ["America/New_York", "+05:30", "Asia/Kathmandu", "UTC"]:
        found[f"timestamp in {zone}"] = answer(reader(run, "v timestamp, n int", timeZone=zone).csv(f"{sys.argv[2]}/values-timestamp"))
    return found


def random_lines(seed, count):
    chance = random.Random(seed)
    return ["".join(chance.choice('aab,,"" \\\t;#é') for _ in range(chance.randrange(1, 14))) + "\n" for _ in range(count)]


CSV_OPTIONS = {
    "plain": {},
    "escaped by quotes": {"escape": '"'},
    "trimmed": {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True},
    "trimmed at the left": {"ignoreLeadingWhiteSpace": True, "escape": '"'},
    "comments": {"comment": "#"},
    "tabs": {"sep": "\t"},
    "semicolons and other quotes": {"sep": ";", "quote": "'"},
    "no quotes": {"quote": ""},
    "no escapes": {"escape": ""},
    "other nulls": {"nullValue": "NA", "emptyValue": "E"},
    "not pruned": {"columnPruning": False},
    "two characters": {"sep": "||"},
    "short": {"maxCharsPerColumn": 100},
}


def csv_lines(run):
    """Odd lines with options, whole and by some columns."""
    found = {}
    path = directory("lines", [f"{line}\n" for line in LINES] + random_lines(7, 60), "csv")
    for name, options in CSV_OPTIONS.items():
        frame = reader(run, "a string, b string, c string", **options).csv(path)
        found[name] = answer(frame)
        found[f"{name}, one"] = answer(frame.select("b"))
        if "escape" not in options:
            continue
        found[f"{name}, two"] = answer(frame.select("c", "a"))
        found[f"{name}, counted"] = frame.count()
    frame = reader(run, "a string, b string, c string", mode="DROPMALFORMED").csv(path)
    found["dropped"] = answer(frame)
    found["dropped, one"] = answer(frame.select("b"))
    found["told"] = answer(reader(run, "a string, _corrupt_record string, b string, c string").csv(path))
    found["told under another name"] = answer(reader(run, "a string, b int, c string, bad string", columnNameOfCorruptRecord="bad").csv(path).where("bad IS NOT NULL"))
    return found


def json_values(run):
    """Each value as each type, beside its number."""
    found = {}
    path = directory("tokens", [f'{{"v":{token},"n":{number}}}\n' for number, token in enumerate(TOKENS)], "json")
    times = directory("times", [f'{{"n":{number},"v":{json.dumps(text)}}}\n' for number, text in enumerate(TIMES)] + ['{"v":1577934245,"n":-1}\n', '{"v":1.5,"n":-2}\n'], "json")
    for of in JSON_TYPES + JSON_TIMES:
        where = times if of in JSON_TIMES else path
        frame = reader(run, f"v {of}, n int").json(where)
        found[of] = answer(frame)
        found[f"{of}, told"] = answer(reader(run, f"v {of}, n int, _corrupt_record string").json(where))
    for of, form in [("date", "dd/MM/yyyy"), ("timestamp", "yyyy-MM-dd HH:mm:ss"), ("timestamp", "yyyy-MM-dd'T'HH:mm:ss")]:
        found[f"{of} as {form}"] = answer(reader(run, f"v {of}, n int", dateFormat=form, timestampFormat=form).json(times))
    found["strict numbers"] = answer(reader(run, "v double, n int", allowNonNumericNumbers=False).json(path))
    found["lenient"] = answer(reader(run, "v double, n int", allowNumericLeadingZeros=True, allowUnquotedFieldNames=True).json(path))
    return found


def json_lines(run):
    """Odd objects, whole and by some columns."""
    found = {}
    path = directory("objects", [f"{text}\n" for text in OBJECTS], "json")
    frame = reader(run, "a string, b int, c array<int>").json(path)
    found["whole"] = answer(frame)
    found["one"] = answer(frame.select("b"))
    found["counted"] = frame.count()
    found["dropped"] = answer(reader(run, "a string, b int, c array<int>", mode="DROPMALFORMED").json(path))
    found["told"] = answer(reader(run, "_corrupt_record string, a string, b int").json(path))
    broken = directory("broken", [f"{text}\n" for text in BROKEN], "json")
    for schema in ["a string, b int, c array<int>, d struct<e:array<string>,f:struct<g:string,i:int>>, m map<string,struct<l:int>>", "_corrupt_record string, b int", "d string"]:
        found[f"broken, {schema}"] = answer(reader(run, schema).json(broken))
    found["broken and dropped"] = answer(reader(run, "a string, b int", mode="DROPMALFORMED").json(broken))
    found["broken, with a condition"] = answer(reader(run, "a string, b int").json(broken).where("b = 12 OR b IS NULL"))
    found["broken, with another"] = answer(reader(run, "a string, b int").json(broken).where("b > 12"))
    frame = run.spark.read.text(broken)
    for schema in ["a string, b int, _corrupt_record string", "d struct<e:array<string>,f:struct<g:string,i:int>>, m map<string,struct<l:int>>, a string", "c array<int>", "map<string,string>"]:
        found[f"broken texts, {schema}"] = answer(frame.select("value", F.from_json("value", schema)))
    found["names in another case"] = answer(reader(run, "A string, d struct<e:array<string>>").json(path))
    found["no utf-8"] = answer(reader(run, "a string", encoding="ISO-8859-1", lineSep="\n").json(path))
    found["utf-8"] = answer(reader(run, "a string", encoding="UTF-8").json(path))
    return found


def document(chance, depth=0):
    kind = chance.randrange(10 if depth < 4 else 6)
    if kind > 7:
        return [document(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind > 5:
        return {chance.choice(["a", "b", "c d", "e.f", "é"]): document(chance, depth + 1) for _ in range(chance.randrange(4))}
    return [None, True, False, chance.randrange(-5, 1000), chance.choice([1.5, 100.0, 1e10, 1e-7, 0.1, -2.25e-300]), chance.choice(["", "x", 'q"\\/', "\n\t\u0001", "äöü€", "\U0001f600", "1"])][kind]


PATHS = ["$", "$.a", "$.b", "$.a.b", "$.a[0]", "$.a[1].b", "$[0]", "$[1].a", "$['c d']", "$['e.f'].a", "$.é", "$.a[*]", "$.*", "$..a", "$.a.", "a", "", "$[0][1]", "$ .a", "$.a['b']", "$[99999999999]"]
SCHEMAS = ["a string, b int", "a int, b struct<a:double,b:string>", "a array<string>, b map<string,bigint>", "a date, b timestamp", "array<int>", "map<string,string>", "array<struct<a:int,b:string>>", "a string, _corrupt_record string", "a decimal(5,1), b boolean", "n int, v string"]


def functions(run):
    """`from_json` and `get_json_object` of texts, each in a task of its own."""
    found = {}
    chance = random.Random(11)
    texts = OBJECTS + [f'{{"v":{token},"n":{number},"a":{token}}}' for number, token in enumerate(TOKENS)]
    texts += [json.dumps(document(chance), ensure_ascii=chance.random() < 0.3, separators=chance.choice([(",", ":"), (", ", ": ")])) for _ in range(60)]
    path = directory("texts", [f"{text}\n" for text in texts], "txt")
    frame = run.spark.read.text(path).where("value <> ''")
    for schema in SCHEMAS:
        found[schema] = answer(frame.select("value", F.from_json("value", schema)))
    found["options"] = answer(frame.select("value", F.from_json("value", "a date, v double", {"mode": "PERMISSIVE", "dateFormat": "yyyy-MM-dd", "allowNonNumericNumbers": "false"})))
    for place in PATHS:
        found[f"at {place}"] = answer(frame.select("value", F.get_json_object("value", place)))
    found["at what texts say"] = answer(run.spark.sql("SELECT get_json_object('{\"a\":7}', concat('$.', value)), get_json_object(value, NULL) FROM VALUES ('a'), ('b') AS t(value)"))
    return found


def schema(read):
    """The columns that are found, or what was thrown."""
    try:
        return read().schema.simpleString()
    except Exception as error:
        return [type(error).__name__, sorted(set(condition(error)))]


def columns(run):
    """Which columns JSON has, for `spark.read.json` without a schema: of odd texts, each in a file and so a task of its own, and of some random ones together."""
    found, base, chance = {}, sys.argv[2], random.Random(23)
    # Else tasks list the files, each of which is asked for by its name.
    run.spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "1000")
    for name in ["objects", "broken", "tokens", "times"]:
        for options in [{}, {"primitivesAsString": True, "columnNameOfCorruptRecord": "bad"}, {"mode": "DROPMALFORMED", "dropFieldIfAllNull": True}]:
            found[f"{name}, {options}"] = schema(lambda: run.spark.read.options(**options).json(f"{base}/{name}"))
    documents = [[json.dumps(document(chance), ensure_ascii=chance.random() < 0.3) for _ in range(chance.randrange(1, 6))] for _ in range(80)]
    objects = [[json.dumps({chance.choice(["a", "A", "b", "B", "aa", "\u00e4", "\U0001f600", "\uff21"]): document(chance, 1) for _ in range(3)}, ensure_ascii=False) for _ in range(chance.randrange(1, 6))] for _ in range(80)]
    numbers = [[f'{{"n":{number}}}' for number in chance.sample(TOKENS, 3)] for _ in range(60)]
    path = directory("found", ["\n".join(texts) for texts in documents + objects + numbers], "json")
    for number in range(len(documents + objects + numbers)):
        found[f"found in {number}"] = schema(lambda: run.spark.read.json(f"{path}/{number:04}.json"))
    run.spark.conf.set("spark.sql.caseSensitive", "true")
    for number in range(80, 160, 2):
        found[f"found in {number}, letters count"] = schema(lambda: run.spark.read.json(f"{path}/{number:04}.json"))
    run.spark.conf.unset("spark.sql.caseSensitive")
    for options in [{"prefersDecimal": True}, {"inferTimestamp": True}, {"samplingRatio": 0.5}, {"encoding": "ISO-8859-1", "lineSep": "\n"}, {"encoding": "UTF-8"}, {"lineSep": ","}]:
        found[f"objects, {options}"] = schema(lambda: run.spark.read.options(**options).json(f"{base}/objects"))
    return found


# Values of which a column of CSV is one type or another.
INFERRED = ["", "1", "-7", "+3", "007", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "12345678901234567890", "99999999999999999999999999999999999999", "100000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000001", "1.", "1.0", ".5", "1.5e1", "1.50e2", "1.5e2", "1e3", "1E-2", "-0", "-0.0", "1e400", "1d", "2f", " 1", "1 ", "0x10", "0x1p3", "NaN", "nan", "Inf", "-Inf", "Infinity", "-Infinity", "+Infinity", "1,5", "1_0",
            "2020-01-02", "2020-1-2", "2020-01", "2020", "20200102", "0001-01-01", "9999-12-31", "10000-01-01", "2020-02-30", "2020-01-02 ", "2020-01-02T", "2020-01-02 03:04", "2020-01-02T03:04:05", "2020-01-02 03:04:05.123456", "2020-01-02T03:04:05Z", "2020-01-02 03:04:05+01:00",
            "2020-01-02 03:04:05 Europe/Paris", "2020-01-02 25:00", "03:04:05", "T03:04", "12:00", "02/01/2020", "Jan 2 2020", "now", "today", "epoch", "true", "FALSE", "True", "yes", "t", "fal\u017fe", "NULL", "NA", "E", "a", "é", "M\u00fcller", "\u0663", "\uff11", "\u00b2", "Ⅷ", "\U0001f600",
            "a b", "'1'", "1;2", "#1", "-", "+", ".", "e", "1e", "1e+", "--1", "1-", "1.2.3", "1\u00a0"]
INFERENCES = [{}, {"inferSchema": False}, {"header": True}, {"prefersDate": False}, {"dateFormat": "dd/MM/yyyy"}, {"dateFormat": "yyyy-MM"}, {"nullValue": "NA", "emptyValue": "E"}, {"nanValue": "a", "positiveInf": "é", "negativeInf": "-"}, {"comment": "#"},
              {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}, {"sep": ";"}, {"timeZone": "America/New_York"}, {"escape": '"', "header": True}, {"mode": "DROPMALFORMED"}, {"lineSep": ","}, {"timestampFormat": "yyyy-MM-dd HH:mm"}, {"samplingRatio": 0.5},
              {"multiLine": True}, {"encoding": "ISO-8859-1"}, {"locale": "de-DE"}, {"columnPruning": False}, {"maxColumns": 2}]


def csv_columns(run):
    """Which types columns of CSV are found to have: each value alone, many together, in several files, with options."""
    found, chance = {}, random.Random(31)
    run.spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "1000")
    quoted = [f'"{text}"' if "," in text else text for text in INFERRED]

    def line(texts):
        return ",".join(texts) + "\n"

    # Three values to a file, as many columns: one behind the other changes nothing in them.
    alone = ["".join(line(quoted[at:at + 3]) for _ in range(2)) for at in range(0, len(quoted), 3)]
    mixed = ["".join(line(chance.choice(quoted) for _ in range(chance.randrange(1, 5))) for _ in range(chance.randrange(1, 6))) for _ in range(40)]
    numbers = [text for text in quoted if set(text) <= set("0123456789.-+eE")]
    times = [text for text in quoted if text[:2] == "20"]
    like = ["".join(line(chance.choice(of) for _ in range(3)) for _ in range(4)) for of in [numbers] * 14 + [times] * 10]
    empty = ["", "\n", " \n\n", "a\n", "a,a,A\n1,2,3\n", ",\n1,\n", '""\n""\n', "#a\n1\n", "a,b\n1\n1,2,3\na,b\n2,3\n"]
    texts = alone + mixed + like + empty
    path = directory("typed", texts, "csv")
    for number in range(len(texts)):
        found[f"{number}"] = schema(lambda: run.spark.read.csv(f"{path}/{number:04}.csv", inferSchema=True))
    for options in INFERENCES:
        for number in range(len(alone), len(texts), 29):
            found[f"{number}, {options}"] = schema(lambda: run.spark.read.options(**{"inferSchema": True, **options}).csv(f"{path}/{number:04}.csv"))
        if options.keys() & {"timestampFormat", "multiLine", "encoding"}:
            continue
        some = [f"{path}/{number:04}.csv" for number in range(len(alone), len(alone) + 40, 3)]
        found[f"together, {options}"] = schema(lambda: run.spark.read.options(**{"inferSchema": True, **options}).csv(some))
    for setting, numbers in [("spark.sql.legacy.allowNegativeScaleOfDecimal", range(0, len(alone), 3)), ("spark.sql.caseSensitive", [len(texts) - 5])]:
        run.spark.conf.set(setting, "true")
        for number in numbers:
            found[f"{number}, {setting}"] = schema(lambda: run.spark.read.csv(f"{path}/{number:04}.csv", inferSchema=True, header=number >= len(alone)))
        run.spark.conf.unset(setting)
    return found


VALUES = {
    "boolean": ["true", "NULL"], "tinyint": ["1Y", "-128Y"], "bigint": ["0L", "9223372036854775807L", "NULL"], "float": ["float(0.1)", "float('NaN')", "-float(0)", "float(16777216)", "float(1e10)"],
    "double": ["0.0D", "-0.0D", "1.5D", "double('Infinity')", "double('-Infinity')", "double('NaN')", "1e-7D", "123456789.125D", "1e22D"], "decimal(10,2)": ["0.00", "-12.50", "NULL"], "decimal(38,10)": ["0.0000000001", "0", "-9999999999999999999999999999.9999999999"],
    "string": ["''", "'a\u0022b\\\\c/'", "'\\n\\t\\u0001'", "'äöü€'", "'\U0001f600'", "NULL"], "date": ["DATE'2020-01-02'", "DATE'0001-01-01'", "DATE'1582-10-04'"],
    "timestamp": ["TIMESTAMP'2020-01-02 03:04:05.123456Z'", "TIMESTAMP'2020-07-02 03:04:05Z'", "TIMESTAMP'1850-01-01 00:00:00Z'", "NULL"], "timestamp_ntz": ["TIMESTAMP_NTZ'2020-01-02 03:04:05.9'"],
    "array<int>": ["array()", "array(1, NULL)", "NULL"], "map<string,double>": ["map()", "map('a', 1.5D, 'b', NULL)"], "map<int,string>": ["map(1, 'x')"], "struct<x:int,y:array<string>>": ["named_struct('x', 1, 'y', array('a', NULL))", "named_struct('x', NULL, 'y', NULL)"],
}


def written(run):
    """`to_json` of values of every type."""
    found = {}
    for of, values in VALUES.items():
        frame = run.spark.sql(f"SELECT CAST(v AS {of}) AS v FROM VALUES {', '.join(f'({value})' for value in values)} AS t(v)").repartition(2)
        found[of] = answer(frame.select(F.to_json(F.struct(F.lit(1).alias("a b"), "v")), F.to_json(F.array("v", "v")), F.to_json(F.create_map(F.lit("k"), "v"))))
        found[f"{of}, with nulls"] = answer(frame.select(F.to_json(F.struct("v"), {"ignoreNullFields": "false"})))
    times = run.spark.sql("SELECT TIMESTAMP'2020-01-02 03:04:05.123456Z' AS t, DATE'2020-01-02' AS d, CAST(id AS string) AS s FROM range(2)").select(F.struct("t", "d", "s").alias("v"))
    for options in [{"timestampFormat": "yyyy-MM-dd HH:mm:ss"}, {"dateFormat": "dd/MM/yyyy"}, {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"}, {"pretty": "true"}]:
        found[str(options)] = answer(times.select(F.to_json("v", options)))
    return found


def without_metrics(run):
    """Queries that malformed records end: which tasks were run before is chance. And those that look for columns: how much of a file its first line takes is free."""
    base = sys.argv[2]
    found = {"csv": answer(reader(run, "a string, b string, c string", mode="FAILFAST").csv(f"{base}/lines"))}
    found["csv, one"] = answer(reader(run, "a string, b string, c string", mode="FAILFAST").csv(f"{base}/lines").select("b"))
    found["json"] = answer(reader(run, "a string, b int, c array<int>", mode="FAILFAST").json(f"{base}/objects"))
    found["function"] = answer(run.spark.read.text(f"{base}/texts").where("value LIKE '{%}'").select(F.from_json("value", "a int", {"mode": "FAILFAST"})))
    found["csv, inferred"] = inferred(run.spark.read.option("header", True).option("inferSchema", True).option("escape", '"').csv(f"{base}/tables/csv/part=0/data.csv"))
    found["json, inferred"] = inferred(run.spark.read.json(f"{base}/tables/json/part=0/data.json"))
    found["names"] = answer(reader(run, COLUMNS.replace("name", "nome"), header=True, escape='"', enforceSchema=False).csv(f"{base}/tables/csv/part=0/data.csv"))
    return found


COLUMNS = "id bigint, name string, price decimal(12,2), day date, at timestamp, score double, flag boolean, note string"


def record(n):
    return [n, f"name {n % 97}" if n % 13 else None, f"{n % 1000}.{n % 100:02}", f"20{n % 30:02}-{n % 12 + 1:02}-{n % 28 + 1:02}", f"20{n % 30:02}-{n % 12 + 1:02}-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:00Z", n / 7 if n % 11 else None, n % 3 == 0, f'quoted, "{n}"' if n % 5 == 0 else "plain äöü"]


def as_csv(values):
    texts = ["" if value is None else str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return ",".join('"' + text.replace('"', '""') + '"' if "," in text else text for text in texts)


def as_json(values):
    names = [column.split()[0] for column in COLUMNS.split(", ")]
    return json.dumps({name: value for name, value in zip(names, values) if value is not None}, ensure_ascii=False)


CONDITIONS = ["id < 100", "name = 'name 5'", "price > 500.5 AND flag", "day >= DATE'2015-01-01' OR id IN (1, 2, 3)", "name LIKE 'name 1%' AND note LIKE '%äö%'", "score IS NULL", "name IS NULL", "NOT (id > 10)", "id <=> 7", "at > TIMESTAMP'2025-01-01 00:00:00'", "name LIKE '%7'", "100 > id", "id % 100 = 1 AND name IS NOT NULL", "false", "id IN (1,2,3,4,5,6,7,8,9,10,11,12)"]


def tables(run):
    """Tables of many rows in parts: aggregates, conditions with what scans count, partitions' values, packed files."""
    found = {}
    base = f"{sys.argv[2]}/tables"
    for form, write in [("csv", as_csv), ("json", as_json)]:
        for part in range(2):
            path = f"{base}/{form}/part={part}"
            os.makedirs(path)
            lines = [write(record(n)) for n in range(part * 4000, part * 4000 + 4000)]
            head = [",".join(column.split()[0] for column in COLUMNS.split(", "))] if form == "csv" else []
            with open(f"{path}/data.{form}", "w", newline="") as out:
                out.write("\n".join(head + lines) + ("\n" if part else ""))
            with gzip.open(f"{path}/data.{form}.gz", "wt", newline="") as out:
                out.write("\r\n".join(head + lines[:50]))
        frame = reader(run, f"{COLUMNS}, part int", header=True, escape='"').format(form).load(f"{base}/{form}")
        found[f"{form}, all"] = digest(sorted(rows(frame)))
        found[f"{form}, counted"] = frame.count()
        found[f"{form}, of a part"] = rows(frame.where("part = 1").agg(F.count("id"), F.sum("price"), F.max("at"), F.min("note")))
        found[f"{form}, groups"] = sorted(rows(frame.groupBy("flag", "part").agg(F.max("score"), F.countDistinct("name"), F.max("day"))))
        for condition in CONDITIONS:
            found[f"{form}, {condition}"] = [digest(sorted(rows(frame.where(condition)))), scanned(run)]
        run.spark.conf.set(f"spark.sql.{form}.filterPushdown.enabled", "false")
        found[f"{form}, nothing pushed down"] = [frame.where("id < 100").count(), scanned(run)]
        run.spark.conf.unset(f"spark.sql.{form}.filterPushdown.enabled")
        dropped = reader(run, COLUMNS.replace("name string", "name int"), header=True, escape='"', mode="DROPMALFORMED").format(form).load(f"{base}/{form}")
        found[f"{form}, dropped"] = [digest(sorted(rows(dropped))), scanned(run)]
        found[f"{form}, dropped with a condition"] = [digest(sorted(rows(dropped.where("id < 50")))), scanned(run)]
    found["csv, names"] = answer(reader(run, COLUMNS, header=True, escape='"', enforceSchema=False).csv(f"{base}/csv/part=0/data.csv").where("id < 3"))
    found["csv, other lines"] = answer(reader(run, "a string, b string", lineSep=";").csv(directory("separated", ["a,b;c,d;e\n,f;;g"], "csv")))
    return found


def inferred(frame):
    return [frame.schema.simpleString(), digest(sorted(rows(frame)))]


def scanned(run):
    """Rows that the scans of the last query put out."""
    run.rest.drain()
    query = run.rest.get("sql?length=100000&planDescription=false")[-1]
    return [[metric["value"] for metric in node["metrics"] if metric["name"] == "number of output rows"] for node in query["nodes"] if node["nodeName"].startswith("Scan")]


def main():
    # A task for each file.
    spark = SparkSession.builder.config("spark.sql.files.openCostInBytes", "128m").config("spark.sql.files.maxPartitionBytes", "128m").getOrCreate()
    run = Themes(spark)
    run.other_compressor = True
    # Some values end queries with errors: which tasks were run before is chance.
    for theme in [csv_values, csv_lines, json_values, functions]:
        run.run(theme.__name__, theme, metrics="none")
    for theme in [json_lines, written]:
        run.run(theme.__name__, theme, metrics="unordered")
    # Of files that are read twice, how much is free.
    run.run("columns", columns, metrics="none")
    run.run("columns of CSV", csv_columns, metrics="none")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")
    run.run("tables", tables, metrics="unordered")
    run.run("without metrics", without_metrics, metrics="none")
    run.count_tasks()
    run.result["version"] = spark.version
    run.write(sys.argv[1])


if __name__ == "__main__":
    main()
