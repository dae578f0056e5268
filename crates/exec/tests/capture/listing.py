"""Jobs that list the files of a table with many directories, and look for columns in files, for capture. Argument: a scratch directory."""
import sys

from pyspark.sql import SparkSession

directory = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
frame = spark.range(0, 8, 1, 1).selectExpr("id", "id % 4 AS p")
frame.write.mode("overwrite").partitionBy("p").parquet(f"{directory}/table")
spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "2")
spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")


def run(name, **options):
    spark.sparkContext.setLocalProperty("capture.name", name)
    spark.read.options(**options).parquet(f"{directory}/table")


run("listing")
run("listing.missing", ignoreMissingFiles=True)
spark.conf.set("spark.sql.sources.ignoreDataLocality", "true")
run("listing.places")
