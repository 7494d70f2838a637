SELECT COUNT(*) AS count, URL_EXTRACT_PATH(url) AS path
FROM "ccindex"."ccindex"
GROUP BY URL_EXTRACT_PATH(url)
ORDER BY count DESC
