"""Computes views as tables, by their statements (``views/*.sql``) over the tables of facts.

Statements begin with the same expressions (``views/current.sql``). Spark would compute those for each view, and within a
view for each mention. Those that several views need are computed once instead, into tables below ``staging/views`` that
are removed at the end.
"""

import json
import re
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Callable, Collection, Dict, List, Optional, Sequence

from pyspark.sql import SparkSession

from weft_archive import _weft
from weft_archive.spark._session import ours
from weft_archive.spark._tables import Tables
from weft_archive.spark._takedowns import finish_takedowns
from weft_archive.spark._wrong_use import WrongUse

_STAGING = ("staging", "views")

#: Expressions that are computed once if more than one view needs them. Each may need those before it.
_SHARED = ("current_version", "current_link", "uri")

#: An expression of a statement. Only its first and its last line begin at the margin.
_EXPRESSION = re.compile(r"^(?:WITH |, )?(\w+) AS \(\n(.*?)^\),?\n", re.MULTILINE | re.DOTALL)

_COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)


@dataclass(frozen=True)
class _Statement:
    """A statement: named expressions, each of which may need those before it, and a query."""

    expressions: Dict[str, str]
    query: str

    @staticmethod
    def parse(text: str) -> "_Statement":
        text = _COMMENT.sub("", text)
        return _Statement(dict(_EXPRESSION.findall(text)), _EXPRESSION.sub("", text))

    def needs(self, given: Collection[str] = ()) -> List[str]:
        """Returns the names of the expressions that the query needs, in order, if tables with the names ``given`` exist."""
        names: List[str] = []
        text = self.query
        for name, expression in reversed(self.expressions.items()):
            if name not in given and name in _words(text):
                names.insert(0, name)
                text += expression
        return names

    def text(self, given: Collection[str]) -> str:
        """Returns the text of the statement, if tables with the names ``given`` exist."""
        expressions = ",\n".join(f"{name} AS (\n{self.expressions[name]})" for name in self.needs(given))
        return f"WITH {expressions}\n{self.query}" if expressions else self.query


def _words(text: str) -> "set[str]":
    return set(re.findall(r"\w+", text))


def compute_views(
    spark: SparkSession,
    base: str,
    names: Optional[Sequence[str]] = None,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Dict[str, int]:
    """Recomputes the views ``names`` (default: all) as tables ``views/NAME`` below ``base``. Returns their numbers of rows.

    All views are computed from the same versions of ``captures`` and ``links``; their commits record these versions. Each
    view is replaced in one commit; readers see the previous one until then.
    """
    statements = {name: _Statement.parse(text) for name, text in _weft.views()}
    unknown = [name for name in names or () if name not in statements]
    if unknown:
        raise WrongUse(f"no view {', '.join(unknown)}; the views are {', '.join(statements)}")
    tables = Tables(ours(spark), base)
    if not (tables.exists("captures") and tables.exists("links")):
        raise WrongUse(f"{tables.base} has no tables yet; load an input first")
    finish_takedowns(tables, tables.takedowns(), say)
    versions = {name: tables.version(name) for name in ("captures", "links")}
    for name, version in versions.items():
        tables.read(name, version=version).createOrReplaceTempView(name)
    wanted = {name: statements[name] for name in names or statements}
    rows = {}
    try:
        shared = _share(tables, list(wanted.values()))
        for name, statement in wanted.items():
            say(f"view {name}: computing")
            (
                tables.spark.sql(statement.text(shared))
                .write.format("delta")
                .mode("overwrite")
                .option("overwriteSchema", "true")
                .option("userMetadata", json.dumps(versions))
                .save(tables.path("views", name))
            )
            rows[name] = tables.rows_written("views", name)
            say(f"view {name}: {rows[name]:,} rows")
    finally:
        tables.remove(*_STAGING)
    return rows


def _share(tables: Tables, statements: Sequence[_Statement]) -> List[str]:
    """Makes tables of the expressions that more than one of the statements needs. Returns their names."""
    # Tables that a killed job left have no use.
    tables.remove(*_STAGING)
    # Delta remembers tables by their addresses, so these must not be used again.
    folder = (*_STAGING, uuid.uuid4().hex)
    needed = Counter(name for statement in statements for name in statement.needs())
    shared: List[str] = []
    for name in _SHARED:
        if needed[name] > 1:
            expressions = next(each.expressions for each in statements if name in each.expressions)
            frame = tables.spark.sql(_Statement(expressions, f"SELECT * FROM {name}").text(shared))
            # Columns that nobody asks for are not kept.
            readers = [text for each in statements for text in (each.query, *each.expressions.values())]
            asked = _words(" ".join(text for text in readers if name in _words(text)))
            tables.stage(frame.select([column for column in frame.columns if column in asked]), *folder, name)
            tables.read(*folder, name).createOrReplaceTempView(name)
            shared.append(name)
    return shared
