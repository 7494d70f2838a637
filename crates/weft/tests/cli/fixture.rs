//! Small archive files, written by hand so that every byte is known.

/// A response: URL, time, HTML.
pub(crate) type Page<'a> = (&'a str, &'a str, &'a str);

/// Returns a plain WARC: a warcinfo record, then one response per page.
pub(crate) fn warc(pages: &[Page<'_>]) -> Vec<u8> {
    let info = [
        ("WARC-Date", "2014-01-26T20:00:00Z"),
        ("Content-Type", "application/warc-fields"),
    ];
    let mut file = record("warcinfo", &info, b"software: fixture\r\n");
    for (url, date, html) in pages {
        let headers = [
            ("WARC-Target-URI", *url),
            ("WARC-Date", *date),
            ("Content-Type", "application/http; msgtype=response"),
        ];
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}");
        file.extend(record("response", &headers, block.as_bytes()));
    }
    file
}

/// Returns one record.
pub(crate) fn record(kind: &str, headers: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{kind}>\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend(format!("{name}: {value}\r\n").bytes());
    }
    bytes.extend(format!("Content-Length: {}\r\n\r\n", block.len()).bytes());
    bytes.extend(block);
    bytes.extend(b"\r\n\r\n");
    bytes
}

/// Returns a small web of two domains: five pages, with links within and between the domains.
pub(crate) fn small_web() -> Vec<u8> {
    warc(&[
        (
            "http://www.library.example/",
            "2014-01-26T20:06:24Z",
            "<html lang=en><title>The Library</title><p>Welcome to the reading room.\
             <a href='/catalogue'>Catalogue</a> <a href='http://museum.example/'>The museum</a>",
        ),
        (
            "http://www.library.example/catalogue",
            "2014-01-26T20:06:25Z",
            "<html lang=en><title>Catalogue</title><p>Every book in the reading room.\
             <a href='/'>Home</a> <a href='http://museum.example/maps' rel=nofollow>Old maps</a>",
        ),
        (
            "http://museum.example/",
            "2015-03-01T08:00:00Z",
            "<html lang=en><title>The Museum</title><p>Maps and globes.\
             <a href='/maps'>Maps</a> <a href='http://www.library.example/'>Library</a>",
        ),
        (
            "http://museum.example/maps",
            "2015-03-01T08:00:01Z",
            "<html lang=en><title>Maps</title><p>A map of the reading room of the library.\
             <a href='http://www.library.example/'>The library</a> <a href='http://gone.example/'>Gone</a>",
        ),
        (
            "http://www.library.example/",
            "2016-01-01T00:00:00Z",
            "<html lang=en><title>The New Library</title><p>Welcome to the new reading room.\
             <a href='/catalogue'>The catalogue</a>",
        ),
    ])
}

/// Returns one page that is not in [`small_web`].
pub(crate) fn other_web() -> Vec<u8> {
    warc(&[(
        "http://other.example/",
        "2017-01-01T00:00:00Z",
        "<title>Other</title>",
    )])
}
