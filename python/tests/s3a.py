"""Spark through Hadoop's s3a: `s3a.py ENDPOINT KEY SECRET LOG` writes a Delta table, reads it twice, and prints as JSON what
it found and how many objects the store at the other end was asked for by then, which writes LOG.
"""

import json
import sys
import time

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

endpoint, key, secret, log = sys.argv[1:]

#: What s3a needs. The bundle of all of Amazon's clients, which it names, is 600 MB; these have all that is used here.
HADOOP = "3.4.2"
SDK = "2.29.52"
PACKAGES = [f"org.apache.hadoop:hadoop-aws:{HADOOP}"] + [
    f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "s3-transfer-manager", "sts", "apache-client")
]
CONF = {
    "spark.jars.excludes": "software.amazon.awssdk:bundle",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.hadoop.fs.s3a.endpoint": endpoint,
    "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
    "spark.hadoop.fs.s3a.access.key": key,
    "spark.hadoop.fs.s3a.secret.key": secret,
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
}

builder = SparkSession.builder.master("local[2]").appName("s3a")
for name, value in CONF.items():
    builder = builder.config(name, value)
spark = configure_spark_with_delta_pip(builder, extra_packages=PACKAGES).getOrCreate()

table = "s3a://lake/sales/orders"
orders = spark.range(200_000).select("id", (f.col("id") % 97).alias("shop"), (f.col("id") * 7 % 1000).alias("cents"))
orders.repartition(4).write.format("delta").save(table)
spark.sql(f"INSERT INTO delta.`{table}` SELECT id + 1000000, shop, 0 FROM delta.`{table}` WHERE shop < 3")


def gets() -> int:
    # Its lines are written behind its answers.
    time.sleep(1)
    with open(log) as lines:
        found = map(json.loads, lines)
        # What is not there has no data.
        return sum(line["operation"] == "GetObject" and line["status"] < 300 for line in found)


def read() -> "list[int]":
    return list(spark.read.format("delta").load(table).agg(f.count("id"), f.sum("cents"), f.countDistinct("shop")).first())


first, asked_first = read(), gets()
second, asked_second = read(), gets()
expected = [200_000 + sum(i % 97 < 3 for i in range(200_000)), sum(i * 7 % 1000 for i in range(200_000)), 97]
print(json.dumps({"found": [first, second], "expected": expected, "asked": [asked_first, asked_second]}))
