"""The files of serving tables: sorted Parquet files, tables of first keys, and the manifest that names them all.

docs/format-serving.md has the format. Files never change; a new manifest replaces the old one in one step.
"""

import contextlib
import inspect
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

import weft_archive

#: Number of the format.
FORMAT = 1

#: Most rows of a row group. Readers fetch one row group for a look-up.
GROUP_ROWS = 4_096

#: Most rows of a file. An increment writes whole files, so they are smaller than those of an export.
FILE_ROWS = 65_536

#: Most files that one task writes. Names of files are numbers.
TASK_FILES = 1_000

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class ServingLayout:
    """The columns of a serving table."""

    schema: pa.Schema
    #: Columns that rows are sorted by.
    key: Tuple[str, ...]
    #: Columns with Bloom filters.
    blooms: Tuple[str, ...] = ()


def _columns(text: str) -> pa.Schema:
    """Returns a schema: each word is a name, a type and ``?`` if there may be no value."""
    types = {
        "text": pa.string(),
        "int": pa.int32(),
        "long": pa.int64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("ms", "UTC"),
    }
    named = (word.rstrip("?").split(":") + [word.endswith("?")] for word in text.split())
    return pa.schema([pa.field(name, types[kind], nullable=nullable) for name, kind, nullable in named])


_LINKS = _columns("source_key:text target_key:text target_url:text anchor:text nofollow:bool")

LAYOUTS = {
    "inputs": ServingLayout(
        _columns("input_number:int input:text location:text digest:text collection:text"), ("input_number",)
    ),
    "captures": ServingLayout(
        _columns(
            "url_key:text fetch_time:time input_number:int offset:long url:text mime:text status:int method:text digest:text "
            "length:long kind:text index_only:bool is_damaged:bool record_offset:long? filename:text? original_url_key:text? "
            "original_fetch_time:time? original_input_number:int? original_offset:long?"
        ),
        ("url_key", "fetch_time", "input_number", "offset"),
        ("url_key",),
    ),
    "aliases": ServingLayout(
        _columns("url_key:text input_number:int line_offset:long alias_of:text"),
        ("url_key", "input_number", "line_offset"),
        ("url_key",),
    ),
    "versions": ServingLayout(
        _columns(
            "url_key:text fetch_time:time last_seen:time input_number:int offset:long url:text kind:text status:int mime:text "
            "digest:text is_page:bool is_document:bool title:text language:text canonical:text? robots:text? links:int "
            "links_dropped:int text_truncated:bool?"
        ),
        ("url_key",),
        ("url_key",),
    ),
    "outlinks": ServingLayout(_LINKS, ("source_key", "target_key"), ("source_key",)),
    "inlinks": ServingLayout(_LINKS, ("target_key", "source_key"), ("target_key",)),
    "uris": ServingLayout(
        _columns("url_key:text domain:text captured:bool is_page:bool inlinks:long inlinks_external:long"),
        ("url_key",),
        ("url_key",),
    ),
    "domains": ServingLayout(
        _columns("domain:text uris:long pages:long inlinks_external:long"), ("domain",), ("domain",)
    ),
    "top": ServingLayout(
        _columns("domain:text rank:long url_key:text inlinks:long inlinks_external:long"), ("domain", "rank"), ("domain",)
    ),
}


@dataclass(frozen=True)
class ServingFile:
    """A file of a table."""

    path: str
    rows: int
    size_bytes: int
    #: A row for each row group: ``rows`` and the key of its first row.
    first_keys: pa.Table

    @property
    def first(self) -> Any:
        """The first column of the key of its first row."""
        return self.first_keys.column(1)[0].as_py()


@dataclass
class Manifest:
    """The tables of a batch."""

    batch: int = 0
    tables: Dict[str, List[ServingFile]] = field(default_factory=lambda: {name: [] for name in LAYOUTS})
    #: Files of first keys, by table.
    first_keys: Dict[str, str] = field(default_factory=dict)

    def paths(self) -> "set[str]":
        files = {file.path for files in self.tables.values() for file in files}
        return files | set(self.first_keys.values())


class ServingFolder:
    """A folder of serving tables."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._files, self._path = filesystem(address)

    def read(self) -> Optional[Manifest]:
        """Returns the manifest, if there is one."""
        try:
            with self._files.open_input_stream(f"{self._path}/{MANIFEST}") as stream:
                said = json.loads(stream.read())
        except FileNotFoundError:
            return None
        if said["format"] != FORMAT:
            raise ValueError(f"{self.address}/{MANIFEST} has format {said['format']}, this program writes {FORMAT}")
        manifest = Manifest(said["batch"])
        for name in LAYOUTS:
            table = said["tables"][name]
            if table["files"]:
                manifest.first_keys[name] = table["first_keys"]
                firsts = pq.read_table(f"{self._path}/{table['first_keys']}", filesystem=self._files)
                places = firsts.column("file").to_numpy()
                kept = firsts.drop_columns(["file", "row_group"])
                for place, each in enumerate(table["files"]):
                    begin, end = places.searchsorted([place, place + 1])
                    groups = kept.slice(begin, end - begin)
                    manifest.tables[name].append(ServingFile(each["path"], each["rows"], each["size_bytes"], groups))
        return manifest

    def write_first_keys(self, name: str, stem: str, files: Sequence[ServingFile]) -> str:
        """Writes the table of first keys of a table, and returns its path."""
        path = f"{name}/{stem}.first.parquet"
        tables = []
        for place, file in enumerate(files):
            count = file.first_keys.num_rows
            places, groups = pa.array([place] * count, pa.int32()), pa.array(range(count), pa.int32())
            columns = [places, groups, *file.first_keys.columns]
            tables.append(pa.Table.from_arrays(columns, schema=_first_keys_schema(name)))
        self._files.create_dir(f"{self._path}/{name}", recursive=True)
        with _replacing(self._files, f"{self._path}/{path}") as stream:
            pq.write_table(pa.concat_tables(tables), stream, compression="zstd", row_group_size=GROUP_ROWS)
        return path

    def replace(self, manifest: Manifest) -> None:
        """Replaces the manifest in one step. From then on readers find the new files."""
        tables: Dict[str, dict] = {}
        for name, files in manifest.tables.items():
            listed = [{"path": file.path, "rows": file.rows, "size_bytes": file.size_bytes} for file in files]
            tables[name] = {"rows": sum(file.rows for file in files), "files": listed}
            if files:
                tables[name]["first_keys"] = manifest.first_keys[name]
        said = {
            "format": FORMAT,
            "batch": manifest.batch,
            "has_rules": False,
            "written_by": f"weft {weft_archive.__version__}",
            "tables": tables,
        }
        with _replacing(self._files, f"{self._path}/{MANIFEST}") as stream:
            stream.write(json.dumps(said, indent=1).encode())

    def remove_others(self, kept: "set[str]") -> None:
        """Removes files of tables that are not in ``kept``."""
        for name in LAYOUTS:
            selector = pa.fs.FileSelector(f"{self._path}/{name}", allow_not_found=True)
            for info in self._files.get_file_info(selector):
                if info.is_file and f"{name}/{info.base_name}" not in kept:
                    self._files.delete_file(info.path)


def filesystem(address: str) -> Tuple[pa.fs.FileSystem, str]:
    """Returns the file system of an address, and the path there."""
    if "://" not in address:
        return pa.fs.LocalFileSystem(), address
    scheme, _, rest = address.partition("://")
    return pa.fs.FileSystem.from_uri(f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}")


@contextlib.contextmanager
def _replacing(files: pa.fs.FileSystem, path: str) -> Iterator[Any]:
    """Opens a file to write, which has its name when it is complete. A store does so itself."""
    is_local = isinstance(files, pa.fs.LocalFileSystem)
    written = f"{path}.{uuid.uuid4().hex}" if is_local else path
    with files.open_output_stream(written) as stream:
        yield stream
    if is_local:
        files.move(written, path)


def next_part(manifest: Optional[Manifest], batch: int) -> int:
    """Returns a number above those of all files of a batch: files never change, also if a batch is computed again."""
    paths = manifest.paths() if manifest else set()
    names = (re.search(r"/(\d+)(?:-(\d+))?(?:\.first)?\.parquet$", path) for path in paths)
    parts = [int(name[2] or 0) for name in names if name and int(name[1]) == batch]
    return max(parts, default=-1) + 1


def _first_keys_schema(name: str) -> pa.Schema:
    layout = LAYOUTS[name]
    places = [pa.field(column, pa.int32(), nullable=False) for column in ("file", "row_group", "rows")]
    return pa.schema([*places, *(layout.schema.field(column) for column in layout.key)])


#: What a task returns of each of its files.
WRITTEN = pa.schema([
    pa.field("task", pa.int32(), nullable=False),
    pa.field("number", pa.int32(), nullable=False),
    pa.field("segment", pa.int32(), nullable=False),
    pa.field("path", pa.string(), nullable=False),
    pa.field("rows", pa.int64(), nullable=False),
    pa.field("size_bytes", pa.int64(), nullable=False),
    # First keys as a stream of Arrow.
    pa.field("first_keys", pa.binary(), nullable=False),
])


def file_of(row: dict) -> ServingFile:
    """Returns the file of a row that a task returned."""
    with pa.ipc.open_stream(row["first_keys"]) as stream:
        return ServingFile(row["path"], row["rows"], row["size_bytes"], stream.read_all())


def file_writer(
    address: str, name: str, stem: str, first_part: int, file_rows: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function for ``mapInArrow`` that writes sorted rows to files, and returns a row for each.

    The first column of the rows is their segment, the others are those of the table. A file has rows of one segment. A
    repeated task writes the same files again.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get().partitionId()
        files, path = filesystem(address)
        files.create_dir(f"{path}/{name}", recursive=True)
        number, open_file = 0, None
        for segment, rows in _segments(batches):
            while rows.num_rows:
                if open_file is None or not open_file.takes(segment):
                    if open_file is not None:
                        yield open_file.close()
                    assert number < TASK_FILES, f"{name}: more than {TASK_FILES} files of one task"
                    part = first_part + task * TASK_FILES + number
                    place = f"{name}/{stem}-{part:05}.parquet"
                    open_file = _OpenFile(files, path, place, name, (task, number, segment), file_rows)
                    number += 1
                taken = open_file.add(rows)
                rows = rows.slice(taken)
        if open_file is not None:
            yield open_file.close()

    return write


def _segments(batches: Iterator[pa.RecordBatch]) -> Iterator[Tuple[int, pa.RecordBatch]]:
    """Yields parts of batches that have one segment each."""
    for batch in batches:
        segments = batch.column(0).to_numpy()
        begin = 0
        while begin < len(segments):
            end = int(segments.searchsorted(segments[begin], side="right"))
            yield int(segments[begin]), batch.slice(begin, end - begin)
            begin = end


class _OpenFile:
    """A file that is written row group by row group."""

    def __init__(
        self, files: Any, folder: str, path: str, name: str, place: Tuple[int, int, int], file_rows: int
    ) -> None:
        self._files, self._folder, self._path, self._place, self._file_rows = files, folder, path, place, file_rows
        self._layout = LAYOUTS[name]
        options = {}
        if "bloom_filter_options" in inspect.signature(pq.ParquetWriter.__init__).parameters:
            options["bloom_filter_options"] = {name: {"ndv": GROUP_ROWS, "fpp": 0.01} for name in self._layout.blooms}
        # A task that Spark takes for lost may still write while it is repeated.
        self._open = contextlib.ExitStack()
        self._stream = self._open.enter_context(_replacing(files, f"{folder}/{path}"))
        # Keys are sorted: few of them repeat, and a dictionary would only be tried.
        texts = [each.name for each in self._layout.schema if each.name not in self._layout.key]
        self._writer = pq.ParquetWriter(
            self._stream, self._layout.schema, compression="zstd", use_dictionary=texts, **options
        )
        self._held: List[pa.RecordBatch] = []
        self._held_rows = 0
        self._rows = 0
        self._first_keys: List[pa.RecordBatch] = []

    def takes(self, segment: int) -> bool:
        return segment == self._place[2] and self._rows < self._file_rows

    def add(self, rows: pa.RecordBatch) -> int:
        """Adds as many rows as there is room for in the row group. Returns their number."""
        count = min(rows.num_rows, GROUP_ROWS - self._held_rows, self._file_rows - self._rows)
        self._held.append(rows.slice(0, count))
        self._held_rows += count
        self._rows += count
        if self._held_rows == GROUP_ROWS:
            self._end_group()
        return count

    def _end_group(self) -> None:
        table = pa.Table.from_batches(self._held).drop_columns(["segment"]).cast(self._layout.schema)
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        keys = table.slice(0, 1).select(list(self._layout.key)).combine_chunks().to_batches()[0]
        rows = pa.array([table.num_rows], pa.int32())
        schema = pa.schema([pa.field("rows", pa.int32(), nullable=False), *keys.schema])
        self._first_keys.append(pa.RecordBatch.from_arrays([rows, *keys.columns], schema=schema))
        self._held, self._held_rows = [], 0

    def close(self) -> pa.RecordBatch:
        if self._held_rows:
            self._end_group()
        self._writer.close()
        self._open.close()
        size = self._files.get_file_info(f"{self._folder}/{self._path}").size
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._first_keys[0].schema) as stream:
            for keys in self._first_keys:
                stream.write_batch(keys)
        task, number, segment = self._place
        row = {
            "task": task,
            "number": number,
            "segment": segment,
            "path": self._path,
            "rows": self._rows,
            "size_bytes": size,
            "first_keys": sink.getvalue().to_pybytes(),
        }
        return pa.RecordBatch.from_pylist([row], schema=WRITTEN)
