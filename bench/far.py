"""Spark SQL over Delta tables in an S3 store, for `bench/cache far`: `far.py ENDPOINT KEY SECRET BASE` prints a line when
it is ready, then takes statements as lines of JSON and prints for each how long it took and how many rows it had.
"""

import json
import sys
import time

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

endpoint, key, secret, base = sys.argv[1:]

#: What s3a needs of Hadoop and of Amazon's clients, instead of the bundle of all of these.
PACKAGES = ["org.apache.hadoop:hadoop-aws:3.4.2"] + [
    f"software.amazon.awssdk:{name}:2.29.52" for name in ("s3", "s3-transfer-manager", "sts", "apache-client")
]
CONF = {
    "spark.jars.excludes": "software.amazon.awssdk:bundle",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "4g",
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

builder = SparkSession.builder.master("local[2]").appName("far")
for name, value in CONF.items():
    builder = builder.config(name, value)
spark = configure_spark_with_delta_pip(builder, extra_packages=PACKAGES).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
for table in ("captures", "links"):
    spark.read.format("delta").load(f"{base}/{table}").createOrReplaceTempView(table)
print(json.dumps({"ready": True}), flush=True)

for line in sys.stdin:
    began = time.monotonic()
    rows = spark.sql(json.loads(line)).collect()
    print(json.dumps({"seconds": time.monotonic() - began, "rows": len(rows)}), flush=True)
