"""`weft-sql serve`: clients of Flight SQL, the page, and the same answers from every engine that reads the facts."""

import csv
import datetime
import html.parser
import io
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse
import urllib.request

import pytest

import weft_archive as weft
from asked import assert_same, questions, rows_of
from conftest import needs_java

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


def test_adbc_binds_parameters(adbc):
    def ask(statement, *values):
        with adbc.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    day = datetime.date(2000, 1, 1)
    counting = "select count(*) from captures where fetch_status = {} and url like {} and fetch_time > {}"
    expected = ask(counting.format(200, "'http%'", "'2000-01-01'"))
    assert expected[0][0] > 0
    assert ask(counting.format("?", "?", "?"), 200, "http%", day) == expected
    assert ask(counting.format("$1", "$2", "$3"), 200, "http%", datetime.datetime(2000, 1, 1)) == expected
    assert ask(counting.format("?", "?", "?"), None, "http%", day) == [(0,)]
    # Any type will do, and a question mark in a text or a comment is no parameter.
    assert ask("select ?, ?, '?' -- ?", "a", 1.5) == [("a", 1.5, "?")]
    assert len(ask("select url from captures limit ?", 3)) == 3


@pytest.mark.parametrize(
    "statement, values, said",
    [
        ("select url from captures where fetch_status = ?", ("many",), "parameter [$]1 must be of type Int32"),
        ("select url from captures where fetch_status = ?", (2.5,), "parameter [$]1 must be of type Int32"),
        ("select url from captures where fetch_status = ?", (1, 2), "1 parameter, and 2 values were given"),
        ("select ?", (), "1 parameter, and 0 values were given"),
        ("select ?, $1", (1,), "not both"),
    ],
)
def test_adbc_is_told_what_is_wrong_with_parameters(adbc, statement, values, said):
    with adbc.cursor() as cursor, pytest.raises(Exception, match=said):
        cursor.execute(statement, values)


def test_adbc_runs_a_statement_with_one_row_at_a_time(adbc):
    with adbc.cursor() as cursor, pytest.raises(Exception, match="one row of values"):
        cursor.executemany("select ?", [(1,), (2,)])


def test_adbc_lists_types_of_tables_and_columns(adbc):
    assert adbc.adbc_get_table_types() == ["TABLE"]
    schema = adbc.adbc_get_table_schema("ccindex")
    assert {"url_host_2nd_last_part", "crawl", "subset"} <= set(schema.names)


@pytest.fixture(scope="module")
def jdbc_driver(tmp_path_factory):
    """The JDBC driver of Apache Arrow."""
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("the JDBC driver needs Maven, and there is none")
    folder = tmp_path_factory.mktemp("jdbc")
    artifact = "org.apache.arrow:flight-sql-jdbc-driver:18.3.0"
    copy = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    if subprocess.run(copy, cwd=folder, capture_output=True).returncode != 0:
        pytest.skip(f"Maven cannot fetch {artifact} here")
    return next(folder.glob("*.jar"))


@needs_java
def test_jdbc(server, jdbc_driver, archive):
    """The calls of a database tool, and of a program with a prepared statement."""
    address = server["flight"].replace("grpc://", "jdbc:arrow-flight-sql://") + "?useEncryption=false"
    source = pathlib.Path(__file__).with_name("Jdbc.java")
    java = ["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", str(jdbc_driver), str(source), address]
    done = subprocess.run(java, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-5000:]
    found = dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    captures = int(found.pop("statement"))
    ok = int(found.pop("status 200"))
    assert 0 < ok <= captures
    assert {"captures", "ccindex", "pages"} <= set(found.pop("tables").split(","))
    assert "error" in found.pop("changes")
    assert found == {
        "product": "Weft", "quote": '"', "read-only": "true", "transactions": "false", "keywords": "", "functions": "",
        "escape": "\\", "separator": ".", "schemas in queries": "true", "catalogs in queries": "true",
        "grouping": "true", "unions": "true", "outer joins": "true", "longest statement": "0",
        "catalogs": "weft", "schemas": "public", "table types": "TABLE",
        "columns": "domain,uris,pages,inlinks_external",
        # The driver does not ask the server for types, and answers itself that there are no indexes.
        "types": "", "index info": "0",
        "primary keys": "0", "imported keys": "0", "exported keys": "0", "cross reference": "0",
        "parameters": "3", "status 999": "0", "null": "0", "page of rows": "3",
    }


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
