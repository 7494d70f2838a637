"""An HTTP proxy whose answers come from a function. It also answers requests over TLS, with a certificate of its own."""
import http.client
import http.server
import pathlib
import ssl
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Callable

#: These are about one connection, or change when a body is decoded.
HOP = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "upgrade", "content-length"}


@dataclass
class Request:
    method: str
    url: str
    headers: "list[tuple[str, str]]"
    body: bytes


@dataclass
class Answer:
    status: int
    headers: "list[tuple[str, str]]" = field(default_factory=list)
    body: bytes = b""


class Proxy:
    """A proxy on a port of 127.0.0.1, until closed."""

    def __init__(self, respond: "Callable[[Request], Answer]", folder: pathlib.Path, refuse_tls: bool = False):
        self.respond = respond
        self.refuse_tls = refuse_tls
        self.tls = tls_context(folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.proxy = self
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def tls_context(folder: pathlib.Path) -> ssl.SSLContext:
    """Makes one certificate. The browser is told to accept any."""
    file = folder / "proxy.pem"
    if not file.exists():
        words = f"openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=replay -keyout {file} -out {file}.crt"
        subprocess.run(words.split(), check=True, capture_output=True)
        with file.open("ab") as both:
            both.write(pathlib.Path(f"{file}.crt").read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    #: Scheme and host, if the client opened a tunnel.
    origin = ""
    disable_nagle_algorithm = True

    def log_message(self, *_words: object) -> None:
        pass

    def do_CONNECT(self) -> None:
        proxy = self.server.proxy
        host, _, port = self.path.rpartition(":")
        if proxy.refuse_tls:
            proxy.respond(Request("CONNECT", f"https://{self.path}/", [], b""))
            self.send_error(403)
            self.close_connection = True
            return
        self.send_response(200)
        self.end_headers()
        try:
            self.connection = proxy.tls.wrap_socket(self.connection, server_side=True)
        except OSError:
            self.close_connection = True
            return
        self.rfile = self.connection.makefile("rb", self.rbufsize)
        self.wfile = self.connection.makefile("wb")
        self.origin = f"https://{host}" if port == "443" else f"https://{self.path}"

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        kept = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP]
        answer = self.server.proxy.respond(Request(self.command, self.origin + self.path, kept, body))
        self.send_response_only(answer.status, http.client.responses.get(answer.status, ""))
        for name, value in answer.headers:
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = answer
