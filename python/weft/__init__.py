"""Web archives as tables, and questions to archives of Weft.

``captures``, ``links``, ``texts`` and ``quarantine`` read WARC, ARC, WAT and WET files as Arrow record batches, with the
reader and the extraction of the program ``weft``::

    import weft
    weft.captures("crawl.warc.gz").read_pandas()

``open`` opens an archive that ``weft load`` made, for questions, for its tables and for SQL. ``weft.spark`` does what loads
do, without an archive, on a cluster.
"""

import os
import tempfile
from typing import Literal, Union

import pyarrow

from weft._archive import Archive, Facts, FactsTable
from weft._weft import Error, Stream, __version__

__all__ = [
    "Archive",
    "Error",
    "Facts",
    "FactsTable",
    "Stream",
    "__version__",
    "captures",
    "links",
    "open",
    "quarantine",
    "stream",
    "texts",
]

#: A path, a folder, a pattern, a path list or an address, as ``weft load`` takes them.
Input = Union[str, "os.PathLike[str]"]

#: Which links count: all, or those to other domains.
Links = Literal["all", "external"]


def captures(*inputs: Input, links: Links = "all") -> pyarrow.RecordBatchReader:
    """The captures of inputs, one a row, in the order of the files.

    Columns are those of the table ``captures`` (docs/facts.md). Beyond an archive the number of an input (``input_id``)
    comes from its digest, and ``epoch`` is 0.

    Raises ``OSError`` if an input cannot be read. Damaged parts are no error: see :func:`quarantine`.
    """
    return _read(inputs, "captures", links)


def links(*inputs: Input, links: Links = "all") -> pyarrow.RecordBatchReader:
    """The links of all captures of inputs, one a row: columns of the table ``links`` (docs/facts.md)."""
    return _read(inputs, "links", links)


def texts(*inputs: Input) -> pyarrow.RecordBatchReader:
    """The texts of all pages of inputs, one a row: columns of the table ``texts`` (docs/facts.md)."""
    return _read(inputs, "texts", "all")


def quarantine(*inputs: Input) -> pyarrow.RecordBatchReader:
    """What could not be used of inputs: ``input``, ``offset``, ``length``, ``reason``, ``detail`` and others."""
    return _read(inputs, "quarantine", "all")


def stream(
    *inputs: Input,
    table: Literal["captures", "links", "texts", "quarantine"] = "captures",
    links: Links = "all",
) -> Stream:
    """The same as an object of Arrow's PyCapsule interface, which may be read any number of times.

    Polars, DuckDB, pandas and others take it as it is: ``polars.DataFrame(weft.stream("crawl.warc.gz", table="links"))``.
    """
    if not inputs:
        raise TypeError("name at least one input")
    return Stream([os.fspath(path) for path in inputs], table, links, _copies())


def open(folder: Input = "weft-archive") -> Archive:
    """Opens an archive, for questions.

    If another process has it open (``weft serve``, a load), that one is asked. Raises :class:`weft.Error` if there is no
    archive.
    """
    return Archive(folder)


def _read(inputs: tuple, table: str, links: str) -> pyarrow.RecordBatchReader:
    return pyarrow.RecordBatchReader.from_stream(stream(*inputs, table=table, links=links))


def _copies() -> str:
    """Where inputs at addresses are copied to while they are read."""
    return tempfile.gettempdir()
