"""Chromium over its debugging protocol: loads pages, and notes what they request, print and show."""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

import websocket

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"
    " --disable-component-update --disable-dev-shm-usage --hide-scrollbars --disable-extensions --disable-default-apps"
    " --disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,SpareRendererForSitePerProcess --ignore-certificate-errors --remote-debugging-port=0"
    " --remote-allow-origins=* --autoplay-policy=no-user-gesture-required --mute-audio"
).split()

#: The size of a page as a reader sees it, without what a replay shows around it.
WIDTH, HEIGHT = 1280, 800

#: A page is complete if nothing was requested for so long.
QUIET_SECONDS = 1.0
STALLED_SECONDS = 2.5
LOAD_SECONDS_MAX = 25

TEXT_OF = """(() => {
  const words = [];
  const visit = (node) => {
    if (node.nodeType === 3) { words.push(node.data); return; }
    if (node.nodeType !== 1 && node.nodeType !== 11) return;
    if (/^(script|style|noscript|template|iframe|object|title)$/i.test(node.localName || "")) return;
    if (node.nodeType === 1 && node.checkVisibility && !node.checkVisibility() && node.localName !== "slot") return;
    if (node.shadowRoot) visit(node.shadowRoot);
    for (const child of node.childNodes) visit(child);
  };
  if (document.body) visit(document.body);
  return words.join(" ").replace(/\\s+/g, " ").trim();
})()"""

TIMES_OF = """(() => {
  const entry = performance.getEntriesByType("navigation")[0];
  return entry ? [performance.timeOrigin, entry.responseStart, entry.loadEventEnd, document.readyState] : null;
})()"""

FRAME_BOX = """(() => {
  const boxes = [...document.querySelectorAll("iframe")].map((frame) => frame.getBoundingClientRect());
  const box = boxes.sort((a, b) => b.width * b.height - a.width * a.height)[0];
  return box ? [box.x, box.y, box.width, box.height] : null;
})()"""


class BrowserFailed(Exception):
    """The browser did not answer, or refused."""


@dataclass
class Seen:
    """What one visit of a page was like."""

    #: Status of every address that was requested, 0 if it failed.
    statuses: "dict[str, int]" = field(default_factory=dict)
    errors: "list[str]" = field(default_factory=list)
    text: str = ""
    picture: bytes = b""
    #: From the moment that the reader asked for the page.
    first_byte_ms: "float | None" = None
    load_ms: "float | None" = None
    #: From the moment that the browser asked for the document itself, in its frame.
    document_first_byte_ms: "float | None" = None
    document_load_ms: "float | None" = None


class Browser:
    """One process. Each context has storage and a proxy of its own."""

    def __init__(self) -> None:
        self.profile = tempfile.mkdtemp(prefix="weft-replay-")
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if program is None:
            raise BrowserFailed("there is no chromium")
        words = [program, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = pathlib.Path(self.profile, "DevToolsActivePort")
        for _ in range(300):
            if port_file.exists() and len(lines := port_file.read_text().split()) == 2:
                break
            time.sleep(0.1)
        else:
            raise BrowserFailed("chromium did not start")
        self.socket = websocket.create_connection(f"ws://127.0.0.1:{lines[0]}{lines[1]}", timeout=None)
        self.lock = threading.Lock()
        self.number = 0
        self.waiting: "dict[int, dict]" = {}
        self.arrived = threading.Condition()
        self.page: "Page | None" = None
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, method: str, params: dict, session: "str | None" = None) -> int:
        with self.lock:
            self.number += 1
            number = self.number
            message = {"id": number, "method": method, "params": params}
            if session:
                message["sessionId"] = session
            self.socket.send(json.dumps(message))
        return number

    def call(self, method: str, params: "dict | None" = None, session: "str | None" = None, seconds: float = 20) -> dict:
        number = self.send(method, params or {}, session)
        with self.arrived:
            if not self.arrived.wait_for(lambda: number in self.waiting, seconds):
                raise BrowserFailed(f"{method}: no answer")
            answer = self.waiting.pop(number)
        if "error" in answer:
            raise BrowserFailed(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def read(self) -> None:
        while True:
            try:
                message = json.loads(self.socket.recv())
            except (OSError, ValueError, websocket.WebSocketException):
                return
            if "id" in message:
                with self.arrived:
                    self.waiting[message["id"]] = message
                    self.arrived.notify_all()
            elif self.page is not None:
                self.page.note(message)

    def context(self, proxy: str, loopback: bool) -> str:
        """Makes a context. With `loopback`, addresses of this machine go through the proxy, too."""
        bypass = "<-loopback>" if loopback else ""
        params = {"proxyServer": f"http://{proxy}", "proxyBypassList": bypass}
        return self.call("Target.createBrowserContext", params)["browserContextId"]

    def dispose(self, context: str) -> None:
        self.call("Target.disposeBrowserContext", {"browserContextId": context})

    def close(self) -> None:
        try:
            self.send("Browser.close", {})
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired, websocket.WebSocketException):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab, with its frames and workers."""

    def __init__(self, browser: Browser, context: str, height: int):
        self.browser = browser
        self.requests: "dict[tuple, str]" = {}
        self.open: "set[tuple]" = set()
        self.seen = Seen()
        #: Sessions by their kind.
        self.sessions: "dict[str, str]" = {}
        self.changed = time.monotonic()
        #: Whether the archived page is in a frame of another one.
        self.framed = False
        browser.page = self
        params = {"url": "about:blank", "browserContextId": context}
        self.target = browser.call("Target.createTarget", params)["targetId"]
        params = {"targetId": self.target, "flatten": True}
        self.session = browser.call("Target.attachToTarget", params)["sessionId"]
        self.resize(height)

    def resize(self, height: int) -> None:
        params = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.call("Emulation.setDeviceMetricsOverride", params, self.session)

    def note(self, message: dict) -> None:
        """Takes one event, in the thread that reads."""
        method, params, session = message.get("method"), message.get("params", {}), message.get("sessionId", "")
        if method == "Target.attachedToTarget":
            self.watch(params["sessionId"], params["targetInfo"]["type"])
        elif method == "Target.detachedFromTarget":
            self.sessions.pop(params["sessionId"], None)
            self.open = {key for key in self.open if key[0] != params["sessionId"]}
        elif method and method.startswith("Network."):
            self.note_request(method, params, session)
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.seen.errors.append((details.get("exception") or {}).get("description") or details.get("text", ""))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.seen.errors.append(" ".join(str(each.get("value", each.get("description"))) for each in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            entry = params["entry"]
            if not str(entry.get("url", "")).endswith("/favicon.ico"):
                self.seen.errors.append(f"{entry['text']} {entry.get('url', '')}")

    def watch(self, session: str, kind: str) -> None:
        self.sessions[session] = kind
        attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        for method, params in (
            ("Network.enable", {}), ("Runtime.enable", {}), ("Log.enable", {}), ("Page.enable", {}),
            ("Target.setAutoAttach", attach), ("Runtime.runIfWaitingForDebugger", {}),
        ):
            self.browser.send(method, params, session)

    def note_request(self, method: str, params: dict, session: str) -> None:
        key = (session, params.get("requestId"))
        self.changed = time.monotonic()
        if method == "Network.requestWillBeSent":
            if "redirectResponse" in params:
                self.seen.statuses[params["redirectResponse"]["url"]] = params["redirectResponse"]["status"]
            url = params["request"]["url"]
            if url.startswith("http"):
                self.requests[key] = url
                self.open.add(key)
                self.seen.statuses.setdefault(url, 0)
        elif method == "Network.responseReceived":
            # An element may request an address again: one good answer is enough.
            url = self.requests.get(key, params["response"]["url"])
            if url.startswith("http") and not good(self.seen.statuses.get(url, 0)):
                self.seen.statuses[url] = params["response"]["status"]
            self.open.discard(key)
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self.open.discard(key)

    def visit(self, url: str, original, framed: bool) -> Seen:
        """Loads a page. `original` returns the captured address of one of the replay, or nothing."""
        begun = time.time() * 1000
        self.framed = framed
        self.browser.send("Page.navigate", {"url": url}, self.session)
        self.settle(original)
        if framed:
            self.seen.statuses.pop(url, None)
        frames = self.frames(original)
        self.seen.text = "\n".join([frames[0][1], *sorted(text for _, text, _ in frames[1:])]) if frames else ""
        if frames and frames[0][2]:
            start, first, load, _ = frames[0][2]
            self.seen.first_byte_ms, self.seen.load_ms = start + first - begun, start + load - begun
            self.seen.document_first_byte_ms, self.seen.document_load_ms = first, load
        self.seen.picture = self.picture(framed)
        return self.seen

    def settle(self, original) -> None:
        end = time.monotonic() + LOAD_SECONDS_MAX
        self.changed = time.monotonic()
        while time.monotonic() < end:
            time.sleep(0.1)
            quiet = time.monotonic() - self.changed
            # The end of some requests is told to nobody, as that of a worker's script.
            if quiet < (STALLED_SECONDS if self.open else QUIET_SECONDS):
                continue
            frames = self.frames(original)
            if frames and frames[0][2] and frames[0][2][3] == "complete":
                return
            self.changed = time.monotonic() - QUIET_SECONDS / 2

    def frames(self, original) -> list:
        """Returns address, text and times of the frames of the archived page, the page itself first."""
        found = []
        for session, kind in list(self.sessions.items()):
            if kind not in ("page", "iframe"):
                continue
            try:
                tree = self.browser.call("Page.getFrameTree", {}, session, 5)["frameTree"]
                self.walk(tree, session, original, found)
            except BrowserFailed:
                continue
        return found

    def walk(self, tree: dict, session: str, original, found: list) -> None:
        frame = tree["frame"]
        address = original(frame["url"] + frame.get("urlFragment", ""))
        inner = found and frame["url"].startswith("about:")
        around = self.framed and session == self.session and "parentId" not in frame
        if not around and (address is not None or inner):
            params = {"frameId": frame["id"]}
            world = self.browser.call("Page.createIsolatedWorld", params, session, 5)["executionContextId"]
            value = lambda script: self.browser.call(
                "Runtime.evaluate", {"expression": script, "contextId": world, "returnByValue": True}, session, 10
            )["result"].get("value")
            found.append((address, value(TEXT_OF) or "", value(TIMES_OF)))
        for child in tree.get("childFrames", []):
            self.walk(child, session, original, found)

    def box(self) -> "list[float] | None":
        params = {"expression": FRAME_BOX, "returnByValue": True}
        return self.browser.call("Runtime.evaluate", params, self.session)["result"].get("value")

    def picture(self, framed: bool) -> bytes:
        box = self.box() if framed else None
        x, y, width, height = box or (0, 0, WIDTH, HEIGHT)
        clip = {"x": x, "y": y, "width": min(width, WIDTH), "height": min(height, HEIGHT), "scale": 1}
        for _ in range(2):
            try:
                return base64.b64decode(
                    self.browser.call("Page.captureScreenshot", {"format": "png", "clip": clip}, self.session)["data"]
                )
            except BrowserFailed:
                continue
        return b""

    def close(self) -> None:
        self.browser.page = None
        self.browser.call("Target.closeTarget", {"targetId": self.target})


def good(status: int) -> bool:
    return 200 <= status < 400


def plain(url: str) -> "str | None":
    """The address of a page that is not replayed."""
    return url if re.match("https?:", url) else None
