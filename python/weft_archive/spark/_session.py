"""Makes Spark sessions that can write Delta tables, with the settings that the tables need."""

import os
import sys
from typing import Mapping, Optional, Sequence

from pyspark.sql import SparkSession

#: Settings that a session needs from the start. With ``spark-submit``, they and the jars are set there.
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

#: Settings of our session, which shares only the cluster with its parent.
_OURS = {
    "spark.sql.session.timeZone": "UTC",
    # Some readers reject INT96, the default. Calendars are not converted: archives contain dates in year 1.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}

#: Settings of our session that its parent may have other values of.
_UNLESS_SET = {
    # Logs of some thousand files need only a few tasks, not 50.
    "spark.databricks.delta.snapshotPartitions": "4",
    # Rows that a Python worker gets at once: by default there may be 10,000, whatever their texts take.
    "spark.sql.execution.arrow.maxBytesPerBatch": "33554432",
}


def session(
    master: Optional[str] = None,
    *,
    conf: Optional[Mapping[str, str]] = None,
    packages: Sequence[str] = (),
) -> SparkSession:
    """Returns a session that can write Delta tables.

    Under ``spark-submit`` this is its session, and ``master`` and the jars are set there (``--packages``). Otherwise the
    jars are downloaded through Ivy (``spark.jars.packages``); ``packages`` are additional jars.
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
    """Returns a session with our settings on the same cluster, so that the caller's session is not changed."""
    own = spark.newSession()
    for key, value in _OURS.items():
        own.conf.set(key, value)
    for key, value in _UNLESS_SET.items():
        if own.conf.get(key, None) is None:
            own.conf.set(key, value)
    return own
