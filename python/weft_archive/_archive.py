"""An archive that ``weft load`` created: queries, tables, SQL."""

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Optional

import pyarrow
import pyarrow.dataset
import pyarrow.ipc

from weft_archive import _weft


class Archive:
    """An open archive. Answers equal those of the program with ``--json``, as dictionaries.

    Methods raise :class:`weft_archive.Error` if a query fails; its second argument is ``not_found``, ``bad_request``,
    ``unavailable`` or ``internal``.
    """

    def __init__(self, folder: "str | os.PathLike[str]") -> None:
        self._archive = _weft.Archive(os.fspath(folder))

    def __repr__(self) -> str:
        return f"weft_archive.open({str(self.folder)!r})"

    @property
    def folder(self) -> Path:
        """The absolute path of its folder."""
        return Path(self._archive.folder)

    def search(
        self, query: str, *, limit: int = 10, after: Optional[str] = None, facets: bool = False
    ) -> "dict[str, Any]":
        """Searches pages. Returns ``hits``, ``total``, ``next`` (to pass as ``after``) and ``notes``.

        More than 10,000 results are counted only with ``facets``. Otherwise ``total_is_exact`` is false.

        The query has the syntax of ``weft search``: quotes, ``-word``, ``OR``, ``site:``, ``title:`` and others.
        """
        return self._ask("search", query=query, limit=limit, after=after, facets=facets)

    def inlinks(self, url: str, *, limit: int = 100, after: Optional[str] = None) -> "dict[str, Any]":
        """Returns the links to a URL from current versions of pages: ``rows``, ``total``, ``next``."""
        return self._ask("inlinks", url=url, limit=limit, after=after)

    def outlinks(self, url: str, *, limit: int = 100, after: Optional[str] = None) -> "dict[str, Any]":
        """Returns the links of the current version of a page: ``rows``, ``total``, ``next``."""
        return self._ask("outlinks", url=url, limit=limit, after=after)

    def page(self, url: str) -> "dict[str, Any]":
        """Returns the captures of a URL, its numbers of links, and the beginning of its text."""
        return self._ask("page", url=url)

    def status(self) -> "dict[str, Any]":
        """Returns the size and state of the archive."""
        return self._ask("status")

    def facts(self) -> "Facts":
        """Returns the archive's tables of all captures and links.

        Raises :class:`weft_archive.Error` if it keeps no facts.
        """
        place = self.status()["facts_place"]
        if place == "none":
            raise _weft.Error(f"{self.folder} keeps no facts (weft load --facts none)", "not_found")
        return Facts(self.folder / "facts" if place == "archive" else Path(place))

    def sql(self, query: str) -> pyarrow.Table:
        """Runs an SQL query over the archive's tables and views, and returns its rows.

        The program ``weft-sql`` runs it: the one named by the variable ``WEFT_SQL``, else the one that pip installed
        (``weft-archive[sql]``), else the one next to ``weft``, else the one on ``PATH``. Raises ``FileNotFoundError`` if there is none, and ``ValueError`` with the program's message if
        the query fails.
        """
        command = [_sql_program(), "--archive", str(self.folder), "--format", "arrow", query]
        # A file, because reading two pipes in turn can deadlock.
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as run:
                try:
                    table = pyarrow.ipc.open_stream(run.stdout).read_all()
                except pyarrow.ArrowInvalid:
                    table = None
                # Otherwise the program would wait for a reader.
                run.stdout.close()
            said.seek(0)
            words = said.read().decode(errors="replace").strip()
        if run.returncode != 0 or table is None:
            raise ValueError(words or f"{command[0]} ended with code {run.returncode} and wrote no Arrow stream")
        return table

    def _ask(self, kind: str, **question: Any) -> "dict[str, Any]":
        answer = json.loads(self._archive.ask(json.dumps({"ask": kind, **question})))
        del answer["answer"]
        return answer


def _sql_program() -> str:
    named = os.environ.get("WEFT_SQL")
    if named:
        return named
    # The environment of this interpreter need not be on PATH.
    candidates = [Path(sysconfig.get_path("scripts"), "weft-sql")]
    weft = shutil.which("weft")
    if weft is not None:
        candidates.append(Path(weft).resolve().with_name("weft-sql"))
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("weft-sql")
    if found is None:
        raise FileNotFoundError(
            "the program weft-sql is not on PATH: install it (pip install 'weft-archive[sql]'), build it (make sql), or set "
            "WEFT_SQL to its path"
        )
    return found


class Facts:
    """Tables of all captures and links, in the format of Delta Lake (docs/facts.md)."""

    def __init__(self, folder: "str | os.PathLike[str]") -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Facts({str(self.folder)!r})"

    @property
    def captures(self) -> "FactsTable":
        """One row per capture."""
        return FactsTable(self.folder / "captures")

    @property
    def links(self) -> "FactsTable":
        """One row per link of a capture."""
        return FactsTable(self.folder / "links")

    @property
    def texts(self) -> "FactsTable":
        """One row per text, if the archive keeps them (``weft load --facts-text``)."""
        return FactsTable(self.folder / "texts")


class FactsTable:
    """A table of facts. Each access reads its current version.

    Polars, DuckDB and pandas accept it directly (it is an Arrow stream); ``str(table)`` is the folder for engines that read
    Delta Lake themselves: ``polars.scan_delta(str(table))``. Methods that list files need the package ``deltalake``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"FactsTable({str(self.folder)!r})"

    def delta(self) -> Any:
        """Returns the table as ``deltalake.DeltaTable``, with history, versions and compaction."""
        try:
            import deltalake
        except ImportError as error:
            raise ImportError("this needs the package deltalake: pip install 'weft-archive[facts]'") from error
        return deltalake.DeltaTable(str(self.folder))

    def files(self) -> List[str]:
        """Returns the Parquet files of the current version. The folder may contain others."""
        return [str(file) for file in self.delta().file_uris()]

    def dataset(self) -> pyarrow.dataset.Dataset:
        """Returns the current files as a pyarrow dataset, which reads only the columns and rows that are needed."""
        table = self.delta()
        files = [str(file) for file in table.file_uris()]
        return pyarrow.dataset.dataset(files, schema=pyarrow.schema(table.schema()), format="parquet")

    def to_arrow(self) -> pyarrow.Table:
        """Returns all rows."""
        return self.dataset().to_table()

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """Iterates over all rows in batches."""
        return self.dataset().to_batches()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.dataset().scanner().to_reader().__arrow_c_stream__(requested_schema)
