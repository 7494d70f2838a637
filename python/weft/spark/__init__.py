"""Loads on a cluster: Spark reads any number of inputs into Delta tables, and computes the views over them.

The rows are those of ``weft load``: each task reads one input with the reader and the extraction of the program. What is
distributed is Spark's: scheduling, retries, shuffles. Below one base address are the tables ``captures``, ``links``,
``quarantine`` and ``ledger``, and ``views/NAME``. docs/scale.md says how to run it::

    python -m weft.spark --base s3a://bucket/web --master spark://host:7077 --views crawls/

From Python::

    from weft.spark import compute_views, load, session
    spark = session("local[2]")
    load(spark, "/data/web", ["crawls/"])
    compute_views(spark, "/data/web")
"""

from weft.spark._load import Summary, load
from weft.spark._session import session
from weft.spark._views import compute_views
from weft.spark._wrong_use import WrongUse

__all__ = ["Summary", "WrongUse", "compute_views", "load", "session"]
