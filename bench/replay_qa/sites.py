"""The pages of bench/replay_pages, built and served on this machine, and captured through a browser."""
import base64
import hashlib
import http.client
import io
import json
import pathlib
import re
import shutil
import struct
import subprocess
import threading
import urllib.parse
import zlib
from datetime import datetime, timezone

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from .browser import HEIGHT, Browser, Page, Seen, plain
from .proxy import Answer, Proxy, Request

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "replay_pages"

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".json": "application/json",
    ".csv": "text/csv", ".png": "image/png", ".wasm": "application/wasm", ".woff2": "font/woff2", ".woff": "font/woff",
    ".webm": "video/webm", ".webmanifest": "application/manifest+json", ".svg": "image/svg+xml",
}

#: Hosts of these names are parts of pages.
PARTS = {"widget"}


def build(cache: pathlib.Path) -> pathlib.Path:
    """Installs the packages into `cache`, and builds the pages there."""
    for name in ("package.json", "build.mjs"):
        shutil.copy(SOURCES / name, cache / name)
    shutil.copytree(SOURCES / "pages", cache / "pages", dirs_exist_ok=True)
    if not (cache / "node_modules" / "esbuild").exists():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=cache, check=True, capture_output=True)
    built = cache / "built"
    shutil.rmtree(built, ignore_errors=True)
    shutil.copytree(SOURCES / "pages", built)
    subprocess.run(["node", "build.mjs", built], cwd=cache, check=True)
    return built


class Sites:
    """Answers as the servers of all hosts would."""

    def __init__(self, cache: pathlib.Path):
        self.packages = cache / "node_modules"
        self.pages = cache / "built"
        self.names = sorted(page.name for page in self.pages.iterdir() if page.name not in PARTS)

    def answer(self, request: Request) -> Answer:
        parts = urllib.parse.urlsplit(request.url)
        name = parts.hostname.removesuffix(".example").split(".")[-1]
        if name == "tiles":
            return allowed(200, ".png", tile(parts.path))
        if name == "api":
            return api(request, parts)
        if name == "media":
            film = self.packages / "@videojs/vhs-utils/test/fixtures/formats/webm/vp8.webm"
            return part_of(request, allowed(200, ".webm", film.read_bytes()))
        if name == "cdn":
            return self.file(self.packages, parts.path.removeprefix("/npm/"))
        if name == "fragments" and parts.path == "/save":
            title = urllib.parse.parse_qs(request.body.decode()).get("title", ["nothing"])[0]
            return allowed(200, ".html", f"<b>{title}</b> is saved".encode())
        return self.file(self.pages / name, parts.path.lstrip("/") or "index.html")

    def file(self, folder: pathlib.Path, path: str) -> Answer:
        file = (folder / path).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
            # An application with routes has one document for all of them.
            if "." in path or not (folder / "index.html").is_file():
                return allowed(404, ".html", b"not found")
            file = folder / "index.html"
        return allowed(200, file.suffix, self.with_digests(file))

    def with_digests(self, file: pathlib.Path) -> bytes:
        """Fills in the digests with which a page asks for files of packages."""
        content = file.read_bytes()
        if file.suffix != ".html":
            return content
        digest = lambda name: base64.b64encode(hashlib.sha384(self.packaged(name[1].decode())).digest())
        return re.sub(rb'integrity="@([^@]+)@"', lambda name: b'integrity="sha384-' + digest(name) + b'"', content)

    def packaged(self, name: str) -> bytes:
        return next((self.packages / "bootstrap" / "dist").rglob(name)).read_bytes()


def allowed(status: int, suffix: str, body: bytes) -> Answer:
    kind = TYPES.get(suffix, "application/octet-stream")
    return Answer(status, [("Content-Type", kind), ("Access-Control-Allow-Origin", "*")], body)


def part_of(request: Request, whole: Answer) -> Answer:
    """Answers a range from its first byte to the end."""
    asked = next((value for name, value in request.headers if name.lower() == "range"), "")
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked)
    if not match or int(match[1]) >= len(whole.body):
        whole.headers.append(("Accept-Ranges", "bytes"))
        return whole
    first = int(match[1])
    last = min(int(match[2] or len(whole.body) - 1), len(whole.body) - 1)
    whole.headers.append(("Content-Range", f"bytes {first}-{last}/{len(whole.body)}"))
    return Answer(206, whole.headers, whole.body[first:last + 1])


def api(request: Request, parts: urllib.parse.SplitResult) -> Answer:
    if request.method == "OPTIONS":
        answer = allowed(204, ".json", b"")
        answer.headers += [("Access-Control-Allow-Headers", "*"), ("Access-Control-Allow-Methods", "*")]
        return answer
    if parts.path == "/graphql":
        votes = json.loads(request.body)["variables"]["votes"]
        return allowed(200, ".json", json.dumps({"data": {"saved": f"{votes} votes"}}).encode())
    page = int(urllib.parse.parse_qs(parts.query).get("page", ["1"])[0])
    items = [{"id": number, "name": f"Item {page}.{number}", "size": (number * 37 + page * 11) % 90 + 10} for number in range(8)]
    return allowed(200, ".json", json.dumps({"page": page, "items": items}).encode())


def tile(path: str) -> bytes:
    """Draws a picture whose colour depends on its address."""
    colour = hashlib.sha256(path.encode()).digest()[:3]
    line = lambda row: b"\0" + b"".join(bytes(3) if row == 0 or column == 0 else colour for column in range(256))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress(b"".join(map(line, range(256))))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 256, 256, 8, 2, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


class Recorder:
    """Writes what a proxy answers to a file of records."""

    def __init__(self, file: pathlib.Path, server: "tuple[str, int]"):
        self.file = file.open("wb")
        self.writer = WARCWriter(self.file, gzip=True)
        self.server = server
        self.lock = threading.Lock()

    def respond(self, request: Request) -> Answer:
        parts = urllib.parse.urlsplit(request.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection = http.client.HTTPConnection(*self.server, timeout=30)
        headers = {name: value for name, value in request.headers} | {"Host": parts.netloc}
        connection.request(request.method, path or "/", request.body or None, headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.getheaders(), response.read())
        connection.close()
        # What a browser sees from its own cache has no record.
        if parts.path != "/favicon.ico":
            self.record(request, answer, path or "/")
        return answer

    def record(self, request: Request, answer: Answer, path: str) -> None:
        date = {"WARC-Date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        status = f"{answer.status} {http.client.responses.get(answer.status, '')}"
        with self.lock:
            response = self.writer.create_warc_record(
                request.url, "response", payload=io.BytesIO(answer.body), warc_headers_dict=date,
                http_headers=StatusAndHeaders(status, answer.headers, protocol="HTTP/1.1"),
            )
            asked = self.writer.create_warc_record(
                request.url, "request", payload=io.BytesIO(request.body), warc_headers_dict=date,
                http_headers=StatusAndHeaders(f"{request.method} {path} HTTP/1.1", request.headers, is_http_request=True),
            )
            self.writer.write_request_response_pair(asked, response)


def served(sites: Sites) -> "Proxy":
    """Serves the pages at an address of this machine, by the host that is asked for."""
    def respond(request: Request) -> Answer:
        host = next(value for name, value in request.headers if name.lower() == "host")
        return sites.answer(Request(request.method, f"https://{host}{request.url}", request.headers, request.body))
    return Proxy(respond, sites.pages.parent)


def capture(cache: pathlib.Path, folder: pathlib.Path, names: "list[str]") -> "list[tuple[str, pathlib.Path, Seen]]":
    """Captures every page into a file, and stops the server. Returns addresses, files, and what was seen."""
    sites = Sites(cache)
    server = served(sites)
    host, _, port = server.address.partition(":")
    browser = Browser()
    captured = []
    try:
        for name in names or sites.names:
            file = folder / f"page-{name}.warc.gz"
            recorder = Recorder(file, (host, int(port)))
            proxy = Proxy(recorder.respond, cache)
            seen = visit_once(browser, proxy, f"https://{name}.example/")
            proxy.close()
            recorder.file.close()
            print(f"captured {name}: {len(seen.statuses)} requests, errors: {seen.errors}", flush=True)
            captured.append((f"https://{name}.example/", file, seen))
    finally:
        browser.close()
        server.close()
    return captured


def visit_once(browser: Browser, proxy: Proxy, url: str) -> Seen:
    context = browser.context(proxy.address, loopback=True)
    page = Page(browser, context, HEIGHT)
    try:
        return page.visit(url, plain, framed=False)
    finally:
        page.close()
        browser.dispose(context)
