"""A first job: words counted with an RDD shuffle, and sales summed up with a DataFrame aggregation.

    spark-submit --conf spark.executorEnv.JAVA_HOME=/opt/firesteel examples/first_job.py
"""

import operator

from pyspark.sql import SparkSession, functions

TEXT = "the quick brown fox jumps over the lazy dog while the other dog sleeps"


def main():
    spark = SparkSession.builder.appName("first job").getOrCreate()

    words = spark.sparkContext.parallelize(TEXT.split() * 1000, 8)
    counts = words.map(lambda word: (word, 1)).reduceByKey(operator.add, 4)
    print("most frequent words:")
    for word, count in counts.takeOrdered(3, key=lambda pair: (-pair[1], pair[0])):
        print(f"    {word:8} {count}")

    sales = spark.range(0, 1_000_000, numPartitions=8).select(
        (functions.col("id") % 7).alias("shop"), (functions.col("id") % 1000 / 10).alias("price")
    )
    print("sales by shop:")
    totals = sales.groupBy("shop").agg(functions.count("*").alias("sold"), functions.sum("price").alias("total"))
    for row in totals.orderBy("shop").collect():
        print(f"    shop {row.shop}: {row.sold} sold for {row.total:.2f}")

    spark.stop()


main()
