SELECT url, warc_filename, warc_record_offset, warc_record_length
FROM ccindex
TABLESAMPLE BERNOULLI (100)
WHERE subset = 'warc' AND (content_languages = 'eng' OR content_languages IS NULL)
