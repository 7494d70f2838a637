-- How often types and languages occur together, by a view.
CREATE OR REPLACE VIEW pairs AS
WITH counts AS
(SELECT COUNT(*) AS n, content_mime_type AS type, content_languages AS language,
        SUM(COUNT(*)) OVER() AS total,
        SUM(COUNT(*)) OVER(PARTITION BY content_mime_type) AS of_type,
        SUM(COUNT(*)) OVER(PARTITION BY content_languages) AS of_language
 FROM "ccindex"."ccindex"
 WHERE crawl = 'CC-MAIN-2026-43'
 GROUP BY content_mime_type, content_languages)
SELECT type, language, n,
       ln(n / (of_type * of_language / CAST(total AS DOUBLE)))
         + if((of_type = n), 0, ln((of_type - n) / (of_type * (total - of_language) / CAST(total AS DOUBLE)))) AS score
FROM counts;

SELECT type, language, n, score FROM pairs WHERE n >= 1 ORDER BY score DESC;
