"""``python -m weft_archive.spark``: loads, views, serving tables and takedowns on a cluster."""

import argparse
import json
import sys
import time
from typing import List, Optional

from weft_archive.solr import FilesGone, _command

EXAMPLES = """\
examples:
  python -m weft_archive.spark --base /data/web --master 'local[4]' --views crawls/*.warc.gz
  python -m weft_archive.spark --base s3a://bucket/web --master spark://host:7077 \\
      --prefix s3a://commoncrawl/ warc.paths.gz
  python -m weft_archive.spark --base /data/web --views                  # no new inputs: only the views
  python -m weft_archive.spark --base /data/web --serving crawls/new.warc.gz      # a batch, and serving tables with it
  python -m weft_archive.spark --base /data/web --serving --forget-prefix 'com,example)/private/'
  spark-submit --packages io.delta:delta-spark_4.1_2.13:4.1.0 job.py ...     # job.py calls weft_archive.spark.__main__.main()

  python -m weft_archive.spark --base /data/web --solr zk1:2181 --collection web     # feed Solr; with --verify, compare

Inputs are the same as for weft load (files, folders, patterns, path lists, addresses), and s3a:// addresses.
Running the same command again adds nothing, or continues an interrupted load. Only one job at a time may write
to a base.

exit codes: 0 success; 1 losses or failure, or Solr differs; 2 usage error
"""


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m weft_archive.spark",
        description="Load web archives into Delta tables with Spark, each input exactly once, compute views and serving tables, and feed Solr.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="inputs to load")
    parser.add_argument("--base", required=True, help="folder or address of the tables")
    parser.add_argument("--master", help="address of the cluster (default: that of spark-submit, else local[*])")
    parser.add_argument("--views", action="store_true", help="compute the views after the load")
    parser.add_argument("--serving", action="store_true", help="bring the serving tables to the last batch after the load")
    parser.add_argument("--recompute", action="store_true", help="with --serving: make all serving tables again")
    parser.add_argument("--texts", action="store_true", help="keep the texts of pages; settled by the first load of a base")
    forget = parser.add_argument_group("takedowns, before views and serving tables")
    forget.add_argument("--forget-key", action="append", default=[], metavar="KEY", help="take down the captures of a URL key")
    forget.add_argument("--forget-prefix", action="append", default=[], metavar="KEY", help="of all URL keys with a prefix")
    forget.add_argument("--forget-input", action="append", default=[], metavar="NAME", help="of an input, by its name")
    forget.add_argument("--reason", default="", help="reason, for the register of takedowns")
    parser.add_argument("--prefix", help="prefix for the entries of path lists, such as s3a://commoncrawl/")
    parser.add_argument("--links", choices=["all", "external"], default="all", help="links to keep (default: all)")
    parser.add_argument("--collection", default="", help="label for these inputs; with --solr, collection of Solr")
    _command.add_options(parser, required=False)
    parser.add_argument("--batch-inputs", type=int, default=1_000, help="maximum number of inputs per batch (default: 1000)")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="Spark setting; may be repeated")
    parser.add_argument("--package", action="append", default=[], metavar="GROUP:NAME:VERSION", help="additional jar; may be repeated")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    args = parser.parse_args(arguments)
    if args.solr and (args.inputs or not args.collection):
        parser.error("--solr needs --collection NAME, and no inputs: load them in a job before")
    if args.verify and not args.solr:
        parser.error("--verify needs --solr")
    forgotten = {"url_keys": args.forget_key, "prefixes": args.forget_prefix, "inputs": args.forget_input}
    if not (args.inputs or args.views or args.serving or args.solr or any(forgotten.values())):
        parser.error("name at least one input, or use --views, --serving, --solr or --forget-key")
    if args.batch_inputs < 1:
        parser.error("--batch-inputs must be at least 1")
    conf = dict(pair.partition("=")[::2] for pair in args.conf)
    try:
        from weft_archive.spark import (
            SparkFacts,
            WrongUse,
            compute_texts,
            compute_views,
            keeps_texts,
            load,
            serve,
            session,
            take_down,
        )
    except ImportError as error:
        print(f"error: {error}; pip install 'weft-archive[spark]'", file=sys.stderr)
        return 2

    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begun:8.1f} s  {text}", file=sys.stderr, flush=True)

    done, has_losses = {"base": args.base}, False
    try:
        spark = session(args.master, conf=conf, packages=args.package)
    except Exception as error:
        print(f"error: Spark does not start: {_first_line(error)}", file=sys.stderr)
        return 1
    try:
        if args.inputs:
            summary = load(
                spark,
                args.base,
                args.inputs,
                prefix=args.prefix,
                links=args.links,
                collection=args.collection,
                texts=args.texts,
                batch_inputs=args.batch_inputs,
                say=say,
            )
            done.update(summary.to_dict())
            has_losses = summary.has_losses
        if any(forgotten.values()):
            done["takedown"] = take_down(spark, args.base, **forgotten, reason=args.reason, say=say)
        if args.views:
            done["views"] = compute_views(spark, args.base, say=say)
            if keeps_texts(spark, args.base):
                done["views"]["texts"] = compute_texts(spark, args.base, say=say)
        if args.serving:
            done["serving"] = serve(spark, args.base, recompute=args.recompute, say=say).to_dict()
        if args.solr:
            found, is_well = _command.run(SparkFacts(spark, args.base), args, say)
            done.update(found)
            has_losses = has_losses or not is_well
    except WrongUse as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except FilesGone as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        print(f"error: {_first_line(error)}", file=sys.stderr)
        print("run the same command again to continue", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    print(json.dumps(done) if args.json else _text(done))
    return 1 if has_losses else 0


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _text(done: dict) -> str:
    lines = []
    if "inputs" in done:
        states = [f"{done[state]:,} {state}" for state in ("done", "known", "failed") if done[state]]
        lines.append(f"{done['inputs']:,} inputs: {', '.join(states) or 'none'}")
        lines.append(
            f"{done['records']:,} records, {done['captures']:,} captures, {done['links']:,} links, "
            f"{done['quarantined']:,} quarantined in {done['seconds']:.1f} s"
        )
        lines += [f"failed: {name}: {failure}" for name, failure in done["failures"]]
    if "takedown" in done:
        lines.append(f"takedown {done['takedown']}: done")
    if "serving" in done:
        served = done["serving"]
        written = sum(served["rows_written"].values())
        lines.append(f"serving tables: batch {served['batch']}, {written:,} rows written in {served['seconds']:.1f} s")
    lines += [f"view {name}: {rows:,} rows" for name, rows in done.get("views", {}).items()]
    return "\n".join([*lines, *_command.lines(done)])


if __name__ == "__main__":
    sys.exit(main())
