-- Every registered domain of a URI.
, page AS (
    SELECT url_surtkey
    FROM current_version
    WHERE content_is_page AND (content_status BETWEEN 200 AND 299 OR content_kind IN ('resource', 'wet'))
)
SELECT
    uri.domain,
    count(*) AS uris,
    count(page.url_surtkey) AS pages,
    sum(uri.inlinks_external) AS inlinks_external
FROM page
RIGHT JOIN uri ON page.url_surtkey = uri.url_key
GROUP BY uri.domain
ORDER BY uri.domain
