-- Every key that is captured, or linked to by a current version.
SELECT url_key, captured, inlinks, inlinks_external
FROM uri
ORDER BY url_key
