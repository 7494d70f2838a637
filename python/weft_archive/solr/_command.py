"""What the commands of plain Python and Spark share: their options for Solr, and what they print."""

import argparse
from typing import Any, Callable, Dict, List, Tuple

from weft_archive.solr._cluster import open_collection
from weft_archive.solr._facts import Facts
from weft_archive.solr._feed import feed
from weft_archive.solr._verify import verify


def add_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--solr", required=required, metavar="ADDRESS",
        help="nodes of Solr (http://host:8983/solr, separated by commas), or ZooKeeper (host:2181)",
    )
    parser.add_argument("--shards", type=int, help="parts of a new collection (default: one for each node)")
    parser.add_argument("--replicas", type=int, help="copies of each part of a new collection (default: 2)")
    parser.add_argument("--verify", action="store_true", help="compare the collection with the tables instead of feeding it")


def run(facts: Facts, args: argparse.Namespace, say: Callable[[str], None]) -> Tuple[Dict[str, Any], bool]:
    """Feeds or compares. Returns the summary, and whether all is well."""
    collection = open_collection(
        args.solr, args.collection, create=not args.verify, shards=args.shards, replicas=args.replicas
    )
    if args.verify:
        verified = verify(facts, collection, say)
        return {"verified": verified.to_dict()}, verified.is_clean
    return {"fed": feed(facts, collection, say).to_dict()}, True


def lines(done: Dict[str, Any]) -> List[str]:
    """Returns a summary as text."""
    if "fed" in done:
        fed = done["fed"]
        batches = f"{len(fed['batches']):,} batch{'' if len(fed['batches']) == 1 else 'es'}"
        return [
            f"collection {fed['collection']}: {batches} fed, {fed['sent']:,} documents sent, "
            f"{fed['deleted']:,} deleted in {fed['seconds']:.1f} s"
        ]
    if "verified" in done:
        found = done["verified"]
        counts = f"{found['missing']:,} missing, {found['unknown']:,} not in the facts, {found['different']:,} different"
        return [*found["differences"], f"collection {found['collection']}, up to batch {found['batch']}: {counts}"]
    return []
