SELECT COUNT(*) AS captures, url_host_name
FROM "ccindex"."ccindex"
WHERE NOT regexp_like(url_host_name, 'xn--|\P{ASCII}')
GROUP BY url_host_name
