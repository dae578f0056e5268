"""Classes of Python that make rows, for capture. Argument: a scratch directory, which nothing is written to."""
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.config("spark.sql.session.timeZone", "Asia/Kolkata").getOrCreate()
sc = spark.sparkContext
spark.range(0, 8, 1, 2).selectExpr("id", "id % 3 AS k", "cast(id AS string) s", "id / 4 AS x").createOrReplaceTempView("t")


class Several:
    def eval(self, n: int, s: str = "x"):
        yield n, s


class Summed:
    def eval(self, row):
        self.row = row

    def terminate(self):
        yield 1, "sum"


def run(name, query):
    for generated in ["false", "true"]:
        spark.conf.set("spark.sql.codegen.wholeStage", generated)
        sc.setLocalProperty("capture.name", f"{'on' if generated == 'true' else 'off'}.{name}")
        spark.sql(query).collect()


for arrow in [False, True]:
    form = "values" if arrow else "pickled"
    spark.udtf.register("several", F.udtf(Several, returnType="n bigint, s string", useArrow=arrow))
    spark.udtf.register("summed", F.udtf(Summed, returnType="n bigint, s string", useArrow=arrow))
    run(f"{form}.constants", "SELECT * FROM several(3, 'x')")
    run(f"{form}.beside", "SELECT id, x, u.* FROM t, LATERAL several(id + 1, s) u")
    run(f"{form}.table", "SELECT * FROM summed(TABLE(SELECT id, s FROM t))")
    if spark.version >= "4":
        from pyspark.sql.functions import AnalyzeResult

        class Analyzed(Summed):
            @staticmethod
            def analyze(row):
                from pyspark.sql.types import LongType, StringType, StructType

                return AnalyzeResult(schema=StructType().add("n", LongType()).add("s", StringType()))

        spark.udtf.register("analyzed", F.udtf(Analyzed, useArrow=arrow))
        run(f"{form}.named", "SELECT id, u.n FROM t, LATERAL several(s => s, n => id) u")
        run(f"{form}.partitions", "SELECT * FROM summed(TABLE(SELECT id, s, k FROM t) PARTITION BY k ORDER BY id)")
        run(f"{form}.analyzed", "SELECT * FROM analyzed(TABLE(SELECT id, s FROM t) WITH SINGLE PARTITION)")
if hasattr(F, "arrow_udtf"):
    import pyarrow as pa

    @F.arrow_udtf(returnType="n bigint, s string")
    class Batches:
        def eval(self, batch):
            yield pa.table({"n": batch["id"], "s": batch["s"]})

    spark.udtf.register("batches", Batches)
    run("batches.table", "SELECT * FROM batches(TABLE(SELECT id, s FROM t))")
