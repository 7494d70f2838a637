-- The same rows as those of the view links, by their targets.
SELECT
    target_surtkey AS target_key,
    source_surtkey AS source_key,
    coalesce(anchor, '') AS anchor,
    CASE WHEN nofollow THEN 1 ELSE 0 END AS nofollow
FROM current_link
ORDER BY target_key, source_key
