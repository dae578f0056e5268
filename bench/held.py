"""A driver without executors of its own, as tests have it (`tests/jobs/hold.py`), with what only benchmarks ask for.

usage: held.py NAME SCRATCH"""

import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests", "jobs"))

import hold
from chaos_jobs import ChaosJobs
from pyspark.sql import DataFrame, SparkSession
from support import digest


class Held(ChaosJobs, hold.Hold):
    def query(self, command):
        """Seconds of a query and a fingerprint of its rows: in any order, floating-point numbers to ten digits, for sums depend on the order of what comes."""
        started = time.monotonic()
        found = self.spark.sql(command["query"]).collect()
        seconds = time.monotonic() - started
        rows = sorted([f"{cell:.10g}" if isinstance(cell, float) else str(cell) for cell in row] for row in found)
        return {"seconds": seconds, "rows": len(rows), "digest": digest(rows)}

    def py_functions(self, command):
        """Sums of what a function of Python makes of many rows: of one number, of a price, of a number and a text, of a series; simple ones, over Arrow or not,
        and the same with something in them that is not simple."""
        from pyspark.sql import functions as F

        frame, name = SparkSession(self.sc).range(0, command["rows"], 1, 8), command["function"]
        function, arrow = function_of(name.removeprefix("arrow ")), name.startswith("arrow ")
        text = F.concat(F.lit("row "), F.col("id"))
        if name == "series":
            result = F.pandas_udf(lambda values: values + 1, "bigint", F.PandasUDFType.SCALAR)("id")
        elif "number" in name:
            result = F.udf(function, "bigint", useArrow=arrow)("id")
        elif "price" in name:
            result = F.udf(function, "double", useArrow=arrow)((F.col("id") % 1000).cast("double"), F.col("id") % 10)
        else:
            result = F.length(F.udf(function, "string", useArrow=arrow)("id", text))
        return self.timed(lambda: frame.agg(F.sum(result)).first()[0])

    def haversine(self, command):
        """The sum of distances of points: by a native function, by functions of Python, or by one of Java."""
        from pyspark.sql import functions as F

        if command["modules"] not in sys.path:
            sys.path.insert(0, command["modules"])
        import firesteel_geo

        session, kind = SparkSession(self.sc), command["function"]
        rows = session.range(0, command["rows"], 1, 8)
        points = [(F.col("id") % divisor - half).cast("double") for divisor, half in [(181, 90), (361, 180), (179, 89), (359, 179)]]
        if kind.startswith("c"):
            firesteel_geo.distribute(session)
            result = firesteel_geo.haversine(*points)
        elif kind == "java":
            session.udf.registerJavaFunction("java_haversine", "Haversine", "double")
            result = F.call_function("java_haversine", *points)
        elif kind == "series":
            result = F.pandas_udf(distances(), "double", F.PandasUDFType.SCALAR)(*points)
        else:
            result = F.udf(distance(), "double")(*points)
        return self.timed(lambda: rows.agg(F.sum(result)).first()[0])

    def java_functions(self, command):
        """Sums of a function of Java, in SQL or of a typed data set: over numbers and nothing else, of groups, or among what queries do with the columns of files."""
        from pyspark.sql import functions as F

        session = SparkSession(self.sc)
        session.udf.registerJavaFunction("java_haversine", "Haversine", "double")

        def points(of):
            return [(F.col(of) % divisor - half).cast("double") for divisor, half in [(181, 90), (361, 180), (179, 89), (359, 179)]]

        rows = session.range(0, command["rows"], 1, 8)
        typed = lambda name, frame, *more: DataFrame(getattr(self.sc._jvm.TypedPoints, name)(frame._jdf, *more), session)
        if command["form"] == "typed alone":
            return self.timed(lambda: typed("each", rows).agg(F.sum("value")).first()[0])
        if command["form"] == "typed groups":
            return self.timed(lambda: typed("groups", rows, 5000).agg(F.sum("_2")).first()[0])
        if command["form"] == "alone":
            return self.timed(lambda: rows.agg(F.sum(F.call_function("java_haversine", *points("id")))).first()[0])
        path = os.path.join(self.scratch, "points")
        if not os.path.exists(path):
            rows.select("id", (F.col("id") % 1000).alias("n"), F.concat(F.lit("text "), F.col("id") % 5000).alias("s"), F.col("id").cast("decimal(20,2)").alias("d")).write.parquet(path)
        table = session.read.parquet(path).where("n between 100 and 899 and s like '%7%'")
        joined = table.join(table.groupBy("n").agg(F.count("*").alias("many")), "n")
        if command["form"] == "typed among others":
            of = typed("pairs", joined).groupBy("s").agg(F.sum("x").alias("x"))
            return self.timed(lambda: str(of.agg(F.sum(F.round("x", 3).cast("decimal(38,3)")), F.count("*")).first()))
        of = joined.groupBy("s").agg(F.sum(F.call_function("java_haversine", *points("id"))).alias("x"), F.sum("d").alias("d"), F.max("many").alias("m"))
        return self.timed(lambda: str(of.agg(F.sum(F.round("x", 3).cast("decimal(38,3)")), F.sum("d"), F.max("m"), F.count("*")).first()))

    def other_scans(self, command):
        """Queries over what only Spark's own code reads: files of ORC and rows of an RDD. Sums of groups, what a filter leaves by texts, and a join of two with windows over its groups."""
        from pyspark.sql import functions as F

        session, source, form = SparkSession(self.sc), *command["form"].split(", ")
        path = os.path.join(self.scratch, "scanned")
        if not os.path.exists(path):
            rows = session.range(0, command["rows"], 1, 8)
            rows.select("id", (F.col("id") % 1000).cast("int").alias("n"), F.concat(F.lit("text "), F.col("id") % 5000).alias("s"), (F.col("id") / 7).alias("x"), F.col("id").cast("decimal(20,2)").alias("d")).write.orc(path)
        table = session.read.orc(path)
        if source == "RDD":
            java = table.where(F.col("id") < command["rows"] // 10)._jdf
            table = DataFrame(self.sc._jvm.TypedPoints.again(session._jsparkSession, java), session)
        of = asked(table, form)
        return self.timed(lambda: str(of.first()))

    def lakes(self, command):
        """The same queries over tables of lakes: as they were written, or with a column of another name and a tenth of
        the rows deleted since."""
        session, (kind, form) = SparkSession(self.sc), command["form"].split(", ")
        name = kind.replace(" ", "_").lower()
        table = f"ice.db.{name}" if "Iceberg" in kind else f"delta.`{self.scratch}/{name}`"
        exists = session.catalog.tableExists(table) if "Iceberg" in kind else os.path.exists(f"{self.scratch}/{name}")
        if not exists:
            rows = session.range(0, command["rows"], 1, 8)
            rows.selectExpr("id", "cast(id % 1000 as int) n", "concat('text ', id % 5000) t", "id / 7 x", "cast(id as decimal(20,2)) d").createOrReplaceTempView("rows")
            if "Iceberg" in kind:
                how = "using iceberg tblproperties ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
            else:
                mapped = ", 'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true'" if "changed" in kind else ""
                how = f"using delta tblproperties ('x' = '1'{mapped})"
            session.sql(f"create table {table} (id bigint, n int, {'t' if 'changed' in kind else 's'} string, x double, d decimal(20,2)) {how}")
            session.sql(f"insert into {table} select * from rows")
            if "changed" in kind:
                session.sql(f"alter table {table} rename column t to s")
                session.sql(f"delete from {table} where id % 10 = 3")
        of = asked(session.table(table), form)
        return self.timed(lambda: str(of.first()))

    def other_sinks(self, command):
        """Queries over a table whose rows go where only Spark's own code takes them."""
        from pyspark.sql import functions as F

        session, (query, sink) = SparkSession(self.sc), command["form"].split(" to ")
        path, written = os.path.join(self.scratch, "table"), os.path.join(self.scratch, "sink")
        if not os.path.exists(path):
            rows = session.range(0, command["rows"], 1, 8)
            rows.select("id", (F.col("id") % 1000).cast("int").alias("n"), F.concat(F.lit("text "), F.col("id") % 5000).alias("s"), (F.col("id") / 7).alias("x"), F.col("id").cast("decimal(20,2)").alias("d")).write.parquet(path)
        shutil.rmtree(written, ignore_errors=True)
        table = session.read.parquet(path)
        if query == "groups":
            of = table.groupBy("n", "s").agg(F.sum("d").alias("d"), F.max("x").alias("x"))
        elif query == "sort":
            of = table.where("n < 200").select("s", "id", "d").repartition(4, "s").sortWithinPartitions("s", "id")
        else:
            joined = table.where("n < 500").alias("l").join(table.where("n > 250").alias("r"), "id").selectExpr("l.n", "r.s", "l.d", "row_number() over (partition by l.n order by r.x, id) k")
            of = joined.where("k <= 100")
        if sink == "ORC":
            return self.timed(lambda: of.write.orc(written))
        if sink == "nowhere":
            return self.timed(lambda: of.write.format("noop").mode("overwrite").save())
        return self.timed(lambda: self.sc._jvm.TypedPoints.lengths(of._jdf))

    def py_groups(self, command):
        """What a function of Python makes of groups: rows of data frames, rows of two, or a value of each."""
        from pyspark.sql import functions as F

        rows = SparkSession(self.sc).range(0, command["rows"], 1, 8)
        grouped = rows.select((F.col("id") % command["groups"]).alias("k"), "id", (F.col("id") * 7919 % 1000 / 7).alias("x")).groupBy("k")
        if command["function"] == "frames":
            result = grouped.applyInPandas(lambda of: of.assign(x=of.x - of.x.mean()), "k bigint, id bigint, x double")
        elif command["function"] == "two frames":
            others = rows.select((F.col("id") % command["groups"]).alias("k"), (F.col("id") * 2).alias("y")).groupBy("k")
            result = grouped.cogroup(others).applyInPandas(lambda of, other: of.assign(x=of.x - other.y.mean()), "k bigint, id bigint, x double")
        else:
            result = grouped.agg(F.pandas_udf(lambda values: values.mean(), "double", F.PandasUDFType.GROUPED_AGG)("x").alias("x"), F.pandas_udf(lambda values: int(values.sum()), "bigint", F.PandasUDFType.GROUPED_AGG)("id").alias("id"))
        return self.timed(lambda: result.agg(F.count("*"), F.sum("id")).first()[0])

    def write_rows(self, command):
        """Writes Parquet files of rows of seven columns: one table, or by partitions."""
        from pyspark.sql import functions as F

        rows = SparkSession(self.sc).range(0, command["rows"], 1, 8)
        rows = rows.select("id", (F.col("id") % 1000).cast("int").alias("n"), F.concat(F.lit("text "), F.col("id") % 5000).alias("s"), (F.col("id") / 7).alias("x"),
                           F.col("id").cast("decimal(20,2)").alias("d"), F.timestamp_seconds("id").alias("t"), (F.col("id") % 8).cast("int").alias("part"))
        directory = os.path.join(self.scratch, "written")
        shutil.rmtree(directory, ignore_errors=True)
        writer = rows.write.partitionBy("part") if command["partitioned"] else rows.write
        return self.timed(lambda: writer.parquet(directory))

    def read_records(self, command):
        """Aggregates of what a file of records says, or of one of its columns. Files are written once, by hand: writing is not measured."""
        from pyspark.sql import functions as F

        session, form = SparkSession(self.sc), command["form"]
        path = os.path.join(self.scratch, f"records.{form}")
        if not os.path.exists(path):
            records(path, form, command["rows"])
        schema = "id bigint, name string, price decimal(12,2), day date, at timestamp, score double, flag boolean, note string"
        frame = session.read.schema(schema).options(header=True).format(form).load(path)
        if command["columns"] == "one":
            return self.timed(lambda: str(frame.agg(F.sum("price")).first()))
        texts = command["columns"] == "texts"
        if texts:
            frame = session.read.text(path).select(F.from_json("value", schema).alias("r")).select("r.*")
        of = [F.max("id"), F.max("name"), F.sum("price"), F.max("day"), F.max("at"), F.max("score"), F.count("flag"), F.max("note")]
        return self.timed(lambda: str(frame.agg(*of).first()))


def asked(table, form):
    """What a filter leaves by texts, sums of groups, or a join of two scans with windows over its groups."""
    from pyspark.sql import functions as F

    if form == "filter":
        return table.where("n between 100 and 899 and s like '%7%'").groupBy("s").agg(F.count("*").alias("many"), F.max("d").alias("d")).agg(F.sum("many"), F.max("d"))
    if form == "groups":
        return table.groupBy("n").agg(F.sum("x").alias("x"), F.sum("d").alias("d"), F.max("s").alias("s")).agg(F.sum(F.round("x", 3).cast("decimal(38,3)")), F.sum("d"), F.max("s"))
    joined = table.where("n < 500").alias("l").join(table.where("n > 250").alias("r"), "id").selectExpr("l.n", "r.s", "l.d", "row_number() over (partition by l.n order by r.x, id) k")
    return joined.where("k <= 100").groupBy("s").agg(F.sum("d").alias("d")).agg(F.count("*"), F.sum("d"))


def function_of(name):
    """A function; with `in workers` one that is not simple."""
    def price(amount, percent):
        if amount is None or percent is None:
            return 0.0
        return amount * (100 - percent) / 100 if amount > 500 else amount

    simple = {"number": lambda n: n + 1, "text": lambda n, s: f"{s.upper()}-{n % 7}", "price": price}

    def number_in_workers(n):
        for _ in ():
            pass
        return n + 1

    def text_in_workers(n, s):
        for _ in ():
            pass
        return f"{s.upper()}-{n % 7}"

    return {**simple, "number in workers": number_in_workers, "text in workers": text_in_workers}.get(name)


def distance():
    """A function for workers, which have no module of ours."""
    from math import asin, cos, radians, sin, sqrt

    def of(lat1, lon1, lat2, lon2):
        lat, lon = sin(radians(lat2 - lat1) / 2), sin(radians(lon2 - lon1) / 2)
        return 2 * 6371.0088 * asin(sqrt(min(1.0, lat * lat + cos(radians(lat1)) * cos(radians(lat2)) * lon * lon)))

    return of


def distances():
    """The same of series."""

    def of(lat1, lon1, lat2, lon2):
        import numpy as np

        lat, lon = np.sin(np.radians(lat2 - lat1) / 2), np.sin(np.radians(lon2 - lon1) / 2)
        return 2 * 6371.0088 * np.arcsin(np.sqrt(np.minimum(1.0, lat * lat + np.cos(np.radians(lat1)) * np.cos(np.radians(lat2)) * lon * lon)))

    return of


def records(path, form, rows):
    """A file of records of eight columns, some of them without a name."""
    import json

    names = ["id", "name", "price", "day", "at", "score", "flag", "note"]
    with open(path, "w") as out:
        if form == "csv":
            out.write(",".join(names) + "\n")
        for n in range(rows):
            day = f"20{n % 30:02}-{n % 12 + 1:02}-{n % 28 + 1:02}"
            values = [n, f"name {n % 97}" if n % 13 else None, round(n % 100_000 / 100, 2), day, f"{day}T{n % 24:02}:{n % 60:02}:00Z", n / 7, n % 3 == 0, f"quoted, {n}" if n % 5 == 0 else "a plain note of some words"]
            if form == "json":
                out.write(json.dumps({name: value for name, value in zip(names, values) if value is not None}) + "\n")
            else:
                texts = ["" if value is None else str(value).lower() if isinstance(value, bool) else str(value) for value in values]
                out.write(",".join(f'"{text}"' if "," in text else text for text in texts) + "\n")


hold.main(Held(*sys.argv[1:]))
