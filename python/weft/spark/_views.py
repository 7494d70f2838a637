"""Computes views as tables, by their statements (``views/*.sql``) over the tables of facts."""

import json
from typing import Callable, Dict, Optional, Sequence

from pyspark.sql import SparkSession

from weft import _weft
from weft.spark._session import ours
from weft.spark._tables import Tables
from weft.spark._wrong_use import WrongUse


def compute_views(
    spark: SparkSession,
    base: str,
    names: Optional[Sequence[str]] = None,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Dict[str, int]:
    """Recomputes the views ``names`` (default: all) as tables ``views/NAME`` below ``base``. Returns their numbers of rows.

    All views are computed from the same versions of ``captures`` and ``links``; their commits record these versions. Each
    view is replaced in one commit; readers see the previous one until then.
    """
    statements = dict(_weft.views())
    unknown = [name for name in names or () if name not in statements]
    if unknown:
        raise WrongUse(f"no view {', '.join(unknown)}; the views are {', '.join(statements)}")
    tables = Tables(ours(spark), base)
    if not (tables.exists("captures") and tables.exists("links")):
        raise WrongUse(f"{tables.base} has no tables yet; load an input first")
    versions = {name: tables.version(name) for name in ("captures", "links")}
    for name, version in versions.items():
        tables.read(name, version=version).createOrReplaceTempView(name)
    rows = {}
    for name in names or statements:
        say(f"view {name}: computing")
        (
            tables.spark.sql(statements[name])
            .write.format("delta")
            .mode("overwrite")
            .option("overwriteSchema", "true")
            .option("userMetadata", json.dumps(versions))
            .save(tables.path("views", name))
        )
        rows[name] = tables.read("views", name).count()
        say(f"view {name}: {rows[name]:,} rows")
    return rows
