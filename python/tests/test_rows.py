"""Rows of inputs as Arrow: the same as those that a load keeps."""

import pathlib

import pyarrow
import pytest

import weft_archive as weft
from conftest import REPOSITORY

#: What only an archive gives: numbers of inputs and epochs, digests of beginnings, and documents, which are not read here.
OF_ARCHIVES = {"input_id", "input_digest", "epoch", "is_document"}


def rows(table: pyarrow.Table) -> "list[tuple]":
    """Rows without what only an archive gives, in an order of their own."""
    kept = [name for name in table.column_names if name not in OF_ARCHIVES]
    columns = [table[name].to_pylist() for name in kept]
    return sorted(zip(*columns), key=repr)


@pytest.mark.parametrize("table", ["captures", "links"])
def test_rows_and_schema_are_those_of_the_tables(archive, crawls, table):
    reader = getattr(weft, table)(*crawls)
    kept = getattr(weft.open(archive).facts(), table)
    expected = pyarrow.schema(kept.delta().schema())
    plain = [(field.name, str(field.type).replace("string_view", "string"), field.nullable) for field in expected]
    assert [(field.name, str(field.type), field.nullable) for field in reader.schema] == plain
    assert rows(reader.read_all()) == rows(kept.to_arrow())


def test_documents_are_not_read(archive, crawls):
    assert set(weft.captures(*crawls).read_all()["is_document"].to_pylist()) == {False}
    assert True in weft.open(archive).facts().captures.to_arrow()["is_document"].to_pylist()


def test_pages_have_the_addresses_of_their_images(crawls):
    images = [images for images in weft.captures(*crawls).read_all()["links_images"].to_pylist() if images]
    assert images
    assert all(address.startswith("http") for of_page in images for address in of_page.split("\n"))


def test_the_number_of_an_input_is_that_of_its_content(tmp_path, shared):
    content = (shared / "crawls/dupes.warc.gz").read_bytes()
    (tmp_path / "other-name.warc.gz").write_bytes(content)
    one = weft.captures(shared / "crawls/dupes.warc.gz").read_all()
    other = weft.captures(tmp_path / "other-name.warc.gz").read_all()
    assert set(one["input_id"].to_pylist()) == set(other["input_id"].to_pylist())
    digest = one["input_digest"][0].as_py()
    assert one["input_id"][0].as_py() == int(digest.removeprefix("sha256:")[:16], 16) & (2**63 - 1)


def test_batches_are_bounded(shared):
    sizes = [batch.num_rows for batch in weft.links(shared / "crawls")]
    # The links of one capture, 10,000 at most, stay together.
    assert len(sizes) > 5 and max(sizes) < 8_192 + 10_000


def test_texts_and_quarantine(shared):
    assert weft.texts(shared / "commoncrawl/whirlwind.warc.gz").read_all()["text"][0].as_py()
    broken = weft.quarantine(shared / "edge/warcio-example-wrong-chunks.warc.gz").schema
    assert broken.names == ["input", "offset", "length", "reason", "detail", "input_id", "epoch"]


def test_what_is_quarantined_is_what_a_load_quarantines(tmp_path, shared, run_weft):
    folder = shared / "edge"
    run_weft("load", "--archive", tmp_path / "a", folder, code=1)
    expected = run_weft("dump", "quarantine", "--archive", tmp_path / "a")
    found = weft.quarantine(folder).read_all().select(["input", "offset", "reason"]).to_pylist()
    lines = [line.split("\t") for line in expected.splitlines()]
    # An input that is there twice, under two names, is loaded once.
    inputs = {line[0] for line in lines}
    rows = sorted((row["input"], row["offset"], row["reason"]) for row in found if row["input"] in inputs)
    assert rows == sorted((line[0], int(line[1]), line[2]) for line in lines)


def test_other_libraries_take_streams_as_they_are(shared):
    duckdb, polars, pandas = map(pytest.importorskip, ["duckdb", "polars", "pandas"])
    stream = weft.stream(shared / "crawls/hackfest.warc.gz", table="links")
    count = pyarrow.table(stream).num_rows
    assert count > 0
    reader = pyarrow.RecordBatchReader.from_stream(stream)
    assert duckdb.sql("SELECT count(*) FROM reader").fetchall() == [(count,)]
    assert polars.DataFrame(stream).height == count
    assert len(pandas.DataFrame.from_arrow(stream)) == count


def test_links_to_other_domains_alone(shared):
    inputs = shared / "crawls/etig.warc.gz"
    every, external = weft.links(inputs).read_all(), weft.links(inputs, links="external").read_all()
    assert 0 < external.num_rows < every.num_rows
    rows = external.to_pylist()
    assert all(row["source_registered_domain"] != row["target_registered_domain"] for row in rows)


def test_what_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(OSError, match="no such file"):
        weft.captures(tmp_path / "missing.warc.gz")
    with pytest.raises(ValueError, match="external"):
        weft.links(tmp_path, links="some")
    with pytest.raises(TypeError):
        weft.captures()


def test_views_are_those_of_the_repository():
    files = {path.stem: path.read_text() for path in (REPOSITORY / "views").glob("*.sql")}
    current = files.pop("current")
    expected = {name: text if name == "captures" else current + text for name, text in files.items()}
    assert dict(weft._weft.views()) == expected


def test_what_is_typed_is_there():
    stubs = pathlib.Path(weft.__file__).with_name("_weft.pyi").read_text()
    for name in dir(weft._weft):
        if not name.startswith("_"):
            assert f"class {name}" in stubs or f"def {name}(" in stubs, name


def test_words_are_those_of_search():
    texts = ["The Pages, of pages", "Cafés", "東京 pages", None, "..."]
    rows = pyarrow.record_batch(weft._weft.text_words(texts, ["en-GB", "fr", "ja", "en", None]))
    assert rows["words"].to_pylist() == ["the pages of pages", "cafes", "東京 京 pages", None, ""]
    assert rows["stems"].to_pylist() == ["page page", "caf", "", None, ""]
    assert [likeness is None for likeness in rows["likeness"].to_pylist()] == [False, False, False, True, True]
    with pytest.raises(ValueError, match="2 texts have 1 languages"):
        weft._weft.text_words(["a", "b"], ["en"])
