-- Every URI in the order of its rank.
SELECT inlinks_external, inlinks, url_key
FROM uri
ORDER BY inlinks_external DESC, inlinks DESC, url_key
