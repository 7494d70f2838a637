"""Records of a file in memory, and a proxy over them: pages as they were captured, without any replay."""
import hashlib
import pathlib
import re
from dataclasses import dataclass

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from .proxy import Answer, Request


@dataclass
class Capture:
    url: str
    #: 14 digits
    time: str
    method: str
    answer: Answer


class Records:
    """All answers of a file by their address."""

    def __init__(self, file: pathlib.Path):
        self.by_url: "dict[str, list[Capture]]" = {}
        bodies: "dict[str, Answer]" = {}
        methods: "dict[str, str]" = {}
        waiting = []
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, arc2warc=True):
                kind, header = record.rec_type, record.rec_headers.get_header
                if kind == "request":
                    methods[header("WARC-Concurrent-To") or ""] = record.http_headers.protocol.split(" ")[0]
                    continue
                if kind not in ("response", "revisit") or record.http_headers is None:
                    continue
                capture = captured(record)
                if capture is None:
                    continue
                capture_id, digest = header("WARC-Record-ID"), header("WARC-Payload-Digest")
                if kind == "revisit":
                    waiting.append((capture, capture_id, digest))
                    continue
                digest = digest or hashlib.sha1(capture.answer.body).hexdigest()
                bodies[digest] = capture.answer
                self.add(capture, capture_id)
        for capture, capture_id, digest in waiting:
            if digest in bodies:
                original = bodies[digest]
                capture.answer = Answer(original.status, original.headers, original.body)
                self.add(capture, capture_id)
        for captures in self.by_url.values():
            for capture in captures:
                capture.method = methods.get(capture.method, "GET")

    def add(self, capture: Capture, capture_id: str) -> None:
        capture.method = capture_id
        self.by_url.setdefault(capture.url, []).append(capture)

    def nearest(self, request: Request, time: str) -> "Capture | None":
        found = self.by_url.get(request.url) or self.by_url.get(request.url.rstrip("/")) or self.by_url.get(request.url + "/")
        # Numbers that bypass caches differ at each visit.
        if not found and re.search(r"[?&]_=\d+", request.url):
            start = re.sub(r"([?&]_=)\d+.*", r"\1", request.url)
            found = next((each for url, each in self.by_url.items() if url.startswith(start)), None)
        if not found:
            return None
        same = [each for each in found if each.method == request.method] or found
        return min(same, key=lambda each: abs(int(each.time) - int(time)))

    def proxy_over(self, time: str):
        """Returns what a proxy answers with."""
        def respond(request: Request) -> Answer:
            capture = self.nearest(request, time)
            return capture.answer if capture else Answer(404, [("Content-Type", "text/plain")], b"not captured")
        return respond

    def pages(self, most: int) -> "list[Capture]":
        """Returns HTML pages, at equal distances in the order of addresses."""
        pages = []
        for url, captures in sorted(self.by_url.items()):
            for capture in captures:
                kind = next((value for name, value in capture.answer.headers if name.lower() == "content-type"), "")
                whole = capture.answer.status == 200 and capture.method == "GET" and len(capture.answer.body) > 200
                if whole and "html" in kind and url.startswith("http") and b"<html" in capture.answer.body[:5000].lower():
                    pages.append(capture)
                    break
        step = max(1, len(pages) // most)
        return pages[::step][:most]


def captured(record) -> "Capture | None":
    header = record.rec_headers.get_header
    try:
        status = int(record.http_headers.get_statuscode())
        body = record.content_stream().read()
    except (ValueError, ArchiveLoadFailed, OSError):
        return None
    headers = [(name, value) for name, value in record.http_headers.headers if name.lower() not in ("content-encoding", "alt-svc")]
    time = re.sub(r"\D", "", header("WARC-Date") or "")[:14]
    return Capture(header("WARC-Target-URI") or "", time, "", Answer(status, headers, body))
