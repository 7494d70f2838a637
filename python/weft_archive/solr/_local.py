"""The engine of plain Python: tables in a folder of this machine, read by DuckDB."""

import os
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple
from urllib.parse import unquote

import deltalake
import duckdb
import pyarrow as pa

from weft_archive._ledger import LEDGER
from weft_archive.solr._cluster import Collection
from weft_archive.solr._documents import document
from weft_archive.solr._facts import TABLES, FilesGone, difference, in_order, removed_files

#: Rows of a batch of an answer.
_BATCH_ROWS = 2_000


class LocalFacts:
    """See :class:`weft_archive.solr._facts.Facts`."""

    def __init__(self, base: "str | os.PathLike[str]") -> None:
        self.folder = Path(os.path.abspath(base))
        self.base = str(self.folder)
        if not all(self._exists(name) for name in ("captures", "links")):
            raise FileNotFoundError(f"{self.base} has no tables captures and links")
        self.versions: Dict[str, int] = {}
        self._columns: Dict[str, "set[str]"] = {}
        self._sql = duckdb.connect()
        self._sql.execute("SET TimeZone = 'UTC'")
        # The ledger first: rows of its batches are in the tables.
        self._ledger = self._read_ledger()
        for name in TABLES:
            if self._exists(name):
                self._open(name)

    def _exists(self, table: str) -> bool:
        return (self.folder / table / "_delta_log").is_dir()

    def _open(self, name: str) -> None:
        table = deltalake.DeltaTable(str(self.folder / name))
        self.versions[name] = table.version()
        schema = pa.schema(table.schema())
        self._columns[name] = set(schema.names)
        files = [unquote(file).removeprefix("file://") for file in table.file_uris()]
        self._view_of_files(name, files, schema)

    def _view_of_files(self, name: str, files: List[str], schema: pa.Schema) -> None:
        """Makes a view of files, which may lack columns that were added later."""
        self._sql.register(f"empty_{name}", schema.empty_table())
        rows = f"SELECT * FROM empty_{name}"
        if files:
            listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            rows += f" UNION ALL BY NAME SELECT * FROM read_parquet([{listed}], union_by_name = true)"
        self.view(name, rows)

    def columns(self, table: str) -> "set[str]":
        return self._columns.get(table, set())

    def rows(self, statement: str) -> Iterator[Dict[str, Any]]:
        for batch in self._sql.sql(statement).to_arrow_reader(_BATCH_ROWS):
            yield from batch.to_pylist()

    def view(self, name: str, statement: str) -> None:
        self._sql.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {statement}")

    def open_removed(self, table: str, since: int) -> bool:
        log = self.folder / table / "_delta_log"
        try:
            commits = [(log / f"{version:020}.json").read_text() for version in range(since + 1, self.versions[table] + 1)]
            paths = [self.folder / table / unquote(path) for path in removed_files(commits)]
            for path in paths:
                path.stat()
        except FileNotFoundError as error:
            raise FilesGone(f"{error.filename} is gone; feed a new collection") from error
        if paths:
            schema = pa.schema(deltalake.DeltaTable(str(self.folder / table)).schema())
            self._view_of_files(f"removed_{table}", [str(path) for path in paths], schema)
        return bool(paths)

    def send(self, statement: str, collection: Collection, version: int) -> int:
        return collection.add({**document(row), "weft_version_l": version} for row in self.rows(statement))

    def compare(self, statement: str, collection: Collection) -> Iterator[Tuple[str, Dict[str, Any], Dict[str, Any]]]:
        expected = (document(row) for row in self.rows(f"{statement}\nORDER BY {_ID}"))
        yield from merge(expected, collection.all())

    def finished_batches(self) -> List[int]:
        found = {row["epoch"] for row in self.rows("SELECT DISTINCT epoch FROM captures")}
        if self._exists("batches"):
            found &= {row["batch"] for row in self._ledger if row["state"] != "fed"}
        return sorted(found)

    def fed(self, identity: str) -> List[Dict[str, Any]]:
        rows = [row for row in self._ledger if row["state"] == "fed" and row["location"] == f"solr:{identity}"]
        return in_order(rows)

    def record(self, row: Dict[str, Any], number: int) -> None:
        table = pa.Table.from_pylist([{name: row.get(name) for name in LEDGER.names}], schema=LEDGER)
        deltalake.write_deltalake(str(self.folder / "ledger"), table, mode="append")

    def _read_ledger(self) -> List[Dict[str, Any]]:
        if not self._exists("ledger"):
            return []
        table = deltalake.DeltaTable(str(self.folder / "ledger"))
        columns = ["batch", "state", "location", "version"]
        return table.to_pyarrow_table(columns=columns).to_pylist()


#: The id of a document, as `document_id` makes it.
_ID = "concat(replace(replace(chosen.input_digest, 'sha256:', ''), '/', '.'), '-', CAST(chosen.warc_record_offset AS STRING))"


def merge(
    expected: Iterator[Dict[str, Any]], found: Iterator[Dict[str, Any]]
) -> Iterator[Tuple[str, Dict[str, Any], Dict[str, Any]]]:
    """Yields what differs between two lists that are sorted by id."""
    left, right = next(expected, None), next(found, None)
    while left is not None or right is not None:
        left_id, right_id = left and left["id"], right and right["id"]
        if right is None or (left is not None and left_id < right_id):
            yield left_id, left, {}
            left = next(expected, None)
        elif left is None or right_id < left_id:
            yield right_id, {}, right
            right = next(found, None)
        else:
            if difference(left, right):
                yield left_id, left, right
            left, right = next(expected, None), next(found, None)
