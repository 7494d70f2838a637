"""Loads on a cluster: Spark reads any number of inputs into Delta tables, and computes views of them.

The rows equal those of ``weft load``: each task reads one input with the program's reader and extraction. Spark does the
scheduling, the retries and the shuffles. A base address has the tables ``captures``, ``links``, ``quarantine``, ``ledger``,
``views/NAME`` and ``serving``. docs/scale.md explains how to run it::

    python -m weft_archive.spark --base s3a://bucket/web --master spark://host:7077 --views crawls/

From Python::

    from weft_archive.spark import compute_views, load, serve, session
    spark = session("local[2]")
    load(spark, "/data/web", ["crawls/"])
    compute_views(spark, "/data/web")
    serve(spark, "/data/web")
"""

from weft_archive.spark._load import Summary, load
from weft_archive.spark._serving import Served, serve
from weft_archive.spark._session import session
from weft_archive.spark._solr import SparkFacts
from weft_archive.spark._takedowns import take_down
from weft_archive.spark._texts import compute_texts, keeps_texts
from weft_archive.spark._views import compute_views
from weft_archive.spark._wrong_use import WrongUse

__all__ = [
    "Served",
    "SparkFacts",
    "Summary",
    "WrongUse",
    "compute_texts",
    "compute_views",
    "keeps_texts",
    "load",
    "serve",
    "session",
    "take_down",
]
