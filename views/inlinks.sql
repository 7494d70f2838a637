-- The same rows as those of the view links, by their targets.
WITH current_version AS (
    -- The latest capture of a key that may be current; WARC and ARC before WAT, WAT before WET.
    SELECT *
    FROM (
        SELECT
            captures.*,
            row_number() OVER (
                PARTITION BY url_surtkey
                ORDER BY
                    fetch_time DESC,
                    CASE kind WHEN 'wet' THEN 0 WHEN 'wat' THEN 1 ELSE 2 END DESC,
                    content_digest DESC,
                    warc_filename DESC,
                    warc_record_offset DESC
            ) AS place
        FROM captures
        WHERE
            -- Of a GET, or of an unknown method; whole, not empty, and no 3xx without a target.
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
    ) AS eligible
    WHERE place = 1
),
current_link AS (
    SELECT links.*
    FROM current_version
    JOIN links
        ON links.source_surtkey = current_version.url_surtkey
        AND links.input_id = current_version.input_id
        AND links.warc_record_offset = current_version.warc_record_offset
)
SELECT
    target_surtkey AS target_key,
    source_surtkey AS source_key,
    coalesce(anchor, '') AS anchor,
    CASE WHEN nofollow THEN 1 ELSE 0 END AS nofollow
FROM current_link
ORDER BY target_key, source_key
