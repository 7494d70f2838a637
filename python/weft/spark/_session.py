"""A Spark session that can write Delta tables, and the settings that our rows need."""

import os
import sys
from typing import Mapping, Optional, Sequence

from pyspark.sql import SparkSession

#: What a session must have when it is made. Whoever starts it by ``spark-submit`` sets them there, with the jars.
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

#: Settings of our own session, which shares nothing but the cluster with its parent.
_OURS = {
    "spark.sql.session.timeZone": "UTC",
    # INT96, the default, is refused by some readers; calendars are not converted: archives have dates of year 1.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # A log of some thousand files is read by few tasks, not 50.
    "spark.databricks.delta.snapshotPartitions": "4",
}


def session(
    master: Optional[str] = None,
    *,
    conf: Optional[Mapping[str, str]] = None,
    packages: Sequence[str] = (),
) -> SparkSession:
    """A session that can write Delta tables.

    Under ``spark-submit`` it is that one's: ``master`` and the jars are given there (``--packages``). Else the jars come by
    ``spark.jars.packages``, through Ivy; ``packages`` are more of them.
    """
    # Workers must run a Python that has this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("weft")
    if master is not None:
        builder = builder.master(master)
    for key, value in {**DELTA, **(conf or {})}.items():
        builder = builder.config(key, value)
    if "PYSPARK_GATEWAY_PORT" not in os.environ and "spark.jars" not in (conf or {}):
        from delta import configure_spark_with_delta_pip

        builder = configure_spark_with_delta_pip(builder, extra_packages=list(packages))
    return builder.getOrCreate()


def ours(spark: SparkSession) -> SparkSession:
    """A session with our settings and names on the same cluster, so that those of the caller stay as they are."""
    own = spark.newSession()
    for key, value in _OURS.items():
        own.conf.set(key, value)
    return own
