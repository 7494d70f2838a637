"""Takedowns: captures that leave all tables, and stay out when the same or other inputs are loaded.

As in an archive, the register says what was taken down as hashes under a random key only (docs/takedown.md).

Invariants:
- A takedown is recorded before rows are deleted. If the job is killed in between, the next job deletes the rest.
- Rows leave ``captures`` last, which says which texts are of an input.
- Takedowns and batches have numbers of one sequence.
"""

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weft_archive.spark._session import ours
from weft_archive.spark._wrong_use import WrongUse

if TYPE_CHECKING:
    from weft_archive.spark._tables import Tables

TAKEDOWNS = pa.schema([
    pa.field("batch", pa.int64(), nullable=False),
    # url_key, prefix or input; or done, in the second row of a takedown, when its rows are deleted.
    pa.field("kind", pa.string(), nullable=False),
    # Length of a prefix in characters.
    pa.field("length", pa.int64(), nullable=False),
    pa.field("key", pa.string(), nullable=False),
    pa.field("hash", pa.string(), nullable=False),
    pa.field("reason", pa.string(), nullable=False),
])

#: Columns with the URL key and the input of a row, by table. Other tables have no rows of captures.
_COLUMNS = {
    "captures": ("url_surtkey", "warc_filename"),
    "links": ("source_surtkey", "warc_filename"),
    "texts": ("url_surtkey", None),
    "quarantine": (None, "input"),
}


@dataclass(frozen=True)
class Takedowns:
    """Takedowns in force."""

    rows: Sequence[Any]

    @property
    def last(self) -> int:
        """The number of the last one; 0 if there is none."""
        return max((row["batch"] for row in self.rows), default=0)

    def unfinished(self) -> "Takedowns":
        done = {row["batch"] for row in self.rows if row["kind"] == "done"}
        return Takedowns([row for row in self.rows if row["batch"] not in done])

    def after(self, batch: int) -> "Takedowns":
        return Takedowns([row for row in self.rows if row["batch"] > batch])

    def condition(self, url_key: Optional[str], input: Optional[str]) -> Optional[str]:
        """Returns the condition in SQL that rows of these takedowns meet, given the names of two columns."""
        conditions = []
        for row in self.rows:
            column = {"url_key": url_key, "prefix": url_key, "input": input}.get(row["kind"])
            if column is not None:
                value = f"left({column}, {row['length']})" if row["kind"] == "prefix" else column
                conditions.append(f"sha2(concat('{row['key']}', {value}), 256) = '{row['hash']}'")
        return " OR ".join(conditions) or None

    def has_input(self, name: str) -> bool:
        """Returns whether an input with this name is taken down."""
        inputs = (row for row in self.rows if row["kind"] == "input")
        return any(_hashed(row["key"], name) == row["hash"] for row in inputs)

    def of_table(self, table: str) -> Optional[str]:
        """Returns the condition for rows of a table."""
        return self.condition(*_COLUMNS[table])

    def without(self, table: str, rows: DataFrame) -> DataFrame:
        """Returns the rows that are not taken down."""
        condition = self.of_table(table)
        return rows if condition is None else rows.where(f"NOT ({condition})")


def take_down(
    spark: SparkSession,
    base: str,
    *,
    url_keys: Sequence[str] = (),
    prefixes: Sequence[str] = (),
    inputs: Sequence[str] = (),
    reason: str = "",
    say: Callable[[str], None] = lambda text: None,
) -> int:
    """Takes down captures by URL key, by prefix of URL keys, or by the name of their input. Returns the number of the
    takedown.

    Rows leave ``captures``, ``links`` and ``texts``, for inputs also ``quarantine``. Rows of later batches stay out too.
    Serving tables and views follow when they are computed next. Delta Lake keeps old files until the tables are vacuumed.
    """
    from weft_archive.spark._tables import Tables

    values = [("url_key", each) for each in url_keys]
    values += [("prefix", each) for each in prefixes] + [("input", each) for each in inputs]
    if not values or not all(value for _, value in values):
        raise WrongUse("name at least one URL key, prefix or input")
    tables = Tables(ours(spark), base)
    if not (tables.exists("captures") and tables.exists("takedowns")):
        raise WrongUse(f"{tables.base} has no tables yet; load an input first")
    takedowns = tables.takedowns()
    finish_takedowns(tables, takedowns)
    planned, known = tables.last_batch("batches"), tables.last_batch("ledger")
    if planned > known:
        raise WrongUse(f"batch {planned} in {tables.base} is not finished; finish its load first")
    batch = max(planned, takedowns.last) + 1
    rows = []
    for kind, value in values:
        key = secrets.token_hex(16)
        length = len(value) if kind == "prefix" else 0
        row = {"batch": batch, "kind": kind, "length": length, "key": key, "hash": _hashed(key, value), "reason": reason}
        rows.append(row)
    tables.append_list("takedowns", rows, TAKEDOWNS, 2 * batch)
    say(f"takedown {batch}: recorded")
    finish_takedowns(tables, tables.takedowns(), say)
    return batch


def finish_takedowns(
    tables: "Tables", takedowns: Takedowns, say: Callable[[str], None] = lambda text: None
) -> None:
    """Deletes the rows of takedowns whose rows are not deleted yet."""
    unfinished = takedowns.unfinished()
    if not unfinished.rows:
        return
    for table in reversed(list(tables.layouts())):
        condition = unfinished.of_table(table)
        if table == "texts":
            condition = _or_inputs(condition, tables, unfinished)
        if condition is not None:
            tables.delete(table, condition)
            say(f"takedown {unfinished.last}: deleted from {table}")
    done = {"kind": "done", "length": 0, "key": "", "hash": "", "reason": ""}
    numbers: List[int] = sorted({row["batch"] for row in unfinished.rows})
    tables.append_list("takedowns", [{"batch": number, **done} for number in numbers], TAKEDOWNS, 2 * numbers[-1] + 1)


def _or_inputs(condition: Optional[str], tables: "Tables", takedowns: Takedowns) -> Optional[str]:
    """Adds the condition for the texts of inputs. They have the number of their input, but not its name."""
    of_inputs = takedowns.condition(None, "warc_filename")
    if of_inputs is None:
        return condition
    inputs = tables.read("captures").where(of_inputs).select("input_id").distinct().collect()
    listed = ", ".join(str(row.input_id) for row in inputs)
    conditions = [condition, f"input_id IN ({listed})" if listed else None]
    return " OR ".join(each for each in conditions if each is not None) or None


def _hashed(key: str, value: str) -> str:
    return hashlib.sha256((key + value).encode()).hexdigest()
