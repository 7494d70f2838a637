SELECT url_host_tld, COUNT(DISTINCT url_host_name) AS hosts, COUNT(DISTINCT url_host_registered_domain) AS domains
FROM ccindex.ccindex
WHERE crawl = 'CC-MAIN-2026-43' AND subset = 'warc' AND url_host_registry_suffix = url_host_tld
GROUP BY url_host_tld
HAVING COUNT(*) >= 2
ORDER BY hosts DESC
