#!/usr/bin/env python3
"""Measures how like archived pages are to the pages that were captured, with Weft, pywb and wabac.js in one run.

    bench/replay.py --weft target/release/weft --cache ~/.cache/weft/replay [CRAWL.warc.gz ...]

It captures the pages of bench/replay_pages through a browser and a proxy, and takes pages of the crawls. Each page is
visited as captured (the browser asks a proxy, which answers from the records), and in each program. `make likeness`
installs what it needs. A program that is missing is named with the reason, and the run goes on.
"""
import argparse
import functools
import itertools
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

from replay_qa import replays, sites
from replay_qa.browser import HEIGHT, Browser, BrowserFailed, Page, Seen
from replay_qa.proxy import Answer, Proxy, Request
from replay_qa.records import Records
from replay_qa.score import Score, missing, score


@dataclass
class Wanted:
    """A page to visit."""

    url: str
    time: str
    file: pathlib.Path
    #: Whether it is one of bench/replay_pages.
    own: bool
    #: What was seen at capture, if a browser captured it.
    seen: "Seen | None" = None

    def name(self) -> str:
        return f"{self.file.name.split('.')[0]} {self.url}"


class Program:
    """A program under test, with a trap for requests to the live web."""

    def __init__(self, replay, browser: Browser, folder: pathlib.Path):
        self.replay = replay
        self.browser = browser
        self.trapped: "list[str]" = []
        self.trap = Proxy(self.refuse, folder, refuse_tls=True)
        #: What the program shows above a page.
        self.above: "int | None" = None
        self.kept: "str | None" = None
        self.prepared: "set[str]" = set()

    def refuse(self, request: Request) -> Answer:
        self.trapped.append(f"{request.method} {request.url}")
        return Answer(403)

    def visit(self, wanted: Wanted, again: bool) -> "tuple[Seen, Seen | None, list[str]]":
        """Returns what was seen, also at a second visit, and requests to the live web."""
        context = self.context_for(wanted)
        before = len(self.trapped)
        address = self.replay.address(wanted.url, wanted.time, wanted.file.name)
        if self.above is None:
            self.above = self.measure_above(context, address)
        seen = self.one_visit(context, address)
        second = self.one_visit(context, address) if again else None
        if context != self.kept:
            self.browser.dispose(context)
        return seen, second, self.trapped[before:]

    def context_for(self, wanted: Wanted) -> str:
        if not isinstance(self.replay, replays.Wabac):
            return self.browser.context(self.trap.address, loopback=False)
        # Its worker reads a file whole at the first visit, so it keeps what it has read.
        self.kept = self.kept or self.browser.context(self.trap.address, loopback=False)
        if wanted.file.name not in self.prepared:
            self.replay.prepare(self.browser, self.kept, wanted.file.name)
            self.prepared.add(wanted.file.name)
        return self.kept

    def measure_above(self, context: str, address: str) -> int:
        page = Page(self.browser, context, HEIGHT)
        page.visit(address, self.replay.original, framed=True)
        box = page.box()
        page.close()
        return round(HEIGHT - box[3]) if box else 0

    def one_visit(self, context: str, address: str) -> Seen:
        page = Page(self.browser, context, HEIGHT + (self.above or 0))
        try:
            return page.visit(address, self.replay.original, framed=True)
        finally:
            page.close()


def started(given: argparse.Namespace, folder: pathlib.Path, files: "list[pathlib.Path]") -> "tuple[list, list[str]]":
    """Starts the programs, and names those that do not start."""
    worker = given.cache / "wabac" / "dist" / "sw.js"
    ways = [
        ("Weft", lambda: replays.Weft(given.weft, folder, files)),
        ("pywb", lambda: replays.Pywb(pathlib.Path(sys.executable).parent, folder, files)),
        ("wabac.js", lambda: replays.Wabac(worker, folder, files)),
    ]
    running, problems = [], []
    for name, start in ways:
        try:
            running.append(start())
        except (replays.NotStarted, OSError) as error:
            problems.append(f"{name}: {error}")
            print(f"not measured: {problems[-1]}", file=sys.stderr)
    return running, problems


def as_captured(browser: Browser, wanted: Wanted, records: Records, folder: pathlib.Path) -> Seen:
    proxy = Proxy(records.proxy_over(wanted.time), folder)
    try:
        return sites.visit_once(browser, proxy, wanted.url)
    finally:
        proxy.close()


def pages_of(given: argparse.Namespace, folder: pathlib.Path) -> "list[Wanted]":
    found = []
    if given.own:
        sites.build(given.cache)
        for url, file, seen in sites.capture(given.cache, folder, given.only):
            at = Records(file).by_url[url][0].time
            found.append(Wanted(url, at, file, True, seen))
    crawls = [[Wanted(each.url, each.time, file, False) for each in Records(file).pages(given.pages)] for file in given.crawls]
    # In turn, so that a run that is stopped has pages of all of them.
    for turn in itertools.zip_longest(*crawls):
        found += filter(None, turn)
    return found


def measured(given: argparse.Namespace, folder: pathlib.Path) -> "tuple[dict, list[str]]":
    """Returns scores by page and program, and what was not measured."""
    wanted = pages_of(given, folder)
    browser = Browser()
    running, problems = started(given, folder, sorted({each.file for each in wanted}))
    programs = [Program(replay, browser, given.cache) for replay in running]
    scores: "dict[str, dict[str, Score]]" = {}
    records = functools.cache(Records)
    try:
        for number, each in enumerate(wanted):
            if time.monotonic() > given.until:
                problems.append(f"{len(wanted) - number} pages, for want of time")
                break
            # Each program is the first as often as the others.
            turn = programs[number % len(programs):] + programs[:number % len(programs)]
            try:
                scores[each.name()] = row = visited(given, number, each, as_captured(browser, each, records(each.file), given.cache), turn)
                print(line(each, row), flush=True)
            except BrowserFailed as error:
                problems.append(f"{each.name()}: {error}")
                print(f"not measured: {problems[-1]}", flush=True)
    finally:
        for replay in running:
            replay.close()
        browser.close()
    return scores, problems


def visited(given: argparse.Namespace, number: int, wanted: Wanted, plain: Seen, programs: "list[Program]") -> "dict[str, Score]":
    """Visits a page in each program, and compares it with the page as captured."""
    captured = wanted.seen or plain
    row = {"plain": score(captured, plain, lambda url: url, 0)}
    add_second(row["plain"], plain)
    keep(given, number, "captured", wanted, captured, [])
    for program in programs:
        original = program.replay.original
        seen, second, live = program.visit(wanted, wanted.own and given.second)
        row[program.replay.name] = score(captured, seen, original, len(live))
        add_second(row[program.replay.name], second)
        notes = [f"missing {url}" for url in missing(captured, seen, original)] + [f"live {url}" for url in live]
        keep(given, number, program.replay.name, wanted, seen, notes)
    return row


def add_second(result: Score, second: "Seen | None") -> None:
    if second:
        result.again_ms = second.load_ms
        result.document_first_byte_ms, result.document_load_ms = second.document_first_byte_ms, second.document_load_ms


def line(wanted: Wanted, row: "dict[str, Score]") -> str:
    shown = lambda each: f"{each.picture:.2f} {each.text:.2f} {each.found:.2f} {each.errors} {each.live} {each.load_ms or 0:.0f}ms"
    return f"{wanted.name()[:70]:70} " + " | ".join(f"{name}: {shown(each)}" for name, each in row.items())


def keep(given: argparse.Namespace, number: int, name: str, wanted: Wanted, seen: Seen, notes: "list[str]") -> None:
    """Keeps pictures and what was seen, to look at."""
    if given.keep is None:
        return
    given.keep.mkdir(parents=True, exist_ok=True)
    start = given.keep / f"{number:03}-{name}"
    pathlib.Path(f"{start}.png").write_bytes(seen.picture)
    lines = [wanted.url, *notes, *(f"error {each}" for each in seen.errors), *(f"{status} {url}" for url, status in seen.statuses.items()), "", seen.text]
    pathlib.Path(f"{start}.txt").write_text("\n".join(lines))


MEASURES = [
    ("screenshot likeness", lambda each: each.picture, 3),
    ("text likeness", lambda each: each.text, 3),
    ("resources found", lambda each: each.found, 3),
    ("console errors a page, beyond those at capture", lambda each: each.errors, 2),
    ("requests to the live web, in all", lambda each: each.live, 0),
    ("first visit: first byte, ms (median)", lambda each: each.first_byte_ms, 0),
    ("first visit: load event, ms (median)", lambda each: each.load_ms, 0),
    ("second visit: load event, ms (median)", lambda each: each.again_ms, 0),
    ("second visit, the document alone: first byte, ms (median)", lambda each: each.document_first_byte_ms, 0),
    ("second visit, the document alone: load event, ms (median)", lambda each: each.document_load_ms, 0),
]


def table(scores: dict, names: "list[str]") -> str:
    """One row for each measure, of pages that all programs were asked for."""
    rows = [row for row in scores.values() if all(name in row for name in names)]
    lines = ["| " + " | ".join(["what", *names]) + " |", "|" + "---|" * (len(names) + 1)]
    for what, of, decimals in MEASURES:
        cells = []
        for name in names:
            figures = [figure for row in rows if (figure := of(row[name])) is not None]
            whole = sum if "in all" in what else statistics.median if "median" in what else statistics.fmean
            cells.append(f"{whole(figures):,.{decimals}f}" if figures else "")
        lines.append("| " + " | ".join([what, *cells]) + " |")
    return "\n".join(lines)


def behind(scores: dict, most: float) -> "list[str]":
    """Names pages of which a peer shows more than Weft, by more than `most`."""
    found = []
    for page, row in scores.items():
        for what, of, _ in MEASURES[:3]:
            for name, each in row.items():
                if "Weft" in row and name not in ("Weft", "plain") and of(each) - of(row["Weft"]) > most:
                    found.append(f"{page}: {what} {of(row['Weft']):.2f}, {name} {of(each):.2f}")
    return found


def need(given: argparse.Namespace) -> None:
    """Unpacks wabac.js, whose worker is one file."""
    place = given.cache / "wabac"
    if (place / "dist" / "sw.js").exists():
        return
    # `npm install` also wants what its sources are built from.
    done = subprocess.run(["npm", "pack", "@webrecorder/wabac"], cwd=given.cache, capture_output=True, text=True)
    for packed in given.cache.glob("webrecorder-wabac-*.tgz"):
        shutil.unpack_archive(packed, given.cache)
        (given.cache / "package").rename(place)
        return
    print(f"wabac.js is missing: {done.stderr.strip()[-200:]}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("crawls", type=pathlib.Path, nargs="*", help="files of records, of which pages are taken")
    parser.add_argument("--weft", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="folder of packages and built pages")
    parser.add_argument("--pages", type=int, default=8, help="of each crawl")
    parser.add_argument("--no-own", dest="own", action="store_false", help="without the pages of bench/replay_pages")
    parser.add_argument("--only", nargs="*", default=[], help="names of own pages")
    parser.add_argument("--no-second", dest="second", action="store_false", help="without second visits")
    parser.add_argument("--minutes", type=float, default=120, help="after which no further page is begun")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for pictures and what was seen")
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    need(given)
    begun = time.monotonic()
    given.until = begun + given.minutes * 60
    with tempfile.TemporaryDirectory() as folder:
        scores, problems = measured(given, pathlib.Path(folder))
    if not scores:
        raise SystemExit("nothing was measured")
    names = [name for name in ("Weft", "pywb", "wabac.js", "plain") if any(name in row for row in scores.values())]
    own = {page: row for page, row in scores.items() if page.startswith("page-")}
    for title, part in (("own pages", own), ("pages of crawls", {page: row for page, row in scores.items() if page not in own})):
        if part:
            print(f"\n{len(part)} {title}\n\n{table(part, names)}")
    print(f"\nBehind a peer by more than a tenth: {'; '.join(behind(scores, 0.1)) or 'none'}")
    print("\n".join([*replays.versions(pathlib.Path(sys.executable).parent, given.cache / "wabac"), *problems]))
    print(f"{len(scores)} pages in {time.monotonic() - begun:.0f} s")
    if given.keep:
        (given.keep / "scores.json").write_text(json.dumps({page: {name: asdict(each) for name, each in row.items()} for page, row in scores.items()}, indent=1))


if __name__ == "__main__":
    main()
