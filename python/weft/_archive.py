"""An archive that ``weft load`` made: questions, tables, SQL."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Optional

import pyarrow
import pyarrow.dataset
import pyarrow.ipc

from weft import _weft


class Archive:
    """An open archive. Answers are those of the program with ``--json``, as dictionaries.

    Raises :class:`weft.Error` if a question has no answer; its second argument is ``not_found``, ``bad_request``,
    ``unavailable`` or ``internal``.
    """

    def __init__(self, folder: "str | os.PathLike[str]") -> None:
        self._archive = _weft.Archive(os.fspath(folder))

    def __repr__(self) -> str:
        return f"weft.open({str(self.folder)!r})"

    @property
    def folder(self) -> Path:
        """Its folder, absolute."""
        return Path(self._archive.folder)

    def search(
        self, query: str, *, limit: int = 10, after: Optional[str] = None, facets: bool = False
    ) -> "dict[str, Any]":
        """Pages with these words: ``hits``, ``total``, ``next`` (to be given as ``after``), ``notes``.

        The query is written as for ``weft search``: quotes, ``-word``, ``OR``, ``site:``, ``title:`` and others.
        """
        return self._ask("search", query=query, limit=limit, after=after, facets=facets)

    def inlinks(self, url: str, *, limit: int = 100, after: Optional[str] = None) -> "dict[str, Any]":
        """Links to a URL from the newest version of each page: ``rows``, ``total``, ``next``."""
        return self._ask("inlinks", url=url, limit=limit, after=after)

    def outlinks(self, url: str, *, limit: int = 100, after: Optional[str] = None) -> "dict[str, Any]":
        """Links of the newest version of a page: ``rows``, ``total``, ``next``."""
        return self._ask("outlinks", url=url, limit=limit, after=after)

    def page(self, url: str) -> "dict[str, Any]":
        """All that is known of a URL: its captures, counts of links, the beginning of its text."""
        return self._ask("page", url=url)

    def status(self) -> "dict[str, Any]":
        """The size and state of the archive."""
        return self._ask("status")

    def facts(self) -> "Facts":
        """The archive's tables of all captures and links.

        Raises :class:`weft.Error` if it keeps none.
        """
        place = self.status()["facts_place"]
        if place == "none":
            raise _weft.Error(f"{self.folder} keeps no facts (weft load --facts none)", "not_found")
        return Facts(self.folder / "facts" if place == "archive" else Path(place))

    def sql(self, query: str) -> pyarrow.Table:
        """The rows of a query in SQL over the archive's tables and views.

        The program ``weft-sql`` runs it: the one that the variable ``WEFT_SQL`` names, else the one beside ``weft`` or
        elsewhere on ``PATH``. Raises ``FileNotFoundError`` if there is none, and ``ValueError`` with the program's words if
        the query fails.
        """
        command = [_sql_program(), "--archive", str(self.folder), "--format", "arrow", query]
        # A file, because two pipes that are read in turn may block one another.
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as run:
                try:
                    table = pyarrow.ipc.open_stream(run.stdout).read_all()
                except pyarrow.ArrowInvalid:
                    table = None
                # What is left would keep the program waiting.
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
    weft = shutil.which("weft")
    if weft is not None:
        beside = Path(weft).resolve().with_name("weft-sql")
        if os.access(beside, os.X_OK):
            return str(beside)
    found = shutil.which("weft-sql")
    if found is None:
        raise FileNotFoundError(
            "the program weft-sql is not on PATH: build it (make sql), or name it with the variable WEFT_SQL"
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
        """One row a capture."""
        return FactsTable(self.folder / "captures")

    @property
    def links(self) -> "FactsTable":
        """One row a link of a capture."""
        return FactsTable(self.folder / "links")

    @property
    def texts(self) -> "FactsTable":
        """One row a text, if the archive keeps them (``weft load --facts-text``)."""
        return FactsTable(self.folder / "texts")


class FactsTable:
    """A table of facts, as it is whenever it is asked.

    Polars, DuckDB and pandas take it as it is (it is an Arrow stream); ``str(table)`` is the folder for engines that read
    Delta Lake themselves: ``polars.scan_delta(str(table))``. What knows the files needs the package ``deltalake``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"FactsTable({str(self.folder)!r})"

    def delta(self) -> Any:
        """The table as ``deltalake.DeltaTable``: its history, its versions, compaction."""
        try:
            import deltalake
        except ImportError as error:
            raise ImportError("this needs the package deltalake: pip install 'weft[facts]'") from error
        return deltalake.DeltaTable(str(self.folder))

    def files(self) -> List[str]:
        """The Parquet files that count now. Others in the folder do not, or not yet."""
        return [str(file) for file in self.delta().file_uris()]

    def dataset(self) -> pyarrow.dataset.Dataset:
        """The files that count now, as a dataset of pyarrow: columns and conditions are read from disk alone."""
        table = self.delta()
        files = [str(file) for file in table.file_uris()]
        return pyarrow.dataset.dataset(files, schema=pyarrow.schema(table.schema()), format="parquet")

    def to_arrow(self) -> pyarrow.Table:
        """All rows."""
        return self.dataset().to_table()

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """All rows, some at a time."""
        return self.dataset().to_batches()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.dataset().scanner().to_reader().__arrow_c_stream__(requested_schema)
