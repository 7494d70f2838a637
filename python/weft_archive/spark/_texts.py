"""Computes the table ``views/texts``: the texts of pages with what search knows of them."""

from typing import Callable

from pyspark.sql import SparkSession

from weft_archive import _weft
from weft_archive.spark._session import ours
from weft_archive.spark._tables import Tables
from weft_archive.spark._takedowns import finish_takedowns
from weft_archive.spark._views import _Statement
from weft_archive.spark._wrong_use import WrongUse

_TEXTS = """
, page_text AS (
    -- The text of the capture that the page is of, else of another one of the same time, such as its WET.
    SELECT
        current_version.url_surtkey,
        texts.text,
        texts.words,
        texts.stems,
        texts.likeness,
        texts.content_languages,
        row_number() OVER (
            PARTITION BY current_version.url_surtkey
            ORDER BY
                texts.input_id = current_version.content_input_id
                    AND texts.warc_record_offset = current_version.content_offset DESC,
                texts.input_id,
                texts.warc_record_offset
        ) AS place
    FROM current_version
    JOIN texts
        ON texts.url_surtkey = current_version.content_surtkey
        AND (
            texts.fetch_time = current_version.fetch_time
            OR (
                texts.input_id = current_version.content_input_id
                AND texts.warc_record_offset = current_version.content_offset
            )
        )
    WHERE
        current_version.content_is_page
        AND (current_version.content_status BETWEEN 200 AND 299 OR current_version.content_kind IN ('resource', 'wet'))
),
cut_anchor AS (
    -- The first 120 bytes of an anchor count, up to a whole character.
    SELECT
        target_surtkey,
        substring_index(source_surtkey, ')', 1) AS host,
        rtrim(
            CASE
                WHEN octet_length(anchor) <= 120 THEN anchor
                ELSE left(anchor, array_max(filter(sequence(30, 120), count -> octet_length(left(anchor, count)) <= 120)))
            END
        ) AS text
    FROM current_link
    WHERE anchor IS NOT NULL
),
weighed_anchor AS (
    -- One for one host, and one more each time that the number of hosts doubles, up to eight.
    SELECT target_surtkey, text, least(length(bin(count(DISTINCT host))), 8) AS weight
    FROM cut_anchor
    WHERE text <> ''
    GROUP BY target_surtkey, text
),
anchors AS (
    SELECT
        target_surtkey,
        slice(array_sort(collect_list(struct(-weight AS rank, text, weight))), 1, 16) AS ranked
    FROM weighed_anchor
    GROUP BY target_surtkey
)
SELECT
    current_version.url_surtkey AS url_key,
    current_version.url,
    current_version.fetch_time,
    current_version.content_digest AS digest,
    current_version.content_title AS title,
    page_text.content_languages AS language,
    page_text.text,
    page_text.words,
    page_text.stems,
    page_text.likeness,
    transform(coalesce(anchors.ranked, array()), each -> struct(each.text, each.weight)) AS anchors
FROM page_text
JOIN current_version ON current_version.url_surtkey = page_text.url_surtkey
LEFT JOIN anchors ON anchors.target_surtkey = page_text.url_surtkey
WHERE page_text.place = 1
ORDER BY url_key
"""


def keeps_texts(spark: SparkSession, base: str) -> bool:
    """Returns whether a base has the table ``texts``."""
    return Tables(ours(spark), base).exists("texts")


def compute_texts(spark: SparkSession, base: str, *, say: Callable[[str], None] = lambda text: None) -> int:
    """Recomputes the table ``views/texts``: a row for each page with text, with its words, stems and likeness, and with the
    anchors of its in-links by weight. Returns the number of rows.

    Definitions are those of search (docs/search.md). The base must have the table ``texts``.
    """
    tables = Tables(ours(spark), base)
    if not tables.exists("texts"):
        raise WrongUse(f"{tables.base} keeps no texts since its first load")
    finish_takedowns(tables, tables.takedowns(), say)
    for name in ("captures", "links", "texts"):
        tables.read(name, version=tables.version(name)).createOrReplaceTempView(name)
    say("view texts: computing")
    shared = dict(_weft.views())["uris"]
    expressions = {**_Statement.parse(shared).expressions, **_Statement.parse(_TEXTS).expressions}
    statement = _Statement(expressions, _Statement.parse(_TEXTS).query)
    (
        tables.spark.sql(statement.text(()))
        .write.format("delta")
        .mode("overwrite")
        .option("overwriteSchema", "true")
        .save(tables.path("views", "texts"))
    )
    rows = tables.rows_written("views", "texts")
    say(f"view texts: {rows:,} rows")
    return rows
