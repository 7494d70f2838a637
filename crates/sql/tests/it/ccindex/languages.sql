SELECT url, content_languages, regexp_extract(content_languages, '^([a-z]{3})') AS first_language
FROM "ccindex"."ccindex"
WHERE content_languages IS NULL
   OR (contains(ARRAY ['eng', 'deu', 'fra'], content_languages) AND NOT content_languages LIKE '%,%')
LIMIT 100
