"""The facts of a base, as a feed and a comparison need them. Spark and plain Python each have an engine of their own."""

import json
from typing import Any, Dict, Iterable, Iterator, List, Protocol, Sequence, Tuple

from weft_archive.solr._cluster import Collection

#: Tables that documents are made from. ``texts`` may be missing.
TABLES = ("captures", "links", "texts")


class Facts(Protocol):
    """Tables below a base, each at the version that it had when this was opened, and its ledger.

    Statements of SQL see the tables under their names, and ``removed_captures`` and ``removed_links``
    (:meth:`open_removed`).
    """

    base: str
    versions: Dict[str, int]

    def columns(self, table: str) -> "set[str]":
        """Returns the columns of a table; none if there is no such table."""

    def rows(self, statement: str) -> Iterator[Dict[str, Any]]:
        """Yields the rows of a statement, which are not in memory all at once."""

    def view(self, name: str, statement: str) -> None:
        """Gives a statement a name, for other statements."""

    def open_removed(self, table: str, since: int) -> bool:
        """Makes ``removed_TABLE`` of the files that commits after version ``since`` have removed, unless they only moved rows.
        Returns whether there are any. Raises :class:`FilesGone` if the files were deleted."""

    def send(self, statement: str, collection: Collection, version: int) -> int:
        """Sends the documents of the rows of a statement. Returns their number."""

    def compare(self, statement: str, collection: Collection) -> "Iterator[Tuple[str, Dict[str, Any], Dict[str, Any]]]":
        """Yields id, expected document and found document, where they differ. A missing document is empty."""

    def finished_batches(self) -> List[int]:
        """Returns the batches whose rows are all in the tables, in order."""

    def fed(self, identity: str) -> List[Dict[str, Any]]:
        """Returns the rows of the ledger of a collection, in order of their batches."""

    def record(self, row: Dict[str, Any], number: int) -> None:
        """Appends a row to the ledger. ``number`` is that of rows of the collection before."""


class FilesGone(Exception):
    """Files that a takedown has replaced were deleted before the takedown was fed."""


def removed_files(commits: Iterable[str]) -> List[str]:
    """Returns the paths of the files that commits of a Delta table removed together with rows of theirs."""
    actions = (json.loads(line) for commit in commits for line in commit.splitlines() if line)
    removes = (action["remove"] for action in actions if "remove" in action)
    # A compaction only moves rows.
    return [remove["path"] for remove in removes if remove.get("dataChange", True)]


def in_order(rows: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Sorts the rows of the ledger of a collection: by batch, and those of one by the versions of the tables."""

    def key(row: Dict[str, Any]) -> Tuple[int, ...]:
        versions = json.loads(row["version"])
        return row["batch"], versions["captures"], versions["links"]

    return sorted(rows, key=key)


def difference(expected: Dict[str, Any], found: Dict[str, Any]) -> Dict[str, Tuple[Any, Any]]:
    """Returns the fields that differ, each with both values."""
    names: Sequence[str] = sorted({*expected, *found} - UNCOMPARED)
    pairs = {name: (expected.get(name), found.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if _sorted(name, pair[0]) != _sorted(name, pair[1])}


#: Fields that Solr sets, that others are copied to, and the version, which is not a function of the facts alone.
UNCOMPARED = {"_version_", "_root_", "index_time", "resourcename_facet", "weft_version_l"}

#: Fields whose values have an order. Columns of Solr have values sorted.
_ORDERED = {"weft_anchors_txt", "content"}


def _sorted(name: str, value: Any) -> Any:
    return sorted(value, key=str) if isinstance(value, list) and name not in _ORDERED else value
