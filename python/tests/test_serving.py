"""Serving tables by increments: after each batch the rows of an archive with the same inputs, whatever is killed."""

import functools
import json
import os
import pathlib
import random
import re
import shutil

import pyarrow.parquet as parquet
import pytest

import odd_crawls
import served
import weft_archive as weft
from conftest import dump_all, needs_java

pytest.importorskip("pyspark")
pytest.importorskip("delta")
deltalake = pytest.importorskip("deltalake")
pytestmark = needs_java

import weft_archive.spark  # noqa: E402 (it needs pyspark)
from weft_archive.spark._serving_files import Manifest, next_part  # noqa: E402

#: So few that every table has several files, of which a batch touches some.
FILE_ROWS = 60


class Stopped(Exception):
    """Stands for the end of the driver."""


def stop_at(step):
    def say(text: str) -> None:
        if step in text:
            raise Stopped

    return say


class Both:
    """A base and an archive with the same inputs."""

    def __init__(self, folder: pathlib.Path, spark, run_weft) -> None:
        self.folder, self.spark, self.run_weft = folder, spark, run_weft
        self.base, self.archive = str(folder / "base"), folder / "archive"

    @property
    def serving(self) -> pathlib.Path:
        return pathlib.Path(self.base, "serving")

    def load(self, *names: str) -> None:
        inputs = [str(self.folder / name) for name in names]
        summary = weft.spark.load(self.spark, self.base, inputs, texts=True)
        assert summary.failed == 0, summary
        self.run_weft("load", "--archive", self.archive, *inputs)

    def serve(self, **options):
        return weft.spark.serve(self.spark, self.base, file_rows=FILE_ROWS, **options)

    def check(self, batch: int) -> dict:
        assert served.manifest(self.serving)["batch"] == batch
        dumps = self.folder / f"dumps-{batch}"
        dumps.mkdir()
        return served.check(self.serving, dump_all(dumps, self.run_weft, self.archive))


@pytest.fixture(scope="module")
def both(tmp_path_factory, spark, run_weft):
    """Five batches of crawls that have revisits and originals in one another."""
    folder = tmp_path_factory.mktemp("serving")
    seed = int(os.environ.get("WEFT_TEST_SEED") or random.randrange(2**32))
    print(f"WEFT_TEST_SEED={seed}")
    for number in range(2):
        odd_crawls.write(folder / str(number), seed + number, documents=False)
    return Both(folder, spark, run_weft)


def test_each_of_five_batches_gives_the_rows_of_an_archive(both):
    five_batches(both)


@functools.cache
def five_batches(both) -> None:
    """Loads the batches, takes down, and compares after each. Later tests need what is then there, in any order."""
    both.load("0/a.warc")
    first = both.serve()
    assert not first.is_increment
    both.check(1)

    both.load("0/b.warc", "0/other-name.warc")
    assert both.serve().is_increment
    both.check(2)

    taken = {"url_keys": ["org,b)/x"], "prefixes": ["org,e)/", "org,f"]}
    with pytest.raises(Stopped):
        weft.spark.take_down(both.spark, both.base, **taken, say=stop_at("deleted from links"))
    for option, key in ("--prefix", "org,e)/"), ("--prefix", "org,f"), ("--url", "http://b.org/x"):
        both.run_weft("forget", "--archive", both.archive, option, key)
    assert both.serve().is_increment
    both.check(3)

    # New captures of what is taken down stay out. The job is killed when nearly all files are written.
    both.load("0/c.warc", "1/a.warc")
    before = served.manifest(both.serving)
    with pytest.raises(Stopped):
        both.serve(say=stop_at("top: writing"))
    assert served.manifest(both.serving) == before
    served.read(both.serving)
    assert both.serve().is_increment
    both.check(4)

    both.load("1/b.warc")
    last = both.serve()
    tables = both.check(5)
    assert 0 < last.rows_written["captures"] and last.rows["captures"] == tables["captures"].num_rows

    # A batch that is repeated changes nothing.
    before = (both.serving / "manifest.json").read_bytes()
    both.load("1/b.warc")
    assert set(both.serve().rows_written.values()) == {0}
    assert (both.serving / "manifest.json").read_bytes() == before

    # An increment gives what a recomputation gives, also in the columns that no dump has.
    assert not both.serve(recompute=True).is_increment
    again = served.read(both.serving)
    for name, rows in tables.items():
        assert rows == again[name], name
    # Files stay for readers of the manifest before; those of older ones are gone.
    there = {str(path.relative_to(both.serving)) for path in both.serving.glob("*/*.parquet")}
    assert there == paths(json.loads(before)) | paths(served.manifest(both.serving))


def paths(manifest: dict) -> "set[str]":
    """All files that a manifest names."""
    tables = manifest["tables"].values()
    firsts = {table["first_keys"] for table in tables if "first_keys" in table}
    return firsts | {file["path"] for table in tables for file in table["files"]}


def test_texts_have_their_words(both):
    five_batches(both)
    rows = table(both.base, "texts").to_pylist()
    assert rows
    for row in rows:
        assert row["words"].split() == re.findall("[a-z0-9]+", row["text"].lower()) and row["likeness"] is not None


def test_texts_of_pages_have_anchors(both):
    five_batches(both)
    keys = set(table(both.base, "texts")["url_surtkey"].to_pylist())
    assert keys and not any(key.startswith(("org,e)", "org,f)")) or key == "org,b)/x" for key in keys)
    weft.spark.compute_texts(both.spark, both.base)
    tables, found = served.read(both.serving), table(both.base, "views", "texts").to_pylist()
    pages = {row["url_key"]: row for row in tables["versions"].to_pylist() if row["is_page"]}
    assert len(found) == len({row["url_key"] for row in found} & set(pages)) > 0
    for row in found:
        assert (row["fetch_time"], row["title"]) == (pages[row["url_key"]]["fetch_time"], pages[row["url_key"]]["title"])
        assert row["title"].removeprefix("T") in row["text"], row
        anchors = anchors_to(row["url_key"], tables["inlinks"].to_pylist())
        assert [(anchor["text"], anchor["weight"]) for anchor in row["anchors"]] == anchors


def table(base, *names):
    return deltalake.DeltaTable(str(pathlib.Path(base, *names))).to_pyarrow_table()


def anchors_to(url_key, links) -> "list[tuple[str, int]]":
    """The anchors of a page by weight: one, and one more each time that the number of hosts doubles."""
    hosts: "dict[str, set[str]]" = {}
    for link in links:
        if link["target_key"] == url_key and link["anchor"]:
            hosts.setdefault(link["anchor"], set()).add(link["source_key"].partition(")")[0])
    weighed = [(text, len(hosts[text]).bit_length()) for text in hosts]
    return sorted(weighed, key=lambda each: (-each[1], each[0]))


def test_texts_that_are_cut_or_of_an_original_are_marked_as_in_an_archive(tmp_path, both):
    fields = [("WARC-Date", "2020-01-01T00:00:00Z"), ("Content-Type", "application/http; msgtype=response")]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    pages = {
        "http://a.org/cut-by-the-crawler": (b"<p>some words", [("WARC-Truncated", "length")]),
        "http://a.org/long": (b"<p>" + b"words " * 180_000, []),
        "http://a.org/without-text": (b"<html><body></body></html>", []),
    }
    records = []
    for url, (body, more) in pages.items():
        named = [("WARC-Record-ID", f"<urn:x:{url}>"), ("WARC-Target-URI", url)]
        records.append(odd_crawls.record("response", [*named, *fields, *more], head + body))
    refers = [("WARC-Refers-To-Target-URI", "http://a.org/long"), ("WARC-Refers-To-Date", "2020-01-01T00:00:00Z")]
    profile = ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")
    again = [("WARC-Record-ID", "<urn:x:same>"), ("WARC-Date", "2020-01-02T00:00:00Z")]
    again += [("WARC-Target-URI", "http://a.org/same"), profile, *refers]
    (tmp_path / "pages.warc").write_bytes(b"".join([*records, odd_crawls.record("revisit", again, b"")]))
    base, archive, exported = str(tmp_path / "base"), tmp_path / "archive", tmp_path / "exported"
    weft.spark.load(both.spark, base, [str(tmp_path / "pages.warc")], texts=True)
    weft.spark.serve(both.spark, base)
    both.run_weft("load", "--archive", archive, tmp_path / "pages.warc")
    both.run_weft("export", "--archive", archive, "--serving", exported)
    columns = {
        "captures": ["url_key", "fetch_time", "offset", "kind", "method", "is_damaged", "original_url_key", "original_offset"],
        "versions": ["url_key", "last_seen", "title", "language", "links", "links_dropped", "text_truncated"],
    }
    for name, compared in columns.items():
        of_base, of_archive = (
            parquet.read_table(next(folder.glob(f"{name}/*-*.parquet"))).select(compared).to_pylist()
            for folder in (pathlib.Path(base, "serving"), exported)
        )
        assert of_base == of_archive, name
    assert {row["url_key"].partition("/")[2]: row["text_truncated"] for row in of_base} == {
        "cut-by-the-crawler": False, "long": True, "without-text": None, "same": True
    }


def test_a_takedown_of_an_input_leaves_no_row_of_it(tmp_path, both):
    base, crawl, other = str(tmp_path / "base"), tmp_path / "crawl.warc", both.folder / "0/b.warc"
    shutil.copy(both.folder / "0/a.warc", crawl)
    weft.spark.load(both.spark, base, [str(crawl), str(other)], texts=True)
    names = {row["input"] for row in table(base, "ledger").to_pylist()}
    [name] = [each for each in names if each.endswith("crawl.warc")]
    before = {row["input_id"] for row in table(base, "texts").to_pylist()}
    weft.spark.take_down(both.spark, base, inputs=[name])
    # A later file of this name stays out, too.
    shutil.copy(both.folder / "0/c.warc", crawl)
    assert weft.spark.load(both.spark, base, [str(crawl)]).done == 1
    captures = table(base, "captures").to_pylist()
    assert {row["warc_filename"] for row in captures} == names - {name}
    kept = {row["input_id"] for row in captures}
    assert len(before) == 2 and {row["input_id"] for row in table(base, "texts").to_pylist()} == before & kept
    assert {row["input_id"] for row in table(base, "links").to_pylist()} <= kept


def test_any_job_finishes_a_takedown_that_was_stopped(tmp_path, both):
    base = str(tmp_path / "base")
    weft.spark.load(both.spark, base, [str(both.folder / "0/a.warc")], texts=True)
    views = functools.partial(weft.spark.compute_views, names=["domains"])
    for job in views, weft.spark.compute_texts, weft.spark.SparkFacts:
        key = table(base, "captures")["url_surtkey"][0].as_py()
        with pytest.raises(Stopped):
            weft.spark.take_down(both.spark, base, url_keys=[key], say=stop_at("recorded"))
        assert key in table(base, "captures")["url_surtkey"].to_pylist()
        job(both.spark, base)
        for name, column in ("captures", "url_surtkey"), ("links", "source_surtkey"), ("texts", "url_surtkey"):
            assert key not in table(base, name)[column].to_pylist(), name


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("captures/00000005-00003.parquet", 4),
        ("captures/00000005-00003.first.parquet", 4),
        # A batch that only removes files has no others.
        ("captures/00000005.first.parquet", 1),
        ("captures/00000004-00003.parquet", 0),
    ],
)
def test_files_of_a_batch_that_is_computed_again_have_new_names(path, part):
    assert next_part(Manifest(5, first_keys={"captures": path}), 5) == part


def test_wrong_use_is_said(tmp_path, both):
    with pytest.raises(weft.spark.WrongUse, match="no tables"):
        weft.spark.serve(both.spark, str(tmp_path / "other"))
    with pytest.raises(weft.spark.WrongUse, match="name at least one"):
        weft.spark.take_down(both.spark, both.base)
