"""Writes crawls of few addresses that differ in all that the definitions of docs/views.md look at, at random.

Arguments: a folder, a seed. Methods are told before, behind and by name; answers that are empty, parts, redirects or errors; revisits of
their own URL and of others, by address and date or by digest alone, with and without a head, some of them loaded before their
originals; conversions; and one file under two names.
"""

import base64
import hashlib
import pathlib
import random
import sys

URLS = ["http://a.org/", "https://www.a.org/", "http://b.org/x", "http://b.org/X", "http://b.org/y", "http://c.b.org/"]
URLS += [f"http://{host}.org/{page}" for host in "efg" for page in range(4)]
METHODS = ["GET", "GET", "POST", "HEAD", "OPTIONS"]


def digest(body):
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def record(kind, fields, block):
    lines = ["WARC/1.1", f"WARC-Type: {kind}", *(f"{name}: {value}" for name, value in fields), f"Content-Length: {len(block)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


class Crawl:
    def __init__(self, seed, documents):
        self.dice = random.Random(seed)
        self.number = 0
        self.plain = "Content-Type: text/plain" if documents else "Content-Type: application/x-plain"

    def date(self):
        return f"2020-01-0{self.dice.randint(1, 9)}T00:00:0{self.dice.randint(0, 2)}Z"

    def body(self):
        title, link = self.dice.randint(0, 4), self.dice.choice([*URLS, "http://d.org/", "/y"])
        return f"<html><title>T{title}</title><p>text {title}</p><a href='{link}'>to {link}</a></html>".encode()

    def fields(self, url, date, of=None):
        self.number += 1
        fields = [("WARC-Record-ID", f"<urn:x:{self.number}>"), ("WARC-Date", date), ("WARC-Target-URI", url)]
        return fields + ([("WARC-Concurrent-To", f"<urn:x:{of}>")] if of else [])

    def head(self, status, *lines):
        return "\r\n".join([f"HTTP/1.1 {status} x", *lines, "", ""]).encode()

    def answer(self, url, date):
        html = "Content-Type: text/html"
        body = self.body()
        status, lines, body = self.dice.choice([
            *[(200, [html], body)] * 8,
            (200, [html], b""),
            (200, [self.plain], b"words in plain text, enough of them"),
            (200, ["Content-Type: image/png"], b"\x89PNG..."),
            (204, [], b""),
            (206, [html, f"Content-Range: bytes 0-{len(body) - 1}/{len(body)}"], body),
            (206, [html, "Content-Range: bytes 0-9/1000"], body[:10]),
            (302, [f"Location: {self.dice.choice(URLS)}"], b""),
            (301, [f"Location: {self.dice.choice(URLS)}"], body),
            (302, [], b""),
            (304, [], b""),
            (404, [html], body),
        ])
        fields = self.fields(url, date) + [("Content-Type", "application/http; msgtype=response")]
        return record("response", fields + [("WARC-Payload-Digest", digest(body))], self.head(status, *lines) + body)

    def exchange(self):
        url, date = self.dice.choice(URLS), self.date()
        answer = self.answer(url, date)
        of = self.number if self.dice.random() < 0.5 else None
        if self.dice.random() < 0.5:
            return answer
        fields = self.fields(url, date, of) + [("Content-Type", "application/http; msgtype=request")]
        request = record("request", fields, f"{self.dice.choice(METHODS)} / HTTP/1.1\r\n\r\n".encode())
        return request + answer if self.dice.random() < 0.5 else answer + request

    def revisit(self):
        # Payloads are few, so that a digest is met by chance.
        fields = self.fields(self.dice.choice(URLS), self.date())
        fields += [("WARC-Payload-Digest", digest(self.body()))]
        if self.dice.random() < 0.7:
            fields += [("WARC-Refers-To-Target-URI", self.dice.choice(URLS)), ("WARC-Refers-To-Date", self.date())]
        profile = self.dice.choice(["identical-payload-digest", "server-not-modified"])
        fields += [("WARC-Profile", f"http://netpreserve.org/warc/1.1/revisit/{profile}")]
        block = b""
        if self.dice.random() < 0.6:
            fields += [("Content-Type", "application/http; msgtype=response")]
            status = self.dice.choice([200, 200, 304, 302])
            block = self.head(status, *([f"Location: {self.dice.choice(URLS)}"] if status == 302 else []))
        return record("revisit", fields, block)

    def conversion(self):
        fields = self.fields(self.dice.choice(URLS), self.date())
        return record("conversion", fields + [("Content-Type", self.dice.choice(["text/plain", "application/pdf"]))], b"some words")

    def file(self, records):
        makes = [self.exchange] * 6 + [self.revisit] * 4 + [self.conversion]
        return b"".join(self.dice.choice(makes)() for _ in range(records))


def write(folder, seed, documents=True):
    """Writes the crawls of a seed into a folder, with documents that are no pages or without."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    crawl = Crawl(seed, documents)
    for name in "c", "a", "b":
        (folder / f"{name}.warc").write_bytes(crawl.file(60))
    (folder / "other-name.warc").write_bytes((folder / "a.warc").read_bytes())


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
