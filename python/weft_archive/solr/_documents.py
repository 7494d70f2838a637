"""Documents of Solr, made from the facts: one for each capture, in the schema of warc-indexer.

The statements run in Spark and in DuckDB. A document is a function of the facts only, so that a feed can be repeated, and
compared with what Solr has.
"""

import re
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional

from weft_archive.solr._normal import url_norm

#: Room for runs of a feed, in a version.
STEPS_MAX = 1_000_000

#: The most anchors of a document, those of most pages first.
ANCHORS_MAX = 100

#: Solr keeps no longer values in columns, in bytes.
_VALUE_MAX = 32_766

#: Links of a page, its links in: what a document has of other rows. Anchors are sorted by the number of pages.
_STATEMENT = """
WITH chosen AS (
    SELECT * FROM captures WHERE {chosen}
),
out_links AS (
    SELECT
        links.input_id,
        links.warc_record_offset,
        array_agg(concat_ws(chr(9), links.kind, links.target_host_name, links.target_registered_domain, links.target_url))
            AS links_out
    FROM links
    JOIN chosen ON chosen.input_id = links.input_id AND chosen.warc_record_offset = links.warc_record_offset
    GROUP BY links.input_id, links.warc_record_offset
),
in_link AS (
    SELECT DISTINCT
        links.target_surtkey,
        links.source_surtkey,
        coalesce(links.anchor, '') AS anchor,
        CASE WHEN links.source_registered_domain <> links.target_registered_domain THEN 1 ELSE 0 END AS is_external
    FROM links
    JOIN (SELECT DISTINCT url_surtkey FROM chosen) AS wanted ON wanted.url_surtkey = links.target_surtkey
    WHERE links.source_surtkey <> links.target_surtkey AND links.epoch <= {until}
),
in_links AS (
    SELECT
        target_surtkey,
        count(DISTINCT source_surtkey) AS inlinks,
        count(DISTINCT CASE WHEN is_external = 1 THEN source_surtkey END) AS inlinks_external
    FROM in_link
    GROUP BY target_surtkey
),
anchor AS (
    SELECT
        target_surtkey,
        anchor,
        count(DISTINCT source_surtkey) AS pages,
        row_number() OVER (PARTITION BY target_surtkey ORDER BY count(DISTINCT source_surtkey) DESC, anchor) AS place
    FROM in_link
    WHERE anchor <> ''
    GROUP BY target_surtkey, anchor
),
anchors AS (
    SELECT target_surtkey, array_agg(concat_ws(chr(9), CAST(place AS STRING), anchor)) AS anchors
    FROM anchor
    WHERE place <= {anchors_max}
    GROUP BY target_surtkey
)
SELECT
    {columns},
    {texts},
    out_links.links_out,
    coalesce(in_links.inlinks, 0) AS inlinks,
    coalesce(in_links.inlinks_external, 0) AS inlinks_external,
    anchors.anchors
FROM chosen
LEFT JOIN out_links
    ON out_links.input_id = chosen.input_id AND out_links.warc_record_offset = chosen.warc_record_offset
LEFT JOIN in_links ON in_links.target_surtkey = chosen.url_surtkey
LEFT JOIN anchors ON anchors.target_surtkey = chosen.url_surtkey
{join}
"""

_JOIN = """
LEFT JOIN texts ON texts.input_id = chosen.input_id AND texts.warc_record_offset = chosen.warc_record_offset
"""

#: Columns of captures that documents are made from. Older tables may lack some.
_COLUMNS = (
    "url_surtkey", "url", "url_host_name", "url_host_registered_domain", "url_path", "url_query", "fetch_time", "fetch_status",
    "content_digest", "content_mime_type", "content_mime_detected", "content_charset", "content_languages", "warc_filename",
    "warc_record_offset", "warc_record_length", "collection", "kind", "is_page", "image_width", "image_height", "image_size",
    "image_p_hash", "exif_location", "exif_version", "links_images", "title", "text_length", "input_digest", "epoch",
)

#: Columns of texts. Those after the first are in tables of Spark.
_TEXTS = ("text", "words", "stems", "likeness")


def statement(chosen: str, until: int, captures: "set[str]", texts: "set[str]") -> str:
    """Returns the statement for the rows of the captures for which ``chosen`` holds, with in-links of batches up to ``until``.
    ``captures`` and ``texts`` are the columns of these tables; the latter is empty if there is no such table."""
    columns = ",\n    ".join(_column("chosen", name, captures) for name in _COLUMNS)
    of_texts = ",\n    ".join(_column("texts", name, texts) for name in _TEXTS)
    return _STATEMENT.format(
        chosen=chosen, until=until, columns=columns, texts=of_texts, join=_JOIN if texts else "", anchors_max=ANCHORS_MAX
    )


def _column(table: str, name: str, there: "set[str]") -> str:
    return f"{table}.{name}" if name in there else f"CAST(NULL AS STRING) AS {name}"


#: Targets of links that are in batch ``{batch}`` and in none before it.
TOUCHED = """
SELECT DISTINCT fresh.target_surtkey
FROM links AS fresh
WHERE
    fresh.epoch = {batch}
    AND NOT EXISTS (
        SELECT 1
        FROM links AS older
        WHERE
            older.target_surtkey = fresh.target_surtkey
            AND older.source_surtkey = fresh.source_surtkey
            AND coalesce(older.anchor, '') = coalesce(fresh.anchor, '')
            AND older.epoch < {batch}
    )
"""

#: What rewritten files had of captures that are now gone, or have another name of their input.
CHANGED = """
SELECT
    before.input_digest,
    before.warc_record_offset,
    max(CASE WHEN now.input_digest IS NULL THEN 1 ELSE 0 END) AS is_gone
FROM (SELECT DISTINCT input_digest, warc_record_offset, warc_filename FROM removed_captures) AS before
LEFT JOIN captures AS now
    ON now.input_digest = before.input_digest AND now.warc_record_offset = before.warc_record_offset
WHERE now.input_digest IS NULL OR now.warc_filename <> before.warc_filename
GROUP BY before.input_digest, before.warc_record_offset
"""


#: Targets of links that rewritten files had and that are gone.
UNLINKED = """
SELECT DISTINCT before.target_surtkey
FROM removed_links AS before
WHERE NOT EXISTS (
    SELECT 1
    FROM links AS now
    WHERE
        now.target_surtkey = before.target_surtkey
        AND now.input_id = before.input_id
        AND now.warc_record_offset = before.warc_record_offset
)
"""


def document_id(digest: str, offset: int) -> str:
    """Returns the id of a capture: the digest of its input, and its offset there."""
    return f"{digest.removeprefix('sha256:').replace('/', '.')}-{offset}"


def version(batch: int, step: int) -> int:
    """Returns the version of the documents of a batch. Each run of a feed has a higher step than those before."""
    assert 0 <= step < STEPS_MAX
    return batch * STEPS_MAX + step


def document(row: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the document of a row of :func:`statement`, without its version. No value is empty."""
    time: datetime = row["fetch_time"]
    mime = row["content_mime_detected"] or row["content_mime_type"]
    norm = _norm(row, mime)
    path = row["url_path"] or "/"
    found = {
        "id": document_id(row["input_digest"], row["warc_record_offset"]),
        "url": row["url"],
        "url_norm": url_norm(row["url"]),
        "url_path": path,
        "url_type": _url_type(path),
        "resourcename": path.rpartition("/")[2],
        "host": row["url_host_name"],
        "domain": row["url_host_registered_domain"],
        "public_suffix": _suffix(row["url_host_registered_domain"]),
        "hash": _hash(row["content_digest"]),
        "status_code": row["fetch_status"],
        "record_type": row["kind"],
        "crawl_date": _date(time),
        "crawl_dates": [_date(time)],
        "crawl_year": time.year,
        "crawl_years": [time.year],
        "crawl_year_month": time.year * 100 + time.month,
        "crawl_year_month_day": time.year * 10_000 + time.month * 100 + time.day,
        "wayback_date": int(f"{time.year:04}{time:%m%d%H%M%S}"),
        "source_file": re.split(r"[/\\]", row["warc_filename"])[-1],
        "source_file_path": row["warc_filename"],
        "source_file_offset": row["warc_record_offset"],
        "collection": [row["collection"]],
        "content": [row["text"]],
        "content_length": row["warc_record_length"],
        "content_text_length": row["text_length"],
        "content_type": [mime],
        "content_type_served": row["content_mime_type"],
        "content_type_full": f"{mime}; charset={row['content_charset'].lower()}" if row["content_charset"] else mime,
        "content_type_norm": norm,
        "content_type_ext": _extension(path),
        "content_encoding": row["content_charset"],
        "content_language": (row["content_languages"] or "").partition("-")[0],
        "type": _TYPES.get(norm),
        "title": row["title"],
        "image_width": row["image_width"],
        "image_height": row["image_height"],
        "image_size": row["image_size"],
        "image_p_hash": row["image_p_hash"],
        "exif_location": row["exif_location"],
        "exif_version": row["exif_version"],
        "links_images": sorted({url_norm(line) for line in (row["links_images"] or "").split("\n")}),
        **_links(row["links_out"] or []),
        "weft_batch_l": row["epoch"],
        "weft_input_s": row["input_digest"],
        "weft_key_s": row["url_surtkey"],
        "weft_inlinks_i": row["inlinks"],
        "weft_inlinks_external_i": row["inlinks_external"],
        "weft_anchors_txt": _anchors(row["anchors"] or []),
        "weft_words_ws": row["words"],
        "weft_stems_ws": row["stems"],
        "weft_likeness_l": row["likeness"],
    }
    return {name: value for name, value in ((name, _kept(name, value)) for name, value in found.items()) if value is not None}


#: Fields whose values are stored whole.
_STORED = {"content", "title", "weft_anchors_txt", "weft_words_ws", "weft_stems_ws", "resourcename", "url_type"}


def _kept(name: str, value: Any) -> Any:
    """Returns a value as Solr keeps it, or ``None`` if there is nothing to keep."""
    if isinstance(value, list):
        return [each for each in (_kept(name, each) for each in value) if each is not None] or None
    if not isinstance(value, str):
        return value
    # A long value is cut, at a character.
    if name not in _STORED and len(value) * 4 > _VALUE_MAX:
        value = value.encode()[:_VALUE_MAX].decode(errors="ignore")
    return value or None


def _links(links: List[str]) -> Dict[str, Any]:
    rows = [link.split("\t", 3) for link in links]
    targets = [url_norm(row[3]) for row in rows if row[0] == "location"]
    pages = [row for row in rows if row[0] != "location"]
    domains = sorted({row[2] for row in pages})
    return {
        "links": sorted({url_norm(row[3]) for row in pages}),
        "links_hosts": sorted({row[1] for row in pages}),
        "links_domains": domains,
        "links_public_suffixes": sorted({suffix for suffix in map(_suffix, domains) if suffix}),
        "redirect_to_norm": min(targets, default=None),
    }


def _anchors(anchors: List[str]) -> List[str]:
    rows = [anchor.split("\t", 1) for anchor in anchors]
    return [anchor for _, anchor in sorted((int(place), anchor) for place, anchor in rows)]


def _date(time: datetime) -> str:
    # As Solr prints it.
    millis = f".{time.microsecond // 1000:03}" if time.microsecond >= 1000 else ""
    return f"{time.year:04}-{time:%m-%dT%H:%M:%S}{millis}Z"


def _hash(digest: Optional[str]) -> Optional[str]:
    if digest is None or ":" in digest:
        return digest
    kinds = {32: "sha1", 64: "sha256"}
    return f"{kinds[len(digest)]}:{digest}" if len(digest) in kinds else digest


def _suffix(domain: Optional[str]) -> Optional[str]:
    name, _, suffix = (domain or "").partition(".")
    return None if name.isdigit() or ":" in name else suffix


def _url_type(path: str) -> str:
    if path == "/" or re.fullmatch(r"/index\.[a-z]+", path):
        return "slashpage"
    return "robots.txt" if path.lower() == "/robots.txt" else "normal"


def _extension(path: str) -> Optional[str]:
    match = re.search(r"\.([0-9A-Za-z]{1,10})$", path)
    return match[1].lower() if match else None


#: Sorts of types by what their second part contains.
_NORMS = (
    ("html", "html"), ("pdf", "pdf"), ("word", "word"), ("excel", "excel"), ("spreadsheet", "excel"),
    ("powerpoint", "powerpoint"), ("presentation", "powerpoint"), ("xml", "xml"), ("json", "text"), ("javascript", "text"),
)

#: The field ``type`` by ``content_type_norm``.
_TYPES = {"html": "Web Page", "image": "Image", "audio": "Audio", "video": "Video", "pdf": "Document", "word": "Document",
          "excel": "Data", "powerpoint": "Presentation"}


def _norm(row: Mapping[str, Any], mime: str) -> str:
    """Returns the sort of a type, by which SolrWayback selects pages and images."""
    if row["is_page"]:
        return "html"
    family, _, rest = mime.partition("/")
    if family in ("image", "audio", "video"):
        return family
    found = next((norm for part, norm in _NORMS if part in rest), None)
    return found or ("text" if family == "text" else "other")
