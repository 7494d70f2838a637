"""``python -m weft.spark``: loads and views on a cluster."""

import argparse
import json
import sys
import time
from typing import List, Optional

EXAMPLES = """\
examples:
  python -m weft.spark --base /data/web --master 'local[4]' --views crawls/*.warc.gz
  python -m weft.spark --base s3a://bucket/web --master spark://host:7077 \\
      --prefix s3a://commoncrawl/ warc.paths.gz
  python -m weft.spark --base /data/web --views                  # no new inputs: only the views
  spark-submit --packages io.delta:delta-spark_4.1_2.13:4.1.0 job.py ...     # job.py calls weft.spark.__main__.main()

Inputs are files, folders, patterns, path lists and addresses as weft load takes them, and s3a://. The same command
again adds nothing, or goes on where the last one stopped. One job at a time may write to a base.

exit codes: 0 done; 1 done with losses, or failed; 2 wrong use
"""


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m weft.spark",
        description="Reads web archives with Spark into Delta tables, exactly once, and computes the views over them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="what to read")
    parser.add_argument("--base", required=True, help="folder or address that the tables are below")
    parser.add_argument("--master", help="address of the cluster; that of spark-submit, or local[*], if absent")
    parser.add_argument("--views", action="store_true", help="compute the views after the load")
    parser.add_argument("--prefix", help="what the entries of path lists are below, as s3a://commoncrawl/")
    parser.add_argument("--links", choices=["all", "external"], default="all", help="which links are kept (all)")
    parser.add_argument("--collection", default="", help="label of these inputs")
    parser.add_argument("--batch-inputs", type=int, default=1_000, help="most inputs of a batch (1000)")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")
    parser.add_argument("--package", action="append", default=[], metavar="GROUP:NAME:VERSION", help="one more jar")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    asked = parser.parse_args(arguments)
    if not asked.inputs and not asked.views:
        parser.error("name inputs, or ask for --views")
    if asked.batch_inputs < 1:
        parser.error("--batch-inputs is at least 1")
    conf = dict(pair.partition("=")[::2] for pair in asked.conf)
    try:
        from weft.spark import WrongUse, compute_views, load, session
    except ImportError as error:
        print(f"error: {error}; pip install 'weft[spark]'", file=sys.stderr)
        return 2

    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begun:8.1f} s  {text}", file=sys.stderr, flush=True)

    done, has_losses = {"base": asked.base}, False
    try:
        spark = session(asked.master, conf=conf, packages=asked.package)
    except Exception as error:
        print(f"error: Spark does not start: {_first_line(error)}", file=sys.stderr)
        return 1
    try:
        if asked.inputs:
            summary = load(
                spark,
                asked.base,
                asked.inputs,
                prefix=asked.prefix,
                links=asked.links,
                collection=asked.collection,
                batch_inputs=asked.batch_inputs,
                say=say,
            )
            done.update(summary.to_dict())
            has_losses = summary.has_losses
        if asked.views:
            done["views"] = compute_views(spark, asked.base, say=say)
    except WrongUse as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        print(f"error: {_first_line(error)}", file=sys.stderr)
        print("the same command goes on where this one stopped", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    print(json.dumps(done) if asked.json else _text(done))
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
    lines += [f"view {name}: {rows:,} rows" for name, rows in done.get("views", {}).items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
