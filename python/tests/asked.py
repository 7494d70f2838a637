"""The questions of docs/sql.md that every engine can be asked in the same words, and answers in a form that can be compared."""

import datetime
import decimal
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/sql.md"

# Questions of docs/sql.md over the facts alone, which every engine can be asked in the same words.
TITLES = [
    "Captures by top-level domain",
    "Largest domains",
    "Languages of pages",
    "Media types, declared and detected",
    "Status codes",
    "Captures of a host",
    "Duplicate content",
    "Growth by month",
    "Links between domains",
    "Links from one domain to another",
]


def questions() -> "dict[str, str]":
    found = re.findall(r"^### (.+?)\n```sql\n(.*?)\n```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return {title: statement for title, statement in found if title in TITLES}


def plain(value):
    """A value as all engines mean it: times in UTC without a zone, numbers without a type."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, (decimal.Decimal, float)):
        return int(value) if value == int(value) else float(value)
    return value


def rows_of(table) -> "list[tuple]":
    """The rows of a table of pyarrow."""
    return [tuple(plain(value) for value in row.values()) for row in table.to_pylist()]


def assert_same(expected, ask) -> None:
    """Each answer of ``ask`` is the one expected."""
    for title, statement in questions().items():
        assert ask(statement) == expected[title], title
