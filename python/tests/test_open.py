"""Archives: questions, tables, SQL."""

import json
import os
import shutil

import pyarrow
import pytest

import weft_archive as weft


@pytest.fixture(scope="module")
def opened(archive):
    return weft.open(archive)


def test_answers_are_those_of_the_program(opened, archive, run_weft):
    def program(*arguments):
        answer = json.loads(run_weft(*arguments, "--json", "--archive", archive))
        answer.pop("answer", None)
        answer.pop("took_ms", None)
        return answer

    def same(answer, *arguments):
        answer.pop("took_ms", None)
        assert answer == program(*arguments)

    same(opened.search("root zone site:iana.org", limit=3), "search", "root zone site:iana.org", "--limit", "3")
    same(opened.inlinks("http://www.archive.org/", limit=5), "inlinks", "http://www.archive.org/", "--limit", "5")
    same(opened.outlinks("http://www.iana.org/", limit=5), "outlinks", "http://www.iana.org/", "--limit", "5")
    same(opened.page("http://www.iana.org/about"), "page", "http://www.iana.org/about")


def test_what_is_not_there_is_an_error(opened, tmp_path):
    with pytest.raises(weft.Error) as error:
        opened.page("http://nowhere.example/")
    assert error.value.args[1] == "not_found"
    with pytest.raises(weft.Error, match="not an archive"):
        weft.open(tmp_path)


def test_facts_are_tables_for_others(opened, archive):
    duckdb, polars, pandas = map(pytest.importorskip, ["duckdb", "polars", "pandas"])
    facts = opened.facts()
    count = opened.status()["captures"]
    captures = facts.captures
    assert captures.to_arrow().num_rows == count
    assert sum(batch.num_rows for batch in captures.batches()) == count
    assert pyarrow.table(captures).num_rows == count
    dataset = captures.dataset()
    assert duckdb.sql("SELECT count(*) FROM dataset").fetchall() == [(count,)]
    assert polars.read_delta(str(captures)).height == polars.DataFrame(captures).height == count
    assert len(pandas.DataFrame.from_arrow(captures)) == count
    assert all(os.path.exists(file) for file in captures.files())


def test_facts_elsewhere_and_none(tmp_path, shared, run_weft):
    inputs = shared / "crawls/dupes.warc.gz"
    run_weft("load", "--archive", tmp_path / "a", "--facts", tmp_path / "beside", inputs)
    assert weft.open(tmp_path / "a").facts().captures.to_arrow().num_rows == 12
    run_weft("load", "--archive", tmp_path / "b", "--facts", "none", inputs)
    with pytest.raises(weft.Error, match="keeps no facts"):
        weft.open(tmp_path / "b").facts()


def test_without_the_program_sql_says_how_to_get_it(opened, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("WEFT_SQL", raising=False)
    with pytest.raises(FileNotFoundError, match="make sql"):
        opened.sql("SELECT 1")


def test_a_program_that_fails_is_an_error_with_its_words(opened, monkeypatch, weft_program):
    # `weft` itself is no `weft-sql`: it refuses the arguments and ends with 2.
    monkeypatch.setenv("WEFT_SQL", weft_program)
    with pytest.raises(ValueError, match="unexpected argument"):
        opened.sql("SELECT 1")


def test_sql(opened, weft_program):
    beside = os.path.join(os.path.dirname(weft_program), "weft-sql")
    if shutil.which("weft-sql") is None and not os.path.exists(beside):
        pytest.skip("weft-sql is not built (make sql)")
    os.environ.setdefault("WEFT_SQL", shutil.which("weft-sql") or beside)
    count = opened.status()["captures"]
    assert opened.sql("SELECT count(*) AS captures FROM captures").to_pylist() == [{"captures": count}]
    with pytest.raises(ValueError):
        opened.sql("SELECT nothing FROM nowhere")
