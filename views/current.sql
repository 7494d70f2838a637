-- The beginning of every other statement here but `captures.sql`: current versions, their links, and the URIs of both.
WITH own_version AS (
    -- Captures that may be current by themselves: of a GET, or of an unknown method; whole, not empty, and no 3xx without a target.
    SELECT *
    FROM captures
    WHERE
        coalesce(method, 'GET') = 'GET'
        AND shortfall IS NULL
        AND (
            kind IN ('resource', 'wet')
            OR (
                kind IN ('response', 'arc', 'wat')
                AND fetch_status BETWEEN 200 AND 399
                AND fetch_status NOT IN (204, 205, 304)
                AND NOT redirects_to_itself
            )
        )
),
revisit AS (
    -- Revisits that do not name their own URL.
    SELECT *
    FROM captures
    WHERE
        kind = 'revisit'
        AND coalesce(method, 'GET') = 'GET'
        AND shortfall IS NULL
        AND NOT redirects_to_itself
        AND (refers_to_surtkey IS NULL OR refers_to_surtkey <> url_surtkey)
),
named AS (
    -- Their originals: the best capture of the URL that they name, within the second that they name.
    SELECT
        revisit.input_id AS revisit_input_id,
        revisit.warc_record_offset AS revisit_offset,
        original.url_surtkey AS original_surtkey,
        original.input_id AS original_input_id,
        original.warc_record_offset AS original_offset,
        row_number() OVER (
            PARTITION BY revisit.input_id, revisit.warc_record_offset
            ORDER BY
                CASE WHEN original.content_digest = revisit.content_digest THEN 1 ELSE 0 END DESC,
                CASE WHEN original.fetch_time = revisit.refers_to_time THEN 1 ELSE 0 END DESC,
                CASE original.kind WHEN 'wet' THEN 0 WHEN 'wat' THEN 1 ELSE 2 END DESC,
                CASE original.content_truncated WHEN 'damaged' THEN 0 ELSE 1 END DESC,
                original.content_digest DESC,
                original.collection DESC,
                original.url DESC,
                original.content_mime_type DESC,
                original.title DESC,
                original.fetch_status DESC,
                original.fetch_time DESC,
                original.warc_filename DESC,
                original.warc_record_offset DESC
        ) AS place
    FROM revisit
    JOIN own_version AS original
        ON original.url_surtkey = revisit.refers_to_surtkey
        AND date_trunc('second', original.fetch_time) = date_trunc('second', revisit.refers_to_time)
    WHERE
        -- The status is of the same sort, where the revisit has its own.
        revisit.fetch_status IN (0, 304)
        OR (
            revisit.fetch_status BETWEEN 200 AND 299
            AND (original.kind IN ('resource', 'wet') OR original.fetch_status < 300)
        )
        OR (
            revisit.fetch_status BETWEEN 300 AND 399
            AND original.kind NOT IN ('resource', 'wet') AND original.fetch_status >= 300
        )
),
alike AS (
    -- Of those without: the first page or document of all URLs with their digest.
    SELECT
        revisit.input_id AS revisit_input_id,
        revisit.warc_record_offset AS revisit_offset,
        original.url_surtkey AS original_surtkey,
        original.input_id AS original_input_id,
        original.warc_record_offset AS original_offset,
        row_number() OVER (
            PARTITION BY revisit.input_id, revisit.warc_record_offset
            ORDER BY
                original.fetch_time,
                original.url_surtkey,
                CASE original.kind WHEN 'wet' THEN 0 WHEN 'wat' THEN 1 ELSE 2 END DESC,
                CASE original.content_truncated WHEN 'damaged' THEN 0 ELSE 1 END DESC,
                original.collection DESC,
                original.url DESC,
                original.content_mime_type DESC,
                original.title DESC,
                original.fetch_status DESC,
                original.warc_filename DESC,
                original.warc_record_offset DESC
        ) AS place
    FROM revisit
    JOIN own_version AS original
        ON original.content_digest = revisit.content_digest
    LEFT JOIN named
        ON named.revisit_input_id = revisit.input_id
        AND named.revisit_offset = revisit.warc_record_offset
        AND named.place = 1
    LEFT JOIN (
        SELECT DISTINCT url_surtkey, content_digest FROM captures WHERE kind <> 'revisit'
    ) AS known
        ON known.url_surtkey = revisit.url_surtkey
        AND known.content_digest = revisit.content_digest
    WHERE
        named.place IS NULL
        AND original.url_surtkey <> revisit.url_surtkey
        AND (original.fetch_status BETWEEN 200 AND 299 OR original.kind IN ('resource', 'wet'))
        AND (original.is_page OR original.is_document)
        -- The last two are the digests of an empty payload.
        AND revisit.content_digest NOT IN (
            '', '-', '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ',
            'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
        )
        AND (revisit.fetch_status IN (0, 304) OR revisit.fetch_status BETWEEN 200 AND 299)
        AND (revisit.refers_to_surtkey IS NOT NULL OR known.url_surtkey IS NULL)
),
version AS (
    -- All that may be current, with the capture that title, status and links are of.
    SELECT
        own_version.*,
        url_surtkey AS content_surtkey,
        input_id AS content_input_id,
        warc_record_offset AS content_offset,
        kind AS content_kind,
        fetch_status AS content_status,
        content_mime_type AS content_type,
        title AS content_title,
        is_page AS content_is_page
    FROM own_version
    UNION ALL
    SELECT
        revisit.*,
        CASE WHEN own_link.input_id IS NULL THEN original.url_surtkey ELSE revisit.url_surtkey END,
        CASE WHEN own_link.input_id IS NULL THEN original.input_id ELSE revisit.input_id END,
        CASE WHEN own_link.input_id IS NULL THEN original.warc_record_offset ELSE revisit.warc_record_offset END,
        original.kind,
        original.fetch_status,
        original.content_mime_type,
        original.title,
        original.is_page
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
    WHERE
        -- What leads to the revisit itself is no version of it.
        back.input_id IS NULL OR own_link.input_id IS NOT NULL
),
current_version AS (
    -- The latest of a key; WARC and ARC before WAT, WAT before WET; of these, whole records before damaged ones.
    SELECT *
    FROM (
        SELECT
            version.*,
            row_number() OVER (
                PARTITION BY url_surtkey
                ORDER BY
                    fetch_time DESC,
                    CASE kind WHEN 'wet' THEN 0 WHEN 'wat' THEN 1 ELSE 2 END DESC,
                    CASE content_truncated WHEN 'damaged' THEN 0 ELSE 1 END DESC,
                    content_digest DESC,
                    warc_filename DESC,
                    warc_record_offset DESC
            ) AS place
        FROM version
    ) AS eligible
    WHERE place = 1
),
current_link AS (
    SELECT
        current_version.url_surtkey AS source_surtkey,
        current_version.url_host_registered_domain AS source_registered_domain,
        links.target_surtkey,
        links.target_url,
        links.target_registered_domain,
        links.anchor,
        links.nofollow
    FROM current_version
    JOIN links
        ON links.source_surtkey = current_version.content_surtkey
        AND links.input_id = current_version.content_input_id
        AND links.warc_record_offset = current_version.content_offset
        AND links.target_surtkey <> current_version.url_surtkey
),
in_links AS (
    SELECT
        target_surtkey,
        target_registered_domain,
        count(*) AS inlinks,
        sum(CASE WHEN source_registered_domain <> target_registered_domain THEN 1 ELSE 0 END) AS inlinks_external
    FROM current_link
    GROUP BY target_surtkey, target_registered_domain
),
captured AS (
    SELECT DISTINCT url_surtkey, url_host_registered_domain FROM captures
),
uri AS (
    SELECT
        coalesce(captured.url_surtkey, in_links.target_surtkey) AS url_key,
        coalesce(captured.url_host_registered_domain, in_links.target_registered_domain) AS domain,
        CASE WHEN captured.url_surtkey IS NULL THEN 0 ELSE 1 END AS captured,
        coalesce(in_links.inlinks, 0) AS inlinks,
        coalesce(in_links.inlinks_external, 0) AS inlinks_external
    FROM captured
    FULL OUTER JOIN in_links ON captured.url_surtkey = in_links.target_surtkey
)
