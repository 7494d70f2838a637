-- How often each label occurs, and at which places from the right.
SELECT label, COUNT(label) AS frequency, histogram(place) AS places
FROM "ccindex"."ccindex",
     UNNEST(reverse(split(url_host_name, '.'))) WITH ORDINALITY AS l (label, place)
WHERE subset = 'warc'
GROUP BY label
ORDER BY frequency DESC
