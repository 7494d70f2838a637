"""The work of a task: reads inputs, one after another, into rows of the staging table.

A staging row holds a row of one of the tables as a struct, or the outcome of an input, which is its last row. Rows of an
input count only if its outcome exists.
"""

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple

import pyarrow as pa

from weft_archive import _weft
from weft_archive.spark._inputs import Found, is_read_by_us
from weft_archive.spark._words import WORDS, with_words


@dataclass(frozen=True)
class TableLayout:
    """What a load must know of a table."""

    #: Order of rows within a file.
    sorted_by: Tuple[str, ...]
    #: Column of the ledger with the number of its rows.
    counted: str


#: Tables that get rows in every base.
TABLES = {
    "captures": TableLayout(("url_surtkey", "fetch_time"), "captures"),
    "links": TableLayout(("source_surtkey",), "links"),
    "quarantine": TableLayout(("input", "offset"), "quarantined"),
}

#: Tables that get rows if the first load of a base asked for them.
OPTIONAL_TABLES = {"texts": TableLayout(("url_surtkey", "fetch_time"), "captures")}

OUTCOME = pa.schema([
    # Missing if the input could not be read to its end; then none of its rows count.
    pa.field("digest", pa.string()),
    pa.field("size", pa.int64()),
    # Whether the input was skipped because its content was in the ledger already.
    pa.field("is_known", pa.bool_(), nullable=False),
    pa.field("records", pa.int64(), nullable=False),
    pa.field("captures", pa.int64(), nullable=False),
    pa.field("links", pa.int64(), nullable=False),
    pa.field("quarantined", pa.int64(), nullable=False),
    pa.field("failure", pa.string()),
])


def table_schema(table: str) -> pa.Schema:
    """Returns the schema of a table."""
    schema = pa.schema(_weft.Stream([], table, "all", ""))
    return pa.schema([*schema, *WORDS]) if table == "texts" else schema


def staging_schema(tables: Sequence[str]) -> pa.Schema:
    """Returns the schema of the staging table for rows of these tables."""
    schemas = {**{table: table_schema(table) for table in tables}, "outcome": OUTCOME}
    structs = [pa.field(name, pa.struct(schema)) for name, schema in schemas.items()]
    return pa.schema([pa.field("seq", pa.int64(), nullable=False), *structs])


def reader(
    inputs: Any, known: Any, *, tables: Sequence[str], links: str, collection: str, batch: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function for ``mapInArrow`` that turns numbers of inputs into rows of the staging table.

    ``inputs`` and ``known`` (digests in the ledger) are broadcast variables: each machine gets them once.
    """

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = staging_schema(tables)
        for each in numbers:
            for seq in each.column(0).to_pylist():
                found: Found = inputs.value[seq]
                for table, rows in _rows(found, known.value, tables, links, collection, batch):
                    yield _staged(schema, seq, table, rows)

    return read


def _staged(schema: pa.Schema, seq: int, table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    count = rows.num_rows
    columns: List[pa.Array] = [pa.array([seq], pa.int64()).take(pa.nulls(count, pa.int64()).fill_null(0))]
    for field in list(schema)[1:]:
        if field.name == table:
            columns.append(pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema)))
        else:
            columns.append(pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _rows(
    found: Found, known: Mapping[str, Optional[str]], tables: Sequence[str], links: str, collection: str, batch: int
) -> Iterator["tuple[str, pa.RecordBatch]"]:
    """Yields the rows of an input, and its outcome last. Errors in the input become its outcome."""
    outcome = {
        "digest": None,
        "size": found.size,
        "is_known": False,
        "records": 0,
        "captures": 0,
        "links": 0,
        "quarantined": 0,
        "failure": found.problem,
    }
    if found.problem is None:
        try:
            yield from _read(found, known, outcome, tables, links, collection, batch)
        except (OSError, ValueError, pa.ArrowException) as error:
            outcome.update(digest=None, failure=str(error))
        except BaseException as error:
            # A bug triggered by one input must not end the job.
            if type(error).__name__ != "PanicException":
                raise
            outcome.update(digest=None, failure=f"internal error, please report it: {error}")
    yield "outcome", pa.RecordBatch.from_pylist([outcome], schema=OUTCOME)


def _read(
    found: Found,
    known: Mapping[str, Optional[str]],
    outcome: "dict[str, Any]",
    tables: Sequence[str],
    links: str,
    collection: str,
    batch: int,
) -> Iterator["tuple[str, pa.RecordBatch]"]:
    if found.location.endswith(".open"):
        outcome["failure"] = "its name says that it is still written to (.open); load it when it is finished"
        return
    with _opened(found.location) as source:
        outcome["size"] = source.size
        if source.digest in known:
            outcome.update(digest=source.digest, is_known=True, failure=known[source.digest])
            return
        batches = source.batches(found.name, list(tables), links=links, collection=collection, epoch=batch)
        for table, rows in batches:
            if table == "links":
                outcome["links"] += len(rows)
            rows = pa.record_batch(rows)
            yield table, with_words(rows) if table == "texts" else rows
        if not source.is_unchanged():
            outcome["failure"] = "its content changed while it was read; load it again when nobody writes to it"
            return
        records, captures, quarantined = batches.counts()
        outcome.update(
            digest=source.digest,
            records=records,
            captures=captures,
            quarantined=quarantined,
            failure=batches.failure(),
        )


@contextlib.contextmanager
def _opened(location: str) -> Iterator[_weft.Input]:
    if is_read_by_us(location):
        yield _weft.Input(location, copies())
        return
    import pyarrow.fs

    files, path = pyarrow.fs.FileSystem.from_uri(location)
    with tempfile.NamedTemporaryFile(prefix="weft-", dir=copies()) as copy:
        with files.open_input_stream(path, compression=None) as source:
            shutil.copyfileobj(source, copy, 1 << 20)
        copy.flush()
        yield _weft.Input(copy.name, copies())


def copies() -> str:
    """A temporary folder for copies of inputs that are not local files; one input at a time."""
    folders: Sequence[str] = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    there = [folder for folder in folders if folder and os.access(folder, os.W_OK)]
    return there[0] if there else tempfile.gettempdir()
