"""Reads web archives as tables, and queries archives of Weft.

``captures``, ``links``, ``texts`` and ``quarantine`` read WARC, ARC, WAT and WET files as Arrow record batches, with the
reader and extraction of the program ``weft``::

    import weft_archive
    weft_archive.captures("crawl.warc.gz").read_pandas()

``open`` opens an archive that ``weft load`` created: queries, tables, SQL. ``weft_archive.spark`` loads inputs on a cluster,
without an archive.
"""

import os
import tempfile
from typing import Literal, Union

import pyarrow

from weft_archive._archive import Archive, Facts, FactsTable
from weft_archive._weft import Error, Stream, __version__

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

#: A path, folder, pattern, path list or address, as for ``weft load``.
Input = Union[str, "os.PathLike[str]"]

#: Which links to return: all, or only those to other domains.
Links = Literal["all", "external"]


def captures(*inputs: Input, links: Links = "all") -> pyarrow.RecordBatchReader:
    """Returns the captures of inputs, one per row, in file order.

    The columns are those of the table ``captures`` (docs/facts.md). Outside an archive, ``input_id`` is derived from the
    digest of the input, and ``epoch`` is 0.

    Raises ``OSError`` if an input cannot be read. Damaged parts raise nothing: see :func:`quarantine`.
    """
    return _read(inputs, "captures", links)


def links(*inputs: Input, links: Links = "all") -> pyarrow.RecordBatchReader:
    """Returns the links of all captures of inputs, one per row (table ``links`` of docs/facts.md)."""
    return _read(inputs, "links", links)


def texts(*inputs: Input) -> pyarrow.RecordBatchReader:
    """Returns the texts of all pages of inputs, one per row (table ``texts`` of docs/facts.md)."""
    return _read(inputs, "texts", "all")


def quarantine(*inputs: Input) -> pyarrow.RecordBatchReader:
    """Returns the unusable parts of inputs: ``input``, ``offset``, ``length``, ``reason``, ``detail`` and others."""
    return _read(inputs, "quarantine", "all")


def stream(
    *inputs: Input,
    table: Literal["captures", "links", "texts", "quarantine"] = "captures",
    links: Links = "all",
) -> Stream:
    """Returns the same rows through Arrow's PyCapsule interface. They can be read any number of times.

    Polars, DuckDB, pandas and others accept it directly: ``polars.DataFrame(weft_archive.stream("x.warc.gz", table="links"))``.
    """
    if not inputs:
        raise TypeError("name at least one input")
    return Stream([os.fspath(path) for path in inputs], table, links, _copies())


def open(folder: Input = "weft-archive") -> Archive:
    """Opens an archive for queries.

    If another process has it open (``weft serve``, a load), that process answers. Raises :class:`weft_archive.Error` if
    the archive does not exist.
    """
    return Archive(folder)


def _read(inputs: tuple, table: str, links: str) -> pyarrow.RecordBatchReader:
    return pyarrow.RecordBatchReader.from_stream(stream(*inputs, table=table, links=links))


def _copies() -> str:
    """Returns the folder for temporary copies of inputs at addresses."""
    return tempfile.gettempdir()
