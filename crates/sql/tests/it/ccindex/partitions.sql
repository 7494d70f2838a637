-- Rows by crawl and subset.
SELECT crawl, subset, count(*) AS captures
FROM "ccindex"."ccindex"
GROUP BY crawl, subset
ORDER BY captures DESC;
