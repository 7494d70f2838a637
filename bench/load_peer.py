"""The parts that others build a full-text index of WARC files with: FastWARC, selectolax and tantivy, with their default
settings. `load_peer.py INDEX_DIR FILE...` indexes title, text and links of each HTML page, and prints how many there are.
"""

import os
import sys

import tantivy
from fastwarc.warc import ArchiveIterator, WarcRecordType
from selectolax.lexbor import LexborHTMLParser

folder, files = sys.argv[1], sys.argv[2:]

fields = tantivy.SchemaBuilder()
fields.add_text_field("url", stored=True, tokenizer_name="raw")
fields.add_text_field("title", stored=True)
fields.add_text_field("text", stored=True)
fields.add_text_field("link", tokenizer_name="raw")
os.makedirs(folder)
writer = tantivy.Index(fields.build(), path=folder).writer()
pages = 0
for file in files:
    with open(file, "rb") as stream:
        for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=True):
            if record.http_headers is None or "html" not in (record.http_headers.get("Content-Type") or ""):
                continue
            page = LexborHTMLParser(record.reader.read().decode("utf-8", "replace"))
            title = page.css_first("title")
            links = {link for node in page.css("a[href]") if (link := node.attributes.get("href"))}
            page.strip_tags(["script", "style", "head"])
            document = tantivy.Document(url=record.headers["WARC-Target-URI"], title=title.text() if title else "")
            document.add_text("text", page.body.text(separator=" ") if page.body else "")
            for link in links:
                document.add_text("link", link)
            writer.add_document(document)
            pages += 1
writer.commit()
writer.wait_merging_threads()
print(pages)
