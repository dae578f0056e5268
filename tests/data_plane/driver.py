"""A driver with broadcast variables and no executors. Prints what an executor needs to know, one JSON object; ends with its input."""

import json
import random
import sys
import zlib

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local-cluster[0,1,512]").setAppName("broadcasts")
conf.set("spark.executor.memory", "512m").set("spark.ui.enabled", "false")
conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
for setting in sys.argv[1:]:
    conf.set(*setting.split("=", 1))
sc = SparkContext(conf=conf)


def java_object(value):
    """The Java object stream of a value, in hexadecimal."""
    buffer = sc._jvm.java.io.ByteArrayOutputStream()
    out = sc._jvm.java.io.ObjectOutputStream(buffer)
    out.writeObject(value)
    out.close()
    return bytes(buffer.toByteArray()).hex()


python = sc.broadcast(random.Random(7).randbytes(5_000_000))
with open(python._path, "rb") as file:
    pickle = file.read()
print(json.dumps({
    "port": int(sc.getConf().get("spark.driver.port")),
    "app_id": sc.applicationId,
    "python": java_object(python._jbroadcast),
    "pickle_len": len(pickle),
    "pickle_adler32": zlib.adler32(pickle),
    "bytes": java_object(sc._jsc.broadcast(bytearray(b"bytes of a JVM " * 1000))),
}), flush=True)
sys.stdin.read()
sc.stop()
