-- Keys whose current version is HTML, with counts of their links and in-links.
, out_links AS (
    SELECT source_surtkey, count(*) AS links FROM current_link GROUP BY source_surtkey
)
SELECT
    current_version.url_surtkey AS url_key,
    current_version.url,
    current_version.fetch_time,
    current_version.content_status AS status,
    current_version.content_type AS mime,
    current_version.content_digest AS digest,
    current_version.content_title AS title,
    coalesce(out_links.links, 0) AS links,
    coalesce(in_links.inlinks, 0) AS inlinks,
    coalesce(in_links.inlinks_external, 0) AS inlinks_external
FROM current_version
LEFT JOIN out_links ON out_links.source_surtkey = current_version.url_surtkey
LEFT JOIN in_links ON in_links.target_surtkey = current_version.url_surtkey
WHERE
    current_version.content_is_page
    AND (current_version.content_status BETWEEN 200 AND 299 OR current_version.content_kind IN ('resource', 'wet'))
ORDER BY url_key
