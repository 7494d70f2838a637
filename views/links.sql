-- The links of every current version.
SELECT
    source_surtkey AS source_key,
    target_surtkey AS target_key,
    target_url,
    coalesce(anchor, '') AS anchor,
    CASE WHEN nofollow THEN 1 ELSE 0 END AS nofollow
FROM current_link
ORDER BY source_key, target_key
