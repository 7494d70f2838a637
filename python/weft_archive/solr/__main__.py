"""``python -m weft_archive.solr``: feeds a collection of Solr from facts on this machine."""

import argparse
import json
import sys
import time
from typing import List, Optional

from weft_archive.solr import _command

EXAMPLES = """\
examples:
  python -m weft_archive.solr --base weft-archive/facts --solr http://host:8983/solr --collection web
  python -m weft_archive.solr --base weft-archive/facts --solr zk1:2181,zk2:2181/solr --collection web --verify

Running the same command again sends what is new, or continues an interrupted feed. Only one job at a time may feed a
collection.

exit codes: 0 success; 1 failure, or the collection differs; 2 usage error
"""


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m weft_archive.solr",
        description="Feed a collection of Solr from facts, each batch exactly once, or compare it with them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base", required=True, help="folder of the tables: facts of an archive, or a base of Spark")
    parser.add_argument("--collection", required=True, metavar="NAME", help="collection, which is made if it is missing")
    _command.add_options(parser, required=True)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    args = parser.parse_args(arguments)
    try:
        from weft_archive.solr import FilesGone, LocalFacts, SolrError
    except ImportError as error:
        print(f"error: {error}; pip install 'weft-archive[solr]'", file=sys.stderr)
        return 2
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begun:8.1f} s  {text}", file=sys.stderr, flush=True)

    try:
        facts = LocalFacts(args.base)
        done, is_well = _command.run(facts, args, say)
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except FilesGone as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except SolrError as error:
        print(f"error: {error}", file=sys.stderr)
        print("run the same command again to continue", file=sys.stderr)
        return 1
    print(json.dumps(done) if args.json else "\n".join(_command.lines(done)))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
