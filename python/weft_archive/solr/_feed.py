"""Feeds a collection of Solr from the facts, each batch exactly once.

Invariants:
- The version of a document grows with its batch. Solr ignores a document with an older or equal version, so a batch, or a
  part of it, may be sent again.
- The ledger has a batch for a collection after Solr has committed all of it. A repeated feed begins after that batch.
- What takedowns removed since the last feed is deleted before later batches are sent, with a version between.
- A batch also sends the older captures of the URLs that it has new links to, because they have new in-links and anchors.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List

from weft_archive.solr import _documents
from weft_archive.solr._cluster import Collection
from weft_archive.solr._facts import Facts

Say = Callable[[str], None]


@dataclass
class FeedSummary:
    """The results of a feed."""

    base: str
    collection: str
    batches: List[int] = field(default_factory=list)
    #: Documents that were sent. Solr ignores those that it has.
    sent: int = 0
    deleted: int = 0
    seconds: float = 0.0

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)


def feed(facts: Facts, collection: Collection, say: Say = lambda text: None) -> FeedSummary:
    """Sends the batches that the collection lacks, after the takedowns since the last feed. Raises :class:`SolrError`, and
    errors of the engine; the same call then continues."""
    begun = time.monotonic()
    summary = FeedSummary(facts.base, collection.name)
    fed = facts.fed(collection.identity)
    last = fed[-1]["batch"] if fed else 0
    new = [batch for batch in facts.finished_batches() if batch > last]
    until = max([last, *new])
    if fed:
        _take_down(facts, collection, fed, until, summary, say)
    for batch in new:
        _send_batch(facts, collection, batch, last, until, summary, say)
    summary.seconds = round(time.monotonic() - begun, 3)
    return summary


def _send_batch(
    facts: Facts, collection: Collection, batch: int, last: int, until: int, summary: FeedSummary, say: Say
) -> None:
    chosen = f"epoch = {batch}"
    if last:
        # Only documents of earlier feeds: those of this one have all links already.
        facts.view("touched", _documents.TOUCHED.format(batch=batch))
        chosen += f" OR (epoch <= {last} AND url_surtkey IN (SELECT target_surtkey FROM touched))"
    say(f"batch {batch}: sending")
    version = _documents.version(batch, 0)
    sent = facts.send(rows(facts, chosen, until), collection, version)
    collection.commit()
    say(f"batch {batch}: committed")
    _record(facts, collection, batch, version, sent, 0)
    say(f"batch {batch}: {sent:,} documents")
    summary.batches.append(batch)
    summary.sent += sent


def _take_down(
    facts: Facts, collection: Collection, fed: List[Dict[str, Any]], until: int, summary: FeedSummary, say: Say
) -> None:
    since = json.loads(fed[-1]["version"])
    has_captures = facts.open_removed("captures", since["captures"])
    has_links = facts.open_removed("links", since["links"])
    if not (has_captures or has_links):
        return
    batch = fed[-1]["batch"]
    version = _documents.version(batch, sum(row["batch"] == batch for row in fed))
    say(f"takedowns after batch {batch}: reading what was removed")
    chosen, gone = [], []
    if has_captures:
        facts.view("changed", _documents.CHANGED)
        without = facts.rows("SELECT * FROM changed WHERE is_gone = 1")
        gone = [_documents.document_id(row["input_digest"], row["warc_record_offset"]) for row in without]
        chosen.append(
            "EXISTS (SELECT 1 FROM changed WHERE changed.is_gone = 0 AND changed.input_digest = captures.input_digest "
            "AND changed.warc_record_offset = captures.warc_record_offset)"
        )
    if has_links:
        facts.view("unlinked", _documents.UNLINKED)
        chosen.append("url_surtkey IN (SELECT target_surtkey FROM unlinked)")
    collection.delete(gone, version)
    sent = facts.send(rows(facts, f"epoch <= {batch} AND ({' OR '.join(chosen)})", until), collection, version)
    collection.commit()
    _record(facts, collection, batch, version, sent, len(gone))
    say(f"takedowns after batch {batch}: {len(gone):,} documents deleted, {sent:,} sent again")
    summary.deleted += len(gone)
    summary.sent += sent


def rows(facts: Facts, chosen: str, until: int) -> str:
    """Returns the statement for the rows of captures, with in-links of batches up to ``until``."""
    return _documents.statement(chosen, until, facts.columns("captures"), facts.columns("texts"))


def _record(facts: Facts, collection: Collection, batch: int, version: int, sent: int, deleted: int) -> None:
    row = {
        "input": collection.name,
        "state": "fed",
        "records": sent,
        "captures": sent,
        "links": 0,
        "quarantined": deleted,
        "batch": batch,
        "location": f"solr:{collection.identity}",
        "version": json.dumps(facts.versions),
    }
    facts.record(row, version)
