"""`weft-sql serve`: clients of Flight SQL, the page, and the same answers from every engine that reads the facts."""

import csv
import html.parser
import io
import json
import re
import subprocess
import urllib.parse
import urllib.request

import pytest

import weft_archive as weft
from asked import assert_same, questions, rows_of

@pytest.fixture(scope="module")
def server(weft_sql, archive):
    """What the server says in its first line: its addresses."""
    arguments = ["serve", "--json", "--archive", archive, "--listen", "127.0.0.1:0"]
    with subprocess.Popen([weft_sql, *map(str, arguments)], stdout=subprocess.PIPE) as running:
        try:
            yield json.loads(running.stdout.readline())
        finally:
            running.terminate()


@pytest.fixture(scope="module")
def adbc(server):
    flight_sql = pytest.importorskip("adbc_driver_flightsql.dbapi", reason="adbc_driver_flightsql is not installed")
    with flight_sql.connect(server["flight"], autocommit=True) as connection:
        yield connection


def test_adbc(adbc, expected):
    def ask(statement):
        with adbc.cursor() as cursor:
            cursor.execute(statement)
            return rows_of(cursor.fetch_arrow_table())

    assert_same(expected, ask)


def test_adbc_lists_tables_and_is_refused_changes(adbc):
    objects = adbc.adbc_get_objects(depth="columns").read_all().to_pylist()
    tables = objects[0]["catalog_db_schemas"][0]["db_schema_tables"]
    assert {"captures", "links", "pages"} <= {table["table_name"] for table in tables}
    with adbc.cursor() as cursor, pytest.raises(Exception, match="read-only"):
        cursor.execute("CREATE TABLE x AS SELECT 1")


def test_deltalake_and_pyarrow(archive, expected):
    deltalake = pytest.importorskip("deltalake")
    pyarrow = pytest.importorskip("pyarrow")
    query = deltalake.QueryBuilder()
    for name in ("captures", "links"):
        query = query.register(name, deltalake.DeltaTable(str(archive / "facts" / name)))
    assert_same(expected, lambda statement: rows_of(pyarrow.table(query.execute(statement).read_all())))


def test_duckdb(archive, expected):
    duckdb = pytest.importorskip("duckdb")
    facts = weft.open(archive).facts()
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("captures", facts.captures.to_arrow())
    connection.register("links", facts.links.to_arrow())
    assert_same(expected, lambda statement: rows_of(connection.sql(statement).to_arrow_table()))


def test_polars(archive, expected):
    polars = pytest.importorskip("polars")
    tables = {name: polars.scan_delta(str(archive / "facts" / name)) for name in ("captures", "links")}
    with polars.SQLContext(tables) as context:
        assert_same(expected, lambda statement: rows_of(context.execute(statement, eager=True).to_arrow()))


def test_http(server, expected):
    def ask(statement):
        pyarrow = pytest.importorskip("pyarrow")
        query = urllib.parse.urlencode({"format": "arrow", "q": statement})
        address = server["url"].replace("/sql", "/api/v1/sql")
        with urllib.request.urlopen(f"{address}?{query}") as answer:
            return rows_of(pyarrow.ipc.open_stream(answer).read_all())

    assert_same(expected, ask)


class _Rows(html.parser.HTMLParser):
    """The cells of the table of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: "list[list[str]]" = []
        self.in_cell = False

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.in_cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.in_cell = self.in_cell and tag != "td"

    def handle_data(self, data):
        if self.in_cell:
            self.rows[-1][-1] += data


def test_the_page_shows_what_downloads_have(server, expected):
    for title, statement in questions().items():
        with urllib.request.urlopen(server["url"] + "?" + urllib.parse.urlencode({"q": statement})) as answer:
            page = answer.read().decode()
        parser = _Rows()
        parser.feed(page)
        shown = [row for row in parser.rows if row]
        query = urllib.parse.urlencode({"format": "csv", "q": statement})
        with urllib.request.urlopen(server["url"].replace("/sql", "/api/v1/sql") + "?" + query) as answer:
            downloaded = list(csv.reader(io.TextIOWrapper(answer, "utf-8")))[1:]
        assert len(shown) == len(downloaded) == len(expected[title]), title
        for shown_row, row in zip(shown, downloaded):
            for shown_cell, cell in zip(shown_row, row):
                # Times are shorter on the page, and long texts are cut.
                is_time = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", cell)
                if is_time:
                    assert shown_cell == cell[:19].replace("T", " "), title
                elif shown_cell.endswith("\u2026"):
                    assert cell.startswith(shown_cell[:-1].rstrip()), title
                else:
                    assert " ".join(shown_cell.split()) == " ".join(cell.split()) or (shown_cell, cell) == ("null", ""), title
