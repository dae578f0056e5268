"""What the driver of chaos.py does besides what other benchmarks ask for. Part of `Held`."""

import json
import os
import re
import shutil
import threading
import time

from pyspark.sql import SparkSession
from support import digest


def rows_of(frame):
    return digest(sorted([str(cell) for cell in row] for row in frame.collect()))


class ChaosJobs:
    """Part of `Held`."""

    def chaos_writes(self, _):
        """Writes a table by partitions, and what a query over it says."""
        from pyspark.sql import functions as F

        session, directory = SparkSession(self.sc), os.path.join(self.scratch, "chaos-writes")
        shutil.rmtree(directory, ignore_errors=True)
        rows = session.range(0, 300_000, 1, 6).select("id", (F.col("id") % 5).alias("part"), F.concat(F.lit("text "), F.col("id") % 977).alias("s"))
        rows.write.partitionBy("part").parquet(directory)
        read = session.read.parquet(directory)
        return {"rows": rows_of(read.groupBy("part").agg(F.count("*"), F.sum("id"), F.max("s")))}

    def chaos_cached(self, _):
        """Two queries over a cached table, partitions of which may be gone in between."""
        from pyspark.sql import functions as F

        session = SparkSession(self.sc)
        kept = session.range(0, 400_000, 1, 6).select("id", (F.col("id") % 1009).alias("k"), F.concat(F.lit("t"), F.col("id") % 31).alias("s")).cache()
        try:
            return {"sums": rows_of(kept.groupBy("k").agg(F.sum("id"))), "texts": rows_of(kept.groupBy("s").agg(F.count("*"), F.max("id")))}
        finally:
            kept.unpersist()

    def chaos_stream(self, _):
        """Sums of a stream of files, with state in two partitions."""
        from pyspark.sql import functions as F

        session, directory = SparkSession(self.sc), os.path.join(self.scratch, "chaos-stream")
        if not os.path.exists(directory):
            os.makedirs(directory)
            for number in range(6):
                with open(os.path.join(directory, f"{number}.json"), "w") as out:
                    out.writelines(json.dumps({"k": n % 50, "v": n * number}) + "\n" for n in range(5000))
        session.conf.set("spark.sql.shuffle.partitions", 2)
        name = f"stream{time.monotonic_ns()}"
        try:
            rows = session.readStream.schema("k bigint, v bigint").option("maxFilesPerTrigger", 3).json(directory)
            sums = rows.groupBy("k").agg(F.sum("v"), F.count("*"))
            query = sums.writeStream.outputMode("complete").format("memory").queryName(name).start()
            try:
                query.processAllAvailable()
                return {"sums": rows_of(session.table(name))}
            finally:
                query.stop()
        finally:
            session.conf.set("spark.sql.shuffle.partitions", 8)

    def heartbeats_begin(self, _):
        """Keeps, from now on, when the driver last heard of each executor."""
        listeners = self.sc._jsc.sc().listenerBus().listeners()
        [receiver] = [one for one in listeners if one.getClass().getName() == "org.apache.spark.HeartbeatReceiver"]
        [field] = [one for one in receiver.getClass().getDeclaredFields() if one.getName().endswith("executorLastSeen")]
        field.setAccessible(True)
        self.heard = {}

        def listen():
            while True:
                time.sleep(0.1)
                try:
                    text = field.get(receiver).toString()
                except Exception:
                    # It is changed meanwhile.
                    continue
                for identity, at in re.findall(r"(\d+) -> (\d+)", text):
                    times = self.heard.setdefault(identity, [])
                    if not times or times[-1] != int(at) / 1000:
                        times.append(int(at) / 1000)

        threading.Thread(target=listen, daemon=True).start()

    def heartbeats(self, _):
        """By executor, in seconds since 1970."""
        return {identity: list(times) for identity, times in self.heard.items()}
