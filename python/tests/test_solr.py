"""Search on SolrCloud: documents from the facts, each batch exactly once, whatever is killed; compared both ways.

A real cluster of three nodes runs on the loopback address. The queries are those of SolrWayback 5.4.3, as its class
NetarchiveSolrClient sends them.
"""

import collections
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml

import pytest

from conftest import REPOSITORY
from solr_nodes import Cloud, jars, java

pytest.importorskip("deltalake")
pytest.importorskip("duckdb")

import weft_archive.solr as solr  # noqa: E402 (it needs these)
import weft_archive.solr.__main__  # noqa: E402
from weft_archive.solr import _cluster, _documents, _feed  # noqa: E402
from weft_archive.solr._facts import removed_files  # noqa: E402
from weft_archive.solr._normal import url_norm  # noqa: E402

#: SolrWayback's filter for records that have content.
NO_REVISITS = "record_type:response OR record_type:arc OR record_type:resource"

#: The fields that SolrWayback asks for.
FIELDS = (
    "id,score,title,url,url_norm,links_images,source_file_path,source_file,source_file_offset,domain,resourcename,"
    "content_type,content_type_full,content_type_norm,hash,type,crawl_date,content_encoding,exif_location,status_code,"
    "last_modified,redirect_to_norm"
)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    java()
    jars()
    with Cloud(tmp_path_factory.mktemp("solr")) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, run_weft, shared):
    """An archive with texts and images, loaded in two batches, as its folder and the inputs of the second."""
    folder = tmp_path_factory.mktemp("archive") / "weft-archive"
    inputs = sorted((shared / "crawls").glob("*arc.gz"))
    load = ["load", "--archive", folder, "--facts-text", "--documents", "images"]
    run_weft(*load, *inputs[:3], shared / "commoncrawl")
    return folder, [*load, *inputs[3:]]


@pytest.fixture(scope="module")
def fed(cloud, loaded, run_weft):
    """A collection with both batches, fed one after the other: its facts and a client."""
    folder, second = loaded
    base = folder / "facts"
    collection = solr.open_collection(cloud.urls, "web", create=True, shards=2, replicas=2)
    first = solr.feed(solr.LocalFacts(base), collection)
    run_weft(*second)
    then = solr.feed(solr.LocalFacts(base), collection)
    assert (first.batches, then.batches) == ([1], [2])
    # Older documents have new in-links.
    assert then.sent > len(rows(base, "SELECT 1 FROM captures WHERE epoch = 2"))
    return base, collection


@pytest.fixture(scope="module")
def small(tmp_path_factory, run_weft, shared):
    """Facts of an archive with few captures, in two batches."""
    folder = tmp_path_factory.mktemp("small") / "weft-archive"
    for name in ("iana", "hackfest"):
        run_weft("load", "--archive", folder, "--facts-text", shared / f"crawls/{name}.warc.gz")
    return folder / "facts"


def rows(base, statement):
    return list(solr.LocalFacts(base).rows(statement))


@pytest.fixture(scope="module")
def captures(fed):
    return rows(fed[0], "SELECT * FROM captures")


def with_content(captures):
    return [row for row in captures if row["kind"] in ("response", "arc", "resource")]


def check(base, collection):
    """The collection has what the facts have, and nothing else."""
    found = solr.verify(solr.LocalFacts(base), collection)
    assert found.is_clean, found.differences[:10]
    count = collection.select(q="*:*", rows=0)["response"]["numFound"]
    assert count == len(rows(base, "SELECT 1 FROM captures"))


def test_the_configset_has_the_fields_of_warc_indexer():
    folder = pathlib.Path(solr.__file__).parent / "configset"
    schema = xml.parse(folder / "schema.xml").getroot()
    types = {each.get("name") for each in schema.iter("fieldType")}
    fields = {each.get("name"): each.get("type") for each in schema if each.tag in ("field", "dynamicField")}
    assert set(fields.values()) <= types
    for name, type_ in {
        "id": "string", "url": "string", "url_norm": "string", "url_type": "text_general", "url_search": "path",
        "host": "string", "domain": "string", "links": "string", "links_hosts": "string", "links_domains": "string",
        "content": "text_general", "title": "text_general", "content_type_norm": "string", "hash": "string",
        "wayback_date": "long", "crawl_date": "tdate", "crawl_year": "int", "source_file_path": "string",
        "source_file_offset": "tlong", "image_size": "tlong", "exif_location": "location", "ssdeep_hash_bs_*": "string",
    }.items():
        assert fields[name] == type_, name


@pytest.mark.parametrize(
    "url, expected",
    [
        ("https://www.Example.com/Foo/", "http://example.com/foo"),
        ("http://ww2.example.com/foo", "http://example.com/foo"),
        ("example.com", "http://example.com/"),
        ("http://example.com///", "http://example.com/"),
        ("http://example.com:8080/foo", "http://example.com/foo"),
        ("http://[::1]:80/x", "http://[::1]/x"),
        ("http://me:secret@a.example/x?&", "http://a.example/x"),
        ("http://example.com/%2A.html", "http://example.com/*.html"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://a.example/x?b=%20 c%", "http://a.example/x?b=++c%25"),
        ("http://a.example/rosé%e2x", "http://a.example/rosé%e2x"),
        ("http://a.example/€", "http://a.example/%e2%82%ac"),
        ("http://a.example/x;jsessionid=999A9EF028317A82AC83F0FDFE59385A?q=1&", "http://a.example/x;?q=1"),
    ],
)
def test_urls_are_as_solrwayback_looks_for_them(url, expected):
    assert url_norm(url) == expected == url_norm(expected)


def test_an_index_has_what_the_facts_have(fed, cloud, capsys):
    base, collection = fed
    check(base, collection)
    command = ["--base", str(base), "--collection", "web", "--json"]
    assert weft_archive.solr.__main__.main([*command, "--solr", cloud.urls, "--verify"]) == 0
    # A feed has nothing to do.
    assert weft_archive.solr.__main__.main([*command, "--solr", cloud.urls]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert said[0]["verified"]["batch"] == 2 and said[1]["fed"]["sent"] == 0


def test_zookeeper_knows_the_nodes(fed, cloud):
    pytest.importorskip("kazoo")
    found = solr.open_collection(cloud.zookeeper, "web", create=False)
    assert sorted(found.nodes) == sorted(node.url for node in cloud.nodes) and found.identity == fed[1].identity


def test_lists_of_results_and_facets(fed, captures):
    _, collection = fed
    asked = {"q": "*:*", "q.op": "AND", "fq": NO_REVISITS, "wt": "json"}
    fields = ["domain", "crawl_year", "content_type_norm", "status_code", "host", "public_suffix"]
    facets = {"facet": "true", "facet.field": fields, "f.crawl_year.facet.limit": 100, "f.crawl_year.facet.sort": "index"}
    answer = collection.select(**asked, **facets, rows=0, fl="id", hl="off", **{"facet.limit": 1000})
    shown = with_content(captures)
    assert answer["response"]["numFound"] == len(shown) > 500
    counts = answer["facet_counts"]["facet_fields"]
    for field, of in {
        "domain": lambda row: row["url_host_registered_domain"],
        "crawl_year": lambda row: str(row["fetch_time"].year),
        "status_code": lambda row: str(row["fetch_status"]),
        "host": lambda row: row["url_host_name"],
    }.items():
        found = dict(zip(counts[field][::2], counts[field][1::2]))
        assert found == collections.Counter(map(of, shown)), field
    # Results, one for each URL.
    grouped = {"group": "true", "group.field": "url", "group.format": "simple", "group.limit": 1}
    grouped |= {"stats": "true", "stats.field": "{!cardinality=0.5}url", "hl": "on", "fl": FIELDS, "rows": 2000}
    groups = collection.select(**asked, **grouped)["grouped"]["url"]
    assert groups["matches"] == len(shown)
    found = [each["url"] for each in groups["doclist"]["docs"]]
    assert len(found) == len(set(found)) and set(found) == {row["url"] for row in shown}
    by_norm = {**grouped, "group.field": "url_norm", "stats.field": "{!cardinality=0.5}url_norm"}
    groups = collection.select(**asked, **by_norm)["grouped"]["url_norm"]
    assert {each["url_norm"] for each in groups["doclist"]["docs"]} == {url_norm(row["url"]) for row in shown}


def test_words_are_found_and_marked(fed):
    base, collection = fed
    has_words = "lower(text) LIKE '%root zone %'"
    expected = rows(base, f"""
        SELECT input_digest, captures.warc_record_offset FROM texts
        JOIN captures ON captures.input_id = texts.input_id AND captures.warc_record_offset = texts.warc_record_offset
        WHERE {has_words}""")
    ids = {_documents.document_id(row["input_digest"], row["warc_record_offset"]) for row in expected}
    answer = collection.select(q='"root zone"', hl="on", rows=1000, fl="id,title", **{"q.op": "AND"})
    found = {each["id"] for each in answer["response"]["docs"]}
    assert ids and ids <= found
    marked = {id_ for id_, each in answer["highlighting"].items() if "<em>" in json.dumps(each)}
    # Only the beginning of a long text is looked at.
    assert ids & marked


def test_the_nearest_capture_is_found(fed, captures):
    _, collection = fed
    times = collections.defaultdict(list)
    for row in with_content(captures):
        if row["fetch_status"] == 200:
            times[url_norm(row["url"])].append(row["fetch_time"])
    several = sorted(url for url, found in times.items() if len(set(found)) > 1)
    assert several
    for url in several[:5]:
        for at in sorted(set(times[url]))[:3]:
            asked = {"q": f'url_norm:"{url}" AND status_code:200', "fq": NO_REVISITS, "rows": 10, "facet": "false"}
            sort = f"abs(sub(ms({at:%Y-%m-%dT%H:%M:%SZ}), crawl_date)) asc"
            docs = collection.select(**asked, sort=sort, fl=FIELDS)["response"]["docs"]
            found = [each["crawl_date"] for each in docs]
            nearest = sorted(times[url], key=lambda time: abs((time - at.replace(microsecond=0)).total_seconds()))
            assert found[0] == _documents._date(nearest[0]), (url, at)
    # Harvest times of a URL, and those of a year.
    for url in several[:3]:
        docs = collection.select(q=f'url_norm:"{url}"', fq=NO_REVISITS, fl="id,crawl_date", rows=1000)["response"]["docs"]
        found = sorted(each["crawl_date"] for each in docs)
        every = [row["fetch_time"] for row in with_content(captures) if url_norm(row["url"]) == url]
        assert found == sorted(map(_documents._date, every))


def test_records_are_found_by_their_place(fed, captures):
    _, collection = fed
    for row in captures[:: len(captures) // 20]:
        asked = f'source_file_path:"{row["warc_filename"]}" AND source_file_offset:{row["warc_record_offset"]}'
        [found] = collection.select(q=asked, fl=FIELDS + ",wayback_date,content_length", rows=1)["response"]["docs"]
        assert (found["url"], found["status_code"]) == (row["url"], row["fetch_status"])
        # Memento has no answer without these.
        assert found["wayback_date"] == int(f"{row['fetch_time']:%Y%m%d%H%M%S}") and found["content_length"] > 0


def test_links_and_images(fed, captures):
    base, collection = fed
    domain = "archive.org"
    incoming = collection.select(
        q=f'links_domains:"{domain}" AND -domain:"{domain}"', rows=0, facet="true",
        fq="crawl_date:[1990-01-01T00:00:00Z TO 2099-01-01T00:00:00Z]", **{"facet.field": "domain", "facet.limit": 1000},
    )["facet_counts"]["facet_fields"]["domain"]
    expected = rows(base, f"""
        SELECT source_registered_domain AS domain, count(DISTINCT (input_id, warc_record_offset)) AS captures
        FROM links WHERE target_registered_domain = '{domain}' AND source_registered_domain <> '{domain}'
            AND kind <> 'location'
        GROUP BY 1""")
    assert expected and dict(zip(incoming[::2], incoming[1::2])) == {row["domain"]: row["captures"] for row in expected}
    # Pages with a link.
    [popular] = rows(base, "SELECT target_url FROM links WHERE kind = 'a' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1")
    wanted = url_norm(popular["target_url"])
    found = collection.select(q=f'links:"{wanted}"', rows=0)["response"]["numFound"]
    every = rows(base, "SELECT DISTINCT input_id, warc_record_offset, target_url FROM links WHERE kind <> 'location'")
    assert found == len({(row["input_id"], row["warc_record_offset"]) for row in every if url_norm(row["target_url"]) == wanted})
    # Pictures, without spacers.
    filters = ["content_type_norm:image", NO_REVISITS, "image_size:[2000 TO *]"]
    docs = collection.select(q="*:*", fq=filters, fl=FIELDS, rows=2000)["response"]["docs"]
    pictures = [row for row in with_content(captures) if (row["image_size"] or 0) >= 2000]
    assert len(docs) == len(pictures) > 0
    assert {each["url"] for each in docs} == {row["url"] for row in pictures}
    # Anchors of in-links are searched.
    [anchor] = rows(base, """
        SELECT links.anchor, links.target_surtkey FROM links JOIN captures ON captures.url_surtkey = links.target_surtkey
        WHERE links.anchor IS NOT NULL AND links.source_surtkey <> links.target_surtkey ORDER BY links.anchor DESC LIMIT 1""")
    query = '"' + anchor["anchor"].replace("\\", "").replace('"', "") + '"'
    docs = collection.select(q=f"weft_anchors_txt:{query}", fl="weft_key_s", rows=1000)["response"]["docs"]
    assert anchor["target_surtkey"] in {each["weft_key_s"] for each in docs}


def test_statistics_of_a_domain(fed, captures):
    _, collection = fed
    asked = {
        "q": 'domain:"iana.org"', "fq": "content_type_norm:html AND status_code:200", "rows": 0, "stats": "true",
        "stats.field": ["{!count=true cardinality=true}url_norm", "{!sum=true}content_length"],
    }
    found = collection.select(**asked)["stats"]["stats_fields"]
    pages = [row for row in captures if row["url_host_registered_domain"] == "iana.org" and row["fetch_status"] == 200]
    pages = [row for row in pages if _documents._norm(row, row["content_mime_detected"] or row["content_mime_type"]) == "html"]
    assert found["url_norm"]["count"] == len(pages) > 0
    assert found["content_length"]["sum"] == sum(row["warc_record_length"] for row in pages)


def versions_of(collection):
    return {each["id"]: each["_version_"] for each in collection.all("id,_version_")}


class Stopped(Exception):
    """Stands for the end of the feed."""


def without_ledger(base, folder):
    """A copy of facts that no collection was fed from."""
    return shutil.copytree(base, folder, ignore=shutil.ignore_patterns("ledger"))


def test_a_batch_that_is_repeated_changes_nothing(fed, tmp_path):
    base, collection = fed
    before = versions_of(collection)
    # Without its ledger, all is sent again.
    again = solr.feed(solr.LocalFacts(without_ledger(base, tmp_path / "facts")), collection)
    assert again.batches == [1, 2] and again.sent >= len(before)
    assert versions_of(collection) == before


def test_a_feed_that_ends_at_any_step_goes_on(small, cloud, tmp_path, monkeypatch):
    base = without_ledger(small, tmp_path / "facts")
    collection = solr.open_collection(cloud.urls, "steps", create=True, shards=1, replicas=1)
    monkeypatch.setattr(_cluster, "_DOCUMENTS_MAX", 20)
    update, sent = _cluster.Collection._update, []

    def update_some(self, documents):
        update(self, documents)
        sent.append(len(documents))
        if len(sent) == 3:
            raise Stopped

    def stop_after(step):
        def say(text):
            if text.endswith(step):
                raise Stopped

        return say

    monkeypatch.setattr(_cluster.Collection, "_update", update_some)
    with pytest.raises(Stopped):
        solr.feed(solr.LocalFacts(base), collection)
    monkeypatch.setattr(_cluster.Collection, "_update", update)
    for step in ("batch 1: sending", "batch 1: committed", "batch 2: committed"):
        with pytest.raises(Stopped):
            solr.feed(solr.LocalFacts(base), collection, stop_after(step))
    rest = solr.feed(solr.LocalFacts(base), collection)
    # The ledger had the first batch, and the second only now.
    assert rest.batches == [2]
    check(base, collection)


def test_a_takedown_during_an_interrupted_feed_is_fed(small, cloud, run_weft, tmp_path):
    """The first feed has sent documents of a batch that the ledger does not have when one of them is taken down."""
    folder = shutil.copytree(small.parent, tmp_path / "weft-archive", ignore=shutil.ignore_patterns("ledger"))
    base = folder / "facts"
    collection = solr.open_collection(cloud.urls, "interrupted", create=True, shards=1, replicas=1)

    def say(text):
        if text == "batch 1: committed":
            raise Stopped

    with pytest.raises(Stopped):
        solr.feed(solr.LocalFacts(base), collection, say)
    [taken] = rows(base, "SELECT url, url_surtkey FROM captures WHERE epoch = 1 AND is_page ORDER BY url LIMIT 1")
    assert collection.select(q=f'weft_key_s:"{taken["url_surtkey"]}"', rows=0)["response"]["numFound"] > 0
    run_weft("forget", "--archive", folder, "--url", taken["url"])
    assert solr.feed(solr.LocalFacts(base), collection).deleted > 0
    check(base, collection)


def test_older_documents_are_refused(cloud):
    collection = solr.open_collection(cloud.urls, "versions", create=True, shards=1, replicas=1)

    def send(version, title):
        row = {"id": "a-1", "url": "http://a.example/", "record_type": "response", "title": title, "weft_version_l": version}
        collection.add(iter([row]))
        collection.commit()
        return [each["title"] for each in collection.all("title")]

    assert send(2, "second") == ["second"]
    assert send(1, "first") == ["second"]
    assert send(2, "again") == ["second"]
    collection.delete(["a-1"], 3)
    # A batch that comes late does not bring back what was taken down, and the mark of the delete is no result.
    assert send(2, "late") == []
    assert collection.select(q="*:*", rows=0)["response"]["numFound"] == 0
    assert send(4, "new") == ["new"]


def test_takedowns_are_fed(fed, cloud, loaded, run_weft):
    folder, _ = loaded
    base, collection = fed
    before = {each["id"]: each for each in collection.all("id,weft_key_s,weft_inlinks_i")}
    [busy] = rows(base, """
        SELECT source_surtkey AS key, min(source_url) AS url FROM links
        JOIN (SELECT DISTINCT url_surtkey FROM captures) AS known ON known.url_surtkey = links.target_surtkey
        WHERE source_registered_domain = 'iana.org' GROUP BY 1 ORDER BY count(DISTINCT target_surtkey) DESC, 1 LIMIT 1""")
    run_weft("forget", "--archive", folder, "--url", busy["url"])
    gone = {id_ for id_, each in before.items() if each["weft_key_s"] == busy["key"]}
    assert gone and not solr.verify(solr.LocalFacts(base), collection).is_clean
    summary = solr.feed(solr.LocalFacts(base), collection)
    assert (summary.deleted, summary.batches) == (len(gone), [])
    # Pages that it linked to have fewer in-links.
    assert summary.sent > 0
    assert {each["id"] for each in collection.all("id")} == before.keys() - gone
    check(base, collection)
    assert solr.feed(solr.LocalFacts(base), collection).sent == 0
    # It comes back in a batch of its own.
    run_weft("forget", "--archive", folder, "--undo", 1)
    inputs = [row["warc_filename"] for row in rows(base, "SELECT DISTINCT warc_filename FROM captures")]
    run_weft("load", "--archive", folder, "--facts-text", "--documents", "images", *inputs)
    assert len(solr.feed(solr.LocalFacts(base), collection).batches) == 1
    assert {each["id"] for each in collection.all("id")} == before.keys()
    check(base, collection)


class ModelCollection:
    """A collection that ignores older versions and keeps marks of deletes, as Solr with our configset."""

    name, identity = "model", "model/1"

    def __init__(self):
        self.documents = {}

    def add(self, documents):
        sent = [json.loads(json.dumps(each)) for each in documents]
        for each in sent:
            self._put(each)
        return len(sent)

    def delete(self, ids, version):
        gone = list(ids)
        for id_ in gone:
            self._put({"id": id_, "weft_version_l": version})
        return len(gone)

    def _put(self, document):
        there = self.documents.get(document["id"])
        if there is None or there["weft_version_l"] < document["weft_version_l"]:
            self.documents[document["id"]] = document

    def commit(self):
        pass

    def all(self):
        shown = [each for each in self.documents.values() if "record_type" in each]
        return iter(sorted(shown, key=lambda each: each["id"]))


def test_any_history_of_loads_takedowns_and_interruptions_ends_clean(tmp_path, shared, run_weft):
    """Without Solr: the order of what happens is random."""
    seed = int(os.environ.get("WEFT_TEST_SEED") or random.randrange(2**32))
    print(f"WEFT_TEST_SEED={seed}")
    dice, folder, collection = random.Random(seed), tmp_path / "weft-archive", ModelCollection()
    inputs = [shared / f"crawls/{name}.warc.gz" for name in ("hackfest", "iana", "dupes")]
    run_weft("load", "--archive", folder, "--facts-text", inputs[0])
    base, takedowns, active = folder / "facts", 0, []
    for _ in range(16):
        step = dice.choice(["load", "forget", "undo", "feed", "stop", "stop"])
        if step == "load":
            run_weft("load", "--archive", folder, "--facts-text", dice.choice(inputs))
        elif step == "forget":
            found = rows(base, "SELECT DISTINCT url FROM captures ORDER BY url")
            if found:
                run_weft("forget", "--archive", folder, "--url", dice.choice(found)["url"])
                takedowns += 1
                active.append(takedowns)
        elif step == "undo" and active:
            run_weft("forget", "--archive", folder, "--undo", active.pop())
        elif step == "feed":
            solr.feed(solr.LocalFacts(base), collection)
            assert solr.verify(solr.LocalFacts(base), collection).is_clean
        elif step == "stop":
            said = iter(range(dice.randrange(6)))

            def say(text):
                if next(said, None) is None:
                    raise Stopped

            with contextlib.suppress(Stopped):
                solr.feed(solr.LocalFacts(base), collection, say)
    solr.feed(solr.LocalFacts(base), collection)
    found = solr.verify(solr.LocalFacts(base), collection)
    assert found.is_clean, found.differences[:10]
    assert solr.feed(solr.LocalFacts(base), collection).sent == 0


def test_documents_are_deleted_in_parts(monkeypatch):
    sent = []
    monkeypatch.setattr(solr.Collection, "call", lambda self, path, parameters, body: sent.append(json.loads(body)["delete"]))
    collection = solr.Collection(["http://localhost:8983/solr"], "web")
    assert collection.delete((str(number) for number in range(1_201)), 7) == 1_201
    assert [len(part) for part in sent] == [500, 500, 201]


def test_removed_files_are_those_with_rows_that_were_fed():
    def commit(removed, added, changes):
        actions = [{"remove": {"path": path, "dataChange": changes}} for path in removed]
        return "\n".join(json.dumps(each) for each in [*actions, *({"add": {"path": p, "dataChange": changes}} for p in added)])

    takedown, compaction = commit(["a"], ["b"], True), commit(["b", "c"], ["d"], False)
    assert removed_files([takedown]) == ["a"]
    assert removed_files([compaction]) == []
    assert removed_files([takedown, compaction, commit(["d"], ["f"], True)]) == ["a", "d"]


def test_files_of_a_takedown_that_are_gone_are_an_error(small, run_weft, tmp_path):
    folder = shutil.copytree(small.parent, tmp_path / "weft-archive")
    base = folder / "facts"
    before = solr.LocalFacts(base).versions["captures"]
    [taken] = rows(base, "SELECT url FROM captures WHERE is_page ORDER BY url LIMIT 1")
    run_weft("forget", "--archive", folder, "--url", taken["url"])
    commits = sorted((base / "captures/_delta_log").glob("*.json"))[before + 1 :]
    path, *_ = removed_files(commit.read_text() for commit in commits)
    (base / "captures" / path).unlink()
    with pytest.raises(solr.FilesGone, match="feed a new collection"):
        solr.LocalFacts(base).open_removed("captures", before)


def by_hand(collection, body, **parameters):
    """A change past the versions, as an operator may make it."""
    collection.call(f"{collection.name}/update", {"commit": "true", **parameters}, json.dumps(body).encode())


def test_changes_by_hand_are_found(fed, cloud, capsys):
    base, collection = fed
    docs = list(collection.all(rows=300))
    changed = next(each for each in docs if each.get("title"))
    lost = next(each for each in docs if each["id"] != changed["id"])
    kept = {name: value for name, value in changed.items() if name not in ("_version_", "index_time", "resourcename_facet")}
    high = changed["weft_version_l"] + 1
    by_hand(collection, [{**kept, "title": "By hand", "weft_version_l": high}])
    by_hand(collection, [{"id": "x-1", "url": "http://x.example/", "record_type": "response", "weft_version_l": 1}])
    by_hand(collection, {"delete": {"query": f'id:"{lost["id"]}"'}})
    command = ["--base", str(base), "--solr", cloud.urls, "--collection", "web", "--verify"]
    assert weft_archive.solr.__main__.main(command) == 1
    said = capsys.readouterr().out.splitlines()
    assert f"{changed['id']}: title: {changed['title']!r} in the facts, 'By hand' in Solr" in said
    assert "x-1: not in the facts: http://x.example/" in said
    assert f"{lost['id']}: missing in Solr: {lost['url']}" in said
    assert said[-1].endswith("1 missing, 1 not in the facts, 1 different"), said[-1]
    # As they were.
    by_hand(collection, {"delete": {"query": f'id:("x-1" OR "{changed["id"]}")'}})
    facts = solr.LocalFacts(base)
    every = {each["id"]: each for each in map(_documents.document, facts.rows(_feed.rows(facts, "epoch >= 0", 1 << 60)))}
    collection.add({**every[each["id"]], "weft_version_l": each["weft_version_l"]} for each in (changed, lost))
    collection.commit()
    check(base, collection)


def until(holds, seconds=90):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.1)


def is_whole(collection):
    """Whether each replica is active."""
    asked = {"action": "CLUSTERSTATUS", "collection": collection.name}
    cluster = collection.call("admin/collections", asked)["cluster"]
    shards = cluster["collections"][collection.name]["shards"].values()
    replicas = [replica for shard in shards for replica in shard["replicas"].values()]
    return all(replica["state"] == "active" and replica["node_name"] in cluster["live_nodes"] for replica in replicas)


def test_answers_are_whole_while_a_node_is_killed(fed, cloud):
    base, collection = fed
    expected = len(rows(base, "SELECT 1 FROM captures"))
    counts, ended = [], threading.Event()

    def ask():
        while not ended.is_set():
            counts.append(collection.select(q="*:*", rows=0)["response"]["numFound"])

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        until(lambda: len(counts) > 3)
        cloud.nodes[0].kill()
        done = len(counts)
        # Until the cluster has noticed.
        until(lambda: len(counts) > done + 5)
    finally:
        ended.set()
        asking.join()
    assert set(counts) == {expected}
    check(base, collection)
    cloud.nodes[0].start()
    cloud.nodes[0].wait_for(cloud.nodes[0].is_up)
    until(lambda: is_whole(collection))


def test_a_node_is_killed_during_a_feed(small, cloud, tmp_path, monkeypatch):
    base = without_ledger(small, tmp_path / "facts")
    collection = solr.open_collection(cloud.urls, "killed", create=True, shards=2, replicas=2)
    monkeypatch.setattr(_cluster, "_DOCUMENTS_MAX", 10)
    update, sent = _cluster.Collection._update, []

    def update_and_kill(self, documents):
        sent.append(len(documents))
        if len(sent) == 4:
            # It is at work on this part when it goes.
            threading.Timer(0.05, cloud.nodes[1].kill).start()
        update(self, documents)

    monkeypatch.setattr(_cluster.Collection, "_update", update_and_kill)
    solr.feed(solr.LocalFacts(base), collection)
    assert cloud.nodes[1].running.poll() is not None and len(sent) > 8
    check(base, collection)
    cloud.nodes[1].start()
    cloud.nodes[1].wait_for(cloud.nodes[1].is_up)
    until(lambda: is_whole(collection))
    # The node that was away has caught up: also its copies have all.
    check(base, collection)


def test_spark_feeds_and_compares(cloud, spark, shared, tmp_path, capsys, monkeypatch):
    """Spark reads inputs, feeds, takes an input down, and compares. So does plain Python."""
    import weft_archive.spark.__main__
    from weft_archive.spark import SparkFacts, load, take_down

    base = str(tmp_path / "base")
    collection = solr.open_collection(cloud.urls, "spark", create=True, shards=1, replicas=1)
    inputs = [str(shared / "crawls" / name) for name in ("iana.warc.gz", "hackfest.warc.gz")]
    load(spark, base, inputs)
    fed = solr.feed(SparkFacts(spark, base), collection)
    assert fed.batches == [1] and fed.sent == len(rows(base, "SELECT 1 FROM captures"))
    [last] = rows(base, "SELECT max(warc_filename) AS name FROM captures")
    take_down(spark, base, inputs=[last["name"]])
    left = len(rows(base, "SELECT 1 FROM captures"))
    again = solr.feed(SparkFacts(spark, base), collection)
    assert again.batches == [] and again.deleted == fed.sent - left > 0
    check(base, collection)
    [lost] = collection.select(q="content_type_norm:html", rows=1)["response"]["docs"]
    by_hand(collection, {"delete": {"query": f'id:"{lost["id"]}"'}})
    command = ["--base", base, "--solr", cloud.urls, "--collection", "spark", "--verify", "--json"]
    # Other tests use the session.
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    assert weft_archive.spark.__main__.main(command) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["verified"]
    assert (found["missing"], found["unknown"], found["different"]) == (1, 0, 0), found


def test_the_page_of_the_documentation_runs(cloud, shared, weft_program, tmp_path):
    """Its commands run in order, but those of Spark, on this cluster."""
    (tmp_path / "crawls").mkdir()
    shutil.copy(shared / "crawls/hackfest.warc.gz", tmp_path / "crawls")
    page = (REPOSITORY / "docs/tasks/solr.md").read_text()
    commands = re.findall(r"^    (weft .*|python -m weft_archive\.solr .*)$", page, re.MULTILINE)
    assert len(commands) == 5
    paths = {"weft": weft_program, "python": sys.executable, "http://solr1:8983/solr": cloud.urls, "web": "page"}
    printed = []
    for command in commands:
        words = [paths.get(word, word) for word in command.split(" ")]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        printed.append(done.stdout)
    assert printed[1].startswith("collection page: 1 batch fed, ")
    assert printed[2] == "collection page, up to batch 1: 0 missing, 0 not in the facts, 0 different\n"


def test_wrong_use_is_said(tmp_path, cloud, capsys):
    command = ["--base", str(tmp_path), "--solr", cloud.urls, "--collection", "nothing"]
    assert weft_archive.solr.__main__.main(command) == 2
    assert "no tables" in capsys.readouterr().err
    with pytest.raises(solr.SolrError, match="no such collection"):
        solr.open_collection(cloud.urls, "nothing", create=False)
