"""The tables below a base address.

Invariants:
- A batch is recorded in ``batches``, with its inputs in order, before any of them is read. A repeated job continues with
  that batch.
- A batch is staged in one commit. Every append from it carries the batch number as application transaction (``txnAppId``
  ``weft``), so appends are idempotent.
- The ledger comes last: a batch is done if and only if the ledger has it. Until then its staging table is kept.
"""

import json
import os
from typing import Any, Dict, List, Optional

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from weft_archive._ledger import LEDGER
from weft_archive.spark._read import OPTIONAL_TABLES, TABLES, TableLayout, table_schema
from weft_archive.spark._takedowns import TAKEDOWNS, Takedowns
from weft_archive.spark._wrong_use import WrongUse

#: Identifies our commits among those of other writers.
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


class Tables:
    """The tables below ``base``."""

    def __init__(self, spark: SparkSession, base: str) -> None:
        self.spark = spark
        # Tables that SQL names must have absolute paths.
        self.base = base.rstrip("/") if "://" in base else os.path.abspath(base)

    def path(self, *names: str) -> str:
        return "/".join([self.base, *names])

    def layouts(self) -> Dict[str, TableLayout]:
        """Returns the tables of this base that get rows."""
        return {**TABLES, **{name: layout for name, layout in OPTIONAL_TABLES.items() if self.exists(name)}}

    def create(self, links: str, texts: bool = False) -> "set[str]":
        """Creates missing tables and returns their names. Raises :class:`WrongUse` if the existing tables keep other links
        or no texts.
        """
        is_new = not self.exists("captures")
        if texts and not is_new and not self.exists("texts"):
            raise WrongUse(f"{self.base} keeps no texts since its first load; choose another base")
        # Before ``captures``, which marks the base as made.
        optional = ["texts"] if texts or self.exists("texts") else []
        schemas = {
            "batches": BATCHES,
            "takedowns": TAKEDOWNS,
            **{name: table_schema(name) for name in [*optional, *TABLES]},
            "ledger": LEDGER,
        }
        created = {name for name in schemas if not self.exists(name)}
        for name, schema in schemas.items():
            if name in created:
                self._create(name, from_arrow_schema(schema), {"weft.links": links})
            else:
                self._add_columns(name, from_arrow_schema(schema))
        if "captures" in created:
            return created
        kept = self._properties("captures").get("weft.links")
        if kept is None:
            raise WrongUse(f"{self.path('captures')} is not a table of Weft; choose another base")
        if kept != links:
            raise WrongUse(f"{self.base} keeps {kept} links since its first load; this job requests {links}")
        return created

    def _create(self, name: str, schema: StructType, properties: "dict[str, str]") -> None:
        def of(field: Any) -> str:
            return f"`{field.name}` {field.dataType.simpleString()}{'' if field.nullable else ' NOT NULL'}"

        columns = ", ".join(map(of, schema))
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._named(name)} ({columns}) USING DELTA TBLPROPERTIES ({pairs})"
        )

    def _add_columns(self, name: str, schema: StructType) -> None:
        """Adds columns that a table of an older version lacks. Its rows have no values in them."""
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
        """Returns whether the table exists. Its first commit is atomic."""
        # After a checkpoint, old commits may be removed.
        return any(name.endswith((".json", ".parquet")) for name in self._log(*names))

    def _log(self, *names: str) -> List[str]:
        """Returns the names of the files of a table's log that begin with a version."""
        log = self._hadoop(self.path(*names, "_delta_log"))
        files = log.getFileSystem(self._hadoop_conf())
        if not files.exists(log):
            return []
        there = (status.getPath().getName() for status in files.listStatus(log))
        return [name for name in there if name[:1].isdigit()]

    def remove(self, *names: str) -> None:
        """Removes a folder, if it exists."""
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

    def version(self, *names: str) -> int:
        """Returns the newest version of a table."""
        return max(int(file.partition(".")[0]) for file in self._log(*names) if file.endswith(".json"))

    def rows_written(self, *names: str) -> int:
        """Returns the number of rows that the newest commit of a table wrote. Sessions that do not record it count the rows,
        which takes several jobs.
        """
        text = self.commit(*names, version=self.version(*names))
        [commit] = [line["commitInfo"] for line in map(json.loads, text.splitlines()) if "commitInfo" in line]
        rows = commit.get("operationMetrics", {}).get("numOutputRows")
        return self.read(*names).count() if rows is None else int(rows)

    def commit(self, *names: str, version: int) -> str:
        """Returns a commit of a table, as it is in its log."""
        path = self._hadoop(self.path(*names, "_delta_log", f"{version:020}.json"))
        stream = path.getFileSystem(self._hadoop_conf()).open(path)
        try:
            return self.spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()

    def stage(self, rows: DataFrame, *names: str) -> None:
        """Writes a table that is removed soon, in one commit. Fails if there is one."""
        (
            rows.write.format("delta")
            .mode("errorifexists")
            # The table is read as a whole, so column statistics would be useless.
            .option("delta.dataSkippingNumIndexedCols", "0")
            .save(self.path(*names))
        )

    def append(self, name: str, rows: DataFrame, batch: int) -> None:
        """Appends the rows of a batch. Repeating it adds nothing."""
        layouts = {**TABLES, **OPTIONAL_TABLES}
        if name in layouts:
            rows = rows.sortWithinPartitions(*layouts[name].sorted_by)
        (
            rows.write.format("delta")
            .mode("append")
            .option("txnAppId", APP_ID)
            .option("txnVersion", str(batch))
            .save(self.path(name))
        )

    def append_list(self, name: str, rows: List[dict], schema: pa.Schema, batch: int) -> None:
        """Like :meth:`append`, with rows from the driver, in one file."""
        table = pa.Table.from_pylist(rows, schema=schema)
        frame = self.spark.createDataFrame(table, schema=from_arrow_schema(schema))
        self.append(name, frame.coalesce(1), batch)

    def append_fed(self, row: dict, number: int) -> None:
        """Appends a row of a collection of Solr to the ledger. Repeating it adds nothing."""
        table = pa.Table.from_pylist([row], schema=LEDGER)
        (
            self.spark.createDataFrame(table, schema=from_arrow_schema(LEDGER))
            .coalesce(1)
            .write.format("delta")
            .mode("append")
            .option("txnAppId", f"{APP_ID}-{row['location']}")
            .option("txnVersion", str(number))
            .save(self.path("ledger"))
        )

    def planned(self, batch: int) -> List[Any]:
        """Returns the rows of a batch in ``batches``, in order."""
        # A sort by Spark would take two more jobs.
        return sorted(self.read("batches").where(F.col("batch") == batch).collect(), key=lambda row: row.seq)

    def takedowns(self) -> Takedowns:
        """Returns the takedowns of this base."""
        return Takedowns(self.read("takedowns").collect() if self.exists("takedowns") else [])

    def delete(self, name: str, condition: str) -> None:
        """Deletes rows of a table. Repeating it deletes nothing more."""
        self.spark.sql(f"DELETE FROM {self._named(name)} WHERE {condition}")

    def last_batch(self, name: str) -> int:
        """Returns the number of the last batch in a table; 0 if it has none."""
        return self.read(name).agg({"batch": "max"}).collect()[0][0] or 0
