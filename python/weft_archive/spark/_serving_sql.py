"""Statements of serving tables over expressions of the views (``views/current.sql``), in the SQL of Spark.

Names that they read: ``all_captures`` and ``all_links`` (facts), ``captures`` and ``links`` (those in scope), ``touched``
(keys and digests of new and removed captures), ``changed_key`` (keys whose rows may change), ``plus_NAME`` and ``minus_NAME``
(rows to add to a table and to remove).
"""

CAPTURE_COLUMNS = [
    "url_surtkey",
    "url",
    "url_host_registered_domain",
    "fetch_time",
    "fetch_status",
    "content_digest",
    "content_mime_type",
    "content_languages",
    "content_truncated",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
    "collection",
    "kind",
    "is_page",
    "is_document",
    "redirects_to_itself",
    "title",
    "text_length",
    "links_dropped",
    "input_id",
    "input_digest",
    "epoch",
    "method",
    "shortfall",
    "refers_to_surtkey",
    "refers_to_time",
]

LINK_COLUMNS = [
    "source_surtkey",
    "target_surtkey",
    "target_url",
    "target_registered_domain",
    "anchor",
    "nofollow",
    "kind",
    "warc_record_offset",
    "input_id",
]

#: Digests that find no original: none, and those of an empty payload.
_EMPTY = """'', '-', '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ',
            'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'"""

#: Length of the shortest text that was cut after 1 MiB: part of a character and white space at the end are left out.
_CUT_TEXT = 1_048_572

STATEMENTS = {
    # Keys with new or removed captures, and keys of revisits whose original may be one of these, or no longer.
    "changed_key": f"""
SELECT url_surtkey FROM touched
UNION
SELECT url_surtkey
FROM all_captures
WHERE
    kind = 'revisit'
    AND (
        refers_to_surtkey IN (SELECT url_surtkey FROM touched)
        OR content_digest IN (SELECT content_digest FROM touched WHERE content_digest NOT IN ({_EMPTY}))
    )
""",
    # All captures of these keys, and those that may be the originals of their revisits.
    "captures_in_scope": f"""
WITH revisit_of AS (
    SELECT DISTINCT refers_to_surtkey, content_digest
    FROM all_captures
    WHERE kind = 'revisit' AND url_surtkey IN (SELECT url_surtkey FROM changed_key)
)
SELECT *
FROM all_captures
WHERE
    url_surtkey IN (
        SELECT url_surtkey FROM changed_key
        UNION
        SELECT refers_to_surtkey FROM revisit_of WHERE refers_to_surtkey IS NOT NULL
    )
    OR content_digest IN (SELECT content_digest FROM revisit_of WHERE content_digest NOT IN ({_EMPTY}))
""",
    "links_in_scope": """
SELECT all_links.*
FROM all_links
LEFT SEMI JOIN captures
    ON captures.input_id = all_links.input_id
    AND captures.warc_record_offset = all_links.warc_record_offset
""",
    # The originals of revisits of other URLs, as in the expression version.
    "original": """
    SELECT DISTINCT
        revisit.input_id,
        revisit.warc_record_offset,
        original.url_surtkey AS original_surtkey,
        original.fetch_time AS original_time,
        original.input_digest AS original_digest,
        original.warc_record_offset AS original_offset,
        original.content_languages AS original_languages,
        original.content_truncated AS original_truncated,
        original.text_length AS original_text_length,
        original.links_dropped AS original_links_dropped
    FROM revisit
    JOIN (
        SELECT * FROM named WHERE place = 1
        UNION ALL
        SELECT * FROM alike WHERE place = 1
    ) AS found
        ON found.revisit_input_id = revisit.input_id
        AND found.revisit_offset = revisit.warc_record_offset
    JOIN own_version AS original
        ON original.url_surtkey = found.original_surtkey
        AND original.input_id = found.original_input_id
        AND original.warc_record_offset = found.original_offset
    LEFT JOIN links AS own_link
        ON own_link.source_surtkey = revisit.url_surtkey
        AND own_link.input_id = revisit.input_id
        AND own_link.warc_record_offset = revisit.warc_record_offset
    LEFT JOIN links AS back
        ON back.source_surtkey = original.url_surtkey
        AND back.input_id = original.input_id
        AND back.warc_record_offset = original.warc_record_offset
        AND back.kind = 'location'
        AND back.target_surtkey = revisit.url_surtkey
        AND original.fetch_status BETWEEN 300 AND 399
    WHERE back.input_id IS NULL OR own_link.input_id IS NOT NULL
""",
    "captures": """
SELECT
    captures.url_surtkey AS url_key,
    captures.fetch_time,
    input.input_number,
    captures.warc_record_offset AS offset,
    captures.url,
    captures.content_mime_type AS mime,
    captures.fetch_status AS status,
    coalesce(captures.method, '') AS method,
    captures.content_digest AS digest,
    captures.warc_record_length AS length,
    captures.kind,
    false AS index_only,
    coalesce(captures.content_truncated, '') = 'damaged' AS is_damaged,
    NULL AS record_offset,
    NULL AS filename,
    original.original_surtkey AS original_url_key,
    original.original_time AS original_fetch_time,
    original_input.input_number AS original_input_number,
    original.original_offset
FROM captures
LEFT SEMI JOIN changed_key ON changed_key.url_surtkey = captures.url_surtkey
JOIN input ON input.digest = captures.input_digest
LEFT JOIN original
    ON original.input_id = captures.input_id
    AND original.warc_record_offset = captures.warc_record_offset
LEFT JOIN input AS original_input ON original_input.digest = original.original_digest
""",
    "versions": f"""
WITH seen AS (
    -- A revisit always confirms the version before it, other captures by their status or kind.
    SELECT url_surtkey, max(fetch_time) AS last_seen
    FROM captures
    WHERE
        kind IN ('revisit', 'resource', 'wet')
        OR (kind <> 'conversion' AND fetch_status BETWEEN 200 AND 399)
    GROUP BY url_surtkey
),
out_links AS (
    SELECT source_surtkey, count(*) AS links FROM current_link GROUP BY source_surtkey
)
SELECT
    current_version.url_surtkey AS url_key,
    current_version.fetch_time,
    greatest(current_version.fetch_time, seen.last_seen) AS last_seen,
    input.input_number,
    current_version.warc_record_offset AS offset,
    current_version.url,
    current_version.kind,
    current_version.content_status AS status,
    current_version.content_type AS mime,
    current_version.content_digest AS digest,
    current_version.content_is_page
        AND (current_version.content_status BETWEEN 200 AND 299 OR current_version.content_kind IN ('resource', 'wet'))
        AS is_page,
    false AS is_document,
    coalesce(current_version.content_title, '') AS title,
    coalesce(original.original_languages, current_version.content_languages, '') AS language,
    NULL AS canonical,
    NULL AS robots,
    coalesce(out_links.links, 0) AS links,
    coalesce(original.original_links_dropped, current_version.links_dropped, 0) AS links_dropped,
    -- What the crawler cut counts as whole, because nobody knows whether text is missing.
    CASE
        WHEN coalesce(original.original_text_length, current_version.text_length) > 0
        THEN
            coalesce(original.original_text_length, current_version.text_length) >= {_CUT_TEXT}
            OR coalesce(
                CASE
                    WHEN original.original_surtkey IS NULL THEN current_version.content_truncated
                    ELSE original.original_truncated
                END,
                ''
            ) = 'damaged'
    END AS text_truncated
FROM current_version
JOIN input ON input.digest = current_version.input_digest
LEFT JOIN seen ON seen.url_surtkey = current_version.url_surtkey
LEFT JOIN out_links ON out_links.source_surtkey = current_version.url_surtkey
LEFT JOIN original
    ON original.input_id = current_version.input_id
    AND original.warc_record_offset = current_version.warc_record_offset
""",
    "outlinks": """
SELECT
    source_surtkey AS source_key,
    target_surtkey AS target_key,
    target_url,
    coalesce(anchor, '') AS anchor,
    nofollow
FROM current_link
""",
    "uri_delta_of_all": """
SELECT
    target_surtkey AS url_key,
    any_value(target_registered_domain) AS domain,
    count(*) AS inlinks,
    count_if(source_registered_domain <> target_registered_domain) AS inlinks_external
FROM current_link
GROUP BY target_surtkey
""",
    # Sources and targets of links that come or go.
    "linked_key": """
SELECT source_key AS url_key FROM plus_outlinks
UNION
SELECT target_key FROM plus_outlinks
UNION
SELECT source_key FROM minus_outlinks
UNION
SELECT target_key FROM minus_outlinks
UNION
SELECT url_surtkey FROM changed_key
""",
    "domain_of": """
SELECT url_key, any_value(domain) AS domain
FROM (
    SELECT url_key, domain FROM known_uri
    UNION ALL
    SELECT url_surtkey, url_host_registered_domain FROM captures
    UNION ALL
    SELECT target_surtkey, target_registered_domain FROM current_link
)
GROUP BY url_key
""",
    # How the counts of each key change.
    "uri_delta": """
SELECT
    link.target_key AS url_key,
    any_value(target.domain) AS domain,
    sum(link.sign) AS inlinks,
    sum(CASE WHEN source.domain <> target.domain THEN link.sign ELSE 0 END) AS inlinks_external
FROM (
    SELECT source_key, target_key, 1 AS sign FROM plus_outlinks
    UNION ALL
    SELECT source_key, target_key, -1 FROM minus_outlinks
) AS link
JOIN domain_of AS source ON source.url_key = link.source_key
JOIN domain_of AS target ON target.url_key = link.target_key
GROUP BY link.target_key
""",
    "uri_key": """
SELECT url_surtkey FROM changed_key
UNION
SELECT url_key FROM uri_delta
""",
    "uris": """
WITH captured AS (
    SELECT url_surtkey, any_value(url_host_registered_domain) AS domain FROM captures GROUP BY url_surtkey
),
page AS (
    SELECT url_surtkey
    FROM current_version
    WHERE content_is_page AND (content_status BETWEEN 200 AND 299 OR content_kind IN ('resource', 'wet'))
),
counted AS (
    SELECT
        uri_key.url_surtkey AS url_key,
        coalesce(known_uri.domain, captured.domain, uri_delta.domain) AS domain,
        CASE
            WHEN changed_key.url_surtkey IS NOT NULL THEN captured.url_surtkey IS NOT NULL
            ELSE coalesce(known_uri.captured, false)
        END AS captured,
        CASE
            WHEN changed_key.url_surtkey IS NOT NULL THEN page.url_surtkey IS NOT NULL
            ELSE coalesce(known_uri.is_page, false)
        END AS is_page,
        coalesce(known_uri.inlinks, 0) + coalesce(uri_delta.inlinks, 0) AS inlinks,
        coalesce(known_uri.inlinks_external, 0) + coalesce(uri_delta.inlinks_external, 0) AS inlinks_external
    FROM uri_key
    LEFT JOIN known_uri ON known_uri.url_key = uri_key.url_surtkey
    LEFT JOIN changed_key ON changed_key.url_surtkey = uri_key.url_surtkey
    LEFT JOIN captured ON captured.url_surtkey = uri_key.url_surtkey
    LEFT JOIN page ON page.url_surtkey = uri_key.url_surtkey
    LEFT JOIN uri_delta ON uri_delta.url_key = uri_key.url_surtkey
)
SELECT * FROM counted WHERE captured OR inlinks > 0
""",
    "domain_delta": """
SELECT
    domain,
    sum(sign) AS uris,
    sum(CASE WHEN is_page THEN sign ELSE 0 END) AS pages,
    sum(sign * inlinks_external) AS inlinks_external
FROM (SELECT *, 1 AS sign FROM plus_uris UNION ALL SELECT *, -1 FROM minus_uris)
GROUP BY domain
""",
    "domains": """
SELECT
    domain_delta.domain,
    coalesce(known.uris, 0) + domain_delta.uris AS uris,
    coalesce(known.pages, 0) + domain_delta.pages AS pages,
    coalesce(known.inlinks_external, 0) + domain_delta.inlinks_external AS inlinks_external
FROM domain_delta
LEFT JOIN known_domain AS known ON known.domain = domain_delta.domain
WHERE coalesce(known.uris, 0) + domain_delta.uris > 0
""",
    "ranked_domain": """
SELECT domain FROM plus_uris
UNION
SELECT domain FROM minus_uris
UNION
SELECT '' FROM plus_uris
UNION
SELECT '' FROM minus_uris
""",
    "top": """
WITH uri AS (
    SELECT domain, url_key, inlinks, inlinks_external FROM plus_uris
    UNION ALL
    SELECT '', url_key, inlinks, inlinks_external FROM plus_uris
    UNION ALL
    SELECT domain, url_key, inlinks, inlinks_external
    FROM touched_top
    LEFT SEMI JOIN ranked_domain USING (domain)
    LEFT ANTI JOIN minus_uris USING (url_key)
)
SELECT
    domain,
    row_number() OVER (PARTITION BY domain ORDER BY inlinks_external DESC, inlinks DESC, url_key) AS rank,
    url_key,
    inlinks,
    inlinks_external
FROM uri
""",
}
