"""Search on SolrCloud: documents in the schema of warc-indexer, made from the facts.

    python -m weft_archive.solr --base weft-archive/facts --solr http://host:8983/solr --collection web

From Python::

    from weft_archive.solr import LocalFacts, feed, open_collection, verify
    facts, collection = LocalFacts("weft-archive/facts"), open_collection("http://host:8983/solr", "web", create=True)
    feed(facts, collection)
    assert verify(facts, collection).is_clean

On a cluster, ``python -m weft_archive.spark`` does the same. docs/tasks/solr.md explains it.
"""

from typing import Any

from weft_archive.solr._cluster import Collection, SolrError, configset, open_collection
from weft_archive.solr._facts import FilesGone
from weft_archive.solr._feed import FeedSummary, feed
from weft_archive.solr._verify import VerifySummary, verify

__all__ = [
    "Collection",
    "FeedSummary",
    "FilesGone",
    "LocalFacts",
    "SolrError",
    "VerifySummary",
    "configset",
    "feed",
    "open_collection",
    "verify",
]


def __getattr__(name: str) -> Any:
    # DuckDB and deltalake are needed only for this.
    if name == "LocalFacts":
        from weft_archive.solr._local import LocalFacts

        return LocalFacts
    raise AttributeError(name)
