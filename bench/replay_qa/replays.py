"""Weft, pywb and wabac.js, each started over the same files, and asked for pages as a reader asks."""
import contextlib
import functools
import http.server
import json
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from .browser import Browser, Page

#: What the page around wabac.js has. It loads a file, and shows a page of it in a frame, as ReplayWeb.page does.
WABAC_PAGE = """<!doctype html><meta charset=utf-8><title>wabac.js</title>
<style>body{margin:0} iframe{border:0;width:100vw;height:100vh;display:block}</style>
<script>
const wanted = new URLSearchParams(location.search);
const show = () => {
  const frame = document.createElement("iframe");
  frame.src = `/w/${wanted.get("file")}/${wanted.get("time")}mp_/${wanted.get("url")}`;
  document.body.append(frame);
};
navigator.serviceWorker.addEventListener("message", ({ data }) => {
  if (data.msg_type === "collAdded") { document.title = "loaded"; if (wanted.get("url")) show(); }
});
navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready).then(async (worker) => {
  if (!navigator.serviceWorker.controller) await new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done));
  worker.active.postMessage({
    msg_type: "addColl", name: wanted.get("file"), skipExisting: true,
    file: { sourceUrl: new URL(`/files/${wanted.get("file")}`, location).href },
  });
});
</script><body></body>"""


class NotStarted(Exception):
    """Why a program is not measured."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(url: str, process: subprocess.Popen) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise NotStarted(f"it ended with {process.returncode}")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.1)
    raise NotStarted("it does not answer")


def stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Weft:
    name = "Weft"

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, files: "list[pathlib.Path]"):
        archive = folder / "weft-archive"
        done = subprocess.run([program, "load", *files, "--archive", archive], capture_output=True, text=True)
        if done.returncode != 0:
            raise NotStarted((done.stderr.strip() or "no message").splitlines()[-1])
        self.port = free_port()
        words = [program, "serve", "--archive", archive, "--listen", f"127.0.0.1:{self.port}"]
        self.log = (folder / "weft.log").open("w")
        self.process = subprocess.Popen(words, stdout=self.log, stderr=self.log)
        wait_for(f"http://127.0.0.1:{self.port}/", self.process)

    def address(self, url: str, time: str, _file: str) -> str:
        return f"http://localhost:{self.port}/replay/{time}/{url}"

    def prepare(self, _browser: Browser, _context: str, _file: str) -> None:
        pass

    def original(self, address: str) -> "str | None":
        """Returns the captured address of one in a site's own origin."""
        parts = urllib.parse.urlsplit(address)
        # The request of the worker of an origin names the captured address, or its path.
        asked = urllib.parse.parse_qs(parts.query).get("url", [""])[0] if parts.path.startswith("/__weft/get") else ""
        if asked.startswith("http"):
            return asked
        match = re.fullmatch(r"(https?)--(.+?)\.\d{14,17}(\..*)?\.replay\.localhost", parts.hostname or "")
        if match:
            host = match[2].replace("--", "\0").replace("-", ".").replace("\0", "-")
            rest = asked or parts.path + (f"?{parts.query}" if parts.query else "")
            return f"{match[1]}://{host}{rest}"
        return from_path(address)

    def close(self) -> None:
        stop(self.process)


class Pywb:
    name = "pywb"

    def __init__(self, programs: pathlib.Path, folder: pathlib.Path, files: "list[pathlib.Path]"):
        place = folder / "pywb"
        place.mkdir()
        manager = programs / "wb-manager"
        if not manager.exists():
            raise NotStarted(f"there is no {manager.name}")
        for words in (["init", "pages"], ["add", "pages", *files]):
            done = subprocess.run([manager, *words], cwd=place, capture_output=True, text=True)
            if done.returncode != 0:
                raise NotStarted((done.stderr.strip() or "no message").splitlines()[-1])
        self.port = free_port()
        self.log = (folder / "pywb.log").open("w")
        words = [programs / "wayback", "-p", str(self.port), "-b", "127.0.0.1"]
        self.process = subprocess.Popen(words, cwd=place, stdout=self.log, stderr=self.log)
        wait_for(f"http://127.0.0.1:{self.port}/", self.process)

    def address(self, url: str, time: str, _file: str) -> str:
        return f"http://localhost:{self.port}/pages/{time}/{url}"

    def prepare(self, _browser: Browser, _context: str, _file: str) -> None:
        pass

    def original(self, address: str) -> "str | None":
        return from_path(address)

    def close(self) -> None:
        stop(self.process)


class Wabac:
    name = "wabac.js"

    def __init__(self, worker: pathlib.Path, folder: pathlib.Path, files: "list[pathlib.Path]"):
        if not worker.exists():
            raise NotStarted("its sw.js is missing")
        place = folder / "wabac"
        (place / "files").mkdir(parents=True)
        shutil.copy(worker, place / "sw.js")
        (place / "index.html").write_text(WABAC_PAGE)
        for file in files:
            shutil.copy(file, place / "files" / file.name)
        handler = functools.partial(Quiet, directory=place)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_address[1]

    def address(self, url: str, time: str, file: str) -> str:
        wanted = urllib.parse.urlencode({"file": file, "time": time, "url": url})
        return f"http://localhost:{self.port}/index.html?{wanted}"

    def prepare(self, browser: Browser, context: str, file: str) -> None:
        """Lets the worker read the file, which it does once, before pages are timed."""
        page = Page(browser, context, 800)
        browser.call("Page.navigate", {"url": self.address("", "", file)}, page.session)
        for _ in range(300):
            value = browser.call("Runtime.evaluate", {"expression": "document.title"}, page.session)["result"].get("value")
            if value == "loaded":
                break
            time.sleep(0.1)
        page.close()

    def original(self, address: str) -> "str | None":
        return from_path(address)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    extensions_map = {".js": "text/javascript", ".html": "text/html", "": "application/octet-stream"}

    def log_message(self, *_words: object) -> None:
        pass


def from_path(address: str) -> "str | None":
    """Returns the captured address of one with a time in its path, or one that is no address of this machine."""
    match = re.search(r"/(?:\d{4,17})?(?:[a-z]{2,3}_)?/((?:https?:)?//?[^/].*)", urllib.parse.urlsplit(address)._replace(fragment="").geturl()[8:])
    parts = urllib.parse.urlsplit(address)
    here = (parts.hostname or "").endswith("localhost")
    if match and here:
        found = re.sub(r"^(https?:)/+", r"\1//", match[1])
        return found if found.startswith("http") else "http:" + found
    return None if here or not address.startswith("http") else address


def versions(programs: pathlib.Path, modules: pathlib.Path) -> "list[str]":
    """Names what is measured."""
    shown = subprocess.run([programs / "pip", "show", "pywb"], capture_output=True, text=True).stdout
    found = re.search(r"^Version: (.+)$", shown, re.MULTILINE)
    package = modules / "package.json"
    wabac = json.loads(package.read_text())["version"] if package.exists() else "unknown"
    return [f"pywb {found[1] if found else 'unknown'}", f"wabac.js {wabac}"]
