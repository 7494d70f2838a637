WITH hosts AS (SELECT cardinality(split(url_host_name, '.')) AS labels, url_host_name FROM ccindex)
SELECT labels, COUNT(*) AS captures, COUNT(DISTINCT url_host_name) AS hosts
FROM hosts GROUP BY labels ORDER BY labels ASC
