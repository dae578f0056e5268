"""A driver without executors of its own, for the C programs that become its executors. Says where it is in one line of
JSON, then does what it is told, a word a line: `squares` runs a job of four tasks, the end of the input stops it."""

import json
import sys

from pyspark import SparkContext

sc = SparkContext("local-cluster[0,1,1024]", "capi")
port = sc.getConf().get("spark.driver.port")
url = f"spark://CoarseGrainedScheduler@localhost:{port}"
print("driver> " + json.dumps({"url": url, "app": sc.applicationId}), flush=True)
for line in sys.stdin:
    assert line.strip() == "squares", line
    print("driver> " + json.dumps(sc.parallelize(range(1000), 4).map(lambda i: i * i).sum()), flush=True)
sc.stop()
