"""Serving tables as their format says (docs/format-serving.md), read by pyarrow only, and as dumps."""

import json
import pathlib

import duckdb
import pyarrow
import pyarrow.parquet as parquet

import dumped

GROUP_ROWS = 4_096

KEYS = {
    "inputs": ["input_number"],
    "captures": ["url_key", "fetch_time", "input_number", "offset"],
    "aliases": ["url_key", "input_number", "line_offset"],
    "versions": ["url_key"],
    "outlinks": ["source_key", "target_key"],
    "inlinks": ["target_key", "source_key"],
    "uris": ["url_key"],
    "domains": ["domain"],
    "top": ["domain", "rank"],
}

BLOOMS = {name: key[0] for name, key in KEYS.items() if name != "inputs"}

#: The dump of each view, as a statement over the tables.
VIEWS = {
    "captures": """
        SELECT c.url_key, c.fetch_time, c.url, c.mime, c.status, c.digest, c.length, c."offset", i.input, c.method
        FROM captures AS c JOIN inputs AS i USING (input_number) ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10""",
    "pages": """
        SELECT v.url_key, v.url, v.fetch_time, v.status, v.mime, v.digest, v.title, v.links, u.inlinks, u.inlinks_external
        FROM versions AS v JOIN uris AS u USING (url_key) WHERE v.is_page ORDER BY 1""",
    "links": "SELECT source_key, target_key, target_url, anchor, nofollow::INT FROM outlinks ORDER BY 1, 2",
    "inlinks": "SELECT target_key, source_key, anchor, nofollow::INT FROM inlinks ORDER BY 1, 2",
    "uris": "SELECT url_key, captured::INT, inlinks, inlinks_external FROM uris ORDER BY 1",
    "domains": "SELECT domain, uris, pages, inlinks_external FROM domains ORDER BY 1",
    "top": "SELECT inlinks_external, inlinks, url_key FROM top WHERE domain = '' ORDER BY rank",
}


def manifest(folder) -> dict:
    return json.loads((pathlib.Path(folder) / "manifest.json").read_text())


def read(folder) -> "dict[str, pyarrow.Table]":
    """Reads all tables, and checks that files, row groups, order and first keys are as the format says."""
    folder, tables = pathlib.Path(folder), {}
    said = manifest(folder)
    assert said["format"] == 1 and set(said["tables"]) == set(KEYS)
    for name, table in said["tables"].items():
        parts, firsts = [], []
        for place, each in enumerate(table["files"]):
            path = folder / each["path"]
            assert path.stat().st_size == each["size_bytes"]
            file = parquet.ParquetFile(path)
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group)
                assert 0 < rows.num_rows <= GROUP_ROWS
                key = rows.slice(0, 1).select(KEYS[name]).to_pylist()[0]
                firsts.append({"file": place, "row_group": group, "rows": rows.num_rows, **key})
                if name in BLOOMS:
                    columns = file.metadata.row_group(group)
                    [column] = [columns.column(at) for at in range(columns.num_columns)
                                if columns.column(at).path_in_schema == BLOOMS[name]]
                    assert column.bloom_filter_offset is not None
                parts.append(rows)
            assert file.metadata.num_rows == each["rows"]
        rows = pyarrow.concat_tables(parts) if parts else None
        assert table["rows"] == (rows.num_rows if rows else 0)
        if rows:
            assert parquet.read_table(folder / table["first_keys"]).to_pylist() == firsts, name
            keys = list(zip(*(rows[column].to_pylist() for column in KEYS[name])))
            assert keys == sorted(set(keys)), name
        tables[name] = rows
    return tables


def dumps(tables) -> "dict[str, list[str]]":
    """The lines of the dump of each view."""
    found = {}
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        for name, rows in tables.items():
            if rows:
                engine.register(name, rows)
        for view, statement in VIEWS.items():
            rows = engine.sql(statement).to_arrow_table()
            columns = [
                column.cast(pyarrow.timestamp("us", "UTC")) if pyarrow.types.is_timestamp(column.type) else column
                for column in rows.columns
            ]
            found[view] = dumped.lines(pyarrow.table(columns, names=rows.column_names))
    return found


def check(folder, of_dumps: pathlib.Path) -> "dict[str, pyarrow.Table]":
    """The tables hold the rows of the dumps, byte for byte. Returns them."""
    tables = read(folder)
    for view, lines in dumps(tables).items():
        assert lines == dumped.dump(of_dumps, view), view
    return tables
