#!/usr/bin/env python3
"""Measures Weft beside other programs, and writes one table.

    bench/figures.py docs/figures.md --programs target/release --python ~/.cache/weft/venv/bin/python

All rows come from one run on one machine, with default settings. A program that is missing is named with the reason, and
the run goes on. `make figures` builds and installs what it can, and runs this.
"""
import argparse
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent

#: Most rows of the table.
ROWS_MAX = 10


class NotMeasured(Exception):
    """Why there is no figure."""


@dataclass
class Row:
    what: str
    weft: float
    peer_name: str
    #: The figure, or why there is none.
    peer: "float | NotMeasured"
    #: Whether the smaller figure is the better one.
    less_is_better: bool = False
    decimals: int = 0

    def cells(self) -> "list[str]":
        shown = f"{self.weft:,.{self.decimals}f}"
        if isinstance(self.peer, NotMeasured):
            return [self.what, shown, f"{self.peer_name}: not measured", ""]
        ratio = self.peer / self.weft if self.less_is_better else self.weft / self.peer
        return [self.what, shown, f"{self.peer:,.{self.decimals}f} ({self.peer_name})", f"{ratio:.2f}"]


@dataclass
class Used:
    """What a command took."""

    seconds: float
    cpu_seconds: float
    printed: str


def run(*command: object) -> Used:
    """Runs a command, and measures it with its own processes."""
    begun, cpu = time.monotonic(), cpu_of_children()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise NotMeasured(f"{pathlib.Path(str(command[0])).name} failed: {last}")
    return Used(time.monotonic() - begun, cpu_of_children() - cpu, done.stdout)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_load(given: argparse.Namespace) -> "list[Row]":
    """Loads a synthetic web of HTML pages with both, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        run(given.weft, "synth", "--pages", given.pages, "--recrawls-permille", 0, "--files", 4, place / "web.warc.gz")
        files = sorted(place.glob("web-*.warc.gz"))
        for file in files:
            file.read_bytes()  # Both read from the page cache.
        ours, theirs = [], []
        missing = None if can_import(given.python, "fastwarc, selectolax, tantivy") else NotMeasured(
            f"{given.python} has no fastwarc, selectolax and tantivy"
        )
        for number in range(given.runs):
            ours.append(run(given.weft, "load", *files, "--archive", place / f"archive-{number}"))
            if missing is None:
                theirs.append(run(given.python, HERE / "load_peer.py", place / f"index-{number}", *files))
                if int(theirs[-1].printed) != given.pages:
                    raise NotMeasured(f"load_peer.py indexed {theirs[-1].printed.strip()} pages, not {given.pages}")
    rate = lambda runs: given.pages / statistics.median(used.seconds for used in runs)
    cpu_us = lambda runs: statistics.median(used.cpu_seconds for used in runs) * 1e6 / given.pages
    name = "FastWARC, selectolax, tantivy"
    return [
        Row("load HTML, pages/s", rate(ours), name, missing or rate(theirs)),
        Row("load HTML, CPU us a page", cpu_us(ours), name, missing or cpu_us(theirs), less_is_better=True),
    ]


def can_import(python: pathlib.Path, modules: str) -> bool:
    try:
        return subprocess.run([python, "-c", f"import {modules}"], capture_output=True).returncode == 0
    except OSError:
        return False


def found(pattern: str, text: str, what: str) -> "re.Match[str]":
    match = re.search(pattern, text, re.MULTILINE)
    if not match:
        raise NotMeasured(f"its output has no line of {what}")
    return match


def of_cdx(printed: str) -> "list[Row]":
    """Reads what bench/cdx prints."""
    line = r"\s+[\d.]+\s+[\d.]+\s+(\d+)\s*$"
    weft = float(found(r"^weft /cdx" + line, printed, "weft /cdx")[1])
    peer = re.search(r"^OutbackCDX (\S+)" + line, printed, re.MULTILINE)
    if peer:
        name, figure = f"OutbackCDX {peer[1]}", float(peer[2])
    else:
        name, figure = "OutbackCDX", NotMeasured(found(r"^OutbackCDX .*not measured: (.+)$", printed, "OutbackCDX")[1])
    return [Row("captures of a URL over HTTP, look-ups/s a core", weft, name, figure)]


def of_store(printed: str) -> "list[Row]":
    """Reads what bench/store prints: a part for each size of objects."""
    rows = []
    missing = re.search(r"^MinIO: not measured: (.+)$", printed, re.MULTILINE)
    for size, unit, column in (("1 MB", "MB/s", 1), ("4 KB", "requests/s", 2)):
        part = found(rf"(?s)objects of {size},(.*?)(?:\n\n|\Z)", printed, f"objects of {size}")[1]
        for verb in ("put", "get"):
            line = rf"^{verb} %s\s+([\d.]+)\s+([\d.]+)"
            weft = float(found(line % "face", part, f"{verb} face")[column])
            if missing:
                peer = NotMeasured(missing[1])
            else:
                peer = float(found(line % "minio", part, f"{verb} minio")[column])
            rows.append(Row(f"S3 {verb.upper()} of {size}, {unit}", weft, "MinIO", peer))
    return rows


def of_relevance(printed: str) -> "list[Row]":
    """Reads the first collections that bench/relevance prints."""
    missing = re.search(r"^(.* is missing): relevance is not measured$", printed, re.MULTILINE)
    if missing:
        raise NotMeasured(missing[1])
    lines = [line.strip("| \n").split(" | ") for line in printed.split("\n\n")[0].splitlines()[2:]]
    return [
        Row(f"relevance, {cells[0]}: MAP of {cells[2]} queries as typed", float(cells[5]), "plain BM25", float(cells[3]), decimals=4)
        for cells in lines[:3]
    ]


def table(rows: "list[Row]") -> str:
    lines = ["| what | Weft | peer | ratio |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows[:ROWS_MAX]]
    return "\n".join(lines)


def page(rows: "list[Row]", problems: "list[str]", about: "list[str]") -> str:
    """Returns the whole page."""
    peers = {f"{row.peer_name}: {row.peer}" for row in rows if isinstance(row.peer, NotMeasured)}
    missing = sorted(peers) + problems
    listed = "\n".join(f"- {each}" for each in missing)
    return "\n".join([
        "# Figures",
        "",
        "`make figures` writes this page: one run, on one machine, with default settings. A ratio above 1 means that Weft",
        "is ahead. Machines differ, so compare ratios. [Performance](performance.md) has larger sizes, and what limits them.",
        "",
        *(f"- {each}" for each in about),
        "",
        table(rows),
        "",
        "- Load: a synthetic web, read from memory, medians. Weft also keeps captures, links, versions and facts, and syncs",
        "  its epochs. The others index title, text and links, in one process.",
        "- Look-ups: the server has one core, the clients the others.",
        "- S3: Weft keeps two copies on two volumes, with digests, and syncs both. MinIO has one folder and one copy.",
        "- Relevance: plain BM25 is that of the same words, without other parts of the ranking.",
        "",
        *(["Not measured:", "", listed, ""] if missing else []),
    ])


def machine(given: argparse.Namespace) -> "list[str]":
    """Returns what the figures depend on."""
    git = lambda *words: subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True).stdout.strip()
    changed = " with local changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    cpu = re.search(r"^model name\s*: (.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"commit {git('rev-parse', '--short', 'HEAD') or 'unknown'}{changed}, {time.strftime('%Y-%m-%d')}",
        f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB of memory, Linux {platform.release()}",
        f"`make figures`: {given.pages:,} pages, medians of {given.runs} runs",
    ]


def measured(given: argparse.Namespace) -> "tuple[list[Row], list[str]]":
    """Returns the rows, and what could not be measured."""
    parts = [
        ("load", lambda: of_load(given)),
        ("cdx", lambda: of_cdx(run(given.programs / "cdx", "--pages", given.pages).printed)),
        ("store", lambda: of_store(run(given.programs / "store", "--bytes", given.store_bytes).printed)),
        ("relevance", lambda: of_relevance(run(given.programs / "relevance").printed)),
    ]
    rows, problems = [], []
    for name, measure in parts:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        try:
            rows += measure()
        except (NotMeasured, OSError) as error:
            problems.append(f"{name}: {error}")
            print(f"not measured: {problems[-1]}", file=sys.stderr)
    return rows, problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=pathlib.Path, help="file to write")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of weft and the programs of bench")
    parser.add_argument("--python", type=pathlib.Path, default=pathlib.Path(sys.executable), help="has fastwarc, selectolax, tantivy")
    parser.add_argument("--pages", type=int, default=20_000, help="of the synthetic web")
    parser.add_argument("--runs", type=int, default=3, help="of each load")
    parser.add_argument("--store-bytes", type=int, default=128_000_000, help="put and got at each size")
    given = parser.parse_args()
    given.weft = given.programs / "weft"
    rows, problems = measured(given)
    if not rows:
        raise SystemExit("nothing was measured; the file is unchanged")
    given.output.write_text(page(rows, problems, machine(given)))
    print(table(rows))
    print(f"written to {given.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
