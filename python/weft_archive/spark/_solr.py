"""The engine of Spark for Solr: tasks make documents and send them, or compare them with what Solr has."""

import json
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from weft_archive._ledger import LEDGER
from weft_archive.solr._cluster import Collection
from weft_archive.solr._documents import document
from weft_archive.solr._facts import TABLES, FilesGone, difference, in_order, removed_files
from weft_archive.spark._session import ours
from weft_archive.spark._tables import Tables
from weft_archive.spark._takedowns import finish_takedowns
from weft_archive.spark._wrong_use import WrongUse

#: Two columns of text: an id, and a document as JSON.
_PAIR = pa.schema([pa.field("id", pa.string()), pa.field("document", pa.string())])

#: Parts of the ids of a collection that are read at the same time: by the first digit of a digest.
_DIGITS = "0123456789abcdef"

_ROWS = 1_000


class SparkFacts:
    """See :class:`weft_archive.solr._facts.Facts`."""

    def __init__(self, spark: SparkSession, base: str) -> None:
        self._tables = Tables(ours(spark), base)
        self._spark = self._tables.spark
        self.base = self._tables.base
        if not (self._tables.exists("captures") and self._tables.exists("links")):
            raise WrongUse(f"{self.base} has no tables yet; load an input first")
        finish_takedowns(self._tables, self._tables.takedowns())
        # The ledger first: rows of its batches are in the tables.
        self._ledger = self._read_ledger()
        self.versions = {name: self._tables.version(name) for name in TABLES if self._tables.exists(name)}
        for name, version in self.versions.items():
            self._tables.read(name, version=version).createOrReplaceTempView(name)

    def columns(self, table: str) -> "set[str]":
        return set(self._spark.table(table).columns) if table in self.versions else set()

    def rows(self, statement: str) -> Iterator[Dict[str, Any]]:
        yield from (row.asDict() for row in self._spark.sql(statement).toLocalIterator())

    def view(self, name: str, statement: str) -> None:
        self._spark.sql(statement).createOrReplaceTempView(name)

    def open_removed(self, table: str, since: int) -> bool:
        try:
            commits = [self._tables.commit(table, version=number) for number in range(since + 1, self.versions[table] + 1)]
            paths = [self._tables.path(table, path) for path in removed_files(commits)]
            if paths:
                self._spark.read.option("mergeSchema", "true").parquet(*paths).createOrReplaceTempView(f"removed_{table}")
        except Exception as error:
            # Spark has no class of its own for this.
            if not any(words in str(error) for words in ("PATH_NOT_FOUND", "FileNotFoundException")):
                raise
            gone = f"files that a takedown has replaced in {table} were deleted; feed a new collection"
            raise FilesGone(gone) from error
        return bool(paths)

    def send(self, statement: str, collection: Collection, version: int) -> int:
        sent = self._spark.sql(statement).mapInArrow(_sender(collection, version), "sent BIGINT")
        return sent.agg(F.sum("sent")).collect()[0][0] or 0

    def compare(self, statement: str, collection: Collection) -> Iterator[Tuple[str, Dict[str, Any], Dict[str, Any]]]:
        schema = "id STRING, document STRING"
        expected = self._spark.sql(statement).mapInArrow(_made, schema).alias("expected")
        digits = self._spark.createDataFrame([(digit,) for digit in _DIGITS], "digit STRING").repartition(len(_DIGITS), "digit")
        found = digits.mapInArrow(_finder(collection), schema).alias("found")
        joined = expected.join(found, "id", "full_outer").select("id", "expected.document", "found.document")
        differing = joined.toDF("id", "expected", "found").mapInArrow(_differing, "id STRING, expected STRING, found STRING")
        for row in differing.toLocalIterator():
            yield row.id, json.loads(row.expected or "{}"), json.loads(row.found or "{}")

    def finished_batches(self) -> List[int]:
        found = {row["epoch"] for row in self.rows("SELECT DISTINCT epoch FROM captures")}
        if self._tables.exists("batches"):
            found &= {row["batch"] for row in self._ledger if row["state"] != "fed"}
        return sorted(found)

    def fed(self, identity: str) -> List[Dict[str, Any]]:
        rows = [row for row in self._ledger if row["state"] == "fed" and row["location"] == f"solr:{identity}"]
        return in_order(rows)

    def record(self, row: Dict[str, Any], number: int) -> None:
        self._tables.append_fed({name: row.get(name) for name in LEDGER.names}, number)

    def _read_ledger(self) -> List[Dict[str, Any]]:
        if not self._tables.exists("ledger"):
            return []
        rows = self._tables.read("ledger")
        # Of inputs only the batches are asked for.
        inputs = rows.where("state <> 'fed'").select("batch").distinct().collect()
        fed = rows.where("state = 'fed'").select("batch", "state", "location", "version").collect()
        return [{"batch": row.batch, "state": "done"} for row in inputs] + [row.asDict() for row in fed]


def _sender(collection: Collection, version: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        sent = collection.add({**document(row), "weft_version_l": version} for row in rows)
        yield pa.RecordBatch.from_pydict({"sent": [sent]})

    return send


def _made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        documents = [document(row) for row in batch.to_pylist()]
        yield _pairs(documents)


def _finder(collection: Collection) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for digit in batch.column(0).to_pylist():
                documents = []
                for each in collection.all(fq=_with_first(digit)):
                    documents.append(each)
                    if len(documents) == _ROWS:
                        yield _pairs(documents)
                        documents = []
                yield _pairs(documents)

    return find


def _with_first(digit: str) -> str:
    """Returns the query for ids from one digit to the next. The parts have all ids, also those that are none of ours."""
    place = _DIGITS.index(digit)
    start = "*" if place == 0 else digit
    end = "*" if place == len(_DIGITS) - 1 else _DIGITS[place + 1]
    return f"id:[{start} TO {end}{']' if end == '*' else '}'}"


def _pairs(documents: List[Dict[str, Any]]) -> pa.RecordBatch:
    ids = [each["id"] for each in documents]
    return pa.RecordBatch.from_pydict({"id": ids, "document": [json.dumps(each) for each in documents]}, schema=_PAIR)


def _differing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [row for row in batch.to_pylist() if _differs(row["expected"], row["found"])]
        columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in ("id", "expected", "found")}
        yield pa.RecordBatch.from_pydict(columns)


def _differs(expected: "str | None", found: "str | None") -> bool:
    return expected is None or found is None or bool(difference(json.loads(expected), json.loads(found)))
