"""Files of HDFS and of an S3 server, read by RDD jobs, read and written by Spark SQL; text by Spark SQL also from the host. The servers belong to the job. `native`: no task needs a JVM; `left`: tasks
that only the JVM can do, or fail in Hadoop's words.

usage: spark-submit ... remote_files.py RESULT SCRATCH SERVICES MINIDFS_CLASS_PATH native|left [THEME...]"""

import bz2
import datetime
import decimal
import gzip
import io
import os
import re
import subprocess
import sys
import threading
import urllib.request
import zipfile
import zlib

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from containers import of_columns
from support import BLOCK_SIZES, Themes, digest, mask, rows, thrown, wait_for, without_numbers

BUCKET = "s3a://firesteel-data"
BLOCK = 1 << 20
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Servers:
    """A name node with a data node, and an S3 server, as processes that end with this one."""

    def __init__(self, services, scratch, class_path):
        java = os.path.join(os.environ["JAVA_HOME"], "bin/java")
        source = os.path.join(os.environ["E2E_JOBS"], "../java/MiniDfs.java")
        self.dfs = subprocess.Popen(
            [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", class_path, source, f"{scratch}/dfs"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(f"{scratch}/dfs.log", "w"), text=True)
        self.s3 = subprocess.Popen(
            [f"{services}/moto/bin/python", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def s3_url(self):
        for line in self.s3.stderr:
            if "Running on http" in line:
                return line.split("Running on ")[1].split()[0]
        raise RuntimeError("the S3 server did not start")

    def drain_s3(self):
        """Its log of requests must go somewhere."""
        threading.Thread(target=self.s3.stderr.read, daemon=True).start()

    def dfs_uri(self):
        for line in self.dfs.stdout:
            if line.startswith("hdfs://"):
                return line.strip()
        raise RuntimeError("HDFS did not start")

    def stop(self):
        self.dfs.stdin.close()
        self.s3.terminate()
        self.s3.wait()
        self.dfs.wait()


def content(lines, width):
    return "".join(f"line {i} " + "äb"[i % 2] * (i * 7919 % width) + ("\r\n" if i % 5 == 0 else "\n")
                   for i in range(lines)).encode()


def write(run, root, name, data):
    """Writes a file through Hadoop's own client in the driver, in blocks of `BLOCK` bytes."""
    jvm = run.sc._jvm
    path = jvm.org.apache.hadoop.fs.Path(f"{root}/{name}")
    out = path.getFileSystem(run.sc._jsc.hadoopConfiguration()).create(path, True, 65536, 1, BLOCK)
    out.write(bytearray(data))
    out.close()


def make_files(run, root):
    small = content(2000, 60)
    write(run, root, "large/big.txt", content(40_000, 160))
    write(run, root, "text/a b%20é.txt", small)
    write(run, root, "text/empty.txt", b"")
    write(run, root, "text/no-newline.txt", b"one\ntwo")
    write(run, root, "packed/x.txt.gz", gzip.compress(small, mtime=0))
    write(run, root, "packed/x.txt.bz2", bz2.compress(small))
    write(run, root, "packed/x.deflate", zlib.compress(small))
    write(run, root, "records/r", bytes(range(256)) * 40)


SALES = "id bigint, name string, price decimal(12, 2), day date, store int"


def sales(first, count):
    """A Parquet file of several row groups."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({
        "id": pyarrow.array(range(first, first + count), pyarrow.int64()),
        "name": pyarrow.array([None if i % 11 == 0 else f"näme {i % 17}" for i in range(count)]),
        "price": pyarrow.array([decimal.Decimal(i * 7919 % 100_000) / 100 for i in range(count)], pyarrow.decimal128(12, 2)),
        "day": pyarrow.array([datetime.date(2024, 1, 1) + datetime.timedelta(i % 40) for i in range(count)]),
    })
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, row_group_size=count // 4, compression="snappy")
    return out.getvalue()


def masked(text, root):
    return mask(text.replace(root, "<root>"))


def text(run, root):
    """Lines of small files, with names that are no good URIs."""
    lines = run.sc.textFile(f"{root}/text")
    return {"lines": digest(lines.collect()), "count": lines.map(len).sum(), "first": lines.take(2)}


def packed(run, root):
    return {"lines": digest(run.sc.textFile(f"{root}/packed").map(lambda line: line.upper()).collect())}


def whole(run, root):
    texts = run.sc.wholeTextFiles(f"{root}/text").mapValues(digest).collect()
    binary = run.sc.binaryFiles(f"{root}/packed").mapValues(digest).collect()
    records = run.sc.binaryRecords(f"{root}/records", 64).map(lambda record: record[0]).collect()
    return {
        "texts": sorted((masked(path, root), found) for path, found in texts),
        "binary": sorted((masked(path, root), found) for path, found in binary),
        "records": digest(records),
    }


def splits(run, root):
    """Splits that begin and end within lines."""
    found = run.sc.textFile(f"{root}/large", 7)
    words = found.flatMap(lambda line: line.split()).map(lambda word: (word[:3], 1))
    return {
        "partitions": found.getNumPartitions(),
        "parts": found.mapPartitions(lambda lines: [digest(list(lines))]).collect(),
        "words": sorted(words.reduceByKey(lambda a, b: a + b, 3).collect()),
    }


def cached(run, root):
    lines = run.sc.textFile(f"{root}/text").cache()
    return [lines.count(), digest(lines.collect())]


def delimited(run, root):
    """Settings that travel with the tasks."""
    conf = run.sc._jsc.hadoopConfiguration()
    conf.set("textinputformat.record.delimiter", "ne 1")
    try:
        return digest(run.sc.textFile(f"{root}/text", 5).collect())
    finally:
        conf.unset("textinputformat.record.delimiter")


def dependencies(run, root):
    """addFile of a file and of a directory, addPyFile, and an archive."""
    sc, scratch = run.sc, run.scratch
    with zipfile.ZipFile(f"{scratch}/remote_module.zip", "w") as out:
        out.writestr("remote_module.py", "def answer():\n    return 'remote module'\n")
    with zipfile.ZipFile(f"{scratch}/tree.zip", "w") as out:
        out.writestr("inner/leaf.txt", "leaf")
    for name in ["remote_module.zip", "tree.zip"]:
        with open(f"{scratch}/{name}", "rb") as source:
            write(run, root, f"dependencies/{name}", source.read())
    write(run, root, "dependencies/data file.txt", b"remote file")
    write(run, root, "dependencies/dir/a.txt", b"in a directory")
    write(run, root, "dependencies/dir/sub/b.txt", b"below")
    sc.addFile(f"{root}/dependencies/data%20file.txt")
    sc.addFile(f"{root}/dependencies/dir", recursive=True)
    sc.addPyFile(f"{root}/dependencies/remote_module.zip")
    sc.addArchive(f"{root}/dependencies/tree.zip#unpacked")

    def look(_):
        import remote_module

        def text(name):
            with open(SparkFiles.get(name)) as source:
                return source.read()

        return (remote_module.answer(), text("data file.txt"), text("dir/a.txt"), text("dir/sub/b.txt"),
                text("unpacked/inner/leaf.txt"))

    return sorted(set(sc.parallelize(range(8), 8).map(look).collect()))


def gone(run, root):
    """A file that is deleted after the driver has seen it."""
    write(run, root, "gone/x.txt", b"1\n2\n")
    # One task, as nobody knows which of several fails first.
    lines = run.sc.textFile(f"{root}/gone", 1)
    assert lines.getNumPartitions() == 1
    path = run.sc._jvm.org.apache.hadoop.fs.Path(f"{root}/gone/x.txt")
    path.getFileSystem(run.sc._jsc.hadoopConfiguration()).delete(path, False)
    found = thrown(lines.count)
    return {"type": found["type"], "message": masked(found["message"].split("\n")[0], root)}


def checkpoint(run, root):
    """A reliable checkpoint, and text that an RDD is saved as."""
    run.sc.setCheckpointDir(f"{root}/checkpoints")
    numbers = run.sc.parallelize(range(3000), 3).map(lambda n: n * n)
    numbers.checkpoint()
    count = numbers.count()
    numbers.map(lambda n: f"{n} wörds").saveAsTextFile(f"{root}/saved")
    return [written(run, f"{root}/saved"), count, numbers.isCheckpointed(), digest(numbers.collect()), numbers.map(lambda n: n % 7).sum()]


def parquet(run, root):
    """Spark SQL over files with row groups, some of which belong to other splits, in directories that are partitions."""
    for store in range(3):
        write(run, root, f"sales/store={store}/part {store}-ü.parquet", sales(store * 100_000, 30_000 + 4 * store))
    spark = run.spark
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100k")
    # Without types: the driver has them found out.
    frame = spark.read.parquet(f"{root}/sales")
    frame.createOrReplaceTempView("sales")
    grouped = spark.sql("select store, name, count(*), sum(price), min(day), max(id) from sales "
                        "where id % 3 = 1 and day > date'2024-01-05' group by store, name order by store, name")
    joined = spark.sql("select a.id, a.price, b.day from sales a join sales b on a.id = b.id + 100000 "
                       "where a.price < 5.00 and b.store = 0 order by a.id limit 50")
    listed = None
    if root.startswith("s3a"):
        # Where blocks are is for the JVM to ask the name node.
        spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "1")
        write(run, root, "sales/store=2/_hidden", b"nobody reads this")
        write(run, root, "sales/store=2/old_$folder$", b"")
        again = spark.read.parquet(f"{root}/sales")
        listed = [sorted(name.rsplit("/", 2)[1:] for name in again.inputFiles()), again.dtypes]
        spark.conf.unset("spark.sql.sources.parallelPartitionDiscovery.threshold")
    return {"listed": listed, "parts": frame.rdd.getNumPartitions(), "grouped": rows(grouped), "joined": rows(joined),
            "all": digest(sorted(rows(frame.where("price > 999.50"))))}


def sql_text(run, root):
    """Lines of text as rows of Spark SQL: parts of a file, packed files, files as rows, columns of directories."""
    spark = run.spark
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "300k")
    # Files of one size come in the order of their directories' hashes, which has the server's port in it.
    for day, end in [("2024-01-05", ""), ("2024-02-29", "\nand more")]:
        write(run, root, f"days/day={day}/lines.txt", f"{day}\n\n äöü€\r\nlast{end}".encode())
    large = spark.read.text(f"{root}/large")
    large.createOrReplaceTempView("large")
    lengths = spark.sql("select length(value) % 7 as n, count(*), min(value), max(substring(value, 6, 4)) from large group by 1 order by 1")
    small = spark.read.text([f"{root}/text", f"{root}/packed"])
    days = spark.read.text(f"{root}/days")
    return {
        "parts": large.rdd.getNumPartitions(),
        "lengths": rows(lengths),
        "count": [large.count(), small.count()],
        "small": digest(sorted(rows(small.where("value like '%b%'")))),
        "separated": digest(sorted(rows(spark.read.text(f"{root}/text", lineSep="ne 1")))),
        "whole": rows(spark.read.text(f"{root}/packed", wholetext=True).selectExpr("length(value)", "substring(value, 3, 9)")),
        "days": rows(days.orderBy("day", "value")),
        "days alone": rows(days.groupBy("day").count().orderBy("day")),
    }


def written(run, path):
    """What is below a directory as Hadoop's client sees it; of lines also the blocks and the content."""
    jvm = run.sc._jvm
    root = jvm.org.apache.hadoop.fs.Path(path)
    system = root.getFileSystem(run.sc._jsc.hadoopConfiguration())
    found, waiting = [], [root]
    while waiting:
        for status in system.listStatus(waiting.pop()):
            name = status.getPath().toString()
            about = [UUID.sub("uuid", name.replace(path, "")), status.getPermission().toString(), status.getOwner() == os.environ.get("USER", "root")]
            if status.isDirectory():
                waiting.append(status.getPath())
            else:
                about += [status.getReplication(), status.getBlockSize()]
                if not name.endswith(".parquet"):
                    stream = system.open(status.getPath())
                    content = jvm.org.apache.commons.io.IOUtils.toByteArray(stream)
                    stream.close()
                    about += [len(system.getFileBlockLocations(status, 0, status.getLen())), digest(gzip.decompress(content) if name.endswith(".gz") else content)]
            found.append(about)
    return sorted(found, key=str)


def encrypted(run, path):
    """How objects below a path are encrypted, as the server says."""
    conf = run.sc._jsc.hadoopConfiguration()
    root = run.sc._jvm.org.apache.hadoop.fs.Path(path)
    system = root.getFileSystem(conf)
    parts = [status.getPath() for status in system.listStatus(root) if status.getPath().getName().endswith(".parquet")]
    return [system.getXAttr(part, "header.x-amz-server-side-encryption").decode() for part in parts]


def writes(run, root):
    """Tables that are written in every way: what is there then, and what is read there."""
    spark = run.spark
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    frame = spark.range(0, 20_000, 1, 2).selectExpr(
        "id", "concat('näme ', id % 17) AS name", "CAST(id % 1000 AS decimal(12, 2)) AS price",
        "CASE id % 4 WHEN 0 THEN 'a b' WHEN 1 THEN 'ü=%/' WHEN 2 THEN '' END AS part", "date_add(date'2024-01-01', CAST(id % 3 AS int)) AS day")
    large = spark.range(0, 1_300_000, 1, 1)
    texts = frame.selectExpr("concat(id, ' ', name) AS value")
    dynamic = frame.where("part = 'a b' AND day > date'2024-01-01'").selectExpr("-id AS id", "name", "price", "part", "day")
    to = f"{root}/written"
    frame.write.parquet(f"{to}/parquet")
    frame.coalesce(1).write.partitionBy("part", "day").parquet(f"{to}/parts")
    dynamic.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy("part", "day").parquet(f"{to}/parts")
    large.write.option("compression", "none").parquet(f"{to}/large")
    texts.write.text(f"{to}/text")
    frame.where("id < 900").coalesce(1).write.option("mapreduce.fileoutputcommitter.algorithm.version", "2").partitionBy("part", "day").parquet(f"{to}/merged")
    names = ["parquet", "parts", "large", "merged"]
    # Requests to the S3 server take long.
    if root.startswith("hdfs"):
        frame.where("id < 100").coalesce(1).write.mode("append").parquet(f"{to}/parquet")
        frame.where("id < 0").write.parquet(f"{to}/none")
        frame.coalesce(1).write.option("maxRecordsPerFile", 7000).option("compression", "zstd").parquet(f"{to}/records")
        large.selectExpr("CAST(id AS string) AS value").write.text(f"{to}/lines")
        frame.write.option("header", True).option("compression", "gzip").csv(f"{to}/csv")
        frame.coalesce(1).write.partitionBy("day").json(f"{to}/json")
        texts.where("value LIKE '1%'").write.mode("overwrite").text(f"{to}/text")
        names += ["none", "records"]
    tables = {name: spark.read.parquet(f"{to}/{name}") for name in names}
    return {
        "files": written(run, to),
        "encrypted": encrypted(run, f"{to}/parquet") if root.startswith("s3a") else None,
        "rows": {name: rows(table.selectExpr("count(*)", "sum(id)", "min(id)")) for name, table in tables.items()},
        "parts": rows(tables["parts"].groupBy("part", "day").count().orderBy("part", "day")),
        "text": digest(sorted(rows(spark.read.text(f"{to}/text")))),
    }


def sql_left(run, root):
    """Writes that only Hadoop's own client does: into a directory whose files inherit permissions, and of objects with permissions of their own."""
    spark, jvm = run.spark, run.sc._jvm
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    conf = run.sc._jsc.hadoopConfiguration()
    to = f"{root}/permissions"
    key = "fs.s3a.acl.default"
    if root.startswith("hdfs"):
        path = jvm.org.apache.hadoop.fs.Path(to)
        system = path.getFileSystem(conf)
        system.mkdirs(path)
        entries = jvm.org.apache.hadoop.fs.permission.AclEntry.parseAclSpec("user::rwx,group::rwx,other::r-x,default:user::rwx,default:group::rwx,default:other::r-x", True)
        system.setAcl(path, entries)
    else:
        conf.set(key, "PublicRead")
    try:
        spark.range(0, 100, 1, 1).selectExpr("CAST(id AS string) AS value").write.mode("append").text(to)
    finally:
        conf.unset(key)
    return written(run, to)


def sql_provider(run, _):
    """As `provider`, for a scan of Spark SQL."""
    root = f"{BUCKET}-left"
    write(run, root, "sales/store=1/x.parquet", sales(0, 400))
    run.spark.conf.set("spark.sql.codegen.wholeStage", "false")
    return digest(rows(run.spark.read.schema(SALES).parquet(f"{root}/sales")))


def provider(run, _):
    """Credentials that a chain gives of which only the JVM knows a part."""
    root = f"{BUCKET}-left"
    write(run, root, "x.txt", b"1\n2\n")
    return run.sc.textFile(f"{root}/x.txt").collect()


def removed(run, _):
    """A file of addFile that all executors have fetched when the driver's is removed: later tasks, in JVMs that begin with them, must not need it."""
    sc = run.sc
    path = f"{run.scratch}/removed.txt"
    with open(path, "w") as out:
        out.write("fetched before it was removed")
    sc.addFile(path)

    def read(_):
        with open(SparkFiles.get("removed.txt")) as source:
            yield source.read()

    everywhere = sc.parallelize(range(sc.defaultParallelism), sc.defaultParallelism)
    found = everywhere.barrier().mapPartitions(read).collect()
    os.remove(path)
    return found


NATIVE = [("text", text), ("packed", packed), ("whole", whole), ("splits", splits), ("cached", cached),
          ("delimited", delimited), ("dependencies", dependencies), ("parquet", parquet), ("sql text", sql_text), ("writes", writes), ("checkpoint", checkpoint)]
LEFT = [("removed", removed), ("gone", gone), ("provider", provider), ("sql provider", sql_provider), ("sql left", sql_left)]


def main(result, scratch, services, class_path, kind, *only):
    servers = Servers(services, scratch, class_path)
    try:
        s3 = servers.s3_url()
        servers.drain_s3()
        for bucket in ["firesteel-data", "firesteel-data-left"]:
            urllib.request.urlopen(urllib.request.Request(f"{s3}/{bucket}", method="PUT")).close()
        settings = {
            "endpoint": s3,
            "access.key": "key",
            "secret.key": "secret",
            "path.style.access": "true",
            "endpoint.region": "us-east-1",
            "block.size": str(BLOCK),
            "bucket.firesteel-data.requester.pays.enabled": "true",
            "bucket.firesteel-data.encryption.algorithm": "AES256",
            "bucket.firesteel-data-left.aws.credentials.provider":
                "com.amazonaws.auth.SystemPropertiesCredentialsProvider,org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        }
        builder = SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(f"spark.hadoop.fs.s3a.{key}", value)
        for key, value in [("dfs.blocksize", "1m"), ("dfs.replication", "2"), ("fs.permissions.umask-mode", "027")]:
            builder = builder.config(f"spark.hadoop.{key}", value)
        spark = builder.getOrCreate()
        run = Themes(spark)
        run.scratch = scratch
        run.other_compressor = True
        wait_for("two executors", lambda: len(run.rest.executors()) == 2, 200)
        hdfs = servers.dfs_uri() + "/data"
        for scheme, root in [("hdfs", hdfs), ("s3a", BUCKET), ("file", f"file:{scratch}/local")]:
            if scheme == "file" and kind != "native":
                continue
            if kind == "native":
                make_files(run, root)
            for name, body in NATIVE if kind == "native" else LEFT:
                # What RDDs do with files of the host has jobs of its own.
                # What is written there has jobs of its own, too.
                if scheme == "file" and body is not sql_text:
                    continue
                # Both roots' dependencies would have the same names; the bucket is one for S3A only.
                if (name, scheme) in [("dependencies", "s3a"), ("removed", "s3a"), ("provider", "hdfs"), ("sql provider", "hdfs")]:
                    continue
                name = f"{scheme} {name}"
                if not only or name in only:
                    # A read of an object gets what has arrived, and S3A counts what it throws away when it closes a stream.
                    # Short texts become blocks whose size depends on the compressor.
                    # Parquet's pages are of another library.
                    exact = kind == "native" and scheme != "s3a" and body not in (cached, writes)
                    metrics = "exact" if exact else "none"
                    if body is parquet:
                        metrics = "unordered"
                    run.run(name, lambda themes, body=body, root=root: body(themes, root), metrics)
                    if body is parquet:
                        run.result["metrics"][name] = of_columns(run.result["metrics"][name])
                    if body is sql_text and exact:
                        run.result["metrics"][name] = without_numbers(run.result["metrics"][name], BLOCK_SIZES)
        run.count_tasks()
        run.result["version"] = spark.version
        run.write(result)
        spark.stop()
    finally:
        servers.stop()


main(*sys.argv[1:])
