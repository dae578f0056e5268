"""What `hold.py` is told to do with Spark SQL: queries whose tasks are looked at, and shuffle files that are damaged."""

import glob
import os

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from support import digest, flip

DAMAGE = {"lose": os.remove, "corrupt": flip}


class SqlFaults:
    """Part of `Hold`."""

    def session(self):
        return SparkSession(self.sc)

    def cached_table(self, _):
        """A cached table whose partitions are at all executors, each of which reads those of the others. Says which answers are wrong."""
        from sql_cached import VALUES, answer, size, table

        spark = self.session()
        spark.conf.set("spark.sql.codegen.wholeStage", "false")
        wrong = []
        rows, columns = table(spark, 2000, 12), [name for name in VALUES if name not in ("ym", "no")]
        expected = answer(rows.select("id", *columns))
        kept = rows.cache()
        if kept.count() != 2000 or size(spark, kept)["rows"] not in ("2000", None):
            wrong.append(f"{kept.count()} rows, {size(spark, kept)}")
        # Nothing waits for the executor that has a partition.
        for turn in range(4):
            if answer(kept.select("id", *columns)) != expected:
                wrong.append(f"other rows in turn {turn}")
        few = kept.where("id > 1990 AND st = 'a'").select("id")
        if answer(few) != answer(rows.where("id > 1990 AND st = 'a'").select("id")):
            wrong.append("other rows where batches are left out")
        kept.unpersist(blocking=True)
        return wrong

    def cached_steps(self, command):
        """A step with a cached table: making it, or a query over it."""
        if command["step"] == "make":
            if getattr(self, "cached", None):
                self.cached.unpersist(blocking=True)
            rows = self.session().range(0, command["rows"], 1, 8)
            self.cached = rows.selectExpr("id", "CAST(id % 1000 AS int) AS few", "id / 7 AS x", "CAST(id % 5000 AS string) AS s", "concat('row ', id) AS t", "id % 3 = 0 AS b").cache()
            return self.timed(self.cached.count)
        query = {
            "numbers": lambda: self.cached.groupBy("few").agg({"id": "sum", "x": "max"}).count(),
            "texts": lambda: self.cached.where("b").groupBy("s").agg({"t": "max"}).count(),
            "few": lambda: self.cached.where("id BETWEEN 1000000 AND 1000100").count(),
        }
        return self.timed(query[command["step"]])

    def sql_query(self, command):
        """The rows of a query."""
        return self.timed(lambda: [list(map(str, row)) for row in self.session().sql(command["query"]).collect()])

    def sql_tables(self, command):
        """Names the Parquet tables below a directory. Their types are read here: no task does."""
        import pyarrow
        from pyarrow import parquet

        def known(field):
            return field.with_type(pyarrow.string()) if pyarrow.types.is_string_view(field.type) else field

        for table in os.listdir(command["directory"]):
            path = os.path.join(command["directory"], table)
            schema = pyarrow.schema(map(known, parquet.read_schema(sorted(glob.glob(f"{path}/*.parquet"))[0])))
            self.session().read.schema(from_arrow_schema(schema)).parquet(path).createOrReplaceTempView(table)

    def stages_since(self, seen):
        """Stages that are not in `seen`, with their tasks."""
        self.rest.drain()
        found = []
        for stage in self.rest.get("stages"):
            key = (stage["stageId"], stage["attemptId"])
            if key not in seen and stage["status"] not in ("SKIPPED", "PENDING"):
                stage["tasks"] = self.rest.get(f"stages/{key[0]}/{key[1]}/taskList?length=100000")
                found.append(stage)
        return found

    def seen(self):
        self.rest.drain()
        return {(stage["stageId"], stage["attemptId"]) for stage in self.rest.get("stages")}

    def watched(self, action):
        """A digest of what `action` gives, and what the driver says of its stages."""
        seen = self.seen()
        rows = [[str(cell) for cell in row] for row in action()]
        stages = self.stages_since(seen)
        places = [{task["executorId"] for task in stage["tasks"] if task["status"] == "SUCCESS"}
                  for stage in stages if stage["numTasks"] > 1]
        return {
            "answer": {"rows": len(rows), "digest": digest(sorted(rows))},
            "shared": sum(len(place) > 1 for place in places),
            "stages": len(places),
            "failed_fetches": sum("FetchFailed" in stage.get("failureReason", "") for stage in stages),
            "attempts": max(stage["attemptId"] for stage in stages) + 1,
            "memory_spilled": sum(stage["memoryBytesSpilled"] for stage in stages),
            "disk_spilled": sum(stage["diskBytesSpilled"] for stage in stages),
            "peak": max(stage["peakExecutionMemory"] for stage in stages),
        }

    def sql_run(self, command):
        """Runs one query, with settings of the session."""
        session = self.session()
        for key, value in command.get("conf", {}).items():
            session.conf.set(key, value)
        text = command.get("query")
        if "file" in command:
            with open(command["file"]) as file:
                text = file.read()
        return self.watched(lambda: session.sql(text).collect())

    def sql_keep(self, command):
        """Runs a query whose shuffles stay."""
        self.sql_kept_frame = self.session().sql(command["query"])
        return self.watched(self.sql_kept_frame.collect)

    def sql_kept(self, _):
        """Reads those shuffles again."""
        return self.watched(self.sql_kept_frame.collect)

    def sql_damage(self, command):
        """Does something to all map outputs below a directory; says to how many files."""
        files = [file for kind in ("data", "columns")
                 for file in glob.glob(f"{command['directory']}/**/shuffle_*.{kind}", recursive=True)
                 if os.path.getsize(file)]
        for file in files:
            DAMAGE[command["how"]](file)
        return len(files)
