"""Compares a collection of Solr with the facts, field by field, both ways."""

import time
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List

from weft_archive.solr._cluster import Collection
from weft_archive.solr._facts import Facts, difference
from weft_archive.solr._feed import rows

#: The most differences that are kept. All are counted.
KEPT_MAX = 1_000

_VALUE_MAX = 120


@dataclass
class VerifySummary:
    """The results of a comparison."""

    base: str
    collection: str
    #: The last batch that the collection has.
    batch: int = 0
    #: Documents that Solr lacks, has without a capture, and has with other values.
    missing: int = 0
    unknown: int = 0
    different: int = 0
    differences: List[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return self.missing + self.unknown + self.different == 0

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)


def verify(facts: Facts, collection: Collection, say: Callable[[str], None] = lambda text: None) -> VerifySummary:
    """Compares all documents with those that the batches should have given that the ledger has for the collection."""
    begun = time.monotonic()
    fed = facts.fed(collection.identity)
    summary = VerifySummary(facts.base, collection.name, fed[-1]["batch"] if fed else 0)
    say(f"comparing documents up to batch {summary.batch}")
    later = sum(batch > summary.batch for batch in facts.finished_batches())
    if later:
        say(f"{later:,} later batches are not fed yet. If a feed was interrupted, finish it first")
    statement = rows(facts, f"epoch <= {summary.batch}", summary.batch)
    for id_, expected, found in facts.compare(statement, collection):
        lines = _judged(summary, id_, expected, found)
        summary.differences += lines[: KEPT_MAX - len(summary.differences)]
    summary.seconds = round(time.monotonic() - begun, 3)
    return summary


def _judged(summary: VerifySummary, id_: str, expected: Dict[str, Any], found: Dict[str, Any]) -> List[str]:
    if not found:
        summary.missing += 1
        return [f"{id_}: missing in Solr: {expected['url']}"]
    if not expected:
        summary.unknown += 1
        return [f"{id_}: not in the facts: {found.get('url')}"]
    summary.different += 1
    fields = difference(expected, found).items()
    return [f"{id_}: {name}: {_short(facts)} in the facts, {_short(solr)} in Solr" for name, (facts, solr) in fields]


def _short(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}..."
