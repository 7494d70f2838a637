"""The tables below a base address.

Invariants:
- a batch is written down (``batches``) before anything of it is read, with its inputs in order; a job that is repeated goes
  on with that batch;
- a batch is staged as a whole, in one commit, or not at all; every append from it carries the batch as application
  transaction (``txnAppId`` ``weft``), so that doing it again changes nothing;
- the ledger comes last: a batch is done if and only if the ledger has it. Until then its staging table stays.
"""

import os
from typing import Any, List, Optional

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from weft.spark._read import table_schema
from weft.spark._wrong_use import WrongUse


#: What identifies our commits among those of other writers.
APP_ID = "weft"

BATCHES = pa.schema([
    pa.field("batch", pa.int64(), nullable=False),
    # Number of the input within the batch, from 0.
    pa.field("seq", pa.int64(), nullable=False),
    pa.field("name", pa.string(), nullable=False),
    pa.field("location", pa.string(), nullable=False),
    pa.field("size", pa.int64()),
    pa.field("version", pa.string()),
    pa.field("problem", pa.string()),
    pa.field("collection", pa.string(), nullable=False),
])

LEDGER = pa.schema([
    pa.field("input", pa.string(), nullable=False),
    pa.field("digest", pa.string()),
    pa.field("size", pa.int64()),
    # done, known (its content was there already), or failed.
    pa.field("state", pa.string(), nullable=False),
    pa.field("records", pa.int64(), nullable=False),
    pa.field("captures", pa.int64(), nullable=False),
    pa.field("links", pa.int64(), nullable=False),
    pa.field("quarantined", pa.int64(), nullable=False),
    pa.field("batch", pa.int64(), nullable=False),
    pa.field("failure", pa.string()),
    pa.field("location", pa.string(), nullable=False),
    pa.field("version", pa.string()),
])

#: Order of rows within the files of a table.
SORTED_BY = {
    "captures": ("url_surtkey", "fetch_time"),
    "links": ("source_surtkey",),
    "quarantine": ("input", "offset"),
}


class Tables:
    """The tables below ``base``."""

    def __init__(self, spark: SparkSession, base: str) -> None:
        self.spark = spark
        # Tables that SQL names must have absolute paths.
        self.base = base.rstrip("/") if "://" in base else os.path.abspath(base)

    def path(self, *names: str) -> str:
        return "/".join([self.base, *names])

    def create(self, links: str) -> None:
        """Makes the tables that are missing. Refuses a base whose tables keep other links."""
        schemas = {
            "batches": BATCHES,
            **{name: table_schema(name) for name in ("captures", "links", "quarantine")},
            "ledger": LEDGER,
        }
        for name, schema in schemas.items():
            if not self.exists(name):
                self._create(name, from_arrow_schema(schema), {"weft.links": links})
            else:
                self._add_columns(name, from_arrow_schema(schema))
        kept = self._properties("captures").get("weft.links")
        if kept is None:
            raise WrongUse(f"{self.path('captures')} is a table of something else; choose another base")
        if kept != links:
            raise WrongUse(f"{self.base} keeps {kept} links since its first load; this job asks for {links}")

    def _create(self, name: str, schema: StructType, properties: "dict[str, str]") -> None:
        def of(field: Any) -> str:
            return f"`{field.name}` {field.dataType.simpleString()}{'' if field.nullable else ' NOT NULL'}"

        columns = ", ".join(map(of, schema))
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._named(name)} ({columns}) USING DELTA TBLPROPERTIES ({pairs})"
        )

    def _add_columns(self, name: str, schema: StructType) -> None:
        """Gives a table that an older version began the columns that were added since: its rows have no value in them."""
        there = set(self.read(name).columns)
        added = [field for field in schema if field.name not in there and field.nullable]
        if added:
            columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in added)
            self.spark.sql(f"ALTER TABLE {self._named(name)} ADD COLUMNS ({columns})")

    def _named(self, name: str) -> str:
        return "delta.`" + self.path(name).replace("`", "``") + "`"

    def _properties(self, name: str) -> "dict[str, str]":
        rows = self.spark.sql(f"SHOW TBLPROPERTIES {self._named(name)}").collect()
        return {row["key"]: row["value"] for row in rows}

    def exists(self, *names: str) -> bool:
        """Whether there is a table: its first commit is there as a whole or not at all."""
        # Once a checkpoint is written, old commits may be cleaned up.
        log = self._hadoop(self.path(*names, "_delta_log"))
        files = log.getFileSystem(self._hadoop_conf())
        if not files.exists(log):
            return False
        names_there = [status.getPath().getName() for status in files.listStatus(log)]
        return any(name.endswith((".json", ".parquet")) and name[:1].isdigit() for name in names_there)

    def remove(self, *names: str) -> None:
        """Removes a folder, if it is there."""
        path = self._hadoop(self.path(*names))
        path.getFileSystem(self._hadoop_conf()).delete(path, True)

    def _hadoop(self, path: str) -> Any:
        return self.spark._jvm.org.apache.hadoop.fs.Path(path)

    def _hadoop_conf(self) -> Any:
        return self.spark.sparkContext._jsc.hadoopConfiguration()

    def read(self, *names: str, version: Optional[int] = None) -> DataFrame:
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.path(*names))

    def version(self, name: str) -> int:
        """The newest version of a table."""
        return self.spark.sql(f"DESCRIBE HISTORY {self._named(name)} LIMIT 1").collect()[0]["version"]

    def append(self, name: str, rows: DataFrame, batch: int) -> None:
        """Appends the rows of a batch, once however often it is done."""
        if name in SORTED_BY:
            rows = rows.sortWithinPartitions(*SORTED_BY[name])
        (
            rows.write.format("delta")
            .mode("append")
            .option("txnAppId", APP_ID)
            .option("txnVersion", str(batch))
            .save(self.path(name))
        )

    def append_list(self, name: str, rows: List[dict], schema: pa.Schema, batch: int) -> None:
        """The same with rows of the driver, in one file."""
        table = pa.Table.from_pylist(rows, schema=schema)
        frame = self.spark.createDataFrame(table, schema=from_arrow_schema(schema))
        self.append(name, frame.coalesce(1), batch)

    def planned(self, batch: int) -> List[Any]:
        """The rows of a batch in ``batches``, in order."""
        return self.read("batches").where(F.col("batch") == batch).orderBy("seq").collect()

    def last_batch(self, name: str) -> int:
        """The last batch that a table has; 0 if none."""
        return self.read(name).agg({"batch": "max"}).collect()[0][0] or 0
