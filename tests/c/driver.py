"""A driver without executors of its own, for the C programs that become its executors. Says where it is in one line of
JSON, then does what it is told, a word a line: `squares` runs a Python job of four tasks, `sql` one of Spark SQL, the end of the input stops it."""

import json
import sys

from pyspark import SparkContext
from pyspark.sql import SparkSession

sc = SparkContext("local-cluster[0,1,1024]", "capi")
port = sc.getConf().get("spark.driver.port")
url = f"spark://CoarseGrainedScheduler@localhost:{port}"
print("driver> " + json.dumps({"url": url, "app": sc.applicationId}), flush=True)
for line in sys.stdin:
    jobs = {
        "squares": lambda: sc.parallelize(range(1000), 4).map(lambda i: i * i).sum(),
        "sql": lambda: SparkSession(sc).range(0, 1000, 1, 4).selectExpr("sum(id * id)").collect()[0][0],
    }
    print("driver> " + json.dumps(jobs[line.strip()]()), flush=True)
sc.stop()
