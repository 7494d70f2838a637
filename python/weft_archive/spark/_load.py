"""Loads batches of inputs. Each is in the tables exactly once, however often tasks and jobs are repeated."""

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from weft_archive.spark._inputs import Found, find
from weft_archive.spark._read import reader, staging_schema
from weft_archive.spark._session import ours
from weft_archive.spark._tables import BATCHES, LEDGER, Tables
from weft_archive.spark._takedowns import Takedowns, finish_takedowns
from weft_archive.spark._wrong_use import WrongUse

#: Default number of inputs per batch. All rows of a batch are staged before they are appended.
BATCH_INPUTS = 1_000

Say = Callable[[str], None]


@dataclass
class Summary:
    """The results of a load."""

    base: str
    inputs: int = 0
    done: int = 0
    #: Inputs whose content was in the tables already.
    known: int = 0
    failed: int = 0
    records: int = 0
    captures: int = 0
    links: int = 0
    quarantined: int = 0
    batches: List[int] = field(default_factory=list)
    #: Name and failure of the first hundred failed inputs. The ledger has all of them.
    failures: List[Tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def has_losses(self) -> bool:
        return self.failed > 0 or self.quarantined > 0

    def to_dict(self) -> Dict[str, Any]:
        return asdict(self)


def load(
    spark: SparkSession,
    base: str,
    inputs: Sequence[str],
    *,
    prefix: Optional[str] = None,
    links: str = "all",
    collection: str = "",
    texts: bool = False,
    batch_inputs: int = BATCH_INPUTS,
    say: Say = lambda text: None,
) -> Summary:
    """Loads inputs into the tables below ``base``. First finishes a batch that an interrupted job left.

    ``inputs`` are the same as for ``weft load`` (files, folders, patterns, path lists, addresses), and ``s3a://`` and
    other addresses that pyarrow opens. With ``prefix``, entries of path lists are addresses below it. Files must have the
    same path on every machine. Only one job at a time may write to a base.

    With ``texts`` at the first load, the table ``texts`` has the texts of pages and their words.

    A failed input gets a row in the table ``ledger``. Raises :class:`WrongUse` for invalid arguments, and passes on
    errors of Spark; the same call then continues.
    """
    begun = time.monotonic()
    if batch_inputs < 1:
        raise WrongUse("batch_inputs must be at least 1")
    tables = Tables(ours(spark), base)
    created = tables.create(links, texts)
    summary = Summary(tables.base)
    # A table that is new has no rows that would have to be looked for.
    last = 0 if "batches" in created else tables.last_batch("batches")
    takedowns = Takedowns([]) if "takedowns" in created else tables.takedowns()
    finish_takedowns(tables, takedowns)
    known = _Known() if "ledger" in created else _known(tables)
    tables.remove("staging", str(known.last_batch))
    if last > known.last_batch:
        say(f"batch {last}: finishing it for an interrupted job")
        _run(tables, last, tables.planned(last), known, takedowns, links, say).add_to(summary, say)
    found = find(inputs, prefix)
    new = [each for each in found if not known.has(each)]
    summary.inputs += len(found) - len(new)
    summary.known += len(found) - len(new)
    for number, start in enumerate(range(0, len(new), batch_inputs), max(last, takedowns.last) + 1):
        planned = _begin(tables, number, new[start : start + batch_inputs], collection)
        _run(tables, number, planned, known, takedowns, links, say).add_to(summary, say)
    summary.seconds = round(time.monotonic() - begun, 3)
    return summary


@dataclass
class _Known:
    """What the ledger says. It is read once, because only one job at a time writes to it."""

    last_batch: int = 0
    #: Locations and versions of inputs whose content is in the tables.
    places: "set[Tuple[str, Optional[str]]]" = field(default_factory=set)
    #: Digests of inputs that were read, each with its failure, if any.
    digests: Dict[str, Optional[str]] = field(default_factory=dict)

    def has(self, found: Found) -> bool:
        return found.problem is None and found.version != "" and (found.location, found.version) in self.places

    def add(self, rows: List[dict]) -> None:
        for row in rows:
            self.last_batch = max(self.last_batch, row["batch"])
            if row["digest"] is not None:
                self.places.add((row["location"], row["version"]))
                if row["state"] != "known":
                    self.digests[row["digest"]] = row["failure"]


def _known(tables: Tables) -> _Known:
    known = _Known()
    columns = ["batch", "state", "digest", "failure", "location", "version"]
    for rows in tables.read("ledger").select(*columns).toArrow().to_batches():
        known.add(rows.to_pylist())
    return known


def _begin(tables: Tables, batch: int, found: Sequence[Found], collection: str) -> List[Any]:
    """Records a batch, and returns its rows."""
    rows = [
        {"batch": batch, "seq": seq, "collection": collection, **asdict(each)} for seq, each in enumerate(found)
    ]
    tables.append_list("batches", rows, BATCHES, batch)
    # If two jobs use one batch number, the first append wins and the second is ignored.
    planned = tables.planned(batch)
    if [row.location for row in planned] != [each.location for each in found]:
        raise RuntimeError(
            f"another job started batch {batch} in {tables.base} concurrently: only one job at a time may write to a base; "
            "run this one again when the other has ended"
        )
    return planned


@dataclass
class _Batch:
    """A finished batch, as its rows of the ledger."""

    number: int
    rows: List[dict]

    def add_to(self, summary: Summary, say: Say) -> None:
        states = Counter(row["state"] for row in self.rows)
        summary.batches.append(self.number)
        summary.inputs += len(self.rows)
        summary.done += states["done"]
        summary.known += states["known"]
        summary.failed += states["failed"]
        for name in ("records", "captures", "links", "quarantined"):
            setattr(summary, name, getattr(summary, name) + sum(row[name] for row in self.rows))
        failed = [(row["input"], row["failure"]) for row in self.rows if row["state"] == "failed"]
        summary.failures = (summary.failures + failed)[:100]
        says = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
        say(f"batch {self.number}: done: {says}")


def _run(
    tables: Tables, batch: int, planned: List[Any], known: _Known, takedowns: Takedowns, links: str, say: Say
) -> _Batch:
    """Finishes a batch, whose rows in ``batches`` are ``planned``."""
    found = [Found(row.name, row.location, row.size, row.version, row.problem) for row in planned]
    staging = ("staging", str(batch))
    if not tables.exists(*staging):
        say(f"batch {batch}: {len(found):,} inputs: reading")
        _stage(tables, staging, found, known.digests, links, planned[0]["collection"], batch)
    say(f"batch {batch}: appending")
    staged = tables.read(*staging)
    outcomes = staged.where("outcome IS NOT NULL").select("seq", "outcome.*").toArrow().to_pylist()
    rows, counting = _judged(batch, found, outcomes)
    kept = [seq for seq in counting if not takedowns.has_input(found[seq].name)]
    for table, layout in tables.layouts().items():
        if any(rows[seq][layout.counted] for seq in kept):
            of_table = staged.where(F.col(table).isNotNull())
            if len(kept) < len(found):
                of_table = of_table.where(F.col("seq").isin(kept))
            tables.append(table, takedowns.without(table, of_table.select(f"{table}.*")), batch)
            say(f"batch {batch}: appended {table}")
    tables.append_list("ledger", rows, LEDGER, batch)
    say(f"batch {batch}: appended ledger")
    known.add(rows)
    tables.remove(*staging)
    return _Batch(batch, rows)


def _stage(
    tables: Tables,
    staging: Tuple[str, str],
    found: Sequence[Found],
    digests: Mapping[str, Optional[str]],
    links: str,
    collection: str,
    batch: int,
) -> None:
    # Files of a job that was killed while writing belong to no commit, so nobody else would remove them.
    tables.remove(*staging)
    context = tables.spark.sparkContext
    inputs, known = context.broadcast(list(found)), context.broadcast(digests)
    names = list(tables.layouts())
    read = reader(inputs, known, tables=names, links=links, collection=collection, batch=batch)
    # One task per input: little is lost with a machine, and it is repeated elsewhere.
    numbers = tables.spark.range(0, len(found), 1, numPartitions=len(found))
    # Fails if another job has staged something.
    tables.stage(numbers.mapInArrow(read, from_arrow_schema(staging_schema(names))), *staging)
    inputs.unpersist()
    known.unpersist()


def _judged(batch: int, found: Sequence[Found], outcomes: List[dict]) -> Tuple[List[dict], List[int]]:
    """Returns the ledger rows of a batch, and the inputs whose rows count. Of several inputs with the same content, the
    one with the smallest name counts."""
    by_seq = {outcome["seq"]: outcome for outcome in outcomes}
    if sorted(by_seq) != list(range(len(found))):
        raise RuntimeError(f"batch {batch}: {len(by_seq)} of {len(found)} inputs are staged")
    rows, counting, least = [], [], {}
    for seq, each in enumerate(found):
        digest = by_seq[seq]["digest"]
        if digest is not None:
            # Names are compared byte by byte, as in an archive.
            least[digest] = min(least.get(digest, (each.name.encode(), seq)), (each.name.encode(), seq))
    for seq, each in enumerate(found):
        outcome = by_seq[seq]
        is_read = outcome["digest"] is not None
        counts = is_read and not outcome["is_known"] and least[outcome["digest"]][1] == seq
        if counts:
            counting.append(seq)
        state = "failed" if outcome["failure"] is not None else "done" if counts else "known"
        row = {
            "input": each.name,
            "digest": outcome["digest"],
            "size": outcome["size"],
            "state": state,
            "batch": batch,
            "failure": outcome["failure"],
            "location": each.location,
            "version": each.version,
        }
        for name in ("records", "captures", "links", "quarantined"):
            row[name] = outcome[name] if counts else 0
        rows.append(row)
    return rows, counting
