"""Computes serving tables: sorted tables for bounded look-ups (docs/format-serving.md), made anew or from the last batch.

An increment reads which URL keys the new batches touch, computes the rows of these keys with the statements of the views
(``views/*.sql``), and compares them with the rows that there are. Only files whose range of keys has a changed row are
written anew. The first computation is the same with tables that are empty and with all keys.

Invariants:
- The manifest is replaced last, in one step. A job that is killed before changes nothing that readers see, and the next one
  begins again from the same tables.
- The tables depend on the batches only, not on how they were computed: an increment gives the rows of a recomputation.
"""

import time
import uuid
from bisect import bisect_left, bisect_right
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import IntegerType, StructField, StructType

from weft_archive import _weft
from weft_archive.spark._serving_files import (
    FILE_ROWS,
    LAYOUTS,
    WRITTEN,
    Manifest,
    ServingFile,
    ServingFolder,
    file_of,
    file_writer,
    next_part,
)
from weft_archive.spark._serving_sql import CAPTURE_COLUMNS, LINK_COLUMNS, STATEMENTS
from weft_archive.spark._session import ours
from weft_archive.spark._tables import Tables
from weft_archive.spark._takedowns import finish_takedowns
from weft_archive.spark._views import _Statement
from weft_archive.spark._wrong_use import WrongUse

_STAGING = ("staging", "serving")

Say = Callable[[str], None]


@dataclass
class Served:
    """The results of :func:`serve`."""

    batch: int
    #: Whether the tables were made from those of an earlier batch.
    is_increment: bool = False
    #: Rows of each table.
    rows: Dict[str, int] = field(default_factory=dict)
    #: Rows in new files of each table.
    rows_written: Dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)


def serve(
    spark: SparkSession,
    base: str,
    *,
    recompute: bool = False,
    file_rows: int = FILE_ROWS,
    say: Say = lambda text: None,
) -> Served:
    """Brings the serving tables in ``serving`` below ``base`` to the last batch. Without a new batch it does nothing.

    With ``recompute`` all tables are made anew. ``file_rows`` is the most rows of a file: an increment writes whole files.
    Files that neither the new manifest nor the one before it names are removed. Only one job at a time may write to a base.
    """
    begun = time.monotonic()
    tables = Tables(ours(spark), base)
    if not (tables.exists("captures") and tables.exists("ledger")):
        raise WrongUse(f"{tables.base} has no tables yet; load an input first")
    takedowns = tables.takedowns()
    finish_takedowns(tables, takedowns)
    folder = ServingFolder(tables.path("serving"))
    before = folder.read()
    batch = max(tables.last_batch("ledger"), takedowns.last)
    if before is not None and before.batch == batch and not recompute:
        return _served(before, before, False, begun)
    old = None if recompute else before
    part = next_part(before, batch)
    job = _Job(tables, old, batch, file_rows, part, say)
    try:
        after = job.run()
    finally:
        tables.remove(*_STAGING)
    for name, files in after.tables.items():
        if files and name not in after.first_keys:
            stem = f"{batch:08}-{part:05}" if part else f"{batch:08}"
            after.first_keys[name] = folder.write_first_keys(name, stem, files)
    folder.replace(after)
    folder.remove_others(after.paths() | (before.paths() if before else set()))
    return _served(after, before, old is not None, begun)


def _served(after: Manifest, before: Optional[Manifest], is_increment: bool, begun: float) -> Served:
    there = before.paths() if before is not None else set()
    served = Served(after.batch, is_increment)
    for name, files in after.tables.items():
        served.rows[name] = sum(file.rows for file in files)
        served.rows_written[name] = sum(file.rows for file in files if file.path not in there)
    served.seconds = round(time.monotonic() - begun, 3)
    return served


class _Job:
    """The computation of the tables of a batch."""

    def __init__(
        self, tables: Tables, old: Optional[Manifest], batch: int, file_rows: int, first_part: int, say: Say
    ) -> None:
        self.tables, self.spark = tables, tables.spark
        self.old, self.batch, self.file_rows, self.first_part, self.say = old, batch, file_rows, first_part, say
        self.before = old or Manifest()
        self.after = Manifest(batch)
        self.folder = (*_STAGING, uuid.uuid4().hex)
        expressions: Dict[str, str] = {}
        for _, text in _weft.views():
            expressions.update(_Statement.parse(text).expressions)
        self.expressions = expressions
        #: Expressions that are tables by now.
        self.given: List[str] = []

    def run(self) -> Manifest:
        self._facts()
        self._inputs()
        self._scope()
        self._current()
        for name in ("captures", "versions", "outlinks"):
            self._diff(name, "changed_key")
            self._write(name)
        self._links_by_target()
        self._write("inlinks")
        self._uris()
        self._write("uris")
        self._domains()
        self._write("domains")
        self._top()
        self.after.tables["aliases"] = []
        return self.after

    # Statements

    def _view(self, name: str, statement: str) -> DataFrame:
        frame = self.spark.sql(statement)
        frame.createOrReplaceTempView(name)
        return frame

    def _stage(self, name: str, frame: "DataFrame | str") -> DataFrame:
        """Computes rows once, and gives them a name."""
        if isinstance(frame, str):
            frame = self.spark.sql(frame)
        self.say(f"{name}: computing")
        path = self.tables.path(*self.folder, name)
        frame.write.mode("errorifexists").parquet(path)
        # The schema is given, so that no job reads it.
        staged = self.spark.read.schema(frame.schema).parquet(path)
        staged.createOrReplaceTempView(name)
        return staged

    def _expression(self, name: str, query: str) -> str:
        """Returns a statement over expressions of the views, of which those that are given are tables."""
        return _Statement(self.expressions, query.format(name=name)).text(self.given)

    # What the statements read

    def _facts(self) -> None:
        for name, columns in (("captures", CAPTURE_COLUMNS), ("links", LINK_COLUMNS)):
            rows = self.tables.read(name, version=self.tables.version(name)).select(*columns)
            if name == "captures":
                rows = rows.where(F.col("epoch") <= self.batch)
            rows.createOrReplaceTempView(f"all_{name}")

    def _inputs(self) -> None:
        """Numbers the new inputs after those that there are: by batch, then by name."""
        self.say("inputs: computing")
        there = self._read("inputs", self.before.tables["inputs"])
        digests = {row.digest for row in there.select("digest").collect()} if self.old else set()
        ledger = self.tables.read("ledger").where("digest IS NOT NULL AND state IN ('done', 'failed')")
        ledger = ledger.where(F.col("batch") > self.before.batch)
        planned = self.tables.read("batches").select("batch", "location", "collection")
        listed = ledger.join(planned, ["batch", "location"]).collect()
        listed.sort(key=lambda row: (row.batch, row.input.encode()))
        number = sum(file.rows for file in self.before.tables["inputs"])
        rows = []
        for row in listed:
            if row.digest not in digests:
                digests.add(row.digest)
                number += 1
                said = {name: row[name] for name in ("input", "location", "digest", "collection")}
                rows.append({"input_number": number, **said})
        schema = LAYOUTS["inputs"].schema
        added = self.spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema), schema=from_arrow_schema(schema))
        added = self._stage("plus_inputs", added.coalesce(1))
        there.unionByName(added).createOrReplaceTempView("input")
        self.spark.sql("SELECT * FROM plus_inputs LIMIT 0").createOrReplaceTempView("minus_inputs")
        self._write("inputs", appends=True)

    def _scope(self) -> None:
        """Finds the URL keys whose rows may change, and the captures and links that decide on them."""
        if self.old is None:
            self._view("captures", "SELECT * FROM all_captures")
            self._view("links", "SELECT * FROM all_links")
            self._view("changed_key", "SELECT DISTINCT url_surtkey FROM captures")
            return
        new = f"SELECT url_surtkey, content_digest FROM all_captures WHERE epoch > {self.old.batch}"
        removing = self.tables.takedowns().after(self.old.batch).condition("captures.url_key", "input.input")
        if removing is not None:
            self._read("captures", self.old.tables["captures"]).createOrReplaceTempView("old_captures")
            new += (
                " UNION ALL SELECT captures.url_key, captures.digest FROM old_captures AS captures"
                f" JOIN input ON input.input_number = captures.input_number WHERE {removing}"
            )
        self._stage("touched", f"SELECT DISTINCT * FROM ({new})")
        self._stage("changed_key", STATEMENTS["changed_key"])
        self._stage("captures", STATEMENTS["captures_in_scope"])
        self._stage("links", STATEMENTS["links_in_scope"])

    def _current(self) -> None:
        """Computes current versions, their links, and the originals of revisits, of the keys in scope."""
        for name in ("named", "alike"):
            self._stage(name, self._expression(name, "SELECT * FROM {name} WHERE place = 1"))
            self.given.append(name)
        self.expressions = {**self.expressions, "original": STATEMENTS["original"]}
        self._stage("original", self._expression("original", "SELECT * FROM {name}"))
        query = "SELECT * FROM {name}"
        if self.old is not None:
            query = "SELECT {name}.* FROM {name} LEFT SEMI JOIN changed_key USING (url_surtkey)"
        self._stage("current_version", self._expression("current_version", query))
        self.given.append("current_version")
        self._stage("current_link", self._expression("current_link", "SELECT * FROM {name}"))

    # Changes

    def _read(self, name: str, files: Sequence[ServingFile]) -> DataFrame:
        """Returns the rows of files of a table."""
        schema = from_arrow_schema(LAYOUTS[name].schema)
        paths = [self.tables.path("serving", file.path) for file in files]
        return self.spark.read.schema(schema).parquet(*paths) if paths else self.spark.createDataFrame([], schema)

    def _touched(self, name: str, keys: DataFrame) -> List[int]:
        """Returns the numbers of the files that may have rows with these values in the first column of the key."""
        firsts = [file.first for file in self.before.tables[name]]
        if len(firsts) < 2:
            return list(range(len(firsts)))
        return self._touched_by(name, keys.toDF(LAYOUTS[name].key[0]), None)[1]

    def _touched_by(self, name: str, plus: DataFrame, minus: Optional[DataFrame]) -> Tuple[int, List[int]]:
        """Returns the number of the rows to add, and the files that may have rows with the keys of these changes."""
        firsts = [file.first for file in self.before.tables[name]]
        key = LAYOUTS[name].key[0]
        rows = plus.select(key, F.lit(1).alias("added"))
        if minus is not None:
            rows = rows.unionByName(minus.select(key, F.lit(0).alias("added")))

        def places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found, added = set(), 0
            for batch in batches:
                added += sum(batch.column(1).to_pylist())
                for value in set(batch.column(0).to_pylist()) if firsts else ():
                    found.update(range(max(bisect_left(firsts, value) - 1, 0), max(bisect_right(firsts, value), 1)))
            counts = [added, *[0] * len(found)]
            columns = [pa.array([-1, *sorted(found)], pa.int32()), pa.array(counts, pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, ["place", "added"])

        told = rows.mapInArrow(places, "place int, added long").collect()
        return sum(row.added for row in told), sorted({row.place for row in told if row.place >= 0})

    def _typed(self, name: str, frame: DataFrame) -> DataFrame:
        columns = from_arrow_schema(LAYOUTS[name].schema)
        return frame.select(*(F.col(column.name).cast(column.dataType).alias(column.name) for column in columns))

    def _old(self, name: str, keys: DataFrame) -> DataFrame:
        """Returns the rows of a table with these values in the first column of the key."""
        files = self.before.tables[name]
        rows = self._read(name, [files[place] for place in self._touched(name, keys)])
        return rows.join(keys.toDF(LAYOUTS[name].key[0]), LAYOUTS[name].key[0], "left_semi")

    def _diff(self, name: str, keys: str, old: Optional[DataFrame] = None) -> None:
        """Computes the rows with these keys, of which ``old`` are there already. Stages those to add and those to remove, as
        ``plus_NAME`` and ``minus_NAME``."""
        new = self._typed(name, self.spark.sql(STATEMENTS[name]))
        if self.old is None:
            self._stage(f"plus_{name}", new)
            self._nothing(f"minus_{name}", name)
            return
        if old is None:
            old = self._old(name, self.spark.table(keys))
        both = new.withColumn("sign", F.lit(1)).unionByName(old.withColumn("sign", F.lit(-1)))
        columns = LAYOUTS[name].schema.names
        changes = both.groupBy(*columns).agg(F.sum("sign").alias("sign")).where("sign <> 0")
        changes = self._stage(f"diff_{name}", changes)
        changes.where("sign > 0").drop("sign").createOrReplaceTempView(f"plus_{name}")
        changes.where("sign < 0").drop("sign").createOrReplaceTempView(f"minus_{name}")

    def _links_by_target(self) -> None:
        for name in ("plus", "minus"):
            self._view(f"{name}_inlinks", f"SELECT * FROM {name}_outlinks")

    def _uris(self) -> None:
        if self.old is None:
            self._nothing("known_uri", "uris")
            self._stage("uri_delta", STATEMENTS["uri_delta_of_all"])
        else:
            self._stage("linked_key", STATEMENTS["linked_key"])
            self._stage("known_uri", self._old("uris", self.spark.table("linked_key")))
            self._view("domain_of", STATEMENTS["domain_of"])
            self._stage("uri_delta", STATEMENTS["uri_delta"])
        self._view("uri_key", STATEMENTS["uri_key"])
        known = "SELECT known_uri.* FROM known_uri LEFT SEMI JOIN uri_key ON uri_key.url_surtkey = known_uri.url_key"
        self._diff("uris", "uri_key", self.spark.sql(known))

    def _nothing(self, view: str, name: str) -> None:
        """Makes a view without rows that has the columns of a table."""
        self._read(name, []).createOrReplaceTempView(view)

    def _domains(self) -> None:
        self._stage("domain_delta", STATEMENTS["domain_delta"])
        domains = self._view("changed_domain", "SELECT domain FROM domain_delta")
        known = self._old("domains", domains)
        known.createOrReplaceTempView("known_domain")
        self._diff("domains", "changed_domain", known)

    def _top(self) -> None:
        """Ranks the URIs of the domains that have changed, and all URIs."""
        self._stage("ranked_domain", STATEMENTS["ranked_domain"])
        domains, files = self.spark.table("ranked_domain"), self.before.tables["top"]
        touched = self._touched("top", domains)
        self._read("top", [files[place] for place in touched]).createOrReplaceTempView("touched_top")
        self._stage("plus_top", self._typed("top", self.spark.sql(STATEMENTS["top"])))
        domains.createOrReplaceTempView("minus_top")
        self._write("top", on=("domain",))

    # Files

    def _write(self, name: str, *, on: Optional[Tuple[str, ...]] = None, appends: bool = False) -> None:
        """Writes the files whose range of keys has a row to add or to remove, and names the others again."""
        plus, minus = self.spark.table(f"plus_{name}"), self.spark.table(f"minus_{name}")
        layout, files = LAYOUTS[name], self.before.tables[name]
        on = on or layout.key
        count, touched = self._touched_by(name, plus, minus)
        touched = [] if appends else touched
        if not touched and not count:
            self.after.tables[name] = list(files)
            if files:
                self.after.first_keys[name] = self.before.first_keys[name]
            return
        runs = _runs(touched) or [range(len(files), len(files))]
        rows = _in_runs(plus, layout.key[0], runs, [file.first for file in files])
        if touched:
            kept = self._in_their_runs(name, files, runs)
            rows = rows.unionByName(kept.join(minus.select(*on).distinct(), list(on), "left_anti"))
        count += sum(files[place].rows for place in touched)
        self.say(f"{name}: writing {count:,} rows in the place of {len(touched)} of {len(files)} files")
        columns = ["segment", *layout.schema.names]
        order = ["segment", *layout.key]
        tasks = max(1, -(-count // self.file_rows))
        write = file_writer(self.tables.path("serving"), name, f"{self.batch:08}", self.first_part, self.file_rows)
        rows = rows.select(*columns)
        # The bounds of ranges come from a sample, which is a job of its own.
        rows = rows.coalesce(1) if tasks == 1 else rows.repartitionByRange(tasks, *order)
        written = rows.sortWithinPartitions(*order).mapInArrow(write, from_arrow_schema(WRITTEN)).toArrow().to_pylist()
        written.sort(key=lambda row: (row["segment"], row["task"], row["number"]))
        made: Dict[int, List[ServingFile]] = {}
        for row in written:
            made.setdefault(row["segment"], []).append(file_of(row))
        self.after.tables[name] = _spliced(files, runs, made)

    def _in_their_runs(self, name: str, files: Sequence[ServingFile], runs: Sequence[range]) -> DataFrame:
        """Returns the rows of files with the number of the run that each file is in."""
        rows = self._read(name, [files[place] for run in runs for place in run])
        if len(runs) == 1:
            return rows.withColumn("segment", F.lit(0))
        segments = [
            (files[place].path.rpartition("/")[2], number) for number, run in enumerate(runs) for place in run
        ]
        named = self.spark.createDataFrame(segments, "file_name string, segment int")
        return rows.withColumn("file_name", F.col("_metadata.file_name")).join(F.broadcast(named), "file_name")


def _in_runs(rows: DataFrame, key: str, runs: Sequence[range], firsts: List[Any]) -> DataFrame:
    """Returns new rows with the number of the run of files that each belongs to. All files that may have the first column
    of its key are in one run."""
    if len(runs) == 1:
        return rows.withColumn("segment", F.lit(0))
    starts = [run.start for run in runs]

    def number(value: Any) -> int:
        return bisect_right(starts, max(bisect_right(firsts, value) - 1, 0)) - 1

    def with_numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = pa.array(map(number, batch.column(key).to_pylist()), pa.int32())
            yield batch.append_column("segment", numbers)

    return rows.mapInArrow(with_numbers, StructType([*rows.schema.fields, StructField("segment", IntegerType())]))


def _runs(places: Sequence[int]) -> List[range]:
    """Returns the runs of consecutive numbers."""
    runs: List[range] = []
    for place in places:
        if runs and runs[-1].stop == place:
            runs[-1] = range(runs[-1].start, place + 1)
        else:
            runs.append(range(place, place + 1))
    return runs


def _spliced(
    files: Sequence[ServingFile], runs: Sequence[range], made: Dict[int, List[ServingFile]]
) -> List[ServingFile]:
    """Returns the files with new ones in the place of runs of old ones."""
    spliced, end = [], 0
    for number, run in enumerate(runs):
        spliced += files[end : run.start]
        spliced += made.get(number, [])
        end = run.stop
    return spliced + list(files[end:])
