"""Reads the facts of an archive with engines that know nothing of Weft, and compares what views/*.sql gives with dumps.

Arguments: the folder of the facts, the folder of the statements, a folder with a dump VIEW.tsv of each view.
"""

import pathlib
import sys

import deltalake
import duckdb
import polars
import pyarrow

facts, statements, dumps = map(pathlib.Path, sys.argv[1:])


def iso(us):
    """Microseconds since 1970 as dumps write them; years before 1 are beyond Python's own dates."""
    days, us = divmod(us, 86_400_000_000)
    # Days from a civil date and back: https://howardhinnant.github.io/date_algorithms.html
    days += 719_468
    era, day = divmod(days, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    rest = day - (365 * year + year // 4 - year // 100)
    month = (5 * rest + 2) // 153
    day = rest - (153 * month + 2) // 5 + 1
    year, month = year + era * 400, month + 3 if month < 10 else month - 9
    year += month <= 2
    ms = us // 1_000
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (
        year, month, day, ms // 3_600_000, ms // 60_000 % 60, ms // 1_000 % 60, ms % 1_000)


def text(value):
    value = "" if value is None else str(value)
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def lines(table):
    columns = []
    for column in table.columns:
        if pyarrow.types.is_timestamp(column.type):
            columns.append([iso(us) for us in column.cast(pyarrow.int64()).to_pylist()])
        else:
            columns.append(list(map(text, column.to_pylist())))
    return ["\t".join(row) for row in zip(*columns)]


engine = duckdb.connect()
for name in "captures", "links":
    table = deltalake.DeltaTable(str(facts / name))
    files = [str(facts / name / pathlib.PurePosixPath(uri).name) for uri in table.file_uris()]
    engine.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files})")
    rows = table.to_pyarrow_table().num_rows
    others = engine.sql(f"SELECT count(*) FROM {name}").fetchall()[0][0], polars.read_delta(str(facts / name)).height
    assert others == (rows, rows), (name, rows, others)
    print(name, rows, "rows in", len(files), "files")

# The beginning of all statements but one.
current = (statements / "current.sql").read_text()
differ = []
for statement in sorted(statements.glob("*.sql")):
    if statement.stem == "current":
        continue
    beginning = "" if statement.stem == "captures" else current
    found = lines(engine.sql(beginning + statement.read_text()).to_arrow_table())
    expected = (dumps / f"{statement.stem}.tsv").read_bytes().decode().split("\n")[:-1]
    print(statement.stem, len(found), "rows")
    if found != expected:
        first = next(((a, b) for a, b in zip(found, expected) if a != b), "one ends before the other")
        differ.append(f"{statement.stem}: {len(found)} rows by SQL, {len(expected)} in the dump; first: {first}")
sys.exit("\n".join(differ) or 0)
