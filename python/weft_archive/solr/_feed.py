"""Feeds a collection of Solr from the facts, each batch exactly once.

Invariants:
- The version of a document grows with its batch, and within a batch with each run of a feed. Solr ignores a document with an
  older or equal version, so anything may be sent again, and may come late.
- The ledger has a row of a run before anything is sent. So takedowns during an interrupted run are found by the next.
- The ledger has a batch for a collection after Solr has committed all of it. The next run begins after that batch.
- What takedowns removed since the last feed is deleted before later batches are sent.
- A batch also sends the older captures of the URLs that it has new links to, because they have new in-links and anchors.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Iterator, List

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
    run = _Run(facts, collection, say)
    run.take_down()
    for batch in run.new:
        run.send_batch(batch)
    run.summary.seconds = round(time.monotonic() - begun, 3)
    return run.summary


class _Run:
    """One run of a feed."""

    def __init__(self, facts: Facts, collection: Collection, say: Say) -> None:
        self.facts, self.collection, self.say = facts, collection, say
        self.summary = FeedSummary(facts.base, collection.name)
        fed = facts.fed(collection.identity)
        #: The last batch that the collection has, and all of the tables that it was made from.
        self.last = fed[-1]["batch"] if fed else 0
        self.since = json.loads(fed[-1]["version"]) if fed else facts.versions
        self.new = [batch for batch in facts.finished_batches() if batch > self.last]
        #: Documents have the links of batches up to this.
        self.until = max([self.last, *self.new])
        self.removed = [table for table in ("captures", "links") if facts.open_removed(table, self.since[table])]
        self.rows = len(fed)
        if self.new or self.removed:
            self._record(self.last, self.since, 0, 0)
        #: A later run has a higher step.
        self.step = self.rows

    def take_down(self) -> None:
        """Deletes documents of captures that are gone, and sends again those that changed or lost links."""
        if not self.removed:
            return
        self.say(f"takedowns after batch {self.last}: reading what was removed")
        chosen: List[str] = []
        gone: Iterator[str] = iter(())
        if "captures" in self.removed:
            self.facts.view("changed", _documents.CHANGED)
            without = self.facts.rows("SELECT * FROM changed WHERE is_gone = 1")
            # The captures of an input may be too many for the memory of one machine.
            gone = (_documents.document_id(row["input_digest"], row["warc_record_offset"]) for row in without)
            chosen.append(
                "EXISTS (SELECT 1 FROM changed WHERE changed.is_gone = 0 AND changed.input_digest = captures.input_digest "
                "AND changed.warc_record_offset = captures.warc_record_offset)"
            )
        if "links" in self.removed:
            self.facts.view("unlinked", _documents.UNLINKED)
            chosen.append("url_surtkey IN (SELECT target_surtkey FROM unlinked)")
        # An interrupted run may have sent documents of any batch so far. What comes back has a later one.
        deleted = self.collection.delete(gone, _documents.version(self.until, _documents.STEPS_MAX - 1))
        sent = self._send(f"epoch <= {self.last} AND ({' OR '.join(chosen)})", self.until)
        self._record(self.last, self.facts.versions, sent, deleted)
        self.say(f"takedowns after batch {self.last}: {deleted:,} documents deleted, {sent:,} sent again")
        self.summary.deleted += deleted

    def send_batch(self, batch: int) -> None:
        chosen = f"epoch = {batch}"
        if self.last:
            # Only documents of earlier runs: those of this one have all links already.
            self.facts.view("touched", _documents.TOUCHED.format(batch=batch))
            chosen += f" OR (epoch <= {self.last} AND url_surtkey IN (SELECT target_surtkey FROM touched))"
        self.say(f"batch {batch}: sending")
        sent = self._send(chosen, batch)
        self.say(f"batch {batch}: committed")
        self._record(batch, self.facts.versions, sent, 0)
        self.say(f"batch {batch}: {sent:,} documents")
        self.summary.batches.append(batch)

    def _send(self, chosen: str, batch: int) -> int:
        version = _documents.version(batch, self.step)
        sent = self.facts.send(rows(self.facts, chosen, self.until), self.collection, version)
        self.collection.commit()
        self.summary.sent += sent
        return sent

    def _record(self, batch: int, versions: Dict[str, int], sent: int, deleted: int) -> None:
        row = {
            "input": self.collection.name,
            "state": "fed",
            "records": sent,
            "captures": sent,
            "links": 0,
            "quarantined": deleted,
            "batch": batch,
            "location": f"solr:{self.collection.identity}",
            "version": json.dumps(versions),
        }
        self.facts.record(row, self.rows)
        self.rows += 1


def rows(facts: Facts, chosen: str, until: int) -> str:
    """Returns the statement for the rows of captures, with in-links of batches up to ``until``."""
    return _documents.statement(chosen, until, facts.columns("captures"), facts.columns("texts"))
