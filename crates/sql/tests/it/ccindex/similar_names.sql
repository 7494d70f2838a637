SELECT url_host_2nd_last_part, levenshtein_distance('example', url_host_2nd_last_part) AS distance, COUNT(*) AS captures
FROM "ccindex"."ccindex"
WHERE levenshtein_distance('example', url_host_2nd_last_part) <= 20
GROUP BY url_host_2nd_last_part
ORDER BY distance
