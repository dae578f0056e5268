"""Classes of Python that make rows (UDTFs): what they are given, what they give, and beside which rows it comes out.

usage: spark-submit sql_tables.py RESULT KIND. KIND is `native` for what is computed without a JVM, `left` for what is left to Spark."""

import datetime
import decimal
import hashlib
import json
import sys

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from support import mask, thrown
from sql_python import ARGUMENTS, shown

spark = SparkSession.builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.session.timeZone", "America/Los_Angeles").config("spark.sql.adaptive.enabled", "false").config("spark.sql.shuffle.partitions", "3").getOrCreate()
SINCE_4 = spark.version >= "4"
if SINCE_4:
    from pyspark.sql.functions import AnalyzeResult, OrderingColumn, PartitioningColumn, SkipRestOfInputTableException


def text(value):
    return value.hex() if isinstance(value, float) else [text(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def rows(frame):
    """In no order: which executor's rows come first is chance where nothing is sorted."""
    return sorted(([text(cell) for cell in row] for row in frame.collect()), key=str)


def in_order(frame):
    return [[text(cell) for cell in row] for row in frame.collect()]


def digest(frame):
    return hashlib.sha256(json.dumps(rows(frame)).encode()).hexdigest()


class Several:
    """As many rows as it is told."""

    def eval(self, n: int):
        # Up to Spark 4.0 pandas makes numbers of nulls.
        for place in range(int(n) % 4 if n is not None and n == n else 0):
            yield place, f"{n} {place}"


class Counted:
    """What it has seen, behind the last row."""

    def __init__(self):
        self.count, self.last = 0, None

    def eval(self, value):
        self.count, self.last = self.count + 1, value
        if self.count % 3 == 0:
            yield self.count, str(value)

    def terminate(self):
        yield -self.count, f"last {self.last}"
        yield self.count, None


class Summed:
    """One row behind the last, none before."""

    def __init__(self):
        self.sum = 0

    def eval(self, row: Row):
        self.sum += row["id"]

    def terminate(self):
        yield self.sum, "sum"


class Returned:
    def eval(self, n):
        return [(n, "a"), [n, "b"], Row(n=n, s="c"), {"n": n, "s": "d"}, (None, None), None]


class Nothing:
    def eval(self, *all):
        pass


class Stopping:
    def __init__(self):
        self.count = 0

    def eval(self, n):
        self.count += 1
        if n % 50 == 17:
            raise SkipRestOfInputTableException("enough")
        yield n, "eval"

    def terminate(self):
        yield self.count, "terminate"


class Analyzed:
    """Columns that depend on its arguments, and what `analyze` has kept."""

    def __init__(self, result):
        self.names, self.sum = result.names, 0

    @staticmethod
    def analyze(table, prefix):
        from dataclasses import dataclass

        from pyspark.sql.types import LongType, StringType, StructType

        @dataclass
        class Kept(AnalyzeResult):
            names: str = ""

        schema = StructType().add(prefix.value + "_sum", LongType()).add(prefix.value + "_names", StringType())
        return Kept(schema=schema, partitionBy=[PartitioningColumn("k")], orderBy=[OrderingColumn("id")], names=",".join(field.name for field in table.dataType.fields))

    def eval(self, table, prefix):
        self.sum, self.key, self.prefix = self.sum + table["id"], table["k"], prefix
        if self.sum % 5 == 1:
            yield self.sum, f"{prefix} {table['s']}"

    def terminate(self):
        yield self.sum, f"{self.names} {self.key}"


def table():
    return spark.range(0, 200, 1, 3).selectExpr("id", "id % 7 AS k", "concat('s', id % 5) AS s", "id / 3 AS x")


def register(arrow):
    """The classes under names in SQL, called with rows in Arrow streams or pickled."""
    for name, of, returned in [("several", Several, "place int, t string"), ("counted", Counted, "n bigint, t string"), ("summed", Summed, "n bigint, t string"), ("returned", Returned, "n bigint, s string"), ("nothing", Nothing, "a int, b double"), ("stopping", Stopping, "n bigint, s string")]:
        if name == "returned" and arrow:
            # Dictionaries and rows without values are told apart by versions.
            of = type("Few", (), {"eval": lambda self, n: [(n, "a"), [n, "b"], (None, None)]})
        spark.udtf.register(name, F.udtf(of, returnType=returned, useArrow=arrow))
    if SINCE_4:
        spark.udtf.register("analyzed", F.udtf(Analyzed, useArrow=arrow))


def forms(arrow):
    register(arrow)
    table().createOrReplaceTempView("t")
    table().filter("id < 0").createOrReplaceTempView("none")
    sql = spark.sql
    several = F.udtf(Several, returnType="place int, t string", useArrow=arrow)
    yield "constants", in_order(sql("SELECT * FROM several(3)"))
    yield "null", in_order(sql("SELECT * FROM several(CAST(NULL AS INT))"))
    yield "called", in_order(several(F.lit(7)))
    yield "no arguments", in_order(sql("SELECT * FROM nothing()"))
    yield "lateral", rows(sql("SELECT id, s, place, u.t FROM t, LATERAL several(CAST(id AS INT)) u"))
    yield "lateral, one column", rows(sql("SELECT u.t FROM t, LATERAL several(CAST(id AS INT)) u"))
    yield "lateral, only the input's", rows(sql("SELECT id FROM t, LATERAL several(CAST(id AS INT)) u"))
    yield "lateral, no columns", sql("SELECT count(*) FROM t, LATERAL several(CAST(id AS INT)) u").collect()[0][0]
    yield "lateral, nothing", rows(sql("SELECT * FROM t, LATERAL nothing(id, s)"))
    yield "lateral, expressions", rows(sql("SELECT id, u.t || s, place + id FROM t, LATERAL several(CAST(id * 3 AS INT) % 11) u WHERE place > 0"))
    yield "twice", rows(sql("SELECT id, u.t, v.t FROM t, LATERAL several(CAST(id AS INT)) u, LATERAL several(place + 2) v"))
    yield "several kinds of rows", rows(sql("SELECT id, u.* FROM t, LATERAL returned(id) u"))
    yield "behind the last", rows(sql("SELECT id, u.* FROM (SELECT /*+ COALESCE(1) */ * FROM t ORDER BY id), LATERAL counted(s) u"))
    yield "table", rows(sql("SELECT * FROM summed(TABLE(SELECT * FROM t))"))
    yield "lateral without rows", rows(sql("SELECT id, u.place FROM none, LATERAL several(CAST(id AS INT)) u"))
    yield "aggregated", rows(sql("SELECT place, count(*), sum(id), max(u.t) FROM t, LATERAL several(CAST(id AS INT)) u GROUP BY place"))
    yield "joined", rows(sql("SELECT a.id, u.t FROM t a JOIN t b ON a.id = b.id, LATERAL several(CAST(a.id AS INT)) u WHERE b.k = 3"))
    yield "above a sort", in_order(sql("SELECT id, u.t FROM (SELECT * FROM t ORDER BY id DESC LIMIT 20), LATERAL several(CAST(id AS INT)) u"))
    yield "limit", in_order(sql("SELECT place FROM t, LATERAL several(3) u LIMIT 5"))
    yield "values", rows(sql("SELECT * FROM VALUES (1), (NULL), (3) v(n), LATERAL several(n)"))
    yield "union", rows(sql("SELECT u.* FROM (SELECT id FROM t UNION ALL SELECT id + 1 FROM t), LATERAL several(CAST(id AS INT)) u"))
    large = spark.range(0, 30_000, 1, 2).selectExpr("id", "concat('x', id) AS s")
    large.createOrReplaceTempView("large")
    yield "many rows", digest(sql("SELECT id, s, place, t FROM large, LATERAL several(CAST(id AS INT))"))
    many = F.udtf(type("Many", (), {"eval": lambda self, n: ((place, "long " * (place % 9)) for place in range(n))}), returnType="p int, t string", useArrow=arrow)
    spark.udtf.register("many", many)
    yield "many of one", digest(sql("SELECT id, p, t FROM large, LATERAL many(CAST(IF(id % 10000 = 9, 20000, 0) AS INT))"))
    if SINCE_4:
        yield from forms_since_4()


def forms_since_4():
    sql = spark.sql
    yield "by name", rows(sql("SELECT * FROM several(n => 3)"))
    yield "single partition", rows(sql("SELECT * FROM summed(TABLE(SELECT * FROM t) WITH SINGLE PARTITION)"))
    yield "partitions", rows(sql("SELECT * FROM summed(TABLE(SELECT * FROM t) PARTITION BY k)"))
    yield "partitions in order", rows(sql("SELECT * FROM counted(TABLE(SELECT * FROM t) PARTITION BY k ORDER BY id DESC)"))
    yield "partitions by expressions", rows(sql("SELECT * FROM counted(TABLE(SELECT id, k, s FROM t) PARTITION BY (k + 1, s) ORDER BY id)"))
    yield "skips the rest", rows(sql("SELECT u.* FROM (SELECT /*+ COALESCE(1) */ id FROM t ORDER BY id), LATERAL stopping(id) u"))
    yield "skips the rest, beside", rows(sql("SELECT id, u.* FROM (SELECT /*+ COALESCE(1) */ id FROM t ORDER BY id), LATERAL stopping(id) u"))
    yield "analyzed", rows(sql("SELECT * FROM analyzed(TABLE(SELECT * FROM t), 'p')"))


def types(arrow):
    """What classes see of each type, and what comes back of it."""
    for of, values in ARGUMENTS.items():
        if of in ("void", "decimal(38,18)") and arrow or "map" in of and arrow and not SINCE_4:
            continue
        spark.sql(f"SELECT CAST(v AS {of}) AS v FROM VALUES {', '.join(f'({value})' for value in values)} AS t(v)").createOrReplaceTempView("v")
        spark.udtf.register("seen", F.udtf(type("Seen", (), {"eval": lambda self, value: [(shown(value), value)]}), returnType=f"s string, v {of}", useArrow=arrow))
        try:
            yield of, rows(spark.sql("SELECT v.v, u.* FROM v, LATERAL seen(v.v) u"))
        except Exception as error:
            yield of, [type(error).__name__]
    every = type("Every", (), {"eval": lambda self, n: [(n, n / 2, str(n), n % 2 == 0, None, [n, None], decimal.Decimal(n) / 4, datetime.date(2020, 1, 1) + datetime.timedelta(n), datetime.datetime(2020, 3, 8, 1, 59, 59, n), (n, None))] * (n % 3)})
    returned = "a bigint, b double, c string, d boolean, e int, f array<bigint>, g decimal(20,3), h date, i timestamp, j struct<x:int,y:string>"
    spark.udtf.register("of_each_type", F.udtf(every, returnType=returned, useArrow=arrow))
    yield "every", rows(spark.sql("SELECT id, u.* FROM t, LATERAL of_each_type(CAST(id AS INT)) u"))
    yield "some", rows(spark.sql("SELECT b, j.x FROM t, LATERAL of_each_type(CAST(id AS INT)) u"))


def batches(arrow):
    """Classes that make rows of batches, which are there from 4.1 on."""
    if not hasattr(F, "arrow_udtf") or not arrow:
        return
    import pyarrow as pa
    import pyarrow.compute as pc

    @F.arrow_udtf(returnType="n bigint, t string")
    class Constant:
        def eval(self, n, t):
            yield pa.table({"n": pc.add(n, 1).cast(pa.int64()), "t": t})

    @F.arrow_udtf(returnType="rows bigint, sum bigint")
    class Batches:
        def __init__(self):
            self.rows, self.sum = 0, 0

        def eval(self, batch):
            self.rows, self.sum = self.rows + batch.num_rows, self.sum + pc.sum(batch["id"]).as_py()
            yield pa.table({"rows": pa.array([batch.num_rows], pa.int64()), "sum": pa.array([len(batch.schema.names)], pa.int64())})

        def terminate(self):
            yield pa.table({"rows": pa.array([self.rows], pa.int64()), "sum": pa.array([self.sum], pa.int64())})

    spark.udtf.register("constant", Constant)
    spark.udtf.register("batches", Batches)
    yield "constants", rows(spark.sql("SELECT * FROM constant(41L, 'x')"))
    yield "a table", rows(spark.sql("SELECT * FROM batches(TABLE(SELECT * FROM t))"))
    yield "partitions", rows(spark.sql("SELECT * FROM batches(TABLE(SELECT * FROM t) PARTITION BY k ORDER BY id)"))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    yield "short batches", rows(spark.sql("SELECT * FROM batches(TABLE(SELECT * FROM t))"))
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def failures(arrow):
    def eval_of(function):
        return type("Failing", (), {"eval": function})

    def cannot(self):
        raise ValueError("cannot begin")

    def ends(self):
        raise ValueError("cannot end")

    cases = {
        "raises": eval_of(lambda self, n: [(1 // (n - 3), "x")]),
        "too many values": eval_of(lambda self, n: [(1, "x", 2)]),
        "no rows": eval_of(lambda self, n: 7),
        "begins": type("Failing", (), {"eval": lambda self, n: [], "__init__": cannot}),
        "ends": type("Failing", (), {"eval": lambda self, n: [], "terminate": ends}),
    }
    for name, of in cases.items():
        spark.udtf.register("failing", F.udtf(of, returnType="n int, s string", useArrow=arrow))
        yield name, thrown(lambda: spark.sql("SELECT u.* FROM (SELECT /*+ COALESCE(1) */ * FROM t), LATERAL failing(CAST(id AS INT)) u").collect())


def left(arrow):
    """What Spark knows better."""
    table().createOrReplaceTempView("t")
    table().filter("id < 0").createOrReplaceTempView("none")
    register(arrow)
    yield "table without rows", type_of(lambda: spark.sql("SELECT * FROM summed(TABLE(SELECT * FROM none))").collect())
    if SINCE_4:
        yield "partitions without rows", type_of(lambda: spark.sql("SELECT * FROM summed(TABLE(SELECT * FROM none) PARTITION BY k)").collect())
    last = type("Last", (), {"eval": lambda self, n: None, "terminate": lambda self: [(7,)]})
    spark.udtf.register("at_last", F.udtf(last, returnType="n int", useArrow=arrow))
    yield "beside no row", type_of(lambda: spark.sql("SELECT id, n FROM (SELECT id FROM t WHERE id < 0), LATERAL at_last(id)").collect())
    if not arrow:
        spark.udtf.register("none", F.udtf(type("None_", (), {"eval": lambda self, n: [(None,)]}), returnType="n int not null", useArrow=False))
        yield "nulls", type_of(lambda: spark.sql("SELECT id, n FROM t, LATERAL none(id)").collect())
        spark.udtf.register("kinds", F.udtf(type("Kinds", (), {"eval": lambda self, n: [(n, {1}), (str(n), 1j), (2**70, n)]}), returnType="n bigint, s string", useArrow=False))
        yield "kinds", type_of(lambda: spark.sql("SELECT n FROM t, LATERAL kinds(id)").collect())


def type_of(body):
    try:
        return [text(row) for row in body()]
    except Exception as error:
        return type(error).__name__


def main(result, kind):
    bodies = {"native": [forms, types, batches, failures], "left": [left]}[kind]
    answers = {}
    for arrow in [False, True]:
        for body in bodies:
            answers |= {f"{body.__name__} over Arrow {arrow}: {name}": answer for name, answer in body(arrow)}
    answers = json.loads(mask(json.dumps(answers)))
    with open(result, "w") as file:
        json.dump({"answers": answers, "metrics": {}, "errors": {}, "version": spark.version}, file, indent=1)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
