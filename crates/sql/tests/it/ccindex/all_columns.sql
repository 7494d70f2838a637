-- Every column of the table, in the order of its definition.
SELECT url_surtkey, url, url_host_name, url_host_tld, url_host_2nd_last_part, url_host_3rd_last_part,
       url_host_4th_last_part, url_host_5th_last_part, url_host_registry_suffix, url_host_registered_domain,
       url_host_private_suffix, url_host_private_domain, url_host_name_reversed, url_protocol, url_port,
       url_path, url_query, fetch_time, fetch_status, fetch_redirect, content_digest, content_mime_type,
       content_mime_detected, content_charset, content_languages, content_truncated, warc_filename,
       warc_record_offset, warc_record_length, warc_segment, crawl, subset
FROM "ccindex"."ccindex"
