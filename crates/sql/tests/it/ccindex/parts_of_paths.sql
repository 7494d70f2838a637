SELECT part, COUNT(part) AS frequency
FROM "ccindex"."ccindex"
CROSS JOIN UNNEST(transform(filter(split(url_path, '/'), p -> p != ''), p -> url_decode(p))) AS parts (part)
GROUP BY part
ORDER BY frequency DESC;
