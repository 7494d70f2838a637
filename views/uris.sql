-- Every key that is captured, or linked to by a current version.
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
SELECT url_key, captured, inlinks, inlinks_external
FROM uri
ORDER BY url_key
