-- Every capture once.
SELECT
    url_surtkey AS url_key,
    fetch_time,
    url,
    content_mime_type AS mime,
    fetch_status AS status,
    content_digest AS digest,
    warc_record_length AS length,
    warc_record_offset AS offset,
    warc_filename AS input,
    coalesce(method, '') AS method
FROM captures
-- By all columns, in their order.
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
